/* A lower bound of the step: the longest chain of tasks, over known operators and open ones. */
#include "sim/delta/bound.h"

#include "sim/delta/timeline.h"

/* Does a pass send an error to another operator? */
static bool sends_error(const struct hypar_graph *g, int op, const struct pass *pass)
{
    for (int o = 0; o < g->ops[op].nest->n_operands; o++)
        if (pass->writes_grad >> o & 1 && g->ops[op].tensor[o] >= 0 &&
            g->tensors[g->ops[op].tensor[o]].kind == TENSOR_ACTIVATION)
            return true;
    return false;
}

void hp_bound_least(struct delta *delta, int op, struct bound_input *in)
{
    struct timing *s = hp_delta_timing(delta);
    const struct hypar_graph *g = s->lowering->graph;
    const struct nest *nest = g->ops[op].nest;
    const struct op_parts *l = s->lowering->body[0].parts[op];
    for (int p = 0; p < nest->n_passes; p++) {
        if (s->lowering->training.op_pass_of[op][p] < 0 ||
            (nest->pass[p].backward && !sends_error(g, op, &nest->pass[p])))
            continue;
        const ticks *time = hp_pass_times(s->costs, op, p, l);
        ticks *least = nest->pass[p].backward ? &in->backward[op] : &in->forward[op];
        for (int part = 0; part < l->n_parts; part++)
            if (!l->empty[part])
                *least = hp_earliest(*least, time[part]);
    }
}

struct bounder {
    const struct bound_input *in;
    struct timing *s;
    const struct delta_timeline *timeline;
    ticks *end;  /* by task id: the earliest end; -1: the task may not exist */
    ticks *done; /* by op: the earliest time at which one of its parts has done the forward
                    passes */
    ticks *sent; /* by op: ... has sent its error */
};

static bool all_known(const struct bounder *b, const struct exchange *exchange)
{
    for (int i = 0; i < exchange->n_writers; i++)
        if (!b->in->known[exchange->writer[i].op])
            return false;
    for (int i = 0; i < exchange->n_readers; i++)
        if (!b->in->known[exchange->reader[i].op])
            return false;
    return true;
}

static bool is_sure(const struct bounder *b, const struct block *block)
{
    const struct training_graph *k = &b->s->lowering->training;
    if (block->kind != BLOCK_COMPUTE)
        return all_known(b, &k->exchange[block->index]);
    for (int op_pass = block->index; op_pass >= 0; op_pass = b->s->blocks->next[0][op_pass])
        if (!b->in->known[k->op_pass[op_pass].op])
            return false;
    return true;
}

/* The earliest time at which a producer of `op`, if it has any, is done. */
static ticks inputs_done(const struct bounder *b, int op)
{
    const struct hypar_graph *g = b->s->lowering->graph;
    ticks least = HP_MAX_TICKS;
    for (int o = 0; o < g->ops[op].nest->n_operands; o++) {
        int t = g->ops[op].tensor[o], from = t < 0 ? -1 : g->tensors[t].producer;
        if (from >= 0 && from != op)
            least = hp_earliest(least, b->done[from]);
    }
    return least == HP_MAX_TICKS ? 0 : least;
}

/* The earliest time at which a reader of `op`'s output has sent its error. */
static ticks errors_sent(const struct bounder *b, int op)
{
    const struct hypar_graph *g = b->s->lowering->graph;
    ticks least = HP_MAX_TICKS;
    for (int o = 0; o < g->ops[op].nest->n_operands; o++) {
        int t = g->ops[op].tensor[o];
        if (t < 0 || g->tensors[t].producer != op)
            continue;
        for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++)
            if (g->use[u].op != op)
                least = hp_earliest(least, b->sent[g->use[u].op]);
    }
    return least == HP_MAX_TICKS ? b->done[op] : least;
}

/* The earliest time at which a part of a known operator has done its forward passes; -1: its
 * tasks may still change. */
static ticks parts_done(const struct bounder *b, int op)
{
    int block = hp_pass_block(b->s->blocks, 0, hp_last_forward_pass(b->s->lowering, op));
    ticks least = HP_MAX_TICKS;
    for (int i = 0; i < b->s->blocks->size[block]; i++)
        least = hp_earliest(least, b->end[b->s->blocks->first[block] + i]);
    return least == HP_MAX_TICKS ? -1 : least;
}

/* Chains of operators, forward and then backward. `timed`: the ends of tasks of known operators
 * are known. */
static void bound_ops(struct bounder *b, bool timed)
{
    const struct hypar_graph *g = b->s->lowering->graph;
    for (int op = 0; op < g->n_ops; op++) {
        ticks own = b->in->forward[op] == HP_MAX_TICKS ? 0 : b->in->forward[op];
        ticks parts = timed && b->in->known[op] ? parts_done(b, op) : -1;
        b->done[op] = hp_latest(inputs_done(b, op) + own, parts);
    }
    for (int op = g->n_ops - 1; op >= 0; op--) {
        ticks own = b->in->backward[op] == HP_MAX_TICKS ? 0 : b->in->backward[op];
        b->sent[op] = hp_latest(b->done[op], errors_sent(b, op)) + own;
    }
}

/* Tasks of a fusion group wait for uncertain predecessors at least as long as the operators
 * before take. */
static ticks outside(const struct bounder *b, const struct block *block)
{
    const struct op_pass *op_pass = &b->s->lowering->training.op_pass[block->index];
    if (block->kind != BLOCK_COMPUTE)
        return 0;
    return op_pass->backward && !op_pass->again ? errors_sent(b, op_pass->op)
                                                : inputs_done(b, op_pass->op);
}

static ticks bound_tasks(struct bounder *b)
{
    ticks longest = 0;
    for (int n = 0; n < b->s->blocks->n_blocks; n++) {
        struct block block = hp_block_at(b->s->blocks, n);
        bool sure = b->s->blocks->size[n] && is_sure(b, &block);
        for (int i = 0; i < b->s->blocks->size[n]; i++) {
            int id = b->s->blocks->first[n] + i;
            const struct node *node = &b->timeline->node[id];
            ticks start = 0;
            bool waits = false;
            b->end[id] = -1;
            for (int k = 0; sure && k < node->predecessors.n; k++) {
                ticks end = b->end[node->predecessors.id[k]];
                waits |= end < 0;
                start = hp_latest(start, end);
            }
            if (!sure)
                continue;
            if (waits)
                start = hp_latest(start, outside(b, &block));
            b->end[id] = start + node->task.duration;
            longest = hp_latest(longest, b->end[id]);
        }
    }
    return longest;
}

ticks hp_bound(struct delta *delta, const struct bound_input *in, struct arena *scratch)
{
    struct timing *s = hp_delta_timing(delta);
    if (!hp_delta_timeline_of(delta))
        return 0; /* replayed as a whole: single tasks have no times */
    struct arena_mark mark = hp_arena_mark(scratch);
    struct bounder b = { .in = in, .s = s, .timeline = hp_delta_timeline_of(delta) };
    b.end = NEW(scratch, ticks, b.timeline->n_ids);
    b.done = NEW(scratch, ticks, s->lowering->graph->n_ops);
    b.sent = NEW(scratch, ticks, s->lowering->graph->n_ops);
    bound_ops(&b, false);
    bound_tasks(&b);
    bound_ops(&b, true);
    ticks longest = bound_tasks(&b);
    for (int op = 0; op < s->lowering->graph->n_ops; op++)
        longest = hp_latest(longest, b.sent[op]);
    hp_arena_release(scratch, mark);
    return longest;
}
