/* Translates nodes that cut, join and repeat tensors: slice, concat, expand, tile, split,
 * pad. On constants and weights the importer computes the result. */
#include <string.h>

#include "model/onnx/onnx.h"

/* The range of each dimension in a slice. */
struct window {
    int64_t start[MAX_DIMS], step[MAX_DIMS];
    struct hypar_shape shape;
};

static int64_t clip(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static enum hypar_status read_window(struct importing *im, const struct hypar_shape *shape,
                                     struct window *w)
{
    int64_t starts[MAX_DIMS], ends[MAX_DIMS], axes[MAX_DIMS], steps[MAX_DIMS];
    int n, n_ends, n_axes, n_steps, d;
    *w = (struct window){ .shape = *shape };
    for (int i = 0; i < shape->n_dims; i++)
        w->step[i] = 1;
    TRY(hp_onnx_list(im, "starts", 1, MAX_DIMS, starts, &n));
    TRY(hp_onnx_list(im, "ends", 2, MAX_DIMS, ends, &n_ends));
    TRY(hp_onnx_list(im, "axes", 3, MAX_DIMS, axes, &n_axes));
    TRY(hp_onnx_list(im, "steps", 4, MAX_DIMS, steps, &n_steps));
    if (n < 0 || n_ends != n || (n_axes >= 0 && n_axes != n) || (n_steps >= 0 && n_steps != n))
        return hp_fail(im->err, HYPAR_INVALID, "starts, ends, axes and steps do not match");
    for (int i = 0; i < n; i++) {
        TRY(hp_onnx_axis(im, n_axes < 0 ? i : axes[i], shape->n_dims, &d));
        int64_t size = shape->dim[d], step = n_steps < 0 ? 1 : steps[i];
        if (step == 0)
            return hp_fail(im->err, HYPAR_INVALID, "a step of 0");
        int64_t from = starts[i] < 0 ? starts[i] + size : starts[i];
        int64_t to = ends[i] < 0 ? ends[i] + size : ends[i];
        from = step > 0 ? clip(from, 0, size) : clip(from, -1, size - 1);
        to = step > 0 ? clip(to, 0, size) : clip(to, -1, size - 1);
        step = clip(step, -size - 1, size + 1); /* one step leaves either way */
        int64_t length = step > 0 ? to - from : from - to, by = step > 0 ? step : -step;
        w->start[d] = from;
        w->step[d] = step;
        w->shape.dim[d] = length > 0 ? (length + by - 1) / by : 0;
    }
    return HYPAR_OK;
}

enum hypar_status hp_onnx_sliced_shape(struct importing *im, const struct hypar_shape *shape,
                                       struct hypar_shape *out)
{
    struct window w;
    TRY(read_window(im, shape, &w));
    *out = w.shape;
    return HYPAR_OK;
}

/* Rows of a weight stay a weight. */
static bool takes_rows(const struct value *x, const struct window *w)
{
    for (int d = 1; d < x->shape.n_dims; d++)
        if (w->shape.dim[d] != x->shape.dim[d] || w->step[d] != 1)
            return false;
    return x->shape.n_dims > 0 && w->step[0] == 1 && w->shape.dim[0] > 0;
}

static struct value slice_weight(struct importing *im, const struct value *x,
                                 const struct window *w)
{
    struct value y = *x;
    struct weight_range *range = NEW(&im->arena, struct weight_range, x->n_ranges);
    int64_t row = hp_onnx_elements(&x->shape) / x->shape.dim[0];
    struct weight_range part = { 0, w->start[0] * row, w->shape.dim[0] * row };
    y.range = range;
    y.n_ranges = hp_onnx_take_range(x, part, range, 0);
    y.shape = w->shape;
    y.tensor = -1;
    return y;
}

static enum hypar_status slice_tensor(struct importing *im, struct value *x,
                                      const struct window *w, struct value *out)
{
    int t;
    bool first = true;
    TRY(hp_onnx_tensor(im, x, &t));
    for (int d = 0; d < x->shape.n_dims; d++) {
        if (w->step[d] < 0 && x->shape.dim[d] > 1)
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "a negative step");
        if (w->shape.dim[d] < 1)
            return hp_fail(im->err, HYPAR_INVALID, "nothing is left of dimension %d", d);
        if (w->shape.dim[d] == x->shape.dim[d])
            continue;
        int64_t last = w->start[d] + (w->shape.dim[d] - 1) * w->step[d];
        TRY(hp_onnx_emit_slice(im, first ? NULL : "next", t, d,
                               (int64_t[]){ w->start[d], last + 1, w->step[d] }, &t));
        first = false;
    }
    *out = hp_onnx_tensor_value(im, t);
    return HYPAR_OK;
}

