#include "tests/random_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POOL = 96, MAX_ELEMENTS = 500 };

/* A graph being made: what has been computed so far lies in the pool. */
struct maker {
    struct random *random;
    struct graph_builder *builder;
    int64_t batch;
    int pool[MAX_POOL];
    bool used[MAX_POOL];
    int n_pool, n_names;
};

static const struct hypar_shape *shape_of(const struct maker *m, int t)
{
    return &hp_build_graph(m->builder)->tensors[t].shape;
}

static int sample_dim_of(const struct maker *m, int t)
{
    return hp_build_graph(m->builder)->tensors[t].sample_dim;
}

static int rank_of(const struct maker *m, int t)
{
    return shape_of(m, t)->n_dims;
}

static const char *new_name(struct maker *m, const char *stem, char *text, size_t n)
{
    snprintf(text, n, "%s%d", stem, m->n_names++);
    return text;
}

static void keep(struct maker *m, int t)
{
    if (m->n_pool < MAX_POOL && hp_shape_elements(shape_of(m, t)) <= MAX_ELEMENTS) {
        m->pool[m->n_pool] = t;
        m->used[m->n_pool++] = false;
    }
}

static void mark_used(struct maker *m, int t)
{
    for (int i = 0; i < m->n_pool; i++)
        if (m->pool[i] == t)
            m->used[i] = true;
}

static int new_input(struct maker *m, struct hypar_shape shape, bool index, int sample_dim)
{
    char name[32];
    return hp_build_input(m->builder, new_name(m, "in", name, sizeof name), &shape, index,
                          sample_dim);
}

static int new_param(struct maker *m, struct hypar_shape shape)
{
    char name[32];
    return hp_build_param(m->builder, new_name(m, "p", name, sizeof name), &shape);
}

/* Append an operator; false if it does not fit. Outputs go to the pool. */
static bool op(struct maker *m, enum op_kind kind, int n_inputs, const int *inputs,
               const struct attrs *attrs, int *outputs)
{
    char name[64];
    int own[MAX_OPERANDS];
    outputs = outputs ? outputs : own;
    struct op_request request = { kind, new_name(m, hp_op[kind].name, name, sizeof name),
                                  n_inputs, inputs, attrs };
    if (hp_build_op(m->builder, &request, outputs, NULL) != HYPAR_OK)
        return false;
    for (int i = 0; i < n_inputs; i++)
        if (inputs[i] >= 0)
            mark_used(m, inputs[i]);
    const struct hypar_graph *graph = hp_build_graph(m->builder);
    const struct nest *nest = graph->ops[graph->n_ops - 1].nest;
    for (int o = 0, n = 0; o < nest->n_operands; o++)
        if (nest->operand[o].role == OPERAND_OUTPUT)
            keep(m, outputs[n++]);
    return true;
}

#define IN(...)                                                  \
    (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[]) \
    {                                                            \
        __VA_ARGS__                                              \
    }

static int apply(struct maker *m, enum op_kind kind, int x, const struct attrs *attrs)
{
    int y[MAX_OPERANDS];
    return op(m, kind, 1, &x, attrs, y) ? y[0] : x;
}

/* Picking what an operator is applied to ----------------------------------------------------
 */

static struct hypar_shape new_shape(struct maker *m, int rank)
{
    static const int largest[5] = { 0, 9, 9, 6, 5 };
    struct hypar_shape shape = { rank, { m->batch } };
    for (int d = 1; d < rank; d++)
        shape.dim[d] = draw(m->random, 1, largest[rank]);
    return shape;
}

/* A new tensor of a shape with the samples first: a model input, mostly times a parameter, so
 * that a gradient flows. */
static int fresh_of(struct maker *m, struct hypar_shape shape)
{
    int x = new_input(m, shape, false, 0);
    if (one_in(m->random, 3))
        return x;
    struct hypar_shape scale = { 1, { shape.dim[shape.n_dims - 1] } };
    if (shape.n_dims == 1 || one_in(m->random, 3))
        scale.dim[0] = 1;
    int y[1];
    return op(m, OP_MUL, IN(x, new_param(m, scale)), NULL, y) ? y[0] : x;
}

static int fresh(struct maker *m, int rank)
{
    return fresh_of(m, new_shape(m, rank));
}

