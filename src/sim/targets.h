/* sim/targets.h - whose tasks may wait for whose: what has to be told anew when a step's or a
 * deal's tasks change. It follows from the graph alone. Internal. */
#ifndef SIM_TARGETS_H
#define SIM_TARGETS_H

#include "program/sketch.h"

/* Numbers are: steps, then deals of the body and of the tail, then the tail's updates. */
struct targets {
    int *start, *target; /* of each: those that may wait for it, CSR */
};

struct targets hp_find_targets(struct arena *arena, const struct sketch *sketch);

#endif /* SIM_TARGETS_H */
