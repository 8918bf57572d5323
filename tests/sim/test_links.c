/* Links: their serving rule, executed second by second on random tasks and compared with the
 * simulator; and cases computed by hand.
 *
 *     HYPAR_LINKS_ROUNDS   how many random graphs (3000)
 *     HYPAR_LINKS_SEED     the first seed (1)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/search.h>

#include "base/random.h"
#include "sim/full/timeline.h"
#include "sim/sim.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { MAX_TASKS = 40, MAX_HOLDS = 4, MAX_AFTER = 4, DEVICES = 2, QUEUES = 6 };

struct thing {
    struct sim_task task;
    struct hold hold[MAX_HOLDS];
    int after[MAX_AFTER], n_after;
    /* as the simulator has it, and as it is played */
    struct times times, played;
    ticks from[MAX_HOLDS], played_from[MAX_HOLDS]; /* -1: not yet */
};

struct world {
    struct random random;
    int n, style;
    struct thing thing[MAX_TASKS];
};

/* The rule, played ---------------------------------------------------------------------- */

/* When a task is ready; -1: something that it waits for has not ended by `now`. */
static ticks ready_at(const struct world *w, const struct thing *t, ticks now)
{
    ticks ready = 0;
    for (int i = 0; i < t->n_after; i++) {
        ticks end = w->thing[t->after[i]].played.end;
        if (end < 0 || end > now)
            return -1;
        ready = end > ready ? end : ready;
    }
    return ready;
}

/* When hold `h` of a task can begin at the earliest, as far as the task is concerned; -1: not
 * known, or later than now. A message comes to a link one latency after it starts on the one
 * before. */
static ticks arrives_at(const struct world *w, const struct thing *t, int h, ticks now)
{
    ticks ready = ready_at(w, t, now);
    if (ready < 0 || !h || t->task.held != HELD_ON_ROUTE)
        return ready;
    if (t->played_from[h - 1] < 0)
        return -1;
    ticks arrives = t->played_from[h - 1] + t->hold[h].offset - t->hold[h - 1].offset;
    return arrives > now ? -1 : arrives;
}

/* The end of a task all of whose holds have begun. */
static ticks end_of(const struct thing *t, ticks ready)
{
    ticks end = ready, longest = 0;
    int n = t->task.n_holds;
    if (!n || t->task.held == HELD_TOGETHER)
        return (n ? t->played_from[0] : ready) + t->task.duration;
    for (int h = 0; h < n; h++) {
        ticks own = t->played_from[h] + t->hold[h].busy;
        if (h && t->task.held == HELD_ON_ROUTE) /* not before it has ended on the last link */
            end += t->hold[h].offset - t->hold[h - 1].offset;
        end = own > end ? own : end;
        longest = t->hold[h].busy > longest ? t->hold[h].busy : longest;
    }
    return end + t->task.duration - longest -
           (t->task.held == HELD_ON_ROUTE ? t->hold[n - 1].offset : 0);
}

struct choice {
    int task, hold; /* -1: none */
    ticks since;
};

/* Among all that has come and whose queue is free: the highest class, then (ready, number). */
static struct choice choose(const struct world *w, const ticks *free, ticks now)
{
    struct choice best = { -1, -1, 0 };
    for (int i = 0; i < w->n; i++) {
        const struct thing *t = &w->thing[i];
        for (int h = 0; t->played.end < 0 && h < t->task.n_holds; h++) {
            ticks since = t->played_from[h] < 0 ? arrives_at(w, t, h, now) : -1;
            if (since < 0 || free[t->hold[h].queue] > now)
                continue;
            const struct thing *b = best.task < 0 ? NULL : &w->thing[best.task];
            if (!b || t->task.traffic < b->task.traffic ||
                (t->task.traffic == b->task.traffic && since < best.since))
                best = (struct choice){ i, h, since };
        }
    }
    return best;
}

/* What holds a link for no time does not wait for it. Tasks that hold nothing, or have begun
 * all, have ended or will at a known time. */
static bool end_tasks(struct world *w, ticks now)
{
    bool any = false;
    for (int i = 0; i < w->n; i++) {
        struct thing *t = &w->thing[i];
        ticks ready = t->played.end < 0 ? ready_at(w, t, now) : -1;
        bool all = ready >= 0;
        for (int h = 0; ready >= 0 && h < t->task.n_holds; h++) {
            if (t->played_from[h] < 0 && !t->hold[h].busy && t->task.held != HELD_TOGETHER)
                t->played_from[h] = arrives_at(w, t, h, now);
            all &= t->played_from[h] >= 0;
        }
        if (!all)
            continue;
        t->played = (struct times){ ready, ready, end_of(t, ready) };
        for (int h = 0; h < t->task.n_holds; h++)
            if (!h || t->played_from[h] < t->played.start)
                t->played.start = t->played_from[h];
        any = true;
    }
    return any;
}

