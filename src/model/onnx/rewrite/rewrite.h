/* model/onnx/rewrite/rewrite.h - from the first graph of an import to the network. Internal to
 * model/.
 *
 * The first graph has one or more operators for each node of the file. The rules (rules.c has
 * their table, pattern.c the matcher) read the first graph, never change it, and write a list
 * of new operators: the operator that a rule names where one applies, else the same operator.
 * New operators whose results nobody needs are left out. The rest is built (emit.c): reshapes
 * and transposes are joined, and moved past operators that work on any order of the elements,
 * until they cancel or an operator needs the order. */
#ifndef MODEL_ONNX_REWRITE_REWRITE_H
#define MODEL_ONNX_REWRITE_REWRITE_H

#include "model/onnx/onnx.h"

/* A tensor of the new operators: one of them writes it, or it is one of the first graph's
 * inputs and parameters, or a part of a parameter. */
struct new_tensor {
    int op;   /* that writes it, -1 */
    int from; /* tensor of the first graph, -1 */
    int dim;  /* of it only [start, stop) of this dimension; stop 0: all */
    int64_t start, stop;
};

struct new_op {
    enum op_kind kind;
    const char *name;
    int n_inputs, n_outputs;
    int *input; /* -1: absent */
    int output; /* the first; others follow it */
    const struct attrs *attrs;
    struct hypar_shape shape; /* of the output of a reshape */
    bool live;
};

struct rewriting {
    struct importing *im;
    const struct hypar_graph *g; /* the first graph */
    struct arena *arena;
    int *map; /* tensor of the first graph -> tensor of the new operators */
    struct new_op *op;
    struct new_tensor *tensor;
    int n_ops, n_tensors, op_capacity, tensor_capacity;
    int n_dropped;                  /* dropouts inside attentions */
    struct table concats;           /* of the first graph, by what they join */
    struct table pattern_texts;     /* patterns that are parsed: index into */
    const struct pattern **pattern; /* their trees */
    int n_patterns, pattern_capacity;
    const struct pattern **rules; /* by row of the table of rules; NULL: not parsed yet */
};

/* Append a new operator; returns its first output. `attrs` and `inputs` are kept. */
int hp_new_op(struct rewriting *rw, enum op_kind kind, const char *name, int n_inputs,
              const int *inputs, const struct attrs *attrs, int n_outputs);
int hp_new_reshape(struct rewriting *rw, const char *name, int x,
                   const struct hypar_shape *shape);
int hp_new_transpose(struct rewriting *rw, const char *name, int x, int n, const int *perm);

/* [start, stop) of dimension `dim` of a parameter of the first graph. */
int hp_new_part(struct rewriting *rw, int param, int dim, int64_t start, int64_t stop);

/* The name of the module that a node belongs to: "/encoder/norm1" of "/encoder/norm1/Add_1". */
const char *hp_scope(struct rewriting *rw, const char *name);

/* The first output of an operator of the first graph. */
int hp_output(const struct rewriting *rw, int op);

/* The new tensors of the inputs of an operator of the first graph, HP_ABSENT where one is. */
void hp_new_inputs(const struct rewriting *rw, const struct op *o, int *inputs);

/* Does an operator of this kind only move elements? */
bool hp_moves_only(enum op_kind kind);

/* Adds the effect of such an operator to a shuffle; false: the result is no shuffle. */
bool hp_shuffle_step(struct shuffle *s, const struct hypar_graph *g, int op);

/* The operator of the first graph that writes `t` if it has this kind, else -1. */
int hp_made_by(const struct rewriting *rw, int t, enum op_kind kind);

/* The scores before the mask where `t` are scores with a mask by which a query sees no later
 * key; -1: `t` are none. */
int hp_causal_scores(const struct rewriting *rw, int t);

/* The number of operators that read `t`. */
int hp_readers(const struct rewriting *rw, int t);

/* The new tensor of `x` in the order and shape of a plan. */
int hp_new_shuffle(struct rewriting *rw, const char *name, int x,
                   const struct shuffle_plan *plan);

/* Add what the user should know about the import to the network: notes.c. */
void hp_onnx_add_notes(struct rewriting *rw, struct hypar_graph *graph);

/* Build the new operators that are live. */
enum hypar_status hp_emit_new_ops(struct rewriting *rw, const int *outputs, int n_outputs,
                                  const char *name, struct hypar_graph **out);

#endif /* MODEL_ONNX_REWRITE_REWRITE_H */
