/* The critical path of a timeline. It is traced backwards from the task that ends last to the
 * cause of each start: the task whose end made it ready, which the timeline records, or the
 * task that held its queue until then, which is found among the holders of this queue. */
#include <assert.h>

#include "base/csr.h"
#include "base/sort.h"
#include "sim/full/links.h"
#include "sim/sim.h"

/* A task that holds a queue until `end`. */
struct holding {
    ticks end, busy;
    struct task_instance at;
    int hold;
};

/* The holds of one queue by their ends, found when first needed. */
struct holdings {
    struct holding *list;
    int64_t n;
};

struct walk {
    struct hypar_sim *sim;
    const struct timeline *t;
    struct arena arena;
    int *task_start, *task,
        *hold; /* by queue: the tasks that hold it, and the index of this hold */
    struct holdings *of_queue;
    ticks time;    /* the path after this time is known */
    ticks arrived; /* when the next task on the path came to the queue; HP_NEVER: it waited for
                      none */
    int n;         /* segments, in reverse order */
    int capacity;
    struct hypar_sim_segment *segment;
};

static const struct times *times_of(const struct walk *w, struct task_instance at)
{
    return &w->t->times[at.row][hp_row_place(&w->t->rows, at.row, at.task)];
}

static const ticks *held_of(const struct walk *w, struct task_instance at)
{
    return w->t->held[at.row] + w->t->hold_start[at.task];
}

/* Queues --------------------------------------------------------------------------------- */

/* The number of holds of a task; a task without a list holds its queue all the time. */
static int hold_count(const struct sim_task *task)
{
    return task->hold ? task->n_holds : task->n_holds > 0;
}

static int hold_queue(const struct sim_task *task, int hold)
{
    return task->hold ? task->hold[hold].queue : task->queue;
}

static ticks hold_busy(const struct sim_task *task, int hold)
{
    return task->hold ? task->hold[hold].busy : task->duration;
}

static bool is_together(const struct sim_task *task)
{
    return !task->hold || task->held == HELD_TOGETHER;
}

static void find_holders(struct walk *w)
{
    const struct task_graph *g = &w->t->graph;
    int *start = w->task_start = hp_csr(&w->arena, g->n_queues), n = 0;
    for (int t = 0; t < g->n_tasks; t++)
        for (int h = 0; h < hold_count(&g->task[t]); h++)
            hp_csr_count(start, hold_queue(&g->task[t], h));
    n = hp_csr_sum(start, g->n_queues);
    w->task = NEW(&w->arena, int, n);
    w->hold = NEW(&w->arena, int, n);
    for (int t = 0; t < g->n_tasks; t++)
        for (int h = 0; h < hold_count(&g->task[t]); h++) {
            int place = hp_csr_place(start, hold_queue(&g->task[t], h));
            w->task[place] = t;
            w->hold[place] = h;
        }
    w->of_queue = NEW(&w->arena, struct holdings, g->n_queues);
}

/* The rows that have a task: the first, their number, and their distance. */
static int rows_with(const struct walk *w, int task, int *first, int *apart)
{
    const struct rows *rows = &w->t->rows;
    const struct iteration *r = rows->iteration;
    if (hp_in_tail(rows, task)) {
        int group = rows->group[task - rows->first[r->n_bodies]];
        *first = rows->period[group];
        *apart = 1;
        return hp_period_count(r, group);
    }
    int body = 0;
    while (task >= rows->first[body + 1])
        body++;
    *first = hp_first_micro(r, body);
    *apart = r->delayed ? r->n_bodies : 1;
    return hp_body_times(r, body);
}

static int by_end(const void *a, const void *b)
{
    const struct holding *x = a, *y = b;
    return (x->end > y->end) - (x->end < y->end);
}

static void sort_queue(struct walk *w, int queue)
{
    struct holdings *q = &w->of_queue[queue];
    int64_t most = 0;
    int first, apart;
    for (int i = w->task_start[queue]; i < w->task_start[queue + 1]; i++)
        most += rows_with(w, w->task[i], &first, &apart);
    q->list = NEW(&w->arena, struct holding, most + 1);
    for (int i = w->task_start[queue]; i < w->task_start[queue + 1]; i++) {
        const struct sim_task *task = &w->t->graph.task[w->task[i]];
        ticks busy = hold_busy(task, w->hold[i]);
        int n = rows_with(w, w->task[i], &first, &apart);
        for (int k = 0; (busy > 0 || is_together(task)) && k < n; k++) {
            struct task_instance at = { first + k * apart, w->task[i] };
            ticks from = task->hold ? held_of(w, at)[w->hold[i]] : times_of(w, at)->start;
            q->list[q->n++] = (struct holding){ hp_later(from, busy), busy, at, w->hold[i] };
        }
    }
    hp_sort(q->list, q->n, sizeof *q->list, by_end);
}

