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
#include <string.h>

#include "base/stop.h"
#include "cost/papers/array.h"
#include "search/choices/choices.h"
#include "search/evaluate/fit.h"
#include "search/evaluate/judge.h"
#include "search/evaluate/reduced.h"
#include "search/evaluate/verdict.h"
#include "search/hybrid/candidates.h"
#include "search/options.h"
#include "search/predict.h"
#include "search/runs.h"

enum {
    MOST_MICRO_BATCHES = 1 << 12, /* of candidates that are simulated */
    MOST_LOOKED_AT = 40,          /* candidates that are simulated */
    MOST_OF_A_KIND = 3,           /* ... of a kind, where that takes long */
    MOST_PARTS = 1 << 19,   /* of their operators, together: what it takes to lower them */
    MOST_TASKS = 3 << 21,   /* about so many instances, together, that are simulated */
    FEW_TASKS = 1 << 17,    /* ... in no time */
    CROSSED_LIKE_TASK = 32, /* links that messages cross take as long to look at as one */
};

/* Beyond so many task instances a candidate is taken as its closed form has it. */
static const double MOST_INSTANCES = 1e8;

/* Candidates that are slower than the best simulated by more than closed forms may be off. */
static const double OFF = 1.08;

/* Of small plans, which are simulated in no time, those that closed forms find much slower. */
static const double FAR_OFF = 1.5;

/* What may not fit by its closed form has to be faster than the best by more than that. */
static const double FASTER = 0.99;

/* Looking closer --------------------------------------------------------------------------- */

struct kind {
    int n;      /* of its candidates that were simulated */
    double off; /* the least of simulated over closed form */
};

struct looking {
    struct hypar_plan *plan; /* the best that fits; NULL: none does */
    struct candidate best;
    double step_s, last_s;    /* of it; of the last one that was simulated */
    struct reduced_step part; /* of it, as it was simulated */
    int n;
    int64_t parts;
    double tasks;           /* simulated, about */
    struct fullest nearest; /* of those that do not fit */
    bool unseen;            /* the best was too large to be simulated */
    struct table seen;      /* hashes of plans */
    struct table kind_keys;
    int n_kinds, kind_capacity;
    struct kind *kind;
    double least_off[2][2]; /* of all kinds [with several stages][with sharded parameters] */
    struct table too_large; /* groups of devices whose plans need far more than there is */
    struct hypar_error refused; /* why the first that cannot be built or run cannot; "": none */
};

/* Candidates on the same groups of devices, by the same schedule and chunks, in submeshes of
 * the same size, with as many micro-batches and alike in whether parameters are sharded. Their
 * closed forms are off alike. */
static struct kind *kind_of(struct candidates *s, struct looking *l, const struct candidate *c)
{
    const struct pipeline_shape *shape = &c->shape;
    int key[] = { shape->n_devices,
                  shape->groups,
                  (int)shape->schedule,
                  shape->chunks,
                  c->stage[0].choice.size,
                  (int)shape->step.micro_batches,
                  shape->step.shard == HYPAR_SHARD_PARAMETERS };
    int known = hp_table_get(&l->kind_keys, key, sizeof key);
    if (known >= 0)
        return &l->kind[known];
    int *kept = NEW(s->h.arena, int, sizeof key / sizeof *key);
    memcpy(kept, key, sizeof key);
    hp_table_put(&l->kind_keys, s->h.arena, kept, sizeof key, l->n_kinds);
    l->kind = GROW(s->h.arena, struct kind, l->kind, l->n_kinds, &l->kind_capacity);
    l->kind[l->n_kinds] = (struct kind){ .off = INFINITY };
    return &l->kind[l->n_kinds++];
}

static double *least_off_like(struct looking *l, const struct candidate *c)
{
    return &l->least_off[c->shape.groups > 1][c->shape.step.shard == HYPAR_SHARD_PARAMETERS];
}

/* What a step takes at least whose closed form is off by so much; INFINITY: not known. */
static double at_least(double step_s, double off)
{
    return off < INFINITY ? step_s * fmax(off, 1) : step_s;
}

