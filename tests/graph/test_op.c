/* Every row of the operator table, fitted to small tensors: shapes, axes, passes, counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"

/* Inputs are written "4,8 #4 w3,5 -": numbers, integers, a parameter, absent; "+": make it.
 * A batch of 4; the samples are dimension 0 of every input but "s4,8", "i4" (integers; none)
 * and "t7,4" (1). */
struct op_case {
    enum op_kind kind;
    const char *inputs;
    const struct attrs *attrs;
    const char *expected; /* outputs; axes (letter, extent, role, ! not splittable); forward
                             multiply-adds */
};

static const char *read_shape(const char *p, struct hypar_shape *shape)
{
    *shape = (struct hypar_shape){ 0 };
    while (*p >= '0' && *p <= '9') {
        char *end;
        shape->dim[shape->n_dims++] = strtol(p, &end, 10);
        p = *end == ',' ? end + 1 : end;
    }
    return p;
}

static int read_inputs(struct graph_builder *b, const char *p, int *tensor)
{
    int n = 0;
    while (*p) {
        char form = *p, name[16];
        snprintf(name, sizeof name, "in%d", n);
        if (strchr("#iwst-+", form))
            p++;
        struct hypar_shape shape;
        p = read_shape(p, &shape);
        if (form == '-' || form == '+')
            tensor[n++] = form == '-' ? HP_ABSENT : HP_MAKE;
        else if (form == 'w')
            tensor[n++] = hp_build_param(b, name, &shape);
        else
            tensor[n++] = hp_build_input(b, name, &shape, form == '#' || form == 'i',
                                         form == 's' || form == 'i' ? -1
                                         : form == 't'              ? 1
                                                                    : 0);
        p += *p == ' ';
    }
    return n;
}

static void describe(const struct hypar_graph *g, char *text, size_t size)
{
    const struct op *op = &g->ops[0];
    size_t n = 0;
    for (int o = 0; o < op->nest->n_operands; o++) {
        const struct operand *operand = &op->nest->operand[o];
        if (operand->role != OPERAND_OUTPUT)
            continue;
        n += (size_t)snprintf(text + n, size - n, "%s[", operand->name);
        for (int d = 0; d < operand->n_dims; d++)
            n += (size_t)snprintf(text + n, size - n, "%s%lld", d ? "," : "",
                                  (long long)operand->size[d]);
        n += (size_t)snprintf(text + n, size - n, "] ");
    }
    for (int a = 0; a < op->nest->n_axes - 1; a++) {
        const struct hypar_axis *axis = &op->nest->axis[a];
        n += (size_t)snprintf(text + n, size - n, "%s%lld%c%s ", axis->name,
                              (long long)axis->extent, "SAPRCI"[axis->role],
                              axis -> splittable || axis -> role == HYPAR_INNER ? "" : "!");
    }
    snprintf(text + n, size - n, "%g", hp_nest_macs(op->nest, false));
}

static enum hypar_status build_case(const struct op_case *c, struct hypar_graph **out,
                                    struct hypar_error *err)
{
    int in[MAX_OPERANDS], made[MAX_OPERANDS];
    struct graph_builder *b = hp_build("case", 4);
    int n = read_inputs(b, c->inputs, in);
    enum hypar_status status =
        hp_build_op(b, &(struct op_request){ c->kind, "op", n, in, c->attrs }, made, err);
    *out = NULL;
    if (status == HYPAR_OK)
        return hp_build_finish(b, out, err);
    hp_build_abandon(b);
    return status;
}

#define K(...)                                                               \
    {                                                                        \
        ATTR_KERNEL, sizeof(V(__VA_ARGS__)) / sizeof(double), V(__VA_ARGS__) \
    }
#define A1(id, v)          \
    {                      \
        ATTR_##id, 1, V(v) \
    }
#define AN(id, ...)                                                        \
    {                                                                      \
        ATTR_##id, sizeof(V(__VA_ARGS__)) / sizeof(double), V(__VA_ARGS__) \
    }

