/* sim/tally.h - adding up a step while it is simulated. Internal to sim/.
 *
 * Tasks are served in the order in which they become ready, so nothing served later can lie
 * before the present ready time: of a device's time under communication only the intervals that
 * reach beyond it have to be remembered. */
#ifndef SIM_TALLY_H
#define SIM_TALLY_H

#include "sim/tasks.h"

#include "base/arena.h"

struct interval {
    ticks from, to;
};

/* Time covered by intervals that come with rising `now`. */
struct covered {
    ticks sum;
    struct interval *open; /* disjoint, ascending */
    int n, capacity;
};

void hp_cover(struct covered *c, struct arena *arena, ticks now, ticks from, ticks to);
ticks hp_covered(const struct covered *c);

#endif /* SIM_TALLY_H */
