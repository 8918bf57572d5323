/* A sweep: finds each planner's plan for every batch on every machine with hypar_search().
 * Points are independent of each other and run in parallel on all cores. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/parallel.h"
#include "base/stop.h"
#include "search/evaluate/room.h"
#include "search/explore/explore.h"

enum { MOST_THREADS = 8 }; /* default limit: a search for a thousand devices takes a gigabyte */

struct hypar_sweep {
    struct arena arena; /* owns all memory, including this struct */
    struct hypar_sweep_options options;
    int n_planners;
    char **planner;
    struct explored_machines machines;
    int n_batches;
    int64_t *batch;
    struct hypar_graph **graph; /* of each batch */
    int n_points;
    struct hypar_sweep_point
        *point; /* [(machine * n_batches + batch) * n_planners + planner] */
    int best;   /* point, -1: none */
    atomic_int n_done;
};

/* Degrees of a plan --------------------------------------------------------------------- */

/* The degrees of an operator: by samples, including replicas of its stage, and by all other
 * axes. */
static void divide(const struct hypar_plan *plan, int op, int *data, int *tensor)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct op_plan *placed = &plan->ops[op];
    *data = placed->n_devices / placed->n_parts;
    *tensor = 1;
    for (int a = 0; a < nest->n_axes; a++) {
        int degree = placed->split.degree[a] > 1 ? placed->split.degree[a] : 1;
        *(nest->axis[a].role == HYPAR_SAMPLE ? data : tensor) *= degree;
    }
}

/* Data x tensor x pipeline degrees if all layers with weights have the same; else 0. */
static void describe(const struct hypar_plan *plan, struct hypar_sweep_point *p)
{
    const struct hypar_layout *layout = hypar_plan_layout(plan);
    int n_stages = hypar_plan_stage_count(plan);
    bool first = true;
    p->micro_batches = plan->schedule.micro_batches > 1 ? plan->schedule.micro_batches : 1;
    p->data = p->tensor = 0;
    p->pipeline = layout ? layout->pipeline : n_stages > 1 ? n_stages : 1;
    p->recomputed = 0;
    p->shard = HYPAR_SHARD_NONE;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct op_plan *placed = &plan->ops[op];
        p->recomputed += placed->recompute;
        p->shard = placed->shard > p->shard ? placed->shard : p->shard;
    }
    for (int op = 0; op < plan->graph->n_ops; op++) {
        int data, tensor;
        if (!hp_op_weighted(plan->graph, op))
            continue;
        divide(plan, op, &data, &tensor);
        if (!first && (data != p->data || tensor != p->tensor)) {
            p->data = p->tensor = 0;
            break;
        }
        p->data = data;
        p->tensor = tensor;
        first = false;
    }
    if (layout) {
        p->data = layout->data;
        p->tensor = layout->tensor;
    }
}

/* Points ---------------------------------------------------------------------------------- */

/* A planner with energy in closed form also has bytes. If the operations are not known, neither
 * is their energy. */
static void fill_totals(const struct hypar_found *found, struct hypar_sweep_point *p)
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    const struct hypar_partial_step *part = &found->info.part;
    struct hypar_prediction closed = hypar_found_prediction(found);
    p->counted = hp_is_judged(found);
    p->energy = s ? s->step.energy : part->energy;
    p->comm_bytes = s                     ? s->step.comm_bytes
                    : p->counted          ? part->comm_bytes
                    : closed.energy_j > 0 ? closed.comm_bytes
                                          : INFINITY;
    p->energy_j = p->counted            ? hypar_energy_total_j(&p->energy)
                  : closed.energy_j > 0 ? closed.energy_j
                                        : INFINITY;
    if (!(hypar_graph_flops_per_sample(found->plan->graph) > 0))
        p->energy_j = INFINITY;
}

/* Fill a point with the result of a search: the simulated step, or the closed form if a
 * simulation takes too long. If it is not known whether a plan fits, it does not count as a
 * plan. */
static void fill_point(const struct hypar_found *found, double limit_bytes,
                       struct hypar_sweep_point *p)
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    struct hypar_prediction closed = hypar_found_prediction(found);
    struct hypar_memory fullest;
    enum hypar_status status = hp_found_fits(found, limit_bytes, &fullest, &p->why);
    p->verdict = status == HYPAR_OK           ? HYPAR_SWEPT_FITS
                 : status == HYPAR_INFEASIBLE ? HYPAR_SWEPT_TOO_LARGE
                                              : HYPAR_SWEPT_NO_PLAN;
    if (p->verdict == HYPAR_SWEPT_NO_PLAN)
        return;
    p->why.text[0] = '\0';
    p->simulated = s != NULL;
    p->step_s = s ? s->step.step_s : closed.step_s;
    p->samples_per_s = s ? s->step.samples_per_s : closed.samples_per_s;
    p->mfu = s ? s->step.mfu : closed.mfu;
    fill_totals(found, p);
    p->memory_bytes = fullest.peak;
    p->limit_bytes = fullest.limit;
    p->planner = found->info.planner;
    describe(found->plan, p);
}

