/* clang-format off */
/* sim/delta/timeline.h - a timeline that can be changed: delta simulation. Internal.
 *
 * It holds tasks, who waits for whom, and every task's times. A change adds and removes tasks
 * and says anew what some tasks wait for; hp_delta_timeline_update() then works out the new
 * times from the earliest place that the change can touch (FlexFlow, Algorithm 2), after
 * which the change is kept or undone.
 *
 *     hp_delta_timeline_put(timeline, a, &task);        ids are small numbers, the caller's
 *     hp_delta_timeline_set_after(timeline, a, after, n);
 *     hp_delta_timeline_remove(timeline, b);            then nothing may wait for b any more
 *     ticks end = hp_delta_timeline_update(timeline, HP_MAX_TICKS);
 *     hp_delta_timeline_keep(timeline);                 or  hp_delta_timeline_undo(timeline);
 *
 * The times are always those that hp_run_graph() gives for the same tasks: all is decided in the
 * strict order of a key (links.h), what comes first in it cannot depend on what comes later, so
 * there is one solution, and both find it. */
/* clang-format on */
#ifndef SIM_DELTA_TIMELINE_H
#define SIM_DELTA_TIMELINE_H

#include "sim/heap.h"
#include "sim/links.h"

/* Ids in a list with room to grow. */
struct id_list {
    int *id;
    int n, room;
};

struct node {
    struct sim_task task;
    struct id_list after, before; /* tasks that it waits for; tasks that wait for it */
    int missing;                  /* of one that is looked at: predecessors to be served ... */
    ticks ready;                  /* ... and the latest end of the others */
    int changed;                  /* the change in which it was last touched ... */
    int new_after, new_before;    /* ... and in which it last got another list of them */
    bool alive;
};

/* How a touched node was before the change. */
struct node_before {
    int id;
    struct node node;
};

struct times_before {
    int id;
    struct times times;
    ticks *uneven;
};

/* Places of the old order whose tasks were only shifted. */
struct shifted {
    int from, to;
    ticks shift;
};

struct delta_timeline {
    struct arena arena;
    int n_queues;
    struct queues queues;
    double *busy; /* of each queue: how many ticks all its tasks hold it */
    int n_ids, id_capacity, times_capacity, place_capacity, flags_capacity;
    struct node *node;
    struct times *times;
    ticks **uneven; /* how many holds a task has, then when each starts after the task does;
                       NULL: as their offsets say */
    int uneven_capacity;
    int *place;           /* in the order of the timeline; INT_MAX: not in it yet */
    unsigned char *flags; /* by id, of one replay */
    /* The timeline: ids in the order in which they were served. One that did not get all its
     * links when it was ready is there twice, as ~id when it was ready and as id when it had
     * them. And before each place: the largest end, and how many tasks are between the two. */
    int *order;
    ticks *reach;
    int *open;
    int n_order, order_capacity;
    /* as it was before the change */
    int *old_order;
    ticks *old_reach;
    int *old_open;
    int n_old_order;
    int first_replayed; /* place from which on the order is new */
    /* the change at hand */
    int change;
    struct node_before *touched;
    int n_touched, touched_capacity;
    struct times_before *moved;
    int n_moved, moved_capacity;
    struct shifted *shifted;
    int n_shifted, shifted_capacity;
    int *fresh, n_fresh, fresh_capacity; /* added, or waiting for something else now */
    bool replayed;
    struct ready_line out_of_turn;
    struct flows flows;
    ticks *from; /* room for when each hold of a task starts */
    int from_capacity;
    /* lists by room: 4, 8, 16, ... ids */
    struct id_list *pool[28];
    int n_pool[28], pool_capacity[28];
    ticks **offsets[28]; /* arrays for `uneven`, likewise */
    int n_offsets[28], offsets_capacity[28];
};

struct delta_timeline *hp_delta_timeline_new(int n_queues);
void hp_delta_timeline_free(struct delta_timeline *timeline); /* NULL is allowed */

/* Add a task, or put another one in its place, which then waits for what the old one did;
 * task->hold must stay where it is. An id that was removed may be used again once that has been
 * kept. */
void hp_delta_timeline_put(struct delta_timeline *timeline, int id,
                           const struct sim_task *task);
void hp_delta_timeline_remove(struct delta_timeline *timeline, int id);

/* What `id` waits for: ids, repeats are left out; the list may be reordered. */
void hp_delta_timeline_set_after(struct delta_timeline *timeline, int id, int *after, int n);

/* The new timeline; returns its length. One that is sure to be longer than `limit` is not
 * replayed to its end: something more than the limit is returned, and the change must be
 * undone.
 */
ticks hp_delta_timeline_update(struct delta_timeline *timeline, ticks limit);
void hp_delta_timeline_keep(struct delta_timeline *timeline);
void hp_delta_timeline_undo(struct delta_timeline *timeline);

/* Move the tasks of some places of an order in time. */
void hp_shift(struct delta_timeline *timeline, const int *order, int n, ticks shift);

/* The places of tasks from place `first` on. */
void hp_place_tasks(struct delta_timeline *timeline, int first);

/* A task's times, with holds that start at from[]. Has all of it moved by the same time? */
bool hp_set_times(struct delta_timeline *timeline, int id, struct times times,
                  const ticks *from);

/* How long the busiest queue is held by the tasks that there are, replayed or not: no timeline
 * is shorter. */
ticks hp_delta_timeline_busiest(const struct delta_timeline *timeline);

/* The largest of `busy`, at most HP_MAX_TICKS. */
ticks hp_busiest(const double *busy, int n);

/* The length of the timeline. */
ticks hp_delta_timeline_length(const struct delta_timeline *timeline);

#endif /* SIM_DELTA_TIMELINE_H */
