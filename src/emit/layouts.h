/* emit/layouts.h - plans as layouts, data x tensor x pipeline: the nearest one. Internal. */
#ifndef EMIT_LAYOUTS_H
#define EMIT_LAYOUTS_H

#include "emit/target.h"

/* The plan from a layout that a target can run and that differs least from `plan`, by the axes
 * that are split otherwise; *differing: operators of which something is. NULL: it can run none.
 */
struct hypar_plan *hp_nearest_layout(const struct target *target, const struct hypar_plan *plan,
                                     int *differing);

/* For a target that takes layouts alone: the layout of the plan, if it is that of one which the
 * target takes; else HYPAR_INFEASIBLE with the first operator that is planned otherwise, for
 * which all layouts are looked at: where `err` is NULL they are not. */
enum hypar_status hp_as_layout(const struct target *target, const struct hypar_plan *plan,
                               struct hypar_layout *out, struct hypar_error *err);

/* `check` of such a target, which trains in fp32, bf16 and fp16. */
enum hypar_status hp_check_as_layout(const struct target *target, const struct hypar_plan *plan,
                                     struct hypar_error *err);

/* Of a layout: a schedule that the target has, as many of `layers` that repeat in each stage,
 * as many samples in each micro-batch of each replica, and in a pipeline the optimizer alone
 * divided. HYPAR_INFEASIBLE. */
enum hypar_status hp_check_equal_parts(const struct target *target,
                                       const struct hypar_graph *graph,
                                       const struct hypar_layout *layout, int layers,
                                       struct hypar_error *err);

#endif /* EMIT_LAYOUTS_H */
