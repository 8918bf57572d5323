/* sim/delta/targets.h - whose tasks may wait for whose: what has to be told anew when a pass's
 * or an exchange's tasks change. It follows from the graph alone. Internal. */
#ifndef SIM_DELTA_TARGETS_H
#define SIM_DELTA_TARGETS_H

#include "program/lowering.h"

/* Numbers are: passes, then exchanges of the body and of the tail, then the tail's updates. */
struct targets {
    int *start, *target; /* of each: those that may wait for it, CSR */
};

struct targets hp_find_targets(struct arena *arena, const struct lowering *lowering);

#endif /* SIM_DELTA_TARGETS_H */
