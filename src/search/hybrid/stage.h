/* search/hybrid/stage.h - what a stage takes, in closed form. Internal to planner hybrid.
 *
 * Operators are cut into stages at a few places only; a unit is what lies between two of them
 * (a layer of a transformer). For each submesh there are a few splittings: states for all
 * operators, chosen at different prices of memory. Of a splitting, what units take is summed up
 * from the first on, so that a stage of any units is a look-up. */
#ifndef SEARCH_HYBRID_STAGE_H
#define SEARCH_HYBRID_STAGE_H

#include "search/hybrid/submesh.h"

struct units {
    int n;
    int *first;  /* [unit]: its first operator; first[n]: all operators */
    int *of_op;  /* [op] */
    bool layers; /* most are layers that repeat */
    bool apart;  /* operators of a variable may be in different stages */
};

/* Of so few units every cut is looked at; of so few devices some may stay idle, and submeshes
 * may be large. */
enum { FEW_UNITS = 12, FEW_DEVICES = 64 };

/* Where a graph may be cut, through a variable only if much of it could not be cut else;
 * `op_s`: what each operator takes, about. */
struct units hp_units(const struct submesh_model *model, const double *op_s);

enum { MOST_PARTITIONS = 16, RECOMPUTE_WORDS = 3 };

/* Parameters that are divided are gathered so many operators before their turn: some, and more
 * where operators are done sooner than parameters come from many devices. */
enum { GATHER_AHEAD = 4, GATHER_FAR_AHEAD = 16 };

/* [unit]: of all units before it. */
struct unit_sums {
    /* Of a micro-batch: all; backward passes; of these, those that only write gradients of
     * parameters. */
    double *time_s, *backward_s, *gradient_s;
    double *compute_s; /* of time_s, without exchanges */
    double *exchanges,
        *weighted; /* how many exchanges there are, and operators with parameters */
    double *replica_sums, *replica_bytes; /* sums over samples, that replicas take part in */
    double *errors; /* bytes of errors that gradients of parameters are computed from */
    double *again_s[RECOMPUTE_WORDS]; /* besides, if operators are computed again */
    double *kept[RECOMPUTE_WORDS];    /* bytes of activations of a micro-batch */
    /* Elements of parameters that a device holds, by the parts that they are in: those of the
     * submesh that partition[i] says. */
    double *params[MOST_PARTITIONS];
};

struct splitting {
    int *state;  /* [variable] */
    bool resend; /* what was gathered is gathered again for backward passes, not kept */
    struct unit_sums sums;
    double *entering_s; /* [unit]: what it exchanges with earlier units of its stage */
    double *border;     /* [unit]: bytes that a device sends to it, if a stage begins there */
    /* [unit]: bytes while one of its operators is computed, with what operators before that, of
     * the unit, have kept; of parameters that are gathered at once, where they are divided, if
     * they are some operators ahead and if they are far ahead. */
    double *peak, *gathered, *gathered_far;
    /* [unit]: elements of parameters of its first operator that has some, and of its last. */
    double *first_elements, *last_elements;
    int n_partitions;
    int partition[MOST_PARTITIONS];
};

/* Fill all but the states, for units lo .. hi - 1 as one stage or, if these are all units, for
 * stages of any of them. */
void hp_sum_up_splitting(struct submesh_model *model, const struct submesh *submesh,
                         const struct units *units, int lo, int hi, struct arena *arena,
                         struct splitting *splitting);

/* Bytes of activations that `op` keeps in this state of its variable, at least: whatever is
 * computed or sent again, and in whatever states others are. */
double hp_least_kept(const struct submesh_model *model, const struct submesh *submesh, int op,
                     int state);

/* Bytes of all activations that passes of `op` read or write in this state of its variable. */
double hp_touched_bytes(const struct submesh_model *model, const struct submesh *submesh,
                        int op, int state);

/* What an operator takes in the state that is chosen. */
const struct op_cost *hp_op_cost(const struct submesh_model *model,
                                 const struct submesh *submesh, const int *state, int op);

/* Is what a term gathers gathered again for backward passes, under a splitting that resends? */
bool hp_term_resends(const struct submesh_model *model, const struct submesh *submesh,
                     const int *state, const struct submesh_term *term);

/* One submesh with its splittings. */
struct submesh_splittings {
    struct submesh *submesh; /* NULL: some operator cannot be divided so */
    bool roomy;              /* memory has no price: they are the best of all */
    int n;
    struct splitting *splitting;
};

/* A cost of fixed_s + bytes * s_per_byte. */
struct line {
    double fixed_s, s_per_byte;
    double own_link_s_per_byte;    /* of a sum: how long a device's own link is held */
    const struct comm_model *comm; /* of a sum: for any size */
    /* Of a hop: with as much from the other side, at the same time; of one message alone. */
    double both_s_per_byte, alone_s_per_byte;
};

/* Lines that were worked out. */
struct line_table {
    struct table keys;
    int n, capacity;
    struct line *line;
};

