/* search/estimate/needs.h - the memory that a device needs, from its operators alone. Internal.
 *
 * A device holds the state of its operators (parameters, gradients, optimizer) and the
 * activations of each micro-batch in flight. An operator's needs are those of a whole batch;
 * each micro-batch, replica and part has a share of them. Three answers follow from these
 * needs:
 *
 *   NEED_LEAST   A lower bound: the state before there are gradients, and the activations that
 *                backward passes read, of micro-batches that a stage keeps completely; or the
 *                state with gradients, if that is more.
 *   NEED_ABOUT   An estimate: the state, and these activations of all micro-batches in flight.
 *   NEED_WRITTEN The state, and all activations that operators write for each micro-batch in
 *                flight. It is no upper bound: it leaves out buffers and gathered parameters.
 *
 * If no program can be made of a graph, its operators are taken to keep all that they write. */
#ifndef SEARCH_ESTIMATE_NEEDS_H
#define SEARCH_ESTIMATE_NEEDS_H

#include "plan/schedules.h"
#include "search/planner.h"

/* The needs of several operators are the sums. */
struct op_needs {
    double state;         /* bytes of parameters that the operator is the first to read ... */
    double forward_state; /* ... in the first forward half, before gradients */
    double kept;    /* least bytes kept from the forward half until backward passes read them */
    double written; /* bytes that the operator writes */
};

enum need { NEED_LEAST, NEED_ABOUT, NEED_WRITTEN };

/* The needs of each operator, from a program of the whole model on one device. */
const struct op_needs *hp_op_needs(const struct problem *problem, struct arena *arena);

/* Bytes that a device holds for an element of a parameter (weight, gradient, optimizer's state)
 * if `holders` devices divide what `shard` names. `again`: the step has several micro-batches,
 * or stages. */
double hp_element_state_bytes(const struct problem *problem, bool again, enum hypar_shard shard,
                              int holders);

/* The same where nothing is divided; and of a measured operator, whose parameters are fp32
 * whatever the plan's precision. */
double hp_param_state_bytes(const struct problem *problem, bool again);
double hp_measured_state_bytes(const struct problem *problem);

/* By operator: does this setting of recomputation compute it again? */
const bool *hp_recomputed(struct arena *arena, const struct problem *problem,
                          enum hypar_recompute word);

/* By operator: op_needs.state, without making a program. */
const double *hp_least_state(const struct problem *problem, struct arena *arena);

void hp_add_needs(struct op_needs *sum, const struct op_needs *needs);

/* A stage whose devices divide the samples of each micro-batch. */
struct sampled_stage {
    enum hypar_schedule_kind schedule;
    struct pipeline_size size;
    int stage, replicas;
    int64_t batch;
};
double hp_stage_need(enum need which, const struct op_needs *needs,
                     const struct sampled_stage *stage);

/* The fullest device of a plan; its state is exact. For NEED_LEAST and NEED_ABOUT `needs` must
 * belong to the plan's recomputation, and parts of unequal sizes count as equal. For
 * NEED_WRITTEN `needs` may be NULL. */
struct fullest hp_plan_need(enum need which, const struct problem *problem,
                            const struct op_needs *needs, const struct hypar_plan *plan);

#endif /* SEARCH_ESTIMATE_NEEDS_H */
