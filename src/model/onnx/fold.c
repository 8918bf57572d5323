/* Computes nodes whose inputs are all known during the import: shapes, and the arithmetic
 * that exporters do with shapes. Numbers are kept as double, which holds every dimension
 * exactly. */
#include <math.h>
#include <string.h>

#include "model/onnx/onnx.h"

enum { MAX_FOLDED_IN_ALL = 1 << 25 };

double hp_onnx_element(const struct value *v, int64_t i)
{
    return v->data[v->uniform ? 0 : i];
}

int64_t hp_onnx_integer(double value)
{
    const double most = 0x1p62;
    return isnan(value) ? 0 : (int64_t)(value > most ? most : value < -most ? -most : value);
}

int64_t hp_onnx_elements(const struct hypar_shape *shape)
{
    double n = 1;
    for (int d = 0; d < shape->n_dims; d++)
        n *= (double)shape->dim[d];
    return n < 0x1p50 ? (int64_t)n : (int64_t)1 << 50;
}

struct value hp_onnx_constant(int type, const struct hypar_shape *shape, const double *data,
                              bool uniform)
{
    int64_t n = uniform ? 0 : hp_onnx_elements(shape), same = n > 0;
    while (same < n && data[same] == data[0])
        same++;
    uniform |= n > 0 && same == n;
    return (struct value){ .kind = VALUE_CONSTANT,
                           .type = type,
                           .shape = *shape,
                           .data = data,
                           .uniform = uniform,
                           .tensor = -1 };
}

enum hypar_status hp_onnx_fold_room(struct importing *im, int64_t n, double **out)
{
    *out = NEW(&im->arena, double, 1); /* a place, whatever comes */
    im->folded += n < ONNX_MAX_FOLDED ? n : 0;
    if (n > ONNX_MAX_FOLDED || im->folded > MAX_FOLDED_IN_ALL)
        return hp_fail(im->err, HYPAR_UNSUPPORTED,
                       "%lld constant elements, expected at most %d", (long long)n,
                       ONNX_MAX_FOLDED);
    *out = NEW(&im->arena, double, n ? n : 1);
    return HYPAR_OK;
}

enum hypar_status hp_onnx_integers(struct importing *im, const struct value *v, int max,
                                   int64_t *out, int *n)
{
    if (!v || v->kind != VALUE_CONSTANT)
        return hp_fail(im->err, HYPAR_UNSUPPORTED,
                       "an input that decides shapes is not known before the model runs");
    int64_t count = hp_onnx_elements(&v->shape);
    if (count > max)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "%lld values, expected at most %d",
                       (long long)count, max);
    for (int64_t i = 0; i < count; i++)
        out[i] = hp_onnx_integer(hp_onnx_element(v, i));
    *n = (int)count;
    return HYPAR_OK;
}

enum hypar_status hp_onnx_list(struct importing *im, const char *attr, int i, int max,
                               int64_t *out, int *n)
{
    const struct onnx_attr *a = hp_onnx_attr(im->node, attr);
    *n = -1;
    if (hp_onnx_input(im, i))
        return hp_onnx_integers(im, hp_onnx_input(im, i), max, out, n);
    if (!a)
        return HYPAR_OK;
    if (a->n_ints > max)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "attribute '%s' has %d values", attr,
                       a->n_ints);
    for (int k = 0; k < a->n_ints; k++)
        out[k] = hp_onnx_integer((double)a->ints[k]);
    *n = a->n_ints;
    return HYPAR_OK;
}

bool hp_onnx_broadcast(const struct hypar_shape *a, const struct hypar_shape *b,
                       struct hypar_shape *out)
{
    const struct hypar_shape *both[2] = { a, b };
    struct hypar_shape made = { .n_dims = a->n_dims > b->n_dims ? a->n_dims : b->n_dims };
    for (int d = 0; d < made.n_dims; d++)
        made.dim[d] = 1;
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < both[i]->n_dims; d++) {
            int64_t size = both[i]->dim[d];
            int64_t *have = &made.dim[made.n_dims - both[i]->n_dims + d];
            if (size != 1 && *have != 1 && *have != size)
                return false;
            *have = size != 1 ? size : *have;
        }
    *out = made;
    return true;
}

