/* Linear layers, put together and taken apart. A bias that is added after the product belongs
 * to the layer. A layer whose columns are read apart (query, key and value from one matrix)
 * becomes several layers, each of which can be split by heads. */
#include <string.h>

#include "model/onnx/rewrite/rules.h"

/* A linear layer, its bias added in it or after it. */
struct linear {
    int op;          /* of the first graph */
    int x, w, bias;  /* tensors of the first graph; bias a parameter or -1 */
    bool transposed; /* w[k,c] */
};

/* Is b a parameter with one element for each column of the product y? */
static bool is_bias(const struct rewriting *rw, const struct match *m)
{
    const struct hypar_shape *y = &rw->g->tensors[hp_captured(m, 'y')].shape;
    const struct tensor *b = &rw->g->tensors[hp_captured(m, 'b')];
    return b->kind == TENSOR_PARAM && b->shape.n_dims == 1 &&
           b->shape.dim[0] == y->dim[y->n_dims - 1];
}

/* The linear layer that writes `t`. */
static bool linear_at(struct rewriting *rw, int t, struct linear *out)
{
    const struct hypar_graph *g = rw->g;
    struct match m;
    if (!hp_match(rw, hp_pattern(rw, "<y=linear(x w) | y=linear(x w b)>"), t, NULL, &m) &&
        !hp_match(rw, hp_pattern(rw, "add(y=!linear(x w) b)"), t, is_bias, &m))
        return false;
    *out = (struct linear){ g->tensors[hp_captured(&m, 'y')].producer, hp_captured(&m, 'x'),
                            hp_captured(&m, 'w'), hp_captured(&m, 'b'), false };
    out->transposed = hp_attr_int(g->ops[out->op].nest->attrs, ATTR_TRANSPOSED, 0, 0) != 0;
    int turned = hp_made_by(rw, out->w, OP_TRANSPOSE);
    if (turned >= 0 && hp_attr(g->ops[turned].nest->attrs, ATTR_PERM, 0, 0) == 1) {
        out->w = g->ops[turned].tensor[0];
        out->transposed = !out->transposed;
    }
    return true;
}

static int write_linear(struct rewriting *rw, const struct linear *l, const char *name, int w,
                        int bias)
{
    double transposed = l->transposed;
    int in[3] = { rw->map[l->x], w, bias };
    return hp_new_op(rw, OP_LINEAR, name, bias >= 0 ? 3 : 2, in,
                     hp_attrs_copy(rw->arena, ATTRS({ ATTR_TRANSPOSED, 1, &transposed })), 1);
}

/* x w, then + b: one layer. */
bool hp_write_biased(struct rewriting *rw, const struct match *m)
{
    struct linear l;
    int t = hp_output(rw, m->op);
    if (!linear_at(rw, t, &l))
        return false;
    rw->map[t] = write_linear(rw, &l, hp_scope(rw, rw->g->ops[l.op].name), rw->map[l.w],
                              rw->map[l.bias]);
    return true;
}

/* Does operator `op` take a part of dimension `dim` of `t`, as a slice or a split? Adds the
 * size of the part to *taken. */
static bool takes_columns(const struct rewriting *rw, int op, int t, int dim, int64_t *taken)
{
    const struct op *o = &rw->g->ops[op];
    const struct hypar_shape *shape = &rw->g->tensors[t].shape;
    bool slice = o->kind == OP_SLICE;
    if ((!slice && o->kind != OP_SPLIT) ||
        hp_attr_int(o->nest->attrs, ATTR_AXIS, 0, 0) != dim ||
        hp_attr_int(o->nest->attrs, ATTR_STEP, 0, 1) != 1)
        return false;
    *taken += slice ? hp_attr_int(o->nest->attrs, ATTR_STOP, 0, 0) -
                          hp_attr_int(o->nest->attrs, ATTR_START, 0, 0)
                    : shape->dim[dim];
    return true;
}

