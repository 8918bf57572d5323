/* Delta simulation: replaying the timeline from the earliest position that a change can touch.
 *
 * The old timeline is read in its order. A task whose predecessors all ended `shift` later (or
 * earlier) than before is ready `shift` later and keeps its turn: only its queues are looked
 * up. Where an end has moved otherwise, the tasks that wait for it are inspected (DIRTY). A
 * task that is ready earlier or later than its turn leaves the order and is served from a heap
 * (OUT). So does a task that does not get all its links when it is ready (links.h): it is
 * advanced until it has them.
 *
 * A change that delays one operator moves everything after it by the same time. As soon as this
 * is certain, `shift` is set to this time and the tasks are in step again. Let a run of tasks
 * have ended d later than before, and let everything served before the run have ended, now and
 * before, when the next task becomes ready. Then every later task is ready because of a task of
 * the run or a later one: by induction all are ready d later. (Times are whole picoseconds, so
 * equal differences are exactly equal.) Tasks need not even be served, only moved, if in
 * addition no queue is held over this point except by tasks whose holds all moved by d, and if
 * no task waits for a link there, now or before. This holds up to the next position that the
 * change touches, or up to the last position before it where no task waited for a link. */
#include <limits.h>
#include <string.h>

#include "sim/delta/timeline.h"

enum {
    DIRTY = 1,   /* its ready time has to be computed from its predecessors */
    OUT = 2,     /* not served in its turn: ready earlier or later, or not known yet */
    DONE = 4,    /* an OUT task that has been served */
    WALK = 8,    /* inspect its successors when it has been served */
    QUEUED = 16, /* it is, or was, in the heap */
    FRESH = 32,  /* new, replaced, or with new predecessors */
    GONE = 64,   /* removed */
};

struct replay {
    struct delta_timeline *p;
    int at;      /* position in the old order */
    int emitted; /* length of the new order */
    int open;    /* tasks that are ready and lack some links */
    int shut;    /* up to this position tasks cannot just be moved */
    ticks shift;
    /* The current run of tasks that ended `run` later than before; the largest ends, before and
     * now, of this run and of everything served before it. */
    ticks run, run_old, run_new, before_old, before_new;
    int away; /* tasks whose turn has passed and that are not served */
    ticks limit;
    ticks beyond; /* the step is certainly this long, which is above the limit; 0 */
};

static bool is_done(const struct replay *r, int id)
{
    unsigned flags = r->p->flags[id];
    return flags & OUT ? (flags & DONE) != 0 : r->p->place[id] < r->at;
}

static void push(struct replay *r, int id, ticks ready)
{
    r->p->flags[id] |= QUEUED;
    const struct sim_task *task = &r->p->node[id].task;
    hp_line_push(&r->p->out_of_turn, &r->p->arena,
                 (struct ready_task){ ready, hp_since(task, ready), task->number, id, -1 });
}

/* The turn of a task may be wrong: count its unserved predecessors, and mark them so that they
 * report when they are served. */
static void mark_dirty(struct replay *r, int id)
{
    unsigned char *flags = r->p->flags;
    if (flags[id] & DIRTY)
        return;
    flags[id] |= DIRTY;
    const struct node *node = &r->p->node[id];
    struct turn turn = { 0 };
    for (int i = 0; i < node->predecessors.n; i++) {
        int from = node->predecessors.id[i];
        if (is_done(r, from)) {
            ticks end = r->p->times[from].end;
            turn.ready = end > turn.ready ? end : turn.ready;
        } else {
            flags[from] |= WALK;
            turn.missing++;
        }
    }
    r->p->turn[id] = turn;
}

/* A task does not take its turn. Its successors have to be inspected. */
static void leave_order(struct replay *r, int id)
{
    r->p->flags[id] |= OUT;
    const struct id_list *before = &r->p->node[id].successors;
    for (int i = 0; i < before->n; i++)
        mark_dirty(r, before->id[i]);
}

/* All predecessors of a dirty task have been served: if the task is ready before its turn, or
 * has none, it enters the heap. */
static void enter(struct replay *r, int id)
{
    ticks ready = r->p->turn[id].ready;
    if (!(r->p->flags[id] & OUT)) {
        if (ready >= r->p->times[id].ready + r->shift)
            return;
        leave_order(r, id);
    }
    push(r, id, ready);
}

