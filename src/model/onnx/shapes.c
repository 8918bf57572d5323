/* Translates nodes that only move elements: shape, reshape, squeeze, transpose, cast,
 * identity. On constants and weights the importer computes the result. */
#include <string.h>

#include "model/onnx/onnx.h"

enum hypar_status hp_onnx_missing(struct importing *im, const char *what)
{
    return hp_fail(im->err, HYPAR_INVALID, "%s is missing", what);
}

/* Constants ----------------------------------------------------------------------------- */

enum hypar_status hp_onnx_shape_of(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0);
    int rank = x->shape.n_dims;
    int64_t from = hp_onnx_int(im->node, "start", 0), to = hp_onnx_int(im->node, "end", rank);
    from = from < -rank ? 0 : from < 0 ? from + rank : from;
    to = to < 0 ? to + rank : to > rank ? rank : to;
    struct hypar_shape shape = { 1, { to > from ? to - from : 0 } };
    double *data = NEW(&im->arena, double, MAX_DIMS);
    for (int64_t d = from; d < to; d++)
        data[d - from] = (double)x->shape.dim[d];
    return hp_onnx_define(im, 0, hp_onnx_constant(ONNX_INT64, &shape, data, false));
}

enum hypar_status hp_onnx_size_of(struct importing *im)
{
    struct hypar_shape scalar = { 0 };
    double *data = NEW(&im->arena, double, 1);
    data[0] = (double)hp_onnx_elements(&hp_onnx_input(im, 0)->shape);
    return hp_onnx_define(im, 0, hp_onnx_constant(ONNX_INT64, &scalar, data, true));
}

static enum hypar_status constant_of_tensor(struct importing *im, const struct onnx_tensor *t,
                                            struct value *out)
{
    double *data;
    TRY(hp_onnx_fold_room(im, t->elements, &data));
    TRY(hp_in(im->err, hp_onnx_read_data(im->file, t, 0, t->elements, data, im->err),
              "its value"));
    *out = hp_onnx_constant(t->type, &t->shape, data, false);
    return HYPAR_OK;
}

enum hypar_status hp_onnx_constant_node(struct importing *im)
{
    struct value v;
    struct hypar_shape shape = { 0 };
    for (int i = 0; i < im->node->n_attrs; i++) {
        const struct onnx_attr *a = &im->node->attr[i];
        bool ints = strcmp(a->name, "value_ints") == 0,
             floats = strcmp(a->name, "value_floats") == 0,
             scalar = strcmp(a->name, "value_int") == 0 || strcmp(a->name, "value_float") == 0;
        if (strcmp(a->name, "value") == 0 && a->t) {
            TRY(constant_of_tensor(im, a->t, &v));
            return hp_onnx_define(im, 0, v);
        }
        if (!ints && !floats && !scalar)
            continue;
        int n = ints ? a->n_ints : floats ? a->n_floats : 1;
        double *data;
        TRY(hp_onnx_fold_room(im, n, &data));
        for (int k = 0; k < n; k++)
            data[k] = ints ? (double)a->ints[k] : floats ? (double)a->floats[k] : 0;
        bool whole = a->name[6] == 'i';
        if (scalar)
            data[0] = whole ? (double)a->i : a->f;
        else
            shape = (struct hypar_shape){ 1, { n } };
        return hp_onnx_define(
            im, 0, hp_onnx_constant(whole ? ONNX_INT64 : ONNX_FLOAT, &shape, data, false));
    }
    return hp_fail(im->err, HYPAR_UNSUPPORTED, "a constant without numbers");
}

/* Dimensions that a constant input lists. */
enum hypar_status hp_onnx_dims(struct importing *im, const struct value *v,
                               struct hypar_shape *out)
{
    TRY(hp_onnx_integers(im, v, MAX_DIMS, out->dim, &out->n_dims));
    return HYPAR_OK;
}

enum hypar_status hp_onnx_check_dims(struct importing *im, const struct hypar_shape *shape)
{
    for (int d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] < 0)
            return hp_fail(im->err, HYPAR_INVALID, "a shape with %lld in dimension %d",
                           (long long)shape->dim[d], d);
    if (hp_onnx_elements(shape) >= (int64_t)1 << 50)
        return hp_fail(im->err, HYPAR_INVALID, "a shape of 2^50 elements or more");
    return HYPAR_OK;
}

enum hypar_status hp_onnx_constant_of_shape(struct importing *im)
{
    struct hypar_shape shape = { 0 };
    const struct onnx_attr *a = hp_onnx_attr(im->node, "value");
    double *data = NEW(&im->arena, double, 1);
    TRY(hp_onnx_dims(im, hp_onnx_input(im, 0), &shape));
    TRY(hp_onnx_check_dims(im, &shape));
    if (a && a->t && a->t->elements == 1)
        TRY(hp_onnx_read_data(im->file, a->t, 0, 1, data, im->err));
    int type = a && a->t ? a->t->type : ONNX_FLOAT;
    return hp_onnx_define(im, 0, hp_onnx_constant(type, &shape, data, true));
}

