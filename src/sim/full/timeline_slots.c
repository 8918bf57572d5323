/* The order of the schedule in a full simulation: a device's compute tasks of a slot are
 * released when it has ended the slot before; gathers of parameters wait for the slot that
 * needs them, and slots wait for updates where stages update separately. */
#include <string.h>

#include "base/csr.h"
#include "sim/full/timeline_run.h"

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

/* The place of a body's group in its list of tasks. */
struct group_range {
    int body, from, to;
};
static struct group_range range_of(const struct timeline_run *s, int row, int group)
{
    int b = hp_body_number(s->iteration, row);
    return (struct group_range){ b, s->group_start[b][group], s->group_start[b][group + 1] };
}

/* When the host has launched a task of a slot that it began at `began`. */
static ticks launched(const struct timeline_run *s, int task, ticks began)
{
    return s->hosts.launched ? hp_later(began, s->hosts.launched[task]) : began;
}

/* The device begins a slot: release its tasks. The host may have launched some of them before;
 * if it waits, it releases those after the first one (hp_launch_slot()). */
static void release_slot(struct timeline_run *s, int row, int group, struct progress *p,
                         int device)
{
    struct group_range g = range_of(s, row, group);
    ticks began = p->time;
    if (s->hosts.launched && !s->hosts.wait)
        began = p->host = hp_latest(p->host, hp_less(p->time, s->hosts.ahead[device]));
    for (int i = g.from; i < g.to; i++) {
        int task = s->group[g.body][i];
        if (!s->hosts.wait)
            hp_release(s, row, task, hp_latest(p->time, launched(s, task, began)), p->by);
        else if (i == g.from)
            hp_release(s, row, task, p->time, p->by);
    }
    if (s->hosts.launched && !s->hosts.wait && g.to > g.from)
        p->host = launched(s, s->group[g.body][g.to - 1], began);
}

ticks hp_launch_slot(struct timeline_run *s, int row, int task, ticks ready,
                     struct task_instance by)
{
    int group = s->group_of[task];
    struct group_range g = { 0 };
    if (group >= 0)
        g = range_of(s, row, group);
    if (group < 0 || s->group[g.body][g.from] != task)
        return ready;
    struct progress *p = &s->progress[s->graph.task[task].queue];
    ticks began = hp_latest(p->host, ready);
    p->host = launched(s, s->group[g.body][g.to - 1], began);
    for (int i = g.from + 1; i < g.to; i++)
        hp_release(s, row, s->group[g.body][i], launched(s, s->group[g.body][i], began), by);
    return launched(s, task, began);
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
        release_slot(s, slot->micro, g, p, device);
        for (int i = s->gather ? s->gather_start[b][g] : 0;
             s->gather && i < s->gather_start[b][g + 1]; i++)
            hp_release(s, slot->micro, s->gather[b][i], p->time, p->by);
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

void hp_note_updates(struct timeline_run *s, int row, int task, ticks end)
{
    int tail = task - s->rows.first[s->iteration->n_bodies];
    for (int i = s->updated_start[tail]; i < s->updated_start[tail + 1]; i++)
        note_update(s, s->rows.group[tail], s->updated[i], end,
                    (struct task_instance){ row, task });
}

void hp_leave_slot(struct timeline_run *s, int row, int task, ticks end)
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
    struct csr groups = { .arena = &s->arena, .n_keys = n_groups };
    (s->part ? name_groups_of_part : name_groups)(s, b);
    while (hp_csr_pass(&groups))
        for (int id = s->rows.first[b]; id < s->rows.first[b + 1]; id++)
            if (s->group_of[id] >= 0) {
                hp_csr_put(&groups, s->group_of[id], id);
                s->missing[id] += groups.item == NULL; /* counted once */
            }
    s->group_start[b] = groups.start;
    s->group[b] = groups.item;
}

/* A parameter is gathered no earlier than the slot that needs it begins, on each device that
 * takes part. */
static void group_gathers(struct timeline_run *s, int b)
{
    const struct blocks *blocks = s->timing->blocks;
    const struct training_graph *k = &blocks->lowering->training;
    int n_groups = s->schedule->n_stages * PHASE_UPDATE * s->n_devices;
    struct csr groups = { .arena = &s->arena, .n_keys = n_groups };
    while (hp_csr_pass(&groups))
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
                    hp_csr_put(&groups, g, id);
                    s->missing[id] += groups.item == NULL;
                }
            }
        }
    s->gather_start[b] = groups.start;
    s->gather[b] = groups.item;
}