static bool all_ended(const struct world *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->thing[i].played.end < 0)
            return false;
    return true;
}

static void play(struct world *w)
{
    ticks free[QUEUES] = { 0 };
    for (int i = 0; i < w->n; i++) {
        w->thing[i].played.end = -1;
        for (int h = 0; h < MAX_HOLDS; h++)
            w->thing[i].played_from[h] = -1;
    }
    for (ticks now = 0; !all_ended(w); now++) {
        for (;;) {
            if (end_tasks(w, now))
                continue;
            struct choice best = choose(w, free, now);
            if (best.task < 0)
                break;
            struct thing *t = &w->thing[best.task];
            t->played_from[best.hold] = now;
            if (t->hold[best.hold].busy)
                free[t->hold[best.hold].queue] = now + t->hold[best.hold].busy;
        }
        assert_true(now < 1000000);
    }
}

/* Random tasks -------------------------------------------------------------------------- */

static ticks some_time(struct world *w)
{
    switch (w->style) {
    case 0:
        return (ticks)hp_random_below(&w->random, 3);
    case 1:
        return 5;
    case 2:
        return (ticks)hp_random_below(&w->random, 40);
    default:
        return hp_random_below(&w->random, 4) ? 10 : 0;
    }
}

static void make_compute(struct world *w, struct thing *t)
{
    t->task.n_holds = hp_random_below(&w->random, 8) > 0;
    t->hold[0] = (struct hold){ (int)hp_random_below(&w->random, DEVICES), 0, some_time(w) };
    t->task.duration = t->hold[0].busy;
}

static void make_comm(struct world *w, struct thing *t)
{
    bool route = hp_random_below(&w->random, 2);
    int n = 1 + (int)hp_random_below(&w->random, MAX_HOLDS);
    int link = (int)hp_random_below(&w->random, QUEUES - DEVICES);
    ticks offset = 0, longest = 0;
    for (int h = 0; h < n; h++) {
        t->hold[h] = (struct hold){ DEVICES + (link + h) % (QUEUES - DEVICES),
                                    route ? offset : 0, some_time(w) };
        longest = t->hold[h].busy > longest ? t->hold[h].busy : longest;
        offset += some_time(w) / 2;
    }
    t->task.n_holds = n;
    t->task.held = route ? HELD_ON_ROUTE : HELD_EACH;
    t->task.duration = longest + (route ? offset : some_time(w));
    t->task.traffic = t->task.duration && hp_random_below(&w->random, 2);
}

static void make_world(struct world *w, uint64_t seed)
{
    *w = (struct world){ .style = (int)(seed % 4) };
    w->random.state = seed;
    w->n = 2 + (int)hp_random_below(&w->random, MAX_TASKS - 1);
    for (int i = 0; i < w->n; i++) {
        struct thing *t = &w->thing[i];
        t->task = (struct sim_task){ .number = i, .hold = t->hold };
        if (hp_random_below(&w->random, 3))
            make_comm(w, t);
        else
            make_compute(w, t);
        int wanted = (int)hp_random_below(&w->random, MAX_AFTER);
        for (int k = 0; k < wanted && i; k++)
            t->after[t->n_after++] = (int)hp_random_below(&w->random, i);
    }
}

static void begin(void *who, const struct task_graph *graph)
{
    (void)who;
    (void)graph;
}

static void note(void *who, int task, int micro, const struct served *what)
{
    struct thing *t = &((struct world *)who)->thing[task];
    (void)micro;
    t->times = what->times;
    for (int h = 0; h < t->task.n_holds; h++)
        t->from[h] = what->from[h];
}

