/* sim/full/heap.h - a priority queue of tasks whose predecessors have been served. Internal. */
#ifndef SIM_FULL_HEAP_H
#define SIM_FULL_HEAP_H

#include "base/arena.h"
#include "sim/tasks.h"

struct ready_task {
    int level; /* of its slot */
    int row;
    int64_t number; /* the task's */
    int id;
};

struct ready_heap {
    struct ready_task *task;
    int n, capacity;
};

/* The order of service. */
static inline bool hp_comes_first(const struct ready_task *a, const struct ready_task *b)
{
    if (a->level != b->level)
        return a->level < b->level;
    return a->number != b->number ? a->number < b->number : a->row < b->row;
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

#endif /* SIM_FULL_HEAP_H */
