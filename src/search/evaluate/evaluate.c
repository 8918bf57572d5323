/* Candidates built, simulated and checked against memory, the most promising first. */
#include "search/evaluate/evaluate.h"

#include <math.h>

#include "base/stop.h"
#include "cost/calibration.h"
#include "search/estimate/estimate.h"
#include "search/estimate/needs.h"
#include "search/evaluate/judge.h"
#include "search/evaluate/size.h"
#include "search/limits.h"
#include "search/runnable.h"

/* So many crossed links cost as much simulation as one task. */
enum { CROSSED_LIKE_TASK = 32 };

/* Allow this part of a budget: tasks of one whole plan, parts of two. */
static void set_budget(struct evaluation *e, double part)
{
    e->most_tasks = e->tasks + part * HP_WHOLE_TASKS;
    e->most_parts = e->parts + part * 2 * HP_WHOLE_PARTS;
}

void hp_evaluation_begin(struct evaluation *out, const struct problem *problem,
                         struct arena *arena, const struct generator *generator, void *planner)
{
    *out = (struct evaluation){
        .problem = problem,
        .arena = arena,
        .generator = generator,
        .planner = planner,
        .fastest = { .step_s = INFINITY },
    };
    set_budget(out, 1);
    for (int i = 0; i < HP_FAMILIES; i++)
        out->least_off[i] = INFINITY;
}

void hp_evaluate_further(struct evaluation *e, double part)
{
    e->n = e->n_evaluated = 0;
    set_budget(e, part);
}

double hp_reduced_tasks(const struct problem *problem, int n_stages, int size,
                        int64_t micro_batches)
{
    const struct hypar_graph *g = problem->graph;
    double micro = fmin((double)micro_batches, 2 * n_stages + 2), passes = 0;
    for (int op = 0; op < g->n_ops; op++)
        passes += g->ops[op].nest->n_passes;
    return 3 * passes * size * micro;
}

void hp_add_candidate(struct evaluation *e, const struct estimate *estimate)
{
    e->estimate = GROW(e->arena, struct estimate, e->estimate, e->n, &e->capacity);
    e->estimate[e->n++] = *estimate;
}

bool hp_is_quick(const struct evaluation *e)
{
    return (double)e->problem->graph->n_ops * hypar_machine_device_count(e->problem->machine) <=
           HP_MOMENT_PARTS;
}

