/* sim/delta.h - a plan's timeline, kept up to date while the plan changes. Internal.
 *
 *     TRY(hp_delta_new(&delta, plan, &options, &settings, err));
 *     hp_plan_set(plan, op, &split, devices);
 *     TRY(hp_delta_change(delta, op, err));     hp_delta_length(delta) is the new step
 *     hp_delta_keep(delta);  or  change the plan back and  hp_delta_undo(delta);
 *
 * Only what the operator has a stake in is lowered again, and only what that touches is
 * replayed (play.h). A plan with several micro-batches is lowered by parts too, but replayed as
 * a whole: the schedule chains everything. */
#ifndef SIM_DELTA_H
#define SIM_DELTA_H

#include "base/error.h"
#include "sim/play.h"
#include "sim/scene.h"

struct delta;

enum hypar_status hp_delta_new(struct delta **out, struct hypar_plan *plan,
                               const struct hypar_lower_options *options,
                               const struct sim_settings *settings, struct hypar_error *err);
void hp_delta_free(struct delta *delta); /* NULL is allowed */

/* On failure the plan must be changed back, and hp_delta_undo() called. */
enum hypar_status hp_delta_change(struct delta *delta, int op, struct hypar_error *err);
void hp_delta_keep(struct delta *delta);
void hp_delta_undo(struct delta *delta);

ticks hp_delta_length(const struct delta *delta);

/* For comparison with a full simulation: every task's number and times. */
const struct scene *hp_delta_scene(const struct delta *delta);
struct times hp_delta_times(const struct delta *delta, int block, int local);

#endif /* SIM_DELTA_H */
