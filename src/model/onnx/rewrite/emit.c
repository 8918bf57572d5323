/* Builds the network from the list of new operators. A tensor is kept as a base and a shuffle
 * of the base (shuffle.h) until an operator needs the elements in their places. Element-wise
 * operators work on the base. Operators along the last dimension work on the base where the
 * shuffle leaves that dimension in its place. */
#include <string.h>

#include "model/onnx/rewrite/rewrite.h"

struct lazy {
    int base; /* tensor of the network; -1: an input or a parameter that is not made yet */
    struct shuffle shuffle;
    int done; /* the tensor that has the elements in their places, -1 */
};

struct emitting {
    struct rewriting *rw;
    struct graph_builder *b;
    struct lazy *lazy; /* by tensor of the new operators */
    struct name_set names;
    struct hypar_error *err;
};

static const char *unique(struct emitting *e, const char *name)
{
    return hp_unique_name(&e->names, e->rw->arena, name);
}

static const struct hypar_shape *shape_of(const struct emitting *e, int tensor)
{
    return &hp_build_graph(e->b)->tensors[tensor].shape;
}

/* Has the base all elements in their places? */
static bool is_plain(const struct emitting *e, const struct lazy *lazy)
{
    return hp_shuffle_is_plain(&lazy->shuffle, shape_of(e, lazy->base));
}

static void set_plain(struct emitting *e, int t, int tensor)
{
    e->lazy[t] = (struct lazy){ tensor, hp_shuffle_start(shape_of(e, tensor)), tensor };
}

/* Tensor `t` of the new operators is this shuffle of `tensor`. */
static void set_shuffled(struct emitting *e, int t, int tensor, const struct shuffle *shuffle)
{
    e->lazy[t] = (struct lazy){ tensor, *shuffle, -1 };
    if (is_plain(e, &e->lazy[t]))
        e->lazy[t].done = tensor;
}

/* Inputs and parameters ----------------------------------------------------------------------
 */

static void keep_source(struct emitting *e, const char *name,
                        const struct weight_source *source)
{
    struct kept_sources *kept = e->rw->im->kept;
    if (!kept)
        return;
    struct arena *arena = kept->arena;
    kept->source = GROW(arena, struct named_source, kept->source, kept->n, &kept->capacity);
    struct weight_range *range = NEW(arena, struct weight_range, source->n_ranges);
    struct named_source *copy = &kept->source[kept->n++];
    *copy = (struct named_source){ hp_arena_strdup(arena, name), *source };
    copy->source.range = range;
    if (source->n_ranges)
        memcpy(range, source->range, (size_t)source->n_ranges * sizeof *range);
    int64_t n = source->uniform ? 1 : hp_onnx_elements(&source->whole);
    if (source->constant) {
        double *data = NEW(arena, double, n);
        memcpy(data, source->constant, (size_t)n * sizeof *data);
        copy->source.constant = data;
    }
}

static enum hypar_status made(struct emitting *e, int tensor, const char *name)
{
    if (tensor >= 0)
        return HYPAR_OK;
    return hp_fail(e->err, HYPAR_INVALID, "'%.80s' is no tensor", name);
}

/* Makes an input or a parameter where it is first read. */
static enum hypar_status make_source(struct emitting *e, int t)
{
    const struct importing *im = e->rw->im;
    if (t < 0 || e->lazy[t].base >= 0)
        return HYPAR_OK;
    const struct new_tensor *st = &e->rw->tensor[t];
    const struct tensor *from = &e->rw->g->tensors[st->from];
    struct hypar_shape shape = from->shape;
    const char *name = from->name;
    if (st->stop) {
        shape.dim[st->dim] = st->stop - st->start;
        name = hp_arena_printf(e->rw->arena, "%s[%lld:%lld]", name, (long long)st->start,
                               (long long)st->stop);
    }
    name = unique(e, name);
    int tensor = from->kind == TENSOR_PARAM
                     ? hp_build_param(e->b, name, &shape)
                     : hp_build_input(e->b, name, &shape, from->index, from->sample_dim);
    TRY(made(e, tensor, name));
    if (st->from < im->n_sources && im->source[st->from].name) {
        struct weight_source source = im->source[st->from].source;
        if (st->stop) {
            source.dim = st->dim;
            source.from = st->start;
            source.to = st->stop;
        }
        keep_source(e, name, &source);
    }
    set_plain(e, t, tensor);
    return HYPAR_OK;
}

