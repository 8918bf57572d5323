/* sim/delta/bound.h - a lower bound of the step while some operators are still open. Internal.
 *
 * The bound is the longest chain of tasks that wait for each other, without queues. It uses
 * tasks that exist whatever the open operators become: passes of known operators, and exchanges
 * between known operators only. If such a task waits for an uncertain one, its wait is at least
 * the length of the shortest chain of operators up to that one. */
#ifndef SIM_DELTA_BOUND_H
#define SIM_DELTA_BOUND_H

#include "sim/delta/delta.h"

struct bound_input {
    bool *known; /* by op */
    /* By op: the shortest time of any part of its forward passes, in any configuration; and of
     * backward passes that send an error on. */
    ticks *forward, *backward;
};

/* Lower forward[op] and backward[op] to their values in the delta's current plan. */
void hp_bound_least(struct delta *delta, int op, struct bound_input *input);

/* Compute the bound; `scratch` is restored. */
ticks hp_bound(struct delta *delta, const struct bound_input *input, struct arena *scratch);

#endif /* SIM_DELTA_BOUND_H */
