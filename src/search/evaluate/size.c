/* Plans that are too large to be simulated. */
#include "search/evaluate/size.h"

#include "plan/schedules.h"
#include "search/limits.h"
#include "sim/task_costs.h"

/* Fused passes are one task; exchanges, which are not counted here, are about as many as the
 * tasks that fusion saves. */
double hp_plan_instances(const struct hypar_plan *plan)
{
    double parts = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        parts += (double)plan->ops[op].n_parts * plan->graph->ops[op].nest->n_passes;
    return parts * (double)plan->schedule.micro_batches;
}

bool hp_is_large(const struct hypar_plan *plan)
{
    return hp_plan_parts(plan) > HP_WHOLE_PARTS || hp_plan_instances(plan) > HP_WHOLE_TASKS;
}

/* Is it simulated task by task, all micro-batches, however large it is? */
static bool has_no_part(const struct hypar_plan *plan, const struct hypar_sim_options *options)
{
    return (options && options->expand_collectives) || hp_is_delayed(plan) ||
           hp_schedule_of(plan)->listed;
}

bool hp_is_estimated(const struct hypar_plan *plan)
{
    return hp_plan_instances(plan) > HP_LONG * HP_WHOLE_TASKS ||
           plan->schedule.micro_batches > HP_MANY;
}

bool hp_has_many_parts(const struct hypar_plan *plan)
{
    return hp_plan_parts(plan) > 4 * HP_WHOLE_PARTS;
}

bool hp_takes_too_long(const struct hypar_plan *plan, const struct hypar_sim_options *options)
{
    return hp_has_many_parts(plan) || (hp_is_large(plan) && has_no_part(plan, options));
}

bool hp_are_many_parts(double parts)
{
    return parts > HP_LONG * HP_WHOLE_PARTS;
}

enum hypar_status hp_check_simulable(const struct problem *problem, struct hypar_error *err)
{
    const double most = HP_WHOLE_TASKS / 8; /* of one micro-batch, many times over */
    double passes = 0;
    TRY(hp_check_sim_options(problem->options->simulation, err));
    for (int op = 0; op < problem->graph->n_ops; op++)
        passes += problem->graph->ops[op].nest->n_passes;
    double tasks = passes * hypar_machine_device_count(problem->machine);
    if (tasks <= most)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_UNSUPPORTED,
                   "a step has about %.3g tasks, too many to simulate it again and again, "
                   "expected at most %.0f: a smaller model, fewer devices or another planner",
                   tasks, most);
}