/* Something of a rank from lo to hi, of those not used yet if possible. */
static int pick(struct maker *m, int lo, int hi)
{
    int fit[MAX_POOL], n = 0;
    bool unused = !one_in(m->random, 4);
    for (int round = 0; round < 2 && n == 0; round++, unused = false)
        for (int i = 0; i < m->n_pool; i++) {
            int rank = rank_of(m, m->pool[i]);
            if (rank >= lo && rank <= hi && !(unused && m->used[i]))
                fit[n++] = m->pool[i];
        }
    if (n == 0 || one_in(m->random, 8))
        return fresh(m, (int)draw(m->random, lo, hi));
    return fit[hp_random_below(m->random, n)];
}

static int64_t divisor(struct maker *m, int64_t n)
{
    int64_t d = draw(m->random, 1, n);
    while (n % d)
        d--;
    return d;
}

/* Values between 0.5 and 1.5: what may be divided by. */
static int positive(struct maker *m, int x)
{
    x = apply(m, OP_SIGMOID, x, NULL);
    return apply(m, OP_AFFINE, x, ATTRS({ ATTR_ALPHA, 1, V(1) }, { ATTR_BETA, 1, V(0.5) }));
}

/* Element-wise ------------------------------------------------------------------------------
 */

static bool emit_unary(struct maker *m, enum op_kind kind)
{
    static const double exponents[] = { 2, 3, 0.5, -1 };
    int x = pick(m, 1, 4);
    double alpha = hp_random_unit(m->random), beta = hp_random_unit(m->random) - 0.5;
    switch (kind) {
    case OP_EXP:
        return op(m, kind, IN(apply(m, OP_TANH, x, NULL)), NULL, NULL);
    case OP_LOG:
    case OP_SQRT:
        return op(m, kind, IN(positive(m, x)), NULL, NULL);
    case OP_POW:
        return op(m, kind, IN(positive(m, x)),
                  ATTRS({ ATTR_EXPONENT, 1, &exponents[hp_random_below(m->random, 4)] }), NULL);
    case OP_CLIP:
        return op(m, kind, 1, &x,
                  ATTRS({ ATTR_MIN, 1, V(-alpha) }, { ATTR_MAX, 1, V(beta + 0.6) }), NULL);
    case OP_AFFINE:
        return op(m, kind, 1, &x, ATTRS({ ATTR_ALPHA, 1, &alpha }, { ATTR_BETA, 1, &beta }),
                  NULL);
    case OP_LEAKY_RELU:
    case OP_ELU:
        return op(m, kind, 1, &x, ATTRS({ ATTR_ALPHA, 1, &alpha }), NULL);
    case OP_DROPOUT:
        return op(m, kind, 1, &x, ATTRS({ ATTR_RATE, 1, V(0.3) }), NULL);
    default:
        return op(m, kind, 1, &x, NULL, NULL);
    }
}

/* A parameter that broadcasts to the shape of x, rarely with a place for each sample. */
static int broadcast_param(struct maker *m, int x)
{
    struct hypar_shape full = *shape_of(m, x), shape = { 0 };
    shape.n_dims = full.n_dims ? (int)draw(m->random, 1, full.n_dims) : 0;
    for (int d = 0; d < shape.n_dims; d++) {
        int from = full.n_dims - shape.n_dims + d;
        bool one =
            one_in(m->random, 3) || (from == sample_dim_of(m, x) && !one_in(m->random, 12));
        shape.dim[d] = one ? 1 : full.dim[from];
    }
    return new_param(m, shape);
}

static bool broadcasts(const struct hypar_shape *x, const struct hypar_shape *y)
{
    int64_t elements = 1;
    int rank = x->n_dims > y->n_dims ? x->n_dims : y->n_dims;
    for (int d = 1; d <= rank; d++) {
        int64_t a = d <= x->n_dims ? x->dim[x->n_dims - d] : 1;
        int64_t b = d <= y->n_dims ? y->dim[y->n_dims - d] : 1;
        if (a != b && a != 1 && b != 1)
            return false;
        elements *= a > b ? a : b;
    }
    return elements <= MAX_ELEMENTS;
}

/* The mean over some dimensions, which stay with size 1. */
static int kept_mean(struct maker *m, int x)
{
    double axes[MAX_DIMS];
    int n = 0;
    for (int d = 0; d < rank_of(m, x); d++)
        if (d != sample_dim_of(m, x) ? one_in(m->random, 2) : one_in(m->random, 8))
            axes[n++] = d;
    if (n == 0)
        return x;
    return apply(m, OP_REDUCE_MEAN, x, ATTRS({ ATTR_AXES, n, axes }, { ATTR_KEEP, 1, V(1) }));
}

