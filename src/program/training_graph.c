/* The training graph: passes and exchanges of a body and of the tail, in the order of task
 * numbers. It follows from the graph, and from the plan's recomputation and sharding. */
#include <string.h>

#include "base/csr.h"
#include "graph/modules.h"
#include "program/lowering.h"

static int most_sides(const struct hypar_graph *graph, int tensor)
{
    return (graph->use_start[tensor + 1] - graph->use_start[tensor] + 1) * MAX_PASSES;
}

static int add_sources(const struct lowering *s, int op, int o, struct place place,
                       struct source *who, int n)
{
    const struct nest *nest = s->graph->ops[op].nest;
    uint32_t done = place.again ? s->training.again[op] : s->training.passes[op];
    for (int p = 0; p < nest->n_passes; p++) {
        operand_set written = place.grad ? nest->pass[p].writes_grad : nest->pass[p].writes;
        if (done >> p & 1 && written >> o & 1)
            who[n++] = (struct source){ op, o, p, place.again };
    }
    return n;
}

/* The writers of a place: a value is written by its producer, a gradient by all readers of the
 * value. */
static int sources_of(const struct lowering *s, struct place place, struct source *who)
{
    const struct hypar_graph *g = s->graph;
    int n = 0;
    if (!place.grad) {
        int op = g->tensors[place.tensor].producer;
        return add_sources(s, op, hp_operand_of(&g->ops[op], place.tensor), place, who, 0);
    }
    for (int u = g->use_start[place.tensor]; u < g->use_start[place.tensor + 1]; u++)
        if (hp_op_trained(g, &g->ops[g->use[u].op]))
            n = add_sources(s, g->use[u].op, g->use[u].operand, place, who, n);
    return n;
}

/* A reader in the backward half reads the repeated value if there is one. */
static int add_reader(const struct lowering *s, int op, int o, struct place place,
                      struct reader *who, int n)
{
    const struct nest *nest = s->graph->ops[op].nest;
    struct reader r = { .op = op, .operand = o, .only_adds = true };
    bool later = !place.grad && hp_reads_again(s, op, place.tensor);
    bool resend = s->plan->ops[op].resend && !s->plan->ops[op].recompute;
    for (int p = 0; p < nest->n_passes; p++) {
        operand_set read = place.grad ? nest->pass[p].reads_grad : hp_values_read(s, op, p);
        bool first = (nest->pass[p].backward ? place.again == later : !place.again) &&
                     s->training.passes[op] >> p & 1;
        bool again = !resend && place.again == later && s->training.again[op] >> p & 1;
        if (!(read >> o & 1) || !(first || again))
            continue;
        r.passes |= (uint32_t)first << p;
        r.again |= (uint32_t)(again && !place.grad) << p;
        r.only_adds &= (nest->pass[p].adds >> o & 1) != 0;
    }
    if (r.passes | r.again)
        who[n++] = r;
    return n;
}

/* The readers of a place. A value is read by its users, and perhaps by later passes of its
 * producer; a gradient by the producer's backward passes. */
static int readers_of(const struct lowering *s, struct place place, struct reader *who)
{
    const struct hypar_graph *g = s->graph;
    int n = 0, producer = g->tensors[place.tensor].producer;
    if (producer >= 0)
        n = add_reader(s, producer, hp_operand_of(&g->ops[producer], place.tensor), place, who,
                       n);
    for (int u = g->use_start[place.tensor]; !place.grad && u < g->use_start[place.tensor + 1];
         u++)
        n = add_reader(s, g->use[u].op, g->use[u].operand, place, who, n);
    return n;
}

struct some_passes hp_first_reads(const struct hypar_graph *graph, const struct reader *r)
{
    const struct nest *nest = graph->ops[r->op].nest;
    uint32_t forward = 0;
    for (int p = 0; p < nest->n_passes; p++)
        forward |= (uint32_t)!nest->pass[p].backward << p;
    if (r->passes & forward)
        return (struct some_passes){ .passes = r->passes & forward };
    return r->again ? (struct some_passes){ .again = r->again }
                    : (struct some_passes){ .passes = r->passes };
}

int hp_last_forward_pass(const struct lowering *s, int op)
{
    const struct nest *nest = s->graph->ops[op].nest;
    int last = 0;
    for (int p = 0; p < nest->n_passes; p++)
        last = nest->pass[p].backward ? last : p;
    return s->training.op_pass_of[op][last];
}

