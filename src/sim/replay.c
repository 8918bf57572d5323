/* Delta simulation: the timeline from the earliest place that a change can touch.
 *
 * The old timeline is read in its order. A task whose predecessors ended as they did before,
 * all `shift` later (or earlier), is ready `shift` later and keeps its turn: nothing is looked
 * up for it but its queues. Only where an end has moved otherwise are the tasks that wait for
 * it looked at (DIRTY): one that is ready earlier than its turn, or later, leaves the order and
 * is served from a heap (OUT).
 *
 * Where a change delays one operator, everything after it moves by the same time. As soon as
 * that is certain, `shift` is set to it and those tasks are in step again: let a run of tasks
 * have ended d later than before, and let all that was served before the run have ended, now
 * and then, before the next task becomes ready. Then every later task is ready because of a
 * task of the run, or of one later still: by induction all of them are ready d later. (Whole
 * picoseconds make "the same" mean the same.) If no queue is held over that point either, the
 * tasks up to the next place that the change touches need not even be served, only moved. */
#include <limits.h>
#include <string.h>

#include "sim/play.h"

enum {
    DIRTY = 1,   /* when it is ready has to be worked out from what it waits for */
    OUT = 2,     /* not served in its turn: ready earlier or later, or not known yet */
    DONE = 4,    /* of one that is OUT: served */
    WALK = 8,    /* when it has been served, look at those that wait for it */
    QUEUED = 16, /* it is, or was, in the heap */
};

struct replay {
    struct play *p;
    int at;      /* the turn of the old order */
    int emitted; /* of the new order */
    ticks shift;
    /* The run of tasks that ended `run` later than before; the largest ends, before and now, of
     * that run and of all that was served before it. */
    ticks run, run_old, run_new, before_old, before_new;
};

static unsigned *flags_of(struct replay *r, int id)
{
    struct node *node = &r->p->node[id];
    if (node->round != r->p->round) {
        node->round = r->p->round;
        node->flags = 0;
    }
    return &node->flags;
}

static bool is_done(const struct replay *r, int id)
{
    const struct node *node = &r->p->node[id];
    unsigned flags = node->round == r->p->round ? node->flags : 0;
    return flags & OUT ? (flags & DONE) != 0 : node->place < r->at;
}

static bool may_start(const struct replay *r, int id, ticks *ready)
{
    const struct id_list *after = &r->p->node[id].after;
    *ready = 0;
    for (int i = 0; i < after->n; i++) {
        if (!is_done(r, after->id[i]))
            return false;
        ticks end = r->p->times[after->id[i]].end;
        *ready = end > *ready ? end : *ready;
    }
    return true;
}

static void push(struct replay *r, int id, ticks ready)
{
    *flags_of(r, id) |= QUEUED;
    hp_heap_push(&r->p->heap, &r->p->arena,
                 (struct ready_task){ ready, r->p->node[id].task.number, id });
}

/* Its turn may be wrong: whoever of its predecessors is served last shall look. */
static void mark_dirty(struct replay *r, int id)
{
    unsigned *flags = flags_of(r, id);
    if (*flags & DIRTY)
        return;
    *flags |= DIRTY;
    const struct id_list *after = &r->p->node[id].after;
    for (int i = 0; i < after->n; i++)
        if (!is_done(r, after->id[i]))
            *flags_of(r, after->id[i]) |= WALK;
}

/* It does not take its turn. Those that wait for it have to be looked at. */
static void leave_order(struct replay *r, int id)
{
    *flags_of(r, id) |= OUT;
    const struct id_list *before = &r->p->node[id].before;
    for (int i = 0; i < before->n; i++)
        mark_dirty(r, before->id[i]);
}

