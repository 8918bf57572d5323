/* Attention, as exporters write it: heads made by reshapes and transposes, a product with the
 * keys, a scale, a mask, softmax, a product with the values. All layouts are recognised that
 * come from tensors [samples, positions, heads x width], or with positions first. */
#include <math.h>
#include <string.h>

#include "model/onnx/rewrite.h"

/* One of query, key and value: where it comes from. */
struct headed {
    int base;            /* tensor of the first graph, [n,t,c] or [t,n,c] */
    bool sequence_first; /* the latter */
    int64_t samples, positions, heads, width;
};

/* Go back from `t` over reshapes, transposes and factors to the tensor that they began with;
 * what they do is *shuffle, the factors are multiplied to *scale. */
static int trace(const struct rewriting *rw, int t, struct shuffle *shuffle, double *scale)
{
    enum { MAX_CHAIN = 32 };
    const struct hypar_graph *g = rw->g;
    int chain[MAX_CHAIN], n = 0;
    for (; n < MAX_CHAIN; n++) {
        int op = g->tensors[t].producer;
        double alpha = (double)NAN, beta = 0;
        if (op >= 0 && hp_moves_only(g->ops[op].kind)) {
            chain[n] = op;
        } else if (hp_affine_of(rw, t, &alpha, &beta) >= 0) {
            *scale *= alpha;
            chain[n] = -1;
        } else {
            break;
        }
        t = g->ops[op].tensor[0];
    }
    *shuffle = hp_shuffle_start(&g->tensors[t].shape);
    while (n-- > 0) {
        if (chain[n] < 0)
            continue;
        const struct op *op = &g->ops[chain[n]];
        if (op->kind == OP_TRANSPOSE) {
            int perm[MAX_DIMS];
            for (int d = 0; d < shuffle->n_dims; d++)
                perm[d] = (int)hp_attr_int(op->nest->attrs, ATTR_PERM, d, 0);
            hp_shuffle_transpose(shuffle, perm);
        } else if (!hp_shuffle_reshape(shuffle, &g->tensors[op->tensor[1]].shape)) {
            return -1;
        }
    }
    return t;
}

/* Read a shuffle of a base of 3 dimensions as [samples x heads, positions, width], or with
 * samples and heads apart. */
static bool read_heads(const struct hypar_shape *base, struct shuffle s, struct headed *out)
{
    struct hypar_shape shape = hp_shuffle_shape(&s);
    int rank = shape.n_dims;
    if (base->n_dims != 3 || (rank != 3 && rank != 4) || !hp_shuffle_refine(&s, base))
        return false;
    out->positions = shape.dim[rank - 2];
    out->width = shape.dim[rank - 1];
    int last = s.first[rank - 1];
    if (s.first[rank] - last > 1 || (out->width > 1 && s.stride[last] != 1))
        return false;
    int at = hp_shuffle_whole_dim(&s, base, rank - 2); /* of the positions in the base */
    if (out->positions == 1)
        at = base->dim[1] == 1 ? 1 : 0;
    if (at != 0 && at != 1)
        return false;
    out->sequence_first = at == 0;
    out->samples = base->dim[!at];
    if (base->dim[at] != out->positions || base->dim[2] % out->width)
        return false;
    out->heads = base->dim[2] / out->width;
    /* what leads: the samples, then the heads */
    struct shuffle want = { 0 };
    int n = 0;
    if (out->samples > 1) {
        want.size[n] = out->samples;
        want.stride[n++] = at == 0 ? base->dim[2] : base->dim[1] * base->dim[2];
    }
    if (out->heads > 1) {
        want.size[n] = out->heads;
        want.stride[n++] = out->width;
    }
    if (s.first[rank - 2] != n)
        return false;
    for (int f = 0; f < n; f++)
        if (s.size[f] != want.size[f] || s.stride[f] != want.stride[f])
            return false;
    return rank == 3 || shape.dim[0] == out->samples;
}

/* An operand of a product as heads; `turned`: its last two dimensions are exchanged. */
static bool find_heads(const struct rewriting *rw, int t, bool turned, struct headed *out,
                       double *scale)
{
    struct shuffle s;
    out->base = trace(rw, t, &s, scale);
    if (out->base < 0)
        return false;
    int perm[MAX_DIMS];
    for (int d = 0; d < s.n_dims; d++)
        perm[d] = turned && d >= s.n_dims - 2 ? 2 * s.n_dims - 3 - d : d;
    hp_shuffle_transpose(&s, perm);
    return read_heads(&rw->g->tensors[out->base].shape, s, out);
}

static bool is_turned(const struct op *matmul)
{
    return hp_attr_int(matmul->nest->attrs, ATTR_TRANSPOSED, 0, 0) != 0;
}

