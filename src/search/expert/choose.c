/* Planner 3d: the plan that an expert would write, data x tensor x pipeline. Degrees that are
 * not asked for are chosen among all factorisations of the devices: by closed form, then the
 * best few that fit are simulated. */
#include <math.h>
#include <stdlib.h>

#include "base/divisor.h"
#include "base/stop.h"
#include "cost/array.h"
#include "search/expert/weigh.h"
#include "search/fit.h"
#include "search/judge.h"
#include "search/predict.h"

enum {
    MOST_TRIED = 16,      /* plans whose need is worked out */
    MOST_SIMULATED = 8,   /* of those that fit */
    MOST_TASKS = 1 << 22, /* about so many parts of all micro-batches are simulated, together */
    MOST_DEVICES = 1 << 12, /* beyond that none */
};

struct choice {
    const struct problem *problem;
    struct weighing weighing;
    struct hypar_layout asked; /* 0: to be chosen */
    struct weighed *weighed;   /* one for each choice of degrees */
    int n, capacity;
    int n_shapes; /* degrees that were looked at */
    bool mixes;   /* samples of a batch depend on each other: one micro-batch, unless asked */
    int64_t evaluated;
};

/* The next number of micro-batches above m: those that divide the samples of a replica, or the
 * one that is asked for; 0: there is none. */
static int64_t next_number(const struct choice *c, const struct hypar_layout *layout, int64_t m)
{
    bool in_turn = layout->schedule == HYPAR_SCHEDULE_INTERLEAVED; /* as many at a time */
    int64_t each = c->mixes ? 1 : c->problem->graph->batch / layout->data,
            asked = c->asked.micro_batches;
    if (asked)
        return m < asked ? asked : 0;
    do
        m = hp_next_divisor(each, m);
    while (in_turn && m % layout->pipeline != 0);
    return m;
}

/* Few micro-batches are better kernels: the least number whose step is within 5 % of the best,
 * of those that fit; if none does, the one that needs least. */
static bool choose_micro_batches(struct choice *c, struct weighed *w)
{
    const double tolerance = 1.05, room = hp_least_room(c->problem);
    struct weighed least = { .memory_bytes = INFINITY };
    double best_s = INFINITY;
    for (int64_t m = 0; (m = next_number(c, &w->layout, m));) {
        w->layout.micro_batches = m;
        if (!hp_weigh(&c->weighing, w))
            return false;
        c->evaluated++;
        if (w->memory_bytes <= room)
            best_s = fmin(best_s, w->step_s);
        if (w->memory_bytes < least.memory_bytes)
            least = *w;
    }
    for (int64_t m = 0; best_s < INFINITY && (m = next_number(c, &w->layout, m));) {
        w->layout.micro_batches = m;
        hp_weigh(&c->weighing, w);
        if (w->memory_bytes <= room && w->step_s <= tolerance * best_s)
            return true;
    }
    *w = least;
    return least.memory_bytes < INFINITY;
}

static void add_degrees(struct choice *c, int data, int tensor, int pipeline)
{
    struct weighed w = { .layout = c->asked };
    w.layout.data = data;
    w.layout.tensor = tensor;
    w.layout.pipeline = pipeline;
    w.layout.chunks = w.layout.chunks ? w.layout.chunks : 1;
    if (c->asked.schedule == HYPAR_SCHEDULE_NONE)
        w.layout.schedule = hp_layout_schedule(&w.layout);
    c->n_shapes++;
    if (!choose_micro_batches(c, &w))
        return;
    c->weighed = GROW(c->weighing.arena, struct weighed, c->weighed, c->n, &c->capacity);
    c->weighed[c->n++] = w;
}

/* Is this number of parts as asked, and at most `most` (0: any)? */
static bool may_be(int degree, int asked, int most)
{
    return asked ? degree == asked : !most || degree <= most;
}

static void add_all(struct choice *c)
{
    const struct hypar_search_options *o = c->problem->options;
    int n = hypar_machine_device_count(c->problem->machine);
    const struct hypar_layout *a = &c->asked;
    for (int t = 1; t <= n; t++)
        for (int p = 1; n % t == 0 && p <= n / t; p++)
            if (n / t % p == 0 && may_be(t, a->tensor, o->max_tensor) &&
                may_be(p, a->pipeline, o->max_pipeline) && may_be(n / t / p, a->data, 0) &&
                n / t / p <= c->problem->graph->batch)
                add_degrees(c, n / t / p, t, p);
}

