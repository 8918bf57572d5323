/* The timeline of random plans, compared with the written program task by task. The ready time
 * of a task follows from the program's dependencies and slots, its duration from its passes,
 * its start from the tasks its queues served before; and the sums agree.
 *
 *     HYPAR_TIMELINE_PAIRS   how many pairs of graph and plan (400)
 *     HYPAR_TIMELINE_SEED    the first seed (1)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "sim/sim.h"
#include "tests/random_plan.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const words[] = {
    "full:4",      "full:3,latency=0s,bandwidth=1e18B/s,fp64=1e15,memory-bandwidth=1e15B/s",
    "cluster:2x3", "ring:5,bandwidth=1MB/s",
    "torus:2x3",   "cluster:1x2,device=h100+cluster:2x2,device=a100",
    "htree:8",     "full:1",
};

/* A task instance of the program: its body (n_bodies: the tail), its id, and its micro-batch
 * or, in the tail, its period. */
struct instance {
    int list, task, row;
};

struct oracle {
    uint64_t seed;
    struct hypar_sim *sim;
    const struct hypar_program *program;
    struct arena arena;
    const struct rows *rows;
    int tail;                          /* its list */
    const struct comm_messages **comm; /* by task: of one simulated message by message */
    int *id;                           /* by task: the simulator's (first) task */
    ticks **ready;                     /* what is expected, as the timeline's times */
};

/* The row of the simulator's. */
static int row_of(const struct oracle *o, int list, int row, int id)
{
    if (list < o->tail)
        return row;
    return o->rows->period[o->rows->group[id - o->rows->first[o->tail]]] + row;
}

static const struct times *times_of(const struct oracle *o, int list, int row, int id)
{
    int at = row_of(o, list, row, id);
    return &o->sim->timeline.times[at][hp_row_place(o->rows, at, id)];
}

static ticks *ready_of(const struct oracle *o, int list, int row, int id)
{
    int at = row_of(o, list, row, id);
    return &o->ready[at][hp_row_place(o->rows, at, id)];
}

/* Has the list such a row, for this task of the simulator? */
static bool is_row(const struct oracle *o, int list, int row, int id)
{
    const struct iteration *r = o->rows->iteration;
    if (list < o->tail)
        return hp_body_number(r, row) == list;
    return row < hp_period_count(r, o->rows->group[id - o->rows->first[o->tail]]);
}

static void fail_at(const struct oracle *o, const char *what, int list, int row, int id,
                    ticks found, ticks expected)
{
    fail_msg("seed %llu on %s: task %d of list %d, row %d: %s %lld, expected %lld",
             (unsigned long long)o->seed, hypar_machine_word(o->program->plan->machine), id,
             list, row, what, (long long)found, (long long)expected);
}

/* Which task of the simulator is it? --------------------------------------------------------
 */

static void find_task(struct oracle *o, int t)
{
    struct timing *timing = o->sim->timing;
    const struct task *task = &o->program->task[t];
    int place = t - o->program->blocks->first[task->block];
    if (task->kind == TASK_COMM) {
        const struct pattern_cost *cost = hp_pattern_cost(
            timing->costs, hp_task_pattern(o->program, t),
            hp_message_bytes(timing->lowering->plan, hp_task_place(o->program, t)),
            WAITING_NONE);
        place = hp_first_of_comm(cost, task->comm);
        if (cost->messages && cost->messages[task->comm].list)
            o->comm[t] = &cost->messages[task->comm];
    }
    o->id[t] = timing->blocks->first[task->block] + place;
}

static void begin_oracle(struct oracle *o)
{
    o->rows = &o->sim->timeline.rows;
    o->tail = o->program->n_bodies;
    o->id = NEW(&o->arena, int, o->program->n_tasks);
    o->comm = NEW(&o->arena, const struct comm_messages *, o->program->n_tasks);
    o->ready = NEW(&o->arena, ticks *, o->rows->n);
    for (int row = 0; row < o->rows->n; row++)
        o->ready[row] = NEW(&o->arena, ticks, hp_row_size(o->rows, row));
    for (int t = 0; t < o->program->n_tasks; t++)
        find_task(o, t);
}

/* Ready ------------------------------------------------------------------------------------ */

