/* Exhaustive search: enumerates every plan of a small space, by branch and bound.
 *
 * A choice is a group of operators that share parameters, or an operator that shares none;
 * operators without weights follow. A state of a choice divides the axes of the output
 * (samples, attributes, parameters); the number of parts divides the number of devices, and the
 * parts are on an aligned block of devices, in order. The search leaves a branch when no
 * completion of its choices can be shorter than the best step (sim/delta/bound.h). */
#include <string.h>

#include "base/stop.h"
#include "search/evaluate/judge.h"
#include "search/evaluate/room.h"
#include "search/evaluate/size.h"
#include "search/fix.h"
#include "search/mcmc/propose.h"
#include "search/runnable.h"
#include "sim/delta/bound.h"

static const double MOST_PLANS = 1e7; /* about a minute */

struct choice {
    int leader;
    int n_ops, *op; /* operators that the choice determines */
    int n_states, capacity;
    struct op_config *state;
};

struct enumeration {
    const struct problem *problem;
    struct arena arena;
    struct fixes fixes;
    struct hypar_plan *plan;
    struct delta *delta;
    struct proposer proposer;
    struct proposal now;
    int n_choices;
    struct choice *choice;
    int *at, *is;      /* by choice: the wanted state; the plan's current state */
    int *best;         /* by choice */
    ticks best_length; /* HP_MAX_TICKS: no plan yet */
    struct bound_input bound;
    struct fullest fullest; /* of the plan that is nearest to fitting, if none fits */
    int64_t simulated;
};

/* The space ------------------------------------------------------------------------------ */

static void add_state(struct enumeration *w, struct choice *c, const struct split *split,
                      int parts, int first)
{
    const int *all = w->plan->all_devices;
    c->state = GROW(&w->arena, struct op_config, c->state, c->n_states, &c->capacity);
    c->state[c->n_states++] = (struct op_config){
        .op = c->leader, .split = *split, .n_parts = parts, .replicas = 1, .device = all + first
    };
}

/* List every way to divide the axes from `axis` on into `left` parts. */
static void list_states(struct enumeration *w, struct choice *c, struct split *split, int axis,
                        int parts, int left)
{
    const struct nest *nest = w->problem->graph->ops[c->leader].nest;
    if (axis == nest->n_axes) {
        for (int first = 0; left == 1 && first + parts <= w->plan->n_all_devices;
             first += parts)
            add_state(w, c, split, parts, first);
        return;
    }
    const struct hypar_axis *a = &nest->axis[axis];
    bool open = hp_allowed_axes(w->problem, nest) >> axis & 1 && a->splittable &&
                a->role != HYPAR_COPY && a->role != HYPAR_REDUCTION;
    for (int degree = 1; degree <= left; degree++) {
        if (left % degree || (degree > 1 && (!open || a->extent < degree)))
            continue;
        split->degree[axis] = degree;
        list_states(w, c, split, axis + 1, parts, left / degree);
    }
    split->degree[axis] = 1;
}

static void list_choices(struct enumeration *w)
{
    const struct groups *g = w->proposer.groups;
    int n_devices = w->plan->n_all_devices;
    w->choice = NEW(&w->arena, struct choice, g->n_leaders);
    for (int i = 0; i < g->n_leaders; i++) {
        int leader = g->leaders[i], family = g->family[leader];
        bool fixed = w->fixes.fixed && w->fixes.fixed[leader];
        if (fixed || (family >= 0 && g->family_member[g->family_start[family]] != leader))
            continue;
        struct choice *c = &w->choice[w->n_choices++];
        struct split split = { 0 };
        c->leader = leader;
        for (int parts = 1; parts <= n_devices; parts++)
            if (n_devices % parts == 0)
                list_states(w, c, &split, 0, parts, parts);
    }
    w->at = NEW(&w->arena, int, w->n_choices);
    w->is = NEW(&w->arena, int, w->n_choices);
    w->best = NEW(&w->arena, int, w->n_choices);
    memset(w->is, -1, (size_t)w->n_choices * sizeof *w->is);
}

static enum hypar_status check_size(const struct enumeration *w, struct hypar_error *err)
{
    double plans = 1;
    for (int i = 0; i < w->n_choices; i++)
        plans *= w->choice[i].n_states;
    if (plans <= MOST_PLANS)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_UNSUPPORTED,
                   "%.3g plans of %d operators on %d devices, expected at most %.0f", plans,
                   w->n_choices, w->plan->n_all_devices, MOST_PLANS);
}

/* The search ------------------------------------------------------------------------------ */

/* Change the plan and its timeline to the wanted states of the first `n` choices. */
static enum hypar_status move_to(struct enumeration *w, int n, struct hypar_error *err)
{
    hp_proposal_clear(&w->now);
    for (int i = 0; i < n; i++) {
        if (w->is[i] == w->at[i])
            continue;
        hp_proposal_add_group(&w->proposer, &w->choice[i].state[w->at[i]], true, &w->now);
        w->is[i] = w->at[i];
    }
    hp_proposal_tidy(w->plan, &w->now);
    if (!w->now.n)
        return HYPAR_OK;
    hp_proposal_apply(w->plan, &w->now);
    TRY(hp_delta_change(w->delta, w->now.op, w->now.n, HP_MAX_TICKS, err));
    hp_delta_keep(w->delta);
    return HYPAR_OK;
}

