/* What exporters take apart, put together again. Each rule looks at one operator of the first
 * graph and at what it reads; new operators that are no longer needed are left out later. */
#include <math.h>
#include <string.h>

#include "model/onnx/rewrite.h"

static const double any = (double)NAN;

static int input(const struct rewriting *rw, int op, int i)
{
    return op >= 0 ? rw->g->ops[op].tensor[i] : -1;
}

static double attr(const struct rewriting *rw, int op, enum attr_id id, double otherwise)
{
    return hp_attr(rw->g->ops[op].nest->attrs, id, 0, otherwise);
}

static int output(const struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    return o->tensor[o->nest->n_inputs];
}

/* x + beta; x or -1. */
static int plus(const struct rewriting *rw, int t, double *beta)
{
    double one = 1;
    return hp_affine_of(rw, t, &one, beta);
}

/* x alpha; x or -1. */
static int times(const struct rewriting *rw, int t, double *alpha)
{
    double zero = 0;
    return hp_affine_of(rw, t, alpha, &zero);
}

/* x^exponent, also as a root or a product; x or -1. */
static int power(const struct rewriting *rw, int t, double exponent)
{
    int root = hp_made_by(rw, t, OP_SQRT), op = hp_made_by(rw, t, OP_POW),
        product = hp_made_by(rw, t, OP_MUL);
    if (root >= 0 && exponent == 0.5)
        return input(rw, root, 0);
    if (op >= 0 && attr(rw, op, ATTR_EXPONENT, 1) == exponent)
        return input(rw, op, 0);
    if (product >= 0 && exponent == 2 && input(rw, product, 0) == input(rw, product, 1))
        return input(rw, product, 0);
    return -1;
}

/* x^3, also as a product; x or -1. */
static int cube(const struct rewriting *rw, int t)
{
    int product = hp_made_by(rw, t, OP_MUL), x = power(rw, t, 3);
    for (int i = 0; i < 2 && product >= 0 && x < 0; i++)
        if (power(rw, input(rw, product, i), 2) == input(rw, product, 1 - i))
            x = input(rw, product, 1 - i);
    return x;
}

/* GELU: x (1 + erf(x / sqrt 2)) / 2, the half anywhere ----------------------------------------
 */

/* Is `t` 1 + erf(x / sqrt 2)? */
static bool is_erf_part(const struct rewriting *rw, int t, int x)
{
    double one = 1, root = 0.70710678118654752;
    int erf_op = hp_made_by(rw, plus(rw, t, &one), OP_ERF);
    return erf_op >= 0 && times(rw, input(rw, erf_op, 0), &root) == x;
}

static int gelu_input(const struct rewriting *rw, int op)
{
    double half = 0.5;
    int product = op, t = output(rw, op), inner = times(rw, t, &half);
    if (inner >= 0)
        product = hp_made_by(rw, inner, OP_MUL);
    if (product < 0 || rw->g->ops[product].kind != OP_MUL)
        return -1;
    for (int i = 0; i < 2; i++) {
        int x = input(rw, product, i), other = input(rw, product, 1 - i);
        if (inner < 0) { /* the half is in a factor */
            int halved = times(rw, x, &half);
            if (halved >= 0 && is_erf_part(rw, other, halved))
                return halved;
            int rest = times(rw, other, &half);
            if (rest >= 0 && is_erf_part(rw, rest, x))
                return x;
        } else if (is_erf_part(rw, other, x)) {
            return x;
        }
    }
    return -1;
}

static bool fuse_gelu(struct rewriting *rw, int op)
{
    enum op_kind kind = rw->g->ops[op].kind;
    int x = kind == OP_MUL || kind == OP_AFFINE ? gelu_input(rw, op) : -1;
    if (x < 0)
        return false;
    rw->map[output(rw, op)] =
        hp_new_op(rw, OP_GELU, rw->g->ops[op].name, 1, &rw->map[x], NULL, 1);
    return true;
}

/* Is `t` 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))? */
static bool is_tanh_part(const struct rewriting *rw, int t, int x)
{
    double one = 1, root = 0.79788456080286536, third = 0.044715;
    int tanh_op = hp_made_by(rw, plus(rw, t, &one), OP_TANH);
    int sum = hp_made_by(rw, times(rw, input(rw, tanh_op, 0), &root), OP_ADD);
    for (int i = 0; i < 2 && sum >= 0; i++)
        if (input(rw, sum, i) == x && cube(rw, times(rw, input(rw, sum, 1 - i), &third)) == x)
            return true;
    return false;
}