/* The instance that entry `a` of what a task waits for means; row -1: none in this period. */
static struct instance before(const struct oracle *o, const struct instance *i, int64_t a)
{
    int task = o->program->after[a], list = hp_task_body(o->program, task), last = i->row;
    if (i->list == o->tail && list < o->tail) { /* the last of the period with this body */
        int n = o->rows->iteration->period[hp_update_group(o->program, i->task)];
        for (last = (i->row + 1) * n - 1; last >= i->row * n; last--)
            if (hp_body_number(o->rows->iteration, last) == list)
                break;
        last = last < i->row * n ? -1 : last;
    }
    return (struct instance){ list, task, last };
}

static void raise_to(ticks *to, ticks time)
{
    *to = time > *to ? time : *to;
}

/* When `i` has ended for a task on `device`: of a collective simulated message by message, when
 * all messages to the device are there and what the device contributes itself; for a comm (of
 * no device), when all are. */
static ticks end_of(const struct oracle *o, const struct instance *i, int device)
{
    const struct hypar_program *p = o->program;
    const struct comm_messages *comm = o->comm[i->task];
    int id = o->id[i->task];
    ticks end = 0;
    if (!comm)
        return times_of(o, i->list, i->row, id)->end;
    for (int m = 0; m < comm->n; m++)
        if (comm->list[m].message.to == device || device < 0)
            raise_to(&end, times_of(o, i->list, i->row, id + m)->end);
    for (int64_t a = p->after_start[i->task]; a < p->after_start[i->task + 1]; a++) {
        struct instance from = before(o, i, a);
        if (from.row >= 0 && p->task[from.task].device == device)
            raise_to(&end, end_of(o, &from, device));
    }
    return end;
}

/* A message cannot leave before what its sender contributes is there. */
static void check_messages(const struct oracle *o, const struct instance *i,
                           const struct instance *from)
{
    const struct comm_messages *comm = o->comm[i->task];
    int device = o->program->task[from->task].device;
    for (int m = 0; m < comm->n; m++) {
        int id = o->id[i->task] + m;
        ticks start = times_of(o, i->list, i->row, id)->ready, end = end_of(o, from, device);
        if (comm->list[m].message.from == device && start < end)
            fail_at(o, "a message ready at", i->list, i->row, id, start, end);
    }
}

static void expect_ready(struct oracle *o, const struct instance *i)
{
    const struct hypar_program *p = o->program;
    for (int64_t a = p->after_start[i->task]; a < p->after_start[i->task + 1]; a++) {
        struct instance from = before(o, i, a);
        if (from.row < 0)
            continue;
        if (o->comm[i->task])
            check_messages(o, i, &from);
        else
            raise_to(ready_of(o, i->list, i->row, o->id[i->task]),
                     end_of(o, &from, p->task[i->task].device));
    }
}

/* When a device has done its updates of a period of a stage. */
static ticks updated(const struct oracle *o, int stage, int device, int period)
{
    const struct hypar_program *p = o->program;
    ticks end = 0;
    for (int t = p->first[o->tail]; t < p->n_tasks; t++)
        if (p->task[t].kind == TASK_UPDATE && p->task[t].device == device &&
            hp_update_group(p, t) == stage)
            raise_to(&end, times_of(o, o->tail, period, o->id[t])->end);
    return end;
}

static int stage_of(const struct hypar_program *p, const struct task *task)
{
    return p->schedule->stage_of_op[p->lowering->training.op_pass[task->index].op];
}

/* A device goes through its slots: none begins before the one before has ended there. */
static void expect_slots(struct oracle *o, int device)
{
    const struct hypar_program *p = o->program;
    const struct slot_list *list = hp_slots_of(p->schedule, device);
    ticks time = 0;
    for (int s = 0; s < list->n_slots; s++) {
        const struct slot *slot = &list->slot[s];
        int row = slot->micro, b = hp_body_number(p->iteration, row);
        ticks until = time;
        if (slot->phase == PHASE_UPDATE) {
            if (p->iteration->delayed)
                raise_to(&time, updated(o, slot->stage, device, row));
            continue;
        }
        for (int t = p->first[b]; t < p->first[b + 1]; t++) {
            const struct task *task = &p->task[t];
            if (task->kind != TASK_COMPUTE || task->device != device ||
                task->phase != slot->phase || stage_of(p, task) != slot->stage)
                continue;
            raise_to(ready_of(o, b, row, o->id[t]), time);
            raise_to(&until, times_of(o, b, row, o->id[t])->end);
        }
        time = until;
    }
}