bool hp_has_simulated_little(const struct evaluation *e)
{
    return e->tasks <= HP_MOMENT_TASKS;
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

/* The least time of a step: its closed form times the least error of its like (INFINITY: none
 * was simulated). */
static double at_least(double step_s, double off)
{
    return off < INFINITY ? step_s * fmax(off, 1) : step_s;
}

/* The expected step of a candidate: its closed form, corrected by the error of similar
 * candidates. The first candidate of a key takes the square root of its family's least error.
 */
static double expected_s(struct evaluation *e, const struct estimate *p)
{
    const struct estimate_error *error = error_of(e, p->alike);
    return at_least(p->step_s, error->n ? error->off : sqrt(e->least_off[p->family]));
}

/* The next candidate ----------------------------------------------------------------------- */

bool hp_is_near_best(const struct evaluation *e, double step_s)
{
    return step_s <= e->generator->off * e->best.step_s;
}

/* Is a candidate slower than the best, or larger than memory, by more than closed forms may be
 * off? Once a plan was evaluated and while none fits, only candidates that are far too large
 * are left out. While few tasks were simulated, closed forms are trusted less: the allowed
 * error is twice as large after half as many tasks. */
static bool is_worse(struct evaluation *e, const struct estimate *p)
{
    double off = fmax(e->generator->off, HP_OFF_MUCH * HP_MOMENT_TASKS / e->tasks);
    double least_s = at_least(p->step_s, error_of(e, p->alike)->off);
    double best_s = fmax(e->best.step_s, e->best.estimate.step_s);
    double beat_s = e->problem->beat_s; /* simulated: exchanges may overlap, unlike in e's */
    double off_twice = e->generator->off * e->generator->off;
    if (e->plan && !hp_evaluation_fits(e) && p->memory.part > off_twice)
        return true;
    if (beat_s > 0 && least_s > HP_OFF_MUCH * beat_s)
        return true;
    return hp_evaluation_fits(e) && (p->memory.part > off || least_s > off * best_s);
}

/* The candidate to evaluate next: the one that is expected to be the fastest of those that fit
 * in closed form, then of others the one that needs least. NULL: none may be the best. */
static struct estimate *next_candidate(struct evaluation *e)
{
    struct estimate *next = NULL;
    double least = INFINITY;
    for (int i = 0; i < e->n; i++) {
        struct estimate *p = &e->estimate[i];
        bool fits = hp_fits(&p->memory), fitted = next && hp_fits(&next->memory);
        if (p->evaluated || p->least_part > 1 || (fitted && !fits))
            continue;
        double order = fits ? expected_s(e, p) : p->memory.part;
        if ((fits == fitted && order >= least) || is_worse(e, p))
            continue;
        next = p;
        least = order;
    }
    if (next)
        next->evaluated = true;
    return next;
}

static bool is_enough(const struct evaluation *e)
{
    bool stopped = hp_stopped(e->problem->options->stop);
    if (!hp_evaluation_fits(e))
        return e->n_evaluated >= 4 * HP_MOST_SIMULATED ||
               (stopped && (e->n_evaluated > 0 || !hp_is_quick(e)));
    return stopped || e->unseen || e->parts >= e->most_parts ||
           (e->n_evaluated >= HP_MOST_SIMULATED && !hp_has_simulated_little(e));
}

/* Is a candidate left out because its simulation takes long? */
static bool is_left_out(struct evaluation *e, const struct estimate *p)
{
    if (!hp_evaluation_fits(e))
        return false;
    bool many = !hp_has_simulated_little(e) && error_of(e, p->alike)->n >= HP_FEW_ALIKE;
    return many || e->tasks + p->tasks > e->most_tasks;
}

/* One candidate ---------------------------------------------------------------------------- */

static bool is_seen(struct evaluation *e, const struct hypar_plan *plan)
{
    uint64_t *hash = NEW(e->arena, uint64_t, 1);
    int n = e->hashes.used;
    *hash = hypar_plan_hash(plan);
    return hp_table_put(&e->hashes, e->arena, hash, sizeof *hash, n) < n;
}

/* The memory need of a plan that is not simulated: exact, or in closed form if the plan has no
 * program or its lowering would take long. */
static struct fullest need_of(const struct evaluation *e, const struct estimate *estimate,
                              const struct hypar_plan *plan)
{
    struct fullest need;
    if (hp_has_many_parts(plan))
        return hp_plan_need(NEED_WRITTEN, e->problem, NULL, plan);
    if (hp_exact_need(e->problem, plan, NULL, &need, NULL) == HYPAR_OK)
        return need;
    return estimate->memory;
}

/* Step and memory of a plan that is not simulated. The step is estimated from the plan's
 * lowering; the planner's closed form of the step is kept where the plan has no program, would
 * take long to lower, or has too many slots. */
static void estimate_plan(const struct evaluation *e, const struct hypar_plan *plan,
                          struct evaluated *out)
{
    const struct hypar_sim_options *how = e->problem->options->simulation;
    struct hypar_program *program;
    if (hp_has_many_parts(plan) || plan->schedule.micro_batches > HP_MANY ||
        hp_lower(&program, plan, how ? &how->lower : NULL, NULL, NULL) != HYPAR_OK) {
        out->memory = need_of(e, &out->estimate, plan);
        return;
    }
    out->step_s = hp_estimate_step(program, how);
    out->memory = hp_program_need(e->problem, program);
    hypar_program_free(program);
}

/* False: the search is to stop. */
static bool simulate(struct evaluation *e, const struct hypar_plan *plan, struct evaluated *out)
{
    const volatile sig_atomic_t *stop =
        e->n_evaluated > 0 || !hp_is_quick(e) ? e->problem->options->stop : NULL;
    struct reduced_step *part = &out->part;
    out->memory = hp_plan_fullest(plan, e->problem->options->memory_bytes);
    out->state_fits = out->memory.part <= HP_OFF_LITTLE; /* a bias counts in each partial sum */
    out->step_s = out->estimate.step_s;
    if (!out->state_fits)
        return true;
    e->parts += (double)hp_plan_parts(plan);
    if (hp_is_estimated(plan) ||
        hp_simulate_reduced(e->problem, plan, stop, part, NULL) != HYPAR_OK) {
        *part = (struct reduced_step){ 0 };
        if (hp_stopped(stop))
            return false;
        estimate_plan(e, plan, out);
        return true;
    }
    e->tasks += out->estimate.tasks + part->crossed / CROSSED_LIKE_TASK;
    out->step_s = part->step_s;
    out->memory = part->memory;
    struct estimate_error *error = error_of(e, out->estimate.alike);
    double *least_off = &e->least_off[out->estimate.family];
    error->off = fmin(error->off, part->step_s / out->estimate.step_s);
    error->n++;
    *least_off = fmin(*least_off, error->off);
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

enum hypar_status hp_candidate_plan(struct evaluation *e, const void *candidate,
                                    struct hypar_plan **out, struct hypar_error *err)
{
    enum hypar_status status = e->generator->build(e->planner, candidate, out, err);
    if (status == HYPAR_OK)
        status = hypar_plan_check(*out, err);
    if (status == HYPAR_OK)
        status = hp_check_runs(e->problem, *out, err);
    if (status != HYPAR_OK) {
        hypar_plan_free(*out);
        *out = NULL;
    }
    return status;
}

/* Is a plan that fits better than the best? Of those that are as fast as the fastest, one may
 * be preferred. */
static bool is_simpler(struct evaluation *e, const struct hypar_plan *plan,
                       const struct evaluated *now)
{
    struct equal_plan other = { .step_s = now->step_s,
                                .part = now->memory.part,
                                .width = NAN,
                                .figures = hp_plan_figures(plan) };
    bool fits = e->plan && hp_fits(&e->best.memory);
    if (other.step_s < e->fastest.step_s)
        e->fastest = other;
    bool equal = hp_are_equal(other.step_s, e->fastest.step_s);
    bool was_equal = fits && hp_are_equal(e->equal.step_s, e->fastest.step_s);
    bool better = equal != was_equal                   ? equal
                  : hp_is_preferred(&other, &e->equal) ? true
                  : hp_is_preferred(&e->equal, &other) ? false
                                                       : other.step_s < e->equal.step_s;
    if (better)
        e->equal = other;
    return better;
}

const char *hp_why_simpler(const struct evaluation *e, struct arena *arena)
{
    return e->fastest.step_s < e->equal.step_s
               ? hp_preferred_text(arena, &e->equal, &e->fastest, "another of its plans")
               : NULL;
}

/* Build a candidate and keep its plan if that is the best. False: there is no such plan. */
static bool evaluate_one(struct evaluation *e, const struct estimate *estimate,
                         struct evaluated *now)
{
    struct hypar_plan *plan;
    struct hypar_error unused;
    *now = (struct evaluated){ .estimate = *estimate };
    if (hp_candidate_plan(e, estimate->candidate, &plan,
                          e->first.text[0] ? &unused : &e->first) != HYPAR_OK)
        return false;
    if (is_seen(e, plan) || !simulate(e, plan, now)) {
        hypar_plan_free(plan);
        return false;
    }
    e->n_evaluated++;
    bool better = e->generator->simpler && hp_fits(&now->memory)
                      ? is_simpler(e, plan, now)
                      : !e->plan || hp_is_better(now, &e->best);
    hypar_plan_free(better ? e->plan : plan);
    if (better) {
        e->plan = plan;
        e->best = *now;
        e->unseen = now->state_fits && !(now->part.step_s > 0);
    }
    return true;
}

void hp_evaluate_candidate(struct evaluation *e, struct estimate *estimate)
{
    struct evaluated now;
    estimate->evaluated = true;
    evaluate_one(e, estimate, &now);
}

void hp_evaluate_candidates(struct evaluation *e)
{
    struct estimate *next;
    struct evaluated now;
    while (!is_enough(e) && (next = next_candidate(e)))
        if (!is_left_out(e, next) && evaluate_one(e, next, &now) && e->generator->follow)
            e->generator->follow(e->planner, e, &now);
}

/* The end ---------------------------------------------------------------------------------- */

void hp_accept(struct evaluation *e, struct hypar_found *found)
{
    found->plan = e->plan;
    if (e->best.part.step_s > 0 && hp_is_large(e->plan))
        hp_note_part(found, &e->best.part);
}

/* Of the candidates that cannot fit, the one that needs least memory; NULL if it needs hardly
 * less than the nearest so far. */
static struct estimate *next_nearest(const struct evaluation *e, const struct fullest *nearest)
{
    struct estimate *next = NULL;
    for (int i = 0; i < e->n; i++)
        if (!e->estimate[i].evaluated && e->estimate[i].least_part > 1 &&
            (!next || e->estimate[i].least_part <= next->least_part))
            next = &e->estimate[i];
    return next && HP_ABOUT_EQUAL * next->least_part < nearest->part ? next : NULL;
}

/* The memory need of the candidate that is nearest to fitting. */
static struct fullest find_nearest(struct evaluation *e)
{
    struct fullest nearest = { .part = INFINITY };
    struct hypar_error unused;
    struct estimate *next;
    if (e->plan)
        nearest = e->best.memory;
    while (!hp_stopped(e->problem->options->stop) && (next = next_nearest(e, &nearest))) {
        struct hypar_plan *plan;
        next->evaluated = true;
        if (hp_candidate_plan(e, next->candidate, &plan,
                              e->first.text[0] ? &unused : &e->first) != HYPAR_OK)
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
        status = hp_fail_memory(&nearest, e->problem, NULL, err);
    else if (status == HYPAR_OK)
        status = hp_fail_again(err, HYPAR_INFEASIBLE, &e->first);
    hypar_plan_free(e->plan);
    e->plan = NULL;
    return status;
}
