/* Attention, as exporters write it: heads made by reshapes and transposes, a product with
 * the keys, a scale, a mask, softmax, a product with the values. The new attention reads
 * [samples, positions, heads x width]; transposes that bring its operands there cancel where
 * the heads come from that shape. Keys and values that are repeated for groups of heads are
 * read unrepeated. */
#include <math.h>
#include <string.h>

#include "model/onnx/rewrite/rules.h"

enum { MAX_CHAIN = 32, MAX_BIASES = 3 };

/* One of query, key and value: the tensor that it comes from, and the views in between. */
struct headed {
    int base; /* tensor of the first graph */
    int n;    /* reshapes and transposes between, the last first */
    int chain[MAX_CHAIN];
    struct shuffle shuffle;        /* the effect of the chain */
    struct hypar_shape base_shape; /* of the base, or of the tensor that the base repeats */
    int repeated;                  /* the tensor that the base repeats, -1: none */
    int64_t heads;                 /* of this operand; keys and values may have fewer */
};

/* Go back from `t` over reshapes, transposes and factors to the tensor that they began with;
 * the factors are multiplied to *scale. */
static bool trace(struct rewriting *rw, int t, double *scale, struct headed *o)
{
    const struct hypar_graph *g = rw->g;
    *o = (struct headed){ .repeated = -1 };
    for (int limit = 0; limit < MAX_CHAIN; limit++) {
        int op = g->tensors[t].producer;
        struct match m;
        if (op >= 0 && hp_moves_only(g->ops[op].kind))
            o->chain[o->n++] = op;
        else if (hp_match(rw, hp_pattern(rw, "affine{alpha=a beta=0}(x)"), t, NULL, &m))
            *scale *= m.number[0];
        else
            break;
        t = g->ops[op].tensor[0];
    }
    o->base = t;
    o->base_shape = g->tensors[t].shape;
    o->shuffle = hp_shuffle_start(&o->base_shape);
    for (int i = o->n - 1; i >= 0; i--)
        if (!hp_shuffle_step(&o->shuffle, g, o->chain[i]))
            return false;
    return true;
}

/* Exchange the last two dimensions. */
static void turn(struct shuffle *s)
{
    int perm[MAX_DIMS];
    for (int d = 0; d < s->n_dims; d++)
        perm[d] = d >= s->n_dims - 2 ? 2 * s->n_dims - 3 - d : d;
    hp_shuffle_transpose(s, perm);
}

/* The number of heads of an operand [samples x heads, positions, width] that is a shuffle of
 * [samples, positions, heads x width] or of [positions, samples, heads x width]; 0: the operand
 * is not such a shuffle. */
static int64_t merged_heads(const struct headed *o)
{
    struct hypar_shape base = { 0 };
    struct shuffle s = o->shuffle;
    for (int d = 0; d < o->base_shape.n_dims; d++)
        if (o->base_shape.dim[d] > 1)
            base.dim[base.n_dims++] = o->base_shape.dim[d];
    if (base.n_dims > 3 || base.n_dims < 1 || !hp_shuffle_refine(&s, &base))
        return 0;
    struct hypar_shape shape = hp_shuffle_shape(&s);
    int64_t width = shape.dim[2], last = base.dim[base.n_dims - 1];
    int n = s.first[1];
    if (last % width || last == width)
        return 0;
    bool inner = n > 0 && s.size[n - 1] == last / width && s.stride[n - 1] == width;
    return inner ? last / width : 0;
}

static bool is_turned(const struct op *matmul)
{
    return hp_attr_int(matmul->nest->attrs, ATTR_TRANSPOSED, 0, 0) != 0;
}

/* Brings an operand to [samples, positions, heads x width]. `given` has the samples and the
 * heads of the scores. */
