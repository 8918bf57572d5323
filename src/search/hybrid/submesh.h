/* search/hybrid/submesh.h - operators split inside a submesh of devices, at least cost.
 * Internal to planner hybrid.
 *
 * A stage of a pipeline is one or more replicas of a SUBMESH: t devices that follow each other,
 * on which each operator of the stage is divided somehow, by samples and one other axis. What
 * an operator takes in each of its states is what its largest part takes on the device; what
 * two operators exchange is what the exchange rule moves between their parts
 * (program/exchange/exchange.h), at the cost of the simulator's communications
 * (sim/task_costs.h). Operators that are alike have their states, and pairs that are alike
 * their tables, worked out once, whatever the number of layers; the states are then chosen by
 * the one exact solver. */
#ifndef SEARCH_HYBRID_SUBMESH_H
#define SEARCH_HYBRID_SUBMESH_H

#include "search/fix.h"
#include "search/planner.h"

/* A way to divide an operator: samples by `samples`, axis `axis` by `degree`; the product is
 * the submesh. axis -1: by samples alone. `fix` is not NULL: as that says, on the first devices
 * of a stage of one replica. */
struct submesh_state {
    int samples, axis, degree;
    const struct fix *fix;
};

/* Operators that choose together: those of one kind that read the same activation. All is the
 * same for variables that are alike, but the operators. */
struct submesh_var {
    int n_ops, *op; /* ascending */
    int class;
};

/* What variables that are alike share. */
struct var_class {
    int n_ops, lead; /* operators of each; its first variable */
};

/* What one exchange moves between two variables, as far as these have to do with it; those that
 * are alike share tables. */
struct term_class {
    struct exchange *exchange; /* with the first such pair's operators */
    int writer, reader;        /* variable classes */
    int writer_var, reader_var;
    int element_bytes;
    bool backward, resends; /* `resends`: backward passes read it, and it can be sent again */
    bool over_samples;      /* it is summed over all samples, and so over replicas */
};

struct submesh_term {
    int class;
    int writer, reader; /* variables */
    int first, last;    /* operators: the first and the last that take part */
};

/* Layers that repeat, but for the first and the last, divide alike: the variables of one stand
 * for those of all, and count so often. Terms likewise. */
struct alike_term {
    int class, writer, reader, count;
};

/* What a graph has, whatever the submesh. */
struct submesh_model {
    struct arena *arena;
    const struct problem *problem;
    struct hypar_plan *probe; /* into which splits are written to be laid out */
    struct lowering *lowering;
    struct task_costs *costs;
    int n_vars, n_var_classes, n_terms, n_term_classes;
    int *var_of; /* [op] */
    struct submesh_var *var;
    struct var_class *var_class;
    struct submesh_term *term;
    struct term_class *term_class;
    int *stands_for; /* [variable]: the one whose state it has; itself, if it is not in such a
                        layer */
    int *times;      /* [variable]: how many have its state */
    int n_alike;
    struct alike_term *alike;
    /* Of what all operators take, the part of the longest path through the graph. So much of a
     * sum over samples is waited for: the rest passes beside other branches. */
    double on_path;
    const struct op_parts **parts; /* scratch: by operator */
    struct submesh *last;          /* of those that were worked out; NULL: none was */
    struct fixes fixes;            /* operators that are divided as told */
    /* By operator: the axis of the sequence, where it has to be divided by that, if not by
     * samples; -1: by any. */
    int *sequence_axis;
    /* By operator: whether words for recomputation mark it. */
    const bool *again[3]; /* [enum hypar_recompute] */
};

/* Larger submeshes divide operators into crumbs. They are looked at where a machine has few
 * devices and there are fewer samples than replicas otherwise; and as all devices of a machine
 * that has not more than samples, each operator being divided by samples or by another axis. */
enum { LARGE_SUBMESH = 16 };

/* Which submesh. */
struct submesh_shape {
    int first;       /* its first device */
    int size;        /* devices */
    int64_t samples; /* of one micro-batch, that one replica of it gets */
};

/* What an operator takes in one state, on the device that takes longest. */
struct op_cost {
    double forward_s, backward_s;
    double
        gradient_s; /* of `backward_s`, passes that gradients of parameters alone come from */
    double param_elements; /* that a device holds, and has gradients of */
    double kept_bytes;     /* of activations that backward passes read, of one micro-batch */
    int param_parts;       /* into which its parameters are divided */
};

/* The states of the operators of a class. */
struct class_states {
    int n;
    struct submesh_state *state;
    struct op_cost *cost;           /* [state * n_ops + operator of the class] */
    const struct op_parts ***parts; /* [state][operator of the class] */
};

/* A submesh with all its tables. */
struct submesh {
    struct submesh_shape shape;
    struct class_states *states; /* [variable class] */
    /* [term class]: [state of the writer * n + state of the reader]: what the term takes, or,
     * where it has not been worked out yet, no more than that. */
    double **term_s;
    bool **term_exact;
    /* The one before it; the last one before it of as many devices: what was worked out there
     * is worth it here. NULL: there is none. */
    const struct submesh *before, *like;
    /* Of a comm: without bytes; of what a device gets, by all its links. */
    double least_s, least_s_per_byte;
};

enum hypar_status hp_submesh_model(struct submesh_model *out, struct arena *arena,
                                   const struct problem *problem, struct hypar_error *err);
void hp_submesh_model_end(struct submesh_model *model);

/* How an operator has to be divided; NULL: in any way. */
const struct fix *hp_submesh_fix(const struct submesh_model *model, int op);

/* Work out the tables; NULL: some operator cannot be divided so. Operators that are to have
 * more parts than the submesh has devices are divided in any way. */
struct submesh *hp_submesh(struct submesh_model *model, const struct submesh_shape *shape);

/* Which of a variable's operators `op` is. */
int hp_place_in_var(const struct submesh_var *var, int op);

/* The operator of the writing variable that writes what a term moves. */
int hp_term_writer(const struct submesh_model *model, const struct submesh_term *term);

/* Activations that an operator keeps for its backward passes: those that no earlier one does.
 */
operand_set hp_kept_operands(const struct hypar_graph *graph, int op);

/* A state as a split and the devices of its parts, of `replicas` of the submesh. */
void hp_submesh_split(const struct nest *nest, const struct submesh_state *state, int replicas,
                      int first, struct split *split, int *device);

/* What a term takes in these states of its ends, as far as it is waited for. */
double hp_submesh_term(struct submesh_model *model, const struct submesh *submesh, int class,
                       int from, int to);

/* Choose states of the variables with operators lo .. hi - 1 (and of no other), so that time
 * and the price of memory are least. */
struct submesh_problem {
    int lo, hi;
    double price; /* seconds for each byte that a device holds */
    const double
        *sync_s;        /* [parts of a parameter]: to sum a gradient element over its copies */
    double state_bytes; /* of a parameter's element: what stays from step to step */
    double in_flight;   /* micro-batches whose activations are held */
};
enum hypar_status hp_submesh_solve(struct submesh_model *model, const struct submesh *submesh,
                                   const struct submesh_problem *problem, int *state,
                                   double *least_s, struct hypar_error *err);

#endif /* SEARCH_HYBRID_SUBMESH_H */