static enum hypar_status take_window(struct importing *im, struct value *x,
                                     const struct window *w, struct value *out)
{
    int64_t stride[MAX_DIMS], offset = 0;
    if (x->kind == VALUE_WEIGHT && takes_rows(x, w)) {
        *out = slice_weight(im, x, w);
        return HYPAR_OK;
    }
    if (x->kind == VALUE_INDEX)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a part of integers");
    if (x->kind != VALUE_CONSTANT)
        return slice_tensor(im, x, w, out);
    hp_onnx_strides(&x->shape, stride);
    for (int d = 0; d < x->shape.n_dims; d++) {
        offset += stride[d] * w->start[d];
        stride[d] *= w->step[d];
    }
    return hp_onnx_strided(im, x, &w->shape, stride, offset, out);
}

enum hypar_status hp_onnx_slice(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), y;
    struct window w;
    TRY(read_window(im, &x->shape, &w));
    TRY(take_window(im, x, &w, &y));
    return hp_onnx_define(im, 0, y);
}

enum hypar_status hp_onnx_part(struct importing *im, struct value *x, int axis, int64_t start,
                               int64_t stop, bool keep, struct value *out)
{
    struct window w = { .shape = x->shape };
    struct hypar_shape shape = { 0 };
    for (int d = 0; d < x->shape.n_dims; d++)
        w.step[d] = 1;
    if (start < 0 || stop <= start || stop > x->shape.dim[axis])
        return hp_fail(im->err, HYPAR_INVALID, "a part of dimension %d that it does not have",
                       axis);
    w.start[axis] = start;
    w.shape.dim[axis] = stop - start;
    TRY(take_window(im, x, &w, out));
    for (int d = 0; d < x->shape.n_dims; d++)
        if (keep || d != axis)
            shape.dim[shape.n_dims++] = w.shape.dim[d];
    if (keep)
        return HYPAR_OK;
    out->shape = shape;
    if (out->kind != VALUE_NUMBERS) {
        out->tensor = -1;
        return HYPAR_OK;
    }
    return hp_onnx_emit_reshape(im, "part", out->tensor, &shape, &out->tensor);
}

static enum hypar_status concat_constants(struct importing *im, int axis,
                                          const struct hypar_shape *shape)
{
    double *data;
    int64_t n = hp_onnx_elements(shape), outer = 1, inner = 1, at = 0;
    for (int d = 0; d < shape->n_dims; d++)
        *(d < axis ? &outer : &inner) *= d == axis ? 1 : shape->dim[d];
    TRY(hp_onnx_fold_room(im, n, &data));
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < im->node->n_inputs; i++) {
            const struct value *v = hp_onnx_input(im, i);
            int64_t run = v->shape.dim[axis] * inner;
            for (int64_t k = 0; k < run; k++)
                data[at++] = hp_onnx_element(v, o * run + k);
        }
    return hp_onnx_define(im, 0,
                          hp_onnx_constant(hp_onnx_input(im, 0)->type, shape, data, false));
}

static enum hypar_status concat_weights(struct importing *im, const struct hypar_shape *shape)
{
    struct value y = *hp_onnx_input(im, 0);
    int n = 0;
    for (int i = 0; i < im->node->n_inputs; i++)
        n += hp_onnx_input(im, i)->n_ranges;
    struct weight_range *range = NEW(&im->arena, struct weight_range, n);
    y.shape = *shape;
    y.range = range;
    y.n_ranges = n;
    y.tensor = -1;
    for (int i = 0; i < im->node->n_inputs; i++)
        for (int k = 0; k < hp_onnx_input(im, i)->n_ranges; k++)
            *range++ = hp_onnx_input(im, i)->range[k];
    return hp_onnx_define(im, 0, y);
}

