/* emit/torch_limits.h - decides whether PyTorch can run a plan. Internal.
 *
 * The exporter, its refusals and the search (`hypar plan --for torch`) use the same rules. They
 * hold for PyTorch 2.11 and later: DTensor and parallelize_module for splits, fully_shard for
 * sharded parameters, torch.distributed.pipelining for stages. The rules for each operator and
 * axis were found by running DTensor forward and backward; tests/torch/limits.py repeats
 * this. */
#ifndef EMIT_TORCH_LIMITS_H
#define EMIT_TORCH_LIMITS_H

#include "emit/mesh.h"

/* The axes of an operator that PyTorch may split. They always include samples and copies. */
axis_set hp_torch_axes(const struct nest *nest);

/* PyTorch's name of a schedule, such as "Schedule1F1B"; NULL: PyTorch does not have it. */
const char *hp_torch_schedule(enum hypar_schedule_kind kind);

/* Can PyTorch run the plan, which is valid? Fills *mesh, whose arrays are in `arena`. Else
 * HYPAR_INFEASIBLE with operator, axis, and what is expected. */
enum hypar_status hp_torch_can_run(const struct hypar_plan *plan, struct mesh *mesh,
                                   struct arena *arena, struct hypar_error *err);

#endif /* EMIT_TORCH_LIMITS_H */
