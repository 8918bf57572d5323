/* Synchronous pipelines: GPipe (Huang et al., NeurIPS 2019) and the same with one forward, one
 * backward in turn (PipeDream-Flush; Narayanan et al., ICML 2021). Stages of equal size, each
 * on as many devices as any other, which split the samples of every micro-batch. */
#include <math.h>

#include "search/pipeline_work.h"

/* A pipeline under consideration. */
struct candidate {
    int n_stages, replicas;
    int64_t micro_batches;
    double step_s, busiest_s; /* the step; all micro-batches on the slowest stage */
    const struct pipeline_piece *piece;
};

struct choosing {
    const struct problem *problem;
    struct arena *arena;
    const struct cut_states *states;
    struct pipeline_machine machine;
    double latency_s;
    bool one_by_one; /* 1f1b: a backward as soon as there is one */
    int64_t evaluated;
};

static double range(const double *cumulated, const struct pipeline_piece *p)
{
    return cumulated[p->last] - (p->after < 0 ? 0 : cumulated[p->after]);
}

/* Devices of one component of the top level. */
static int top_span(const struct pipeline_machine *m)
{
    int span = 1;
    for (int l = 0; l < m->n_levels - 1; l++)
        span *= m->workers[l];
    return span;
}

/* What one stage of `replicas` devices can send to the next, where the two are furthest apart.
 */
static double stage_bytes_per_s(const struct choosing *c, int replicas)
{
    const struct pipeline_machine *m = &c->machine;
    double components = fmax(1, (double)replicas / top_span(m));
    return fmin(components * m->bytes_per_s[m->n_levels - 1], replicas * m->bytes_per_s[0]);
}

/* Summing gradients over `replicas` neighbours, level by level: rings of 2 (g-1)/g W. */
static double sync_s(const struct choosing *c, double weight_bytes, int replicas)
{
    double seconds = 0;
    int span = 1;
    for (int l = 0; l < c->machine.n_levels && span < replicas; l++) {
        int groups = (replicas + span - 1) / span;
        int g = groups < c->machine.workers[l] ? groups : c->machine.workers[l];
        seconds += 2.0 * (g - 1) / g * weight_bytes / c->machine.bytes_per_s[l];
        span *= c->machine.workers[l];
    }
    return seconds;
}

/* Micro-batches that stage `s` has begun and not ended, at most. */
static int64_t in_flight(const struct choosing *c, const struct candidate *k, int s)
{
    int64_t from_here = k->n_stages - s;
    return c->one_by_one && from_here < k->micro_batches ? from_here : k->micro_batches;
}

static double memory_bytes(const struct choosing *c, const struct candidate *k, int s)
{
    const struct pipeline_states *cost = &c->states->cost;
    const struct pipeline_piece *p = &k->piece[s];
    double share = (double)in_flight(c, k, s) / (double)k->micro_batches / k->replicas;
    return range(cost->weight_bytes, p) + range(cost->fixed_bytes, p) +
           share * range(cost->activation_bytes, p);
}

static bool fits(const struct choosing *c, const struct candidate *k)
{
    double limit = c->problem->options->memory_bytes;
    int n = hypar_machine_is_uniform(c->problem->machine) ? 1 : k->n_stages * k->replicas;
    for (int d = 0; d < n && !(c->problem->options->memory_bytes > 0); d++) {
        double has = (double)hypar_machine_device(c->problem->machine, d)->memory_bytes;
        limit = d == 0 ? has : fmin(limit, has);
    }
    for (int s = 0; s < k->n_stages; s++)
        if (memory_bytes(c, k, s) > limit)
            return false;
    return true;
}

/* The first micro-batch passes every stage and every link; the others follow at the pace of the
 * slowest stage with what it sends, as nothing overlaps; then the replicas of each stage sum
 * their gradients. */
