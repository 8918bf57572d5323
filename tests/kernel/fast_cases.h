/* fast_cases.h - operators that are large enough to fill the vectors and blocks of the fast
 * kernels, and not whole numbers of them. */
#ifndef TESTS_KERNEL_FAST_CASES_H
#define TESTS_KERNEL_FAST_CASES_H

#include "tests/op_cases.h"

/* clang-format off */
#define SHAPE_(...) { (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } }
#define ACT(...)   { CASE_ACT, SHAPE_(__VA_ARGS__) }
#define INDEX(...) { CASE_INDEX, SHAPE_(__VA_ARGS__) }
#define MAKE       { CASE_MAKE, { 0 } }
#define ABSENT     { CASE_ABSENT, { 0 } }
#define IN(...) { __VA_ARGS__ }, \
    (int)(sizeof((struct case_input[]){ __VA_ARGS__ }) / sizeof(struct case_input))
#define NUM(name, ...) { ATTR_##name, (int)(sizeof(V(__VA_ARGS__)) / sizeof(double)), V(__VA_ARGS__) }

static const struct op_case fast_cases[] = {
    { OP_LINEAR, "large", IN(ACT(3, 37, 65), MAKE, MAKE), ATTRS(NUM(OUT, 70)), 0 },
    { OP_MATMUL, "large", IN(ACT(2, 3, 33, 40), ACT(2, 3, 40, 17)), NULL, 0 },
    { OP_ATTENTION, "long, causal", IN(ACT(2, 150, 24), ACT(2, 150, 24), ACT(2, 150, 24)),
      ATTRS(NUM(HEADS, 2), NUM(CAUSAL, 1)), 0 },
    { OP_ATTENTION, "long, grouped", IN(ACT(2, 140, 32), ACT(2, 90, 16), ACT(2, 90, 20)),
      ATTRS(NUM(HEADS, 4), NUM(KV_HEADS, 2)), 0 },
    { OP_ATTENTION, "long, bias", IN(ACT(2, 140, 16), ACT(2, 40, 8), ACT(2, 40, 10), ACT(2, 2, 140, 40)),
      ATTRS(NUM(HEADS, 2), NUM(KV_HEADS, 1)), 0 },
    { OP_ATTENTION, "long, capped", IN(ACT(2, 140, 16), ACT(2, 140, 8), ACT(2, 140, 10), ACT(2, 2, 140, 140)),
      ATTRS(NUM(HEADS, 2), NUM(KV_HEADS, 1), NUM(CAUSAL, 1), NUM(SOFT_CAP, 0.5)), 0 },
    { OP_ATTENTION, "heads of 16 and 32, causal", IN(ACT(2, 70, 64), ACT(2, 70, 32), ACT(2, 70, 64)),
      ATTRS(NUM(HEADS, 4), NUM(KV_HEADS, 2), NUM(CAUSAL, 1)), 0 },
    { OP_ATTENTION, "heads of 80, other keys", IN(ACT(1, 66, 80), ACT(1, 37, 80), ACT(1, 37, 16)),
      ATTRS(NUM(HEADS, 1)), 0 },
    { OP_ATTENTION, "windows", IN(ACT(2, 3, 17, 24), ACT(2, 3, 18, 24), ACT(2, 3, 18, 24), ACT(2, 3, 1, 17, 18)),
      ATTRS(NUM(HEADS, 2)), 0 },
    { OP_CONV, "3x3, large", IN(ACT(3, 19, 23, 21), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(PAD, 1, 1, 1, 1), NUM(OUT, 18)), 0 },
    { OP_CONV, "3x3, many channels", IN(ACT(3, 51, 14, 17), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(PAD, 1, 1, 1, 1), NUM(OUT, 54)), 0 },
    { OP_CONV, "3x3, uneven padding", IN(ACT(2, 34, 9, 10), MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(PAD, 0, 3, 2, 1), NUM(OUT, 33)), 0 },
    { OP_CONV, "7x7, stride 2", IN(ACT(2, 3, 45, 43), MAKE),
      ATTRS(NUM(KERNEL, 7, 7), NUM(STRIDE, 2, 2), NUM(PAD, 3, 3, 3, 3), NUM(OUT, 16)), 0 },
    { OP_CONV, "1x1", IN(ACT(5, 24, 13, 11), MAKE, MAKE), ATTRS(NUM(KERNEL, 1, 1), NUM(OUT, 20)), 0 },
    { OP_CONV, "1x1, stride 2", IN(ACT(3, 17, 14, 15), MAKE),
      ATTRS(NUM(KERNEL, 1, 1), NUM(STRIDE, 2, 2), NUM(OUT, 9)), 0 },
    { OP_CONV, "many small images", IN(ACT(9, 20, 7, 7), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(PAD, 1, 1, 1, 1), NUM(OUT, 24)), 0 },
    { OP_GROUP_CONV, "depthwise, large", IN(ACT(2, 20, 19, 33), MAKE, MAKE),
      ATTRS(NUM(KERNEL, 3, 3), NUM(PAD, 1, 1, 1, 1), NUM(GROUPS, 20), NUM(OUT, 20)), 0 },
    { OP_BATCH_NORM, "large", IN(ACT(4, 5, 30, 29), MAKE, MAKE), NULL, 0 },
    { OP_LAYER_NORM, "large", IN(ACT(3, 11, 700), MAKE, MAKE), NULL, 0 },
    { OP_BATCH_NORM, "even", IN(ACT(3, 16, 6, 8), MAKE, MAKE), NULL, 0 },
    { OP_LAYER_NORM, "even", IN(ACT(3, 11, 704), MAKE, MAKE), NULL, 0 },
    { OP_RMS_NORM, "large", IN(ACT(3, 11, 700), MAKE), NULL, 0 },
    { OP_GROUP_NORM, "large", IN(ACT(3, 6, 20, 21), MAKE, MAKE), ATTRS(NUM(GROUPS, 2)), 0 },
    { OP_SOFTMAX, "large", IN(ACT(3, 4, 603)), NULL, 0 },
    { OP_LOG_SOFTMAX, "large", IN(ACT(3, 4, 603)), NULL, 0 },
    { OP_CROSS_ENTROPY, "large", IN(ACT(4, 3, 603), INDEX(4, 3)), NULL, 603 },
    { OP_CROSS_ENTROPY, "wide", IN(ACT(2, 3, 1031), INDEX(2, 3)), NULL, 1031 },
    { OP_MAX_POOL, "large", IN(ACT(2, 5, 30, 37)),
      ATTRS(NUM(KERNEL, 3, 3), NUM(STRIDE, 2, 2), NUM(PAD, 1, 1, 1, 1)), 0 },
    { OP_AVG_POOL, "large", IN(ACT(2, 5, 30, 37)), ATTRS(NUM(KERNEL, 2, 2), NUM(STRIDE, 2, 2)), 0 },
    { OP_EMBEDDING, "large", IN(INDEX(4, 9), MAKE), ATTRS(NUM(OUT, 70), NUM(VOCAB, 50)), 50 },
    { OP_LSTM, "large", IN(ACT(7, 4, 20), ACT(7, 24), ACT(7, 24), MAKE, MAKE, MAKE, MAKE),
      ATTRS(NUM(OUT, 24)), 0 },
    { OP_LSTM_CELL, "large", IN(ACT(9, 20), ACT(9, 26), ACT(9, 26), MAKE, MAKE, MAKE, MAKE),
      ATTRS(NUM(OUT, 26)), 0 },
    { OP_GELU, "large", IN(ACT(3, 7, 333)), NULL, 0 },
    { OP_ADD, "large, broadcast", IN(ACT(3, 600, 7), ACT(3, 1, 7)), NULL, 0 },
    { OP_MUL, "large, one number for each row", IN(ACT(3, 9, 700), ACT(3, 9, 1)), NULL, 0 },
    { OP_DROPOUT, "large", IN(ACT(3, 9, 700)), NULL, 0 },
    { OP_GLOBAL_AVG_POOL, "large", IN(ACT(3, 5, 30, 31)), NULL, 0 },
    { OP_GLOBAL_MAX_POOL, "large", IN(ACT(3, 5, 30, 31)), NULL, 0 },
    { OP_TRANSPOSE, "large", IN(ACT(3, 40, 50)), ATTRS(NUM(PERM, 0, 2, 1)), 0 },
    { OP_ROPE, "large", IN(ACT(3, 50, 64)), ATTRS(NUM(HEADS, 2)), 0 },
};

/* Products of more than 10^8 multiply-adds, with rows of an odd number of columns. */
static const struct op_case odd_product = {
    OP_LINEAR, "odd columns", IN(ACT(420, 352), MAKE, MAKE), ATTRS(NUM(OUT, 701)), 0
};
/* clang-format on */

#undef SHAPE_
#undef ACT
#undef INDEX
#undef MAKE
#undef ABSENT
#undef IN
#undef NUM

enum { FAST_CASE_COUNT = sizeof fast_cases / sizeof fast_cases[0] };

#endif /* TESTS_KERNEL_FAST_CASES_H */