/* The value that the objective compares per sample. For time: machines named by the user (--on)
 * are compared by their total samples per second, sizes of one machine by the samples per
 * second per device. */
static double merit_of_sample(const struct hypar_sweep *s, const struct hypar_sweep_point *p)
{
    switch (s->options.search.objective) {
    case HYPAR_COMM:
        return p->comm_bytes / (double)p->batch;
    case HYPAR_ENERGY:
        return p->energy_j / (double)p->batch;
    default:
        return (s->options.n_others ? 1 : p->devices) / p->samples_per_s;
    }
}

/* Find the plan of the point's planner. Only wrong usage fails: if the planner has no plan, the
 * point says why. */
static enum hypar_status search_plan(const struct hypar_sweep *s,
                                     const struct hypar_graph *graph,
                                     struct hypar_sweep_point *p, struct hypar_error *err)
{
    static const struct hypar_sim_options by_default;
    struct hypar_search_options how = s->options.search;
    struct hypar_found *found;
    how.planner = p->asked;
    how.machine = hypar_machine_word(p->machine);
    if (!(hp_find_planner(p->asked)->takes & TAKES_OBJECTIVE)) {
        how.objective = HYPAR_TIME;
        how.objective_given = false;
    }
    how.simulation = how.simulation ? how.simulation : &by_default;
    how.threads = 1;
    enum hypar_status status = hypar_search(&found, graph, p->machine, &how, &p->why);
    if (status == HYPAR_USAGE)
        return hp_fail_again(err, status, &p->why);
    if (status == HYPAR_OK) {
        fill_point(found, how.memory_bytes, p);
        hypar_found_free(found);
    } else {
        p->verdict = HYPAR_SWEPT_NO_PLAN;
    }
    return HYPAR_OK;
}

/* State shared by all jobs; each job writes its own point. */
struct sweeping {
    struct hypar_sweep *sweep;
    enum hypar_status *status; /* by point */
    struct hypar_error *err;
    pthread_mutex_t telling; /* held while the caller's progress function runs */
};

/* Search one point. If the search is stopped, the point has the best plan found until then; a
 * point without a plan that fits is not reported. */
static void search_point(void *arg, int i)
{
    struct sweeping *w = arg;
    struct hypar_sweep *s = w->sweep;
    struct hypar_sweep_point p = s->point[i];
    const struct hypar_graph *graph = s->graph[i / s->n_planners % s->n_batches];
    const volatile sig_atomic_t *stop = s->options.search.stop;
    if (!hp_stopped(stop))
        w->status[i] = search_plan(s, graph, &p, &w->err[i]);
    p.interrupted = hp_stopped(stop);
    if (p.interrupted && p.verdict != HYPAR_SWEPT_FITS)
        return;
    s->point[i] = p;
    if (p.interrupted)
        return;
    pthread_mutex_lock(&w->telling);
    int done = atomic_fetch_add(&s->n_done, 1) + 1;
    if (s->options.progress)
        s->options.progress(s->options.who, done, s->n_points);
    pthread_mutex_unlock(&w->telling);
}

/* Make the points: by machine, then by batch in the order of the list, then by planner. */
static void make_points(struct hypar_sweep *s)
{
    s->n_points = s->machines.n * s->n_batches * s->n_planners;
    s->point = NEW(&s->arena, struct hypar_sweep_point, s->n_points);
    for (int i = 0; i < s->n_points; i++) {
        int place = i / s->n_planners;
        const struct explored_machine *machine = &s->machines.at[place / s->n_batches];
        s->point[i] = (struct hypar_sweep_point){
            .batch = s->graph[place % s->n_batches]->batch,
            .asked = s->planner[i % s->n_planners],
            .machine = machine->machine,
            .word = machine->word,
            .shape = machine->shape,
            .value = machine->value,
            .devices = hypar_machine_device_count(machine->machine),
            .verdict = HYPAR_SWEPT_NOT_TRIED,
        };
    }
}

static enum hypar_status search_points(struct hypar_sweep *s, struct hypar_error *err)
{
    struct sweeping w = { .sweep = s,
                          .status = NEW(&s->arena, enum hypar_status, s->n_points),
                          .err = NEW(&s->arena, struct hypar_error, s->n_points) };
    int threads = s->options.search.threads;
    if (!threads)
        threads = hp_core_count() < MOST_THREADS ? hp_core_count() : MOST_THREADS;
    pthread_mutex_init(&w.telling, NULL);
    hp_parallel(s->n_points, threads, search_point, &w);
    pthread_mutex_destroy(&w.telling);
    for (int i = 0; i < s->n_points; i++)
        if (w.status[i] != HYPAR_OK)
            return hp_fail_again(err, w.status[i], &w.err[i]);
    for (int i = 0; i < s->n_points; i++)
        if (s->point[i].verdict != HYPAR_SWEPT_NOT_TRIED)
            return HYPAR_OK;
    return hp_check_stop(s->options.search.stop, err);
}

