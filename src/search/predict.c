/* What a partition costs in time, bytes, energy and memory, in closed form. */
#include <math.h>

#include "cost/array.h"
#include "search/predict.h"

static double peak_op_per_s(const struct hypar_device *d, enum hypar_precision precision)
{
    switch (precision) {
    case HYPAR_FP64:
        return d->fp64_op_per_s;
    case HYPAR_BF16:
        return d->bf16_op_per_s;
    default:
        return d->fp32_op_per_s;
    }
}

/* Bytes of one element in memory and in messages, and of all that is kept per parameter:
 * weight, gradient, a master copy where the weight is short, optimizer state. */
static double element_bytes(enum hypar_precision precision)
{
    return precision == HYPAR_BF16 ? 2 : precision == HYPAR_FP64 ? 8 : 4;
}

double hp_state_bytes_per_param(enum hypar_precision precision, enum hypar_optimizer optimizer)
{
    double moments = optimizer == HYPAR_ADAM ? 2 : optimizer == HYPAR_MOMENTUM ? 1 : 0;
    double master = precision == HYPAR_BF16 ? 4 : 0, state = precision == HYPAR_FP64 ? 8 : 4;
    return 2 * element_bytes(precision) + master + moments * state;
}

/* Parameter elements of every device: what its parts read, a shared parameter once, at the use
 * that comes first. */
static void count_params(const struct hypar_plan *plan, double *elements)
{
    const struct hypar_graph *g = plan->graph;
    for (int op = 0; op < g->n_ops; op++) {
        const struct op *o = &g->ops[op];
        const struct op_plan *placed = &plan->ops[op];
        for (int i = 0; i < o->nest->n_inputs; i++) {
            int t = o->tensor[i];
            if (t < 0 || g->tensors[t].kind != TENSOR_PARAM || g->use[g->use_start[t]].op != op)
                continue;
            for (int part = 0; part < placed->n_parts; part++) {
                struct range range[MAX_AXES];
                struct box box;
                if (!hp_part_ranges(o->nest, &placed->split, part, range))
                    continue;
                box = hp_region(o->nest, i, range);
                elements[placed->device[part]] += (double)hp_box_elements(&box);
            }
        }
    }
}

int hp_fullest_device(const struct hypar_plan *plan, double *state_bytes)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(plan->machine), fullest = 0;
    double *elements = NEW(&scratch, double, n);
    count_params(plan, elements);
    for (int d = 1; d < n; d++)
        if (elements[d] > elements[fullest])
            fullest = d;
    *state_bytes =
        elements[fullest] * hp_state_bytes_per_param(plan->precision, plan->optimizer);
    hp_arena_free(&scratch);
    return fullest;
}

/* All arithmetic of a step, and its multiply-adds. */
static double step_operations(const struct hypar_graph *g, double *macs)
{
    double operations = 0;
    *macs = 0;
    for (int op = 0; op < g->n_ops; op++)
        for (int p = 0; p < g->ops[op].nest->n_passes; p++) {
            const struct pass *pass = &g->ops[op].nest->pass[p];
            *macs += pass->macs;
            operations += 2 * pass->macs + pass->other;
        }
    return operations;
}

/* One side of a level sends 2/p of its exchange: for two sides, all of it. */
static double comm_seconds(const struct problem *problem, const struct partition *partition,
                           double bytes_per_element)
{
    double seconds = 0;
    for (int h = 0; h < partition->n_levels; h++) {
        const struct hypar_level *level = &problem->level[h];
        double bytes = bytes_per_element * partition->level_elements[h] * 2 / level->ways;
        if (bytes > 0)
            seconds += bytes / level->bytes_per_s + level->latency_s;
    }
    return seconds;
}

static double energy(const struct problem *problem, const struct partition_problem *p,
                     const struct partition *partition, double macs)
{
    int n = hypar_machine_device_count(problem->machine);
    double link_j = hypar_machine_link_count(problem->machine)
                        ? hypar_machine_link(problem->machine, 0).energy_j_per_bit
                        : 0;
    struct array_work work = {
        .macs = macs,
        .dram_words = 3 * n * hp_partition_footprint(p, partition),
        .sent_words = 2 * partition->total_elements,
    };
    return hp_array_energy_j(&work, hypar_machine_device(problem->machine, 0), link_j);
}

void hp_predict(const struct problem *problem, const struct partition_problem *p,
                const struct partition *partition, struct hypar_found *found)
{
    enum hypar_precision precision = problem->options->precision;
    struct hypar_prediction *out = &found->prediction;
    int n = hypar_machine_device_count(problem->machine);
    double macs, operations = step_operations(problem->graph, &macs), speed = 0, peak = 0;
    for (int d = 0; d < n; d++) {
        const struct hypar_device *device = hypar_machine_device(problem->machine, d);
        peak += peak_op_per_s(device, precision);
        speed += peak_op_per_s(device, precision) * device->efficiency;
    }
    double samples = (double)problem->graph->batch;
    out->compute_s = operations / speed;
    out->comm_s = comm_seconds(problem, partition, element_bytes(precision));
    out->step_s = out->compute_s + out->comm_s;
    out->samples_per_s = samples / out->step_s;
    out->mfu =
        3 * hypar_graph_flops_per_sample(problem->graph) * samples / (peak * out->step_s);
    out->comm_bytes = 2 * element_bytes(precision) * partition->total_elements;
    out->energy_j = energy(problem, p, partition, macs);
    hp_fullest_device(found->plan, &out->state_bytes);
}
