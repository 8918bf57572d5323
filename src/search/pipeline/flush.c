/* Synchronous pipelines: GPipe (Huang et al., NeurIPS 2019), the same with one forward, one
 * backward in turn (PipeDream-Flush; Narayanan et al., ICML 2021), and that with gradients in
 * the bubbles (zero bubble; Qi et al., ICLR 2024). Stages of equal size, each
 * on as many devices as any other, which split the samples of every micro-batch. */
#include <math.h>

#include "base/divisor.h"
#include "base/stop.h"
#include "graph/structure/cut_points.h"
#include "plan/schedules.h"
#include "search/estimate/needs.h"
#include "search/evaluate/evaluate.h"
#include "search/limits.h"
#include "search/micro_batch.h"
#include "search/pipeline/work.h"
#include "search/runnable.h"

/* A number of stages, the cut into them, and all pipelines of the cut. */
struct flush_cut {
    int n_stages, replicas;
    const struct pipeline_stage *stage;
    int *device;            /* by stage: the one of its devices that has least memory */
    struct op_needs *needs; /* by stage */
    struct flush_candidate *candidate; /* the fewest micro-batches first */
    int n;
};

/* A pipeline under consideration. */
struct flush_candidate {
    const struct flush_cut *cut;
    int64_t micro_batches;
    double busiest_s; /* all micro-batches on the slowest stage */
    struct estimate estimate;
    bool added; /* it was handed to the evaluation */
};

struct flush_search {
    const struct problem *problem;
    struct arena *arena;
    const struct cut_states *states;
    struct straight_cuts *cuts;
    struct cut_points points; /* between repeated layers */
    struct pipeline_machine machine;
    double latency_s;
    enum hypar_schedule_kind schedule;
    struct batch_limit limit;
    const struct op_needs *needs; /* by operator */
    bool lowered;                 /* the graph has programs */
    int n_cuts, cut_capacity;
    struct flush_cut **cut;
    int64_t evaluated;
};

/* A stage's part of a quantity that is summed up over the states. */
static double stage_sum(const double *cumulated, const struct pipeline_stage *p)
{
    return hp_range_sum(cumulated, p->after, p->last);
}

/* Closed form ------------------------------------------------------------------------------ */

/* Devices of one component of the top level. */
static int top_span(const struct pipeline_machine *m)
{
    int span = 1;
    for (int l = 0; l < m->n_levels - 1; l++)
        span *= m->workers[l];
    return span;
}

/* Bandwidth from a stage of `replicas` devices to the next stage, for the pair of stages that
 * is furthest apart. */
static double stage_bytes_per_s(const struct flush_search *c, int replicas)
{
    const struct pipeline_machine *m = &c->machine;
    double components = fmax(1, (double)replicas / top_span(m));
    return fmin(components * m->bytes_per_s[m->n_levels - 1], replicas * m->bytes_per_s[0]);
}

/* Summing gradients over `replicas` neighbours, level by level: rings of 2 (g-1)/g W. */
static double sync_s(const struct flush_search *c, double weight_bytes, int replicas)
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

/* The first micro-batch passes every stage and every link; the others follow at the pace of the
 * slowest stage, with the time of its messages because nothing overlaps; then the replicas of
 * each stage sum their gradients. */
static void estimate(struct flush_search *c, struct flush_candidate *k)
{
    const struct pipeline_states *cost = &c->states->cost;
    const struct flush_cut *cut = k->cut;
    double m = (double)k->micro_batches, sum_s = 0, busy_s = 0;
    struct stages_time t = { .gradient_part = HP_USUAL_GRADIENT_PART };
    struct pipeline_size size = { cut->n_stages, 1, k->micro_batches };
    double bytes_per_s = stage_bytes_per_s(c, cut->replicas);
    for (int s = 0; s < cut->n_stages; s++) {
        double stage_s = stage_sum(cost->time_s, &cut->stage[s]) / cut->replicas / m;
        double hop_s =
            s == cut->n_stages - 1
                ? 0
                : 2 * (cost->cut_bytes[cut->stage[s].last] / m / bytes_per_s + c->latency_s);
        t.sum_s += stage_s + hop_s;
        busy_s = fmax(busy_s, stage_s);
        t.most_s = fmax(t.most_s, stage_s + hop_s);
        sum_s = fmax(sum_s,
                     sync_s(c, stage_sum(cost->weight_bytes, &cut->stage[s]), cut->replicas));
    }
    t.load_s = t.most_s;
    k->estimate.step_s = hp_schedule[c->schedule].seconds(&size, &t) + sum_s;
    k->busiest_s = m * busy_s;
    c->evaluated++;
}