/* One or more for every row of the table. */
/* clang-format off */
static const struct op_case row_cases[] = {
    { OP_LINEAR, "4,8", ATTRS(A1(OUT, 3)), "y[4,3] n4S k3P c8R 96" },
    { OP_LINEAR, "4,5,8 w8,3 w3", NULL, "y[4,5,3] n4S t5A k3P c8R 480" },
    { OP_LINEAR, "4,5,6,8 + +", ATTRS(A1(OUT, 2), A1(TRANSPOSED, 1)), "y[4,5,6,2] n4S t5A u6A k2P c8R 1920" },
    { OP_LINEAR, "t7,4,8", ATTRS(A1(OUT, 3)), "y[7,4,3] n4S t7A k3P c8R 672" },
    { OP_LINEAR, "s7,8", ATTRS(A1(OUT, 3)), "y[7,3] n7A k3P c8R 168" },
    { OP_CONV, "4,3,9,9", ATTRS(K(3, 3), A1(OUT, 5)), "y[4,5,7,7] n4S k5P c3R h7A w7A i3I j3I 26460" },
    { OP_CONV, "4,3,9", ATTRS(K(3), A1(STRIDE, 2), AN(PAD, 1, 1), A1(OUT, 5)), "y[4,5,5] n4S k5P c3R h5A i3I 900" },
    { OP_CONV, "4,3,9,9", ATTRS(K(3), A1(STRIDE, 2), A1(PAD, 1), A1(OUT, 5)), "y[4,5,5,5] n4S k5P c3R h5A w5A i3I j3I 13500" },
    { OP_CONV, "4,3,9", ATTRS(K(3), A1(PAD, 1), A1(OUT, 5)), "y[4,5,9] n4S k5P c3R h9A i3I 1620" },
    { OP_GROUP_CONV, "4,6,5,5", ATTRS(K(3, 3), A1(GROUPS, 3), A1(OUT, 9)), "y[4,9,3,3] n4S g3P k3I c2I h3A w3A i3I j3I 5832" },
    { OP_CONV, "4,2,3,9,9", ATTRS(K(3, 3, 2), A1(STRIDE, 2), AN(PAD, 1, 0, 0, 1, 0, 0), A1(OUT, 5)), "y[4,5,2,4,4] n4S k5P c2R d2A h4A w4A l3I i3I j2I 23040" },
    { OP_GROUP_CONV, "4,6,5,5,5", ATTRS(K(3), A1(GROUPS, 3), A1(OUT, 9)), "y[4,9,3,3,3] n4S g3P k3I c2I d3A h3A w3A l3I i3I j3I 52488" },
    { OP_CONV_TRANSPOSE, "4,3,5,5", ATTRS(K(2, 2), A1(STRIDE, 2), A1(OUT, 6)), "y[4,6,10,10] n4S k6P c3R h10A w10A i2I j2I 7200" },
    { OP_CONV_TRANSPOSE, "4,3,5", ATTRS(K(3), A1(STRIDE, 2), A1(PAD, 1), A1(OUTPUT_PAD, 1), A1(OUT, 6)), "y[4,6,10] n4S k6P c3R h10A i3I 1080" },
    { OP_GROUP_CONV_TRANSPOSE, "4,6,5,5", ATTRS(K(2), A1(STRIDE, 2), A1(GROUPS, 3), A1(OUT, 9)), "y[4,9,10,10] n4S g3P k3I c2I h10A w10A i2I j2I 7200" },
    { OP_EMBEDDING, "#4,7", ATTRS(A1(OUT, 6), A1(VOCAB, 50)), "y[4,7,6] n4S t7A k6P v50R 0" },
    { OP_LSTM, "4,7,6 - - + + +", ATTRS(A1(OUT, 5)), "y[4,7,5] h[4,5] z[4,5] n4S t7I k5I c6I 6160" },
    { OP_LSTM_CELL, "4,6 - - + + +", ATTRS(A1(OUT, 5)), "y[4,5] s[4,5] n4S k5P c6I j5I 880" },
    { OP_GRU, "4,7,6 - + + +", ATTRS(A1(OUT, 5)), "y[4,7,5] h[4,5] n4S t7I k5I c6I 4620" },
    { OP_GRU_CELL, "4,6 - + + +", ATTRS(A1(OUT, 5)), "y[4,5] n4S k5P c6I j5I 660" },
    { OP_MATMUL, "4,2,3,5 4,2,5,6", NULL, "z[4,2,3,6] n4S b2A m3A k6A c5R 720" },
    { OP_MATMUL, "4,3,5 4,6,5", ATTRS(A1(TRANSPOSED, 1)), "z[4,3,6] n4S m3A k6A c5R 360" },
    { OP_ATTENTION, "4,7,24 4,9,12 4,9,18", ATTRS(A1(HEADS, 6), A1(KV_HEADS, 3)), "y[4,7,36] n4S a3A q7A s9R g2I d4I e6I 15120" },
    { OP_ATTENTION, "4,7,24 4,9,24 4,9,36 4,6,1,9", ATTRS(A1(HEADS, 6)), "y[4,7,36] n4S a6A q7A s9R g1I d4I e6I 15120" },
    { OP_ATTENTION, "4,5,7,24 4,5,9,24 4,5,9,36 4,5,1,1,9", ATTRS(A1(HEADS, 6)), "y[4,5,7,36] n4S w5A a6A q7A s9R g1I d4I e6I 75600" },
    { OP_MAX_POOL, "4,3,8,8", ATTRS(K(3, 3), AN(STRIDE, 2, 2)), "y[4,3,3,3] n4S c3A h3A w3A i3I j3I 0" },
    { OP_MAX_POOL, "4,3,8,8", ATTRS(K(3, 3), AN(STRIDE, 2, 2), A1(CEIL, 1)), "y[4,3,4,4] n4S c3A h4A w4A i3I j3I 0" },
    { OP_AVG_POOL, "4,3,8,8", ATTRS(K(2, 2), AN(STRIDE, 2, 2)), "y[4,3,4,4] n4S c3A h4A w4A i2I j2I 0" },
    { OP_MAX_POOL, "4,3,8,8,8", ATTRS(K(2), A1(STRIDE, 2)), "y[4,3,4,4,4] n4S c3A d4A h4A w4A l2I i2I j2I 0" },
    { OP_ADAPTIVE_MAX_POOL, "4,3,7,8", ATTRS(AN(SIZE, 3, 2)), "y[4,3,3,2] n4S c3A h3A w2A 0" },
    { OP_ADAPTIVE_AVG_POOL, "4,3,7", ATTRS(A1(SIZE, 9)), "y[4,3,9] n4S c3A h9A 0" },
    { OP_RESIZE_NEAREST, "4,3,7,8", ATTRS(AN(SIZE, 14, 4)), "y[4,3,14,4] n4S c3A h14A w4A 0" },
    { OP_RESIZE_LINEAR, "4,3,2,7,8", ATTRS(AN(SIZE, 4, 14, 4)), "y[4,3,4,14,4] n4S c3A d4A h14A w4A 0" },
    { OP_LRN, "4,8,3,3", ATTRS(A1(SIZE, 5)), "y[4,8,3,3] n4S c8A h3A w3A z5I 0" },
    { OP_BATCH_NORM, "4,3,5,5 + +", NULL, "y[4,3,5,5] n4S c3P h5A w5A 0" },
    { OP_BATCH_NORM, "4,3,2,5,5 + +", NULL, "y[4,3,2,5,5] n4S c3P d2A h5A w5A 0" },
    { OP_LAYER_NORM, "4,7,6 + +", NULL, "y[4,7,6] n4S t7A c6P 0" },
    { OP_RMS_NORM, "4,7,6 +", NULL, "y[4,7,6] n4S t7A c6P 0" },
    { OP_GROUP_NORM, "4,6,5,5 + +", ATTRS(A1(GROUPS, 3)), "y[4,6,5,5] n4S g3P c2I h5A w5A 0" },
    { OP_SOFTMAX, "4,7,6", NULL, "y[4,7,6] n4S t7A c6R 0" },
    { OP_SOFTMAX, "4,2,7,6", ATTRS(A1(CAUSAL, 1)), "y[4,2,7,6] n4S t2A u7A c6R 0" },
    { OP_LOG_SOFTMAX, "4,6", NULL, "y[4,6] n4S c6R 0" },
    { OP_CROSS_ENTROPY, "4,7,10 #4,7", NULL, "y[] n4S t7A c10R 0" },
    { OP_MSE_LOSS, "4,6 4,6", NULL, "y[] n4S c6A 0" },
    { OP_ADD, "4,7,6 w7,6", NULL, "z[4,7,6] n4S t7A c6A 0" },
    { OP_SUB, "4,6 4,1", NULL, "z[4,6] n4S c6A 0" },
    { OP_MUL, "4,3,5,5 4,3,1,1", NULL, "z[4,3,5,5] n4S c3A h5A w5A 0" },
    { OP_DIV, "4,6 4,6", NULL, "z[4,6] n4S c6A 0" },
    { OP_MINIMUM, "4,6 w6", NULL, "z[4,6] n4S c6A 0" },
    { OP_MAXIMUM, "4,6 w1", NULL, "z[4,6] n4S c6A 0" },
    { OP_WHERE, "4,6 w1 4,6", NULL, "z[4,6] n4S c6A 0" },
    { OP_RELU, "4,3,5,5", NULL, "y[4,3,5,5] n4S c3A h5A w5A 0" },
    { OP_GELU, "4,7,6", NULL, "y[4,7,6] n4S t7A c6A 0" },
    { OP_GELU_TANH, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_SIN, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_COS, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_SILU, "t7,4,6", NULL, "y[7,4,6] t7A n4S c6A 0" },
    { OP_SIGMOID, "4", NULL, "y[4] n4S 0" },
    { OP_TANH, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_LEAKY_RELU, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_ELU, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_SOFTPLUS, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_HARD_SIGMOID, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_HARD_SWISH, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_CLIP, "4,6", ATTRS(A1(MIN, 0), A1(MAX, 6)), "y[4,6] n4S c6A 0" },
    { OP_EXP, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_LOG, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_SQRT, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_POW, "4,6", ATTRS(A1(EXPONENT, 2)), "y[4,6] n4S c6A 0" },
    { OP_ERF, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_ABS, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_NEG, "4,6", NULL, "y[4,6] n4S c6A 0" },
    { OP_AFFINE, "4,6", ATTRS(A1(ALPHA, 2)), "y[4,6] n4S c6A 0" },
    { OP_DROPOUT, "4,6", ATTRS(A1(RATE, 0.1)), "y[4,6] n4S c6A 0" },
    { OP_IDENTITY, "4,2,3,4,5", NULL, "y[4,2,3,4,5] n4S c2A d3A h4A w5A 0" },
    { OP_ROPE, "4,7,12", ATTRS(A1(HEADS, 3)), "y[4,7,12] n4S t7A a3A d4I 0" },
    { OP_CUMSUM, "4,7,6", ATTRS(A1(AXIS, 1)), "y[4,7,6] n4S t7I c6A 0" },
    { OP_CUMSUM, "4,7", ATTRS(A1(AXIS, 0)), "y[4,7] n4I c7A 0" },
    { OP_CONCAT, "4,3,5 4,2,5", ATTRS(A1(AXIS, 1)), "y[4,5,5] n4S t5A c5A 0" },
    { OP_CONCAT, "4,3,5 4,3,2", ATTRS(A1(AXIS, -1)), "y[4,3,7] n4S t3A c7A 0" },
    { OP_CONCAT, "w1,1,5 4,2,5", ATTRS(A1(AXIS, 1)), "y[4,3,5] n4S t3A c5A 0" },
    { OP_SPLIT, "4,9", ATTRS(A1(AXIS, 1), AN(SIZES, 2, 3, 4)), "y0[4,2] y1[4,3] y2[4,4] n4S c9A 0" },
    { OP_SLICE, "4,9,6", ATTRS(A1(AXIS, 1), A1(START, 1), A1(STOP, 8), A1(STEP, 3)), "y[4,3,6] n4S t3A c6A 0" },
    { OP_PAD, "4,3", ATTRS(AN(PAD, 0, 1, 0, 2)), "y[4,6] n4S c6A 0" },
    { OP_TRANSPOSE, "4,7,6", ATTRS(AN(PERM, 1, 0, 2)), "y[7,4,6] t7A n4S c6A 0" },
    { OP_RESHAPE, "4,7,6", ATTRS(AN(SHAPE, -1, 6)), "y[28,6] n4S t7A! c6A 0" },
    { OP_RESHAPE, "4,12,7", ATTRS(AN(SHAPE, 0, 3, 4, 7)), "y[4,3,4,7] n4S t3A d4A! c7A 0" },
    { OP_RESHAPE, "4,6,10", ATTRS(AN(SHAPE, 0, 4, 15)), "y[4,4,15] n4S 0" },
    { OP_RESHAPE, "4,8,9", ATTRS(AN(SHAPE, 0, 2, 6, 6)), "y[4,2,6,6] n4S t2A d4I 0" },
    { OP_RESHAPE, "4,1,6", ATTRS(AN(SHAPE, 4, 2, 1, 3)), "y[4,2,1,3] n4S c2A d3A! 0" },
    { OP_FLATTEN, "4,3,5,5", NULL, "y[4,75] n4S c3A h5A! w5A! 0" },
    { OP_FLATTEN, "4,1,5,5", NULL, "y[4,25] n4S h5A w5A! 0" },
    { OP_SQUEEZE, "4,1,6", ATTRS(A1(AXES, 1)), "y[4,6] n4S c6A 0" },
    { OP_UNSQUEEZE, "4,6", ATTRS(AN(AXES, 0, 2)), "y[1,4,1,6] n4S c6A 0" },
    { OP_SQUEEZE, "4,6,1", ATTRS(A1(AXES, -1)), "y[4,6] n4S t6A 0" },
    { OP_UNSQUEEZE, "4,6", ATTRS(AN(AXES, -1, 0)), "y[1,4,6,1] n4S c6A 0" },
    { OP_EXPAND, "w1,6", ATTRS(AN(SHAPE, 4, 1, 6)), "y[4,1,6] n4S t1A c6A 0" },
    { OP_REDUCE_SUM, "4,7,6", ATTRS(A1(AXES, 1)), "y[4,6] n4S t7R c6A 0" },
    { OP_REDUCE_MEAN, "4,3,5,5", ATTRS(AN(AXES, 2, 3), A1(KEEP, 1)), "y[4,3,1,1] n4S c3A h5R w5R 0" },
    { OP_REDUCE_SUM, "4,7,6", ATTRS(AN(AXES, -1, -2)), "y[4] n4S t7R c6R 0" },
    { OP_GLOBAL_AVG_POOL, "4,3,5,5", NULL, "y[4,3] n4S c3A h5R w5R 0" },
    { OP_GLOBAL_MAX_POOL, "4,3,5", NULL, "y[4,3] n4S t3A c5R 0" },
    { OP_REDUCE_MAX, "4,7,6", ATTRS(A1(AXES, -1)), "y[4,7] n4S t7A c6R 0" },
    { OP_GATHER_ELEMENTS, "4,7,6 #4,3,6", ATTRS(A1(AXIS, 1)), "y[4,3,6] n4S t3A c6A 0" },
    { OP_INDEX_SELECT, "4,7,6 i3", ATTRS(A1(AXIS, 1)), "y[4,3,6] n4S t3A c6A 0" },
    { OP_SCATTER_ADD, "4,7,6 #4,3,6 4,3,6", ATTRS(A1(AXIS, 1)), "y[4,7,6] n4S t3A c6A 0" },
    { OP_OPAQUE, "4,3,5 #4,2", ATTRS(AN(SHAPE, 0, 9)), "y[4,9] n4S 0" },
};
/* clang-format on */

