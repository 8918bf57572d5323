/* Full simulation (FlexFlow, Algorithm 1). Task instances are pairs (row, task) and never
 * written out; a row has counters only while it is under way. */
#include "sim/timeline.h"
#include "base/csr.h"
#include "base/stop.h"

#include <string.h>

#include "sim/heap.h"
#include "sim/links.h"

/* The tasks that wait for each task: the reversed edges. */
struct waiting {
    const int64_t *start; /* n_tasks + 1 */
    const int *task;
};

/* The counters of a row that is under way. */
struct under_way {
    int *missing; /* by position: predecessors that have not ended */
    ticks *ready; /* by position: the latest end of the others */
    int left;     /* tasks to be served */
};

/* Arrays of closed rows of one kind, to be reused. */
struct spare {
    struct under_way *list;
    int n, capacity;
};

/* The progress of a device through its slots. */
struct progress {
    int slot; /* the current slot */
    int left; /* tasks of this slot that are not served */
    ticks time;
    struct task_instance by; /* the instance that ended then */
};

/* The updates of a stage's parameters that a device waits for: its own, and parameters that it
 * receives. */
struct updates {
    int each;     /* in a period */
    int64_t done; /* in all periods so far ... */
    ticks last;   /* ... and when */
    struct task_instance by;
};

struct timeline_run {
    struct timing *timing;            /* of a program; or NULL */
    const struct timeline_part *part; /* some tasks of a program; if both are NULL: a graph
                                         without a program, in one row */
    struct times *times;              /* by task of this graph */
    struct arena arena;
    struct task_graph graph;
    struct rows rows;
    const struct iteration *iteration;
    int n_devices;
    struct waiting before;
    int *missing;             /* by task of a body: all its predecessors */
    int ***missing_in;        /* the same for the tail: [group][kind][position] */
    struct under_way *of_row; /* closed ones have no arrays */
    struct spare *spare;      /* by kind of row */
    /* Slots of the program's schedule; compute tasks by (stage, phase, device). */
    bool gated;
    const struct schedule *schedule;
    int **group_start, **group;
    int *group_of;                /* by task of a body; -1: it waits for no slot */
    int **gather_start, **gather; /* by body: comms that gather parameters in a slot; or NULL */
    struct progress *progress;    /* by device */
    struct updates *updates; /* [stage * n_devices + device]; NULL: no slot waits for updates */
    int *updated_start,
        *updated; /* by task of the tail: the devices whose parameters it completes */
    struct queues queues;
    struct flows flows;
    ticks *from; /* scratch: when each hold of a task starts */
    struct ready_heap heap;
    struct timeline *keep;
    const struct observer *observer;
    const volatile sig_atomic_t *stop; /* NULL: it cannot be stopped */
    int64_t served;
    ticks length;
};

static bool is_tail(const struct timeline_run *s, int task)
{
    return hp_in_tail(&s->rows, task);
}

/* Waiting ------------------------------------------------------------------------------ */

/* The number of predecessors of each task of a row. */
static const int *all_missing(const struct timeline_run *s, int row)
{
    int group = hp_row_group(&s->rows, row);
    if (group < 0)
        return s->missing + s->rows.first[hp_body_number(s->iteration, row)];
    return s->missing_in[group]
                        [(row - s->rows.period[group]) % hp_period_kinds(s->iteration, group)];
}

static struct under_way *open_row(struct timeline_run *s, int row)
{
    int n = hp_row_size(&s->rows, row);
    struct under_way *w = &s->of_row[row];
    struct spare *spare = &s->spare[hp_row_kind(&s->rows, row)];
    if (spare->n)
        *w = spare->list[--spare->n];
    else
        *w = (struct under_way){ NEW(&s->arena, int, n + 1), NEW(&s->arena, ticks, n + 1), 0 };
    if (n)
        memcpy(w->missing, all_missing(s, row), (size_t)n * sizeof *w->missing);
    memset(w->ready, 0, (size_t)n * sizeof *w->ready);
    w->left = n;
    return w;
}

