/* The edges of a program: the predecessors of each block's tasks. Compute tasks, exchanges and
 * updates each have their own rules; all edges are written here and nowhere else. */
#include "base/csr.h"
#include "program/blocks.h"

#include <string.h>

static void add_edge(struct blocks *s, int local, int after)
{
    s->edge = GROW(&s->arena, struct edge, s->edge, s->n_edges, &s->edge_capacity);
    s->edge[s->n_edges++] = (struct edge){ local, after };
}

static void wait_for_part(struct blocks *s, int local, int b, int op_pass, int part)
{
    int id = hp_part_task(s, b, op_pass, part);
    if (id >= 0)
        add_edge(s, local, id);
}

/* The same for parts of the tail, in every body that has the part. */
static void wait_for_bodies(struct blocks *s, int local, const struct source *from, int part)
{
    int op_pass = hp_source_pass(&s->lowering->training, from);
    for (int b = 0; b < s->lowering->n_bodies; b++) {
        int live = hp_live_part(s->lowering, from->op, part, b);
        if (live >= 0)
            wait_for_part(s, local, b, op_pass, live);
    }
}

/* Task `local` waits for the squares that `device` adds up. */
static void wait_for_squares(struct blocks *s, int local, int device)
{
    add_edge(s, local, s->first[hp_norm_block(s)] + s->lowering->norm.of_device[device]);
}

/* Task `local` waits for the contributions of the parts on `device` to a comm. */
static void wait_for_feeds(struct blocks *s, int local, int b, int exchange, int comm,
                           int device)
{
    const struct training_graph *k = &s->lowering->training;
    const struct pattern *p = hp_exchange_pattern(s->lowering, b, exchange);
    bool tail = exchange >= k->n_exchanges;
    if (exchange == k->norm) {
        wait_for_squares(s, local, device);
        return;
    }
    if (k->exchange[exchange].division == DIVIDE_GATHER)
        return; /* the owner has it from the start */
    for (int i = p->comm_feed[comm]; i < p->comm_feed[comm + 1]; i++) {
        const struct source *from = &k->exchange[exchange].writer[p->feed[i].writer];
        int op_pass = hp_source_pass(k, from), part = p->feed[i].part;
        const struct op_parts *parts =
            tail ? s->lowering->tail_parts[from->op] : hp_pass_parts(s, b, op_pass);
        if (parts->device[part] != device)
            continue;
        if (tail)
            wait_for_bodies(s, local, from, part);
        else
            wait_for_part(s, local, b, op_pass, part);
    }
}

/* The messages of a comm; NULL: the comm is one task. */
static const struct comm_messages *messages_of(const struct blocks *s, int b, int exchange,
                                               int comm)
{
    return s->expand ? &s->expand(s->who, b, exchange)[comm] : NULL;
}

/* Task `local` needs on `device` the result of a comm: it waits for the comm's only task, or
 * for all messages to the device and for contributions that lie there already. */
static void wait_for_comm(struct blocks *s, int local, int b, int exchange, int comm,
                          int device)
{
    const struct comm_messages *m = messages_of(s, b, exchange, comm);
    int first = s->first[hp_exchange_block(s, b, exchange)] + (m ? m->first : comm);
    if (!m || !m->list) {
        add_edge(s, local, first);
        return;
    }
    int place =
        hp_comm_index(&hp_exchange_pattern(s->lowering, b, exchange)->comm[comm], device);
    for (int i = m->arrive_start[place]; i < m->arrive_start[place + 1]; i++)
        add_edge(s, local, first + m->arrive[i]);
    wait_for_feeds(s, local, b, exchange, comm, device);
}

/* Computing ---------------------------------------------------------------------------- */

/* Does the error of a part depend on the part's own forward pass? It does if the readers'
 * forward passes read the part's output itself, and not a copy: their backward passes follow
 * these. */
static bool comes_after_forward(const struct blocks *s, int b, int op)
{
    const struct training_graph *k = &s->lowering->training;
    const struct op *o = &s->lowering->graph->ops[op];
    bool any = false;
    for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++) {
        int t = o->tensor[i], d = t >= 0 ? k->value_exchange[t] : -1;
        if (o->nest->operand[i].role != OPERAND_OUTPUT || d < 0)
            continue;
        any = true;
        if (s->lowering->body[b].pattern[d]->copied)
            return false;
    }
    return any;
}

