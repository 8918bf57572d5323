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

/* Element by element -------------------------------------------------------------------- */

typedef double (*unary)(double);
typedef double (*binary)(double, double);

/* clang-format off */
#define OF_ONE(name, expression) static double name(double x) { return expression; }
OF_ONE(negative, -x)
OF_ONE(negation, x == 0)
OF_ONE(reciprocal, 1 / x)
OF_ONE(relu, x > 0 ? x : 0)
OF_ONE(sigmoid, 1 / (1 + exp(-x)))

#define OF_TWO(name, expression) static double name(double x, double y) { return expression; }
OF_TWO(sum, x + y)
OF_TWO(difference, x - y)
OF_TWO(product, x * y)
OF_TWO(quotient, x / y)
OF_TWO(whole_quotient, y == 0 ? (double)NAN : trunc(x / y))
OF_TWO(modulo, y == 0 ? (double)NAN : x - y * floor(x / y)) /* with the sign of the second */
OF_TWO(least, x < y ? x : y)
OF_TWO(most, x > y ? x : y)
OF_TWO(both, x != 0 && y != 0)
OF_TWO(either, x != 0 || y != 0)
OF_TWO(equal, x == y)
OF_TWO(greater, x > y)
OF_TWO(greater_or_equal, x >= y)
OF_TWO(less, x < y)
OF_TWO(less_or_equal, x <= y)
/* clang-format on */

/* Operators whose row says that they are folded here. */
static const struct arithmetic {
    const char *op;
    unary of_one;
    binary of_two;
    bool truth; /* the result is true or false */
} arithmetic[] = {
#define ONE(op, function, truth)  \
    {                             \
        op, function, NULL, truth \
    }
#define TWO(op, function, truth)  \
    {                             \
        op, NULL, function, truth \
    }
    /* clang-format off */
    ONE("Sqrt", sqrt, false), ONE("Exp", exp, false), ONE("Log", log, false), ONE("Floor", floor, false),
    ONE("Ceil", ceil, false), ONE("Abs", fabs, false), ONE("Erf", erf, false), ONE("Sin", sin, false),
    ONE("Cos", cos, false), ONE("Tanh", tanh, false), ONE("Round", rint, false), ONE("Neg", negative, false),
    ONE("Not", negation, true), ONE("Relu", relu, false), ONE("Reciprocal", reciprocal, false),
    ONE("Sigmoid", sigmoid, false),
    TWO("Add", sum, false), TWO("Sub", difference, false), TWO("Mul", product, false),
    TWO("Div", quotient, false), TWO("Pow", pow, false), TWO("Mod", modulo, false),
    TWO("Min", least, false), TWO("Max", most, false), TWO("And", both, true), TWO("Or", either, true),
    TWO("Equal", equal, true), TWO("Greater", greater, true), TWO("GreaterOrEqual", greater_or_equal, true),
    TWO("Less", less, true), TWO("LessOrEqual", less_or_equal, true),
    /* clang-format on */
};

static const struct arithmetic *find_arithmetic(const char *op)
{
    const struct arithmetic *row = arithmetic;
    while (strcmp(row->op, op) != 0)
        row++;
    return row;
}

enum hypar_status hp_fold_unary(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0);
    int64_t n = x->uniform ? 1 : hp_onnx_elements(&x->shape);
    const struct arithmetic *row = find_arithmetic(im->row->op);
    double *data;
    TRY(hp_onnx_fold_room(im, n, &data));
    for (int64_t i = 0; i < n; i++) {
        data[i] = row->of_one(hp_onnx_element(x, i));
        if (isnan(data[i]) && !isnan(hp_onnx_element(x, i)))
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "not known of constants");
    }
    int type = row->truth ? ONNX_BOOL : x->type;
    return hp_onnx_define(im, 0, hp_onnx_constant(type, &x->shape, data, x->uniform));
}

/* The elements of `v`, seen in `shape`, one after another. */
struct walk {
    const struct value *v;
    const struct hypar_shape *shape;
    int64_t index[MAX_DIMS], stride[MAX_DIMS], at;
};