/* The same for a part of a program. */
static void group_part_gathers(struct timeline_run *s, int b)
{
    const struct timeline_part *part = s->part;
    int n_groups = s->schedule->n_stages * PHASE_UPDATE * s->n_devices;
    struct csr groups = { .arena = &s->arena, .n_keys = n_groups };
    while (hp_csr_pass(&groups))
        for (int i = 0; i < part->n_gathers; i++) {
            const struct part_gather *gather = &part->gather[i];
            int group = gather->action * s->n_devices + gather->device;
            if (gather->task < part->first[b] || gather->task >= part->first[b + 1])
                continue;
            hp_csr_put(&groups, group, gather->task);
            s->missing[gather->task] += groups.item == NULL;
        }
    s->gather_start[b] = groups.start;
    s->gather[b] = groups.item;
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

/* The number of updates of each stage that a device waits for in a period. */
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

static bool has_gathers(const struct timeline_run *s)
{
    const struct training_graph *k = s->timing ? &s->timing->lowering->training : NULL;
    bool any = s->part && s->part->n_gathers;
    for (int d = 0; k && d < k->n_exchanges; d++)
        any |= k->exchange[d].division == DIVIDE_GATHER;
    return any;
}

/* Of tasks that begin together, those of smaller numbers are launched before. */
static void add_launches(struct timeline_run *s)
{
    ticks *sum = s->hosts.launched;
    int n_groups = s->schedule->n_stages * PHASE_UPDATE * s->n_devices;
    for (int b = 0; sum && b < s->iteration->n_bodies; b++)
        for (int g = 0; g < n_groups; g++)
            for (int i = s->group_start[b][g] + 1; i < s->group_start[b][g + 1]; i++)
                sum[s->group[b][i]] = hp_later(sum[s->group[b][i]], sum[s->group[b][i - 1]]);
}

static void make_hosts(struct timeline_run *s)
{
    const struct timeline_part *part = s->part;
    int n = s->rows.first[s->iteration->n_bodies];
    if (part && part->launch)
        s->hosts.launched =
            memcpy(NEW(&s->arena, ticks, n), part->launch, (size_t)n * sizeof *part->launch);
    else if (!part)
        s->hosts.launched = hp_task_launches(s->timing, n, &s->arena);
    if (!s->hosts.launched)
        return;
    s->hosts.ahead = part ? part->ahead : hp_ahead(s->timing, &s->arena);
    s->hosts.wait = part ? part->host_waits : hp_hosts_wait(s->timing);
    add_launches(s);
}

void hp_make_slots(struct timeline_run *s)
{
    int n = s->rows.first[s->iteration->n_bodies], n_bodies = s->iteration->n_bodies;
    s->group_of = NEW(&s->arena, int, n);
    memset(s->group_of, -1, (size_t)n * sizeof *s->group_of);
    s->group_start = NEW(&s->arena, int *, n_bodies);
    s->group = NEW(&s->arena, int *, n_bodies);
    for (int b = 0; b < n_bodies; b++)
        group_tasks(s, b);
    make_hosts(s);
    if (!has_gathers(s))
        return;
    s->gather_start = NEW(&s->arena, int *, n_bodies);
    s->gather = NEW(&s->arena, int *, n_bodies);
    for (int b = 0; b < n_bodies; b++)
        (s->part ? group_part_gathers : group_gathers)(s, b);
}

void hp_start_slots(struct timeline_run *s)
{
    s->progress = NEW(&s->arena, struct progress, s->n_devices);
    for (int device = 0; device < s->n_devices; device++) {
        s->progress[device].slot = -1;
        s->progress[device].by.row = -1;
        /* a host that does not wait begins before the step before has ended */
        s->progress[device].host =
            s->hosts.launched && !s->hosts.wait ? -s->hosts.ahead[device] : 0;
    }
    if (s->iteration->delayed) /* stages update separately and wait for their updates */
        count_updates(s);
    for (int device = 0; device < s->n_devices; device++)
        next_slot(s, device);
}
