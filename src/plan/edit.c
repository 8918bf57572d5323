/* Functions by which callers change a plan. Each checks its own arguments; hypar_plan_check()
 * checks the plan as a whole. */
#include "plan/check.h"
#include "plan/config.h"
#include "plan/slots.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "plan/schedules.h"

struct hypar_plan *hypar_plan_copy(const struct hypar_plan *plan)
{
    struct hypar_plan *copy = hp_plan_copy(plan);
    if (plan->search)
        hp_plan_set_search(copy, plan->search);
    return copy;
}

struct hypar_split hypar_plan_split(const struct hypar_plan *plan, int op)
{
    if (op < 0 || op >= plan->graph->n_ops)
        return (struct hypar_split){ .op = -1 };
    const struct op_plan *mine = &plan->ops[op];
    struct hypar_split out = { .op = op, .device = mine->device };
    for (int a = 0; a < HYPAR_MAX_AXES; a++) {
        out.degree[a] = mine->split.degree[a];
        out.sizes[a] = mine->split.sizes[a];
    }
    return out;
}

enum hypar_status hypar_plan_set_op(struct hypar_plan *plan, const struct hypar_split *split,
                                    struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct op_config config;
    enum hypar_status status = hp_config_read(&config, plan, split, &scratch, err);
    if (status == HYPAR_OK) {
        /* a changed operator is not as the layout says */
        plan->has_layout = plan->has_layout && hp_config_is_so(plan, &config);
        hp_config_apply(plan, &config);
    }
    hp_arena_free(&scratch);
    return status;
}

/* A number that stands for a word, or for an operator: 0 up to one below `count`. */
static enum hypar_status check_number(const char *what, int64_t number, int64_t count,
                                      struct hypar_error *err)
{
    char range[RANGE_TEXT_BYTES];
    if (number >= 0 && number < count)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE, "%s %lld, expected %s", what, (long long)number,
                   hp_range_text(range, 0, count - 1));
}

static enum hypar_status check_amount(const char *what, double amount, struct hypar_error *err)
{
    if (isfinite(amount) && amount >= 0)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE, "%s %g, expected 0 or more", what, amount);
}

enum hypar_status hypar_plan_set_settings(struct hypar_plan *plan,
                                          const struct hypar_plan_settings *s,
                                          struct hypar_error *err)
{
    const struct hypar_simulation *how = &s->simulation;
    TRY(check_number("precision", s->precision, HYPAR_PRECISION_COUNT, err));
    TRY(check_number("optimizer", s->optimizer, HYPAR_OPTIMIZER_COUNT, err));
    TRY(check_number("masks", s->masks, HYPAR_MASKS_COUNT, err));
    TRY(check_number("recompute", s->recompute, HYPAR_RECOMPUTE_COUNT, err));
    TRY(check_number("seed", s->seed, HYPAR_MAX_SEED + 1, err));
    TRY(check_number("gather_ahead", s->gather_ahead, HP_MAX_GATHER_AHEAD + 1, err));
    TRY(hp_check_framework(&how->framework, err));
    TRY(check_amount("framework_bytes", s->framework_bytes, err));
    TRY(check_amount("memory_limit_bytes", s->memory_limit_bytes, err));
    TRY(check_amount("memory_certainty", s->memory_certainty, err));
    TRY(check_amount("clip", s->clip, err));
    if (!memchr(how->all_reduce, '\0', sizeof how->all_reduce))
        return hp_fail(err, HYPAR_INFEASIBLE, "all_reduce without an end");
    hp_plan_take_settings(plan, s);
    plan->gather_ahead = s->gather_ahead;
    return HYPAR_OK;
}

/* Stages ------------------------------------------------------------------------------ */

static void make_whole(struct hypar_plan *plan)
{
    plan->n_stages = plan->n_orders = 0;
    plan->has_layout = false;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        plan->ops[op].stage = -1;
        plan->ops[op].resend = false;
        hp_plan_set(plan, op, &(struct split){ .degree = { 0 } }, NULL);
    }
}

static enum hypar_status check_numbers(const char *what, const int *number, int n, int below,
                                       struct hypar_error *err)
{
    for (int i = 0; i < n; i++)
        TRY(check_number(what, number[i], below, err));
    return HYPAR_OK;
}

static enum hypar_status check_new_stage(const struct hypar_plan *plan,
                                         const struct hypar_stage *stage,
                                         struct hypar_error *err)
{
    TRY(hp_check_stage(stage, err));
    TRY(check_number("share", stage->share, HYPAR_SHARE_COUNT, err));
    TRY(check_number("operators", stage->n_ops, (int64_t)plan->graph->n_ops + 1, err));
    TRY(check_numbers("operator", stage->op, stage->n_ops, plan->graph->n_ops, err));
    return check_numbers("device", stage->device, stage->n_devices, plan->n_all_devices, err);
}

enum hypar_status hypar_plan_set_stages(struct hypar_plan *plan,
                                        const struct hypar_stage *stage, int n,
                                        struct hypar_error *err)
{
    TRY(check_number("stages", n, HP_MAX_STAGES + 1, err));
    for (int s = 0; s < n; s++)
        TRY(hp_in(err, check_new_stage(plan, &stage[s], err), "stage %d", s));
    make_whole(plan);
    for (int s = 0; s < n; s++)
        hp_plan_add_stage(plan, &stage[s]);
    return HYPAR_OK;
}

