/* What the public header shows of a plan. */
#include "plan/plan.h"

const struct hypar_graph *hypar_plan_graph(const struct hypar_plan *plan)
{
    return plan->graph;
}

const struct hypar_machine *hypar_plan_machine(const struct hypar_plan *plan)
{
    return plan->machine;
}

const char *hypar_plan_model(const struct hypar_plan *plan)
{
    return plan->model;
}

enum hypar_precision hypar_plan_precision(const struct hypar_plan *plan)
{
    return plan->precision;
}

enum hypar_precision hypar_plan_gradient_precision(const struct hypar_plan *plan)
{
    return hp_plan_gradients(plan);
}

enum hypar_masks hypar_plan_masks(const struct hypar_plan *plan)
{
    return plan->masks;
}

double hypar_plan_framework_bytes(const struct hypar_plan *plan)
{
    return plan->framework_bytes;
}

enum hypar_optimizer hypar_plan_optimizer(const struct hypar_plan *plan)
{
    return plan->optimizer;
}

int64_t hypar_plan_seed(const struct hypar_plan *plan)
{
    return plan->seed;
}

double hypar_plan_clip(const struct hypar_plan *plan)
{
    return plan->clip;
}

int hypar_plan_degree(const struct hypar_plan *plan, int op, int axis)
{
    int degree = plan->ops[op].split.degree[axis];
    return degree > 1 ? degree : 1;
}

int64_t hypar_plan_part_size(const struct hypar_plan *plan, int op, int axis, int i)
{
    struct range part = hp_axis_part(plan->graph->ops[op].nest, &plan->ops[op].split, axis, i);
    return part.hi - part.lo;
}

int hypar_plan_part_count(const struct hypar_plan *plan, int op)
{
    return plan->ops[op].n_parts;
}

int hypar_plan_device_count(const struct hypar_plan *plan, int op)
{
    return plan->ops[op].n_devices;
}

int64_t hp_plan_parts(const struct hypar_plan *plan)
{
    int64_t parts = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        parts += plan->ops[op].n_devices;
    return parts;
}

int hypar_plan_device(const struct hypar_plan *plan, int op, int i)
{
    return plan->ops[op].device[i];
}

bool hypar_plan_recompute(const struct hypar_plan *plan, int op)
{
    return plan->ops[op].recompute;
}

enum hypar_shard hypar_plan_shard(const struct hypar_plan *plan, int op)
{
    return plan->ops[op].shard;
}

int hypar_plan_shard_over(const struct hypar_plan *plan, int op)
{
    return plan->ops[op].shard_over;
}

int hypar_plan_op_stage(const struct hypar_plan *plan, int op)
{
    return plan->ops[op].stage;
}

int hypar_plan_idle_devices(const struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    int idle = plan->n_all_devices;
    bool *used = NEW(&scratch, bool, hypar_machine_device_count(plan->machine));
    for (int op = 0; op < plan->graph->n_ops; op++)
        for (int i = 0; i < plan->ops[op].n_devices; i++) {
            idle -= !used[plan->ops[op].device[i]];
            used[plan->ops[op].device[i]] = true;
        }
    hp_arena_free(&scratch);
    return idle;
}

int hypar_plan_stage_count(const struct hypar_plan *plan)
{
    return plan->n_stages;
}

struct hypar_stage hypar_plan_stage(const struct hypar_plan *plan, int stage)
{
    return plan->stages[stage];
}

struct hypar_schedule hypar_plan_schedule(const struct hypar_plan *plan)
{
    return plan->schedule;
}

const struct hypar_layout *hypar_plan_layout(const struct hypar_plan *plan)
{
    return plan->has_layout ? &plan->layout : NULL;
}
