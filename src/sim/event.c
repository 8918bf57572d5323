/* The timeline as events, for reports and traces. */
#include <string.h>

#include "sim/sim.h"

void hp_put_event_links(const struct hypar_sim *sim, const struct sim_task *task, ticks start,
                        const ticks *from, struct hypar_sim_event *event)
{
    int n_devices = sim->summary.n_devices;
    event->n_links = 0;
    event->link = sim->event_link;
    event->link_busy_s = sim->event_busy_s;
    event->link_offset_s = sim->event_offset_s;
    for (int i = 0; i < task->n_holds; i++) {
        if (task->hold[i].queue < n_devices)
            continue;
        sim->event_link[event->n_links] = task->hold[i].queue - n_devices;
        sim->event_busy_s[event->n_links] = hp_seconds(task->hold[i].busy);
        sim->event_offset_s[event->n_links] = hp_seconds(from[i] - start);
        event->n_links++;
    }
}

static void name_compute(const struct hypar_sim *sim, const struct block *block, int local,
                         struct hypar_sim_event *e)
{
    const struct hypar_program *p = sim->program;
    int task = p->blocks->first[hp_pass_block(p->blocks, block->body, block->index)] + local;
    e->kind = hp_compute_name(p, task, e->name, sizeof e->name, &e->what_bytes);
    e->op = p->lowering->training.op_pass[block->index].op;
    e->again = hp_is_again(p, task);
    e->stage = p->plan->ops[e->op].stage;
}

/* The tensor of an exchange; -1: the squares of all gradients. */
static int tensor_of(const struct lowering *s, int exchange)
{
    return exchange == s->training.norm ? -1 : s->training.exchange[exchange].place.tensor;
}

static void name_comm(const struct hypar_sim *sim, const struct block *block, int local,
                      struct hypar_sim_event *e)
{
    struct timing *s = sim->timing;
    const struct pattern *p = hp_exchange_pattern(s->lowering, block->body, block->index);
    const struct pattern_cost *costs = hp_exchange_cost(s, block->body, block->index);
    int c = hp_comm_at(costs, p->n_comms, local);
    const struct comm_cost *cost = &costs->comm[c];
    hp_comm_name(s->lowering, block->body, block->index, c, e->name, sizeof e->name);
    size_t n = strlen(e->name);
    e->what_bytes = (int)n;
    e->kind = HYPAR_EVENT_COMM;
    e->tensor = tensor_of(s->lowering, block->index);
    e->bytes = cost->sent_bytes;
    const struct message *m = hp_message_at(costs, c, local);
    if (m) {
        e->bytes = m->bytes;
        snprintf(e->name + n, sizeof e->name - n, " %d -> %d", m->from, m->to);
    } else if (cost->algorithm && p->comm[c].kind != COMM_SEND) {
        e->way = cost->algorithm;
        snprintf(e->name + n, sizeof e->name - n, " (%s)", e->way);
    }
}

static void name_update(const struct hypar_sim *sim, const struct block *block,
                        struct hypar_sim_event *e)
{
    e->kind = HYPAR_EVENT_UPDATE;
    e->tensor = tensor_of(sim->timing->lowering, block->index);
    hp_update_name(sim->timing->lowering, block->index, e->name, sizeof e->name);
    e->what_bytes = (int)strlen(e->name);
}

/* The task instance of event `i`; events are numbered row by row. */
static const struct times *find(const struct hypar_sim *sim, int64_t i, int *task, int *micro,
                                const ticks **from, struct task_instance *by)
{
    const struct timeline *t = &sim->timeline;
    int low = 0, high = t->rows.n;
    if (i >= sim->row_start[t->rows.n])
        return NULL;
    while (high - low > 1) { /* find the last row that begins no later */
        int middle = (low + high) / 2;
        if (sim->row_start[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    int place = (int)(i - sim->row_start[low]);
    *task = hp_row_task(&t->rows, low, place);
    *micro = hp_row_name(&t->rows, low);
    *from = t->held[low] + t->hold_start[*task];
    *by = t->by[low][place];
    return &t->times[low][place];
}

int64_t hp_event_number(const struct hypar_sim *sim, struct task_instance at)
{
    if (at.row < 0)
        return -1;
    return sim->row_start[at.row] + hp_row_place(&sim->timeline.rows, at.row, at.task);
}

/* Where the events of each row begin. */
static void number_rows(struct hypar_sim *sim)
{
    const struct rows *rows = &sim->timeline.rows;
    sim->row_start = NEW(&sim->arena, int64_t, rows->n + 1);
    for (int row = 0; row < rows->n; row++)
        sim->row_start[row + 1] = sim->row_start[row] + hp_row_size(rows, row);
}

/* The place and times of event `i`, and its task and block. */
static bool place(const struct hypar_sim *sim, int64_t i, struct hypar_sim_event *event,
                  struct block *block, int *local, int *micro)
{
    int task;
    const ticks *from;
    struct task_instance by;
    const struct times *times =
        sim->has_timeline && i >= 0 ? find(sim, i, &task, micro, &from, &by) : NULL;
    if (!times)
        return false;
    int number = sim->block_of[task];
    *local = task - sim->timing->blocks->first[number];
    *block = hp_block_at(sim->timing->blocks, number);
    const struct sim_task *what = &sim->timeline.graph.task[task];
    bool comm = block->kind != BLOCK_COMPUTE && block->kind != BLOCK_UPDATE &&
                block->kind != BLOCK_NORM;
    event->id = i;
    event->kind = HYPAR_EVENT_COMM; /* until it gets its name */
    event->device = comm ? -1 : what->queue;
    event->op = event->tensor = event->stage = -1;
    event->micro = *micro < 0 ? -1 : *micro;
    event->bytes = 0;
    event->after = hp_event_number(sim, by);
    event->n_links = 0;
    if (comm)
        hp_put_event_links(sim, what, times->start, from, event);
    event->ready_s = hp_seconds(times->ready);
    event->start_s = hp_seconds(times->start);
    event->end_s = hp_seconds(times->end);
    return true;
}

bool hp_event_place(const struct hypar_sim *sim, int64_t i, struct hypar_sim_event *event)
{
    struct block block;
    int local, micro;
    return sim->file ? hp_file_event(sim, i, event)
                     : place(sim, i, event, &block, &local, &micro);
}

bool hypar_sim_event(const struct hypar_sim *sim, int64_t i, struct hypar_sim_event *event)
{
    if (sim->file)
        return hp_file_event(sim, i, event);
    struct block block;
    int local, micro;
    memset(event, 0, sizeof *event);
    if (!place(sim, i, event, &block, &local, &micro))
        return false;
    if (block.kind == BLOCK_COMPUTE)
        name_compute(sim, &block, local, event);
    else if (block.kind == BLOCK_UPDATE || block.kind == BLOCK_NORM)
        name_update(sim, &block, event);
    else
        name_comm(sim, &block, local, event);
    hp_add_instance(sim->program, micro, event->name, sizeof event->name);
    return true;
}

void hp_make_events(struct hypar_sim *sim)
{
    int most = 1;
    number_rows(sim);
    for (int t = 0; t < sim->timeline.graph.n_tasks; t++)
        most = sim->timeline.graph.task[t].n_holds > most ? sim->timeline.graph.task[t].n_holds
                                                          : most;
    sim->event_link = NEW(&sim->arena, int, most);
    sim->event_busy_s = NEW(&sim->arena, double, most);
    sim->event_offset_s = NEW(&sim->arena, double, most);
}