/* A task has been served: report it to its successors if it ended at another time than expected
 * (`moved`), or if a successor asked. */
static void tell(struct replay *r, int id, ticks end, bool moved)
{
    const struct id_list *before = &r->p->node[id].successors;
    const unsigned char *flags = r->p->flags;
    bool any = false;
    for (int i = 0; i < before->n; i++) {
        struct turn *next = &r->p->turn[before->id[i]];
        if (flags[before->id[i]] & DIRTY) {
            next->ready = end > next->ready ? end : next->ready;
            any |= --next->missing == 0;
        } else if (moved) {
            mark_dirty(r, before->id[i]);
            any |= next->missing == 0;
        }
    }
    for (int i = 0; any && i < before->n; i++) /* this may make other successors dirty */
        if (flags[before->id[i]] & DIRTY && r->p->turn[before->id[i]].missing == 0)
            enter(r, before->id[i]);
}

/* Note a task that belongs to no run: it ended at old_end before, and ends at `end` now. */
static void note_odd(struct replay *r, ticks old_end, ticks end)
{
    r->before_old = old_end > r->before_old ? old_end : r->before_old;
    r->before_new = end > r->before_new ? end : r->before_new;
}

static void note_end(struct replay *r, ticks old_end, ticks end)
{
    if (end - old_end != r->run) {
        r->before_old = r->run_old > r->before_old ? r->run_old : r->before_old;
        r->before_new = r->run_new > r->before_new ? r->run_new : r->before_new;
        r->run = end - old_end;
        r->run_old = old_end;
        r->run_new = end;
    } else {
        r->run_old = old_end > r->run_old ? old_end : r->run_old;
        r->run_new = end > r->run_new ? end : r->run_new;
    }
}

/* The queues that a task holds; `whole` is room for a queue that it holds all the time. */
static const struct hold *holds_of(const struct sim_task *task, struct hold *whole)
{
    *whole = (struct hold){ task->queue, 0, task->duration };
    return task->hold ? task->hold : whole;
}

/* A lower bound: a queue does its current work, then all that is left to it. */
static void look_ahead(struct replay *r, const struct sim_task *task)
{
    const struct queues *q = &r->p->queues;
    struct hold whole;
    const struct hold *hold = holds_of(task, &whole);
    for (int i = 0; i < task->n_holds && r->limit < HP_MAX_TICKS; i++) {
        ticks until = q->free[hold[i].queue] + q->left[hold[i].queue];
        if (until > r->limit)
            r->beyond = until;
    }
}

/* Work that a task has been given is no longer left. */
static void count_given(struct replay *r, const struct sim_task *task)
{
    struct hold whole;
    const struct hold *hold = holds_of(task, &whole);
    for (int i = 0; i < task->n_holds; i++) {
        ticks *left = &r->p->queues.left[hold[i].queue];
        *left = hp_less(*left, hold[i].busy);
    }
}

static void emit(struct replay *r, int entry, ticks end)
{
    struct delta_timeline *p = r->p;
    p->order[r->emitted] = entry;
    p->reach[r->emitted + 1] = end > p->reach[r->emitted] ? end : p->reach[r->emitted];
    r->emitted++;
    p->open[r->emitted] = r->open;
}

/* A task has been given all its queues. */
static void decide(struct replay *r, int id, struct times times, const ticks *from)
{
    struct delta_timeline *p = r->p;
    ticks old_end = p->times[id].end;
    bool is_new = p->place[id] == INT_MAX, whole = hp_set_times(p, id, times, from);
    emit(r, id, times.end);
    unsigned flags = p->flags[id];
    p->flags[id] |= DONE;
    r->away -= p->place[id] < r->at && flags & OUT;
    if (flags & FRESH || !whole)
        note_odd(r, is_new ? 0 : old_end, times.end);
    else
        note_end(r, old_end, times.end);
    bool moved = is_new || times.end != old_end + r->shift;
    if (moved || flags & WALK)
        tell(r, id, times.end, moved);
}