static void close_row(struct timeline_run *s, int row)
{
    struct spare *spare = &s->spare[hp_row_kind(&s->rows, row)];
    spare->list = GROW(&s->arena, struct under_way, spare->list, spare->n, &spare->capacity);
    spare->list[spare->n++] = s->of_row[row];
    s->of_row[row] = (struct under_way){ 0 };
}

static void push(struct timeline_run *s, int row, int task, ticks ready)
{
    int64_t number = s->rows.n > 1 ? (int64_t)hp_row_micro(&s->rows, row) << 32 | task
                                   : s->graph.task[task].number;
    ticks since = hp_since(&s->graph.task[task], ready);
    hp_heap_push(&s->heap, &s->arena, (struct ready_task){ ready, since, number, task, -1 });
}

/* A predecessor of a task has ended: `by`. */
static void release(struct timeline_run *s, int row, int task, ticks end,
                    struct task_instance by)
{
    struct under_way *w = &s->of_row[row];
    if (!w->missing)
        w = open_row(s, row);
    int place = hp_row_place(&s->rows, row, task);
    ticks *ready = &w->ready[place];
    if (s->keep && end >= *ready)
        s->keep->by[row][place] = by;
    *ready = hp_latest(*ready, end);
    if (--w->missing[place] == 0)
        push(s, row, task, *ready);
}

/* Slots -------------------------------------------------------------------------------- */

static int group_index(const struct timeline_run *s, int stage, enum phase phase, int device)
{
    return (stage * PHASE_UPDATE + (int)phase) * s->n_devices + device;
}

/* Keep the latest of several ends, and its instance. */
static void reach(ticks *time, struct task_instance *by, ticks end, struct task_instance ended)
{
    if (end >= *time)
        *by = ended;
    *time = hp_latest(*time, end);
}

/* A device waits for the updates of a period and of earlier periods that it has not done
 * yet. */
static void await_updates(struct timeline_run *s, const struct slot *slot, int device)
{
    struct progress *p = &s->progress[device];
    if (!s->updates)
        return;
    const struct updates *u = &s->updates[slot->stage * s->n_devices + device];
    int64_t left = (int64_t)(slot->micro + 1) * u->each - u->done;
    p->left = left > 0 ? (int)left : 0;
    if (u->done)
        reach(&p->time, &p->by, u->last, u->by);
}

/* The device has served all tasks of its slot: release those of the next. Updates do not wait
 * for their slot, but later slots wait for them. */
static void next_slot(struct timeline_run *s, int device)
{
    struct progress *p = &s->progress[device];
    const struct slot_list *list = hp_slots_of(s->schedule, device);
    while (p->left == 0 && ++p->slot < list->n_slots) {
        const struct slot *slot = &list->slot[p->slot];
        if (slot->phase == PHASE_UPDATE) {
            await_updates(s, slot, device);
            continue;
        }
        int b = hp_body_number(s->iteration, slot->micro);
        int g = group_index(s, slot->stage, slot->phase, device);
        p->left = s->group_start[b][g + 1] - s->group_start[b][g];
        for (int i = s->group_start[b][g]; i < s->group_start[b][g + 1]; i++)
            release(s, slot->micro, s->group[b][i], p->time, p->by);
        for (int i = s->gather ? s->gather_start[b][g] : 0;
             s->gather && i < s->gather_start[b][g + 1]; i++)
            release(s, slot->micro, s->gather[b][i], p->time, p->by);
    }
}

