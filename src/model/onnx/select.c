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

/* Tensors --------------------------------------------------------------------------------- */

static enum hypar_status index_input(struct importing *im, struct value *v, int *out)
{
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
    TRY(hp_onnx_axis_attr(im, 0, &axis));
    if (x->kind == VALUE_CONSTANT && x->uniform)
        return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &indices->shape, x->data, true));
    if (hp_onnx_follows_from_integers(im) && hp_onnx_family(x->type) == ONNX_INTEGERS)
        return hp_onnx_computed(im);
    TRY(hp_onnx_tensor(im, x, &t[0]));
    TRY(index_input(im, indices, &t[1]));
    TRY(hp_onnx_emit(im, OP_GATHER_ELEMENTS, NULL, 2, t, ATTRS({ ATTR_AXIS, 1, V(axis) }), t));
    return hp_onnx_define_tensor(im, 0, t[0]);
}

/* ScatterElements that adds. One that replaces elements is opaque. */
enum hypar_status hp_onnx_scatter_elements(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *added = hp_onnx_input(im, 2);
    int t[3], axis;
    TRY(hp_onnx_axis_attr(im, 0, &axis));
    if (strcmp(hp_onnx_string(im->node, "reduction", "none"), "add") != 0)
        return hp_onnx_opaque_node(im);
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
    TRY(hp_onnx_axis_attr(im, 0, &axis));
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
    TRY(hp_onnx_index(im, (double)at, seq->n_items, &at));
    return hp_onnx_define(im, 0, seq->item[at]);
}
