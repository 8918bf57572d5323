/* Shapes of opaque nodes that follow from their inputs: the rules that rows of nodes.c name.
 * They are needed where the file does not give the shape: the older exporter of PyTorch gives
 * none. A rule fails with HYPAR_UNSUPPORTED where the shape does not follow. */
#include <math.h>
#include <string.h>

#include "model/onnx/onnx.h"

static enum hypar_status unknown(struct importing *im)
{
    return hp_fail(im->err, HYPAR_UNSUPPORTED, "not known in this form");
}

/* Value `i` of a list attribute of `n` values; another list counts as absent. */
static double listed(const struct importing *im, const char *name, int n, int i,
                     double otherwise)
{
    const struct onnx_attr *a = hp_onnx_attr(im->node, name);
    return a && a->n_ints == n ? (double)a->ints[i] : otherwise;
}

enum hypar_status hp_shape_like_first(struct importing *im, int output, struct hypar_shape *out)
{
    *out = hp_onnx_input(im, 0)->shape;
    return output == 0 ? HYPAR_OK : unknown(im);
}

enum hypar_status hp_shape_broadcast(struct importing *im, int output, struct hypar_shape *out)
{
    return output == 0 ? hp_onnx_broadcast_inputs(im, out) : unknown(im);
}

/* Without the dimensions marked, or with 1 in their place. */
static void reduce(struct importing *im, const bool *marked, struct hypar_shape *out)
{
    const struct hypar_shape *x = &hp_onnx_input(im, 0)->shape;
    bool keep = hp_onnx_int(im->node, "keepdims", 1) != 0;
    *out = (struct hypar_shape){ 0 };
    for (int d = 0; d < x->n_dims; d++)
        if (!marked[d] || keep)
            out->dim[out->n_dims++] = marked[d] ? 1 : x->dim[d];
}

enum hypar_status hp_shape_reduced(struct importing *im, int output, struct hypar_shape *out)
{
    bool marked[MAX_DIMS] = { false };
    int64_t axes[MAX_DIMS];
    int n, axis, rank = hp_onnx_input(im, 0)->shape.n_dims;
    TRY(hp_onnx_list(im, "axes", 1, MAX_DIMS, axes, &n));
    for (int d = 0; d < rank && n <= 0; d++)
        marked[d] = true;
    for (int i = 0; i < n; i++) {
        TRY(hp_onnx_axis(im, axes[i], rank, &axis));
        marked[axis] = true;
    }
    reduce(im, marked, out);
    return output == 0 ? HYPAR_OK : unknown(im);
}

/* ArgMax, ArgMin */
enum hypar_status hp_shape_place_of(struct importing *im, int output, struct hypar_shape *out)
{
    bool marked[MAX_DIMS] = { false };
    int axis;
    TRY(hp_onnx_axis_attr(im, 0, &axis));
    marked[axis] = true;
    reduce(im, marked, out);
    return output == 0 ? HYPAR_OK : unknown(im);
}

/* TopK: the values, and their places. */
enum hypar_status hp_shape_largest(struct importing *im, int output, struct hypar_shape *out)
{
    int64_t k;
    int n, axis;
    TRY(hp_onnx_list(im, "k", 1, 1, &k, &n));
    TRY(hp_onnx_axis_attr(im, -1, &axis));
    *out = hp_onnx_input(im, 0)->shape;
    out->dim[axis] = n == 1 ? k : hp_onnx_int(im->node, "k", 0);
    return output <= 1 ? HYPAR_OK : unknown(im);
}

enum hypar_status hp_shape_gathered(struct importing *im, int output, struct hypar_shape *out)
{
    const struct value *x = hp_onnx_input(im, 0), *indices = hp_onnx_input(im, 1);
    int axis;
    TRY(hp_onnx_axis_attr(im, 0, &axis));
    TRY(hp_onnx_gathered_shape(im, &x->shape, &indices->shape, axis, out));
    return output == 0 ? HYPAR_OK : unknown(im);
}

enum hypar_status hp_shape_like_second(struct importing *im, int output,
                                       struct hypar_shape *out)
{
    *out = hp_onnx_input(im, 1)->shape;
    return output == 0 ? HYPAR_OK : unknown(im);
}

enum hypar_status hp_shape_sliced(struct importing *im, int output, struct hypar_shape *out)
{
    return output == 0 ? hp_onnx_sliced_shape(im, &hp_onnx_input(im, 0)->shape, out)
                       : unknown(im);
}

enum hypar_status hp_shape_padded(struct importing *im, int output, struct hypar_shape *out)
{
    int64_t pads[2 * MAX_DIMS];
    int n;
    *out = hp_onnx_input(im, 0)->shape;
    TRY(hp_onnx_list(im, "pads", 1, 2 * MAX_DIMS, pads, &n));
    if (output != 0 || n != 2 * out->n_dims || hp_onnx_input(im, 3))
        return unknown(im);
    for (int d = 0; d < out->n_dims; d++)
        out->dim[d] = hp_onnx_integer((double)out->dim[d] + (double)pads[d] +
                                      (double)pads[out->n_dims + d]);
    return HYPAR_OK;
}

/* A product with a vector, on either side. */
enum hypar_status hp_shape_with_vector(struct importing *im, int output,
                                       struct hypar_shape *out)
{
    const struct value *x = hp_onnx_input(im, 0), *y = hp_onnx_input(im, 1);
    int left = x->shape.n_dims, right = y->shape.n_dims;
    if (output != 0 || left < 1 || right < 1 || (left > 1) == (right > 1))
        return unknown(im);
    *out = left > 1 ? x->shape : y->shape;
    int summed = left > 1 ? left - 1 : right - 2;
    if (out->dim[summed] != (left > 1 ? y : x)->shape.dim[0])
        return unknown(im);
    out->n_dims--;
    for (int d = summed; d < out->n_dims; d++)
        out->dim[d] = out->dim[d + 1];
    return HYPAR_OK;
}

