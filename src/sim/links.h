/* sim/links.h - how tasks take what they hold. Internal.
 *
 * A task that holds all its queues together, and one of the first class that holds links each
 * by itself, is given them when it is ready (hp_claim()). The others are FLOWS: a message comes
 * to one link of its route after the other; what gives way waits until nothing of the first
 * class wants the link.
 *
 * Everything is decided in the order of (time, since, number), struct ready_task: of the first
 * class when it comes to a link, which then is held from when it is free; of the second when it
 * starts, after all of the first class that has come by that time. What is decided so depends
 * on nothing that is decided later, so there is one timeline. (The second class: it ends later
 * than it starts on its last link, since a link that is held for no time is not waited for.)
 *
 * What of the second class waits for a link is served there as it came. It is looked at again
 * when the link will have done what it was given and all that came before: something of the
 * first class may have come in between, then it is looked at again. */
#ifndef SIM_LINKS_H
#define SIM_LINKS_H

#include "base/arena.h"
#include "sim/tasks.h"

/* By queue. */
struct queues {
    ticks *free;          /* when it has done all that it was given so far */
    ticks *asked, *given; /* of the second class: what has come, and what of that has started */
    ticks *left;          /* what it is yet to be given; NULL: nobody asks */
};

/* A task while it takes its links. */
struct flow {
    ticks arrived; /* when the task was ready */
    ticks ready;   /* of the link that it is to take, or of all */
    ticks start, end;
    int hop;     /* of a message: the link that it is to take */
    int left;    /* of another: links that it has not got yet; -1: it has asked for none */
    ticks *from; /* by hold: when it starts there; ~asked of the queue when it came */
    int room;    /* of from[] */
    ticks began; /* when it was given its first link; those that were stand in a list */
    int before, after;
};

/* Flows by number; those that have ended are used again. */
struct flows {
    struct flow *flow;
    int n, capacity;
    int *spare[32]; /* by logarithm of the room */
    int n_spare[32], spare_capacity[32];
    int first, last; /* of those that have begun, in that order; -1 */
};

void hp_flows_begin(struct flows *flows);
int hp_flow_new(struct flows *flows, struct arena *arena, int n_holds, ticks ready);
void hp_flow_free(struct flows *flows, int flow);
void hp_flows_clear(struct flows *flows); /* free all */

/* It has been given its first link, now: it stands in the list until it is freed. */
void hp_flow_began(struct flows *flows, int flow, ticks now);

/* The time that a task takes besides the longest hold (and, of a message, the latencies
 * before its last link). */
static inline ticks hp_rest(const struct sim_task *task)
{
    ticks longest = 0, before = 0;
    for (int i = 0; i < task->n_holds; i++)
        longest = hp_latest(longest, task->hold[i].busy);
    if (task->held == HELD_ON_ROUTE && task->n_holds)
        before = task->hold[task->n_holds - 1].offset;
    return hp_latest(task->duration - longest - before, 0);
}

/* Does a task get all that it holds when it is ready? */
static inline bool hp_is_claimed(const struct sim_task *task)
{
    return task->held == HELD_TOGETHER ||
           (task->traffic == TRAFFIC_NEXT && (task->held == HELD_EACH || task->n_holds <= 1));
}

/* Give a queue a task that comes at `ready`; returns when it starts. What holds it for no time
 * does not wait. */
static inline ticks hp_hold(ticks *free, ticks ready, ticks busy)
{
    if (!busy)
        return ready;
    ticks start = hp_latest(*free, ready);
    *free = hp_later(start, busy);
    return start;
}

/* Queues that are held together. */
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

/* Links that are held each by itself. */
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

/* Give a task that is ready all that it holds; from[]: room for when each hold starts. */
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

/* Go on with a flow, now. Returns when it is to go on again; -1: it has all its links, and
 * flow->start and flow->end are those of the task. */
ticks hp_flow_go(struct flow *flow, const struct sim_task *task, const struct queues *queues,
                 ticks now);

/* The second part of the key by which a task, or a flow of it, is served. */
static inline ticks hp_since(const struct sim_task *task, ticks ready)
{
    return task->traffic == TRAFFIC_NEXT ? -1 : ready;
}

#endif /* SIM_LINKS_H */