/* Memory ----------------------------------------------------------------------------------- */

/* Bytes on a device of stage `s`. */
static double stage_need(const struct flush_search *c, const struct flush_candidate *k, int s,
                         enum need which)
{
    struct sampled_stage stage = { .schedule = c->schedule,
                                   .size = { k->cut->n_stages, 1, k->micro_batches },
                                   .stage = s,
                                   .replicas = k->cut->replicas,
                                   .batch = c->problem->graph->batch };
    return hp_stage_need(c->lowered ? which : NEED_WRITTEN, &k->cut->needs[s], &stage);
}

/* The device of a stage that has least memory. */
static int smallest_device(const struct flush_search *c, const struct flush_cut *cut, int s)
{
    int least = s * cut->replicas;
    if (c->problem->options->memory_bytes > 0 || hypar_machine_is_uniform(c->problem->machine))
        return least;
    for (int d = least; d < (s + 1) * cut->replicas; d++)
        least = hp_room(c->problem, d) < hp_room(c->problem, least) ? d : least;
    return least;
}

static void sum_up_needs(const struct flush_search *c, struct flush_cut *cut)
{
    cut->device = NEW(c->arena, int, cut->n_stages);
    cut->needs = NEW(c->arena, struct op_needs, cut->n_stages);
    int *op = NEW(c->arena, int, c->problem->graph->n_ops);
    for (int s = 0; s < cut->n_stages; s++) {
        int n = hp_stage_layers(c->states, cut->stage[s].after, cut->stage[s].last, op);
        cut->device[s] = smallest_device(c, cut, s);
        for (int i = 0; i < n; i++)
            hp_add_needs(&cut->needs[s], &c->needs[op[i]]);
    }
}

static void set_memory(const struct flush_search *c, struct flush_candidate *k)
{
    struct fullest least = { .device = -1 };
    k->estimate.memory = least;
    for (int s = 0; s < k->cut->n_stages; s++) {
        int device = k->cut->device[s];
        double room = hp_room(c->problem, device);
        hp_note_memory(&k->estimate.memory, device, stage_need(c, k, s, NEED_ABOUT), room);
        hp_note_memory(&least, device, stage_need(c, k, s, NEED_LEAST), room);
    }
    k->estimate.least_part = least.part;
}

/* Cuts ------------------------------------------------------------------------------------- */

/* The state that has exactly the operators before `end`; -1: none. */
static int find_state(const struct flush_search *c, int end)
{
    int n_ops = c->problem->graph->n_ops;
    for (int j = 0; j < c->states->n; j++) {
        int op = 0;
        if (!hp_state_has(c->states, j, end - 1) || hp_state_has(c->states, j, end))
            continue;
        while (op < n_ops && hp_state_has(c->states, j, op) == (op < end))
            op++;
        if (op == n_ops)
            return j;
    }
    return -1;
}

/* The states after each of the repeated layers but the last; returns their number. */
static int layer_states(const struct flush_search *c, struct arena *arena, int **out)
{
    int n = 0;
    *out = NEW(arena, int, c->points.n);
    for (int i = 1; i < c->points.n && c->points.layers; i++) {
        int state = find_state(c, c->points.first[i]);
        if (state >= 0)
            (*out)[n++] = state;
    }
    return n;
}

/* Cut at the layers that the model repeats, into stages of about equal times; false: there are
 * fewer layers than stages. Cuts are found in order: each is the one nearest to an equal share
 * of the time, among those that leave a cut for each later stage. */
