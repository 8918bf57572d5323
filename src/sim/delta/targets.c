/* The tasks that may wait for each task, from the graph alone. */
#include "sim/delta/targets.h"

#include "base/csr.h"

struct filling {
    const struct lowering *lowering;
    struct csr targets;
};

static void add_target(struct filling *f, int from, int to)
{
    hp_csr_put(&f->targets, from, to);
}

/* A reader of a value waits for the comms that bring it and for its writers. */
static void list_reader(struct filling *f, int i, const struct reader *reader)
{
    const struct training_graph *k = &f->lowering->training;
    const struct exchange *exchange = &k->exchange[i];
    bool tail = i >= k->n_exchanges;
    int me = k->n_op_passes + i;
    struct some_passes reads = { reader->passes, reader->again };
    if (!tail)
        reads = hp_first_reads(f->lowering->graph, reader);
    for (int p = 0; p < 2 * MAX_PASSES; p++) {
        uint32_t passes = p % 2 ? reads.again : reads.passes;
        int op_pass = passes >> p / 2 & 1 ? hp_op_pass(k, reader->op, p / 2, p % 2) : -1;
        if (op_pass < 0)
            continue;
        add_target(f, tail ? op_pass : me, tail ? me + k->n_tail : op_pass);
        for (int w = 0; !tail && w < exchange->n_writers; w++)
            add_target(f, hp_source_pass(k, &exchange->writer[w]), op_pass);
    }
}

/* A gather waits for passes of an earlier operator. */
static void list_behind(struct filling *f, int i)
{
    const struct training_graph *k = &f->lowering->training;
    int behind = k->exchange[i].behind;
    const struct visit *visit = behind < 0 ? NULL : &k->exchange[behind].first;
    const struct nest *nest = visit ? f->lowering->graph->ops[visit->op].nest : NULL;
    for (int p = 0; nest && p < nest->n_passes; p++) {
        int op_pass = hp_visit_pass(k, visit, nest, p);
        if (op_pass >= 0)
            add_target(f, op_pass, k->n_op_passes + i);
    }
}

/* Comms wait for writers; an update waits for comms, writers, and readers of the old value. */
static void list_exchange(struct filling *f, int i)
{
    const struct training_graph *k = &f->lowering->training;
    const struct exchange *exchange = &k->exchange[i];
    int me = k->n_op_passes + i, update = me + k->n_tail; /* of a tail's exchange */
    bool tail = i >= k->n_exchanges;
    if (exchange->division == DIVIDE_GATHER &&
        tail) { /* follows the updates of the same parameter */
        add_target(f, k->n_op_passes + exchange->sum + k->n_tail, me);
        return;
    }
    if (exchange->division == DIVIDE_GATHER)
        list_behind(f, i);
    if (exchange->division == DIVIDE_OWNED)
        add_target(f, k->n_op_passes + exchange->sum, update);
    for (int half = 0; tail && exchange->place.grad && half < 2 && i != k->norm; half++) {
        int gather = k->gather_of[exchange->place.tensor][half];
        if (gather >= 0)
            add_target(f, k->n_op_passes + gather, update);
    }
    if (tail)
        add_target(f, me, update);
    for (int e = 0; tail && exchange->place.grad && i != k->norm && e < k->n_leaving; e++)
        add_target(f, k->n_op_passes + k->leaving[e].exchange, me);
    for (int w = 0; w < exchange->n_writers; w++) {
        int op_pass = hp_source_pass(k, &exchange->writer[w]);
        add_target(f, op_pass, me);
        if (tail)
            add_target(f, op_pass, update);
    }
    for (int r = 0; r < exchange->n_readers; r++)
        list_reader(f, i, &exchange->reader[r]);
}

/* A backward pass waits for forward passes and repeated passes of the same part; repeated
 * passes wait for the error of the operator that needs them. */
static void list_backward(struct filling *f, int i)
{
    const struct training_graph *k = &f->lowering->training;
    const struct op_pass *at = &k->op_pass[i];
    add_target(f, hp_last_forward_pass(f->lowering, at->op), i);
    for (int p = 0; !at->again && k->again[at->op] >> p; p++)
        if (k->again[at->op] >> p & 1)
            add_target(f, k->again_of[at->op][p], i);
    if (!at->again)
        return;
    const struct op *op = &f->lowering->graph->ops[k->again_before[at->op]];
    for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++) {
        int d = op->tensor[o] < 0 ? -1 : k->error_exchange[op->tensor[o]];
        if (d < 0)
            continue;
        add_target(f, k->n_op_passes + d, i);
        for (int w = 0; w < k->exchange[d].n_writers; w++)
            add_target(f, hp_source_pass(k, &k->exchange[d].writer[w]), i);
    }
}

struct targets hp_find_targets(struct arena *arena, const struct lowering *lowering)
{
    const struct training_graph *k = &lowering->training;
    int n = k->n_op_passes + k->n_exchanges + 2 * k->n_tail;
    struct filling f = { .lowering = lowering, .targets = { .arena = arena, .n_keys = n } };
    while (hp_csr_pass(&f.targets)) {
        for (int i = 0; i < k->n_exchanges + k->n_tail; i++)
            list_exchange(&f, i);
        for (int i = 0; i < k->n_op_passes; i++)
            if (k->op_pass[i].backward)
                list_backward(&f, i);
    }
    return (struct targets){ f.targets.start, f.targets.item };
}
