/* hypar/emit.h - exporting a plan for another framework.
 *
 * Data flow: model -> graph -> search -> PLAN -> a training script
 *
 * A framework runs only some plans. Any other plan is refused with the operator and the axis
 * that the framework cannot express. */
#ifndef HYPAR_EMIT_H
#define HYPAR_EMIT_H

#include <hypar/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A target of export; the texts are static. */
struct hypar_target {
    const char *name;    /* "torch" */
    const char *title;   /* "PyTorch" */
    const char *summary; /* what is written */
};

/* Target `i`; its name is NULL past the last. */
HYPAR_API struct hypar_target hypar_target_at(int i);

/* The target called `name`; HYPAR_USAGE, with all targets, if there is none. */
HYPAR_API enum hypar_status hypar_target_find(struct hypar_target *out, const char *name,
                                              struct hypar_error *err);

/* The default settings of plans for a target. `machine` NULL: defaults for a machine without
 * units for bf16. An unknown target has the defaults of a search without a target, and its
 * framework is NULL. */
struct hypar_target_defaults {
    enum hypar_precision precision; /* bf16 on devices with units for it, else fp32 */
    enum hypar_optimizer optimizer; /* adamw on such devices, else sgd */
    const char *framework; /* the framework (hypar/framework.h) that predictions assume */
};
HYPAR_API struct hypar_target_defaults
hypar_target_defaults(const char *target, const struct hypar_machine *machine);

/* Write `plan` for `target`. HYPAR_USAGE for an unknown target. HYPAR_INFEASIBLE, with the
 * operator and its axis, if the target cannot run the plan; nothing is written then. Write
 * errors stay in the stream. */
HYPAR_API enum hypar_status hypar_emit(const struct hypar_plan *plan, const char *target,
                                       FILE *to, struct hypar_error *err);

/* The number of processes that run the plan: one for each device in use. */
HYPAR_API int hypar_emit_ranks(const struct hypar_plan *plan);

/* Write the command line that runs the exported `file`, without a newline. For a plan on
 * several nodes it is the command for each node; HOST must be replaced by one of them.
 * HYPAR_USAGE for an unknown target. */
HYPAR_API enum hypar_status hypar_emit_command(const struct hypar_plan *plan,
                                               const char *target, const char *file, FILE *to,
                                               struct hypar_error *err);

/* Can the target run the plan? HYPAR_INFEASIBLE, with operator, axis and what is expected. */
HYPAR_API enum hypar_status hypar_emit_check(const struct hypar_plan *plan, const char *target,
                                             struct hypar_error *err);

/* Notes for people who run the plan: the i-th note, from 0, into `text` (512 bytes suffice).
 * False: there are no more. */
HYPAR_API bool hypar_emit_note(const struct hypar_plan *plan, const char *target, int i,
                               char *text, size_t size);

/* The nearest plan that the target can run: `plan` with refused axes left unsplit, or else a
 * plan from a layout. `differing`: the number of operators whose split or devices differ from
 * `plan`. HYPAR_INFEASIBLE if no such plan is found; else release *out with hypar_plan_free()
 * before `plan`, whose graph and machine *out uses. */
HYPAR_API enum hypar_status hypar_emit_nearest(struct hypar_plan **out, int *differing,
                                               const struct hypar_plan *plan,
                                               const char *target, struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_EMIT_H */
