/* Which axis of each operator the tensor degree divides.
 *
 *      x ──> columns ──> gelu, heads, ... ──> rows ──> y          a region: all of it is split
 *      whole    k          by the same            c    sum        along the same elements
 *
 * A region grows from a layer's columns to whoever touches its output, until rows or a loss end
 * it. Where something in between needs all elements (a norm over them), it is none. */
#include "plan/threed/threed.h"

/* A region while it grows. */
struct growing {
    const struct hypar_graph *graph;
    const axis_set *allowed; /* by nest: axes that may be split; NULL: all */
    struct arena *arena;
    struct tensor_axis *op;
    int *dim; /* by tensor: the dimension that is split, + 1; 0: not in the region */
    int number;
    int *ops, n_ops, op_capacity;
    int *tensors, n_tensors, tensor_capacity;
    int64_t units; /* the least extent of an axis, which all others are multiples of */
};

/* May this axis of an operator be split at all? */
static bool is_splittable(const struct growing *g, int op, int axis)
{
    const struct nest *nest = g->graph->ops[op].nest;
    return nest->axis[axis].splittable && (!g->allowed || g->allowed[nest->id] >> axis & 1);
}

static bool is_lookup(const struct op *op)
{
    return hp_op[op->kind].flags & ROW_LOOKUP;
}

/* Does `axis` lead dimension d of operand o, so that pieces of one are pieces of the other? */
static bool leads(const struct nest *nest, int o, int d, int axis)
{
    const struct dim_map *map = &nest->operand[o].dim[d];
    if (axis < 0 || hp_leading_axis(nest, o, d) != axis)
        return false;
    return map->kind == DIM_PRODUCT || (map->stride == 1 && map->pad == 0 && map->span == 1 &&
                                        nest->operand[o].size[d] == nest->axis[axis].extent);
}

static bool touch(struct growing *g, int tensor, int dim)
{
    if (g->dim[tensor])
        return g->dim[tensor] == dim + 1;
    g->dim[tensor] = dim + 1;
    g->tensors = GROW(g->arena, int, g->tensors, g->n_tensors, &g->tensor_capacity);
    g->tensors[g->n_tensors++] = tensor;
    return true;
}

/* Tensors of the operator that are split with the axis belong to the region, too. */
static bool touch_all(struct growing *g, int op, int axis)
{
    const struct op *o = &g->graph->ops[op];
    for (int i = 0; i < o->nest->n_operands; i++) {
        const struct operand *operand = &o->nest->operand[i];
        int t = o->tensor[i], d = 0;
        if (t < 0 || !(operand->axes >> axis & 1))
            continue;
        while (d < operand->n_dims && !leads(o->nest, i, d, axis))
            d++;
        if (g->graph->tensors[t].kind != TENSOR_ACTIVATION)
            continue;
        if (d == operand->n_dims || !touch(g, t, d))
            return false;
    }
    return true;
}

/* Does a split of `axis` leave partial results: in outputs of forward passes, in statistics, in
 * gradients of activations, in gradients of parameters? */
struct effect {
    bool output_partial, inner_partial, error_partial, weight_partial;
};

static struct effect effect_of(const struct hypar_graph *graph, int op, int axis)
{
    const struct op *o = &graph->ops[op];
    const struct nest *nest = o->nest;
    struct effect e = { 0 };
    uint32_t done = hp_done_passes(graph, o);
    for (int p = 0; p < nest->n_passes; p++)
        for (int i = 0; (done >> p & 1) && i < nest->n_operands; i++) {
            bool value = nest->pass[p].writes >> i & 1,
                 grad = nest->pass[p].writes_grad >> i & 1;
            if (o->tensor[i] < 0 || !(value || grad) ||
                hp_write_kind(nest, p, i, axis) != WRITE_PARTIAL)
                continue;
            bool param = graph->tensors[o->tensor[i]].kind == TENSOR_PARAM;
            *(grad && param                             ? &e.weight_partial
              : grad                                    ? &e.error_partial
              : nest->operand[i].role == OPERAND_OUTPUT ? &e.output_partial
                                                        : &e.inner_partial) = true;
        }
    return e;
}

/* May `op` be split by `axis` in a region: at its beginning (columns: only its error is a sum),
 * at its end (rows: only its output is; a loss), or within it (only the gradients of its
 * parameters are: a norm over each head has one weight for all heads)? */
