/* Computes the time, bytes, energy and memory of a partition in closed form. */
#include "search/predict.h"

#include <string.h>

#include "cost/kernel.h"
#include "cost/papers/array.h"
#include "machine/machine.h"

/* Does a pass count? As in the papers, every backward pass of a trained operator does. */
static bool counted(const struct hypar_graph *g, const struct op *op, const struct pass *pass)
{
    return !pass->backward || hp_op_trained(g, op);
}

/* All arithmetic operations of a step, and its multiply-adds. */
static double step_operations(const struct hypar_graph *g, double *macs)
{
    double operations = 0;
    *macs = 0;
    for (int op = 0; op < g->n_ops; op++)
        for (int p = 0; p < g->ops[op].nest->n_passes; p++) {
            const struct pass *pass = &g->ops[op].nest->pass[p];
            if (!counted(g, &g->ops[op], pass))
                continue;
            *macs += pass->macs;
            operations += 2 * pass->macs + pass->other;
        }
    return operations;
}

/* Speeds --------------------------------------------------------------------------------- */

static bool runs_kernels(const struct problem *problem)
{
    for (int d = 0; d < hypar_machine_device_count(problem->machine); d++) {
        struct kernel_place at = hp_problem_place(problem, d);
        if (hp_runs_kernels(&at))
            return true;
    }
    return false;
}

/* The time of a step on one of n parts of the samples. */
static double share_seconds(const struct hypar_graph *g, int n, const struct kernel_place *at)
{
    double seconds = 0;
    struct range range[MAX_AXES];
    for (int op = 0; op < g->n_ops; op++) {
        const struct nest *nest = g->ops[op].nest;
        int sample = hp_sample_axis(nest);
        hp_whole_ranges(nest, range);
        if (sample >= 0)
            range[sample] = hp_even_part(nest->axis[sample].extent, n, 0);
        seconds += hp_op_seconds(nest, hp_done_passes(g, &g->ops[op]), range,
                                 hp_present(&g->ops[op]), at);
    }
    return seconds;
}

const double *hp_device_speeds(struct arena *arena, const struct problem *problem, int parts)
{
    int n = hypar_machine_device_count(problem->machine);
    double *speed = NEW(arena, double, n), macs;
    double operations = step_operations(problem->graph, &macs);
    bool kernels = runs_kernels(problem);
    for (int d = 0; d < n; d++) {
        struct kernel_place at = hp_problem_place(problem, d);
        if (d > 0 && at.device == hypar_machine_device(problem->machine, d - 1)) {
            speed[d] = speed[d - 1];
            continue;
        }
        double seconds = kernels ? parts * share_seconds(problem->graph, parts, &at) : 0;
        speed[d] = seconds > 0 && operations > 0 ? operations / seconds
                                                 : hp_dense_op_per_s(at.device, at.precision);
    }
    return speed;
}

/* All of a step -------------------------------------------------------------------------- */

/* The time of the exchanges of all levels. One side of a level sends 2/p of its exchange: for
 * two sides, all of it. */
static double comm_seconds(const struct problem *problem, const struct partition *partition,
                           double bytes_per_element)
{
    double seconds = 0;
    for (int h = 0; h < partition->n_levels; h++) {
        const struct hypar_level *level = &problem->level[h];
        double bytes = bytes_per_element * partition->level_elements[h] * 2 / level->ways;
        seconds +=
            bytes / level->bytes_per_s + partition->level_exchanges[h] * level->latency_s;
    }
    return seconds;
}

/* A device with the mean energies of the machine's devices. */
static struct hypar_device mean_device(const struct hypar_machine *m)
{
    struct hypar_device mean = *hypar_machine_device(m, 0);
    int n = hypar_machine_device_count(m);
    if (hypar_machine_is_uniform(m))
        return mean;
    mean.add_j = mean.multiply_j = mean.sram_access_j = mean.dram_access_j = 0;
    for (int d = 0; d < n; d++) {
        const struct hypar_device *device = hypar_machine_device(m, d);
        mean.add_j += device->add_j / n;
        mean.multiply_j += device->multiply_j / n;
        mean.sram_access_j += device->sram_access_j / n;
        mean.dram_access_j += device->dram_access_j / n;
    }
    return mean;
}

