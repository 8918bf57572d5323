/* kernel/threads.h - threads that wait for the next kernel. Internal to kernel/.
 *
 * base/parallel.h starts new threads for each call, which takes longer than many kernels. */
#ifndef KERNEL_THREADS_H
#define KERNEL_THREADS_H

/* Use this many threads from now on, the calling one included, or as many as can be started. Do
 * not call this while a thread works, and fork before calling it. */
void hp_threads_set(int threads);

/* The threads that a call may use: 1 within a job. */
int hp_threads(void);

/* Call job(arg, i) for i = 0..n-1, n at most hp_threads(), each on its own thread, the calling
 * one being the first; returns when all are done. Within a job the calls run one after the
 * other. One caller at a time. */
void hp_threads_run(int n, void (*job)(void *arg, int i), void *arg);

#endif /* KERNEL_THREADS_H */