/* An update has ended; the device may have waited for it. */
static void note_update(struct timeline_run *s, int stage, int device, ticks end,
                        struct task_instance by)
{
    const struct slot_list *list = hp_slots_of(s->schedule, device);
    struct progress *p = &s->progress[device];
    struct updates *u = &s->updates[stage * s->n_devices + device];
    u->done++;
    reach(&u->last, &u->by, end, by);
    if (p->slot < 0 || p->slot >= list->n_slots || p->left == 0 ||
        list->slot[p->slot].phase != PHASE_UPDATE || list->slot[p->slot].stage != stage)
        return;
    reach(&p->time, &p->by, u->last, u->by);
    if (--p->left == 0)
        next_slot(s, device);
}

static void note_updates(struct timeline_run *s, int row, int task, ticks end)
{
    int tail = task - s->rows.first[s->iteration->n_bodies];
    for (int i = s->updated_start[tail]; i < s->updated_start[tail + 1]; i++)
        note_update(s, s->rows.group[tail], s->updated[i], end,
                    (struct task_instance){ row, task });
}

static void leave_slot(struct timeline_run *s, int row, int task, ticks end)
{
    int device = s->graph.task[task].queue;
    struct progress *p = &s->progress[device];
    reach(&p->time, &p->by, end, (struct task_instance){ row, task });
    if (--p->left == 0)
        next_slot(s, device);
}

/* The stage, phase and device of each compute task of a body. */
static void name_groups(struct timeline_run *s, int b)
{
    const struct blocks *blocks = s->timing->blocks;
    const struct training_graph *k = &blocks->lowering->training;
    for (int i = 0; i < k->n_items; i++) {
        int number = b * k->n_items + i;
        struct block block = hp_block_at(blocks, number);
        for (int t = 0; block.kind == BLOCK_COMPUTE && t < blocks->size[number]; t++) {
            int id = blocks->first[number] + t;
            const struct op_pass *op_pass = &k->op_pass[block.index];
            s->group_of[id] = group_index(s, s->schedule->stage_of_op[op_pass->op],
                                          op_pass->phase, s->graph.task[id].queue);
        }
    }
}

static void name_groups_of_part(struct timeline_run *s, int b)
{
    const struct timeline_part *part = s->part;
    for (int id = part->first[b]; id < part->first[b + 1]; id++)
        if (part->action[id] >= 0)
            s->group_of[id] = part->action[id] * s->n_devices + s->graph.task[id].queue;
}

/* The computations of a body by stage, phase and device. */
static void group_tasks(struct timeline_run *s, int b)
{
    int n_groups = s->schedule->n_stages * PHASE_UPDATE * s->n_devices;
    int *start = s->group_start[b] = NEW(&s->arena, int, n_groups + 2);
    s->group[b] = NEW(&s->arena, int, s->rows.first[b + 1] - s->rows.first[b]);
    (s->part ? name_groups_of_part : name_groups)(s, b);
    for (int id = s->rows.first[b]; id < s->rows.first[b + 1]; id++)
        if (s->group_of[id] >= 0) {
            hp_csr_count(start, s->group_of[id]);
            s->missing[id]++;
        }
    hp_csr_sum(start, n_groups);
    for (int id = s->rows.first[b]; id < s->rows.first[b + 1]; id++)
        if (s->group_of[id] >= 0)
            s->group[b][hp_csr_place(start, s->group_of[id])] = id;
}

/* A parameter is gathered no earlier than the slot that needs it begins, on each device that
 * takes part. */
