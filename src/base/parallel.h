/* base/parallel.h - doing several independent things on the cores that there are. Internal. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

/* Cores of this machine, at least 1. */
int hp_core_count(void);

/* Call job(arg, i) for i = 0..n-1, on at most `threads` threads (0: one for each core), this
 * one included; returns when all are done. Jobs must not touch what another one writes, so that
 * the result does not depend on the number of threads. If one runs out of memory no other is
 * begun, and this thread does once those under way are done. */
void hp_parallel(int n, int threads, void (*job)(void *arg, int i), void *arg);

#endif /* BASE_PARALLEL_H */
