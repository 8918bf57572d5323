/* Checks that the operators of a plan fit the graph and the machine. */
#include "plan/check.h"

#include "base/number.h"
#include "plan/schedules.h"

#include <stdio.h>

/* "n, k, c, r": what an operator's split may name. */
const char *hp_axis_list(const struct nest *nest, char *text)
{
    size_t n = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].splittable)
            n += (size_t)snprintf(text + n, AXIS_LIST_BYTES - n, "%s%c", n ? ", " : "",
                                  nest->axis[a].name[0]);
    return text;
}

static enum hypar_status check_splittable(const struct nest *nest, int axis,
                                          struct hypar_error *err)
{
    char list[AXIS_LIST_BYTES];
    const struct hypar_axis *a = &nest->axis[axis];
    if (a->splittable)
        return HYPAR_OK;
    const char *reason = a->role == HYPAR_INNER
                             ? "it is inner"
                             : "it is not the outermost factor of a dimension, so a part of it "
                               "is no box";
    return hp_fail(err, HYPAR_INFEASIBLE, "cannot be split: %s; expected one of %s", reason,
                   hp_axis_list(nest, list));
}

static enum hypar_status check_sizes(const struct hypar_axis *axis, int degree,
                                     const int64_t *sizes, struct hypar_error *err)
{
    if (axis->role == HYPAR_COPY)
        return hp_fail(err, HYPAR_INFEASIBLE, "copies have no sizes");
    int64_t sum = 0;
    for (int i = 0; i < degree; i++) {
        if (sizes[i] < 0 || sizes[i] > axis->extent)
            return hp_fail(err, HYPAR_INFEASIBLE, "size %d is %lld, expected 0 to %lld", i,
                           (long long)sizes[i], (long long)axis->extent);
        sum += sizes[i];
    }
    if (sum != axis->extent)
        return hp_fail(err, HYPAR_INFEASIBLE, "sizes sum to %lld, expected its extent %lld",
                       (long long)sum, (long long)axis->extent);
    return HYPAR_OK;
}

static enum hypar_status check_axis(const struct nest *nest, int axis,
                                    const struct split *split, struct hypar_error *err)
{
    int degree = split->degree[axis];
    if (degree < 0 || degree > HP_MAX_PARTS)
        return hp_fail(err, HYPAR_INFEASIBLE, "degree %d, expected 1 to %d", degree,
                       HP_MAX_PARTS);
    if (degree > 1)
        TRY(check_splittable(nest, axis, err));
    if (split->sizes[axis])
        TRY(check_sizes(&nest->axis[axis], degree > 1 ? degree : 1, split->sizes[axis], err));
    return HYPAR_OK;
}

enum hypar_status hp_check_split(const struct nest *nest, const struct split *split,
                                 struct hypar_error *err)
{
    int64_t parts = 1;
    for (int a = 0; a < nest->n_axes; a++) {
        TRY(hp_in(err, check_axis(nest, a, split, err), "axis '%c'", nest->axis[a].name[0]));
        parts *= hp_degree(split, a);
        if (parts > HP_MAX_PARTS)
            return hp_fail(err, HYPAR_INFEASIBLE, "more than %d parts", HP_MAX_PARTS);
    }
    return HYPAR_OK;
}

enum hypar_status hp_check_devices(const struct hypar_plan *plan, int op, const int *device,
                                   int n_parts, const struct device_home *home,
                                   struct hypar_error *err)
{
    int stage = plan->ops[op].stage;
    char range[RANGE_TEXT_BYTES];
    bool groups = stage >= 0 && plan->stages[stage].share == HYPAR_SHARE_MINIBATCH;
    for (int i = 0; i < hp_plan_devices_needed(plan, op, n_parts); i++) {
        if (device[i] < 0 || device[i] >= plan->n_all_devices)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "device %d is not in the machine, expected %s", device[i],
                           hp_range_text(range, 0, plan->n_all_devices - 1));
        if (stage >= 0 && home[device[i]].stage != home[plan->stages[stage].device[0]].stage)
            return hp_fail(err, HYPAR_INFEASIBLE, "device %d is not in its stage %d", device[i],
                           stage);
        if (groups && home[device[i]].group != i / n_parts)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "device %d belongs to replica %d of stage %d, not to replica %d",
                           device[i], home[device[i]].group, stage, i / n_parts);
    }
    return HYPAR_OK;
}

static enum hypar_status check_op(const struct hypar_plan *plan, int op,
                                  const struct device_home *home, struct hypar_error *err)
{
    const struct op_plan *mine = &plan->ops[op];
    TRY(hp_check_split(plan->graph->ops[op].nest, &mine->split, err));
    return hp_check_devices(plan, op, mine->device, mine->n_parts, home, err);
}

static enum hypar_status check_all(const struct hypar_plan *plan, struct device_home *home,
                                   struct hypar_error *err)
{
    TRY(hp_check_schedule(plan, err));
    TRY(hp_check_stages(plan, home, err));
    for (int op = 0; op < plan->graph->n_ops; op++)
        TRY(hp_in(err, check_op(plan, op, home, err), "op '%s'", plan->graph->ops[op].name));
    for (int op = 0; op < plan->graph->n_ops; op++)
        TRY(hp_in(err, hp_check_replicas(plan, op, &plan->ops[op].split, err), "op '%s'",
                  plan->graph->ops[op].name));
    TRY(hp_check_order(plan, err));
    TRY(hp_check_sharing(plan, home, err));
    return hp_check_shards(plan, err);
}

enum hypar_status hypar_plan_check(const struct hypar_plan *plan, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct device_home *home = NEW(&scratch, struct device_home, plan->n_all_devices);
    enum hypar_status status = check_all(plan, home, err);
    hp_arena_free(&scratch);
    return status;
}

/* Sharding: only the lowering knows which devices hold an element ------------------------- */

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
    struct param_how how = hp_param_how(plan);
    return hp_shard_as_run(&how, hp_param_user(plan, tensor)->shard);
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
