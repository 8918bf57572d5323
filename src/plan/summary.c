/* A plan in a few words: its layout, or its stages and the commonest splits. */
#include <string.h>

#include "plan/plan.h"

enum { MOST_SPLITS = 3 };

/* Operators that are split alike. */
struct alike {
    const char *split;
    int n;
};

static void count_split(struct alike *list, int *n, const char *split)
{
    int i = 0;
    while (i < *n && strcmp(list[i].split, split) != 0)
        i++;
    if (i == *n)
        list[(*n)++] = (struct alike){ split, 0 };
    list[i].n++;
    for (; i > 0 && list[i].n > list[i - 1].n; i--) {
        struct alike more = list[i];
        list[i] = list[i - 1];
        list[i - 1] = more;
    }
}

/* "n=4 of 9 operators, k=4 of 2", the commonest first. */
static char *splits(struct arena *arena, const struct hypar_plan *plan)
{
    struct alike *list = NEW(arena, struct alike, plan->graph->n_ops);
    char *text = hp_arena_strdup(arena, "");
    int n = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        count_split(list, &n, hp_plan_split_text(arena, plan, op));
    if (n == 1)
        return hp_arena_printf(arena, "%s of all operators", list[0].split);
    for (int i = 0; i < n && i < MOST_SPLITS; i++)
        text = hp_arena_printf(arena, "%s%s%s of %d%s", text, i ? ", " : "", list[i].split,
                               list[i].n, i ? "" : " operators");
    return n > MOST_SPLITS ? hp_arena_printf(arena, "%s, ...", text) : text;
}

static char *add(struct arena *arena, char *text, const char *words)
{
    return hp_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", words);
}

char *hp_plan_summary(struct arena *arena, const struct hypar_plan *plan)
{
    const struct hypar_layout *l = &plan->layout;
    const struct hypar_schedule *s = &plan->schedule;
    char *text = hp_arena_strdup(arena, "");
    enum hypar_shard shard = HYPAR_SHARD_NONE;
    int again = 0;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        again += plan->ops[op].recompute;
        shard = plan->ops[op].shard > shard ? plan->ops[op].shard : shard;
    }
    if (plan->has_layout)
        text = hp_arena_printf(arena, "data %d x tensor %d x pipeline %d", l->data, l->tensor,
                               l->pipeline);
    else if (plan->n_stages > 1)
        text = hp_arena_printf(arena, "%d stages", plan->n_stages);
    if (plan->n_stages > 1)
        text = add(arena, text, hypar_schedule_text(s->kind));
    if (s->micro_batches > 1)
        text = hp_arena_printf(arena, "%s%s%lld micro-batches", text, *text ? ", " : "",
                               (long long)s->micro_batches);
    if (!plan->has_layout)
        text = add(arena, text, splits(arena, plan));
    if (again)
        text = hp_arena_printf(arena, "%s, %d operators computed again", text, again);
    if (shard != HYPAR_SHARD_NONE)
        text = hp_arena_printf(arena, "%s, %s sharded", text, hypar_shard_text(shard));
    return text;
}
