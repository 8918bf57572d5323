/* search/runs.h - plans that a framework can run (hypar plan --for). Internal.
 *
 * Planners that can are kept to them where their choices are made: axes that may be split,
 * schedules, and the check of a whole plan; what any planner answers is checked. */
#ifndef SEARCH_RUNS_H
#define SEARCH_RUNS_H

#include "search/planner.h"

/* Plans are looked for that the target runs; what follows from that is in `arena`. */
void hp_keep_to_target(struct problem *problem, const struct target *target,
                       struct arena *arena);

/* The axes of a nest that may be split in all operators that have it: all, unless the plan is
 * for a framework that splits fewer. */
axis_set hp_allowed_axes(const struct problem *problem, const struct nest *nest);

/* Does the framework have the schedule? */
bool hp_has_schedule(const struct problem *problem, enum hypar_schedule_kind kind);

/* The fewest micro-batches of a schedule with so many stages. */
int64_t hp_least_micro_batches(const struct problem *problem, enum hypar_schedule_kind kind,
                               int stages);

/* Must stages have as many devices each? */
bool hp_equal_stages(const struct problem *problem);

/* Can the plan be run? HYPAR_INFEASIBLE with operator and axis. */
enum hypar_status hp_check_runs(const struct problem *problem, const struct hypar_plan *plan,
                                struct hypar_error *err);

/* The same, for searches that ask about thousands of plans: true where it would take long to
 * tell. */
bool hp_may_run(const struct problem *problem, const struct hypar_plan *plan);

/* Is hp_may_run() the truth? */
bool hp_tells_quickly(const struct problem *problem);

#endif /* SEARCH_RUNS_H */
