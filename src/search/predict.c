/* What a partition costs in time, bytes, energy and memory, in closed form. */
#include "search/predict.h"
#include "cost/array.h"

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
    for (int part = 0; part < placed->n_parts; part++) {
        if (!same && !hp_part_ranges(nest, &placed->split, part, range))
            continue;
        if (!same)
            box = hp_region(nest, o, range);
        elements[placed->device[part]] += (double)hp_box_elements(&box);
    }
}

/* Parameter elements of every device; a shared parameter counts once, at its first use. */
static void count_params(const struct hypar_plan *plan, double *elements)
{
    const struct hypar_graph *g = plan->graph;
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM && g->use_start[t] < g->use_start[t + 1]) {
            struct use first = g->use[g->use_start[t]];
            count_operand(plan, first.op, first.operand, elements);
        }
}

static int fullest_device(const struct hypar_plan *plan, double *state_bytes)
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

struct step_work hp_step_work(const struct problem *problem)
{
    struct step_work work = { 0 };
    int n = hypar_machine_device_count(problem->machine);
    work.operations = step_operations(problem->graph, &work.macs);
    for (int d = 0; d < n; d++) {
        const struct hypar_device *device = hypar_machine_device(problem->machine, d);
        double peak = peak_op_per_s(device, problem->options->precision);
        work.peak_op_per_s += peak;
        work.op_per_s += peak * device->efficiency;
    }
    return work;
}

void hp_predict_partition(const struct problem *problem, const struct step_work *work,
                          const struct partition_problem *p, const struct partition *partition,
                          struct hypar_prediction *out)
{
    double bytes = element_bytes(problem->options->precision);
    double samples = (double)problem->graph->batch;
    out->compute_s = work->operations / work->op_per_s;
    out->comm_s = comm_seconds(problem, partition, bytes);
    out->step_s = out->compute_s + out->comm_s;
    out->samples_per_s = samples / out->step_s;
    out->mfu = 3 * hypar_graph_flops_per_sample(problem->graph) * samples /
               (work->peak_op_per_s * out->step_s);
    out->comm_bytes = 2 * bytes * partition->total_elements;
    out->energy_j = energy(problem, p, partition, work->macs);
}

void hp_predict(const struct problem *problem, const struct partition_problem *p,
                const struct partition *partition, struct hypar_found *found)
{
    struct step_work work = hp_step_work(problem);
    hp_predict_partition(problem, &work, p, partition, &found->prediction);
    found->fullest = fullest_device(found->plan, &found->prediction.state_bytes);
}