static void weigh(struct choosing *c, struct candidate *k)
{
    const struct pipeline_states *cost = &c->states->cost;
    double m = (double)k->micro_batches, pace_s = 0, first_s = 0, sum_s = 0, busy_s = 0;
    double bytes_per_s = stage_bytes_per_s(c, k->replicas);
    for (int s = 0; s < k->n_stages; s++) {
        double stage_s = range(cost->time_s, &k->piece[s]) / k->replicas / m;
        double hop_s =
            s == k->n_stages - 1
                ? 0
                : 2 * (cost->cut_bytes[k->piece[s].last] / m / bytes_per_s + c->latency_s);
        first_s += stage_s + hop_s;
        busy_s = fmax(busy_s, stage_s);
        pace_s = fmax(pace_s, stage_s + hop_s);
        sum_s = fmax(sum_s, sync_s(c, range(cost->weight_bytes, &k->piece[s]), k->replicas));
    }
    k->step_s = first_s + (m - 1) * pace_s + sum_s;
    k->busiest_s = m * busy_s;
    c->evaluated++;
}

/* Few micro-batches are better kernels: the least number whose step is within 5 % of the best.
 * Sizes are even where the batch allows it. */
static bool choose_micro_batches(struct choosing *c, struct candidate *k)
{
    enum { MOST = 1024 };
    const double tolerance = 1.05;
    int64_t asked = c->problem->options->micro_batches;
    int64_t each = c->problem->graph->batch / k->replicas;
    struct candidate *tried = NEW(c->arena, struct candidate, MOST);
    int n = 0, best = -1;
    for (int64_t m = asked ? asked : 1; m <= each && n < MOST; m++) {
        if (asked && m > asked)
            break;
        if (!asked && each % m != 0)
            continue;
        tried[n] = *k;
        tried[n].micro_batches = m;
        weigh(c, &tried[n]);
        if (!fits(c, &tried[n]))
            continue;
        if (best < 0 || tried[n].step_s < tried[best].step_s)
            best = n;
        n++;
    }
    for (int i = 0; i < n; i++)
        if (tried[i].step_s <= tolerance * tried[best].step_s) {
            *k = tried[i];
            return true;
        }
    return false;
}

/* Cut into n_stages whose slowest is fastest, by PipeDream's recurrence for a straight pipeline
 * whose workers are the groups of replicas. */
static bool cut(struct choosing *c, struct candidate *k)
{
    struct pipeline pipeline;
    struct pipeline_problem p = { .states = c->states,
                                  .machine = { .n_levels = 1, .workers = { k->n_stages } },
                                  .straight = true };
    p.machine.bytes_per_s[0] = stage_bytes_per_s(c, k->replicas) / k->replicas;
    if (k->n_stages > c->states->n ||
        hp_pipeline_solve(c->arena, &p, &pipeline, NULL) != HYPAR_OK)
        return false;
    k->piece = pipeline.piece;
    c->evaluated += pipeline.evaluated;
    return true;
}

/* All numbers of stages that use every device, or the one that is asked for. */
static bool choose(struct choosing *c, struct candidate *best)
{
    int n_devices = hypar_machine_device_count(c->problem->machine);
    int64_t asked = c->problem->options->stages;
    bool found = false;
    for (int n = n_devices > 1 && !asked ? 2 : 1; n <= n_devices; n++) {
        if (asked ? n != asked : n_devices % n != 0)
            continue;
        struct candidate k = { .n_stages = n, .replicas = n_devices / n };
        if (!cut(c, &k) || !choose_micro_batches(c, &k))
            continue;
        if (!found || k.step_s < best->step_s)
            *best = k;
        found = true;
    }
    return found;
}

static struct planned_stage *write_stages(const struct choosing *c, const struct candidate *k)
{
    struct planned_stage *stage = NEW(c->arena, struct planned_stage, k->n_stages);
    for (int s = 0; s < k->n_stages; s++) {
        stage[s] = (struct planned_stage){ .after = k->piece[s].after,
                                           .last = k->piece[s].last,
                                           .n_devices = k->replicas,
                                           .device = NEW(c->arena, int, k->replicas) };
        for (int r = 0; r < k->replicas; r++)
            stage[s].device[r] = s * k->replicas + r;
        struct hypar_pipeline_stage *about = &stage[s].about;
        hp_pipeline_sizes(c->states, &stage[s]);
        about->replicas = k->replicas;
        about->time_s = range(c->states->cost.time_s, &k->piece[s]) / k->replicas;
        about->in_flight = (int)in_flight(c, k, s);
        about->versions = 1;
        about->memory_bytes = memory_bytes(c, k, s);
    }
    return stage;
}

