/* Delta simulation against full simulation, on random task graphs under random changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "sim/delta/timeline.h"
#include "sim/full/timeline.h"

enum { MAX_TASKS = 60, MAX_AFTER = 5, QUEUES = 4, ROUNDS = 1500, CHANGES = 25 };

/* A task as the test knows it; numbers are places in the table, so that waits go backwards. */
struct thing {
    bool there;
    int id;
    struct sim_task task;
    int after[MAX_AFTER], n_after;
};

struct world {
    struct random random;
    struct arena arena;
    struct thing thing[MAX_TASKS];
    struct delta_timeline *timeline;
    int next_id;
    int style; /* how long tasks take: ties and zeros are common in some */
};

static ticks some_time(struct world *w)
{
    switch (w->style) {
    case 0:
        return (ticks)hp_random_below(&w->random, 3); /* many zeros and ties */
    case 1:
        return 5;
    case 2:
        return (ticks)hp_random_below(&w->random, 1000);
    default:
        return hp_random_below(&w->random, 4) ? 10 : 0;
    }
}

/* A collective or a message, of either class. */
static void take_links(struct world *w, struct thing *t, struct hold *hold)
{
    bool route = hp_random_below(&w->random, 2);
    ticks longest = 0, offset = 0;
    t->task.n_holds = 1 + (int)hp_random_below(&w->random, 3);
    t->task.held = route ? HELD_ON_ROUTE : HELD_EACH;
    int queue = (int)hp_random_below(&w->random, QUEUES);
    for (int i = 0; i < t->task.n_holds; i++) {
        hold[i] = (struct hold){ (queue + i) % QUEUES, route ? offset : 0, some_time(w) };
        longest = hold[i].busy > longest ? hold[i].busy : longest;
        offset += some_time(w) / 2;
    }
    t->task.duration = longest + (route ? offset : some_time(w));
    t->task.traffic = t->task.duration && hp_random_below(&w->random, 2) ? TRAFFIC_SUMS : 0;
}

static void make_task(struct world *w, int n)
{
    struct thing *t = &w->thing[n];
    int n_holds = (int)hp_random_below(&w->random, 10);
    struct hold *hold = NEW(&w->arena, struct hold, 3);
    t->task = (struct sim_task){ .number = n, .duration = some_time(w), .hold = hold };
    t->task.n_holds = n_holds < 7 ? 1 : n_holds == 7 ? 0 : n_holds - 6;
    if (t->task.n_holds && hp_random_below(&w->random, 3)) {
        take_links(w, t, hold);
        return;
    }
    for (int i = 0, queue = (int)hp_random_below(&w->random, QUEUES); i < t->task.n_holds;
         i++) {
        ticks most = t->task.duration;
        hold[i].queue = (queue + i) % QUEUES;
        hold[i].offset =
            t->task.n_holds == 1 ? 0 : (ticks)hp_random_below(&w->random, most + 1);
        hold[i].busy = most - hold[i].offset;
    }
    if (t->task.n_holds == 1 && hp_random_below(&w->random, 2)) { /* told the short way */
        t->task.queue = hold[0].queue;
        t->task.hold = NULL;
    }
}

static void make_after(struct world *w, int n)
{
    struct thing *t = &w->thing[n];
    int wanted = (int)hp_random_below(&w->random, MAX_AFTER + 1);
    t->n_after = 0;
    for (int i = 0; i < wanted && n; i++) {
        int near = n > 12 && hp_random_below(&w->random, 4) ? n - 12 : 0;
        int from = near + (int)hp_random_below(&w->random, n - near);
        bool again = !w->thing[from].there;
        for (int k = 0; k < t->n_after; k++)
            again |= t->after[k] == from;
        if (!again)
            t->after[t->n_after++] = from;
    }
}

static void tell_after(struct world *w, int n)
{
    int after[MAX_AFTER];
    for (int i = 0; i < w->thing[n].n_after; i++)
        after[i] = w->thing[w->thing[n].after[i]].id;
    hp_delta_timeline_set_after(w->timeline, w->thing[n].id, after, w->thing[n].n_after);
}

