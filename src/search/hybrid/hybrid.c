/* Planner hybrid: stages, splits inside stages, micro-batches, schedule, recomputation and
 * sharding together.
 *
 * For each number of devices of a stage, number of micro-batches, sharding and schedule, the
 * search finds the best cut in closed form (pipeline.c). Each stage is run in the fastest way
 * that fits (stage.c), and the exact solver splits its operators (submesh.c). The results are
 * the candidates of the evaluation (evaluate.h).
 *
 * Alpa (Zheng et al., OSDI 2022) divides the problem in the same two; Piper (Tarnawski et al.,
 * NeurIPS 2021) counts micro-batches in flight from the end, as is done here. */
#include <math.h>

#include "base/stop.h"
#include "search/choices/choices.h"
#include "search/evaluate/evaluate.h"
#include "search/hybrid/candidates.h"
#include "search/limits.h"
#include "search/nearby.h"
#include "search/options.h"
#include "search/predict.h"
#include "search/runnable.h"

struct hybrid_search {
    struct candidates found;
    struct evaluation evaluation;
    int n_added;            /* of the candidates found */
    struct table too_large; /* numbers of devices and groups whose plans need far more memory */
};

/* Candidates ------------------------------------------------------------------------------- */

/* Closed forms have similar errors for candidates with the same groups of devices, schedule,
 * chunks, size of submeshes and micro-batches, if both or none of them divide parameters. */
static uint64_t alike(const struct candidate *c)
{
    const struct pipeline_shape *shape = &c->shape;
    int64_t key[] = { shape->n_devices,
                      shape->groups,
                      (int64_t)shape->schedule,
                      shape->chunks,
                      c->stage[0].estimate.size,
                      shape->step.micro_batches,
                      shape->step.shard == HYPAR_SHARD_PARAMETERS };
    return hp_hash(HP_HASH_START, key, sizeof key);
}

static struct estimate estimate_of(struct hybrid_search *h, const struct candidate *candidate)
{
    const struct pipeline_shape *shape = &candidate->shape;
    int key[] = { shape->n_devices, shape->groups };
    struct candidate *kept = NEW(h->found.h.arena, struct candidate, 1);
    *kept = *candidate;
    return (struct estimate){
        .candidate = kept,
        .step_s = kept->step_s,
        .tasks = hp_reduced_tasks(h->found.problem, kept->n_stages,
                                  kept->stage[0].estimate.size, shape->step.micro_batches),
        .alike = alike(kept),
        .family = 2u * (shape->groups > 1) + (shape->step.shard == HYPAR_SHARD_PARAMETERS),
        .evaluated = hp_table_get(&h->too_large, key, sizeof key) >= 0,
    };
}

/* Add the candidates that were found since. */
static void add_candidates(struct hybrid_search *h)
{
    for (; h->n_added < h->found.n; h->n_added++) {
        struct estimate estimate = estimate_of(h, &h->found.candidate[h->n_added]);
        hp_add_candidate(&h->evaluation, &estimate);
    }
}

static enum hypar_status build(void *planner, const void *candidate, struct hypar_plan **out,
                               struct hypar_error *err)
{
    struct hybrid_search *h = planner;
    (void)err;
    *out = hp_build_candidate(&h->found.h, candidate);
    return HYPAR_OK;
}

/* A candidate needs far more memory than its closed form said: drop the candidates with the
 * same groups of devices. */
static void drop_too_large(struct hybrid_search *h, const struct candidate *c)
{
    struct evaluation *e = &h->evaluation;
    int key[] = { c->shape.n_devices, c->shape.groups };
    hp_table_number(&h->too_large, h->found.h.arena, key, sizeof key);
    for (int i = 0; i < e->n; i++) {
        const struct candidate *other = e->estimate[i].candidate;
        if (other->shape.n_devices == key[0] && other->shape.groups == key[1])
            e->estimate[i].evaluated = true;
    }
}

/* A candidate does not fit, because its closed form was too low: cut its shape anew for less
 * memory, unless closed forms are far off. */
static void cut_with_less(struct hybrid_search *h, const struct candidate *c, double need)
{
    struct pipeline_shape shape = c->shape;
    shape.room /= need;
    if (need > HP_OFF_MUCH && !hp_is_quick(&h->evaluation))
        drop_too_large(h, c);
    if (need <= HP_OFF_MUCH && shape.room * HP_OFF_MUCH >= 1)
        hp_try_shape(&h->found, &shape);
    add_candidates(h);
}

/* In closed form 1f1b is as fast as gpipe and needs less memory. Simulated, either may be
 * faster: under 1f1b a stage that waits for both sides delays its neighbours. */
static void try_gpipe(struct hybrid_search *h, const struct candidate *c)
{
    const struct problem *problem = h->found.problem;
    struct candidate other = *c;
    if (c->shape.schedule != HYPAR_SCHEDULE_1F1B ||
        problem->options->layout.schedule != HYPAR_SCHEDULE_NONE ||
        !hp_has_schedule(problem, HYPAR_SCHEDULE_GPIPE) || hp_stopped(problem->options->stop))
        return;
    other.shape.schedule = HYPAR_SCHEDULE_GPIPE;
    struct estimate estimate = estimate_of(h, &other);
    hp_evaluate_candidate(&h->evaluation, &estimate);
}

static void follow(void *planner, struct evaluation *e, const struct evaluated *now)
{
    struct hybrid_search *h = planner;
    if (!hp_fits(&now->memory))
        cut_with_less(h, now->estimate.candidate, now->memory.part);
    else if (hp_has_simulated_little(e) && hp_is_near_best(e, now->step_s))
        try_gpipe(h, now->estimate.candidate);
}

