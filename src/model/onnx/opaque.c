/* Nodes that no operator of ours computes become opaque operators: only their samples can be
 * split, and they are not trained. The shape of the result comes from the file or from
 * infer.c. Also Resize and CumSum, which are opaque in some forms. */
#include <math.h>
#include <string.h>

#include "model/onnx/onnx.h"

bool hp_onnx_told_shape(const struct importing *im, int i, struct hypar_shape *out)
{
    const struct onnx_info *info = hp_onnx_told(im, im->node->output[i]);
    if (!info)
        return false;
    *out = (struct hypar_shape){ .n_dims = info->n_dims };
    for (int d = 0; d < info->n_dims; d++) {
        bool batch =
            *info->dim[d].symbol && im->symbol && strcmp(info->dim[d].symbol, im->symbol) == 0;
        out->dim[d] = batch ? im->batch : info->dim[d].size;
        if (out->dim[d] < 1)
            return false;
    }
    return info->shaped && info->n_dims > 0;
}

/* An input, if it is a tensor; numbers known while importing are no part of the work, and the
 * order of integers does not matter. */
static enum hypar_status opaque_input(struct importing *im, struct value *v, int *in, int *n)
{
    if (*n == MAX_OPERANDS - 2 || v->kind == VALUE_CONSTANT)
        return HYPAR_OK;
    if (v->kind == VALUE_SEQUENCE) {
        for (int i = 0; i < v->n_items; i++)
            TRY(opaque_input(im, &v->item[i], in, n));
        return HYPAR_OK;
    }
    if (v->kind == VALUE_INDEX && v->tensor >= 0) {
        in[(*n)++] = v->tensor;
        return HYPAR_OK;
    }
    int t;
    enum hypar_status status = hp_onnx_tensor(im, v, &t);
    if (status == HYPAR_OK)
        in[(*n)++] = t;
    return status == HYPAR_UNSUPPORTED ? HYPAR_OK : status;
}

static enum hypar_status opaque_inputs(struct importing *im, int *in, int *n)
{
    *n = 0;
    for (int i = 0; i < im->node->n_inputs; i++)
        if (hp_onnx_input(im, i))
            TRY(opaque_input(im, hp_onnx_input(im, i), in, n));
    return HYPAR_OK;
}

/* An opaque operator whose inputs are constants becomes an input of the model. */
static enum hypar_status made_of_constants(struct importing *im, int i,
                                           const struct hypar_shape *shape)
{
    struct value v = { .kind = VALUE_CONSTANT,
                       .type = ONNX_FLOAT,
                       .shape = *shape,
                       .tensor = -1,
                       .label = im->node->output[i] };
    int t;
    TRY(hp_onnx_computed_input(im, &v, false, &t));
    return hp_onnx_define_tensor(im, i, t);
}

static enum hypar_status opaque_output(struct importing *im, int i,
                                       const struct hypar_shape *shape)
{
    int in[MAX_OPERANDS], n, t;
    double dims[MAX_DIMS];
    char suffix[16];
    TRY(opaque_inputs(im, in, &n));
    if (!n)
        return made_of_constants(im, i, shape);
    for (int d = 0; d < shape->n_dims; d++)
        dims[d] = (double)shape->dim[d];
    snprintf(suffix, sizeof suffix, "%d", i);
    TRY(hp_onnx_emit(im, OP_OPAQUE, i ? suffix : NULL, n, in,
                     ATTRS({ ATTR_SHAPE, shape->n_dims, dims }), &t));
    return hp_onnx_define_tensor(im, i, t);
}

/* `why` is left in the error where the shape of an output is not known. */
enum hypar_status hp_onnx_opaque(struct importing *im, const char *why)
{
    struct hypar_shape shape;
    for (int i = 0; i < im->node->n_outputs; i++) {
        if (!*im->node->output[i])
            continue;
        if (hp_onnx_inferred_shape(im, i, &shape) != HYPAR_OK &&
            !hp_onnx_told_shape(im, i, &shape))
            return hp_fail(im->err, HYPAR_UNSUPPORTED,
                           "%s, and the file does not tell the shape of '%.80s': "
                           "onnx.shape_inference.infer_shapes() may add it",
                           why, im->node->output[i]);
        TRY(opaque_output(im, i, &shape));
    }
    return HYPAR_OK;
}

enum hypar_status hp_onnx_opaque_node(struct importing *im)
{
    struct hypar_shape shape;
    for (int i = 0; i < im->node->n_outputs; i++)
        if (*im->node->output[i]) {
            TRY(hp_onnx_inferred_shape(im, i, &shape));
            TRY(opaque_output(im, i, &shape));
        }
    return HYPAR_OK;
}

/* Is it a dimension of `to` elements, exactly, that comes of `from` by the factor given? */
static bool is_exact(double factor, int64_t from, int64_t to)
{
    return factor * (double)from == (double)to;
}

/* The nearest by rounding down, as ours is: of PyTorch, of versions before 11, or since each
 * element stands for a whole number of outputs. */
