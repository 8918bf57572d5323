/* The public functions that read a plan. */
#include "plan/plan.h"
#include "plan/schedules.h"

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

enum hypar_precision hypar_plan_gradient_precision(const struct hypar_plan *plan)
{
    return hp_plan_gradients(plan);
}

static bool is_op(const struct hypar_plan *plan, int op)
{
    return op >= 0 && op < plan->graph->n_ops;
}

static bool is_axis(const struct hypar_plan *plan, int op, int axis)
{
    return is_op(plan, op) && axis >= 0 && axis < plan->graph->ops[op].nest->n_axes;
}

struct hypar_plan_settings hypar_plan_settings(const struct hypar_plan *plan)
{
    return (struct hypar_plan_settings){ .model = plan->model,
                                         .machine_word = plan->machine_word,
                                         .precision = plan->precision,
                                         .fp32_gradients = plan->fp32_gradients,
                                         .optimizer = plan->optimizer,
                                         .masks = plan->masks,
                                         .framework_bytes = plan->framework_bytes,
                                         .memory_limit_bytes = plan->memory_limit_bytes,
                                         .memory_certainty = plan->memory_certainty,
                                         .seed = plan->seed,
                                         .clip = plan->clip,
                                         .gather_ahead = plan->gather_ahead,
                                         .simulation = plan->simulation };
}

int hypar_plan_degree(const struct hypar_plan *plan, int op, int axis)
{
    if (!is_axis(plan, op, axis))
        return 0;
    int degree = plan->ops[op].split.degree[axis];
    return degree > 1 ? degree : 1;
}

int64_t hypar_plan_part_size(const struct hypar_plan *plan, int op, int axis, int i)
{
    if (!is_axis(plan, op, axis) || i < 0 || i >= hp_degree(&plan->ops[op].split, axis))
        return 0;
    struct range part = hp_axis_part(plan->graph->ops[op].nest, &plan->ops[op].split, axis, i);
    return part.hi - part.lo;
}

int64_t hp_plan_parts(const struct hypar_plan *plan)
{
    int64_t parts = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        parts += plan->ops[op].n_devices;
    return parts;
}

struct hypar_plan_op hypar_plan_op(const struct hypar_plan *plan, int op)
{
    if (!is_op(plan, op))
        return (struct hypar_plan_op){ .stage = -1 };
    const struct op_plan *o = &plan->ops[op];
    return (struct hypar_plan_op){ .n_parts = o->n_parts,
                                   .n_devices = o->n_devices,
                                   .device = o->device,
                                   .stage = o->stage,
                                   .recompute = o->recompute,
                                   .resend = o->resend,
                                   .shard = o->shard,
                                   .shard_over = o->shard_over };
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

bool hypar_plan_divides_statistics(const struct hypar_plan *plan)
{
    return plan->schedule.micro_batches > 1 && hp_has_batch_norm(plan->graph);
}

int hypar_plan_stage_count(const struct hypar_plan *plan)
{
    return plan->n_stages;
}

struct hypar_stage hypar_plan_stage(const struct hypar_plan *plan, int stage)
{
    return stage >= 0 && stage < plan->n_stages ? plan->stages[stage]
                                                : (struct hypar_stage){ 0 };
}

struct hypar_schedule hypar_plan_schedule(const struct hypar_plan *plan)
{
    return plan->schedule;
}

/* One stage has as many minibatches in flight as replicas (PipeDream, section 3.2: NOAM is 1),
 * so each sees the last update; several stages have more. */
enum hypar_updates hypar_plan_updates(const struct hypar_plan *plan)
{
    if (!hp_is_delayed(plan))
        return HYPAR_UPDATES_BATCH;
    if (plan->n_stages > 1)
        return HYPAR_UPDATES_DELAYED;
    const struct hypar_stage *stage = &plan->stages[0];
    return stage->share == HYPAR_SHARE_MINIBATCH && stage->replicas > 1 ? HYPAR_UPDATES_BATCHES
                                                                        : HYPAR_UPDATES_BATCH;
}

const struct hypar_layout *hypar_plan_layout(const struct hypar_plan *plan)
{
    return plan->has_layout ? &plan->layout : NULL;
}
