/* graph/op.h - the kinds of operators and the table that describes them. Internal. */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H

#include <stddef.h>

#include "graph/attrs.h"

enum op_kind {
#define OP(name, ...) OP_##name,
#include "graph/op_list.h"
#undef OP
    OP_KIND_COUNT
};

enum {
    ROW_WEIGHTED = 1 << 0, /* a weighted layer in the papers' sense */
    ROW_LOSS = 1 << 1,
    ROW_OPAQUE = 1 << 2,
    ROW_LOOKUP = 1 << 3, /* moves data only: embedding, reshape, concat, ... */
    ROW_WIDE = 1 << 4,   /* autocast computes it in fp32 */
    ROW_ALIKE = 1 << 5,  /* autocast converts what it reads to one precision first */
};

struct binding;

/* One row; graph/op_list.h explains the texts, graph/signature.c reads them. */
struct op_traits {
    const char *name;
    const char *summary;
    const char
        *axes; /* "nS tA kP=out cR": letter, role, optionally the attribute that sets it */
    const char *operands; /* "x[n,t,c] | w[c,k] b?[k] -> y[n,t,k]" */
    const char *passes;   /* "x w +b -> y: ntkc; dy w -> dx: ntkc; ..." */
    const char *attrs;    /* "kernel:S! stride:S=1 pad:D=0" */
    unsigned flags;
    bool (*bind)(struct binding *binding); /* fills in the index maps; false: failed */
};

extern const struct op_traits hp_op[OP_KIND_COUNT];

/* The kind called `name`, or OP_KIND_COUNT. */
enum op_kind hp_op_find(const char *name);

/* One item of a row's operand text: "x[n,t?,c]", "b?[k]", "#l[n]", "m=softmax[n,2]", "x...". */
struct op_operand {
    char part; /* of the text: 'i' inputs, 'p' parameters, 'o' outputs, 's' statistics */
    char name;
    bool optional, index, many;
    bool exchanged;  /* the last two dimensions, if the attribute 'transposed' is set */
    const char *map; /* "[n,t?,c]", map_length characters of the text; NULL: `bind` makes it */
    int map_length;
};

/* Read the next item at *text, which begins at the row's operands with a zeroed *out; false:
 * there is none. */
bool hp_op_next_operand(const char **text, struct op_operand *out);

/* One item of a row's attribute text: "kernel:S!", "stride:S=1", "kv_heads=heads". */
struct op_attr {
    enum attr_id id;
    char count; /* number of values: '1', 'S' one per spatial dimension, 'D' two, '*' any number
                 */
    bool required;
    char fallback[24]; /* number, or the name of another attribute; "" if none */
};

/* Read the item at the start of `text`, which is not empty; returns the rest. */
const char *hp_op_next_attr(const char *text, struct op_attr *out);

/* "kernel, stride, pad": the attributes of a row, into text; returns `text`. */
const char *hp_op_attr_names(const struct op_traits *row, char *text, size_t size);

#endif /* GRAPH_OP_H */
