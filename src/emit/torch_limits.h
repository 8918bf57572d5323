/* emit/torch_limits.h - what PyTorch can run of a plan. Internal.
 *
 * One rule for all who ask: the exporter, the refusal, the search (`hypar plan --for torch`).
 * PyTorch here is 2.11 or later: DTensor and parallelize_module for splits, fully_shard for
 * parameters that are divided, torch.distributed.pipelining for stages. What DTensor does with
 * each operator and axis was tried, forward and backward: tests/torch/limits.py does it again.
 */
#ifndef EMIT_TORCH_LIMITS_H
#define EMIT_TORCH_LIMITS_H

#include "emit/mesh.h"

/* The axes of an operator that PyTorch may split. Samples and copies are always among them. */
axis_set hp_torch_axes(const struct nest *nest);

/* PyTorch's name of a schedule that it has: "Schedule1F1B"; NULL: it does not have it. */
const char *hp_torch_schedule(enum hypar_schedule_kind kind);

/* HYPAR_OK if PyTorch can run the plan, which is checked already, on the mesh that *mesh then
 * is; what it points to is in `arena`. Else HYPAR_INFEASIBLE, with operator, axis, and what is
 * expected. */
enum hypar_status hp_torch_can_run(const struct hypar_plan *plan, struct mesh *mesh,
                                   struct arena *arena, struct hypar_error *err);

#endif /* EMIT_TORCH_LIMITS_H */
