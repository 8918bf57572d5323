/* search/evaluate/size.h - which plans are too large to be simulated: as a whole, in part,
 * without being asked, or many times. Internal. The limits stand for times: a whole plan takes
 * a second or two (limits.h). */
#ifndef SEARCH_EVALUATE_SIZE_H
#define SEARCH_EVALUATE_SIZE_H

#include "search/planner.h"

/* About how many task instances a step has, within a factor of two or so. */
double hp_plan_instances(const struct hypar_plan *plan);

/* Is a plan so large that it is neither simulated as a whole nor lowered for its memory? A
 * search then simulates a part of the plan (reduced.h). */
bool hp_is_large(const struct hypar_plan *plan);

/* A simulation goes slot by slot. Does a search that compares many plans estimate this plan
 * instead, because of its many micro-batches or tasks? */
bool hp_is_estimated(const struct hypar_plan *plan);

/* Does a plan have so many parts that its lowering takes long? */
bool hp_has_many_parts(const struct hypar_plan *plan);

/* Is a plan too large to be simulated even in part? `options` may be NULL. */
bool hp_takes_too_long(const struct hypar_plan *plan, const struct hypar_sim_options *options);

/* Is the sum of the parts of large plans above the limit of unrequested simulations? */
bool hp_are_many_parts(double parts);

/* HYPAR_UNSUPPORTED, with the number of tasks, if the problem is too large to be simulated many
 * times; or if settings of the simulation contradict each other. */
enum hypar_status hp_check_simulable(const struct problem *problem, struct hypar_error *err);

#endif /* SEARCH_EVALUATE_SIZE_H */
