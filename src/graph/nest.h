/* graph/nest.h - one operator as a loop nest: axes, operands, passes. Internal.
 *
 * A nest is a row of the operator table (graph/op_list.h) with its sizes filled in: the extent
 * of each axis, and for every tensor that the operator touches, the axis that indexes each
 * dimension. Shapes, splitting, FLOPs and bytes are all read from it. Operators of the same
 * kind, attributes and shapes share one nest, so results that are tabulated by nest are
 * computed once. Exception: if autocast holds the inputs of only one of two operators in fp32,
 * they have two nests that are `like` each other.
 *
 * THE RULE. Split axis a into d parts. A tensor indexed by a is cut into d pieces. A tensor not
 * indexed by a is replicated where it is read. Where it is written, it is a partial sum if axis
 * a takes part in the pass; otherwise the parts are copies. */
#ifndef GRAPH_NEST_H
#define GRAPH_NEST_H

#include <hypar/graph.h>

#include "graph/op.h"

enum {
    MAX_AXES = HYPAR_MAX_AXES,
    MAX_DIMS = HYPAR_MAX_DIMS,
    MAX_OPERANDS = 64, /* concat and split have many; the bits of an operand_set */
    MAX_FACTORS = 4,   /* axes of one product */
    MAX_PASSES = 12,
};

typedef uint64_t operand_set; /* bit i: operand i */
typedef uint32_t axis_set;    /* bit i: axis i */

/* How one dimension of one operand is indexed. */
enum dim_kind {
    DIM_WHOLE,     /* by no axis: every part has all of it */
    DIM_BROADCAST, /* size 1 where others have more: replicated, and its gradient is summed */
    DIM_AXIS,      /* by one axis, perhaps through a window */
    DIM_PRODUCT,   /* by several axes, row-major */
};

struct dim_map {
    enum dim_kind kind;
    int8_t n_axes;
    int8_t axis[MAX_FACTORS]; /* outermost first */
    /* DIM_AXIS: outputs [lo,hi) touch [lo*stride-pad, (hi-1)*stride-pad+span), clipped to the
     * tensor. A plain axis has stride 1, pad 0, span 1; axis + offset has pad = -offset. */
    int64_t stride, pad, span; /* span = dilation * (kernel - 1) + 1 */
    /* If not 0: positions lie between elements, `divide` (at least 2) to an element, rounded
     * down. For resizing, adaptive pooling, transposed convolution. */
    int64_t divide;
    int8_t taps; /* the axis of the window's taps; 0: none (axis 0 never is one) */
};

enum operand_role {
    OPERAND_INPUT,  /* an activation, or any tensor given there */
    OPERAND_PARAM,  /* usually a parameter: made from the row if none is given */
    OPERAND_OUTPUT, /* written by the forward pass */
    OPERAND_STAT,   /* a statistic that lies between two passes */
};

/* How partial results of a written operand are combined. */
enum combine {
    COMBINE_SUM,
    COMBINE_MAX,
    COMBINE_SOFTMAX, /* (max, sum of exp(x - max)) pairs: the sums are rescaled to the max */
};

struct operand {
    char name[4];
    enum operand_role role;
    enum combine combine;
    bool index; /* integers (ids, labels), not numbers of the chosen precision */
    bool wide;  /* under autocast it is held in fp32 (autocast.h) */
    int8_t n_dims;
    int64_t size[MAX_DIMS];
    struct dim_map dim[MAX_DIMS];
    axis_set axes; /* axes that index some dimension */
};

/* A product of matrices: the axes of its rows, columns and sums, and how many such products
 * there are ("4k": 4). */
struct matrix_product {
    axis_set each; /* axes with a separate product for each index */
    axis_set axes[3];
    double times[3];
    double macs; /* of all such products of the pass */
};
enum { PRODUCT_ROWS, PRODUCT_COLUMNS, PRODUCT_SUMMED, MAX_PRODUCTS = 3 };

/* One loop nest of the operator: it reads some operands (or their gradients) and writes
 * others. */
