/* Cutting a network into pipeline stages: between its repeated layers, else between operators;
 * as many layers as the layout says, equal numbers, else balanced by time. */
#include "plan/threed/threed.h"

#include <math.h>

#include "cost/kernel.h"
#include "graph/structure/cut_points.h"
#include "machine/machine.h"

/* The places where the operators may be cut, and the time of all operators before each. */
struct pieces {
    struct cut_points points;
    double *before_s;
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

/* A micro-batch's passes of one operator, forward ones twice where they are done again. */
static double op_seconds(const struct hypar_plan *plan, const struct hypar_layout *layout,
                         int op, int axis)
{
    const struct op *o = &plan->graph->ops[op];
    struct op_measure measured;
    if (hp_op_measured(plan->graph, op, &measured))
        return measured.forward_s + measured.backward_s;
    struct kernel_place at = hp_kernel_place(hypar_machine_device(plan->machine, 0),
                                             plan->precision, &plan->simulation.framework);
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

static void find_pieces(struct arena *arena, const struct hypar_plan *plan,
                        const struct hypar_layout *layout, const struct tensor_axes *axes,
                        const bool *borders, int n_stages, struct pieces *out)
{
    const struct hypar_graph *graph = plan->graph;
    double *op_s = NEW(arena, double, graph->n_ops);
    struct cut_rule rule = { .op_s = op_s,
                             .inside = find_inside(arena, graph->n_ops, axes),
                             .borders = borders };
    out->before_s = NEW(arena, double, graph->n_ops + 1);
    for (int op = 0; op < graph->n_ops; op++) {
        op_s[op] = op_seconds(plan, layout, op, axes->op[op].axis);
        out->before_s[op + 1] = out->before_s[op] + op_s[op];
    }
    out->points = hp_cut_points(arena, graph, &rule);
    rule.anywhere = true;
    if (!out->points.layers && out->points.n < n_stages)
        out->points = hp_cut_points(arena, graph, &rule);
}

static double piece_s(const struct pieces *p, int from, int to)
{
    return p->before_s[p->points.first[to]] - p->before_s[p->points.first[from]];
}

/* Stages that pieces from i on take at least, none of them longer than `most_s`: fills
 * needed[i]. False: a piece alone is longer. */
static bool count_stages(const struct pieces *p, double most_s, int *needed)
{
    needed[p->points.n] = 0;
    for (int i = p->points.n - 1, to = p->points.n; i >= 0; i--) {
        while (piece_s(p, i, to) > most_s)
            to--;
        if (to == i)
            return false;
        needed[i] = needed[to] + 1;
    }
    return true;
}

/* The least time that the slowest of n_stages takes; leaves needed[] of it. */
static void least_most(const struct pieces *p, int n_stages, int *needed, double *most_s)
{
    double low = 0, high = piece_s(p, 0, p->points.n);
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
static void balance(const struct pieces *p, int n_stages, const int *needed, double most_s,
                    int *first)
{
    double all_s = piece_s(p, 0, p->points.n);
    for (int s = 0, from = 0; s < n_stages; s++) {
        int left = n_stages - s - 1, best = -1;
        double nearest_s = INFINITY;
        for (int to = from + 1; to <= p->points.n - left && piece_s(p, from, to) <= most_s;
             to++) {
            double off_s = fabs(piece_s(p, 0, to) - all_s * (s + 1) / n_stages);
            if (needed[to] <= left && off_s < nearest_s && (left || to == p->points.n)) {
                nearest_s = off_s;
                best = to;
            }
        }
        first[s] = from;
        from = best >= 0 ? best : from + 1;
    }
}

static enum hypar_status check_count(const struct pieces *p, const struct hypar_layout *layout,
                                     struct hypar_error *err)
{
    int n_stages = layout->pipeline * layout->chunks;
    const char *what = p->points.layers ? "layers" : "places to cut";
    if (layout->chunks > 1 && (!p->points.layers || p->points.n % n_stages != 0))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "pipeline %d with chunks %d: %d stages do not divide the %d %s of the "
                       "model",
                       layout->pipeline, layout->chunks, n_stages, p->points.n, what);
    if (n_stages > p->points.n)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "pipeline %d: the model has %d %s, expected at least as many",
                       layout->pipeline, p->points.n, what);
    return HYPAR_OK;
}

/* Layers of the first and of the last stage as the layout says, even shares of the rest: fills
 * first[], by stage. */
static enum hypar_status share_layers(const struct pieces *p, const struct hypar_layout *layout,
                                      int *first, struct hypar_error *err)
{
    int n = layout->pipeline, given = (layout->first_layers > 0) + (layout->last_layers > 0);
    int rest = p->points.n - layout->first_layers - layout->last_layers, others = n - given;
    if (!p->points.layers || layout->chunks > 1)
        return hp_fail(err, HYPAR_INFEASIBLE, "first_layers %d, last_layers %d, expected %s",
                       layout->first_layers, layout->last_layers,
                       layout->chunks > 1 ? "stages without chunks"
                                          : "a network of layers that repeat");
    if (others < 0 || rest < others || (others == 0 && rest > 0))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "first_layers %d, last_layers %d, expected that %d stages share all of "
                       "%d layers",
                       layout->first_layers, layout->last_layers, n, p->points.n);
    for (int s = 0; s < n; s++) {
        int before = s - (layout->first_layers > 0);
        first[s] = s == 0 ? 0
                   : s == n - 1 && layout->last_layers
                       ? p->points.n - layout->last_layers
                       : layout->first_layers + (int)hp_even_part(rest, others, before).lo;
    }
    return HYPAR_OK;
}

enum hypar_status hp_cut_stages(struct arena *arena, const struct hypar_plan *plan,
                                const struct hypar_layout *layout,
                                const struct tensor_axes *axes, const bool *borders,
                                int **begin, struct hypar_error *err)
{
    int n_stages = layout->pipeline * layout->chunks;
    struct pieces p;
    double most_s;
    find_pieces(arena, plan, layout, axes, borders, n_stages, &p);
    TRY(check_count(&p, layout, err));
    int *first = NEW(arena, int, n_stages + 1), *needed = NEW(arena, int, p.points.n + 1);
    if (layout->first_layers || layout->last_layers) {
        TRY(share_layers(&p, layout, first, err));
    } else if (p.points.layers && p.points.n % n_stages == 0) {
        for (int s = 0; s < n_stages; s++)
            first[s] = s * (p.points.n / n_stages);
    } else {
        least_most(&p, n_stages, needed, &most_s);
        balance(&p, n_stages, needed, most_s, first);
    }
    *begin = first;
    for (int s = 0; s < n_stages; s++)
        first[s] = p.points.first[first[s]];
    first[n_stages] = plan->graph->n_ops;
    return HYPAR_OK;
}