/* Building ----------------------------------------------------------------------------- */

/* A parameter is gathered before the first passes of a half that read it. All parameters that
 * one operator needs have the same number, counted within its stage. */
struct gathering {
    int tensor, stage, number;
    struct visit first;
    int exchange; /* -1: not yet */
};

struct builder {
    struct lowering *s;
    int item_capacity, pass_capacity, exchange_capacity;
    struct gathering *gathering; /* in the order of use, the forward half first */
    int n_gatherings, gathering_capacity;
    int *layer_of; /* by operator, where layers are gathered together; -1: none. Else NULL */
    int *layer;    /* by stage: that of the last gathering of this half; -1 */
};

static void add_item(struct builder *b, bool is_pass, int index)
{
    struct training_graph *k = &b->s->training;
    k->item = GROW(&b->s->arena, struct item, k->item, k->n_items, &b->item_capacity);
    k->item[k->n_items++] = (struct item){ is_pass, index };
}

/* Does a pass write only gradients of parameters, so that no other pass waits for it, and does
 * moving it pay? Passes of norms and biases are not: moving them would keep errors longer than
 * the passes take. */
static bool is_gradient(const struct hypar_graph *g, int op, int pass)
{
    const struct op *o = &g->ops[op];
    const struct pass *p = &o->nest->pass[pass];
    bool any = false;
    for (int i = 0; i < o->nest->n_operands; i++) {
        if (!(p->writes_grad >> i & 1) || o->tensor[i] < 0)
            continue;
        if (g->tensors[o->tensor[i]].kind == TENSOR_PARAM)
            any = true;
        else if (g->tensors[o->tensor[i]].needs_grad)
            return false;
    }
    return any && !p->writes && hp_multiplies(o->nest);
}

static enum phase phase_of(const struct lowering *s, int op, int pass)
{
    if (!s->graph->ops[op].nest->pass[pass].backward)
        return PHASE_FORWARD;
    return s->iteration.apart && is_gradient(s->graph, op, pass) ? PHASE_GRADIENT
                                                                 : PHASE_BACKWARD;
}

static void add_pass(struct builder *b, int op, int pass, bool again)
{
    struct training_graph *k = &b->s->training;
    bool backward = again || b->s->graph->ops[op].nest->pass[pass].backward;
    k->op_pass =
        GROW(&b->s->arena, struct op_pass, k->op_pass, k->n_op_passes, &b->pass_capacity);
    bool resend = again && !b->s->plan->ops[op].recompute;
    enum phase phase = again ? PHASE_BACKWARD : phase_of(b->s, op, pass);
    k->op_pass[k->n_op_passes] =
        (struct op_pass){ op, pass, backward, again, resend, phase, k->n_items };
    (again ? k->again_of : k->op_pass_of)[op][pass] = k->n_op_passes;
    add_item(b, true, k->n_op_passes++);
}

static enum combine combine_of(const struct hypar_graph *g, struct place place)
{
    int producer = g->tensors[place.tensor].producer;
    if (place.grad || producer < 0)
        return COMBINE_SUM;
    const struct op *op = &g->ops[producer];
    return op->nest->operand[hp_operand_of(op, place.tensor)].combine;
}

static bool is_private(const struct lowering *s, int tensor)
{
    const struct tensor *t = &s->graph->tensors[tensor];
    return s->options.local_bn && t->kind == TENSOR_STAT &&
           s->graph->ops[t->producer].kind == OP_BATCH_NORM;
}

static int accesses_of(const struct exchange *x)
{
    return x->n_writers + x->n_holders + x->n_readers;
}

/* Append an exchange; its writers and readers are copied. */
static struct exchange *append_exchange(struct builder *b, struct exchange exchange)
{
    struct training_graph *k = &b->s->training;
    struct source *writer = NEW(&b->s->arena, struct source, exchange.n_writers);
    struct reader *reader = NEW(&b->s->arena, struct reader, exchange.n_readers);
    if (exchange.n_writers)
        memcpy(writer, exchange.writer, (size_t)exchange.n_writers * sizeof *writer);
    if (exchange.n_readers)
        memcpy(reader, exchange.reader, (size_t)exchange.n_readers * sizeof *reader);
    exchange.writer = writer;
    exchange.reader = reader;
    struct reader *holder = NEW(&b->s->arena, struct reader, exchange.n_holders);
    if (exchange.n_holders)
        memcpy(holder, exchange.holder, (size_t)exchange.n_holders * sizeof *holder);
    exchange.holder = holder;
    int n = k->n_exchanges + k->n_tail;
    k->exchange = GROW(&b->s->arena, struct exchange, k->exchange, n, &b->exchange_capacity);
    k->exchange[n] = exchange;
    int accesses = accesses_of(&exchange);
    k->most_sides = accesses > k->most_sides ? accesses : k->most_sides;
    return &k->exchange[n];
}

