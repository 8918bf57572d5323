/* hypar/emit.h - a plan in the form that another framework runs.
 *
 * In the way of the data: model -> graph -> search -> PLAN -> a training script
 *
 * A framework runs some plans and not others: one that it cannot express is refused, by
 * operator and axis. */
#ifndef HYPAR_EMIT_H
#define HYPAR_EMIT_H

#include <hypar/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What plans are written for: target 0..hypar_target_count()-1; the texts are static. */
struct hypar_target {
    const char *name;    /* "torch" */
    const char *title;   /* "PyTorch" */
    const char *summary; /* what is written */
};
HYPAR_API int hypar_target_count(void);
HYPAR_API struct hypar_target hypar_target_at(int target);

/* The target called `name`; HYPAR_USAGE, with all of them, if there is none. */
HYPAR_API enum hypar_status hypar_target_find(struct hypar_target *out, const char *name,
                                              struct hypar_error *err);

/* What plans for a target have where nothing else is asked for. */
struct hypar_target_defaults {
    enum hypar_precision precision; /* bf16 on devices that have units for it, else fp32 */
    enum hypar_optimizer optimizer; /* adamw on such devices, else sgd */
    bool fp32_gradients;            /* it keeps the gradients of short parameters in fp32 */
};
HYPAR_API struct hypar_target_defaults
hypar_target_defaults(const char *target, const struct hypar_machine *machine);

/* Write `plan` for `target`. HYPAR_USAGE if there is no such target; HYPAR_INFEASIBLE, with the
 * operator and its axis, if it cannot run the plan, and then nothing is written. Write errors
 * are left in the stream. */
HYPAR_API enum hypar_status hypar_emit(const struct hypar_plan *plan, const char *target,
                                       FILE *to, struct hypar_error *err);

/* Processes that run the plan: one for each device that it uses. */
HYPAR_API int hypar_emit_ranks(const struct hypar_plan *plan);

/* Write the command line that runs what was written to `file`, without a newline: of a plan on
 * several nodes the one for each of them, whose HOST is to be one of theirs. HYPAR_USAGE if
 * there is no such target. */
HYPAR_API enum hypar_status hypar_emit_command(const struct hypar_plan *plan,
                                               const char *target, const char *file, FILE *to,
                                               struct hypar_error *err);

/* Can it run the plan? HYPAR_INFEASIBLE, with operator and axis and what is expected. */
HYPAR_API enum hypar_status hypar_emit_check(const struct hypar_plan *plan, const char *target,
                                             struct hypar_error *err);

/* What one should know who runs such a plan there: the i-th of that, from 0, into `text` (512
 * bytes are enough). False: there is no more. */
HYPAR_API bool hypar_emit_note(const struct hypar_plan *plan, const char *target, int i,
                               char *text, size_t size);

/* The plan that differs least from one that the target cannot run, of those that are looked at:
 * with refused axes left unsplit, or else from a layout. `differing`: operators that are
 * planned otherwise. HYPAR_INFEASIBLE if there is none; else *out is to be released with
 * hypar_plan_free(), before `plan`, whose graph and machine it has. */
HYPAR_API enum hypar_status hypar_emit_nearest(struct hypar_plan **out, int *differing,
                                               const struct hypar_plan *plan,
                                               const char *target, struct hypar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_EMIT_H */