static void group_gathers(struct timeline_run *s, int b)
{
    const struct blocks *blocks = s->timing->blocks;
    const struct training_graph *k = &blocks->lowering->training;
    int n_groups = s->schedule->n_stages * PHASE_UPDATE * s->n_devices;
    int *start = s->gather_start[b] = NEW(&s->arena, int, n_groups + 2);
    for (int fill = 0; fill < 2; fill++) {
        for (int d = 0; d < k->n_exchanges; d++) {
            const struct exchange *x = &k->exchange[d];
            const struct pattern *p = hp_exchange_pattern(blocks->lowering, b, d);
            int number = hp_exchange_block(blocks, b, d), stage = x->first.op;
            if (x->division != DIVIDE_GATHER)
                continue;
            stage = s->schedule->stage_of_op[stage];
            for (int t = 0; t < blocks->size[number]; t++) {
                const struct pattern_cost *cost = hp_exchange_cost(s->timing, b, d);
                const struct comm *comm = &p->comm[hp_comm_at(cost, p->n_comms, t)];
                for (int i = 0; i < comm->n_devices; i++) {
                    int id = blocks->first[number] + t;
                    int g = group_index(s, stage, x->backward ? PHASE_BACKWARD : PHASE_FORWARD,
                                        comm->device[i]);
                    if (fill)
                        s->gather[b][hp_csr_place(start, g)] = id;
                    else
                        hp_csr_count(start, g);
                    s->missing[id] += !fill;
                }
            }
        }
        if (!fill)
            hp_csr_sum(start, n_groups);
        if (!fill)
            s->gather[b] = NEW(&s->arena, int, start[n_groups + 1] + 1);
    }
}

/* The same for a part of a program. */
static void group_part_gathers(struct timeline_run *s, int b)
{
    const struct timeline_part *part = s->part;
    int n_groups = s->schedule->n_stages * PHASE_UPDATE * s->n_devices;
    int *start = s->gather_start[b] = NEW(&s->arena, int, n_groups + 2);
    s->gather[b] = NEW(&s->arena, int, part->n_gathers);
    for (int fill = 0; fill < 2; fill++) {
        for (int i = 0; i < part->n_gathers; i++) {
            const struct part_gather *gather = &part->gather[i];
            int group = gather->action * s->n_devices + gather->device;
            if (gather->task < part->first[b] || gather->task >= part->first[b + 1])
                continue;
            if (fill)
                s->gather[b][hp_csr_place(start, group)] = gather->task;
            else
                hp_csr_count(start, group);
            s->missing[gather->task] += !fill;
        }
        if (!fill)
            hp_csr_sum(start, n_groups);
    }
}

/* The devices whose parameters task `local` of a block of the tail completes: the device of an
 * update, or the receivers of a gathered parameter. */
static int updated_by(struct timeline_run *s, int number, int local, const int **device)
{
    const struct blocks *blocks = s->timing->blocks;
    struct block block = hp_block_at(blocks, number);
    if (block.kind == BLOCK_UPDATE) {
        *device = &s->graph.task[blocks->first[number] + local].queue;
        return 1;
    }
    if (blocks->lowering->training.exchange[block.index].division != DIVIDE_GATHER)
        return 0;
    const struct pattern *p = hp_exchange_pattern(blocks->lowering, 0, block.index);
    const struct pattern_cost *cost = hp_exchange_cost(s->timing, 0, block.index);
    int comm = hp_comm_at(cost, p->n_comms, local);
    const struct message *message = hp_message_at(cost, comm, local);
    *device = message ? &message->to : p->comm[comm].device;
    return message ? 1 : p->comm[comm].n_devices;
}

/* How many updates of each stage a device waits for in a period. */
static void count_updates(struct timeline_run *s)
{
    const struct blocks *blocks = s->timing->blocks;
    const struct lowering *lowering = blocks->lowering;
    int n_bodies = lowering->n_bodies, first = s->rows.first[n_bodies];
    int capacity = 0, n = 0;
    s->updates = NEW(&s->arena, struct updates, s->schedule->n_stages * s->n_devices);
    s->updated_start = NEW(&s->arena, int, s->rows.first[n_bodies + 1] - first + 1);
    for (int i = n_bodies * lowering->training.n_items; i < blocks->n_blocks; i++)
        for (int t = 0; t < blocks->size[i]; t++) {
            const int *device = NULL;
            int stage = s->rows.group[blocks->first[i] + t - first];
            int n_updated = updated_by(s, i, t, &device);
            for (int k = 0; k < n_updated; k++) {
                s->updated = GROW(&s->arena, int, s->updated, n, &capacity);
                s->updated[n++] = device[k];
                s->updates[stage * s->n_devices + device[k]].each++;
            }
            s->updated_start[blocks->first[i] + t - first + 1] = n;
        }
}