/* Is a candidate slower than the best by more than closed forms of its kind may be off? */
static bool is_slow(const struct looking *l, const struct kind *kind, const struct candidate *c)
{
    double most = l->tasks <= FEW_TASKS ? FAR_OFF : OFF;
    return l->plan && at_least(c->step_s, kind->off) > most * fmax(l->step_s, l->best.step_s);
}

/* The candidate to look at next: the one that may be expected to be the fastest, a new kind
 * being half as far off as others that have one stage or several and shard parameters or not.
 * NULL: none is worth it. */
static struct candidate *next_candidate(struct candidates *s, struct looking *l)
{
    struct candidate *next = NULL;
    double least_s = INFINITY;
    for (int i = 0; i < s->n; i++) {
        struct candidate *c = &s->candidate[i];
        if (c->looked_at)
            continue;
        const struct kind *kind = kind_of(s, l, c);
        double off = kind->n > 0 ? kind->off : sqrt(*least_off_like(l, c));
        double expected_s = at_least(c->step_s, off);
        if (expected_s < least_s && !is_slow(l, kind, c)) {
            least_s = expected_s;
            next = c;
        }
    }
    if (next)
        next->looked_at = true;
    return next;
}

/* Candidates of different shapes may be the same plan. */
static bool is_seen(struct candidates *s, struct looking *l, const struct hypar_plan *plan)
{
    uint64_t *hash = NEW(s->h.arena, uint64_t, 1);
    int n = l->seen.used;
    *hash = hp_plan_hash(plan);
    return hp_table_put(&l->seen, s->h.arena, hash, sizeof *hash, n) < n;
}

/* Of a plan that takes too long to be simulated: its step, and what it needs. */
static enum hypar_status take_closed_form(struct candidates *s, const struct candidate *c,
                                          const struct hypar_plan *plan,
                                          struct reduced_step *out)
{
    *out = (struct reduced_step){ .step_s = c->step_s };
    if (hp_plan_parts(plan) <= MOST_PARTS)
        return hp_exact_need(s->problem, plan, NULL, &out->memory, NULL);
    out->memory = hp_closed_need(s->problem, plan);
    return HYPAR_OK;
}

/* Does a look take so little that one who stops the search gets a plan? */
static bool is_quick(const struct candidates *s)
{
    return (double)s->problem->graph->n_ops * hypar_machine_device_count(s->problem->machine) <=
           MOST_PARTS / 64;
}

/* What ends a look: the first one that takes little is not to be ended. */
static const volatile sig_atomic_t *stop_of(const struct candidates *s, const struct looking *l)
{
    return l->n > 0 || !is_quick(s) ? s->problem->options->stop : NULL;
}

/* Returns what it needs of the fullest device's memory. */
static double look_at(struct candidates *s, const struct candidate *c, struct looking *l)
{
    struct hypar_plan *plan;
    struct reduced_step step;
    if (hp_build_candidate(&s->h, c, &plan, l->refused.text[0] ? NULL : &l->refused) !=
        HYPAR_OK)
        return 0;
    bool long_step = hp_plan_instances(plan) > MOST_INSTANCES ||
                     c->shape.step.micro_batches > MOST_MICRO_BATCHES;
    if (is_seen(s, l, plan) || (long_step ? take_closed_form(s, c, plan, &step)
                                          : hp_simulate_reduced(s->problem, plan, stop_of(s, l),
                                                                &step, NULL)) != HYPAR_OK) {
        hypar_plan_free(plan);
        return 0;
    }
    l->parts += hp_plan_parts(plan);
    l->tasks += step.crossed / CROSSED_LIKE_TASK;
    l->n++;
    l->last_s = step.step_s;
    struct kind *kind = kind_of(s, l, c);
    double *least_off = least_off_like(l, c);
    kind->off = fmin(kind->off, step.step_s / c->step_s);
    *least_off = fmin(*least_off, kind->off);
    kind->n++;
    if (step.memory.part > 1 && step.memory.part < l->nearest.part)
        l->nearest = step.memory;
    if (step.memory.part <= 1 && step.step_s < l->step_s) {
        hypar_plan_free(l->plan);
        l->plan = plan;
        l->best = *c;
        l->step_s = step.step_s;
        l->part = step;
        l->unseen = long_step;
    } else {
        hypar_plan_free(plan);
    }
    return step.memory.part;
}