/* The tensor with the elements in their places. */
static enum hypar_status settle(struct emitting *e, int t, int *out)
{
    TRY(make_source(e, t));
    struct lazy *lazy = &e->lazy[t];
    if (lazy->done < 0) {
        const char *name = hp_build_graph(e->b)->tensors[lazy->base].name;
        /* added operators take their names from this one, so it is looked up each time */
        name = unique(e, hp_arena_printf(e->rw->arena, "%s.view", name));
        TRY(hp_shuffle_emit(e->b, lazy->base, &lazy->shuffle, name, &lazy->done, e->err));
    }
    *out = lazy->done;
    return HYPAR_OK;
}

/* Inputs `first` and on of a new operator. */
static enum hypar_status settle_inputs(struct emitting *e, const struct new_op *s, int first,
                                       int *inputs)
{
    for (int i = first; i < s->n_inputs; i++) {
        inputs[i] = HP_ABSENT;
        if (s->input[i] >= 0)
            TRY(settle(e, s->input[i], &inputs[i]));
    }
    return HYPAR_OK;
}

/* Kinds of new operators --------------------------------------------------------------------
 */

/* Element-wise with one operand, or with two. */
static bool is_element_wise(enum op_kind kind)
{
    return hp_op[kind].axes[0] == '*' && !hp_op[kind].bind &&
           (strcmp(hp_op[kind].operands, "x[*] -> y[*]") == 0 ||
            strcmp(hp_op[kind].operands, "x[*] y[*] -> z[*]") == 0);
}

/* Along the last dimension of x[n,t?,u?,c]. */
static bool is_row_wise(enum op_kind kind)
{
    return kind == OP_LINEAR || kind == OP_LAYER_NORM || kind == OP_RMS_NORM ||
           kind == OP_SOFTMAX || kind == OP_LOG_SOFTMAX;
}

/* The statistics of a batch norm, by its name in the network. */
static void keep_statistics(struct emitting *e, const struct new_op *s, const char *name)
{
    const struct importing *im = e->rw->im;
    int i = hp_table_get(&im->norm_names, s->name, strlen(s->name));
    if (i < 0)
        return; /* the file has none */
    keep_source(e, hp_arena_printf(e->rw->arena, "%s.mean", name), &im->statistics[i]);
    keep_source(e, hp_arena_printf(e->rw->arena, "%s.variance", name), &im->statistics[i + 1]);
}

static enum hypar_status build(struct emitting *e, const struct new_op *s, const int *inputs,
                               const struct attrs *attrs, int *outputs)
{
    const char *name = unique(e, s->name);
    if (s->kind == OP_BATCH_NORM)
        keep_statistics(e, s, name);
    return hp_build_op(e->b, &(struct op_request){ s->kind, name, s->n_inputs, inputs, attrs },
                       outputs, e->err);
}

/* The operator on tensors with all elements in their places. */
static enum hypar_status emit_settled(struct emitting *e, const struct new_op *s)
{
    int inputs[MAX_OPERANDS] = { 0 }, outputs[MAX_OPERANDS];
    TRY(settle_inputs(e, s, 0, inputs));
    TRY(build(e, s, inputs, s->attrs, outputs));
    for (int i = 0; i < s->n_outputs; i++)
        set_plain(e, s->output + i, outputs[i]);
    return HYPAR_OK;
}

/* The view added to a shuffle; false: it is none any more, or one of more dimensions than a
 * tensor has. */
static bool add_view(struct shuffle *shuffle, const struct new_op *s)
{
    struct shuffle_plan plan;
    struct shuffle made = *shuffle;
    int perm[MAX_DIMS];
    if (s->kind == OP_TRANSPOSE) {
        for (int d = 0; d < made.n_dims; d++)
            perm[d] = (int)hp_attr_int(s->attrs, ATTR_PERM, d, 0);
        hp_shuffle_transpose(&made, perm);
    } else if (!hp_shuffle_reshape(&made, &s->shape)) {
        return false;
    }
    if (!hp_shuffle_plan(&made, &plan))
        return false;
    *shuffle = made;
    return true;
}

static enum hypar_status emit_view(struct emitting *e, const struct new_op *s)
{
    struct lazy lazy = e->lazy[s->input[0]];
    if (!add_view(&lazy.shuffle, s)) {
        TRY(settle(e, s->input[0], &lazy.base));
        lazy.shuffle = hp_shuffle_start(shape_of(e, lazy.base));
        if (!add_view(&lazy.shuffle, s))
            return hp_fail(e->err, HYPAR_INVALID, "'%.80s' does not fit its shape", s->name);
    }
    set_shuffled(e, s->output, lazy.base, &lazy.shuffle);
    return HYPAR_OK;
}

