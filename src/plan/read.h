/* plan/read.h - the parts of reading a plan file. Internal to plan/.
 *
 * What is no plan is HYPAR_INVALID, at its place in the file ("ops[3].split.n: ..."); a plan
 * that does not fit its graph or machine is HYPAR_INFEASIBLE, at its operator ("op 'fc1':
 * ..."). */
#ifndef PLAN_READ_H
#define PLAN_READ_H

#include "base/files/json.h"
#include "base/names.h"
#include "plan/plan.h"

/* The name of a schedule. */
enum hypar_status hp_read_schedule_kind(const struct json *at, enum hypar_schedule_kind *out,
                                        struct hypar_error *err);

/* A list of at most HP_MAX_PARTS device numbers, into `arena`; whether the machine has them is
 * checked with the plan. */
enum hypar_status hp_read_devices(struct arena *arena, const struct json *at, int **out, int *n,
                                  struct hypar_error *err);

/* A hash: 16 hexadecimal digits. */
enum hypar_status hp_read_hash(const struct json *at, uint64_t *out, struct hypar_error *err);

/* The operator called `name`; HYPAR_INFEASIBLE, with the nearest name, if there is none. */
enum hypar_status hp_read_op_name(const struct hypar_graph *graph, const char *name, int *out,
                                  struct hypar_error *err);

/* The members "layout", "stages", "schedule", "simulation" and "search", all optional; "ops",
 * which needs the stages, optional beside a layout. `scratch` is the caller's. */
enum hypar_status hp_read_layout(struct hypar_plan *plan, const struct json *root,
                                 struct hypar_error *err);
enum hypar_status hp_read_stages(struct hypar_plan *plan, const struct json *root,
                                 struct arena *scratch, struct hypar_error *err);
enum hypar_status hp_read_schedule(struct hypar_plan *plan, const struct json *root,
                                   struct arena *scratch, struct hypar_error *err);
enum hypar_status hp_read_simulation(const struct json *root, struct hypar_simulation *out,
                                     struct hypar_error *err);
enum hypar_status hp_read_search(struct hypar_plan *plan, const struct json *root,
                                 struct hypar_error *err);
enum hypar_status hp_read_ops(struct hypar_plan *plan, const struct json *root,
                              struct arena *scratch, struct hypar_error *err);

#endif /* PLAN_READ_H */