/* GELU by tanh: x (1 + tanh(..)) / 2. */
static bool fuse_gelu_tanh(struct rewriting *rw, int op)
{
    double half = 0.5;
    for (int i = 0; rw->g->ops[op].kind == OP_MUL && i < 2; i++) {
        int x = times(rw, input(rw, op, i), &half);
        if (x < 0 || !is_tanh_part(rw, input(rw, op, 1 - i), x))
            continue;
        rw->map[output(rw, op)] =
            hp_new_op(rw, OP_GELU_TANH, rw->g->ops[op].name, 1, &rw->map[x], NULL, 1);
        return true;
    }
    return false;
}

/* x sigmoid(x) */
static bool fuse_silu(struct rewriting *rw, int op)
{
    for (int i = 0; rw->g->ops[op].kind == OP_MUL && i < 2; i++) {
        int x = input(rw, op, i), gate = hp_made_by(rw, input(rw, op, 1 - i), OP_SIGMOID);
        if (gate < 0 || input(rw, gate, 0) != x)
            continue;
        rw->map[output(rw, op)] =
            hp_new_op(rw, OP_SILU, rw->g->ops[op].name, 1, &rw->map[x], NULL, 1);
        return true;
    }
    return false;
}

/* Layer norm and RMS norm ---------------------------------------------------------------------
 */

struct norm {
    enum op_kind kind;
    int x;
    double eps;
};

/* The x whose mean over the last dimension `t` is, else -1. */
static int mean_of(const struct rewriting *rw, int t)
{
    int op = hp_made_by(rw, t, OP_REDUCE_MEAN);
    if (op < 0)
        return -1;
    const struct attr *axes = hp_attr_get(rw->g->ops[op].nest->attrs, ATTR_AXES);
    int x = input(rw, op, 0);
    bool last = axes->n == 1 && axes->v[0] == rw->g->tensors[x].shape.n_dims - 1;
    return last && attr(rw, op, ATTR_KEEP, 0) == 1 ? x : -1;
}

/* The x for which `t` is x - mean(x), else -1. */
static int centred(const struct rewriting *rw, int t)
{
    int op = hp_made_by(rw, t, OP_SUB);
    return op >= 0 && mean_of(rw, input(rw, op, 1)) == input(rw, op, 0) ? input(rw, op, 0) : -1;
}

/* `t` is sqrt(mean(d^2) + eps): d, else -1. */
static int deviation_of(const struct rewriting *rw, int t, double *eps)
{
    *eps = any;
    int squares = mean_of(rw, plus(rw, power(rw, t, 0.5), eps));
    return squares >= 0 ? power(rw, squares, 2) : -1;
}

/* What normalises `t`: d / sqrt(mean(d^2) + eps), with d centred or not. */
static bool find_norm(const struct rewriting *rw, int t, struct norm *out)
{
    int quotient = hp_made_by(rw, t, OP_DIV), product = hp_made_by(rw, t, OP_MUL);
    for (int i = 0; i < 2; i++) {
        int op = quotient >= 0 ? quotient : product, d = input(rw, op, i);
        if (op < 0 || (quotient >= 0 && i))
            return false;
        int root = input(rw, op, 1 - i);
        if (quotient < 0)
            root = power(rw, root, -1);
        int spread = deviation_of(rw, root, &out->eps);
        if (spread < 0)
            continue;
        int x = centred(rw, d);
        if (x >= 0 && centred(rw, spread) == x)
            out->kind = OP_LAYER_NORM;
        else if (spread == d)
            out->kind = OP_RMS_NORM;
        else
            continue;
        out->x = x >= 0 ? x : d;
        return out->eps >= 0 && out->eps <= 1;
    }
    return false;
}

/* A parameter with one element for each of the last dimension of `like`. */
static bool is_row(const struct rewriting *rw, int t, int like)
{
    const struct tensor *p = &rw->g->tensors[t];
    const struct hypar_shape *x = &rw->g->tensors[like].shape;
    return p->kind == TENSOR_PARAM && p->shape.n_dims == 1 &&
           p->shape.dim[0] == x->dim[x->n_dims - 1];
}

/* A norm with a scale: norm w; its w is told. */
static bool find_scaled(const struct rewriting *rw, int t, struct norm *norm, int *w)
{
    int op = hp_made_by(rw, t, OP_MUL);
    for (int i = 0; op >= 0 && i < 2; i++) {
        *w = input(rw, op, 1 - i);
        if (is_row(rw, *w, t) && find_norm(rw, input(rw, op, i), norm))
            return true;
    }
    return false;
}