/* The shuffle moves behind the operator, which works on the base; `before` is the shape that
 * the base has, `tensor` the operator's result. */
static enum hypar_status move_behind(struct emitting *e, int out, const struct lazy *in,
                                     const struct hypar_shape *before, int tensor)
{
    struct shuffle shuffle = in->shuffle;
    if (!hp_shuffle_rebase(&shuffle, before, shape_of(e, tensor)))
        return hp_fail(e->err, HYPAR_INVALID, "a shape that cannot be followed");
    set_shuffled(e, out, tensor, &shuffle);
    return HYPAR_OK;
}

/* Is the last dimension in its place, so that rows of the base are rows of the result? */
static bool keeps_rows(const struct emitting *e, const struct lazy *lazy)
{
    const struct hypar_shape *base = shape_of(e, lazy->base);
    int last = lazy->shuffle.n_dims - 1;
    return last >= 1 && base->n_dims >= 2 && base->n_dims <= 4 &&
           hp_shuffle_whole_dim(&lazy->shuffle, base, last) == base->n_dims - 1 &&
           base->dim[base->n_dims - 1] > 1;
}

/* The operand whose shuffle can be moved behind an element-wise operator: the other has the
 * same shuffle, or is a row that is added to all rows; -1: none. */
static int main_operand(const struct emitting *e, const struct new_op *s)
{
    const struct lazy *x = &e->lazy[s->input[0]],
                      *y = s->n_inputs > 1 ? &e->lazy[s->input[1]] : x;
    if (hp_same_shape(shape_of(e, x->base), shape_of(e, y->base)) &&
        hp_shuffle_same(&x->shuffle, &y->shuffle))
        return 0;
    for (int i = 0; i < 2; i++) {
        const struct lazy *wide = i ? y : x, *row = i ? x : y;
        const struct hypar_shape *w = shape_of(e, wide->base), *r = shape_of(e, row->base);
        if (is_plain(e, row) && r->n_dims == 1 && !is_plain(e, wide) && keeps_rows(e, wide) &&
            r->dim[0] == w->dim[w->n_dims - 1])
            return i;
    }
    return -1;
}

static enum hypar_status emit_element_wise(struct emitting *e, const struct new_op *s)
{
    int tensor, inputs[2], operand = main_operand(e, s);
    if (operand < 0)
        return emit_settled(e, s);
    for (int i = 0; i < s->n_inputs; i++)
        inputs[i] = e->lazy[s->input[i]].base;
    TRY(build(e, s, inputs, s->attrs, &tensor));
    set_shuffled(e, s->output, tensor, &e->lazy[s->input[operand]].shuffle);
    return HYPAR_OK;
}

/* A weight that is a transposed parameter is read as it is. */
static enum hypar_status linear_weight(struct emitting *e, int t, int *w, double *transposed)
{
    static const int turned[2] = { 1, 0 };
    struct lazy *lazy = &e->lazy[t];
    struct shuffle back = lazy->shuffle;
    if (back.n_dims == 2 && lazy->done < 0) {
        hp_shuffle_transpose(&back, turned);
        if (hp_shuffle_is_plain(&back, shape_of(e, lazy->base))) {
            *w = lazy->base;
            *transposed = 1 - *transposed;
            return HYPAR_OK;
        }
    }
    return settle(e, t, w);
}

/* Does the reshape only add or drop dimensions of size 1? Such a reshape is written before the
 * other steps. */
static bool only_units(const struct emitting *e, const struct lazy *lazy)
{
    const struct hypar_shape *base = shape_of(e, lazy->base);
    struct shuffle plain = hp_shuffle_start(base);
    int n = plain.first[base->n_dims];
    return lazy->shuffle.first[lazy->shuffle.n_dims] == n &&
           memcmp(plain.size, lazy->shuffle.size, (size_t)n * sizeof *plain.size) == 0 &&
           memcmp(plain.stride, lazy->shuffle.stride, (size_t)n * sizeof *plain.stride) == 0;
}