static bool emit_binary(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 1, 4), y = -1;
    for (int i = m->n_pool - 1; i >= 0 && y < 0; i--)
        if (m->pool[i] != x && broadcasts(shape_of(m, x), shape_of(m, m->pool[i])) &&
            sample_dim_of(m, m->pool[i]) - rank_of(m, m->pool[i]) ==
                sample_dim_of(m, x) - rank_of(m, x))
            y = m->pool[i];
    switch (hp_random_below(m->random, 4)) {
    case 0:
        y = y < 0 ? x : y;
        break;
    case 1:
        y = kept_mean(m, x);
        break;
    case 2:
        y = y < 0 ? fresh_of(m, new_shape(m, 1)) : y;
        if (!broadcasts(shape_of(m, x), shape_of(m, y)))
            y = x;
        break;
    default:
        y = broadcast_param(m, x);
    }
    if (kind == OP_DIV)
        y = positive(m, y);
    if (one_in(m->random, 3) && kind != OP_DIV)
        return op(m, kind, IN(y, x), NULL, NULL);
    return op(m, kind, IN(x, y), NULL, NULL);
}

/* Layers ------------------------------------------------------------------------------------
 */

/* Use the parameters of the last operator once more, on `x`. */
static void share(struct maker *m, int x)
{
    const struct hypar_graph *graph = hp_build_graph(m->builder);
    const struct op *last = &graph->ops[graph->n_ops - 1];
    int inputs[MAX_OPERANDS];
    memcpy(inputs, last->tensor, (size_t)last->nest->n_inputs * sizeof *inputs);
    inputs[0] = x;
    op(m, last->kind, last->nest->n_inputs, inputs, last->nest->attrs, NULL);
}

/* An operator with parameters, sometimes twice: on its own output if that fits, or on something
 * like its input (on the input itself would give equal tensors, whose maximum is ambiguous). */
static bool weighted(struct maker *m, enum op_kind kind, int n_inputs, const int *inputs,
                     const struct attrs *attrs)
{
    int y[MAX_OPERANDS];
    if (!op(m, kind, n_inputs, inputs, attrs, y))
        return false;
    if (one_in(m->random, 4)) {
        const struct hypar_shape *a = shape_of(m, inputs[0]), *b = shape_of(m, y[0]);
        bool same = a->n_dims == b->n_dims &&
                    memcmp(a->dim, b->dim, (size_t)a->n_dims * sizeof a->dim[0]) == 0;
        share(m, same ? y[0] : apply(m, OP_TANH, inputs[0], NULL));
    }
    return true;
}

static int maybe(struct maker *m)
{
    return one_in(m->random, 2) ? HP_MAKE : HP_ABSENT;
}

static bool emit_linear(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4);
    double out = (double)draw(m->random, 1, 9), transposed = one_in(m->random, 3);
    return weighted(m, kind, IN(x, HP_MAKE, maybe(m)),
                    ATTRS({ ATTR_OUT, 1, &out }, { ATTR_TRANSPOSED, 1, &transposed }));
}

/* A window that has an element everywhere if `inside`. */
struct random_window {
    double kernel[2], stride[2], pad[4], dilation[2];
};

static struct random_window new_window(struct maker *m, int x, bool inside, bool dilate)
{
    const struct hypar_shape *shape = shape_of(m, x);
    int spatial = shape->n_dims - 2;
    struct random_window w;
    for (int i = 0; i < spatial; i++) {
        int64_t size = shape->dim[2 + i], k = draw(m->random, 1, 3), before, after;
        int64_t dilation = dilate && size > 1 ? draw(m->random, 1, 2) : 1;
        int64_t most = inside ? k - 1 : 3;
        before = hp_random_below(m->random, most + 1);
        after = hp_random_below(m->random, most + 1);
        while (size + before + after < dilation * (k - 1) + 1) {
            k--;
            before = inside && before >= k ? k - 1 : before;
            after = inside && after >= k ? k - 1 : after;
        }
        w.kernel[i] = (double)k;
        w.dilation[i] = (double)dilation;
        w.stride[i] = (double)draw(m->random, 1, 3);
        w.pad[i] = (double)before;
        w.pad[spatial + i] = (double)after;
    }
    return w;
}

