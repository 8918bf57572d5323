/* sim/delta/targets.h - which tasks may wait for which: the edges to rewrite when the tasks of
 * a pass or an exchange change. They follow from the graph alone. Internal. */
#ifndef SIM_DELTA_TARGETS_H
#define SIM_DELTA_TARGETS_H

#include "program/lowering.h"

/* Numbers: passes, then exchanges of the body and of the tail, then updates of the tail. */
struct targets {
    int *start, *target; /* by number: those that may wait for it, CSR */
};

struct targets hp_find_targets(struct arena *arena, const struct lowering *lowering);

#endif /* SIM_DELTA_TARGETS_H */
