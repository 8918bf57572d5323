/* program/blocks.h - the tasks of a program, block by block: their numbers and their edges.
 * Internal.
 *
 * A fusion group is a pass together with the passes that directly follow it, part by part on
 * the same device, without multiply-adds of their own (activations, normalisation, pooling).
 * Each of its parts that is not empty is one task. A block holds all tasks of one fusion group,
 * of one exchange of a body or of the tail (a task for each comm), or of the updates of one
 * parameter (a task for each device that holds some of it). Block numbers follow from the graph
 * and the schedule alone. So tasks, numbered by block and position in the block, keep their
 * order when others come and go, and a change of one operator rewrites its own blocks alone.
 *
 *     body 0's items | body 1's items | ... | sums of the tail | updates | gathers of the tail
 *
 * Where gradients are clipped, the last sum of the tail is their norm; a block before it holds
 * the tasks that add up each device's squares.
 *
 * hp_lower() writes all blocks and gives tasks ids without gaps, in the order of their numbers;
 * delta simulation assigns ids as blocks come and go. The edges of a block name tasks by id. */
#ifndef PROGRAM_BLOCKS_H
#define PROGRAM_BLOCKS_H

#include "program/lowering.h"

enum block_kind {
    BLOCK_COMPUTE,
    BLOCK_EXCHANGE,
    BLOCK_TAIL_EXCHANGE,
    BLOCK_NORM,
    BLOCK_UPDATE
};

struct block {
    enum block_kind kind;
    int body, index; /* the fusion group's first op_pass; or the exchange (of all exchanges) */
};

/* The messages of each comm of an exchange, where messages are tasks of their own. */
typedef const struct comm_messages *hp_messages_of(void *who, int body, int exchange);

struct edge {
    int local; /* task of the block ... */
    int after; /* ... waits for the task with this id */
};

struct blocks {
    struct arena arena, scratch, bucket_arena;
    struct lowering *lowering;
    int n_blocks;
    int **head;             /* by body, by op_pass: the first op_pass of its fusion group */
    int **next;             /* by body, by op_pass: the next one of its fusion group, -1 */
    bool *may_fuse;         /* by op_pass */
    struct buckets buckets; /* of gradients; no arrays: none */
    hp_messages_of *expand; /* NULL: comm c of an exchange is its task c */
    void *who;
    int *first; /* by block: the id of its first task, -1: it has none */
    int *size;  /* by block */
    struct edge *edge;
    int n_edges, edge_capacity;
};

struct blocks *hp_blocks_new(struct lowering *lowering, hp_messages_of *expand, void *who);
void hp_blocks_free(struct blocks *blocks); /* keeps the lowering; NULL is allowed */

/* The lowering has changed: find the fusion groups of one body or of all, and the buckets,
 * anew. */
void hp_find_groups(struct blocks *blocks, int body);
void hp_blocks_update(struct blocks *blocks);

/* Block numbers, and back. */
struct block hp_block_at(const struct blocks *blocks, int number);
static inline int hp_pass_block(const struct blocks *s, int b, int op_pass)
{
    const struct training_graph *k = &s->lowering->training;
    return b * k->n_items + k->op_pass[s->head[b][op_pass]].item;
}
static inline int hp_exchange_block(const struct blocks *s, int b, int exchange)
{
    const struct training_graph *k = &s->lowering->training;
    int tail = exchange - k->n_exchanges;
    if (tail < 0)
        return b * k->n_items + k->exchange[exchange].item;
    return s->lowering->n_bodies * k->n_items + tail +
           (tail < k->n_sums ? exchange == k->norm : k->n_sums);
}
static inline int hp_norm_block(const struct blocks *s)
{
    return hp_exchange_block(s, 0, s->lowering->training.norm) - 1;
}
static inline int hp_update_block(const struct blocks *s, int exchange)
{
    const struct training_graph *k = &s->lowering->training;
    return hp_exchange_block(s, 0, exchange) + k->n_sums + (k->norm >= 0);
}

/* The parts of a pass in body `b`. */
static inline const struct op_parts *hp_pass_parts(const struct blocks *s, int b, int op_pass)
{
    return s->lowering->body[b].parts[s->lowering->training.op_pass[op_pass].op];
}

/* The id of the task that runs a part of a pass; -1: the part is empty. */
static inline int hp_part_task(const struct blocks *s, int b, int op_pass, int part)
{
    const struct op_parts *parts = hp_pass_parts(s, b, op_pass);
    return parts->empty[part] ? -1 : s->first[hp_pass_block(s, b, op_pass)] + parts->rank[part];
}

/* The passes of a body's parts, action by action (schedule.h), in the order in which tasks run
 * them: a task runs the passes of its fusion group one after another. Pass `op_pass` of a part
 * has number base[op_pass] + rank of the part * stride[op_pass]. */
struct pass_order {
    int n;
    struct pass_part {
        int op_pass, part;
    } * at;
    int *base, *stride; /* by op_pass */
};
struct pass_order hp_pass_order(const struct blocks *blocks, int body, struct arena *arena);

static inline int hp_pass_number(const struct pass_order *order, const struct op_parts *l,
                                 int op_pass, int part)
{
    return order->base[op_pass] + l->rank[part] * order->stride[op_pass];
}

/* How many tasks a block has now. */
int hp_block_size(struct blocks *blocks, int number);

/* Give all tasks ids in the order of their numbers: fills size[] and first[]; returns the
 * number of tasks. */
int hp_number_tasks(struct blocks *blocks);

/* Write the edges of a block's tasks into edge[]; first[] must be right for all blocks. An edge
 * may occur twice. (edges.c) */
void hp_block_edges(struct blocks *blocks, int number);

/* Sort these edges by task of the block; there are n tasks. CSR; start[] has n + 2 zeros. */
void hp_sort_edges(const struct blocks *blocks, int n, int *start, int *id);

/* The edges of all blocks by task, each once; ids have no gaps. Taken from `arena`. */
struct task_edges {
    const int64_t *start; /* n_tasks + 1 */
    const int *after;
};
struct task_edges hp_all_edges(struct blocks *blocks, int n_tasks, struct arena *arena);

#endif /* PROGRAM_BLOCKS_H */
