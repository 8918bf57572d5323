/* The data of a changeable timeline: tasks, edges in both directions, times. Changes are logged
 * so that they can be undone. */
#include "sim/delta/timeline.h"

#include <limits.h>
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

static struct id_list copy_list(struct delta_timeline *p, const struct id_list *from)
{
    if (!from->n)
        return (struct id_list){ 0 };
    struct id_list copy = list_of(p, from->n);
    memcpy(copy.id, from->id, (size_t)from->n * sizeof *copy.id);
    copy.n = from->n;
    return copy;
}

static void append(struct delta_timeline *p, struct id_list *list, int id)
{
    if (list->n == list->room) {
        struct id_list larger = list_of(p, list->n + 1);
        if (list->n)
            memcpy(larger.id, list->id, (size_t)list->n * sizeof *larger.id);
        larger.n = list->n;
        give_back(p, *list);
        *list = larger;
    }
    list->id[list->n++] = id;
}

static void take_out(struct id_list *list, int id)
{
    int i = 0;
    while (list->id[i] != id)
        i++;
    list->id[i] = list->id[--list->n];
}

/* Changes ----------------------------------------------------------------------------- */

/* Called before a node is first changed in a change: saves its old state. */
static struct node *touch(struct delta_timeline *p, int id)
{
    struct node *node = &p->node[id];
    if (node->changed == p->change)
        return node;
    p->touched =
        GROW(&p->logs, struct node_before, p->touched, p->n_touched, &p->touched_capacity);
    p->touched[p->n_touched++] = (struct node_before){ id, *node };
    node->changed = p->change;
    return node;
}

/* The node's own list, for changing; the old list stays intact. */
static struct id_list *before_of(struct delta_timeline *p, int id)
{
    struct node *node = touch(p, id);
    if (node->new_before != p->change)
        node->successors = copy_list(p, &node->successors);
    node->new_before = p->change;
    return &node->successors;
}

static void set_list(struct delta_timeline *p, struct node *node, const int *after, int n)
{
    struct id_list list = { 0 };
    if (node->new_after == p->change)
        give_back(p, node->predecessors);
    if (n) {
        list = list_of(p, n);
        memcpy(list.id, after, (size_t)n * sizeof *after);
        list.n = n;
    }
    node->predecessors = list;
    node->new_after = p->change;
}

static void note_fresh(struct delta_timeline *p, int id)
{
    p->fresh = GROW(&p->logs, int, p->fresh, p->n_fresh, &p->fresh_capacity);
    p->fresh[p->n_fresh++] = id;
}

/* Count a new task (+1) or a removed one (-1). */
static void count_busy(struct delta_timeline *p, const struct sim_task *task, int sign)
{
    if (!task->hold && task->n_holds)
        p->busy[task->queue] += sign * (double)task->duration;
    for (int i = 0; task->hold && i < task->n_holds; i++)
        p->busy[task->hold[i].queue] += sign * (double)task->hold[i].busy;
}

/* A copy in another arena, with room for `room` elements of `size` bytes. */
static void *larger(struct arena *arena, const void *array, int n, int room, size_t size)
{
    void *copy = hp_arena_alloc(arena, (size_t)room, size, alignof(max_align_t));
    return n ? memcpy(copy, array, (size_t)n * size) : copy;
}

/* Make room for `n` ids, and for half as many more. */
static void make_room(struct delta_timeline *p, int n)
{
    struct arena arena = { 0 };
    int room = n + n / 2;
    p->node = larger(&arena, p->node, p->n_ids, room, sizeof *p->node);
    p->turn = larger(&arena, p->turn, p->n_ids, room, sizeof *p->turn);
    p->times = larger(&arena, p->times, p->n_ids, room, sizeof *p->times);
    p->uneven = larger(&arena, p->uneven, p->n_ids, room, sizeof *p->uneven);
    p->flags = larger(&arena, p->flags, p->n_ids, room, sizeof *p->flags);
    p->place = larger(&arena, p->place, p->n_ids, room, sizeof *p->place);
    hp_arena_free(&p->by_id);
    p->by_id = arena;
    p->id_capacity = room;
}