enum hypar_status hp_onnx_broadcast_inputs(struct importing *im, struct hypar_shape *out)
{
    *out = (struct hypar_shape){ 0 };
    for (int i = 0; i < im->node->n_inputs; i++)
        if (!hp_onnx_input(im, i) || !hp_onnx_broadcast(out, &hp_onnx_input(im, i)->shape, out))
            return hp_fail(im->err, HYPAR_INVALID,
                           "the shapes of its inputs do not fit together");
    return HYPAR_OK;
}

enum hypar_status hp_onnx_axis(struct importing *im, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return hp_fail(im->err, HYPAR_INVALID, "dimension %lld of a tensor that has %d",
                       (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return HYPAR_OK;
}

enum hypar_status hp_onnx_axis_attr(struct importing *im, int64_t otherwise, int *out)
{
    return hp_onnx_axis(im, hp_onnx_int(im->node, "axis", otherwise),
                        hp_onnx_input(im, 0)->shape.n_dims, out);
}

/* Element by element -------------------------------------------------------------------- */

/* The node that is folded, and the element of its result that is computed next. */
struct folding {
    struct importing *im;
    const struct value *v[3]; /* its first inputs */
    struct hypar_shape shape; /* of the result */
    bool uniform;             /* all elements are like the first */
    double *data;             /* the result so far */
    int64_t i, index[MAX_DIMS];
    int axis;
    const int64_t *stride; /* along_strides: of x, by dimension of the result */
    int64_t offset;        /* along_strides: the first element; triangle: the diagonal */
    bool upper;            /* triangle */
};

static struct folding start(struct importing *im)
{
    struct folding f = { .im = im };
    for (int i = 0; i < 3; i++)
        f.v[i] = hp_onnx_input(im, i);
    if (f.v[0])
        f.shape = f.v[0]->shape;
    return f;
}

/* The value whose elements a rule computes. */
static enum hypar_status
compute(struct folding *f, int type,
        enum hypar_status (*rule)(const struct folding *f, double *out), struct value *out)
{
    int64_t n = f->uniform ? 1 : hp_onnx_elements(&f->shape);
    TRY(hp_onnx_fold_room(f->im, n, &f->data));
    for (f->i = 0; f->i < n; f->i++) {
        TRY(rule(f, &f->data[f->i]));
        for (int d = f->shape.n_dims - 1; d >= 0 && ++f->index[d] >= f->shape.dim[d]; d--)
            f->index[d] = 0;
    }
    *out = hp_onnx_constant(type, &f->shape, f->data, f->uniform);
    return HYPAR_OK;
}

/* The same as output 0. */
static enum hypar_status define(struct folding *f, int type,
                                enum hypar_status (*rule)(const struct folding *f, double *out))
{
    struct value y;
    TRY(compute(f, type, rule, &y));
    return hp_onnx_define(f->im, 0, y);
}

/* The place in `v`, which is broadcast to the result, of the element at hand, by all dimensions
 * but the last `but`. */
static int64_t place_in(const struct folding *f, const struct value *v, int but)
{
    int64_t at = 0;
    int before = f->shape.n_dims - v->shape.n_dims;
    for (int d = 0; d < v->shape.n_dims - but; d++)
        at = at * v->shape.dim[d] + (v->shape.dim[d] == 1 ? 0 : f->index[before + d]);
    return at;
}

static double element_of(const struct folding *f, int input)
{
    return hp_onnx_element(f->v[input], place_in(f, f->v[input], 0));
}

/* Integers are divided without a rest. */
static double whole_quotient(double x, double y)
{
    return y == 0 ? (double)NAN : trunc(x / y);
}

static enum hypar_status arithmetic(const struct folding *f, double *out)
{
    const struct onnx_row *row = f->im->row;
    double x = element_of(f, 0), y = row->of_two ? element_of(f, 1) : 0;
    double (*of_two)(double, double) = row->of_two;
    if (row->kind == OP_DIV && hp_onnx_family(f->v[0]->type) == ONNX_INTEGERS)
        of_two = whole_quotient;
    if (hp_onnx_int(f->im->node, "fmod", 0)) /* Mod with the sign of the first */
        of_two = fmod;
    *out = row->of_one ? row->of_one(x) : of_two(x, y);
    if (row->of_one && isnan(*out) && !isnan(x))
        return hp_fail(f->im->err, HYPAR_UNSUPPORTED, "not known of constants");
    return HYPAR_OK;
}

enum hypar_status hp_fold_arithmetic(struct importing *im)
{
    struct folding f = start(im);
    f.uniform = f.v[0]->uniform && (!im->row->of_two || (f.v[1] && f.v[1]->uniform));
    if (im->row->of_two) {
        if (im->node->n_inputs == 1) /* the largest of one is itself */
            return hp_onnx_define(im, 0, *f.v[0]);
        if (im->node->n_inputs != 2)
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "%d inputs", im->node->n_inputs);
        TRY(hp_onnx_broadcast_inputs(im, &f.shape));
    }
    return define(&f, im->row->flags & IS_TRUTH ? ONNX_BOOL : f.v[0]->type, arithmetic);
}

static enum hypar_status chosen_by_first(const struct folding *f, double *out)
{
    *out = element_of(f, element_of(f, 0) != 0 ? 1 : 2);
    return HYPAR_OK;
}

enum hypar_status hp_fold_where(struct importing *im)
{
    struct folding f = start(im);
    TRY(hp_onnx_broadcast_inputs(im, &f.shape));
    return define(&f, f.v[1]->type, chosen_by_first);
}

/* Trilu: a triangle of the last two dimensions is kept. */
static enum hypar_status triangle(const struct folding *f, double *out)
{
    int64_t right = f->index[f->shape.n_dims - 1] - f->index[f->shape.n_dims - 2];
    bool kept = f->upper ? right >= f->offset : right <= f->offset;
    *out = kept ? hp_onnx_element(f->v[0], f->i) : 0;
    return HYPAR_OK;
}

enum hypar_status hp_fold_triangle(struct importing *im)
{
    struct folding f = start(im);
    int count;
    f.upper = hp_onnx_int(im->node, "upper", 1) != 0;
    if (f.shape.n_dims < 2)
        return hp_fail(im->err, HYPAR_INVALID, "%d dimensions, expected at least 2",
                       f.shape.n_dims);
    if (f.v[1])
        TRY(hp_onnx_integers(im, f.v[1], 1, &f.offset, &count));
    return define(&f, f.v[0]->type, triangle);
}

static enum hypar_status sum_so_far(const struct folding *f, double *out)
{
    double before = f->index[f->axis] ? f->data[f->i - f->stride[f->axis]] : 0;
    *out = hp_onnx_element(f->v[0], f->i) + before;
    return HYPAR_OK;
}

enum hypar_status hp_fold_cumsum(struct importing *im)
{
    struct folding f = start(im);
    int64_t stride[MAX_DIMS];
    if (!f.v[1] || !hp_onnx_elements(&f.v[1]->shape) || hp_onnx_int(im->node, "exclusive", 0) ||
        hp_onnx_int(im->node, "reverse", 0))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "not known of constants");
    TRY(hp_onnx_axis(im, hp_onnx_integer(hp_onnx_element(f.v[1], 0)), f.shape.n_dims, &f.axis));
    hp_onnx_strides(&f.shape, stride);
    f.stride = stride;
    return define(&f, f.v[0]->type, sum_so_far);
}

