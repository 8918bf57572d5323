/* What makes a plan fit that does not: the search is repeated with one setting after another
 * that needs less memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stop.h"
#include "machine/machine.h"
#include "search/evaluate/room.h"
#include "search/limits.h"
#include "search/planner.h"

struct attempt {
    const struct hypar_graph *graph;
    const struct hypar_machine *machine;
    const struct hypar_search_options *asked;
    char *text;
    size_t size;
};

/* Does the search with these options find a plan that fits? Then `words` are the remedy.
 * `goes_on`: whether still less memory may help. */
static bool try_options(struct attempt *a, const struct hypar_search_options *with,
                        const char *words, bool *goes_on)
{
    struct hypar_found *found;
    struct hypar_memory fullest;
    struct hypar_error why = { 0 };
    enum hypar_status status = hypar_search(&found, a->graph, a->machine, with, &why);
    if (status == HYPAR_OK) {
        status = hp_found_fits(found, with->memory_bytes, &fullest, &why);
        hypar_found_free(found);
    }
    if (goes_on)
        *goes_on = status == HYPAR_INFEASIBLE && why.cause == HYPAR_CAUSE_MEMORY;
    if (status != HYPAR_OK)
        return false;
    struct memory_text text = hp_memory_text(fullest.peak, fullest.limit);
    snprintf(a->text, a->size, "fits with %s (%s of %s)", words, text.need, text.has);
    return true;
}

static bool try_recompute(struct attempt *a, struct hypar_search_options with)
{
    if (with.recompute_given || with.recompute != HYPAR_RECOMPUTE_NONE)
        return false;
    with.recompute = HYPAR_RECOMPUTE_FULL;
    with.recompute_given = true;
    return try_options(a, &with, "--recompute full", NULL);
}

static bool try_shard(struct attempt *a, struct hypar_search_options with)
{
    if (with.shard_given || with.shard != HYPAR_SHARD_NONE)
        return false;
    with.shard = HYPAR_SHARD_PARAMETERS;
    with.shard_given = true;
    return try_options(a, &with, "--shard parameters", NULL);
}

/* Twice as many micro-batches, or stages, again and again. */
static bool try_numbers(struct attempt *a, const struct hypar_search_options *asked,
                        const char *before, bool stages)
{
    struct hypar_search_options with = *asked;
    int64_t most = stages ? hypar_machine_device_count(a->machine) : a->graph->batch;
    int64_t n = stages ? asked->stages : asked->micro_batches;
    bool goes_on = true;
    char words[96];
    while (goes_on && (n = n > 1 ? 2 * n : 2) <= most && !hp_stopped(asked->stop)) {
        if (stages)
            with.stages = (int)n;
        else
            with.micro_batches = n;
        snprintf(words, sizeof words, "%s%s--%s %lld", before, *before ? " " : "",
                 stages ? "stages" : "micro-batches", (long long)n);
        if (try_options(a, &with, words, &goes_on))
            return true;
    }
    return false;
}

/* All of them together. */
static bool try_all(struct attempt *a, struct hypar_search_options with)
{
    static const char words[] = "--recompute full --shard parameters";
    if (with.recompute_given || with.shard_given)
        return false;
    with.recompute = HYPAR_RECOMPUTE_FULL;
    with.shard = HYPAR_SHARD_PARAMETERS;
    with.recompute_given = with.shard_given = true;
    return try_options(a, &with, words, NULL) || try_numbers(a, &with, words, false);
}

/* A planner that chooses recomputation, sharding, micro-batches and stages by itself. Its
 * search on a large machine takes long: then it is only named. */
static bool try_hybrid(struct attempt *a, struct hypar_search_options with)
{
    double parts = (double)a->graph->n_ops * hypar_machine_device_count(a->machine);
    if (parts > HP_WHOLE_PARTS) {
        snprintf(a->text, a->size,
                 "--planner hybrid chooses recomputation, sharding, micro-batches and stages "
                 "together");
        return true;
    }
    with.planner = hp_planner_hybrid.info.name;
    with.micro_batches = 0;
    with.stages = 0;
    return try_options(a, &with, "--planner hybrid", NULL);
}

static bool find(struct attempt *a, const struct planner *planner)
{
    const struct hypar_search_options *asked = a->asked;
    if (!planner)
        return false;
    if (!planner->slow && !planner->random_search &&
        (try_recompute(a, *asked) || try_numbers(a, asked, "", false) ||
         (asked->stages > 0 && try_numbers(a, asked, "", true)) || try_shard(a, *asked) ||
         try_all(a, *asked)))
        return true;
    return !planner->random_search && planner != &hp_planner_hybrid && try_hybrid(a, *asked);
}

/* Devices that the state alone fills, if it is divided over all. */
static int64_t count_devices(const struct attempt *a)
{
    struct arena scratch = { 0 };
    struct problem problem = hp_problem(&scratch, a->graph, a->machine, a->asked);
    int n = hypar_machine_device_count(a->machine);
    double need, has;
    hp_room_together(&problem, &need, &has);
    hp_arena_free(&scratch);
    return has > 0 ? (int64_t)ceil(need / has * n) : 0;
}

void hypar_memory_remedy(char *text, size_t size, const struct hypar_graph *graph,
                         const struct hypar_machine *machine,
                         const struct hypar_search_options *options)
{
    struct hypar_search_options quiet = *options;
    quiet.refusals = NULL;
    quiet.progress = NULL;
    struct attempt a = { graph, machine, &quiet, text, size };
    const struct planner *planner =
        hp_find_planner(options->planner ? options->planner : "auto");
    bool measured = hp_find_measured(graph) >= 0; /* of one number of samples and way to run */
    if (options->start || measured || hp_stopped(options->stop)) {
        *text = '\0';
        return;
    }
    if (find(&a, planner))
        return;
    int64_t devices = count_devices(&a);
    if (devices > hypar_machine_device_count(machine))
        snprintf(text, size,
                 "no recomputation, micro-batches, sharding or stages fit: weights, gradients "
                 "and %s state alone fill %lld such devices",
                 hypar_optimizer_text(options->optimizer), (long long)devices);
    else
        snprintf(text, size,
                 "no recomputation, micro-batches, sharding or stages that were tried fit: "
                 "expected more devices, or fewer samples%s",
                 graph->batch > 1 ? " (--batch max finds how many)" : "");
}
