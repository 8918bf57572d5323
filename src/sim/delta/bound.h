/* sim/delta/bound.h - what a step takes at least, while some operators are still open.
 * Internal.
 *
 * The longest chain of tasks that wait for each other, queues left aside, of those tasks that
 * are the same whatever the open operators will be: units of known operators, and what moves
 * between known operators only. Where such a task waits for one that is not, it waits at least
 * for the least that a chain of operators takes to get there. */
#ifndef SIM_DELTA_BOUND_H
#define SIM_DELTA_BOUND_H

#include "sim/delta/delta.h"

struct bound_input {
    bool *known; /* by op */
    /* By op: the shortest time of any part of its forward step, in any state; of a backward
     * step that sends an error on. */
    ticks *forward, *backward;
};

/* Lower forward[op] and backward[op] to what they are in the delta's plan now. */
void hp_bound_least(struct delta *delta, int op, struct bound_input *input);

/* The bound; `scratch` is given back as it was. */
ticks hp_bound(struct delta *delta, const struct bound_input *input, struct arena *scratch);

#endif /* SIM_DELTA_BOUND_H */