/* More inputs than an operator takes are joined in groups. */
static enum hypar_status concat_tensors(struct importing *im, int axis)
{
    enum { GROUP = 32 };
    int n = im->node->n_inputs, *t = NEW(&im->arena, int, n + 1);
    for (int i = 0; i < n; i++)
        TRY(hp_onnx_tensor(im, hp_onnx_input(im, i), &t[i]));
    while (n > GROUP) {
        int groups = 0;
        for (int i = 0; i < n; i += GROUP) {
            int size = n - i < GROUP ? n - i : GROUP, joined = t[i];
            if (size > 1)
                TRY(hp_onnx_emit(im, OP_CONCAT, "group", size, t + i,
                                 ATTRS({ ATTR_AXIS, 1, V(axis) }), &joined));
            t[groups++] = joined;
        }
        n = groups;
    }
    if (n > 1)
        TRY(hp_onnx_emit(im, OP_CONCAT, NULL, n, t, ATTRS({ ATTR_AXIS, 1, V(axis) }), &t[0]));
    return hp_onnx_define_tensor(im, 0, t[0]);
}

enum hypar_status hp_onnx_concat(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0);
    struct hypar_shape shape = x->shape;
    bool constant = true, weights = true;
    int axis;
    TRY(hp_onnx_axis_attr(im, 0, &axis));
    shape.dim[axis] = 0;
    for (int i = 0; i < im->node->n_inputs; i++) {
        const struct value *v = hp_onnx_input(im, i);
        if (!v)
            return hp_onnx_missing(im, "an input");
        if (v->shape.n_dims != shape.n_dims)
            return hp_fail(im->err, HYPAR_INVALID, "input %d has %d dimensions, expected %d", i,
                           v->shape.n_dims, shape.n_dims);
        for (int d = 0; d < shape.n_dims; d++)
            if (d != axis && v->shape.dim[d] != shape.dim[d])
                return hp_fail(im->err, HYPAR_INVALID,
                               "input %d has %lld in dimension %d, expected %lld", i,
                               (long long)v->shape.dim[d], d, (long long)shape.dim[d]);
        shape.dim[axis] += v->shape.dim[axis];
        constant &= v->kind == VALUE_CONSTANT;
        weights &= v->kind == VALUE_WEIGHT;
    }
    TRY(hp_onnx_check_dims(im, &shape));
    if (constant)
        return concat_constants(im, axis, &shape);
    if (weights && axis == 0)
        return concat_weights(im, &shape);
    return concat_tensors(im, axis);
}

enum hypar_status hp_onnx_expand(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    struct hypar_shape to = { 0 }, shape;
    int64_t stride[MAX_DIMS], moved[MAX_DIMS] = { 0 };
    int t;
    TRY(hp_onnx_dims(im, hp_onnx_input(im, 1), &to));
    TRY(hp_onnx_check_dims(im, &to));
    if (!hp_onnx_broadcast(&x->shape, &to, &shape))
        return hp_fail(im->err, HYPAR_INVALID, "its input does not fit the shape asked for");
    TRY(hp_onnx_check_dims(im, &shape));
    hp_onnx_strides(&x->shape, stride);
    for (int d = 0; d < x->shape.n_dims; d++)
        moved[d + shape.n_dims - x->shape.n_dims] = x->shape.dim[d] == 1 ? 0 : stride[d];
    if (x->kind == VALUE_CONSTANT)
        return hp_onnx_define_strided(im, x, &shape, moved, 0);
    TRY(hp_onnx_tensor(im, x, &t));
    if (hp_onnx_elements(&shape) != hp_onnx_elements(&x->shape) ||
        shape.n_dims != x->shape.n_dims)
        TRY(hp_onnx_emit_expand(im, NULL, t, &shape, &t));
    return hp_onnx_define_tensor(im, 0, t);
}

