/* Delta simulation for callers of the library. A hypar_delta owns a copy of the plan; it checks
 * proposed changes and undoes those that are not kept. */
#include "sim/delta/delta.h"

#include <math.h>

#include "plan/config.h"
#include "sim/task_costs.h"

/* Parts and patterns seen before are remembered up to this size, or up to twice what the
 * current plan needs. */
static const size_t MOST_BYTES = (size_t)64 << 20;

struct hypar_delta {
    struct arena arena;
    struct hypar_plan *plan;
    struct hypar_sim_options options;
    struct delta *delta;
    size_t most_bytes;  /* limit of the cache */
    int steps;          /* steps in the timeline: minibatches of pipedream's window */
    ticks length, kept; /* current length, and length without the proposal */
    bool pending;
    int proposal; /* number of the current proposal */
    int *named;   /* by op: the last proposal that names it */
    /* the current proposal: its operators, their new and old configurations */
    int n, *op;
    struct op_config *now, *was;
    struct arena_mark empty; /* behind this mark: lists of `was`, and scratch */
};

static enum hypar_status simulate_all(struct hypar_delta *d, struct hypar_error *err)
{
    struct delta *delta;
    TRY(hp_delta_new(&delta, d->plan, &d->options, NULL, err));
    hp_delta_free(d->delta);
    d->delta = delta;
    size_t needed = 2 * hp_delta_remembered_bytes(delta);
    d->most_bytes = needed > MOST_BYTES ? needed : MOST_BYTES;
    return HYPAR_OK;
}

enum hypar_status hypar_delta_begin(struct hypar_delta **out, const struct hypar_plan *plan,
                                    const struct hypar_sim_options *options,
                                    struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct hypar_sim_options planned = hypar_as_planned(plan, NULL);
    *out = NULL;
    TRY(hp_check_sim_options(options ? options : &planned, err));
    if (options)
        planned = hp_settled(options);
    TRY(hypar_plan_check(plan, err));
    struct hypar_delta *d = NEW(&arena, struct hypar_delta, 1);
    int n_ops = plan->graph->n_ops;
    d->plan = hp_plan_copy(plan);
    d->options = planned;
    hp_take_simulation(d->plan, &d->options);
    d->named = NEW(&arena, int, n_ops);
    d->op = NEW(&arena, int, n_ops);
    d->now = NEW(&arena, struct op_config, n_ops);
    d->was = NEW(&arena, struct op_config, n_ops);
    d->arena = arena;
    d->empty = hp_arena_mark(&d->arena);
    enum hypar_status status = simulate_all(d, err);
    if (status != HYPAR_OK) {
        hypar_delta_free(d);
        return status;
    }
    d->length = d->kept = hp_delta_step(d->delta);
    d->steps = hp_delta_timing(d->delta)->lowering->iteration.n_batches;
    *out = d;
    return HYPAR_OK;
}

void hypar_delta_free(struct hypar_delta *d)
{
    if (!d)
        return;
    hp_delta_free(d->delta);
    hypar_plan_free(d->plan);
    hp_arena_free(&d->arena);
}

/* Read all changes before making any. */
static enum hypar_status read_changes(struct hypar_delta *d, const struct hypar_split *change,
                                      int n, struct hypar_error *err)
{
    const struct hypar_graph *graph = d->plan->graph;
    d->proposal++;
    for (d->n = 0; d->n < n; d->n++) {
        struct op_config *now = &d->now[d->n];
        if (d->n == graph->n_ops)
            return hp_fail(err, HYPAR_INFEASIBLE, "%d changes of %d operators", n,
                           graph->n_ops);
        TRY(hp_config_read(now, d->plan, &change[d->n], &d->arena, err));
        TRY(hp_check_resend_op(d->plan, now->op, &now->split, err));
        if (d->named[now->op] == d->proposal)
            return hp_fail(err, HYPAR_INFEASIBLE, "op '%s' is named twice",
                           graph->ops[now->op].name);
        d->named[now->op] = d->proposal;
        d->op[d->n] = now->op;
        d->was[d->n] = hp_config_of(d->plan, now->op, &d->arena);
    }
    return HYPAR_OK;
}

static void take_back(struct hypar_delta *d)
{
    for (int i = 0; i < d->n; i++)
        hp_config_apply(d->plan, &d->was[i]);
    hp_delta_undo(d->delta);
    d->length = d->kept;
    d->pending = false;
}

enum hypar_status hypar_delta_propose(struct hypar_delta *d, const struct hypar_split *change,
                                      int n, double limit_s, double *step_s,
                                      struct hypar_error *err)
{
    if (n < 0)
        return hp_fail(err, HYPAR_INVALID, "%d changes, expected 0 or more", n);
    if (isnan(limit_s))
        return hp_fail(err, HYPAR_INVALID, "a limit that is no number");
    ticks limit = limit_s > 0 ? hp_ticks(limit_s * d->steps) : HP_MAX_TICKS;
    hypar_delta_undo(d);
    if (hp_delta_remembered_bytes(d->delta) > d->most_bytes)
        simulate_all(d, NULL); /* on failure the old state stays */
    hp_arena_release(&d->arena, d->empty);
    TRY(read_changes(d, change, n, err));
    for (int i = 0; i < n; i++)
        hp_config_apply(d->plan, &d->now[i]);
    d->pending = true;
    enum hypar_status status = hp_delta_change(d->delta, d->op, n, limit, err);
    if (status == HYPAR_OK) {
        d->length = hp_delta_step(d->delta);
        *step_s = hypar_delta_step_s(d);
    }
    if (status != HYPAR_OK || d->length > limit)
        take_back(d);
    return status;
}

void hypar_delta_accept(struct hypar_delta *d)
{
    if (!d->pending)
        return;
    hp_delta_keep(d->delta);
    d->kept = d->length;
    d->pending = false;
}

void hypar_delta_undo(struct hypar_delta *d)
{
    if (d->pending)
        take_back(d);
}

const struct hypar_plan *hypar_delta_plan(const struct hypar_delta *d)
{
    return d->plan;
}

double hypar_delta_step_s(const struct hypar_delta *d)
{
    return hp_seconds(d->length) / d->steps;
}