static bool rounds_down(const struct importing *im, const struct hypar_shape *x,
                        const struct hypar_shape *y)
{
    const char *where =
        hp_onnx_string(im->node, "coordinate_transformation_mode", "half_pixel");
    const char *how = hp_onnx_string(im->node, "nearest_mode", "round_prefer_floor");
    bool whole = true;
    for (int d = 0; d < x->n_dims; d++)
        whole &= y->dim[d] % x->dim[d] == 0;
    if (im->file->opset < 11 || (strcmp(where, "asymmetric") == 0 && strcmp(how, "floor") == 0))
        return true;
    return whole && strstr(where, "half_pixel") && strcmp(how, "round_prefer_floor") == 0;
}

/* The operator that resizes x to y; OP_OPAQUE: none of ours. */
static enum op_kind resizing_kind(const struct importing *im, const struct hypar_shape *x,
                                  const struct hypar_shape *y, double *corners)
{
    const char *mode = hp_onnx_string(im->node, "mode", "nearest");
    const char *where =
        hp_onnx_string(im->node, "coordinate_transformation_mode", "half_pixel");
    bool one = false;
    if (x->n_dims < 3 || x->n_dims > 5 || y->dim[0] != x->dim[0] || y->dim[1] != x->dim[1] ||
        hp_onnx_int(im->node, "antialias", 0))
        return OP_OPAQUE;
    for (int d = 2; d < y->n_dims; d++)
        one |= y->dim[d] == 1; /* for which PyTorch's way is not what PyTorch does */
    *corners = strcmp(where, "align_corners") == 0;
    if (strcmp(mode, "nearest") == 0)
        return rounds_down(im, x, y) ? OP_RESIZE_NEAREST : OP_OPAQUE;
    bool linear = strcmp(mode, "linear") == 0 && im->file->opset >= 11;
    bool half =
        strcmp(where, "half_pixel") == 0 || (strcmp(where, "pytorch_half_pixel") == 0 && !one);
    return linear && (half || *corners > 0) ? OP_RESIZE_LINEAR : OP_OPAQUE;
}

static enum hypar_status resized(struct importing *im, const struct hypar_shape *y, bool exact)
{
    struct value *x = hp_onnx_input(im, 0);
    double corners, size[MAX_DIMS];
    enum op_kind kind = exact ? resizing_kind(im, &x->shape, y, &corners) : OP_OPAQUE;
    if (kind == OP_OPAQUE)
        return opaque_output(im, 0, y);
    for (int d = 2; d < y->n_dims; d++)
        size[d - 2] = (double)y->dim[d];
    const struct attr attr[] = { { ATTR_SIZE, y->n_dims - 2, size },
                                 { ATTR_ALIGN_CORNERS, 1, &corners } };
    return hp_onnx_apply(im, kind, &(struct attrs){ kind == OP_RESIZE_LINEAR ? 2 : 1, attr });
}

/* Sizes, or factors; of Upsample the latter, as an attribute before opset 9. */
enum hypar_status hp_onnx_resize(struct importing *im)
{
    bool upsample = strcmp(im->node->op, "Upsample") == 0;
    const struct value *x = hp_onnx_input(im, 0),
                       *sizes = upsample ? NULL : hp_onnx_input(im, 3),
                       *scales = hp_onnx_input(im, upsample || im->file->opset < 11 ? 1 : 2);
    struct hypar_shape y = x->shape;
    const struct value *given = sizes ? sizes : scales;
    if (!given || given->kind != VALUE_CONSTANT ||
        hp_onnx_elements(&given->shape) != x->shape.n_dims)
        return hp_fail(im->err, HYPAR_UNSUPPORTED,
                       "its sizes are not known before the model runs");
    bool exact = true;
    for (int d = 0; d < y.n_dims; d++) {
        double value = hp_onnx_element(given, d);
        y.dim[d] = hp_onnx_integer(sizes ? value : floor(value * (double)x->shape.dim[d]));
        exact &= sizes || is_exact(value, x->shape.dim[d], y.dim[d]);
    }
    TRY(hp_onnx_check_dims(im, &y));
    return resized(im, &y, exact);
}

/* CumSum: if its dimension is a constant, the other dimensions are mapped one to one; else the
 * operator is opaque. */
enum hypar_status hp_onnx_cumsum(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *along = hp_onnx_input(im, 1);
    double reverse = hp_onnx_int(im->node, "reverse", 0) != 0;
    int axis;
    if (!along || along->kind != VALUE_CONSTANT || hp_onnx_elements(&along->shape) != 1 ||
        hp_onnx_int(im->node, "exclusive", 0))
        return hp_onnx_opaque_node(im);
    TRY(hp_onnx_axis(im, hp_onnx_integer(hp_onnx_element(along, 0)), x->shape.n_dims, &axis));
    return hp_onnx_apply(im, OP_CUMSUM,
                         ATTRS({ ATTR_AXIS, 1, V(axis) }, { ATTR_REVERSE, 1, &reverse }));
}
