/* run/draw_key.h - keys of random numbers. Internal. */
#ifndef RUN_DRAW_KEY_H
#define RUN_DRAW_KEY_H

#include "base/random.h"

/* The key of the random numbers that `op` draws in a step (1 is the first). The key does not
 * depend on the plan. */
static inline uint64_t hp_draw_key(uint64_t seed, int step, int op)
{
    struct random random = { seed };
    random.state ^= hp_random_u64(&random) + (uint64_t)step;
    random.state ^= hp_random_u64(&random) + (uint64_t)op;
    return hp_random_u64(&random);
}

#endif /* RUN_DRAW_KEY_H */