static bool merge_heads(struct headed *o, const struct hypar_shape *given)
{
    static const int heads_last[4] = { 0, 2, 1, 3 };
    struct hypar_shape shape = hp_shuffle_shape(&o->shuffle);
    int rank = shape.n_dims;
    int64_t t = shape.dim[rank - 2], d = shape.dim[rank - 1];
    struct hypar_shape apart = { 4, { given->dim[0], o->heads, t, d } };
    struct hypar_shape merged = { 3, { given->dim[0], t, o->heads * d } };
    if (!hp_shuffle_reshape(&o->shuffle, &apart))
        return false;
    hp_shuffle_transpose(&o->shuffle, heads_last);
    return hp_shuffle_reshape(&o->shuffle, &merged);
}

/* Looks for a base that is repeated along one dimension, so that each head of keys or values
 * serves a group of heads. The operand then reads the tensor before the repetition. */
static void find_groups(const struct rewriting *rw, struct headed *o, int64_t heads)
{
    int expand = hp_made_by(rw, o->base, OP_EXPAND);
    if (expand < 0)
        return;
    int x = rw->g->ops[expand].tensor[0], along = -1, n = 0;
    const struct hypar_shape *narrow = &rw->g->tensors[x].shape, *wide = &o->base_shape;
    struct shuffle s = o->shuffle;
    if (narrow->n_dims != wide->n_dims)
        return;
    for (int d = 0; d < wide->n_dims; d++)
        if (narrow->dim[d] != wide->dim[d]) {
            along = d;
            n++;
        }
    if (n != 1 || heads % wide->dim[along] || !hp_shuffle_refine(&s, wide))
        return;
    int64_t stride = 1, group = wide->dim[along];
    for (int d = along + 1; d < wide->n_dims; d++)
        stride *= wide->dim[d];
    int inner =
        s.first[s.n_dims - 2] - 1; /* the innermost factor of what leads: of the heads */
    if (inner < 0 || s.size[inner] != group || s.stride[inner] != stride)
        return;
    if (!hp_shuffle_rebase(&s, wide, narrow))
        return;
    o->shuffle = s;
    o->base_shape = *narrow;
    o->repeated = x;
    o->heads = heads / group;
}

/* The new tensor of the operand: the shuffle of its base where a plan for the shuffle exists,
 * else the same reshapes and transposes again. Factors are part of the attention's scale. */
static int write_operand(struct rewriting *rw, const struct headed *o,
                         const struct hypar_shape *given, bool turned, const char *name)
{
    const struct hypar_graph *g = rw->g;
    struct shuffle_plan plan;
    int x = rw->map[o->repeated >= 0 ? o->repeated : o->base], perm[MAX_DIMS];
    if (hp_shuffle_plan(&o->shuffle, &plan))
        return hp_new_shuffle(rw, name, x, &plan);
    for (int i = o->n - 1; i >= 0; i--) {
        const struct op *op = &g->ops[o->chain[i]];
        const struct hypar_shape *shape = &g->tensors[op->tensor[1]].shape;
        for (int d = 0; d < shape->n_dims && op->kind == OP_TRANSPOSE; d++)
            perm[d] = (int)hp_attr_int(op->nest->attrs, ATTR_PERM, d, 0);
        x = op->kind == OP_TRANSPOSE ? hp_new_transpose(rw, name, x, shape->n_dims, perm)
                                     : hp_new_reshape(rw, name, x, shape);
    }
    struct hypar_shape merged = hp_shuffle_shape(&o->shuffle), apart = merged;
    apart.n_dims = 4;
    apart.dim[0] = given->dim[0];
    apart.dim[1] = o->heads;
    apart.dim[2] = turned ? merged.dim[2] / o->heads : merged.dim[1];
    apart.dim[3] = turned ? merged.dim[1] : merged.dim[2] / o->heads;
    static const int last[4] = { 0, 2, 1, 3 }, turned_last[4] = { 0, 3, 1, 2 };
    x = hp_new_reshape(rw, name, x, &apart);
    x = hp_new_transpose(rw, name, x, 4, turned ? turned_last : last);
    return hp_new_reshape(rw, name, x, &merged);
}