static void add_exchange(struct builder *b, struct place place, bool backward)
{
    struct lowering *s = b->s;
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int most = most_sides(s->graph, place.tensor);
    struct source *writer = NEW(&s->scratch, struct source, most);
    struct reader *reader = NEW(&s->scratch, struct reader, most);
    append_exchange(b, (struct exchange){ .place = place,
                                          .combine = combine_of(s->graph, place),
                                          .backward = backward,
                                          .private = is_private(s, place.tensor),
                                          .n_writers = sources_of(s, place, writer),
                                          .n_readers = readers_of(s, place, reader),
                                          .writer = writer,
                                          .reader = reader,
                                          .item = s->training.n_items });
    if (!place.grad && !place.again)
        s->training.value_exchange[place.tensor] = s->training.n_exchanges;
    if (place.grad)
        s->training.error_exchange[place.tensor] = s->training.n_exchanges;
    add_item(b, false, s->training.n_exchanges++);
    hp_arena_release(&s->scratch, mark);
}

/* Divided parameters --------------------------------------------------------------------- */

/* All readers of a parameter, in any half. */
static int holders_of(const struct lowering *s, int tensor, struct reader *who)
{
    const struct hypar_graph *g = s->graph;
    int n = 0;
    for (int u = g->use_start[tensor]; u < g->use_start[tensor + 1]; u++) {
        struct reader both[2];
        int op = g->use[u].op, o = g->use[u].operand, k = 0;
        k = add_reader(s, op, o, (struct place){ .tensor = tensor }, both, k);
        if (s->training.shard[tensor] == HYPAR_SHARD_PARAMETERS)
            k = add_reader(s, op, o, (struct place){ .tensor = tensor, .again = true }, both,
                           k);
        if (!k)
            continue;
        who[n] = both[0];
        who[n].passes |= both[k - 1].passes;
        who[n].again |= both[k - 1].again;
        who[n++].only_adds &= both[k - 1].only_adds;
    }
    return n;
}

static void add_item_of_exchange(struct builder *b, struct exchange exchange)
{
    exchange.item = b->s->training.n_items;
    if (exchange.place.grad)
        b->s->training.error_exchange[exchange.place.tensor] = b->s->training.n_exchanges;
    append_exchange(b, exchange);
    add_item(b, false, b->s->training.n_exchanges++);
}

/* Gather a parameter for one half of a micro-batch. */
static void gather(struct builder *b, struct gathering *what)
{
    struct lowering *s = b->s;
    struct training_graph *k = &s->training;
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int most = most_sides(s->graph, what->tensor), ahead = hp_gathers_ahead(s->plan);
    struct reader *reader = NEW(&s->scratch, struct reader, most),
                  *holder = NEW(&s->scratch, struct reader, most);
    struct place place = { .tensor = what->tensor, .again = what->first.backward };
    int behind = -1;
    for (int i = 0; i < b->n_gatherings; i++)
        if (b->gathering[i].stage == what->stage &&
            b->gathering[i].number == what->number - ahead - 1)
            behind = b->gathering[i].exchange;
    k->gather_of[what->tensor][place.again] = k->n_exchanges;
    what->exchange = k->n_exchanges;
    add_item_of_exchange(
        b, (struct exchange){ .place = place,
                              .backward = place.again,
                              .n_readers = readers_of(s, place, reader),
                              .reader = reader,
                              .n_holders = holders_of(s, what->tensor, holder),
                              .holder = holder,
                              .division = DIVIDE_GATHER,
                              .over = hp_param_user(s->plan, what->tensor)->shard_over,
                              .first = what->first,
                              .behind = behind,
                              .turn = what->number });
    hp_arena_release(&s->scratch, mark);
}

/* Before the passes of an operator: gather the parameters that they read, and those that are to
 * be gathered ahead in the same half. */
