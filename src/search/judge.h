/* search/judge.h - plans judged by the simulator. Internal. */
#ifndef SEARCH_JUDGE_H
#define SEARCH_JUDGE_H

#include "search/planner.h"
#include "sim/delta/delta.h"

/* How a problem's steps are simulated. */
const struct hypar_sim_options *hp_simulation(const struct problem *problem);

/* Too large to be simulated many times: HYPAR_UNSUPPORTED with the number of tasks. Likewise
 * settings that contradict each other. */
enum hypar_status hp_check_simulable(const struct problem *problem, struct hypar_error *err);

/* Simulate found->plan, which is the prediction too. */
enum hypar_status hp_judge(const struct problem *problem, struct hypar_found *found,
                           struct hypar_error *err);

/* Simulate a part of found->plan (reduced.h), and note that it was no more; false: it cannot
 * be. */
struct reduced_step;
bool hp_simulate_part(const struct problem *problem, struct hypar_found *found,
                      struct reduced_step *out);

#endif /* SEARCH_JUDGE_H */
