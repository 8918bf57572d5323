/* Answers planners' questions about the target: which plans can the framework run? */
#include "search/runnable.h"

#include <string.h>

#include "base/files/text.h"
#include "emit/target.h"
#include "plan/schedules.h"
#include "search/evaluate/judge.h"

axis_set hp_allowed_axes(const struct problem *problem, const struct nest *nest)
{
    return problem->limits.axes ? problem->limits.axes[nest->id] : ~(axis_set)0;
}

void hp_keep_to_target(struct problem *problem, const struct target *target,
                       struct arena *arena)
{
    const struct hypar_graph *graph = problem->graph;
    problem->target = target;
    problem->limits = hp_target_limits(target, graph, arena);
}

bool hp_has_schedule(const struct problem *problem, enum hypar_schedule_kind kind)
{
    return !problem->target || hp_target_has(problem->target, kind);
}

int64_t hp_least_micro_batches(const struct problem *problem, enum hypar_schedule_kind kind,
                               int stages)
{
    const struct target *target = problem->target;
    return target ? hp_target_least_micro_batches(target, kind, stages) : 1;
}

bool hp_equal_shares(const struct problem *problem)
{
    return problem->target != NULL;
}

enum hypar_status hp_check_runs(const struct problem *problem, const struct hypar_plan *plan,
                                struct hypar_error *err)
{
    const struct target *target = problem->target;
    if (!target)
        return HYPAR_OK;
    return hp_about(err, HYPAR_CAUSE_TARGET, target->check(target, plan, err));
}

/* The axes that `wanted` splits and `plan` does not, other than samples and copies. */
static axis_set joined_axes(const struct hypar_plan *wanted, const struct hypar_plan *plan,
                            int op)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    axis_set joined = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].role != HYPAR_SAMPLE && nest->axis[a].role != HYPAR_COPY &&
            hp_degree(&wanted->ops[op].split, a) > 1 && hp_degree(&plan->ops[op].split, a) == 1)
            joined |= (axis_set)1 << a;
    return joined;
}

/* "conv1, conv2 and 4 more operators are kept whole", "" if none is. */
static const char *whole_text(struct arena *arena, const struct hypar_plan *wanted,
                              const struct hypar_plan *plan)
{
    enum { MOST_NAMES = 3 };
    const char *names = "";
    int n = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        if (joined_axes(wanted, plan, op) && n++ < MOST_NAMES)
            names = hp_joined(arena, names, ", ", plan->graph->ops[op].name);
    if (n > MOST_NAMES)
        names = hp_arena_printf(arena, "%s and %s", names,
                                hp_count(arena, n - MOST_NAMES, "more operator"));
    return n == 0 ? ""
                  : hp_arena_printf(arena, "%s %s kept whole", names, n == 1 ? "is" : "are");
}

/* Operators that are divided along the same axes, in parts of other sizes. */
static int count_resized(const struct hypar_plan *wanted, const struct hypar_plan *plan)
{
    int n = 0;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct split *a = &wanted->ops[op].split, *b = &plan->ops[op].split;
        bool resized = false, same = true;
        for (int axis = 0; axis < plan->graph->ops[op].nest->n_axes; axis++) {
            same &= hp_degree(a, axis) == hp_degree(b, axis);
            resized |= !hp_same_parts(a, b, axis);
        }
        n += same && resized;
    }
    return n;
}

static int count_moved(const struct hypar_plan *wanted, const struct hypar_plan *plan)
{
    int n = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        n += wanted->ops[op].stage != plan->ops[op].stage;
    return n;
}

const char *hp_changed_text(struct arena *arena, const struct problem *problem,
                            const struct hypar_plan *wanted, const struct hypar_plan *plan)
{
    struct hypar_error why;
    const char *text = whole_text(arena, wanted, plan);
    int n_moved = count_moved(wanted, plan), n_resized = count_resized(wanted, plan);
    if (n_resized > 0)
        text = hp_joined(arena, text, ", ",
                         hp_arena_printf(arena, "parts of %s have other sizes",
                                         hp_count(arena, n_resized, "operator")));
    if (n_moved > 0)
        text = hp_joined(arena, text, ", ",
                         hp_arena_printf(arena, "%s moved to another stage",
                                         hp_count(arena, n_moved, "operator")));
    if (wanted->schedule.kind != plan->schedule.kind)
        text = hp_joined(arena, text, ", ",
                         hp_arena_printf(arena, "schedule %s instead of %s",
                                         hypar_schedule_text(plan->schedule.kind),
                                         hypar_schedule_text(wanted->schedule.kind)));
    if (!*text || hp_check_runs(problem, wanted, &why) == HYPAR_OK)
        return NULL;
    return hp_arena_printf(arena, "%s. Refused as asked: %s", text, why.text);
}

bool hp_change_for_target(const struct problem *problem, struct hypar_found *found)
{
    int differing;
    struct hypar_plan *wanted = found->plan;
    struct hypar_plan *plan =
        problem->target ? hp_moved_plan(problem->target, wanted, &differing) : NULL;
    if (!plan)
        return false;
    found->info.for_target = hp_changed_text(&found->arena, problem, wanted, plan);
    found->plan = plan;
    hypar_plan_free(wanted);
    hp_drop_views(found);
    return hp_judge(problem, found, NULL) == HYPAR_OK;
}

bool hp_tells_quickly(const struct problem *problem)
{
    return !problem->target || problem->target->quick;
}

bool hp_may_run(const struct problem *problem, const struct hypar_plan *plan)
{
    return !hp_tells_quickly(problem) || hp_check_runs(problem, plan, NULL) == HYPAR_OK;
}