static bool is_enough(const struct candidates *s, const struct looking *l)
{
    if (!l->plan)
        return l->n >= 4 * MOST_LOOKED_AT ||
               (hp_stopped(s->problem->options->stop) && (l->n > 0 || !is_quick(s)));
    return (l->n >= MOST_LOOKED_AT && l->tasks > FEW_TASKS) || l->unseen ||
           l->parts >= MOST_PARTS || hp_stopped(s->problem->options->stop);
}

/* About how many instances hp_simulate_reduced() has of it. */
static double reduced_tasks(const struct candidates *s, const struct candidate *c)
{
    const struct hypar_graph *g = s->problem->graph;
    double micro = fmin((double)c->shape.step.micro_batches, 2 * c->n_stages + 2), passes = 0;
    for (int op = 0; op < g->n_ops; op++)
        passes += g->ops[op].nest->n_passes;
    return 3 * passes * c->stage[0].choice.size * micro;
}

/* Where a look takes long, others on as many groups of devices as one whose need no closed form
 * has foreseen are left out. */
static bool is_too_large(const struct candidates *s, const struct looking *l,
                         const struct candidate *c)
{
    int key[] = { c->shape.n_devices, c->shape.groups };
    return !is_quick(s) && hp_table_get(&l->too_large, key, sizeof key) >= 0;
}

static void note_too_large(struct candidates *s, struct looking *l, const struct candidate *c)
{
    int *key = NEW(s->h.arena, int, 2);
    key[0] = c->shape.n_devices;
    key[1] = c->shape.groups;
    hp_table_put(&l->too_large, s->h.arena, key, 2 * sizeof *key, 0);
}

/* A candidate that needs more than closed forms say, and than there is: cut it anew, with as
 * much less room. */
static void try_with_less(struct candidates *s, struct looking *l, const struct candidate *c,
                          double need)
{
    const double most = 1.5;
    struct pipeline_shape shape = c->shape;
    shape.room /= need * 1.002;
    if (need > most)
        note_too_large(s, l, c);
    if (need <= most && shape.room >= 1 / most)
        hp_try_shape(s, &shape);
}

/* In closed form 1f1b takes as long as gpipe, and less memory; simulated, one is faster or the
 * other: a stage that waits for both sides holds up its neighbours. */
static void try_gpipe(struct candidates *s, const struct candidate *c, struct looking *l)
{
    struct candidate other = *c;
    if (c->shape.schedule != HYPAR_SCHEDULE_1F1B ||
        s->problem->options->layout.schedule != HYPAR_SCHEDULE_NONE ||
        !hp_has_schedule(s->problem, HYPAR_SCHEDULE_GPIPE) ||
        hp_stopped(s->problem->options->stop))
        return;
    other.shape.schedule = HYPAR_SCHEDULE_GPIPE;
    l->tasks += reduced_tasks(s, c);
    look_at(s, &other, l);
}

/* Is a look at it left out, as it takes long? */
static bool is_left_out(struct candidates *s, struct looking *l, const struct candidate *c,
                        double tasks)
{
    bool many = l->tasks > MOST_TASKS / 8 && kind_of(s, l, c)->n >= MOST_OF_A_KIND;
    return (l->plan && (many || l->tasks + tasks > MOST_TASKS)) || is_too_large(s, l, c);
}

static void look(struct candidates *s, struct looking *l)
{
    const struct candidate *next;
    while (!is_enough(s, l) && (next = next_candidate(s, l))) {
        const struct candidate c = *next; /* more may be found */
        double more = reduced_tasks(s, &c);
        if (is_left_out(s, l, &c, more))
            continue;
        l->tasks += more;
        l->last_s = INFINITY;
        double need = look_at(s, &c, l);
        if (need > 1)
            try_with_less(s, l, &c, need);
        else if (l->tasks <= FEW_TASKS && l->last_s <= OFF * l->step_s)
            try_gpipe(s, &c, l);
    }
    if (l->plan && !l->unseen)
        try_gpipe(s, &l->best, l);
}

/* Data parallelism over all devices is looked at where that takes little, however slow its
 * closed form is: latencies of many sums may pass beside each other. */
