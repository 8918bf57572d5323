/* sim/tally.h - adding up times while a step is simulated. Internal to sim/. */
#ifndef SIM_TALLY_H
#define SIM_TALLY_H

#include "sim/tasks.h"

#include "base/arena.h"

struct interval {
    ticks from, to;
};

/* The time covered by intervals. */
struct covered {
    struct interval *open; /* disjoint, ascending */
    int n, capacity;
};

void hp_cover(struct covered *c, struct arena *arena, ticks from, ticks to);
ticks hp_covered(const struct covered *c);

#endif /* SIM_TALLY_H */
