/* Memory that a plan needs on each device for what lives from step to step: parameters, their
 * gradients and the optimizer's state. Activations are the simulator's. */
#include "plan/plan.h"

/* Bytes kept for one parameter: weight and gradient, a master copy where these are short, and
 * the moments. */
double hp_bytes_per_param(enum hypar_precision precision, enum hypar_optimizer optimizer)
{
    double moments = optimizer == HYPAR_ADAM ? 2 : optimizer == HYPAR_MOMENTUM ? 1 : 0;
    switch (precision) {
    case HYPAR_BF16:
        return 2 + 2 + 4 + 4 * moments;
    case HYPAR_FP64:
        return 8 + 8 + 8 * moments;
    default:
        return 4 + 4 + 4 * moments;
    }
}

/* Elements of parameter operand `o` that each part of `op` reads, added to its device. */
static void count_operand(const struct hypar_plan *plan, int op, int o, double *elements)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct op_plan *placed = &plan->ops[op];
    axis_set divided = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (placed->split.degree[a] > 1)
            divided |= (axis_set)1 << a;
    bool same = !(nest->operand[o].axes & divided); /* every part has all of it */
    struct range range[MAX_AXES];
    hp_whole_ranges(nest, range);
    struct box box = hp_region(nest, o, range);
    for (int i = 0; i < placed->n_devices; i++) {
        int part = i % placed->n_parts; /* replicas follow one another */
        if (!same && !hp_part_ranges(nest, &placed->split, part, range))
            continue;
        if (!same)
            box = hp_region(nest, o, range);
        elements[placed->device[i]] += (double)hp_box_elements(&box);
    }
}

/* A shared parameter counts once, at its first use. */
void hypar_plan_state_bytes(const struct hypar_plan *plan, double *bytes)
{
    const struct hypar_graph *g = plan->graph;
    int n = hypar_machine_device_count(plan->machine);
    double per_param = hp_bytes_per_param(plan->precision, plan->optimizer);
    for (int d = 0; d < n; d++)
        bytes[d] = 0;
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM && g->use_start[t] < g->use_start[t + 1]) {
            struct use first = g->use[g->use_start[t]];
            count_operand(plan, first.op, first.operand, bytes);
        }
    for (int d = 0; d < n; d++)
        bytes[d] *= per_param;
}

/* The device with the least room left, and what it needs and has. */
int hypar_plan_fullest_device(const struct hypar_plan *plan, double limit_bytes, double *need,
                              double *has)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(plan->machine), fullest = 0;
    double *bytes = NEW(&scratch, double, n), most = -1;
    hypar_plan_state_bytes(plan, bytes);
    for (int d = 0; d < n; d++) {
        double limit = limit_bytes > 0
                           ? limit_bytes
                           : (double)hypar_machine_device(plan->machine, d)->memory_bytes;
        if (bytes[d] / limit > most) {
            most = bytes[d] / limit;
            fullest = d;
            *need = bytes[d];
            *has = limit;
        }
    }
    hp_arena_free(&scratch);
    return fullest;
}

enum hypar_status hypar_plan_check_memory(const struct hypar_plan *plan, double limit_bytes,
                                          struct hypar_error *err)
{
    double need, has;
    char needs[32], have[32];
    int d = hypar_plan_fullest_device(plan, limit_bytes, &need, &has);
    if (need <= has)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "weights, gradients and %s state need %s on device %d, which has %s",
                   hypar_optimizer_text(plan->optimizer),
                   hypar_format_quantity(needs, need, HYPAR_UNIT_BYTES), d,
                   hypar_format_quantity(have, has, HYPAR_UNIT_BYTES));
}
