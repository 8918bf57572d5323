/* The cost of each comm: the links that its tasks hold, and for how long. A comm is one task,
 * or one task for each message. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csr.h"
#include "sim/task_costs.h"

/* In groups up to this size, the messages of an all-to-all are distinguished. */
enum { SMALL_GROUP = 64 };

/* A comm, and what its cost depends on. */
struct request {
    struct arena *arena; /* for the result */
    const struct pattern *pattern;
    const struct comm *comm;
    double element_bytes, bytes; /* of one element; of all cells */
    bool waits;                  /* its devices compute nothing meanwhile */
    bool in_bucket;              /* `bytes` are those of the whole bucket */
    struct comm_group group;
};

/* Does every pair exchange one message, all of equal size? */
static bool is_even(const struct request *r)
{
    const struct comm *comm = r->comm;
    const struct cell *cell = r->pattern->cell;
    int64_t size = cell[comm->cell[0]].padded;
    for (int i = 1; i < comm->n_cells; i++)
        if (cell[comm->cell[i]].padded != size)
            return false;
    return comm->n_cells == comm->n_devices * (comm->n_devices - 1);
}

static struct request request_of(struct arena *arena, const struct pattern *p,
                                 const struct comm *comm, int bytes)
{
    const struct cell *first = &p->cell[comm->cell[0]];
    struct request r = { arena, p, comm, .element_bytes = bytes };
    r.bytes = hp_comm_elements(p, comm) * bytes;
    r.group = (struct comm_group){ comm->kind, comm->n_devices, comm->device, 0 };
    if (comm->kind == COMM_SEND || comm->kind == COMM_BROADCAST)
        r.group.root = hp_comm_index(comm, first->contribution[0].device);
    if (comm->kind == COMM_REDUCE)
        r.group.root = hp_comm_index(comm, first->receiver[0]);
    if (comm->kind == COMM_ALL_TO_ALL && comm->n_devices > SMALL_GROUP && is_even(&r))
        r.bytes = (double)first->padded * bytes;
    else if (comm->kind == COMM_ALL_TO_ALL)
        r.group.kind = COMM_EXCHANGE; /* cost it message by message */
    return r;
}

/* The cost model of a group of devices, cached by its devices. */
static const struct comm_model *model_of(struct task_costs *a, const struct comm_group *group)
{
    struct arena_mark mark = hp_arena_mark(&a->scratch);
    size_t n = (size_t)group->n_devices + 2;
    int *key = NEW(&a->scratch, int, n);
    key[0] = (int)group->kind;
    key[1] = group->root;
    memcpy(key + 2, group->device, (n - 2) * sizeof *key);
    int known = hp_table_get(&a->model_keys, key, n * sizeof *key);
    if (known < 0) {
        int *kept = NEW(&a->arena, int, n);
        memcpy(kept, key, n * sizeof *key);
        known = hp_table_put(&a->model_keys, &a->arena, kept, n * sizeof *key, a->n_models);
        a->models = GROW(&a->arena, const struct comm_model *, a->models, a->n_models,
                         &a->model_capacity);
        a->models[a->n_models++] =
            hp_comm_model_named(&a->arena, a->machine, group,
                                group->kind == COMM_ALL_REDUCE ? a->settings.all_reduce : NULL);
    }
    hp_arena_release(&a->scratch, mark);
    return a->models[known];
}

/* Exchanges without a pattern of their own ---------------------------------------------- */

/* Messages in two rounds: pieces to the devices that sum them, sums to the devices that read
 * them. */
struct rounds {
    struct arena *arena;
    struct message *message[2];
    int n[2], capacity[2];
    double cell_bytes; /* of the current cell */
};

