/* Planner hybrid: stages, splits inside stages, micro-batches, schedule, recomputation and
 * sharding together.
 *
 * For each number of devices of a stage, number of micro-batches, sharding and schedule the
 * best cut is found in closed form (pipeline.c), each stage run in the fastest way that fits
 * (stage.c), its operators split by the exact solver (submesh.c). The best of these candidates
 * are simulated (reduced.c), their memory worked out from the program, and the fastest that
 * fits is taken.
 *
 * Alpa (Zheng et al., OSDI 2022) divides the problem in the same two; Piper (Tarnawski et al.,
 * NeurIPS 2021) counts micro-batches in flight from the end, as is done here. */
#include <math.h>
#include <stdlib.h>

#include "base/divisor.h"
#include "base/stop.h"
#include "cost/array.h"
#include "search/choices/choices.h"
#include "search/fit.h"
#include "search/hybrid/pipeline.h"
#include "search/judge.h"
#include "search/options.h"
#include "search/predict.h"
#include "search/reduced.h"
#include "search/verdict.h"

enum {
    MOST_NUMBERS = 64,
    MOST_MICRO_BATCHES = 1 << 12, /* ... of candidates that are simulated */
    FEW_DEVICES = 64,             /* of which some may stay idle */
    MOST_LOOKED_AT = 24,          /* candidates that are simulated */
    MOST_OF_A_KIND =
        3, /* ... of one number of devices and one schedule, where that takes long */
    MOST_PARTS = 1 << 19, /* of their operators, together: what it takes to lower them */
    MOST_TASKS = 3 << 21, /* about so many instances, together, that are simulated */
};

/* Beyond so many task instances a candidate is taken as its closed form has it. */
static const double MOST_INSTANCES = 1e8;

/* Candidates that are slower than the best simulated by more than closed forms may be off; and
 * shapes that are not looked into, where one is known that is so much faster. */
static const double OFF = 1.08, FAR_OFF = 1.15;

struct search {
    struct hybrid h;
    const struct problem *problem;
    int n_numbers;
    int64_t number[MOST_NUMBERS]; /* of micro-batches, each about twice the one before */
    bool all; /* also shapes that cannot be about as good as the best so far */
    double best_s;
    int n, capacity;
    struct candidate *candidate;
};

/* Numbers of micro-batches ----------------------------------------------------------------- */

/* Those that divide the batch, each about twice the one before. */
static void list_numbers(struct search *s)
{
    const double factor = 1.9;
    const struct hypar_search_options *o = s->problem->options;
    int64_t batch = s->problem->graph->batch;
    bool mixes = false; /* samples of a batch depend on each other */
    for (int op = 0; op < s->problem->graph->n_ops; op++)
        mixes |= hp_op_mixes_samples(s->problem->graph, &s->problem->graph->ops[op]);
    if (o->micro_batches || mixes) {
        s->number[s->n_numbers++] = o->micro_batches ? o->micro_batches : 1;
        return;
    }
    double last = 0;
    for (int64_t m = 0; (m = hp_next_divisor(batch, m)) && m <= HP_MAX_MICRO_BATCHES;)
        if ((double)m >= last * factor && s->n_numbers < MOST_NUMBERS)
            last = (double)(s->number[s->n_numbers++] = m);
}

/* Candidates ------------------------------------------------------------------------------- */

/* Is there one of the same shape that takes as long? Then it has the same splits. */
static bool is_known(const struct search *s, const struct candidate *c)
{
    for (int i = 0; i < s->n; i++) {
        const struct pipeline_shape *a = &s->candidate[i].shape, *b = &c->shape;
        if (s->candidate[i].step_s == c->step_s && a->n_devices == b->n_devices &&
            a->groups == b->groups && a->chunks == b->chunks && a->schedule == b->schedule &&
            a->step.micro_batches == b->step.micro_batches && a->step.shard == b->step.shard)
            return true;
    }
    return false;
}

