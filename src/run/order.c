/* In which order the tasks of an interpreted program run. */
#include <string.h>

#include "base/table.h"
#include "run/interpret_state.h"

struct range hp_tasks_of(const struct interpreter *it, int micro)
{
    const struct hypar_program *p = it->program;
    int b = micro < 0 ? p->n_bodies : hp_body_number(p->iteration, micro);
    return (struct range){ p->first[b], p->first[b + 1] };
}

/* Rows of `done` and `posting`: micro-batches, then periods. */
static int row_of(const struct interpreter *it, int micro)
{
    return micro < 0 ? it->n_micro + hp_period_at(micro) : micro;
}

/* Place of a task in its row. */
static int place_of(const struct interpreter *it, struct instance at)
{
    return at.task - (int)hp_tasks_of(it, at.micro).lo;
}

static bool *done_of(const struct interpreter *it, struct instance at)
{
    return &it->done[row_of(it, at.micro)][place_of(it, at)];
}

/* Is there such an instance: groups of parameters have different numbers of periods. */
static bool is_instance(const struct interpreter *it, struct instance at)
{
    const struct hypar_program *p = it->program;
    return at.micro >= 0 ||
           hp_period_at(at.micro) < hp_period_count(p->iteration, hp_update_group(p, at.task));
}

/* What a task of the tail waits for as an instance; task -1: nothing in this period. */
static struct instance tail_instance(const struct interpreter *it, struct instance at,
                                     int after)
{
    const struct hypar_program *p = it->program;
    if (hp_is_tail(p, after))
        return (struct instance){ at.micro, after };
    int micro = hp_last_in_period(p->iteration, hp_update_group(p, at.task),
                                  hp_period_at(at.micro), hp_task_body(p, after));
    return (struct instance){ micro, micro < 0 ? -1 : after };
}

static bool is_done(const struct interpreter *it, struct instance at)
{
    return *done_of(it, at);
}

/* Tail tasks wait for the last micro-batch of a body in their edges; that the others are done
 * by then is the schedule's promise, so they are waited for here too. */
static bool all_micros_done(const struct interpreter *it, struct instance last)
{
    const struct iteration *r = it->program->iteration;
    int b = hp_body_number(r, last.micro);
    int first = r->delayed ? last.micro : hp_first_micro(r, b); /* it is once in a period */
    for (int m = first; m <= last.micro; m++)
        if (!is_done(it, (struct instance){ m, last.task }))
            return false;
    return true;
}

static bool is_ready(const struct interpreter *it, struct instance at)
{
    const struct hypar_program *p = it->program;
    for (int64_t i = p->after_start[at.task]; i < p->after_start[at.task + 1]; i++) {
        struct instance before = { at.micro, p->after[i] };
        if (at.micro < 0)
            before = tail_instance(it, at, p->after[i]);
        if (before.task < 0)
            continue;
        bool every = at.micro < 0 && before.micro >= 0 && it->settings.order == ORDER_LATEST;
        if (every ? !all_micros_done(it, before) : !is_done(it, before))
            return false;
    }
    return true;
}

static enum hypar_status run(struct interpreter *it, struct instance at)
{
    *done_of(it, at) = true;
    return hp_run_task(it, at);
}

/* Ranks ---------------------------------------------------------------------------- */

/* What one rank does, in order. */
struct rank {
    struct instance *todo;
    int n, capacity, at;
    int *turn; /* by group: how often it has posted to it */
};

/* Devices that communicate in the same half of a micro-batch, or at the end. */
struct groups {
    struct table table;
    int n;
};

static int group_of(struct interpreter *it, struct groups *groups, struct instance at)
{
    const struct comm *comm = hp_task_comm(it->program, at.task);
    int *key = NEW(&it->scratch, int, comm->n_devices + 1);
    key[0] = at.micro < 0 ? 2 : it->program->task[at.task].backward;
    memcpy(key + 1, comm->device, (size_t)comm->n_devices * sizeof *key);
    int group = hp_table_put(&groups->table, &it->scratch, key,
                             (size_t)(comm->n_devices + 1) * sizeof *key, groups->n);
    groups->n += group == groups->n;
    return group;
}