static void add_message(void *who, int round, int from, int to, int pieces)
{
    struct rounds *r = who;
    double bytes = r->cell_bytes / pieces;
    for (int i = r->n[round] - 1; i >= 0 && i >= r->n[round] - 64; i--)
        if (r->message[round][i].from == from && r->message[round][i].to == to) {
            r->message[round][i].bytes += bytes;
            return;
        }
    r->message[round] =
        GROW(r->arena, struct message, r->message[round], r->n[round], &r->capacity[round]);
    r->message[round][r->n[round]++] = (struct message){ from, to, bytes };
}

/* Taken from scratch. */
static struct rounds rounds_of(struct task_costs *a, const struct request *r)
{
    struct rounds rounds = { .arena = &a->scratch };
    bool *seen = NEW(&a->scratch, bool, a->n_devices);
    for (int i = 0; i < r->comm->n_cells; i++) {
        const struct cell *cell = &r->pattern->cell[r->comm->cell[i]];
        rounds.cell_bytes = (double)cell->padded * r->element_bytes;
        hp_cell_sends(cell, seen, add_message, &rounds);
    }
    return rounds;
}

/* Two communications in sequence, as one; for bytes = 1. Taken from scratch. */
static struct comm_way one_way(struct task_costs *a, const struct comm_way *way,
                               double bytes[2], const char *algorithm)
{
    struct comm_way both = { .algorithm = algorithm };
    struct link_share *link =
        NEW(&a->scratch, struct link_share, way[0].n_links + way[1].n_links);
    for (int i = 0, k = 0; i < way[0].n_links || k < way[1].n_links;) {
        int x = i < way[0].n_links ? way[0].link[i].link : INT32_MAX;
        int y = k < way[1].n_links ? way[1].link[k].link : INT32_MAX;
        link[both.n_links++] =
            (struct link_share){ x < y ? x : y,
                                 (x <= y ? bytes[0] * way[0].link[i].s_per_byte : 0) +
                                     (y <= x ? bytes[1] * way[1].link[k].s_per_byte : 0) };
        i += x <= y;
        k += y <= x;
    }
    both.fixed_s = way[0].fixed_s + way[1].fixed_s;
    both.s_per_byte = bytes[0] * way[0].s_per_byte + bytes[1] * way[1].s_per_byte;
    both.link = link;
    return both;
}

static struct comm_way way_of_rounds(struct task_costs *a, const struct rounds *rounds)
{
    struct comm_way way[2] = { { 0 } };
    for (int i = 0; i < 2; i++)
        if (rounds->n[i])
            hp_messages_way(&a->scratch, a->machine, rounds->message[i], rounds->n[i], &way[i]);
    return one_way(a, way, (double[]){ 1, 1 }, "exchange");
}

/* A sum is sent when all its pieces have arrived; the messages of one sender share the list of
 * these. */
static void messages_of_rounds(struct task_costs *a, struct arena *arena,
                               const struct rounds *rounds, struct comm_messages *out)
{
    int most = rounds->n[0] > rounds->n[1] ? rounds->n[0] : rounds->n[1];
    struct arena_mark mark = hp_arena_mark(&a->scratch);
    int *order = NEW(&a->scratch, int, most), *start = NEW(&a->scratch, int, a->n_devices + 2);
    int *arrived = NEW(arena, int, rounds->n[0]); /* by device, ascending */
    out->list = NEW(arena, struct comm_message, rounds->n[0] + rounds->n[1]);
    hp_spread_messages(a->machine, rounds->message[0], rounds->n[0], order);
    for (int i = 0; i < rounds->n[0]; i++) {
        out->list[out->n++].message = rounds->message[0][order[i]];
        hp_csr_count(start, rounds->message[0][i].to);
    }
    hp_csr_sum(start, a->n_devices);
    for (int i = 0; i < rounds->n[0]; i++)
        arrived[hp_csr_place(start, out->list[i].message.to)] = i;
    hp_spread_messages(a->machine, rounds->message[1], rounds->n[1], order);
    for (int i = 0; i < rounds->n[1]; i++) {
        struct comm_message *m = &out->list[out->n++];
        m->message = rounds->message[1][order[i]];
        m->after = arrived + start[m->message.from];
        m->n_after = start[m->message.from + 1] - start[m->message.from];
    }
    hp_arena_release(&a->scratch, mark);
}

