/* Full simulation (FlexFlow, Algorithm 1). */
#include <string.h>

#include "sim/heap.h"

struct run {
    const struct task_graph *graph;
    struct arena arena;
    struct waiting before;
    int *missing; /* of what each task waits for */
    ticks *free;  /* by queue */
    struct ready_heap heap;
};

struct waiting hp_turn_round(struct arena *arena, const struct task_graph *g)
{
    int64_t n = g->after_start[g->n_tasks], *start = NEW(arena, int64_t, g->n_tasks + 2);
    int *task = NEW(arena, int, n);
    for (int64_t i = 0; i < n; i++)
        start[g->after[i] + 2]++;
    for (int t = 0; t < g->n_tasks; t++)
        start[t + 2] += start[t + 1];
    for (int t = 0; t < g->n_tasks; t++)
        for (int64_t i = g->after_start[t]; i < g->after_start[t + 1]; i++)
            task[start[g->after[i] + 1]++] = t;
    return (struct waiting){ start, task };
}

static void serve(struct run *r, int id, struct times *times)
{
    const struct sim_task *task = &r->graph->task[id];
    ticks start = hp_claim(task, r->free, times[id].ready);
    times[id].start = start;
    times[id].end = hp_later(start, task->duration);
    for (int64_t i = r->before.start[id]; i < r->before.start[id + 1]; i++) {
        int next = r->before.task[i];
        if (times[next].ready < times[id].end)
            times[next].ready = times[id].end;
        if (--r->missing[next] == 0)
            hp_heap_push(
                &r->heap, &r->arena,
                (struct ready_task){ times[next].ready, r->graph->task[next].number, next });
    }
}

ticks hp_run_graph(const struct task_graph *graph, struct times *times)
{
    struct run r = { .graph = graph };
    ticks length = 0;
    r.before = hp_turn_round(&r.arena, graph);
    r.missing = NEW(&r.arena, int, graph->n_tasks);
    r.free = NEW(&r.arena, ticks, graph->n_queues);
    memset(times, 0, (size_t)graph->n_tasks * sizeof *times);
    for (int t = 0; t < graph->n_tasks; t++) {
        r.missing[t] = (int)(graph->after_start[t + 1] - graph->after_start[t]);
        if (!r.missing[t])
            hp_heap_push(&r.heap, &r.arena, (struct ready_task){ 0, graph->task[t].number, t });
    }
    while (r.heap.n) {
        int id = hp_heap_pop(&r.heap).id;
        serve(&r, id, times);
        length = times[id].end > length ? times[id].end : length;
    }
    hp_arena_free(&r.arena);
    return length;
}