static void find_best(struct hypar_sweep *s)
{
    double least = INFINITY;
    s->best = -1;
    for (int i = 0; i < s->n_points; i++)
        if (s->point[i].verdict == HYPAR_SWEPT_FITS &&
            merit_of_sample(s, &s->point[i]) < least) {
            least = merit_of_sample(s, &s->point[i]);
            s->best = i;
        }
    if (s->best >= 0)
        s->point[s->best].best = true;
}

/* The sweep ------------------------------------------------------------------------------- */

/* Read the graphs of all batches first, so that an unreadable model fails at once. */
static enum hypar_status read_graphs(struct hypar_sweep *s, const struct hypar_batches *batches,
                                     struct hypar_error *err)
{
    TRY(hp_explore_counts(&s->arena, "batch", s->options.batches, HYPAR_MAX_BATCH, &s->batch,
                          &s->n_batches, err));
    if (!s->n_batches) { /* the model's own batch */
        s->batch = NEW(&s->arena, int64_t, 1);
        s->n_batches = 1;
    }
    if ((double)s->n_batches * s->machines.n * s->n_planners > HYPAR_MAX_SWEPT)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "%d batches on %d machines by %d planners, expected at most %d together",
                       s->n_batches, s->machines.n, s->n_planners, HYPAR_MAX_SWEPT);
    s->graph = NEW(&s->arena, struct hypar_graph *, s->n_batches);
    for (int i = 0; i < s->n_batches; i++)
        TRY(batches->graph(batches->who, s->batch[i], &s->graph[i], err));
    return HYPAR_OK;
}

static enum hypar_status read_planners(struct hypar_sweep *s, struct hypar_error *err)
{
    const char *text = s->options.planners ? s->options.planners : "auto";
    TRY(hp_explore_list(&s->arena, "planners", text, &s->planner, &s->n_planners, err));
    for (int i = 0; i < s->n_planners; i++)
        if (!hp_find_planner(s->planner[i]))
            return hp_fail(err, HYPAR_USAGE,
                           "unknown planner '%.40s'; 'hypar planners' lists them",
                           s->planner[i]);
    return HYPAR_OK;
}

static enum hypar_status sweep(struct hypar_sweep *s, const struct hypar_machine *machine,
                               const struct hypar_batches *batches, struct hypar_error *err)
{
    const struct hypar_sweep_options *o = &s->options;
    struct machine_lists lists = { o->search.machine, o->devices,     o->topologies,
                                   o->bandwidths,     o->sweeps,      o->n_sweeps,
                                   o->others,         o->other_names, o->n_others };
    TRY(read_planners(s, err));
    TRY(hp_explore_machines(&s->arena, machine, &lists, &s->machines, err));
    TRY(read_graphs(s, batches, err));
    make_points(s);
    TRY(search_points(s, err));
    find_best(s);
    return HYPAR_OK;
}

enum hypar_status hypar_sweep(struct hypar_sweep **out, const struct hypar_batches *batches,
                              const struct hypar_machine *machine,
                              const struct hypar_sweep_options *options,
                              struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct hypar_sweep *s = NEW(&arena, struct hypar_sweep, 1);
    s->arena = arena;
    if (options)
        s->options = *options;
    s->options.search.simulation = hp_keep_simulation(&s->arena, s->options.search.simulation);
    enum hypar_status status = sweep(s, machine, batches, err);
    if (status != HYPAR_OK) {
        hypar_sweep_free(s);
        s = NULL;
    }
    *out = s;
    return status;
}

void hypar_sweep_free(struct hypar_sweep *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_batches && s->graph; i++)
        hypar_graph_free(s->graph[i]);
    hp_explore_machines_free(&s->machines, 0);
    hp_arena_free(&s->arena);
}

const struct hypar_sweep_point *hypar_sweep_point(const struct hypar_sweep *s, int i)
{
    return i >= 0 && i < s->n_points ? &s->point[i] : NULL;
}

struct hypar_sweep_info hypar_sweep_info(const struct hypar_sweep *s)
{
    return (struct hypar_sweep_info){ .graph = s->graph[0],
                                      .options = &s->options,
                                      .n_points = s->n_points,
                                      .n_done = atomic_load(&s->n_done),
                                      .n_axes = s->machines.n_axes,
                                      .axis = s->machines.axis,
                                      .machine = s->machines.name };
}