static bool belongs(const struct hypar_graph *graph, int op, int axis)
{
    struct effect e = effect_of(graph, op, axis);
    if (hp_op[graph->ops[op].kind].flags & ROW_LOSS)
        return !e.error_partial;
    if (hp_op_weighted(graph, op))
        return !e.inner_partial && !e.weight_partial && !(e.output_partial && e.error_partial);
    return !e.output_partial && !e.inner_partial && !e.error_partial;
}

/* Add `op`, split by `axis`, and all operators that share the split elements to the region.
 * False: one of them cannot be split in this manner. */
static bool enter(struct growing *g, int op, int axis)
{
    const struct nest *nest = g->graph->ops[op].nest;
    if (axis < 0 || !is_splittable(g, op, axis) || g->op[op].axis >= 0 ||
        !belongs(g->graph, op, axis))
        return false;
    g->op[op] = (struct tensor_axis){ axis, 0, g->number, false };
    g->ops = GROW(g->arena, int, g->ops, g->n_ops, &g->op_capacity);
    g->ops[g->n_ops++] = op;
    if (g->n_ops == 1 || nest->axis[axis].extent < g->units)
        g->units = nest->axis[axis].extent;
    return touch_all(g, op, axis);
}

/* Whoever writes or reads dimension `d` of a tensor as operand `o` is in the region. */
static bool reach(struct growing *g, int op, int o, int d)
{
    const struct nest *nest = g->graph->ops[op].nest;
    int axis = hp_leading_axis(nest, o, d);
    if (!leads(nest, o, d, axis))
        return false;
    if (g->op[op].region == g->number)
        return g->op[op].axis == axis;
    return enter(g, op, axis);
}

static bool grow(struct growing *g)
{
    for (int i = 0; i < g->n_tensors; i++) {
        int t = g->tensors[i], d = g->dim[t] - 1, from = g->graph->tensors[t].producer;
        if (!reach(g, from, hp_output_operand(&g->graph->ops[from], t), d))
            return false;
        for (int u = g->graph->use_start[t]; u < g->graph->use_start[t + 1]; u++)
            if (!reach(g, g->graph->use[u].op, g->graph->use[u].operand, d))
                return false;
    }
    for (int i = 0; i < g->n_ops; i++) {
        int op = g->ops[i], axis = g->op[op].axis;
        if (g->graph->ops[op].nest->axis[axis].extent % g->units != 0)
            return false;
    }
    return true;
}

/* The axis of a layer's columns, which indexes the output and not the input; -1: none. */
static int column_axis(const struct hypar_graph *graph, int op)
{
    const struct nest *nest = graph->ops[op].nest;
    if (!hp_op_weighted(graph, op) || is_lookup(&graph->ops[op]))
        return -1;
    for (int a = 0; a < nest->n_axes; a++) {
        bool read = false, written = false;
        for (int i = 0; i < nest->n_operands; i++) {
            bool indexed = nest->operand[i].axes >> a & 1;
            read |= indexed && nest->operand[i].role == OPERAND_INPUT;
            written |= indexed && nest->operand[i].role == OPERAND_OUTPUT;
        }
        if (nest->axis[a].role == HYPAR_PARAMETER && written && !read)
            return a;
    }
    return -1;
}

/* An attention, or another product of activations, among them: its heads are meant; -1. */
static int find_heads(const struct growing *g)
{
    for (int i = 0; i < g->n_ops; i++)
        if (!hp_op_weighted(g->graph, g->ops[i]) &&
            hp_multiplies(g->graph->ops[g->ops[i]].nest))
            return g->ops[i];
    return -1;
}

static void keep(struct growing *g, struct tensor_axes *out, int *capacity)
{
    struct region region = { g->ops[0], g->ops[0] };
    for (int i = 0; i < g->n_ops; i++) {
        int op = g->ops[i];
        region.lo = op < region.lo ? op : region.lo;
        region.hi = op > region.hi ? op : region.hi;
        g->op[op].units = g->units;
    }
    out->region = GROW(g->arena, struct region, out->region, out->n_regions, capacity);
    out->region[out->n_regions++] = region;
}

static void forget(struct growing *g)
{
    for (int i = 0; i < g->n_ops; i++)
        g->op[g->ops[i]] = (struct tensor_axis){ -1, 0, -1, false };
}

