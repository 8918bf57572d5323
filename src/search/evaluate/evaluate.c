/* Candidates built, simulated and checked against memory, the most promising first. */
#include "search/evaluate/evaluate.h"

#include <math.h>

#include "base/stop.h"
#include "search/evaluate/judge.h"
#include "search/evaluate/verdict.h"

/* Work is counted in tasks that are simulated, about a microsecond each. */
enum {
    MOST_WORK = 1 << 23,    /* of one planner: some seconds of a large plan */
    WORK_OF_PART = 4,       /* to lower a part of an operator */
    CROSSED_LIKE_TASK = 32, /* links that messages cross take as long to look at as one */
    MOST_MICRO_BATCHES =
        1 << 12,           /* slot by slot: more of them are not simulated, nor counted */
    QUICK_PARTS = 1 << 13, /* of a plan that is evaluated though the search is to stop */
};

/* What is expected to be slower than the best by this part is not simulated once the budget is
 * spent, by twice as much once half of it is, and so on: a first look at many candidates costs
 * little, and closed forms are the better known the more were simulated. */
static const double TRUST =
    0.02; /* doubled, planning takes a third longer for the same plans */

/* State is counted from splits, biases of partial sums more often than there are: what needs so
 * much more than there is does not fit. */
static const double MOST_STATE = 1.1;

void hp_evaluation_begin(struct evaluation *out, const struct problem *problem,
                         struct arena *arena, const struct generator *generator, void *planner)
{
    *out = (struct evaluation){ .problem = problem,
                                .arena = arena,
                                .generator = generator,
                                .planner = planner,
                                .most_work = MOST_WORK,
                                .least_off = INFINITY };
}

void hp_evaluate_further(struct evaluation *e, double part)
{
    e->most_work = e->work + part * MOST_WORK;
}

void hp_add_candidate(struct evaluation *e, const struct estimate *estimate)
{
    e->estimate = GROW(e->arena, struct estimate, e->estimate, e->n, &e->capacity);
    e->estimate[e->n++] = *estimate;
}

/* Errors of closed forms ------------------------------------------------------------------- */

static struct estimate_error *error_of(struct evaluation *e, uint64_t alike)
{
    int known = hp_table_get(&e->keys, &alike, sizeof alike);
    if (known >= 0)
        return &e->error[known];
    uint64_t *key = NEW(e->arena, uint64_t, 1);
    *key = alike;
    hp_table_put(&e->keys, e->arena, key, sizeof *key, e->n_errors);
    e->error = GROW(e->arena, struct estimate_error, e->error, e->n_errors, &e->error_capacity);
    e->error[e->n_errors] = (struct estimate_error){ .off = INFINITY };
    return &e->error[e->n_errors++];
}

/* The step that a candidate is expected to take. Of the first of its like no more is known than
 * of all others. */
static double expected_s(struct evaluation *e, const struct estimate *p)
{
    double off = error_of(e, p->alike)->off;
    off = off < INFINITY ? off : e->least_off;
    return p->step_s * (off < INFINITY ? off : 1);
}

/* The next candidate ----------------------------------------------------------------------- */

bool hp_is_near_best(const struct evaluation *e, double step_s)
{
    return step_s <= (1 + TRUST * MOST_WORK / fmax(1, e->work)) * e->best.step_s;
}

/* May it be the best? */
static bool is_worth(const struct evaluation *e, const struct estimate *p, double step_s)
{
    if (p->evaluated || p->least_part > 1)
        return false;
    return !hp_evaluation_fits(e) || hp_is_near_best(e, step_s);
}

/* Those that fit in closed form by their expected steps, then others by what they need. */
static struct estimate *next_candidate(struct evaluation *e)
{
    struct estimate *next = NULL;
    double least = INFINITY;
    for (int i = 0; i < e->n; i++) {
        struct estimate *p = &e->estimate[i];
        double step_s = expected_s(e, p);
        bool fits = hp_fits(&p->memory), fitted = next && hp_fits(&next->memory);
        double order = fits ? step_s : p->memory.part;
        if (!is_worth(e, p, step_s) || (fitted && !fits) || (fits == fitted && order >= least))
            continue;
        next = p;
        least = order;
    }
    return next;
}

/* Does an evaluation take so little that one who stops the search gets a plan? */
static bool is_quick(const struct evaluation *e)
{
    return (double)e->problem->graph->n_ops * hypar_machine_device_count(e->problem->machine) <=
           QUICK_PARTS;
}

static bool is_enough(const struct evaluation *e)
{
    if (hp_stopped(e->problem->options->stop) && (e->n_evaluated > 0 || !is_quick(e)))
        return true;
    if (hp_evaluation_fits(e))
        return e->unseen || e->work >= e->most_work;
    return e->work >= e->most_work + 3.0 * MOST_WORK;
}

/* One candidate ---------------------------------------------------------------------------- */

static bool is_seen(struct evaluation *e, const struct hypar_plan *plan)
{
    uint64_t *hash = NEW(e->arena, uint64_t, 1);
    int n = e->hashes.used;
    *hash = hp_plan_hash(plan);
    return hp_table_put(&e->hashes, e->arena, hash, sizeof *hash, n) < n;
}

static bool takes_long(const struct hypar_plan *plan, const struct hypar_sim_options *how)
{
    return plan->schedule.micro_batches > MOST_MICRO_BATCHES || hp_takes_too_long(plan, how);
}

/* What a plan needs that is not simulated: exactly, or in closed form where it has no program
 * or would take long to lower. */