static void start_slots(struct timeline_run *s)
{
    s->progress = NEW(&s->arena, struct progress, s->n_devices);
    for (int device = 0; device < s->n_devices; device++) {
        s->progress[device].slot = -1;
        s->progress[device].by.row = -1;
    }
    if (s->iteration->delayed) /* stages update separately and wait for their updates */
        count_updates(s);
    for (int device = 0; device < s->n_devices; device++)
        next_slot(s, device);
}

/* Serving ------------------------------------------------------------------------------ */

static void note_served(struct timeline_run *s, int row, int task, const struct served *what)
{
    const struct sim_task *t = &s->graph.task[task];
    s->served++;
    s->length = hp_latest(s->length, what->times.end);
    if (s->times)
        s->times[task] = what->times;
    if (s->keep)
        s->keep->times[row][hp_row_place(&s->rows, row, task)] = what->times;
    if (s->keep && t->hold && t->n_holds)
        memcpy(s->keep->held[row] + s->keep->hold_start[task], what->from,
               (size_t)t->n_holds * sizeof *what->from);
    if (s->observer)
        s->observer->served(s->observer->who, task, hp_row_name(&s->rows, row), what);
}

/* Release the tasks that wait for a task: those of the same row; and those of the tail, in the
 * period of the micro-batch, if it is the last one there with its body. */
static void release_next(struct timeline_run *s, int row, int task, ticks end)
{
    const struct task_instance me = { row, task };
    for (int64_t i = s->before.start[task]; i < s->before.start[task + 1]; i++) {
        int next = s->before.task[i];
        if (is_tail(s, next) == is_tail(s, task)) {
            release(s, row, next, end, me);
            continue;
        }
        int to = hp_tail_row(&s->rows, next, row), group = hp_row_group(&s->rows, to);
        if (row == hp_last_in_period(s->iteration, group, to - s->rows.period[group],
                                     hp_body_number(s->iteration, row)))
            release(s, to, next, end, me);
    }
}

/* A task has been given all its queues. */
static void end_task(struct timeline_run *s, int row, int task, const struct served *what)
{
    note_served(s, row, task, what);
    release_next(s, row, task, what->times.end);
    if (!is_tail(s, task) && s->gated && s->group_of[task] >= 0)
        leave_slot(s, row, task, what->times.end);
    if (is_tail(s, task) && s->gated && s->iteration->delayed)
        note_updates(s, row, task, what->times.end);
    if (--s->of_row[row].left == 0)
        close_row(s, row);
}

/* Advance a flow. -1: it has to be looked at again; else it has all its links. */
static int go_on(struct timeline_run *s, const struct ready_task *what, struct served *served)
{
    const struct sim_task *task = &s->graph.task[what->id];
    struct ready_task again = *what;
    if (again.flow < 0)
        again.flow = hp_flow_new(&s->flows, &s->arena, task->n_holds, what->time);
    struct flow *flow = &s->flows.flow[again.flow];
    again.time = hp_flow_go(flow, task, &s->queues, what->time);
    if (again.time >= 0) {
        again.since = hp_since(task, flow->ready);
        hp_heap_push(&s->heap, &s->arena, again);
        if (flow->began < 0 && (flow->hop || (flow->left >= 0 && flow->left < task->n_holds)))
            hp_flow_began(&s->flows, again.flow, what->time);
        return -1;
    }
    served->times = (struct times){ flow->arrived, flow->start, flow->end };
    served->from = flow->from;
    return again.flow;
}

