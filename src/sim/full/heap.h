/* sim/full/heap.h - a priority queue of tasks that are ready or have to be looked at again.
 * Internal. */
#ifndef SIM_FULL_HEAP_H
#define SIM_FULL_HEAP_H

#include "base/arena.h"
#include "sim/tasks.h"

struct ready_task {
    ticks time;     /* when it is ready, or has to be looked at again */
    ticks since;    /* -1; of traffic that gives way: when it became ready */
    int64_t number; /* the task's */
    int id;
    int flow; /* its flow, if it has begun with its links (links.h); -1 */
};

struct ready_heap {
    struct ready_task *task;
    int n, capacity;
};

/* A faster queue for tasks that mostly arrive in the order of service: those are kept in a
 * line, the others in the heap. */
struct ready_line {
    struct ready_task *task;
    int first, end, capacity;
    struct ready_heap heap;
};

static inline bool hp_comes_first(const struct ready_task *a, const struct ready_task *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->since != b->since ? a->since < b->since : a->number < b->number;
}

static inline void hp_heap_push(struct ready_heap *h, struct arena *arena, struct ready_task t)
{
    h->task = GROW(arena, struct ready_task, h->task, h->n, &h->capacity);
    int i = h->n++;
    while (i > 0 && hp_comes_first(&t, &h->task[(i - 1) / 4])) {
        h->task[i] = h->task[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    h->task[i] = t;
}

static inline struct ready_task hp_heap_pop(struct ready_heap *h)
{
    struct ready_task top = h->task[0], last = h->task[--h->n];
    int i = 0;
    for (int child = 1; child < h->n; child = 4 * i + 1) {
        int best = child, end = child + 4 < h->n ? child + 4 : h->n;
        for (int c = child + 1; c < end; c++)
            if (hp_comes_first(&h->task[c], &h->task[best]))
                best = c;
        if (!hp_comes_first(&h->task[best], &last))
            break;
        h->task[i] = h->task[best];
        i = best;
    }
    h->task[i] = last;
    return top;
}

static inline void hp_line_push(struct ready_line *l, struct arena *arena, struct ready_task t)
{
    if (l->first == l->end)
        l->first = l->end = 0;
    if (l->first < l->end && hp_comes_first(&t, &l->task[l->end - 1])) {
        hp_heap_push(&l->heap, arena, t);
        return;
    }
    l->task = GROW(arena, struct ready_task, l->task, l->end, &l->capacity);
    l->task[l->end++] = t;
}

/* The first task of all; NULL: there is none. */
static inline const struct ready_task *hp_line_first(const struct ready_line *l)
{
    const struct ready_task *line = l->first < l->end ? &l->task[l->first] : NULL;
    if (!l->heap.n)
        return line;
    return line && hp_comes_first(line, l->heap.task) ? line : l->heap.task;
}

static inline struct ready_task hp_line_pop(struct ready_line *l)
{
    if (hp_line_first(l) == l->heap.task && l->heap.n)
        return hp_heap_pop(&l->heap);
    return l->task[l->first++];
}

static inline void hp_line_clear(struct ready_line *l)
{
    l->first = l->end = l->heap.n = 0;
}

#endif /* SIM_FULL_HEAP_H */
