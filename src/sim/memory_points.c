/* Memory over time: the levels of the memory model at the times of the timeline.
 *
 * The memory model processes a device's tasks by slot and number; the simulator serves them by
 * ready time, which is sometimes another order. A change is drawn when its task starts or ends,
 * but never before changes that precede it in the model. So the counter takes all levels of the
 * model, in the model's order, and its maximum is the reported peak. */
#include "base/csr.h"
#include "program/memory/memory.h"
#include "sim/sim.h"

/* The state of drawing for one device. */
struct counter {
    ticks now;
    double level;
    int last;     /* its last point, -1 */
    double begun; /* gradients, which last until the end of the step */
};

struct drawn {
    int device;
    ticks time;
    double bytes;
};

struct points {
    struct hypar_sim *sim;
    struct arena arena;
    struct counter *counter; /* by device */
    const struct schedule *schedule;
    int *start,
        *task; /* [(body * n_lists + list of slots) * actions + action]: its tasks, CSR */
    int *left; /* by micro-batch: its remaining slots in the current list ... */
    int *last; /* ... and its last slot so far */
    struct drawn *point;
    int n, capacity;
};

/* Drawing ------------------------------------------------------------------------------ */

/* If several points have one time, local maxima and the last point remain. */
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

static void change(struct points *p, int device, ticks time, double bytes)
{
    struct counter *c = &p->counter[device];
    if (bytes == 0)
        return;
    time = hp_latest(time, c->now);
    c->now = time;
    c->level += bytes;
    put(p, device, time, c->level);
}

/* Tasks -------------------------------------------------------------------------------- */

static const struct times *times_of(const struct points *p, int row, int task)
{
    const struct timeline *t = &p->sim->timeline;
    return &t->times[row][hp_row_place(&t->rows, row, task)];
}

/* The simulator's id of the first task of a task's block. */
static int first_of(const struct points *p, int task)
{
    return p->sim->timing->blocks->first[p->sim->program->task[task].block];
}

/* The passes of a task, one after another; `first`: gradients begin here. */
static void put_compute(struct points *p, int micro, int b, int number, bool first)
{
    struct timing *s = p->sim->timing;
    const struct op_pass *op_pass = s->lowering->training.op_pass;
    const struct op_parts *const *parts = s->lowering->body[b].parts;
    const struct task *task = &p->sim->program->task[number];
    const struct pass_order *order = &p->sim->memory->order[b];
    int place = parts[op_pass[task->index].op]->rank[task->part];
    ticks at = times_of(p, micro, first_of(p, number) + place)->start;
    for (int i = task->index; i >= 0; i = s->blocks->next[b][i]) {
        const struct op_parts *l = parts[op_pass[i].op];
        ticks took = op_pass[i].resend ? 0
                                       : hp_pass_times(s->costs, op_pass[i].op, op_pass[i].pass,
                                                       l)[task->part];
        const struct memory_delta *delta =
            &p->sim->memory->delta[b][hp_pass_number(order, l, i, task->part)];
        double begun = first ? delta->gradients : 0;
        p->counter[task->device].begun += begun;
        change(p, task->device, at, delta->alloc + begun);
        change(p, task->device, at + took, -delta->free);
        at += took;
    }
}

/* Slots -------------------------------------------------------------------------------- */

static int key_of(const struct points *p, int b, int list, int action)
{
    return (b * p->schedule->n_lists + list) * hp_action_count(p->schedule) + action;
}

/* The tasks of each action of a body in each list, in the order of their numbers. */
static void list_tasks(struct points *p)
{
    const struct hypar_program *program = p->sim->program;
    struct csr tasks = { .arena = &p->arena, .n_keys = key_of(p, program->n_bodies, 0, 0) };
    while (hp_csr_pass(&tasks))
        for (int b = 0; b < program->n_bodies; b++)
            for (int i = program->first[b]; i < program->first[b + 1]; i++) {
                const struct task *task = &program->task[i];
                if (task->kind == TASK_COMPUTE)
                    hp_csr_put(&tasks,
                               key_of(p, b, p->schedule->list_of[task->device],
                                      hp_pass_action(program->lowering, task->index)),
                               i);
            }
    p->start = tasks.start;
    p->task = tasks.item;
}

