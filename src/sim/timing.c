/* The tasks of each block with their times and queues, and all of them as one graph. */
#include "sim/timing.h"

#include <string.h>

static int stage_of(const struct lowering *s, int op)
{
    return s->schedule.stage_of_op[op];
}

/* Does an exchange lead from one stage to another? */
static bool crosses(const struct lowering *s, const struct exchange *e)
{
    for (int r = 0; r < e->n_readers; r++)
        for (int w = 0; w < e->n_writers; w++)
            if (stage_of(s, e->reader[r].op) != stage_of(s, e->writer[w].op))
                return true;
    return false;
}

static enum waiting_comms waiting_of(const struct timing *s, int exchange)
{
    const struct exchange *e = &s->lowering->training.exchange[exchange];
    return hp_waiting_comms(s->costs, e, crosses(s->lowering, e));
}

const struct pattern_cost *hp_exchange_cost(struct timing *s, int b, int exchange)
{
    int tail = exchange - s->lowering->training.n_exchanges;
    if (tail >= 0 && s->tail_cost)
        return s->tail_cost[tail];
    const struct place *place = &s->lowering->training.exchange[exchange].place;
    return hp_pattern_cost(s->costs, hp_exchange_pattern(s->lowering, b, exchange),
                           hp_message_bytes(s->lowering->plan, *place),
                           waiting_of(s, exchange));
}

