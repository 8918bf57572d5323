/* The words that options accept, for messages and for completion. */
#include "cli/opt.h"

#include <string.h>

/* Words that no table of the library has. */
#define LIST(name, ...)                                                \
    static const char *name(int i)                                     \
    {                                                                  \
        static const char *const word[] = { __VA_ARGS__ };             \
        return i < (int)(sizeof word / sizeof *word) ? word[i] : NULL; \
    }
LIST(attentions, "fused", "unfused")
LIST(binds, "cores", "none")
LIST(costs, "paper", "array", "levels", "simulated")
LIST(inits, "file", "random")
LIST(kernels, "fast", "reference")
LIST(objectives, "time", "comm", "energy")
LIST(rates, "constant", "cosine")
LIST(recurrences, "code", "paper")
LIST(run_devices, "cpu", "cuda")
LIST(syncs, "all-reduce", "server")
LIST(trace_names, "kind", "task")

/* Words of a table whose number is a constant. */
#define COUNTED(name, what, type, count)                               \
    static const char *name(int i)                                     \
    {                                                                  \
        return i < (count) ? hypar_##what##_text((enum type)i) : NULL; \
    }
COUNTED(masks, masks, hypar_masks, HYPAR_MASKS_COUNT)
COUNTED(optimizers, optimizer, hypar_optimizer, HYPAR_OPTIMIZER_COUNT)
COUNTED(precisions, precision, hypar_precision, HYPAR_PRECISION_COUNT)
COUNTED(recomputes, recompute, hypar_recompute, HYPAR_RECOMPUTE_COUNT)
COUNTED(shards, shard, hypar_shard, HYPAR_SHARD_COUNT)

static const char *schedules(int i)
{
    return hypar_schedule_text((enum hypar_schedule_kind)i);
}

const char *opt_framework_word(int i)
{
    const struct hypar_framework *row = hypar_framework_at(i);
    return row ? row->name : NULL;
}

const char *opt_device_word(int i)
{
    const struct hypar_device_type *type = hypar_device_type(i);
    return type ? type->device.name : NULL;
}

const char *opt_model_word(int i)
{
    return i < hypar_model_count() ? hypar_model_at(i).name : NULL;
}

const char *opt_topology_word(int i)
{
    const struct hypar_topology *topology = hypar_topology(i);
    return topology ? topology->name : NULL;
}

const char *opt_planner_word(int i)
{
    const struct hypar_planner_info *info = hypar_planner(i);
    return info ? info->name : NULL;
}

static const char *targets(int i)
{
    return hypar_target_at(i).name;
}

static const struct {
    enum opt_key key;
    const char *(*word)(int i);
} words[] = {
    { OPT_ATTENTION, attentions },
    { OPT_BIND, binds },
    { OPT_COST, costs },
    { OPT_DEVICE, opt_device_word },
    { OPT_DROPOUT_MASKS, masks },
    { OPT_FOR, targets },
    { OPT_AS, opt_framework_word },
    { OPT_GRADIENT_PRECISION, precisions },
    { OPT_INIT, inits },
    { OPT_KERNELS, kernels },
    { OPT_MODEL, opt_model_word },
    { OPT_OBJECTIVE, objectives },
    { OPT_ON, opt_topology_word },
    { OPT_OPTIMIZER, optimizers },
    { OPT_PLANNER, opt_planner_word },
    { OPT_PRECISION, precisions },
    { OPT_RATE, rates },
    { OPT_RECOMPUTE, recomputes },
    { OPT_RECURRENCE, recurrences },
    { OPT_RUN_DEVICE, run_devices },
    { OPT_SCHEDULE, schedules },
    { OPT_SHARD, shards },
    { OPT_SYNC, syncs },
    { OPT_TO, targets },
    { OPT_TOPOLOGY, opt_topology_word },
    { OPT_TRACE_NAMES, trace_names },
};

const char *opt_word(int key, int i)
{
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if ((int)words[k].key == key)
            return words[k].word(i);
    return NULL;
}

int opt_find_word(enum opt_key key, const char *text)
{
    const char *word;
    for (int i = 0; (word = opt_word(key, i)); i++)
        if (strcmp(word, text) == 0)
            return i;
    return -1;
}

enum { MAX_WORDS = 64 }; /* of an option */

enum hypar_status opt_unknown_word(enum opt_key key, const char *text, struct hypar_error *err)
{
    char list[400] = "", near[64] = "";
    const char *word[MAX_WORDS];
    size_t used = 0;
    int n = 0, nearest;
    while (n < MAX_WORDS && (word[n] = opt_word(key, n)))
        n++;
    for (int i = 0; i < n && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 !i          ? ""
                                 : i < n - 1 ? ", "
                                             : " or ",
                                 word[i]);
    if (hypar_nearest(text, word, n, &nearest, 1))
        snprintf(near, sizeof near, "; did you mean %s?", word[nearest]);
    return opt_usage(err, "%s: '%s' is not %s%s", opt_name(key), text, list, near);
}