static bool emit_conv(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 3, 4), s = rank_of(m, x) - 2;
    int64_t channels = shape_of(m, x)->dim[1], g = divisor(m, channels);
    struct random_window w = new_window(m, x, false, true);
    double out = (double)draw(m->random, 1, 6), groups = (double)g;
    if (kind == OP_CONV)
        return weighted(m, kind, IN(x, HP_MAKE, maybe(m)),
                        ATTRS({ ATTR_KERNEL, s, w.kernel }, { ATTR_STRIDE, s, w.stride },
                              { ATTR_PAD, 2 * s, w.pad }, { ATTR_DILATION, s, w.dilation },
                              { ATTR_OUT, 1, &out }));
    out = (double)(g * draw(m->random, 1, 3));
    return weighted(m, kind, IN(x, HP_MAKE, maybe(m)),
                    ATTRS({ ATTR_KERNEL, s, w.kernel }, { ATTR_STRIDE, s, w.stride },
                          { ATTR_PAD, 2 * s, w.pad }, { ATTR_DILATION, s, w.dilation },
                          { ATTR_GROUPS, 1, &groups }, { ATTR_OUT, 1, &out }));
}

static bool emit_pool(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 3, 4), s = rank_of(m, x) - 2;
    struct random_window w = new_window(m, x, true, kind == OP_MAX_POOL);
    double ceil = one_in(m->random, 2), count = one_in(m->random, 2);
    if (kind == OP_MAX_POOL)
        return op(m, kind, 1, &x,
                  ATTRS({ ATTR_KERNEL, s, w.kernel }, { ATTR_STRIDE, s, w.stride },
                        { ATTR_PAD, 2 * s, w.pad }, { ATTR_DILATION, s, w.dilation },
                        { ATTR_CEIL, 1, &ceil }),
                  NULL);
    return op(m, kind, 1, &x,
              ATTRS({ ATTR_KERNEL, s, w.kernel }, { ATTR_STRIDE, s, w.stride },
                    { ATTR_PAD, 2 * s, w.pad }, { ATTR_CEIL, 1, &ceil },
                    { ATTR_COUNT_PAD, 1, &count }),
              NULL);
}

/* Sometimes its table also makes the logits: tied embeddings. */
static bool emit_embedding(struct maker *m, enum op_kind kind)
{
    int ids = new_input(m, new_shape(m, (int)draw(m->random, 1, 3)), true, 0), y[1];
    struct hypar_shape table = { 2, { draw(m->random, 2, 9), draw(m->random, 1, 6) } };
    int w = new_param(m, table);
    if (!op(m, kind, IN(ids, w), NULL, y))
        return false;
    if (one_in(m->random, 2) && rank_of(m, y[0]) <= 4) {
        int x = apply(m, OP_TANH, y[0], NULL);
        op(m, OP_LINEAR, IN(x, w), ATTRS({ ATTR_TRANSPOSED, 1, V(1) }), NULL);
    }
    return true;
}

static bool emit_lstm(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 3, 3);
    double out = (double)draw(m->random, 1, 5), reverse = one_in(m->random, 2);
    struct hypar_shape state = { 2, { shape_of(m, x)->dim[0], (int64_t)out } };
    bool states = sample_dim_of(m, x) == 0 && state.dim[0] == m->batch;
    int e = states && one_in(m->random, 2) ? fresh_of(m, state) : HP_ABSENT;
    int f = states && one_in(m->random, 2) ? fresh_of(m, state) : HP_ABSENT;
    return weighted(m, kind, IN(x, e, f, HP_MAKE, HP_MAKE, maybe(m), maybe(m)),
                    ATTRS({ ATTR_OUT, 1, &out }, { ATTR_REVERSE, 1, &reverse }));
}

/* One to three steps of an unrolled LSTM, all with the same parameters. */
static bool emit_lstm_cell(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 2), y[2];
    double out = (double)draw(m->random, 1, 6);
    struct hypar_shape state = { 2, { shape_of(m, x)->dim[0], (int64_t)out } };
    bool states = sample_dim_of(m, x) == 0 && state.dim[0] == m->batch;
    int h = states && one_in(m->random, 2) ? fresh_of(m, state) : HP_ABSENT;
    int z = states && one_in(m->random, 2) ? fresh_of(m, state) : HP_ABSENT;
    if (!op(m, kind, IN(x, h, z, HP_MAKE, HP_MAKE, maybe(m), maybe(m)),
            ATTRS({ ATTR_OUT, 1, &out }), y))
        return false;
    for (int64_t steps = hp_random_below(m->random, 3); steps > 0; steps--) {
        const struct hypar_graph *graph = hp_build_graph(m->builder);
        const int *w = graph->ops[graph->n_ops - 1].tensor + 3;
        if (!op(m, kind, IN(x, y[0], y[1], w[0], w[1], w[2], w[3]),
                ATTRS({ ATTR_OUT, 1, &out }), y))
            return false;
    }
    return true;
}