/* A row of the first matrix times a column of the second. */
static enum hypar_status inner_product(const struct folding *f, double *out)
{
    const struct value *x = f->v[0], *y = f->v[1];
    int64_t c = x->shape.dim[x->shape.n_dims - 1], k = f->shape.dim[f->shape.n_dims - 1];
    int64_t row = place_in(f, x, 1) * c, column = f->index[f->shape.n_dims - 1];
    *out = 0;
    for (int64_t j = 0; j < c; j++)
        *out += hp_onnx_element(x, row + j) *
                hp_onnx_element(y, (place_in(f, y, 2) * c + j) * k + column);
    return HYPAR_OK;
}

/* The product of constants, small ones: tables of angles are. */
enum hypar_status hp_fold_matmul(struct importing *im)
{
    struct folding f = start(im);
    const struct value *x = f.v[0], *y = f.v[1];
    if (x->shape.n_dims < 2 || y->shape.n_dims < 2)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a product with a vector");
    struct hypar_shape left = x->shape, right = y->shape;
    int64_t m = left.dim[left.n_dims - 2], c = left.dim[left.n_dims - 1],
            k = right.dim[right.n_dims - 1];
    bool fits = c == right.dim[right.n_dims - 2];
    left.n_dims -= 2;
    right.n_dims -= 2;
    if (!fits || !hp_onnx_broadcast(&left, &right, &f.shape))
        return hp_fail(im->err, HYPAR_INVALID, "the shapes of its inputs do not fit together");
    f.shape.dim[f.shape.n_dims++] = m;
    f.shape.dim[f.shape.n_dims++] = k;
    TRY(hp_onnx_check_dims(im, &f.shape));
    if ((double)hp_onnx_elements(&f.shape) * (double)c > ONNX_MAX_FOLDED)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a large product of constants");
    return define(&f, x->type, inner_product);
}

