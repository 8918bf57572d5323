/* Cutting a network into pipeline stages: between its repeated layers, else between operators;
 * equal numbers of layers, else balanced by time. */
#include "plan/threed/threed.h"

#include <math.h>

#include "cost/kernel.h"
#include "graph/repeated.h"
#include "machine/machine.h"

/* Places where the operators may be cut, and the time of what lies before each. */
struct places {
    int n;   /* pieces: one more than places */
    int *at; /* by piece: its first operator; at[n]: all operators */
    double *before_s;
    bool layers; /* pieces are repeated layers */
};

/* The loops of an operator's first part in a micro-batch. */
static void first_part(const struct nest *nest, const struct hypar_layout *layout, int axis,
                       struct range range[MAX_AXES])
{
    int sample = hp_sample_axis(nest);
    hp_whole_ranges(nest, range);
    if (sample >= 0) {
        int64_t parts = layout->micro_batches * layout->data;
        range[sample].hi = (range[sample].hi + parts - 1) / parts;
    }
    if (axis >= 0)
        range[axis] = hp_even_part(nest->axis[axis].extent, layout->tensor, 0);
}

/* A micro-batch's passes of one operator, forward ones twice where they are done again; as the
 * kernels of a framework that compiles. */
static double op_seconds(const struct hypar_plan *plan, const struct hypar_layout *layout,
                         int op, int axis)
{
    const struct op *o = &plan->graph->ops[op];
    struct op_measure measured;
    if (hp_op_measured(plan->graph, op, &measured))
        return measured.forward_s + measured.backward_s;
    struct kernel_place at = { hypar_machine_device(plan->machine, 0), plan->precision,
                               HYPAR_FRAMEWORK_COMPILED, NULL };
    struct range range[MAX_AXES];
    uint32_t done = hp_done_passes(plan->graph, o), again = 0;
    for (int p = 0; p < o->nest->n_passes && plan->ops[op].recompute; p++)
        again |= (uint32_t)!o->nest->pass[p].backward << p;
    first_part(o->nest, layout, axis, range);
    return hp_op_seconds(o->nest, done, range, hp_present(o), &at) +
           hp_op_seconds(o->nest, again, range, hp_present(o), &at);
}

/* By operator: whether a region is cut in front of it. */
static bool *find_inside(struct arena *arena, int n_ops, const struct tensor_axes *axes)
{
    bool *inside = NEW(arena, bool, n_ops + 1);
    for (int r = 0; r < axes->n_regions; r++)
        for (int op = axes->region[r].lo + 1; op <= axes->region[r].hi; op++)
            inside[op] = true;
    return inside;
}

static void add_place(struct places *p, int op)
{
    p->at[p->n++] = op;
}

/* Do layers take most of the time, so that a network is cut between them alone? */
static bool are_most(const struct repeated_layers *layers, const double *before_s, int n_ops)
{
    int end = layers->first + layers->count * layers->n_ops;
    return layers->count > 1 && before_s[end] - before_s[layers->first] > before_s[n_ops] / 2;
}

/* By operator: whether one tensor alone passes it by, and it is a product, or `any` will do. */
static bool *find_narrow(struct arena *arena, const struct hypar_graph *graph, bool any)
{
    bool *narrow = NEW(arena, bool, graph->n_ops + 1);
    int *crossing = NEW(arena, int, graph->n_ops + 1);
    for (int t = 0; t < graph->n_tensors; t++) {
        int end = graph->use_start[t + 1];
        if (graph->tensors[t].kind != TENSOR_ACTIVATION || graph->use_start[t] == end)
            continue;
        crossing[graph->tensors[t].producer + 1]++;
        crossing[graph->use[end - 1].op + 1]--;
    }
    for (int op = 1, n = 0; op < graph->n_ops; op++) {
        n += crossing[op];
        narrow[op] = n == 1 && (any || hp_multiplies(graph->ops[op].nest));
    }
    return narrow;
}

