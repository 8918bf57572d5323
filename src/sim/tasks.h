/* sim/tasks.h - what is simulated: tasks that hold queues and wait for tasks. Internal.
 *
 * Every queue (a device's computing, one direction of a link) serves its tasks in the order of
 * (ready time, number). A task is ready when all that it waits for has ended; it starts when
 * every queue that it holds is free for it. Times are whole picoseconds: sums are exact, so a
 * timeline that is shifted is the same timeline. */
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

/* A queue that a task holds: from its start + offset on, for `busy`. */
struct hold {
    int queue;
    ticks offset, busy;
};

struct sim_task {
    int64_t number; /* unique, larger than those of the tasks that it waits for */
    ticks duration; /* what waits for it may go on at start + duration */
    int n_holds;    /* 0: it takes no queue, a point in time or a delay */
    int queue;      /* if n_holds is 1 and hold is NULL: it holds this one all the time */
    const struct hold *hold;
};

struct times {
    ticks ready, start, end;
};

/* Give a task that is ready its queues; returns when it starts. */
static inline ticks hp_claim(const struct sim_task *task, ticks *free, ticks ready)
{
    ticks start = ready;
    if (!task->hold) {
        if (task->n_holds) {
            start = free[task->queue] > start ? free[task->queue] : start;
            free[task->queue] = hp_later(start, task->duration);
        }
        return start;
    }
    for (int i = 0; i < task->n_holds; i++) {
        ticks from = free[task->hold[i].queue] - task->hold[i].offset;
        start = from > start ? from : start;
    }
    for (int i = 0; i < task->n_holds; i++)
        free[task->hold[i].queue] =
            hp_later(start, hp_later(task->hold[i].offset, task->hold[i].busy));
    return start;
}

/* Tasks by id, with what each waits for. */
struct task_graph {
    int n_tasks, n_queues;
    const struct sim_task *task;
    const int64_t *after_start; /* n_tasks + 1 */
    const int *after;           /* an id may be there twice: it is waited for once */
};

#endif /* SIM_TASKS_H */
