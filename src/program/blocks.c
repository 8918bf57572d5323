/* Fusion groups, and the tasks of each block. */
#include "program/blocks.h"
#include "base/csr.h"

/* Fusion groups ------------------------------------------------------------------------ */

/* Mark the passes that may run in the task of the pass before: those without multiply-adds,
 * whose input no other task waits for. */
static void find_fusable(struct blocks *s)
{
    const struct lowering *lowering = s->lowering;
    const struct training_graph *k = &lowering->training;
    for (int i = 0; i < k->n_op_passes; i++) {
        const struct op_pass *op_pass = &k->op_pass[i];
        const struct nest *nest = lowering->graph->ops[op_pass->op].nest;
        bool fuses = !hp_multiplies(nest), any = false;
        for (int p = k->input_start[i]; p < k->input_start[i + 1]; p++) {
            const struct exchange *exchange = &k->exchange[k->input[p].exchange];
            if (exchange->division == DIVIDE_GATHER)
                continue; /* the whole task waits for this input */
            any = true;
            int producer = exchange->n_writers == 1 ? exchange->writer[0].op : -1;
            fuses &= producer >= 0;
            for (int r = 0; r < exchange->n_readers; r++)
                fuses &=
                    exchange->reader[r].op == op_pass->op || exchange->reader[r].op == producer;
        }
        s->may_fuse[i] = fuses && any;
    }
}

/* Does a pass follow a repeated pass of its operator that runs only after `group` has begun? */
static bool is_computed_later(const struct training_graph *k, int op_pass, int group)
{
    const struct op_pass *at = &k->op_pass[op_pass];
    for (int p = 0; !at->again && at->backward && k->again[at->op] >> p; p++)
        if (k->again[at->op] >> p & 1 &&
            k->op_pass[k->again_of[at->op][p]].item > k->op_pass[group].item)
            return true;
    return false;
}

/* Does a pass read a parameter that is gathered only after `group` has begun? */
static bool is_gathered_later(const struct training_graph *k, int op_pass, int group)
{
    for (int p = k->input_start[op_pass]; p < k->input_start[op_pass + 1]; p++) {
        const struct exchange *x = &k->exchange[k->input[p].exchange];
        if (x->division == DIVIDE_GATHER && x->item > k->op_pass[group].item)
            return true;
    }
    return false;
}

/* The fusion group of `op_pass`. A pass is fused if one group on the same device produces all
 * its inputs, part by part. */
static int group_of(const struct blocks *s, int b, int op_pass)
{
    const struct training_graph *k = &s->lowering->training;
    int group = -1;
    if (!s->may_fuse[op_pass])
        return op_pass;
    for (int p = k->input_start[op_pass]; p < k->input_start[op_pass + 1]; p++) {
        int d = k->input[p].exchange;
        const struct source *from = &k->exchange[d].writer[0];
        if (k->exchange[d].division == DIVIDE_GATHER)
            continue;
        if (!s->lowering->body[b].pattern[d]->aligned)
            return op_pass;
        int theirs = s->head[b][hp_source_pass(k, from)];
        if (group >= 0 && group != theirs)
            return op_pass;
        group = theirs;
    }
    bool apart = hp_pass_action(s->lowering, group) != hp_pass_action(s->lowering, op_pass) ||
                 is_computed_later(k, op_pass, group) || is_gathered_later(k, op_pass, group);
    return apart ? op_pass : group;
}