static void try_shape(struct search *s, const struct pipeline_shape *shape)
{
    enum hypar_schedule_kind asked = s->problem->options->layout.schedule;
    struct candidate c;
    if (asked != HYPAR_SCHEDULE_NONE && shape->schedule != asked)
        return;
    if (!s->all && hp_shape_bound(&s->h, shape) > FAR_OFF * s->best_s)
        return;
    if (!hp_cut_pipeline(&s->h, shape, &c) || is_known(s, &c))
        return;
    s->best_s = fmin(s->best_s, c.step_s);
    s->candidate = GROW(s->h.arena, struct candidate, s->candidate, s->n, &s->capacity);
    s->candidate[s->n++] = c;
}

static void try_schedules(struct search *s, struct pipeline_shape shape)
{
    static const enum hypar_schedule_kind kinds[] = { HYPAR_SCHEDULE_1F1B, HYPAR_SCHEDULE_ZB_H1,
                                                      HYPAR_SCHEDULE_ZB_H2 };
    shape.chunks = 1;
    if (shape.groups == 1) {
        shape.schedule = HYPAR_SCHEDULE_NONE;
        try_shape(s, &shape);
        return;
    }
    for (int i = 0; i < 3; i++) {
        shape.schedule = kinds[i];
        shape.step.apart = i > 0;
        try_shape(s, &shape);
    }
    shape.step.apart = false;
    shape.schedule = HYPAR_SCHEDULE_INTERLEAVED;
    for (shape.chunks = 2; shape.chunks <= 8; shape.chunks++)
        if (shape.step.micro_batches % shape.groups == 0)
            try_shape(s, &shape);
}

static void try_shards(struct search *s, struct pipeline_shape shape)
{
    const struct hypar_search_options *o = s->problem->options;
    for (int shard = 0; shard <= HYPAR_SHARD_PARAMETERS; shard++) {
        if (o->shard_given && o->shard != (enum hypar_shard)shard)
            continue;
        if (!o->shard_given && shard == HYPAR_SHARD_GRADIENTS && shape.step.micro_batches > 1)
            continue;
        shape.step.shard = (enum hypar_shard)shard;
        try_schedules(s, shape);
    }
}

/* More and more micro-batches, until they have made it worse twice. */
static void try_numbers(struct search *s, struct pipeline_shape shape)
{
    const double worse = 1.03;
    double best_s = INFINITY;
    for (int i = 0, falls = 0; i < s->n_numbers && falls < 2; i++) {
        int before = s->n;
        double now_s = INFINITY;
        shape.step.micro_batches = s->number[i];
        try_shards(s, shape);
        for (int c = before; c < s->n; c++)
            now_s = fmin(now_s, s->candidate[c].step_s);
        falls = best_s < INFINITY && now_s > worse * best_s ? falls + 1 : 0;
        best_s = fmin(best_s, now_s);
    }
}

/* Stages of `each` devices, on all devices of the machine, or on fewer. */
static void try_each(struct search *s, int each)
{
    const struct hypar_search_options *o = s->problem->options;
    int n = hypar_machine_device_count(s->problem->machine), most = n / each;
    for (int groups = most; groups >= 1; groups /= 2) {
        bool all = groups == most, few = n <= FEW_DEVICES && groups * each * 4 >= n;
        bool bounded = (o->max_pipeline && groups > o->max_pipeline) ||
                       (o->stages && groups != o->stages) || groups > s->h.units.n;
        if ((all || few) && !bounded)
            try_numbers(
                s, (struct pipeline_shape){ .n_devices = each, .groups = groups, .room = 1 });
    }
}

static void try_all(struct search *s)
{
    int n = hypar_machine_device_count(s->problem->machine);
    for (int each = n; each >= 1; each--)
        if (n % each == 0)
            try_each(s, each);
}

static int by_step(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->step_s < y->step_s ? -1 : x->step_s > y->step_s;
}

/* For the best so far: stages that are only replicated, and numbers of micro-batches between
 * those that were tried. */