static int by_step(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->step_s != y->step_s)
        return x->step_s < y->step_s ? -1 : 1;
    return x->layout.tensor != y->layout.tensor ? x->layout.tensor - y->layout.tensor
                                                : x->layout.pipeline - y->layout.pipeline;
}

static int by_memory(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->memory_bytes != y->memory_bytes)
        return x->memory_bytes < y->memory_bytes ? -1 : 1;
    return by_step(a, b);
}

/* Those that fit by closed form, the fastest first; then the others, the smallest first. */
static void sort(struct choice *c)
{
    double room = hp_least_room(c->problem);
    int fit = 0;
    if (c->n == 0)
        return;
    qsort(c->weighed, (size_t)c->n, sizeof *c->weighed, by_memory);
    while (fit < c->n && c->weighed[fit].memory_bytes <= room)
        fit++;
    qsort(c->weighed, (size_t)fit, sizeof *c->weighed, by_step);
}

static enum hypar_status make_plan(const struct problem *problem,
                                   const struct hypar_layout *layout, struct hypar_plan **out,
                                   struct hypar_error *err)
{
    *out = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    enum hypar_status status = hp_plan_set_layout(*out, layout, err);
    if (status == HYPAR_OK)
        status = hypar_plan_check(*out, err);
    if (status != HYPAR_OK) {
        hypar_plan_free(*out);
        *out = NULL;
    }
    return status;
}

/* The best so far. */
struct leader {
    struct hypar_plan *plan; /* NULL: none fits */
    const struct weighed *weighed;
    double step_s;
    int n_simulated;
    double tasks;           /* about so many were simulated */
    struct fullest nearest; /* of those that do not fit */
};

static double simulated_s(const struct problem *problem, const struct hypar_plan *plan)
{
    struct hypar_sim *sim;
    if (hypar_simulate(&sim, plan, hp_simulation(problem), NULL) != HYPAR_OK)
        return INFINITY;
    double step_s = hypar_sim_summary(sim).step_s;
    hypar_sim_free(sim);
    return step_s;
}

/* By its exact need, where that can be worked out; degrees that are asked for have their say,
 * whether they fit or not. */
static bool fits(const struct choice *c, const struct hypar_plan *plan,
                 const struct weighed *weighed, struct leader *leader)
{
    struct fullest need;
    if (c->n_shapes == 1)
        return true;
    if (hp_exact_need(c->problem, plan, NULL, &need, NULL) != HYPAR_OK)
        return weighed->memory_bytes <= hp_least_room(c->problem);
    if (need.part < leader->nearest.part)
        leader->nearest = need;
    return need.part <= 1;
}

/* Look at a plan, which is kept or freed. True: enough was seen, or the best is known in closed
 * form alone, as it would take long to simulate. */
static bool look(const struct choice *c, struct hypar_plan *plan, const struct weighed *weighed,
                 struct leader *leader)
{
    double tasks = (double)hp_plan_parts(plan) * (double)weighed->layout.micro_batches;
    bool fit = fits(c, plan, weighed, leader);
    bool small = hypar_machine_device_count(plan->machine) <= MOST_DEVICES;
    bool simulate = fit && small && c->n_shapes > 1 && leader->tasks + tasks <= MOST_TASKS;
    double step_s = simulate ? simulated_s(c->problem, plan) : weighed->step_s;
    if (fit && (!leader->plan || (simulate && step_s < leader->step_s))) {
        hypar_plan_free(leader->plan);
        leader->plan = plan;
        leader->weighed = weighed;
        leader->step_s = step_s;
    } else {
        hypar_plan_free(plan);
    }
    leader->n_simulated += simulate;
    leader->tasks += simulate ? tasks : 0;
    return fit && (!simulate || leader->n_simulated == MOST_SIMULATED ||
                   hp_stopped(c->problem->options->stop));
}

/* The first reason why there is no plan goes to *err. */
static void find_leader(const struct choice *c, struct leader *leader, struct hypar_error *err)
{
    struct hypar_error unused;
    int tried = 0;
    leader->nearest.part = INFINITY;
    for (int i = 0; i < c->n && tried < MOST_TRIED; i++) {
        struct hypar_plan *plan;
        if (make_plan(c->problem, &c->weighed[i].layout, &plan, i ? &unused : err) != HYPAR_OK)
            continue;
        tried++;
        if (look(c, plan, &c->weighed[i], leader))
            break;
    }
}