/* Evaluate the candidates that were found last, with `part` of the budget. */
static void evaluate(struct hybrid_search *h, double part)
{
    struct evaluation *e = &h->evaluation;
    hp_evaluate_further(e, part);
    h->n_added = 0;
    add_candidates(h);
    hp_evaluate_candidates(e);
    if (hp_evaluation_fits(e) && !e->unseen)
        try_gpipe(h, e->best.estimate.candidate);
}

/* Evaluate data parallelism over all devices if this takes little time, even if its closed form
 * is slow: the latencies of many sums may overlap, and closed forms add them up. */
static void evaluate_replicas(struct hybrid_search *h)
{
    struct evaluation *e = &h->evaluation;
    int n = hypar_machine_device_count(h->found.problem->machine), n_replicated = 0;
    for (int i = 0; i < e->n && n_replicated < HYPAR_SHARD_COUNT && hp_is_quick(e); i++) {
        const struct candidate *c = e->estimate[i].candidate;
        if (e->estimate[i].evaluated || c->shape.n_devices != n || c->shape.groups > 1 ||
            hp_stage_exchanges(&c->stage[0].estimate) ||
            hp_stopped(h->found.problem->options->stop))
            continue;
        hp_evaluate_candidate(e, &e->estimate[i]);
        n_replicated++;
    }
}

/* The closed form of what was chosen. */
static void predict(const struct hybrid_search *h, struct hypar_found *found)
{
    const struct candidates *s = &h->found;
    const struct candidate *c = h->evaluation.best.estimate.candidate;
    double compute_s = 0;
    for (int i = 0; i < c->n_stages; i++)
        compute_s = fmax(compute_s, c->stage[i].estimate.compute_s);
    compute_s *= (double)c->shape.step.micro_batches * c->shape.chunks;
    found->info.chooses = true;
    found->info.safer = hp_why_simpler(&h->evaluation, &found->arena);
    found->info.exact = s->h.small && !s->h.exhausted && s->all_numbers &&
                        c->step_s <= s->least_s && !hp_stopped(s->problem->options->stop);
    found->info.evaluated = s->h.evaluated;
    found->prediction.step_s = c->step_s;
    found->prediction.compute_s = fmin(compute_s, c->step_s);
    hp_predict_step(s->problem, found);
}

/* Why there is no plan. */
static enum hypar_status fail(const struct problem *problem, struct evaluation *e,
                              struct hypar_error *err)
{
    const struct hypar_search_options *o = problem->options;
    double need, has;
    TRY(hp_check_stop(o->stop, err));
    if (e->plan || (problem->target && e->first.text[0]))
        return hp_refuse(e, err);
    hp_room_together(problem, &need, &has);
    struct memory_text together = hp_memory_text(need, has);
    if (need > has) {
        hp_fail(err, HYPAR_INFEASIBLE,
                "no plan fits: weights, gradients and %s state are %s, all devices together "
                "have %s",
                hypar_optimizer_text(o->optimizer), together.need, together.has);
        return hp_about(err, HYPAR_CAUSE_MEMORY, HYPAR_INFEASIBLE);
    }
    bool bounded = o->n_fix || o->layout.sequence_parallel || o->stages || o->max_tensor ||
                   o->max_pipeline || o->micro_batches ||
                   o->layout.schedule != HYPAR_SCHEDULE_NONE;
    return hp_fail(err, HYPAR_INFEASIBLE, "no plan %sfits",
                   bounded ? "with these options " : "");
}

static void search(struct hybrid_search *h)
{
    const volatile sig_atomic_t *stop = h->found.problem->options->stop;
    struct evaluation *e = &h->evaluation;
    hp_find_candidates(&h->found, false);
    evaluate(h, 1);
    evaluate_replicas(h);
    /* slower candidates may fit; if no closed form fits, all shapes were tried already */
    if (!hp_evaluation_fits(e) && h->found.n_found > 0 && !hp_stopped(stop)) {
        hp_find_candidates(&h->found, true);
        h->too_large = (struct table){ 0 };
        evaluate(h, 1);
    }
    if (hp_stopped(stop))
        return;
    hp_find_larger(&h->found, hp_evaluation_fits(e) ? e->best.step_s : INFINITY);
    evaluate(h, 0.25);
}

static enum hypar_status plan_hybrid(const struct planner *self, const struct problem *problem,
                                     struct hypar_found *found, struct hypar_error *err)
{
    const struct generator generator = {
        .build = build, .follow = follow, .off = HP_OFF_LITTLE, .simpler = true
    };
    if (hp_has_choices(problem->graph))
        return hp_plan_choices(self, problem, found, err);
    struct hybrid_search h = { 0 };
    TRY(hp_in(err, hp_candidates_begin(&h.found, &found->arena, problem, err), "%s",
              self->info.name));
    hp_evaluation_begin(&h.evaluation, problem, &found->arena, &generator, &h);
    search(&h);
    bool fits = hp_evaluation_fits(&h.evaluation);
    double step_s = fits ? h.evaluation.best.step_s : INFINITY;
    enum hypar_status status = HYPAR_OK;
    if (fits) {
        hp_accept(&h.evaluation, found);
        predict(&h, found);
    } else {
        status = fail(problem, &h.evaluation, err);
    }
    hp_candidates_end(&h.found);
    if (!hp_stopped(problem->options->stop) && hp_plan_on_subsets(self, problem, step_s, found))
        return HYPAR_OK;
    return hp_in(err, status, "%s", self->info.name);
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
    .slow = true,
    .asks_links = true,
    .unequal_shares = true,
    .takes = TAKES_STAGES | TAKES_MICRO_BATCHES | TAKES_SCHEDULE | TAKES_SEQUENCE_PARALLEL |
             TAKES_MAX_TENSOR | TAKES_MAX_PIPELINE | TAKES_FIX,
};