static void refine(struct search *s)
{
    enum { REFINED = 3 };
    int64_t batch = s->problem->graph->batch;
    for (int i = 0; i < REFINED && i < s->n; i++) {
        struct pipeline_shape shape = s->candidate[i].shape;
        int64_t m = shape.step.micro_batches;
        shape.size = 1;
        if (s->candidate[i].stage[0].choice.size > 1)
            try_shape(s, &shape);
        shape.size = 0;
        for (int64_t other = s->n_numbers > 1 ? m / 2 : 2 * m;
             (other = hp_next_divisor(batch, other)) && other < 2 * m;) {
            shape.step.micro_batches = other;
            bool in_turn =
                shape.schedule != HYPAR_SCHEDULE_INTERLEAVED || other % shape.groups == 0;
            bool known = false;
            for (int k = 0; k < s->n_numbers; k++)
                known |= s->number[k] == other;
            if (!known && in_turn)
                try_shape(s, &shape);
        }
    }
}

/* Looking closer --------------------------------------------------------------------------- */

struct looking {
    struct hypar_plan *plan; /* the best that fits; NULL: none does */
    struct candidate best;
    double step_s;
    struct reduced_step part; /* of it, as it was simulated */
    int n;
    int64_t parts;
    struct fullest nearest; /* of those that do not fit */
    bool unseen;            /* the best was too large to be simulated */
};

/* How many of the first `n` candidates have the devices and the schedule of this one? */
static int count_alike(const struct search *s, int n)
{
    const struct pipeline_shape *mine = &s->candidate[n].shape;
    int count = 0;
    for (int i = 0; i < n; i++)
        count += s->candidate[i].shape.n_devices == mine->n_devices &&
                 s->candidate[i].shape.groups == mine->groups &&
                 s->candidate[i].shape.schedule == mine->schedule;
    return count;
}

/* Returns what it needs of the fullest device's memory. */
static double look_at(struct search *s, const struct candidate *c, struct looking *l)
{
    struct hypar_plan *plan;
    struct reduced_step step;
    if (hp_build_candidate(&s->h, c, &plan, NULL) != HYPAR_OK)
        return 0;
    l->parts += hp_plan_parts(plan);
    if (hp_plan_instances(plan) > MOST_INSTANCES ||
        c->shape.step.micro_batches > MOST_MICRO_BATCHES) {
        step = (struct reduced_step){ .step_s = c->step_s };
        l->unseen = true;
    } else if (hp_simulate_reduced(s->problem, plan, &step, NULL) != HYPAR_OK) {
        hypar_plan_free(plan);
        return 0;
    }
    l->n++;
    if (step.memory.part > 1 && step.memory.part < l->nearest.part)
        l->nearest = step.memory;
    if (step.memory.part <= 1 && step.step_s < l->step_s) {
        hypar_plan_free(l->plan);
        l->plan = plan;
        l->best = *c;
        l->step_s = step.step_s;
        l->part = step;
    } else {
        hypar_plan_free(plan);
    }
    return step.memory.part;
}

static bool is_enough(const struct search *s, const struct looking *l,
                      const struct candidate *c)
{
    if (!l->plan)
        return l->n >= 4 * MOST_LOOKED_AT || hp_stopped(s->problem->options->stop);
    return c->step_s > OFF * fmax(l->step_s, l->best.step_s) || l->n >= MOST_LOOKED_AT ||
           l->unseen || l->parts >= MOST_PARTS || hp_stopped(s->problem->options->stop);
}

/* About how many instances hp_simulate_reduced() has of it. */
static double reduced_tasks(const struct search *s, const struct candidate *c)
{
    const struct hypar_graph *g = s->problem->graph;
    double micro = fmin((double)c->shape.step.micro_batches, 2 * c->n_stages + 2), passes = 0;
    for (int op = 0; op < g->n_ops; op++)
        passes += g->ops[op].nest->n_passes;
    return 3 * passes * c->stage[0].choice.size * micro;
}

/* A candidate that needs more than closed forms say, and than there is: cut it anew, with as
 * much less room. It takes its place among those that follow. */
static void try_with_less(struct search *s, int i, double need)
{
    const double most = 1.5;
    struct pipeline_shape shape = s->candidate[i].shape;
    int n = s->n;
    shape.room /= need * 1.002;
    if (need > most || shape.room < 1 / most)
        return;
    try_shape(s, &shape);
    if (s->n == n)
        return;
    struct candidate less = s->candidate[n];
    int at = n;
    for (; at > i + 1 && s->candidate[at - 1].step_s > less.step_s; at--)
        s->candidate[at] = s->candidate[at - 1];
    s->candidate[at] = less;
}

