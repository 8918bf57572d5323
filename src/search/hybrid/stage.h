/* search/hybrid/stage.h - the estimate of a stage in closed form. Internal to planner hybrid.
 *
 * A graph is cut into stages at a few places only; a unit is the operators between two of these
 * places (a layer of a transformer, for example). Each submesh has a few splittings: a
 * splitting is a state for every operator, solved at one price of memory. A splitting has
 * prefix sums of its units' costs, so the cost of a stage of any units is a look-up. */
#ifndef SEARCH_HYBRID_STAGE_H
#define SEARCH_HYBRID_STAGE_H

#include "base/table.h"
#include "search/hybrid/submesh.h"
#include "search/limits.h"

struct cut_units {
    int n;
    int *first;  /* [unit]: its first operator; first[n]: the number of operators */
    int *of_op;  /* [op] */
    bool layers; /* most units are repeated layers */
    bool apart;  /* operators of one variable may be in different stages */
};

/* With at most HP_FEW units or operators, the search tries every cut. With at most HP_FEW
 * devices, any of them may stay idle, stages differ by single devices, and all states of small
 * graphs are enumerated. With at most HP_SOME devices, half of them may stay idle and submeshes
 * may be large. */

/* Find the places where the graph may be cut. A cut may separate the operators of a variable
 * only if most of the graph could not be cut otherwise. `op_s`: the approximate time of each
 * operator. */
struct cut_units hp_units(const struct submesh_model *model, const double *op_s);

/* Divided parameters are gathered this many operators in advance; far ahead if operators finish
 * sooner than parameters arrive from many devices. */
enum { GATHER_AHEAD = 4, GATHER_FAR_AHEAD = 4 * GATHER_AHEAD };

/* The costs of a micro-batch that are summed over units. */
enum unit_sum {
    TIME_S,    /* of all passes and exchanges inside units */
    COMPUTE_S, /* part of TIME_S without exchanges */
    BACKWARD_S,
    GRADIENT_S,    /* backward passes that only write gradients of parameters */
    EXCHANGES,     /* their number */
    WEIGHTED,      /* number of operators with parameters */
    REPLICA_SUMS,  /* sums over samples in which replicas take part: their number ... */
    REPLICA_BYTES, /* ... and bytes */
    ERROR_BYTES,   /* of the output gradients that parameter gradients are computed from */
    AGAIN_S,       /* [recomputation]: extra time if operators are recomputed */
    KEPT_BYTES = AGAIN_S + HYPAR_RECOMPUTE_COUNT, /* [recomputation]: activations kept */
    PARAMS =
        KEPT_BYTES + HYPAR_RECOMPUTE_COUNT, /* [partition]: parameter elements of a device */
    N_SUMS = PARAMS + LARGE_SUBMESH,
};

struct unit_cost {
    double sum[N_SUMS]; /* over all units before this one */
    double entering_s;  /* time of its exchanges with earlier units of its stage */
    double border;      /* bytes that a device sends to it if a stage begins there */
    /* Bytes while one of its operators is computed, including activations that earlier
     * operators of the unit keep. */
    double peak;
    double gathered[2]; /* bytes of divided parameters at one time; [1]: gathered far ahead */
    /* Parameter elements of its first operator with parameters, and of its last. */
    double first_elements, last_elements;
};

struct splitting {
    int *state;  /* [variable] */
    bool resend; /* tensors gathered forward are gathered again for backward passes, not kept */
    struct unit_cost *unit; /* [unit], and one more for the sums over all */
    int n_partitions;
    int partition[LARGE_SUBMESH]; /* the number of parts of the parameters */
    bool by_samples, by_axes;     /* operators are divided inside the submesh by these */
    int lo, hi;                   /* of the units */
    struct arena *arena;          /* of all this */
    struct memo lost;             /* beside.c, by devices of a stage */
};

/* Fill all fields but the states: for units lo .. hi - 1 as one stage or, if these are all
 * units, for stages of any units. */
void hp_sum_up_splitting(struct submesh_model *model, const struct submesh *submesh,
                         const struct cut_units *units, int lo, int hi, struct arena *arena,
                         struct splitting *splitting);

/* The least bytes of activations that `op` keeps in this state of its variable, for any
 * recomputation and resending, and for any states of other variables. */
double hp_least_kept(const struct submesh_model *model, const struct submesh *submesh, int op,
                     int state);

/* Bytes of all activations that passes of `op` read or write in this state of its variable. */
double hp_touched_bytes(const struct submesh_model *model, const struct submesh *submesh,
                        int op, int state);

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
    /* Of a sum: its two halves, if kernels beside them lose time; else NULL. */
    const struct comm_model *scatter, *gather;
    /* Of a hop: if as many bytes arrive from the other side at the same time; for one message
     * alone. */
    double both_s_per_byte, alone_s_per_byte;
};