static struct walk walk_start(const struct value *v, const struct hypar_shape *shape)
{
    struct walk w = { .v = v, .shape = shape };
    int64_t stride = 1;
    for (int d = v->shape.n_dims - 1; d >= 0; d--) {
        w.stride[d + shape->n_dims - v->shape.n_dims] = v->shape.dim[d] == 1 ? 0 : stride;
        stride *= v->shape.dim[d];
    }
    return w;
}

static double walk_next(struct walk *w)
{
    double value = hp_onnx_element(w->v, w->at);
    for (int d = w->shape->n_dims - 1; d >= 0; d--) {
        w->at += w->stride[d];
        if (++w->index[d] < w->shape->dim[d])
            break;
        w->at -= w->stride[d] * w->shape->dim[d];
        w->index[d] = 0;
    }
    return value;
}

enum hypar_status hp_fold_binary(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0), *y = hp_onnx_input(im, 1);
    struct hypar_shape shape;
    double *data;
    if (im->node->n_inputs == 1) /* the largest of one is itself */
        return hp_onnx_define(im, 0, *x);
    if (im->node->n_inputs != 2 || !y)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "%d inputs", im->node->n_inputs);
    const struct arithmetic *row = find_arithmetic(im->row->op);
    binary of_two = row->of_two;
    if (of_two == modulo && hp_onnx_int(im->node, "fmod", 0))
        of_two = fmod; /* with the sign of the first */
    if (of_two == quotient && hp_onnx_family(x->type) == ONNX_INTEGERS)
        of_two = whole_quotient;
    TRY(hp_onnx_broadcast_inputs(im, &shape));
    bool uniform = x->uniform && y->uniform;
    int64_t n = uniform ? 1 : hp_onnx_elements(&shape);
    TRY(hp_onnx_fold_room(im, n, &data));
    struct walk a = walk_start(x, &shape), b = walk_start(y, &shape);
    for (int64_t i = 0; i < n; i++) {
        double left = uniform ? x->data[0] : walk_next(&a);
        data[i] = of_two(left, uniform ? y->data[0] : walk_next(&b));
    }
    int type = row->truth ? ONNX_BOOL : x->type;
    return hp_onnx_define(im, 0, hp_onnx_constant(type, &shape, data, uniform));
}

enum hypar_status hp_fold_where(struct importing *im)
{
    const struct value *which = hp_onnx_input(im, 0), *x = hp_onnx_input(im, 1),
                       *y = hp_onnx_input(im, 2);
    struct hypar_shape shape;
    double *data;
    if (!x || !y)
        return hp_onnx_missing(im, "an input");
    TRY(hp_onnx_broadcast_inputs(im, &shape));
    int64_t n = hp_onnx_elements(&shape);
    TRY(hp_onnx_fold_room(im, n, &data));
    struct walk w = walk_start(which, &shape), a = walk_start(x, &shape),
                b = walk_start(y, &shape);
    for (int64_t i = 0; i < n; i++) {
        double if_true = walk_next(&a), if_false = walk_next(&b);
        data[i] = walk_next(&w) != 0 ? if_true : if_false;
    }
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &shape, data, false));
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
    bool product = strcmp(im->row->op, "ReduceProd") == 0,
         most = strcmp(im->row->op, "ReduceMax") == 0,
         least = strcmp(im->row->op, "ReduceMin") == 0,
         mean = strcmp(im->row->op, "ReduceMean") == 0;
    TRY(hp_onnx_list(im, "axes", 1, MAX_DIMS, axes, &count));
    if ((count >= 0 && count != x->shape.n_dims) || n < 1 || n > ONNX_MAX_FOLDED)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "over some dimensions of a constant");
    TRY(hp_onnx_fold_room(im, 1, &data));
    data[0] = hp_onnx_element(x, 0);
    for (int64_t i = 1; i < n; i++) {
        double value = hp_onnx_element(x, i);
        data[0] = product ? data[0] * value
                  : most  ? fmax(data[0], value)
                  : least ? fmin(data[0], value)
                          : data[0] + value;
    }
    if (mean)
        data[0] /= (double)n;
    struct hypar_shape shape = { 0 };
    if (hp_onnx_int(im->node, "keepdims", 1))
        shape.n_dims = x->shape.n_dims;
    for (int d = 0; d < shape.n_dims; d++)
        shape.dim[d] = 1;
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &shape, data, true));
}

