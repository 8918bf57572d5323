/* Reading a plan: the layout that stands in place of its operators and stages. */
#include "plan/read.h"

/* A degree, if it is there. */
static enum hypar_status read_degree(const struct json *at, const char *key, int *out,
                                     struct hypar_error *err)
{
    struct json member = hp_json_member(at, key);
    int64_t degree = 1;
    if (member.value)
        TRY(hp_json_int(&member, 1, HP_MAX_PARTS, &degree, err));
    *out = (int)degree;
    return HYPAR_OK;
}

static enum hypar_status read_members(const struct json *at, struct hypar_layout *layout,
                                      struct hypar_error *err)
{
    static const char *const members[] = { "data",
                                           "tensor",
                                           "pipeline",
                                           "schedule",
                                           "chunks",
                                           "micro_batches",
                                           "sequence_parallel",
                                           "recompute",
                                           "shard",
                                           NULL };
    TRY(hp_json_object(at, err));
    TRY(hp_json_only(at, members, err));
    TRY(read_degree(at, "data", &layout->data, err));
    TRY(read_degree(at, "tensor", &layout->tensor, err));
    TRY(read_degree(at, "pipeline", &layout->pipeline, err));
    TRY(read_degree(at, "chunks", &layout->chunks, err));
    struct json member = hp_json_member(at, "micro_batches");
    layout->micro_batches = 1;
    if (member.value)
        TRY(hp_json_int(&member, 1, INT64_MAX, &layout->micro_batches, err));
    member = hp_json_member(at, "schedule");
    layout->schedule = hp_layout_schedule(layout);
    if (member.value)
        TRY(hp_read_schedule_kind(&member, &layout->schedule, err));
    member = hp_json_member(at, "recompute");
    int recompute = HYPAR_RECOMPUTE_NONE;
    if (member.value)
        TRY(hp_read_choice(&member, hp_recompute_names, HYPAR_RECOMPUTE_COUNT, &recompute,
                           err));
    layout->recompute = (enum hypar_recompute)recompute;
    member = hp_json_member(at, "shard");
    int shard = HYPAR_SHARD_NONE;
    if (member.value)
        TRY(hp_read_choice(&member, hp_shard_names, HYPAR_SHARD_COUNT, &shard, err));
    layout->shard = (enum hypar_shard)shard;
    member = hp_json_member(at, "sequence_parallel");
    if (member.value)
        TRY(hp_json_bool(&member, &layout->sequence_parallel, err));
    return HYPAR_OK;
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
