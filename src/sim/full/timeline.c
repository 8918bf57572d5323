/* Full simulation (FlexFlow, Algorithm 1). Task instances are pairs (row, task) and never
 * written out; a row has counters only while it is under way. timeline_slots.c keeps the order
 * of the schedule. */
#include <string.h>

#include "base/stop.h"
#include "sim/full/timeline_run.h"

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
void hp_release(struct timeline_run *s, int row, int task, ticks end, struct task_instance by)
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
        push(s, row, task,
             s->hosts.wait && !is_tail(s, task) ? hp_launch_slot(s, row, task, *ready, by)
                                                : *ready);
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
            hp_release(s, row, next, end, me);
            continue;
        }
        int to = hp_tail_row(&s->rows, next, row), group = hp_row_group(&s->rows, to);
        if (row == hp_last_in_period(s->iteration, group, to - s->rows.period[group],
                                     hp_body_number(s->iteration, row)))
            hp_release(s, to, next, end, me);
    }
}

/* A task has been given all its queues. */
static void end_task(struct timeline_run *s, int row, int task, const struct served *what)
{
    note_served(s, row, task, what);
    release_next(s, row, task, what->times.end);
    if (!is_tail(s, task) && s->gated && s->group_of[task] >= 0)
        hp_leave_slot(s, row, task, what->times.end);
    if (is_tail(s, task) && s->gated && s->iteration->delayed)
        hp_note_updates(s, row, task, what->times.end);
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
        hp_make_slots(s);
}

static void run(struct timeline_run *s)
{
    enum { BETWEEN_LOOKS = 1 << 16 }; /* a fraction of a second */
    if (s->observer)
        s->observer->begin(s->observer->who, &s->graph);
    start_tasks(s);
    if (s->gated)
        hp_start_slots(s);
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