static enum hypar_status emit_row_wise(struct emitting *e, const struct new_op *s)
{
    int inputs[MAX_OPERANDS] = { 0 }, tensor, first = 1;
    double transposed = hp_attr(s->attrs, ATTR_TRANSPOSED, 0, 0);
    const struct attrs *attrs = s->attrs;
    struct lazy lazy = e->lazy[s->input[0]];
    if (lazy.done >= 0 || !keeps_rows(e, &lazy) || only_units(e, &lazy)) {
        TRY(settle(e, s->input[0], &lazy.base));
        lazy.shuffle = hp_shuffle_start(shape_of(e, lazy.base));
    }
    if (s->kind == OP_LINEAR) {
        TRY(linear_weight(e, s->input[1], &inputs[1], &transposed));
        attrs = hp_attrs_copy(e->rw->arena, ATTRS({ ATTR_TRANSPOSED, 1, &transposed }));
        first = 2;
    }
    TRY(settle_inputs(e, s, first, inputs));
    struct hypar_shape before = *shape_of(e, lazy.base);
    inputs[0] = lazy.base;
    TRY(build(e, s, inputs, attrs, &tensor));
    if (hp_shuffle_is_plain(&lazy.shuffle, &before)) {
        set_plain(e, s->output, tensor);
        return HYPAR_OK;
    }
    return move_behind(e, s->output, &lazy, &before, tensor);
}

/* A slice along a dimension that the base has too. */
static enum hypar_status emit_slice(struct emitting *e, const struct new_op *s)
{
    struct lazy lazy = e->lazy[s->input[0]];
    struct hypar_shape before = *shape_of(e, lazy.base), after = before;
    int axis = (int)hp_attr_int(s->attrs, ATTR_AXIS, 0, 0), tensor;
    int dim = lazy.done < 0 ? hp_shuffle_whole_dim(&lazy.shuffle, &before, axis) : -1;
    struct shuffle trial = lazy.shuffle;
    if (dim >= 0) {
        after.dim[dim] = s->shape.dim[axis];
        if (!hp_shuffle_rebase(&trial, &before, &after))
            dim = -1;
    }
    if (dim < 0)
        return emit_settled(e, s);
    struct attr list[ATTR_COUNT];
    struct attrs attrs = { s->attrs->n, list };
    double axis_value = dim;
    for (int i = 0; i < attrs.n; i++) {
        list[i] = s->attrs->attr[i];
        if (list[i].id == ATTR_AXIS)
            list[i].v = &axis_value;
    }
    TRY(build(e, s, &lazy.base, &attrs, &tensor));
    return move_behind(e, s->output, &lazy, &before, tensor);
}

/* Tensors joined along a dimension of size 1 that they were all given by the same shuffle (the
 * two directions of an LSTM): their bases are joined along the last dimension instead, and the
 * shuffle has one more factor. False: not so. */
static bool joined_shuffle(const struct emitting *e, const struct new_op *s,
                           struct shuffle *out)
{
    struct shuffle was = e->lazy[s->input[0]].shuffle;
    const struct hypar_shape *base = shape_of(e, e->lazy[s->input[0]].base);
    int axis = (int)hp_attr_int(s->attrs, ATTR_AXIS, 0, 0), last = base->n_dims - 1;
    for (int i = 0; i < s->n_inputs; i++) {
        const struct lazy *x = &e->lazy[s->input[i]];
        if (is_plain(e, x) || !hp_shuffle_same(&x->shuffle, &was) ||
            !hp_same_shape(shape_of(e, x->base), base))
            return false;
    }
    if (!hp_shuffle_refine(&was, base) || was.first[axis] != was.first[axis + 1] || last < 1 ||
        was.first[was.n_dims] == MAX_SHUFFLE)
        return false;
    *out = (struct shuffle){ .n_dims = was.n_dims };
    int n = 0;
    for (int d = 0; d < was.n_dims; d++) {
        out->first[d] = n;
        if (d == axis) {
            out->size[n] = s->n_inputs;
            out->stride[n++] = base->dim[last];
        }
        for (int f = was.first[d]; f < was.first[d + 1]; f++) {
            bool within = was.stride[f] < base->dim[last];
            out->size[n] = was.size[f];
            out->stride[n++] = was.stride[f] * (within ? 1 : s->n_inputs);
        }
    }
    out->first[was.n_dims] = n;
    return true;
}

