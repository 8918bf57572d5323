/* The words that plans, profiles and programs use in their files: one table for each kind of
 * choice. A schedule's word stands in its row (plan/schedules.c). */
#include "base/names.h"

#include <strings.h>

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

const char *const hp_kernels_names[HYPAR_KERNELS_COUNT] = {
    [HYPAR_KERNELS_COMPILED] = "compiled",
    [HYPAR_KERNELS_EAGER] = "eager",
    [HYPAR_KERNELS_NONE] = "none",
};

/* Synonyms that people write. */
static const struct alias {
    const char *word, *name;
} aliases[] = {
    { "float32", "fp32" },     { "float", "fp32" },       { "float64", "fp64" },
    { "double", "fp64" },      { "float16", "fp16" },     { "half", "fp16" },
    { "bfloat16", "bf16" },    { "zero-1", "optimizer" }, { "zero1", "optimizer" },
    { "zero-2", "gradients" }, { "zero2", "gradients" },  { "zero-3", "parameters" },
    { "zero3", "parameters" }, { "fsdp", "parameters" },
};

/* The row called `name`, or `count`. */
static int find_row(const char *const *names, int count, const char *name)
{
    int i = 0;
    while (i < count && strcasecmp(names[i], name) != 0)
        i++;
    return i;
}

/* The same, synonyms included. */
static int find(const char *const *names, int count, const char *word)
{
    int row = find_row(names, count, word);
    for (size_t i = 0; row == count && i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcasecmp(aliases[i].word, word) == 0)
            row = find_row(names, count, aliases[i].name);
    return row;
}

static const struct {
    const char *const *name;
    int count;
} kinds[HYPAR_NAME_COUNT] = {
    [HYPAR_NAME_PRECISION] = { hp_precision_names, HYPAR_PRECISION_COUNT },
    [HYPAR_NAME_OPTIMIZER] = { hp_optimizer_names, HYPAR_OPTIMIZER_COUNT },
    [HYPAR_NAME_MASKS] = { hp_masks_names, HYPAR_MASKS_COUNT },
    [HYPAR_NAME_SHARE] = { hp_share_names, HYPAR_SHARE_COUNT },
    [HYPAR_NAME_RECOMPUTE] = { hp_recompute_names, HYPAR_RECOMPUTE_COUNT },
    [HYPAR_NAME_SHARD] = { hp_shard_names, HYPAR_SHARD_COUNT },
    [HYPAR_NAME_KERNELS] = { hp_kernels_names, HYPAR_KERNELS_COUNT },
};

int hp_find_name(enum hypar_name kind, const char *name)
{
    if ((unsigned)kind >= HYPAR_NAME_COUNT)
        return -1;
    int row = find(kinds[kind].name, kinds[kind].count, name);
    return row < kinds[kind].count ? row : -1;
}

static const char *text_of(enum hypar_name kind, int value)
{
    return value >= 0 && value < kinds[kind].count ? kinds[kind].name[value] : NULL;
}

#define NAMED(what, type, kind)                      \
    const char *hypar_##what##_text(enum type value) \
    {                                                \
        return text_of(kind, (int)value);            \
    }

NAMED(precision, hypar_precision, HYPAR_NAME_PRECISION)
NAMED(optimizer, hypar_optimizer, HYPAR_NAME_OPTIMIZER)
NAMED(masks, hypar_masks, HYPAR_NAME_MASKS)
NAMED(share, hypar_share, HYPAR_NAME_SHARE)
NAMED(recompute, hypar_recompute, HYPAR_NAME_RECOMPUTE)
NAMED(shard, hypar_shard, HYPAR_NAME_SHARD)
NAMED(kernel_mode, hypar_kernel_mode, HYPAR_NAME_KERNELS)