void hp_delta_timeline_put(struct delta_timeline *p, int id, const struct sim_task *task)
{
    if (id >= p->id_capacity)
        make_room(p, id + 1);
    while (p->n_ids <= id)
        p->place[p->n_ids++] = INT_MAX;
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
    note_fresh(p, id);
}

static void leave_predecessors(struct delta_timeline *p, int id)
{
    const struct id_list *after = &p->node[id].predecessors;
    for (int i = 0; i < after->n; i++)
        if (p->node[after->id[i]].alive)
            take_out(before_of(p, after->id[i]), id);
}

void hp_delta_timeline_remove(struct delta_timeline *p, int id)
{
    struct node *node = touch(p, id);
    leave_predecessors(p, id);
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
    if (same_list(&p->node[id].predecessors, after, n))
        return;
    touch(p, id);
    leave_predecessors(p, id);
    set_list(p, &p->node[id], after, n);
    for (int i = 0; i < n; i++)
        append(p, before_of(p, after[i]), id);
    note_fresh(p, id);
}

/* Times ------------------------------------------------------------------------------- */

static void give_back_offsets(struct delta_timeline *p, ticks *offsets)
{
    if (!offsets)
        return;
    int class = class_of((int)offsets[0] + 1);
    p->offsets[class] = GROW(&p->arena, ticks *, p->offsets[class], p->n_offsets[class],
                             &p->offsets_capacity[class]);
    p->offsets[class][p->n_offsets[class]++] = offsets;
}

/* When the holds of a task start, relative to the task; NULL: at their offsets. */
static ticks *uneven_of(struct delta_timeline *p, const struct sim_task *task, ticks start,
                        const ticks *from)
{
    int i = 0, n = task->hold && task->held != HELD_TOGETHER ? task->n_holds : 0;
    while (i < n && from[i] == start + task->hold[i].offset)
        i++;
    if (i == n)
        return NULL;
    int class = class_of(n + 1);
    ticks *offsets = p->n_offsets[class] ? p->offsets[class][--p->n_offsets[class]]
                                         : NEW(&p->arena, ticks, SMALLEST_ROOM << class);
    offsets[0] = n;
    for (i = 0; i < n; i++)
        offsets[i + 1] = from[i] - start;
    return offsets;
}

static bool same_offsets(const ticks *a, const ticks *b)
{
    return a == b ||
           (a && b && a[0] == b[0] && memcmp(a, b, (size_t)(a[0] + 1) * sizeof *a) == 0);
}

bool hp_set_times(struct delta_timeline *p, int id, struct times times, const ticks *from)
{
    struct times *now = &p->times[id];
    ticks *uneven = uneven_of(p, &p->node[id].task, times.start, from);
    bool same = same_offsets(uneven, p->uneven[id]);
    if (same && now->ready == times.ready && now->start == times.start &&
        now->end == times.end) {
        give_back_offsets(p, uneven);
        return true;
    }
    same &= times.end - now->end == times.start - now->start;
    p->moved = GROW(&p->logs, struct times_before, p->moved, p->n_moved, &p->moved_capacity);
    p->moved[p->n_moved++] = (struct times_before){ id, *now, p->uneven[id] };
    *now = times;
    p->uneven[id] = uneven;
    return same;
}

/* Ending a change --------------------------------------------------------------------- */

/* A change that touches most tasks, such as the first change, has long lists. Most other
 * changes have short lists, so long ones are not kept. */
static void end_change(struct delta_timeline *p)
{
    if (p->n_touched > p->n_ids / 2) {
        hp_arena_free(&p->logs);
        p->touched_capacity = p->moved_capacity = p->shifted_capacity = p->fresh_capacity = 0;
    }
    p->n_touched = p->n_moved = p->n_shifted = p->n_fresh = 0;
    p->replayed = false;
    p->change++;
}