/* MaxPool with the places, and means that are dilated: one size for both outputs. */
enum hypar_status hp_shape_pooled(struct importing *im, int output, struct hypar_shape *out)
{
    *out = hp_onnx_input(im, 0)->shape;
    int spatial = out->n_dims - 2;
    bool up = hp_onnx_int(im->node, "ceil_mode", 0) != 0;
    if (output > 1 || spatial < 1 ||
        strcmp(hp_onnx_string(im->node, "auto_pad", "NOTSET"), "NOTSET") != 0)
        return unknown(im);
    for (int i = 0; i < spatial; i++) {
        double stride = listed(im, "strides", spatial, i, 1);
        double room = (double)out->dim[2 + i] + listed(im, "pads", 2 * spatial, i, 0) +
                      listed(im, "pads", 2 * spatial, spatial + i, 0) -
                      listed(im, "dilations", spatial, i, 1) *
                          (listed(im, "kernel_shape", spatial, i, 1) - 1) -
                      1;
        if (stride < 1 || room < 0)
            return unknown(im);
        out->dim[2 + i] =
            hp_onnx_integer((up ? ceil(room / stride) : floor(room / stride)) + 1);
    }
    return HYPAR_OK;
}

/* Letters and sizes of any number of operands, without an ellipsis. */
enum hypar_status hp_shape_summed(struct importing *im, int output, struct hypar_shape *out)
{
    const char *p = hp_onnx_string(im->node, "equation", "");
    int64_t size[256] = { 0 };
    int input = 0, d = 0;
    bool result = false;
    *out = (struct hypar_shape){ 0 };
    for (; *p; p++) {
        unsigned char letter = (unsigned char)*p;
        const struct value *x = hp_onnx_input(im, input);
        if (*p == ' ' || *p == '>')
            continue;
        if (*p == ',' || *p == '-') {
            result |= *p == '-';
            input++;
            d = 0;
        } else if (*p == '.' || d == MAX_DIMS) {
            return unknown(im);
        } else if (result) {
            out->dim[out->n_dims++] = size[letter];
            d++;
        } else if (!x || d >= x->shape.n_dims) {
            return unknown(im);
        } else {
            size[letter] = x->shape.dim[d++];
        }
    }
    return output == 0 && result ? HYPAR_OK : unknown(im);
}

/* Every state, the last one, and of an LSTM its cell. */
enum hypar_status hp_shape_recurrent(struct importing *im, int output, struct hypar_shape *out)
{
    const struct value *x = hp_onnx_input(im, 0), *r = hp_onnx_input(im, 2);
    bool first = hp_onnx_int(im->node, "layout", 0) != 0; /* samples */
    if (!r || x->shape.n_dims != 3 || r->shape.n_dims != 3)
        return unknown(im);
    int64_t directions = r->shape.dim[0], hidden = r->shape.dim[2];
    int64_t length = x->shape.dim[first], samples = x->shape.dim[!first];
    struct hypar_shape all = { 4, { length, directions, samples, hidden } },
                       by_sample = { 4, { samples, length, directions, hidden } },
                       last = { 3, { directions, samples, hidden } },
                       last_by_sample = { 3, { samples, directions, hidden } };
    *out = output ? first ? last_by_sample : last : first ? by_sample : all;
    return output < 3 ? HYPAR_OK : unknown(im);
}

/* DepthToSpace and back: blocks of channels are squares of positions. */
enum hypar_status hp_shape_blocks(struct importing *im, int output, struct hypar_shape *out)
{
    int64_t side = hp_onnx_int(im->node, "blocksize", 0);
    bool wide = strcmp(im->node->op, "DepthToSpace") == 0;
    *out = hp_onnx_input(im, 0)->shape;
    if (output != 0 || out->n_dims != 4 || side < 1 || side > 1 << 15)
        return unknown(im);
    out->dim[1] = wide ? out->dim[1] / (side * side)
                       : hp_onnx_integer((double)out->dim[1] * (double)(side * side));
    for (int d = 2; d < 4; d++)
        out->dim[d] =
            wide ? hp_onnx_integer((double)out->dim[d] * (double)side) : out->dim[d] / side;
    return HYPAR_OK;
}

/* Channels of the first at the places of the second. */
enum hypar_status hp_shape_sampled(struct importing *im, int output, struct hypar_shape *out)
{
    const struct value *x = hp_onnx_input(im, 0), *grid = hp_onnx_input(im, 1);
    if (output != 0 || !grid || grid->shape.n_dims != x->shape.n_dims || x->shape.n_dims < 3)
        return unknown(im);
    *out = grid->shape;
    for (int d = out->n_dims - 1; d > 1; d--)
        out->dim[d] = out->dim[d - 1];
    out->dim[1] = x->shape.dim[1];
    return HYPAR_OK;
}

enum hypar_status hp_onnx_inferred_shape(struct importing *im, int i, struct hypar_shape *out)
{
    if (!im->row || !im->row->shape || !hp_onnx_input(im, 0))
        return unknown(im);
    TRY(im->row->shape(im, i, out));
    bool known = out->n_dims > 0;
    for (int d = 0; d < out->n_dims; d++)
        known &= out->dim[d] > 0;
    return known ? hp_onnx_check_dims(im, out) : unknown(im);
}
