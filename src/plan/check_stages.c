/* Checks the stages and the schedule of a plan. */
#include "plan/check.h"

#include "base/number.h"
#include "plan/schedules.h"
#include "plan/slots.h"

enum hypar_status hp_check_stage(const struct hypar_stage *stage, struct hypar_error *err)
{
    if (stage->n_devices < 1)
        return hp_fail(err, HYPAR_INFEASIBLE, "no devices, expected at least one");
    if (stage->replicas < 1 || stage->n_devices % stage->replicas != 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "%d devices do not make %d equal replicas",
                       stage->n_devices, stage->replicas);
    return HYPAR_OK;
}

static enum hypar_status check_stage_ops(const struct hypar_plan *plan, int s,
                                         struct hypar_error *err)
{
    const struct hypar_stage *stage = &plan->stages[s];
    for (int i = 0; i < stage->n_ops; i++) {
        int op = stage->op[i];
        const char *name = plan->graph->ops[op].name;
        if (i > 0 && stage->op[i - 1] == op)
            return hp_fail(err, HYPAR_INFEASIBLE, "op '%s' is listed twice", name);
        if (plan->ops[op].stage != s)
            return hp_fail(err, HYPAR_INFEASIBLE, "op '%s' is in stage %d too", name,
                           plan->ops[op].stage);
    }
    return HYPAR_OK;
}

/* Check a stage that shares devices with an earlier stage: it must have exactly the same
 * devices. */
static enum hypar_status check_shared(const struct hypar_plan *plan, int s, int first,
                                      struct device_home *home, struct hypar_error *err)
{
    const struct hypar_stage *stage = &plan->stages[s];
    for (int i = 0; i < stage->n_devices; i++) {
        int device = stage->device[i];
        if (home[device].stage != first)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "device %d is not in stage %d, which device %d is in too: stages "
                           "have the same devices or none in common",
                           device, first, stage->device[0]);
        if (home[device].latest == s)
            return hp_fail(err, HYPAR_INFEASIBLE, "device %d is listed twice", device);
        home[device].latest = s;
    }
    if (stage->n_devices != plan->stages[first].n_devices)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%d of the %d devices of stage %d: stages have the same devices or none "
                       "in common",
                       stage->n_devices, plan->stages[first].n_devices, first);
    return HYPAR_OK;
}

static enum hypar_status check_stage_devices(const struct hypar_plan *plan, int s,
                                             struct device_home *home, struct hypar_error *err)
{
    const struct hypar_stage *stage = &plan->stages[s];
    bool groups = stage->share == HYPAR_SHARE_MINIBATCH;
    int each = stage->n_devices / stage->replicas;
    char range[RANGE_TEXT_BYTES];
    for (int i = 0; i < stage->n_devices; i++)
        if (stage->device[i] < 0 || stage->device[i] >= plan->n_all_devices)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "device %d is not in the machine, expected %s", stage->device[i],
                           hp_range_text(range, 0, plan->n_all_devices - 1));
    int first = home[stage->device[0]].stage;
    if (hp_shares_devices(hp_schedule_of(plan)) && first >= 0)
        return check_shared(plan, s, first, home, err);
    for (int i = 0; i < stage->n_devices; i++) {
        int device = stage->device[i];
        if (home[device].stage == s)
            return hp_fail(err, HYPAR_INFEASIBLE, "device %d is listed twice", device);
        if (home[device].stage >= 0)
            return hp_fail(err, HYPAR_INFEASIBLE, "device %d is in stage %d too", device,
                           home[device].stage);
        home[device] = (struct device_home){ s, s, groups ? i / each : 0 };
    }
    return HYPAR_OK;
}

/* Operators with choices were measured one sample at a time: replicas take samples in turn. */
static enum hypar_status check_share(const struct hypar_plan *plan, int s,
                                     struct hypar_error *err)
{
    enum hypar_schedule_kind kind = plan->schedule.kind;
    if (kind == HYPAR_SCHEDULE_1F1B && hp_has_choices(plan->graph))
        return HYPAR_OK;
    if (plan->stages[s].share == HYPAR_SHARE_MINIBATCH && !hp_is_delayed(plan))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "share 'minibatch' needs schedule 'pipedream', not '%s'",
                       hypar_schedule_text(kind));
    return HYPAR_OK;
}

static enum hypar_status check_one(const struct hypar_plan *plan, int s,
                                   struct device_home *home, struct hypar_error *err)
{
    TRY(hp_check_stage(&plan->stages[s], err));
    TRY(check_stage_ops(plan, s, err));
    TRY(check_stage_devices(plan, s, home, err));
    return check_share(plan, s, err);
}

