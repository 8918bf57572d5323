/* search/evaluate/judge.h - plans judged by the simulator. Internal. */
#ifndef SEARCH_EVALUATE_JUDGE_H
#define SEARCH_EVALUATE_JUDGE_H

#include "search/planner.h"
#include "sim/delta/delta.h"

/* How a problem's steps are simulated. */
const struct hypar_sim_options *hp_simulation(const struct problem *problem);

/* Simulate found->plan, which is the prediction too. */
enum hypar_status hp_judge(const struct problem *problem, struct hypar_found *found,
                           struct hypar_error *err);

/* Note that a part of found->plan was simulated (reduced.h), and no more. */
struct reduced_step;
void hp_note_part(struct hypar_found *found, const struct reduced_step *part);

/* Simulate a part of found->plan, which is the prediction then; false: it cannot be, and it is
 * noted why. */
bool hp_simulate_part(const struct problem *problem, struct hypar_found *found);

/* Let the prediction have the step of the part that was simulated, if one was. */
void hp_predict_part(struct hypar_found *found);

#endif /* SEARCH_EVALUATE_JUDGE_H */