/* Costs of comms ------------------------------------------------------------------------ */

/* The queue of a directed link: its own, or one for both directions. */
static int link_queue(const struct task_costs *a, int link)
{
    return a->n_devices + (a->settings.half_duplex ? link & ~1 : link);
}

/* The position of a link among the holds of a cost; the other direction may be there
 * already. */
static int place_of_link(const struct comm_cost *cost, const struct hold *hold, int queue)
{
    int i = 0;
    while (i < cost->n_links && hold[i].queue != queue)
        i++;
    return i;
}

/* How long the links that end at each device are held by a comm, the longest of them. */
static double *on_own_links(struct task_costs *a, const struct comm_way *way, double bytes)
{
    double *held_s = NEW(&a->scratch, double, a->n_devices);
    for (int i = 0; i < way->n_links; i++) {
        struct hypar_link link = hypar_machine_link(a->machine, way->link[i].link / 2);
        int end = way->link[i].link & 1 ? link.from : link.to;
        if (end < a->n_devices)
            held_s[end] = fmax(held_s[end], way->link[i].s_per_byte * bytes);
    }
    return held_s;
}

/* A comm occupies its devices for the time that kernels beside it lose; where kernels wait for
 * it, all the time. */
static void hold_devices(struct task_costs *a, const struct request *r,
                         const struct comm_way *way, double bytes, struct sim_task *task,
                         struct hold *hold)
{
    struct arena_mark mark = hp_arena_mark(&a->scratch);
    const double *own_s = on_own_links(a, way, bytes);
    for (int i = 0; i < r->comm->n_devices; i++) {
        int device = r->comm->device[i];
        double lost_s = hp_lost_beside_s(hypar_machine_device(a->machine, device), &r->group,
                                         r->bytes, way, bytes, own_s[device]);
        ticks busy = r->waits ? task->duration : hp_ticks(lost_s);
        if (r->waits || busy)
            hold[task->n_holds++] =
                (struct hold){ device, 0, hp_earliest(busy, task->duration) };
    }
    hp_arena_release(&a->scratch, mark);
}

/* Cost as one task that holds every link for the link's own time, each when it is free, and
 * devices for the time that kernels beside it lose. Without overlap it holds the devices all
 * the time, and takes all queues together. */
static void as_one_task(struct task_costs *a, const struct request *r,
                        const struct comm_way *way, double bytes, struct comm_cost *cost)
{
    struct hold *hold = NEW(r->arena, struct hold, way->n_links + r->comm->n_devices);
    struct sim_task *task = NEW(r->arena, struct sim_task, 1);
    double *on_link = NEW(r->arena, double, way->n_links);
    ticks longest = 0;
    for (int i = 0; i < way->n_links; i++) {
        struct hypar_link link = hypar_machine_link(a->machine, way->link[i].link / 2);
        double held_s = way->link[i].s_per_byte * bytes, carried = held_s * link.bytes_per_s;
        int queue = link_queue(a, way->link[i].link);
        int at = a->settings.half_duplex ? place_of_link(cost, hold, queue) : cost->n_links;
        cost->n_links += at == cost->n_links;
        hold[at].queue = queue;
        hold[at].busy += hp_ticks(held_s);
        longest = hold[at].busy > longest ? hold[at].busy : longest;
        on_link[at] += carried;
        cost->link_bytes += carried;
        cost->link_j += 8 * carried * link.energy_j_per_bit;
    }
    task->duration = hp_ticks(way->fixed_s + way->s_per_byte * bytes);
    task->duration = task->duration < longest ? longest : task->duration; /* rounding */
    task->n_holds = cost->n_links;
    hold_devices(a, r, way, bytes, task, hold);
    task->hold = hold;
    task->held = r->waits ? HELD_TOGETHER : HELD_EACH;
    cost->task = task;
    cost->n_tasks = 1;
    cost->link = hold;
    cost->bytes_on_link = on_link;
}