/* A backward pass follows the forward pass of the same part. Mostly other edges imply this. */
static void forward_edges(struct blocks *s, int b, int group)
{
    const struct training_graph *k = &s->lowering->training;
    const struct op_parts *parts = hp_pass_parts(s, b, group);
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    bool *waits =
        NEW(&s->scratch, bool, parts->n_live); /* by live part: it waits for an error */
    for (int i = k->input_start[group]; i < k->input_start[group + 1]; i++) {
        int d = k->input[i].exchange, r = k->input[i].reader;
        const struct pattern *p = s->lowering->body[b].pattern[d];
        for (int w = p->reader_wait[r]; k->exchange[d].place.grad && w < p->reader_wait[r + 1];
             w++)
            waits[parts->rank[p->wait[w].part]] = true;
    }
    for (int op_pass = group; op_pass >= 0; op_pass = s->next[b][op_pass]) {
        const struct op_pass *at = &k->op_pass[op_pass];
        int forward = hp_last_forward_pass(s->lowering, at->op);
        bool implied = !at->again && comes_after_forward(s, b, at->op);
        for (int part = 0; part < parts->n_parts; part++)
            if (!parts->empty[part] && !(implied && waits[parts->rank[part]]))
                wait_for_part(s, parts->rank[part], b, forward, part);
        for (int p = 0; !at->again && k->again[at->op] >> p; p++) {
            int again = k->again_of[at->op][p];
            bool other = again >= 0 && s->head[b][again] != group;
            for (int part = 0; other && part < parts->n_parts; part++)
                if (!parts->empty[part])
                    wait_for_part(s, parts->rank[part], b, again, part);
        }
    }
    hp_arena_release(&s->scratch, mark);
}

/* Task `local` waits for everything that part `w->part` of a reader of exchange `d` waits
 * for. */
static void wait_for(struct blocks *s, int local, int b, int d, const struct wait *w)
{
    const struct exchange *exchange = &s->lowering->training.exchange[d];
    int op = exchange->reader[w->reader].op;
    if (w->comm >= 0)
        wait_for_comm(s, local, b, d, w->comm, s->lowering->body[b].parts[op]->device[w->part]);
    else
        wait_for_part(s, local, b,
                      hp_source_pass(&s->lowering->training, &exchange->writer[w->writer]),
                      w->writer_part);
}

/* The parts on each device: the first, and the next of each, plus 1; 0: there is none. */
struct device_parts {
    int *first, *next;
};

static struct device_parts parts_by_device(struct blocks *s, const struct op_parts *parts)
{
    int n_devices = hypar_machine_device_count(s->lowering->plan->machine);
    struct device_parts on = { NEW(&s->scratch, int, n_devices),
                               NEW(&s->scratch, int, parts->n_parts) };
    for (int part = 0; part < parts->n_parts; part++)
        if (!parts->empty[part]) {
            on.next[part] = on.first[parts->device[part]];
            on.first[parts->device[part]] = part + 1;
        }
    return on;
}

/* A value that is sent again is on the devices whose parts wrote it; some of these parts may
 * have computed copies. */
static void kept_edges(struct blocks *s, int b, int group)
{
    const struct op_parts *parts = hp_pass_parts(s, b, group);
    const struct op_pass *at = &s->lowering->training.op_pass[group];
    int forward = s->lowering->training.op_pass_of[at->op][at->pass];
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    struct device_parts on = parts_by_device(s, parts);
    for (int part = 0; part < parts->n_parts; part++)
        for (int from = on.first[parts->device[part]]; !parts->empty[part] && from > 0;
             from = on.next[from - 1])
            wait_for_part(s, parts->rank[part], b, forward, from - 1);
    hp_arena_release(&s->scratch, mark);
}

/* A repeated pass waits for the first error that enters its region on the same device: the
 * error of the operator that needs the result first. Otherwise all layers would be repeated as
 * soon as the backward half begins. */
