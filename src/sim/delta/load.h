/* sim/delta/load.h - a lower bound of each device's computing time, known from its parts alone.
 * Internal.
 *
 * An operator's parts run their passes and update the parameters that no other operator reads,
 * whatever moves between operators. So no step is shorter than this work on the busiest device.
 * A search uses the bound to give up most changes that overload a device, before anything else
 * is computed. */
#ifndef SIM_DELTA_LOAD_H
#define SIM_DELTA_LOAD_H

#include "sim/task_costs.h"

/* The work of operators by their parts; it serves every plan (see sim_cache.h). */
struct loads {
    struct arena arena;
    struct task_costs *costs;
    uint32_t *passes;             /* by op: its passes in a step */
    operand_set *own;             /* by op: parameters that it alone reads and updates */
    struct op_load **of_op_parts; /* by id of the parts */
    int op_parts_capacity;
    int *place; /* by device: position in the list under construction */
};

void hp_loads_begin(struct loads *loads, struct task_costs *costs,
                    const struct training_graph *training);
void hp_loads_end(struct loads *loads);

/* Count an operator with these parts (sign 1) or remove it (-1): busy[] is by device, in
 * ticks. */
void hp_loads_count(struct loads *loads, double *busy, int op, const struct op_parts *parts,
                    int sign);

#endif /* SIM_DELTA_LOAD_H */