/* Remove, add or replace a task; whoever waited for it waits for something else. */
static void change_one(struct world *w)
{
    int n = (int)hp_random_below(&w->random, MAX_TASKS);
    struct thing *t = &w->thing[n];
    if (t->there && hp_random_below(&w->random, 3) == 0) {
        make_task(w, n); /* it takes another time, or other queues */
        hp_delta_timeline_put(w->timeline, t->id, &t->task);
        return;
    }
    if (t->there) {
        hp_delta_timeline_remove(w->timeline, t->id);
        t->there = false;
        bool replace = hp_random_below(&w->random, 2);
        for (int i = n + 1; i < MAX_TASKS && !replace; i++)
            for (int k = 0; k < w->thing[i].n_after; k++)
                if (w->thing[i].there && w->thing[i].after[k] == n) {
                    w->thing[i].after[k] = w->thing[i].after[--w->thing[i].n_after];
                    tell_after(w, i);
                    break;
                }
        if (!replace)
            return;
    }
    make_task(w, n);
    t->there = true;
    t->id = w->next_id++;
    hp_delta_timeline_put(w->timeline, t->id, &t->task);
    make_after(w, n);
    tell_after(w, n);
    for (int i = n + 1; i < MAX_TASKS; i++)
        for (int k = 0; k < w->thing[i].n_after; k++)
            if (w->thing[i].there && w->thing[i].after[k] == n)
                tell_after(w, i);
}

/* The full simulation of the table: times by place there, and each thing's place. */
static ticks in_full(const struct world *w, struct times *times, int *place)
{
    struct sim_task task[MAX_TASKS];
    int64_t start[MAX_TASKS + 1] = { 0 };
    int after[MAX_TASKS * MAX_AFTER], n = 0, n_after = 0;
    for (int i = 0; i < MAX_TASKS; i++) {
        if (!w->thing[i].there)
            continue;
        for (int k = 0; k < w->thing[i].n_after; k++)
            after[n_after++] = place[w->thing[i].after[k]];
        place[i] = n;
        task[n++] = w->thing[i].task;
        start[n] = n_after;
    }
    struct task_graph graph = { n, QUEUES, task, start, after };
    return hp_run_graph(&graph, times, NULL);
}

/* It must be what the timeline says. */
static void compare(const struct world *w, uint64_t seed)
{
    struct times times[MAX_TASKS];
    int place[MAX_TASKS];
    ticks length = in_full(w, times, place);
    bool same = length == hp_delta_timeline_length(w->timeline);
    for (int i = 0; i < MAX_TASKS; i++)
        if (w->thing[i].there)
            same &= memcmp(&times[place[i]], &w->timeline->times[w->thing[i].id],
                           sizeof *times) == 0;
    if (!same)
        fail_msg("seed %llu: delta differs from full", (unsigned long long)seed);
}

/* Replay with a limit, or without; whether the change shall be kept. Half of those that stay
 * within the limit are. */
static bool replay(struct world *w, uint64_t seed)
{
    struct times times[MAX_TASKS];
    int place[MAX_TASKS];
    ticks before = hp_delta_timeline_length(w->timeline), limit = HP_MAX_TICKS;
    if (hp_random_below(&w->random, 2))
        limit = before / 2 + hp_random_below(&w->random, before + 1);
    ticks length = hp_delta_timeline_update(w->timeline, limit);
    if (length <= limit)
        return hp_random_below(&w->random, 2);
    if (length > in_full(w, times, place))
        fail_msg("seed %llu: said to be longer than it is", (unsigned long long)seed);
    return false;
}

static void delta_is_full(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        static struct world w;
        w = (struct world){ .style = (int)(seed % 4) };
        w.random.state = seed;
        w.timeline = hp_delta_timeline_new(QUEUES);
        for (int n = 0; n < MAX_TASKS; n++)
            if (hp_random_below(&w.random, 5)) {
                make_task(&w, n);
                w.thing[n].there = true;
                w.thing[n].id = w.next_id++;
                hp_delta_timeline_put(w.timeline, w.thing[n].id, &w.thing[n].task);
                make_after(&w, n);
                tell_after(&w, n);
            }
        hp_delta_timeline_update(w.timeline, HP_MAX_TICKS);
        hp_delta_timeline_keep(w.timeline);
        compare(&w, seed);
        for (int c = 0; c < CHANGES; c++) {
            static struct world saved;
            saved = w;
            int ones = 1 + (int)hp_random_below(&w.random, 3);
            for (int i = 0; i < ones; i++)
                change_one(&w);
            if (replay(&w, seed)) {
                compare(&w, seed);
                hp_delta_timeline_keep(w.timeline);
            } else {
                hp_delta_timeline_undo(w.timeline);
                memcpy(w.thing, saved.thing, sizeof w.thing);
            }
            compare(&w, seed);
        }
        hp_delta_timeline_free(w.timeline);
        hp_arena_free(&w.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delta_is_full),
    };
    return cmocka_run_group_tests_name("sim/delta_timeline", tests, NULL, NULL);
}
