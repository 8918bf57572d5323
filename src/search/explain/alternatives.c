/* Finds the most expensive operators of a step, and simulates the step with one of them split
 * differently: along one axis, over the same devices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "emit/target.h"
#include "plan/schedules.h"
#include "search/explain/explain.h"
#include "sim/delta/delta.h"

/* Cost of each leader --------------------------------------------------------------------- */

/* The operator that a task of the critical path belongs to; -1: none. */
static int op_of(const struct hypar_graph *g, const struct hypar_sim_event *event)
{
    int t = event->tensor;
    if (event->op >= 0 || t < 0)
        return event->op;
    if (g->tensors[t].producer >= 0)
        return g->tensors[t].producer;
    return g->use_start[t] < g->use_start[t + 1] ? g->use[g->use_start[t]].op : -1;
}

/* By operator: the leader whose row includes its cost, the last leader before it. An addition
 * of a residual stream follows the layer whose result it adds. Its group's leader may be the
 * embedding at the beginning of the stream, which is no reason for its cost. */
static int *nearest_leaders(struct arena *arena, const struct groups *groups)
{
    const struct hypar_graph *g = groups->graph;
    int *nearest = NEW(arena, int, g->n_ops);
    for (int op = 0; op < g->n_ops; op++) {
        const struct op *o = &g->ops[op];
        nearest[op] = groups->leader[op];
        for (int i = 0; groups->leader[op] != op && i < o->nest->n_operands; i++) {
            int writer = o->tensor[i] < 0 ? -1 : g->tensors[o->tensor[i]].producer;
            if (writer >= 0 && writer < op && nearest[writer] > nearest[op])
                nearest[op] = nearest[writer];
        }
    }
    return nearest;
}

static void add_up(struct hypar_explanation *e, const struct groups *groups, double *seconds)
{
    struct hypar_sim_segment s;
    struct hypar_sim_event event;
    const int *leader = nearest_leaders(&e->arena, groups);
    for (int64_t i = 0; hypar_sim_segment(e->sim, i, &s); i++) {
        if (s.event < 0 || !hypar_sim_event(e->sim, s.event, &event))
            continue;
        int op = op_of(e->plan->graph, &event);
        if (op >= 0)
            seconds[leader[op]] += s.end_s - s.start_s;
    }
}

/* Do two operators have the same shape and the same split? */
static bool are_alike(const struct hypar_plan *plan, int a, int b)
{
    const struct op *x = &plan->graph->ops[a], *y = &plan->graph->ops[b];
    if (x->nest->like != y->nest->like)
        return false;
    for (int axis = 0; axis < x->nest->n_axes; axis++)
        if (hypar_plan_degree(plan, a, axis) != hypar_plan_degree(plan, b, axis))
            return false;
    return true;
}

/* Group equal operators and order the groups by their total cost; the most expensive operator
 * represents its group. */
static void find_costly(struct hypar_explanation *e, const struct groups *g, int most)
{
    double *seconds = NEW(&e->arena, double, e->plan->graph->n_ops);
    struct costly *class = NEW(&e->arena, struct costly, g->n_leaders + 1);
    int n = 0;
    add_up(e, g, seconds);
    for (int i = 0; i < g->n_leaders; i++) {
        int op = g->leaders[i], k = 0;
        while (k < n && !are_alike(e->plan, class[k].told.op, op))
            k++;
        struct hypar_explained_op *told = &class[k].told;
        if (k == n || seconds[op] > seconds[told->op])
            told->op = op;
        n += k == n;
        told->alike++;
        told->path_s += seconds[op];
    }
    e->op = class;
    for (; e->n_ops < most && e->n_ops < n; e->n_ops++) {
        int best = e->n_ops;
        for (int k = best + 1; k < n; k++)
            best = class[k].told.path_s > class[best].told.path_s ? k : best;
        struct costly other = class[e->n_ops];
        class[e->n_ops] = class[best];
        class[best] = other;
        if (!(class[e->n_ops].told.path_s > 0))
            return;
    }
}

/* Alternatives --------------------------------------------------------------------------- */

