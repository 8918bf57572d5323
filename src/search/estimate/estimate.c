/* Time and memory of a plan, from its lowering. */
#include "search/estimate/estimate.h"

enum hypar_status hp_estimate(const struct hypar_plan *plan,
                              const struct hypar_sim_options *how, double limit_bytes,
                              struct step_estimate *out, struct hypar_error *err)
{
    struct lowering *lowering;
    struct task_costs costs;
    struct arena arena = { 0 };
    struct hypar_sim_options planned = hypar_as_planned(plan, NULL);
    how = how ? how : &planned;
    TRY(hp_check_lowerable(plan, err));
    TRY(hp_lowering_make(&lowering, plan, &how->lower, NULL, err));
    hp_task_costs_begin(&costs, plan, how);
    struct stage_costs stages = hp_stage_costs(lowering, &costs, &arena);
    out->step_s = hp_step_seconds(lowering, &stages, &arena);
    out->memory = hp_estimate_memory(lowering, limit_bytes, &arena);
    hp_task_costs_end(&costs);
    hp_lowering_free(lowering);
    hp_arena_free(&arena);
    return HYPAR_OK;
}
