/* The yardstick: every plan of a small space, by branch and bound.
 *
 * Families and lone leaders are what is chosen; weightless operators follow. A choice divides
 * the axes of the output (samples, attributes, parameters) into as many parts as divide the
 * number of devices, on an aligned block of them, in order. A part of the choices made, the
 * rest left open, is given up when no step can be shorter than the best one known
 * (sim/bound.h). */
#include <string.h>

#include "base/stop.h"
#include "search/fix.h"
#include "search/judge.h"
#include "search/mcmc/propose.h"
#include "sim/delta/bound.h"

static const double MOST_PLANS = 1e7; /* a minute or so */

struct choice {
    int leader;
    int n_ops, *op; /* all that it decides about */
    int n_states, capacity;
    struct op_config *state;
};

struct yard {
    const struct problem *problem;
    struct arena arena;
    struct fixes fixes;
    struct hypar_plan *plan;
    struct delta *delta;
    struct proposer proposer;
    struct proposal now;
    int n_choices;
    struct choice *choice;
    int *at, *is;      /* by choice: the state wanted; the state that the plan has */
    int *best;         /* by choice */
    ticks best_length; /* HP_MAX_TICKS: none yet */
    struct bound_input bound;
    struct fullness fullest; /* of the plan nearest to fitting, if none fits */
    int64_t simulated;
};

/* The space ------------------------------------------------------------------------------ */

static void add_state(struct yard *y, struct choice *c, const struct split *split, int parts,
                      int first)
{
    const int *all = y->plan->all_devices;
    c->state = GROW(&y->arena, struct op_config, c->state, c->n_states, &c->capacity);
    c->state[c->n_states++] = (struct op_config){
        .op = c->leader, .split = *split, .n_parts = parts, .replicas = 1, .device = all + first
    };
}

/* Every way to give `left` parts to the axes from `axis` on. */
static void list_states(struct yard *y, struct choice *c, struct split *split, int axis,
                        int parts, int left)
{
    const struct nest *nest = y->problem->graph->ops[c->leader].nest;
    if (axis == nest->n_axes) {
        for (int first = 0; left == 1 && first + parts <= y->plan->n_all_devices;
             first += parts)
            add_state(y, c, split, parts, first);
        return;
    }
    const struct hypar_axis *a = &nest->axis[axis];
    bool open = a->splittable && a->role != HYPAR_COPY && a->role != HYPAR_REDUCTION;
    for (int degree = 1; degree <= left; degree++) {
        if (left % degree || (degree > 1 && (!open || a->extent < degree)))
            continue;
        split->degree[axis] = degree;
        list_states(y, c, split, axis + 1, parts, left / degree);
    }
    split->degree[axis] = 1;
}

static void list_choices(struct yard *y)
{
    const struct groups *g = y->proposer.groups;
    int n_devices = y->plan->n_all_devices;
    y->choice = NEW(&y->arena, struct choice, g->n_leaders);
    for (int i = 0; i < g->n_leaders; i++) {
        int leader = g->leaders[i], family = g->family[leader];
        bool fixed = y->fixes.fixed && y->fixes.fixed[leader];
        if (fixed || (family >= 0 && g->kin[g->family_start[family]] != leader))
            continue;
        struct choice *c = &y->choice[y->n_choices++];
        struct split split = { 0 };
        c->leader = leader;
        for (int parts = 1; parts <= n_devices; parts++)
            if (n_devices % parts == 0)
                list_states(y, c, &split, 0, parts, parts);
    }
    y->at = NEW(&y->arena, int, y->n_choices);
    y->is = NEW(&y->arena, int, y->n_choices);
    y->best = NEW(&y->arena, int, y->n_choices);
    memset(y->is, -1, (size_t)y->n_choices * sizeof *y->is);
}

static enum hypar_status check_size(const struct yard *y, struct hypar_error *err)
{
    double plans = 1;
    for (int i = 0; i < y->n_choices; i++)
        plans *= y->choice[i].n_states;
    if (plans <= MOST_PLANS)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_UNSUPPORTED,
                   "%.3g plans of %d operators on %d devices, expected at most %.0f", plans,
                   y->n_choices, y->plan->n_all_devices, MOST_PLANS);
}

/* Walking through it --------------------------------------------------------------------- */

/* Bring the plan and its timeline to the states wanted for the first `n` choices. */
static enum hypar_status move_to(struct yard *y, int n, struct hypar_error *err)
{
    hp_proposal_clear(&y->now);
    for (int i = 0; i < n; i++) {
        if (y->is[i] == y->at[i])
            continue;
        hp_proposal_add_group(&y->proposer, &y->choice[i].state[y->at[i]], true, &y->now);
        y->is[i] = y->at[i];
    }
    hp_proposal_tidy(y->plan, &y->now);
    if (!y->now.n)
        return HYPAR_OK;
    hp_proposal_apply(y->plan, &y->now);
    TRY(hp_delta_change(y->delta, y->now.op, y->now.n, HP_MAX_TICKS, err));
    hp_delta_keep(y->delta);
    return HYPAR_OK;
}