static ticks simulate(struct world *w)
{
    struct sim_task task[MAX_TASKS];
    struct times times[MAX_TASKS];
    int64_t start[MAX_TASKS + 1] = { 0 };
    int after[MAX_TASKS * MAX_AFTER], n = 0;
    for (int i = 0; i < w->n; i++) {
        task[i] = w->thing[i].task;
        for (int k = 0; k < w->thing[i].n_after; k++)
            after[n++] = w->thing[i].after[k];
        start[i + 1] = n;
    }
    struct task_graph graph = { w->n, QUEUES, task, start, after };
    struct observer observer = { begin, note, w };
    return hp_run_graph(&graph, times, &observer);
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void links_serve_by_the_rule(void **state)
{
    static struct world w;
    (void)state;
    uint64_t first = number_from("HYPAR_LINKS_SEED", 1);
    uint64_t rounds = number_from("HYPAR_LINKS_ROUNDS", 3000);
    for (uint64_t seed = first; seed < first + rounds; seed++) {
        make_world(&w, seed);
        simulate(&w);
        play(&w);
        for (int i = 0; i < w.n; i++) {
            const struct thing *t = &w.thing[i];
            bool same = memcmp(&t->times, &t->played, sizeof t->times) == 0;
            for (int h = 0; h < t->task.n_holds; h++)
                same &= t->from[h] == t->played_from[h];
            if (!same)
                fail_msg("seed %llu: task %d is ready at %lld, starts at %lld, ends at %lld; "
                         "played %lld, %lld, %lld",
                         (unsigned long long)seed, i, (long long)t->times.ready,
                         (long long)t->times.start, (long long)t->times.end,
                         (long long)t->played.ready, (long long)t->played.start,
                         (long long)t->played.end);
        }
    }
}

/* By hand ------------------------------------------------------------------------------- */

/* A task on links DEVICES, DEVICES + 1, ... from `link` on, that many and for so long. */
static struct thing *add(struct world *w, enum how_held held, int link, int n,
                         const ticks *busy, ticks latency)
{
    struct thing *t = &w->thing[w->n];
    ticks longest = 0;
    *t = (struct thing){ .task = { .number = w->n++, .n_holds = n, .hold = t->hold } };
    t->task.held = (unsigned char)held;
    for (int h = 0; h < n; h++) {
        t->hold[h] = (struct hold){ DEVICES + link + h, held == HELD_ON_ROUTE ? h * latency : 0,
                                    busy[h] };
        longest = busy[h] > longest ? busy[h] : longest;
    }
    t->task.duration = longest + (held == HELD_ON_ROUTE ? n * latency : latency);
    return t;
}

/* Something on one link that begins at `ready`: the number of a delay, then the task. */
static struct thing *add_later(struct world *w, ticks ready, int link, ticks busy)
{
    struct thing *delay = &w->thing[w->n];
    *delay = (struct thing){ .task = { .number = w->n, .duration = ready } };
    int number = w->n++;
    struct thing *t = add(w, HELD_EACH, link, 1, &busy, 0);
    t->after[t->n_after++] = number;
    return t;
}

static void a_message_takes_its_latencies_and_the_slowest_link(void **state)
{
    struct world w = { 0 };
    (void)state;
    struct thing *t = add(&w, HELD_ON_ROUTE, 0, 3, (ticks[]){ 10, 40, 20 }, 3);
    assert_int_equal(simulate(&w), 3 * 3 + 40);
    assert_int_equal(t->from[0], 0);
    assert_int_equal(t->from[1], 3);
    assert_int_equal(t->from[2], 6);
    /* Behind another the third link starts later; it has the last byte one latency after the
     * slowest link, or after its own. */
    w = (struct world){ 0 };
    add_later(&w, 0, 2, 30);
    t = add(&w, HELD_ON_ROUTE, 0, 3, (ticks[]){ 10, 40, 20 }, 3);
    assert_int_equal(simulate(&w), 30 + 20 + 3);
    assert_int_equal(t->from[2], 30);
    w = (struct world){ 0 };
    add_later(&w, 0, 2, 15);
    add(&w, HELD_ON_ROUTE, 0, 3, (ticks[]){ 10, 40, 20 }, 3);
    assert_int_equal(simulate(&w), 3 * 3 + 40);
}

/* What waits for a slow link does not keep another from the fast one before it. */
static void there_are_no_convoys(void **state)
{
    struct world w = { 0 };
    (void)state;
    add_later(&w, 0, 1, 1000);
    struct thing *waits = add(&w, HELD_ON_ROUTE, 0, 2, (ticks[]){ 10, 100 }, 1);
    struct thing *passes = add(&w, HELD_ON_ROUTE, 0, 1, (ticks[]){ 10 }, 1);
    simulate(&w);
    assert_int_equal(waits->from[0], 0);
    assert_int_equal(waits->from[1], 1000);
    assert_int_equal(waits->times.end, 1000 + 100 + 1);
    assert_int_equal(passes->from[0], 10);
    assert_int_equal(passes->times.end, 10 + 10 + 1);
}

static void a_collective_ends_with_its_last_link(void **state)
{
    struct world w = { 0 };
    (void)state;
    add_later(&w, 0, 1, 50);
    struct thing *t = add(&w, HELD_EACH, 0, 3, (ticks[]){ 20, 30, 40 }, 7);
    struct thing *next = add(&w, HELD_EACH, 0, 1, (ticks[]){ 5 }, 0);
    simulate(&w);
    assert_int_equal(t->times.start, 0);
    assert_int_equal(t->from[1], 50);
    assert_int_equal(t->times.end, 50 + 30 + 7);
    assert_int_equal(next->from[0], 20);
}

static void sums_give_way_and_are_not_interrupted(void **state)
{
    struct world w = { 0 };
    (void)state;
    struct thing *first = add(&w, HELD_EACH, 0, 1, (ticks[]){ 100 }, 0);
    struct thing *second = add(&w, HELD_EACH, 0, 1, (ticks[]){ 100 }, 0);
    first->task.traffic = second->task.traffic = TRAFFIC_SUMS;
    struct thing *error = add_later(&w, 30, 0, 10), *later = add_later(&w, 105, 0, 20);
    struct thing *tie = add_later(&w, 130, 0, 5); /* when the second could start */
    simulate(&w);
    assert_int_equal(first->from[0], 0);
    assert_int_equal(error->from[0], 100);
    assert_int_equal(later->from[0], 110);
    assert_int_equal(tie->from[0], 130);
    assert_int_equal(second->from[0], 135);
    second->task.traffic = first->task.traffic = TRAFFIC_NEXT; /* one class: as they come */
    simulate(&w);
    assert_int_equal(second->from[0], 100);
    assert_int_equal(error->from[0], 200);
}

/* Plans --------------------------------------------------------------------------------- */

/* A step of a small transformer, tensor 4, pipeline 4, on so many replicas; and how long the
 * busiest card of the network is busy. */
static double step_s(int replicas, bool one_class, double *exchange_s)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_sim *sim;
    struct hypar_error err;
    char word[64];
    snprintf(word, sizeof word, "cluster:%dx4,device=a100,inter=4GB/s,nics=1", 4 * replicas);
    struct hypar_import_options import = { .batch = 8 * replicas };
    struct hypar_search_options search = {
        .planner = "3d",
        .memory_bytes = 1e15,
        .precision = HYPAR_BF16,
        .layout = { .data = replicas, .tensor = 4, .pipeline = 4, .micro_batches = 8 }
    };
    struct hypar_sim_options options = { .one_class = one_class };
    if (hypar_import(&graph, "gpt:layers=8,hidden=1024,heads=16,vocab=1024", &import, &err) !=
            HYPAR_OK ||
        hypar_machine_read(&machine, word, &err) != HYPAR_OK ||
        hypar_search(&found, graph, machine, &search, &err) != HYPAR_OK ||
        hypar_simulate(&sim, hypar_found_plan(found), &options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    *exchange_s = 0;
    for (int l = 0; l < s.n_links; l++)
        if (hypar_sim_link(sim, l).busy_s > *exchange_s)
            *exchange_s = hypar_sim_link(sim, l).busy_s;
    hypar_sim_free(sim);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return s.step_s;
}

/* Twice the devices for twice the batch cost no more than the exchange between them. When links
 * were taken all together they cost 1.3 times that: sums that waited for the network kept their
 * places inside the nodes, and errors waited behind them. */
static void replicas_cost_their_exchange(void **state)
{
    (void)state;
    double one_s, exchange_s, alone_s = step_s(1, false, &one_s);
    for (int replicas = 2; replicas <= 4; replicas *= 2) {
        double more_s = step_s(replicas, false, &exchange_s);
        print_message("  %d replicas: %g s, %g s more than one; the busiest link %g s\n",
                      replicas, more_s, more_s - alone_s, exchange_s);
        assert_true(more_s >= alone_s);
        assert_true(more_s - alone_s <= exchange_s);
        assert_true(more_s <= step_s(replicas, true, &exchange_s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_serve_by_the_rule),
        cmocka_unit_test(a_message_takes_its_latencies_and_the_slowest_link),
        cmocka_unit_test(there_are_no_convoys),
        cmocka_unit_test(a_collective_ends_with_its_last_link),
        cmocka_unit_test(sums_give_way_and_are_not_interrupted),
        cmocka_unit_test(replicas_cost_their_exchange),
    };
    return cmocka_run_group_tests_name("sim/links", tests, NULL, NULL);
}