static void error_edges(struct blocks *s, int b, int group)
{
    const struct training_graph *k = &s->lowering->training;
    const struct op_parts *parts = hp_pass_parts(s, b, group);
    int op = k->again_before[k->op_pass[group].op];
    const struct op_parts *theirs = s->lowering->body[b].parts[op];
    const struct op *o = &s->lowering->graph->ops[op];
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    struct device_parts on = parts_by_device(s, parts);
    for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++) {
        int d = o->tensor[i] < 0 ? -1 : k->error_exchange[o->tensor[i]];
        const struct pattern *p = d < 0 ? NULL : s->lowering->body[b].pattern[d];
        for (int w = 0; p && w < p->n_waits; w++)
            for (int at = on.first[theirs->device[p->wait[w].part]]; at > 0;
                 at = on.next[at - 1])
                wait_for(s, parts->rank[at - 1], b, d, &p->wait[w]);
    }
    hp_arena_release(&s->scratch, mark);
}

static void compute_edges(struct blocks *s, int b, int group)
{
    const struct training_graph *k = &s->lowering->training;
    const struct op_parts *parts = hp_pass_parts(s, b, group);
    for (int op_pass = group; op_pass >= 0; op_pass = s->next[b][op_pass])
        for (int i = k->input_start[op_pass]; i < k->input_start[op_pass + 1]; i++) {
            int d = k->input[i].exchange, r = k->input[i].reader;
            const struct pattern *p = s->lowering->body[b].pattern[d];
            if (op_pass != group && k->exchange[d].division != DIVIDE_GATHER)
                continue; /* the passes before it write this */
            for (int w = p->reader_wait[r]; w < p->reader_wait[r + 1]; w++)
                wait_for(s, parts->rank[p->wait[w].part], b, d, &p->wait[w]);
        }
    if (k->op_pass[group].backward)
        forward_edges(s, b, group);
    if (k->op_pass[group].again)
        error_edges(s, b, group);
    if (k->op_pass[group].resend)
        kept_edges(s, b, group);
}

/* Exchanges ---------------------------------------------------------------------------- */

/* Add the contributions to a comm of an exchange. The comm is run by task `local` or by the
 * messages `m`: its own, or those of the first comm of its bucket, which has the same
 * devices. */
static void feed_comm(struct blocks *s, int body, int exchange, int comm, int local,
                      const struct comm_messages *m)
{
    const struct training_graph *k = &s->lowering->training;
    const struct pattern *p = hp_exchange_pattern(s->lowering, body, exchange);
    bool expanded = m && m->list;
    for (int i = p->comm_feed[comm]; i < p->comm_feed[comm + 1]; i++) {
        const struct source *from = &k->exchange[exchange].writer[p->feed[i].writer];
        int op_pass = hp_source_pass(k, from), part = p->feed[i].part;
        if (exchange >= k->n_exchanges)
            part = hp_live_part(s->lowering, from->op, part, body);
        int id = part < 0 ? -1 : hp_part_task(s, body, op_pass, part);
        if (id >= 0 && !expanded)
            add_edge(s, local, id);
        if (id < 0 || !expanded)
            continue;
        int device = hp_pass_parts(s, body, op_pass)->device[part];
        int place = hp_comm_index(&p->comm[comm], device);
        for (int t = m->depart_start[place]; t < m->depart_start[place + 1]; t++)
            add_edge(s, local + m->depart[t], id);
    }
}

/* The first comm of a bucket waits for all contributions; each other comm waits for the
 * first. */
static void bucket_edges(struct blocks *s, int body, int exchange, int comm)
{
    const struct training_graph *k = &s->lowering->training;
    const struct buckets *b = &s->buckets;
    const struct comm_messages *m = messages_of(s, 0, exchange, comm);
    int me = b->base[exchange - k->n_exchanges] + comm, lead = b->lead[me];
    int local = m ? m->first : comm;
    for (int i = me; lead == me && i >= 0; i = b->next[i])
        feed_comm(s, body, k->n_exchanges + b->exchange[i], i - b->base[b->exchange[i]], local,
                  m);
    if (lead == me)
        return;
    int theirs = k->n_exchanges + b->exchange[lead], place = lead - b->base[b->exchange[lead]];
    const struct comm_messages *first = messages_of(s, 0, theirs, place);
    for (int t = 0; t < (first ? first->n : 1); t++)
        add_edge(s, local,
                 s->first[hp_exchange_block(s, 0, theirs)] + (first ? first->first : place) +
                     t);
}

