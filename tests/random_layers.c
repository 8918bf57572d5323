/* Random element-wise operators and layers. */
#include <string.h>

#include "tests/random_maker.h"

/* Element-wise --------------------------------------------------------------------- */

bool emit_unary(struct maker *m, enum op_kind kind)
{
    static const double exponents[] = { 2, 3, 0.5, -1 };
    int x = maker_pick(m, 1, 4);
    double alpha = hp_random_unit(m->random), beta = hp_random_unit(m->random) - 0.5;
    switch (kind) {
    case OP_EXP:
        return maker_op(m, kind, IN(maker_apply(m, OP_TANH, x, NULL)), NULL, NULL);
    case OP_LOG:
    case OP_SQRT:
        return maker_op(m, kind, IN(maker_positive(m, x)), NULL, NULL);
    case OP_POW:
        return maker_op(m, kind, IN(maker_positive(m, x)),
                        ATTRS({ ATTR_EXPONENT, 1, &exponents[hp_random_below(m->random, 4)] }),
                        NULL);
    case OP_CLIP:
        return maker_op(m, kind, 1, &x,
                        ATTRS({ ATTR_MIN, 1, V(-alpha) }, { ATTR_MAX, 1, V(beta + 0.6) }),
                        NULL);
    case OP_AFFINE:
        return maker_op(m, kind, 1, &x,
                        ATTRS({ ATTR_ALPHA, 1, &alpha }, { ATTR_BETA, 1, &beta }), NULL);
    case OP_LEAKY_RELU:
    case OP_ELU:
        return maker_op(m, kind, 1, &x, ATTRS({ ATTR_ALPHA, 1, &alpha }), NULL);
    case OP_DROPOUT:
        return maker_op(m, kind, 1, &x, ATTRS({ ATTR_RATE, 1, V(0.3) }), NULL);
    default:
        return maker_op(m, kind, 1, &x, NULL, NULL);
    }
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
    for (int d = 0; d < maker_rank(m, x); d++)
        if (d != maker_sample_dim(m, x) ? one_in(m->random, 2) : one_in(m->random, 8))
            axes[n++] = d;
    if (n == 0)
        return x;
    return maker_apply(m, OP_REDUCE_MEAN, x,
                       ATTRS({ ATTR_AXES, n, axes }, { ATTR_KEEP, 1, V(1) }));
}

bool emit_binary(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 1, 4), y = -1;
    for (int i = m->n_pool - 1; i >= 0 && y < 0; i--)
        if (m->pool[i] != x && broadcasts(maker_shape(m, x), maker_shape(m, m->pool[i])) &&
            maker_sample_dim(m, m->pool[i]) - maker_rank(m, m->pool[i]) ==
                maker_sample_dim(m, x) - maker_rank(m, x))
            y = m->pool[i];
    switch (hp_random_below(m->random, 4)) {
    case 0:
        y = y < 0 ? x : y;
        break;
    case 1:
        y = kept_mean(m, x);
        break;
    case 2:
        y = y < 0 ? maker_fresh_of(m, maker_new_shape(m, 1)) : y;
        if (!broadcasts(maker_shape(m, x), maker_shape(m, y)))
            y = x;
        break;
    default:
        y = maker_broadcast_param(m, x);
    }
    if (kind == OP_DIV)
        y = maker_positive(m, y);
    if (one_in(m->random, 3) && kind != OP_DIV)
        return maker_op(m, kind, IN(y, x), NULL, NULL);
    return maker_op(m, kind, IN(x, y), NULL, NULL);
}

bool emit_where(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 1, 4), c = maker_apply(m, OP_RELU, x, NULL);
    int y = one_in(m->random, 2) ? maker_broadcast_param(m, x) : kept_mean(m, x);
    if (one_in(m->random, 2))
        c = kept_mean(m, c);
    return one_in(m->random, 2) ? maker_op(m, kind, IN(c, x, y), NULL, NULL)
                                : maker_op(m, kind, IN(c, y, x), NULL, NULL);
}

/* Layers --------------------------------------------------------------------------- */

