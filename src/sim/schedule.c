/* Full simulation of a scene. Task instances are (micro-batch, task of its body), never written
 * out: a micro-batch has its counters only while it is under way. */
#include "sim/schedule.h"

#include <string.h>

#include "sim/heap.h"

enum { TAIL = -1 };

/* The counters of a micro-batch under way, or of the tail. */
struct under_way {
    int *missing; /* by task: how much of what it waits for has not ended */
    ticks *ready; /* by task: the latest end of what has */
    int left;     /* tasks to be served */
};

/* Where a device of a stage is in the stage's slots. */
struct progress {
    int slot; /* that it works on */
    int left; /* tasks of that slot to be served */
    ticks time;
};

struct staging {
    struct scene *scene;
    struct arena arena;
    struct task_graph graph;
    int first[4]; /* body 0, body 1, tail, end: ids of the graph */
    int n_micro, n_devices;
    int64_t *before_start; /* who waits for each task: CSR */
    int *before;
    int *missing;               /* by task: of all that it waits for */
    struct under_way *of_micro; /* closed ones have no arrays */
    struct under_way tail;
    struct under_way *spare; /* arrays of closed ones, by body */
    int n_spare[2];
    /* Schedule: slots as the program has them; the unit tasks of each (stage, half, device). */
    struct hypar_program slots;
    int *group_start[2], *group[2];
    int *group_of;             /* by task of a body; -1: not gated */
    struct progress *progress; /* [stage * n_devices + device] */
    ticks *free;
    struct ready_heap heap;
    struct timeline *keep;
    const struct audience *audience;
    int64_t served;
    ticks length;
};

static int body_of(const struct staging *s, int micro)
{
    return micro >= s->scene->sketch->body[0].n_micro;
}

static int n_body(const struct staging *s, int b)
{
    return s->first[b + 1] - s->first[b];
}

/* Waiting ------------------------------------------------------------------------------ */

static void open_micro(struct staging *s, int micro)
{
    int b = body_of(s, micro), n = n_body(s, b);
    struct under_way *w = &s->of_micro[micro];
    struct under_way *spare = s->spare + b * s->n_micro;
    if (s->n_spare[b])
        *w = spare[--s->n_spare[b]];
    else
        *w = (struct under_way){ NEW(&s->arena, int, n), NEW(&s->arena, ticks, n), 0 };
    memcpy(w->missing, s->missing + s->first[b], (size_t)n * sizeof *w->missing);
    memset(w->ready, 0, (size_t)n * sizeof *w->ready);
    w->left = n;
}

static void close_micro(struct staging *s, int micro)
{
    int b = body_of(s, micro);
    struct under_way *spare = s->spare + b * s->n_micro;
    spare[s->n_spare[b]++] = s->of_micro[micro];
    s->of_micro[micro] = (struct under_way){ 0 };
}

/* One of the things that a task waits for has ended. */
static void release(struct staging *s, int micro, int task, ticks end)
{
    struct under_way *w = micro == TAIL ? &s->tail : &s->of_micro[micro];
    int first = micro == TAIL ? s->first[2] : s->first[body_of(s, micro)];
    if (!w->missing)
        open_micro(s, micro);
    ticks *ready = &w->ready[task - first];
    *ready = end > *ready ? end : *ready;
    if (--w->missing[task - first] == 0)
        hp_heap_push(
            &s->heap, &s->arena,
            (struct ready_task){
                *ready, (int64_t)(micro == TAIL ? s->n_micro : micro) << 32 | task, task });
}

/* Slots -------------------------------------------------------------------------------- */

static int group_index(const struct staging *s, int stage, bool backward, int device)
{
    return (stage * 2 + backward) * s->n_devices + device;
}

/* The device has done its part of a slot: its tasks of the next one may go. */
static void next_slot(struct staging *s, int stage, int device)
{
    struct progress *p = &s->progress[stage * s->n_devices + device];
    const struct slot *slot = s->slots.slot + (size_t)stage * (size_t)s->slots.slots_per_stage;
    while (p->left == 0 && ++p->slot < s->slots.slots_per_stage) {
        int micro = slot[p->slot].micro, b = body_of(s, micro);
        int g = group_index(s, stage, slot[p->slot].backward, device);
        p->left = s->group_start[b][g + 1] - s->group_start[b][g];
        for (int i = s->group_start[b][g]; i < s->group_start[b][g + 1]; i++)
            release(s, micro, s->group[b][i], p->time);
    }
}

