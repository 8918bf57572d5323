/* run/data/shuffle.h - the order of samples in an epoch. Internal to run/data. */
#ifndef RUN_DATA_SHUFFLE_H
#define RUN_DATA_SHUFFLE_H

#include <stdint.h>

/* Where position i of 0..n-1 goes in a permutation that follows from seed and epoch. Nothing is
 * stored: any rank can ask for any position. */
int64_t hp_shuffled(uint64_t seed, int64_t epoch, int64_t n, int64_t i);

#endif /* RUN_DATA_SHUFFLE_H */
