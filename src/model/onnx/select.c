/* Translates nodes that choose elements: by a condition, by one index for each element, from
 * a sequence. */
#include <math.h>
#include <string.h>

#include "model/onnx/onnx.h"

/* What is trained has no elements that are not numbers: the exporter asks for them where
 * a softmax has all of its row masked. */
enum hypar_status hp_onnx_is_nan(struct importing *im)
{
    double *no = NEW(&im->arena, double, 1);
    return hp_onnx_define(im, 0,
                          hp_onnx_constant(ONNX_BOOL, &hp_onnx_input(im, 0)->shape, no, true));
}

/* The value as it is in another shape, of which it has every element or is broadcast. */
static enum hypar_status as_wide(struct importing *im, struct value *v,
                                 const struct hypar_shape *shape)
{
    int t;
    if (hp_same_shape(&v->shape, shape))
        return hp_onnx_define(im, 0, *v);
    TRY(hp_onnx_tensor(im, v, &t));
    TRY(hp_onnx_emit_expand(im, NULL, t, shape, &t));
    return hp_onnx_define_tensor(im, 0, t);
}

/* A number is a tensor of one element. */
static enum hypar_status operand(struct importing *im, struct value *v, int *out)
{
    if (v->shape.n_dims == 0 && v->kind == VALUE_CONSTANT) {
        struct value one = *v;
        one.shape = (struct hypar_shape){ 1, { 1 } };
        one.tensor = -1;
        return hp_onnx_tensor(im, &one, out);
    }
    return hp_onnx_tensor(im, v, out);
}

enum hypar_status hp_onnx_where(struct importing *im)
{
    struct value *v[3] = { hp_onnx_input(im, 0), hp_onnx_input(im, 1), hp_onnx_input(im, 2) };
    struct hypar_shape shape;
    int t[3];
    if (!v[1] || !v[2])
        return hp_onnx_missing(im, "an input");
    TRY(hp_onnx_broadcast_inputs(im, &shape));
    if (v[0]->kind == VALUE_CONSTANT && v[0]->uniform)
        return as_wide(im, v[v[0]->data[0] != 0 ? 1 : 2], &shape);
    for (int i = 0; i < 3; i++)
        TRY(operand(im, v[i], &t[i]));
    TRY(hp_onnx_emit(im, OP_WHERE, NULL, 3, t, NULL, t));
    for (int i = 1; i <= 2; i++) /* scores where the mask says so, else a huge number */
        if (v[i]->kind == VALUE_NUMBERS && hp_same_shape(&v[i]->shape, &shape) &&
            hp_onnx_is_causal_where(v[0], v[3 - i], i == 1))
            hp_onnx_note_causal(im, i);
    return hp_onnx_define_tensor(im, 0, t[0]);
}

/* Constants ------------------------------------------------------------------------------- */

static int64_t index_of(double value, int64_t size)
{
    int64_t i = hp_onnx_integer(value);
    return i < 0 ? i + size : i;
}

static enum hypar_status outside(struct importing *im, double index, int64_t size)
{
    return hp_fail(im->err, HYPAR_INVALID, "index %g of a dimension of %lld", index,
                   (long long)size);
}

enum hypar_status hp_fold_gather_elements(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0), *indices = hp_onnx_input(im, 1);
    int64_t stride[MAX_DIMS], index[MAX_DIMS] = { 0 }, n;
    double *data;
    int axis, rank = x->shape.n_dims;
    if (!indices || indices->shape.n_dims != rank)
        return hp_fail(im->err, HYPAR_INVALID, "indices that do not fit");
    TRY(hp_onnx_axis(im, hp_onnx_int(im->node, "axis", 0), rank, &axis));
    for (int d = 0; d < rank; d++)
        if (d != axis && indices->shape.dim[d] > x->shape.dim[d])
            return hp_fail(im->err, HYPAR_INVALID, "indices that do not fit");
    n = hp_onnx_elements(&indices->shape);
    TRY(hp_onnx_fold_room(im, n, &data));
    hp_onnx_strides(&x->shape, stride);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0, chosen = index_of(hp_onnx_element(indices, i), x->shape.dim[axis]);
        if (chosen < 0 || chosen >= x->shape.dim[axis])
            return outside(im, hp_onnx_element(indices, i), x->shape.dim[axis]);
        for (int d = 0; d < rank; d++)
            at += stride[d] * (d == axis ? chosen : index[d]);
        data[i] = hp_onnx_element(x, at);
        for (int d = rank - 1; d >= 0 && ++index[d] == indices->shape.dim[d]; d--)
            index[d] = 0;
    }
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &indices->shape, data, false));
}