/* Use the parameters of the last operator once more, on `x`. */
static void share(struct maker *m, int x)
{
    const struct hypar_graph *graph = hp_build_graph(m->builder);
    const struct op *last = &graph->ops[graph->n_ops - 1];
    int inputs[MAX_OPERANDS];
    memcpy(inputs, last->tensor, (size_t)last->nest->n_inputs * sizeof *inputs);
    inputs[0] = x;
    maker_op(m, last->kind, last->nest->n_inputs, inputs, last->nest->attrs, NULL);
}

/* An operator with parameters, sometimes twice: on its own output if that fits, or on something
 * like its input (on the input itself would give equal tensors, whose maximum is ambiguous). */
static bool weighted(struct maker *m, enum op_kind kind, int n_inputs, const int *inputs,
                     const struct attrs *attrs)
{
    int y[MAX_OPERANDS];
    if (!maker_op(m, kind, n_inputs, inputs, attrs, y))
        return false;
    if (one_in(m->random, 4)) {
        const struct hypar_shape *a = maker_shape(m, inputs[0]), *b = maker_shape(m, y[0]);
        bool same = a->n_dims == b->n_dims &&
                    memcmp(a->dim, b->dim, (size_t)a->n_dims * sizeof a->dim[0]) == 0;
        share(m, same ? y[0] : maker_apply(m, OP_TANH, inputs[0], NULL));
    }
    return true;
}

static int maybe(struct maker *m)
{
    return one_in(m->random, 2) ? HP_MAKE : HP_ABSENT;
}

bool emit_linear(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4);
    double out = (double)draw(m->random, 1, 9), transposed = one_in(m->random, 3);
    return weighted(m, kind, IN(x, HP_MAKE, maybe(m)),
                    ATTRS({ ATTR_OUT, 1, &out }, { ATTR_TRANSPOSED, 1, &transposed }));
}

/* A window that has an element everywhere if `inside`. */
struct random_window {
    double kernel[3], stride[3], pad[6], dilation[3];
};