/* Which operators each choice decides about, and the least that any state leaves them to do. */
static enum hypar_status find_least(struct yard *y, struct hypar_error *err)
{
    int n_ops = y->problem->graph->n_ops;
    y->bound.known = NEW(&y->arena, bool, n_ops);
    y->bound.forward = NEW(&y->arena, ticks, n_ops);
    y->bound.backward = NEW(&y->arena, ticks, n_ops);
    for (int op = 0; op < n_ops; op++) {
        y->bound.known[op] = true;
        y->bound.forward[op] = y->bound.backward[op] = HP_MAX_TICKS;
    }
    for (int i = 0; i < y->n_choices; i++) {
        struct choice *c = &y->choice[i];
        c->op = NEW(&y->arena, int, n_ops);
        for (int s = 0; s < c->n_states; s++) {
            y->at[i] = s;
            y->is[i] = -1;
            hp_proposal_clear(&y->now);
            hp_proposal_add_group(&y->proposer, &c->state[s], true, &y->now);
            c->n_ops = y->now.n;
            memcpy(c->op, y->now.op, (size_t)y->now.n * sizeof *c->op);
            TRY(move_to(y, i + 1, err));
            for (int k = 0; k < c->n_ops; k++)
                hp_bound_least(y->delta, c->op[k], &y->bound);
        }
        for (int k = 0; k < c->n_ops; k++)
            y->bound.known[c->op[k]] = false;
    }
    return HYPAR_OK;
}

static enum hypar_status weigh(struct yard *y, struct hypar_error *err)
{
    struct fullness full;
    ticks length = hp_delta_length(y->delta);
    y->simulated++;
    if (length >= y->best_length)
        return HYPAR_OK;
    TRY(hp_fullness(y->problem, y->plan, NULL, &full, err));
    if (full.part > 1) {
        if (y->fullest.need == 0 || full.part < y->fullest.part)
            y->fullest = full;
        return HYPAR_OK;
    }
    y->best_length = length;
    memcpy(y->best, y->at, (size_t)y->n_choices * sizeof *y->best);
    return HYPAR_OK;
}

static enum hypar_status descend(struct yard *y, int depth, struct hypar_error *err)
{
    if (depth == y->n_choices)
        return weigh(y, err);
    struct choice *c = &y->choice[depth];
    for (int k = 0; k < c->n_ops; k++)
        y->bound.known[c->op[k]] = true;
    for (int s = 0; s < c->n_states && !hp_stopped(y->problem->options->stop); s++) {
        y->at[depth] = s;
        TRY(move_to(y, depth + 1, err));
        if (depth < y->n_choices - 1 &&
            hp_bound(y->delta, &y->bound, &y->arena) >= y->best_length)
            continue;
        TRY(descend(y, depth + 1, err));
    }
    for (int k = 0; k < c->n_ops; k++)
        y->bound.known[c->op[k]] = false;
    return HYPAR_OK;
}

static enum hypar_status walk(struct yard *y, struct hypar_error *err)
{
    struct hypar_lower_options lower = hp_lowering(y->problem);
    struct sim_settings settings = hp_simulation(y->problem);
    TRY(hp_apply_fixes(y->plan, &y->fixes, err));
    hp_proposer_begin(&y->proposer, y->plan, y->fixes.fixed);
    hp_proposal_begin(&y->now, y->problem->graph);
    list_choices(y);
    TRY(check_size(y, err));
    TRY(hp_delta_new(&y->delta, y->plan, &lower, &settings, NULL, err));
    TRY(find_least(y, err));
    TRY(descend(y, 0, err));
    if (y->best_length == HP_MAX_TICKS)
        TRY(hp_check_stop(y->problem->options->stop, err));
    if (y->best_length == HP_MAX_TICKS)
        return hp_fail_memory(&y->fullest, err);
    memcpy(y->at, y->best, (size_t)y->n_choices * sizeof *y->at);
    return move_to(y, y->n_choices, err);
}

static enum hypar_status plan_exhaustive(const struct planner *self,
                                         const struct problem *problem,
                                         struct hypar_found *found, struct hypar_error *err)
{
    struct yard y = { .problem = problem, .best_length = HP_MAX_TICKS };
    TRY(hp_in(err, hp_check_simulable(problem, err), "%s", self->info.name));
    TRY(hp_read_fixes(&y.fixes, problem->graph, hypar_machine_device_count(problem->machine),
                      problem->options->fix, problem->options->n_fix, &found->arena, err));
    y.plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    enum hypar_status status = hp_in(err, walk(&y, err), "%s", self->info.name);
    if (status == HYPAR_OK) {
        found->plan = y.plan;
        y.plan = NULL;
        found->info.evaluated = y.simulated;
        found->info.chooses = true;
        found->info.exact = !hp_stopped(problem->options->stop);
        status = hp_judge(problem, found, err);
    }
    hp_delta_free(y.delta);
    hp_proposal_end(&y.now);
    hp_proposer_end(&y.proposer);
    hypar_plan_free(y.plan);
    hp_arena_free(&y.arena);
    return status;
}

const struct planner hp_planner_exhaustive = {
    .info = { "exhaustive", "every aligned plan of a small problem: the yardstick", "" },
    .plan = plan_exhaustive,
    .apart = true,
    .judges = true,
    .fixes = true,
};