/* A ready task has to wait for a link, or asks for the link later than before. */
static void leave_open(struct replay *r, int id)
{
    r->open++;
    emit(r, ~id, 0);
    if (r->p->flags[id] & OUT)
        return;
    r->away++;
    leave_order(r, id);
}

static void go_on(struct replay *r, const struct ready_task *what)
{
    struct delta_timeline *p = r->p;
    const struct sim_task *task = &p->node[what->id].task;
    struct ready_task again = *what;
    if (what->flow < 0)
        again.flow = hp_flow_new(&p->flows, &p->arena, task->n_holds, what->time);
    struct flow *flow = &p->flows.flow[again.flow];
    again.time = hp_flow_go(flow, task, &p->queues, what->time);
    look_ahead(r, task);
    if (again.time >= 0) {
        if (what->flow < 0)
            leave_open(r, what->id);
        again.since = hp_since(task, flow->ready);
        hp_line_push(&p->out_of_turn, &p->arena, again);
        return;
    }
    r->open -= what->flow >= 0;
    struct times times = { flow->arrived, flow->start, flow->end };
    hp_flow_free(&p->flows, again.flow); /* its arrays stay valid until the next flow is made */
    decide(r, what->id, times, flow->from);
}

static void serve(struct replay *r, const struct ready_task *what)
{
    struct delta_timeline *p = r->p;
    const struct sim_task *task = &p->node[what->id].task;
    if (!hp_is_claimed(task)) {
        go_on(r, what);
        return;
    }
    struct times times = hp_claim(task, p->queues.free, what->time, p->from);
    count_given(r, task);
    look_ahead(r, task);
    decide(r, what->id, times, p->from);
}

/* Set `shift` if everything from here on is `run` later than before (see above). */
static void try_shift(struct replay *r, ticks next_ready)
{
    if (r->run != r->shift && r->before_old < next_ready &&
        r->before_new <= next_ready + r->run)
        r->shift = r->run;
}

static int task_at(const int *order, int place)
{
    return order[place] < 0 ? ~order[place] : order[place];
}

/* Restore the queues to their state after positions `first` to `n` of an order have been
 * served: only holds that last beyond the last ready time matter. */
static void restore_queues(struct delta_timeline *p, const int *order, const ticks *reach,
                           int first, int n)
{
    ticks now = n > 0 ? p->times[task_at(order, n - 1)].ready : 0;
    for (int i = n - 1; i >= first && reach[i + 1] > now; i--) {
        if (order[i] < 0)
            continue;
        const struct sim_task *task = &p->node[order[i]].task;
        const ticks *uneven = p->uneven[order[i]];
        struct hold whole;
        const struct hold *hold = holds_of(task, &whole);
        for (int k = 0; k < task->n_holds; k++) {
            ticks *until = &p->queues.free[hold[k].queue];
            ticks offset = uneven ? uneven[k + 1] : hold[k].offset;
            ticks held = p->times[order[i]].start + offset + hold[k].busy;
            if (held > *until && (hold[k].busy || task->held == HELD_TOGETHER))
                *until = held;
        }
    }
}

/* The work left to each queue: all its work, less what it can have done by now. */
static void find_left(struct replay *r)
{
    struct delta_timeline *p = r->p;
    ticks now = r->emitted ? p->times[task_at(p->order, r->emitted - 1)].ready : 0;
    for (int q = 0; q < p->n_queues && r->limit < HP_MAX_TICKS; q++)
        p->queues.left[q] = (ticks)p->busy[q] - hp_latest(p->queues.free[q], now);
}

/* Move tasks that no change concerns, while everything served lately is `shift` later than
 * before and nothing else is under way: they and their queues are `shift` later too. */