/* Trilu: a triangle of the last two dimensions is kept. */
enum hypar_status hp_fold_triangle(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0), *k = hp_onnx_input(im, 1);
    int64_t n = hp_onnx_elements(&x->shape), shift = 0;
    bool upper = hp_onnx_int(im->node, "upper", 1) != 0;
    double *data;
    int rank = x->shape.n_dims, count;
    if (rank < 2)
        return hp_fail(im->err, HYPAR_INVALID, "%d dimensions, expected at least 2", rank);
    if (k)
        TRY(hp_onnx_integers(im, k, 1, &shift, &count));
    TRY(hp_onnx_fold_room(im, n, &data));
    for (int64_t i = 0; i < n; i++) {
        int64_t column = i % x->shape.dim[rank - 1];
        int64_t line = i / x->shape.dim[rank - 1] % x->shape.dim[rank - 2];
        bool kept = upper ? column - line >= shift : column - line <= shift;
        data[i] = kept ? hp_onnx_element(x, i) : 0;
    }
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &x->shape, data, false));
}

/* The product of constants, small ones: tables of angles are. */
enum hypar_status hp_fold_matmul(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0), *y = hp_onnx_input(im, 1);
    if (!y || x->shape.n_dims < 2 || y->shape.n_dims < 2)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a product with a vector");
    struct hypar_shape left = x->shape, right = y->shape, outer, shape;
    int64_t m = left.dim[left.n_dims - 2], c = left.dim[left.n_dims - 1],
            k = right.dim[right.n_dims - 1];
    double *data;
    bool fits = c == right.dim[right.n_dims - 2];
    left.n_dims -= 2;
    right.n_dims -= 2;
    if (!fits || !hp_onnx_broadcast(&left, &right, &outer))
        return hp_fail(im->err, HYPAR_INVALID, "the shapes of its inputs do not fit together");
    shape = outer;
    shape.dim[shape.n_dims++] = m;
    shape.dim[shape.n_dims++] = k;
    TRY(hp_onnx_check_dims(im, &shape));
    int64_t n = hp_onnx_elements(&outer);
    if ((double)n * (double)m * (double)k * (double)c > ONNX_MAX_FOLDED)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a large product of constants");
    TRY(hp_onnx_fold_room(im, n * m * k, &data));
    /* matrices as elements: where each begins */
    struct value one = { .uniform = true, .data = data };
    struct value a = one, b = one;
    a.shape = left;
    b.shape = right;
    struct walk wa = walk_start(&a, &outer), wb = walk_start(&b, &outer);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t e = 0; e < m * k; e++) {
            double sum = 0;
            for (int64_t j = 0; j < c; j++)
                sum += hp_onnx_element(x, wa.at * m * c + e / k * c + j) *
                       hp_onnx_element(y, wb.at * c * k + j * k + e % k);
            data[i * m * k + e] = sum;
        }
        walk_next(&wa);
        walk_next(&wb);
    }
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &shape, data, false));
}

enum hypar_status hp_fold_cumsum(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0), *along = hp_onnx_input(im, 1);
    int64_t stride[MAX_DIMS], n = hp_onnx_elements(&x->shape);
    double *data;
    int axis = 0;
    if (!along || !hp_onnx_elements(&along->shape) || hp_onnx_int(im->node, "exclusive", 0) ||
        hp_onnx_int(im->node, "reverse", 0))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "not known of constants");
    TRY(hp_onnx_axis(im, hp_onnx_integer(hp_onnx_element(along, 0)), x->shape.n_dims, &axis));
    TRY(hp_onnx_fold_room(im, n, &data));
    hp_onnx_strides(&x->shape, stride);
    for (int64_t i = 0; i < n; i++) {
        bool first = i / stride[axis] % x->shape.dim[axis] == 0;
        data[i] = hp_onnx_element(x, i) + (first ? 0 : data[i - stride[axis]]);
    }
    return hp_onnx_define(im, 0, hp_onnx_constant(x->type, &x->shape, data, false));
}