static struct random_window new_window(struct maker *m, int x, bool inside, bool dilate)
{
    const struct hypar_shape *shape = maker_shape(m, x);
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

/* Something with channels and one to three dimensions of positions. */
static int maker_image(struct maker *m)
{
    return one_in(m->random, 4) ? maker_pick(m, 5, 5) : maker_pick(m, 3, 4);
}

/* Outputs are kept few: what there is of room for them decides the stride. */
bool emit_conv_transpose(struct maker *m, enum op_kind kind)
{
    int x = maker_image(m), s = maker_rank(m, x) - 2;
    const struct hypar_shape *shape = maker_shape(m, x);
    int64_t channels = shape->dim[1], g = maker_divisor(m, channels);
    struct random_window w;
    double more[3], groups = (double)g;
    for (int i = 0; i < s; i++) {
        int64_t k = draw(m->random, 1, 4), stride = draw(m->random, 1, s > 2 ? 2 : 3);
        int64_t dilation = draw(m->random, 1, 2);
        int64_t out = (shape->dim[2 + i] - 1) * stride + dilation * (k - 1) + 1;
        w.kernel[i] = (double)k;
        w.stride[i] = (double)stride;
        w.dilation[i] = (double)dilation;
        w.pad[i] = (double)hp_random_below(m->random, out < 3 ? 1 : 2);
        w.pad[s + i] = (double)hp_random_below(m->random, out < 3 ? 1 : 2);
        more[i] = (double)hp_random_below(m->random, stride);
    }
    double out =
        (double)(kind == OP_CONV_TRANSPOSE ? draw(m->random, 1, 4) : g * draw(m->random, 1, 2));
    const struct attr list[] = { { ATTR_KERNEL, s, w.kernel }, { ATTR_STRIDE, s, w.stride },
                                 { ATTR_PAD, 2 * s, w.pad },   { ATTR_DILATION, s, w.dilation },
                                 { ATTR_OUTPUT_PAD, s, more }, { ATTR_OUT, 1, &out },
                                 { ATTR_GROUPS, 1, &groups } };
    struct attrs attrs = { kind == OP_CONV_TRANSPOSE ? 6 : 7, list };
    return weighted(m, kind, IN(x, HP_MAKE, maybe(m)), &attrs);
}

/* Resizing and adaptive pooling. */
bool emit_resize(struct maker *m, enum op_kind kind)
{
    int x = maker_image(m), s = maker_rank(m, x) - 2;
    double size[3], corners = one_in(m->random, 2);
    for (int i = 0; i < s; i++)
        size[i] = (double)draw(m->random, 1, s > 2 ? 4 : 9);
    const struct attr list[] = { { ATTR_SIZE, s, size }, { ATTR_ALIGN_CORNERS, 1, &corners } };
    struct attrs attrs = { kind == OP_RESIZE_LINEAR ? 2 : 1, list };
    return maker_op(m, kind, 1, &x, &attrs, NULL);
}

bool emit_conv(struct maker *m, enum op_kind kind)
{
    int x = maker_image(m), s = maker_rank(m, x) - 2;
    int64_t channels = maker_shape(m, x)->dim[1], g = maker_divisor(m, channels);
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

bool emit_pool(struct maker *m, enum op_kind kind)
{
    int x = maker_image(m), s = maker_rank(m, x) - 2;
    struct random_window w = new_window(m, x, true, kind == OP_MAX_POOL);
    double ceil = one_in(m->random, 2), count = one_in(m->random, 2);
    if (kind == OP_MAX_POOL)
        return maker_op(m, kind, 1, &x,
                        ATTRS({ ATTR_KERNEL, s, w.kernel }, { ATTR_STRIDE, s, w.stride },
                              { ATTR_PAD, 2 * s, w.pad }, { ATTR_DILATION, s, w.dilation },
                              { ATTR_CEIL, 1, &ceil }),
                        NULL);
    return maker_op(m, kind, 1, &x,
                    ATTRS({ ATTR_KERNEL, s, w.kernel }, { ATTR_STRIDE, s, w.stride },
                          { ATTR_PAD, 2 * s, w.pad }, { ATTR_CEIL, 1, &ceil },
                          { ATTR_COUNT_PAD, 1, &count }),
                    NULL);
}

/* Sometimes its table also makes the logits: tied embeddings. */
bool emit_embedding(struct maker *m, enum op_kind kind)
{
    int ids = maker_input(m, maker_new_shape(m, (int)draw(m->random, 1, 3)), true, 0), y[1];
    struct hypar_shape table = { 2, { draw(m->random, 2, 9), draw(m->random, 1, 6) } };
    int w = maker_param(m, table);
    if (!maker_op(m, kind, IN(ids, w), NULL, y))
        return false;
    if (one_in(m->random, 2) && maker_rank(m, y[0]) <= 4) {
        int x = maker_apply(m, OP_TANH, y[0], NULL);
        maker_op(m, OP_LINEAR, IN(x, w), ATTRS({ ATTR_TRANSPOSED, 1, V(1) }), NULL);
    }
    return true;
}

bool emit_lstm(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 3, 3);
    double out = (double)draw(m->random, 1, 5), reverse = one_in(m->random, 2);
    struct hypar_shape state = { 2, { maker_shape(m, x)->dim[0], (int64_t)out } };
    bool states = maker_sample_dim(m, x) == 0 && state.dim[0] == m->batch;
    int e = states && one_in(m->random, 2) ? maker_fresh_of(m, state) : HP_ABSENT;
    int f = states && one_in(m->random, 2) ? maker_fresh_of(m, state) : HP_ABSENT;
    return weighted(m, kind, IN(x, e, f, HP_MAKE, HP_MAKE, maybe(m), maybe(m)),
                    ATTRS({ ATTR_OUT, 1, &out }, { ATTR_REVERSE, 1, &reverse }));
}

/* One to three steps of an unrolled LSTM, all with the same parameters. */
bool emit_lstm_cell(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 2), y[2];
    double out = (double)draw(m->random, 1, 6);
    struct hypar_shape state = { 2, { maker_shape(m, x)->dim[0], (int64_t)out } };
    bool states = maker_sample_dim(m, x) == 0 && state.dim[0] == m->batch;
    int h = states && one_in(m->random, 2) ? maker_fresh_of(m, state) : HP_ABSENT;
    int z = states && one_in(m->random, 2) ? maker_fresh_of(m, state) : HP_ABSENT;
    if (!maker_op(m, kind, IN(x, h, z, HP_MAKE, HP_MAKE, maybe(m), maybe(m)),
                  ATTRS({ ATTR_OUT, 1, &out }), y))
        return false;
    for (int64_t steps = hp_random_below(m->random, 3); steps > 0; steps--) {
        const struct hypar_graph *graph = hp_build_graph(m->builder);
        const int *w = graph->ops[graph->n_ops - 1].tensor + 3;
        if (!maker_op(m, kind, IN(x, y[0], y[1], w[0], w[1], w[2], w[3]),
                      ATTRS({ ATTR_OUT, 1, &out }), y))
            return false;
    }
    return true;
}

