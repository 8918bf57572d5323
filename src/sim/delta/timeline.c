/* The data of a changeable timeline: tasks, what they wait for, times. Changes are logged so
 * that they can be undone. */
#include "sim/delta/timeline.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

ticks hp_ticks(double seconds)
{
    double t = seconds * 1e12 + 0.5;
    return t >= (double)HP_MAX_TICKS ? HP_MAX_TICKS : (ticks)floor(t);
}

double hp_seconds(ticks time)
{
    return (double)time / 1e12;
}

/* Lists ------------------------------------------------------------------------------- */

enum { SMALLEST_ROOM = 4 };

static int class_of(int room)
{
    int class = 0;
    while (SMALLEST_ROOM << class < room)
        class ++;
    return class;
}

static struct id_list list_of(struct delta_timeline *p, int room)
{
    int class = class_of(room);
    if (p->n_pool[class])
        return p->pool[class][--p->n_pool[class]];
    return (struct id_list){ .id = NEW(&p->arena, int, SMALLEST_ROOM << class),
                             .room = SMALLEST_ROOM << class };
}

static void give_back(struct delta_timeline *p, struct id_list list)
{
    if (!list.room)
        return;
    int class = class_of(list.room);
    list.n = 0;
    p->pool[class] = GROW(&p->arena, struct id_list, p->pool[class], p->n_pool[class],
                          &p->pool_capacity[class]);
    p->pool[class][p->n_pool[class]++] = list;
}

/* Changes ----------------------------------------------------------------------------- */

/* Called before a node is first changed in a change: saves its old state. */
static struct node *touch(struct delta_timeline *p, int id)
{
    struct node *node = &p->node[id];
    if (node->changed == p->change)
        return node;
    p->touched =
        GROW(&p->arena, struct node_before, p->touched, p->n_touched, &p->touched_capacity);
    p->touched[p->n_touched++] = (struct node_before){ id, *node };
    node->changed = p->change;
    return node;
}

static void set_list(struct delta_timeline *p, struct node *node, const int *after, int n)
{
    struct id_list list = { 0 };
    if (node->new_after == p->change)
        give_back(p, node->after);
    if (n) {
        list = list_of(p, n);
        memcpy(list.id, after, (size_t)n * sizeof *after);
        list.n = n;
    }
    node->after = list;
    node->new_after = p->change;
}

/* Count a new task (+1) or a removed one (-1). */
static void count_busy(struct delta_timeline *p, const struct sim_task *task, int sign)
{
    if (!task->hold && task->n_holds)
        p->busy[task->queue] += sign * (double)task->duration;
    for (int i = 0; task->hold && i < task->n_holds; i++)
        p->busy[task->hold[i].queue] += sign * (double)task->hold[i].busy;
}

void hp_delta_timeline_put(struct delta_timeline *p, int id, const struct sim_task *task)
{
    while (p->n_ids <= id) {
        p->node = GROW(&p->arena, struct node, p->node, p->n_ids, &p->id_capacity);
        p->times = GROW(&p->arena, struct times, p->times, p->n_ids, &p->times_capacity);
        p->place = GROW(&p->arena, int, p->place, p->n_ids, &p->place_capacity);
        p->place[p->n_ids] = -1;
        p->node[p->n_ids++] = (struct node){ .alive = false };
    }
    struct node *node = &p->node[id];
    const struct sim_task *now = &node->task;
    if (node->alive && now->duration == task->duration && now->number == task->number &&
        now->n_holds == task->n_holds && now->queue == task->queue && now->hold == task->hold &&
        now->held == task->held && now->traffic == task->traffic)
        return;
    while (p->from_capacity < task->n_holds)
        p->from = GROW(&p->arena, ticks, p->from, p->from_capacity, &p->from_capacity);
    node = touch(p, id);
    if (node->alive)
        count_busy(p, &node->task, -1);
    count_busy(p, task, 1);
    node->task = *task;
    node->alive = true;
}

void hp_delta_timeline_remove(struct delta_timeline *p, int id)
{
    struct node *node = touch(p, id);
    count_busy(p, &node->task, -1);
    set_list(p, node, NULL, 0);
    node->alive = false;
}

static bool same_list(const struct id_list *list, const int *after, int n)
{
    return list->n == n && (n == 0 || memcmp(list->id, after, (size_t)n * sizeof *after) == 0);
}

static int drop_repeats(int *id, int n)
{
    int kept = 0;
    if (n > 32)
        hp_sort_ints(id, n);
    for (int i = 1; i < n && n <= 32; i++)
        for (int k = i; k > 0 && id[k - 1] > id[k]; k--) {
            int swap = id[k];
            id[k] = id[k - 1];
            id[k - 1] = swap;
        }
    for (int i = 0; i < n; i++)
        if (!kept || id[i] != id[kept - 1])
            id[kept++] = id[i];
    return kept;
}

void hp_delta_timeline_set_after(struct delta_timeline *p, int id, int *after, int n)
{
    n = drop_repeats(after, n);
    if (same_list(&p->node[id].after, after, n))
        return;
    set_list(p, touch(p, id), after, n);
}

/* Ending a change --------------------------------------------------------------------- */

static void end_change(struct delta_timeline *p)
{
    p->n_touched = p->n_moved = 0;
    p->replayed = false;
    p->change++;
}

void hp_delta_timeline_keep(struct delta_timeline *p)
{
    for (int i = 0; i < p->n_touched; i++) {
        struct node_before *was = &p->touched[i];
        struct node *node = &p->node[was->id];
        if (node->new_after == p->change)
            give_back(p, was->node.after);
        if (!node->alive) {
            give_back(p, node->after);
            *node = (struct node){ .alive = false };
            p->place[was->id] = -1;
        }
    }
    end_change(p);
}

void hp_delta_timeline_undo(struct delta_timeline *p)
{
    for (int i = p->n_moved - 1; i >= 0; i--)
        p->times[p->moved[i].id] = p->moved[i].times;
    for (int i = p->n_touched - 1; i >= 0; i--) {
        struct node_before *was = &p->touched[i];
        struct node *node = &p->node[was->id];
        if (node->new_after == p->change)
            give_back(p, node->after);
        if (node->alive)
            count_busy(p, &node->task, -1);
        *node = was->node;
        if (node->alive)
            count_busy(p, &node->task, 1);
        else
            p->place[was->id] = -1;
    }
    if (p->replayed)
        hp_service_restore(p);
    end_change(p);
}

struct delta_timeline *hp_delta_timeline_new(int n_queues)
{
    struct arena arena = { 0 };
    struct delta_timeline *p = NEW(&arena, struct delta_timeline, 1);
    p->arena = arena;
    p->n_queues = n_queues;
    p->busy = NEW(&p->arena, double, n_queues);
    hp_service_begin(p);
    p->change = 1;
    return p;
}

void hp_delta_timeline_free(struct delta_timeline *p)
{
    if (!p)
        return;
    struct arena arena = p->arena; /* it lives in it */
    hp_arena_free(&arena);
}

ticks hp_delta_timeline_length(const struct delta_timeline *p)
{
    return p->now.length;
}

ticks hp_busiest(const double *busy, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = busy[i] > most ? busy[i] : most;
    return most < (double)HP_MAX_TICKS ? (ticks)most : HP_MAX_TICKS;
}

ticks hp_delta_timeline_busiest(const struct delta_timeline *p)
{
    return hp_busiest(p->busy, p->n_queues);
}