static bool fuse_norm(struct rewriting *rw, int op)
{
    enum op_kind kind = rw->g->ops[op].kind;
    struct norm norm;
    int t = output(rw, op), w = -1, b = -1;
    bool found = false;
    int rank = rw->g->tensors[t].shape.n_dims;
    if ((kind != OP_ADD && kind != OP_MUL && kind != OP_DIV) || rank < 2 || rank > 4)
        return false;
    for (int i = 0; kind == OP_ADD && i < 2 && !found; i++) {
        b = input(rw, op, 1 - i);
        found = is_row(rw, b, t) && find_scaled(rw, input(rw, op, i), &norm, &w) &&
                norm.kind == OP_LAYER_NORM;
    }
    if (!found) {
        b = -1;
        found = find_scaled(rw, t, &norm, &w);
    }
    if (!found) {
        w = -1;
        found = find_norm(rw, t, &norm);
    }
    if (!found)
        return false;
    int in[3] = { rw->map[norm.x], w >= 0 ? rw->map[w] : HP_ABSENT,
                  b >= 0 ? rw->map[b] : HP_ABSENT };
    rw->map[t] = hp_new_op(rw, norm.kind, hp_scope(rw, rw->g->ops[op].name),
                           norm.kind == OP_LAYER_NORM ? 3 : 2, in,
                           hp_new_attrs(rw, ATTRS({ ATTR_EPS, 1, &norm.eps })), 1);
    return true;
}

/* Softmax of scores that are masked so that a query sees no later key, by itself. */
static bool fuse_causal(struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    int scores = o->kind == OP_SOFTMAX ? hp_causal_scores(rw, o->tensor[0]) : -1;
    const double causal = 1;
    if (scores < 0)
        return false;
    rw->map[output(rw, op)] =
        hp_new_op(rw, OP_SOFTMAX, o->name, 1, &rw->map[scores],
                  hp_new_attrs(rw, ATTRS({ ATTR_CAUSAL, 1, &causal })), 1);
    return true;
}

/* What is repeated only to fit the other operand need not be: operators broadcast. */
static bool fuse_broadcast(struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    int in[2];
    bool found = false;
    if (o->kind != OP_ADD && o->kind != OP_SUB && o->kind != OP_MUL && o->kind != OP_DIV)
        return false;
    for (int i = 0; i < 2; i++) {
        int expand = hp_made_by(rw, o->tensor[i], OP_EXPAND), x = input(rw, expand, 0);
        bool fits =
            !found && expand >= 0 &&
            rw->g->tensors[x].shape.n_dims == rw->g->tensors[o->tensor[i]].shape.n_dims &&
            hp_same_shape(&rw->g->tensors[o->tensor[1 - i]].shape,
                          &rw->g->tensors[output(rw, op)].shape);
        in[i] = rw->map[fits ? x : o->tensor[i]];
        found |= fits;
    }
    if (found)
        rw->map[output(rw, op)] = hp_new_op(rw, o->kind, o->name, 2, in, o->nest->attrs, 1);
    return found;
}

/* Pooling and padding
 * ------------------------------------------------------------------------------- */

/* Does what follows only remove the dimensions of size 1, perhaps after a dropout or the like?
 */
static bool is_flattened(const struct rewriting *rw, int t)
{
    const struct hypar_graph *g = rw->g;
    for (int limit = 8; limit > 0 && hp_readers(rw, t) == 1; limit--) {
        int op = g->use[g->use_start[t]].op;
        enum op_kind kind = g->ops[op].kind;
        t = output(rw, op);
        if (kind == OP_RESHAPE || kind == OP_SQUEEZE)
            return g->tensors[t].shape.n_dims == 2;
        if (kind != OP_DROPOUT && kind != OP_RELU)
            return false;
    }
    return false;
}

/* A mean over all positions whose dimensions of size 1 are removed later never gets them. */
static bool fuse_global_pool(struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    int y = output(rw, op);
    if ((o->kind != OP_GLOBAL_AVG_POOL && o->kind != OP_GLOBAL_MAX_POOL) ||
        attr(rw, op, ATTR_KEEP, 0) != 1 || !is_flattened(rw, y))
        return false;
    int t = hp_new_op(rw, o->kind, o->name, 1, &rw->map[o->tensor[0]], NULL, 1);
    rw->map[y] = hp_new_reshape(rw, o->name, t, &rw->g->tensors[y].shape);
    return true;
}

/* A mean over windows of one element is nothing. */
static bool drop_pool(struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    if (o->kind != OP_AVG_POOL)
        return false;
    for (int i = 0; i < 4; i++)
        if (hp_attr(o->nest->attrs, ATTR_KERNEL, i, 1) != 1 ||
            hp_attr(o->nest->attrs, ATTR_STRIDE, i, 1) != 1 ||
            hp_attr(o->nest->attrs, ATTR_PAD, i, 0) != 0)
            return false;
    rw->map[output(rw, op)] = rw->map[o->tensor[0]];
    return true;
}