/* Copies side by side: a broadcast where there is one element, else joined. */
enum hypar_status hp_onnx_tile(struct importing *im)
{
    enum { MAX_COPIES = 32 };
    struct value *x = hp_onnx_input(im, 0);
    struct hypar_shape shape = x->shape, wide = x->shape;
    int64_t times[MAX_DIMS];
    int n, t, copies[MAX_COPIES];
    bool broadcast = false;
    TRY(hp_onnx_list(im, "repeats", 1, MAX_DIMS, times, &n));
    if (n != shape.n_dims)
        return hp_fail(im->err, HYPAR_INVALID, "%d counts, expected %d", n, shape.n_dims);
    for (int d = 0; d < n; d++) {
        if (times[d] < 1 || shape.dim[d] < 1 || times[d] > ((int64_t)1 << 40) / shape.dim[d])
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "%lld copies", (long long)times[d]);
        shape.dim[d] *= times[d];
        broadcast |= x->shape.dim[d] == 1 && times[d] > 1;
        wide.dim[d] = x->shape.dim[d] == 1 ? shape.dim[d] : x->shape.dim[d];
    }
    TRY(hp_onnx_check_dims(im, &shape));
    if (x->kind == VALUE_CONSTANT)
        return hp_fold_tile(im, &shape);
    TRY(hp_onnx_tensor(im, x, &t));
    if (broadcast)
        TRY(hp_onnx_emit_expand(im, NULL, t, &wide, &t));
    for (int d = 0; d < n; d++) {
        if (times[d] == 1 || x->shape.dim[d] == 1)
            continue;
        if (times[d] > MAX_COPIES)
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "%lld copies", (long long)times[d]);
        for (int64_t i = 0; i < times[d]; i++)
            copies[i] = t;
        TRY(hp_onnx_emit(im, OP_CONCAT, NULL, (int)times[d], copies,
                         ATTRS({ ATTR_AXIS, 1, V(d) }), &t));
    }
    return hp_onnx_define_tensor(im, 0, t);
}

enum hypar_status hp_onnx_split(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    int64_t sizes[MAX_OPERANDS];
    double values[MAX_OPERANDS];
    int axis, n, t, outputs[MAX_OPERANDS], parts = im->node->n_outputs;
    TRY(hp_onnx_axis_attr(im, 0, &axis));
    if (parts < 1 || parts > ATTR_MAX_VALUES)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "%d outputs", parts);
    TRY(hp_onnx_list(im, "split", 1, ATTR_MAX_VALUES, sizes, &n));
    if (n >= 0 && n != parts)
        return hp_fail(im->err, HYPAR_INVALID, "%d sizes for %d outputs", n, parts);
    int64_t each = (x->shape.dim[axis] + parts - 1) / parts;
    for (int i = 0; i < parts; i++) {
        int64_t left = x->shape.dim[axis] - each * i;
        values[i] = (double)(n >= 0 ? sizes[i] : left < each ? left : each);
    }
    if (x->kind != VALUE_NUMBERS) {
        int64_t at = 0;
        for (int i = 0; i < parts; at += (int64_t)values[i++]) {
            struct value part;
            TRY(hp_onnx_part(im, x, axis, at, at + (int64_t)values[i], true, &part));
            TRY(hp_onnx_define(im, i, part));
        }
        return HYPAR_OK;
    }
    TRY(hp_onnx_tensor(im, x, &t));
    TRY(hp_onnx_emit(im, OP_SPLIT, NULL, 1, &t,
                     ATTRS({ ATTR_AXIS, 1, V(axis) }, { ATTR_SIZES, parts, values }), outputs));
    for (int i = 0; i < parts; i++)
        TRY(hp_onnx_define_tensor(im, i, outputs[i]));
    return HYPAR_OK;
}

enum hypar_status hp_onnx_pad(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *fill = hp_onnx_input(im, 2);
    int64_t pads[2 * MAX_DIMS];
    double values[2 * MAX_DIMS];
    int n, t, rank = x->shape.n_dims;
    bool any = false;
    TRY(hp_onnx_list(im, hp_onnx_attr(im->node, "paddings") ? "paddings" : "pads", 1,
                     2 * MAX_DIMS, pads, &n));
    if (n != 2 * rank)
        return hp_fail(im->err, HYPAR_INVALID, "%d sizes, expected %d", n, 2 * rank);
    for (int i = 0; i < n; i++) {
        values[i] = (double)pads[i];
        any |= pads[i] != 0;
    }
    double value = fill && fill->kind == VALUE_CONSTANT && hp_onnx_elements(&fill->shape) == 1
                       ? hp_onnx_element(fill, 0)
                       : hp_onnx_float(im->node, "value", 0);
    TRY(hp_onnx_tensor(im, x, &t));
    if (any && strcmp(hp_onnx_string(im->node, "mode", "constant"), "constant") != 0)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "padding that is not constant");
    if (any && value != 0)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "padding by %g", value);
    if (any)
        TRY(hp_onnx_emit(im, OP_PAD, NULL, 1, &t, ATTRS({ ATTR_PAD, n, values }), &t));
    return hp_onnx_define_tensor(im, 0, t);
}
