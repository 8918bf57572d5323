/* sim/tasks.h - the objects of the simulation: tasks that hold queues and wait for tasks.
 * Internal.
 *
 * A queue is a device's computing, or one direction of a link. A task is ready when all tasks
 * that it waits for have ended. Devices serve by (ready time, number). A free link takes, among
 * the ready tasks, the highest class, then the least (ready time, number), and is not
 * interrupted (links.h). Times are whole picoseconds: sums are exact, so a shifted timeline is
 * the same timeline. */
#ifndef SIM_TASKS_H
#define SIM_TASKS_H

#include <stdbool.h>
#include <stdint.h>

typedef int64_t ticks; /* picoseconds */

/* The largest time: 4e6 s. Later times are cut to this one; every simulation checks whether its
 * length has reached it, and refuses. */
#define HP_MAX_TICKS ((ticks)4e18)

/* The length of a timeline in which some tasks never become ready. */
#define HP_NEVER (HP_MAX_TICKS + 1)

/* time + by, at most HP_MAX_TICKS; `by` is at most HP_MAX_TICKS. */
static inline ticks hp_later(ticks time, ticks by)
{
    return time < HP_MAX_TICKS - by ? time + by : HP_MAX_TICKS;
}

/* time - by, at least -HP_MAX_TICKS; `by` is at most HP_MAX_TICKS. */
static inline ticks hp_less(ticks time, ticks by)
{
    return time > by - HP_MAX_TICKS ? time - by : -HP_MAX_TICKS;
}

static inline ticks hp_latest(ticks a, ticks b)
{
    return a > b ? a : b;
}
static inline ticks hp_earliest(ticks a, ticks b)
{
    return a < b ? a : b;
}

/* Seconds to ticks, rounded to the nearest; at most HP_MAX_TICKS. And back. */
ticks hp_ticks(double seconds);
double hp_seconds(ticks time);

/* A queue that a task holds for `busy`, beginning `offset` after the task's start if nothing
 * delays it. */
struct hold {
    int queue;
    ticks offset, busy;
};

/* When a task takes its queues. */
enum how_held {
    HELD_TOGETHER, /* when all are free: each from the task's start + offset on */
    HELD_EACH,     /* each when it is free: the links of a collective */
    HELD_ON_ROUTE, /* each one latency after the one before: the hops of a message; the
                      difference of two offsets is the latency of the first */
};

/* Which traffic a link serves first. */
enum traffic {
    TRAFFIC_NEXT, /* the next task waits for it: served first */
    TRAFFIC_SUMS, /* sums of gradients for the update at the end of the step: they give way */
};

struct sim_task {
    int64_t number; /* unique, larger than those of the tasks that it waits for */
    ticks duration; /* how long it takes if no queue makes it wait */
    int n_holds;    /* 0: it uses no queue: a point in time or a delay */
    int queue;      /* if n_holds is 1 and hold is NULL: it holds this queue all the time */
    const struct hold *hold;
    unsigned char held;    /* enum how_held */
    unsigned char traffic; /* enum traffic; if not TRAFFIC_NEXT: the task is not HELD_TOGETHER,
                              and takes some time */
};

struct times {
    ticks ready, start, end;
};

/* Tasks by id, and the tasks that each waits for. */
struct task_graph {
    int n_tasks, n_queues;
    const struct sim_task *task;
    const int64_t *after_start; /* n_tasks + 1 */
    const int *after;           /* an id may occur twice; it counts once */
};

#endif /* SIM_TASKS_H */
