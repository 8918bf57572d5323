/* sim/delta/load.h - how long each device surely computes, known from layouts alone. Internal.
 *
 * An operator's parts do their passes and update the parameters that nobody else reads,
 * whatever moves between operators: no step is shorter than what that comes to on the
 * busiest device. A search gives up most changes that put too much on one device by this,
 * before anything else is worked out for them. */
#ifndef SIM_DELTA_LOAD_H
#define SIM_DELTA_LOAD_H

#include "sim/task_costs.h"

/* What operators have to do, by parts: it serves every plan (see sim_cache.h). */
struct loads {
    struct arena arena;
    struct task_costs *costs;
    uint32_t *passes;             /* by op: those that are done */
    operand_set *own;             /* by op: parameters that it alone reads and updates */
    struct op_load **of_op_parts; /* by parts id */
    int op_parts_capacity;
    int *place; /* by device: while one is listed */
};

void hp_loads_begin(struct loads *loads, struct task_costs *costs,
                    const struct training_graph *training);
void hp_loads_end(struct loads *loads);

/* An operator that is laid out so comes (sign 1) or goes (-1): busy[], by device, in ticks. */
void hp_loads_count(struct loads *loads, double *busy, int op, const struct op_parts *parts,
                    int sign);

#endif /* SIM_DELTA_LOAD_H */
