/* search/runnable.h - plans that a framework can run (hypar plan --for). Internal.
 *
 * Planners restrict their choices to such plans where they can: splittable axes, schedules, and
 * a check of the whole plan. The final plan of any planner is checked. */
#ifndef SEARCH_RUNNABLE_H
#define SEARCH_RUNNABLE_H

#include "search/planner.h"

/* Restrict the search to plans that the target runs; the restrictions are in `arena`. */
void hp_keep_to_target(struct problem *problem, const struct target *target,
                       struct arena *arena);

/* The axes of a nest that may be split in all its operators: all axes, unless the target
 * framework splits fewer. */
axis_set hp_allowed_axes(const struct problem *problem, const struct nest *nest);

/* Does the framework have the schedule? */
bool hp_has_schedule(const struct problem *problem, enum hypar_schedule_kind kind);

/* The least number of micro-batches of a schedule with this many stages. */
int64_t hp_least_micro_batches(const struct problem *problem, enum hypar_schedule_kind kind,
                               int stages);

/* Must all devices have equal shares of the work? All stages then have the same number of
 * devices. */
bool hp_equal_shares(const struct problem *problem);

/* Can the target run the plan? Else HYPAR_INFEASIBLE with operator and axis. */
enum hypar_status hp_check_runs(const struct problem *problem, const struct hypar_plan *plan,
                                struct hypar_error *err);

/* How a plan differs from the one that was wanted and that the target refuses, and the target's
 * reason: "conv1, conv2 are kept whole. Refused as asked: op 'conv1': ..."; NULL: it does not.
 */
const char *hp_changed_text(struct arena *arena, const struct problem *problem,
                            const struct hypar_plan *wanted, const struct hypar_plan *plan);

/* Change a found plan that the target refuses until it takes it, and simulate it; drops the
 * closed forms and views of the planner's own plan. False: there is no such plan, or none that
 * is simulated. */
bool hp_change_for_target(const struct problem *problem, struct hypar_found *found);

/* As hp_check_runs(), for searches with thousands of plans: true without a check if the check
 * takes long. */
bool hp_may_run(const struct problem *problem, const struct hypar_plan *plan);

/* Does hp_may_run() check the plan? */
bool hp_tells_quickly(const struct problem *problem);

#endif /* SEARCH_RUNNABLE_H */
