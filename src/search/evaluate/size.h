/* search/evaluate/size.h - what is too large to be simulated: as a whole, in part, unasked, or
 * many times. Internal. All of these limits are of time, and each says of how much. */
#ifndef SEARCH_EVALUATE_SIZE_H
#define SEARCH_EVALUATE_SIZE_H

#include "search/planner.h"

/* About how many task instances a step has, within a factor of two or so. */
double hp_plan_instances(const struct hypar_plan *plan);

/* Is a plan so large that it is not simulated as a whole, nor lowered for what it needs? What
 * is compared is simulated in part then (reduced.h). */
bool hp_is_large(const struct hypar_plan *plan);

/* A search that compares many plans estimates plans with more micro-batches: a simulation goes
 * slot by slot. */
enum { HP_SIMULATED_MICRO_BATCHES = 1 << 12 };

/* Does such a search estimate this plan? */
bool hp_is_estimated(const struct hypar_plan *plan);

/* Does a plan have so many parts that its lowering takes long? */
bool hp_has_many_parts(const struct hypar_plan *plan);

/* Is it larger than is simulated even in part? `options` may be NULL. */
bool hp_takes_too_long(const struct hypar_plan *plan, const struct hypar_sim_options *options);

/* Are so many parts of large plans, of all of them together, more than is simulated unasked? */
bool hp_are_many_parts(double parts);

/* Too large to be simulated many times: HYPAR_UNSUPPORTED with the number of tasks. Likewise
 * settings that contradict each other. */
enum hypar_status hp_check_simulable(const struct problem *problem, struct hypar_error *err);

#endif /* SEARCH_EVALUATE_SIZE_H */
