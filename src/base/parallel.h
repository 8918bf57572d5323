/* base/parallel.h - running independent jobs on all cores. Internal. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

/* Cores of this machine, at least 1. */
int hp_core_count(void);

/* Call job(arg, i) for i = 0..n-1, on at most `threads` threads (0: one for each core), the
 * calling one included; returns when all jobs are done. A job must not touch data that another
 * job writes, so that the result does not depend on the number of threads. If a job runs out of
 * memory, no further job begins; when the running ones are done, the calling thread runs out of
 * memory. */
void hp_parallel(int n, int threads, void (*job)(void *arg, int i), void *arg);

#endif /* BASE_PARALLEL_H */