void hp_find_groups(struct blocks *s, int b)
{
    const struct training_graph *k = &s->lowering->training;
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int *last = NEW(&s->scratch, int, k->n_op_passes);
    for (int i = 0; i < k->n_op_passes; i++) {
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
    for (int b = 0; b < s->lowering->n_bodies; b++)
        hp_find_groups(s, b);
    if (s->lowering->options.bucket_bytes <= 0)
        return;
    hp_arena_free(&s->bucket_arena);
    s->buckets = hp_find_buckets(s->lowering, &s->bucket_arena);
}

struct blocks *hp_blocks_new(struct lowering *lowering, hp_messages_of *expand, void *who)
{
    const struct training_graph *k = &lowering->training;
    struct arena arena = { 0 };
    struct blocks *s = NEW(&arena, struct blocks, 1);
    s->arena = arena;
    s->lowering = lowering;
    s->expand = expand;
    s->who = who;
    s->n_blocks = lowering->n_bodies * k->n_items + k->n_sums + k->n_tail;
    s->may_fuse = NEW(&s->arena, bool, k->n_op_passes);
    s->first = NEW(&s->arena, int, s->n_blocks);
    s->size = NEW(&s->arena, int, s->n_blocks);
    NEW(&s->scratch, char, 1); /* keep the arena's first block */
    find_fusable(s);
    s->head = NEW(&s->arena, int *, lowering->n_bodies);
    s->next = NEW(&s->arena, int *, lowering->n_bodies);
    for (int b = 0; b < lowering->n_bodies; b++) {
        s->head[b] = NEW(&s->arena, int, k->n_op_passes);
        s->next[b] = NEW(&s->arena, int, k->n_op_passes);
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
    hp_arena_free(&s->arena);
}

/* Tasks -------------------------------------------------------------------------------- */

struct block hp_block_at(const struct blocks *s, int number)
{
    const struct training_graph *k = &s->lowering->training;
    int tail = number - s->lowering->n_bodies * k->n_items;
    if (tail >= 0 && k->norm >= 0 && (tail == k->n_sums - 1 || tail == k->n_sums))
        return (struct block){ tail < k->n_sums ? BLOCK_NORM : BLOCK_TAIL_EXCHANGE, 0,
                               k->norm };
    if (tail >= 2 * k->n_sums)
        return (struct block){ BLOCK_TAIL_EXCHANGE, 0, k->n_exchanges + tail - k->n_sums };
    if (tail >= k->n_sums)
        return (struct block){ BLOCK_UPDATE, 0,
                               k->n_exchanges + tail - k->n_sums - (k->norm >= 0) };
    if (tail >= 0)
        return (struct block){ BLOCK_TAIL_EXCHANGE, 0, k->n_exchanges + tail };
    const struct item *item = &k->item[number % k->n_items];
    return (struct block){ item->is_pass ? BLOCK_COMPUTE : BLOCK_EXCHANGE, number / k->n_items,
                           item->index };
}

static int exchange_size(struct blocks *s, int b, int exchange)
{
    int n = hp_exchange_pattern(s->lowering, b, exchange)->n_comms;
    if (!n || !s->expand)
        return n;
    const struct comm_messages *last = &s->expand(s->who, b, exchange)[n - 1];
    return last->first + last->n;
}

int hp_block_size(struct blocks *s, int number)
{
    struct block block = hp_block_at(s, number);
    switch (block.kind) {
    case BLOCK_COMPUTE:
        return s->head[block.body][block.index] == block.index
                   ? hp_pass_parts(s, block.body, block.index)->n_live
                   : 0;
    case BLOCK_NORM:
        return s->lowering->norm.n;
    case BLOCK_UPDATE:
        return s->lowering->training.exchange[block.index].place.grad
                   ? hp_update_devices(s->lowering, block.index)->n
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

/* The first pass of each task, by action, then in the order of items. */
static int *sort_heads(const struct blocks *s, int b, struct arena *arena, int *n)
{
    const struct lowering *lowering = s->lowering;
    const struct training_graph *k = &lowering->training;
    struct csr sorted = { .arena = arena, .n_keys = hp_action_count(&lowering->schedule) };
    while (hp_csr_pass(&sorted))
        for (int i = 0; i < k->n_items; i++) {
            int head = k->item[i].is_pass ? k->item[i].index : -1;
            if (head >= 0 && s->head[b][head] == head)
                hp_csr_put(&sorted, hp_pass_action(lowering, head), head);
        }
    *n = sorted.start[sorted.n_keys];
    return sorted.item;
}

struct pass_order hp_pass_order(const struct blocks *s, int b, struct arena *arena)
{
    const struct training_graph *k = &s->lowering->training;
    struct pass_order o = { .base = NEW(arena, int, k->n_op_passes),
                            .stride = NEW(arena, int, k->n_op_passes) };
    for (int i = 0; i < k->n_op_passes; i++)
        o.n += hp_pass_parts(s, b, i)->n_live;
    o.at = NEW(arena, struct pass_part, o.n);
    int n_heads, *heads = sort_heads(s, b, arena, &n_heads);
    for (int i = 0, first = 0; i < n_heads; i++) {
        int head = heads[i], length = 0;
        const struct op_parts *l = hp_pass_parts(s, b, head);
        for (int op_pass = head; op_pass >= 0; op_pass = s->next[b][op_pass])
            o.base[op_pass] = first + length++;
        for (int op_pass = head; op_pass >= 0; op_pass = s->next[b][op_pass]) {
            o.stride[op_pass] = length;
            for (int part = 0; part < l->n_parts; part++)
                if (!l->empty[part])
                    o.at[hp_pass_number(&o, l, op_pass, part)] =
                        (struct pass_part){ op_pass, part };
        }
        first += length * l->n_live;
    }
    return o;
}