static bool cut_layers(const struct flush_search *c, struct flush_cut *cut)
{
    struct arena scratch = { 0 };
    const double *time_s = c->states->cost.time_s;
    int *state, n = layer_states(c, &scratch, &state), from = 0, last = c->states->n - 1;
    struct pipeline_stage *stage = NULL;
    if (n >= cut->n_stages - 1 && cut->n_stages > 1) {
        stage = NEW(c->arena, struct pipeline_stage, cut->n_stages);
        for (int s = 0; s < cut->n_stages - 1; s++) {
            double share_s = time_s[last] * (s + 1) / cut->n_stages;
            int at = from, end = n - (cut->n_stages - 2 - s);
            for (int i = from; i < end; i++)
                if (fabs(time_s[state[i]] - share_s) < fabs(time_s[state[at]] - share_s))
                    at = i;
            stage[s] = (struct pipeline_stage){ .after = s ? stage[s - 1].last : -1,
                                                .last = state[at],
                                                .workers = 1 };
            from = at + 1;
        }
        stage[cut->n_stages - 1] = (struct pipeline_stage){
            .after = stage[cut->n_stages - 2].last, .last = last, .workers = 1
        };
        cut->stage = stage;
    }
    hp_arena_free(&scratch);
    return stage != NULL;
}

/* Candidates --------------------------------------------------------------------------- */

/* Cut into n_stages whose slowest is fastest, by PipeDream's recurrence for a straight pipeline
 * whose workers are the groups of replicas. */
static bool cut_for(struct flush_search *c, struct flush_cut *k, double bytes_per_s)
{
    if (k->n_stages > c->states->n)
        return false;
    const struct pipeline *cut = hp_straight_cut(c->cuts, c->states, k->n_stages, bytes_per_s,
                                                 c->problem->options->stop);
    if (!cut)
        return false;
    k->stage = cut->stage;
    c->evaluated += cut->evaluated;
    return true;
}

static bool same_cut(const struct flush_cut *a, const struct flush_cut *b)
{
    for (int s = 0; s < a->n_stages && a->n_stages == b->n_stages; s++)
        if (a->stage[s].last != b->stage[s].last)
            return false;
    return a->n_stages == b->n_stages;
}

/* Add a candidate for each number of micro-batches of even sizes (if the batch allows it), or
 * for the number that the options ask for; none if a replica would have no sample. */
static void add_micro_batches(struct flush_search *c, struct flush_cut *cut)
{
    int64_t asked = c->problem->options->micro_batches;
    int64_t each = c->problem->graph->batch / cut->replicas;
    int64_t limit = asked ? each : hp_most_micro_batches(&c->limit, cut->replicas);
    int64_t least = hp_least_micro_batches(c->problem, c->schedule, cut->n_stages);
    int capacity = 0;
    for (int64_t m = asked ? asked : 1; m && m <= each && m <= limit;
         m = asked ? 0 : hp_next_divisor(each, m)) {
        if (!asked && m < least && least <= each && least <= limit)
            continue; /* of larger numbers some may be run */
        struct flush_candidate k = { .cut = cut, .micro_batches = m };
        estimate(c, &k);
        set_memory(c, &k);
        cut->candidate =
            GROW(c->arena, struct flush_candidate, cut->candidate, cut->n, &capacity);
        cut->candidate[cut->n++] = k;
    }
}

/* The time of the slowest stage, and the most that a stage sends both ways. */
static void find_slowest(const struct flush_search *c, const struct flush_cut *cut,
                         double *stage_s, double *bytes)
{
    const struct pipeline_states *cost = &c->states->cost;
    *stage_s = *bytes = 0;
    for (int s = 0; s < cut->n_stages; s++) {
        *stage_s = fmax(*stage_s, stage_sum(cost->time_s, &cut->stage[s]));
        if (s < cut->n_stages - 1)
            *bytes = fmax(*bytes, 2 * cost->cut_bytes[cut->stage[s].last]);
    }
}

/* Bandwidths for which a cut is made, each lower than the last. Over the first, a cut into
 * equal times sends in the time of a stage; over the last, sending takes longer than all
 * layers, and no cut sends less. The bandwidths do not depend on the links of the machine: so
 * faster links have no worse pipeline. Returns 0 at the end. */
static double slower_links(const struct flush_search *c, const struct flush_cut *cut,
                           double bytes_per_s)
{
    const double slower = 1.4; /* twice as slow ones miss cuts, closer ones find no more */
    double stage_s, bytes, all_s = c->states->cost.time_s[c->states->n - 1];
    find_slowest(c, cut, &stage_s, &bytes);
    if (bytes == 0) /* no cut sends less */
        return 0;
    if (!isfinite(bytes_per_s))
        return stage_s > 0 ? bytes / stage_s : 0;
    return bytes / bytes_per_s > all_s ? 0 : bytes_per_s / slower;
}