static struct fullest need_of(const struct evaluation *e, const struct estimate *estimate,
                              const struct hypar_plan *plan)
{
    struct fullest need;
    if (takes_long(plan, NULL))
        return hp_closed_need(e->problem, plan);
    if (hp_exact_need(e->problem, plan, NULL, &need, NULL) == HYPAR_OK)
        return need;
    return estimate->memory;
}

/* False: the search is to stop. */
static bool simulate(struct evaluation *e, const struct hypar_plan *plan, struct evaluated *out)
{
    const volatile sig_atomic_t *stop =
        e->n_evaluated > 0 || !is_quick(e) ? e->problem->options->stop : NULL;
    struct reduced_step *part = &out->part;
    out->memory = hp_plan_fullest(plan, e->problem->options->memory_bytes);
    out->state_fits = out->memory.part <= MOST_STATE;
    out->step_s = out->estimate.step_s;
    if (!out->state_fits)
        return true;
    e->work += (double)hp_plan_parts(plan) * WORK_OF_PART;
    if (takes_long(plan, e->problem->options->simulation) ||
        hp_simulate_reduced(e->problem, plan, stop, part, NULL) != HYPAR_OK) {
        *part = (struct reduced_step){ 0 };
        if (hp_stopped(stop))
            return false;
        out->memory = need_of(e, &out->estimate, plan);
        return true;
    }
    e->work += (double)part->instances + part->crossed / CROSSED_LIKE_TASK;
    out->step_s = part->step_s;
    out->memory = part->memory;
    struct estimate_error *error = error_of(e, out->estimate.alike);
    error->off = fmin(error->off, out->step_s / out->estimate.step_s);
    e->least_off = fmin(e->least_off, error->off);
    return true;
}

bool hp_is_better(const struct evaluated *a, const struct evaluated *b)
{
    bool fits = hp_fits(&a->memory);
    if (fits != hp_fits(&b->memory))
        return fits;
    if (a->state_fits != b->state_fits)
        return a->state_fits;
    return fits ? a->step_s < b->step_s : a->memory.part < b->memory.part;
}

static void evaluate_one(struct evaluation *e, struct estimate *estimate)
{
    struct hypar_plan *plan;
    struct hypar_error unused;
    struct evaluated now = { .estimate = *estimate };
    estimate->evaluated = true;
    if (e->generator->build(e->planner, estimate->candidate, &plan,
                            e->first.text[0] ? &unused : &e->first) != HYPAR_OK)
        return;
    if (is_seen(e, plan) || !simulate(e, plan, &now)) {
        hypar_plan_free(plan);
        return;
    }
    e->n_evaluated++;
    bool better = !e->plan || hp_is_better(&now, &e->best);
    hypar_plan_free(better ? e->plan : plan);
    if (better) {
        e->plan = plan;
        e->best = now;
        e->unseen = now.state_fits && !(now.part.step_s > 0);
    }
    if (e->generator->follow)
        e->generator->follow(e->planner, e, &now);
}

void hp_evaluate_candidates(struct evaluation *e)
{
    struct estimate *next;
    while (!is_enough(e) && (next = next_candidate(e)))
        evaluate_one(e, next);
}

/* The end ---------------------------------------------------------------------------------- */

void hp_accept(struct evaluation *e, struct hypar_found *found)
{
    found->plan = e->plan;
    if (e->best.part.step_s > 0 && hp_is_large(e->plan))
        hp_note_part(found, &e->best.part);
}

/* Of those that cannot fit, the one that needs least, unless it needs hardly less than the
 * nearest so far. */
static struct estimate *next_nearest(const struct evaluation *e, const struct fullest *nearest)
{
    const double near = 1 / 1.05;
    struct estimate *next = NULL;
    for (int i = 0; i < e->n; i++)
        if (!e->estimate[i].evaluated && e->estimate[i].least_part > 1 &&
            (!next || e->estimate[i].least_part <= next->least_part))
            next = &e->estimate[i];
    return next && next->least_part < near * nearest->part ? next : NULL;
}

/* What the candidate that lacks least needs. */
static struct fullest find_nearest(struct evaluation *e)
{
    struct fullest nearest = { .part = INFINITY };
    struct estimate *next;
    if (e->plan)
        nearest = e->best.memory;
    while ((next = next_nearest(e, &nearest))) {
        struct hypar_plan *plan;
        next->evaluated = true;
        if (e->generator->build(e->planner, next->candidate, &plan, &e->first) != HYPAR_OK)
            continue;
        struct fullest need = need_of(e, next, plan);
        hypar_plan_free(plan);
        nearest = need.part < nearest.part ? need : nearest;
    }
    return nearest;
}

enum hypar_status hp_refuse(struct evaluation *e, struct hypar_error *err)
{
    enum hypar_status status = hp_check_stop(e->problem->options->stop, err);
    struct fullest nearest = { .part = INFINITY };
    if (status == HYPAR_OK)
        nearest = find_nearest(e);
    if (status == HYPAR_OK && e->plan && !e->best.state_fits)
        status = hypar_plan_check_memory(e->plan, e->problem->options->memory_bytes, err);
    else if (status == HYPAR_OK && nearest.part < INFINITY)
        status = hp_fail_memory(&nearest, err);
    else if (status == HYPAR_OK)
        status = hp_fail(err, HYPAR_INFEASIBLE, "%s", e->first.text);
    hypar_plan_free(e->plan);
    e->plan = NULL;
    return status;
}