/* The messages of a comm wait for one another. */
static void message_edges(struct blocks *s, int number, const struct comm_messages *m)
{
    for (int i = 0; m->list && i < m->n; i++)
        for (int a = 0; a < m->list[i].n_after; a++)
            add_edge(s, m->first + i, s->first[number] + m->first + m->list[i].after[a]);
}

/* The norm's only comm waits for the squares of every device. */
static void norm_feeds(struct blocks *s, int exchange)
{
    const struct comm_messages *m = messages_of(s, 0, exchange, 0);
    const struct comm *comm = hp_exchange_pattern(s->lowering, 0, exchange)->comm;
    for (int i = 0; i < s->lowering->norm.n; i++) {
        int device = s->lowering->norm.device[i], place = hp_comm_index(comm, device);
        if (!m || !m->list)
            wait_for_squares(s, 0, device);
        else
            for (int t = m->depart_start[place]; t < m->depart_start[place + 1]; t++)
                wait_for_squares(s, m->depart[t], device);
    }
}

/* A parameter that is gathered after the updates comes from the devices that updated it. */
static void gather_feeds(struct blocks *s, int exchange)
{
    const struct lowering *lowering = s->lowering;
    const struct exchange *what = &lowering->training.exchange[exchange];
    const struct pattern *p = hp_exchange_pattern(lowering, 0, exchange);
    const struct update_devices *updates = hp_update_devices(s->lowering, what->sum);
    int first = s->first[hp_update_block(s, what->sum)];
    for (int i = 0; i < p->n_feeds; i++) {
        const struct feed *feed = &p->feed[i];
        const struct op_parts *l = lowering->tail_parts[what->holder[feed->writer].op];
        const struct comm_messages *m = messages_of(s, 0, exchange, feed->comm);
        int device = l->device[feed->part], id = first + updates->of_device[device];
        int place = hp_comm_index(&p->comm[feed->comm], device);
        if (!m || !m->list)
            add_edge(s, m ? m->first : feed->comm, id);
        else
            for (int t = m->depart_start[place]; t < m->depart_start[place + 1]; t++)
                add_edge(s, m->first + m->depart[t], id);
    }
}

/* A comm that gathers a parameter on `device` waits for a task there. */
static void hold_comm(struct blocks *s, int b, int exchange, int comm, int device, int id)
{
    const struct comm *what = &hp_exchange_pattern(s->lowering, b, exchange)->comm[comm];
    const struct comm_messages *m = messages_of(s, b, exchange, comm);
    if (!m || !m->list) {
        add_edge(s, m ? m->first : comm, id);
        return;
    }
    int place = hp_comm_index(what, device);
    for (int t = m->depart_start[place]; t < m->depart_start[place + 1]; t++)
        add_edge(s, m->first + m->depart[t], id);
    for (int t = m->arrive_start[place]; t < m->arrive_start[place + 1]; t++)
        add_edge(s, m->first + m->arrive[t], id);
}

/* A parameter is gathered at most a few operators before it is read: it waits for the passes on
 * the same device that read the parameter of an earlier gather. */
static void ahead_edges(struct blocks *s, int b, int exchange)
{
    const struct training_graph *k = &s->lowering->training;
    const struct pattern *p = hp_exchange_pattern(s->lowering, b, exchange);
    int behind = k->exchange[exchange].behind;
    if (behind < 0)
        return;
    const struct visit *visit = &k->exchange[behind].first;
    const struct op_parts *l = s->lowering->body[b].parts[visit->op];
    for (int pass = 0; pass < l->nest->n_passes; pass++) {
        int op_pass = hp_visit_pass(k, visit, l->nest, pass);
        for (int part = 0; op_pass >= 0 && part < l->n_parts; part++) {
            int id = hp_part_task(s, b, op_pass, part), device = l->device[part];
            for (int c = 0; id >= 0 && c < p->n_comms; c++)
                if (hp_is_in(p->comm[c].device, p->comm[c].n_devices, device))
                    hold_comm(s, b, exchange, c, device, id);
        }
    }
}

/* Is a parameter used in `stage`? */
static bool is_used_in(const struct lowering *s, const struct exchange *sum, int stage)
{
    for (int w = 0; w < sum->n_writers; w++)
        if (s->schedule.stage_of_op[sum->writer[w].op] == stage)
            return true;
    return false;
}

/* The comms of an error that concern each device: CSR. A comm also
 * concerns devices that hold a copy of what another device sends. */