/* Cost of one message: it holds the links of its route, each one latency after the one before;
 * the overhead follows. Without overlap it holds sender and receiver too, and takes all queues
 * together. */
static void as_message(struct task_costs *a, const struct request *r,
                       const struct comm_message *which, double overhead_s,
                       struct sim_task *task, struct comm_cost *cost)
{
    struct arena *arena = r->arena;
    const struct message *m = &which->message;
    int route[256], *link = route, extra = r->waits ? 2 : 0;
    int n = hypar_machine_route(a->machine, m->from, m->to, route, 256);
    if (n > 256) {
        link = NEW(arena, int, n);
        hypar_machine_route(a->machine, m->from, m->to, link, n);
    }
    struct hold *hold = NEW(arena, struct hold, n + extra);
    ticks at = 0, longest = 0;
    for (int i = 0; i < n; i++) {
        struct hypar_link l = hypar_machine_link(a->machine, link[i] / 2);
        double bytes = m->bytes * hp_message_share(which->up_of, which->down_of, i, n);
        hold[i] = (struct hold){ link_queue(a, link[i]), at, hp_ticks(bytes / l.bytes_per_s) };
        longest = hold[i].busy > longest ? hold[i].busy : longest;
        at = hp_later(at, hp_ticks(l.latency_s));
        cost->link_bytes += bytes;
        cost->link_j += 8 * bytes * l.energy_j_per_bit;
    }
    *task =
        (struct sim_task){ .duration = hp_later(hp_later(at, longest), hp_ticks(overhead_s)),
                           .n_holds = n + extra,
                           .hold = hold,
                           .held = extra ? HELD_TOGETHER : HELD_ON_ROUTE };
    for (int i = 0; i < extra; i++)
        hold[n + i] = (struct hold){ i ? m->to : m->from, 0, task->duration };
}

/* A single message, whose route is known link by link. */
static void as_send(struct task_costs *a, const struct request *r, const struct message *m,
                    double overhead_s, struct comm_cost *cost)
{
    struct arena *arena = r->arena;
    struct sim_task *task = NEW(arena, struct sim_task, 1);
    as_message(a, r, &(struct comm_message){ .message = *m }, overhead_s, task, cost);
    cost->task = task;
    cost->n_tasks = 1;
    cost->link = task->hold;
    cost->n_links = task->n_holds - (r->waits ? 2 : 0);
    double *on_link = NEW(arena, double, cost->n_links);
    for (int i = 0; i < cost->n_links; i++)
        on_link[i] = m->bytes;
    cost->bytes_on_link = on_link;
}

/* Does a message wait for no other message of its sender? */
static bool sends_first(const struct comm_messages *messages, int number)
{
    const struct comm_message *m = &messages->list[number];
    for (int i = 0; i < m->n_after; i++)
        if (messages->list[m->after[i]].message.from == m->message.from)
            return false;
    return true;
}

/* By device of the comm: the messages that it receives, or those that it sends first. */
static const int *index_messages(struct arena *arena, const struct comm *comm,
                                 const struct comm_messages *messages, bool arrive, int **start)
{
    struct csr lists = { .arena = arena, .n_keys = comm->n_devices };
    while (hp_csr_pass(&lists))
        for (int i = 0; i < messages->n; i++) {
            const struct message *m = &messages->list[i].message;
            if (arrive || sends_first(messages, i))
                hp_csr_put(&lists, hp_comm_index(comm, arrive ? m->to : m->from), i);
        }
    *start = lists.start;
    return lists.item;
}

