/* Planner hybrid, for now: of graphs with choices; others as 1f1b cuts them. */
#include "search/choices/choices.h"

static enum hypar_status plan_hybrid(const struct planner *self, const struct problem *problem,
                                     struct hypar_found *found, struct hypar_error *err)
{
    if (!hp_has_choices(problem->graph))
        return hp_planner_1f1b.plan(&hp_planner_1f1b, problem, found, err);
    return hp_plan_choices(self, problem, found, err);
}

const struct planner hp_planner_hybrid = {
    .info = { "hybrid", "stages, replicas, degrees and recomputation by measured choices",
              .source = "Piper, NeurIPS 2021" },
    .plan = plan_hybrid,
    .checks_memory = true,
    .not_in_auto = true,
};