/* Do all readers of `t` together take each part of its dimension `dim` once? */
static bool is_divided(const struct rewriting *rw, int t, int dim)
{
    const struct hypar_graph *g = rw->g;
    int64_t taken = 0;
    for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++) {
        if (!takes_columns(rw, g->use[u].op, t, dim, &taken))
            return false;
        for (int v = g->use_start[t]; v < u; v++) {
            const struct attrs *a = g->ops[g->use[u].op].nest->attrs,
                               *b = g->ops[g->use[v].op].nest->attrs;
            if (hp_attr(a, ATTR_START, 0, 0) < hp_attr(b, ATTR_STOP, 0, 0) &&
                hp_attr(b, ATTR_START, 0, 0) < hp_attr(a, ATTR_STOP, 0, 0))
                return false;
        }
    }
    return taken == g->tensors[t].shape.dim[dim];
}

/* Columns [start, stop) of a linear layer as a layer of their own. */
static int write_columns(struct rewriting *rw, const struct linear *l, int64_t start,
                         int64_t stop)
{
    const char *name =
        hp_arena_printf(rw->arena, "%s[%lld:%lld]", hp_scope(rw, rw->g->ops[l->op].name),
                        (long long)start, (long long)stop);
    int w = hp_new_part(rw, l->w, l->transposed ? 0 : 1, start, stop);
    int bias = l->bias >= 0 ? hp_new_part(rw, l->bias, 0, start, stop) : -1;
    return write_linear(rw, l, name, w, bias);
}

/* The tensor before a reshape that keeps the rows of `t`; `t` itself where there is none. */
static int before_rows(const struct rewriting *rw, int t)
{
    int op = hp_made_by(rw, t, OP_RESHAPE), x = op >= 0 ? rw->g->ops[op].tensor[0] : -1;
    if (op < 0 || hp_readers(rw, x) != 1)
        return t;
    const struct hypar_shape *from = &rw->g->tensors[x].shape, *to = &rw->g->tensors[t].shape;
    return from->n_dims && to->n_dims && from->dim[from->n_dims - 1] == to->dim[to->n_dims - 1]
               ? x
               : t;
}

/* Columns [start, stop) in place of output `y` of a slice or a split. */
static void replace_columns(struct rewriting *rw, const struct linear *l, int y, int64_t start,
                            int64_t stop)
{
    int t = write_columns(rw, l, start, stop);
    rw->map[y] = hp_new_reshape(rw, rw->op[rw->n_ops - 1].name, t, &rw->g->tensors[y].shape);
}

/* Is `t` written by a linear layer whose weights have no other reader? */
static bool is_own_linear(struct rewriting *rw, int t, struct linear *l)
{
    return linear_at(rw, t, l) && rw->g->tensors[l->w].kind == TENSOR_PARAM &&
           hp_readers(rw, l->w) == 1 && (l->bias < 0 || hp_readers(rw, l->bias) == 1) &&
           hp_readers(rw, rw->g->ops[l->op].tensor[1]) == 1;
}

/* Slices or a split of the columns. */
bool hp_write_columns(struct rewriting *rw, const struct match *m)
{
    const struct op *o = &rw->g->ops[m->op];
    struct linear l;
    if (!is_own_linear(rw, before_rows(rw, o->tensor[0]), &l) ||
        !is_divided(rw, o->tensor[0], rw->g->tensors[o->tensor[0]].shape.n_dims - 1))
        return false;
    if (o->kind == OP_SLICE) {
        replace_columns(rw, &l, hp_output(rw, m->op),
                        hp_attr_int(o->nest->attrs, ATTR_START, 0, 0),
                        hp_attr_int(o->nest->attrs, ATTR_STOP, 0, 0));
        return true;
    }
    int64_t start = 0;
    const struct attr *sizes = hp_attr_get(o->nest->attrs, ATTR_SIZES);
    for (int i = 0; i < sizes->n; i++) {
        int64_t stop = start + (int64_t)sizes->v[i];
        replace_columns(rw, &l, o->tensor[1 + i], start, stop);
        start = stop;
    }
    return true;
}