/* Properties that all stages of a plan share. */
struct step_shape {
    int64_t micro_batches;
    enum hypar_shard shard;
    bool far_ahead; /* divided parameters are gathered GATHER_FAR_AHEAD */
    bool shares;    /* faster devices of a stage get more samples, and larger parts */
    bool apart; /* gradients of parameters are computed separately, so recomputed tensors stay
                 * in memory */
};

static inline int hp_gather_ahead(const struct step_shape *step)
{
    return step->far_ahead ? GATHER_FAR_AHEAD : GATHER_AHEAD;
}

/* Units lo .. hi - 1 as a stage, before its operators are split: its devices and limits. */
struct stage {
    struct step_shape step;
    int lo, hi;
    int first, n_devices;
    int size;         /* of submeshes; 0: any */
    double in_flight; /* micro-batches */
    double room;      /* bytes */
};

/* One way to run a stage, and its estimate. */
struct stage_estimate {
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

struct hybrid {
    const struct problem *problem;
    struct arena *arena;
    struct submesh_model model;
    struct cut_units units;
    double update_s;                      /* of one element */
    double group_bytes;                   /* for a kind of group that exchanges */
    double forward_s, weighted, elements; /* forward time of all operators with the whole batch
                                           * on one device; number of operators with parameters;
                                           * their parameter elements */
    const double *room;                   /* [device] (room.h) */
    double *state_bytes;   /* [unit]: state of parameters whose first reader is in a unit before
                            * it */
    struct memo submeshes; /* of struct submesh_splittings */
    struct memo lines;     /* of struct line */
    struct memo lost;      /* of struct lost, by parameter (beside.c) */
    struct memo estimates; /* of struct known_estimate (stage.c), by stage */
    int64_t evaluated;
    bool is_short;  /* a faster way was rejected because it does not fit */
    bool small;     /* all states of all stages are enumerated ... */
    bool exhausted; /* ... but there were too many, because memory is short */
};

/* Are there several micro-batches, or other stages? */
static inline bool hp_computes_again(const struct hybrid *h, const struct stage *stage)
{
    return stage->step.micro_batches > 1 || stage->lo > 0 || stage->hi < h->units.n;
}

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
bool hp_stage_exchanges(const struct stage_estimate *estimate);

/* The cost of one parameter element at the end of a step, if the parameter has `parts` parts:
 * to sum its gradient over the copies, to update it, and the time after the last sum. */
struct element_cost {
    double sum_s, own_link_s, update_s, last_s; /* own_link_s: on the links of one device */
};
struct element_cost hp_element_cost(struct hybrid *h, const struct stage *stage, int parts);

/* The time that kernels lose, on each device, beside collectives of parameters: one gather of
 * each by every operator that reads it; one reduce-scatter of each gradient; one sum of each.
 */
struct lost {
    double gather_s, scatter_s, sum_s;
};

/* Of the units of a stage. */
struct lost hp_stage_lost(struct hybrid *h, const struct stage *stage,
                          const struct submesh *submesh, struct splitting *splitting);

/* Do parameters that are divided over `n` devices arrive too late if they are gathered
 * GATHER_AHEAD? */
bool hp_gathers_are_late(struct hybrid *h, int n, int64_t micro_batches);

/* Estimate a stage with these states, in the fastest way that fits (size 0: none fits). Its
 * splitting is allocated from `arena`. */
struct stage_estimate hp_estimate_states(struct hybrid *h, const struct stage *stage,
                                         const struct submesh *submesh, int *state,
                                         struct arena *arena);

/* Enumerate all states of a stage's operators and update *best with the fastest. Operators
 * outside the stage have the states of the list's first splitting. */
void hp_enumerate_states(struct hybrid *h, const struct stage *stage,
                         const struct submesh_splittings *list, struct arena *arena,
                         struct stage_estimate *best);

/* The first place of a stage or a submesh on `n` devices whose estimate is the same as from
 * device `first` on. */
int hp_same_place(const struct hybrid *h, int first, int n);

/* The submesh that stands for all replicas of a stage: the one whose samples take longest. */
struct submesh_shape hp_stage_submesh(struct hybrid *h, const struct stage *stage, int size);

/* Estimate the fastest way to run a stage. Returns false if none fits. */
bool hp_estimate_stage(struct hybrid *h, const struct stage *stage, struct stage_estimate *out);

#endif /* SEARCH_HYBRID_STAGE_H */
