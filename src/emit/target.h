/* emit/target.h - the frameworks that run plans, one row each. Internal.
 *
 * A row says which plans the framework can run, and writes its files. The words that `hypar
 * export --to` and `hypar plan --for` take, and their messages, come from the table in emit.c;
 * the help texts of these options are literals (cli/cmd_export.c, cli/opt.h).
 *
 * Every row has name, title, summary, command, schedules and check. Other members may be
 * absent. */
#ifndef EMIT_TARGET_H
#define EMIT_TARGET_H

#include <hypar/emit.h>

#include "plan/plan.h"

/* Write what a user of the plan's file should know; false: it does not concern this plan. */
typedef bool target_note(const struct hypar_plan *plan, char *text, size_t size);

struct target {
    const char *name, *title, *summary; /* as in struct hypar_target */
    /* The command line that runs the file. FILE, RANKS (processes on each node) and NODES are
     * replaced; text in [] is for several nodes only. */
    const char *command;
    const char *framework; /* the row that its runs are predicted as (plan/frameworks.c) */
    unsigned schedules;    /* supported schedules (bit: enum hypar_schedule_kind) */
    unsigned filled;       /* of these, schedules that need at least as many micro-batches as
                            * stages */
    /* Can it run some plan of the graph? Else HYPAR_INFEASIBLE. NULL: it takes any graph. */
    enum hypar_status (*takes)(const struct hypar_graph *graph, struct hypar_error *err);
    target_note *const *notes; /* of hypar_emit_note(), ended by NULL; NULL: none */
    /* The axes of an operator that it may split; NULL: those of layouts. */
    axis_set (*axes)(const struct hypar_graph *graph, int op);
    /* By operator, in `arena`: the axes whose parts have sizes that it cannot run, though it
     * may split the axes; NULL: all sizes. */
    axis_set *(*misfits)(const struct hypar_plan *plan, struct arena *arena);
    /* By operator: whether a stage may begin with it; NULL: with any. */
    bool *(*borders)(const struct hypar_graph *graph, struct arena *arena);
    /* Can it run this plan, which is valid? `quick`: the check takes no longer than reading the
     * plan. */
    bool quick;
    enum hypar_status (*check)(const struct target *self, const struct hypar_plan *plan,
                               struct hypar_error *err);
    /* For a target that takes only layouts: does it take this layout, with the model and
     * settings of plan `like`? NULL for other targets. */
    enum hypar_status (*allows)(const struct hypar_plan *like,
                                const struct hypar_layout *layout, struct hypar_error *err);
    /* Write a plan that passes `check`; NULL: not supported yet. */
    enum hypar_status (*write)(const struct hypar_plan *plan, FILE *to,
                               struct hypar_error *err);
};

extern const struct target hp_target_torch, hp_target_megatron, hp_target_deepspeed;

static inline bool hp_target_has(const struct target *target, enum hypar_schedule_kind kind)
{
    return target->schedules >> kind & 1;
}

/* The fewest micro-batches of a schedule with so many stages. */
static inline int64_t hp_target_least_micro_batches(const struct target *target,
                                                    enum hypar_schedule_kind kind, int stages)
{
    return target->filled >> kind & 1 ? stages : 1;
}

/* The learning rate that files of all targets have, as a plan has none. */
static inline double hp_usual_rate(enum hypar_optimizer optimizer)
{
    return optimizer == HYPAR_ADAM || optimizer == HYPAR_ADAMW ? 1e-3 : 1e-2;
}

/* AdamW's weight decay, PyTorch's default. */
#define HP_ADAMW_DECAY 0.01

/* Find a target by name; HYPAR_USAGE with all names if there is none. */
enum hypar_status hp_find_target(const struct target **out, const char *name,
                                 struct hypar_error *err);

/* Write a target's command line for a plan, as hypar_emit_command(). */
void hp_put_command(const struct target *target, const struct hypar_plan *plan,
                    const char *file, FILE *to);

/* What the target allows of a layout. */
struct layout_limits hp_target_limits(const struct target *target,
                                      const struct hypar_graph *graph, struct arena *arena);

/* A copy of a plan that the target refuses, changed until it takes it: refused axes are not
 * split, stages begin where they may, the schedule is one that it has. `differing`: operators
 * that changed. NULL: there is none. */
struct hypar_plan *hp_moved_plan(const struct target *target, const struct hypar_plan *plan,
                                 int *differing);

/* Can it run some plan of the graph; can it run this plan? Else HYPAR_INFEASIBLE. */
enum hypar_status hp_target_takes(const struct target *target, const struct hypar_graph *graph,
                                  struct hypar_error *err);
enum hypar_status hp_target_runs(const struct target *target, const struct hypar_plan *plan,
                                 struct hypar_error *err);

/* HYPAR_INFEASIBLE with the schedule's name if the target does not have it. `in_turn`: the plan
 * has stages and several micro-batches; then the schedule 'none', which runs the micro-batches
 * one after another, is not supported by any target. */
enum hypar_status hp_check_target_schedule(const struct target *target,
                                           enum hypar_schedule_kind kind, bool in_turn,
                                           struct hypar_error *err);

#endif /* EMIT_TARGET_H */