int hp_comm_at(const struct pattern_cost *cost, int n_comms, int local)
{
    int lo = 0, hi = n_comms - 1;
    if (!cost->messages)
        return local;
    while (lo < hi) { /* find the last that begins no later */
        int mid = (lo + hi + 1) / 2;
        if (cost->messages[mid].first <= local)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

const struct message *hp_message_at(const struct pattern_cost *cost, int comm, int local)
{
    const struct comm_messages *m = cost->messages ? &cost->messages[comm] : NULL;
    return m && m->list ? &m->list[local - m->first].message : NULL;
}

static const struct comm_messages *messages_of(void *who, int b, int exchange)
{
    return hp_exchange_cost(who, b, exchange)->messages;
}

/* Costs of buckets are rarely reused: they are released when the buckets change. */
static void fill_buckets(struct timing *s)
{
    const struct training_graph *k = &s->lowering->training;
    hp_arena_free(&s->bucket_arena);
    s->tail_cost = NEW(&s->bucket_arena, struct pattern_cost *, k->n_tail);
    for (int x = 0; x < k->n_tail; x++)
        s->tail_cost[x] = hp_make_pattern_cost(
            s->costs, &s->bucket_arena, s->lowering->tail[x],
            hp_message_bytes(s->lowering->plan, k->exchange[k->n_exchanges + x].place),
            waiting_of(s, k->n_exchanges + x), &s->blocks->buckets, x);
}

void hp_timing_update(struct timing *s)
{
    hp_blocks_update(s->blocks);
    if (s->blocks->buckets.lead)
        fill_buckets(s);
}

enum hypar_status hp_check_length(ticks length, struct hypar_error *err)
{
    if (length == HP_NEVER)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "it deadlocks: some of its tasks wait for each other");
    if (length >= HP_MAX_TICKS)
        return hp_fail(err, HYPAR_UNSUPPORTED, "a step takes more than %g s, expected less",
                       hp_seconds(HP_MAX_TICKS));
    return HYPAR_OK;
}

struct timing *hp_timing_new(struct lowering *lowering, struct blocks *blocks,
                             const struct hypar_sim_options *options, struct task_costs *costs)
{
    struct arena arena = { 0 };
    struct timing *s = NEW(&arena, struct timing, 1);
    s->arena = arena;
    s->lowering = lowering;
    s->costs = costs ? costs : &s->own;
    if (!costs)
        hp_task_costs_begin(&s->own, lowering->plan, options);
    if (!blocks || options->expand_collectives)
        s->own_blocks =
            hp_blocks_new(lowering, options->expand_collectives ? messages_of : NULL, s);
    s->blocks = s->own_blocks ? s->own_blocks : blocks;
    if (s->blocks->buckets.lead)
        fill_buckets(s);
    return s;
}

void hp_timing_free(struct timing *s)
{
    if (!s)
        return;
    hp_task_costs_end(&s->own);
    hp_blocks_free(s->own_blocks);
    hp_arena_free(&s->bucket_arena);
    hp_arena_free(&s->arena);
}

/* A part of a fusion group takes as long as its passes together. */
static void compute_tasks(struct timing *s, int b, int group, struct sim_task *task)
{
    const struct op_parts *parts = hp_pass_parts(s->blocks, b, group);
    for (int part = 0; part < parts->n_parts; part++)
        if (!parts->empty[part])
            task[parts->rank[part]] =
                (struct sim_task){ .n_holds = 1, .queue = parts->device[part] };
    for (int op_pass = group; op_pass >= 0; op_pass = s->blocks->next[b][op_pass]) {
        const struct op_pass *what = &s->lowering->training.op_pass[op_pass];
        const struct op_parts *l = hp_pass_parts(s->blocks, b, op_pass);
        if (what->resend) /* only messages */
            continue;
        const ticks *time = hp_pass_times(s->costs, what->op, what->pass, l);
        for (int part = 0; part < l->n_parts; part++)
            if (!l->empty[part] && !s->costs->runs_kernels[l->device[part]])
                task[l->rank[part]].duration =
                    hp_later(task[l->rank[part]].duration, time[part]);
    }
    if (s->costs->any_kernels)
        hp_kernel_tasks(s, b, group, task);
}

/* Sums of parameter gradients give way to traffic for which the next task waits: values,
 * errors, gathered parameters. Under pipedream the next slot waits for sums too. Queues that
 * are held together serve one class. */
static enum traffic traffic_of(const struct timing *s, int exchange)
{
    const struct place *place = &s->lowering->training.exchange[exchange].place;
    const struct hypar_sim_options *how = &s->costs->settings;
    bool sums = place->grad && s->lowering->graph->tensors[place->tensor].kind == TENSOR_PARAM;
    bool one_class =
        how->one_class || hp_waits_for_all(&how->framework) || s->lowering->iteration.delayed;
    return sums && !one_class ? TRAFFIC_SUMS : TRAFFIC_NEXT;
}

static void exchange_tasks(struct timing *s, int b, int exchange, struct sim_task *task)
{
    const struct pattern *p = hp_exchange_pattern(s->lowering, b, exchange);
    const struct pattern_cost *cost = hp_exchange_cost(s, b, exchange);
    enum traffic traffic = traffic_of(s, exchange);
    for (int c = 0; c < p->n_comms; c++) {
        struct sim_task *first = task + hp_first_of_comm(cost, c);
        memcpy(first, cost->comm[c].task, (size_t)cost->comm[c].n_tasks * sizeof *task);
        for (int i = 0; traffic != TRAFFIC_NEXT && i < cost->comm[c].n_tasks; i++)
            if (first[i].held != HELD_TOGETHER && first[i].duration)
                first[i].traffic = (unsigned char)traffic;
    }
}

static void update_tasks(struct timing *s, int exchange, struct sim_task *task)
{
    const struct update_devices *u = hp_update_devices(s->lowering, exchange);
    memcpy(task, hp_update_tasks(s->costs, hp_exchange_pattern(s->lowering, 0, exchange), u),
           (size_t)u->n * sizeof *task);
}

static void norm_tasks(struct timing *s, struct sim_task *task)
{
    const struct update_devices *u = &s->lowering->norm;
    for (int i = 0; i < u->n; i++)
        task[i] = (struct sim_task){ .duration = hp_squares_time(s->costs, u->device[i],
                                                                 u->elements[i]),
                                     .n_holds = 1,
                                     .queue = u->device[i] };
}

void hp_block_tasks(struct timing *s, int number, struct sim_task *task)
{
    struct block block = hp_block_at(s->blocks, number);
    if (block.kind == BLOCK_COMPUTE)
        compute_tasks(s, block.body, block.index, task);
    else if (block.kind == BLOCK_NORM)
        norm_tasks(s, task);
    else if (block.kind == BLOCK_UPDATE)
        update_tasks(s, block.index, task);
    else
        exchange_tasks(s, block.body, block.index, task);
    for (int i = 0; i < s->blocks->size[number]; i++)
        task[i].number = (int64_t)number << 32 | i;
}

/* All blocks ---------------------------------------------------------------------------- */

static const struct sim_task *all_tasks(struct timing *s, int n_tasks, struct arena *arena)
{
    struct sim_task *task = NEW(arena, struct sim_task, n_tasks);
    for (int i = 0; i < s->blocks->n_blocks; i++)
        if (s->blocks->size[i])
            hp_block_tasks(s, i, task + s->blocks->first[i]);
    return task;
}

struct task_graph hp_timed_graph(struct timing *s, struct arena *arena)
{
    struct task_graph g = { .n_tasks = hp_number_tasks(s->blocks),
                            .n_queues = s->costs->n_queues };
    struct task_edges edges = hp_all_edges(s->blocks, g.n_tasks, arena);
    g.task = all_tasks(s, g.n_tasks, arena);
    g.after_start = edges.start;
    g.after = edges.after;
    return g;
}

struct task_graph hp_timed_program(struct timing *s, const struct hypar_program *program,
                                   struct arena *arena)
{
    if (s->own_blocks)
        return hp_timed_graph(s, arena);
    return (struct task_graph){ .n_tasks = program->n_tasks,
                                .n_queues = s->costs->n_queues,
                                .task = all_tasks(s, program->n_tasks, arena),
                                .after_start = program->after_start,
                                .after = program->after };
}
