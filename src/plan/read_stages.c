/* Reading a plan: its stages and its schedule. */
#include "plan/check.h"
#include "plan/read.h"
#include "plan/schedules.h"
#include "plan/slots.h"

#include <limits.h>

enum hypar_status hp_read_devices(struct arena *arena, const struct json *at, int **out, int *n,
                                  struct hypar_error *err)
{
    TRY(hp_json_array(at, HP_MAX_PARTS, err));
    *n = hp_json_length(at);
    *out = NEW(arena, int, *n);
    for (struct json element = { 0 }; hp_json_each(at, &element);) {
        int64_t device;
        TRY(hp_json_int(&element, 0, INT_MAX, &device, err));
        (*out)[element.index] = (int)device;
    }
    return HYPAR_OK;
}

static enum hypar_status read_stage_ops(const struct hypar_graph *graph, const struct json *at,
                                        struct arena *arena, struct hypar_stage *stage,
                                        struct hypar_error *err)
{
    TRY(hp_json_array(at, graph->n_ops, err));
    int n = hp_json_length(at);
    int *ops = NEW(arena, int, n);
    for (struct json element = { 0 }; hp_json_each(at, &element);) {
        const char *name;
        TRY(hp_json_string(&element, &name, err));
        TRY(hp_read_op_name(graph, name, &ops[element.index], err));
    }
    stage->n_ops = n;
    stage->op = ops;
    return HYPAR_OK;
}

static enum hypar_status read_stage(struct hypar_plan *plan, const struct json *at,
                                    struct arena *scratch, struct hypar_error *err)
{
    struct hypar_stage stage = { .replicas = 1, .share = HYPAR_SHARE_BATCH };
    struct json ops, listed;
    int *devices;
    TRY(HP_JSON_READ(at, err, JSON_ANY("ops", &ops), JSON_ANY("devices", &listed),
                     JSON_WHOLE("?replicas", &stage.replicas, 1, HP_MAX_PARTS),
                     JSON_CHOICE("?share", &stage.share, hp_share_names, HYPAR_SHARE_COUNT)));
    TRY(read_stage_ops(plan->graph, &ops, scratch, &stage, err));
    TRY(hp_read_devices(scratch, &listed, &devices, &stage.n_devices, err));
    stage.device = devices;
    TRY(hp_check_stage(&stage, err));
    hp_plan_add_stage(plan, &stage);
    return HYPAR_OK;
}

enum hypar_status hp_read_stages(struct hypar_plan *plan, const struct json *root,
                                 struct arena *scratch, struct hypar_error *err)
{
    struct json stages = hp_json_member(root, "stages");
    if (!stages.value)
        return HYPAR_OK;
    TRY(hp_json_array(&stages, HP_MAX_STAGES, err));
    for (struct json stage = { 0 }; hp_json_each(&stages, &stage);) {
        struct arena_mark mark = hp_arena_mark(scratch);
        enum hypar_status status = read_stage(plan, &stage, scratch, err);
        if (status == HYPAR_INFEASIBLE)
            hp_in(err, status, "stage %d", stage.index);
        TRY(status);
        hp_arena_release(scratch, mark);
    }
    return HYPAR_OK;
}

static enum hypar_status read_order(const struct json *at, struct slot_order *order,
                                    struct arena *scratch, struct hypar_error *err)
{
    enum { MOST_SLOTS = 1 << 24 };
    TRY(hp_json_array(at, MOST_SLOTS, err));
    order->n = hp_json_length(at);
    order->slot = NEW(scratch, struct slot, order->n);
    for (struct json element = { 0 }; hp_json_each(at, &element);) {
        const char *text;
        TRY(hp_json_string(&element, &text, err));
        if (!hp_slot_find(text, &order->slot[element.index]))
            return hp_json_fail(&element, err,
                                "expected a slot such as F0.3, B0.3 or W0.3 (phase, stage, "
                                "micro-batch), not '%.40s'",
                                text);
    }
    return HYPAR_OK;
}

/* A list of slots for each group of devices. */
static enum hypar_status read_orders(struct hypar_plan *plan, const struct json *at,
                                     struct arena *scratch, struct hypar_error *err)
{
    TRY(hp_json_array(at, HP_MAX_STAGES, err));
    int n = hp_json_length(at);
    struct slot_order *order = NEW(scratch, struct slot_order, n);
    for (struct json element = { 0 }; hp_json_each(at, &element);)
        TRY(read_order(&element, &order[element.index], scratch, err));
    hp_plan_set_orders(plan, order, n);
    return HYPAR_OK;
}

/* Members that one kind of schedule must have, and no other may have. */
static enum hypar_status read_own(struct hypar_plan *plan, const struct json *at,
                                  struct hypar_schedule *schedule, struct arena *scratch,
                                  struct hypar_error *err)
{
    struct json chunks = hp_json_member(at, "chunks"), slots = hp_json_member(at, "slots");
    int64_t n = 1;
    if (chunks.value || hp_schedule[schedule->kind].interleaves)
        TRY(hp_json_int(&chunks, 1, HP_MAX_STAGES, &n, err));
    schedule->chunks = (int)n;
    if (slots.value || hp_schedule[schedule->kind].listed)
        TRY(read_orders(plan, &slots, scratch, err));
    return HYPAR_OK;
}

enum hypar_status hp_read_schedule_kind(const struct json *at, enum hypar_schedule_kind *out,
                                        struct hypar_error *err)
{
    const char *names[HP_MOST_SCHEDULES];
    int kind;
    for (int i = 0; i < hp_n_schedules; i++)
        names[i] = hp_schedule[i].name;
    TRY(hp_json_choice(at, names, hp_n_schedules, &kind, err));
    *out = (enum hypar_schedule_kind)kind;
    return HYPAR_OK;
}

/* Defaults of a schedule: one micro-batch; pipedream stashes weights. */
enum hypar_status hp_read_schedule(struct hypar_plan *plan, const struct json *root,
                                   struct arena *scratch, struct hypar_error *err)
{
    struct hypar_schedule schedule = { .micro_batches = 1 };
    struct json at = hp_json_member(root, "schedule"), name;
    if (!at.value)
        return HYPAR_OK;
    TRY(HP_JSON_READ(&at, err, JSON_ANY("name", &name),
                     JSON_INT("?micro_batches", &schedule.micro_batches, 1, INT64_MAX),
                     JSON_KEY("stash"), JSON_BOOL("?vertical_sync", &schedule.vertical_sync),
                     JSON_KEY("chunks"), JSON_KEY("slots")));
    TRY(hp_read_schedule_kind(&name, &schedule.kind, err));
    schedule.stash = hp_schedule[schedule.kind].delayed;
    TRY(HP_JSON_READ(&at, err, JSON_BOOL("?stash", &schedule.stash), JSON_OTHERS));
    TRY(read_own(plan, &at, &schedule, scratch, err));
    hp_plan_set_schedule(plan, &schedule);
    return HYPAR_OK;
}
