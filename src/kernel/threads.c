#include "kernel/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOST = 256, PATIENCE = 2000 }; /* threads; looks before a thread goes to sleep */

static struct {
    pthread_t thread[MOST];
    int threads;           /* the caller's included */
    atomic_uint turn;      /* of the jobs handed out */
    atomic_int unfinished; /* threads that work at this turn's */
    bool stop;
    int n;
    void (*job)(void *arg, int i);
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} pool = { .threads = 1, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

/* Kernels come one after the other, so the next is looked for a while before sleeping. */
static unsigned next_turn(unsigned last)
{
    unsigned turn = atomic_load(&pool.turn);
    for (int i = 0; i < PATIENCE && turn == last; i++) {
        sched_yield();
        turn = atomic_load(&pool.turn);
    }
    if (turn != last)
        return turn;
    pthread_mutex_lock(&pool.lock);
    while ((turn = atomic_load(&pool.turn)) == last)
        pthread_cond_wait(&pool.wake, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    return turn;
}

static void *work(void *arg)
{
    int i = (int)(intptr_t)arg;
    unsigned turn = 0;
    for (;;) {
        turn = next_turn(turn);
        if (pool.stop)
            return NULL;
        if (i < pool.n)
            pool.job(pool.arg, i);
        atomic_fetch_sub(&pool.unfinished, 1);
    }
}

/* Let the threads see what has been written into the pool. */
static void hand_out(void)
{
    atomic_store(&pool.unfinished, pool.threads - 1);
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.turn, 1);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

int hp_threads(void)
{
    return pool.threads;
}

void hp_threads_set(int threads)
{
    threads = threads < 1 ? 1 : threads > MOST ? MOST : threads;
    if (threads == pool.threads)
        return;
    if (pool.threads > 1) {
        pool.stop = true;
        hand_out();
        for (int i = 1; i < pool.threads; i++)
            pthread_join(pool.thread[i], NULL);
        pool.stop = false;
    }
    atomic_store(&pool.turn, 0);
    for (pool.threads = 1; pool.threads < threads; pool.threads++)
        if (pthread_create(&pool.thread[pool.threads], NULL, work,
                           (void *)(intptr_t)pool.threads) != 0)
            break;
}

void hp_threads_run(int n, void (*job)(void *arg, int i), void *arg)
{
    if (n > 1) {
        pool.n = n;
        pool.job = job;
        pool.arg = arg;
        hand_out();
    }
    job(arg, 0);
    while (n > 1 && atomic_load(&pool.unfinished) > 0)
        sched_yield();
}
