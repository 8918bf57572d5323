/* program/blocks.h - the tasks of a program, block by block: the one place that writes them.
 * Internal.
 *
 * A fusion group is a pass together with those that only follow it, part by part on the same
 * device, without multiply-adds of their own (activations, normalisation, pooling): one task
 * for each part that is not empty. A block is all tasks of a fusion group, of an exchange of a
 * body, of an exchange of the tail (a task for each comm), or of the updates of a parameter (a
 * task for each device that has some of it). A block's number follows from the graph alone, so
 * that a task's number (block, place in the block) keeps its order when others come and go, and
 * a change of one operator rewrites its own blocks and no others.
 *
 *     body 0's items | body 1's items | ... | exchanges of the tail | updates
 *
 * Whoever writes all blocks (hp_lower()) gives tasks ids without gaps, in the order of their
 * numbers; delta simulation gives ids as blocks come and go. What a block's tasks wait for is
 * written in ids, as edges. */
#ifndef PROGRAM_BLOCKS_H
#define PROGRAM_BLOCKS_H

#include "program/sketch.h"

enum block_kind { BLOCK_COMPUTE, BLOCK_EXCHANGE, BLOCK_TAIL_EXCHANGE, BLOCK_UPDATE };

struct block {
    enum block_kind kind;
    int body, index; /* the fusion group's first step; the deal (of all deals) */
};

/* How a comm is done where each of its messages is a task of its own. */
struct comm_messages {
    int first, n;                 /* tasks, among those of its exchange */
    const struct comm_step *step; /* NULL: one task stands for all */
    /* By device of the comm: messages to it, and its messages that come after none of its own
     * and so wait for what it contributes: CSR. */
    const int *arrive_start, *arrive, *depart_start, *depart;
};

/* The messages of each comm of a deal, as `who` does them. */
typedef const struct comm_messages *hp_messages_of(void *who, int body, int deal);

struct edge {
    int local; /* task of the block ... */
    int after; /* ... waits for the task with this id */
};

struct blocks {
    struct arena arena, scratch, bucket_arena;
    struct sketch *sketch;
    int n_blocks;
    int **head;             /* by body, by step: the first step of its fusion group */
    int **next;             /* by body, by step: the next one of its fusion group, -1 */
    bool *may_follow;       /* by step */
    struct buckets buckets; /* of gradients; no arrays: none */
    hp_messages_of *expand; /* NULL: comm c of an exchange is its task c */
    void *who;
    int *first; /* by block: the id of its first task, -1: it has none */
    int *size;  /* by block */
    struct edge *edge;
    int n_edges, edge_capacity;
};

struct blocks *hp_blocks_new(struct sketch *sketch, hp_messages_of *expand, void *who);
void hp_blocks_free(struct blocks *blocks); /* not the sketch; NULL is allowed */

/* The sketch has changed: fusion groups, of one body or of all, and buckets anew. */
void hp_find_groups(struct blocks *blocks, int body);
void hp_blocks_update(struct blocks *blocks);

/* Block numbers, and back. */
struct block hp_block_at(const struct blocks *blocks, int number);
static inline int hp_step_block(const struct blocks *s, int b, int step)
{
    const struct skeleton *k = &s->sketch->skeleton;
    return b * k->n_items + k->step[s->head[b][step]].item;
}
static inline int hp_deal_block(const struct blocks *s, int b, int deal)
{
    const struct skeleton *k = &s->sketch->skeleton;
    return deal < k->n_deals ? b * k->n_items + k->deal[deal].item
                             : s->sketch->n_bodies * k->n_items + deal - k->n_deals;
}
static inline int hp_update_block(const struct blocks *s, int deal)
{
    return hp_deal_block(s, 0, deal) + s->sketch->skeleton.n_tail;
}

/* The parts of a step in body `b`. */
static inline const struct part_layout *hp_step_layout(const struct blocks *s, int b, int step)
{
    return s->sketch->body[b].layout[s->sketch->skeleton.step[step].op];
}

/* The id of the task that does a part of a step; -1: the part is empty. */
static inline int hp_part_task(const struct blocks *s, int b, int step, int part)
{
    const struct part_layout *layout = hp_step_layout(s, b, step);
    return layout->empty[part] ? -1 : s->first[hp_step_block(s, b, step)] + layout->rank[part];
}

/* The passes of a body's parts, in the order in which tasks do them: a task goes through the
 * passes of its fusion group one after another. Pass `step` of a part is number base[step] +
 * rank of the part * stride[step]. */
struct pass_order {
    int n;
    struct pass_part {
        int step, part;
    } * at;
    int *base, *stride; /* by step */
};
struct pass_order hp_pass_order(const struct blocks *blocks, int body, struct arena *arena);

static inline int hp_pass_number(const struct pass_order *order, const struct part_layout *l,
                                 int step, int part)
{
    return order->base[step] + l->rank[part] * order->stride[step];
}

/* How many tasks a block has now. */
int hp_block_size(struct blocks *blocks, int number);

/* Give all tasks ids in the order of their numbers: fills size[] and first[], returns how many
 * there are. */
int hp_number_tasks(struct blocks *blocks);

/* What the tasks of a block wait for, into edge[]; first[] must be right for all blocks. An
 * edge may be there twice. (edges.c) */
void hp_block_edges(struct blocks *blocks, int number);

/* The edges of all blocks, task by task, each once; ids have no gaps. Taken from `arena`. */
struct task_edges {
    const int64_t *start; /* n_tasks + 1 */
    const int *after;
};
struct task_edges hp_all_edges(struct blocks *blocks, int n_tasks, struct arena *arena);

#endif /* PROGRAM_BLOCKS_H */