enum hypar_status hp_check_stages(const struct hypar_plan *plan, struct device_home *home,
                                  struct hypar_error *err)
{
    for (int d = 0; d < plan->n_all_devices; d++)
        home[d] = (struct device_home){ -1, -1, 0 };
    for (int s = 0; s < plan->n_stages; s++)
        TRY(hp_in(err, check_one(plan, s, home, err), "stage %d", s));
    for (int op = 0; plan->n_stages > 0 && op < plan->graph->n_ops; op++)
        if (plan->ops[op].stage < 0)
            return hp_fail(err, HYPAR_INFEASIBLE, "op '%s' is in no stage",
                           plan->graph->ops[op].name);
    return HYPAR_OK;
}

enum hypar_status hp_check_schedule(const struct hypar_plan *plan, struct hypar_error *err)
{
    const struct hypar_schedule *schedule = &plan->schedule;
    const char *name = hypar_schedule_text(schedule->kind);
    bool delayed = hp_is_delayed(plan);
    char range[RANGE_TEXT_BYTES];
    if (schedule->micro_batches < 1 || schedule->micro_batches > plan->graph->batch)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "schedule: %lld micro-batches of a batch of %lld, expected %s",
                       (long long)schedule->micro_batches, (long long)plan->graph->batch,
                       hp_range_text(range, 1, plan->graph->batch));
    if (schedule->micro_batches > HP_MAX_MICRO_BATCHES)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "schedule: %lld micro-batches, expected at most %d",
                       (long long)schedule->micro_batches, HP_MAX_MICRO_BATCHES);
    if (schedule->kind != HYPAR_SCHEDULE_NONE && plan->n_stages == 0)
        return hp_fail(err, HYPAR_INFEASIBLE, "schedule '%s' needs stages, the plan has none",
                       name);
    if (schedule->stash && !delayed)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "schedule '%s' has one version of the weights: stash needs '%s'", name,
                       hp_schedule_with(SCHEDULE_DELAYED));
    if (schedule->vertical_sync && !schedule->stash)
        return hp_fail(err, HYPAR_INFEASIBLE, "schedule '%s': vertical_sync needs stash", name);
    for (int op = 0; delayed && !schedule->stash && op < plan->graph->n_ops; op++)
        if (plan->ops[op].recompute)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s': recompute needs stash under schedule '%s', or it would be "
                           "computed again with other weights",
                           plan->graph->ops[op].name, name);
    if (schedule->chunks > 1 && !hp_schedule_of(plan)->interleaves)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "schedule '%s' has one stage on a device: chunks needs '%s'", name,
                       hp_schedule_with(SCHEDULE_INTERLEAVES));
    if (plan->n_orders && !hp_schedule_of(plan)->listed)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "schedule '%s' has an order of its own: slots needs '%s'", name,
                       hp_schedule_with(SCHEDULE_LISTED));
    return HYPAR_OK;
}

/* Is every stage on the devices that its schedule names: its own, or those of the first stage
 * of its group? */
static enum hypar_status check_groups(const struct hypar_plan *plan,
                                      const struct device_home *home, struct arena *scratch,
                                      struct hypar_error *err)
{
    struct pipeline_size size = hp_pipeline_size(plan);
    int *first =
        NEW(scratch, int, size.groups); /* by group: 1 + its first stage; 0: none yet */
    for (int s = 0; s < plan->n_stages; s++) {
        int group = hp_stage_group(plan->schedule.kind, &size, s);
        int is = home[plan->stages[s].device[0]].stage;
        first[group] = first[group] ? first[group] : s + 1;
        if (is != first[group] - 1)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "schedule '%s' with %d chunks: stage %d is on the devices of stage "
                           "%d, expected %s",
                           hypar_schedule_text(plan->schedule.kind), size.chunks, s, is,
                           first[group] == s + 1 ? "devices of its own"
                                                 : hp_arena_printf(scratch, "those of stage %d",
                                                                   first[group] - 1));
    }
    return HYPAR_OK;
}