static void check_case(const struct op_case *c)
{
    struct hypar_graph *g;
    struct hypar_error err = { 0 };
    char text[512];
    if (build_case(c, &g, &err) != HYPAR_OK)
        fail_msg("%s %s: %s", hp_op[c->kind].name, c->inputs, err.text);
    describe(g, text, sizeof text);
    if (strcmp(text, c->expected) != 0)
        fail_msg("%s %s:\n   got %s\n  want %s", hp_op[c->kind].name, c->inputs, text,
                 c->expected);
    hypar_graph_free(g);
}

static void every_row(void **state)
{
    (void)state;
    bool seen[OP_KIND_COUNT] = { 0 };
    for (size_t i = 0; i < sizeof row_cases / sizeof row_cases[0]; i++) {
        check_case(&row_cases[i]);
        seen[row_cases[i].kind] = true;
    }
    for (int k = 0; k < OP_KIND_COUNT; k++)
        if (!seen[k])
            fail_msg("operator '%s' has no case: add one to row_cases in tests/graph/test_op.c",
                     hp_op[k].name);
}

/* What does not fit a row is refused with a reason. */
static const struct op_case misfit_cases[] = {
    { OP_LINEAR, "4,8", NULL, "nothing tells the extent of axis k" },
    { OP_LINEAR, "4,8 w7,3", NULL, "'w' has 7 along axis c, expected 8" },
    { OP_LINEAR, "4", ATTRS(A1(OUT, 3)), "input 'x' has 1 dimensions, expected 2 to 4" },
    { OP_LINEAR, "#4,8", ATTRS(A1(OUT, 3)), "'x' holds integers, expected numbers" },
    { OP_LINEAR, "4,8", ATTRS(A1(OUT, 0)), "attribute 'out' is 0, expected an integer from 1" },
    { OP_LINEAR, "4,8", ATTRS(A1(OUT, 2.5)), "attribute 'out' is 2.5, expected an integer" },
    { OP_LINEAR, "4,8", ATTRS(A1(HEADS, 2)),
      "unknown attribute 'heads', expected one of out, transposed" },
    { OP_RELU, "4,8", ATTRS(A1(HEADS, 2)), "unknown attribute 'heads', expected none" },
    { OP_CONV, "4,6,9,9", ATTRS(K(3, 3), A1(GROUPS, 2), A1(OUT, 4)),
      "unknown attribute 'groups' (of group_conv), expected one of kernel, stride, pad, "
      "dilation, out" },
    { OP_RELU, "+", NULL, "input 0 is no parameter that could be made" },
    { OP_CROSS_ENTROPY, "4,8 +", NULL, "input 1 is no parameter that could be made" },
    { OP_LINEAR, "4,8 w8,3 w3 w3", NULL, "4 inputs, expected at most 3" },
    { OP_CONV, "4,3,9,9", ATTRS(A1(OUT, 5)), "missing attribute 'kernel'" },
    { OP_CONV, "4,3,9,9", ATTRS(K(3, 3, 3), A1(OUT, 5)),
      "attribute 'kernel' has 3 values, expected 1 or 2" },
    { OP_LINEAR, "4,8", ATTRS(AN(OUT, 3, 3)), "attribute 'out' has 2 values, expected 1" },
    { OP_CONV, "4,3,2,9", ATTRS(K(3, 3), A1(OUT, 5)),
      "a window of 3 does not fit into 'x', which has 2" },
    { OP_GROUP_CONV, "4,7,5,5", ATTRS(K(3, 3), A1(GROUPS, 3), A1(OUT, 9)),
      "'x' has a dimension of 7, expected a multiple of 3" },
    { OP_GROUP_CONV, "4,6,5,5", ATTRS(K(3, 3), A1(GROUPS, 3), A1(OUT, 8)),
      "attribute 'out' is 8, expected a multiple of 'groups', which is 3" },
    { OP_CONV_TRANSPOSE, "4,3,1,9", ATTRS(K(1), A1(PAD, 1), A1(OUT, 5)),
      "attribute 'pad' leaves nothing of 'x', which has 1" },
    { OP_RESIZE_NEAREST, "4,3,5", NULL, "missing attribute 'size'" },
    { OP_GATHER_ELEMENTS, "4,7 #4,3,2", ATTRS(A1(AXIS, 1)),
      "'i' has 3 dimensions, expected 2" },
    { OP_GATHER_ELEMENTS, "4,7,6 #4,3,5", ATTRS(A1(AXIS, 1)),
      "'i' has 5 in dimension 2, expected 6" },
    { OP_GATHER_ELEMENTS, "4,7 4,7", ATTRS(A1(AXIS, 1)),
      "input 1 holds numbers, expected integers" },
    { OP_INDEX_SELECT, "4,7 #4", ATTRS(A1(AXIS, 1)), "'i' holds samples" },
    { OP_SCATTER_ADD, "4,7 #4,3 4,2", ATTRS(A1(AXIS, 1)),
      "'s' does not have the shape of 'i'" },
    { OP_ADD, "4,6 4,5", NULL, "'y' has 5 in dimension 1, expected 1 or 6" },
    { OP_ADD, "4,6", NULL, "input 1 is missing" },
    { OP_CONCAT, "4,6 4,5,2", ATTRS(A1(AXIS, 1)), "input 1 has 3 dimensions, expected 2" },
    { OP_CONCAT, "4,6 3,5", ATTRS(A1(AXIS, 1)), "does not hold the batch of 4" },
    { OP_CONCAT, "4,6", ATTRS(A1(AXIS, 2)), "attribute 'axis' is 2, expected 0 to 1" },
    { OP_CONCAT, "4,6", ATTRS(A1(AXIS, -3)), "attribute 'axis' is -3, expected -2 to 1" },
    { OP_UNSQUEEZE, "4,9", ATTRS(A1(AXES, -4)), "attribute 'axes' is -4, expected -3 to 2" },
    { OP_REDUCE_SUM, "4,9", ATTRS(A1(AXES, -7)),
      "attribute 'axes' is -7, expected an integer from -6 to 5" },
    { OP_SPLIT, "4,9", ATTRS(A1(AXIS, 1), AN(SIZES, 2, 3)),
      "attribute 'sizes' sums to 5, expected 9" },
    { OP_SLICE, "4,9", ATTRS(A1(AXIS, 1), A1(START, 3), A1(STOP, 12)),
      "slice from 3 to 12 of a dimension of 9" },
    { OP_SOFTMAX, "4,9", ATTRS(A1(CAUSAL, 1)), "causal, but 2 dimensions, expected 3 or 4" },
    { OP_TRANSPOSE, "4,9", ATTRS(AN(PERM, 1, 1)),
      "attribute 'perm' is not a permutation of 0 to 1" },
    { OP_RESHAPE, "4,9", ATTRS(AN(SHAPE, 4, 8)), "36 elements do not fit the shape given" },
    { OP_SQUEEZE, "4,9", ATTRS(A1(AXES, 1)), "dimension 1 has 9, expected 1" },
    { OP_UNSQUEEZE, "4,9", ATTRS(AN(AXES, 5, 5)), "attribute 'axes'" },
    { OP_ATTENTION, "4,7,25 4,9,12 4,9,18", ATTRS(A1(HEADS, 6)),
      "'x' has a dimension of 25, expected a multiple of 6" },
    { OP_ATTENTION, "4,7,24 4,9,24 4,9,24 4,6,2,9", ATTRS(A1(HEADS, 6)),
      "'b' has 2 along axis q, expected 7" },
    { OP_ATTENTION, "4,7,24 4,9,24 4,9,24 4,3,7,9", ATTRS(A1(HEADS, 6)),
      "'b' has a dimension of 3, expected 6" },
};