bool emit_gru(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 3, 3);
    double out = (double)draw(m->random, 1, 5), reverse = one_in(m->random, 2);
    struct hypar_shape state = { 2, { maker_shape(m, x)->dim[0], (int64_t)out } };
    bool states = maker_sample_dim(m, x) == 0 && state.dim[0] == m->batch;
    int e = states && one_in(m->random, 2) ? maker_fresh_of(m, state) : HP_ABSENT;
    return weighted(m, kind, IN(x, e, HP_MAKE, HP_MAKE, maybe(m), maybe(m)),
                    ATTRS({ ATTR_OUT, 1, &out }, { ATTR_REVERSE, 1, &reverse }));
}

/* One to three steps of an unrolled GRU, all with the same parameters. */
bool emit_gru_cell(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 2), y[1];
    double out = (double)draw(m->random, 1, 6);
    struct hypar_shape state = { 2, { maker_shape(m, x)->dim[0], (int64_t)out } };
    bool states = maker_sample_dim(m, x) == 0 && state.dim[0] == m->batch;
    int h = states && one_in(m->random, 2) ? maker_fresh_of(m, state) : HP_ABSENT;
    if (!maker_op(m, kind, IN(x, h, HP_MAKE, HP_MAKE, maybe(m), maybe(m)),
                  ATTRS({ ATTR_OUT, 1, &out }), y))
        return false;
    for (int64_t steps = hp_random_below(m->random, 3); steps > 0; steps--) {
        const struct hypar_graph *graph = hp_build_graph(m->builder);
        const int *w = graph->ops[graph->n_ops - 1].tensor + 2;
        if (!maker_op(m, kind, IN(x, y[0], w[0], w[1], w[2], w[3]),
                      ATTRS({ ATTR_OUT, 1, &out }), y))
            return false;
    }
    return true;
}

bool emit_matmul(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 3, 4), rank = maker_rank(m, x);
    bool other_way = one_in(m->random, 2);
    struct hypar_shape shape = *maker_shape(m, x);
    int64_t c = shape.dim[rank - 1], k = draw(m->random, 1, 6);
    shape.dim[rank - 1] = other_way ? c : k;
    shape.dim[rank - 2] = other_way ? k : c;
    int y = x;
    if (maker_sample_dim(m, x) == 0 && shape.dim[0] == m->batch && !one_in(m->random, 4))
        y = maker_fresh_of(m, shape);
    else
        other_way = true;
    return maker_op(m, kind, IN(x, y), ATTRS({ ATTR_TRANSPOSED, 1, V(other_way) }), NULL);
}

static int project(struct maker *m, int x, int64_t out)
{
    double features = (double)out;
    return maker_apply(m, OP_LINEAR, x, ATTRS({ ATTR_OUT, 1, &features }));
}

/* Of attention to `other` by x: a bias that some dimensions share. It is an input, a parameter,
 * or made from one of them. */
