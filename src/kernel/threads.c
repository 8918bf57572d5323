/* A pool of threads for the fast kernels: they take a job together and poll briefly before they
 * sleep, because kernels follow one another closely. */
#include "kernel/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Limits: of threads; and of polls before a thread sleeps: first in a tight loop, then yielding
 * the core. */
enum { MOST = 256, LOOKS = 1000, YIELDS = 10000 };

static struct {
    pthread_t thread[MOST];
    int threads;           /* the caller's included */
    atomic_uint turn;      /* counts the jobs */
    atomic_int unfinished; /* threads that still work at the current job */
    atomic_int asleep;     /* threads that want to be woken */
    bool stop;
    int n;
    void (*job)(void *arg, int i);
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} pool = { .threads = 1, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

/* This thread works at a job: kernels that it calls do not use other threads. */
static _Thread_local bool at_work;

/* Tell the processor that this loop waits. */
static void relax(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

/* Wait a moment, the longer the more have passed in vain. */
static void wait_a_moment(int passed)
{
    if (passed < LOOKS)
        relax();
    else
        sched_yield();
}

/* Kernels follow one another, so a thread polls for a while before it sleeps. */
static unsigned next_turn(unsigned last)
{
    unsigned turn = atomic_load(&pool.turn);
    for (int i = 0; i < LOOKS + YIELDS && turn == last; i++) {
        wait_a_moment(i);
        turn = atomic_load(&pool.turn);
    }
    if (turn != last)
        return turn;
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.asleep, 1);
    while ((turn = atomic_load(&pool.turn)) == last)
        pthread_cond_wait(&pool.wake, &pool.lock);
    atomic_fetch_sub(&pool.asleep, 1);
    pthread_mutex_unlock(&pool.lock);
    return turn;
}

static void *work(void *arg)
{
    int i = (int)(intptr_t)arg;
    unsigned turn = 0;
    at_work = true;
    for (;;) {
        turn = next_turn(turn);
        if (pool.stop)
            return NULL;
        if (i < pool.n)
            pool.job(pool.arg, i);
        atomic_fetch_sub(&pool.unfinished, 1);
    }
}

/* Publish the pool's new job to the threads. A thread that goes to sleep announces it before it
 * reads the turn for the last time. */
static void hand_out(void)
{
    atomic_store(&pool.unfinished, pool.threads - 1);
    atomic_fetch_add(&pool.turn, 1);
    if (atomic_load(&pool.asleep) == 0)
        return;
    pthread_mutex_lock(&pool.lock);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

int hp_threads(void)
{
    return at_work ? 1 : pool.threads;
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
    if (n == 1 || at_work) {
        for (int i = 0; i < n; i++)
            job(arg, i);
        return;
    }
    pool.n = n;
    pool.job = job;
    pool.arg = arg;
    hand_out();
    at_work = true;
    job(arg, 0);
    at_work = false;
    for (int i = 0; atomic_load(&pool.unfinished) > 0; i += i < LOOKS)
        wait_a_moment(i);
}