static void add_cut(struct flush_search *c, const struct flush_cut *from)
{
    for (int i = 0; i < c->n_cuts; i++)
        if (same_cut(c->cut[i], from))
            return;
    struct flush_cut *cut = NEW(c->arena, struct flush_cut, 1);
    *cut = *from;
    sum_up_needs(c, cut);
    add_micro_batches(c, cut);
    c->cut = GROW(c->arena, struct flush_cut *, c->cut, c->n_cuts, &c->cut_capacity);
    c->cut[c->n_cuts] = cut;
    c->n_cuts += cut->n > 0;
}

/* Add the cuts into so many stages: at layers that the model repeats, else for all speeds of
 * links. */
static void add_cuts(struct flush_search *c, int n_stages, int replicas)
{
    struct flush_cut cut = { .n_stages = n_stages, .replicas = replicas };
    if (cut_layers(c, &cut)) {
        add_cut(c, &cut);
        return;
    }
    for (double links = INFINITY; links > 0 && cut_for(c, &cut, links);
         links = slower_links(c, &cut, links))
        add_cut(c, &cut);
}

/* Add each number of stages that uses every device, or the number that the options ask for. */
static void add_depths(struct flush_search *c)
{
    int n_devices = hypar_machine_device_count(c->problem->machine);
    int64_t asked = c->problem->options->stages, most = c->problem->options->max_pipeline;
    for (int n = n_devices > 1 && !asked ? 2 : 1; n <= n_devices; n++)
        if (asked ? n == asked : n_devices % n == 0 && (!most || n <= most))
            add_cuts(c, n, n_devices / n);
}

/* The fewest micro-batches that may fit and are about as fast as the best. NULL: none may. */
static struct flush_candidate *fewest(const struct flush_cut *cut)
{
    struct arena scratch = { 0 };
    double *step_s = NEW(&scratch, double, cut->n);
    for (int i = 0; i < cut->n; i++)
        step_s[i] = hp_fits(&cut->candidate[i].estimate.memory)
                        ? cut->candidate[i].estimate.step_s
                        : INFINITY;
    int at = hp_fewest_micro_batches(step_s, cut->n);
    hp_arena_free(&scratch);
    return at < 0 ? NULL : &cut->candidate[at];
}

static void add_candidate(const struct flush_search *c, struct flush_candidate *k,
                          struct evaluation *e)
{
    int64_t alike[] = { k->cut->n_stages, k->micro_batches };
    k->estimate.candidate = k;
    k->estimate.tasks = hp_reduced_tasks(c->problem, k->cut->n_stages, 1, k->micro_batches);
    k->estimate.alike = hp_hash(HP_HASH_START, alike, sizeof alike);
    if (!k->added)
        hp_add_candidate(e, &k->estimate);
    k->added = true;
}

/* May a candidate fit that is simulated? */
static bool is_simulated(const struct flush_search *c)
{
    for (int i = 0; i < c->n_cuts && c->lowered; i++)
        for (int k = 0; k < c->cut[i]->n; k++)
            if (c->cut[i]->candidate[k].micro_batches <= HP_MANY &&
                c->cut[i]->candidate[k].estimate.least_part <= 1)
                return true;
    return false;
}

/* Candidates that are simulated. Where there are none, closed forms decide, which do not know
 * kernels: then one number of micro-batches of each cut, and those that do not fit. */
static void add_candidates(const struct flush_search *c, struct evaluation *e)
{
    bool simulated = is_simulated(c);
    for (int i = 0; i < c->n_cuts; i++) {
        const struct flush_candidate *few = simulated ? NULL : fewest(c->cut[i]);
        for (int j = 0; j < c->cut[i]->n; j++) {
            struct flush_candidate *k = &c->cut[i]->candidate[j];
            if (simulated ? k->micro_batches <= HP_MANY : !few || few == k)
                add_candidate(c, k, e);
        }
    }
}

