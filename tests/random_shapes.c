/* Random operators that change shapes. */
#include <string.h>

#include "tests/random_maker.h"

/* A dimension of x, rarely that of the samples. */
static int some_dim(struct maker *m, int x)
{
    int d = (int)hp_random_below(m->random, maker_rank(m, x));
    if (d == maker_sample_dim(m, x) && !one_in(m->random, 8))
        d = (d + 1) % maker_rank(m, x);
    return d;
}

bool emit_cumsum(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4);
    double axis = some_dim(m, x), reverse = one_in(m->random, 2);
    return maker_op(m, kind, 1, &x,
                    ATTRS({ ATTR_AXIS, 1, &axis }, { ATTR_REVERSE, 1, &reverse }), NULL);
}

/* A dimension of samples is looked up only where it is the same for all of them. */
bool emit_gather(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4), axis = some_dim(m, x);
    double at = axis;
    bool whole = maker_sample_dim(m, x) == 0 && maker_shape(m, x)->dim[0] == m->batch;
    struct hypar_shape shape = *maker_shape(m, x);
    shape.dim[axis] = draw(m->random, 1, 6);
    if (kind == OP_INDEX_SELECT) {
        struct hypar_shape line = { 1, { shape.dim[axis] } };
        return maker_op(m, kind, IN(x, maker_input(m, line, true, -1)),
                        ATTRS({ ATTR_AXIS, 1, &at }), NULL);
    }
    if (!whole || axis == 0)
        return false;
    int i = maker_input(m, shape, true, 0);
    if (kind == OP_GATHER_ELEMENTS)
        return maker_op(m, kind, IN(x, i), ATTRS({ ATTR_AXIS, 1, &at }), NULL);
    return maker_op(m, kind, IN(x, i, maker_fresh_of(m, shape)), ATTRS({ ATTR_AXIS, 1, &at }),
                    NULL);
}

bool emit_concat(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4), inputs[3] = { x }, n = 1;
    double axis = some_dim(m, x);
    for (int i = 0; i < m->n_pool && n < 3; i++) {
        const struct hypar_shape *a = maker_shape(m, x), *b = maker_shape(m, m->pool[i]);
        bool fits = a->n_dims == b->n_dims &&
                    maker_sample_dim(m, x) == maker_sample_dim(m, m->pool[i]) &&
                    one_in(m->random, 2);
        for (int d = 0; fits && d < a->n_dims; d++)
            fits = d == (int)axis || a->dim[d] == b->dim[d];
        if (fits)
            inputs[n++] = m->pool[i];
    }
    if (n < 3 && one_in(m->random, 3))
        inputs[n++] = x;
    if (n == 1)
        inputs[n++] = maker_apply(m, OP_TANH, x, NULL);
    return maker_op(m, kind, n, inputs, ATTRS({ ATTR_AXIS, 1, &axis }), NULL);
}

bool emit_split(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4), n = 0;
    double axis = some_dim(m, x), sizes[4];
    int64_t left = maker_shape(m, x)->dim[(int)axis];
    while (left > 0 && n < 3) {
        int64_t size = n == 2 ? left : draw(m->random, 1, left);
        sizes[n++] = (double)size;
        left -= size;
    }
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_AXIS, 1, &axis }, { ATTR_SIZES, n, sizes }),
                    NULL);
}

bool emit_slice(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4);
    double axis = some_dim(m, x);
    int64_t size = maker_shape(m, x)->dim[(int)axis];
    double start = (double)hp_random_below(m->random, size);
    double stop = (double)draw(m->random, (int64_t)start + 1, size);
    double step = (double)draw(m->random, 1, 3);
    return maker_op(m, kind, 1, &x,
                    ATTRS({ ATTR_AXIS, 1, &axis }, { ATTR_START, 1, &start },
                          { ATTR_STOP, 1, &stop }, { ATTR_STEP, 1, &step }),
                    NULL);
}

bool emit_pad(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4), rank = maker_rank(m, x);
    double pad[2 * MAX_DIMS] = { 0 };
    for (int i = 0; i < 2; i++) {
        int d = some_dim(m, x);
        pad[i * rank + d] = (double)hp_random_below(m->random, 3);
    }
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_PAD, 2 * rank, pad }), NULL);
}

