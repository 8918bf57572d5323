/* clang-format off */
/* sim/delta/timeline.h - a timeline that can be changed: delta simulation. Internal.
 *
 * It holds tasks, who waits for whom, and every task's times. A change adds and removes tasks
 * and says anew what some tasks wait for; hp_delta_timeline_update() then works out the new
 * times from the first task in the order of service that the change touches, after which the
 * change is kept or undone.
 *
 *     hp_delta_timeline_put(timeline, a, &task);        ids are small numbers, the caller's
 *     hp_delta_timeline_set_after(timeline, a, after, n);
 *     hp_delta_timeline_remove(timeline, b);            then nothing may wait for b any more
 *     ticks end = hp_delta_timeline_update(timeline, HP_MAX_TICKS);
 *     hp_delta_timeline_keep(timeline);                 or  hp_delta_timeline_undo(timeline);
 *
 * The times are always those that hp_run_graph() gives for the same tasks: both serve them in the
 * order of their numbers. */
/* clang-format on */
#ifndef SIM_DELTA_TIMELINE_H
#define SIM_DELTA_TIMELINE_H

#include "base/arena.h"
#include "sim/full/links.h"

/* A list of ids with room to grow. */
struct id_list {
    int *id;
    int n, room;
};

struct node {
    struct sim_task task;
    struct id_list after; /* tasks that it waits for */
    int changed;          /* the last change that touched it ... */
    int new_after;        /* ... or gave it a new list */
    bool alive;
};

/* The state of a touched node before the change. */
struct node_before {
    int id;
    struct node node;
};

struct times_before {
    int id;
    struct times times;
};

/* The queues before the task at `place` is served. */
struct snapshot {
    int place;
    ticks reach; /* the largest end so far */
    struct queues queues;
    double *done; /* by queue: ticks for which it has been held */
};

/* The order of service: tasks by number. */
enum { HP_SNAPSHOTS = 32 };
struct service {
    struct turn {
        int64_t number;
        int id;
    } * turn;
    int n, capacity;
    ticks length;
    const struct snapshot *snapshot[HP_SNAPSHOTS]; /* NULL: none */
};

struct delta_timeline {
    struct arena arena;
    int n_queues;
    double *busy; /* by queue: total ticks for which its tasks hold it */
    int n_ids, id_capacity, times_capacity, place_capacity;
    struct node *node;
    struct times *times;
    int *place; /* in the order of service; -1: none yet */
    struct service now, old;
    struct snapshot room[HP_SNAPSHOTS][2], at; /* at: the queues during a replay */
    /* the current change */
    int change;
    struct node_before *touched;
    int n_touched, touched_capacity;
    struct times_before *moved;
    int n_moved, moved_capacity;
    struct turn *fresh; /* touched tasks, by number */
    int n_fresh, fresh_capacity;
    bool replayed;
    int first_replayed; /* the order of service is new from this place on */
    ticks *from;        /* scratch: when each hold of a task starts */
    int from_capacity;
    /* lists by room: 4, 8, 16, ... ids */
    struct id_list *pool[28];
    int n_pool[28], pool_capacity[28];
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

/* update.c: empty orders of service; the order before the change. */
void hp_service_begin(struct delta_timeline *timeline);
void hp_service_restore(struct delta_timeline *timeline);

/* How long the busiest queue is held by all current tasks, replayed or not: no timeline is
 * shorter. */
ticks hp_delta_timeline_busiest(const struct delta_timeline *timeline);

/* The largest of `busy`, at most HP_MAX_TICKS. */
ticks hp_busiest(const double *busy, int n);

/* The length of the timeline. */
ticks hp_delta_timeline_length(const struct delta_timeline *timeline);

#endif /* SIM_DELTA_TIMELINE_H */
