/* Makes an ordinary plan from a partition: from the types of each level to degrees, sizes and
 * devices of every operator. */
#include <string.h>

#include "search/levels/levels.h"

struct plan_builder {
    const struct problem *problem;
    const struct partition *partition;
    const double *const *share; /* share of each side of each level; NULL: equal sides */
    struct arena scratch, kept; /* scratch: for one operator; kept: for all operators */
    struct memo placed; /* of int, the device of every part, by the axes that levels divide */
    const int *node_after;
    int n_devices, ways[MAX_LEVELS];
    struct hypar_plan *plan;
};

/* The type that divides an operator without weights as `side` asks. */
static enum layer_type type_for(enum side_split side)
{
    return side == BY_BATCH ? TYPE_I : side == BY_CHANNEL ? TYPE_CHANNEL : TYPE_II;
}

/* The node that reads the output of each source operator (an operator that reads only model
 * inputs), or -1. */
static int *nodes_after(struct arena *arena, const struct layered *l)
{
    const struct hypar_graph *g = l->graph;
    int *after = NEW(arena, int, g->n_ops);
    for (int op = g->n_ops - 1; op >= 0; op--) {
        const struct op *source = &g->ops[op];
        after[op] = -1;
        for (int o = source->nest->n_inputs; o < source->nest->n_operands; o++)
            for (int u = g->use_start[source->tensor[o]];
                 u < g->use_start[source->tensor[o] + 1]; u++) {
                int reader = g->use[u].op;
                int node = l->node_of_op[reader] >= 0 ? l->node_of_op[reader] : after[reader];
                if (after[op] < 0)
                    after[op] = node;
            }
    }
    return after;
}

/* The axis of `op` that level `h` divides. */
static int axis_at(const struct plan_builder *r, int op, int h)
{
    const struct layered *l = r->problem->layered;
    int node = l->node_of_op[op];
    bool source = node < 0;
    if (source && (node = r->node_after[op]) < 0)
        return r->problem->layered->axis[op][TYPE_I];
    enum layer_type type = r->partition->type[(size_t)h * (size_t)l->n_nodes + (size_t)node];
    if (source)
        return r->problem->layered->axis[op][type_for(hp_split_in(type))];
    if (l->node[node].op == op)
        return r->problem->layered->axis[op][type];
    return r->problem->layered->axis[op][type_for(hp_split_out(type))];
}

static int64_t *axis_sizes(struct plan_builder *r, const int *levels, int n, int64_t extent,
                           int degree)
{
    int64_t *sizes = NEW(&r->scratch, int64_t, degree);
    int ways[MAX_LEVELS];
    for (int i = 0; i < n; i++)
        ways[i] = r->ways[levels[i]];
    if (!r->share) {
        hp_nested_sizes(extent, ways, n, sizes);
        return sizes;
    }
    double *weight = NEW(&r->scratch, double, degree);
    for (int p = 0; p < degree; p++) {
        int rest = p;
        weight[p] = 1;
        for (int i = n - 1; i >= 0; i--) {
            weight[p] *= r->share[levels[i]][rest % ways[i]];
            rest /= ways[i];
        }
    }
    hp_weighted_sizes(extent, degree, weight, sizes);
    return sizes;
}

/* Place the parts: device d's number has a digit for each level, the top level first. The
 * digits of the levels that divide an axis give the device's coordinate on this axis. */
static void place_parts(const struct plan_builder *r, const int *axis, const struct nest *nest,
                        const struct split *split, int *device)
{
    for (int d = 0; d < r->n_devices; d++) {
        int coordinate[MAX_AXES] = { 0 }, below = r->n_devices, part = 0;
        for (int h = 0; h < r->partition->n_levels; h++) {
            below /= r->ways[h];
            coordinate[axis[h]] = coordinate[axis[h]] * r->ways[h] + d / below % r->ways[h];
        }
        for (int a = 0; a < nest->n_axes; a++)
            part = part * (split->degree[a] ? split->degree[a] : 1) + coordinate[a];
        device[part] = d;
    }
}

/* The device of every part. Operators that are divided along the same axes share one list. */
static const int *devices_for(struct plan_builder *r, const int *axis, const struct nest *nest,
                              const struct split *split)
{
    int key[MAX_LEVELS + 1], n = r->partition->n_levels;
    memcpy(key, axis, (size_t)n * sizeof *key);
    key[n] = nest->n_axes;
    void **known = hp_memo(&r->placed, &r->kept, key, (size_t)(n + 1) * sizeof *key);
    if (!*known) {
        *known = NEW(&r->kept, int, r->n_devices);
        place_parts(r, axis, nest, split, *known);
    }
    return *known;
}

static void build_op(struct plan_builder *r, int op)
{
    const struct nest *nest = r->problem->graph->ops[op].nest;
    struct split split = { 0 };
    int axis[MAX_LEVELS];
    for (int h = 0; h < r->partition->n_levels; h++) {
        axis[h] = axis_at(r, op, h);
        split.degree[axis[h]] =
            (split.degree[axis[h]] ? split.degree[axis[h]] : 1) * r->ways[h];
    }
    for (int a = 0; a < nest->n_axes; a++) {
        int levels[MAX_LEVELS], n = 0;
        for (int h = 0; h < r->partition->n_levels; h++)
            if (axis[h] == a)
                levels[n++] = h;
        if (n && nest->axis[a].role != HYPAR_COPY)
            split.sizes[a] = axis_sizes(r, levels, n, nest->axis[a].extent, split.degree[a]);
    }
    hp_plan_set(r->plan, op, &split, devices_for(r, axis, nest, &split));
}

struct hypar_plan *hp_build_plan(const struct problem *problem,
                                 const struct partition *partition)
{
    struct plan_builder r = { .problem = problem, .partition = partition };
    r.share = hp_shares(problem, &r.kept);
    r.n_devices = 1;
    for (int h = 0; h < partition->n_levels; h++) {
        r.ways[h] = problem->level[h].ways;
        r.n_devices *= r.ways[h];
    }
    r.node_after = nodes_after(&r.kept, problem->layered);
    r.plan = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    for (int op = 0; op < problem->graph->n_ops; op++) {
        struct arena_mark mark = hp_arena_mark(&r.scratch);
        build_op(&r, op);
        hp_arena_release(&r.scratch, mark);
    }
    hp_arena_free(&r.scratch);
    hp_arena_free(&r.kept);
    return r.plan;
}
