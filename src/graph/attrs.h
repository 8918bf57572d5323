/* graph/attrs.h - the attributes of an operator: names from one list, values as numbers.
 * Internal. */
#ifndef GRAPH_ATTRS_H
#define GRAPH_ATTRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* clang-format off */
/* Every attribute of the table: enum, name in files, least, most, whether an integer,
 * meaning. */
#define ATTR_MAP(X) \
    X(KERNEL, "kernel", 1, 0x1p20, true, "taps of the window") \
    X(STRIDE, "stride", 1, 0x1p20, true, "step of the window") \
    X(PAD, "pad", 0, 0x1p20, true, "zeros before each dimension, then after each") \
    X(DILATION, "dilation", 1, 0x1p20, true, "distance of the taps") \
    X(OUTPUT_PAD, "output_pad", 0, 0x1p20, true, "further outputs after each dimension") \
    X(GROUPS, "groups", 1, 0x1p24, true, "groups of channels") \
    X(OUT, "out", 1, 0x1p30, true, "output features, where no parameter tells") \
    X(VOCAB, "vocab", 1, 0x1p30, true, "rows, where no parameter tells") \
    X(TRANSPOSED, "transposed", 0, 1, true, "the last two dimensions of w (matmul: of y) are exchanged") \
    X(HEADS, "heads", 1, 0x1p20, true, "heads of the queries") \
    X(KV_HEADS, "kv_heads", 1, 0x1p20, true, "heads of keys and values; divides heads") \
    X(CAUSAL, "causal", 0, 1, true, "position q sees keys 0..q only") \
    X(REVERSE, "reverse", 0, 1, true, "the sequence is run from its end") \
    X(CEIL, "ceil", 0, 1, true, "pooling keeps a last, incomplete window") \
    X(COUNT_PAD, "count_pad", 0, 1, true, "the mean divides by all taps, padding included") \
    X(SIZE, "size", 1, 0x1p20, true, "channels of a window; of what is resized, its dimensions") \
    X(ALIGN_CORNERS, "align_corners", 0, 1, true, "the first and the last element stay where they are") \
    X(AXIS, "axis", -6, 5, true, "a dimension; -1 is the last") \
    X(AXES, "axes", -6, 5, true, "dimensions; -1 is the last") \
    X(KEEP, "keep", 0, 1, true, "reduced dimensions stay, with size 1") \
    X(START, "start", 0, 0x1p40, true, "first index") \
    X(STOP, "stop", 1, 0x1p40, true, "index after the last") \
    X(STEP, "step", 1, 0x1p20, true, "distance of the indices") \
    X(SIZES, "sizes", 1, 0x1p40, true, "one for each output") \
    X(PERM, "perm", 0, 5, true, "output dimension i is input dimension perm[i]") \
    X(SHAPE, "shape", -1, 0x1p40, true, "of the output: 0 copies a dimension, -1 is what is left") \
    X(EPS, "eps", 0, 1, false, "added to what is divided by") \
    X(ALPHA, "alpha", -1e30, 1e30, false, "factor alpha of the formula") \
    X(BETA, "beta", -1e30, 1e30, false, "term or exponent beta of the formula") \
    X(BIAS, "bias", -1e30, 1e30, false, "the constant k of the formula") \
    X(RATE, "rate", 0, 1, false, "share of the elements set to zero") \
    X(THETA, "theta", 1, 1e30, false, "base of the rotation angles") \
    X(MIN, "min", -1e30, 1e30, false, "least value") \
    X(MAX, "max", -1e30, 1e30, false, "greatest value") \
    X(SCALE, "scale", 0, 1e30, false, "of the scores; 0 is 1/sqrt(head width)") \
    X(SOFT_CAP, "soft_cap", 0, 1e30, false, "scores s become soft_cap tanh(s / soft_cap) before the bias; 0 leaves them") \
    X(EXPONENT, "exponent", -1e30, 1e30, false, "of the power") \
    X(FLOPS, "flops", 0, 1e30, false, "operations, forward, of the whole batch") \
    X(SAVED, "saved", 0, 0x1p50, false, "numbers that a framework saves for the backward half, beside inputs, of a sample") \
    X(SAVED_BYTES, "saved_bytes", 0, 0x1p50, false, "... and bytes in any precision") \
    X(HOST_SAVED_BYTES, "host_saved_bytes", 0, 0x1p50, false, "... where its kernels are those of processors") \
    X(FORWARD_STEPS, "forward_steps", 1, 1000, true, "kernels that a framework which runs operator by operator needs, forward, where a model writes the operator out") \
    X(BACKWARD_STEPS, "backward_steps", 1, 1000, true, "... and backward") \
    X(SAVED_FP32, "saved_fp32", 0, 1000, true, "bytes that such a framework saves for the backward half beside the input, of each element of it, in fp32") \
    X(SAVED_SHORT, "saved_short", 0, 1000, true, "... in 16 bits") \
    X(UPCAST, "upcast", 0, 1, true, "logits in 16 bits are converted to fp32 for the loss") \
    X(FORWARD_S, "forward_s", 0, 1e12, false, "measured seconds, forward, of the whole batch") \
    X(BACKWARD_S, "backward_s", 0, 1e12, false, "measured seconds, backward, of the whole batch") \
    X(OUTPUT_BYTES, "output_bytes", 0, 0x1p50, false, "measured size of the outputs, of the whole batch") \
    X(PARAMETER_BYTES, "parameter_bytes", 0, 0x1p50, false, "measured size of the parameters")
/* clang-format on */

enum attr_id {
#define X(name, ...) ATTR_##name,
    ATTR_MAP(X)
#undef X
        ATTR_COUNT
};

enum { ATTR_MAX_VALUES = 32 }; /* of one attribute: split has many sizes */

struct attr_traits {
    const char *name;
    double least, most;
    bool integer;
    const char *summary;
};

extern const struct attr_traits hp_attr_traits[ATTR_COUNT];

/* The attribute called `name`, or ATTR_COUNT. */
enum attr_id hp_attr_find(const char *name);

/* Is the attribute a switch: 0 or 1? */
bool hp_attr_is_switch(enum attr_id id);

struct attr {
    enum attr_id id;
    int n;
    const double *v;
};

/* In order of id, each at most once. */
struct attrs {
    int n;
    const struct attr *attr;
};

/* A copy with all values. */
const struct attrs *hp_attrs_copy(struct arena *arena, const struct attrs *attrs);

/* The values of attribute `id`, or NULL where it is absent. */
const struct attr *hp_attr_get(const struct attrs *attrs, enum attr_id id);

/* Value i of attribute `id`, or `otherwise`. */
double hp_attr(const struct attrs *attrs, enum attr_id id, int i, double otherwise);
static inline int64_t hp_attr_int(const struct attrs *attrs, enum attr_id id, int i,
                                  int64_t otherwise)
{
    double value = hp_attr(attrs, id, i, (double)otherwise);
    return value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

/* Attributes within a call:
 *     ATTRS({ ATTR_KERNEL, 2, V(3, 3) }, { ATTR_STRIDE, 2, V(2, 2) })
 * They live as long as the enclosing block. Any order; the builder sorts its copy. */
#define V(...) ((const double[]){ __VA_ARGS__ })
#define ATTRS(...)                                                                 \
    (&(const struct attrs){                                                        \
        (int)(sizeof((const struct attr[]){ __VA_ARGS__ }) / sizeof(struct attr)), \
        (const struct attr[]){ __VA_ARGS__ } })

#endif /* GRAPH_ATTRS_H */