static void find_places(struct arena *arena, const struct hypar_plan *plan,
                        const struct hypar_layout *layout, const struct tensor_axes *axes,
                        const bool *borders, int n_stages, struct places *out)
{
    const struct hypar_graph *graph = plan->graph;
    bool *inside = find_inside(arena, graph->n_ops, axes);
    double *before_s = NEW(arena, double, graph->n_ops + 1);
    struct repeated_layers layers = hp_repeated_layers(graph);
    int moved = 0;
    bool at_borders = hp_layers_at_borders(&layers, borders, &moved);
    for (int op = 0; borders && op < graph->n_ops; op++)
        inside[op] |= !borders[op];
    for (int op = 0; op < graph->n_ops; op++)
        before_s[op + 1] = before_s[op] + op_seconds(plan, layout, op, axes->op[op].axis);
    *out = (struct places){ .at = NEW(arena, int, graph->n_ops + 1), .before_s = before_s };
    out->layers = at_borders && are_most(&layers, before_s, graph->n_ops);
    add_place(out, 0);
    if (out->layers)
        for (int i = 1; i < layers.count; i++)
            if (!inside[layers.first + moved + i * layers.n_ops])
                add_place(out, layers.first + moved + i * layers.n_ops);
    const bool *narrow = find_narrow(arena, graph, borders != NULL);
    for (int op = 1; !out->layers && op < graph->n_ops; op++)
        if (!inside[op] && narrow[op])
            add_place(out, op);
    if (!out->layers && out->n < n_stages) {
        out->n = 1;
        for (int op = 1; op < graph->n_ops; op++)
            if (!inside[op])
                add_place(out, op);
    }
    out->at[out->n] = graph->n_ops;
}

static double piece_s(const struct places *p, int from, int to)
{
    return p->before_s[p->at[to]] - p->before_s[p->at[from]];
}

/* Stages that pieces from i on take at least, none of them longer than `most_s`: fills
 * needed[i]. False: a piece alone is longer. */
static bool count_stages(const struct places *p, double most_s, int *needed)
{
    needed[p->n] = 0;
    for (int i = p->n - 1, to = p->n; i >= 0; i--) {
        while (piece_s(p, i, to) > most_s)
            to--;
        if (to == i)
            return false;
        needed[i] = needed[to] + 1;
    }
    return true;
}

/* The least time that the slowest of n_stages takes; leaves needed[] of it. */
static void least_most(const struct places *p, int n_stages, int *needed, double *most_s)
{
    double low = 0, high = piece_s(p, 0, p->n);
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (count_stages(p, middle, needed) && needed[0] <= n_stages)
            high = middle;
        else
            low = middle;
    }
    count_stages(p, high, needed);
    *most_s = high;
}

/* Each stage ends as near as it can to its share of the time. */
static void balance(const struct places *p, int n_stages, const int *needed, double most_s,
                    int *first)
{
    double all_s = piece_s(p, 0, p->n);
    for (int s = 0, from = 0; s < n_stages; s++) {
        int left = n_stages - s - 1, best = -1;
        double nearest_s = INFINITY;
        for (int to = from + 1; to <= p->n - left && piece_s(p, from, to) <= most_s; to++) {
            double off_s = fabs(piece_s(p, 0, to) - all_s * (s + 1) / n_stages);
            if (needed[to] <= left && off_s < nearest_s && (left || to == p->n)) {
                nearest_s = off_s;
                best = to;
            }
        }
        first[s] = from;
        from = best >= 0 ? best : from + 1;
    }
}

static enum hypar_status check_count(const struct places *p, const struct hypar_layout *layout,
                                     struct hypar_error *err)
{
    int n_stages = layout->pipeline * layout->chunks;
    const char *what = p->layers ? "layers" : "places to cut";
    if (layout->chunks > 1 && (!p->layers || p->n % n_stages != 0))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "pipeline %d with chunks %d: %d stages do not divide the %d %s of the "
                       "model",
                       layout->pipeline, layout->chunks, n_stages, p->n, what);
    if (n_stages > p->n)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "pipeline %d: the model has %d %s, expected at least as many",
                       layout->pipeline, p->n, what);
    return HYPAR_OK;
}

enum hypar_status hp_cut_stages(struct arena *arena, const struct hypar_plan *plan,
                                const struct hypar_layout *layout,
                                const struct tensor_axes *axes, const bool *borders,
                                int **begin, struct hypar_error *err)
{
    int n_stages = layout->pipeline * layout->chunks;
    struct places p;
    double most_s;
    find_places(arena, plan, layout, axes, borders, n_stages, &p);
    TRY(check_count(&p, layout, err));
    int *first = NEW(arena, int, n_stages + 1), *needed = NEW(arena, int, p.n + 1);
    if (p.layers && p.n % n_stages == 0) {
        for (int s = 0; s < n_stages; s++)
            first[s] = s * (p.n / n_stages);
    } else {
        least_most(&p, n_stages, needed, &most_s);
        balance(&p, n_stages, needed, most_s, first);
    }
    *begin = first;
    for (int s = 0; s < n_stages; s++)
        first[s] = p.at[first[s]];
    first[n_stages] = plan->graph->n_ops;
    return HYPAR_OK;
}