static void gather_for(struct builder *b, const struct visit *visit)
{
    int number = -1, stage = b->s->schedule.stage_of_op[visit->op];
    for (int i = 0; i < b->n_gatherings; i++) {
        const struct visit *first = &b->gathering[i].first;
        if (first->op == visit->op && first->backward == visit->backward &&
            first->again == visit->again)
            number = b->gathering[i].number;
    }
    for (int i = 0; number >= 0 && i < b->n_gatherings; i++) {
        struct gathering *next = &b->gathering[i];
        if (next->exchange < 0 && next->stage == stage &&
            next->first.backward == visit->backward &&
            next->number <= number + hp_gathers_ahead(b->s->plan))
            gather(b, next);
    }
}

/* The gradient of a parameter goes to its owners after its last writer: the first operator that
 * uses the parameter. */
static void scatter_gradients(struct builder *b, int op)
{
    struct lowering *s = b->s;
    const struct op *o = &s->graph->ops[op];
    for (int i = 0; i < o->nest->n_inputs; i++) {
        int t = o->tensor[i];
        if (t < 0 || !s->graph->tensors[t].needs_grad ||
            s->training.shard[t] < HYPAR_SHARD_GRADIENTS)
            continue;
        struct arena_mark mark = hp_arena_mark(&s->scratch);
        int most = most_sides(s->graph, t);
        struct source *writer = NEW(&s->scratch, struct source, most);
        struct reader *holder = NEW(&s->scratch, struct reader, most);
        struct place place = { .tensor = t, .grad = true };
        int n = sources_of(s, place, writer), first = n ? writer[0].op : -1, operand = -1;
        for (int w = 0; w < n; w++) {
            first = writer[w].op < first ? writer[w].op : first;
            operand = writer[w].op == op && operand < 0 ? writer[w].operand : operand;
        }
        if (first == op && operand == i)
            add_item_of_exchange(
                b, (struct exchange){ .place = place,
                                      .backward = true,
                                      .n_writers = n,
                                      .writer = writer,
                                      .n_holders = holders_of(s, t, holder),
                                      .holder = holder,
                                      .division = DIVIDE_SUM,
                                      .over = hp_param_user(s->plan, t)->shard_over });
        hp_arena_release(&s->scratch, mark);
    }
}

/* Do some of these passes of an operator read operand `o`? */
static bool reads_operand(const struct lowering *s, int op, uint32_t passes, bool backward,
                          int o)
{
    const struct nest *nest = s->graph->ops[op].nest;
    for (int p = 0; p < nest->n_passes; p++)
        if (passes >> p & 1 && nest->pass[p].backward == backward &&
            hp_values_read(s, op, p) >> o & 1)
            return true;
    return false;
}

/* Is the operator in the layer that was gathered last? Then its parameters were gathered with
 * that layer. */
static bool joins_layer(struct builder *b, int stage, int op)
{
    int layer = b->layer_of ? b->layer_of[op] : -1, before = b->layer ? b->layer[stage] : -1;
    if (b->layer)
        b->layer[stage] = layer;
    return layer >= 0 && layer == before;
}

static void find_layers(struct builder *b)
{
    struct lowering *s = b->s;
    if (s->plan->simulation.framework.prefetch == 0)
        return;
    b->layer_of = hp_find_layers(s->graph, &s->arena);
    b->layer = NEW(&s->arena, int, s->schedule.n_stages + 1);
}

static void begin_half(struct builder *b)
{
    for (int stage = 0; b->layer && stage <= b->s->schedule.n_stages; stage++)
        b->layer[stage] = -1;
}

static void list_gatherings(struct builder *b, struct visit visit, bool *seen, int *count)
{
    struct lowering *s = b->s;
    const struct op *o = &s->graph->ops[visit.op];
    uint32_t passes = visit.again ? s->training.again[visit.op] : s->training.passes[visit.op];
    int stage = s->schedule.stage_of_op[visit.op], number = -1;
    for (int i = 0; i < o->nest->n_inputs; i++) {
        int t = o->tensor[i];
        if (t < 0 || s->training.shard[t] != HYPAR_SHARD_PARAMETERS || seen[t] ||
            !reads_operand(s, visit.op, passes, visit.backward && !visit.again, i))
            continue;
        seen[t] = true;
        if (number < 0)
            number = joins_layer(b, stage, visit.op) ? count[stage] - 1 : count[stage]++;
        b->gathering = GROW(&s->arena, struct gathering, b->gathering, b->n_gatherings,
                            &b->gathering_capacity);
        b->gathering[b->n_gatherings++] = (struct gathering){ t, stage, number, visit, -1 };
    }
}

