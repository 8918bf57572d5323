/* The timeline as events, for people and traces. */
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
    e->kind = hp_compute_name(p, task, e->name, sizeof e->name);
    e->op = p->lowering->training.op_pass[block->index].op;
    e->stage = p->plan->ops[e->op].stage;
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
    e->kind = HYPAR_EVENT_COMM;
    e->bytes = cost->sent_bytes;
    const struct message *m = hp_message_at(costs, c, local);
    if (m) {
        e->bytes = m->bytes;
        snprintf(e->name + n, sizeof e->name - n, " %d -> %d", m->from, m->to);
    } else if (cost->algorithm && p->comm[c].kind != COMM_SEND) {
        snprintf(e->name + n, sizeof e->name - n, " (%s)", cost->algorithm);
    }
}

static void name_update(const struct hypar_sim *sim, const struct block *block,
                        struct hypar_sim_event *e)
{
    e->kind = HYPAR_EVENT_UPDATE;
    hp_update_name(sim->timing->lowering, block->index, e->name, sizeof e->name);
}

/* Which task instance event `i` is: row by row. */
static const struct times *find(const struct hypar_sim *sim, int64_t i, int *task, int *micro,
                                const ticks **from)
{
    const struct timeline *t = &sim->timeline;
    int low = 0, high = t->rows.n;
    if (i >= sim->row_start[t->rows.n])
        return NULL;
    while (high - low > 1) { /* the last row that begins no later */
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
    return &t->times[low][place];
}

/* Where the events of each row begin. */
static void number_rows(struct hypar_sim *sim)
{
    const struct rows *rows = &sim->timeline.rows;
    sim->row_start = NEW(&sim->arena, int64_t, rows->n + 1);
    for (int row = 0; row < rows->n; row++)
        sim->row_start[row + 1] = sim->row_start[row] + hp_row_size(rows, row);
}

bool hypar_sim_event(const struct hypar_sim *sim, int64_t i, struct hypar_sim_event *event)
{
    if (sim->file)
        return hp_file_event(sim, i, event);
    int task, micro;
    const ticks *from;
    const struct times *times =
        sim->has_timeline && i >= 0 ? find(sim, i, &task, &micro, &from) : NULL;
    if (!times)
        return false;
    int number = sim->block_of[task], local = task - sim->timing->blocks->first[number];
    struct block block = hp_block_at(sim->timing->blocks, number);
    const struct sim_task *what = &sim->timeline.graph.task[task];
    *event = (struct hypar_sim_event){
        .id = i, .device = -1, .op = -1, .micro = micro < 0 ? -1 : micro, .stage = -1
    };
    if (block.kind == BLOCK_COMPUTE)
        name_compute(sim, &block, local, event);
    else if (block.kind == BLOCK_UPDATE || block.kind == BLOCK_NORM)
        name_update(sim, &block, event);
    else
        name_comm(sim, &block, local, event);
    hp_add_instance(sim->program, micro, event->name, sizeof event->name);
    if (event->kind == HYPAR_EVENT_COMM)
        hp_put_event_links(sim, what, times->start, from, event);
    else
        event->device = what->queue;
    event->ready_s = hp_seconds(times->ready);
    event->start_s = hp_seconds(times->start);
    event->end_s = hp_seconds(times->end);
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