/* Is instance `a` served before `b`, if both ask for their queues at the same time? */
static bool is_before(const struct walk *w, struct task_instance a, struct task_instance b)
{
    ticks a_ready = times_of(w, a)->ready, b_ready = times_of(w, b)->ready;
    int a_micro = hp_row_micro(&w->t->rows, a.row), b_micro = hp_row_micro(&w->t->rows, b.row);
    if (a_ready != b_ready)
        return a_ready < b_ready;
    return a_micro != b_micro ? a_micro < b_micro : a.task < b.task;
}

/* The hold of a queue that ended at `end`, when `at` got the queue; NULL: none. A hold of no
 * time also blocks the queue until its end if its task had to wait for other queues; the first
 * of such holds counts. */
static const struct holding *holder(struct walk *w, int queue, ticks end,
                                    struct task_instance at)
{
    struct holdings *q = &w->of_queue[queue];
    const struct holding *found = NULL;
    int64_t low = 0, high;
    if (!q->list)
        sort_queue(w, queue);
    for (high = q->n; low < high;) { /* find the first that ends no earlier */
        int64_t middle = (low + high) / 2;
        if (q->list[middle].end < end)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < q->n && q->list[low].end == end; low++) {
        const struct holding *h = &q->list[low];
        if (h->busy > 0)
            return h;
        if (is_before(w, h->at, found ? found->at : at))
            found = h;
    }
    return found;
}

/* Tracing -------------------------------------------------------------------------------- */

static enum hypar_segment kind_of(const struct walk *w, int task)
{
    const struct hypar_sim *sim = w->sim;
    enum block_kind kind = hp_block_at(sim->timing->blocks, sim->block_of[task]).kind;
    return kind == BLOCK_COMPUTE                        ? HYPAR_SEGMENT_COMPUTE
           : kind == BLOCK_UPDATE || kind == BLOCK_NORM ? HYPAR_SEGMENT_UPDATE
                                                        : HYPAR_SEGMENT_EXCHANGE;
}

static void add(struct walk *w, const struct hypar_sim_segment *segment)
{
    w->segment = GROW(&w->arena, struct hypar_sim_segment, w->segment, w->n, &w->capacity);
    w->segment[w->n++] = *segment;
}

/* From `from` to the current time the path is this task, with this hold (-1: none). */
static void explain(struct walk *w, struct task_instance at, int hold, ticks from)
{
    const struct sim_task *task = &w->t->graph.task[at.task];
    int queue = hold < 0 ? -1 : hold_queue(task, hold);
    int n_devices = w->sim->summary.n_devices;
    if (from < w->time) {
        ticks since = w->arrived > from ? w->arrived : from;
        add(w, &(struct hypar_sim_segment){
                   .kind = kind_of(w, at.task),
                   .event = hp_event_number(w->sim, at),
                   .device = queue < n_devices ? queue : -1,
                   .link = queue >= n_devices ? queue - n_devices : -1,
                   .queued_s = since < w->time ? hp_seconds(w->time - since) : 0,
                   .start_s = hp_seconds(from),
                   .end_s = hp_seconds(w->time) });
        w->time = from;
    }
    w->arrived = HP_NEVER;
}

/* The hold that determines when a task ends; -1: none. */
static int last_hold(const struct walk *w, struct task_instance at)
{
    const struct sim_task *task = &w->t->graph.task[at.task];
    const ticks *from = held_of(w, at);
    ticks end = 0;
    int last = hold_count(task) - 1;
    if (is_together(task))
        return last < 0 ? -1 : 0;
    for (int h = 0; h < task->n_holds; h++) {
        ticks own = hp_later(from[h], task->hold[h].busy);
        ticks latency = task->held == HELD_ON_ROUTE && h > 0
                            ? task->hold[h].offset - task->hold[h - 1].offset
                            : 0;
        if (h == 0 || own > end + latency)
            last = h;
        end = hp_latest(end + latency, own);
    }
    return last;
}