static void look_at_replicas(struct candidates *s, struct looking *l)
{
    enum { MOST_REPLICATED = 4 };
    int n = hypar_machine_device_count(s->problem->machine), looked = 0;
    for (int i = 0; i < s->n && looked < MOST_REPLICATED && is_quick(s); i++) {
        struct candidate *c = &s->candidate[i];
        if (c->looked_at || c->shape.n_devices != n || c->shape.groups > 1 ||
            hp_stage_exchanges(&c->stage[0].choice) || hp_stopped(s->problem->options->stop))
            continue;
        c->looked_at = true;
        look_at(s, c, l);
        looked++;
    }
}

/* The closed form of what was chosen. */
static void predict(const struct candidates *s, const struct looking *l,
                    struct hypar_found *found)
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
    found->info.exact = s->h.small && !s->h.exhausted && s->all_numbers &&
                        c->step_s <= s->candidate[0].step_s &&
                        !hp_stopped(s->problem->options->stop);
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

/* Why there is no plan. */
static enum hypar_status fail(const struct planner *self, const struct problem *problem,
                              const struct looking *l, struct hypar_error *err)
{
    const struct hypar_search_options *o = problem->options;
    double need, has;
    TRY(hp_check_stop(o->stop, err));
    if (l->nearest.part < INFINITY)
        return hp_in(err, hp_fail_memory(&l->nearest, err), "%s", self->info.name);
    if (problem->target && l->refused.text[0])
        return hp_fail(err, HYPAR_INFEASIBLE, "%s: %s", self->info.name, l->refused.text);
    hp_room_together(problem, &need, &has);
    struct memory_text together = hp_memory_text(need, has);
    if (need > has)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%s: no plan fits: weights, gradients and %s state are %s, all devices "
                       "together have %s",
                       self->info.name, hypar_optimizer_text(o->optimizer), together.need,
                       together.has);
    bool bounded = o->n_fix || o->layout.sequence_parallel || o->stages || o->max_tensor ||
                   o->max_pipeline || o->micro_batches ||
                   o->layout.schedule != HYPAR_SCHEDULE_NONE;
    return hp_fail(err, HYPAR_INFEASIBLE, "%s: no plan %sfits", self->info.name,
                   bounded ? "with these options " : "");
}

static enum hypar_status plan_hybrid(const struct planner *self, const struct problem *problem,
                                     struct hypar_found *found, struct hypar_error *err)
{
    if (hp_has_choices(problem->graph))
        return hp_plan_choices(self, problem, found, err);
    struct candidates s;
    struct looking l = { .step_s = INFINITY,
                         .nearest = { .part = INFINITY },
                         .least_off = { { INFINITY, INFINITY }, { INFINITY, INFINITY } } };
    TRY(hp_in(err, hp_candidates_begin(&s, &found->arena, problem, err), "%s",
              self->info.name));
    hp_find_candidates(&s, false);
    look(&s, &l);
    look_at_replicas(&s, &l);
    /* less that is fast may fit; where no closed form fits, all shapes were looked at */
    if (!l.plan && s.n_found > 0 && !hp_stopped(problem->options->stop)) {
        hp_find_candidates(&s, true);
        l.n = 0;
        l.parts = 0;
        l.tasks = 0;
        l.too_large = (struct table){ 0 };
        look(&s, &l);
    }
    if (!hp_stopped(problem->options->stop)) { /* with a quarter of the tasks */
        hp_find_larger(&s, FASTER * l.step_s);
        l.n = 0;
        l.tasks = 0.75 * MOST_TASKS;
        look(&s, &l);
    }
    if (l.plan)
        predict(&s, &l, found);
    hp_candidates_end(&s);
    return l.plan ? HYPAR_OK : fail(self, problem, &l, err);
}

const struct planner hp_planner_hybrid = {
    .info = { "hybrid",
              "stages, splits, micro-batches, recomputation and sharding in one search",
              .source = "Alpa, OSDI 2022; Piper, NeurIPS 2021",
              .exact =
                  "no other cuts, devices, splits or micro-batches take less in closed form" },
    .plan = plan_hybrid,
    .checks_memory = true,
    .shards = true,
    .weighs_links = true,
    .takes = TAKES_STAGES | TAKES_MICRO_BATCHES | TAKES_SCHEDULE | TAKES_SEQUENCE_PARALLEL |
             TAKES_MAX_TENSOR | TAKES_MAX_PIPELINE | TAKES_FIX,
};
