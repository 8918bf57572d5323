/* Answers planners' questions about the target: which plans can the framework run? */
#include "search/runnable.h"

#include <string.h>

#include "emit/target.h"

axis_set hp_allowed_axes(const struct problem *problem, const struct nest *nest)
{
    return problem->axes ? problem->axes[nest->id] : ~(axis_set)0;
}

void hp_keep_to_target(struct problem *problem, const struct target *target,
                       struct arena *arena)
{
    const struct hypar_graph *graph = problem->graph;
    problem->target = target;
    problem->borders = target->borders ? target->borders(graph, arena) : NULL;
    if (!target->axes)
        return;
    problem->axes = NEW(arena, axis_set, graph->n_nests);
    memset(problem->axes, 0xff, (size_t)graph->n_nests * sizeof *problem->axes);
    for (int op = 0; op < graph->n_ops; op++)
        problem->axes[graph->ops[op].nest->id] &= target->axes(graph, op);
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
    return target ? target->check(target, plan, err) : HYPAR_OK;
}

bool hp_tells_quickly(const struct problem *problem)
{
    return !problem->target || problem->target->quick;
}

bool hp_may_run(const struct problem *problem, const struct hypar_plan *plan)
{
    return !hp_tells_quickly(problem) || hp_check_runs(problem, plan, NULL) == HYPAR_OK;
}
