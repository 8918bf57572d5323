/* Reading a program file: the predecessors of each task, and the numbering of tasks. */

#include "base/sort.h"
#include "sim/flat/read.h"
#include "sim/full/heap.h"

struct id_place {
    int64_t id;
    int place; /* position in the file */
};

struct waits {
    struct flat_reader *reader;
    struct id_place *sorted; /* by id */
    int64_t *start;          /* the task graph's */
    int *after;
};

static int compare_ids(const void *a, const void *b)
{
    const struct id_place *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static enum hypar_status sort_ids(struct waits *w, struct hypar_error *err)
{
    struct flat_reader *r = w->reader;
    int twice = -1; /* position in sorted[] of a repeated id, the first in the file */
    w->sorted = NEW(&r->scratch, struct id_place, r->n_tasks);
    for (int i = 0; i < r->n_tasks; i++)
        w->sorted[i] = (struct id_place){ r->task[i].id, i };
    hp_sort(w->sorted, r->n_tasks, sizeof *w->sorted, compare_ids);
    for (int i = 1; i < r->n_tasks; i++)
        if (w->sorted[i].id == w->sorted[i - 1].id &&
            (twice < 0 || w->sorted[i].place < w->sorted[twice].place))
            twice = i;
    if (twice < 0)
        return HYPAR_OK;
    struct json at = hp_json_element(&r->tasks, w->sorted[twice].place);
    struct json id = hp_json_member(&at, "id");
    return hp_json_fail(&id, err, "%lld is the id of tasks[%d] too",
                        (long long)w->sorted[twice].id, w->sorted[twice - 1].place);
}

/* The position of the task with this id, or -1. First guess: ids are counted from 0. */
static int find_id(const struct waits *w, int64_t id)
{
    int low = 0, high = w->reader->n_tasks;
    if (id < high && w->sorted[id].id == id)
        return w->sorted[id].place;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (w->sorted[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < w->reader->n_tasks && w->sorted[low].id == id;
    return found ? w->sorted[low].place : -1;
}

/* Fill start[] and after[]; a predecessor that is listed twice counts once. */
static enum hypar_status read_edges(struct waits *w, struct hypar_error *err)
{
    struct flat_reader *r = w->reader;
    int64_t listed = 0, n = 0;
    int *seen = NEW(&r->scratch, int, r->n_tasks); /* 1 + the last task that waits for it */
    for (int i = 0; i < r->n_tasks; i++) {
        struct json at = hp_json_element(&r->tasks, i), after = hp_json_member(&at, "after");
        if (after.value)
            TRY(hp_json_array(&after, INT32_MAX, err));
        listed += hp_json_length(&after);
    }
    w->start = NEW(&r->file->arena, int64_t, r->n_tasks + 1);
    w->after = NEW(&r->file->arena, int, listed);
    for (int i = 0; i < r->n_tasks; i++) {
        struct json at = hp_json_element(&r->tasks, i), after = hp_json_member(&at, "after");
        for (int k = 0; k < hp_json_length(&after); k++) {
            struct json element = hp_json_element(&after, k);
            int64_t id;
            TRY(hp_json_int(&element, 0, INT64_MAX, &id, err));
            int place = find_id(w, id);
            if (place < 0)
                return hp_json_fail(&element, err, "no task has the id %lld", (long long)id);
            if (seen[place] != i + 1)
                w->after[n++] = place;
            seen[place] = i + 1;
        }
        w->start[i + 1] = n;
    }
    return HYPAR_OK;
}

static bool is_in_order(const struct waits *w)
{
    for (int i = 0; i < w->reader->n_tasks; i++)
        for (int64_t a = w->start[i]; a < w->start[i + 1]; a++)
            if (w->after[a] >= i)
                return false;
    return true;
}

/* The successors of each task: fills first[n_tasks + 1], returns the list. */
static const int *followers(const struct waits *w, int64_t *first)
{
    struct flat_reader *r = w->reader;
    int n = r->n_tasks, *list = NEW(&r->scratch, int, w->start[n]);
    int64_t *next = NEW(&r->scratch, int64_t, n + 1);
    for (int64_t a = 0; a < w->start[n]; a++)
        first[w->after[a] + 1]++;
    for (int i = 0; i < n; i++)
        next[i + 1] = first[i + 1] += first[i];
    for (int i = 0; i < n; i++)
        for (int64_t a = w->start[i]; a < w->start[i + 1]; a++)
            list[next[w->after[a]]++] = i;
    return list;
}

/* The first predecessor of task `i` without a number. */
static int unnumbered(const struct waits *w, int i)
{
    int64_t a = w->start[i];
    while (w->reader->timed[w->after[a]].number >= 0)
        a++;
    return w->after[a];
}

/* Some tasks could not be numbered. Each waits for another such task, so following these leads
 * into a cycle. */
static enum hypar_status fail_cycle(const struct waits *w, struct hypar_error *err)
{
    struct flat_reader *r = w->reader;
    bool *seen = NEW(&r->scratch, bool, r->n_tasks);
    int i = 0;
    while (r->timed[i].number >= 0)
        i++;
    for (; !seen[i]; i = unnumbered(w, i))
        seen[i] = true;
    struct json at = hp_json_element(&r->tasks, i), after = hp_json_member(&at, "after");
    int next = unnumbered(w, i);
    if (next == i)
        return hp_json_fail(&after, err, "task %lld waits for itself",
                            (long long)r->task[i].id);
    return hp_json_fail(&after, err,
                        "a cycle: task %lld waits for task %lld, which in the end waits for it",
                        (long long)r->task[i].id, (long long)r->task[next].id);
}

/* The next number goes to the first task in the file whose predecessors all have one. */
static enum hypar_status number_tasks(const struct waits *w, struct hypar_error *err)
{
    struct flat_reader *r = w->reader;
    int n = r->n_tasks, *missing = NEW(&r->scratch, int, n), numbered = 0;
    int64_t *first = NEW(&r->scratch, int64_t, n + 1);
    const int *follower = followers(w, first);
    struct ready_heap ready = { 0 }; /* by place in the file */
    for (int i = 0; i < n; i++) {
        r->timed[i].number = -1;
        missing[i] = (int)(w->start[i + 1] - w->start[i]);
        if (missing[i] == 0)
            hp_heap_push(&ready, &r->scratch, (struct ready_task){ .number = i, .id = i });
    }
    while (ready.n > 0) {
        int i = hp_heap_pop(&ready).id;
        r->timed[i].number = numbered++;
        for (int64_t f = first[i]; f < first[i + 1]; f++) {
            int next = follower[f];
            if (--missing[next] == 0)
                hp_heap_push(&ready, &r->scratch,
                             (struct ready_task){ .number = next, .id = next });
        }
    }
    return numbered < n ? fail_cycle(w, err) : HYPAR_OK;
}

enum hypar_status hp_flat_read_edges(struct flat_reader *r, struct hypar_error *err)
{
    struct waits w = { .reader = r };
    TRY(sort_ids(&w, err));
    TRY(read_edges(&w, err));
    r->file->graph.after_start = w.start;
    r->file->graph.after = w.after;
    if (!is_in_order(&w))
        return number_tasks(&w, err);
    for (int i = 0; i < r->n_tasks; i++)
        r->timed[i].number = i;
    return HYPAR_OK;
}