static void misfits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof misfit_cases / sizeof misfit_cases[0]; i++) {
        const struct op_case *c = &misfit_cases[i];
        struct hypar_graph *g;
        struct hypar_error err = { 0 };
        enum hypar_status status = build_case(c, &g, &err);
        bool rank =
            strncmp(c->expected, "input '", 7) == 0; /* which another operator may have */
        assert_int_equal(status, rank ? HYPAR_UNSUPPORTED : HYPAR_INVALID);
        assert_null(g);
        if (!strstr(err.text, c->expected))
            fail_msg("%s %s:\n   got %s\n  want %s", hp_op[c->kind].name, c->inputs, err.text,
                     c->expected);
    }
}

/* The rule on a linear layer: what splitting each axis makes of each written tensor. */
static void the_rule(void **state)
{
    (void)state;
    struct op_case c = { OP_LINEAR, "4,8 + +", ATTRS(A1(OUT, 3)), NULL };
    struct hypar_graph *g;
    assert_int_equal(build_case(&c, &g, NULL), HYPAR_OK);
    const struct nest *nest = g->ops[0].nest;
    /* passes: y; dx; dw; db.  operands: x w b y.  axes: n k c r */
    enum { X, W, B, Y, CUT = WRITE_CUT, SUM = WRITE_PARTIAL, COPY = WRITE_COPY };
    const struct {
        int pass, operand, kind[4];
    } rows[] = { { 0, Y, { CUT, CUT, SUM, COPY } },
                 { 1, X, { CUT, SUM, CUT, COPY } },
                 { 2, W, { SUM, CUT, CUT, COPY } },
                 { 3, B, { SUM, CUT, COPY, COPY } } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int a = 0; a < 4; a++)
            assert_int_equal(hp_write_kind(nest, rows[i].pass, rows[i].operand, a),
                             rows[i].kind[a]);
    assert_true(nest->pass[0].adds == 1u << B);
    hypar_graph_free(g);
}

