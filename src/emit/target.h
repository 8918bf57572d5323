/* emit/target.h - the frameworks that run plans, one row each. Internal.
 *
 * A row says what the framework can run and writes its form. `hypar export --to`, `hypar plan
 * --for` and their messages are made from the table in emit.c. */
#ifndef EMIT_TARGET_H
#define EMIT_TARGET_H

#include <hypar/emit.h>

#include "plan/plan.h"

struct target {
    const char *name, *title, *summary; /* as in struct hypar_target */
    /* The command line that runs what was written: FILE in place of it, RANKS of the number on
     * each node, NODES of theirs; what is in [] is for several nodes. */
    const char *command;
    bool eager;          /* it runs operator by operator: its memory is counted so */
    bool fp32_gradients; /* ... and keeps the gradients of short parameters in fp32 */
    unsigned schedules;  /* that it has (bit: enum hypar_schedule_kind) */
    unsigned filled;     /* of them, those with at least as many micro-batches as stages */
    /* Can it run some plan of the graph? NULL: of any graph. HYPAR_INFEASIBLE. */
    enum hypar_status (*takes)(const struct hypar_graph *graph, struct hypar_error *err);
    /* As hypar_emit_note(); NULL: there is nothing to know. */
    bool (*note)(const struct hypar_plan *plan, int i, char *text, size_t size);
    /* The axes of an operator that may be split; NULL: those of layouts. */
    axis_set (*axes)(const struct hypar_graph *graph, int op);
    /* By operator of a graph, whether a stage may begin with it; NULL: with any. */
    bool *(*borders)(const struct hypar_graph *graph, struct arena *arena);
    /* Can it run the plan, which is checked already? `quick`: it takes no longer than to read
     * the plan. */
    bool quick;
    enum hypar_status (*check)(const struct target *self, const struct hypar_plan *plan,
                               struct hypar_error *err);
    /* Of one that takes plans from layouts and no others: does it take this one, with the
     * plan's model and settings? Else NULL. */
    enum hypar_status (*allows)(const struct hypar_plan *like,
                                const struct hypar_layout *layout, struct hypar_error *err);
    /* Write what `check` takes; NULL: not yet. */
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

/* HYPAR_USAGE, with all of them, if there is none of that name. */
enum hypar_status hp_find_target(const struct target **out, const char *name,
                                 struct hypar_error *err);

/* Write a target's command line for a plan, as hypar_emit_command() does. */
void hp_put_command(const struct target *target, const struct hypar_plan *plan,
                    const char *file, FILE *to);

/* Can it run some plan of the graph, can it run this one? HYPAR_INFEASIBLE. */
enum hypar_status hp_target_takes(const struct target *target, const struct hypar_graph *graph,
                                  struct hypar_error *err);
enum hypar_status hp_target_runs(const struct target *target, const struct hypar_plan *plan,
                                 struct hypar_error *err);

/* HYPAR_INFEASIBLE, by name, if it does not have the schedule; `in_turn`: there are stages, and
 * micro-batches that go through them one after another under 'none', which nobody has. */
enum hypar_status hp_check_target_schedule(const struct target *target,
                                           enum hypar_schedule_kind kind, bool in_turn,
                                           struct hypar_error *err);

#endif /* EMIT_TARGET_H */
