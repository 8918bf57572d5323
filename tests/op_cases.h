/* op_cases.h - one or more small graphs for every operator kind, for tests that go over the
 * table.
 *
 *     for (int i = 0; i < OP_CASE_COUNT; i++) {
 *         struct hypar_graph *graph = op_case_build(&op_cases[i]);
 *         ... the operator is the last one of the graph ...
 *
 * Sizes are small, odd and unequal, so that parts are uneven and a wrong index shows. */
#ifndef TESTS_OP_CASES_H
#define TESTS_OP_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"

/* What stands at an input of the operator. */
enum case_input_kind {
    CASE_DATA,  /* a model input with samples in dimension 0 */
    CASE_ITEMS, /* a model input without samples */
    CASE_INDEX, /* integers, with samples in dimension 0 */
    CASE_IDS,   /* integers without samples */
    CASE_PARAM, /* a parameter of the given shape */
    CASE_ACT,   /* an activation: a model input that has gone through an identity */
    CASE_MAKE,  /* a parameter that the row makes */
    CASE_ABSENT,
};

struct case_input {
    enum case_input_kind kind;
    struct hypar_shape shape;
};

struct op_case {
    enum op_kind kind;
    const char *label;
    struct case_input input[8];
    int n_inputs;
    const struct attrs *attrs;
    int64_t index_below; /* integers of an index input lie in 0..index_below-1 */
};

/* clang-format off */
#define SHAPE_(...) { (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } }
#define DATA(...)  { CASE_DATA, SHAPE_(__VA_ARGS__) }
#define ITEMS(...) { CASE_ITEMS, SHAPE_(__VA_ARGS__) }
#define INDEX(...) { CASE_INDEX, SHAPE_(__VA_ARGS__) }
#define IDS(...)   { CASE_IDS, SHAPE_(__VA_ARGS__) }
#define PARAM(...) { CASE_PARAM, SHAPE_(__VA_ARGS__) }
#define ACT(...)   { CASE_ACT, SHAPE_(__VA_ARGS__) }
#define MAKE       { CASE_MAKE, { 0 } }
#define ABSENT     { CASE_ABSENT, { 0 } }
#define IN(...) { __VA_ARGS__ }, \
    (int)(sizeof((struct case_input[]){ __VA_ARGS__ }) / sizeof(struct case_input))
#define NUM(name, ...) { ATTR_##name, (int)(sizeof(V(__VA_ARGS__)) / sizeof(double)), V(__VA_ARGS__) }