/* A predecessor has been served: serve `id` before its turn if it is ready earlier. */
static void look_at(struct replay *r, int id)
{
    mark_dirty(r, id);
    ticks ready;
    if (!may_start(r, id, &ready))
        return;
    if (*flags_of(r, id) & OUT) {
        push(r, id, ready);
    } else if (ready < r->p->times[id].ready + r->shift) {
        leave_order(r, id);
        push(r, id, ready);
    }
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

static void emit(struct replay *r, int id, ticks end)
{
    struct play *p = r->p;
    p->order[r->emitted] = id;
    p->reach[r->emitted + 1] = end > p->reach[r->emitted] ? end : p->reach[r->emitted];
    r->emitted++;
}

static void set_times(struct play *p, int id, struct times times)
{
    struct times *now = &p->times[id];
    if (now->ready == times.ready && now->start == times.start && now->end == times.end)
        return;
    p->moved = GROW(&p->arena, struct times_before, p->moved, p->n_moved, &p->moved_capacity);
    p->moved[p->n_moved++] = (struct times_before){ id, *now };
    *now = times;
}

static void serve(struct replay *r, int id, ticks ready)
{
    struct play *p = r->p;
    struct node *node = &p->node[id];
    const struct sim_task *task = &node->task;
    ticks start = hp_claim(task, p->free, ready), old_end = p->times[id].end;
    ticks end = start + task->duration;
    bool is_new = node->place == INT_MAX;
    set_times(p, id, (struct times){ ready, start, end });
    emit(r, id, end);
    p->visited++;
    unsigned flags = node->round == p->round ? node->flags : 0;
    if (flags & OUT)
        node->flags |= DONE;
    if (!is_new)
        note_end(r, old_end, end);
    if (is_new || flags & WALK || end != old_end + r->shift)
        for (int i = 0; i < node->before.n; i++)
            look_at(r, node->before.id[i]);
}

/* From here on everything is `run` later than it was: see above. */
static void try_shift(struct replay *r, ticks next_ready)
{
    if (r->run != r->shift && r->before_old < next_ready &&
        r->before_new <= next_ready + r->run)
        r->shift = r->run;
}

/* Queues as they are before the task at old place `at` has its turn: only what is still going
 * on when the task before became ready matters. */
static void restore_queues(struct play *p, int at)
{
    ticks now = at > 0 ? p->times[p->old_order[at - 1]].ready : 0;
    memset(p->free, 0, (size_t)p->n_queues * sizeof *p->free);
    for (int i = at - 1; i >= 0 && p->old_reach[i + 1] > now; i--) {
        const struct sim_task *task = &p->node[p->old_order[i]].task;
        struct hold whole = { task->queue, 0, task->duration };
        const struct hold *hold = task->hold ? task->hold : &whole;
        for (int k = 0; k < task->n_holds; k++) {
            ticks *until = &p->free[hold[k].queue];
            ticks held = p->times[p->old_order[i]].start + hold[k].offset + hold[k].busy;
            *until = held > *until ? held : *until;
        }
    }
}

/* Served in turn, or not. */
static void take_turn(struct replay *r, int id)
{
    struct play *p = r->p;
    struct node *node = &p->node[id];
    unsigned flags = node->round == p->round ? node->flags : 0;
    ticks when;
    if (!node->alive || flags & OUT)
        return;
    try_shift(r, p->times[id].ready);
    ticks ready = p->times[id].ready + r->shift;
    while (p->heap.n) {
        struct ready_task turn = { ready, node->task.number, id };
        if (!hp_comes_first(&p->heap.task[0], &turn))
            break;
        struct ready_task first = hp_heap_pop(&p->heap);
        serve(r, first.id, first.ready);
    }
    flags = node->round == p->round ? node->flags : 0;
    if (flags & OUT)
        return; /* one of those let it go first */
    if (flags & DIRTY) {
        bool known = may_start(r, id, &when);
        if (!known || when > ready) {
            leave_order(r, id);
            if (known)
                push(r, id, when);
            return;
        }
        ready = when;
    }
    r->at++; /* done, for those that look */
    serve(r, id, ready);
    r->at--;
}

/* Where the change can be felt first: at a task that is no more, or waits for something else,
 * or where a new one can be ready at the earliest. */
static int first_touched(const struct play *p)
{
    int first = p->n_order;
    for (int i = 0; i < p->n_touched; i++)
        if (p->touched[i].node.alive && !p->node[p->touched[i].id].alive &&
            p->touched[i].node.place < first)
            first = p->touched[i].node.place;
    for (int i = 0; i < p->n_fresh; i++) {
        const struct node *node = &p->node[p->fresh[i]];
        if (!node->alive)
            continue;
        ticks ready = 0;
        bool known = true;
        for (int k = 0; k < node->after.n; k++) {
            const struct node *before = &p->node[node->after.id[k]];
            known &= before->place != INT_MAX;
            ready = known && p->times[node->after.id[k]].end > ready
                        ? p->times[node->after.id[k]].end
                        : ready;
        }
        int lo = 0, hi = node->place < first ? node->place : first;
        while (known && lo < hi) { /* the first place that is ready no earlier */
            int mid = (lo + hi) / 2;
            if (p->times[p->order[mid]].ready < ready)
                lo = mid + 1;
            else
                hi = mid;
        }
        first = known && lo < first ? lo : node->place < first ? node->place : first;
    }
    return first;
}

static void make_room(struct play *p)
{
    int need = p->n_old_order + p->n_fresh + 1;
    if (need <= p->order_capacity)
        return;
    int capacity = 2 * need;
    int *order = NEW(&p->arena, int, capacity), *old_order = NEW(&p->arena, int, capacity);
    ticks *reach = NEW(&p->arena, ticks, capacity + 1);
    ticks *old_reach = NEW(&p->arena, ticks, capacity + 1);
    memcpy(old_order, p->old_order, (size_t)p->n_old_order * sizeof *order);
    memcpy(old_reach, p->old_reach, (size_t)(p->n_old_order + 1) * sizeof *reach);
    p->order = order;
    p->old_order = old_order;
    p->reach = reach;
    p->old_reach = old_reach;
    p->order_capacity = capacity;
}

/* Set the old order aside, and start the new one with what stays. */
static void begin(struct replay *r)
{
    struct play *p = r->p;
    r->at = first_touched(p);
    int *order = p->order;
    ticks *reach = p->reach;
    p->order = p->old_order;
    p->reach = p->old_reach;
    p->old_order = order;
    p->old_reach = reach;
    p->n_old_order = p->n_order;
    p->replayed = true;
    p->first_replayed = r->at;
    make_room(p);
    memcpy(p->order, p->old_order, (size_t)r->at * sizeof *order);
    memcpy(p->reach, p->old_reach, (size_t)(r->at + 1) * sizeof *reach);
    r->emitted = r->at;
    r->before_old = r->before_new = p->reach[r->at];
    restore_queues(p, r->at);
    p->round++;
    p->visited = 0;
}

/* Tasks that are new, or wait for something else now, have no turn: what is said of a shift
 * does not hold for them. */
static void enter_fresh(struct replay *r)
{
    struct play *p = r->p;
    for (int i = 0; i < p->n_fresh; i++)
        *flags_of(r, p->fresh[i]) |= OUT;
    for (int i = 0; i < p->n_fresh; i++) {
        int id = p->fresh[i];
        ticks ready;
        if (!p->node[id].alive)
            continue;
        leave_order(r, id);
        mark_dirty(r, id);
        if (!(*flags_of(r, id) & QUEUED) && may_start(r, id, &ready))
            push(r, id, ready);
    }
}

ticks hp_play_replay(struct play *p)
{
    struct replay r = { .p = p };
    begin(&r);
    enter_fresh(&r);
    for (; r.at < p->n_old_order; r.at++)
        take_turn(&r, p->old_order[r.at]);
    while (p->heap.n) {
        struct ready_task first = hp_heap_pop(&p->heap);
        serve(&r, first.id, first.ready);
    }
    p->n_order = r.emitted;
    for (int i = p->first_replayed; i < p->n_order; i++)
        p->node[p->order[i]].place = i;
    return p->reach[p->n_order];
}