/* Elements of the first input in other places --------------------------------------------- */

static enum hypar_status along_strides(const struct folding *f, double *out)
{
    int64_t at = f->offset;
    for (int d = 0; d < f->shape.n_dims; d++)
        at += f->index[d] * f->stride[d];
    *out = f->v[0]->data[at];
    return HYPAR_OK;
}

enum hypar_status hp_onnx_strided(struct importing *im, const struct value *x,
                                  const struct hypar_shape *shape, const int64_t *stride,
                                  int64_t offset, struct value *out)
{
    struct folding f = {
        .im = im, .v = { x }, .shape = *shape, .stride = stride, .offset = offset
    };
    if (!x->uniform && hp_onnx_elements(shape))
        return compute(&f, x->type, along_strides, out);
    *out = hp_onnx_constant(x->type, shape, x->data, true);
    out->uniform = x->uniform;
    return HYPAR_OK;
}

enum hypar_status hp_onnx_define_strided(struct importing *im, const struct value *x,
                                         const struct hypar_shape *shape, const int64_t *stride,
                                         int64_t offset)
{
    struct value y;
    TRY(hp_onnx_strided(im, x, shape, stride, offset, &y));
    return hp_onnx_define(im, 0, y);
}

void hp_onnx_strides(const struct hypar_shape *shape, int64_t *stride)
{
    int64_t n = 1;
    for (int d = shape->n_dims - 1; d >= 0; d--) {
        stride[d] = n;
        n *= shape->dim[d];
    }
}

static enum hypar_status repeated(const struct folding *f, double *out)
{
    const struct hypar_shape *x = &f->v[0]->shape;
    int64_t at = 0;
    for (int d = 0; d < x->n_dims; d++)
        at = at * x->dim[d] + f->index[d] % x->dim[d];
    *out = hp_onnx_element(f->v[0], at);
    return HYPAR_OK;
}

enum hypar_status hp_fold_tile(struct importing *im, const struct hypar_shape *shape)
{
    struct folding f = start(im);
    f.shape = *shape;
    return define(&f, f.v[0]->type, repeated);
}

enum hypar_status hp_onnx_index(struct importing *im, double index, int64_t size, int64_t *out)
{
    int64_t at = hp_onnx_integer(index);
    *out = at < 0 ? at + size : at;
    if (*out < 0 || *out >= size)
        return hp_fail(im->err, HYPAR_INVALID, "index %lld of a dimension of %lld",
                       (long long)at, (long long)size);
    return HYPAR_OK;
}

