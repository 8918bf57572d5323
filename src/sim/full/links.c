/* Flows: tasks that take their links one by one, and traffic that gives way (links.h). */
#include "sim/full/links.h"

static int class_of(int room)
{
    int class = 0;
    while (1 << class < room)
        class ++;
    return class;
}

void hp_flows_begin(struct flows *s)
{
    *s = (struct flows){ .first = -1, .last = -1 };
}

int hp_flow_new(struct flows *s, struct arena *arena, int n_holds, ticks ready)
{
    int class = class_of(n_holds), number;
    if (s->n_spare[class]) {
        number = s->spare[class][--s->n_spare[class]];
    } else {
        s->flow = GROW(arena, struct flow, s->flow, s->n, &s->capacity);
        number = s->n++;
        s->flow[number] =
            (struct flow){ .from = NEW(arena, ticks, 1 << class), .room = 1 << class };
        while (s->spare_capacity[class] < s->n) /* so that freeing a flow needs no memory */
            s->spare[class] = GROW(arena, int, s->spare[class], s->spare_capacity[class],
                                   &s->spare_capacity[class]);
    }
    struct flow *f = &s->flow[number];
    f->arrived = f->ready = ready;
    f->start = f->end = 0;
    f->hop = 0;
    f->left = -1;
    f->began = -1;
    return number;
}

void hp_flow_free(struct flows *s, int number)
{
    struct flow *f = &s->flow[number];
    int class = class_of(f->room);
    if (f->began >= 0) {
        if (f->before >= 0)
            s->flow[f->before].after = f->after;
        else
            s->first = f->after;
        if (f->after >= 0)
            s->flow[f->after].before = f->before;
        else
            s->last = f->before;
    }
    s->spare[class][s->n_spare[class]++] = number;
}

void hp_flows_clear(struct flows *s)
{
    for (int class = 0; class < 32; class ++)
        s->n_spare[class] = 0;
    for (int i = 0; i < s->n; i++) {
        int class = class_of(s->flow[i].room);
        s->spare[class][s->n_spare[class]++] = i;
    }
    s->first = s->last = -1;
}

void hp_flow_began(struct flows *s, int number, ticks now)
{
    struct flow *f = &s->flow[number];
    f->began = now;
    f->before = s->last;
    f->after = -1;
    if (s->last >= 0)
        s->flow[s->last].after = number;
    else
        s->first = number;
    s->last = number;
}

/* A task that gives way joins the line of a link. */
static void ask(const struct queues *q, const struct hold *hold, ticks *from)
{
    *from = ~q->asked[hold->queue];
    q->asked[hold->queue] = hp_later(q->asked[hold->queue], hold->busy);
}

/* Start on a link if it is free and it is this task's turn. Returns the earliest time when that
 * can be; -1: it has started. */
static ticks start_in_line(const struct queues *q, const struct hold *hold, ticks *from,
                           ticks now)
{
    int queue = hold->queue;
    ticks ahead = ~*from - q->given[queue];
    if (q->free[queue] > now || ahead)
        return hp_later(hp_latest(q->free[queue], now), ahead);
    *from = now;
    q->given[queue] = hp_later(q->given[queue], hold->busy);
    q->free[queue] = hp_later(now, hold->busy);
    return -1;
}

static void count(const struct queues *q, const struct hold *hold)
{
    if (q->left)
        q->left[hold->queue] = hp_less(q->left[hold->queue], hold->busy);
}

/* A message gets its current link. */
static void pass_hop(struct flow *f, const struct sim_task *task, const struct queues *q)
{
    const struct hold *hold = &task->hold[f->hop];
    ticks latency = f->hop ? hold->offset - hold[-1].offset : 0, from = f->from[f->hop];
    count(q, hold);
    f->end = hp_latest(hp_later(f->end, latency), hp_later(from, hold->busy));
    f->hop++;
    if (f->hop < task->n_holds)
        f->ready = hp_later(from, hold[1].offset - hold->offset);
}

/* A message arrives at its next link. The message does not wait for links that it holds for no
 * time. */
static ticks next_hop(struct flow *f, const struct sim_task *task, const struct queues *q,
                      ticks now)
{
    const struct hold *hold = &task->hold[f->hop];
    ticks *from = &f->from[f->hop];
    if (task->traffic == TRAFFIC_NEXT || !hold->busy) {
        *from = hp_hold(&q->free[hold->queue], now, hold->busy);
    } else {
        if (f->left < 0)
            ask(q, hold, from);
        f->left = 1;
        ticks again = start_in_line(q, hold, from, now);
        if (again >= 0)
            return again;
        f->left = -1; /* it has not asked for the next link */
    }
    pass_hop(f, task, q);
    while (f->hop < task->n_holds && !task->hold[f->hop].busy) {
        f->from[f->hop] = f->ready;
        pass_hop(f, task, q);
    }
    if (f->hop < task->n_holds)
        return f->ready;
    f->start = f->from[0];
    f->end = hp_later(f->end, hp_rest(task));
    return -1;
}

/* A collective that gives way joins the lines of all its links. */
static void ask_all(struct flow *f, const struct sim_task *task, const struct queues *q,
                    ticks now)
{
    f->left = 0;
    f->start = HP_MAX_TICKS;
    for (int i = 0; i < task->n_holds; i++) {
        if (task->hold[i].busy) {
            ask(q, &task->hold[i], &f->from[i]);
            f->left++;
        } else {
            f->from[i] = f->start = f->end = now;
        }
    }
}

static ticks next_links(struct flow *f, const struct sim_task *task, const struct queues *q,
                        ticks now)
{
    ticks again = HP_MAX_TICKS;
    if (f->left < 0)
        ask_all(f, task, q, now);
    for (int i = 0; i < task->n_holds; i++) {
        if (f->from[i] >= 0)
            continue;
        ticks when = start_in_line(q, &task->hold[i], &f->from[i], now);
        if (when >= 0) {
            again = hp_earliest(again, when);
            continue;
        }
        count(q, &task->hold[i]);
        f->left--;
        f->start = hp_earliest(f->start, now);
        f->end = hp_latest(f->end, q->free[task->hold[i].queue]);
    }
    if (f->left)
        return again;
    f->end = hp_later(f->end, hp_rest(task));
    return -1;
}

ticks hp_flow_go(struct flow *flow, const struct sim_task *task, const struct queues *queues,
                 ticks now)
{
    return task->held == HELD_ON_ROUTE ? next_hop(flow, task, queues, now)
                                       : next_links(flow, task, queues, now);
}
