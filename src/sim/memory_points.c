/* Memory over time: what the memory model says of each device, laid on the timeline.
 *
 * The model goes through a device's tasks by slot and number; the simulator serves them by
 * ready time, which now and then is another order. A change is drawn when its task starts or
 * ends, but never before the changes that the model has before it. So the counter takes on the
 * levels of the model, each of them, in their order: its maximum is the peak that is reported.
 * Messages take room for themselves, one at a time; the largest between two changes is drawn.
 */
#include "base/csr.h"
#include "program/memory/parts.h"
#include "sim/sim.h"

/* A device, as far as it is drawn. */
struct counter {
    ticks now;
    double level;
    int last;                   /* its last point, -1 */
    double room;                /* of a message since the last change; 0: none ... */
    ticks room_start, room_end; /* ... and when that is under way */
};

struct drawn {
    int device;
    ticks time;
    double bytes;
};

struct points {
    struct hypar_sim *sim;
    struct memory_maker maker; /* for the room that messages take */
    struct arena arena;
    struct counter *counter; /* by device */
    const struct schedule *schedule;
    int *start, *task; /* [(body * n_lists + list of slots) * 2 + half]: its tasks, CSR */
    struct drawn *point;
    int n, capacity;
};

/* Drawing ------------------------------------------------------------------------------ */

/* Of several points at one time those remain at which it turns down, and the last. */
static void put(struct points *p, int device, ticks time, double bytes)
{
    struct counter *c = &p->counter[device];
    struct drawn *last = c->last >= 0 ? &p->point[c->last] : NULL;
    if (last && last->bytes == bytes)
        return;
    if (last && last->time == time && last->bytes < bytes) {
        last->bytes = bytes;
        return;
    }
    p->point = GROW(&p->arena, struct drawn, p->point, p->n, &p->capacity);
    c->last = p->n;
    p->point[p->n++] = (struct drawn){ device, time, bytes };
}

/* Draw the message since the last change; it is over when the next one comes. */
static void put_room(struct points *p, int device, ticks next)
{
    struct counter *c = &p->counter[device];
    if (!(c->room > 0))
        return;
    ticks start = hp_earliest(hp_latest(c->now, c->room_start), next);
    c->now = hp_earliest(hp_latest(start, c->room_end), next);
    put(p, device, start, c->level + c->room);
    put(p, device, c->now, c->level);
    c->room = 0;
}

static void change(struct points *p, int device, ticks time, double bytes)
{
    struct counter *c = &p->counter[device];
    if (bytes == 0)
        return;
    time = hp_latest(time, c->now);
    put_room(p, device, time);
    c->now = time;
    c->level += bytes;
    put(p, device, time, c->level);
}

static void note_room(struct points *p, int device, const struct times *span, double bytes)
{
    struct counter *c = &p->counter[device];
    if (bytes <= c->room)
        return;
    c->room = bytes;
    c->room_start = span->start;
    c->room_end = span->end;
}

/* Tasks -------------------------------------------------------------------------------- */

static const struct times *times_of(const struct points *p, int row, int task)
{
    const struct timeline *t = &p->sim->timeline;
    return &t->times[row][hp_row_place(&t->rows, row, task)];
}

/* The id that the simulator knows the first task of a task's block by. */
static int first_of(const struct points *p, int task)
{
    return p->sim->timing->blocks->first[p->sim->program->task[task].block];
}

/* The passes of a task one after another. */
static void put_compute(struct points *p, int micro, int b, int number)
{
    struct timing *s = p->sim->timing;
    const struct op_pass *op_pass = s->lowering->training.op_pass;
    const struct part_layout *const *layout = s->lowering->body[b].layout;
    const struct task *task = &p->sim->program->task[number];
    const struct pass_order *order = &p->sim->memory->order[b];
    int place = layout[op_pass[task->index].op]->rank[task->part];
    ticks at = times_of(p, micro, first_of(p, number) + place)->start;
    for (int i = task->index; i >= 0; i = s->blocks->next[b][i]) {
        const struct part_layout *l = layout[op_pass[i].op];
        ticks took = hp_pass_times(s->costs, op_pass[i].op, op_pass[i].pass, l)[task->part];
        const struct memory_delta *delta =
            &p->sim->memory->delta[b][hp_pass_number(order, l, i, task->part)];
        change(p, task->device, at, delta->alloc);
        change(p, task->device, at + took, -delta->free);
        at += took;
    }
}

/* From when to when a comm's tasks, its messages if it is expanded, are under way. */
static struct times comm_span(const struct points *p, int row, int b, int task)
{
    const struct task *what = &p->sim->program->task[task];
    const struct pattern_cost *cost = hp_exchange_cost(p->sim->timing, b, what->index);
    int first = first_of(p, task) + hp_first_of_comm(cost, what->comm);
    struct times span = { 0 };
    for (int i = 0; i < cost->comm[what->comm].n_tasks; i++) {
        const struct times *t = times_of(p, row, first + i);
        span.start = i ? hp_earliest(span.start, t->start) : t->start;
        span.end = hp_latest(span.end, t->end);
    }
    return span;
}

static const struct comm_room *room_of(struct points *p, int task)
{
    const struct pattern *pattern = hp_task_pattern(p->sim->program, task);
    return hp_memory_room(&p->maker, pattern);
}

/* Devices of one list. `more`: what else the message takes on each. */
static void put_comm(struct points *p, int task, int list, const struct times *span,
                     double more)
{
    const struct hypar_program *program = p->sim->program;
    const struct comm_room *room = room_of(p, task);
    int comm = program->task[task].comm;
    double size = hp_message_bytes(program->plan, hp_task_place(program, task).tensor);
    for (int r = room->start[comm]; r < room->start[comm + 1]; r++)
        if (p->schedule->list_of[room->room[r].device] == list)
            note_room(p, room->room[r].device, span,
                      size * (double)room->room[r].elements + more);
}

