/* search/hybrid/submesh.h - splits operators inside a submesh of devices at the least cost.
 * Internal to planner hybrid.
 *
 * A stage of a pipeline has one or more replicas of a SUBMESH: t consecutive devices. Each
 * operator of the stage is divided over the submesh by samples and one other axis; such a
 * division is a state. The cost of an operator in a state is the time of its slowest part. The
 * cost between two operators is that of the bytes that the exchange rule moves between their
 * parts (program/exchange/exchange.h), with the simulator's communication costs
 * (sim/task_costs.h). Equal operators share their states, and equal pairs share their tables,
 * for any number of layers. The exact solver then chooses the states. */
#ifndef SEARCH_HYBRID_SUBMESH_H
#define SEARCH_HYBRID_SUBMESH_H

#include "search/fix.h"
#include "search/planner.h"

/* A way to divide an operator: samples by `samples`, axis `axis` by `degree`; the product is
 * the size of the submesh. axis -1: by samples only. With a `fix`, the operator is divided as
 * the fix says, on the first devices of a stage of one replica. */
struct submesh_state {
    int samples, axis, degree;
    const struct fix *fix;
};

/* Operators that have the same state: operators of one kind that read the same activation.
 * Equal variables differ only in their operators. */
struct submesh_var {
    int n_ops, *op; /* ascending */
    int class;
};

/* The part of one exchange between two variables. Equal parts share tables. */
struct term_class {
    struct exchange *exchange;
    int writer, reader; /* the first such pair of variables */
    int element_bytes;
    bool backward, resends; /* `resends`: backward passes read the tensor, and it can be sent
                             * again */
    bool over_samples;      /* the tensor is summed over all samples, and so over replicas */
};

struct submesh_term {
    int class;
    int writer, reader; /* variables */
    int first, last;    /* the first and the last operator that takes part */
    int times;          /* the number of terms that it represents */
};

/* The variables and terms of a graph, for any submesh. */
struct submesh_model {
    struct arena *arena;
    const struct problem *problem;
    struct hypar_plan *probe; /* a plan that gets splits to compute their parts */
    struct lowering *lowering;
    struct task_costs *costs;
    int n_vars, n_var_classes, n_terms, n_term_classes;
    int *var_of; /* [op] */
    struct submesh_var *var;
    int *lead; /* [variable class]: its first variable */
    int term_capacity, term_class_capacity;
    struct submesh_term *term;
    struct term_class *term_class;
    /* Repeated layers, except the first and the last, have the same states: the variables and
     * terms of one layer represent those of all. */
    int *stands_for; /* [variable]: the variable that represents it; itself, if it is in no
                      * repeated layer */
    int *times;      /* [variable]: the number of variables it represents */
    int n_alike;
    struct submesh_term *alike; /* between variables that represent themselves */
    /* The time of the longest path through the graph, as a share of all operators' time. A sum
     * over samples is waited for by this share; the rest overlaps with other branches. */
    double on_path;
    const struct op_parts **parts; /* scratch: by operator */
    struct submesh *last;          /* the last submesh computed; NULL: none */
    struct fixes fixes;            /* operators whose division is fixed by an option */
    /* By operator: the axis of the sequence if the operator may be divided only by it or by
     * samples; -1: by any axis. */
    int *sequence_axis;
    const double *speed; /* by device: its operations a second; NULL: all are alike */
    /* By operator: whether this setting of recomputation marks it. */
    const bool *again[HYPAR_RECOMPUTE_COUNT];
};

/* Limit of usual submeshes: larger ones divide operators into very small parts. Larger ones are
 * tried if the machine has few devices and there would be fewer samples than replicas; or as
 * all devices of a machine with at most as many devices as samples, where each operator is
 * divided by samples or by another axis. */
enum { LARGE_SUBMESH = 16 };

/* The position and size of a submesh. */
struct submesh_shape {
    int first;       /* its first device */
    int size;        /* devices */
    int64_t samples; /* samples of a micro-batch that one replica gets */
    bool shares;     /* faster devices get larger parts */
};