bool emit_transpose(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4), rank = maker_rank(m, x), first = one_in(m->random, 4) ? 0 : 1;
    double perm[MAX_DIMS];
    for (int d = 0; d < rank; d++)
        perm[d] = d;
    for (int d = rank - 1; d > first; d--) {
        int with = (int)draw(m->random, first, d);
        double swap = perm[d];
        perm[d] = perm[with];
        perm[with] = swap;
    }
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_PERM, rank, perm }), NULL);
}

/* Divide a dimension, join two, or draw a new shape after the first dimension. */
bool emit_reshape(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4), rank = maker_rank(m, x), n = 0;
    struct hypar_shape old = *maker_shape(m, x);
    double shape[MAX_DIMS];
    int which = (int)hp_random_below(m->random, 3), at = (int)draw(m->random, 0, rank - 1);
    if (which == 0 && rank < 4) {
        for (int d = 0; d < rank; d++) {
            int64_t by =
                d == at && (d > 0 || one_in(m->random, 4)) ? maker_divisor(m, old.dim[d]) : 0;
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
            int64_t by = maker_divisor(m, left);
            shape[n++] = (double)by;
            left /= by;
        }
        shape[n++] = -1;
    }
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_SHAPE, n, shape }), NULL);
}

bool emit_flatten(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 3, 4);
    double axis = (double)draw(m->random, one_in(m->random, 8) ? 0 : 1, 2);
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_AXIS, 1, &axis }), NULL);
}

bool emit_squeeze(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 1, 3);
    double axis = (double)draw(m->random, one_in(m->random, 8) ? 0 : 1, maker_rank(m, x));
    if (kind == OP_UNSQUEEZE)
        return maker_op(m, kind, 1, &x, ATTRS({ ATTR_AXES, 1, &axis }), NULL);
    x = maker_apply(m, OP_UNSQUEEZE, x, ATTRS({ ATTR_AXES, 1, &axis }));
    x = maker_apply(m, OP_GELU, x, NULL);
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_AXES, 1, &axis }), NULL);
}

/* A parameter repeated for every sample, or an activation along a new dimension. */
bool emit_expand(struct maker *m, enum op_kind kind)
{
    struct hypar_shape shape = maker_new_shape(m, (int)draw(m->random, 2, 4)), from = shape;
    double to[MAX_DIMS];
    for (int d = 0; d < shape.n_dims; d++) {
        to[d] = (double)shape.dim[d];
        if (one_in(m->random, 2) || d == 0)
            from.dim[d] = 1;
    }
    if (one_in(m->random, 2)) {
        from.dim[0] = shape.dim[0];
        return maker_op(m, kind, IN(maker_fresh_of(m, from)),
                        ATTRS({ ATTR_SHAPE, shape.n_dims, to }), NULL);
    }
    if (one_in(m->random, 2)) {
        memmove(from.dim, from.dim + 1, (size_t)(from.n_dims - 1) * sizeof from.dim[0]);
        from.n_dims--;
    }
    return maker_op(m, kind, IN(maker_param(m, from)), ATTRS({ ATTR_SHAPE, shape.n_dims, to }),
                    NULL);
}

bool emit_reduce(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 2, 4), n = 0;
    double axes[MAX_DIMS], keep_dims = one_in(m->random, 2);
    for (int d = 0; d < maker_rank(m, x) && n < maker_rank(m, x) - 1; d++)
        if (d != maker_sample_dim(m, x) ? one_in(m->random, 2) : one_in(m->random, 10))
            axes[n++] = d;
    if (n == 0)
        axes[n++] = maker_rank(m, x) - 1;
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_AXES, n, axes }, { ATTR_KEEP, 1, &keep_dims }),
                    NULL);
}

bool emit_global_pool(struct maker *m, enum op_kind kind)
{
    int x = maker_pick(m, 3, 4);
    double keep_dims = one_in(m->random, 2);
    return maker_op(m, kind, 1, &x, ATTRS({ ATTR_KEEP, 1, &keep_dims }), NULL);
}