/* Alike operators share a nest; parameters may be shared; uses are in order. */
static void sharing(void **state)
{
    (void)state;
    struct hypar_shape shape = { 2, { 4, 8 } };
    struct graph_builder *b = hp_build("net", 4);
    struct hypar_graph *g;
    int x = hp_build_input(b, "x", &shape, false, 0), h;
    const struct attrs *out8 = ATTRS(A1(OUT, 8));
    assert_int_equal(
        hp_build_op(b, &(struct op_request){ OP_LINEAR, "a", 1, &x, out8 }, &h, NULL), 0);
    int w = hp_build_graph(b)->ops[0].tensor[1];
    int again[2] = { h, w };
    assert_int_equal(
        hp_build_op(b, &(struct op_request){ OP_LINEAR, "b", 2, again, NULL }, &h, NULL), 0);
    again[0] = h;
    assert_int_equal(
        hp_build_op(b, &(struct op_request){ OP_LINEAR, "c", 2, again, NULL }, &h, NULL), 0);
    assert_int_equal(
        hp_build_op(b, &(struct op_request){ OP_RELU, "c", 1, &h, NULL }, &h, NULL),
        HYPAR_INVALID);
    assert_int_equal(hp_build_finish(b, &g, NULL), HYPAR_OK);
    assert_ptr_equal(g->ops[1].nest, g->ops[2].nest);
    assert_int_equal(g->use_start[w + 1] - g->use_start[w], 3);
    assert_int_equal(hypar_graph_params(g), 64);
    assert_int_equal(hypar_graph_find_op(g, "b"), 1);
    assert_int_equal(hypar_graph_find_op(g, "z"), -1);
    hypar_graph_free(g);
}