/* Every operator by samples over the replicas of its stage; copies where it has none. */
static void split_samples(const struct problem *problem, struct hypar_plan *plan, int replicas)
{
    for (int op = 0; op < problem->graph->n_ops && replicas > 1; op++) {
        struct split split = { 0 };
        split.degree[problem->layered->axis[op][TYPE_I]] = replicas;
        hp_plan_set(plan, op, &split, NULL);
    }
}

static void keep(struct choosing *c, const struct candidate *k, struct hypar_found *found)
{
    const struct pipeline_states *cost = &c->states->cost;
    struct hypar_pipeline_view *view = &found->pipeline;
    struct planned_stage *stage = write_stages(c, k);
    for (int s = 0; s < k->n_stages; s++)
        view->bottleneck_s = fmax(view->bottleneck_s, stage[s].about.time_s);
    view->one_worker_s = cost->time_s[cost->n - 1];
    view->dp_bottleneck_s =
        view->one_worker_s / (k->n_stages * k->replicas) +
        sync_s(c, cost->weight_bytes[cost->n - 1], k->n_stages * k->replicas);
    view->noam = stage[0].about.in_flight;
    found->info.evaluated = c->evaluated;
    found->info.chooses = true;
    found->prediction.step_s = k->step_s;
    found->prediction.compute_s = k->busiest_s;
    hp_pipeline_keep(c->problem, found, c->states, stage, k->n_stages, HYPAR_SHARE_BATCH);
    hp_plan_set_schedule(found->plan,
                         &(struct hypar_schedule){ .kind = c->one_by_one ? HYPAR_SCHEDULE_1F1B
                                                                         : HYPAR_SCHEDULE_GPIPE,
                                                   .micro_batches = k->micro_batches });
    split_samples(c->problem, found->plan, k->replicas);
}

static enum hypar_status check_wishes(const struct planner *self, const struct problem *problem,
                                      int n_states, struct hypar_error *err)
{
    int64_t stages = problem->options->stages, most = problem->options->micro_batches;
    int n_devices = hypar_machine_device_count(problem->machine);
    int64_t limit = n_states < n_devices ? n_states : n_devices;
    if (stages > limit)
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "%s: %lld stages, expected at most %lld (%d devices, a model that can be "
            "cut into %d)",
            self->info.name, (long long)stages, (long long)limit, n_devices, n_states);
    int64_t replicas = stages ? n_devices / stages : 1;
    if (most * replicas > problem->graph->batch)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: %lld micro-batches of a batch of %lld over %lld replicas, expected "
                       "at most %lld",
                       self->info.name, (long long)most, (long long)problem->graph->batch,
                       (long long)replicas, (long long)(problem->graph->batch / replicas));
    return HYPAR_OK;
}

static enum hypar_status plan_flush(const struct planner *self, const struct problem *problem,
                                    struct hypar_found *found, struct hypar_error *err)
{
    struct choosing c = { .problem = problem,
                          .arena = &found->arena,
                          .machine = hp_pipeline_machine(problem),
                          .one_by_one = self == &hp_planner_1f1b };
    struct candidate best;
    struct pipeline_layers *layers = hp_pipeline_layers(c.arena, problem, false);
    c.latency_s = problem->n_levels ? problem->level[0].latency_s : 0;
    c.states = hp_pipeline_states(c.arena, layers, &c.machine);
    TRY(check_wishes(self, problem, c.states->n, err));
    if (!choose(&c, &best))
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "%s: no pipeline with a batch of %lld fits into the memory of %d devices",
            self->info.name, (long long)problem->graph->batch,
            hypar_machine_device_count(problem->machine));
    keep(&c, &best, found);
    return HYPAR_OK;
}

/* clang-format off */
const struct planner hp_planner_gpipe = {
    { "gpipe", "equal stages, micro-batches all forward, then all backward",
      "Huang et al., NeurIPS 2019" },
    plan_flush, NULL, false,
};
const struct planner hp_planner_1f1b = {
    { "1f1b", "equal stages, one micro-batch forward, one backward in turn, less memory",
      "Narayanan et al., ICML 2021" },
    plan_flush, NULL, false,
};
/* clang-format on */