/* Only messages without predecessors carry the overhead; the others wait for these. */
static void as_messages(struct task_costs *a, const struct request *r, double overhead_s,
                        struct comm_cost *cost, struct comm_messages *m)
{
    struct sim_task *task = NEW(r->arena, struct sim_task, m->n);
    int *start;
    m->arrive = index_messages(r->arena, r->comm, m, true, &start);
    m->arrive_start = start;
    m->depart = index_messages(r->arena, r->comm, m, false, &start);
    m->depart_start = start;
    for (int i = 0; i < m->n; i++)
        as_message(a, r, &m->list[i], m->list[i].n_after ? 0 : overhead_s, &task[i], cost);
    cost->task = task;
    cost->n_tasks = m->n;
}

/* Of both rounds. */
static double overhead_of_rounds(struct task_costs *a, const struct rounds *rounds)
{
    double sum_s = 0;
    for (int i = 0; i < 2; i++) {
        struct comm_overhead overhead =
            hp_messages_overhead(&a->scratch, a->machine, rounds->message[i], rounds->n[i]);
        sum_s += overhead.fixed_s + overhead.s_per_byte;
    }
    return sum_s;
}

static void make_exchange(struct task_costs *a, const struct request *r, struct comm_cost *cost,
                          struct comm_messages *m)
{
    struct arena_mark mark = hp_arena_mark(&a->scratch);
    struct rounds rounds = rounds_of(a, r);
    cost->algorithm = "exchange";
    if (m) {
        messages_of_rounds(a, r->arena, &rounds, m);
        as_messages(a, r, overhead_of_rounds(a, &rounds), cost, m);
    } else {
        struct comm_way way = way_of_rounds(a, &rounds);
        as_one_task(a, r, &way, 1, cost);
    }
    hp_arena_release(&a->scratch, mark);
}

/* Do all cells of a comm have the same copies? */
static bool has_copies(const struct request *r)
{
    const struct cell *first = &r->pattern->cell[r->comm->cell[0]];
    for (int i = 0; i < r->comm->n_cells; i++) {
        const struct cell *cell = &r->pattern->cell[r->comm->cell[i]];
        if (cell->n_copies < cell->n_receivers || cell->n_copies != first->n_copies ||
            memcmp(cell->copy, first->copy, (size_t)first->n_copies * sizeof *cell->copy) != 0)
            return false;
    }
    return first->n_copies > 0;
}

/* A broadcast from several devices that all have the data: each sends a piece to one of the
 * readers, and the readers gather the pieces (Narayanan et al., SC 2021, section 4.1). For
 * bytes = 1. Taken from scratch. */
static struct comm_way way_from_copies(struct task_costs *a, const struct request *r)
{
    const struct cell *cell = &r->pattern->cell[r->comm->cell[0]];
    int n = cell->n_receivers;
    struct message *message = NEW(&a->scratch, struct message, n);
    for (int i = 0; i < n; i++)
        message[i] = (struct message){ cell->copy[i], cell->receiver[i], r->bytes / n };
    struct comm_way way[2];
    struct comm_group readers = { COMM_ALL_GATHER, n, cell->receiver, 0 };
    hp_messages_way(&a->scratch, a->machine, message, n, &way[0]);
    way[1] = *hp_comm_best_way(model_of(a, &readers), r->bytes);
    return one_way(a, way, (double[]){ 1, r->bytes }, "from copies, all-gather");
}

static void make_broadcast(struct task_costs *a, const struct request *r,
                           const struct comm_way *way, struct comm_cost *cost)
{
    struct arena_mark mark = hp_arena_mark(&a->scratch);
    struct comm_way copies = { .fixed_s = INFINITY };
    if (has_copies(r))
        copies = way_from_copies(a, r);
    if (copies.fixed_s + copies.s_per_byte < way->fixed_s + way->s_per_byte * r->bytes) {
        cost->algorithm = copies.algorithm;
        as_one_task(a, r, &copies, 1, cost);
    } else {
        as_one_task(a, r, way, r->bytes, cost);
    }
    hp_arena_release(&a->scratch, mark);
}