static bool emit_matmul(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 3, 4), rank = rank_of(m, x);
    bool other_way = one_in(m->random, 2);
    struct hypar_shape shape = *shape_of(m, x);
    int64_t c = shape.dim[rank - 1], k = draw(m->random, 1, 6);
    shape.dim[rank - 1] = other_way ? c : k;
    shape.dim[rank - 2] = other_way ? k : c;
    int y = x;
    if (sample_dim_of(m, x) == 0 && shape.dim[0] == m->batch && !one_in(m->random, 4))
        y = fresh_of(m, shape);
    else
        other_way = true;
    return op(m, kind, IN(x, y), ATTRS({ ATTR_TRANSPOSED, 1, V(other_way) }), NULL);
}

static int project(struct maker *m, int x, int64_t out)
{
    double features = (double)out;
    return apply(m, OP_LINEAR, x, ATTRS({ ATTR_OUT, 1, &features }));
}

/* x times a parameter in each of its roles, keys perhaps of another length. */
static bool emit_attention(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 3, 3), other = x;
    int64_t a = draw(m->random, 1, 3), g = draw(m->random, 1, 2), d = draw(m->random, 1, 3);
    double heads = (double)(a * g), kv_heads = (double)a, causal = one_in(m->random, 2);
    struct hypar_shape keys = { 3, { m->batch, draw(m->random, 1, 6), draw(m->random, 1, 4) } };
    if (sample_dim_of(m, x) == 0 && shape_of(m, x)->dim[0] == m->batch && one_in(m->random, 2))
        other = fresh_of(m, keys);
    int q = project(m, x, a * g * d), k = project(m, other, a * d);
    int v = project(m, other, a * draw(m->random, 1, 3));
    return op(m, kind, IN(q, k, v),
              ATTRS({ ATTR_HEADS, 1, &heads }, { ATTR_KV_HEADS, 1, &kv_heads },
                    { ATTR_CAUSAL, 1, &causal }),
              NULL);
}

static bool emit_lrn(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4);
    double size = (double)draw(m->random, 1, 5);
    return op(m, kind, 1, &x, ATTRS({ ATTR_SIZE, 1, &size }, { ATTR_ALPHA, 1, V(0.3) }), NULL);
}

static bool emit_norm(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4);
    int n = kind == OP_RMS_NORM ? 2 : 3;
    double groups = (double)divisor(m, shape_of(m, x)->dim[1]);
    if (kind == OP_GROUP_NORM)
        return weighted(m, kind, n, (int[]){ x, maybe(m), maybe(m) },
                        ATTRS({ ATTR_EPS, 1, V(0.1) }, { ATTR_GROUPS, 1, &groups }));
    return weighted(m, kind, n, (int[]){ x, maybe(m), maybe(m) },
                    ATTRS({ ATTR_EPS, 1, V(0.1) }));
}

static bool emit_softmax(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4);
    return op(m, kind, 1, &x, NULL, NULL);
}

static bool emit_rope(struct maker *m, enum op_kind kind)
{
    int64_t a = draw(m->random, 1, 3);
    double heads = (double)a;
    int x = project(m, pick(m, 3, 3), a * 2 * draw(m->random, 1, 2));
    return op(m, kind, 1, &x, ATTRS({ ATTR_HEADS, 1, &heads }, { ATTR_THETA, 1, V(100) }),
              NULL);
}

/* Shapes ------------------------------------------------------------------------------------
 */

/* A dimension of x, rarely that of the samples. */
static int some_dim(struct maker *m, int x)
{
    int d = (int)hp_random_below(m->random, rank_of(m, x));
    if (d == sample_dim_of(m, x) && !one_in(m->random, 8))
        d = (d + 1) % rank_of(m, x);
    return d;
}