/* A linear layer whose result, tensor `base`, is reshaped and transposed before it is sliced.
 */
struct packed {
    struct linear linear;
    int base;
    struct shuffle shuffle;
    int factor;      /* of the shuffle: its index chooses the part of the columns */
    int64_t columns; /* in each part */
};

/* Goes back from `t` over reshapes and transposes without other readers to a linear layer.
 * Dimension `dim` of `t` must count parts of the layer's columns. */
static bool find_packed(struct rewriting *rw, int t, int dim, struct packed *p)
{
    enum { MAX_CHAIN = 8 };
    const struct hypar_graph *g = rw->g;
    int chain[MAX_CHAIN], n = 0;
    for (int op = g->tensors[t].producer; op >= 0 && hp_moves_only(g->ops[op].kind);
         op = g->tensors[t].producer) {
        t = g->ops[op].tensor[0];
        if (n == MAX_CHAIN || hp_readers(rw, t) != 1)
            return false;
        chain[n++] = op;
    }
    if (!n || !is_own_linear(rw, t, &p->linear))
        return false;
    const struct hypar_shape *base = &g->tensors[t].shape;
    p->base = t;
    p->shuffle = hp_shuffle_start(base);
    while (n-- > 0)
        if (!hp_shuffle_step(&p->shuffle, g, chain[n]))
            return false;
    if (!hp_shuffle_refine(&p->shuffle, base))
        return false;
    p->factor = p->shuffle.first[dim];
    p->columns = p->shuffle.stride[p->factor];
    return p->shuffle.first[dim + 1] == p->factor + 1 &&
           p->shuffle.size[p->factor] * p->columns == base->dim[base->n_dims - 1];
}

/* The shuffle of a layer that has only `n` parts of the columns. */
static struct shuffle of_parts(const struct packed *p, int64_t all, int64_t n)
{
    struct shuffle s = { .n_dims = p->shuffle.n_dims };
    int to = 0;
    for (int d = 0; d < s.n_dims; d++) {
        s.first[d] = to;
        for (int f = p->shuffle.first[d]; f < p->shuffle.first[d + 1]; f++) {
            int64_t stride = p->shuffle.stride[f];
            if (f == p->factor && n == 1)
                continue;
            s.size[to] = f == p->factor ? n : p->shuffle.size[f];
            s.stride[to++] = stride >= all ? stride / all * n * p->columns : stride;
        }
    }
    s.first[s.n_dims] = to;
    return s;
}

/* One part of a linear layer that was reshaped and transposed first: [.., 3, width], then the
 * parts first, then one of them. */
bool hp_write_packed(struct rewriting *rw, const struct match *m)
{
    const struct op *o = &rw->g->ops[m->op];
    struct packed p;
    int axis = (int)hp_attr_int(o->nest->attrs, ATTR_AXIS, 0, 0);
    if (!is_divided(rw, o->tensor[0], axis) || !find_packed(rw, o->tensor[0], axis, &p))
        return false;
    int64_t start = hp_attr_int(o->nest->attrs, ATTR_START, 0, 0),
            stop = hp_attr_int(o->nest->attrs, ATTR_STOP, 0, 0);
    const struct hypar_shape *base = &rw->g->tensors[p.base].shape;
    struct shuffle s = of_parts(&p, base->dim[base->n_dims - 1], stop - start);
    struct shuffle_plan plan;
    if (!hp_shuffle_plan(&s, &plan))
        return false;
    int t = write_columns(rw, &p.linear, start * p.columns, stop * p.columns);
    const char *name = rw->op[rw->n_ops - 1].name;
    rw->map[hp_output(rw, m->op)] = hp_new_shuffle(rw, name, t, &plan);
    return true;
}