enum hypar_status hypar_plan_set_schedule(struct hypar_plan *plan,
                                          const struct hypar_schedule *schedule,
                                          struct hypar_error *err)
{
    TRY(check_number("schedule", schedule->kind, hp_n_schedules, err));
    struct hypar_schedule was = plan->schedule;
    int n_orders = plan->n_orders;
    hp_plan_set_schedule(plan, schedule);
    if (!hp_schedule[schedule->kind].listed)
        plan->n_orders = 0;
    enum hypar_status status = hp_check_schedule(plan, err);
    if (status != HYPAR_OK) {
        hp_plan_set_schedule(plan, &was);
        plan->n_orders = n_orders;
    }
    return status;
}

/* "F0.0 B0.0": slots with blanks between them. */
static enum hypar_status read_slots(const char *text, struct slot_order *order,
                                    struct arena *scratch, struct hypar_error *err)
{
    order->slot = NEW(scratch, struct slot, strlen(text) / 2 + 1);
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        char word[40];
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)(length < 39 ? length : 39), text);
        if (length >= sizeof word || !hp_slot_find(word, &order->slot[order->n++]))
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "slot '%s', expected one such as F0.3, B0.3 or W0.3", word);
        text += length;
    }
    return HYPAR_OK;
}

enum hypar_status hypar_plan_set_slots(struct hypar_plan *plan, int64_t micro_batches,
                                       const char *const *slots, int n, struct hypar_error *err)
{
    TRY(check_number("lists of slots", n, HP_MAX_STAGES + 1, err));
    struct hypar_schedule was = plan->schedule;
    struct slot_order *order_was = plan->order;
    int n_was = plan->n_orders;
    struct arena scratch = { 0 };
    struct slot_order *order = NEW(&scratch, struct slot_order, n);
    enum hypar_status status = HYPAR_OK;
    for (int i = 0; i < n && status == HYPAR_OK; i++)
        status = hp_in(err, read_slots(slots[i], &order[i], &scratch, err), "list %d", i);
    if (status == HYPAR_OK) {
        struct hypar_schedule schedule = { .kind = HYPAR_SCHEDULE_SLOTS,
                                           .micro_batches = micro_batches };
        hp_plan_set_orders(plan, order, n);
        status = hypar_plan_set_schedule(plan, &schedule, err);
    }
    if (status == HYPAR_OK)
        status = hp_check_slots(plan, err);
    if (status != HYPAR_OK) {
        hp_plan_set_schedule(plan, &was);
        plan->order = order_was;
        plan->n_orders = n_was;
    }
    hp_arena_free(&scratch);
    return status;
}

/* Memory ------------------------------------------------------------------------------ */

enum hypar_status hypar_plan_set_recompute(struct hypar_plan *plan, int op, bool recompute,
                                           struct hypar_error *err)
{
    TRY(check_number("operator", op, plan->graph->n_ops, err));
    plan->ops[op].recompute = recompute;
    return HYPAR_OK;
}

enum hypar_status hypar_plan_recompute_all(struct hypar_plan *plan,
                                           enum hypar_recompute recompute,
                                           struct hypar_error *err)
{
    TRY(check_number("recompute", recompute, HYPAR_RECOMPUTE_COUNT, err));
    hp_plan_set_recompute(plan, recompute);
    return HYPAR_OK;
}

enum hypar_status hypar_plan_set_shard(struct hypar_plan *plan, int op, enum hypar_shard shard,
                                       int over, struct hypar_error *err)
{
    TRY(check_number("operator", op, plan->graph->n_ops, err));
    TRY(check_number("shard", shard, HYPAR_SHARD_COUNT, err));
    struct op_plan was = plan->ops[op];
    plan->ops[op].shard = shard;
    plan->ops[op].shard_over = over;
    enum hypar_status status = over < 0 ? hp_fail(err, HYPAR_INFEASIBLE, "shard_over %d", over)
                                        : hp_check_shard(plan, op, err);
    if (status != HYPAR_OK)
        plan->ops[op] = was;
    return hp_in(err, status, "op '%s'", plan->graph->ops[op].name);
}

static enum hypar_status check_words(const struct hypar_layout *l, struct hypar_error *err)
{
    TRY(check_number("schedule", l->schedule, hp_n_schedules, err));
    TRY(check_number("recompute", l->recompute, HYPAR_RECOMPUTE_COUNT, err));
    TRY(check_number("shard", l->shard, HYPAR_SHARD_COUNT, err));
    TRY(check_number("chunks", l->chunks, HP_MAX_STAGES + 1, err));
    return check_number("micro_batches", l->micro_batches, INT64_MAX, err);
}

/* Remove all settings that came from a layout. */
static void begin_anew(struct hypar_plan *plan)
{
    make_whole(plan);
    hp_plan_set_schedule(plan, &(struct hypar_schedule){ .micro_batches = 1 });
    for (int op = 0; op < plan->graph->n_ops; op++) {
        plan->ops[op].shard = HYPAR_SHARD_NONE;
        plan->ops[op].shard_over = 0;
        plan->ops[op].recompute = false;
    }
}

enum hypar_status hypar_plan_set_layout(struct hypar_plan *plan,
                                        const struct hypar_layout *layout,
                                        struct hypar_error *err)
{
    TRY(check_words(layout, err));
    struct hypar_layout with = *layout;
    if (with.schedule == HYPAR_SCHEDULE_NONE)
        with.schedule = hp_layout_schedule(&with);
    begin_anew(plan);
    enum hypar_status status = hp_plan_set_layout(plan, &with, err);
    if (status != HYPAR_OK)
        begin_anew(plan);
    return status;
}