static bool emit_concat(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4), inputs[3] = { x }, n = 1;
    double axis = some_dim(m, x);
    for (int i = 0; i < m->n_pool && n < 3; i++) {
        const struct hypar_shape *a = shape_of(m, x), *b = shape_of(m, m->pool[i]);
        bool fits = a->n_dims == b->n_dims &&
                    sample_dim_of(m, x) == sample_dim_of(m, m->pool[i]) && one_in(m->random, 2);
        for (int d = 0; fits && d < a->n_dims; d++)
            fits = d == (int)axis || a->dim[d] == b->dim[d];
        if (fits)
            inputs[n++] = m->pool[i];
    }
    if (n < 3 && one_in(m->random, 3))
        inputs[n++] = x;
    if (n == 1)
        inputs[n++] = apply(m, OP_TANH, x, NULL);
    return op(m, kind, n, inputs, ATTRS({ ATTR_AXIS, 1, &axis }), NULL);
}

static bool emit_split(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4), n = 0;
    double axis = some_dim(m, x), sizes[4];
    int64_t left = shape_of(m, x)->dim[(int)axis];
    while (left > 0 && n < 3) {
        int64_t size = n == 2 ? left : draw(m->random, 1, left);
        sizes[n++] = (double)size;
        left -= size;
    }
    return op(m, kind, 1, &x, ATTRS({ ATTR_AXIS, 1, &axis }, { ATTR_SIZES, n, sizes }), NULL);
}

static bool emit_slice(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4);
    double axis = some_dim(m, x);
    int64_t size = shape_of(m, x)->dim[(int)axis];
    double start = (double)hp_random_below(m->random, size);
    double stop = (double)draw(m->random, (int64_t)start + 1, size);
    double step = (double)draw(m->random, 1, 3);
    return op(m, kind, 1, &x,
              ATTRS({ ATTR_AXIS, 1, &axis }, { ATTR_START, 1, &start }, { ATTR_STOP, 1, &stop },
                    { ATTR_STEP, 1, &step }),
              NULL);
}

static bool emit_pad(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4), rank = rank_of(m, x);
    double pad[2 * MAX_DIMS] = { 0 };
    for (int i = 0; i < 2; i++) {
        int d = some_dim(m, x);
        pad[i * rank + d] = (double)hp_random_below(m->random, 3);
    }
    return op(m, kind, 1, &x, ATTRS({ ATTR_PAD, 2 * rank, pad }), NULL);
}

static bool emit_transpose(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4), rank = rank_of(m, x), first = one_in(m->random, 4) ? 0 : 1;
    double perm[MAX_DIMS];
    for (int d = 0; d < rank; d++)
        perm[d] = d;
    for (int d = rank - 1; d > first; d--) {
        int with = (int)draw(m->random, first, d);
        double swap = perm[d];
        perm[d] = perm[with];
        perm[with] = swap;
    }
    return op(m, kind, 1, &x, ATTRS({ ATTR_PERM, rank, perm }), NULL);
}

/* Divide a dimension, join two, or draw a new shape after the first dimension. */
static bool emit_reshape(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4), rank = rank_of(m, x), n = 0;
    struct hypar_shape old = *shape_of(m, x);
    double shape[MAX_DIMS];
    int which = (int)hp_random_below(m->random, 3), at = (int)draw(m->random, 0, rank - 1);
    if (which == 0 && rank < 4) {
        for (int d = 0; d < rank; d++) {
            int64_t by =
                d == at && (d > 0 || one_in(m->random, 4)) ? divisor(m, old.dim[d]) : 0;
            if (by)
                shape[n++] = (double)by;
            shape[n++] = (double)(by ? old.dim[d] / by : old.dim[d]);
        }
    } else if (which == 1) {
        for (int d = 0; d < rank; d++) {
            bool join = d == at && d + 1 < rank && (d > 0 || one_in(m->random, 4));
            shape[n++] = (double)(join ? old.dim[d] * old.dim[d + 1] : old.dim[d]);
            d += join;
        }
    } else {
        int64_t left = hp_shape_elements(&old) / old.dim[0];
        shape[n++] = (double)old.dim[0];
        for (int64_t more = draw(m->random, 0, 2); more > 0; more--) {
            int64_t by = divisor(m, left);
            shape[n++] = (double)by;
            left /= by;
        }
        shape[n++] = -1;
    }
    return op(m, kind, 1, &x, ATTRS({ ATTR_SHAPE, n, shape }), NULL);
}

static bool emit_flatten(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 3, 4);
    double axis = (double)draw(m->random, one_in(m->random, 8) ? 0 : 1, 2);
    return op(m, kind, 1, &x, ATTRS({ ATTR_AXIS, 1, &axis }), NULL);
}

