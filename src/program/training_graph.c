/* The training graph: passes and exchanges, in the order of task numbers. */
#include <string.h>

#include "base/csr.h"
#include "program/lowering.h"

/* The operand of its producer that tensor `t` is. */
static int operand_of(const struct op *op, int t)
{
    int o = 0;
    while (op->tensor[o] != t)
        o++;
    return o;
}

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

/* A value is written by its producer, a gradient by all who read the value. */
static int sources_of(const struct lowering *s, struct place place, struct source *who)
{
    const struct hypar_graph *g = s->graph;
    int n = 0;
    if (!place.grad) {
        int op = g->tensors[place.tensor].producer;
        return add_sources(s, op, operand_of(&g->ops[op], place.tensor), place, who, 0);
    }
    for (int u = g->use_start[place.tensor]; u < g->use_start[place.tensor + 1]; u++)
        if (hp_op_trained(g, &g->ops[g->use[u].op]))
            n = add_sources(s, g->use[u].op, g->use[u].operand, place, who, n);
    return n;
}

/* In the backward half a value is read where it was computed again, if it was. */
static int add_reader(const struct lowering *s, int op, int o, struct place place,
                      struct reader *who, int n)
{
    const struct nest *nest = s->graph->ops[op].nest;
    struct reader r = { .op = op, .operand = o, .only_adds = true };
    bool later = !place.grad && hp_reads_again(s, op, place.tensor);
    bool resend = s->plan->ops[op].resend && !s->plan->ops[op].recompute;
    for (int p = 0; p < nest->n_passes; p++) {
        operand_set read = place.grad ? nest->pass[p].reads_grad : nest->pass[p].reads;
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

/* A value is read by its users and, perhaps, by its producer's later passes; a gradient by the
 * producer's backward passes. */
static int readers_of(const struct lowering *s, struct place place, struct reader *who)
{
    const struct hypar_graph *g = s->graph;
    int n = 0, producer = g->tensors[place.tensor].producer;
    if (producer >= 0)
        n = add_reader(s, producer, operand_of(&g->ops[producer], place.tensor), place, who, n);
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

struct builder {
    struct lowering *s;
    int item_capacity, pass_capacity, exchange_capacity;
};

static void add_item(struct builder *b, bool is_pass, int index)
{
    struct training_graph *k = &b->s->training;
    k->item = GROW(&b->s->arena, struct item, k->item, k->n_items, &b->item_capacity);
    k->item[k->n_items++] = (struct item){ is_pass, index };
}

/* Passes that write gradients of parameters and nothing else, so that no other pass waits for
 * them, and are worth to be moved: those of norms and biases alone would keep errors longer
 * than they take. */
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
    return op->nest->operand[operand_of(op, place.tensor)].combine;
}

static bool is_private(const struct lowering *s, int tensor)
{
    const struct tensor *t = &s->graph->tensors[tensor];
    return s->options.local_bn && t->kind == TENSOR_STAT &&
           s->graph->ops[t->producer].kind == OP_BATCH_NORM;
}

/* Append an exchange with these writers and readers, which are copied. */
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
    int n = k->n_exchanges + k->n_tail;
    k->exchange = GROW(&b->s->arena, struct exchange, k->exchange, n, &b->exchange_capacity);
    k->exchange[n] = exchange;
    int accesses = exchange.n_writers + exchange.n_readers;
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

/* Passes of one half, each followed by what it writes. */
static void add_passes(struct builder *b, int op, uint32_t passes, bool backward, bool again)
{
    const struct lowering *s = b->s;
    const struct op *o = &s->graph->ops[op];
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

/* The regions that are computed again before the backward passes of `op`. */
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
}

/* Trained parameters by their first use, the last one first: backward comes to it last. */
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

/* The loss, which everyone who has a part of it is told; then the parameters' gradients, which
 * whoever reads the parameter wants in order to keep it up to date; and last their norm, which
 * no pass reads (norm.c). */
static void add_tail(struct builder *b)
{
    struct lowering *s = b->s;
    const struct hypar_graph *g = s->graph;
    int *param = NEW(&s->scratch, int, g->n_tensors);
    int n_params = s->options.forward ? 0 : order_params(s, param);
    for (int i = -1; i < n_params; i++) {
        struct place place = { .tensor = i < 0 ? g->loss : param[i], .grad = i >= 0 };
        int most = most_sides(g, place.tensor);
        struct source *writer = NEW(&s->scratch, struct source, most);
        struct reader *reader = NEW(&s->scratch, struct reader, most);
        struct exchange exchange = { .place = place,
                                     .backward = true,
                                     .n_writers = sources_of(s, place, writer),
                                     .writer = writer,
                                     .reader = reader,
                                     .item = i + 1 };
        if (place.grad)
            exchange.n_readers =
                readers_of(s, (struct place){ .tensor = place.tensor }, reader);
        for (int w = 0; !place.grad && w < exchange.n_writers; w++)
            reader[exchange.n_readers++] =
                (struct reader){ .op = writer[w].op, .operand = writer[w].operand };
        append_exchange(b, exchange);
        s->training.n_tail++;
    }
    s->training.norm = -1;
    if (s->plan->clip <= 0 || s->options.forward)
        return;
    append_exchange(b, (struct exchange){ .place = { .tensor = g->loss, .grad = true },
                                          .backward = true,
                                          .item = s->training.n_tail });
    s->training.norm = s->training.n_exchanges + s->training.n_tail++;
}

/* What each pass waits for. */
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

/* The exchanges of each operator. */
static void find_touched(struct lowering *s)
{
    struct training_graph *k = &s->training;
    int *last = NEW(&s->scratch, int, s->graph->n_ops);
    k->access_start = NEW(&s->arena, int, s->graph->n_ops + 2);
    for (int fill = 0; fill < 2; fill++) {
        memset(last, -1, (size_t)s->graph->n_ops * sizeof *last);
        for (int d = 0; d < k->n_exchanges + k->n_tail; d++)
            for (int i = 0; i < k->exchange[d].n_writers + k->exchange[d].n_readers; i++) {
                int w = i - k->exchange[d].n_writers;
                int op = w < 0 ? k->exchange[d].writer[i].op : k->exchange[d].reader[w].op;
                if (last[op] == d)
                    continue;
                last[op] = d;
                if (!fill)
                    hp_csr_count(k->access_start, op);
                else
                    k->accessed[hp_csr_place(k->access_start, op)] = d;
            }
        if (!fill)
            hp_csr_sum(k->access_start, s->graph->n_ops);
        if (!fill)
            k->accessed = NEW(&s->arena, int, k->access_start[s->graph->n_ops + 1]);
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
    hp_find_recomputed(s);
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
}