static void predict(const struct choice *c, const struct leader *leader,
                    struct hypar_found *found)
{
    const struct weighed *w = leader->weighed;
    struct step_work work = hp_step_work(c->problem);
    double samples = (double)c->problem->graph->batch;
    struct array_work energy = { .macs = work.macs,
                                 .dram_words = 3 * c->weighing.touched_bytes / 4,
                                 .sent_words = w->comm_bytes / 4 };
    found->plan = leader->plan;
    found->info.evaluated = c->evaluated;
    found->info.chooses = c->n_shapes > 1;
    found->prediction = (struct hypar_prediction){
        .step_s = w->step_s,
        .compute_s = w->compute_s,
        .comm_s = w->comm_s,
        .samples_per_s = w->step_s > 0 ? samples / w->step_s : 0,
        .comm_bytes = w->comm_bytes,
        .energy_j = hp_array_energy_j(&energy, &work.device, work.link_j_per_bit),
        .state_bytes = hp_plan_fullest(leader->plan, c->problem->limit_bytes).need,
    };
    if (w->step_s > 0)
        found->prediction.mfu = hp_step_flops_per_sample(c->problem->graph) * samples /
                                (work.peak_op_per_s * w->step_s);
}

/* Degrees that are all asked for are built as they are, or the reason is theirs; of others some
 * must make the number of devices. */
static enum hypar_status refuse(const struct choice *c, const struct leader *leader,
                                const struct hypar_error *first, struct hypar_error *err)
{
    const struct hypar_layout *a = &c->asked;
    if (leader->nearest.part < INFINITY)
        return hp_fail_memory(&leader->nearest, err);
    if (c->n > 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "%s", first->text);
    if (c->n_shapes == 0 && !(a->data && a->tensor && a->pipeline))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "no degrees with data %d, tensor %d, pipeline %d (0: any) make the %d "
                       "devices of the machine with at most %lld replicas, the samples of the "
                       "batch",
                       a->data, a->tensor, a->pipeline,
                       hypar_machine_device_count(c->problem->machine),
                       (long long)c->problem->graph->batch);
    struct hypar_layout layout = *a;
    struct hypar_plan *plan;
    if (layout.schedule == HYPAR_SCHEDULE_NONE)
        layout.schedule = hp_layout_schedule(&layout);
    enum hypar_status status = make_plan(c->problem, &layout, &plan, err);
    hypar_plan_free(plan);
    return status == HYPAR_OK ? hp_fail(err, HYPAR_INFEASIBLE, "no layout of this kind")
                              : status;
}

static enum hypar_status plan_expert(const struct planner *self, const struct problem *problem,
                                     struct hypar_found *found, struct hypar_error *err)
{
    struct choice c = { .problem = problem,
                        .weighing = hp_weighing(&found->arena, problem),
                        .asked = problem->options->layout };
    struct leader leader = { 0 };
    struct hypar_error first = { "" };
    if (!c.asked.micro_batches)
        c.asked.micro_batches = problem->options->micro_batches;
    if (c.asked.recompute == HYPAR_RECOMPUTE_NONE)
        c.asked.recompute = problem->options->recompute;
    if (c.asked.shard == HYPAR_SHARD_NONE)
        c.asked.shard = problem->options->shard;
    for (int op = 0; op < problem->graph->n_ops; op++)
        c.mixes |= hp_op_mixes_samples(problem->graph, &problem->graph->ops[op]);
    add_all(&c);
    sort(&c);
    find_leader(&c, &leader, &first);
    if (!leader.plan)
        return hp_in(err, refuse(&c, &leader, &first, err), "%s", self->info.name);
    predict(&c, &leader, found);
    return HYPAR_OK;
}

/* clang-format off */
const struct planner hp_planner_3d = {
    .info = { "3d", "an expert's: data x tensor x pipeline, columns then rows, heads, equal stages",
      .source = "Narayanan et al., SC 2021" },
    .plan = plan_expert,
    .takes = TAKES_MICRO_BATCHES | TAKES_DATA | TAKES_TENSOR | TAKES_PIPELINE | TAKES_CHUNKS |
             TAKES_SCHEDULE | TAKES_SEQUENCE_PARALLEL | TAKES_MAX_TENSOR | TAKES_MAX_PIPELINE,
    .checks_memory = true,
    .shards = true,
};
/* clang-format on */