static enum hypar_status emit_concat(struct emitting *e, const struct new_op *s)
{
    int inputs[MAX_OPERANDS];
    struct lazy lazy = { .done = -1 };
    if (s->n_inputs < 2 || !joined_shuffle(e, s, &lazy.shuffle))
        return emit_settled(e, s);
    for (int i = 0; i < s->n_inputs; i++)
        inputs[i] = e->lazy[s->input[i]].base;
    TRY(build(e, s, inputs, ATTRS({ ATTR_AXIS, 1, V(shape_of(e, inputs[0])->n_dims - 1) }),
              &lazy.base));
    e->lazy[s->output] = lazy;
    return HYPAR_OK;
}

static enum hypar_status emit_op(struct emitting *e, const struct new_op *s)
{
    for (int i = 0; i < s->n_inputs; i++)
        TRY(make_source(e, s->input[i]));
    if (hp_moves_only(s->kind))
        return emit_view(e, s);
    if (is_element_wise(s->kind))
        return emit_element_wise(e, s);
    if (is_row_wise(s->kind))
        return emit_row_wise(e, s);
    if (s->kind == OP_CONCAT)
        return emit_concat(e, s);
    return s->kind == OP_SLICE ? emit_slice(e, s) : emit_settled(e, s);
}

/* The end ------------------------------------------------------------------------------------
 */

/* A network is trained: its first output ends in cross-entropy against labels, or in the mean
 * of squares where it has no classes. */
static enum hypar_status add_loss(struct emitting *e, int output)
{
    const struct tensor *t = &hp_build_graph(e->b)->tensors[output];
    struct hypar_shape shape = t->shape;
    int last = shape.n_dims - 1, loss, sample_dim = t->sample_dim;
    bool classes =
        (shape.n_dims == 2 || shape.n_dims == 3) && shape.dim[last] > 1 && sample_dim != last;
    if (!t->needs_grad || shape.n_dims == 0)
        return HYPAR_OK; /* nothing to train */
    if (classes)
        shape.dim[shape.n_dims = last] = 0;
    if (sample_dim >= 0 && t->shape.dim[sample_dim] != hp_build_graph(e->b)->batch)
        sample_dim = -1;
    int in[2] = { output, hp_build_input(e->b, unique(e, classes ? "labels" : "target"), &shape,
                                         classes, sample_dim) };
    TRY(made(e, in[1], "labels"));
    return hp_build_op(e->b,
                       &(struct op_request){ classes ? OP_CROSS_ENTROPY : OP_MSE_LOSS,
                                             unique(e, "loss"), 2, in, NULL },
                       &loss, e->err);
}

static enum hypar_status emit_all(struct emitting *e, const int *outputs, int n_outputs)
{
    struct rewriting *rw = e->rw;
    int *tensor = NEW(rw->arena, int, n_outputs);
    for (int s = 0; s < rw->n_ops; s++)
        if (rw->op[s].live)
            TRY(emit_op(e, &rw->op[s]));
    for (int i = 0; i < n_outputs; i++) {
        TRY(settle(e, rw->map[outputs[i]], &tensor[i]));
        if (hp_build_graph(e->b)->tensors[tensor[i]].kind == TENSOR_ACTIVATION)
            hp_build_mark_output(e->b, tensor[i]);
    }
    TRY(add_loss(e, tensor[0]));
    for (int t = 0; t < rw->g->n_tensors; t++) /* inputs that nobody reads */
        if (rw->g->tensors[t].kind == TENSOR_INPUT &&
            !(t < rw->im->n_sources && rw->im->source[t].name))
            TRY(make_source(e, rw->map[t]));
    return HYPAR_OK;
}

enum hypar_status hp_emit_new_ops(struct rewriting *rw, const int *outputs, int n_outputs,
                                  const char *name, struct hypar_graph **out)
{
    struct emitting e = { .rw = rw, .err = rw->im->err };
    e.b = hp_build(name, rw->im->batch);
    e.lazy = NEW(rw->arena, struct lazy, rw->n_tensors);
    for (int t = 0; t < rw->n_tensors; t++)
        e.lazy[t] = (struct lazy){ .base = -1, .done = -1 };
    enum hypar_status status = emit_all(&e, outputs, n_outputs);
    if (status != HYPAR_OK) {
        hp_build_abandon(e.b);
        return status;
    }
    struct hypar_graph *built;
    TRY(hp_build_finish(e.b, &built, rw->im->err));
    status = hp_graph_renumber(built, out, rw->im->err);
    hypar_graph_free(built);
    TRY(status);
    hp_onnx_add_notes(rw, *out);
    return HYPAR_OK;
}