static bool move_on(struct replay *r)
{
    struct delta_timeline *p = r->p;
    const int *order = p->old_order;
    int from = r->at, to = from;
    ticks ready = p->times[task_at(order, from)].ready;
    if (r->run != r->shift || r->before_old >= ready || r->before_new > ready + r->shift ||
        from < r->shut || p->old_open[from] || r->away || hp_line_first(&p->out_of_turn))
        return false;
    while (to < p->n_old_order && !p->flags[task_at(order, to)])
        to++;
    r->shut = to;
    while (p->old_open[to])
        to--;
    if (to - from < 4)
        return false;
    memcpy(p->order + r->emitted, order + from, (size_t)(to - from) * sizeof *order);
    memcpy(p->open + r->emitted + 1, p->old_open + from + 1,
           (size_t)(to - from) * sizeof *p->open);
    for (int i = from; i < to; i++) {
        ticks reach = p->old_reach[i + 1] + r->shift, before = p->reach[r->emitted];
        p->reach[++r->emitted] = reach > before ? reach : before;
    }
    if (r->shift) {
        hp_shift(p, order + from, to - from, r->shift);
        p->shifted =
            GROW(&p->logs, struct shifted, p->shifted, p->n_shifted, &p->shifted_capacity);
        p->shifted[p->n_shifted++] = (struct shifted){ from, to, r->shift };
    }
    r->run_old = p->old_reach[to] > r->run_old ? p->old_reach[to] : r->run_old;
    r->run_new = p->reach[r->emitted] > r->run_new ? p->reach[r->emitted] : r->run_new;
    restore_queues(p, p->order, p->reach, r->emitted - (to - from), r->emitted);
    find_left(r);
    r->at = to - 1;
    return true;
}

/* Serve a task in its turn, or let it leave the order. */
static void take_turn(struct replay *r, int id)
{
    struct delta_timeline *p = r->p;
    struct node *node = &p->node[id];
    if (p->flags[id] & GONE)
        note_odd(r, p->times[id].end, 0);
    else if (p->flags[id] & OUT)
        r->away += !(p->flags[id] & DONE);
    if (p->flags[id] & (GONE | OUT))
        return;
    try_shift(r, p->times[id].ready);
    if (!p->flags[id] && move_on(r))
        return;
    ticks ready = p->times[id].ready + r->shift;
    struct ready_task turn = { ready, hp_since(&node->task, ready), node->task.number, id, -1 };
    for (const struct ready_task *next; (next = hp_line_first(&p->out_of_turn));) {
        if (!hp_comes_first(next, &turn))
            break;
        struct ready_task first = hp_line_pop(&p->out_of_turn);
        serve(r, &first);
    }
    if (p->flags[id] & OUT)
        return; /* one of these went first */
    if (p->flags[id] & DIRTY) {
        const struct turn *now = &p->turn[id];
        if (now->missing || now->ready > ready) {
            r->away++;
            leave_order(r, id);
            if (!now->missing)
                push(r, id, now->ready);
            return;
        }
        turn.time = now->ready;
        turn.since = hp_since(&node->task, now->ready);
    }
    r->at++; /* inspected from now on as done */
    serve(r, &turn);
    r->at--;
}

/* Is this the position at which a task got its last link after waiting? */
static bool has_links(const struct delta_timeline *p, int place)
{
    return p->order[place] >= 0 && p->place[p->order[place]] != place;
}

/* The first position that the change can affect: of a removed task, of a task with new
 * predecessors, or the earliest ready time of a new task. */
static int first_touched(const struct delta_timeline *p)
{
    int first = p->n_order, lo = 0;
    ticks earliest = HP_MAX_TICKS;
    for (int i = 0; i < p->n_touched; i++)
        if (p->touched[i].node.alive && !p->node[p->touched[i].id].alive &&
            p->place[p->touched[i].id] < first)
            first = p->place[p->touched[i].id];
    for (int i = 0; i < p->n_fresh; i++) {
        const struct node *node = &p->node[p->fresh[i]];
        ticks ready = 0;
        bool known = node->alive;
        if (node->alive && p->place[p->fresh[i]] < first)
            first = p->place[p->fresh[i]];
        for (int k = 0; known && k < node->predecessors.n; k++) {
            int from = node->predecessors.id[k];
            known = p->place[from] != INT_MAX;
            ready = known && p->times[from].end > ready ? p->times[from].end : ready;
        }
        earliest = known && ready < earliest ? ready : earliest;
    }
    while (lo < first) { /* find the first position that is ready no earlier */
        int mid = (lo + first) / 2, at = mid;
        while (at >= lo && has_links(p, at))
            at--;
        if (at < lo || p->times[task_at(p->order, at)].ready < earliest)
            lo = mid + 1;
        else
            first = at;
    }
    while (first > 0 && (p->open[first] || has_links(p, first - 1)))
        first--; /* back to a position where no task waits for a link or has just got one */
    return first;
}

