/* sim/full/links.h - how tasks take their queues. Internal.
 *
 * A task that holds all its queues together gets them when it is ready (hp_claim()); so does a
 * task of the first class that holds its links independently. All other tasks are FLOWS. A
 * message takes the links of its route one after another. A task of the second class gives way:
 * it waits until no task of the first class wants the link.
 *
 * All decisions are made in the order of (time, since, number), struct ready_task. A task of
 * the first class is decided when it comes to a link: it holds the link from the time when the
 * link is free. A task of the second class is decided when it starts, after all tasks of the
 * first class that have come by then. No decision depends on a later one, so the timeline is
 * unique. (A task of the second class ends later than it starts on its last link, because
 * nobody waits for a link that is held for no time.)
 *
 * Tasks of the second class that wait for a link are served in the order of arrival. Such a
 * task is looked at again at the time when the link will have done all earlier work. If a task
 * of the first class has come in between, the task is looked at once more. */
#ifndef SIM_FULL_LINKS_H
#define SIM_FULL_LINKS_H

#include "base/arena.h"
#include "sim/tasks.h"

/* By queue. */
struct queues {
    ticks *free;          /* when it has done all its work so far */
    ticks *asked, *given; /* of the second class: tasks that have come, and tasks of these that
                             have started */
    ticks *left;          /* work that is still to come; NULL: unused */
};

/* A task while it takes its links. */
struct flow {
    ticks arrived; /* when the task was ready */
    ticks ready;   /* when the current link, or all links, can be taken */
    ticks start, end;
    int hop;     /* of a message: the current link */
    int left;    /* of another task: links that it still lacks; -1: it has asked for none */
    ticks *from; /* by hold: when it starts; while it waits, ~asked of the queue when it came */
    int room;    /* size of from[] */
    ticks began; /* when it got its first link; such flows form a list */
    int before, after;
};

/* Flows by number; ended ones are reused. */
struct flows {
    struct flow *flow;
    int n, capacity;
    int *spare[32]; /* by logarithm of the room */
    int n_spare[32], spare_capacity[32];
    int first, last; /* of the flows that have begun, in this order; -1 */
};

void hp_flows_begin(struct flows *flows);
int hp_flow_new(struct flows *flows, struct arena *arena, int n_holds, ticks ready);
void hp_flow_free(struct flows *flows, int flow);
void hp_flows_clear(struct flows *flows); /* free all */

/* A flow gets its first link now: it joins the list until it is freed. */
void hp_flow_began(struct flows *flows, int flow, ticks now);

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

/* Does a task get all its queues when it is ready? */
static inline bool hp_is_claimed(const struct sim_task *task)
{
    return task->held == HELD_TOGETHER ||
           (task->traffic == TRAFFIC_NEXT && (task->held == HELD_EACH || task->n_holds <= 1));
}

/* Give a queue to a task that comes at `ready`; returns when the task starts there. A hold of
 * no time does not wait. */
static inline ticks hp_hold(ticks *free, ticks ready, ticks busy)
{
    if (!busy)
        return ready;
    ticks start = hp_latest(*free, ready);
    *free = hp_later(start, busy);
    return start;
}

/* Take queues that are held together. */
static inline ticks hp_claim_together(const struct sim_task *task, ticks *free, ticks ready,
                                      ticks *from)
{
    ticks start = ready;
    for (int i = 0; i < task->n_holds; i++)
        start = hp_latest(start, free[task->hold[i].queue] - task->hold[i].offset);
    for (int i = 0; i < task->n_holds; i++) {
        from[i] = hp_later(start, task->hold[i].offset);
        free[task->hold[i].queue] = hp_later(from[i], task->hold[i].busy);
    }
    return start;
}

/* Take links that are held independently. */
static inline struct times hp_claim_each(const struct sim_task *task, ticks *free, ticks ready,
                                         ticks *from)
{
    struct times t = { ready, HP_MAX_TICKS, ready };
    ticks longest = 0;
    for (int i = 0; i < task->n_holds; i++) {
        const struct hold *hold = &task->hold[i];
        from[i] = hp_hold(&free[hold->queue], ready, hold->busy);
        t.start = hp_earliest(t.start, from[i]);
        t.end = hp_latest(t.end, hp_later(from[i], hold->busy));
        longest = hp_latest(longest, hold->busy);
    }
    t.start = task->n_holds ? t.start : ready;
    t.end = hp_later(t.end, task->duration - longest);
    return t;
}

/* Give a ready task all its queues; from[] receives when each hold starts. */
static inline struct times hp_claim(const struct sim_task *task, ticks *free, ticks ready,
                                    ticks *from)
{
    ticks start = ready;
    if (!task->hold && task->n_holds) {
        start = hp_latest(ready, free[task->queue]);
        free[task->queue] = hp_later(start, task->duration);
    } else if (task->held == HELD_TOGETHER) {
        start = hp_claim_together(task, free, ready, from);
    } else {
        return hp_claim_each(task, free, ready, from);
    }
    return (struct times){ ready, start, hp_later(start, task->duration) };
}

/* Advance a flow at time `now`. Returns when it is to be advanced again; -1: it has all its
 * links, and flow->start and flow->end are the task's. */
ticks hp_flow_go(struct flow *flow, const struct sim_task *task, const struct queues *queues,
                 ticks now);

/* The second part of the key by which a task or its flow is served. */
static inline ticks hp_since(const struct sim_task *task, ticks ready)
{
    return task->traffic == TRAFFIC_NEXT ? -1 : ready;
}

#endif /* SIM_FULL_LINKS_H */