/* Messages are not written out in the program: theirs were looked at in check_messages(). */
static bool is_message(const struct oracle *o, int list, int id)
{
    for (int t = o->program->first[list]; t < o->program->first[list + 1]; t++)
        if (o->comm[t] && id >= o->id[t] && id < o->id[t] + o->comm[t]->n)
            return true;
    return false;
}

static void check_ready(struct oracle *o)
{
    const struct hypar_program *p = o->program;
    for (int l = 0; l <= o->tail; l++)
        for (int row = 0; row < p->iteration->n_micro; row++)
            for (int t = p->first[l]; t < p->first[l + 1]; t++)
                if (is_row(o, l, row, o->id[t]))
                    expect_ready(o, &(struct instance){ l, t, row });
    for (int d = 0; hp_has_order(p->lowering) && d < o->sim->summary.n_devices; d++)
        expect_slots(o, d);
    for (int l = 0; l <= o->tail; l++)
        for (int id = o->rows->first[l]; id < o->rows->first[l + 1]; id++)
            for (int row = 0; row < p->iteration->n_micro && !is_message(o, l, id); row++) {
                if (!is_row(o, l, row, id))
                    continue;
                ticks expected = *ready_of(o, l, row, id);
                ticks found = times_of(o, l, row, id)->ready;
                if (found != expected)
                    fail_at(o, "ready at", l, row, id, found, expected);
            }
}

/* Start and end -----------------------------------------------------------------------------
 */

static void check_durations(struct oracle *o)
{
    const struct hypar_program *p = o->program;
    const struct hypar_plan *plan = p->plan;
    ticks *sum = NEW(&o->arena, ticks, o->rows->first[o->tail]);
    for (int b = 0; b < p->n_bodies; b++) {
        struct range samples = hp_micro_samples(p, hp_first_micro(p->iteration, b));
        for (int t = p->first[b]; t < p->first[b + 1]; t++) {
            const struct task *task = &p->task[t];
            for (int i = task->kind == TASK_COMPUTE ? task->index : -1; i >= 0;
                 i = p->blocks->next[b][i]) {
                const struct op_pass *op_pass = &p->lowering->training.op_pass[i];
                const struct op *op = &plan->graph->ops[op_pass->op];
                struct range range[MAX_AXES];
                hp_micro_ranges(plan->graph, op_pass->op, &plan->ops[op_pass->op].split,
                                task->part, samples, range);
                sum[o->id[t]] += hp_ticks(hp_pass_seconds(
                    op->nest, op_pass->pass, range, hp_present(op),
                    hypar_machine_device(plan->machine, task->device), plan->precision, NULL));
            }
        }
        for (int id = o->rows->first[b]; id < o->rows->first[b + 1]; id++)
            if (sum[id] && o->sim->timeline.graph.task[id].duration != sum[id])
                fail_at(o, "it takes", b, b, id, o->sim->timeline.graph.task[id].duration,
                        sum[id]);
    }
}

/* Without overlap, messages hold devices too. */
static bool is_computing(const struct oracle *o, int id)
{
    return !o->sim->timeline.graph.task[id].hold;
}

/* A queue being held. */
struct held {
    int queue;
    ticks from, to, offset, ready; /* `ready`: when the task came to it */
    int id, traffic;
    ticks *start; /* of the task, or of the hold: as late as its queues make it */
};

/* The order in which a queue serves. */
static int by_turn(const void *x, const void *y)
{
    const struct held *a = x, *b = y;
    if (a->queue != b->queue)
        return a->queue - b->queue;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->ready != b->ready ? a->ready < b->ready ? -1 : 1 : a->id - b->id;
}

static const ticks *from_of(const struct oracle *o, const struct instance *i)
{
    const struct timeline *t = &o->sim->timeline;
    return t->held[row_of(o, i->list, i->row, i->task)] + t->hold_start[i->task];
}