static int stage_of_group(const struct staging *s, int group)
{
    return group / s->n_devices / 2;
}

static void leave_slot(struct staging *s, int task, ticks end)
{
    int group = s->group_of[task], stage = stage_of_group(s, group);
    int device = group % s->n_devices;
    struct progress *p = &s->progress[stage * s->n_devices + device];
    p->time = end > p->time ? end : p->time;
    if (--p->left == 0)
        next_slot(s, stage, device);
}

/* The unit tasks of a body by stage, half and device. */
static void group_tasks(struct staging *s, int b)
{
    const struct scene *scene = s->scene;
    const struct skeleton *k = &scene->sketch->skeleton;
    int n_groups = s->slots.n_stages * 2 * s->n_devices;
    s->group_start[b] = NEW(&s->arena, int, n_groups + 2);
    s->group[b] = NEW(&s->arena, int, n_body(s, b));
    for (int i = 0; i < k->n_items; i++) {
        int number = b * k->n_items + i;
        struct block block = hp_block_at(scene, number);
        for (int t = 0; block.kind == BLOCK_UNIT && t < scene->size[number]; t++) {
            int id = scene->first[number] + t;
            const struct step *step = &k->step[block.index];
            s->group_of[id] = group_index(s, s->slots.stage_of_op[step->op], step->backward,
                                          s->graph.task[id].queue);
            s->group_start[b][s->group_of[id] + 2]++;
            s->missing[id]++;
        }
    }
    for (int g = 0; g < n_groups; g++)
        s->group_start[b][g + 2] += s->group_start[b][g + 1];
    for (int id = s->first[b]; id < s->first[b + 1]; id++)
        if (s->group_of[id] >= 0)
            s->group[b][s->group_start[b][s->group_of[id] + 1]++] = id;
}

static void start_slots(struct staging *s)
{
    int n = s->slots.n_stages * s->n_devices;
    s->progress = NEW(&s->arena, struct progress, n);
    for (int i = 0; i < n; i++)
        s->progress[i].slot = -1;
    for (int stage = 0; stage < s->slots.n_stages; stage++)
        for (int device = 0; device < s->n_devices; device++)
            next_slot(s, stage, device);
}

/* Playing ------------------------------------------------------------------------------ */

static void turn_round(struct staging *s)
{
    const struct task_graph *g = &s->graph;
    int64_t n = g->after_start[g->n_tasks];
    s->before_start = NEW(&s->arena, int64_t, g->n_tasks + 2);
    s->before = NEW(&s->arena, int, n);
    for (int64_t i = 0; i < n; i++)
        s->before_start[g->after[i] + 2]++;
    for (int t = 0; t < g->n_tasks; t++)
        s->before_start[t + 2] += s->before_start[t + 1];
    for (int t = 0; t < g->n_tasks; t++)
        for (int64_t i = g->after_start[t]; i < g->after_start[t + 1]; i++)
            s->before[s->before_start[g->after[i] + 1]++] = t;
}

static void note_times(struct staging *s, int micro, int task, const struct times *times)
{
    s->served++;
    s->length = times->end > s->length ? times->end : s->length;
    if (s->keep && micro == TAIL) {
        s->keep->tail[task - s->first[2]] = *times;
    } else if (s->keep) {
        int b = body_of(s, micro);
        int64_t row = micro - s->scene->sketch->body[b].first_micro;
        s->keep->times[b][row * n_body(s, b) + task - s->first[b]] = *times;
    }
    if (s->audience)
        s->audience->served(s->audience->who, task, micro, times);
}

static void serve(struct staging *s, const struct ready_task *what)
{
    int micro = (int)(what->number >> 32), task = what->id;
    micro = micro == s->n_micro ? TAIL : micro;
    ticks start = hp_claim(&s->graph.task[task], s->free, what->ready);
    struct times times = { what->ready, start, hp_later(start, s->graph.task[task].duration) };
    note_times(s, micro, task, &times);
    bool last = false; /* the tail waits for the last micro-batch of each body */
    if (micro != TAIL) {
        const struct sketch_body *body = &s->scene->sketch->body[body_of(s, micro)];
        last = micro == body->first_micro + body->n_micro - 1;
    }
    for (int64_t i = s->before_start[task]; i < s->before_start[task + 1]; i++) {
        int next = s->before[i];
        if (next < s->first[2])
            release(s, micro, next, times.end);
        else if (micro == TAIL || last)
            release(s, TAIL, next, times.end);
    }
    if (micro == TAIL)
        return;
    if (s->group_of && s->group_of[task] >= 0)
        leave_slot(s, task, times.end);
    if (--s->of_micro[micro].left == 0)
        close_micro(s, micro);
}

