/* Rotary position embeddings, as exporters write them: x c + turned(x) s. The row in rules.c
 * has the pattern; this file checks the halves of x and the tables of cosines and sines, and
 * writes the operator. */
#include <string.h>

#include "model/onnx/rewrite/rules.h"

/* The values of a constant of the first graph, NULL: it is none. */
static const double *constant_of(const struct rewriting *rw, int t)
{
    const struct importing *im = rw->im;
    bool known = t >= 0 && t < im->n_sources && im->source[t].name &&
                 rw->g->tensors[t].kind == TENSOR_INPUT;
    return known && !im->source[t].source.uniform ? im->source[t].source.constant : NULL;
}

/* Is `t` half `which` of the last dimension of x? */
static bool is_half(const struct rewriting *rw, int t, int x, int which)
{
    int slice = hp_made_by(rw, t, OP_SLICE), split = hp_made_by(rw, t, OP_SPLIT);
    int op = slice >= 0 ? slice : split, last = rw->g->tensors[x].shape.n_dims - 1;
    int64_t half = rw->g->tensors[x].shape.dim[last] / 2;
    if (op < 0 || rw->g->ops[op].tensor[0] != x)
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

struct rotary {
    int x, cosines, sines; /* tensors of the first graph */
    int positions;         /* the dimension of x that has them, 1 or 2 */
    double theta;
};

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

static struct rotary read_match(const struct match *m)
{
    return (struct rotary){ .x = hp_captured(m, 'x'),
                            .cosines = hp_captured(m, 'c'),
                            .sines = hp_captured(m, 's') };
}

bool hp_is_rotary(const struct rewriting *rw, const struct match *m)
{
    struct rotary r = read_match(m);
    const struct hypar_shape *x = &rw->g->tensors[r.x].shape;
    return constant_of(rw, r.cosines) && constant_of(rw, r.sines) && x->n_dims >= 1 &&
           x->dim[x->n_dims - 1] % 2 == 0 && is_half(rw, hp_captured(m, 'h'), r.x, 1) &&
           is_half(rw, hp_captured(m, 'l'), r.x, 0) && read_tables(rw, &r);
}

bool hp_write_rotary(struct rewriting *rw, const struct match *m)
{
    static const int exchanged[4] = { 0, 2, 1, 3 };
    const struct op *o = &rw->g->ops[m->op];
    struct rotary r = read_match(m);
    if (!read_tables(rw, &r))
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
    y = hp_new_op(rw, OP_ROPE, o->name, 1, &y,
                  hp_attrs_copy(rw->arena, ATTRS({ ATTR_HEADS, 1, &n_heads },
                                                 { ATTR_THETA, 1, &r.theta })),
                  1);
    y = hp_new_reshape(rw, o->name, y, &apart);
    rw->map[o->tensor[2]] = turned ? hp_new_transpose(rw, o->name, y, 4, exchanged) : y;
    return true;
}