struct pass {
    bool backward;
    operand_set reads, reads_grad;   /* values; gradients */
    operand_set writes, writes_grad; /* forward passes write values, or statistics */
    operand_set
        adds;       /* operands that are added once, after partial sums are combined: a bias */
    axis_set axes;  /* all axes of the operands that it reads and writes */
    double macs;    /* multiply-adds of the whole pass */
    int n_products; /* matrix products among them; 0: unknown (opaque operators) */
    struct matrix_product product[MAX_PRODUCTS];
    double other; /* other arithmetic operations */
};

struct nest {
    enum op_kind kind;
    int id;     /* 0..n_nests-1 in the graph */
    int like;   /* the first one that is the same but for precisions under autocast */
    bool wide;  /* under autocast it computes in fp32 */
    int n_axes; /* the last one is always r, the copies */
    int n_operands, n_passes;
    struct hypar_axis *axis;
    struct operand *operand; /* inputs, parameters, outputs, statistics: in the row's order */
    struct pass *pass;       /* forward ones first, each list in order */
    int n_inputs;            /* operands before the first output that a caller gives */
    const struct attrs *attrs;
};

/* The axis called `name`, or -1. */
int hp_nest_axis(const struct nest *nest, char name);

/* The letter of axis `a` independent of the operator before: profiles identify equal operators
 * by it. It differs from the axis's name only in reshapes and transposes. */
char hp_letter_by_rank(const struct nest *nest, int a);

/* The first axis with this role that can be split; -1: none. */
int hp_axis_of_role(const struct nest *nest, enum hypar_role role);

/* The axis of the samples, if it can be split; -1: none. */
static inline int hp_sample_axis(const struct nest *nest)
{
    return hp_axis_of_role(nest, HYPAR_SAMPLE);
}

/* The dimension of operand `o` that holds the samples (the sample axis is its outermost); -1:
 * none. */
int hp_sample_dim(const struct nest *nest, int o);

/* Multiply-adds of all forward (backward) passes. */
double hp_nest_macs(const struct nest *nest, bool backward);

/* Is there a multiply-add in any pass? */
static inline bool hp_multiplies(const struct nest *nest)
{
    for (int p = 0; p < nest->n_passes; p++)
        if (nest->pass[p].macs > 0)
            return true;
    return false;
}

/* The outermost axis with more than one index of dimension `d` of operand `o`; -1: none. */
static inline int hp_leading_axis(const struct nest *nest, int o, int d)
{
    const struct dim_map *map = &nest->operand[o].dim[d];
    for (int i = 0; i < map->n_axes; i++)
        if (nest->axis[map->axis[i]].extent > 1)
            return map->axis[i];
    return -1;
}

/* The dimension of operand `o` that the axis leads; -1: none. */
static inline int hp_led_dim(const struct nest *nest, int o, int axis)
{
    for (int d = 0; d < nest->operand[o].n_dims; d++)
        if (hp_leading_axis(nest, o, d) == axis)
            return d;
    return -1;
}

/* The axis whose parts divide dimension `d` of operand `o`; -1: none. */
static inline int hp_dividing_axis(const struct nest *nest, int o, int d)
{
    enum dim_kind kind = nest->operand[o].dim[d].kind;
    int a = kind == DIM_AXIS || kind == DIM_PRODUCT ? hp_leading_axis(nest, o, d) : -1;
    return a >= 0 && nest->axis[a].splittable ? a : -1;
}

/* What a split of `axis` does to the tensor written in `pass` as operand `o`. */
enum write_kind {
    WRITE_CUT,     /* each part has its own piece */
    WRITE_PARTIAL, /* each part has a partial result for all of it */
    WRITE_COPY,    /* each part has the same */
};
enum write_kind hp_write_kind(const struct nest *nest, int pass, int o, int axis);

/* The axes of a kind. */
axis_set hp_written_axes(const struct nest *nest, int pass, int o, enum write_kind kind);

#endif /* GRAPH_NEST_H */
