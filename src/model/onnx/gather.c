/* Gather becomes an embedding where the indices are an input of the model, else a slice or a
 * selection. A Gather of constants is computed. */
#include <string.h>

#include "model/onnx/onnx.h"

/* The shape of the result: that of the indices in place of dimension `axis`. */
enum hypar_status hp_onnx_gathered_shape(struct importing *im, const struct hypar_shape *x,
                                         const struct hypar_shape *indices, int axis,
                                         struct hypar_shape *out)
{
    *out = (struct hypar_shape){ 0 };
    if (x->n_dims - 1 + indices->n_dims > MAX_DIMS)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "%d dimensions, expected at most %d",
                       x->n_dims - 1 + indices->n_dims, MAX_DIMS);
    for (int d = 0; d < x->n_dims; d++) {
        if (d != axis)
            out->dim[out->n_dims++] = x->dim[d];
        for (int i = 0; d == axis && i < indices->n_dims; i++)
            out->dim[out->n_dims++] = indices->dim[i];
    }
    return HYPAR_OK;
}

/* The elements of a dimension that constant indices choose. */
enum choice { FOLLOWING, REPEATED, OTHER };

static enum hypar_status look_at_indices(struct importing *im, const struct value *indices,
                                         int64_t size, enum choice *choice, int64_t *first)
{
    int64_t count = hp_onnx_elements(&indices->shape), next;
    *choice = FOLLOWING;
    if (count < 1)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "no indices");
    TRY(hp_onnx_index(im, hp_onnx_element(indices, 0), size, first));
    for (int64_t i = 1; i < count; i++) {
        TRY(hp_onnx_index(im, hp_onnx_element(indices, i), size, &next));
        if (next != *first + i)
            *choice = indices->uniform ? REPEATED : OTHER;
    }
    return HYPAR_OK;
}

/* Indices that follow one another, or one of them again and again. */
static enum hypar_status gather_slice(struct importing *im, struct value *x,
                                      const struct hypar_shape *shape, int axis, int64_t first,
                                      int64_t count, int *out)
{
    struct hypar_shape narrow = *shape;
    int t, rank = shape->n_dims - x->shape.n_dims + 1; /* of the indices */
    TRY(hp_onnx_tensor(im, x, &t));
    if (count < x->shape.dim[axis])
        TRY(hp_onnx_emit_slice(im, NULL, t, axis, (int64_t[]){ first, first + count, 1 }, &t));
    for (int d = axis; d < axis + rank && count == 1; d++)
        narrow.dim[d] = 1;
    if (!hp_same_shape(hp_onnx_shape(im, t), &narrow))
        TRY(hp_onnx_emit_reshape(im, "shape", t, &narrow, &t));
    if (!hp_same_shape(shape, &narrow))
        TRY(hp_onnx_emit_expand(im, "repeat", t, shape, &t));
    *out = t;
    return HYPAR_OK;
}

/* Any constant indices: rows of a table, or slices. */
static enum hypar_status gather_select(struct importing *im, struct value *x,
                                       const struct value *indices,
                                       const struct hypar_shape *shape, int axis, int *out)
{
    int rank = indices->shape.n_dims, t, in[2];
    struct hypar_shape flat = { 1, { hp_onnx_elements(&indices->shape) } };
    TRY(hp_onnx_tensor(im, x, &t));
    if (axis == 0 && x->shape.n_dims == 2 && rank >= 1 && rank <= 3) {
        TRY(hp_onnx_constant_index(im, indices, &indices->shape, &in[0]));
        in[1] = t;
        return hp_onnx_emit(im, OP_EMBEDDING, NULL, 2, in, NULL, out);
    }
    in[0] = t;
    TRY(hp_onnx_constant_index(im, indices, &flat, &in[1]));
    TRY(hp_onnx_emit(im, OP_INDEX_SELECT, NULL, 2, in, ATTRS({ ATTR_AXIS, 1, V(axis) }), &t));
    if (rank != 1)
        TRY(hp_onnx_emit_reshape(im, "shape", t, shape, &t));
    *out = t;
    return HYPAR_OK;
}

/* Indices that are the same for all of the first dimension: positions, once for each sample. */
static struct value without_copies(const struct value *indices)
{
    struct value once = *indices;
    int64_t n = hp_onnx_elements(&indices->shape), copies = 1;
    if (indices->shape.n_dims > 1 && !indices->uniform && n)
        copies = indices->shape.dim[0];
    for (int64_t i = 0; i < n && copies > 1; i++)
        if (indices->data[i] != indices->data[i % (n / copies)])
            return once;
    if (copies > 1)
        once.shape.dim[0] = 1;
    return once;
}