/* Of queues that are taken together: the one that became free last. */
static const struct holding *last_free(struct walk *w, struct task_instance at, ticks start)
{
    const struct sim_task *task = &w->t->graph.task[at.task];
    for (int h = 0; h < hold_count(task); h++) {
        ticks offset = task->hold ? task->hold[h].offset : 0;
        const struct holding *before =
            holder(w, hold_queue(task, h), hp_later(start, offset), at);
        if (before)
            return before;
    }
    return NULL;
}

/* Go back to the time when the task began a hold. Returns the hold that blocked the queue until
 * then; NULL: the queue was free when the task was ready. */
static const struct holding *go_back(struct walk *w, struct task_instance at, int hold)
{
    const struct sim_task *task = &w->t->graph.task[at.task];
    const struct times *times = times_of(w, at);
    const struct holding *before = NULL;
    ticks came = times->ready;
    if (hold < 0 || is_together(task)) {
        explain(w, at, hold, times->start);
        before = times->start > came ? last_free(w, at, times->start) : NULL;
    }
    for (int h = hold; h >= 0 && !is_together(task); h--) {
        const ticks *from = held_of(w, at);
        bool first = h == 0 || task->held == HELD_EACH;
        came = first ? times->ready
                     : hp_later(from[h - 1], task->hold[h].offset - task->hold[h - 1].offset);
        explain(w, at, h, from[h]);
        before = from[h] > came ? holder(w, task->hold[h].queue, from[h], at) : NULL;
        if (before || first)
            break;
    }
    if (before)
        w->arrived = came;
    return before;
}

static struct task_instance last_task(const struct walk *w)
{
    const struct rows *rows = &w->t->rows;
    for (int row = rows->n - 1; row >= 0; row--)
        for (int place = hp_row_size(rows, row) - 1; place >= 0; place--)
            if (w->t->times[row][place].end == w->t->length)
                return (struct task_instance){ row, hp_row_task(rows, row, place) };
    return (struct task_instance){ -1, -1 };
}

/* A segment in which the path waits for a host that launches kernels. */
static void add_launches(struct walk *w, double start_s, double end_s)
{
    add(w, &(struct hypar_sim_segment){ .kind = HYPAR_SEGMENT_LAUNCH,
                                        .event = -1,
                                        .device = -1,
                                        .link = -1,
                                        .start_s = start_s,
                                        .end_s = end_s });
}

/* The instance whose end made a task ready. If the task was launched later, the path waits for
 * its host in between. */
static struct task_instance cause_of(struct walk *w, struct task_instance at)
{
    struct task_instance by = w->t->by[at.row][hp_row_place(&w->t->rows, at.row, at.task)];
    ticks ended = by.row < 0 ? 0 : times_of(w, by)->end;
    if (ended < w->time) {
        add_launches(w, hp_seconds(ended), hp_seconds(w->time));
        w->time = ended;
    }
    return by;
}

static void go(struct walk *w)
{
    struct task_instance at = last_task(w);
    int hold = at.row < 0 ? -1 : last_hold(w, at);
    while (at.row >= 0) {
        const struct holding *before = go_back(w, at, hold);
        if (before) {
            at = before->at;
            hold = before->hold;
            continue;
        }
        at = cause_of(w, at);
        hold = at.row < 0 ? -1 : last_hold(w, at);
    }
    assert(w->time == 0);
}

/* Do the hosts take longer to launch all kernels than the devices to run them? Then the path is
 * the host's, from its first launch to its last. */
static bool is_of_host(const struct walk *w)
{
    return !w->sim->pipeline.minibatches && w->sim->summary.step_s > hp_seconds(w->t->length);
}

void hp_make_path(struct hypar_sim *sim)
{
    struct walk w = {
        .sim = sim, .t = &sim->timeline, .time = sim->timeline.length, .arrived = HP_NEVER
    };
    if (is_of_host(&w)) {
        add_launches(&w, 0, sim->summary.step_s);
    } else {
        find_holders(&w);
        go(&w);
    }
    sim->segment = NEW(&sim->arena, struct hypar_sim_segment, w.n + 1);
    sim->n_segments = w.n;
    for (int i = 0; i < w.n; i++)
        sim->segment[i] = w.segment[w.n - 1 - i];
    hp_arena_free(&w.arena);
}

bool hypar_sim_segment(const struct hypar_sim *sim, int64_t i,
                       struct hypar_sim_segment *segment)
{
    if (i < 0 || i >= sim->n_segments)
        return false;
    *segment = sim->segment[i];
    return true;
}
