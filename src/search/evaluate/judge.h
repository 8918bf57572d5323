/* search/evaluate/judge.h - plans judged by the simulator, so that plans of different planners
 * can be compared. Internal.
 *
 * Plans are compared by their simulated steps and by their memory, activations included: plans
 * of a moderate size as a whole, larger plans from a part (reduced.h). A plan that cannot be
 * lowered is judged by its planner's closed form and by estimate/needs.h. */
#ifndef SEARCH_EVALUATE_JUDGE_H
#define SEARCH_EVALUATE_JUDGE_H

#include "search/evaluate/room.h"
#include "search/evaluate/size.h"
#include "sim/delta/delta.h"

/* How a problem's steps are simulated. */
const struct hypar_sim_options *hp_simulation(const struct problem *problem);

/* Simulate found->plan, which is the prediction too. */
enum hypar_status hp_judge(const struct problem *problem, struct hypar_found *found,
                           struct hypar_error *err);

/* Drop the closed forms, views and simulated step of a plan that found->plan replaces. */
void hp_drop_views(struct hypar_found *found);

/* Note that a part of found->plan was simulated (reduced.h), and no more. */
struct reduced_step;
void hp_note_part(struct hypar_found *found, const struct reduced_step *part);

/* Simulate a part of found->plan, which is the prediction then; false: it cannot be, and it is
 * noted why. */
bool hp_simulate_part(const struct problem *problem, struct hypar_found *found);

/* Let the prediction have the step of the part that was simulated, if one was. */
void hp_predict_part(struct hypar_found *found);

struct verdict {
    enum { BY_NOTHING, BY_SIMULATION, BY_PART, BY_CLOSED_FORM } by;
    double step_s;
    struct fullest memory; /* what the fullest device needs and has (room.h) */
};

/* The verdict on a plan that is already simulated as a whole. */
struct verdict hp_simulated_verdict(const struct problem *problem,
                                    const struct hypar_found *found);

/* The verdict on this plan; sets found->simulated and info.not_simulated. */
struct verdict hp_verdict(const struct problem *problem, struct hypar_found *found);

#endif /* SEARCH_EVALUATE_JUDGE_H */
