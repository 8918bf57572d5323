/* graph/op.h - the operator kinds and the table that describes them. Internal. */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H

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
};

struct binding;

/* One row; graph/op_list.h explains the texts, graph/signature.c reads them. */
struct op_traits {
    const char *name;
    const char *summary;
    const char
        *axes; /* "nS tA kP=out cR": letter, role, optionally the attribute that sets it */
    const char *operands; /* "x[n,t,c] | w[c,k] +b?[k] -> y[n,t,k]" */
    const char *passes;   /* "x w +b -> y: ntkc; dy w -> dx: ntkc; ..." */
    const char *attrs;    /* "kernel:2! stride:2=1 pad:4=0" */
    unsigned flags;
    bool (*bind)(struct binding *binding); /* fills in the index maps; false: failed */
};

extern const struct op_traits hp_op[OP_KIND_COUNT];

/* The kind called `name`, or OP_KIND_COUNT. */
enum op_kind hp_op_find(const char *name);

#endif /* GRAPH_OP_H */
