/* search/hybrid/stage.h - the cost of a stage in closed form. Internal to planner hybrid.
 *
 * A graph is cut into stages at a few places only; a unit is the operators between two of these
 * places (a layer of a transformer, for example). Each submesh has a few splittings: a
 * splitting is a state for every operator, chosen at one price of memory. A splitting has
 * prefix sums of its units' costs, so the cost of a stage of any units is a look-up. */
#ifndef SEARCH_HYBRID_STAGE_H
#define SEARCH_HYBRID_STAGE_H

#include "search/hybrid/submesh.h"

struct units {
    int n;
    int *first;  /* [unit]: its first operator; first[n]: the number of operators */
    int *of_op;  /* [op] */
    bool layers; /* most units are repeated layers */
    bool apart;  /* operators of one variable may be in different stages */
};

/* With at most FEW_UNITS units, the search tries every cut. With at most FEW_DEVICES devices,
 * some may stay idle and submeshes may be large. */
enum { FEW_UNITS = 12, FEW_DEVICES = 64 };

/* Find the places where the graph may be cut. A cut may separate the operators of a variable
 * only if most of the graph could not be cut otherwise. `op_s`: the approximate time of each
 * operator. */
struct units hp_units(const struct submesh_model *model, const double *op_s);

enum { MOST_PARTITIONS = 16, RECOMPUTE_WORDS = 3 };

/* Divided parameters are gathered this many operators in advance; far ahead if operators finish
 * sooner than parameters arrive from many devices. */
enum { GATHER_AHEAD = 4, GATHER_FAR_AHEAD = 16 };

/* [unit]: sums over all units before it. */
struct unit_sums {
    /* Of a micro-batch: all passes; backward passes; the backward passes that only write
     * gradients of parameters. */
    double *time_s, *backward_s, *gradient_s;
    double *compute_s;            /* part of time_s without exchanges */
    double *exchanges, *weighted; /* number of exchanges, and of operators with parameters */
    double *replica_sums, *replica_bytes; /* sums over samples in which replicas take part:
                                           * their number, and bytes */
    double *errors; /* bytes of the output gradients that parameter gradients are computed
                     * from */
    double *again_s[RECOMPUTE_WORDS]; /* extra time if operators are recomputed */
    double *kept[RECOMPUTE_WORDS];    /* bytes of activations kept for a micro-batch */
    /* Parameter elements that a device holds, by the number of parts of the parameters:
     * partition[i] is this number. */
    double *params[MOST_PARTITIONS];
};

struct splitting {
    int *state;  /* [variable] */
    bool resend; /* tensors gathered forward are gathered again for backward passes, not kept */
    struct unit_sums sums;
    double *entering_s; /* [unit]: time of its exchanges with earlier units of its stage */
    double *border;     /* [unit]: bytes that a device sends to it if a stage begins there */
    /* [unit]: bytes while one of its operators is computed, including activations that earlier
     * operators of the unit keep; bytes of divided parameters gathered at one time, if gathered
     * ahead and if gathered far ahead. */
    double *peak, *gathered, *gathered_far;
    /* [unit]: parameter elements of its first operator with parameters, and of its last. */
    double *first_elements, *last_elements;
    int n_partitions;
    int partition[MOST_PARTITIONS];
};

/* Fill all fields but the states: for units lo .. hi - 1 as one stage or, if these are all
 * units, for stages of any units. */
void hp_sum_up_splitting(struct submesh_model *model, const struct submesh *submesh,
                         const struct units *units, int lo, int hi, struct arena *arena,
                         struct splitting *splitting);

/* The least bytes of activations that `op` keeps in this state of its variable, for any
 * recomputation and resending, and for any states of other variables. */
double hp_least_kept(const struct submesh_model *model, const struct submesh *submesh, int op,
                     int state);

/* Bytes of all activations that passes of `op` read or write in this state of its variable. */
double hp_touched_bytes(const struct submesh_model *model, const struct submesh *submesh,
                        int op, int state);

/* The cost of an operator in its chosen state. */
const struct op_cost *hp_op_cost(const struct submesh_model *model,
                                 const struct submesh *submesh, const int *state, int op);

/* Under a splitting that resends: is the tensor of this term gathered again for backward
 * passes? */
bool hp_term_resends(const struct submesh_model *model, const struct submesh *submesh,
                     const int *state, const struct submesh_term *term);

/* One submesh with its splittings. */
struct submesh_splittings {
    struct submesh *submesh; /* NULL: some operator cannot be divided over it */
    bool roomy;              /* memory has no price: the splittings are the fastest of all */
    int n;
    struct splitting *splitting;
};

/* A cost that is linear in bytes: fixed_s + bytes * s_per_byte. */
struct line {
    double fixed_s, s_per_byte;
    double own_link_s_per_byte;    /* of a sum: time that a device's own link is busy */
    const struct comm_model *comm; /* of a sum: for any size */
    /* Of a hop: if as many bytes arrive from the other side at the same time; for one message
     * alone. */
    double both_s_per_byte, alone_s_per_byte;
};

/* Lines computed so far. */
struct line_table {
    struct table keys;
    int n, capacity;
    struct line *line;
};

