/* kernel/threads.h - threads that wait for the next kernel. Internal to kernel/.
 *
 * base/parallel.h starts its threads anew, which takes longer than many kernels do. */
#ifndef KERNEL_THREADS_H
#define KERNEL_THREADS_H

/* Have so many threads from now on, this one included; as many as can be started. Not to be
 * called while one of them works; processes that fork do so before. */
void hp_threads_set(int threads);

/* The threads that a call may use: 1 within a job. */
int hp_threads(void);

/* Call job(arg, i) for i = 0..n-1, n at most hp_threads(), each on its own thread, this one
 * being the first; returns when all are done. Within a job they are done one after the other.
 * One caller at a time. */
void hp_threads_run(int n, void (*job)(void *arg, int i), void *arg);

#endif /* KERNEL_THREADS_H */