static void serve(struct timeline_run *s, const struct ready_task *what)
{
    int row = s->rows.n > 1 ? (int)(what->number >> 32) : 0, task = what->id;
    struct served served = { .from = s->from, .now = what->time };
    int flow = -1;
    if (is_tail(s, task))
        row = hp_tail_row(&s->rows, task, row);
    if (hp_is_claimed(&s->graph.task[task]))
        served.times = hp_claim(&s->graph.task[task], s->queues.free, what->time, s->from);
    else if ((flow = go_on(s, what, &served)) < 0)
        return;
    if (s->flows.first >= 0)
        served.now = s->flows.flow[s->flows.first].began;
    end_task(s, row, task, &served);
    if (flow >= 0)
        hp_flow_free(&s->flows, flow);
}

/* Make room for the start of each hold of a row's tasks. */
static void begin_holds(struct timeline_run *s, struct timeline *keep)
{
    keep->held = NEW(&keep->arena, ticks *, s->rows.n);
    keep->hold_start = NEW(&keep->arena, int, s->graph.n_tasks);
    for (int row = 0; row < s->rows.n; row++) {
        int n = 0;
        for (int place = 0; place < hp_row_size(&s->rows, row); place++) {
            int task = hp_row_task(&s->rows, row, place);
            keep->hold_start[task] = n; /* the same in all rows with this task */
            n += s->graph.task[task].hold ? s->graph.task[task].n_holds : 0;
        }
        keep->held[row] = NEW(&keep->arena, ticks, n);
    }
}

static void begin_timeline(struct timeline_run *s, struct timeline *keep)
{
    keep->rows = s->rows;
    keep->times = NEW(&keep->arena, struct times *, s->rows.n);
    keep->by = NEW(&keep->arena, struct task_instance *, s->rows.n);
    for (int row = 0; row < s->rows.n; row++) {
        int n = hp_row_size(&s->rows, row);
        keep->times[row] = NEW(&keep->arena, struct times, n);
        keep->by[row] = NEW(&keep->arena, struct task_instance, n);
        memset(keep->by[row], -1, (size_t)n * sizeof *keep->by[row]);
    }
    begin_holds(s, keep);
    s->keep = keep;
}

static void start_task(struct timeline_run *s, int row, int task)
{
    if (!s->of_row[row].missing)
        open_row(s, row);
    push(s, row, task, 0);
}

/* Release the tasks without predecessors. */
static void start_tasks(struct timeline_run *s)
{
    const struct iteration *r = s->iteration;
    for (int b = 0; b < r->n_bodies; b++)
        for (int t = s->rows.first[b]; t < s->rows.first[b + 1]; t++)
            for (int i = 0; !s->missing[t] && i < hp_body_times(r, b); i++)
                start_task(s, hp_first_micro(r, b) + i * (r->delayed ? r->n_bodies : 1), t);
    for (int row = r->n_micro; row < s->rows.n; row++)
        for (int place = 0; place < hp_row_size(&s->rows, row); place++)
            if (!all_missing(s, row)[place])
                start_task(s, row, hp_row_task(&s->rows, row, place));
}

/* The predecessors of each task of the tail, for each kind of update period. */
static void count_tail(struct timeline_run *s)
{
    const struct rows *r = &s->rows;
    int first = r->first[s->iteration->n_bodies];
    s->missing_in = NEW(&s->arena, int **, s->iteration->n_groups);
    for (int g = 0; g < s->iteration->n_groups; g++) {
        int n = hp_period_kinds(s->iteration, g);
        s->missing_in[g] = NEW(&s->arena, int *, n);
        for (int kind = 0; kind < n; kind++)
            s->missing_in[g][kind] = NEW(&s->arena, int, r->start[g + 1] - r->start[g] + 1);
    }
    for (int t = first; t < s->graph.n_tasks; t++) {
        int g = r->group[t - first], place = r->place[t - first], b = 0;
        for (int64_t i = s->graph.after_start[t]; i < s->graph.after_start[t + 1]; i++) {
            int after = s->graph.after[i];
            for (int kind = 0; after >= first && kind < hp_period_kinds(s->iteration, g);
                 kind++)
                s->missing_in[g][kind][place]++;
            if (after >= first)
                continue;
            while (after < r->first[b]) /* mostly the body of the predecessor before */
                b--;
            while (after >= r->first[b + 1])
                b++;
            s->missing_in[g][hp_period_kind(s->iteration, g, b)][place]++;
        }
    }
}