static bool takes_part(const struct interpreter *it, struct instance at, int device)
{
    const struct task *task = &it->program->task[at.task];
    if (task->kind != TASK_COMM)
        return task->device == device;
    const struct comm *comm = hp_task_comm(it->program, at.task);
    return hp_is_in(comm->device, comm->n_devices, device);
}

static void add_half(struct interpreter *it, struct rank *rank, int device, int micro,
                     bool backward)
{
    struct range tasks = hp_tasks_of(it, micro);
    for (int t = (int)tasks.lo; t < tasks.hi; t++)
        if ((micro < 0 || it->program->task[t].backward == backward) &&
            is_instance(it, (struct instance){ micro, t }) &&
            takes_part(it, (struct instance){ micro, t }, device)) {
            rank->todo =
                GROW(&it->scratch, struct instance, rank->todo, rank->n, &rank->capacity);
            rank->todo[rank->n++] = (struct instance){ micro, t };
        }
}

/* The micro-batch of a slot, or the number of the update period among instances. */
static int row_micro(const struct slot *slot)
{
    return slot->phase == PHASE_UPDATE ? hp_tail_micro(slot->micro) : slot->micro;
}

static void plan_rank(struct interpreter *it, struct rank *rank, int device)
{
    const struct slot_list *list = hp_slots_of(it->program->schedule, device);
    for (int i = 0; i < list->n_slots; i++)
        add_half(it, rank, device, row_micro(&list->slot[i]),
                 list->slot[i].phase == PHASE_BACKWARD);
}

/* The rank comes to a comm, which is run once the last of its devices is there. All devices of
 * a group post to it in the same order, so that one communicator for each group will do. */
static enum hypar_status post(struct interpreter *it, struct rank *rank, struct groups *groups,
                              struct instance at)
{
    struct posting *posting = &it->posting[row_of(it, at.micro)][place_of(it, at)];
    int turn = ++rank->turn[group_of(it, groups, at)];
    char text[128];
    if (posting->ranks > 0 && posting->turn != turn)
        return hp_fail(it->err, HYPAR_RUNTIME, "%s comes in turn %d for some and %d for others",
                       hp_instance_text(it, at, text, sizeof text), posting->turn, turn);
    posting->turn = turn;
    if (++posting->ranks < hp_task_comm(it->program, at.task)->n_devices)
        return HYPAR_OK;
    if (!is_ready(it, at))
        return hp_fail(it->err, HYPAR_RUNTIME, "%s is posted before what it waits for",
                       hp_instance_text(it, at, text, sizeof text));
    return run(it, at);
}

/* Go on with a rank as far as it gets: computations wait for what they need, communication is
 * posted and left to itself. */
static enum hypar_status advance(struct interpreter *it, struct rank *rank,
                                 struct groups *groups, bool *moved)
{
    for (; rank->at < rank->n; rank->at++) {
        struct instance at = rank->todo[rank->at];
        if (it->program->task[at.task].kind == TASK_COMM) {
            TRY(post(it, rank, groups, at));
        } else {
            if (!is_ready(it, at))
                return HYPAR_OK;
            TRY(run(it, at));
        }
        *moved = true;
    }
    return HYPAR_OK;
}

static enum hypar_status run_ranks(struct interpreter *it)
{
    struct rank *rank = NEW(&it->scratch, struct rank, it->n_devices);
    struct groups groups = { 0 };
    bool moved = true;
    char text[128];
    int n_comms = it->program->n_tasks; /* and no more groups than comms */
    for (int d = 0; d < it->n_devices; d++) {
        rank[d].turn = NEW(&it->scratch, int, n_comms);
        plan_rank(it, &rank[d], d);
    }
    while (moved) {
        moved = false;
        for (int d = 0; d < it->n_devices; d++)
            TRY(advance(it, &rank[d], &groups, &moved));
    }
    for (int d = 0; d < it->n_devices; d++)
        if (rank[d].at < rank[d].n)
            return hp_fail(it->err, HYPAR_RUNTIME, "deadlock: device %d waits at %s", d,
                           hp_instance_text(it, rank[d].todo[rank[d].at], text, sizeof text));
    return HYPAR_OK;
}