/* A chain of operators, each on what the one before writes, and the letters of the last. */
struct link {
    enum op_kind kind; /* OP_ATTENTION: of x to itself */
    const struct attrs *attrs;
};

static void check_letters(const char *inputs, const char *expected, int n,
                          const struct link *link)
{
    struct graph_builder *b = hp_build("chain", 4);
    struct hypar_graph *g;
    int in[MAX_OPERANDS], x[3];
    char name[16], letters[MAX_AXES + 1] = "";
    read_inputs(b, inputs, in);
    x[0] = in[0];
    for (int i = 0; i < n; i++) {
        x[1] = x[2] = x[0];
        snprintf(name, sizeof name, "op%d", i);
        struct op_request request = { link[i].kind, name, link[i].kind == OP_ATTENTION ? 3 : 1,
                                      x, link[i].attrs };
        assert_int_equal(hp_build_op(b, &request, x, NULL), HYPAR_OK);
    }
    assert_int_equal(hp_build_finish(b, &g, NULL), HYPAR_OK);
    const struct nest *nest = g->ops[n - 1].nest;
    for (int a = 0; a < nest->n_axes; a++)
        letters[a] = nest->axis[a].name[0];
    assert_string_equal(letters, expected);
    hypar_graph_free(g);
}

/* Reshapes and transposes call their axes what the operator before them does. */
static void letters(void **state)
{
    (void)state;
    const struct link heads[] = {
        { OP_LINEAR, ATTRS(A1(OUT, 24)) },
        { OP_RESHAPE, ATTRS(AN(SHAPE, 0, 0, 3, 8)) },
        { OP_TRANSPOSE, ATTRS(AN(PERM, 0, 2, 1, 3)) },
        { OP_TRANSPOSE, ATTRS(AN(PERM, 1, 0, 3, 2)) },
        { OP_TRANSPOSE, ATTRS(AN(PERM, 1, 2, 0, 3)) },
        { OP_RESHAPE, ATTRS(AN(SHAPE, 0, -1, 5)) },
    };
    check_letters("4,5,6", "ntkdr", 2, heads);
    check_letters("4,5,6", "nktdr", 3, heads);
    check_letters("4,5,6", "kndtr", 4, heads);
    check_letters("4,5,6", "ndktr", 5, heads);
    check_letters("4,5,6", "ndktr", 6, heads);

    const struct link attention[] = {
        { OP_ATTENTION, ATTRS(A1(HEADS, 6), A1(KV_HEADS, 6)) },
        { OP_RESHAPE, ATTRS(AN(SHAPE, 0, 0, 6, 4)) },
        { OP_RESHAPE, ATTRS(AN(SHAPE, 0, 0, 3, 2, 4)) },
    };
    check_letters("4,5,24", "nqaer", 2, attention);
    check_letters("4,5,24", "nqader", 3, attention); /* half of a is no axis of attention */

    const struct link patches[] = {
        { OP_CONV, ATTRS(A1(KERNEL, 2), A1(STRIDE, 2), A1(OUT, 8)) },
        { OP_RESHAPE, ATTRS(AN(SHAPE, 0, 8, -1)) },
        { OP_TRANSPOSE, ATTRS(AN(PERM, 0, 2, 1)) },
        { OP_RELU, NULL }, /* by rank */
        { OP_UNSQUEEZE, ATTRS(A1(AXES, 1)) },
    };
    check_letters("4,3,6,6", "nkhwr", 2, patches);
    check_letters("4,3,6,6", "nhkr", 3, patches); /* h and w in one: what leads it */
    check_letters("4,3,6,6", "ntcr", 5, patches);

    const struct link no_samples[] = {
        { OP_REDUCE_SUM, ATTRS(A1(AXES, 0)) },
        { OP_TRANSPOSE, ATTRS(AN(PERM, 1, 0)) },
    };
    check_letters("4,5,6", "ntr", 2, no_samples); /* n is always there */
}