/* Is `t` computed from a product by factors, masks, biases and views alone? */
static bool leads_to_product(const struct rewriting *rw, int t)
{
    const struct hypar_graph *g = rw->g;
    for (int limit = 8; limit > 0 && t >= 0; limit--) {
        int op = g->tensors[t].producer, masked = hp_causal_scores(rw, t);
        if (op < 0)
            return false;
        enum op_kind kind = g->ops[op].kind;
        if (kind == OP_MATMUL)
            return true;
        if (kind == OP_ADD && masked < 0) {
            int other = g->ops[op].tensor[1];
            if (hp_made_by(rw, other, OP_MATMUL) >= 0)
                return true;
        } else if (kind != OP_AFFINE && kind != OP_RESHAPE && masked < 0) {
            return false;
        }
        t = masked >= 0 ? masked : g->ops[op].tensor[0];
    }
    return false;
}

/* The parts of an attention that were found. */
struct attention {
    const struct op *scores, *product; /* the two products */
    struct headed part[3];             /* query, key, value */
    bool turned[3];
    struct hypar_shape given; /* samples and heads */
    double scale;
    bool causal;
    int n_biases, bias[MAX_BIASES]; /* tensors that are added to the scaled scores */
};

/* The scores before the operator that writes `t`. The operator applies a factor, a mask or a
 * bias, which is added to the attention, or is a view of the same rows; -1: any other operator.
 */
static int before_step(struct rewriting *rw, int t, struct attention *a)
{
    const struct hypar_graph *g = rw->g;
    struct match m;
    int op = g->tensors[t].producer, masked = hp_causal_scores(rw, t);
    if (masked >= 0) {
        a->causal = true;
        return masked;
    }
    if (hp_match(rw, hp_pattern(rw, "affine{alpha=a beta=0}(x)"), t, NULL, &m)) {
        a->scale *= m.number[0];
        return hp_captured(&m, 'x');
    }
    const struct hypar_shape *to = &g->tensors[t].shape;
    for (int i = 0; i < 2 && g->ops[op].kind == OP_ADD; i++) {
        int scores = g->ops[op].tensor[i], bias = g->ops[op].tensor[1 - i];
        if (a->scale != 1 || a->n_biases == MAX_BIASES || to->n_dims != 4 ||
            !hp_same_shape(&g->tensors[scores].shape, to) || !leads_to_product(rw, scores))
            continue;
        a->bias[a->n_biases++] = bias;
        return scores;
    }
    int x = g->ops[op].tensor[0];
    const struct hypar_shape *from = x >= 0 ? &g->tensors[x].shape : to;
    bool view = g->ops[op].kind == OP_RESHAPE && !a->n_biases &&
                to->dim[to->n_dims - 1] == from->dim[from->n_dims - 1];
    return view ? x : -1;
}

/* The product of queries and keys behind a softmax. */
static int find_scores(struct rewriting *rw, int t, struct attention *a)
{
    const struct hypar_graph *g = rw->g;
    int limit = 16; /* reshapes between 3 and 4 dimensions, a mask, a scale: a few */
    while (limit-- && t >= 0) {
        int op = g->tensors[t].producer;
        if (op < 0)
            return -1;
        if (g->ops[op].kind == OP_MATMUL)
            return op;
        t = before_step(rw, t, a);
    }
    return -1;
}

