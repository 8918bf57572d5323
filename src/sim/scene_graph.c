/* A scene as one graph, for full simulation. */
#include "sim/scene.h"

/* Sort the pairs of a block by task, leaving out what is there twice. */
static int64_t put_waits(struct scene *s, int number, struct arena *scratch,
                         int64_t *after_start, int *after, int64_t at)
{
    int n = s->size[number];
    int *start = NEW(scratch, int, n + 2), *id = NEW(scratch, int, s->n_pairs);
    for (int i = 0; i < s->n_pairs; i++)
        start[s->pair[i].local + 2]++;
    for (int i = 0; i < n; i++)
        start[i + 2] += start[i + 1];
    for (int i = 0; i < s->n_pairs; i++)
        id[start[s->pair[i].local + 1]++] = s->pair[i].id;
    for (int t = 0; t < n; t++) {
        int64_t first = at;
        for (int i = start[t]; i < start[t + 1]; i++) {
            bool again = false;
            for (int64_t k = at - 1; k >= first && !again && at - k <= 64; k--)
                again = after[k] == id[i];
            if (!again)
                after[at++] = id[i];
        }
        after_start[s->first[number] + t + 1] = at;
    }
    return at;
}

static int number_blocks(struct scene *s)
{
    int n = 0;
    for (int i = 0; i < s->n_blocks; i++) {
        s->size[i] = hp_block_size(s, i);
        s->first[i] = n;
        n += s->size[i];
    }
    return n;
}

struct task_graph hp_scene_graph(struct scene *s, struct arena *arena)
{
    struct arena scratch = { 0 };
    struct task_graph g = { .n_tasks = number_blocks(s), .n_queues = s->acts->n_queues };
    struct sim_task *task = NEW(arena, struct sim_task, g.n_tasks);
    int64_t *after_start = NEW(arena, int64_t, g.n_tasks + 1), at = 0, capacity = 0;
    int *after = NULL;
    NEW(&scratch, char, 1);
    for (int i = 0; i < s->n_blocks; i++) {
        if (!s->size[i])
            continue;
        struct arena_mark mark = hp_arena_mark(&scratch);
        hp_block_tasks(s, i, task + s->first[i]);
        hp_block_waits(s, i);
        if (at + s->n_pairs > capacity) {
            int64_t larger = 2 * (at + s->n_pairs) + 1024;
            int *copy = NEW(arena, int, larger);
            for (int64_t k = 0; k < at; k++)
                copy[k] = after[k];
            after = copy;
            capacity = larger;
        }
        at = put_waits(s, i, &scratch, after_start, after, at);
        hp_arena_release(&scratch, mark);
    }
    hp_arena_free(&scratch);
    g.task = task;
    g.after_start = after_start;
    g.after = after;
    return g;
}
