/* emit/layouts.h - finds the layout (data x tensor x pipeline) nearest to a plan. Internal. */
#ifndef EMIT_LAYOUTS_H
#define EMIT_LAYOUTS_H

#include "emit/target.h"

/* Of all layouts that a target can run, the plan of the one that differs least from `plan` in
 * its split axes. *differing becomes the number of operators with a difference. NULL: the
 * target can run none. */
struct hypar_plan *hp_nearest_layout(const struct target *target, const struct hypar_plan *plan,
                                     int *differing);

/* For a target that takes only layouts: the plan's layout, if the target takes it. Else
 * HYPAR_INFEASIBLE with the first operator that differs from the nearest layout; if `err` is
 * NULL, the search for the nearest layout is skipped. */
enum hypar_status hp_as_layout(const struct target *target, const struct hypar_plan *plan,
                               struct hypar_layout *out, struct hypar_error *err);

/* `check` of a target that takes only layouts and trains in fp32, bf16 and fp16. */
enum hypar_status hp_check_as_layout(const struct target *target, const struct hypar_plan *plan,
                                     struct hypar_error *err);

/* Check a layout: the target has its schedule; each stage has the same number of `layers`
 * repeated layers; each micro-batch of each replica has the same number of samples; in a
 * pipeline only the optimizer is sharded. Else HYPAR_INFEASIBLE. */
enum hypar_status hp_check_equal_parts(const struct target *target,
                                       const struct hypar_graph *graph,
                                       const struct hypar_layout *layout, int layers,
                                       struct hypar_error *err);

#endif /* EMIT_LAYOUTS_H */