/* The cost of an operator in one state, on its slowest device. */
struct op_cost {
    double forward_s, backward_s;
    double
        gradient_s; /* part of `backward_s`: passes that only write gradients of parameters */
    double param_elements; /* parameter elements that a device holds and has gradients of */
    double kept_bytes;     /* activations of one micro-batch that backward passes read */
    int param_parts;       /* the number of parts of its parameters */
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
    /* [term class]: [state of the writer * n + state of the reader]: the term's time or, until
     * it is computed, a lower bound. */
    double **term_s;
    bool **term_exact;
    /* The previous submesh; the last one before it with as many devices: times computed there
     * are probably needed here. NULL: none. */
    const struct submesh *before, *like;
    /* Lower bounds of a comm: the time without bytes; the time per byte that a device receives
     * over all its links. */
    double least_s, least_s_per_byte;
};

enum hypar_status hp_submesh_model(struct submesh_model *out, struct arena *arena,
                                   const struct problem *problem, struct hypar_error *err);
void hp_submesh_model_end(struct submesh_model *model);

/* The fixed division of an operator; NULL: any. */
const struct fix *hp_submesh_fix(const struct submesh_model *model, int op);

/* Compute the tables. Returns NULL if some operator cannot be divided over this shape. A fix
 * with more parts than the submesh has devices does not apply. */
struct submesh *hp_submesh(struct submesh_model *model, const struct submesh_shape *shape);

/* The index of `op` among a variable's operators. */
int hp_place_in_var(const struct submesh_var *var, int op);

/* The states of a variable. */
static inline const struct class_states *hp_states(const struct submesh_model *model,
                                                   const struct submesh *submesh, int var)
{
    return &submesh->states[model->var[var].class];
}

/* The parts and the cost of an operator in state `state` of its variable. */
const struct op_parts *hp_op_parts(const struct submesh_model *model,
                                   const struct submesh *submesh, int op, int state);
const struct op_cost *hp_op_cost(const struct submesh_model *model,
                                 const struct submesh *submesh, int op, int state);

/* Elements of operand `o` that the largest part touches; its bytes, as an operand of `op`. */
double hp_part_elements(const struct submesh_model *model, const struct op_parts *parts, int o);
double hp_part_bytes(const struct submesh_model *model, const struct op_parts *parts, int op,
                     int o);

/* The operator of the writing variable that writes a term's tensor. */
int hp_term_writer(const struct submesh_model *model, const struct submesh_term *term);

/* Activations that an operator keeps for its backward passes and that no earlier operator
 * keeps. */
operand_set hp_kept_operands(const struct hypar_graph *graph, int op);

/* Where a state is placed: on `replicas` of the submesh. */
struct submesh_place {
    int replicas, first;
    int64_t micro_batches;
    bool shares; /* parts in proportion to the speed of their devices, as AccPar's */
};

/* A state as a split and the devices of its parts; sizes of parts are taken from `arena`. */
void hp_submesh_split(const struct submesh_model *model, int op,
                      const struct submesh_state *state, const struct submesh_place *place,
                      struct arena *arena, struct split *split, int *device);

/* The part of a term's time, in these states of its two ends, for which other work waits. */
double hp_submesh_term(struct submesh_model *model, const struct submesh *submesh, int class,
                       int from, int to);

/* Find the states of all variables so that time plus the price of memory is least. `price`:
 * seconds for each byte on a device. `sync_s`, by the number of parts of a parameter: the time
 * to sum a gradient element over its copies. HYPAR_INFEASIBLE soon after the search is
 * stopped. */
enum hypar_status hp_submesh_solve(struct submesh_model *model, const struct submesh *submesh,
                                   double price, const double *sync_s, int *state);

/* Micro-batches whose activations are taken to be in memory before there is a schedule. */
enum { USUAL_IN_FLIGHT = 4 };

#endif /* SEARCH_HYBRID_SUBMESH_H */
