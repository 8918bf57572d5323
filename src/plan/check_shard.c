/* Whether what a plan divides of parameters among their holders makes sense. Who holds what is
 * known when it is lowered. */
#include "plan/check.h"
#include "plan/schedules.h"

bool hp_op_has_params(const struct hypar_graph *g, int op)
{
    for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
        int t = g->ops[op].tensor[o];
        if (t >= 0 && g->tensors[t].kind == TENSOR_PARAM)
            return true;
    }
    return false;
}

bool hp_param_crosses_stages(const struct hypar_plan *plan, int tensor)
{
    const struct hypar_graph *g = plan->graph;
    for (int u = g->use_start[tensor]; u < g->use_start[tensor + 1]; u++)
        if (plan->ops[g->use[u].op].stage != plan->ops[g->use[g->use_start[tensor]].op].stage)
            return true;
    return false;
}

enum hypar_shard hp_param_shard(const struct hypar_plan *plan, int tensor)
{
    enum hypar_shard shard = hp_param_user(plan, tensor)->shard;
    bool waits = plan->n_stages > 1 || plan->schedule.micro_batches > 1;
    bool scatters = plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER && !waits &&
                    !plan->simulation.framework.memory.flat_gradients;
    return shard == HYPAR_SHARD_OPTIMIZER && scatters ? HYPAR_SHARD_GRADIENTS : shard;
}

enum hypar_status hp_check_shard(const struct hypar_plan *plan, int op, struct hypar_error *err)
{
    const struct op_plan *mine = &plan->ops[op];
    if (!mine->shard && mine->shard_over)
        return hp_fail(err, HYPAR_INFEASIBLE, "shard_over %d, but nothing is sharded",
                       mine->shard_over);
    if (!mine->shard)
        return HYPAR_OK;
    if (!hp_op_has_params(plan->graph, op))
        return hp_fail(err, HYPAR_INFEASIBLE, "shard '%s', but it has no parameters",
                       hypar_shard_text(mine->shard));
    if (mine->shard > HYPAR_SHARD_OPTIMIZER && hp_is_delayed(plan))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "shard '%s' under schedule 'pipedream', expected 'optimizer'",
                       hypar_shard_text(mine->shard));
    return HYPAR_OK;
}

/* All who use a parameter say the same. */
static enum hypar_status check_param(const struct hypar_plan *plan, int tensor,
                                     struct hypar_error *err)
{
    const struct hypar_graph *g = plan->graph;
    int first = g->use[g->use_start[tensor]].op;
    const struct op_plan *mine = &plan->ops[first];
    for (int u = g->use_start[tensor] + 1; u < g->use_start[tensor + 1]; u++) {
        const struct op_plan *other = &plan->ops[g->use[u].op];
        if (other->shard != mine->shard || other->shard_over != mine->shard_over)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "parameter '%s' is sharded otherwise by '%s' than by '%s'",
                           g->tensors[tensor].name, g->ops[first].name,
                           g->ops[g->use[u].op].name);
    }
    if (mine->shard > HYPAR_SHARD_OPTIMIZER && hp_param_crosses_stages(plan, tensor))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "parameter '%s' of several stages: shard '%s', expected 'optimizer'",
                       g->tensors[tensor].name, hypar_shard_text(mine->shard));
    return HYPAR_OK;
}

enum hypar_status hp_check_shards(const struct hypar_plan *plan, struct hypar_error *err)
{
    const struct hypar_graph *g = plan->graph;
    for (int op = 0; op < g->n_ops; op++)
        TRY(hp_in(err, hp_check_shard(plan, op, err), "op '%s'", g->ops[op].name));
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM)
            TRY(check_param(plan, t, err));
    return HYPAR_OK;
}