/* A bias in four dimensions. A bias whose values are the same for all samples is kept once. */
static int write_bias(struct rewriting *rw, int t, const char *name)
{
    const struct importing *im = rw->im;
    const struct hypar_shape *shape = &rw->g->tensors[t].shape;
    struct hypar_shape wide = { 4, { 1, 1, 1, 1 } };
    const struct weight_source *source =
        t < im->n_sources && im->source[t].name ? &im->source[t].source : NULL;
    int64_t n = hp_onnx_elements(shape);
    bool once = shape->n_dims == 4 && shape->dim[0] > 1 && source && source->constant &&
                rw->g->tensors[t].kind == TENSOR_INPUT;
    for (int64_t i = 0; i < n && once && !source->uniform; i++)
        once = source->constant[i] == source->constant[i % (n / shape->dim[0])];
    if (once)
        return hp_new_part(rw, t, 0, 0, 1);
    for (int d = 0; d < shape->n_dims; d++)
        wide.dim[4 - shape->n_dims + d] = shape->dim[d];
    return shape->n_dims == 4 ? rw->map[t] : hp_new_reshape(rw, name, rw->map[t], &wide);
}

/* The sum of all biases; -1: there is none. */
static int write_biases(struct rewriting *rw, const struct attention *a, const char *name)
{
    int sum = -1;
    for (int i = 0; i < a->n_biases; i++) {
        int t = write_bias(rw, a->bias[i], name), both[2] = { sum, t };
        sum = sum < 0 ? t : hp_new_op(rw, OP_ADD, name, 2, both, NULL, 1);
    }
    return sum;
}

/* The attention of these inputs; a scale of 0 stands for the usual one. */
static int new_attention(struct rewriting *rw, const char *name, int n, const int *in,
                         const double how[4])
{
    return hp_new_op(
        rw, OP_ATTENTION, name, n, in,
        hp_attrs_copy(rw->arena,
                      ATTRS({ ATTR_HEADS, 1, &how[0] }, { ATTR_KV_HEADS, 1, &how[1] },
                            { ATTR_CAUSAL, 1, &how[2] }, { ATTR_SCALE, 1, &how[3] })),
        1);
}

/* The attention, and its result in the shape that the last product has. */
static void write_attention(struct rewriting *rw, struct attention *a)
{
    static const int heads_first[4] = { 0, 2, 1, 3 };
    static const char *const suffix[] = { "q", "k", "v" };
    const char *name = hp_scope(rw, a->product->name);
    struct hypar_shape q = hp_shuffle_shape(&a->part[0].shuffle),
                       v = hp_shuffle_shape(&a->part[2].shuffle);
    double heads = (double)a->part[0].heads, usual = 1 / sqrt((double)q.dim[2] / heads);
    bool is_usual = fabs(a->scale - usual) <= 1e-6 * usual;
    int in[4];
    for (int i = 0; i < 3; i++)
        in[i] = write_operand(rw, &a->part[i], &a->given, a->turned[i],
                              hp_arena_printf(rw->arena, "%s.%s", name, suffix[i]));
    in[3] = write_biases(rw, a, hp_arena_printf(rw->arena, "%s.bias", name));
    int y = new_attention(rw, name, in[3] < 0 ? 3 : 4, in,
                          (const double[]){ heads, (double)a->part[1].heads, a->causal,
                                            is_usual ? 0 : a->scale });
    struct hypar_shape apart = {
        4, { q.dim[0], q.dim[1], a->part[0].heads, v.dim[2] / a->part[2].heads }
    };
    int result = a->product->tensor[2];
    y = hp_new_reshape(rw, name, y, &apart);
    y = hp_new_transpose(rw, name, y, 4, heads_first);
    rw->map[result] = hp_new_reshape(rw, name, y, &rw->g->tensors[result].shape);
}