void hp_delta_timeline_keep(struct delta_timeline *p)
{
    for (int i = 0; i < p->n_touched; i++) {
        struct node_before *was = &p->touched[i];
        struct node *node = &p->node[was->id];
        if (node->new_after == p->change)
            give_back(p, was->node.predecessors);
        if (node->new_before == p->change)
            give_back(p, was->node.successors);
        if (!node->alive) {
            give_back(p, node->predecessors);
            give_back(p, node->successors);
            give_back_offsets(p, p->uneven[was->id]);
            p->uneven[was->id] = NULL;
            *node = (struct node){ .alive = false };
            p->place[was->id] = INT_MAX;
        }
    }
    for (int i = 0; i < p->n_moved; i++)
        give_back_offsets(p, p->moved[i].uneven);
    end_change(p);
}

void hp_shift(struct delta_timeline *p, const int *order, int n, ticks shift)
{
    for (int i = 0; i < n; i++) {
        if (order[i] < 0)
            continue;
        struct times *t = &p->times[order[i]];
        t->ready += shift;
        t->start += shift;
        t->end += shift;
    }
}

void hp_place_tasks(struct delta_timeline *p, int first)
{
    for (int i = p->n_order - 1; i >= first;
         i--) /* of two entries, the earlier one is the task's */
        p->place[p->order[i] < 0 ? ~p->order[i] : p->order[i]] = i;
}

static void restore_order(struct delta_timeline *p)
{
    int *order = p->order, *open = p->open;
    ticks *reach = p->reach;
    p->order = p->old_order;
    p->reach = p->old_reach;
    p->open = p->old_open;
    p->n_order = p->n_old_order;
    p->old_order = order;
    p->old_reach = reach;
    p->old_open = open;
    hp_place_tasks(p, p->first_replayed);
}

void hp_delta_timeline_undo(struct delta_timeline *p)
{
    for (int i = p->n_moved - 1; i >= 0; i--) {
        int id = p->moved[i].id;
        give_back_offsets(p, p->uneven[id]);
        p->times[id] = p->moved[i].times;
        p->uneven[id] = p->moved[i].uneven;
    }
    for (int i = 0; i < p->n_shifted; i++)
        hp_shift(p, p->old_order + p->shifted[i].from, p->shifted[i].to - p->shifted[i].from,
                 -p->shifted[i].shift);
    for (int i = p->n_touched - 1; i >= 0; i--) {
        struct node_before *was = &p->touched[i];
        struct node *node = &p->node[was->id];
        if (node->new_after == p->change)
            give_back(p, node->predecessors);
        if (node->new_before == p->change)
            give_back(p, node->successors);
        if (node->alive)
            count_busy(p, &node->task, -1);
        *node = was->node;
        if (node->alive)
            count_busy(p, &node->task, 1);
        else
            p->place[was->id] = INT_MAX;
    }
    if (p->replayed)
        restore_order(p);
    end_change(p);
}

struct delta_timeline *hp_delta_timeline_new(int n_queues)
{
    struct arena arena = { 0 };
    struct delta_timeline *p = NEW(&arena, struct delta_timeline, 1);
    p->arena = arena;
    p->n_queues = n_queues;
    p->queues.free = NEW(&p->arena, ticks, n_queues);
    p->queues.asked = NEW(&p->arena, ticks, n_queues);
    p->queues.given = NEW(&p->arena, ticks, n_queues);
    p->queues.left = NEW(&p->arena, ticks, n_queues);
    p->busy = NEW(&p->arena, double, n_queues);
    hp_flows_begin(&p->flows);
    p->order = NEW(&p->by_place, int, 1);
    p->old_order = NEW(&p->by_place, int, 1);
    p->open = NEW(&p->by_place, int, 2);
    p->old_open = NEW(&p->by_place, int, 2);
    p->reach = NEW(&p->by_place, ticks, 2);
    p->old_reach = NEW(&p->by_place, ticks, 2);
    p->order_capacity = 1;
    p->change = 1;
    return p;
}

void hp_delta_timeline_free(struct delta_timeline *p)
{
    if (!p)
        return;
    hp_arena_free(&p->by_id);
    hp_arena_free(&p->by_place);
    hp_arena_free(&p->logs);
    hp_arena_free(&p->arena);
}

ticks hp_delta_timeline_length(const struct delta_timeline *p)
{
    return p->reach[p->n_order];
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