struct concerned {
    struct csr comms; /* by device */
    int *latest;      /* by comm: the last sum that waits for it, plus one */
};

static struct concerned find_concerned(struct blocks *s, const struct pattern *p)
{
    int n_devices = hypar_machine_device_count(s->lowering->plan->machine);
    struct concerned by = { .comms = { .arena = &s->scratch, .n_keys = n_devices } };
    while (hp_csr_pass(&by.comms))
        for (int c = 0; c < p->n_comms; c++) {
            const struct comm *comm = &p->comm[c];
            const struct cell *cell = &p->cell[comm->cell[0]];
            for (int i = 0; i < comm->n_devices + cell->n_copies; i++) {
                int device =
                    i < comm->n_devices ? comm->device[i] : cell->copy[i - comm->n_devices];
                hp_csr_put(&by.comms, device, c);
            }
        }
    by.latest = NEW(&s->scratch, int, p->n_comms);
    return by;
}

/* Task `local` waits for the whole of a comm. */
static void wait_for_all(struct blocks *s, int local, int b, int exchange, int comm)
{
    const struct comm_messages *m = messages_of(s, b, exchange, comm);
    int first = s->first[hp_exchange_block(s, b, exchange)] + (m ? m->first : comm);
    for (int t = 0; t < (m ? m->n : 1); t++)
        add_edge(s, local, first + t);
}

/* The sum `comm` waits for the comms of an error that concern its devices. */
static void behind_error(struct blocks *s, int exchange, int comm, int b, int error,
                         const struct concerned *by)
{
    const struct comm *sum = &hp_exchange_pattern(s->lowering, 0, exchange)->comm[comm];
    const struct comm_messages *m = messages_of(s, 0, exchange, comm);
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int *theirs = NEW(&s->scratch, int, hp_exchange_pattern(s->lowering, b, error)->n_comms);
    int n = 0;
    for (int i = 0; i < sum->n_devices; i++) {
        const int *at = &by->comms.start[sum->device[i]];
        for (int k = at[0]; k < at[1]; k++) {
            int other = by->comms.item[k];
            if (by->latest[other] != comm + 1)
                theirs[n++] = other;
            by->latest[other] = comm + 1;
        }
    }
    hp_sort_devices(theirs, n);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < (m ? m->n : 1); t++)
            if (!m || !m->list || m->list[t].n_after == 0)
                wait_for_all(s, (m ? m->first : comm) + t, b, error, theirs[i]);
    hp_arena_release(&s->scratch, mark);
}

/* A stage sums gradients after its devices have sent the last errors to the previous stage:
 * links serve in order of arrival, and the previous stage waits for the errors. */
static void behind_errors(struct blocks *s, int exchange)
{
    const struct lowering *lowering = s->lowering;
    const struct training_graph *k = &lowering->training;
    const struct pattern *sums = hp_exchange_pattern(lowering, 0, exchange);
    for (int i = 0; i < k->n_leaving; i++) {
        const struct leaving *error = &k->leaving[i];
        if (!sums->n_comms || !is_used_in(lowering, &k->exchange[exchange], error->stage))
            continue;
        for (int b = 0; b < lowering->n_bodies; b++) {
            struct arena_mark mark = hp_arena_mark(&s->scratch);
            struct concerned by =
                find_concerned(s, hp_exchange_pattern(lowering, b, error->exchange));
            for (int c = 0; c < sums->n_comms; c++)
                behind_error(s, exchange, c, b, error->exchange, &by);
            hp_arena_release(&s->scratch, mark);
        }
    }
}

static void exchange_edges(struct blocks *s, int b, int exchange, int number)
{
    const struct training_graph *k = &s->lowering->training;
    const struct pattern *p = hp_exchange_pattern(s->lowering, b, exchange);
    bool tail = exchange >= k->n_exchanges;
    for (int c = 0; s->expand && c < p->n_comms; c++)
        message_edges(s, number, messages_of(s, b, exchange, c));
    if (exchange == k->norm) {
        norm_feeds(s, exchange);
        return;
    }
    if (k->exchange[exchange].division == DIVIDE_GATHER) {
        if (tail)
            gather_feeds(s, exchange);
        else
            ahead_edges(s, b, exchange);
        return;
    }
    for (int body = tail ? 0 : b; body < (tail ? s->lowering->n_bodies : b + 1); body++)
        for (int c = 0; c < p->n_comms; c++) {
            const struct comm_messages *m = messages_of(s, b, exchange, c);
            if (tail && s->buckets.lead &&
                s->buckets.lead[s->buckets.base[exchange - k->n_exchanges] + c] >= 0)
                bucket_edges(s, body, exchange, c);
            else
                feed_comm(s, body, exchange, c, m ? m->first : c, m);
        }
    if (tail && k->exchange[exchange].place.grad)
        behind_errors(s, exchange);
}

