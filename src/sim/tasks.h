/* sim/tasks.h - what is simulated: tasks that hold queues and wait for tasks. Internal.
 *
 * A queue is a device's computing, or one direction of a link. A task is ready when all that it
 * waits for has ended. Devices serve by (ready time, number). A free link takes, among what is
 * ready then, the highest class, then the least (ready time, number); what it has begun it ends
 * (links.h). Times are whole picoseconds: sums are exact, so a timeline that is shifted is the
 * same timeline. */
#ifndef SIM_TASKS_H
#define SIM_TASKS_H

#include <stdbool.h>
#include <stdint.h>

typedef int64_t ticks; /* picoseconds */

/* No timeline may be longer: 4e6 s. A time that would be later is this one: whoever simulates
 * looks whether the length has come to it, and refuses. */
#define HP_MAX_TICKS ((ticks)4e18)

/* The length of a timeline some of whose tasks never become ready. */
#define HP_NEVER (HP_MAX_TICKS + 1)

/* `by` (at most HP_MAX_TICKS) after `time`, at most HP_MAX_TICKS. */
static inline ticks hp_later(ticks time, ticks by)
{
    return time < HP_MAX_TICKS - by ? time + by : HP_MAX_TICKS;
}

/* `by` (at most HP_MAX_TICKS) less than `time`, at least -HP_MAX_TICKS. */
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

/* Seconds to ticks, rounded to the nearest; at most HP_MAX_TICKS. */
ticks hp_ticks(double seconds);
double hp_seconds(ticks time);

/* A queue that a task holds for `busy`, from some time after its start on; from `offset` on if
 * it waits for nothing. */
struct hold {
    int queue;
    ticks offset, busy;
};

/* When a task takes what it holds. */
enum how_held {
    HELD_TOGETHER, /* as soon as all are free: each from its start + offset on */
    HELD_EACH,     /* each as soon as it is free: the links of a collective */
    HELD_ON_ROUTE, /* each one latency after the one before: the hops of a message; the
                      difference of two offsets is the latency of the first */
};

/* What a link serves first. */
enum traffic {
    TRAFFIC_NEXT, /* the next task waits for it */
    TRAFFIC_SUMS, /* gradients of parameters being summed, for an update at the step's end */
};

struct sim_task {
    int64_t number; /* unique, larger than those of the tasks that it waits for */
    ticks duration; /* how long it takes if nothing that it holds makes it wait */
    int n_holds;    /* 0: it takes no queue, a point in time or a delay */
    int queue;      /* if n_holds is 1 and hold is NULL: it holds this one all the time */
    const struct hold *hold;
    unsigned char held;    /* enum how_held */
    unsigned char traffic; /* enum traffic; not TRAFFIC_NEXT: it is not HELD_TOGETHER, and takes
                              some time */
};

struct times {
    ticks ready, start, end;
};

/* Tasks by id, with what each waits for. */
struct task_graph {
    int n_tasks, n_queues;
    const struct sim_task *task;
    const int64_t *after_start; /* n_tasks + 1 */
    const int *after;           /* an id may be there twice: it is waited for once */
};

#endif /* SIM_TASKS_H */