static bool has_gathers(const struct timeline_run *s)
{
    const struct training_graph *k = s->timing ? &s->timing->lowering->training : NULL;
    bool any = s->part && s->part->n_gathers;
    for (int d = 0; k && d < k->n_exchanges; d++)
        any |= k->exchange[d].division == DIVIDE_GATHER;
    return any;
}

static void set_up_slots(struct timeline_run *s)
{
    int n = s->rows.first[s->iteration->n_bodies], n_bodies = s->iteration->n_bodies;
    s->group_of = NEW(&s->arena, int, n);
    memset(s->group_of, -1, (size_t)n * sizeof *s->group_of);
    s->group_start = NEW(&s->arena, int *, n_bodies);
    s->group = NEW(&s->arena, int *, n_bodies);
    for (int b = 0; b < n_bodies; b++)
        group_tasks(s, b);
    if (!has_gathers(s))
        return;
    s->gather_start = NEW(&s->arena, int *, n_bodies);
    s->gather = NEW(&s->arena, int *, n_bodies);
    for (int b = 0; b < n_bodies; b++)
        (s->part ? group_part_gathers : group_gathers)(s, b);
}

static struct waiting turn_round(struct arena *arena, const struct task_graph *g)
{
    int64_t n = g->after_start[g->n_tasks], *start = NEW(arena, int64_t, g->n_tasks + 2);
    int *task = NEW(arena, int, n);
    for (int64_t i = 0; i < n; i++)
        start[g->after[i] + 2]++;
    for (int t = 0; t < g->n_tasks; t++)
        start[t + 2] += start[t + 1];
    for (int t = 0; t < g->n_tasks; t++)
        for (int64_t i = g->after_start[t]; i < g->after_start[t + 1]; i++)
            task[start[g->after[i] + 1]++] = t;
    return (struct waiting){ start, task };
}

static void set_up_queues(struct timeline_run *s)
{
    int most = 1;
    for (int t = 0; t < s->graph.n_tasks; t++)
        most = s->graph.task[t].n_holds > most ? s->graph.task[t].n_holds : most;
    s->from = NEW(&s->arena, ticks, most);
    s->queues.free = NEW(&s->arena, ticks, s->graph.n_queues);
    s->queues.asked = NEW(&s->arena, ticks, s->graph.n_queues);
    s->queues.given = NEW(&s->arena, ticks, s->graph.n_queues);
    hp_flows_begin(&s->flows);
}

static void set_up(struct timeline_run *s)
{
    s->before = turn_round(&s->arena, &s->graph);
    s->missing = NEW(&s->arena, int, s->graph.n_tasks);
    for (int t = 0; t < s->graph.n_tasks; t++)
        s->missing[t] = (int)(s->graph.after_start[t + 1] - s->graph.after_start[t]);
    count_tail(s);
    s->of_row = NEW(&s->arena, struct under_way, s->rows.n);
    s->spare = NEW(&s->arena, struct spare, s->iteration->n_bodies + s->iteration->n_groups);
    set_up_queues(s);
    if (s->gated)
        set_up_slots(s);
}

static void run(struct timeline_run *s)
{
    enum { BETWEEN_LOOKS = 1 << 16 }; /* a fraction of a second */
    if (s->observer)
        s->observer->begin(s->observer->who, &s->graph);
    start_tasks(s);
    if (s->gated)
        start_slots(s);
    for (int n = 1; s->heap.n; n = n < BETWEEN_LOOKS ? n + 1 : 1) {
        if (n == BETWEEN_LOOKS && hp_stopped(s->stop))
            break;
        struct ready_task first = hp_heap_pop(&s->heap);
        serve(s, &first);
    }
    hp_arena_free(&s->arena);
}