/* Updates ------------------------------------------------------------------------------ */

/* The passes that read a parameter last. A part's backward pass follows its forward pass
 * anyway. */
static struct some_passes last_reads(const struct lowering *s, const struct reader *r)
{
    const struct nest *nest = s->graph->ops[r->op].nest;
    uint32_t backward = 0;
    for (int p = 0; p < nest->n_passes; p++)
        backward |= (uint32_t)nest->pass[p].backward << p;
    if (r->passes & backward)
        return (struct some_passes){ .passes = r->passes & backward };
    return r->again ? (struct some_passes){ .again = r->again }
                    : (struct some_passes){ .passes = r->passes };
}

/* The same for a sum that each body has made. */
static void wait_for_owned(struct blocks *s, int exchange, const struct update_devices *who)
{
    const struct lowering *lowering = s->lowering;
    const struct exchange *what = &lowering->training.exchange[exchange];
    for (int b = 0; b < lowering->n_bodies; b++) {
        const struct pattern *p = hp_exchange_pattern(lowering, b, exchange);
        for (int i = 0; i < p->n_waits; i++) {
            const struct wait *wait = &p->wait[i];
            int op = what->holder[wait->reader].op;
            int device = lowering->tail_parts[op]->device[wait->part];
            int local = who->of_device[device];
            if (wait->comm >= 0)
                wait_for_comm(s, local, b, exchange, wait->comm, device);
            else
                wait_for_part(s, local, b,
                              hp_source_pass(&lowering->training, &what->writer[wait->writer]),
                              wait->writer_part);
        }
    }
}

/* The update of a divided parameter waits until the old value has been sent. */
static void wait_for_gathers(struct blocks *s, int tensor, const struct update_devices *who)
{
    const struct lowering *lowering = s->lowering;
    for (int half = 0; half < 2; half++) {
        int d = lowering->training.gather_of[tensor][half];
        for (int b = 0; d >= 0 && b < lowering->n_bodies; b++) {
            const struct pattern *p = hp_exchange_pattern(lowering, b, d);
            for (int c = 0; c < p->n_comms; c++)
                for (int i = 0; i < p->comm[c].n_devices; i++) {
                    int local = who->of_device[p->comm[c].device[i]];
                    const struct comm_messages *m = messages_of(s, b, d, c);
                    int first = s->first[hp_exchange_block(s, b, d)];
                    for (int t = 0; local >= 0 && t < (m ? m->n : 1); t++)
                        add_edge(s, local, first + (m ? m->first + t : c));
                }
        }
    }
}

/* The tasks of these devices wait for the sums of gradients that they read. */
static void wait_for_sum(struct blocks *s, int exchange, const struct update_devices *who)
{
    const struct lowering *lowering = s->lowering;
    const struct exchange *what = &lowering->training.exchange[exchange];
    const struct pattern *p = hp_exchange_pattern(lowering, 0, exchange);
    if (what->division == DIVIDE_OWNED) {
        wait_for_owned(s, what->sum, who);
        return;
    }
    for (int i = 0; i < p->n_waits; i++) {
        const struct wait *wait = &p->wait[i];
        int device = lowering->tail_parts[what->reader[wait->reader].op]->device[wait->part];
        int local = who->of_device[device];
        if (wait->comm >= 0)
            wait_for_comm(s, local, 0, exchange, wait->comm, device);
        else
            wait_for_bodies(s, local, &what->writer[wait->writer], wait->writer_part);
    }
}

/* Squares wait for the sums of all gradients. */
static void norm_edges(struct blocks *s)
{
    const struct training_graph *k = &s->lowering->training;
    for (int d = k->n_exchanges; d < k->norm; d++)
        if (k->exchange[d].place.grad)
            wait_for_sum(s, d, &s->lowering->norm);
}

