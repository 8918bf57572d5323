/* search/evaluate/verdict.h - how plans of different planners are compared. Internal.
 *
 * All by simulated steps and by what they need of memory, activations included: plans of a
 * moderate size as a whole, larger ones from a part of them (reduced.h). What cannot be lowered
 * is judged by its planner's closed form, and by a closed form of what it needs. */
#ifndef SEARCH_EVALUATE_VERDICT_H
#define SEARCH_EVALUATE_VERDICT_H

#include "search/evaluate/fit.h"
#include "search/evaluate/size.h"

struct verdict {
    enum { BY_NOTHING, BY_SIMULATION, BY_PART, BY_CLOSED_FORM } by;
    double step_s;
    struct fullest memory; /* what the fullest device needs and has, without the framework */
};

/* About a plan that is simulated as a whole already. */
struct verdict hp_simulated_verdict(const struct hypar_found *found);

/* What there is to say about this plan; found->simulated and info.not_simulated are set. */
struct verdict hp_verdict(const struct problem *problem, struct hypar_found *found);

/* Parameters, gradients, optimizer state and what every operator writes, as if all of it were
 * kept for the backward half of each micro-batch in flight. */
struct fullest hp_closed_need(const struct problem *problem, const struct hypar_plan *plan);

/* About what is needed at least, but for parts of unequal sizes; takes a moment even where a
 * program would take long. `needs` as hp_op_needs() gives them, of a plan that has their
 * recomputation. */
struct fullest hp_bounded_need(const struct problem *problem, const struct op_needs *needs,
                               const struct hypar_plan *plan);

#endif /* SEARCH_EVALUATE_VERDICT_H */