static bool emit_squeeze(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 1, 3);
    double axis = (double)draw(m->random, one_in(m->random, 8) ? 0 : 1, rank_of(m, x));
    if (kind == OP_UNSQUEEZE)
        return op(m, kind, 1, &x, ATTRS({ ATTR_AXES, 1, &axis }), NULL);
    x = apply(m, OP_UNSQUEEZE, x, ATTRS({ ATTR_AXES, 1, &axis }));
    x = apply(m, OP_GELU, x, NULL);
    return op(m, kind, 1, &x, ATTRS({ ATTR_AXES, 1, &axis }), NULL);
}

/* A parameter repeated for every sample, or an activation along a new dimension. */
static bool emit_expand(struct maker *m, enum op_kind kind)
{
    struct hypar_shape shape = new_shape(m, (int)draw(m->random, 2, 4)), from = shape;
    double to[MAX_DIMS];
    for (int d = 0; d < shape.n_dims; d++) {
        to[d] = (double)shape.dim[d];
        if (one_in(m->random, 2) || d == 0)
            from.dim[d] = 1;
    }
    if (one_in(m->random, 2)) {
        from.dim[0] = shape.dim[0];
        return op(m, kind, IN(fresh_of(m, from)), ATTRS({ ATTR_SHAPE, shape.n_dims, to }),
                  NULL);
    }
    if (one_in(m->random, 2)) {
        memmove(from.dim, from.dim + 1, (size_t)(from.n_dims - 1) * sizeof from.dim[0]);
        from.n_dims--;
    }
    return op(m, kind, IN(new_param(m, from)), ATTRS({ ATTR_SHAPE, shape.n_dims, to }), NULL);
}

static bool emit_reduce(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 2, 4), n = 0;
    double axes[MAX_DIMS], keep_dims = one_in(m->random, 2);
    for (int d = 0; d < rank_of(m, x) && n < rank_of(m, x) - 1; d++)
        if (d != sample_dim_of(m, x) ? one_in(m->random, 2) : one_in(m->random, 10))
            axes[n++] = d;
    if (n == 0)
        axes[n++] = rank_of(m, x) - 1;
    return op(m, kind, 1, &x, ATTRS({ ATTR_AXES, n, axes }, { ATTR_KEEP, 1, &keep_dims }),
              NULL);
}

static bool emit_global_pool(struct maker *m, enum op_kind kind)
{
    int x = pick(m, 3, 4);
    double keep_dims = one_in(m->random, 2);
    return op(m, kind, 1, &x, ATTRS({ ATTR_KEEP, 1, &keep_dims }), NULL);
}

/* The whole ---------------------------------------------------------------------------------
 */

/* How an operator of each kind is added; where there is no row: emit_unary, and nothing for a
 * loss, which stands at the end. */
static bool (*const emitters[OP_KIND_COUNT])(struct maker *m, enum op_kind kind) = {
    [OP_LINEAR] = emit_linear,
    [OP_CONV] = emit_conv,
    [OP_GROUP_CONV] = emit_conv,
    [OP_EMBEDDING] = emit_embedding,
    [OP_LSTM] = emit_lstm,
    [OP_LSTM_CELL] = emit_lstm_cell,
    [OP_MATMUL] = emit_matmul,
    [OP_ATTENTION] = emit_attention,
    [OP_MAX_POOL] = emit_pool,
    [OP_AVG_POOL] = emit_pool,
    [OP_LRN] = emit_lrn,
    [OP_BATCH_NORM] = emit_norm,
    [OP_LAYER_NORM] = emit_norm,
    [OP_RMS_NORM] = emit_norm,
    [OP_GROUP_NORM] = emit_norm,
    [OP_SOFTMAX] = emit_softmax,
    [OP_LOG_SOFTMAX] = emit_softmax,
    [OP_ADD] = emit_binary,
    [OP_SUB] = emit_binary,
    [OP_MUL] = emit_binary,
    [OP_DIV] = emit_binary,
    [OP_MINIMUM] = emit_binary,
    [OP_MAXIMUM] = emit_binary,
    [OP_ROPE] = emit_rope,
    [OP_CONCAT] = emit_concat,
    [OP_SPLIT] = emit_split,
    [OP_SLICE] = emit_slice,
    [OP_PAD] = emit_pad,
    [OP_TRANSPOSE] = emit_transpose,
    [OP_RESHAPE] = emit_reshape,
    [OP_FLATTEN] = emit_flatten,
    [OP_SQUEEZE] = emit_squeeze,
    [OP_UNSQUEEZE] = emit_squeeze,
    [OP_EXPAND] = emit_expand,
    [OP_REDUCE_SUM] = emit_reduce,
    [OP_REDUCE_MEAN] = emit_reduce,
    [OP_GLOBAL_AVG_POOL] = emit_global_pool,
    [OP_GLOBAL_MAX_POOL] = emit_global_pool,
};

