/* sim/delta/delta.h - a plan's timeline, kept up to date while the plan changes. Internal.
 *
 *     TRY(hp_delta_new(&delta, plan, &options, NULL, err));
 *     hp_plan_set(plan, op, &split, devices);
 *     TRY(hp_delta_change(delta, &op, 1, HP_MAX_TICKS, err));   hp_delta_length(): the new step
 *     hp_delta_keep(delta);  or  change the plan back and  hp_delta_undo(delta);
 *
 * Only what the operators access is lowered again, and only what that touches is
 * replayed (timeline.h). A plan with several micro-batches is lowered by parts too, but
 * replayed as a whole: the schedule chains everything. */
#ifndef SIM_DELTA_DELTA_H
#define SIM_DELTA_DELTA_H

#include "base/error.h"
#include "sim/delta/timeline.h"
#include "sim/sim_cache.h"
#include "sim/timing.h"

struct delta;

/* `sim_cache` was made with the same options and must outlive it; NULL: it has its own. */
enum hypar_status hp_delta_new(struct delta **out, struct hypar_plan *plan,
                               const struct hypar_sim_options *options,
                               struct sim_cache *sim_cache, struct hypar_error *err);
void hp_delta_free(struct delta *delta); /* NULL is allowed */

/* The plan's operators op[], each named once, have been changed. A step that is sure to be
 * longer than `limit` need not be replayed to its end: then the length is more than the limit,
 * and the change must be undone. On failure the plan must be changed back, and hp_delta_undo()
 * called. */
enum hypar_status hp_delta_change(struct delta *delta, const int *op, int n, ticks limit,
                                  struct hypar_error *err);
void hp_delta_keep(struct delta *delta);
void hp_delta_undo(struct delta *delta);

ticks hp_delta_length(const struct delta *delta);

/* The step: no less than its launches. */
ticks hp_delta_step(const struct delta *delta);

/* What it has of all layouts and exchanges that it, or who shares them, ever had. */
size_t hp_delta_remembered_bytes(const struct delta *delta);

/* For comparison with a full simulation: every task's number and times. */
struct timing *hp_delta_timing(const struct delta *delta);
struct times hp_delta_times(const struct delta *delta, int block, int local);

/* What it is made of, for those who look at single tasks (bound.c). */
const struct delta_timeline *hp_delta_timeline_of(const struct delta *delta);

#endif /* SIM_DELTA_DELTA_H */