/* The devices of an operator's parts, each once, as indices of its pool; all devices of the
 * pool if the operator has only one. */
static struct drawn_set devices_of(const struct hypar_plan *plan, int op, struct arena *arena)
{
    struct device_pool pool = hp_device_pool(plan, op);
    struct drawn_set set = { .place = NEW(arena, int, pool.each) };
    bool *seen = NEW(arena, bool, pool.each);
    for (int i = 0; i < plan->ops[op].n_parts; i++) {
        int place = hp_pool_place(&pool, 0, plan->ops[op].device[i]);
        if (!seen[place])
            set.place[set.n++] = place;
        seen[place] = true;
    }
    for (int i = 0; set.n == 1 && i < pool.each; i++)
        set.place[i] = i;
    set.n = set.n == 1 ? pool.each : set.n;
    return set;
}

/* Propose the operator, divided along `axis`, with its followers. Returns false if it is
 * divided in this way already, or may not be. */
static bool propose(const struct proposer *p, int op, int axis, struct proposal *out)
{
    const struct nest *nest = p->plan->graph->ops[op].nest;
    hp_proposal_clear(out);
    struct drawn_set set = devices_of(p->plan, op, &out->arena);
    if (axis < 0 && p->plan->ops[op].n_devices == 1)
        return false; /* whole on another device */
    if (axis >= 0 &&
        (set.n < 2 || (nest->axis[axis].role != HYPAR_COPY && nest->axis[axis].extent < set.n)))
        return false;
    struct op_config config = hp_config_on(p, op, axis, &set, &out->arena);
    if (hp_config_is_so(p->plan, &config))
        return false;
    hp_proposal_add_group(p, &config, false, out);
    hp_proposal_tidy(p->plan, out);
    return out->n > 0 && out->at[op] >= 0;
}

/* Simulates changes of a copy of the plan, one after another. */
struct trying {
    struct hypar_explanation *e;
    struct hypar_plan *plan;
    struct delta *delta; /* NULL: simulate the whole plan, because its step is not the
                          * timeline's length */
    struct proposer proposer;
    struct proposal now, was;
};

static bool step_of(struct trying *t, double *step_s)
{
    struct hypar_sim *sim;
    double launch_s;
    if (t->delta) {
        if (hp_delta_change(t->delta, t->now.op, t->now.n, HP_MAX_TICKS, NULL) != HYPAR_OK)
            return false;
        hp_count_kernels(hp_delta_timing(t->delta), &launch_s);
        *step_s = fmax(hp_seconds(hp_delta_length(t->delta)), launch_s);
        return hp_check_length(hp_delta_length(t->delta), NULL) == HYPAR_OK;
    }
    if (hypar_simulate(&sim, t->plan, &t->e->what_ifs.how, NULL) != HYPAR_OK)
        return false;
    *step_s = hypar_sim_summary(sim).step_s;
    hypar_sim_free(sim);
    return true;
}

/* Check the memory if the step is shorter. */
static void look_at_memory(struct trying *t, struct hypar_what_if *row)
{
    struct hypar_memory fullest;
    row->fits = true;
    if (row->step_s >= hypar_sim_summary(t->e->sim).step_s)
        return;
    row->fits = hypar_plan_fits(t->plan, 0, &fullest, NULL) == HYPAR_OK;
    row->peak_memory_bytes = fullest.peak;
    row->limit_bytes = fullest.limit;
}

static void try_axis(struct trying *t, struct costly *c, struct hypar_what_if *list, int axis)
{
    struct arena *arena = &t->e->arena;
    int op = c->told.op;
    double step_s;
    if (hp_stopped(t->e->what_ifs.stop) || !propose(&t->proposer, op, axis, &t->now))
        return;
    hp_proposal_save(t->plan, &t->now, &t->was);
    hp_proposal_apply(t->plan, &t->now);
    const struct target *target = t->e->what_ifs.target;
    bool valid = hypar_plan_check(t->plan, NULL) == HYPAR_OK;
    if (valid && target && target->check(target, t->plan, NULL) != HYPAR_OK) {
        c->told.refused_by = target->title;
        valid = false;
    }
    if (!valid) {
        hp_proposal_apply(t->plan, &t->was);
        return;
    }
    bool known = step_of(t, &step_s);
    if (known) {
        struct hypar_what_if *row = &list[c->told.n_alternatives];
        *row = (struct hypar_what_if){ .what = hp_plan_split_text(arena, t->plan, op),
                                       .step_s = step_s };
        look_at_memory(t, row);
        c->axis[c->told.n_alternatives++] = axis;
    }
    hp_proposal_apply(t->plan, &t->was);
    if (t->delta)
        hp_delta_undo(t->delta);
}