/* Several stages on each group of devices. */
static enum hypar_status check_chunks(const struct hypar_plan *plan,
                                      const struct device_home *home, struct hypar_error *err)
{
    const struct hypar_schedule *schedule = &plan->schedule;
    const char *name = hypar_schedule_text(schedule->kind);
    int chunks = schedule->chunks;
    if (chunks < 1 || plan->n_stages % chunks != 0)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "schedule '%s': %d chunks do not divide %d stages", name, chunks,
                       plan->n_stages);
    if (chunks > HP_MAX_CHUNKS)
        return hp_fail(err, HYPAR_INFEASIBLE, "schedule '%s': %d chunks, expected at most %d",
                       name, chunks, HP_MAX_CHUNKS);
    struct arena scratch = { 0 };
    enum hypar_status status = check_groups(plan, home, &scratch, err);
    hp_arena_free(&scratch);
    TRY(status);
    int groups = plan->n_stages / chunks;
    if (!hp_takes_micro_batches(schedule->kind, groups, schedule->micro_batches))
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "schedule '%s': %lld micro-batches, expected a multiple of the %d groups "
            "of devices",
            name, (long long)schedule->micro_batches, groups);
    return HYPAR_OK;
}

/* Forward and backward slots of all stages of a device are bits of one number. */
static enum hypar_status check_group_size(const struct hypar_plan *plan, struct arena *scratch,
                                          struct hypar_error *err)
{
    struct device_groups groups = hp_device_groups(plan, scratch);
    int *n = NEW(scratch, int, groups.n);
    for (int s = 0; s < plan->n_stages; s++)
        if (++n[groups.of_stage[s]] > HP_MAX_CHUNKS)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "stage %d: device %d is in more than %d stages", s,
                           plan->stages[s].device[0], HP_MAX_CHUNKS);
    return HYPAR_OK;
}

enum hypar_status hp_check_sharing(const struct hypar_plan *plan,
                                   const struct device_home *home, struct hypar_error *err)
{
    if (hp_schedule_of(plan)->interleaves)
        return check_chunks(plan, home, err);
    if (!hp_schedule_of(plan)->listed)
        return HYPAR_OK;
    struct arena scratch = { 0 };
    enum hypar_status status = check_group_size(plan, &scratch, err);
    hp_arena_free(&scratch);
    return status == HYPAR_OK ? hp_check_slots(plan, err) : status;
}

enum hypar_status hp_check_replicas(const struct hypar_plan *plan, int op,
                                    const struct split *split, struct hypar_error *err)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    int s = plan->ops[op].stage, axis = hp_sample_axis(nest);
    if (s < 0 || plan->stages[s].share != HYPAR_SHARE_BATCH || axis < 0 ||
        hp_degree(split, axis) % plan->stages[s].replicas == 0)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE,
                   "axis '%c': degree %d, expected a multiple of the %d replicas of its stage "
                   "%d",
                   nest->axis[axis].name[0], hp_degree(split, axis), plan->stages[s].replicas,
                   s);
}

static enum hypar_status check_reads(const struct hypar_plan *plan, int op,
                                     struct hypar_error *err)
{
    const struct op *o = &plan->graph->ops[op];
    for (int i = 0; i < o->nest->n_operands; i++) {
        int tensor = o->tensor[i];
        int from = tensor < 0 ? -1 : plan->graph->tensors[tensor].producer;
        if (from >= 0 && plan->ops[from].stage > plan->ops[op].stage)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s' in stage %d reads '%s', which a later stage, %d, writes",
                           o->name, plan->ops[op].stage, plan->graph->tensors[tensor].name,
                           plan->ops[from].stage);
    }
    return HYPAR_OK;
}

/* Its stages would update it at different times. */
static enum hypar_status check_param(const struct hypar_plan *plan, int tensor,
                                     struct hypar_error *err)
{
    const struct hypar_graph *graph = plan->graph;
    int first = graph->use_start[tensor], end = graph->use_start[tensor + 1];
    for (int u = first + 1; u < end; u++) {
        int a = plan->ops[graph->use[first].op].stage, b = plan->ops[graph->use[u].op].stage;
        if (a != b)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "parameter '%s' is used in stages %d and %d, expected one under "
                           "schedule '%s'",
                           graph->tensors[tensor].name, a, b,
                           hypar_schedule_text(plan->schedule.kind));
    }
    return HYPAR_OK;
}

enum hypar_status hp_check_order(const struct hypar_plan *plan, struct hypar_error *err)
{
    if (plan->n_stages == 0)
        return HYPAR_OK;
    for (int op = 0; op < plan->graph->n_ops; op++)
        TRY(check_reads(plan, op, err));
    if (!hp_is_delayed(plan))
        return HYPAR_OK;
    for (int t = 0; t < plan->graph->n_tensors; t++)
        if (plan->graph->tensors[t].kind == TENSOR_PARAM)
            TRY(check_param(plan, t, err));
    return HYPAR_OK;
}
