/* run/data/shuffle.h - the order of samples in an epoch. Internal to run/data. */
#ifndef RUN_DATA_SHUFFLE_H
#define RUN_DATA_SHUFFLE_H

#include <stdint.h>

/* The image of position i of 0..n-1 under a permutation that follows from seed and epoch.
 * Nothing is stored, so any rank can compute any position. */
int64_t hp_shuffled(uint64_t seed, int64_t epoch, int64_t n, int64_t i);

#endif /* RUN_DATA_SHUFFLE_H */