/* What all stages of a plan have in common. */
struct step_shape {
    int64_t micro_batches;
    enum hypar_shard shard;
    bool far_ahead; /* divided parameters are gathered GATHER_FAR_AHEAD */
    bool apart; /* gradients of parameters are computed apart: what is computed again stays */
};

static inline int hp_gather_ahead(const struct step_shape *step)
{
    return step->far_ahead ? GATHER_FAR_AHEAD : GATHER_AHEAD;
}

/* Where a stage is, and what it has to hold. */
struct stage_place {
    int first, n_devices;
    double in_flight; /* micro-batches */
    double room;      /* bytes */
    int size;         /* of submeshes; 0: any */
};

struct stage_choice {
    int size; /* of its submeshes: devices that an operator's parts lie on; 0: none fits */
    const struct submesh *submesh;
    const struct splitting *splitting;
    enum hypar_recompute recompute;
    int recomputed; /* units, from its first on */
    double time_s;  /* of a micro-batch, with its share of the tail */
    double own_s, tail_s, memory_bytes;
    double each_bytes; /* of memory_bytes: each micro-batch in flight, but the one at work */
    double gradient_s, compute_s; /* of own_s */
    double border_bytes;          /* that a device gets from the stage before, one way */
};

/* What was chosen for a stage with so many micro-batches in flight and so much room. */
struct known_choice {
    double in_flight, room;
    struct stage_choice choice;
    int next; /* of the same stage; -1: none */
};

struct hybrid {
    const struct problem *problem;
    struct arena *arena;
    struct submesh_model model;
    struct units units;
    double update_s;                      /* of an element */
    double forward_s, weighted, elements; /* of all operators on one device, of the whole batch;
                                             those with parameters, and how many these are */
    double *state_bytes; /* [unit]: of parameters that units before it are the first to read */
    struct table submesh_keys;
    int n_submeshes, submesh_capacity;
    struct submesh_splittings *submesh;
    struct line_table sums, hops;
    struct table choice_keys; /* of stages: the first choice that is known of each */
    int n_choices, choice_capacity;
    struct known_choice *choice;
    int64_t evaluated;
    bool is_short;  /* something would have been chosen that does not fit */
    bool small;     /* all states of all stages are looked at ... */
    bool exhausted; /* ... but there were too many, where memory is short */
};

enum hypar_status hp_hybrid_begin(struct hybrid *out, struct arena *arena,
                                  const struct problem *problem, struct hypar_error *err);
void hp_hybrid_end(struct hybrid *hybrid);

const struct submesh_splittings *hp_submesh_splittings(struct hybrid *h,
                                                       const struct submesh_shape *shape);

/* Sums over copies, on `n` devices from `first` on, of what each `parts`-th of them has. */
struct line hp_sum_line(struct hybrid *h, int first, int n, int parts);

/* Each of `n` devices from `from` on sends to one of those from `to` on. */
struct line hp_hop_line(struct hybrid *h, int from, int to, int n);

/* What comes into a stage over a hop, one way. Messages that share links come one after the
 * other: devices that exchange something wait for the last, others as long as the mean. */
double hp_border_seconds(const struct line *hop, double bytes, bool exchanges);

/* Do devices of the stage wait for each other, within a micro-batch? */
bool hp_stage_exchanges(const struct stage_choice *choice);

/* What the end of a step takes of an element of a parameter that is in so many parts: to sum
 * its gradient over its copies, to update it; what follows the last sum. */
struct element_cost {
    double sum_s, own_link_s, update_s, last_s; /* own_link_s: on the links of a device */
};
struct element_cost hp_element_cost(struct hybrid *h, enum hypar_shard shard,
                                    const struct stage_place *place, int parts);

/* What a device holds of an element of a parameter from step to step, if so many hold it. */
double hp_element_state_bytes(const struct hybrid *h, enum hypar_shard shard, int holders);

/* Do parameters that are divided over `n` devices come too late, gathered GATHER_AHEAD, for
 * operators of micro-batches that these devices compute? */
bool hp_gathers_are_late(struct hybrid *h, int n, int64_t micro_batches);

/* What units lo .. hi - 1 take as a stage with operators in these states, in the fastest way
 * that fits (size 0: none does). Its splitting is taken from `arena`. */
struct stage_choice hp_weigh_states(struct hybrid *h, const struct step_shape *step,
                                    const struct stage_place *place, int lo, int hi,
                                    const struct submesh *submesh, int *state,
                                    struct arena *arena);

/* All states of a stage's operators: if any are faster than *best, the fastest. Those of
 * operators outside of it are those of the list's first splitting. */
void hp_choose_states(struct hybrid *h, const struct step_shape *step,
                      const struct stage_place *place, int lo, int hi,
                      const struct submesh_splittings *list, struct arena *arena,
                      struct stage_choice *best);

/* The fastest way to run units lo .. hi - 1 as a stage; false: none fits. */
bool hp_choose_stage(struct hybrid *h, const struct step_shape *step,
                     const struct stage_place *place, int lo, int hi, struct stage_choice *out);

#endif /* SEARCH_HYBRID_STAGE_H */