static int body_of(const struct points *p, const struct slot *slot)
{
    return hp_body_number(p->sim->program->iteration, slot->micro);
}

/* The position of a slot's action in the memory model. */
static int place_of(const struct points *p, const struct slot_list *list,
                    const struct slot *slot, int device)
{
    int action = hp_action(p->schedule, slot->stage, slot->phase);
    return hp_memory_at(p->sim->memory, device, hp_own_action(p->schedule, list, action));
}

/* The position past the last of a device's actions. */
static int end_of(const struct points *p, const struct slot_list *list, int device)
{
    return hp_memory_at(p->sim->memory, device, hp_list_actions(p->schedule, list));
}

/* Messages that slot `i` sent are no longer held. */
static void release_sent(struct points *p, const struct slot_list *list, int i)
{
    const struct slot *slot = &list->slot[i];
    const struct memory_model *memory = p->sim->memory;
    bool ends = p->left[slot->micro] == 0 && p->last[slot->micro] == i;
    for (int d = 0; slot->phase != PHASE_UPDATE && d < list->n_devices; d++) {
        int device = list->device[d];
        const double *over = memory->over[body_of(p, slot)];
        if (slot->phase >= hp_last_half(p->sim->program->iteration))
            change(p, device, p->counter[device].now, -over[place_of(p, list, slot, device)]);
        if (ends)
            change(p, device, p->counter[device].now, -over[end_of(p, list, device)]);
    }
}

/* Messages sent forward have been received when the backward half begins. */
static void put_slot(struct points *p, int l, const struct slot *slot, bool first)
{
    const struct slot_list *list = &p->schedule->list[l];
    const struct memory_model *memory = p->sim->memory;
    int b = body_of(p, slot);
    for (int d = 0; d < list->n_devices; d++)
        change(p, list->device[d], p->counter[list->device[d]].now,
               -memory->waits[b][place_of(p, list, slot, list->device[d])]);
    int key = key_of(p, b, l, hp_action(p->schedule, slot->stage, slot->phase));
    for (int i = p->start[key]; i < p->start[key + 1]; i++)
        put_compute(p, slot->micro, b, p->task[i], first);
    p->left[slot->micro]--;
    for (int d = 0; d < list->n_devices; d++) {
        int device = list->device[d];
        ticks now = p->counter[device].now;
        change(p, device, now, memory->late[b][place_of(p, list, slot, device)]);
        if (p->left[slot->micro] == 0)
            change(p, device, now,
                   memory->over[b][end_of(p, list, device)] - memory->rest[b][device]);
    }
}

static void put_slots(struct points *p, int l)
{
    const struct slot_list *list = &p->schedule->list[l];
    int reach = hp_longest_hold(list);
    uint64_t done = 0; /* by action of the devices */
    for (int i = 0; i < list->n_slots; i++)
        p->left[list->slot[i].micro] += list->slot[i].phase != PHASE_UPDATE;
    for (int i = 0; i < list->n_slots; i++) {
        const struct slot *slot = &list->slot[i];
        if (slot->phase != PHASE_UPDATE) {
            int own = hp_own_action(p->schedule, list,
                                    hp_action(p->schedule, slot->stage, slot->phase));
            bool first = body_of(p, slot) == 0 && !(done >> own & 1);
            put_slot(p, l, slot, first);
            done |= (uint64_t)first << own;
            p->last[slot->micro] = i;
        }
        for (int k = i > reach ? i - reach : 0; k < i; k++)
            if (hp_held_until(list, k) == i)
                release_sent(p, list, k);
    }
    for (int i = 0; i < list->n_slots; i++)
        p->left[list->slot[i].micro] = 0;
    for (int d = 0; d < list->n_devices; d++) {
        int device = list->device[d];
        change(p, device, p->counter[device].now, -p->counter[device].begun);
    }
}

/* All devices --------------------------------------------------------------------------- */

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

/* Copy the points, device by device, in order. */
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
    struct points p = { .sim = sim, .schedule = sim->program->schedule };
    begin_counters(&p);
    list_tasks(&p);
    p.left = NEW(&p.arena, int, sim->program->iteration->n_micro);
    p.last = NEW(&p.arena, int, sim->program->iteration->n_micro);
    for (int l = 0; l < p.schedule->n_lists; l++)
        put_slots(&p, l);
    hand_over(&p);
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