/* Slots -------------------------------------------------------------------------------- */

/* The lists on whose devices a task changes something: fills list[], returns how many. */
static int lists_of(struct points *p, int number, int *list)
{
    const struct task *task = &p->sim->program->task[number];
    int n = 0;
    if (task->kind == TASK_COMPUTE) {
        list[n++] = p->schedule->list_of[task->device];
        return n;
    }
    const struct comm_room *room = room_of(p, number);
    for (int r = room->start[task->comm]; r < room->start[task->comm + 1]; r++) {
        int mine = p->schedule->list_of[room->room[r].device], i = 0;
        while (i < n && list[i] != mine)
            i++;
        if (i == n)
            list[n++] = mine;
    }
    return n;
}

/* The tasks of each half of a body in each list, in the order of their numbers. */
static void list_tasks(struct points *p)
{
    const struct hypar_program *program = p->sim->program;
    int *list = NEW(&p->arena, int, p->schedule->n_lists);
    int n_keys = program->n_bodies * p->schedule->n_lists * 2;
    p->start = NEW(&p->arena, int, n_keys + 2);
    for (int fill = 0; fill < 2; fill++) {
        for (int b = 0; b < program->n_bodies; b++)
            for (int i = program->first[b]; i < program->first[b + 1]; i++) {
                int n = lists_of(p, i, list);
                bool backward = program->task[i].backward;
                for (int k = 0; k < n; k++) {
                    int key = (b * p->schedule->n_lists + list[k]) * 2 + backward;
                    if (fill)
                        p->task[hp_csr_place(p->start, key)] = i;
                    else
                        hp_csr_count(p->start, key);
                }
            }
        if (!fill)
            hp_csr_sum(p->start, n_keys);
        if (!fill)
            p->task = NEW(&p->arena, int, p->start[n_keys + 1]);
    }
}

static void put_half(struct points *p, int list, const struct slot *slot)
{
    const struct hypar_program *program = p->sim->program;
    int b = hp_body_number(program->iteration, slot->micro);
    int key = (b * p->schedule->n_lists + list) * 2 + (slot->phase == PHASE_BACKWARD);
    for (int i = p->start[key]; i < p->start[key + 1]; i++) {
        int task = p->task[i];
        if (program->task[task].kind == TASK_COMPUTE) {
            put_compute(p, slot->micro, b, task);
            continue;
        }
        struct times span = comm_span(p, slot->micro, b, task);
        put_comm(p, task, list, &span, 0);
    }
}

static void put_update(struct points *p, int list, const struct slot *slot,
                       const double *bucket)
{
    const struct hypar_program *program = p->sim->program;
    int group = hp_slot_group(program->iteration, slot->stage),
        first = program->first[program->n_bodies];
    int row = p->sim->timeline.rows.period[group] + slot->micro;
    for (int t = first; t < program->n_tasks; t++) {
        if (program->task[t].kind != TASK_COMM || hp_update_group(program, t) != group)
            continue;
        struct times span = comm_span(p, row, 0, t);
        put_comm(p, t, list, &span, bucket[t - first]);
    }
}

/* The whole ---------------------------------------------------------------------------- */

static void begin_counters(struct points *p)
{
    int n = p->sim->summary.n_devices;
    p->counter = NEW(&p->arena, struct counter, n);
    for (int d = 0; d < n; d++) {
        p->counter[d] = (struct counter){ .level = p->sim->memory->fixed[d], .last = -1 };
        if (p->sim->memory->device[d].peak > 0)
            put(p, d, 0, p->counter[d].level);
    }
}

/* By device; those of one are in order. */
static void hand_over(struct points *p)
{
    int n = p->sim->summary.n_devices, *at = NEW(&p->arena, int, n + 1);
    p->sim->n_points = p->n;
    p->sim->point = NEW(&p->sim->arena, struct hypar_sim_memory_point, p->n);
    for (int i = 0; i < p->n; i++)
        at[p->point[i].device + 1]++;
    for (int d = 0; d < n; d++)
        at[d + 1] += at[d];
    for (int i = 0; i < p->n; i++)
        p->sim->point[at[p->point[i].device]++] =
            (struct hypar_sim_memory_point){ p->point[i].device, hp_seconds(p->point[i].time),
                                             p->point[i].bytes };
}

void hp_make_memory_points(struct hypar_sim *sim)
{
    const struct hypar_program *program = sim->program;
    struct points p = {
        .sim = sim,
        .schedule = program->schedule,
        .maker = { .program = program, .graph = program->plan->graph, .model = sim->memory }
    };
    begin_counters(&p);
    list_tasks(&p);
    const double *bucket = hp_memory_buckets(&p.maker);
    for (int l = 0; l < p.schedule->n_lists; l++)
        for (int i = 0; i < p.schedule->list[l].n_slots; i++) {
            const struct slot *slot = &p.schedule->list[l].slot[i];
            if (slot->phase == PHASE_UPDATE)
                put_update(&p, l, slot, bucket);
            else
                put_half(&p, l, slot);
        }
    for (int d = 0; d < sim->summary.n_devices; d++)
        put_room(&p, d, HP_MAX_TICKS);
    hand_over(&p);
    hp_arena_free(&p.maker.scratch);
    hp_arena_free(&p.arena);
}

bool hypar_sim_memory_point(const struct hypar_sim *sim, int64_t i,
                            struct hypar_sim_memory_point *point)
{
    if (i < 0 || i >= sim->n_points)
        return false;
    *point = sim->point[i];
    return true;
}