#define UNARY(kind) \
    { OP_##kind, "n c", IN(ACT(5, 6)), NULL, 0 }, \
    { OP_##kind, "n c h w", IN(ACT(5, 3, 4, 2)), NULL, 0 }
#define UNARY_WITH(kind, ...) \
    { OP_##kind, "n c", IN(ACT(5, 6)), ATTRS(__VA_ARGS__), 0 }
#define BINARY(kind) \
    { OP_##kind, "same shapes", IN(ACT(5, 6), ACT(5, 6)), NULL, 0 }, \
    { OP_##kind, "one row for all samples", IN(ACT(5, 3, 7), PARAM(7)), NULL, 0 }, \
    { OP_##kind, "both broadcast", IN(ACT(5, 1, 7), ACT(5, 6, 1)), NULL, 0 }, \
    { OP_##kind, "scalar per sample", IN(ACT(4, 3, 2, 5), ACT(4, 1, 1, 1)), NULL, 0 }

static const struct op_case op_cases[] = {
    { OP_LINEAR, "n c", IN(ACT(6, 9), MAKE, MAKE), ATTRS(NUM(OUT, 7)), 0 },
    { OP_LINEAR, "n t c, no bias", IN(ACT(5, 3, 4), MAKE), ATTRS(NUM(OUT, 10)), 0 },
    { OP_LINEAR, "n t u c, transposed", IN(ACT(4, 2, 3, 5), PARAM(6, 5)), ATTRS(NUM(TRANSPOSED, 1)), 0 },

    { OP_CONV, "1D", IN(ACT(5, 3, 11), MAKE, MAKE), ATTRS(NUM(KERNEL, 3), NUM(PAD, 1, 1), NUM(OUT, 4)), 0 },
    { OP_CONV, "same, odd kernel", IN(ACT(4, 3, 9, 8), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(PAD, 1, 1, 1, 1), NUM(OUT, 5)), 0 },
    { OP_CONV, "even kernel, uneven padding", IN(ACT(3, 2, 10, 7), MAKE),
      ATTRS(NUM(KERNEL, 4, 2), NUM(PAD, 1, 0, 2, 1), NUM(OUT, 3)), 0 },
    { OP_CONV, "stride 2", IN(ACT(3, 2, 11, 12), MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(STRIDE, 2, 2), NUM(PAD, 1, 1, 1, 1), NUM(OUT, 4)), 0 },
    { OP_CONV, "dilation", IN(ACT(2, 2, 13, 12), MAKE),
      ATTRS(NUM(KERNEL, 3, 2), NUM(DILATION, 2, 3), NUM(PAD, 2, 0, 2, 0), NUM(OUT, 3)), 0 },
    { OP_CONV, "dilation above the input's part", IN(ACT(2, 2, 9, 9), MAKE),
      ATTRS(NUM(KERNEL, 2, 2), NUM(DILATION, 5, 4), NUM(STRIDE, 2, 1), NUM(PAD, 3, 2, 3, 2), NUM(OUT, 3)), 0 },
    { OP_CONV, "stride above the kernel", IN(ACT(2, 2, 17, 16), MAKE),
      ATTRS(NUM(KERNEL, 1, 2), NUM(STRIDE, 3, 4), NUM(OUT, 3)), 0 },
    { OP_CONV, "windows wholly in the padding", IN(ACT(2, 2, 4, 3), MAKE),
      ATTRS(NUM(KERNEL, 2, 2), NUM(STRIDE, 1, 1), NUM(PAD, 5, 4, 5, 4), NUM(OUT, 2)), 0 },
    { OP_GROUP_CONV, "two groups", IN(ACT(3, 6, 7, 5), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(PAD, 1, 1, 1, 1), NUM(GROUPS, 2), NUM(OUT, 8)), 0 },
    { OP_GROUP_CONV, "depthwise, stride 2", IN(ACT(2, 7, 8, 9), MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(STRIDE, 2, 2), NUM(PAD, 1, 1, 1, 1), NUM(GROUPS, 7), NUM(OUT, 7)), 0 },
    { OP_GROUP_CONV, "1D", IN(ACT(3, 6, 9), MAKE), ATTRS(NUM(KERNEL, 2), NUM(GROUPS, 3), NUM(OUT, 6)), 0 },
    { OP_CONV, "3D", IN(ACT(2, 3, 5, 4, 6), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 2, 3, 1), NUM(STRIDE, 1, 2, 1), NUM(PAD, 1, 0, 0, 0, 1, 0), NUM(OUT, 4)), 0 },
    { OP_GROUP_CONV, "3D", IN(ACT(2, 4, 3, 5, 4), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 2, 2, 3), NUM(DILATION, 1, 2, 1), NUM(PAD, 1, 1, 1, 0, 1, 1), NUM(GROUPS, 2), NUM(OUT, 6)), 0 },
    { OP_CONV_TRANSPOSE, "doubling", IN(ACT(3, 4, 3, 5), MAKE, MAKE), ATTRS(NUM(KERNEL, 2, 2), NUM(STRIDE, 2, 2), NUM(OUT, 3)), 0 },
    { OP_CONV_TRANSPOSE, "overlapping, further outputs", IN(ACT(2, 3, 4, 5), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 3, 4), NUM(STRIDE, 2, 3), NUM(PAD, 1, 0, 1, 0), NUM(OUTPUT_PAD, 1, 2), NUM(OUT, 4)), 0 },
    { OP_CONV_TRANSPOSE, "gaps, dilation", IN(ACT(2, 2, 4, 3), MAKE),
      ATTRS(NUM(KERNEL, 1, 2), NUM(STRIDE, 3, 2), NUM(DILATION, 1, 3), NUM(OUT, 3)), 0 },
    { OP_CONV_TRANSPOSE, "1D, stride 1", IN(ACT(3, 2, 7), MAKE, MAKE), ATTRS(NUM(KERNEL, 3), NUM(PAD, 1, 1), NUM(OUT, 4)), 0 },
    { OP_CONV_TRANSPOSE, "3D", IN(ACT(2, 2, 2, 3, 2), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 2, 3, 2), NUM(STRIDE, 2, 2, 1), NUM(PAD, 0, 1, 0, 0, 1, 0), NUM(OUT, 3)), 0 },
    { OP_GROUP_CONV_TRANSPOSE, "two groups", IN(ACT(3, 4, 3, 4), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(STRIDE, 2, 2), NUM(PAD, 1, 1, 1, 1), NUM(GROUPS, 2), NUM(OUT, 6)), 0 },
    { OP_GROUP_CONV_TRANSPOSE, "depthwise", IN(ACT(2, 5, 3, 4), MAKE),
      ATTRS(NUM(KERNEL, 4, 4), NUM(STRIDE, 2, 2), NUM(PAD, 1, 1, 1, 1), NUM(GROUPS, 5), NUM(OUT, 5)), 0 },
    { OP_GROUP_CONV_TRANSPOSE, "3D", IN(ACT(2, 4, 2, 2, 3), MAKE),
      ATTRS(NUM(KERNEL, 2, 2, 2), NUM(STRIDE, 2, 1, 2), NUM(GROUPS, 2), NUM(OUT, 2)), 0 },

    { OP_EMBEDDING, "n t", IN(INDEX(5, 7), MAKE), ATTRS(NUM(OUT, 6), NUM(VOCAB, 11)), 11 },
    { OP_EMBEDDING, "n", IN(INDEX(6), PARAM(9, 4)), NULL, 9 },
    { OP_LSTM, "with states and biases", IN(ACT(5, 3, 4), ACT(5, 6), ACT(5, 6), MAKE, MAKE, MAKE, MAKE),
      ATTRS(NUM(OUT, 6)), 0 },
    { OP_LSTM, "plain, reversed", IN(ACT(4, 5, 3), ABSENT, ABSENT, MAKE, MAKE), ATTRS(NUM(OUT, 5), NUM(REVERSE, 1)), 0 },
    { OP_LSTM_CELL, "with states and biases", IN(ACT(5, 4), ACT(5, 7), ACT(5, 7), MAKE, MAKE, MAKE, MAKE),
      ATTRS(NUM(OUT, 7)), 0 },
    { OP_LSTM_CELL, "first step", IN(ACT(6, 4), ABSENT, ABSENT, MAKE, MAKE, MAKE), ATTRS(NUM(OUT, 5)), 0 },
    { OP_GRU, "with a state and biases", IN(ACT(5, 3, 4), ACT(5, 6), MAKE, MAKE, MAKE, MAKE), ATTRS(NUM(OUT, 6)), 0 },
    { OP_GRU, "plain, reversed", IN(ACT(4, 5, 3), ABSENT, MAKE, MAKE), ATTRS(NUM(OUT, 5), NUM(REVERSE, 1)), 0 },
    { OP_GRU_CELL, "with a state and biases", IN(ACT(5, 4), ACT(5, 7), MAKE, MAKE, MAKE, MAKE), ATTRS(NUM(OUT, 7)), 0 },
    { OP_GRU_CELL, "first step", IN(ACT(6, 4), ABSENT, MAKE, MAKE, MAKE), ATTRS(NUM(OUT, 5)), 0 },

    { OP_MATMUL, "n m c", IN(ACT(5, 3, 4), ACT(5, 4, 6)), NULL, 0 },
    { OP_MATMUL, "n b m c, transposed", IN(ACT(3, 2, 5, 4), ACT(3, 2, 7, 4)), ATTRS(NUM(TRANSPOSED, 1)), 0 },
    { OP_ATTENTION, "two heads, causal", IN(ACT(3, 5, 8), ACT(3, 5, 8), ACT(3, 5, 8)),
      ATTRS(NUM(HEADS, 2), NUM(CAUSAL, 1)), 0 },
    { OP_ATTENTION, "grouped, other keys, wider values", IN(ACT(2, 5, 12), ACT(2, 7, 6), ACT(2, 7, 9)),
      ATTRS(NUM(HEADS, 6), NUM(KV_HEADS, 3)), 0 },
    { OP_ATTENTION, "bias of heads", IN(ACT(3, 5, 8), ACT(3, 7, 4), ACT(3, 7, 6), PARAM(1, 4, 5, 7)),
      ATTRS(NUM(HEADS, 4), NUM(KV_HEADS, 2)), 0 },
    { OP_ATTENTION, "bias of samples and keys", IN(ACT(3, 5, 8), ACT(3, 5, 8), ACT(3, 5, 8), ACT(3, 1, 1, 5)),
      ATTRS(NUM(HEADS, 2), NUM(CAUSAL, 1)), 0 },
    { OP_ATTENTION, "windows", IN(ACT(2, 3, 4, 6), ACT(2, 3, 5, 6), ACT(2, 3, 5, 4), PARAM(1, 3, 2, 4, 5)),
      ATTRS(NUM(HEADS, 2)), 0 },
    { OP_ATTENTION, "capped scores", IN(ACT(3, 5, 8), ACT(3, 7, 4), ACT(3, 7, 6), PARAM(1, 4, 5, 7)),
      ATTRS(NUM(HEADS, 4), NUM(KV_HEADS, 2), NUM(SOFT_CAP, 0.25)), 0 },
    { OP_ATTENTION, "windows, bias they share", IN(ACT(2, 3, 4, 6), ACT(2, 3, 5, 6), ACT(2, 3, 5, 4), ACT(2, 1, 2, 1, 5)),
      ATTRS(NUM(HEADS, 2)), 0 },

    { OP_MAX_POOL, "halving", IN(ACT(3, 5, 8, 6)), ATTRS(NUM(KERNEL, 2, 2), NUM(STRIDE, 2, 2)), 0 },
    { OP_MAX_POOL, "overlapping, incomplete last window", IN(ACT(2, 3, 8, 11)),
      ATTRS(NUM(KERNEL, 3, 3), NUM(STRIDE, 2, 2), NUM(CEIL, 1)), 0 },
    { OP_MAX_POOL, "dilation, padding", IN(ACT(2, 3, 9, 9)),
      ATTRS(NUM(KERNEL, 3, 2), NUM(PAD, 1, 1, 1, 1), NUM(DILATION, 2, 2)), 0 },
    { OP_MAX_POOL, "1D, stride above the kernel", IN(ACT(3, 2, 14)), ATTRS(NUM(KERNEL, 2), NUM(STRIDE, 3)), 0 },
    { OP_AVG_POOL, "overlapping, padding", IN(ACT(2, 3, 7, 8)),
      ATTRS(NUM(KERNEL, 3, 3), NUM(STRIDE, 2, 1), NUM(PAD, 1, 1, 1, 1)), 0 },
    { OP_AVG_POOL, "incomplete last window, padding not counted", IN(ACT(2, 3, 7, 10)),
      ATTRS(NUM(KERNEL, 2, 3), NUM(STRIDE, 2, 3), NUM(PAD, 0, 1, 0, 1), NUM(CEIL, 1), NUM(COUNT_PAD, 0)), 0 },
    { OP_MAX_POOL, "3D", IN(ACT(2, 3, 5, 4, 6)),
      ATTRS(NUM(KERNEL, 2, 3, 2), NUM(STRIDE, 2, 1, 2), NUM(PAD, 1, 1, 0, 0, 1, 0)), 0 },
    { OP_AVG_POOL, "3D", IN(ACT(2, 3, 5, 4, 6)),
      ATTRS(NUM(KERNEL, 2, 3, 2), NUM(STRIDE, 2, 1, 2), NUM(PAD, 1, 1, 0, 1, 1, 0), NUM(COUNT_PAD, 0)), 0 },
    { OP_ADAPTIVE_MAX_POOL, "fewer, more", IN(ACT(2, 3, 7, 3)), ATTRS(NUM(SIZE, 3, 5)), 0 },
    { OP_ADAPTIVE_MAX_POOL, "1D", IN(ACT(3, 2, 9)), ATTRS(NUM(SIZE, 3)), 0 },
    { OP_ADAPTIVE_AVG_POOL, "fewer, more", IN(ACT(2, 3, 7, 3)), ATTRS(NUM(SIZE, 3, 5)), 0 },
    { OP_ADAPTIVE_AVG_POOL, "all of it", IN(ACT(3, 4, 5, 6)), ATTRS(NUM(SIZE, 1, 1)), 0 },
    { OP_ADAPTIVE_AVG_POOL, "3D", IN(ACT(2, 2, 4, 5, 6)), ATTRS(NUM(SIZE, 2, 3, 4)), 0 },
    { OP_RESIZE_NEAREST, "doubled, and not", IN(ACT(3, 2, 4, 5)), ATTRS(NUM(SIZE, 8, 7)), 0 },
    { OP_RESIZE_NEAREST, "fewer", IN(ACT(2, 3, 9, 8)), ATTRS(NUM(SIZE, 4, 3)), 0 },
    { OP_RESIZE_NEAREST, "3D", IN(ACT(2, 2, 2, 3, 4)), ATTRS(NUM(SIZE, 4, 5, 2)), 0 },
    { OP_RESIZE_LINEAR, "doubled, and not", IN(ACT(3, 2, 4, 5)), ATTRS(NUM(SIZE, 8, 7)), 0 },
    { OP_RESIZE_LINEAR, "corners stay", IN(ACT(2, 3, 4, 8)), ATTRS(NUM(SIZE, 7, 5), NUM(ALIGN_CORNERS, 1)), 0 },
    { OP_RESIZE_LINEAR, "1D, fewer", IN(ACT(3, 2, 11)), ATTRS(NUM(SIZE, 4)), 0 },
    { OP_RESIZE_LINEAR, "3D, from one", IN(ACT(2, 2, 1, 3, 4)), ATTRS(NUM(SIZE, 3, 6, 1), NUM(ALIGN_CORNERS, 1)), 0 },
    { OP_LRN, "n c h w", IN(ACT(2, 9, 3, 4)), ATTRS(NUM(SIZE, 5)), 0 },
    { OP_LRN, "even window", IN(ACT(3, 7)), ATTRS(NUM(SIZE, 4)), 0 },

    { OP_BATCH_NORM, "n c h w", IN(ACT(5, 3, 4, 2), MAKE, MAKE), NULL, 0 },
    { OP_BATCH_NORM, "n c, nothing trained", IN(ACT(5, 6)), NULL, 0 },
    { OP_BATCH_NORM, "3D", IN(ACT(5, 3, 2, 2, 3), MAKE, MAKE), NULL, 0 },
    { OP_GROUP_NORM, "3D", IN(ACT(3, 4, 2, 3, 2), MAKE, MAKE), ATTRS(NUM(GROUPS, 2)), 0 },
    { OP_LAYER_NORM, "n t c", IN(ACT(4, 3, 7), MAKE, MAKE), NULL, 0 },
    { OP_LAYER_NORM, "n c", IN(ACT(5, 6), MAKE), NULL, 0 },
    { OP_RMS_NORM, "n t c", IN(ACT(4, 3, 7), MAKE), NULL, 0 },
    { OP_RMS_NORM, "n t u c", IN(ACT(3, 2, 4, 5), MAKE), NULL, 0 },
    { OP_GROUP_NORM, "n c h w", IN(ACT(3, 6, 4, 5), MAKE, MAKE), ATTRS(NUM(GROUPS, 3)), 0 },
    { OP_GROUP_NORM, "one group", IN(ACT(3, 6, 5), MAKE, MAKE), ATTRS(NUM(GROUPS, 1)), 0 },
    { OP_SOFTMAX, "n c", IN(ACT(5, 7)), NULL, 0 },
    { OP_SOFTMAX, "n t c", IN(ACT(3, 4, 5)), NULL, 0 },
    { OP_SOFTMAX, "n t u c, causal", IN(ACT(3, 2, 4, 5)), ATTRS(NUM(CAUSAL, 1)), 0 },
    { OP_LOG_SOFTMAX, "n t c", IN(ACT(3, 4, 5)), NULL, 0 },
    { OP_CROSS_ENTROPY, "n c", IN(ACT(5, 7), INDEX(5)), NULL, 7 },
    { OP_CROSS_ENTROPY, "n t c", IN(ACT(3, 4, 5), INDEX(3, 4)), NULL, 5 },
    { OP_MSE_LOSS, "n c", IN(ACT(5, 6), DATA(5, 6)), NULL, 0 },
    { OP_MSE_LOSS, "n t c", IN(ACT(3, 4, 5), DATA(3, 4, 5)), NULL, 0 },

    BINARY(ADD), BINARY(SUB), BINARY(MUL), BINARY(DIV), BINARY(MINIMUM), BINARY(MAXIMUM),
    { OP_WHERE, "same shapes", IN(ACT(5, 6), ACT(5, 6), ACT(5, 6)), NULL, 0 },
    { OP_WHERE, "all broadcast", IN(ACT(5, 1, 4), PARAM(3, 1), ACT(5, 3, 4)), NULL, 0 },
    UNARY(RELU), UNARY(GELU), UNARY(GELU_TANH), UNARY(SIN), UNARY(COS), UNARY(SILU), UNARY(SIGMOID), UNARY(TANH), UNARY(LEAKY_RELU), UNARY(ELU),
    UNARY(SOFTPLUS), UNARY(HARD_SIGMOID), UNARY(HARD_SWISH),
    UNARY_WITH(CLIP, NUM(MIN, -1), NUM(MAX, 1)),
    UNARY(EXP), UNARY(LOG), UNARY(SQRT),
    UNARY_WITH(POW, NUM(EXPONENT, 2)),
    UNARY(ERF), UNARY(ABS), UNARY(NEG),
    UNARY_WITH(AFFINE, NUM(ALPHA, 2), NUM(BETA, 1)),
    UNARY(DROPOUT), UNARY(IDENTITY),
    { OP_ROPE, "three heads", IN(ACT(3, 5, 12)), ATTRS(NUM(HEADS, 3)), 0 },
    { OP_CUMSUM, "middle", IN(ACT(3, 5, 4)), ATTRS(NUM(AXIS, 1)), 0 },
    { OP_CUMSUM, "last, reversed", IN(ACT(3, 2, 5)), ATTRS(NUM(AXIS, -1), NUM(REVERSE, 1)), 0 },

    { OP_CONCAT, "channels, pieces of 3, 1 and 6", IN(ACT(4, 3, 5), ACT(4, 1, 5), ACT(4, 6, 5)), ATTRS(NUM(AXIS, 1)), 0 },
    { OP_CONCAT, "last dimension", IN(ACT(4, 2, 3), ACT(4, 2, 4)), ATTRS(NUM(AXIS, 2)), 0 },
    { OP_CONCAT, "one input", IN(ACT(4, 3)), ATTRS(NUM(AXIS, 1)), 0 },
    { OP_SPLIT, "thirds", IN(ACT(4, 5, 9)), ATTRS(NUM(AXIS, 2), NUM(SIZES, 3, 3, 3)), 0 },
    { OP_SPLIT, "unequal", IN(ACT(4, 8, 3)), ATTRS(NUM(AXIS, 1), NUM(SIZES, 1, 5, 2)), 0 },
    { OP_SLICE, "middle", IN(ACT(4, 9, 3)), ATTRS(NUM(AXIS, 1), NUM(START, 2), NUM(STOP, 7)), 0 },
    { OP_SLICE, "every third", IN(ACT(4, 3, 11)), ATTRS(NUM(AXIS, 2), NUM(START, 1), NUM(STOP, 11), NUM(STEP, 3)), 0 },
    { OP_PAD, "height and width", IN(ACT(2, 3, 5, 4)), ATTRS(NUM(PAD, 0, 0, 2, 1, 0, 0, 3, 0)), 0 },
    { OP_PAD, "more than the input", IN(ACT(3, 2)), ATTRS(NUM(PAD, 0, 4, 0, 5)), 0 },
    { OP_TRANSPOSE, "inner two", IN(ACT(3, 4, 5)), ATTRS(NUM(PERM, 0, 2, 1)), 0 },
    { OP_TRANSPOSE, "samples move", IN(ACT(3, 4, 5, 2)), ATTRS(NUM(PERM, 2, 0, 3, 1)), 0 },
    { OP_RESHAPE, "heads", IN(ACT(3, 5, 12)), ATTRS(NUM(SHAPE, 0, 0, 3, 4)), 0 },
    { OP_RESHAPE, "joined", IN(ACT(3, 4, 6)), ATTRS(NUM(SHAPE, 0, -1)), 0 },
    { OP_RESHAPE, "samples and positions joined", IN(ACT(3, 4, 5)), ATTRS(NUM(SHAPE, -1, 5)), 0 },
    { OP_RESHAPE, "factors that do not meet", IN(ACT(3, 4, 6)), ATTRS(NUM(SHAPE, 3, 6, 4)), 0 },
    { OP_FLATTEN, "n c h w", IN(ACT(3, 5, 2, 4)), NULL, 0 },
    { OP_FLATTEN, "from dimension 2", IN(ACT(3, 5, 2, 4)), ATTRS(NUM(AXIS, 2)), 0 },
    { OP_SQUEEZE, "both", IN(ACT(3, 1, 5, 1)), ATTRS(NUM(AXES, 1, 3)), 0 },
    { OP_UNSQUEEZE, "middle", IN(ACT(3, 5)), ATTRS(NUM(AXES, 1)), 0 },
    { OP_EXPAND, "middle", IN(ACT(3, 1, 5)), ATTRS(NUM(SHAPE, 3, 4, 5)), 0 },
    { OP_EXPAND, "more dimensions", IN(PARAM(4, 1)), ATTRS(NUM(SHAPE, 3, 4, 5)), 0 },
    { OP_REDUCE_SUM, "middle, kept", IN(ACT(3, 4, 5)), ATTRS(NUM(AXES, 1), NUM(KEEP, 1)), 0 },
    { OP_REDUCE_SUM, "two dimensions", IN(ACT(3, 4, 5, 2)), ATTRS(NUM(AXES, 1, 3)), 0 },
    { OP_REDUCE_MEAN, "last", IN(ACT(3, 4, 5)), ATTRS(NUM(AXES, 2)), 0 },
    { OP_GLOBAL_AVG_POOL, "n c h w", IN(ACT(3, 5, 4, 6)), NULL, 0 },
    { OP_GLOBAL_AVG_POOL, "kept", IN(ACT(3, 5, 4, 6)), ATTRS(NUM(KEEP, 1)), 0 },
    { OP_GLOBAL_MAX_POOL, "n c h w", IN(ACT(3, 5, 4, 6)), NULL, 0 },
    { OP_REDUCE_MAX, "last", IN(ACT(3, 4, 5)), ATTRS(NUM(AXES, 2)), 0 },
    { OP_REDUCE_MAX, "middle, kept", IN(ACT(3, 4, 5)), ATTRS(NUM(AXES, 1), NUM(KEEP, 1)), 0 },
    { OP_GATHER_ELEMENTS, "middle, more", IN(ACT(3, 4, 5), INDEX(3, 6, 5)), ATTRS(NUM(AXIS, 1)), 4 },
    { OP_GATHER_ELEMENTS, "last, fewer", IN(ACT(5, 7), INDEX(5, 3)), ATTRS(NUM(AXIS, 1)), 7 },
    { OP_INDEX_SELECT, "middle", IN(ACT(3, 4, 5), IDS(6)), ATTRS(NUM(AXIS, 1)), 4 },
    { OP_INDEX_SELECT, "of a parameter", IN(PARAM(9, 4), IDS(7)), ATTRS(NUM(AXIS, 0)), 9 },
    { OP_SCATTER_ADD, "middle", IN(ACT(3, 4, 5), INDEX(3, 6, 5), ACT(3, 6, 5)), ATTRS(NUM(AXIS, 1)), 4 },
    { OP_SCATTER_ADD, "last", IN(ACT(5, 7), INDEX(5, 3), ACT(5, 3)), ATTRS(NUM(AXIS, 1)), 7 },
    { OP_OPAQUE, "two inputs", IN(ACT(5, 3), ACT(5, 4, 2)), ATTRS(NUM(SHAPE, 5, 7)), 0 },
};
/* clang-format on */

enum { OP_CASE_COUNT = sizeof op_cases / sizeof op_cases[0] };

/* The samples of the first input that has some. */
static inline int64_t op_case_batch(const struct op_case *c)
{
    for (int i = 0; i < c->n_inputs; i++) {
        enum case_input_kind kind = c->input[i].kind;
        if (kind == CASE_DATA || kind == CASE_INDEX || kind == CASE_ACT)
            return c->input[i].shape.dim[0];
    }
    return 3;
}

static inline int op_case_input(struct graph_builder *b, const struct case_input *input, int i)
{
    static const char *const names[] = { "in0", "in1", "in2", "in3", "in4", "in5", "in6" };
    static const char *const costs[] = {
        "act0", "act1", "act2", "act3", "act4", "act5", "act6"
    };
    struct hypar_error err = { 0 };
    int tensor, cost[1];
    switch (input->kind) {
    case CASE_DATA:
        return hp_build_input(b, names[i], &input->shape, false, 0);
    case CASE_ITEMS:
        return hp_build_input(b, names[i], &input->shape, false, -1);
    case CASE_INDEX:
        return hp_build_input(b, names[i], &input->shape, true, 0);
    case CASE_IDS:
        return hp_build_input(b, names[i], &input->shape, true, -1);
    case CASE_PARAM:
        return hp_build_param(b, names[i], &input->shape);
    case CASE_ACT:
        tensor = hp_build_input(b, names[i], &input->shape, false, 0);
        struct op_request identity = { OP_IDENTITY, costs[i], 1, &tensor, NULL };
        if (hp_build_op(b, &identity, cost, &err) != HYPAR_OK)
            fail_msg("identity: %s", err.text);
        return cost[0];
    case CASE_MAKE:
        return HP_MAKE;
    case CASE_ABSENT:
        break;
    }
    return HP_ABSENT;
}

/* The graph of a case; its last operator is the one under test. */
static inline struct hypar_graph *op_case_build(const struct op_case *c)
{
    struct graph_builder *b = hp_build("case", op_case_batch(c));
    struct hypar_graph *graph = NULL;
    struct hypar_error err = { 0 };
    int inputs[8], outputs[MAX_OPERANDS];
    for (int i = 0; i < c->n_inputs; i++)
        inputs[i] = op_case_input(b, &c->input[i], i);
    struct op_request request = { c->kind, "op", c->n_inputs, inputs, c->attrs };
    enum hypar_status status = hp_build_op(b, &request, outputs, &err);
    if (status == HYPAR_OK)
        status = hp_build_finish(b, &graph, &err);
    else
        hp_build_abandon(b);
    if (status != HYPAR_OK)
        fail_msg("%s (%s): %s", hp_op[c->kind].name, c->label, err.text);
    return graph;
}

#undef SHAPE_
#undef DATA
#undef ITEMS
#undef INDEX
#undef IDS
#undef PARAM
#undef ACT
#undef MAKE
#undef ABSENT
#undef IN
#undef NUM
#undef UNARY
#undef UNARY_WITH
#undef BINARY

#endif /* TESTS_OP_CASES_H */