/* Queues that are held together have one start; start[]: room for one of each hold. */
static void list_together(const struct oracle *o, const struct instance *i, struct held *held,
                          int64_t *n, ticks *start)
{
    const struct sim_task *task = &o->sim->timeline.graph.task[i->task];
    const struct times *t = times_of(o, i->list, i->row, i->task);
    struct hold whole = { task->queue, 0, task->duration };
    *start = t->ready;
    for (int h = 0; h < task->n_holds; h++) {
        const struct hold *hold = task->hold ? &task->hold[h] : &whole;
        ticks from = t->start + hold->offset;
        held[(*n)++] = (struct held){
            hold->queue, from, from + hold->busy, hold->offset, t->ready, i->task, 0, start
        };
        if (task->hold)
            assert_int_equal(from_of(o, i)[h], from);
    }
}

/* Links each have their own, and what holds one for no time does not wait for it. */
static void list_links(const struct oracle *o, const struct instance *i, struct held *held,
                       int64_t *n, ticks *start)
{
    const struct sim_task *task = &o->sim->timeline.graph.task[i->task];
    const struct times *t = times_of(o, i->list, i->row, i->task);
    const ticks *from = from_of(o, i);
    for (int h = 0; h < task->n_holds; h++) {
        const struct hold *hold = &task->hold[h];
        start[h] = t->ready;
        if (h && task->held == HELD_ON_ROUTE)
            start[h] = from[h - 1] + hold->offset - hold[-1].offset;
        held[*n] = (struct held){ hold->queue, from[h], from[h] + hold->busy, 0,
                                  start[h],    i->task, task->traffic,        &start[h] };
        *n += hold->busy > 0;
    }
}

/* Do both hold a queue for no time, at the same time? */
static bool at_once(const struct held *a, const struct held *b)
{
    return b && a->queue == b->queue && a->from == b->from && a->to == b->to &&
           a->ready == b->ready;
}

/* Of one class first come, first served; those that come at the same time by number, but
 * between micro-batches: there a task that takes no time may let a smaller number go (slots).
 * What gives way has begun before anything of the first class came that is served later. */
static void check_order(const struct oracle *o, const struct held *h,
                        const struct held *const *last, bool slots)
{
    const struct held *same = last[h->traffic], *gave = last[TRAFFIC_SUMS];
    if (same &&
        (same->ready > h->ready || (same->ready == h->ready && same->id > h->id && !slots)))
        fail_msg("seed %llu: task %d is served after task %d", (unsigned long long)o->seed,
                 h->id, same->id);
    if (gave && h->traffic == TRAFFIC_NEXT && gave->from >= h->ready)
        fail_msg("seed %llu: task %d does not give way to task %d", (unsigned long long)o->seed,
                 gave->id, h->id);
}

static void check_turns(const struct oracle *o, const struct held *held, int64_t n)
{
    bool slots = hp_has_order(o->program->lowering);
    const struct held *of_class[2] = { NULL, NULL };
    ticks until = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct held *h = &held[i], *last = i ? h - 1 : NULL;
        if (!last || last->queue != h->queue) {
            until = 0;
            of_class[0] = of_class[1] = NULL;
        }
        check_order(o, h, of_class, slots);
        of_class[h->traffic] = h;
        if (h->from < until)
            fail_msg("seed %llu: task %d holds a queue that is held",
                     (unsigned long long)o->seed, h->id);
        raise_to(h->start, until - h->offset);
        if (slots && (at_once(h, last) || (i + 1 < n && at_once(h, h + 1))))
            raise_to(h->start, h->from - h->offset); /* either may have been the first */
        raise_to(&until, h->to);
    }
}

/* A collective ends with its last link, and what it takes besides; a message one latency after
 * its last link, where it ends no earlier than one latency after it does on the one before. */
static struct times on_links(const struct sim_task *task, const ticks *from)
{
    struct times t = { 0, from[0], 0 };
    ticks longest = 0, latency = 0;
    bool route = task->held == HELD_ON_ROUTE;
    for (int h = 0; h < task->n_holds; h++) {
        const struct hold *hold = &task->hold[h];
        ticks end = from[h] + hold->busy;
        latency = h && route ? hold->offset - hold[-1].offset : 0;
        t.start = !route && from[h] < t.start ? from[h] : t.start;
        t.end = end > t.end + latency ? end : t.end + latency;
        raise_to(&longest, hold->busy);
    }
    t.end += task->duration - longest - (route ? task->hold[task->n_holds - 1].offset : 0);
    return t;
}

