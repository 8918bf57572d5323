/* Reading a plan: the layout that replaces operators and stages. */
#include "plan/read.h"

static enum hypar_status read_members(const struct json *at, struct hypar_layout *layout,
                                      struct hypar_error *err)
{
    struct json schedule;
    layout->data = layout->tensor = layout->pipeline = layout->chunks = 1;
    layout->micro_batches = 1;
    TRY(HP_JSON_READ(at, err, JSON_WHOLE("?data", &layout->data, 1, HP_MAX_PARTS),
                     JSON_WHOLE("?tensor", &layout->tensor, 1, HP_MAX_PARTS),
                     JSON_WHOLE("?pipeline", &layout->pipeline, 1, HP_MAX_PARTS),
                     JSON_ANY("schedule", &schedule),
                     JSON_WHOLE("?chunks", &layout->chunks, 1, HP_MAX_PARTS),
                     JSON_INT("?micro_batches", &layout->micro_batches, 1, INT64_MAX),
                     JSON_WHOLE("?first_layers", &layout->first_layers, 1, HP_MAX_PARTS),
                     JSON_WHOLE("?last_layers", &layout->last_layers, 1, HP_MAX_PARTS),
                     JSON_BOOL("?sequence_parallel", &layout->sequence_parallel),
                     JSON_CHOICE("?recompute", &layout->recompute, hp_recompute_names,
                                 HYPAR_RECOMPUTE_COUNT),
                     JSON_WHOLE("?shard_over", &layout->shard_over, 1, HP_MAX_PARTS),
                     JSON_CHOICE("?shard", &layout->shard, hp_shard_names, HYPAR_SHARD_COUNT)));
    layout->schedule = hp_layout_schedule(layout);
    return schedule.value ? hp_read_schedule_kind(&schedule, &layout->schedule, err) : HYPAR_OK;
}

enum hypar_status hp_read_layout(struct hypar_plan *plan, const struct json *root,
                                 struct hypar_error *err)
{
    static const char *const others[] = { "stages", "schedule", "recompute" };
    struct json at = hp_json_member(root, "layout");
    struct hypar_layout layout = { 0 };
    if (!at.value)
        return HYPAR_OK;
    for (int i = 0; i < 3; i++) {
        struct json other = hp_json_member(root, others[i]);
        if (other.value)
            return hp_json_fail(&other, err, "beside 'layout', which says it");
    }
    TRY(read_members(&at, &layout, err));
    return hp_plan_set_layout(plan, &layout, err);
}