/* Operators that share parameters, one through another: a and b have none in common, c has one
 * of each. */
static void shared_parameters(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_shape shape = { 2, { 4, 8 } };
    struct graph_builder *build = hp_build("net", 4);
    struct hypar_graph *g;
    const struct attrs *out8 = ATTRS(A1(OUT, 8));
    static const char *const name[] = { "d", "b", "a", "c" };
    int x = hp_build_input(build, "x", &shape, false, 0), last[3] = { x, HP_MAKE, HP_MAKE };
    for (int op = 0; op < 4; op++) {
        if (op == 3) {
            const struct op *ops = hp_build_graph(build)->ops;
            last[1] = ops[2].tensor[1];
            last[2] = ops[1].tensor[2];
        }
        struct op_request request = { OP_LINEAR, name[op], 3, last, out8 };
        assert_int_equal(hp_build_op(build, &request, last, NULL), 0);
    }
    assert_int_equal(hp_build_finish(build, &g, NULL), HYPAR_OK);
    const struct sharing *all = hp_sharing(&arena, g, NULL);
    const struct sharing *some = hp_sharing(&arena, g, (const bool[]){ 1, 0, 1, 1 });
    const int expected[2][4] = { { 0, 1, 1, 1 }, { 0, 1, 2, 2 } };
    for (int op = 0; op < 4; op++) {
        assert_int_equal(all[op].first, expected[0][op]);
        assert_int_equal(some[op].first, expected[1][op]);
        assert_false(all[op].transposed);
    }
    hp_arena_free(&arena);
    hypar_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row),         cmocka_unit_test(misfits),
        cmocka_unit_test(the_rule),          cmocka_unit_test(sharing),
        cmocka_unit_test(shared_parameters), cmocka_unit_test(letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