static void begin_timeline(struct staging *s, struct timeline *keep)
{
    const struct sketch *sketch = s->scene->sketch;
    for (int b = 0; b < sketch->n_bodies; b++) {
        keep->n_body[b] = n_body(s, b);
        keep->times[b] = NEW(&keep->arena, struct times,
                             (size_t)n_body(s, b) * (size_t)sketch->body[b].n_micro);
    }
    keep->n_tail = s->first[3] - s->first[2];
    keep->tail = NEW(&keep->arena, struct times, keep->n_tail);
    s->keep = keep;
}

/* Everything that waits for nothing. */
static void start_tasks(struct staging *s)
{
    const struct task_graph *g = &s->graph;
    s->tail.missing = s->missing + s->first[2];
    s->tail.ready = NEW(&s->arena, ticks, g->n_tasks - s->first[2] + 1);
    for (int t = 0; t < g->n_tasks; t++) {
        if (s->missing[t])
            continue;
        for (int m = 0; t < s->first[2] && m < s->n_micro; m++)
            if (body_of(s, m) == (t >= s->first[1])) {
                if (!s->of_micro[m].missing)
                    open_micro(s, m);
                hp_heap_push(&s->heap, &s->arena,
                             (struct ready_task){ 0, (int64_t)m << 32 | t, t });
            }
        if (t >= s->first[2])
            hp_heap_push(&s->heap, &s->arena,
                         (struct ready_task){ 0, (int64_t)s->n_micro << 32 | t, t });
    }
}

static void set_up(struct staging *s, struct timeline *keep)
{
    struct scene *scene = s->scene;
    const struct sketch *sketch = scene->sketch;
    struct arena *arena = keep ? &keep->arena : &s->arena;
    int n_items = sketch->skeleton.n_items;
    s->graph = hp_scene_graph(scene, arena);
    s->first[1] = scene->first[n_items]; /* body 1, or the tail */
    s->first[2] = scene->first[sketch->n_bodies * n_items];
    s->first[3] = s->graph.n_tasks;
    s->n_micro = (int)sketch->plan->schedule.micro_batches;
    s->n_devices = scene->acts.n_devices;
    turn_round(s);
    s->missing = NEW(&s->arena, int, s->graph.n_tasks);
    for (int t = 0; t < s->graph.n_tasks; t++)
        s->missing[t] = (int)(s->graph.after_start[t + 1] - s->graph.after_start[t]);
    s->of_micro = NEW(&s->arena, struct under_way, s->n_micro);
    s->spare = NEW(&s->arena, struct under_way, 2 * s->n_micro);
    s->free = NEW(&s->arena, ticks, s->graph.n_queues);
    if (s->n_micro > 1) {
        s->slots.arena = s->arena;
        s->slots.plan = sketch->plan;
        hp_make_schedule(&s->slots);
        s->arena = s->slots.arena;
        s->group_of = NEW(&s->arena, int, s->first[2]);
        memset(s->group_of, -1, (size_t)s->first[2] * sizeof *s->group_of);
        for (int b = 0; b < sketch->n_bodies; b++)
            group_tasks(s, b);
    }
    if (keep)
        begin_timeline(s, keep);
}

ticks hp_play_scene_for(struct scene *scene, struct timeline *keep,
                        const struct audience *audience, int64_t *instances)
{
    struct staging s = { .scene = scene, .audience = audience };
    if (keep)
        *keep = (struct timeline){ 0 };
    set_up(&s, keep);
    if (audience)
        audience->begin(audience->who, &s.graph);
    start_tasks(&s);
    if (s.n_micro > 1)
        start_slots(&s);
    while (s.heap.n) {
        struct ready_task first = hp_heap_pop(&s.heap);
        serve(&s, &first);
    }
    if (keep) {
        keep->graph = s.graph;
        keep->n_instances = s.served;
        keep->length = s.length;
    }
    if (instances)
        *instances = s.served;
    hp_arena_free(&s.arena);
    return s.length;
}

ticks hp_play_scene(struct scene *scene, struct timeline *keep)
{
    return hp_play_scene_for(scene, keep, NULL, NULL);
}

void hp_timeline_end(struct timeline *timeline)
{
    hp_arena_free(&timeline->arena);
}
