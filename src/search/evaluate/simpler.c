/* Compares how simple plans are. */
#include "search/evaluate/simpler.h"

#include <string.h>

#include "base/table.h"

/* The number of ways in which operators are split; to divide parameters and to compute some
 * operators again are two more. */
static int64_t count_splits(const struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    struct table seen = { 0 };
    bool sharded = false, again = false;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const char *split = hp_plan_split_text(&scratch, plan, op);
        hp_table_number(&seen, &scratch, split, strlen(split));
        sharded |= plan->ops[op].shard != HYPAR_SHARD_NONE;
        again |= plan->ops[op].recompute;
    }
    int64_t n = seen.used + sharded + again;
    hp_arena_free(&scratch);
    return n;
}

struct plan_figures hp_plan_figures(const struct hypar_plan *plan)
{
    int n_devices = hypar_machine_device_count(plan->machine);
    return (struct plan_figures){ {
        [PLAN_DEVICES] = n_devices - hypar_plan_idle_devices(plan),
        [PLAN_STAGES] = plan->n_stages > 1 ? plan->n_stages : 1,
        [PLAN_MICRO_BATCHES] = plan->schedule.micro_batches,
        [PLAN_SPLITS] = count_splits(plan),
    } };
}

static int first_difference(const struct plan_figures *a, const struct plan_figures *b)
{
    int i = 0;
    while (i < PLAN_FIGURES && a->of[i] == b->of[i])
        i++;
    return i;
}

int hp_compare_simpler(const struct plan_figures *a, const struct plan_figures *b)
{
    int i = first_difference(a, b);
    return i == PLAN_FIGURES ? 0 : a->of[i] < b->of[i] ? -1 : 1;
}

char *hp_simpler_text(struct arena *arena, const struct plan_figures *a,
                      const struct plan_figures *b)
{
    static const char *const words[] = { "device", "stage", "micro-batch", "way of splitting" };
    static const char *const many[] = { "devices", "stages", "micro-batches",
                                        "ways of splitting" };
    int i = first_difference(a, b);
    if (i == PLAN_FIGURES)
        return hp_arena_strdup(arena, "");
    return hp_arena_printf(arena, "%lld %s instead of %lld", (long long)a->of[i],
                           a->of[i] == 1 ? words[i] : many[i], (long long)b->of[i]);
}

/* Less of the memory of the fullest device. */
static const double CLEARLY = 0.01;

static bool is_safer(const struct equal_plan *a, const struct equal_plan *b)
{
    return a->width <= b->width && a->part <= b->part - CLEARLY;
}

bool hp_is_preferred(const struct equal_plan *a, const struct equal_plan *b)
{
    return is_safer(a, b) ||
           (a->part < b->part + CLEARLY && hp_compare_simpler(&a->figures, &b->figures) < 0);
}

char *hp_preferred_text(struct arena *arena, const struct equal_plan *chosen,
                        const struct equal_plan *fastest, const char *other)
{
    if (is_safer(chosen, fastest))
        return hp_arena_printf(arena,
                               "as fast as %s, and its fullest device needs %.0f %% of its "
                               "memory, not %.0f %%",
                               other, 100 * chosen->part, 100 * fastest->part);
    return hp_arena_printf(arena, "as fast as %s, and simpler: %s", other,
                           hp_simpler_text(arena, &chosen->figures, &fastest->figures));
}