static void check_task(const struct oracle *o, const struct instance *i, const ticks *start)
{
    const struct sim_task *task = &o->sim->timeline.graph.task[i->task];
    const struct times *times = times_of(o, i->list, i->row, i->task);
    struct times expected = { 0, *start, *start + task->duration };
    if (task->n_holds && task->held != HELD_TOGETHER) {
        const ticks *from = from_of(o, i);
        expected = on_links(task, start);
        for (int h = 0; h < task->n_holds; h++)
            if (from[h] != start[h])
                fail_at(o, "takes a link at", i->list, i->row, i->task, from[h], start[h]);
    }
    if (times->start != expected.start)
        fail_at(o, "starts at", i->list, i->row, i->task, times->start, expected.start);
    if (times->end != expected.end)
        fail_at(o, "ends at", i->list, i->row, i->task, times->end, expected.end);
}

/* What is held starts when it is ready and the queue is free for it; the step ends with the
 * last task. */
static void check_starts(struct oracle *o, ticks *busy)
{
    const struct timeline *t = &o->sim->timeline;
    struct instance *all = NEW(&o->arena, struct instance, t->n_instances);
    ticks **start = NEW(&o->arena, ticks *, t->n_instances), length = 0;
    int64_t n = 0, n_held = 0;
    for (int l = 0; l <= o->tail; l++)
        for (int row = 0; row < o->program->iteration->n_micro; row++)
            for (int id = o->rows->first[l]; id < o->rows->first[l + 1]; id++) {
                if (!is_row(o, l, row, id))
                    continue;
                all[n++] = (struct instance){ l, id, row };
                n_held += t->graph.task[id].n_holds;
            }
    assert_int_equal(n, t->n_instances);
    struct held *held = NEW(&o->arena, struct held, n_held);
    n_held = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct sim_task *task = &t->graph.task[all[i].task];
        start[i] = NEW(&o->arena, ticks, task->n_holds + 1);
        if (task->held == HELD_TOGETHER)
            list_together(o, &all[i], held, &n_held, start[i]);
        else
            list_links(o, &all[i], held, &n_held, start[i]);
    }
    qsort(held, (size_t)n_held, sizeof *held, by_turn);
    check_turns(o, held, n_held);
    for (int64_t i = 0; i < n_held; i++)
        if (held[i].queue >= o->sim->summary.n_devices || is_computing(o, held[i].id))
            busy[held[i].queue] += held[i].to - held[i].from;
    for (int64_t i = 0; i < n; i++) {
        check_task(o, &all[i], start[i]);
        raise_to(&length, times_of(o, all[i].list, all[i].row, all[i].task)->end);
    }
    assert_int_equal(t->length, length);
    if (!o->program->iteration->delayed)
        assert_true(o->sim->summary.step_s == hp_seconds(length));
    else
        assert_true(hypar_sim_pipeline(o->sim).window_s == hp_seconds(length));
}

/* Sums ---------------------------------------------------------------------------------------
 */