/* Updates wait for the norm, if there is one. */
static void wait_for_norm(struct blocks *s, const struct update_devices *updates)
{
    int norm = s->lowering->training.norm;
    bool moves = norm >= 0 && hp_exchange_pattern(s->lowering, 0, norm)->n_comms;
    for (int i = 0; norm >= 0 && i < updates->n; i++)
        if (moves)
            wait_for_comm(s, i, 0, norm, 0, updates->device[i]);
        else
            wait_for_squares(s, i, updates->device[i]);
}

/* An update waits for the sum, and for the passes on its device that read the old value of the
 * parameter. */
static void update_edges(struct blocks *s, int exchange)
{
    const struct lowering *lowering = s->lowering;
    const struct training_graph *k = &lowering->training;
    const struct exchange *what = &k->exchange[exchange];
    const struct update_devices *updates = hp_update_devices(s->lowering, exchange);
    wait_for_sum(s, exchange, updates);
    wait_for_norm(s, updates);
    wait_for_gathers(s, what->place.tensor, updates);
    for (int b = 0; b < lowering->n_bodies; b++)
        for (int r = 0; r < what->n_readers; r++) {
            const struct op_parts *parts = lowering->body[b].parts[what->reader[r].op];
            struct some_passes last = last_reads(lowering, &what->reader[r]);
            uint32_t passes = last.passes | last.again;
            for (int pass = 0; passes >> pass; pass++)
                for (int part = 0; passes >> pass & 1 && part < parts->n_parts; part++)
                    if (updates->of_device[parts->device[part]] >= 0)
                        wait_for_part(
                            s, updates->of_device[parts->device[part]], b,
                            hp_op_pass(k, what->reader[r].op, pass, last.again >> pass & 1),
                            part);
        }
}

void hp_block_edges(struct blocks *s, int number)
{
    struct block block = hp_block_at(s, number);
    s->n_edges = 0;
    if (!s->size[number])
        return;
    if (block.kind == BLOCK_COMPUTE)
        compute_edges(s, block.body, block.index);
    else if (block.kind == BLOCK_NORM)
        norm_edges(s);
    else if (block.kind == BLOCK_UPDATE)
        update_edges(s, block.index);
    else
        exchange_edges(s, block.body, block.index, number);
}

void hp_sort_edges(const struct blocks *s, int n, int *start, int *id)
{
    for (int i = 0; i < s->n_edges; i++)
        hp_csr_count(start, s->edge[i].local);
    hp_csr_sum(start, n);
    for (int i = 0; i < s->n_edges; i++)
        id[hp_csr_place(start, s->edge[i].local)] = s->edge[i].after;
}

/* All blocks --------------------------------------------------------------------------- */

/* Sort the edges of a block by task and drop duplicates. */
static int64_t put_edges(struct blocks *s, int number, int64_t *after_start, int *after,
                         int64_t at)
{
    int n = s->size[number];
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int *start = NEW(&s->scratch, int, n + 2), *id = NEW(&s->scratch, int, s->n_edges);
    hp_sort_edges(s, n, start, id);
    for (int t = 0; t < n; t++) {
        int64_t first = at;
        for (int i = start[t]; i < start[t + 1]; i++) {
            bool again = false;
            for (int64_t k = at - 1; k >= first && !again && at - k <= 64; k--)
                again = after[k] == id[i];
            if (!again)
                after[at++] = id[i];
        }
        after_start[s->first[number] + t + 1] = at;
    }
    hp_arena_release(&s->scratch, mark);
    return at;
}

struct task_edges hp_all_edges(struct blocks *s, int n_tasks, struct arena *arena)
{
    int64_t *start = NEW(arena, int64_t, n_tasks + 1), at = 0, capacity = 0;
    int *after = NULL;
    for (int i = 0; i < s->n_blocks; i++) {
        if (!s->size[i])
            continue;
        hp_block_edges(s, i);
        if (at + s->n_edges > capacity) {
            capacity = 2 * (at + s->n_edges) + 1024;
            int *copy = NEW(arena, int, capacity);
            if (at)
                memcpy(copy, after, (size_t)at * sizeof *copy);
            after = copy;
        }
        at = put_edges(s, i, start, after, at);
    }
    return (struct task_edges){ start, after };
}