static void look(struct search *s, struct looking *l)
{
    double tasks = 0;
    for (int i = 0; i < s->n && !is_enough(s, l, &s->candidate[i]); i++) {
        double more = reduced_tasks(s, &s->candidate[i]);
        bool many = tasks > MOST_TASKS / 8 && count_alike(s, i) >= MOST_OF_A_KIND;
        if (l->plan && (many || tasks + more > MOST_TASKS))
            continue;
        tasks += more;
        double need = look_at(s, &s->candidate[i], l);
        if (need > 1)
            try_with_less(s, i, need);
    }
}

static void search(struct search *s, struct looking *l)
{
    s->n = 0;
    try_all(s);
    if (s->n > 0)
        qsort(s->candidate, (size_t)s->n, sizeof *s->candidate, by_step);
    refine(s);
    if (s->n > 0)
        qsort(s->candidate, (size_t)s->n, sizeof *s->candidate, by_step);
    look(s, l);
}

/* The closed form of what was chosen. */
static void predict(const struct search *s, const struct looking *l, struct hypar_found *found)
{
    const struct candidate *c = &l->best;
    struct step_work work = hp_step_work(s->problem);
    double samples = (double)s->problem->graph->batch, compute_s = 0;
    for (int i = 0; i < c->n_stages; i++)
        compute_s = fmax(compute_s, c->stage[i].choice.compute_s);
    compute_s *= (double)c->shape.step.micro_batches * c->shape.chunks;
    found->plan = l->plan;
    if (hp_is_large(l->plan) && l->part.all_instances > 0)
        hp_note_part(found, &l->part);
    found->info.chooses = true;
    found->info.evaluated = s->h.evaluated;
    found->prediction = (struct hypar_prediction){
        .step_s = c->step_s,
        .compute_s = fmin(compute_s, c->step_s),
        .comm_s = fmax(0, c->step_s - compute_s),
        .samples_per_s = samples / c->step_s,
        .mfu = hp_step_flops_per_sample(s->problem->graph) * samples /
               (work.peak_op_per_s * c->step_s),
        .state_bytes = hp_plan_fullest(l->plan, s->problem->limit_bytes).need,
    };
}

static enum hypar_status plan_hybrid(const struct planner *self, const struct problem *problem,
                                     struct hypar_found *found, struct hypar_error *err)
{
    if (hp_has_choices(problem->graph))
        return hp_plan_choices(self, problem, found, err);
    struct search s = { .problem = problem, .best_s = INFINITY };
    struct looking l = { .step_s = INFINITY, .nearest = { .part = INFINITY } };
    TRY(hp_in(err, hp_hybrid_begin(&s.h, &found->arena, problem, err), "%s", self->info.name));
    list_numbers(&s);
    search(&s, &l);
    if (!l.plan && !hp_stopped(problem->options->stop)) { /* less that is fast may fit */
        s.all = true;
        search(&s, &l);
    }
    if (l.plan)
        predict(&s, &l, found);
    hp_hybrid_end(&s.h);
    if (l.plan)
        return HYPAR_OK;
    TRY(hp_check_stop(problem->options->stop, err));
    if (l.nearest.part < INFINITY)
        return hp_in(err, hp_fail_memory(&l.nearest, err), "%s", self->info.name);
    return hp_fail(err, HYPAR_INFEASIBLE, "%s: no plan fits", self->info.name);
}

const struct planner hp_planner_hybrid = {
    .info = { "hybrid",
              "stages, splits, micro-batches, recomputation and sharding in one search",
              .source = "Alpa, OSDI 2022; Piper, NeurIPS 2021" },
    .plan = plan_hybrid,
    .checks_memory = true,
    .shards = true,
    .takes = TAKES_STAGES | TAKES_MICRO_BATCHES | TAKES_SCHEDULE | TAKES_MAX_TENSOR |
             TAKES_MAX_PIPELINE,
};