/* Find the operators that each choice determines, and their least work in any state. */
static enum hypar_status find_least(struct enumeration *w, struct hypar_error *err)
{
    int n_ops = w->problem->graph->n_ops;
    w->bound.known = NEW(&w->arena, bool, n_ops);
    w->bound.forward = NEW(&w->arena, ticks, n_ops);
    w->bound.backward = NEW(&w->arena, ticks, n_ops);
    for (int op = 0; op < n_ops; op++) {
        w->bound.known[op] = true;
        w->bound.forward[op] = w->bound.backward[op] = HP_MAX_TICKS;
    }
    for (int i = 0; i < w->n_choices; i++) {
        struct choice *c = &w->choice[i];
        c->op = NEW(&w->arena, int, n_ops);
        for (int s = 0; s < c->n_states; s++) {
            w->at[i] = s;
            w->is[i] = -1;
            hp_proposal_clear(&w->now);
            hp_proposal_add_group(&w->proposer, &c->state[s], true, &w->now);
            c->n_ops = w->now.n;
            memcpy(c->op, w->now.op, (size_t)w->now.n * sizeof *c->op);
            TRY(move_to(w, i + 1, err));
            for (int k = 0; k < c->n_ops; k++)
                hp_bound_least(w->delta, c->op[k], &w->bound);
        }
        for (int k = 0; k < c->n_ops; k++)
            w->bound.known[c->op[k]] = false;
    }
    return HYPAR_OK;
}

static enum hypar_status simulate(struct enumeration *w, struct hypar_error *err)
{
    struct fullest full;
    ticks length = hp_delta_step(w->delta);
    w->simulated++;
    if (length >= w->best_length || !hp_may_run(w->problem, w->plan))
        return HYPAR_OK;
    TRY(hp_exact_need(w->problem, w->plan, NULL, &full, err));
    if (!hp_fits(&full)) {
        if (w->fullest.has == 0 || full.part < w->fullest.part)
            w->fullest = full;
        return HYPAR_OK;
    }
    w->best_length = length;
    memcpy(w->best, w->at, (size_t)w->n_choices * sizeof *w->best);
    return HYPAR_OK;
}

static enum hypar_status descend(struct enumeration *w, int depth, struct hypar_error *err)
{
    if (depth == w->n_choices)
        return simulate(w, err);
    struct choice *c = &w->choice[depth];
    for (int k = 0; k < c->n_ops; k++)
        w->bound.known[c->op[k]] = true;
    for (int s = 0; s < c->n_states && !hp_stopped(w->problem->options->stop); s++) {
        w->at[depth] = s;
        TRY(move_to(w, depth + 1, err));
        if (depth < w->n_choices - 1 &&
            hp_bound(w->delta, &w->bound, &w->arena) >= w->best_length)
            continue;
        TRY(descend(w, depth + 1, err));
    }
    for (int k = 0; k < c->n_ops; k++)
        w->bound.known[c->op[k]] = false;
    return HYPAR_OK;
}

static enum hypar_status walk(struct enumeration *w, struct hypar_error *err)
{
    TRY(hp_apply_fixes(w->plan, &w->fixes, err));
    hp_proposer_begin(&w->proposer, w->plan, w->fixes.fixed);
    hp_proposal_begin(&w->now, w->problem->graph);
    list_choices(w);
    TRY(check_size(w, err));
    TRY(hp_delta_new(&w->delta, w->plan, hp_simulation(w->problem), NULL, err));
    TRY(find_least(w, err));
    TRY(descend(w, 0, err));
    if (w->best_length == HP_MAX_TICKS)
        TRY(hp_check_stop(w->problem->options->stop, err));
    if (w->best_length == HP_MAX_TICKS && w->fullest.has == 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "none of the plans can be run");
    if (w->best_length == HP_MAX_TICKS)
        return hp_fail_memory(&w->fullest, w->problem, NULL, err);
    memcpy(w->at, w->best, (size_t)w->n_choices * sizeof *w->at);
    return move_to(w, w->n_choices, err);
}

static enum hypar_status plan_exhaustive(const struct planner *self,
                                         const struct problem *problem,
                                         struct hypar_found *found, struct hypar_error *err)
{
    struct enumeration w = { .problem = problem, .best_length = HP_MAX_TICKS };
    TRY(hp_in(err, hp_check_simulable(problem, err), "%s", self->info.name));
    TRY(hp_read_fixes(&w.fixes, problem->graph, hypar_machine_device_count(problem->machine),
                      problem->options->fix, problem->options->n_fix, &found->arena, err));
    w.plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    enum hypar_status status = hp_in(err, walk(&w, err), "%s", self->info.name);
    if (status == HYPAR_OK) {
        found->plan = w.plan;
        w.plan = NULL;
        found->info.evaluated = w.simulated;
        found->info.chooses = true;
        found->info.exact = !hp_stopped(problem->options->stop);
        status = hp_judge(problem, found, err);
    }
    hp_delta_free(w.delta);
    hp_proposal_end(&w.now);
    hp_proposer_end(&w.proposer);
    hypar_plan_free(w.plan);
    hp_arena_free(&w.arena);
    return status;
}

const struct planner hp_planner_exhaustive = {
    .info = { "exhaustive", "every aligned plan of a small problem: the best of these", "",
              .exact = "no aligned plan that divides what operators write is faster",
              .small_only = true },
    .plan = plan_exhaustive,
    .not_in_auto = true,
    .slow = true,
    .checks_memory = true,
    .takes = TAKES_FIX,
};