/* Reshapes ------------------------------------------------------------------------------ */

/* The same elements of `x` in another shape are output 0. */
static enum hypar_status reshaped(struct importing *im, struct value *x,
                                  const struct hypar_shape *shape)
{
    if (hp_onnx_elements(shape) != hp_onnx_elements(&x->shape))
        return hp_fail(im->err, HYPAR_INVALID, "%lld elements do not fit a shape of %lld",
                       (long long)hp_onnx_elements(&x->shape),
                       (long long)hp_onnx_elements(shape));
    struct value y = *x;
    y.shape = *shape;
    if (x->kind == VALUE_NUMBERS) {
        int t;
        TRY(hp_onnx_tensor(im, x, &t));
        TRY(hp_onnx_emit_reshape(im, NULL, t, shape, &t));
        return hp_onnx_define_tensor(im, 0, t);
    }
    if (x->kind == VALUE_INDEX && x->computed) {
        y.tensor = -1;
        y.label = im->node->n_outputs ? im->node->output[0] : x->label;
    } else if (x->kind == VALUE_INDEX) {
        struct shuffle *s = NEW(&im->arena, struct shuffle, 1);
        *s = x->shuffle ? *x->shuffle : hp_shuffle_start(&x->shape);
        if (!hp_shuffle_reshape(s, shape))
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "integers in another order");
        y.shuffle = hp_shuffle_is_plain(s, hp_onnx_shape(im, x->tensor)) ? NULL : s;
    } else if (shape->n_dims != x->shape.n_dims ||
               memcmp(shape->dim, x->shape.dim, (size_t)shape->n_dims * sizeof *shape->dim) !=
                   0) {
        y.tensor = -1;
    }
    return hp_onnx_define(im, 0, y);
}

enum hypar_status hp_onnx_reshape(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    struct hypar_shape shape = { 0 };
    bool zeros = hp_onnx_int(im->node, "allowzero", 0) != 0;
    int open = -1;
    TRY(hp_onnx_dims(im, hp_onnx_input(im, 1), &shape));
    for (int d = 0; d < shape.n_dims; d++) {
        if (shape.dim[d] == 0 && !zeros && d < x->shape.n_dims)
            shape.dim[d] = x->shape.dim[d];
        if (shape.dim[d] == -1 && open < 0)
            open = d;
    }
    if (open >= 0) {
        shape.dim[open] = 1;
        TRY(hp_onnx_check_dims(im, &shape));
        int64_t rest = hp_onnx_elements(&shape), all = hp_onnx_elements(&x->shape);
        shape.dim[open] = rest && all % rest == 0 ? all / rest : 0;
    }
    TRY(hp_onnx_check_dims(im, &shape));
    return reshaped(im, x, &shape);
}

enum hypar_status hp_onnx_flatten(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    int64_t axis = hp_onnx_int(im->node, "axis", 1);
    struct hypar_shape shape = { 2, { 1, 1 } };
    axis = axis < 0 ? axis + x->shape.n_dims : axis;
    for (int d = 0; d < x->shape.n_dims; d++)
        shape.dim[d >= axis] *= x->shape.dim[d];
    return reshaped(im, x, &shape);
}

/* The dimensions, out of `rank`, that a list names. */
static enum hypar_status mark_axes(struct importing *im, int rank, const int64_t *axes, int n,
                                   bool *marked)
{
    int axis;
    for (int i = 0; i < n; i++) {
        TRY(hp_onnx_axis(im, axes[i], rank, &axis));
        if (marked[axis])
            return hp_fail(im->err, HYPAR_INVALID, "dimension %d twice", axis);
        marked[axis] = true;
    }
    return HYPAR_OK;
}

enum hypar_status hp_onnx_squeeze(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    struct hypar_shape shape = { 0 };
    int64_t axes[MAX_DIMS];
    bool marked[MAX_DIMS] = { false };
    int n;
    TRY(hp_onnx_list(im, "axes", 1, MAX_DIMS, axes, &n));
    TRY(mark_axes(im, x->shape.n_dims, axes, n, marked));
    for (int d = 0; d < x->shape.n_dims; d++) {
        bool leaves = n < 0 ? x->shape.dim[d] == 1 : marked[d];
        if (leaves && x->shape.dim[d] != 1)
            return hp_fail(im->err, HYPAR_INVALID, "dimension %d has %lld, expected 1", d,
                           (long long)x->shape.dim[d]);
        if (!leaves)
            shape.dim[shape.n_dims++] = x->shape.dim[d];
    }
    return reshaped(im, x, &shape);
}

