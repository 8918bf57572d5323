/* base/random.h - the project's own random numbers, the same on every machine. Internal. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): any seed is a good one. */
struct random {
    uint64_t state;
};

static inline uint64_t hp_random_u64(struct random *random)
{
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0..n-1; n is far below 2^64, so the bias is negligible. */
static inline int64_t hp_random_below(struct random *random, int64_t n)
{
    return (int64_t)(hp_random_u64(random) % (uint64_t)n);
}

/* [0, 1) */
static inline double hp_random_unit(struct random *random)
{
    return (double)(hp_random_u64(random) >> 11) * 0x1p-53;
}

/* Exponential with mean 1, using comparisons alone (von Neumann, 1951): a logarithm may differ
 * in its last digit from machine to machine. */
static inline double hp_random_exponential(struct random *random)
{
    for (int whole = 0;; whole++) {
        double first = hp_random_unit(random), last = first, next;
        int n = 1; /* length of a falling run; an odd length is accepted */
        while ((next = hp_random_unit(random)) < last) {
            last = next;
            n++;
        }
        if (n % 2)
            return whole + first;
    }
}

#endif /* BASE_RANDOM_H */