/* Each task may occur twice in the order. */
static void make_room(struct delta_timeline *p)
{
    int need = 2 * p->n_ids + 1;
    if (need <= p->order_capacity)
        return;
    struct arena arena = { 0 };
    int capacity = need + need / 2, n = p->n_old_order;
    int *order = NEW(&arena, int, capacity), *open = NEW(&arena, int, capacity + 1);
    ticks *reach = NEW(&arena, ticks, capacity + 1);
    p->order = NEW(&arena, int, capacity);
    p->open = NEW(&arena, int, capacity + 1);
    p->reach = NEW(&arena, ticks, capacity + 1);
    p->old_order = memcpy(order, p->old_order, (size_t)n * sizeof *order);
    p->old_open = memcpy(open, p->old_open, (size_t)(n + 1) * sizeof *open);
    p->old_reach = memcpy(reach, p->old_reach, (size_t)(n + 1) * sizeof *reach);
    hp_arena_free(&p->by_place);
    p->by_place = arena;
    p->order_capacity = capacity;
}

/* Set the old order aside, and begin the new one with the unaffected positions. */
static void begin(struct replay *r)
{
    struct delta_timeline *p = r->p;
    r->at = first_touched(p);
    int *order = p->order, *open = p->open;
    ticks *reach = p->reach;
    p->order = p->old_order;
    p->reach = p->old_reach;
    p->open = p->old_open;
    p->old_order = order;
    p->old_reach = reach;
    p->old_open = open;
    p->n_old_order = p->n_order;
    p->replayed = true;
    p->first_replayed = r->at;
    make_room(p);
    memcpy(p->order, p->old_order, (size_t)r->at * sizeof *order);
    memcpy(p->reach, p->old_reach, (size_t)(r->at + 1) * sizeof *reach);
    memcpy(p->open, p->old_open, (size_t)(r->at + 1) * sizeof *open);
    r->emitted = r->at;
    r->before_old = r->before_new = p->reach[r->at];
    memset(p->queues.free, 0, (size_t)p->n_queues * sizeof(ticks));
    memset(p->queues.asked, 0, (size_t)p->n_queues * sizeof(ticks));
    memset(p->queues.given, 0, (size_t)p->n_queues * sizeof(ticks));
    restore_queues(p, p->old_order, p->old_reach, 0, r->at);
    memset(p->flags, 0, (size_t)p->n_ids);
    for (int i = 0; i < p->n_touched; i++)
        if (!p->node[p->touched[i].id].alive)
            p->flags[p->touched[i].id] |= GONE;
}

/* Tasks that are new, or have new predecessors, have no turn: the argument about shifts does
 * not hold for them. */
static void enter_fresh(struct replay *r)
{
    struct delta_timeline *p = r->p;
    for (int i = 0; i < p->n_fresh; i++)
        p->flags[p->fresh[i]] |= OUT | FRESH;
    for (int i = 0; i < p->n_fresh; i++) {
        int id = p->fresh[i];
        if (!p->node[id].alive || r->p->flags[id] & QUEUED)
            continue;
        leave_order(r, id);
        mark_dirty(r, id);
        if (!p->turn[id].missing)
            push(r, id, p->turn[id].ready);
    }
}

ticks hp_delta_timeline_update(struct delta_timeline *p, ticks limit)
{
    struct replay r = { .p = p, .limit = limit };
    begin(&r);
    enter_fresh(&r);
    find_left(&r);
    for (; r.at < p->n_old_order && !r.beyond; r.at++) {
        int id = task_at(p->old_order, r.at);
        if (p->place[id] == r.at) /* else it has had its turn */
            take_turn(&r, id);
    }
    while (hp_line_first(&p->out_of_turn) && !r.beyond) {
        struct ready_task first = hp_line_pop(&p->out_of_turn);
        serve(&r, &first);
    }
    if (r.beyond) {
        hp_line_clear(&p->out_of_turn);
        hp_flows_clear(&p->flows);
        return r.beyond;
    }
    p->n_order = r.emitted;
    hp_place_tasks(p, p->first_replayed);
    return p->reach[p->n_order];
}