/* Finds query, key and value of both products; false: their heads do not fit together. */
static bool find_operands(struct rewriting *rw, struct attention *a)
{
    double weighted = 1;
    a->turned[1] = !is_turned(a->scores);
    a->turned[2] = is_turned(a->product);
    if (!trace(rw, a->scores->tensor[0], &a->scale, &a->part[0]) ||
        !trace(rw, a->scores->tensor[1], &a->scale, &a->part[1]) ||
        !trace(rw, a->product->tensor[1], &weighted, &a->part[2]) || weighted != 1)
        return false;
    for (int i = 0; i < 3; i++)
        if (a->turned[i])
            turn(&a->part[i].shuffle);
    struct hypar_shape shape = hp_shuffle_shape(&a->part[0].shuffle);
    int64_t heads = shape.n_dims == 4 ? shape.dim[1] : 0;
    for (int i = 0; i < 3; i++)
        if (hp_shuffle_shape(&a->part[i].shuffle).n_dims != shape.n_dims)
            return false;
    for (int i = 0; i < 3 && !heads; i++)
        heads = merged_heads(&a->part[i]);
    heads = heads ? heads : 1;
    if (shape.n_dims == 3 && shape.dim[0] % heads)
        return false;
    a->given = (struct hypar_shape){
        2, { shape.n_dims == 4 ? shape.dim[0] : shape.dim[0] / heads, heads }
    };
    for (int i = 0; i < 3; i++) {
        a->part[i].heads = heads;
        if (i > 0)
            find_groups(rw, &a->part[i], heads);
    }
    for (int i = 0; i < 3; i++)
        if (!merge_heads(&a->part[i], &a->given))
            return false;
    return a->part[1].heads == a->part[2].heads;
}

bool hp_write_attention(struct rewriting *rw, const struct match *m)
{
    struct attention a = { .product = &rw->g->ops[m->op], .scale = 1 };
    int scores = find_scores(rw, hp_captured(m, 's'), &a);
    if (scores < 0)
        return false;
    a.scores = &rw->g->ops[scores];
    if (!find_operands(rw, &a) || !(a.scale > 0))
        return false;
    struct hypar_shape q = hp_shuffle_shape(&a.part[0].shuffle),
                       k = hp_shuffle_shape(&a.part[1].shuffle);
    if (a.causal && q.dim[1] != k.dim[1])
        return false;
    rw->n_dropped += m->dropout;
    write_attention(rw, &a);
    return true;
}

/* An attention that is one node of the file, with keys and values that are repeated for groups
 * of heads. */
bool hp_write_groups(struct rewriting *rw, const struct match *m)
{
    static const int heads_first[4] = { 0, 2, 1, 3 };
    const struct op *o = &rw->g->ops[m->op];
    struct headed part[2];
    double scale = 1;
    int64_t heads = hp_attr_int(o->nest->attrs, ATTR_HEADS, 0, 1);
    if (hp_attr_int(o->nest->attrs, ATTR_KV_HEADS, 0, heads) != heads)
        return false;
    int in[MAX_OPERANDS];
    hp_new_inputs(rw, o, in);
    for (int i = 0; i < 2; i++) {
        const struct hypar_shape *s = &rw->g->tensors[o->tensor[1 + i]].shape;
        if (s->n_dims != 3 || !trace(rw, o->tensor[1 + i], &scale, &part[i]))
            return false;
        struct hypar_shape given = { 2, { s->dim[0], heads } };
        struct hypar_shape apart = { 4, { s->dim[0], s->dim[1], heads, s->dim[2] / heads } };
        part[i].heads = heads;
        if (!hp_shuffle_reshape(&part[i].shuffle, &apart))
            return false;
        hp_shuffle_transpose(&part[i].shuffle, heads_first);
        find_groups(rw, &part[i], heads);
        if (part[i].repeated < 0 || scale != 1 || !merge_heads(&part[i], &given))
            return false;
        in[1 + i] = write_operand(rw, &part[i], &given, false, o->name);
    }
    if (part[0].heads != part[1].heads)
        return false;
    rw->map[hp_output(rw, m->op)] =
        new_attention(rw, o->name, o->nest->n_inputs, in,
                      (const double[]){ (double)heads, (double)part[0].heads,
                                        hp_attr(o->nest->attrs, ATTR_CAUSAL, 0, 0),
                                        hp_attr(o->nest->attrs, ATTR_SCALE, 0, 0) });
    return true;
}