/* Where in x the slice begins that the i-th index tuple, along the last dimension of `indices`,
 * chooses. */
static enum hypar_status find_slice(struct importing *im, const struct value *x,
                                    const struct value *indices, int64_t i, int64_t *at)
{
    int64_t stride[MAX_DIMS], depth = indices->shape.dim[indices->shape.n_dims - 1];
    hp_onnx_strides(&x->shape, stride);
    *at = 0;
    for (int d = 0; d < depth; d++) {
        double value = hp_onnx_element(indices, i * depth + d);
        int64_t chosen = index_of(value, x->shape.dim[d]);
        if (chosen < 0 || chosen >= x->shape.dim[d])
            return outside(im, value, x->shape.dim[d]);
        *at += chosen * stride[d];
    }
    return HYPAR_OK;
}

/* Slices of x by the index tuples that lie along the last dimension. */
enum hypar_status hp_fold_gather_nd(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0), *indices = hp_onnx_input(im, 1);
    int rank = x->shape.n_dims, last = indices ? indices->shape.n_dims - 1 : -1;
    int64_t stride[MAX_DIMS], depth = last >= 0 ? indices->shape.dim[last] : 0, to = 0;
    struct hypar_shape shape = { 0 };
    double *data;
    if (depth < 1 || depth > rank || hp_onnx_int(im->node, "batch_dims", 0) ||
        last + rank - depth > MAX_DIMS)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "indices in this form");
    for (int d = 0; d < last; d++)
        shape.dim[shape.n_dims++] = indices->shape.dim[d];
    for (int d = (int)depth; d < rank; d++)
        shape.dim[shape.n_dims++] = x->shape.dim[d];
    TRY(hp_onnx_check_dims(im, &shape));
    int64_t n = hp_onnx_elements(&shape), inner;
    TRY(hp_onnx_fold_room(im, n, &data));
    hp_onnx_strides(&x->shape, stride);
    inner = stride[depth - 1];
    for (int64_t i = 0; to < n; i++) {
        int64_t at;
        TRY(find_slice(im, x, indices, i, &at));
        for (int64_t k = 0; k < inner; k++)
            data[to++] = hp_onnx_element(x, at + k);
    }
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &shape, data, false));
}

/* A constant with slices replaced, by index tuples as those of GatherND. */
enum hypar_status hp_fold_scatter_nd(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0), *indices = hp_onnx_input(im, 1),
                       *updates = hp_onnx_input(im, 2);
    int rank = x->shape.n_dims, last = indices ? indices->shape.n_dims - 1 : -1;
    int64_t stride[MAX_DIMS], depth = last >= 0 ? indices->shape.dim[last] : 0;
    int64_t n = hp_onnx_elements(&x->shape), from = 0;
    double *data;
    if (!updates || depth < 1 || depth > rank ||
        strcmp(hp_onnx_string(im->node, "reduction", "none"), "none") != 0)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "indices in this form");
    TRY(hp_onnx_fold_room(im, n, &data));
    for (int64_t i = 0; i < n; i++)
        data[i] = hp_onnx_element(x, i);
    hp_onnx_strides(&x->shape, stride);
    int64_t inner = stride[depth - 1], tuples = hp_onnx_elements(&indices->shape) / depth;
    if (n < 1 || (double)tuples * (double)inner != (double)hp_onnx_elements(&updates->shape))
        return hp_fail(im->err, HYPAR_INVALID, "updates that do not fit");
    for (int64_t i = 0; i < tuples; i++) {
        int64_t at;
        TRY(find_slice(im, x, indices, i, &at));
        for (int64_t k = 0; k < inner; k++)
            data[at + k] = hp_onnx_element(updates, from++);
    }
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &x->shape, data, false));
}

/* Tensors --------------------------------------------------------------------------------- */

