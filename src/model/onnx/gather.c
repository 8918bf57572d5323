/* Gather: an embedding where the indices are a model input; else a slice, or folded away. */
#include <string.h>

#include "model/onnx/onnx.h"

/* The shape of the result: that of the indices in place of dimension `axis`. */
static enum hypar_status gathered_shape(struct importing *im, const struct hypar_shape *x,
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

/* Index `i`, which may count from the end of `size`. */
static enum hypar_status index_at(struct importing *im, const struct value *indices, int64_t i,
                                  int64_t size, int64_t *out)
{
    int64_t at = hp_onnx_integer(hp_onnx_element(indices, i));
    *out = at < 0 ? at + size : at;
    if (*out < 0 || *out >= size)
        return hp_fail(im->err, HYPAR_INVALID, "index %lld of a dimension of %lld",
                       (long long)at, (long long)size);
    return HYPAR_OK;
}

static enum hypar_status gather_constant(struct importing *im, const struct value *x,
                                         const struct value *indices, int axis)
{
    struct hypar_shape shape;
    double *data;
    int64_t outer = 1, inner = 1, size = x->shape.dim[axis], to = 0, from;
    TRY(gathered_shape(im, &x->shape, &indices->shape, axis, &shape));
    for (int d = 0; d < x->shape.n_dims; d++)
        *(d < axis ? &outer : &inner) *= d == axis ? 1 : x->shape.dim[d];
    int64_t count = hp_onnx_elements(&indices->shape);
    TRY(hp_onnx_fold_room(im, hp_onnx_elements(&shape), &data));
    if (!hp_onnx_elements(&shape))
        count = 0;
    for (int64_t o = 0; o < outer && count; o++)
        for (int64_t i = 0; i < count; i++) {
            TRY(index_at(im, indices, i, size, &from));
            for (int64_t k = 0; k < inner; k++)
                data[to++] = hp_onnx_element(x, (o * size + from) * inner + k);
        }
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &shape, data, false));
}

/* Constant indices that follow one another. */
static enum hypar_status gather_slice(struct importing *im, struct value *x,
                                      const struct value *indices, int axis)
{
    int64_t count = hp_onnx_elements(&indices->shape), first, next, size = x->shape.dim[axis];
    struct hypar_shape shape;
    int t;
    if (count < 1 || count > size)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "%lld indices of a dimension of %lld",
                       (long long)count, (long long)size);
    TRY(index_at(im, indices, 0, size, &first));
    for (int64_t i = 1; i < count; i++) {
        TRY(index_at(im, indices, i, size, &next));
        if (next != first + i)
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "indices that do not follow each other");
    }
    TRY(gathered_shape(im, &x->shape, &indices->shape, axis, &shape));
    TRY(hp_onnx_tensor(im, x, &t));
    if (count < size)
        TRY(hp_onnx_emit(im, OP_SLICE, NULL, 1, &t,
                         ATTRS({ ATTR_AXIS, 1, V(axis) }, { ATTR_START, 1, V((double)first) },
                               { ATTR_STOP, 1, V((double)(first + count)) }),
                         &t));
    if (shape.n_dims != x->shape.n_dims)
        TRY(hp_onnx_emit_reshape(im, "shape", t, &shape, &t));
    return hp_onnx_define_tensor(im, 0, t);
}

/* Rows of a table; shuffling the ids first or the rows afterwards is the same. */
static enum hypar_status gather_rows(struct importing *im, struct value *table,
                                     const struct value *ids)
{
    int in[2] = { ids->tensor, -1 }, t;
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
    if (!indices)
        return hp_fail(im->err, HYPAR_INVALID, "the indices are missing");
    TRY(hp_onnx_axis(im, hp_onnx_int(im->node, "axis", 0), x->shape.n_dims, &axis));
    if (indices->kind == VALUE_INDEX && axis == 0 && x->shape.n_dims == 2 &&
        x->kind != VALUE_INDEX)
        return gather_rows(im, x, indices);
    if (indices->kind != VALUE_CONSTANT || x->kind == VALUE_INDEX)
        return hp_fail(im->err, HYPAR_UNSUPPORTED,
                       "expected rows of a table of 2 dimensions, or constant indices");
    if (x->kind == VALUE_CONSTANT)
        return gather_constant(im, x, indices, axis);
    return gather_slice(im, x, indices, axis);
}