/* The product of queries and keys behind a softmax, past scales, views and a causal mask. */
static int find_scores(const struct rewriting *rw, int t, double *scale, bool *causal)
{
    const struct hypar_graph *g = rw->g;
    int limit = 16; /* reshapes between 3 and 4 dimensions, a mask, a scale: a few */
    while (limit--) {
        double alpha = (double)NAN, beta = 0;
        int op = g->tensors[t].producer, x = hp_affine_of(rw, t, &alpha, &beta);
        if (op < 0)
            return -1;
        if (g->ops[op].kind == OP_MATMUL)
            return op;
        bool mask = rw->causal[op];
        if (x >= 0)
            *scale *= alpha;
        else if (mask)
            *causal = true;
        else if (g->ops[op].kind != OP_RESHAPE ||
                 g->tensors[t].shape.dim[g->tensors[t].shape.n_dims - 1] !=
                     g->tensors[g->ops[op].tensor[0]]
                         .shape.dim[g->tensors[g->ops[op].tensor[0]].shape.n_dims - 1])
            return -1;
        t = g->ops[op].tensor[0];
    }
    return -1;
}

/* Softmax of the scores, before a dropout and reshapes. */
static int find_softmax(struct rewriting *rw, int t, bool *dropout)
{
    int softmax = -1;
    for (int i = 0; i < 4 && softmax < 0; i++) {
        softmax = hp_made_by(rw, t, OP_SOFTMAX);
        int drop = hp_made_by(rw, t, OP_DROPOUT), view = hp_made_by(rw, t, OP_RESHAPE);
        *dropout |= drop >= 0;
        int op = drop >= 0 ? drop : view;
        if (softmax < 0 && op < 0)
            return -1;
        if (softmax < 0)
            t = rw->g->ops[op].tensor[0];
    }
    return softmax;
}

/* Query, key or value as a tensor [n, t, c]. */
static int as_samples_first(struct rewriting *rw, const struct headed *h, const char *name,
                            const char *what)
{
    static const int exchanged[3] = { 1, 0, 2 };
    int t = rw->map[h->base];
    return h->sequence_first
               ? hp_new_transpose(rw, hp_arena_printf(rw->arena, "%s.%s", name, what), t, 3,
                                  exchanged)
               : t;
}

/* The attention, and its result in the shape that the last product has. */
static void write_attention(struct rewriting *rw, const struct op *op, const struct headed *q,
                            const struct headed *k, const struct headed *v, double scale,
                            bool causal)
{
    static const int heads_first[4] = { 0, 2, 1, 3 };
    const char *name = hp_scope(rw, op->name);
    double heads = (double)q->heads, is_causal = causal;
    double usual = 1 / sqrt((double)q->width);
    if (fabs(scale - usual) <= 1e-6 * usual)
        scale = 0; /* which stands for it */
    int in[3] = { as_samples_first(rw, q, name, "q"), as_samples_first(rw, k, name, "k"),
                  as_samples_first(rw, v, name, "v") };
    int y = hp_new_op(
        rw, OP_ATTENTION, name, 3, in,
        hp_new_attrs(rw, ATTRS({ ATTR_HEADS, 1, &heads }, { ATTR_CAUSAL, 1, &is_causal },
                               { ATTR_SCALE, 1, &scale })),
        1);
    struct hypar_shape apart = { 4, { q->samples, q->positions, q->heads, v->width } };
    int result = op->tensor[2];
    y = hp_new_reshape(rw, name, y, &apart);
    y = hp_new_transpose(rw, name, y, 4, heads_first);
    rw->map[result] = hp_new_reshape(rw, name, y, &rw->g->tensors[result].shape);
}

bool hp_fuse_attention(struct rewriting *rw, int op)
{
    const struct op *product = &rw->g->ops[op];
    struct headed q, k, v;
    double scale = 1, weighted = 1;
    bool causal = false, dropout = false;
    if (product->kind != OP_MATMUL)
        return false;
    int softmax = find_softmax(rw, product->tensor[0], &dropout);
    if (softmax < 0)
        return false;
    int scores = find_scores(rw, rw->g->ops[softmax].tensor[0], &scale, &causal);
    if (scores < 0)
        return false;
    const struct op *matmul = &rw->g->ops[scores];
    if (!find_heads(rw, matmul->tensor[0], false, &q, &scale) ||
        !find_heads(rw, matmul->tensor[1], !is_turned(matmul), &k, &scale) ||
        !find_heads(rw, product->tensor[1], is_turned(product), &v, &weighted))
        return false;
    if (q.samples != k.samples || q.samples != v.samples || q.heads != k.heads ||
        q.heads != v.heads || q.width != k.width || k.positions != v.positions ||
        weighted != 1 || !(scale > 0) || (causal && q.positions != k.positions))
        return false;
    rw->n_dropped += dropout;
    write_attention(rw, product, &q, &k, &v, scale, causal);
    return true;
}
