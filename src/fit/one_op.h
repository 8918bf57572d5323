/* fit/one_op.h - a graph of one operator, from the extents of its axes. Internal.
 *
 *     kind "conv", shape "n=128 c=64 h=56 w=56 k=64 kernel=3 pad=1", passes "y"
 *
 * Extents are those of the operator's axes, by the letters of its row (of an operator with one
 * axis per dimension those of its rank: n c; n t c; n c h w), so h is of a convolution's
 * result. Attributes may stand for the axes that they set (kernel for i and j, out for k), and
 * the other way round. */
#ifndef FIT_ONE_OP_H
#define FIT_ONE_OP_H

#include "graph/graph.h"

struct one_op {
    struct hypar_graph *graph; /* to be released with hypar_graph_free() */
    const struct op *op;
    uint32_t passes; /* bit p: pass p of its nest */
};

/* Build it. `passes` names what they write, "t+dx+dk+dv". Optional parameters (biases) are
 * present, optional inputs are not. HYPAR_INVALID, and no graph, if the texts do not fit the
 * row. */
enum hypar_status hp_one_op(struct one_op *out, const char *kind, const char *shape,
                            const char *passes, struct hypar_error *err);

/* fit/shape.c: the contents of a shape text. */
enum { SHAPE_LETTERS = 26 };

struct shape {
    int64_t extent[SHAPE_LETTERS]; /* by letter; 0: absent */
    char order[SHAPE_LETTERS + 1]; /* the letters that were given */
    struct attrs attrs;            /* in order of the text */
    int64_t inputs;                /* of an operator with any number of them; 0: not given */
};

static inline int64_t hp_shape_extent(const struct shape *shape, char letter)
{
    return shape->extent[letter - 'a'];
}

/* Read "n=8 c=16 kernel=3x3"; commas may replace blanks, and the x between values. */
enum hypar_status hp_shape_read(struct shape *out, struct arena *arena,
                                const struct op_traits *row, const char *text,
                                struct hypar_error *err);

/* Fill in extents that attributes set, and attributes that extents set. */
enum hypar_status hp_shape_complete(struct shape *shape, struct arena *arena,
                                    const struct op_traits *row, struct hypar_error *err);

#endif /* FIT_ONE_OP_H */