static enum hypar_status gather_known(struct importing *im, struct value *x,
                                      const struct value *indices, int axis)
{
    struct hypar_shape shape, wide;
    enum choice choice = OTHER;
    int64_t first = 0;
    struct value once = without_copies(indices);
    int t;
    TRY(hp_onnx_gathered_shape(im, &x->shape, &indices->shape, axis, &wide));
    TRY(hp_onnx_check_dims(im, &wide));
    TRY(hp_onnx_gathered_shape(im, &x->shape, &once.shape, axis, &shape));
    TRY(look_at_indices(im, &once, x->shape.dim[axis], &choice, &first));
    if (choice == OTHER)
        TRY(gather_select(im, x, &once, &shape, axis, &t));
    else
        TRY(gather_slice(im, x, &shape, axis, first,
                         choice == REPEATED ? 1 : hp_onnx_elements(&once.shape), &t));
    if (!hp_same_shape(&shape, &wide))
        TRY(hp_onnx_emit_expand(im, "copies", t, &wide, &t));
    return hp_onnx_define_tensor(im, 0, t);
}

/* Rows of a table; shuffling the ids first or the rows afterwards is the same. */
static enum hypar_status gather_rows(struct importing *im, struct value *table,
                                     struct value *ids)
{
    int in[2] = { ids->tensor, -1 }, t;
    if (ids->computed)
        TRY(hp_onnx_computed_input(im, ids, true, &in[0]));
    else if (ids->kind == VALUE_WEIGHT) /* of which the values are not there */
        TRY(hp_onnx_tensor(im, ids, &in[0]));
    TRY(hp_onnx_tensor(im, table, &in[1]));
    TRY(hp_onnx_emit(im, OP_EMBEDDING, NULL, 2, in, NULL, &t));
    if (!ids->shuffle)
        return hp_onnx_define_tensor(im, 0, t);
    struct shuffle s = *ids->shuffle;
    int64_t width = table->shape.dim[1];
    int n = s.first[s.n_dims];
    if (s.n_dims == MAX_DIMS || n == MAX_SHUFFLE)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "%d dimensions, expected at most %d",
                       s.n_dims + 1, MAX_DIMS);
    for (int f = 0; f < n; f++)
        s.stride[f] *= width;
    if (width > 1) {
        s.size[n] = width;
        s.stride[n++] = 1;
    }
    s.first[++s.n_dims] = n;
    TRY(hp_shuffle_emit(im->b, t, &s, hp_onnx_unique(im, im->node->name), &t, im->err));
    return hp_onnx_define_tensor(im, 0, t);
}

enum hypar_status hp_onnx_gather(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *indices = hp_onnx_input(im, 1);
    int axis;
    TRY(hp_onnx_axis_attr(im, 0, &axis));
    bool table = x->shape.n_dims == 2 && axis == 0 && x->kind != VALUE_INDEX;
    bool ids = indices->kind == VALUE_INDEX || (indices->kind == VALUE_WEIGHT &&
                                                hp_onnx_family(indices->type) == ONNX_INTEGERS);
    bool integers = x->kind == VALUE_INDEX || (x->kind == VALUE_CONSTANT && ids &&
                                               hp_onnx_family(x->type) == ONNX_INTEGERS);
    if (integers && hp_onnx_follows_from_integers(im))
        return hp_onnx_computed(im);
    if (ids && table)
        return gather_rows(im, x, indices);
    if (indices->kind != VALUE_CONSTANT || x->kind == VALUE_INDEX)
        return hp_fail(im->err, HYPAR_UNSUPPORTED,
                       "expected rows of a table of 2 dimensions, or constant indices");
    if (x->kind == VALUE_CONSTANT)
        return hp_fold_gather(im, axis);
    return gather_known(im, x, indices, axis);
}

/* Constant tuples of one index each are indices of the first dimension. */
enum hypar_status hp_onnx_gather_nd(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *indices = hp_onnx_input(im, 1), flat;
    if (!indices || indices->kind != VALUE_CONSTANT || indices->shape.n_dims < 1 ||
        indices->shape.dim[indices->shape.n_dims - 1] != 1 || x->shape.n_dims < 1 ||
        x->kind == VALUE_INDEX || hp_onnx_int(im->node, "batch_dims", 0))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "indices in this form");
    flat = *indices;
    flat.shape.n_dims--;
    return gather_known(im, x, &flat, 0);
}