/* Gather: the dimensions of the indices stand in place of one dimension of x. */
static enum hypar_status gathered(const struct folding *f, double *out)
{
    const struct hypar_shape *x = &f->v[0]->shape, *ids = &f->v[1]->shape;
    int64_t at = 0, id = 0, chosen;
    for (int d = 0; d < ids->n_dims; d++)
        id = id * ids->dim[d] + f->index[f->axis + d];
    TRY(hp_onnx_index(f->im, hp_onnx_element(f->v[1], id), x->dim[f->axis], &chosen));
    for (int d = 0; d < x->n_dims; d++)
        at = at * x->dim[d] + (d < f->axis    ? f->index[d]
                               : d == f->axis ? chosen
                                              : f->index[d - 1 + ids->n_dims]);
    *out = hp_onnx_element(f->v[0], at);
    return HYPAR_OK;
}

enum hypar_status hp_fold_gather(struct importing *im, int axis)
{
    struct folding f = start(im);
    f.axis = axis;
    TRY(hp_onnx_gathered_shape(im, &f.v[0]->shape, &f.v[1]->shape, axis, &f.shape));
    return define(&f, f.v[0]->type, gathered);
}

/* GatherElements: one index for each element of the result. */
static enum hypar_status gathered_one(const struct folding *f, double *out)
{
    const struct hypar_shape *x = &f->v[0]->shape;
    int64_t at = 0, chosen;
    TRY(hp_onnx_index(f->im, hp_onnx_element(f->v[1], f->i), x->dim[f->axis], &chosen));
    for (int d = 0; d < x->n_dims; d++)
        at = at * x->dim[d] + (d == f->axis ? chosen : f->index[d]);
    *out = hp_onnx_element(f->v[0], at);
    return HYPAR_OK;
}

enum hypar_status hp_fold_gather_elements(struct importing *im)
{
    struct folding f = start(im);
    struct hypar_shape x = f.shape;
    f.shape = f.v[1]->shape;
    bool fits = f.shape.n_dims == x.n_dims;
    if (fits)
        TRY(hp_onnx_axis_attr(im, 0, &f.axis));
    for (int d = 0; d < x.n_dims && fits; d++)
        fits = d == f.axis || f.shape.dim[d] <= x.dim[d];
    if (!fits)
        return hp_fail(im->err, HYPAR_INVALID, "indices that do not fit");
    return define(&f, f.v[0]->type, gathered_one);
}

/* Where in x the slice begins that the i-th index tuple, along the last dimension of `indices`,
 * chooses. */
static enum hypar_status find_slice(struct importing *im, const struct value *x,
                                    const struct value *indices, int64_t i, int64_t *at)
{
    int64_t stride[MAX_DIMS], depth = indices->shape.dim[indices->shape.n_dims - 1], chosen;
    hp_onnx_strides(&x->shape, stride);
    *at = 0;
    for (int d = 0; d < depth; d++) {
        TRY(hp_onnx_index(im, hp_onnx_element(indices, i * depth + d), x->shape.dim[d],
                          &chosen));
        *at += chosen * stride[d];
    }
    return HYPAR_OK;
}

/* The length of index tuples along the last dimension of the indices; 0: they are none of x. */
static int64_t tuple_length(const struct folding *f)
{
    int last = f->v[1] ? f->v[1]->shape.n_dims - 1 : -1;
    int64_t depth = last >= 0 ? f->v[1]->shape.dim[last] : 0;
    return depth > f->v[0]->shape.n_dims ? 0 : depth;
}

static enum hypar_status gathered_slice(const struct folding *f, double *out)
{
    int64_t inner = f->offset, at;
    TRY(find_slice(f->im, f->v[0], f->v[1], f->i / inner, &at));
    *out = hp_onnx_element(f->v[0], at + f->i % inner);
    return HYPAR_OK;
}

/* Slices of x by the index tuples that lie along the last dimension. */
enum hypar_status hp_fold_gather_nd(struct importing *im)
{
    struct folding f = start(im);
    struct hypar_shape x = f.shape;
    int64_t depth = tuple_length(&f);
    if (depth < 1 || hp_onnx_int(im->node, "batch_dims", 0) ||
        f.v[1]->shape.n_dims - 1 + x.n_dims - depth > MAX_DIMS)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "indices in this form");
    f.shape = f.v[1]->shape;
    f.shape.n_dims--;
    f.offset = 1;
    for (int d = (int)depth; d < x.n_dims; d++) {
        f.shape.dim[f.shape.n_dims++] = x.dim[d];
        f.offset *= x.dim[d];
    }
    TRY(hp_onnx_check_dims(im, &f.shape));
    return define(&f, f.v[0]->type, gathered_slice);
}