/* Any order ------------------------------------------------------------------------ */

/* Where a device is in its slots: all before it are done there. */
struct gate {
    int slot;
};

static bool slot_done(const struct interpreter *it, int device, const struct slot *slot)
{
    int micro = row_micro(slot);
    bool update = slot->phase == PHASE_UPDATE, backward = slot->phase == PHASE_BACKWARD;
    struct range tasks = hp_tasks_of(it, micro);
    for (int t = (int)tasks.lo; t < tasks.hi; t++) {
        const struct task *task = &it->program->task[t];
        bool here =
            update ? task->kind == TASK_UPDATE && hp_update_group(it->program, t) == slot->stage
                   : task->kind == TASK_COMPUTE && task->backward == backward;
        if (here && task->device == device && !is_done(it, (struct instance){ micro, t }))
            return false;
    }
    return true;
}

/* Where order is meaning, a computation waits for all slots before its own on its device. */
static bool in_turn(struct interpreter *it, struct instance at)
{
    const struct hypar_program *p = it->program;
    const struct task *task = &p->task[at.task];
    if (!p->iteration->delayed || task->kind != TASK_COMPUTE)
        return true;
    struct gate *gate = &it->gate[task->device];
    const struct slot_list *list = hp_slots_of(p->schedule, task->device);
    while (gate->slot < list->n_slots && slot_done(it, task->device, &list->slot[gate->slot]))
        gate->slot++;
    const struct slot *now = &list->slot[gate->slot];
    return now->micro == at.micro &&
           now->phase == (task->backward ? PHASE_BACKWARD : PHASE_FORWARD);
}

static enum hypar_status run_latest(struct interpreter *it)
{
    bool moved = true, left = true;
    it->gate = NEW(&it->scratch, struct gate, it->n_devices);
    char text[128];
    struct instance stuck = { 0, 0 };
    while (moved && left) {
        moved = left = false;
        for (int m = it->n_micro - 1; m >= -it->n_periods; m--)
            for (int t = (int)hp_tasks_of(it, m).hi - 1; t >= hp_tasks_of(it, m).lo; t--) {
                struct instance at = { m, t };
                if (!is_instance(it, at) || is_done(it, at))
                    continue;
                if (is_ready(it, at) && in_turn(it, at)) {
                    TRY(run(it, at));
                    moved = true;
                } else {
                    left = true;
                    stuck = at;
                }
            }
    }
    if (left)
        return hp_fail(it->err, HYPAR_RUNTIME, "a cycle of edges at %s",
                       hp_instance_text(it, stuck, text, sizeof text));
    return HYPAR_OK;
}

/* Was everything run? A comm none of whose devices has it among its tasks would be left. */
static enum hypar_status check_all_done(const struct interpreter *it)
{
    char text[128];
    for (int m = -it->n_periods; m < it->n_micro; m++)
        for (int t = (int)hp_tasks_of(it, m).lo; t < hp_tasks_of(it, m).hi; t++)
            if (is_instance(it, (struct instance){ m, t }) &&
                !is_done(it, (struct instance){ m, t }))
                return hp_fail(
                    it->err, HYPAR_RUNTIME, "%s is never run",
                    hp_instance_text(it, (struct instance){ m, t }, text, sizeof text));
    return HYPAR_OK;
}

enum hypar_status hp_run_in_order(struct interpreter *it)
{
    if (it->settings.order == ORDER_LATEST)
        TRY(run_latest(it));
    else
        TRY(run_ranks(it));
    return check_all_done(it);
}
