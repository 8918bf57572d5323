/* graph/attrs.h - the attributes of an operator: names from one list, values as numbers.
 * Internal. */
#ifndef GRAPH_ATTRS_H
#define GRAPH_ATTRS_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
/* Every attribute that a row may have: enum, name in files, least, most, whether an integer. */
#define ATTR_MAP(X) \
    X(KERNEL, "kernel", 1, 0x1p20, true)              /* taps per spatial dimension */ \
    X(STRIDE, "stride", 1, 0x1p20, true) \
    X(PAD, "pad", 0, 0x1p20, true)                    /* before each spatial dimension, then after each */ \
    X(DILATION, "dilation", 1, 0x1p20, true) \
    X(GROUPS, "groups", 1, 0x1p24, true) \
    X(OUT, "out", 1, 0x1p30, true)                    /* output features of a parameter still to be made */ \
    X(VOCAB, "vocab", 1, 0x1p30, true)                /* rows of an embedding still to be made */ \
    X(TRANSPOSED, "transposed", 0, 1, true)           /* the last two dimensions of w (or of y) are exchanged */ \
    X(HEADS, "heads", 1, 0x1p20, true)                /* of the queries */ \
    X(KV_HEADS, "kv_heads", 1, 0x1p20, true)          /* of keys and values; divides heads */ \
    X(CAUSAL, "causal", 0, 1, true)                   /* position q sees keys 0..q only */ \
    X(REVERSE, "reverse", 0, 1, true)                 /* the sequence is run from its end */ \
    X(CEIL, "ceil", 0, 1, true)                       /* pooling keeps a last, incomplete window */ \
    X(COUNT_PAD, "count_pad", 0, 1, true)             /* average pooling divides by the taps, padding included */ \
    X(SIZE, "size", 1, 0x1p20, true)                  /* channels of an LRN window */ \
    X(AXIS, "axis", 0, 5, true)                       /* of concat, slice, split: a dimension */ \
    X(AXES, "axes", 0, 5, true)                       /* of reduce, squeeze: dimensions */ \
    X(KEEP, "keep", 0, 1, true)                       /* reduced dimensions stay, with size 1 */ \
    X(START, "start", 0, 0x1p40, true) \
    X(STOP, "stop", 1, 0x1p40, true) \
    X(STEP, "step", 1, 0x1p20, true) \
    X(SIZES, "sizes", 1, 0x1p40, true)                /* of split: one per output */ \
    X(PERM, "perm", 0, 5, true)                       /* of transpose: output dimension i is input dimension perm[i] */ \
    X(SHAPE, "shape", -1, 0x1p40, true)               /* of reshape: 0 copies a dimension, -1 is what is left */ \
    X(EPS, "eps", 0, 1, false) \
    X(ALPHA, "alpha", -1e30, 1e30, false) \
    X(BETA, "beta", -1e30, 1e30, false) \
    X(BIAS, "bias", -1e30, 1e30, false)               /* the constant k of LRN */ \
    X(RATE, "rate", 0, 1, false)                      /* of dropout: what is set to zero */ \
    X(THETA, "theta", 1, 1e30, false)                 /* base of the rotary embedding */ \
    X(MIN, "min", -1e30, 1e30, false) \
    X(MAX, "max", -1e30, 1e30, false) \
    X(SCALE, "scale", 0, 1e30, false)                 /* attention: of the scores, 0 = 1/sqrt(head width) */ \
    X(EXPONENT, "exponent", -1e30, 1e30, false) \
    X(FLOPS, "flops", 0, 1e30, false)                 /* of an opaque operator, forward, whole batch */
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
};

extern const struct attr_traits hp_attr_traits[ATTR_COUNT];

/* The attribute called `name`, or ATTR_COUNT. */
enum attr_id hp_attr_find(const char *name);

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

/* The values of attribute `id`, or NULL where it is absent. */
const struct attr *hp_attr_get(const struct attrs *attrs, enum attr_id id);

/* Value i of attribute `id`, or `otherwise`. */
double hp_attr(const struct attrs *attrs, enum attr_id id, int i, double otherwise);
static inline int64_t hp_attr_int(const struct attrs *attrs, enum attr_id id, int i,
                                  int64_t otherwise)
{
    return (int64_t)hp_attr(attrs, id, i, (double)otherwise);
}

/* Writing out attributes at a call:
 *     ATTRS({ ATTR_KERNEL, 2, V(3, 3) }, { ATTR_STRIDE, 2, V(2, 2) })
 * lives as long as the enclosing block. Any order; the builder sorts its copy. */
#define V(...) ((const double[]){ __VA_ARGS__ })
#define ATTRS(...)                                                                 \
    (&(const struct attrs){                                                        \
        (int)(sizeof((const struct attr[]){ __VA_ARGS__ }) / sizeof(struct attr)), \
        (const struct attr[]){ __VA_ARGS__ } })

#endif /* GRAPH_ATTRS_H */