/* Zeros put around the positions just before a convolution or a mean belong to it. */
static bool fuse_pad(struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    int pad = hp_made_by(rw, o->tensor[0], OP_PAD), rank;
    struct attr list[ATTR_COUNT];
    struct attrs attrs = { 0, list };
    double pads[4];
    const double counted = 1;
    bool mean = o->kind == OP_AVG_POOL;
    if ((!mean && o->kind != OP_CONV && o->kind != OP_GROUP_CONV) || pad < 0 ||
        attr(rw, op, ATTR_CEIL, 0) != 0)
        return false;
    rank = rw->g->tensors[o->tensor[0]].shape.n_dims;
    const struct attr *around = hp_attr_get(rw->g->ops[pad].nest->attrs, ATTR_PAD);
    for (int d = 0; d < 2; d++)
        if (around->v[d] != 0 || around->v[rank + d] != 0)
            return false;
    for (int i = 0; i < 2 * (rank - 2); i++) {
        double own = hp_attr(o->nest->attrs, ATTR_PAD, i, 0);
        if (mean && own != 0)
            return false;
        pads[i] = own + around->v[i < rank - 2 ? 2 + i : rank + 2 + i - (rank - 2)];
    }
    for (int i = 0; i < o->nest->attrs->n; i++) {
        list[attrs.n] = o->nest->attrs->attr[i];
        if (list[attrs.n].id == ATTR_PAD)
            list[attrs.n].v = pads;
        if (list[attrs.n].id == ATTR_COUNT_PAD)
            list[attrs.n].v = &counted;
        attrs.n++;
    }
    int in[3];
    for (int i = 0; i < o->nest->n_inputs; i++)
        in[i] = o->tensor[i] >= 0 ? rw->map[o->tensor[i]] : HP_ABSENT;
    in[0] = rw->map[input(rw, pad, 0)];
    rw->map[output(rw, op)] =
        hp_new_op(rw, o->kind, o->name, o->nest->n_inputs, in, hp_new_attrs(rw, &attrs), 1);
    return true;
}

/* A parameter repeated for every sample just to be joined with others: concat broadcasts. */
static bool fuse_expand(struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    int in[MAX_OPERANDS];
    bool found = false, other = false;
    if (o->kind != OP_CONCAT)
        return false;
    for (int i = 0; i < o->nest->n_inputs; i++) {
        int expand = hp_made_by(rw, o->tensor[i], OP_EXPAND), x = input(rw, expand, 0);
        const struct hypar_shape *wide = &rw->g->tensors[o->tensor[i]].shape;
        bool narrow = expand >= 0 && rw->g->tensors[x].kind == TENSOR_PARAM &&
                      rw->g->tensors[x].shape.n_dims == wide->n_dims;
        int axis = (int)hp_attr_int(o->nest->attrs, ATTR_AXIS, 0, 0);
        narrow = narrow && rw->g->tensors[x].shape.dim[axis] == wide->dim[axis];
        in[i] = rw->map[narrow ? x : o->tensor[i]];
        found |= narrow;
        other |= !narrow;
    }
    if (!found || !other)
        return false;
    rw->map[output(rw, op)] =
        hp_new_op(rw, OP_CONCAT, o->name, o->nest->n_inputs, in, o->nest->attrs, 1);
    return true;
}

/* A concat that begins with all that an earlier one joined reads that one instead: DenseNet. */
static bool fuse_prefix(struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    int in[MAX_OPERANDS], n = o->nest->n_inputs, earlier = -1, length = n - 1;
    if (o->kind != OP_CONCAT)
        return false;
    for (; length >= 2 && earlier < 0; length--) {
        earlier = hp_table_get(&rw->concats, o->tensor, (size_t)length * sizeof *o->tensor);
        if (earlier >= 0 && attr(rw, earlier, ATTR_AXIS, 0) != attr(rw, op, ATTR_AXIS, 0))
            earlier = -1;
    }
    hp_table_put(&rw->concats, rw->arena, o->tensor, (size_t)n * sizeof *o->tensor, op);
    if (earlier < 0)
        return false;
    length++;
    in[0] = rw->map[output(rw, earlier)];
    for (int i = length; i < n; i++)
        in[1 + i - length] = rw->map[o->tensor[i]];
    rw->map[output(rw, op)] =
        hp_new_op(rw, OP_CONCAT, o->name, 1 + n - length, in, o->nest->attrs, 1);
    return true;
}

bool hp_fuse(struct rewriting *rw, int op)
{
    static bool (*const rules[])(struct rewriting * rw, int op) = {
        fuse_gelu, fuse_gelu_tanh,   fuse_silu,   fuse_norm,   fuse_causal,    drop_pool,
        fuse_pad,  fuse_global_pool, fuse_expand, fuse_prefix, fuse_broadcast,
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i](rw, op))
            return true;
    return false;
}