/* The parameters to gather in each half, in the order of use. */
static void find_gatherings(struct builder *b)
{
    struct lowering *s = b->s;
    const struct hypar_graph *g = s->graph;
    const struct training_graph *k = &s->training;
    bool *seen = NEW(&s->arena, bool, g->n_tensors);
    int *count = NEW(&s->arena, int, s->schedule.n_stages + 1);
    find_layers(b);
    begin_half(b);
    for (int op = 0; op < g->n_ops; op++)
        list_gatherings(b, (struct visit){ .op = op }, seen, count);
    begin_half(b);
    memset(seen, 0, (size_t)g->n_tensors * sizeof *seen);
    for (int op = g->n_ops - 1; op >= 0 && !s->options.forward; op--) {
        if (!hp_op_trained(g, &g->ops[op]))
            continue;
        for (int from = k->again_first[op]; from >= 0; from = k->again_next[from])
            list_gatherings(b, (struct visit){ from, true, true }, seen, count);
        list_gatherings(b, (struct visit){ op, true, false }, seen, count);
    }
}

/* Find the sharding of each parameter. Without a backward half only that of the parameter
 * itself matters. */
static void find_shards(struct lowering *s)
{
    const struct hypar_graph *g = s->graph;
    s->training.shard = NEW(&s->arena, unsigned char, g->n_tensors);
    s->training.gather_of = (int(*)[2])NEW(&s->arena, int, 2 * g->n_tensors);
    memset(s->training.gather_of, -1, (size_t)g->n_tensors * sizeof *s->training.gather_of);
    for (int t = 0; t < g->n_tensors; t++) {
        if (g->tensors[t].kind != TENSOR_PARAM || g->use_start[t] == g->use_start[t + 1])
            continue;
        enum hypar_shard shard = hp_param_shard(s->plan, t);
        bool used = shard == HYPAR_SHARD_PARAMETERS || !s->options.forward;
        s->training.shard[t] = (unsigned char)(used ? shard : HYPAR_SHARD_NONE);
    }
}

/* The passes of one half of an operator, each followed by the exchanges of its outputs. */
static void add_passes(struct builder *b, int op, uint32_t passes, bool backward, bool again)
{
    const struct lowering *s = b->s;
    const struct op *o = &s->graph->ops[op];
    gather_for(b, &(struct visit){ op, backward, again });
    for (int p = 0; p < o->nest->n_passes; p++) {
        const struct pass *pass = &o->nest->pass[p];
        if (pass->backward != (backward && !again) || !(passes >> p & 1))
            continue;
        add_pass(b, op, p, again);
        for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++)
            if (pass->writes >> i & 1 && o->tensor[i] != s->graph->loss &&
                (!again || s->training.has_again[o->tensor[i]]))
                add_exchange(b, (struct place){ .tensor = o->tensor[i], .again = again },
                             backward);
    }
}

/* The regions that are repeated before the backward passes of `op`. */
static void add_again(struct builder *b, int op)
{
    const struct training_graph *k = &b->s->training;
    for (int from = k->again_first[op]; from >= 0; from = k->again_next[from])
        add_passes(b, from, k->again[from], true, true);
}

static void add_op(struct builder *b, int op, bool backward)
{
    const struct lowering *s = b->s;
    const struct op *o = &s->graph->ops[op];
    for (int i = o->nest->n_inputs; backward && i < o->nest->n_operands; i++) {
        int t = o->tensor[i];
        bool settles =
            o->nest->operand[i].role == OPERAND_OUTPUT && s->graph->tensors[t].needs_grad;
        if (settles && t != s->graph->loss) /* the loss's own gradient is 1 everywhere */
            add_exchange(b, (struct place){ .tensor = t, .grad = true }, true);
    }
    if (backward)
        add_again(b, op);
    add_passes(b, op, s->training.passes[op], backward, false);
    if (backward)
        scatter_gradients(b, op);
}

/* Trained parameters by their first use, the last one first: the backward half reaches it
 * first. */