ticks hp_timeline_observe(struct timing *timing, const struct hypar_program *program,
                          struct timeline *keep, const struct observer *observer)
{
    struct timeline_run s = { .timing = timing,
                              .iteration = &timing->lowering->iteration,
                              .schedule = &timing->lowering->schedule,
                              .gated = hp_has_order(timing->lowering),
                              .n_devices = timing->costs->n_devices,
                              .observer = observer };
    struct arena *arena = keep ? &keep->arena : &s.arena;
    if (keep)
        *keep = (struct timeline){ 0 };
    s.graph =
        program ? hp_timed_program(timing, program, arena) : hp_timed_graph(timing, arena);
    s.rows = hp_rows_of(timing->blocks, s.graph.n_tasks, arena);
    set_up(&s);
    if (keep)
        begin_timeline(&s, keep);
    int64_t all = 0;
    for (int row = 0; row < s.rows.n; row++)
        all += hp_row_size(&s.rows, row);
    run(&s);
    if (s.served < all)
        s.length = HP_NEVER;
    if (keep) {
        keep->graph = s.graph;
        keep->n_instances = s.served;
        keep->length = s.length;
    }
    return s.length;
}

/* One group of parameters that is updated once: all tasks of the tail are in one row, in
 * order. */
static struct rows rows_of_part(const struct timeline_part *part, const struct iteration *r,
                                struct arena *arena)
{
    int n_tail = part->first[part->n_bodies + 1] - part->first[part->n_bodies];
    struct rows rows = { .iteration = r, .n = r->n_micro + 1, .first = part->first };
    rows.period = NEW(arena, int, 1);
    rows.period[0] = r->n_micro;
    rows.group = NEW(arena, int, n_tail);
    rows.place = NEW(arena, int, n_tail);
    rows.task = NEW(arena, int, n_tail);
    rows.start = NEW(arena, int, 2);
    rows.start[1] = n_tail;
    for (int i = 0; i < n_tail; i++) {
        rows.place[i] = i;
        rows.task[i] = part->first[part->n_bodies] + i;
    }
    return rows;
}

ticks hp_timeline_run_part(const struct timeline_part *part, const struct iteration *iteration,
                           const struct schedule *schedule, int n_devices,
                           const volatile sig_atomic_t *stop)
{
    struct timeline_run s = { .part = part,
                              .graph = part->graph,
                              .iteration = iteration,
                              .schedule = schedule,
                              .gated = iteration->n_micro > 1 || schedule->apart ||
                                       schedule->several,
                              .n_devices = n_devices,
                              .stop = stop };
    int64_t all = 0;
    s.rows = rows_of_part(part, iteration, &s.arena);
    for (int row = 0; row < s.rows.n; row++)
        all += hp_row_size(&s.rows, row);
    set_up(&s);
    run(&s);
    return s.served < all ? HP_NEVER : s.length;
}

ticks hp_run_graph(const struct task_graph *graph, struct times *times,
                   const struct observer *observer)
{
    static const struct iteration once = { .n_micro = 1, .n_bodies = 1, .n_larger = 1 };
    int first[] = { 0, graph->n_tasks, graph->n_tasks };
    struct timeline_run s = { .times = times,
                              .graph = *graph,
                              .rows = { .iteration = &once, .n = 1, .first = first },
                              .iteration = &once,
                              .observer = observer };
    set_up(&s);
    run(&s);
    return s.length;
}

ticks hp_timeline_run(struct timing *timing, struct timeline *keep)
{
    return hp_timeline_observe(timing, NULL, keep, NULL);
}

void hp_timeline_end(struct timeline *timeline)
{
    hp_arena_free(&timeline->arena);
}
