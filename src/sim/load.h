/* sim/load.h - how long each device surely computes, known from layouts alone. Internal.
 *
 * An operator's parts do their passes and update the parameters that nobody else reads,
 * whatever moves between operators: no step is shorter than what that comes to on the busiest
 * device. A search gives up most changes that put too much on one device by this, before
 * anything else is worked out for them. */
#ifndef SIM_LOAD_H
#define SIM_LOAD_H

#include "sim/acts.h"

struct loads {
    struct arena arena;
    struct acts *acts;
    double *busy;               /* by device: ticks */
    operand_set *own;           /* by op: parameters that it alone reads and updates */
    struct op_load **of_layout; /* by layout id */
    int layout_capacity;
    int *place; /* by device: while one is listed */
};

void hp_loads_begin(struct loads *loads, struct acts *acts);
void hp_loads_end(struct loads *loads);

/* An operator that is laid out so comes (sign 1) or goes (-1). */
void hp_loads_count(struct loads *loads, int op, const struct part_layout *layout, int sign);

/* Of the busiest device; at most HP_MAX_TICKS. */
ticks hp_loads_busiest(const struct loads *loads);

#endif /* SIM_LOAD_H */
