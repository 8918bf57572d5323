/* search/judge.h - plans judged by the simulator: time and memory. Internal. */
#ifndef SEARCH_JUDGE_H
#define SEARCH_JUDGE_H

#include "search/planner.h"
#include "sim/delta/delta.h"

/* How a problem's steps are simulated. */
struct hypar_lower_options hp_lowering(const struct problem *problem);
struct sim_settings hp_simulation(const struct problem *problem);

/* Memory. Planners ask for what they can afford to know: a closed form what parameters alone
 * take (hp_room_for_params()), a pipeline that is being chosen what is least and most
 * (pipeline/flush_memory.c), all else what the program counts (hp_fullness()). */

/* Parameters that the device with the least memory can hold, with gradients and optimizer. */
double hp_room_for_params(const struct problem *problem);

/* How full the fullest device is, as a part of what it has (or of the limit asked for): more
 * than 1 does not fit. It needs `need` bytes and has `has`. */
struct fullness {
    double part, need, has;
    double excess; /* what is missing on all devices, as parts of what each has: the sum of
                      squares, so that it is least where all lack the same */
    int device;
};

/* By the memory that is simulated; `cache` as for hp_plan_memory(). */
enum hypar_status hp_fullness(const struct problem *problem, const struct hypar_plan *plan,
                              struct layout_cache *cache, struct fullness *out,
                              struct hypar_error *err);
enum hypar_status hp_fail_memory(const struct fullness *f, struct hypar_error *err);

/* Too large to be simulated many times: HYPAR_UNSUPPORTED with the number of tasks. Likewise
 * settings that contradict each other. */
enum hypar_status hp_check_simulable(const struct problem *problem, struct hypar_error *err);

/* Simulate found->plan, which is the prediction too. */
enum hypar_status hp_judge(const struct problem *problem, struct hypar_found *found,
                           struct hypar_error *err);

#endif /* SEARCH_JUDGE_H */