static enum hypar_status find_regions(struct growing *g, int tensor, struct tensor_axes *out,
                                      struct hypar_error *err)
{
    int capacity = 0;
    for (int op = 0; op < g->graph->n_ops; op++) {
        int axis = column_axis(g->graph, op);
        if (axis < 0 || g->op[op].axis >= 0)
            continue;
        g->number = out->n_regions;
        g->n_ops = g->n_tensors = 0;
        bool whole = enter(g, op, axis) && grow(g);
        int heads = whole && g->units < tensor ? find_heads(g) : -1;
        if (heads >= 0)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "tensor %d: op '%s' has %lld heads, expected at least as many",
                           tensor, g->graph->ops[heads].name, (long long)g->units);
        if (whole && g->units >= tensor)
            keep(g, out, &capacity);
        else
            forget(g);
        for (int i = 0; i < g->n_tensors; i++)
            g->dim[g->tensors[i]] = 0;
    }
    return HYPAR_OK;
}

/* Tables that are looked up: by the vocabulary, with at least two rows in each part. */
static int vocabulary_axis(const struct growing *g, int op, int tensor)
{
    const struct hypar_graph *graph = g->graph;
    const struct nest *nest = graph->ops[op].nest;
    if (!hp_op_weighted(graph, op) || !is_lookup(&graph->ops[op]))
        return -1;
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].role == HYPAR_REDUCTION && is_splittable(g, op, a) &&
            nest->axis[a].extent >= 2 * (int64_t)tensor)
            return a;
    return -1;
}

/* The axis of the sequence, if each position is worked out by itself. */
static int sequence_axis(const struct growing *g, int op, int tensor)
{
    const struct hypar_graph *graph = g->graph;
    const struct nest *nest = graph->ops[op].nest;
    int axis = hp_nest_axis(nest, 't');
    if (axis < 0 || nest->axis[axis].role != HYPAR_ATTRIBUTE || !is_splittable(g, op, axis) ||
        nest->axis[axis].extent < tensor)
        return -1;
    struct effect e = effect_of(graph, op, axis);
    bool loss = hp_op[graph->ops[op].kind].flags & ROW_LOSS;
    return (e.output_partial && !loss) || e.inner_partial || e.error_partial ? -1 : axis;
}

/* Is what `op` writes read in a region? */
static bool feeds_region(const struct hypar_graph *graph, const struct tensor_axes *axes,
                         int op)
{
    const struct op *o = &graph->ops[op];
    for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++) {
        int t = o->tensor[i];
        for (int u = t < 0 ? 0 : graph->use_start[t]; t >= 0 && u < graph->use_start[t + 1];
             u++)
            if (axes->op[graph->use[u].op].region >= 0)
                return true;
    }
    return false;
}

enum hypar_status hp_tensor_axes(struct arena *arena, const struct hypar_graph *graph,
                                 const struct hypar_layout *layout, const axis_set *allowed,
                                 struct tensor_axes *out, struct hypar_error *err)
{
    int tensor = layout->tensor;
    bool any = false;
    *out = (struct tensor_axes){ .op = NEW(arena, struct tensor_axis, graph->n_ops) };
    struct growing g = { .graph = graph,
                         .allowed = allowed,
                         .arena = arena,
                         .op = out->op,
                         .dim = NEW(arena, int, graph->n_tensors) };
    for (int op = 0; op < graph->n_ops; op++)
        out->op[op] = (struct tensor_axis){ -1, 0, -1, false };
    if (tensor == 1)
        return HYPAR_OK;
    TRY(find_regions(&g, tensor, out, err));
    for (int op = 0; op < graph->n_ops; op++) {
        if (out->op[op].axis < 0)
            out->op[op].axis = vocabulary_axis(&g, op, tensor);
        if (out->op[op].axis >= 0 || !layout->sequence_parallel)
            continue;
        out->op[op].axis = sequence_axis(&g, op, tensor);
        out->op[op].gathered = out->op[op].axis >= 0 && feeds_region(graph, out, op);
        any |= out->op[op].axis >= 0;
    }
    if (layout->sequence_parallel && !any)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "sequence_parallel: no operator has a sequence (axis t) to divide");
    return HYPAR_OK;
}
