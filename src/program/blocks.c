/* Fusion groups, and which tasks each block has. */
#include "program/blocks.h"

/* Fusion groups ------------------------------------------------------------------------ */

/* Steps without multiply-adds of their own, whose input nobody else waits for, may be one task
 * with the step before. */
static void find_followers(struct blocks *s)
{
    const struct sketch *sketch = s->sketch;
    const struct skeleton *k = &sketch->skeleton;
    for (int i = 0; i < k->n_steps; i++) {
        const struct step *step = &k->step[i];
        const struct nest *nest = sketch->graph->ops[step->op].nest;
        bool follows = k->port_start[i + 1] > k->port_start[i];
        for (int p = 0; p < nest->n_passes; p++)
            follows &= nest->pass[p].macs <= 0;
        for (int p = k->port_start[i]; p < k->port_start[i + 1]; p++) {
            const struct deal *deal = &k->deal[k->port[p].deal];
            int producer = deal->n_writers == 1 ? deal->writer[0].op : -1;
            follows &= producer >= 0;
            for (int r = 0; r < deal->n_readers; r++)
                follows &= deal->reader[r].op == step->op || deal->reader[r].op == producer;
        }
        s->may_follow[i] = follows;
    }
}

/* The fusion group that `step` belongs to. It follows if all that it waits for is done by one
 * group, part by part, where it is. */
static int group_of(const struct blocks *s, int b, int step)
{
    const struct skeleton *k = &s->sketch->skeleton;
    int group = -1;
    if (!s->may_follow[step])
        return step;
    for (int p = k->port_start[step]; p < k->port_start[step + 1]; p++) {
        int d = k->port[p].deal;
        const struct source *from = &k->deal[d].writer[0];
        if (!s->sketch->body[b].pattern[d]->aligned)
            return step;
        int theirs = s->head[b][k->step_of[from->op][from->pass]];
        if (group >= 0 && group != theirs)
            return step;
        group = theirs;
    }
    return k->step[group].backward == k->step[step].backward ? group : step;
}

void hp_find_groups(struct blocks *s, int b)
{
    const struct skeleton *k = &s->sketch->skeleton;
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int *last = NEW(&s->scratch, int, k->n_steps);
    for (int i = 0; i < k->n_steps; i++) {
        int group = group_of(s, b, i);
        s->head[b][i] = group;
        s->next[b][i] = -1;
        if (group != i)
            s->next[b][last[group]] = i;
        last[group] = i;
    }
    hp_arena_release(&s->scratch, mark);
}

void hp_blocks_update(struct blocks *s)
{
    for (int b = 0; b < s->sketch->n_bodies; b++)
        hp_find_groups(s, b);
    if (s->sketch->options.bucket_bytes <= 0)
        return;
    hp_arena_free(&s->bucket_arena);
    s->buckets = hp_find_buckets(s->sketch, &s->bucket_arena);
}

struct blocks *hp_blocks_new(struct sketch *sketch, hp_messages_of *expand, void *who)
{
    const struct skeleton *k = &sketch->skeleton;
    struct arena arena = { 0 };
    struct blocks *s = NEW(&arena, struct blocks, 1);
    s->arena = arena;
    s->sketch = sketch;
    s->expand = expand;
    s->who = who;
    s->n_blocks = sketch->n_bodies * k->n_items + 2 * k->n_tail;
    s->may_follow = NEW(&s->arena, bool, k->n_steps);
    s->first = NEW(&s->arena, int, s->n_blocks);
    s->size = NEW(&s->arena, int, s->n_blocks);
    NEW(&s->scratch, char, 1); /* the first block stays */
    find_followers(s);
    s->head = NEW(&s->arena, int *, sketch->n_bodies);
    s->next = NEW(&s->arena, int *, sketch->n_bodies);
    for (int b = 0; b < sketch->n_bodies; b++) {
        s->head[b] = NEW(&s->arena, int, k->n_steps);
        s->next[b] = NEW(&s->arena, int, k->n_steps);
    }
    hp_blocks_update(s);
    return s;
}

void hp_blocks_free(struct blocks *s)
{
    if (!s)
        return;
    hp_arena_free(&s->bucket_arena);
    hp_arena_free(&s->scratch);
    struct arena arena = s->arena; /* it lives in it */
    hp_arena_free(&arena);
}

/* Tasks -------------------------------------------------------------------------------- */

struct block hp_block_at(const struct blocks *s, int number)
{
    const struct skeleton *k = &s->sketch->skeleton;
    int tail = number - s->sketch->n_bodies * k->n_items;
    if (tail >= 0)
        return (struct block){ tail < k->n_tail ? BLOCK_TAIL_EXCHANGE : BLOCK_UPDATE, 0,
                               k->n_deals + tail % k->n_tail };
    const struct item *item = &k->item[number % k->n_items];
    return (struct block){ item->is_step ? BLOCK_COMPUTE : BLOCK_EXCHANGE, number / k->n_items,
                           item->index };
}

static int exchange_size(struct blocks *s, int b, int deal)
{
    int n = hp_deal_pattern(s->sketch, b, deal)->n_comms;
    if (!n || !s->expand)
        return n;
    const struct comm_messages *last = &s->expand(s->who, b, deal)[n - 1];
    return last->first + last->n;
}

int hp_block_size(struct blocks *s, int number)
{
    struct block block = hp_block_at(s, number);
    switch (block.kind) {
    case BLOCK_COMPUTE:
        return s->head[block.body][block.index] == block.index
                   ? hp_step_layout(s, block.body, block.index)->n_live
                   : 0;
    case BLOCK_UPDATE:
        return s->sketch->skeleton.deal[block.index].place.grad
                   ? hp_update_devices(s->sketch, block.index)->n
                   : 0;
    default:
        return exchange_size(s, block.body, block.index);
    }
}

int hp_number_tasks(struct blocks *s)
{
    int n = 0;
    for (int i = 0; i < s->n_blocks; i++) {
        s->size[i] = hp_block_size(s, i);
        s->first[i] = n;
        n += s->size[i];
    }
    return n;
}

struct pass_order hp_pass_order(const struct blocks *s, int b, struct arena *arena)
{
    const struct skeleton *k = &s->sketch->skeleton;
    struct pass_order o = { .base = NEW(arena, int, k->n_steps),
                            .stride = NEW(arena, int, k->n_steps) };
    for (int i = 0; i < k->n_steps; i++)
        o.n += hp_step_layout(s, b, i)->n_live;
    o.at = NEW(arena, struct pass_part, o.n);
    for (int i = 0, first = 0; i < k->n_items; i++) {
        int head = k->item[i].is_step ? k->item[i].index : -1, length = 0;
        if (head < 0 || s->head[b][head] != head)
            continue;
        const struct part_layout *l = hp_step_layout(s, b, head);
        for (int step = head; step >= 0; step = s->next[b][step])
            o.base[step] = first + length++;
        for (int step = head; step >= 0; step = s->next[b][step]) {
            o.stride[step] = length;
            for (int part = 0; part < l->n_parts; part++)
                if (!l->empty[part])
                    o.at[hp_pass_number(&o, l, step, part)] = (struct pass_part){ step, part };
        }
        first += length * l->n_live;
    }
    return o;
}
