/* search/estimate/needs.h - what a device needs, before there is a program. Internal.
 *
 * A device holds the state of its operators (parameters, gradients, optimizer) and, of each
 * micro-batch in flight, activations. An operator's needs are of a whole batch; micro-batches,
 * replicas and parts share them out. Three answers follow from the same needs:
 *
 *   NEED_LEAST   A lower bound: the state, and what backward passes read, of the micro-batches
 *                of which a stage keeps all.
 *   NEED_ABOUT   An estimate: the same of all micro-batches in flight.
 *   NEED_WRITTEN The state, and all that operators write, of each micro-batch in flight. It is
 *                no upper bound: buffers and gathered parameters are left out.
 *
 * Where no program can be made of a graph, activations that are kept are those written. */
#ifndef SEARCH_ESTIMATE_NEEDS_H
#define SEARCH_ESTIMATE_NEEDS_H

#include "plan/schedules.h"
#include "search/planner.h"

/* The needs of several operators are the sums. */
struct op_needs {
    double state;   /* of parameters that the operator is the first to read */
    double kept;    /* from the forward half until backward passes read it, at least */
    double written; /* by the operator */
};

enum need { NEED_LEAST, NEED_ABOUT, NEED_WRITTEN };

/* By operator, from one program of the whole model on one device. */
const struct op_needs *hp_op_needs(const struct problem *problem, struct arena *arena);

/* By operator: op_needs.state alone. */
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

/* The fullest device of a plan, whose state is exact. NEED_LEAST, NEED_ABOUT: `needs` are of
 * the plan's recomputation, and parts of unequal sizes count as equal. NEED_WRITTEN: `needs`
 * may be NULL. */
struct fullest hp_plan_need(enum need which, const struct problem *problem,
                            const struct op_needs *needs, const struct hypar_plan *plan);

#endif /* SEARCH_ESTIMATE_NEEDS_H */
