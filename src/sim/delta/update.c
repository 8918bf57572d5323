/* Delta simulation: serving anew from the first task that a change touches.
 *
 * Tasks are served in the order of their numbers, on all queues. So nothing before the first
 * touched task in this order can change. The queues are set to a snapshot taken at or before
 * that place, and the tasks from there on are served again. */
#include <string.h>

#include "base/sort.h"
#include "sim/delta/timeline.h"

static void make_snapshot(struct delta_timeline *p, struct snapshot *s)
{
    s->queues.free = NEW(&p->arena, ticks, p->n_queues);
    s->queues.behind = NEW(&p->arena, ticks, p->n_queues);
    s->done = NEW(&p->arena, double, p->n_queues);
}

static void copy_snapshot(const struct delta_timeline *p, struct snapshot *to,
                          const struct snapshot *from)
{
    size_t n = (size_t)p->n_queues;
    to->place = from->place;
    to->reach = from->reach;
    memcpy(to->queues.free, from->queues.free, n * sizeof(ticks));
    memcpy(to->queues.behind, from->queues.behind, n * sizeof(ticks));
    memcpy(to->done, from->done, n * sizeof(double));
}

void hp_service_begin(struct delta_timeline *p)
{
    make_snapshot(p, &p->at);
    for (int i = 0; i < HP_SNAPSHOTS; i++)
        for (int k = 0; k < 2; k++)
            make_snapshot(p, &p->room[i][k]);
    p->now.snapshot[0] = &p->room[0][0]; /* nothing has been served */
}

void hp_service_restore(struct delta_timeline *p)
{
    struct service changed = p->now;
    p->now = p->old;
    p->old = changed;
    for (int i = p->first_replayed; i < p->now.n; i++)
        p->place[p->now.turn[i].id] = i;
}

/* The order ------------------------------------------------------------------------------ */

/* The first place whose task comes no earlier than `number`. */
static int place_for(const struct service *s, int64_t number)
{
    int lo = 0, hi = s->n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (s->turn[mid].number < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The first place that the change touches. */
static int first_touched(const struct delta_timeline *p)
{
    int first = p->now.n;
    for (int i = 0; i < p->n_touched; i++) {
        int id = p->touched[i].id, place = p->place[id];
        if (place >= 0 && place < first)
            first = place;
        if (p->node[id].alive && (place = place_for(&p->now, p->node[id].task.number)) < first)
            first = place;
    }
    return first;
}

static int by_number(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static void append_turn(struct delta_timeline *p, struct turn turn)
{
    p->place[turn.id] = p->now.n;
    p->now.turn[p->now.n++] = turn;
}

/* Set the old order aside, and merge what it has from `first` on with the touched tasks. */
static void make_order(struct delta_timeline *p, int first)
{
    struct service old = p->now;
    p->now = p->old;
    p->old = old;
    while (p->now.capacity < old.n + p->n_touched + 1)
        p->now.turn =
            GROW(&p->arena, struct turn, p->now.turn, p->now.capacity, &p->now.capacity);
    for (int i = 0; i < HP_SNAPSHOTS; i++) {
        bool kept = old.snapshot[i] && old.snapshot[i]->place <= first;
        p->now.snapshot[i] = kept ? old.snapshot[i] : NULL;
    }
    if (first)
        memcpy(p->now.turn, old.turn, (size_t)first * sizeof *old.turn);
    p->now.n = first;
    p->n_fresh = 0;
    for (int i = 0; i < p->n_touched; i++)
        if (p->node[p->touched[i].id].alive) {
            p->fresh = GROW(&p->arena, struct turn, p->fresh, p->n_fresh, &p->fresh_capacity);
            p->fresh[p->n_fresh++] =
                (struct turn){ p->node[p->touched[i].id].task.number, p->touched[i].id };
        }
    hp_sort(p->fresh, p->n_fresh, sizeof *p->fresh, by_number);
    int next = 0;
    for (int i = first; i < old.n; i++) {
        while (next < p->n_fresh && p->fresh[next].number < old.turn[i].number)
            append_turn(p, p->fresh[next++]);
        if (p->node[old.turn[i].id].changed != p->change)
            append_turn(p, old.turn[i]);
    }
    while (next < p->n_fresh)
        append_turn(p, p->fresh[next++]);
    p->first_replayed = first;
    p->replayed = true;
}

/* Replaying ------------------------------------------------------------------------------ */

static void set_queues(struct delta_timeline *p, int first)
{
    const struct snapshot *last = p->now.snapshot[0];
    for (int i = 1; i < HP_SNAPSHOTS; i++)
        if (p->now.snapshot[i] && p->now.snapshot[i]->place <= first &&
            p->now.snapshot[i]->place > last->place)
            last = p->now.snapshot[i];
    copy_snapshot(p, &p->at, last);
}

/* The old order may still need the snapshot that has this number now. */
static void take_snapshot(struct delta_timeline *p, int number)
{
    struct snapshot *room = p->room[number];
    struct snapshot *to = p->old.snapshot[number] == &room[0] ? &room[1] : &room[0];
    copy_snapshot(p, to, &p->at);
    p->now.snapshot[number] = to;
}

/* Count what a task holds. Returns a time that the step certainly reaches: its queues do their
 * work so far, and then all that is left to them. */
static ticks look_ahead(struct delta_timeline *p, const struct sim_task *task)
{
    struct hold whole = { task->queue, 0, task->duration };
    const struct hold *hold = task->hold ? task->hold : &whole;
    ticks most = 0;
    for (int i = 0; i < task->n_holds; i++) {
        int q = hold[i].queue;
        p->at.done[q] += (double)hold[i].busy;
        double left = p->busy[q] - p->at.done[q];
        ticks until = hp_later(p->at.queues.behind[q],
                               left < (double)HP_MAX_TICKS ? (ticks)left : HP_MAX_TICKS);
        most = until > most ? until : most;
    }
    return most;
}

static void set_times(struct delta_timeline *p, int id, struct times times)
{
    struct times *now = &p->times[id];
    if (now->ready == times.ready && now->start == times.start && now->end == times.end)
        return;
    p->moved = GROW(&p->arena, struct times_before, p->moved, p->n_moved, &p->moved_capacity);
    p->moved[p->n_moved++] = (struct times_before){ id, *now };
    *now = times;
}

ticks hp_delta_timeline_update(struct delta_timeline *p, ticks limit)
{
    int first = first_touched(p);
    make_order(p, first);
    set_queues(p, first);
    int apart = p->now.n / HP_SNAPSHOTS + 1, start = p->at.place;
    for (int i = start; i < p->now.n; i++) {
        int id = p->now.turn[i].id;
        const struct node *node = &p->node[id];
        ticks ready = 0;
        p->at.place = i;
        if (i % apart == 0 && i > start && !p->now.snapshot[i / apart])
            take_snapshot(p, i / apart);
        for (int k = 0; k < node->after.n; k++)
            ready = hp_latest(ready, p->times[node->after.id[k]].end);
        struct times times = hp_serve(&node->task, &p->at.queues, ready, p->from);
        if (i >= first)
            set_times(p, id, times);
        p->at.reach = hp_latest(p->at.reach, times.end);
        ticks until = hp_latest(p->at.reach, look_ahead(p, &node->task));
        if (until > limit)
            return p->now.length = until;
    }
    p->now.length = p->at.reach;
    for (int q = 0; q < p->n_queues; q++) /* sums that others have delayed */
        p->now.length = hp_latest(p->now.length, p->at.queues.behind[q]);
    return p->now.length;
}
