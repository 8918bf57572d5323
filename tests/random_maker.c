#include "tests/random_maker.h"

#include <stdio.h>

const struct hypar_shape *maker_shape(const struct maker *m, int t)
{
    return &hp_build_graph(m->builder)->tensors[t].shape;
}

int maker_sample_dim(const struct maker *m, int t)
{
    return hp_build_graph(m->builder)->tensors[t].sample_dim;
}

int maker_rank(const struct maker *m, int t)
{
    return maker_shape(m, t)->n_dims;
}

static const char *new_name(struct maker *m, const char *stem, char *text, size_t n)
{
    snprintf(text, n, "%s%d", stem, m->n_names++);
    return text;
}

static void keep(struct maker *m, int t)
{
    if (m->n_pool < MAX_POOL && hp_shape_elements(maker_shape(m, t)) <= MAX_ELEMENTS) {
        m->pool[m->n_pool] = t;
        m->used[m->n_pool++] = false;
    }
}

void maker_mark_used(struct maker *m, int t)
{
    for (int i = 0; i < m->n_pool; i++)
        if (m->pool[i] == t)
            m->used[i] = true;
}

int maker_input(struct maker *m, struct hypar_shape shape, bool index, int sample_dim)
{
    char name[32];
    return hp_build_input(m->builder, new_name(m, "in", name, sizeof name), &shape, index,
                          sample_dim);
}

int maker_param(struct maker *m, struct hypar_shape shape)
{
    char name[32];
    return hp_build_param(m->builder, new_name(m, "p", name, sizeof name), &shape);
}

/* Append an operator; false if it does not fit. Outputs go to the pool. */
bool maker_op(struct maker *m, enum op_kind kind, int n_inputs, const int *inputs,
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
            maker_mark_used(m, inputs[i]);
    const struct hypar_graph *graph = hp_build_graph(m->builder);
    const struct nest *nest = graph->ops[graph->n_ops - 1].nest;
    for (int o = 0, n = 0; o < nest->n_operands; o++)
        if (nest->operand[o].role == OPERAND_OUTPUT)
            keep(m, outputs[n++]);
    return true;
}

int maker_apply(struct maker *m, enum op_kind kind, int x, const struct attrs *attrs)
{
    int y[MAX_OPERANDS];
    return maker_op(m, kind, 1, &x, attrs, y) ? y[0] : x;
}

/* Picking what an operator is applied to ------------------------------------------- */

struct hypar_shape maker_new_shape(struct maker *m, int rank)
{
    static const int largest[6] = { 0, 9, 9, 6, 5, 3 };
    struct hypar_shape shape = { rank, { m->batch } };
    for (int d = 1; d < rank; d++)
        shape.dim[d] = draw(m->random, 1, largest[rank]);
    return shape;
}

/* A new tensor of a shape with the samples first: a model input, mostly times a parameter, so
 * that a gradient flows. */
int maker_fresh_of(struct maker *m, struct hypar_shape shape)
{
    int x = maker_input(m, shape, false, 0);
    if (one_in(m->random, 3))
        return x;
    struct hypar_shape scale = { 1, { shape.dim[shape.n_dims - 1] } };
    if (shape.n_dims == 1 || one_in(m->random, 3))
        scale.dim[0] = 1;
    int y[1];
    return maker_op(m, OP_MUL, IN(x, maker_param(m, scale)), NULL, y) ? y[0] : x;
}

int maker_fresh(struct maker *m, int rank)
{
    return maker_fresh_of(m, maker_new_shape(m, rank));
}

/* Something of a rank from lo to hi, of those not used yet if possible. */
int maker_pick(struct maker *m, int lo, int hi)
{
    int fit[MAX_POOL], n = 0;
    bool unused = !one_in(m->random, 4);
    for (int round = 0; round < 2 && n == 0; round++, unused = false)
        for (int i = 0; i < m->n_pool; i++) {
            int rank = maker_rank(m, m->pool[i]);
            if (rank >= lo && rank <= hi && !(unused && m->used[i]))
                fit[n++] = m->pool[i];
        }
    if (n == 0 || one_in(m->random, 8))
        return maker_fresh(m, (int)draw(m->random, lo, hi));
    return fit[hp_random_below(m->random, n)];
}

int64_t maker_divisor(struct maker *m, int64_t n)
{
    int64_t d = draw(m->random, 1, n);
    while (n % d)
        d--;
    return d;
}

/* Values between 0.5 and 1.5: what may be divided by. */
int maker_positive(struct maker *m, int x)
{
    x = maker_apply(m, OP_SIGMOID, x, NULL);
    return maker_apply(m, OP_AFFINE, x,
                       ATTRS({ ATTR_ALPHA, 1, V(1) }, { ATTR_BETA, 1, V(0.5) }));
}

/* A parameter that broadcasts to the shape of x, rarely with a place for each sample. */
int maker_broadcast_param(struct maker *m, int x)
{
    struct hypar_shape full = *maker_shape(m, x), shape = { 0 };
    shape.n_dims = full.n_dims ? (int)draw(m->random, 1, full.n_dims) : 0;
    for (int d = 0; d < shape.n_dims; d++) {
        int from = full.n_dims - shape.n_dims + d;
        bool one =
            one_in(m->random, 3) || (from == maker_sample_dim(m, x) && !one_in(m->random, 12));
        shape.dim[d] = one ? 1 : full.dim[from];
    }
    return maker_param(m, shape);
}