static double mean_link_j_per_bit(const struct hypar_machine *m)
{
    int n = hypar_machine_link_count(m), looked_at = n < 65536 ? n : 65536;
    double sum = 0;
    for (int i = 0; i < looked_at; i++)
        sum += hypar_machine_link(m, i).energy_j_per_bit;
    return looked_at ? sum / looked_at : 0;
}

static void predict_speed(const struct problem *problem, const struct step_work *work,
                          struct hypar_prediction *out)
{
    double samples = (double)problem->graph->batch;
    out->samples_per_s = out->step_s > 0 ? samples / out->step_s : 0;
    out->mfu = out->step_s > 0 ? hp_step_flops_per_sample(problem->graph) * samples /
                                     (work->peak_op_per_s * out->step_s)
                               : 0;
}

static void predict_energy(const struct problem *problem, const struct step_work *step,
                           double macs, double dram_words, struct hypar_prediction *out)
{
    struct array_work work = { macs, dram_words, out->comm_bytes / HP_WORD_BYTES };
    out->energy_j = hp_array_energy_j(&work, &step->device, step->link_j_per_bit,
                                      problem->options->precision) +
                    hp_idle_w(problem->machine) * out->step_s;
}

struct step_work hp_step_work(const struct problem *problem)
{
    struct step_work work = { 0 };
    int n = hypar_machine_device_count(problem->machine);
    work.operations = step_operations(problem->graph, &work.macs);
    struct arena scratch = { 0 };
    const double *speed = hp_device_speeds(&scratch, problem, n);
    const double *alone = hp_device_speeds(&scratch, problem, 1);
    double alone_op_per_s = 0;
    for (int d = 0; d < n; d++) {
        const struct hypar_device *device = hypar_machine_device(problem->machine, d);
        work.peak_op_per_s += hp_peak_op_per_s(device, problem->options->precision);
        work.op_per_s += speed[d];
        alone_op_per_s += alone[d];
    }
    work.one_device_s = work.operations / alone_op_per_s * n;
    hp_arena_free(&scratch);
    work.device = mean_device(problem->machine);
    work.link_j_per_bit = mean_link_j_per_bit(problem->machine);
    return work;
}

void hp_predict_partition(const struct problem *problem, const struct step_work *work,
                          const struct partition_problem *p, const struct partition *partition,
                          struct hypar_prediction *out)
{
    double bytes = hp_element_bytes(problem->options->precision, false);
    int n = hypar_machine_device_count(problem->machine);
    out->compute_s = work->operations / work->op_per_s;
    out->comm_s = comm_seconds(problem, partition, bytes);
    out->step_s = out->compute_s + out->comm_s;
    out->comm_bytes = 2 * bytes * partition->total_elements;
    predict_speed(problem, work, out);
    predict_energy(problem, work, work->macs,
                   bytes / HP_WORD_BYTES * 3 * n * hp_partition_footprint(p, partition), out);
}

/* The busiest device --------------------------------------------------------------------- */

/* The divided axes of an operator, and each part's share of the axis. */
struct divided {
    int n, axis[MAX_AXES], degree[MAX_AXES];
    double *part[MAX_AXES];
};

static struct divided divided_axes(struct arena *arena, const struct nest *nest,
                                   const struct split *split)
{
    struct divided d = { 0 };
    for (int a = 0; a < nest->n_axes; a++) {
        int degree = split->degree[a];
        if (degree <= 1)
            continue;
        d.part[d.n] = NEW(arena, double, degree);
        for (int i = 0; i < degree; i++) {
            struct range range = hp_axis_part(nest, split, a, i);
            d.part[d.n][i] = (double)(range.hi - range.lo) / (double)nest->axis[a].extent;
        }
        d.axis[d.n] = a;
        d.degree[d.n++] = degree;
    }
    return d;
}

/* Operations of part `i`; an empty part has none. */
static double part_operations(const struct hypar_graph *g, const struct op *op,
                              const struct divided *d, int i)
{
    const struct nest *nest = op->nest;
    double part[MAX_AXES], work = 0;
    for (int k = d->n - 1; k >= 0; k--) {
        part[k] = d->part[k][i % d->degree[k]];
        i /= d->degree[k];
        if (!(part[k] > 0))
            return 0;
    }
    for (int p = 0; p < nest->n_passes; p++) {
        double share = 2 * nest->pass[p].macs + nest->pass[p].other;
        for (int k = 0; k < d->n; k++)
            if (nest->pass[p].axes >> d->axis[k] & 1)
                share *= part[k];
        work += counted(g, op, &nest->pass[p]) ? share : 0;
    }
    return work;
}