enum hypar_status hp_onnx_unsqueeze(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    struct hypar_shape shape = { 0 };
    int64_t axes[MAX_DIMS];
    bool marked[MAX_DIMS] = { false };
    int n, from = 0;
    TRY(hp_onnx_list(im, "axes", 1, MAX_DIMS, axes, &n));
    if (n < 0)
        return hp_onnx_missing(im, "the list of axes");
    if (x->shape.n_dims + n > MAX_DIMS)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "%d dimensions, expected at most %d",
                       x->shape.n_dims + n, MAX_DIMS);
    TRY(mark_axes(im, x->shape.n_dims + n, axes, n, marked));
    shape.n_dims = x->shape.n_dims + n;
    for (int d = 0; d < shape.n_dims; d++)
        shape.dim[d] = marked[d] ? 1 : x->shape.dim[from++];
    return reshaped(im, x, &shape);
}

/* An initializer under another name: exporters for inference write one where several had the
 * same values. Each is a parameter of its own, which starts with them. */
enum hypar_status hp_onnx_alias(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), v;
    if (x->kind != VALUE_WEIGHT || im->node->n_outputs < 1)
        return hp_onnx_define(im, 0, *x);
    int t;
    v = *x;
    struct weight_range all = { 0, 0, hp_onnx_elements(&x->shape) };
    /* the name of the initializer stays that of its own parameter */
    TRY(hp_onnx_part_param(im, x, 1, &all, &x->shape, im->node->output[0], &t));
    v.tensor = t;
    return hp_onnx_define(im, 0, v);
}

enum hypar_status hp_onnx_cast(struct importing *im)
{
    struct value v = *hp_onnx_input(im, 0);
    int to = (int)hp_onnx_int(im->node, "to", ONNX_FLOAT);
    bool whole = hp_onnx_family(to) == ONNX_INTEGERS;
    if (hp_onnx_family(to) == ONNX_OTHER)
        return hp_fail(im->err, HYPAR_INVALID, "element type %s is not supported",
                       hp_onnx_type_name(to));
    if (v.kind == VALUE_CONSTANT && whole && v.type != to) {
        int64_t n = v.uniform ? 1 : hp_onnx_elements(&v.shape);
        double *data;
        TRY(hp_onnx_fold_room(im, n, &data));
        for (int64_t i = 0; i < n; i++)
            data[i] = to == ONNX_BOOL ? v.data[i] != 0 : (double)hp_onnx_integer(v.data[i]);
        v.data = data;
        v.tensor = -1;
    } else if (v.kind == VALUE_NUMBERS && whole) {
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "numbers that become integers");
    }
    v.type = to;
    return hp_onnx_define(im, 0, v);
}

/* Constants need the type that they are used with. */
enum hypar_status hp_onnx_cast_like(struct importing *im)
{
    struct value v = *hp_onnx_input(im, 0);
    const struct value *like = hp_onnx_input(im, 1);
    if (v.kind == VALUE_CONSTANT)
        v.type = like->type;
    return hp_onnx_define(im, 0, v);
}

/* Transpose -------------------------------------------------------------------------------- */

enum hypar_status hp_onnx_transpose(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), y;
    const struct onnx_attr *a = hp_onnx_attr(im->node, "perm");
    int rank = x->shape.n_dims, perm[MAX_DIMS], t;
    bool seen[MAX_DIMS] = { false };
    int64_t strides[MAX_DIMS], moved[MAX_DIMS];
    y = *x;
    hp_onnx_strides(&x->shape, strides);
    if (a && a->n_ints != rank)
        return hp_fail(im->err, HYPAR_INVALID, "'perm' has %d values, expected %d", a->n_ints,
                       rank);
    for (int d = 0; d < rank; d++) {
        int64_t from = a ? a->ints[d] : rank - 1 - d;
        if (from < 0 || from >= rank || seen[from])
            return hp_fail(im->err, HYPAR_INVALID, "'perm' is no permutation of 0 to %d",
                           rank - 1);
        seen[from] = true;
        perm[d] = (int)from;
        y.shape.dim[d] = x->shape.dim[from];
        moved[d] = strides[from];
    }
    if (x->kind == VALUE_CONSTANT)
        return hp_onnx_define_strided(im, x, &y.shape, moved, 0);
    if (x->kind == VALUE_INDEX && x->computed)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "integers in another order");
    if (x->kind == VALUE_INDEX) {
        struct shuffle *s = NEW(&im->arena, struct shuffle, 1);
        *s = x->shuffle ? *x->shuffle : hp_shuffle_start(&x->shape);
        hp_shuffle_transpose(s, perm);
        y.shuffle = s;
        return hp_onnx_define(im, 0, y);
    }
    TRY(hp_onnx_tensor(im, x, &t));
    if (rank > 0)
        TRY(hp_onnx_emit_transpose(im, NULL, t, rank, perm, &t));
    return hp_onnx_define_tensor(im, 0, t);
}
