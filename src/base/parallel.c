/* A pool of threads that take jobs by number: the only place that starts threads. */
#include "base/parallel.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

struct pool {
    atomic_int next; /* job to be taken */
    int n;
    void (*job)(void *arg, int i);
    void *arg;
    atomic_bool lacks; /* a job ran out of memory when it asked for `bytes` */
    atomic_size_t bytes;
};

int hp_core_count(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

static void *work(void *arg)
{
    struct pool *pool = arg;
    struct memory_guard guard;
    hp_guard(&guard);
    if (setjmp(guard.place) == 0) {
        for (int i; (i = atomic_fetch_add(&pool->next, 1)) < pool->n;)
            pool->job(pool->arg, i);
    } else {
        atomic_store(&pool->bytes, guard.bytes);
        atomic_store(&pool->lacks, true);
        atomic_store(&pool->next, pool->n); /* no thread begins another job */
    }
    hp_unguard(&guard);
    return NULL;
}

void hp_parallel(int n, int threads, void (*job)(void *arg, int i), void *arg)
{
    struct pool pool = { .n = n, .job = job, .arg = arg };
    pthread_t thread[MAX_THREADS];
    int started = 0;
    threads = threads > 0 ? threads : hp_core_count();
    threads = threads > n ? n : threads > MAX_THREADS ? MAX_THREADS : threads;
    /* if no more threads can be had, this thread does the work */
    while (started < threads - 1 && pthread_create(&thread[started], NULL, work, &pool) == 0)
        started++;
    work(&pool);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    if (atomic_load(&pool.lacks))
        hypar_out_of_memory(atomic_load(&pool.bytes));
}
