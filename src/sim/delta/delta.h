/* sim/delta/delta.h - a plan's timeline, kept up to date while the plan changes. Internal.
 *
 *     TRY(hp_delta_new(&delta, plan, &options, NULL, err));
 *     hp_plan_set(plan, op, &split, devices);
 *     TRY(hp_delta_change(delta, &op, 1, HP_MAX_TICKS, err));   hp_delta_length(): the new step
 *     hp_delta_keep(delta);  or  change the plan back and  hp_delta_undo(delta);
 *
 * Only the changed operators and their exchanges are lowered again, and only tasks that this
 * change can move are replayed (timeline.h). A plan with several micro-batches is lowered in
 * part, too, but replayed as a whole, because the schedule connects all tasks. */
#ifndef SIM_DELTA_DELTA_H
#define SIM_DELTA_DELTA_H

#include "base/error.h"
#include "sim/delta/timeline.h"
#include "sim/sim_cache.h"
#include "sim/timing.h"

struct delta;

/* `sim_cache` was made with the same options and must outlive the delta; NULL: the delta has
 * its own. */
enum hypar_status hp_delta_new(struct delta **out, struct hypar_plan *plan,
                               const struct hypar_sim_options *options,
                               struct sim_cache *sim_cache, struct hypar_error *err);
void hp_delta_free(struct delta *delta); /* NULL is allowed */

/* The plan's operators op[], each named once, have changed. If the step is certainly longer
 * than `limit`, the replay may stop early: the length is then above the limit, and the change
 * must be undone. On failure the caller changes the plan back and calls hp_delta_undo(). */
enum hypar_status hp_delta_change(struct delta *delta, const int *op, int n, ticks limit,
                                  struct hypar_error *err);
void hp_delta_keep(struct delta *delta);
void hp_delta_undo(struct delta *delta);

ticks hp_delta_length(const struct delta *delta);

/* The step time: the length, but at least the time of its launches. */
ticks hp_delta_step(const struct delta *delta);

/* The bytes of all parts and patterns that were ever cached, by this delta or by others that
 * share its cache. */
size_t hp_delta_remembered_bytes(const struct delta *delta);

/* For comparison with a full simulation: the number and times of every task. */
struct timing *hp_delta_timing(const struct delta *delta);
struct times hp_delta_times(const struct delta *delta, int block, int local);

/* The timeline itself, for code that needs single tasks (bound.c). */
const struct delta_timeline *hp_delta_timeline_of(const struct delta *delta);

#endif /* SIM_DELTA_DELTA_H */