static bool is_body(enum op_kind kind)
{
    return kind < OP_KIND_COUNT && !(hp_op[kind].flags & (ROW_LOSS | ROW_OPAQUE));
}

static void emit(struct maker *m, enum op_kind kind)
{
    for (int tries = 0; tries < 20; tries++)
        if ((emitters[kind] ? emitters[kind] : emit_unary)(m, kind))
            return;
}

static enum op_kind any_kind(struct maker *m)
{
    enum op_kind kind;
    do
        kind = (enum op_kind)hp_random_below(m->random, OP_KIND_COUNT);
    while (!is_body(kind));
    return kind;
}

/* Two ends made one: both flattened and joined, if their first dimension is the samples'. */
static bool join(struct maker *m, int *x, int y)
{
    double axis = 1;
    int both[2] = { *x, y };
    for (int i = 0; i < 2; i++) {
        const struct hypar_shape *shape = shape_of(m, both[i]);
        if (sample_dim_of(m, both[i]) != 0 || shape->dim[0] != m->batch || shape->n_dims < 2)
            return false;
        if (shape->n_dims > 2)
            both[i] = apply(m, OP_FLATTEN, both[i], NULL);
    }
    int out[1];
    if (!op(m, OP_CONCAT, 2, both, ATTRS({ ATTR_AXIS, 1, &axis }), out))
        return false;
    *x = out[0];
    return hp_shape_elements(shape_of(m, *x)) <= MAX_ELEMENTS;
}

/* One tensor for the loss: what nobody has read yet, mostly all of it. */
static int gather_ends(struct maker *m)
{
    int x = m->n_pool ? m->pool[m->n_pool - 1] : fresh(m, 2);
    mark_used(m, x);
    for (int i = 0, n = m->n_pool; i < n; i++)
        if (!m->used[i] && m->pool[i] != x && !one_in(m->random, 8))
            join(m, &x, m->pool[i]);
    if (!hp_build_graph(m->builder)->tensors[x].needs_grad && !one_in(m->random, 20)) {
        int y[1];
        if (op(m, OP_MUL, IN(x, broadcast_param(m, x)), NULL, y))
            x = y[0];
    }
    return x;
}

static void finish(struct maker *m, enum op_kind focus)
{
    int x = gather_ends(m);
    if (focus == OP_CROSS_ENTROPY && (rank_of(m, x) < 2 || rank_of(m, x) > 4))
        x = fresh(m, (int)draw(m->random, 2, 4));
    int rank = rank_of(m, x), sample_dim = sample_dim_of(m, x);
    bool classes = rank >= 2 && rank <= 4 && focus != OP_MSE_LOSS;
    struct hypar_shape target = *shape_of(m, x);
    if (sample_dim >= 0 && target.dim[sample_dim] != m->batch)
        sample_dim = -1; /* samples joined with something else */
    if (classes && (focus == OP_CROSS_ENTROPY || one_in(m->random, 2))) {
        target.n_dims--;
        sample_dim = sample_dim == target.n_dims ? -1 : sample_dim;
        int labels = new_input(m, target, true, sample_dim);
        op(m, OP_CROSS_ENTROPY, IN(x, labels), NULL, NULL);
    } else {
        op(m, OP_MSE_LOSS, IN(x, new_input(m, target, false, sample_dim)), NULL, NULL);
    }
}

struct hypar_graph *random_graph(struct random *random, enum op_kind focus)
{
    int64_t batch = draw(random, 1, one_in(random, 3) ? 2 : 6);
    struct maker m = { .random = random, .batch = batch, .builder = hp_build("random", batch) };
    int n = (int)draw(random, 1, 7), at = (int)hp_random_below(random, n);
    fresh(&m, (int)draw(random, 2, 4));
    for (int i = 0; i < n; i++)
        emit(&m, i == at && is_body(focus) ? focus : any_kind(&m));
    finish(&m, focus);
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hp_build_finish(m.builder, &graph, &err) != HYPAR_OK) {
        fprintf(stderr, "random graph: %s\n", err.text);
        abort();
    }
    return graph;
}
