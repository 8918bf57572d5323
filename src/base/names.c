/* The words of the file forms: one table for each kind of choice. Plans, profiles and programs
 * are written with them. */
#include "base/names.h"

#include <string.h>

const char *const hp_precision_names[HYPAR_PRECISION_COUNT] = {
    [HYPAR_FP32] = "fp32", [HYPAR_BF16] = "bf16", [HYPAR_FP64] = "fp64",
    [HYPAR_FP16] = "fp16", [HYPAR_TF32] = "tf32",
};

const char *const hp_optimizer_names[HYPAR_OPTIMIZER_COUNT] = {
    [HYPAR_SGD] = "sgd",
    [HYPAR_MOMENTUM] = "momentum",
    [HYPAR_ADAM] = "adam",
    [HYPAR_ADAMW] = "adamw",
};

const char *const hp_masks_names[HYPAR_MASKS_COUNT] = {
    [HYPAR_MASKS_DRAWN] = "drawn",
    [HYPAR_MASKS_KEPT] = "kept",
};

const char *const hp_schedule_names[HYPAR_SCHEDULE_COUNT] = {
    [HYPAR_SCHEDULE_NONE] = "none",
    [HYPAR_SCHEDULE_GPIPE] = "gpipe",
    [HYPAR_SCHEDULE_1F1B] = "1f1b",
    [HYPAR_SCHEDULE_PIPEDREAM] = "pipedream",
    [HYPAR_SCHEDULE_INTERLEAVED] = "interleaved",
    [HYPAR_SCHEDULE_ZB_H1] = "zb-h1",
    [HYPAR_SCHEDULE_ZB_H2] = "zb-h2",
    [HYPAR_SCHEDULE_SLOTS] = "slots",
};

const char *const hp_share_names[HYPAR_SHARE_COUNT] = {
    [HYPAR_SHARE_BATCH] = "batch",
    [HYPAR_SHARE_MINIBATCH] = "minibatch",
};

const char *const hp_recompute_names[HYPAR_RECOMPUTE_COUNT] = {
    [HYPAR_RECOMPUTE_NONE] = "none",
    [HYPAR_RECOMPUTE_SELECTIVE] = "selective",
    [HYPAR_RECOMPUTE_FULL] = "full",
};

const char *const hp_shard_names[HYPAR_SHARD_COUNT] = {
    [HYPAR_SHARD_NONE] = "none",
    [HYPAR_SHARD_OPTIMIZER] = "optimizer",
    [HYPAR_SHARD_GRADIENTS] = "gradients",
    [HYPAR_SHARD_PARAMETERS] = "parameters",
};

const char *const hp_framework_names[HYPAR_FRAMEWORK_COUNT] = {
    [HYPAR_FRAMEWORK_COMPILED] = "compiled",
    [HYPAR_FRAMEWORK_EAGER] = "eager",
    [HYPAR_FRAMEWORK_NONE] = "none",
};

/* The row called `name`, or `count`. */
static int find(const char *const *names, int count, const char *name)
{
    int i = 0;
    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i;
}

#define NAMED(what, type, names, count)                        \
    const char *hypar_##what##_text(enum type value)           \
    {                                                          \
        return names[value];                                   \
    }                                                          \
    bool hypar_##what##_find(const char *name, enum type *out) \
    {                                                          \
        int i = find(names, count, name);                      \
        if (i == count)                                        \
            return false;                                      \
        *out = (enum type)i;                                   \
        return true;                                           \
    }

NAMED(precision, hypar_precision, hp_precision_names, HYPAR_PRECISION_COUNT)
NAMED(optimizer, hypar_optimizer, hp_optimizer_names, HYPAR_OPTIMIZER_COUNT)
NAMED(masks, hypar_masks, hp_masks_names, HYPAR_MASKS_COUNT)
NAMED(schedule, hypar_schedule_kind, hp_schedule_names, HYPAR_SCHEDULE_COUNT)
NAMED(share, hypar_share, hp_share_names, HYPAR_SHARE_COUNT)
NAMED(recompute, hypar_recompute, hp_recompute_names, HYPAR_RECOMPUTE_COUNT)
NAMED(shard, hypar_shard, hp_shard_names, HYPAR_SHARD_COUNT)
NAMED(framework, hypar_framework, hp_framework_names, HYPAR_FRAMEWORK_COUNT)