static int attention_bias(struct maker *m, int x, int other, int64_t heads, bool samples)
{
    const struct hypar_shape *queries = maker_shape(m, x), *keys = maker_shape(m, other);
    int rank = queries->n_dims;
    struct hypar_shape shape = { rank + 1, { 0 } };
    for (int d = 0; d <= rank; d++) {
        int64_t size = d < rank - 2    ? queries->dim[d]
                       : d == rank - 2 ? heads
                       : d < rank      ? queries->dim[rank - 2]
                                       : keys->dim[rank - 2];
        bool shared = d == 0 ? !samples || one_in(m->random, 2) : one_in(m->random, 3);
        shape.dim[d] = shared ? 1 : size;
    }
    if (shape.dim[0] > 1)
        return maker_fresh_of(m, shape);
    int bias = one_in(m->random, 4) ? maker_input(m, shape, false, -1) : maker_param(m, shape);
    return one_in(m->random, 2) ? maker_apply(m, OP_TANH, bias, NULL) : bias;
}

/* x times a parameter in each of its roles, keys perhaps of another length. */
bool emit_attention(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 3, 4), other = x, rank = maker_rank(m, x);
    int64_t a = draw(m->random, 1, 3), g = draw(m->random, 1, 2), d = draw(m->random, 1, 3);
    double heads = (double)(a * g), kv_heads = (double)a, causal = one_in(m->random, 2);
    struct hypar_shape keys = *maker_shape(m, x);
    bool samples = maker_sample_dim(m, x) == 0 && keys.dim[0] == m->batch;
    keys.dim[rank - 2] = draw(m->random, 1, 6);
    keys.dim[rank - 1] = draw(m->random, 1, 4);
    if (samples && one_in(m->random, 2))
        other = maker_fresh_of(m, keys);
    int q = project(m, x, a * g * d), k = project(m, other, a * d);
    int v = project(m, other, a * draw(m->random, 1, 3));
    int b = one_in(m->random, 2) ? attention_bias(m, x, other, a * g, samples) : HP_ABSENT;
    return maker_op(m, kind, IN(q, k, v, b),
                    ATTRS({ ATTR_HEADS, 1, &heads }, { ATTR_KV_HEADS, 1, &kv_heads },
                          { ATTR_CAUSAL, 1, &causal }),
                    NULL);
}

bool emit_lrn(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4);
    double size = (double)draw(m->random, 1, 5);
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_SIZE, 1, &size }, { ATTR_ALPHA, 1, V(0.3) }),
                    NULL);
}

bool emit_norm(struct maker *m, enum op_kind kind)
{
    bool image = (kind == OP_BATCH_NORM || kind == OP_GROUP_NORM) && one_in(m->random, 3);
    int x = image ? maker_image(m) : maker_pick(m, 2, 4);
    int n = kind == OP_RMS_NORM ? 2 : 3;
    double groups = (double)maker_divisor(m, maker_shape(m, x)->dim[1]);
    if (kind == OP_GROUP_NORM)
        return weighted(m, kind, n, (int[]){ x, maybe(m), maybe(m) },
                        ATTRS({ ATTR_EPS, 1, V(0.1) }, { ATTR_GROUPS, 1, &groups }));
    return weighted(m, kind, n, (int[]){ x, maybe(m), maybe(m) },
                    ATTRS({ ATTR_EPS, 1, V(0.1) }));
}

bool emit_softmax(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4);
    bool rows = hp_build_graph(m->builder)->tensors[x].shape.n_dims > 2;
    double causal = kind == OP_SOFTMAX && rows && draw(m->random, 0, 2) == 0;
    return maker_op(m, kind, 1, &x, causal > 0 ? ATTRS({ ATTR_CAUSAL, 1, &causal }) : NULL,
                    NULL);
}

bool emit_rope(struct maker *m, enum op_kind kind)
{
    int64_t a = draw(m->random, 1, 3);
    double heads = (double)a;
    int x = project(m, maker_pick(m, 3, 3), a * 2 * draw(m->random, 1, 2));
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_HEADS, 1, &heads }, { ATTR_THETA, 1, V(100) }),
                    NULL);
}