/* Properties that all stages of a plan share. */
struct step_shape {
    int64_t micro_batches;
    enum hypar_shard shard;
    bool far_ahead; /* divided parameters are gathered GATHER_FAR_AHEAD */
    bool apart; /* gradients of parameters are computed separately, so recomputed tensors stay
                 * in memory */
};

static inline int hp_gather_ahead(const struct step_shape *step)
{
    return step->far_ahead ? GATHER_FAR_AHEAD : GATHER_AHEAD;
}

/* The devices of a stage, and its limits. */
struct stage_place {
    int first, n_devices;
    double in_flight; /* micro-batches */
    double room;      /* bytes */
    int size;         /* of submeshes; 0: any */
};

struct stage_choice {
    int size; /* of its submeshes: the devices that an operator's parts use; 0: nothing fits */
    const struct submesh *submesh;
    const struct splitting *splitting;
    enum hypar_recompute recompute;
    int recomputed; /* recomputed units, from the first on */
    double time_s;  /* of a micro-batch, including its share of the tail */
    double own_s, tail_s, memory_bytes;
    double each_bytes; /* part of memory_bytes for each micro-batch in flight except the one
                        * being computed */
    double gradient_s, compute_s; /* parts of own_s */
    double border_bytes;          /* bytes that a device receives from the stage before, in one
                                   * direction */
};

/* The choice for a stage with this number of micro-batches in flight and this much memory. */
struct known_choice {
    double in_flight, room;
    struct stage_choice choice;
    int next; /* next choice of the same stage; -1: none */
};

struct hybrid {
    const struct problem *problem;
    struct arena *arena;
    struct submesh_model model;
    struct units units;
    double update_s;                      /* of one element */
    double forward_s, weighted, elements; /* forward time of all operators with the whole batch
                                           * on one device; number of operators with parameters;
                                           * their parameter elements */
    double *state_bytes; /* [unit]: state of parameters whose first reader is in a unit before
                          * it */
    struct table submesh_keys;
    int n_submeshes, submesh_capacity;
    struct submesh_splittings *submesh;
    struct line_table sums, hops;
    struct table choice_keys; /* from a stage to its first known choice */
    int n_choices, choice_capacity;
    struct known_choice *choice;
    int64_t evaluated;
    bool is_short;  /* a faster choice was rejected because it does not fit */
    bool small;     /* all states of all stages are enumerated ... */
    bool exhausted; /* ... but there were too many, because memory is short */
};

enum hypar_status hp_hybrid_begin(struct hybrid *out, struct arena *arena,
                                  const struct problem *problem, struct hypar_error *err);
void hp_hybrid_end(struct hybrid *hybrid);

const struct submesh_splittings *hp_submesh_splittings(struct hybrid *h,
                                                       const struct submesh_shape *shape);

/* The cost of sums over copies on `n` devices from `first` on; each group has every `parts`-th
 * device. */
struct line hp_sum_line(struct hybrid *h, int first, int n, int parts);

/* The cost if each of `n` devices from `from` on sends to one of the devices from `to` on. */
struct line hp_hop_line(struct hybrid *h, int from, int to, int n);

/* The time to receive the input of a stage over a hop, in one direction. Messages that share
 * links arrive one after another. If the devices of the stage exchange data, they wait for the
 * last message; else for the mean. */
double hp_border_seconds(const struct line *hop, double bytes, bool exchanges);

/* Do devices of the stage wait for each other within a micro-batch? */
bool hp_stage_exchanges(const struct stage_choice *choice);

/* The cost of one parameter element at the end of a step, if the parameter has `parts` parts:
 * to sum its gradient over the copies, to update it, and the time after the last sum. */
struct element_cost {
    double sum_s, own_link_s, update_s, last_s; /* own_link_s: on the links of one device */
};
struct element_cost hp_element_cost(struct hybrid *h, enum hypar_shard shard,
                                    const struct stage_place *place, int parts);

/* Bytes of state that a device holds per parameter element from step to step, if `holders`
 * devices hold the element. */
double hp_element_state_bytes(const struct hybrid *h, enum hypar_shard shard, int holders);

/* Do parameters that are divided over `n` devices arrive too late if they are gathered
 * GATHER_AHEAD? */
bool hp_gathers_are_late(struct hybrid *h, int n, int64_t micro_batches);

/* Estimate units lo .. hi - 1 as a stage with these states, in the fastest way that fits (size
 * 0: none fits). Its splitting is allocated from `arena`. */
struct stage_choice hp_weigh_states(struct hybrid *h, const struct step_shape *step,
                                    const struct stage_place *place, int lo, int hi,
                                    const struct submesh *submesh, int *state,
                                    struct arena *arena);

/* Try all states of a stage's operators and update *best with the fastest. Operators outside
 * the stage have the states of the list's first splitting. */
void hp_choose_states(struct hybrid *h, const struct step_shape *step,
                      const struct stage_place *place, int lo, int hi,
                      const struct submesh_splittings *list, struct arena *arena,
                      struct stage_choice *best);

/* Find the fastest way to run units lo .. hi - 1 as a stage. Returns false if none fits. */
bool hp_choose_stage(struct hybrid *h, const struct step_shape *step,
                     const struct stage_place *place, int lo, int hi, struct stage_choice *out);

#endif /* SEARCH_HYBRID_STAGE_H */
