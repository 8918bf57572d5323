/* Tasks with their times and queues, block by block. */
#include "sim/scene.h"

#include <string.h>

const struct pattern_act *hp_deal_act(struct scene *s, int b, int deal)
{
    int tail = deal - s->sketch->skeleton.n_deals;
    if (tail >= 0 && s->tail_act)
        return s->tail_act[tail];
    const struct place *place = &s->sketch->skeleton.deal[deal].place;
    return hp_pattern_act(s->acts, hp_deal_pattern(s->sketch, b, deal),
                          hp_message_bytes(s->sketch->plan, place->tensor));
}

int hp_comm_at(const struct pattern_act *act, int n_comms, int local)
{
    int lo = 0, hi = n_comms - 1;
    if (!act->messages)
        return local;
    while (lo < hi) { /* the last that begins no later */
        int mid = (lo + hi + 1) / 2;
        if (act->messages[mid].first <= local)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

const struct message *hp_message_at(const struct pattern_act *act, int comm, int local)
{
    const struct comm_messages *m = act->messages ? &act->messages[comm] : NULL;
    return m && m->step ? &m->step[local - m->first].message : NULL;
}

static const struct comm_messages *messages_of(void *who, int b, int deal)
{
    return hp_deal_act(who, b, deal)->messages;
}

/* Gradients in buckets are not shared between deals that are alike. */
static void fill_buckets(struct scene *s)
{
    const struct skeleton *k = &s->sketch->skeleton;
    s->tail_act = NEW(&s->arena, struct pattern_act *, k->n_tail);
    for (int x = 0; x < k->n_tail; x++)
        s->tail_act[x] = hp_make_bucket_act(
            s->acts, &s->blocks->buckets, x, s->sketch->tail[x],
            hp_message_bytes(s->sketch->plan, k->deal[k->n_deals + x].place.tensor));
}

void hp_scene_update(struct scene *s)
{
    hp_blocks_update(s->blocks);
    if (s->blocks->buckets.lead)
        fill_buckets(s);
}

/* A message played by itself would keep its sender from receiving: queues cannot say "either
 * computing, or sending and receiving". */
enum hypar_status hp_check_settings(const struct sim_settings *settings,
                                    struct hypar_error *err)
{
    if (settings->expand_collectives && settings->no_overlap)
        return hp_fail(
            err, HYPAR_USAGE,
            "collectives cannot be expanded without overlap, expected one of the two");
    return HYPAR_OK;
}

enum hypar_status hp_check_length(ticks length, struct hypar_error *err)
{
    if (length >= HP_MAX_TICKS)
        return hp_fail(err, HYPAR_UNSUPPORTED, "a step takes more than %g s, expected less",
                       hp_seconds(HP_MAX_TICKS));
    return HYPAR_OK;
}

struct scene *hp_scene_new(struct sketch *sketch, struct blocks *blocks,
                           const struct sim_settings *settings, struct acts *acts)
{
    struct arena arena = { 0 };
    struct scene *s = NEW(&arena, struct scene, 1);
    s->arena = arena;
    s->sketch = sketch;
    s->acts = acts ? acts : &s->own;
    if (!acts)
        hp_acts_begin(&s->own, sketch->plan, settings);
    if (!blocks || settings->expand_collectives)
        s->own_blocks =
            hp_blocks_new(sketch, settings->expand_collectives ? messages_of : NULL, s);
    s->blocks = s->own_blocks ? s->own_blocks : blocks;
    if (s->blocks->buckets.lead)
        fill_buckets(s);
    return s;
}

void hp_scene_free(struct scene *s)
{
    if (!s)
        return;
    hp_acts_end(&s->own);
    hp_blocks_free(s->own_blocks);
    struct arena arena = s->arena; /* it lives in it */
    hp_arena_free(&arena);
}

/* A part of a fusion group takes as long as its steps together. */
static void compute_tasks(struct scene *s, int b, int group, struct sim_task *task)
{
    const struct part_layout *layout = hp_step_layout(s->blocks, b, group);
    for (int part = 0; part < layout->n_parts; part++)
        if (!layout->empty[part])
            task[layout->rank[part]] =
                (struct sim_task){ .n_holds = 1, .queue = layout->device[part] };
    for (int step = group; step >= 0; step = s->blocks->next[b][step]) {
        const struct step *what = &s->sketch->skeleton.step[step];
        const struct part_layout *l = hp_step_layout(s->blocks, b, step);
        const ticks *time = hp_pass_times(s->acts, what->op, what->pass, l);
        for (int part = 0; part < l->n_parts; part++)
            if (!l->empty[part])
                task[l->rank[part]].duration =
                    hp_later(task[l->rank[part]].duration, time[part]);
    }
}

static void exchange_tasks(struct scene *s, int b, int deal, struct sim_task *task)
{
    const struct pattern *p = hp_deal_pattern(s->sketch, b, deal);
    const struct pattern_act *act = hp_deal_act(s, b, deal);
    for (int c = 0; c < p->n_comms; c++)
        memcpy(task + hp_first_of_comm(act, c), act->comm[c].task,
               (size_t)act->comm[c].n_tasks * sizeof *task);
}

static void update_tasks(struct scene *s, int deal, struct sim_task *task)
{
    const struct update_devices *u = hp_update_devices(s->sketch, deal);
    memcpy(task, hp_update_tasks(s->acts, hp_deal_pattern(s->sketch, 0, deal), u),
           (size_t)u->n * sizeof *task);
}

void hp_block_tasks(struct scene *s, int number, struct sim_task *task)
{
    struct block block = hp_block_at(s->blocks, number);
    if (block.kind == BLOCK_COMPUTE)
        compute_tasks(s, block.body, block.index, task);
    else if (block.kind == BLOCK_UPDATE)
        update_tasks(s, block.index, task);
    else
        exchange_tasks(s, block.body, block.index, task);
    for (int i = 0; i < s->blocks->size[number]; i++)
        task[i].number = (int64_t)number << 32 | i;
}

/* All blocks ---------------------------------------------------------------------------- */

static const struct sim_task *all_tasks(struct scene *s, int n_tasks, struct arena *arena)
{
    struct sim_task *task = NEW(arena, struct sim_task, n_tasks);
    for (int i = 0; i < s->blocks->n_blocks; i++)
        if (s->blocks->size[i])
            hp_block_tasks(s, i, task + s->blocks->first[i]);
    return task;
}

struct task_graph hp_scene_graph(struct scene *s, struct arena *arena)
{
    struct task_graph g = { .n_tasks = hp_number_tasks(s->blocks),
                            .n_queues = s->acts->n_queues };
    struct task_edges edges = hp_all_edges(s->blocks, g.n_tasks, arena);
    g.task = all_tasks(s, g.n_tasks, arena);
    g.after_start = edges.start;
    g.after = edges.after;
    return g;
}

struct task_graph hp_program_graph(struct scene *s, const struct hypar_program *program,
                                   struct arena *arena)
{
    if (s->own_blocks)
        return hp_scene_graph(s, arena);
    return (struct task_graph){ .n_tasks = program->n_tasks,
                                .n_queues = s->acts->n_queues,
                                .task = all_tasks(s, program->n_tasks, arena),
                                .after_start = program->after_start,
                                .after = program->after };
}
