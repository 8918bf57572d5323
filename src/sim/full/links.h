/* sim/full/links.h - how tasks take their queues. Internal.
 *
 * Tasks are served one after another, in an order that does not depend on times. A task starts
 * on a queue when it is ready and the queue is free; so all times are maxima of sums of
 * durations, and none can grow when a duration shrinks.
 *
 * A link has two LANES. Tasks of the first class wait for each other alone. Sums, of the second
 * class, wait for all work before them: a sum ends when the link has done its own bytes and all
 * that came before it in the order. What the first class takes from a link while a sum is under
 * way delays the sums after it, and at last the step, which lasts until every link has done all
 * its work. */
#ifndef SIM_FULL_LINKS_H
#define SIM_FULL_LINKS_H

#include "sim/tasks.h"

/* By queue: when it has done all its work so far of the first class; and of both. */
struct queues {
    ticks *free, *behind;
};

/* The time that a task takes beyond its longest hold; for a message, also beyond the latencies
 * before its last link. */
static inline ticks hp_rest(const struct sim_task *task)
{
    ticks longest = 0, before = 0;
    for (int i = 0; i < task->n_holds; i++)
        longest = hp_latest(longest, task->hold[i].busy);
    if (task->held == HELD_ON_ROUTE && task->n_holds)
        before = task->hold[task->n_holds - 1].offset;
    return hp_latest(task->duration - longest - before, 0);
}

/* A task of the first class holds a queue from `start` on. */
static inline void hp_take(const struct queues *q, int queue, ticks start, ticks busy)
{
    q->free[queue] = hp_later(start, busy);
    q->behind[queue] = hp_later(hp_latest(q->behind[queue], start), busy);
}

/* Give a link to a task that comes at `ready`; returns when the task starts there. A hold of no
 * time does not wait. */
static inline ticks hp_hold(const struct queues *q, const struct hold *hold, ticks ready,
                            unsigned char traffic)
{
    ticks *behind = &q->behind[hold->queue];
    if (!hold->busy)
        return ready;
    ticks start = hp_latest(traffic == TRAFFIC_NEXT ? q->free[hold->queue] : *behind, ready);
    if (traffic == TRAFFIC_NEXT)
        hp_take(q, hold->queue, start, hold->busy);
    else
        *behind = hp_later(start, hold->busy);
    return start;
}

/* Queues that are held together. */
static inline ticks hp_take_together(const struct sim_task *task, const struct queues *q,
                                     ticks ready, ticks *from)
{
    ticks start = ready;
    for (int i = 0; i < task->n_holds; i++)
        start = hp_latest(start, q->free[task->hold[i].queue] - task->hold[i].offset);
    for (int i = 0; i < task->n_holds; i++) {
        from[i] = hp_later(start, task->hold[i].offset);
        hp_take(q, task->hold[i].queue, from[i], task->hold[i].busy);
    }
    return start;
}

/* The links of a collective, each by itself. */
static inline struct times hp_take_each(const struct sim_task *task, const struct queues *q,
                                        ticks ready, ticks *from)
{
    struct times t = { ready, HP_MAX_TICKS, ready };
    for (int i = 0; i < task->n_holds; i++) {
        from[i] = hp_hold(q, &task->hold[i], ready, task->traffic);
        t.start = hp_earliest(t.start, from[i]);
        t.end = hp_latest(t.end, hp_later(from[i], task->hold[i].busy));
    }
    t.start = task->n_holds ? t.start : ready;
    t.end = hp_later(t.end, hp_rest(task));
    return t;
}

/* The links of a message, hop by hop. */
static inline struct times hp_take_route(const struct sim_task *task, const struct queues *q,
                                         ticks ready, ticks *from)
{
    struct times t = { ready, ready, 0 };
    ticks comes = ready;
    for (int i = 0; i < task->n_holds; i++) {
        const struct hold *hold = &task->hold[i];
        ticks latency = i ? hold->offset - hold[-1].offset : 0;
        comes = i ? hp_later(from[i - 1], latency) : ready;
        from[i] = hp_hold(q, hold, comes, task->traffic);
        t.end = hp_latest(hp_later(t.end, latency), hp_later(from[i], hold->busy));
    }
    t.start = from[0];
    t.end = hp_later(t.end, hp_rest(task));
    return t;
}

/* Serve a task that is ready; from[] receives when each hold starts. */
static inline struct times hp_serve(const struct sim_task *task, const struct queues *q,
                                    ticks ready, ticks *from)
{
    ticks start = ready;
    if (!task->hold && task->n_holds) {
        start = hp_latest(ready, q->free[task->queue]);
        hp_take(q, task->queue, start, task->duration);
    } else if (task->held == HELD_TOGETHER) {
        start = hp_take_together(task, q, ready, from);
    } else {
        return task->held == HELD_ON_ROUTE && task->n_holds
                   ? hp_take_route(task, q, ready, from)
                   : hp_take_each(task, q, ready, from);
    }
    return (struct times){ ready, start, hp_later(start, task->duration) };
}

#endif /* SIM_FULL_LINKS_H */