/* `m`: the comm's messages, if each is a task; else NULL. */
static void make_cost(struct task_costs *a, const struct request *r, struct comm_cost *cost,
                      struct comm_messages *m)
{
    if (!m && hp_is_copied(a, r->comm)) {
        double own = hp_comm_elements(r->pattern, r->comm) * r->element_bytes;
        hp_copied_cost(a, r->arena, r->pattern, r->comm, r->element_bytes,
                       r->in_bucket && own > 0 ? r->bytes / own : 1, cost);
        return;
    }
    if (r->group.kind == COMM_EXCHANGE) {
        make_exchange(a, r, cost, m);
        return;
    }
    const struct comm_way *way = hp_comm_best_way(model_of(a, &r->group), r->bytes);
    double overhead_s = way->overhead.fixed_s + way->overhead.s_per_byte * r->bytes;
    cost->algorithm = way->algorithm;
    if (r->group.kind == COMM_SEND) {
        int from = r->group.device[r->group.root], to = r->group.device[!r->group.root];
        as_send(a, r, &(struct message){ from, to, r->bytes }, overhead_s, cost);
    } else if (m) {
        hp_comm_messages(r->arena, a->machine, &r->group, way, r->bytes, m);
        as_messages(a, r, overhead_s, cost, m);
    } else if (r->group.kind == COMM_BROADCAST) {
        make_broadcast(a, r, way, cost);
    } else {
        as_one_task(a, r, way, r->bytes, cost);
    }
}

/* Sent data is read from one device's DRAM and written to another's: the devices of a comm
 * share this evenly. */
static double dram_j(const struct task_costs *a, const struct comm *comm, double sent_bytes)
{
    int n = hypar_machine_is_uniform(a->machine) ? 1 : comm->n_devices;
    double sum_j = 0;
    for (int i = 0; i < n; i++) {
        const struct hypar_device *device = hypar_machine_device(a->machine, comm->device[i]);
        sum_j += hp_message_dram_j(sent_bytes, device, device);
    }
    return sum_j / n;
}

static void finish_cost(struct task_costs *a, const struct pattern *p, int c, int bytes,
                        struct pattern_cost *out)
{
    struct comm_cost *cost = &out->comm[c];
    struct comm_messages *m = out->messages;
    cost->sent_bytes = p->comm[c].sent_elements * bytes;
    cost->dram_j = dram_j(a, &p->comm[c], cost->sent_bytes);
    if (!m)
        return;
    m[c].first = c ? m[c - 1].first + m[c - 1].n : 0;
    m[c].n = cost->n_tasks;
}

struct pattern_cost *hp_make_pattern_cost(struct task_costs *a, struct arena *arena,
                                          const struct pattern *p, int bytes,
                                          enum waiting_comms waiting,
                                          const struct buckets *buckets, int tail)
{
    struct pattern_cost *out = NEW(arena, struct pattern_cost, 1);
    out->comm = NEW(arena, struct comm_cost, p->n_comms);
    if (a->settings.expand_collectives)
        out->messages = NEW(arena, struct comm_messages, p->n_comms);
    for (int c = 0; c < p->n_comms; c++) {
        int me = buckets ? buckets->base[tail] + c : 0, lead = buckets ? buckets->lead[me] : -1;
        struct request r = request_of(arena, p, &p->comm[c], bytes);
        if (lead == me)
            r.bytes = buckets->bytes[me];
        r.in_bucket = lead == me;
        r.waits =
            waiting & (p->comm[c].kind == COMM_ALL_REDUCE ? WAITING_SUMS : WAITING_OTHERS);
        if (lead < 0 || lead == me) {
            make_cost(a, &r, &out->comm[c], out->messages ? &out->messages[c] : NULL);
        } else {
            out->comm[c].task = NEW(arena, struct sim_task, 1);
            out->comm[c].n_tasks = 1;
        }
        finish_cost(a, p, c, bytes, out);
    }
    return out;
}