static int order_params(const struct lowering *s, int *param)
{
    const struct hypar_graph *g = s->graph;
    int n = 0;
    for (int op = g->n_ops - 1; op >= 0; op--)
        for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
            int t = g->ops[op].tensor[o];
            if (t >= 0 && g->tensors[t].kind == TENSOR_PARAM && g->tensors[t].needs_grad &&
                g->use[g->use_start[t]].op == op && g->use[g->use_start[t]].operand == o)
                param[n++] = t;
        }
    return n;
}

static void append_tail(struct builder *b, struct exchange exchange)
{
    exchange.backward = true;
    exchange.item = b->s->training.n_tail;
    append_exchange(b, exchange);
    b->s->training.n_tail++;
}

/* The exchange that sums a place over bodies for `reader`. */
static void add_sum(struct builder *b, struct place place, struct reader *reader, int n_readers)
{
    struct lowering *s = b->s;
    struct source *writer = NEW(&s->scratch, struct source, most_sides(s->graph, place.tensor));
    struct exchange sum = { .place = place,
                            .n_writers = sources_of(s, place, writer),
                            .n_readers = n_readers,
                            .writer = writer,
                            .reader = reader };
    int shard = place.grad ? s->training.shard[place.tensor] : HYPAR_SHARD_NONE;
    if (shard) {
        sum.division = shard > HYPAR_SHARD_OPTIMIZER ? DIVIDE_OWNED : DIVIDE_SUM;
        sum.over = hp_param_user(s->plan, place.tensor)->shard_over;
        sum.sum = s->training.error_exchange[place.tensor];
    }
    append_tail(b, sum);
}

/* Every device that has a part of the loss receives the loss. */
static void add_loss(struct builder *b)
{
    struct lowering *s = b->s;
    struct place loss = { .tensor = s->graph->loss, .grad = false };
    int most = most_sides(s->graph, loss.tensor);
    struct source *writer = NEW(&s->scratch, struct source, most);
    struct reader *reader = NEW(&s->scratch, struct reader, most);
    int n = sources_of(s, loss, writer);
    for (int w = 0; w < n; w++)
        reader[w] = (struct reader){ .op = writer[w].op, .operand = writer[w].operand };
    add_sum(b, loss, reader, n);
}

/* A divided parameter goes from its owners, which have updated it, to its other holders. */
static void add_gather(struct builder *b, int sum)
{
    struct exchange from = b->s->training.exchange[sum];
    append_tail(b, (struct exchange){ .place = { .tensor = from.place.tensor },
                                      .n_readers = from.n_readers,
                                      .reader = from.reader,
                                      .n_holders = from.n_readers,
                                      .holder = from.reader,
                                      .division = DIVIDE_GATHER,
                                      .over = from.over,
                                      .sum = sum });
}

/* The exchanges of the tail: the loss; the gradients, for everyone who holds the parameter;
 * their norm, which no pass reads (norm.c); and, after the updates, divided parameters. */
static void add_tail(struct builder *b)
{
    struct lowering *s = b->s;
    const struct hypar_graph *g = s->graph;
    struct training_graph *k = &s->training;
    int *param = NEW(&s->scratch, int, g->n_tensors);
    int n_params = s->options.forward ? 0 : order_params(s, param);
    add_loss(b);
    for (int i = 0; i < n_params; i++) {
        struct reader *reader = NEW(&s->scratch, struct reader, most_sides(g, param[i]));
        int n = holders_of(s, param[i], reader);
        add_sum(b, (struct place){ .tensor = param[i], .grad = true }, reader, n);
    }
    k->norm = -1;
    if (s->plan->clip > 0 && !s->options.forward) {
        k->norm = k->n_exchanges + k->n_tail;
        append_tail(b, (struct exchange){ .place = { .tensor = g->loss, .grad = true } });
    }
    k->n_sums = k->n_tail;
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_sums; d++)
        if (k->exchange[d].division != DIVIDE_NOT &&
            k->shard[k->exchange[d].place.tensor] != HYPAR_SHARD_PARAMETERS)
            add_gather(b, d);
}