/* Add the operations of each part of `op`, as seconds on its device. */
static void add_operations(struct arena *arena, const struct hypar_plan *plan, int op,
                           const double *op_per_s, double *seconds)
{
    const struct op *what = &plan->graph->ops[op];
    const struct op_plan *placed = &plan->ops[op];
    struct arena_mark mark = hp_arena_mark(arena);
    struct divided d = divided_axes(arena, what->nest, &placed->split);
    for (int i = 0; i < placed->n_devices; i++)
        seconds[placed->device[i]] +=
            part_operations(plan->graph, what, &d, i % placed->n_parts) /
            op_per_s[placed->device[i]];
    hp_arena_release(arena, mark);
}

/* Add the kernel times of each part of `op`. A part equal to the part before takes the same
 * time. */
static void add_kernels(const struct problem *problem, const struct hypar_plan *plan, int op,
                        double *seconds)
{
    const struct op *what = &plan->graph->ops[op];
    const struct op_plan *placed = &plan->ops[op];
    uint32_t passes = hp_done_passes(plan->graph, what);
    axis_set positional = hp_positional_axes(what->nest);
    struct range range[MAX_AXES], before[MAX_AXES];
    const struct hypar_device *device_before = NULL;
    double part_s = 0;
    for (int i = 0; i < placed->n_devices; i++) {
        struct kernel_place at = hp_problem_place(problem, placed->device[i]);
        if (!hp_part_ranges(what->nest, &placed->split, i % placed->n_parts, range))
            continue;
        if (at.device != device_before ||
            !hp_same_work(range, before, what->nest->n_axes, positional))
            part_s = hp_op_seconds(what->nest, passes, range, hp_present(what), &at);
        seconds[placed->device[i]] += part_s;
        device_before = at.device;
        memcpy(before, range, sizeof before);
    }
}

/* The computation time of the busiest device, including uneven and empty parts and copies. For
 * devices without known kernels, only operations count, as in the papers. */
static double busiest_seconds(const struct problem *problem, const struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(problem->machine);
    bool kernels = runs_kernels(problem);
    double *seconds = NEW(&scratch, double, n), most = 0;
    const double *op_per_s = hp_device_speeds(&scratch, problem, n);
    for (int op = 0; op < problem->graph->n_ops; op++)
        if (kernels)
            add_kernels(problem, plan, op, seconds);
        else
            add_operations(&scratch, plan, op, op_per_s, seconds);
    for (int d = 0; d < n; d++)
        most = seconds[d] > most ? seconds[d] : most;
    hp_arena_free(&scratch);
    return most;
}

void hp_predict(const struct problem *problem, const struct partition_problem *p,
                const struct partition *partition, struct hypar_found *found)
{
    struct step_work work = hp_step_work(problem);
    hp_predict_partition(problem, &work, p, partition, &found->prediction);
    struct hypar_prediction *out = &found->prediction;
    out->compute_s = busiest_seconds(problem, found->plan);
    if (out->compute_s + out->comm_s > 0)
        out->mfu *= out->step_s / (out->compute_s + out->comm_s);
    out->step_s = out->compute_s + out->comm_s;
    out->samples_per_s = out->step_s > 0 ? (double)problem->graph->batch / out->step_s : 0;
    out->state_bytes = hp_plan_fullest(found->plan, 0).need;
}

static void predict_step(const struct problem *problem, const struct step_work *work,
                         struct hypar_found *found)
{
    struct hypar_prediction *p = &found->prediction;
    p->comm_s = p->step_s - p->compute_s;
    predict_speed(problem, work, p);
    p->state_bytes = hp_plan_fullest(found->plan, 0).need;
}

void hp_predict_step(const struct problem *problem, struct hypar_found *found)
{
    struct step_work work = hp_step_work(problem);
    predict_step(problem, &work, found);
}

void hp_predict_closed(const struct problem *problem, double macs_again, double dram_words,
                       struct hypar_found *found)
{
    struct step_work work = hp_step_work(problem);
    predict_step(problem, &work, found);
    predict_energy(problem, &work, work.macs + macs_again, dram_words, &found->prediction);
}
