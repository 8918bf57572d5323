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
    for (int i = 0; i < *n; i++) {
        int64_t device;
        struct json element = hp_json_element(at, i);
        TRY(hp_json_int(&element, 0, INT_MAX, &device, err));
        (*out)[i] = (int)device;
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
    for (int i = 0; i < n; i++) {
        const char *name;
        struct json element = hp_json_element(at, i);
        TRY(hp_json_string(&element, &name, err));
        TRY(hp_read_op_name(graph, name, &ops[i], err));
    }
    stage->n_ops = n;
    stage->op = ops;
    return HYPAR_OK;
}

static enum hypar_status read_stage(struct hypar_plan *plan, const struct json *at,
                                    struct arena *scratch, struct hypar_error *err)
{
    static const char *const members[] = { "ops", "devices", "replicas", "share", NULL };
    struct hypar_stage stage = { .replicas = 1, .share = HYPAR_SHARE_BATCH };
    int *devices, share;
    int64_t replicas;

    TRY(hp_json_object(at, err));
    TRY(hp_json_only(at, members, err));
    struct json member = hp_json_member(at, "ops");
    TRY(read_stage_ops(plan->graph, &member, scratch, &stage, err));
    member = hp_json_member(at, "devices");
    TRY(hp_read_devices(scratch, &member, &devices, &stage.n_devices, err));
    stage.device = devices;
    member = hp_json_member(at, "replicas");
    if (member.value) {
        TRY(hp_json_int(&member, 1, HP_MAX_PARTS, &replicas, err));
        stage.replicas = (int)replicas;
    }
    member = hp_json_member(at, "share");
    if (member.value) {
        TRY(hp_read_choice(&member, hp_share_names, HYPAR_SHARE_COUNT, &share, err));
        stage.share = (enum hypar_share)share;
    }
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
    for (int s = 0; s < hp_json_length(&stages); s++) {
        struct arena_mark mark = hp_arena_mark(scratch);
        struct json stage = hp_json_element(&stages, s);
        enum hypar_status status = read_stage(plan, &stage, scratch, err);
        if (status == HYPAR_INFEASIBLE)
            hp_in(err, status, "stage %d", s);
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
    for (int i = 0; i < order->n; i++) {
        const char *text;
        struct json element = hp_json_element(at, i);
        TRY(hp_json_string(&element, &text, err));
        if (!hp_slot_find(text, &order->slot[i]))
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
    for (int i = 0; i < n; i++) {
        struct json element = hp_json_element(at, i);
        TRY(read_order(&element, &order[i], scratch, err));
    }
    hp_plan_set_orders(plan, order, n);
    return HYPAR_OK;
}

/* What only one kind of schedule has, and has to have. */
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
    TRY(hp_read_choice(at, names, hp_n_schedules, &kind, err));
    *out = (enum hypar_schedule_kind)kind;
    return HYPAR_OK;
}

/* A schedule that is not told otherwise: one micro-batch; pipedream stashes weights. */
enum hypar_status hp_read_schedule(struct hypar_plan *plan, const struct json *root,
                                   struct arena *scratch, struct hypar_error *err)
{
    static const char *const members[] = { "name",   "micro_batches", "stash", "vertical_sync",
                                           "chunks", "slots",         NULL };
    struct hypar_schedule schedule = { .micro_batches = 1 };
    struct json at = hp_json_member(root, "schedule");
    if (!at.value)
        return HYPAR_OK;
    TRY(hp_json_object(&at, err));
    TRY(hp_json_only(&at, members, err));
    struct json member = hp_json_member(&at, "name");
    TRY(hp_read_schedule_kind(&member, &schedule.kind, err));
    schedule.stash = hp_schedule[schedule.kind].delayed;
    member = hp_json_member(&at, "micro_batches");
    if (member.value)
        TRY(hp_json_int(&member, 1, INT64_MAX, &schedule.micro_batches, err));
    member = hp_json_member(&at, "stash");
    if (member.value)
        TRY(hp_json_bool(&member, &schedule.stash, err));
    member = hp_json_member(&at, "vertical_sync");
    if (member.value)
        TRY(hp_json_bool(&member, &schedule.vertical_sync, err));
    TRY(read_own(plan, &at, &schedule, scratch, err));
    hp_plan_set_schedule(plan, &schedule);
    return HYPAR_OK;
}