/* Sort the alternatives and their axes, fastest first. */
static void sort(struct costly *c, struct hypar_what_if *list)
{
    for (int i = 1; i < c->told.n_alternatives; i++)
        for (int k = i; k > 0 && list[k].step_s < list[k - 1].step_s; k--) {
            struct hypar_what_if row = list[k];
            int axis = c->axis[k];
            list[k] = list[k - 1];
            c->axis[k] = c->axis[k - 1];
            list[k - 1] = row;
            c->axis[k - 1] = axis;
        }
}

static void try_axes(struct trying *t, struct costly *c)
{
    struct arena *arena = &t->e->arena;
    int n = t->plan->graph->ops[c->told.op].nest->n_axes;
    struct hypar_what_if *list = NEW(arena, struct hypar_what_if, n + 1);
    c->axis = NEW(arena, int, n + 1);
    for (int axis = -1; axis < n; axis++)
        try_axis(t, c, list, axis);
    sort(c, list);
    c->told.alternative = list;
}

/* The number of operators whose alternatives can be simulated in time. */
static int affordable(const struct hypar_explanation *e)
{
    double tasks = (double)hypar_sim_summary(e->sim).tasks, all = 0;
    for (int i = 0; i < e->n_ops; i++) {
        all += tasks * (e->plan->graph->ops[e->op[i].told.op].nest->n_axes + 1);
        if (all > HP_MOST_INSTANCES)
            return i;
    }
    return e->n_ops;
}

void hp_find_alternatives(struct hypar_explanation *e, int most)
{
    struct trying t = { .e = e };
    struct hypar_error err;
    t.plan = hp_changed_plan(e->plan, NULL);
    hp_proposer_begin(&t.proposer, t.plan, NULL);
    hp_proposal_begin(&t.now, t.plan->graph);
    hp_proposal_begin(&t.was, t.plan->graph);
    find_costly(e, t.proposer.groups, most);
    int n = affordable(e);
    if (n < e->n_ops)
        e->left_out = hp_arena_printf(&e->arena, "%lld tasks are too many to simulate so often",
                                      (long long)hypar_sim_summary(e->sim).tasks);
    bool delayed = hp_is_delayed(e->plan);
    if (n > 0 && !delayed &&
        hp_delta_new(&t.delta, t.plan, &e->what_ifs.how, NULL, &err) != HYPAR_OK) {
        e->left_out = hp_arena_strdup(&e->arena, err.text);
        n = 0;
    }
    for (int i = 0; i < n; i++)
        try_axes(&t, &e->op[i]);
    hp_delta_free(t.delta);
    hp_proposal_end(&t.now);
    hp_proposal_end(&t.was);
    hp_proposer_end(&t.proposer);
    hypar_plan_free(t.plan);
}

struct hypar_plan *hypar_explained_alternative(const struct hypar_explanation *e, int op,
                                               int alternative)
{
    if (op < 0 || op >= e->n_ops || alternative < 0 ||
        alternative >= e->op[op].told.n_alternatives)
        return NULL;
    struct hypar_plan *plan = hp_changed_plan(e->plan, NULL);
    struct proposer proposer;
    struct proposal change;
    hp_proposer_begin(&proposer, plan, NULL);
    hp_proposal_begin(&change, plan->graph);
    propose(&proposer, e->op[op].told.op, e->op[op].axis[alternative], &change);
    hp_proposal_apply(plan, &change);
    hp_proposal_end(&change);
    hp_proposer_end(&proposer);
    return plan;
}