/* The exchanges that each pass waits for. */
static void find_ports(struct lowering *s)
{
    struct training_graph *k = &s->training;
    k->input_start = NEW(&s->arena, int, k->n_op_passes + 2);
    for (int fill = 0; fill < 2; fill++) {
        for (int d = 0; d < k->n_exchanges; d++)
            for (int r = 0; r < k->exchange[d].n_readers; r++) {
                const struct reader *reader = &k->exchange[d].reader[r];
                struct some_passes reads = hp_first_reads(s->graph, reader);
                for (int p = 0; (reads.passes | reads.again) >> p; p++) {
                    int op_pass = -1;
                    if ((reads.passes | reads.again) >> p & 1)
                        op_pass = hp_op_pass(k, reader->op, p, reads.again >> p & 1);
                    if (op_pass >= 0 && !fill)
                        hp_csr_count(k->input_start, op_pass);
                    else if (op_pass >= 0)
                        k->input[hp_csr_place(k->input_start, op_pass)] =
                            (struct pass_input){ d, r };
                }
            }
        if (!fill)
            hp_csr_sum(k->input_start, k->n_op_passes);
        if (!fill)
            k->input = NEW(&s->arena, struct pass_input, k->input_start[k->n_op_passes + 1]);
    }
}

static int op_of_access(const struct exchange *x, int i)
{
    int holder = i - x->n_writers, reader = holder - x->n_holders;
    return holder < 0   ? x->writer[i].op
           : reader < 0 ? x->holder[holder].op
                        : x->reader[reader].op;
}

/* The exchanges that each operator accesses. */
static void find_touched(struct lowering *s)
{
    struct training_graph *k = &s->training;
    int *last = NEW(&s->scratch, int, s->graph->n_ops);
    struct csr accessed = { .arena = &s->arena, .n_keys = s->graph->n_ops };
    while (hp_csr_pass(&accessed)) {
        memset(last, -1, (size_t)s->graph->n_ops * sizeof *last);
        for (int d = 0; d < k->n_exchanges + k->n_tail; d++)
            for (int i = 0; i < accesses_of(&k->exchange[d]); i++) {
                int op = op_of_access(&k->exchange[d], i);
                if (last[op] == d)
                    continue;
                last[op] = d;
                hp_csr_put(&accessed, op, d);
            }
    }
    k->access_start = accessed.start;
    k->accessed = accessed.item;
}

static void find_leaving(struct lowering *s)
{
    struct training_graph *k = &s->training;
    const int *stage = s->schedule.stage_of_op;
    int capacity = 0;
    for (int d = 0; !s->iteration.delayed && d < k->n_exchanges; d++) {
        const struct exchange *x = &k->exchange[d];
        int to = x->place.grad ? s->graph->tensors[x->place.tensor].producer : -1;
        for (int w = 0, last = -1; to >= 0 && w < x->n_writers; w++) {
            int from = stage[x->writer[w].op];
            if (from == stage[to] || from == last)
                continue;
            last = from;
            k->leaving = GROW(&s->arena, struct leaving, k->leaving, k->n_leaving, &capacity);
            k->leaving[k->n_leaving++] = (struct leaving){ d, from };
        }
    }
}

void hp_make_training_graph(struct lowering *s)
{
    const struct hypar_graph *g = s->graph;
    struct training_graph *k = &s->training;
    struct builder b = { .s = s };
    k->op_pass_of = (int(*)[MAX_PASSES])NEW(&s->arena, int, g->n_ops *MAX_PASSES);
    k->again_of = (int(*)[MAX_PASSES])NEW(&s->arena, int, g->n_ops *MAX_PASSES);
    memset(k->op_pass_of, -1, (size_t)g->n_ops * sizeof *k->op_pass_of);
    memset(k->again_of, -1, (size_t)g->n_ops * sizeof *k->again_of);
    find_shards(s);
    hp_find_recomputed(s);
    find_gatherings(&b);
    k->value_exchange = NEW(&s->arena, int, g->n_tensors);
    memset(k->value_exchange, -1, (size_t)g->n_tensors * sizeof *k->value_exchange);
    k->error_exchange = NEW(&s->arena, int, g->n_tensors);
    memset(k->error_exchange, -1, (size_t)g->n_tensors * sizeof *k->error_exchange);
    for (int op = 0; op < g->n_ops; op++)
        add_op(&b, op, false);
    for (int op = g->n_ops - 1; op >= 0 && !s->options.forward; op--)
        if (hp_op_trained(g, &g->ops[op]))
            add_op(&b, op, true);
    add_tail(&b);
    find_ports(s);
    find_touched(s);
    find_leaving(s);
}