/* The estimate of memory may be too low: more micro-batches of the same cut need less. */
static void follow(void *planner, struct evaluation *e, const struct evaluated *now)
{
    const struct flush_candidate *k = now->estimate.candidate;
    const struct flush_cut *cut = k->cut;
    int64_t next = k - cut->candidate + 1;
    if (!hp_fits(&now->memory) && !hp_evaluation_fits(e) && next < cut->n)
        add_candidate(planner, &cut->candidate[next], e);
}

static enum hypar_status refuse(const struct flush_search *c, struct evaluation *e,
                                struct hypar_error *err)
{
    if (e->n > 0)
        return hp_refuse(e, err);
    TRY(hp_check_stop(c->problem->options->stop, err));
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "a batch of %lld and a model that can be cut into %d make no pipeline of "
                   "equal stages on %d devices",
                   (long long)c->problem->graph->batch, c->states->n,
                   hypar_machine_device_count(c->problem->machine));
}

/* The plan ----------------------------------------------------------------------------- */

static struct planned_stage *write_stages(const struct flush_search *c,
                                          const struct flush_candidate *k, struct arena *arena)
{
    const struct flush_cut *cut = k->cut;
    struct planned_stage *stage = NEW(arena, struct planned_stage, cut->n_stages);
    for (int s = 0; s < cut->n_stages; s++) {
        stage[s] = (struct planned_stage){ .after = cut->stage[s].after,
                                           .last = cut->stage[s].last,
                                           .n_devices = cut->replicas,
                                           .device = NEW(arena, int, cut->replicas) };
        for (int r = 0; r < cut->replicas; r++)
            stage[s].device[r] = s * cut->replicas + r;
        struct hypar_pipeline_stage *about = &stage[s].about;
        hp_pipeline_sizes(c->states, &stage[s]);
        about->replicas = cut->replicas;
        about->time_s = stage_sum(c->states->cost.time_s, &cut->stage[s]) / cut->replicas;
        about->in_flight = (int)hp_in_flight(
            c->schedule, &(struct pipeline_size){ cut->n_stages, 1, k->micro_batches }, s);
        about->versions = 1;
        about->memory_bytes = stage_need(c, k, s, NEED_WRITTEN);
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

static struct hypar_plan *make_plan(const struct flush_search *c,
                                    const struct flush_candidate *k,
                                    const struct planned_stage *stage)
{
    struct hypar_plan *plan =
        hp_pipeline_plan(c->problem, c->states, stage, k->cut->n_stages, HYPAR_SHARE_BATCH);
    hp_plan_set_schedule(plan, &(struct hypar_schedule){ .kind = c->schedule,
                                                         .micro_batches = k->micro_batches });
    split_samples(c->problem, plan, k->cut->replicas);
    return plan;
}

static enum hypar_status build(void *planner, const void *candidate, struct hypar_plan **out,
                               struct hypar_error *err)
{
    struct arena scratch = { 0 };
    (void)err;
    *out = make_plan(planner, candidate, write_stages(planner, candidate, &scratch));
    hp_arena_free(&scratch);
    return HYPAR_OK;
}

static void keep(struct flush_search *c, const struct flush_candidate *k,
                 struct hypar_found *found)
{
    const struct pipeline_states *cost = &c->states->cost;
    struct hypar_pipeline_view *view = &found->pipeline;
    struct planned_stage *stage = write_stages(c, k, c->arena);
    int n_devices = k->cut->n_stages * k->cut->replicas;
    for (int s = 0; s < k->cut->n_stages; s++)
        view->bottleneck_s = fmax(view->bottleneck_s, stage[s].about.time_s);
    view->one_worker_s = cost->time_s[cost->n - 1];
    view->dp_bottleneck_s =
        view->one_worker_s / n_devices + sync_s(c, cost->weight_bytes[cost->n - 1], n_devices);
    view->noam = stage[0].about.in_flight;
    found->info.evaluated = c->evaluated;
    found->info.chooses = true;
    found->prediction.step_s = k->estimate.step_s;
    found->prediction.compute_s = k->busiest_s;
    hp_pipeline_keep(c->problem, found, c->states, stage, k->cut->n_stages);
}

static enum hypar_status check_asked(const struct planner *self, const struct flush_search *c,
                                     struct hypar_error *err)
{
    const struct problem *problem = c->problem;
    int n_states = c->states->n;
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
    if (most > 1 && c->limit.mixing >= 0)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: '%s' mixes the samples of a batch, expected one micro-batch",
                       self->info.name, problem->graph->ops[c->limit.mixing].name);
    return HYPAR_OK;
}

static struct cut_points find_points(const struct flush_search *c,
                                     const struct pipeline_layers *layers)
{
    double *op_s = NEW(c->arena, double, layers->n);
    for (int op = 0; op < layers->n; op++)
        op_s[op] = layers->forward_s[op] + layers->backward_s[op];
    struct cut_rule rule = { .op_s = op_s, .borders = c->problem->limits.borders };
    return hp_cut_points(c->arena, c->problem->graph, &rule);
}

static enum hypar_status plan_flush(const struct planner *self, const struct problem *problem,
                                    struct hypar_found *found, struct hypar_error *err)
{
    struct flush_search c = { .problem = problem,
                              .arena = &found->arena,
                              .machine = hp_pipeline_machine(problem),
                              .limit = hp_batch_limit(problem),
                              .schedule = self->schedule };
    const struct generator generator = { .build = build,
                                         .follow = follow,
                                         .off = HP_OFF_MUCH * HP_OFF_MUCH };
    struct evaluation evaluation;
    struct straight_cuts own = { .arena = c.arena };
    struct pipeline_layers *layers = hp_pipeline_layers(c.arena, problem, false);
    c.cuts = problem->cuts ? problem->cuts : &own;
    c.latency_s = problem->n_levels ? problem->level[0].latency_s : 0;
    c.states = hp_pipeline_states(c.arena, layers, &c.machine);
    c.points = find_points(&c, layers);
    TRY(check_asked(self, &c, err));
    c.needs = hp_op_needs(problem, c.arena);
    c.lowered = hypar_graph_lowerable(problem->graph, NULL) == HYPAR_OK;
    hp_evaluation_begin(&evaluation, problem, c.arena, &generator, &c);
    add_depths(&c);
    add_candidates(&c, &evaluation);
    hp_evaluate_candidates(&evaluation);
    if (!hp_evaluation_fits(&evaluation))
        return hp_in(err, refuse(&c, &evaluation, err), "%s", self->info.name);
    hp_accept(&evaluation, found);
    keep(&c, evaluation.best.estimate.candidate, found);
    return HYPAR_OK;
}

/* clang-format off */
const struct planner hp_planner_gpipe = {
    .info = { "gpipe", "equal stages, micro-batches all forward, then all backward",
      .source = "Huang et al., NeurIPS 2019" },
    .plan = plan_flush,
    .takes = TAKES_STAGES | TAKES_MICRO_BATCHES | TAKES_MAX_PIPELINE,
    .schedule = HYPAR_SCHEDULE_GPIPE,
    .checks_memory = true,
};
const struct planner hp_planner_1f1b = {
    .info = { "1f1b", "equal stages, one micro-batch forward, one backward in turn, less memory",
      .source = "Narayanan et al., ICML 2021" },
    .plan = plan_flush,
    .takes = TAKES_STAGES | TAKES_MICRO_BATCHES | TAKES_MAX_PIPELINE,
    .schedule = HYPAR_SCHEDULE_1F1B,
    .checks_memory = true,
};
const struct planner hp_planner_zb_h1 = {
    .info = { "zb-h1", "1f1b with gradients in the bubbles, no more memory",
      .source = "Qi et al., ICLR 2024" },
    .plan = plan_flush,
    .takes = TAKES_STAGES | TAKES_MICRO_BATCHES | TAKES_MAX_PIPELINE,
    .schedule = HYPAR_SCHEDULE_ZB_H1,
    .checks_memory = true,
};
const struct planner hp_planner_zb_h2 = {
    .info = { "zb-h2", "the same with twice as many micro-batches in flight",
      .source = "Qi et al., ICLR 2024" },
    .plan = plan_flush,
    .takes = TAKES_STAGES | TAKES_MICRO_BATCHES | TAKES_MAX_PIPELINE,
    .schedule = HYPAR_SCHEDULE_ZB_H2,
    .checks_memory = true,
};
/* clang-format on */
