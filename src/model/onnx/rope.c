/* Rotary position embeddings, as exporters write them: x cos + turned(x) sin, where turned(x)
 * is the second half of each head, negated, before the first, and the tables are constants. */
#include <math.h>
#include <string.h>

#include "model/onnx/rewrite.h"

/* The values of a constant of the first graph, NULL: it is none. */
static const double *constant_of(const struct rewriting *rw, int t)
{
    const struct importing *im = rw->im;
    bool known = t >= 0 && t < im->n_sources && im->source[t].name &&
                 rw->g->tensors[t].kind == TENSOR_INPUT;
    return known && !im->source[t].source.uniform ? im->source[t].source.constant : NULL;
}

static int input(const struct rewriting *rw, int op, int i)
{
    return op >= 0 ? rw->g->ops[op].tensor[i] : -1;
}

/* Is `t` half `which` of the last dimension of x? */
static bool is_half(const struct rewriting *rw, int t, int x, int which)
{
    int slice = hp_made_by(rw, t, OP_SLICE), split = hp_made_by(rw, t, OP_SPLIT);
    int op = slice >= 0 ? slice : split, last = rw->g->tensors[x].shape.n_dims - 1;
    int64_t half = rw->g->tensors[x].shape.dim[last] / 2;
    if (op < 0 || input(rw, op, 0) != x)
        return false;
    const struct attrs *attrs = rw->g->ops[op].nest->attrs;
    if (hp_attr_int(attrs, ATTR_AXIS, 0, 0) != last)
        return false;
    if (split >= 0)
        return hp_attr_get(attrs, ATTR_SIZES)->n == 2 &&
               hp_attr_int(attrs, ATTR_SIZES, 0, 0) == half &&
               rw->g->ops[op].tensor[1 + which] == t;
    return hp_attr_int(attrs, ATTR_START, 0, 0) == which * half &&
           hp_attr_int(attrs, ATTR_STOP, 0, 0) == (1 + which) * half &&
           hp_attr_int(attrs, ATTR_STEP, 0, 1) == 1;
}

/* Is `t` the turned x? */
static bool is_turned(const struct rewriting *rw, int t, int x)
{
    int concat = hp_made_by(rw, t, OP_CONCAT);
    const struct hypar_shape *shape = &rw->g->tensors[x].shape;
    if (concat < 0 || rw->g->ops[concat].nest->n_inputs != 2 || shape->n_dims < 1 ||
        shape->dim[shape->n_dims - 1] % 2 ||
        hp_attr_int(rw->g->ops[concat].nest->attrs, ATTR_AXIS, 0, 0) != shape->n_dims - 1)
        return false;
    int negated = hp_made_by(rw, input(rw, concat, 0), OP_NEG);
    return negated >= 0 && is_half(rw, input(rw, negated, 0), x, 1) &&
           is_half(rw, input(rw, concat, 1), x, 0);
}

struct rotary {
    int x, cosines, sines; /* tensors of the first graph */
    int positions;         /* the dimension of x that has them, 1 or 2 */
    double theta;
};

/* Two products: which of them has which table? */
static bool find_factors(const struct rewriting *rw, int plain, int turned, struct rotary *r)
{
    for (int i = 0; i < 4 && plain >= 0 && turned >= 0; i++) {
        r->x = input(rw, plain, i & 1);
        r->cosines = input(rw, plain, 1 - (i & 1));
        r->sines = input(rw, turned, 1 - (i >> 1));
        if (constant_of(rw, r->cosines) && constant_of(rw, r->sines) &&
            is_turned(rw, input(rw, turned, i >> 1), r->x))
            return true;
    }
    return false;
}

/* Tables [1, 1, t, d] or [1, t, 1, d], also once for each sample, of angles with one base; both
 * halves of a line are the same. */
static bool read_tables(const struct rewriting *rw, struct rotary *r)
{
    const double *table[2] = { constant_of(rw, r->cosines), constant_of(rw, r->sines) };
    const struct hypar_shape *x = &rw->g->tensors[r->x].shape,
                             *s = &rw->g->tensors[r->cosines].shape;
    if (x->n_dims != 4 || s->n_dims != 4 ||
        !hp_same_shape(s, &rw->g->tensors[r->sines].shape) || s->dim[3] != x->dim[3] ||
        (s->dim[1] > 1) == (s->dim[2] > 1))
        return false;
    r->positions = s->dim[2] > 1 ? 2 : 1;
    int64_t t = s->dim[r->positions], d = s->dim[3];
    if (t != x->dim[r->positions])
        return false;
    for (int i = 0; i < 2; i++)
        for (int64_t k = 0; k < s->dim[0] * t * d; k++)
            if (table[i][k] != table[i][k % (t * d)] ||
                (k % d >= d / 2 && table[i][k] != table[i][k - d / 2]))
                return false;
    r->theta = hp_rotary_theta(table[0], table[1], t, d / 2, d);
    return r->theta > 0;
}

bool hp_fuse_rope(struct rewriting *rw, int op)
{
    static const int exchanged[4] = { 0, 2, 1, 3 };
    const struct op *o = &rw->g->ops[op];
    struct rotary r;
    if (o->kind != OP_ADD)
        return false;
    int a = hp_made_by(rw, input(rw, op, 0), OP_MUL),
        b = hp_made_by(rw, input(rw, op, 1), OP_MUL);
    if ((!find_factors(rw, a, b, &r) && !find_factors(rw, b, a, &r)) || !read_tables(rw, &r))
        return false;
    const struct hypar_shape *s = &rw->g->tensors[r.x].shape;
    bool turned = r.positions == 2;
    int64_t positions = s->dim[r.positions], heads = s->dim[3 - r.positions];
    struct hypar_shape merged = { 3, { s->dim[0], positions, heads * s->dim[3] } };
    struct hypar_shape apart = { 4, { s->dim[0], positions, heads, s->dim[3] } };
    double n_heads = (double)heads;
    int y = rw->map[r.x];
    if (turned)
        y = hp_new_transpose(rw, o->name, y, 4, exchanged);
    y = hp_new_reshape(rw, o->name, y, &merged);
    y = hp_new_op(
        rw, OP_ROPE, o->name, 1, &y,
        hp_new_attrs(rw, ATTRS({ ATTR_HEADS, 1, &n_heads }, { ATTR_THETA, 1, &r.theta })), 1);
    y = hp_new_reshape(rw, o->name, y, &apart);
    rw->map[o->tensor[2]] = turned ? hp_new_transpose(rw, o->name, y, 4, exchanged) : y;
    return true;
}
