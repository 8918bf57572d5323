/* The order of service, from the training graph alone. */
#include "sim/order.h"

#include "base/sort.h"
#include "cost/work.h"
#include "sim/targets.h"

/* A block of the body, in all bodies, or of the tail. */
struct entry {
    double level; /* of a pass */
    int after;    /* passes that come before it */
    enum { THE_PASS, ITS_EXCHANGE, THE_NORM, AN_UPDATE, ITS_GATHER } kind;
    int block; /* its number in body 0 or in the tail */
};

struct orderer {
    const struct blocks *blocks;
    const struct training_graph *k;
    struct targets targets; /* nodes: passes, exchanges, updates */
    struct arena scratch;
    double *level; /* by node */
    int *rank;     /* by node: its place, or that of the last pass before it, from 1 on */
};

/* What a pass takes, in operations: a nominal device does BYTE_OPERATIONS while it reads or
 * writes a byte. */
static double nominal_work(const struct hypar_graph *graph, const struct op_pass *what)
{
    enum { BYTE_OPERATIONS = 64 };
    const struct op *op = &graph->ops[what->op];
    struct range range[MAX_AXES];
    hp_whole_ranges(op->nest, range);
    struct work work = hp_pass_work(op->nest, what->pass, range, hp_present(op), HYPAR_FP32);
    return 2 * work.macs + work.other + BYTE_OPERATIONS * work.bytes;
}

/* Where parameters are gathered or passes repeated, tasks of a fusion group wait for more than
 * their first pass does: there, the order is that of numbers. */
static bool has_levels(const struct training_graph *k)
{
    bool any = false;
    for (int d = 0; d < k->n_exchanges; d++)
        any |= k->exchange[d].division == DIVIDE_GATHER;
    for (int i = 0; i < k->n_op_passes; i++)
        any |= k->op_pass[i].again;
    return !any;
}

static int node_of(const struct training_graph *k, int item)
{
    int index = k->item[item].index;
    return k->item[item].is_pass ? index : k->n_op_passes + index;
}

static void find_levels(struct orderer *o)
{
    const struct hypar_graph *graph = o->blocks->lowering->graph;
    for (int i = 0; has_levels(o->k) && i < o->k->n_items; i++) {
        int me = node_of(o->k, i);
        double done = o->level[me];
        if (o->k->item[i].is_pass)
            done += nominal_work(graph, &o->k->op_pass[me]);
        for (int t = o->targets.start[me]; t < o->targets.start[me + 1]; t++) {
            double *level = &o->level[o->targets.target[t]];
            *level = *level > done ? *level : done;
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->after != y->after)
        return x->after < y->after ? -1 : 1;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : x->block - y->block;
}

static void rank_passes(struct orderer *o)
{
    const struct training_graph *k = o->k;
    struct entry *pass = NEW(&o->scratch, struct entry, k->n_op_passes);
    for (int i = 0; i < k->n_op_passes; i++)
        pass[i] =
            (struct entry){ .level = o->level[i], .after = k->op_pass[i].item, .block = i };
    hp_sort(pass, k->n_op_passes, sizeof *pass, by_place);
    for (int i = 0; i < k->n_op_passes; i++)
        o->rank[pass[i].block] = i + 1;
}

/* An exchange comes after all that it may wait for. A gather of the backward half that waits
 * for no pass comes after the forward half. */
static void rank_exchanges(struct orderer *o)
{
    const struct training_graph *k = o->k;
    int n = k->n_op_passes + k->n_exchanges + k->n_tail, forward = 0;
    for (int i = 0; i < k->n_op_passes; i++)
        if (!k->op_pass[i].backward)
            forward = o->rank[i] > forward ? o->rank[i] : forward;
    for (int i = 0; i < k->n_items + k->n_tail; i++) {
        int me =
            i < k->n_items ? node_of(k, i) : k->n_op_passes + k->n_exchanges + i - k->n_items;
        const struct exchange *x =
            me < k->n_op_passes ? NULL : &k->exchange[me - k->n_op_passes];
        if (x && x->division == DIVIDE_GATHER && x->backward && x->behind < 0)
            o->rank[me] = forward;
        for (int t = o->targets.start[me]; t < o->targets.start[me + 1]; t++) {
            int to = o->targets.target[t];
            if (to >= k->n_op_passes && to < n && o->rank[to] < o->rank[me])
                o->rank[to] = o->rank[me];
        }
    }
}

/* The blocks of one body and of the tail. */
static struct entry entry_of(const struct orderer *o, int number)
{
    const struct training_graph *k = o->k;
    struct block block = hp_block_at(o->blocks, number);
    int last = k->n_op_passes + 1;
    struct entry e = { .after = last, .block = number };
    bool gathers =
        block.kind == BLOCK_TAIL_EXCHANGE && k->exchange[block.index].division == DIVIDE_GATHER;
    if (block.kind == BLOCK_COMPUTE)
        e.after = o->rank[block.index];
    else if (block.kind == BLOCK_UPDATE || gathers)
        e.kind = gathers ? ITS_GATHER : AN_UPDATE;
    else if (block.kind == BLOCK_NORM || block.index == k->norm)
        e.kind = THE_NORM;
    else
        e = (struct entry){ 0, o->rank[k->n_op_passes + block.index], ITS_EXCHANGE, number };
    return e;
}

int *hp_block_order(const struct blocks *blocks, struct arena *arena)
{
    struct orderer o = { .blocks = blocks, .k = &blocks->lowering->training };
    int n_bodies = blocks->lowering->n_bodies, n_items = o.k->n_items, at = 0;
    int n = n_items + blocks->n_blocks - n_bodies * n_items;
    o.targets = hp_find_targets(&o.scratch, blocks->lowering);
    o.level = NEW(&o.scratch, double, o.k->n_op_passes + o.k->n_exchanges + 2 * o.k->n_tail);
    o.rank = NEW(&o.scratch, int, o.k->n_op_passes + o.k->n_exchanges + 2 * o.k->n_tail);
    find_levels(&o);
    rank_passes(&o);
    rank_exchanges(&o);
    struct entry *entry = NEW(&o.scratch, struct entry, n);
    for (int i = 0; i < n; i++)
        entry[i] = entry_of(&o, i < n_items ? i : i + (n_bodies - 1) * n_items);
    hp_sort(entry, n, sizeof *entry, by_place);
    int *order = NEW(arena, int, blocks->n_blocks);
    for (int i = 0; i < n; i++)
        for (int b = 0; b < (entry[i].block < n_items ? n_bodies : 1); b++)
            order[entry[i].block + b * n_items] = at++;
    hp_arena_free(&o.scratch);
    return order;
}
