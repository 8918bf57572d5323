/* The time of a step, from a plan's lowering. */
#include "search/estimate/estimate.h"

double hp_estimate_step(const struct hypar_program *program,
                        const struct hypar_sim_options *how)
{
    struct task_costs costs;
    struct arena arena = { 0 };
    struct hypar_sim_options planned = hypar_as_planned(program->plan, NULL);
    hp_task_costs_begin(&costs, program->plan, how ? how : &planned);
    struct stage_costs stages = hp_stage_costs(program->lowering, &costs, &arena);
    double step_s = hp_step_seconds(program->lowering, &stages, &arena);
    hp_task_costs_end(&costs);
    hp_arena_free(&arena);
    return step_s;
}