static enum hypar_status index_input(struct importing *im, struct value *v, int *out)
{
    if (!v)
        return hp_onnx_missing(im, "the list of indices");
    if (v->kind == VALUE_INDEX && v->computed)
        return hp_onnx_computed_input(im, v, true, out);
    if (v->kind == VALUE_INDEX && !v->shuffle) {
        *out = v->tensor;
        return HYPAR_OK;
    }
    if (v->kind == VALUE_CONSTANT)
        return hp_onnx_constant_index(im, v, &v->shape, out);
    return hp_fail(im->err, HYPAR_UNSUPPORTED, "indices that are computed from numbers");
}

enum hypar_status hp_onnx_gather_elements(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *indices = hp_onnx_input(im, 1);
    int t[2], axis;
    TRY(hp_onnx_axis(im, hp_onnx_int(im->node, "axis", 0), x->shape.n_dims, &axis));
    if (indices && x->kind == VALUE_CONSTANT && x->uniform)
        return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &indices->shape, x->data, true));
    if (hp_onnx_follows_from_integers(im) && hp_onnx_family(x->type) == ONNX_INTEGERS)
        return hp_onnx_computed(im);
    TRY(hp_onnx_tensor(im, x, &t[0]));
    TRY(index_input(im, indices, &t[1]));
    TRY(hp_onnx_emit(im, OP_GATHER_ELEMENTS, NULL, 2, t, ATTRS({ ATTR_AXIS, 1, V(axis) }), t));
    return hp_onnx_define_tensor(im, 0, t[0]);
}

/* What is added; what replaces others is not known. */
enum hypar_status hp_onnx_scatter_elements(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *added = hp_onnx_input(im, 2);
    int t[3], axis;
    TRY(hp_onnx_axis(im, hp_onnx_int(im->node, "axis", 0), x->shape.n_dims, &axis));
    if (!added)
        return hp_onnx_missing(im, "what is scattered");
    if (strcmp(hp_onnx_string(im->node, "reduction", "none"), "add") != 0)
        return hp_onnx_opaque_like(im);
    TRY(hp_onnx_tensor(im, x, &t[0]));
    TRY(index_input(im, hp_onnx_input(im, 1), &t[1]));
    TRY(hp_onnx_tensor(im, added, &t[2]));
    TRY(hp_onnx_emit(im, OP_SCATTER_ADD, NULL, 3, t, ATTRS({ ATTR_AXIS, 1, V(axis) }), t));
    return hp_onnx_define_tensor(im, 0, t[0]);
}

/* Sequences: a list of values that is only ever taken apart again ---------------------------
 */

enum hypar_status hp_onnx_split_to_sequence(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), seq = { .kind = VALUE_SEQUENCE, .tensor = -1 };
    const struct value *split = hp_onnx_input(im, 1);
    int64_t sizes[ATTR_MAX_VALUES], size, at = 0;
    int axis, n = 0;
    bool keep = hp_onnx_int(im->node, "keepdims", 1) != 0 || split;
    TRY(hp_onnx_axis(im, hp_onnx_int(im->node, "axis", 0), x->shape.n_dims, &axis));
    size = x->shape.dim[axis];
    if (split)
        TRY(hp_onnx_integers(im, split, ATTR_MAX_VALUES, sizes, &n));
    if (!split || split->shape.n_dims == 0) { /* all alike, the last what is left */
        int64_t each = split ? sizes[0] : 1;
        if (each < 1 || (size + each - 1) / each > ATTR_MAX_VALUES)
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "%lld parts", (long long)size);
        for (n = 0; at < size; at += each)
            sizes[n++] = size - at < each ? size - at : each;
    }
    seq.n_items = n;
    seq.item = NEW(&im->arena, struct value, n);
    at = 0;
    for (int i = 0; i < n; at += sizes[i++])
        TRY(hp_onnx_part(im, x, axis, at, at + sizes[i], keep, &seq.item[i]));
    return hp_onnx_define(im, 0, seq);
}

enum hypar_status hp_onnx_sequence_at(struct importing *im)
{
    const struct value *seq = hp_onnx_input(im, 0);
    int64_t at;
    int n;
    TRY(hp_onnx_integers(im, hp_onnx_input(im, 1), 1, &at, &n));
    if (seq->kind != VALUE_SEQUENCE || n != 1)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a sequence in this form");
    at = index_of((double)at, seq->n_items);
    if (at < 0 || at >= seq->n_items)
        return outside(im, (double)at, seq->n_items);
    return hp_onnx_define(im, 0, seq->item[at]);
}
