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
 * The times are always those that hp_run_graph() gives for the same tasks: tasks are decided
 * in the strict order of a key (links.h). A decision depends on earlier ones alone. So there
 * is one solution, and both find it. */
/* clang-format on */
#ifndef SIM_DELTA_TIMELINE_H
#define SIM_DELTA_TIMELINE_H

#include "sim/full/heap.h"
#include "sim/full/links.h"

/* A list of ids with room to grow. */
struct id_list {
    int *id;
    int n, room;
};

struct node {
    struct id_list predecessors,
        successors; /* tasks that it waits for; tasks that wait for it */
    struct sim_task task;
    int changed;               /* the last change that touched it ... */
    int new_after, new_before; /* ... or gave it new lists */
    bool alive;
};

/* A task under inspection. Every edge to it is counted here, so it is kept apart from the node:
 * four lie in one line of the cache. */
struct turn {
    ticks ready; /* the latest end of its predecessors that are served */
    int missing; /* predecessors that are not served */
};

/* The state of a touched node before the change. */
struct node_before {
    int id;
    struct node node;
};

struct times_before {
    int id;
    struct times times;
    ticks *uneven;
};

/* Positions of the old order whose tasks were only shifted. */
struct shifted {
    int from, to;
    ticks shift;
};

struct delta_timeline {
    struct arena arena;
    struct arena by_id, by_place; /* arrays by id and by position; replaced when they grow */
    struct arena logs;            /* lists of the current change */
    int n_queues;
    struct queues queues;
    double *busy; /* by queue: total ticks for which its tasks hold it */
    int n_ids, id_capacity;
    struct node *node;
    struct turn *turn;
    struct times *times;
    ticks **uneven; /* the number of a task's holds, then the start of each relative to the
                       task; NULL: at their offsets */
    int *place;     /* position in the order of the timeline; INT_MAX: none yet */
    unsigned char *flags; /* by id, for one replay */
    /* The timeline: ids in the order of service. A task that did not get all its links when it
     * was ready occurs twice: as ~id when it was ready, and as id when it had them. Before each
     * position: the largest end, and the number of tasks between their two entries. */
    int *order;
    ticks *reach;
    int *open;
    int n_order, order_capacity;
    /* before the change */
    int *old_order;
    ticks *old_reach;
    int *old_open;
    int n_old_order;
    int first_replayed; /* the order is new from this position on */
    /* the current change */
    int change;
    struct node_before *touched;
    int n_touched, touched_capacity;
    struct times_before *moved;
    int n_moved, moved_capacity;
    struct shifted *shifted;
    int n_shifted, shifted_capacity;
    int *fresh, n_fresh, fresh_capacity; /* added tasks, and tasks with new predecessors */
    bool replayed;
    struct ready_line out_of_turn;
    struct flows flows;
    ticks *from; /* scratch: when each hold of a task starts */
    int from_capacity;
    /* lists by room: 4, 8, 16, ... ids */
    struct id_list *pool[28];
    int n_pool[28], pool_capacity[28];
    ticks **offsets[28]; /* arrays for `uneven`, likewise */
    int n_offsets[28], offsets_capacity[28];
};

struct delta_timeline *hp_delta_timeline_new(int n_queues);
void hp_delta_timeline_free(struct delta_timeline *timeline); /* NULL is allowed */

/* Add a task, or replace one; the new task keeps the old one's predecessors. task->hold must
 * stay in place. The id of a removed task may be reused after the removal has been kept. */
void hp_delta_timeline_put(struct delta_timeline *timeline, int id,
                           const struct sim_task *task);
void hp_delta_timeline_remove(struct delta_timeline *timeline, int id);

/* Set the predecessors of `id`; repeated ids are dropped, and the list may be reordered. */
void hp_delta_timeline_set_after(struct delta_timeline *timeline, int id, int *after, int n);

/* Compute the new timeline; returns its length. If it is certainly longer than `limit`, the
 * replay stops early: a length above the limit is returned, and the change must be undone. */
ticks hp_delta_timeline_update(struct delta_timeline *timeline, ticks limit);
void hp_delta_timeline_keep(struct delta_timeline *timeline);
void hp_delta_timeline_undo(struct delta_timeline *timeline);

/* Shift the tasks of n positions of an order in time. */
void hp_shift(struct delta_timeline *timeline, const int *order, int n, ticks shift);

/* Set the positions of the tasks from position `first` on. */
void hp_place_tasks(struct delta_timeline *timeline, int first);

/* Set a task's times, with holds that start at from[]. Did everything move by the same time? */
bool hp_set_times(struct delta_timeline *timeline, int id, struct times times,
                  const ticks *from);

/* How long the busiest queue is held by all current tasks, replayed or not: no timeline is
 * shorter. */
ticks hp_delta_timeline_busiest(const struct delta_timeline *timeline);

/* The largest of `busy`, at most HP_MAX_TICKS. */
ticks hp_busiest(const double *busy, int n);

/* The length of the timeline. */
ticks hp_delta_timeline_length(const struct delta_timeline *timeline);

#endif /* SIM_DELTA_TIMELINE_H */