static void check_sums(const struct oracle *o, const ticks *busy)
{
    const struct hypar_sim_summary *s = &o->sim->summary;
    struct hypar_program_totals totals = hypar_program_totals(o->program);
    double on_links = 0, steps = o->program->iteration->n_batches;
    double step_s = steps > 1 ? hypar_sim_pipeline(o->sim).window_s : s->step_s;
    for (int d = 0; d < s->n_devices; d++) {
        struct hypar_sim_device device = hypar_sim_device(o->sim, d);
        assert_true(device.busy_s == hp_seconds(busy[d]) / steps);
        assert_true(device.busy_s <= step_s && device.comm_s <= step_s);
        double most_s = fmax(0, s->step_s - fmax(device.busy_s, device.comm_s));
        double least_s = s->step_s - device.busy_s - device.comm_s;
        assert_true(device.waiting_s >= 0 && device.waiting_s <= most_s + 1e-12 * step_s);
        assert_true(device.waiting_s >= least_s - 1e-12 * step_s);
    }
    for (int l = 0; l < s->n_links; l++) {
        struct hypar_sim_link link = hypar_sim_link(o->sim, l);
        assert_true(link.busy_s == hp_seconds(busy[s->n_devices + l]) / steps);
        assert_true(link.busy_s <= step_s);
        on_links += link.bytes;
    }
    assert_int_equal(s->tasks, o->sim->timeline.n_instances);
    assert_int_equal(s->update, totals.update);
    assert_true(s->compute <= totals.compute && s->compute > 0);
    if (fabs(s->comm_bytes - totals.comm_bytes) > (steps > 1 ? 1e-12 * s->comm_bytes : 0))
        fail_msg("seed %llu: %.17g bytes sent, %.17g in the program",
                 (unsigned long long)o->seed, s->comm_bytes, totals.comm_bytes);
    if (fabs(on_links - s->link_bytes) > 1e-9 * on_links ||
        s->link_bytes < s->comm_bytes * (1 - 1e-12))
        fail_msg("seed %llu on %s: %.17g bytes on links, %.17g in all, %.17g sent",
                 (unsigned long long)o->seed, hypar_machine_word(o->program->plan->machine),
                 on_links, s->link_bytes, s->comm_bytes);
}

/* -------------------------------------------------------------------------------------------
 */

/* Operators that mix samples (a sum over the batch) allow one micro-batch only. */
static void simulate(struct oracle *o, struct hypar_plan *plan)
{
    struct hypar_sim_options options = { .timeline = true,
                                         .framework.kernels = HYPAR_KERNELS_NONE,
                                         .framework_given = true,
                                         .expand_collectives = o->seed % 2 == 0,
                                         .no_overlap = o->seed % 6 == 3 };
    struct hypar_error err;
    enum hypar_status status = hypar_simulate(&o->sim, plan, &options, &err);
    if (status == HYPAR_UNSUPPORTED && plan->schedule.micro_batches > 1) {
        struct hypar_schedule schedule = plan->schedule;
        schedule.micro_batches = 1;
        hp_plan_set_schedule(plan, &schedule);
        status = hypar_simulate(&o->sim, plan, &options, &err);
    }
    if (status != HYPAR_OK)
        fail_msg("seed %llu: %s", (unsigned long long)o->seed, err.text);
    o->program = o->sim->program;
}

static int64_t check_pair(uint64_t seed, const struct hypar_machine *machine)
{
    struct random random = { seed * 0x2545f4914f6cdd1d };
    struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
    struct hypar_plan *plan =
        random_plan(&random, graph, machine, &(struct plan_focus){ -1, -1, -1, false });
    struct oracle o = { .seed = seed };
    simulate(&o, plan);
    begin_oracle(&o);
    ticks *busy = NEW(&o.arena, ticks, o.sim->timeline.graph.n_queues);
    check_ready(&o);
    check_durations(&o);
    check_starts(&o, busy);
    check_sums(&o, busy);
    int64_t tasks = o.sim->timeline.n_instances;
    hp_arena_free(&o.arena);
    hypar_sim_free(o.sim);
    hypar_plan_free(plan);
    hypar_graph_free(graph);
    return tasks;
}

static void the_program_is_played(void **state)
{
    (void)state;
    struct hypar_machine *machine[COUNT(words)];
    uint64_t first = number_from("HYPAR_TIMELINE_SEED", 1);
    uint64_t pairs = number_from("HYPAR_TIMELINE_PAIRS", 400);
    int64_t tasks = 0;
    for (size_t i = 0; i < COUNT(words); i++)
        assert_int_equal(hypar_machine_read(&machine[i], words[i], NULL), HYPAR_OK);
    for (uint64_t seed = first; seed < first + pairs; seed++)
        tasks += check_pair(seed, machine[seed / 6 % COUNT(words)]);
    for (size_t i = 0; i < COUNT(words); i++)
        hypar_machine_free(machine[i]);
    print_message("  %lld pairs, %lld tasks\n", (long long)pairs, (long long)tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_program_is_played) };
    return cmocka_run_group_tests_name("sim/timeline", tests, NULL, NULL);
}