/* A constant with slices replaced, by index tuples as those of GatherND. */
enum hypar_status hp_fold_scatter_nd(struct importing *im)
{
    struct folding f = start(im);
    const struct value *x = f.v[0], *updates = f.v[2];
    int64_t stride[MAX_DIMS], depth = tuple_length(&f), n = hp_onnx_elements(&x->shape);
    if (!updates || depth < 1 ||
        strcmp(hp_onnx_string(im->node, "reduction", "none"), "none") != 0)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "indices in this form");
    TRY(hp_onnx_fold_room(im, n, &f.data));
    for (int64_t i = 0; i < n; i++)
        f.data[i] = hp_onnx_element(x, i);
    hp_onnx_strides(&x->shape, stride);
    int64_t inner = stride[depth - 1], tuples = hp_onnx_elements(&f.v[1]->shape) / depth;
    if (n < 1 || (double)tuples * (double)inner != (double)hp_onnx_elements(&updates->shape))
        return hp_fail(im->err, HYPAR_INVALID, "updates that do not fit");
    for (int64_t i = 0; i < tuples; i++) {
        int64_t at;
        TRY(find_slice(im, x, f.v[1], i, &at));
        for (int64_t k = 0; k < inner; k++)
            f.data[at + k] = hp_onnx_element(updates, i * inner + k);
    }
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &x->shape, f.data, false));
}

/* Others -------------------------------------------------------------------------------- */

enum hypar_status hp_fold_range(struct importing *im)
{
    const struct value *v[3];
    double at[3], *data;
    for (int i = 0; i < 3; i++) {
        v[i] = hp_onnx_input(im, i);
        if (!v[i] || v[i]->kind != VALUE_CONSTANT || hp_onnx_elements(&v[i]->shape) != 1)
            return hp_fail(im->err, HYPAR_UNSUPPORTED,
                           "start, limit and step are not known before the model runs");
        at[i] = hp_onnx_element(v[i], 0);
    }
    if (at[2] == 0)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a range that takes steps of 0");
    double steps = ceil((at[1] - at[0]) / at[2]);
    if (!(steps < ONNX_MAX_FOLDED)) /* also not a number */
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a range of %g elements", steps);
    struct hypar_shape shape = { 1, { steps > 0 ? (int64_t)steps : 0 } };
    TRY(hp_onnx_fold_room(im, shape.dim[0], &data));
    for (int64_t i = 0; i < shape.dim[0]; i++)
        data[i] = at[0] + (double)i * at[2];
    return hp_onnx_define(im, 0, hp_onnx_constant(v[0]->type, &shape, data, false));
}

/* Over all elements: what exporters do with shapes. */
enum hypar_status hp_fold_reduce(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0);
    int64_t axes[MAX_DIMS], n = hp_onnx_elements(&x->shape);
    int count;
    double *data;
    TRY(hp_onnx_list(im, "axes", 1, MAX_DIMS, axes, &count));
    if ((count >= 0 && count != x->shape.n_dims) || n < 1 || n > ONNX_MAX_FOLDED)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "over some dimensions of a constant");
    TRY(hp_onnx_fold_room(im, 1, &data));
    data[0] = hp_onnx_element(x, 0);
    for (int64_t i = 1; i < n; i++)
        data[0] = im->row->of_two(data[0], hp_onnx_element(x, i));
    if (im->row->kind == OP_REDUCE_MEAN)
        data[0] /= (double)n;
    struct hypar_shape shape = { 0 };
    if (hp_onnx_int(im->node, "keepdims", 1))
        shape.n_dims = x->shape.n_dims;
    for (int d = 0; d < shape.n_dims; d++)
        shape.dim[d] = 1;
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &shape, data, true));
}
