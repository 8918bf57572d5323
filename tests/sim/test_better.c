/* A better machine: how much slower may a fixed plan be there? Queues are served greedily, by
 * ready time, so it may be slower (Graham, 1969), but not without bound (docs/simulator.md):
 *
 *     step' <= sum of d over a chain of dependencies + sum of work over the queues where it
 * waits
 *
 * The chain and the queues are those of the step on the better machine, d and work are those of
 * the lesser one. Where the chain waits for a host that launches kernels, what hosts take, the
 * same on both machines, belongs to it. Random pairs of plan and machine are held to this, and
 * the shares of pairs that are slower at all are printed.
 *
 *     HYPAR_BETTER_PAIRS   how many pairs of each kind (300 and 10)
 *     HYPAR_BETTER_SEED    the first seed (1)
 */
#include <hypar/search.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/sort.h"
#include "plan/framework.h"
#include "sim/sim.h"
#include "tests/length.h"
#include "tests/random_plan.h"

#define PICK(r, list) ((list)[hp_random_below((r), (int64_t)(sizeof(list) / sizeof *(list)))])

/* Pairs of machines ---------------------------------------------------------------------- */

enum { WORD = 400 };

/* A figure of machine words: what it is multiplied by where it gets better, and its range. */
struct figure {
    const char *key, *unit;
    double low, high;
    bool less_is_better;
};

static const struct figure slow_figures[] = {
    { "efficiency", "", 0.01, 1, false },
    { "memory-bandwidth", "B/s", 1e6, 1e10, false },
    { "bandwidth", "B/s", 1e5, 1e10, false },
    { "latency", "s", 1e-9, 1e-4, true },
};

static const struct figure usual_figures[] = {
    { "efficiency", "", 0.2, 1, false },   { "memory-bandwidth", "B/s", 3e11, 4e12, false },
    { "intra", "B/s", 1e10, 9e11, false }, { "inter", "B/s", 1e9, 1e11, false },
    { "latency", "s", 1e-7, 1e-5, true },  { "inter-latency", "s", 1e-6, 3e-5, true },
};

static double between(struct random *r, double low, double high)
{
    double share = (double)hp_random_below(r, 1 << 20) / (1 << 20);
    return low * pow(high / low, share);
}

/* Draw all figures, and some of them better: one of them, or each with even chances. */
static void draw_figures(struct random *r, const struct figure *figure, int n, char *lesser,
                         char *better)
{
    int one = (int)hp_random_below(r, 2 * n);
    for (int i = 0; i < n; i++) {
        const struct figure *f = &figure[i];
        double value = between(r, f->low, f->high), times = between(r, 1.01, 4);
        bool changed = one < n ? i == one : one_in(r, 2);
        double now = !changed ? value : f->less_is_better ? value / times : value * times;
        if (strcmp(f->key, "efficiency") == 0)
            now = fmin(now, 1);
        snprintf(lesser + strlen(lesser), WORD - strlen(lesser), ",%s=%.6g%s", f->key, value,
                 f->unit);
        snprintf(better + strlen(better), WORD - strlen(better), ",%s=%.6g%s", f->key, now,
                 f->unit);
    }
}

struct pair {
    uint64_t seed;
    struct hypar_machine *lesser, *better;
    struct hypar_graph *graph;
    struct hypar_found *found; /* or */
    struct hypar_plan *drawn;
    const struct hypar_plan *plan;
    struct hypar_sim_options how;
    char what[3 * WORD];
};

static void read_machines(struct pair *p, const char *lesser, const char *better)
{
    struct hypar_error err;
    if (hypar_machine_read(&p->lesser, lesser, &err) != HYPAR_OK ||
        hypar_machine_read(&p->better, better, &err) != HYPAR_OK)
        fail_msg("%s, %s: %s", lesser, better, err.text);
    snprintf(p->what, sizeof p->what, "%s -> %s", lesser, better);
}

/* A small random graph and plan on slow devices and links, so that everything counts. */
static bool draw_small(struct random *r, struct pair *p)
{
    static const char *const shapes[] = { "full:4", "ring:5", "torus:2x3", "htree:8",
                                          "full:2" };
    static const char *const frameworks[] = { "compiled", "none", "megatron-2021", "fsdp" };
    char lesser[WORD], better[WORD];
    snprintf(lesser, WORD, "%s", PICK(r, shapes));
    snprintf(better, WORD, "%s", lesser);
    draw_figures(r, slow_figures, sizeof slow_figures / sizeof *slow_figures, lesser, better);
    read_machines(p, lesser, better);
    p->graph = random_graph(r, OP_KIND_COUNT);
    p->plan = p->drawn =
        random_plan(r, p->graph, p->lesser, &(struct plan_focus){ -1, -1, -1, false });
    p->how.framework = *hp_framework_row(PICK(r, frameworks));
    return true;
}

/* A network as planners place it on a cluster. */
static bool draw_usual(struct random *r, struct pair *p)
{
    static const char *const models[] = {
        "alexnet",
        "resnet18",
        "mlp:4096-16384-4096-1000",
        "gpt:layers=4,hidden=1024,heads=16,seq=512,vocab=8192",
        "gpt:layers=8,hidden=2048,heads=16,seq=1024,vocab=16384",
        "bert:layers=4,hidden=768,heads=12,seq=256,vocab=8192",
    };
    static const char *const clusters[] = { "cluster:1x4", "cluster:2x2", "cluster:2x4",
                                            "cluster:4x4" };
    static const char *const devices[] = { "v100", "a100", "h100" };
    static const char *const planners[] = { "dp", "3d", "3d", "1f1b", "zb-h1", "hypar" };
    static const char *const frameworks[] = { "compiled",      "eager",         "fsdp",
                                              "megatron-2021", "megatron-2022", "torchtitan" };
    char lesser[WORD], better[WORD];
    struct hypar_error err;
    const char *model = PICK(r, models), *planner = PICK(r, planners);
    struct hypar_import_options import = { .batch = 16 << hp_random_below(r, 4) };
    struct hypar_search_options options = { .planner = planner,
                                            .precision = one_in(r, 2) ? HYPAR_BF16 : HYPAR_FP32,
                                            .simulation = &p->how,
                                            .unlimited = true };
    snprintf(lesser, WORD, "%s,device=%s", PICK(r, clusters), PICK(r, devices));
    snprintf(better, WORD, "%s", lesser);
    draw_figures(r, usual_figures, sizeof usual_figures / sizeof *usual_figures, lesser,
                 better);
    read_machines(p, lesser, better);
    p->how.framework = *hp_framework_row(PICK(r, frameworks));
    p->how.framework_given = true;
    if (hypar_import(&p->graph, model, &import, &err) != HYPAR_OK)
        fail_msg("%s: %s", model, err.text);
    if (hypar_search(&p->found, p->graph, p->lesser, &options, &err) != HYPAR_OK)
        return false; /* too few operators for so many stages */
    p->plan = hypar_found_plan(p->found);
    snprintf(p->what + strlen(p->what), sizeof p->what - strlen(p->what), ", %s by %s, %s",
             model, planner, p->how.framework.name);
    return true;
}

static struct hypar_sim *simulate_on(const struct pair *p, const struct hypar_machine *machine)
{
    struct hypar_plan plan = *p->plan;
    struct hypar_sim_options how = p->how;
    struct hypar_sim *sim;
    struct hypar_error err;
    plan.machine = machine;
    how.timeline = true;
    how.framework_given = true;
    enum hypar_status status = hypar_simulate(&sim, &plan, &how, &err);
    if (status != HYPAR_OK && status != HYPAR_UNSUPPORTED)
        fail_msg("seed %llu: %s: %s", (unsigned long long)p->seed, p->what, err.text);
    return sim;
}

/* Holds ---------------------------------------------------------------------------------- */

/* A task holds a queue. */
struct holding {
    ticks from, until;
    struct task_instance at;
};

struct holdings {
    int n, capacity;
    struct holding *list; /* by `until` */
};

/* The chain of dependencies that ends with the step, and the queues where it waits. */
struct chain {
    struct arena arena;
    const struct timeline *t;
    struct holdings *of; /* by queue */
    int n, capacity;
    struct task_instance *link;
    bool *waited;   /* by queue */
    ticks launched; /* between links: hosts launch kernels */
    int uncovered;
};

static struct hold hold_at(const struct sim_task *task, int h)
{
    return task->hold ? task->hold[h] : (struct hold){ task->queue, 0, task->duration };
}

static const struct times *times_of(const struct timeline *t, struct task_instance at)
{
    return &t->times[at.row][hp_row_place(&t->rows, at.row, at.task)];
}

static ticks held_from(const struct timeline *t, struct task_instance at, int h)
{
    return t->graph.task[at.task].hold ? t->held[at.row][t->hold_start[at.task] + h]
                                       : times_of(t, at)->start;
}

static bool is_together(const struct sim_task *task)
{
    return !task->hold || task->held == HELD_TOGETHER;
}

static int by_until(const void *a, const void *b)
{
    const struct holding *x = a, *y = b;
    return (x->until > y->until) - (x->until < y->until);
}

static void list_holds(struct chain *c)
{
    const struct timeline *t = c->t;
    c->of = NEW(&c->arena, struct holdings, t->graph.n_queues);
    for (int row = 0; row < t->rows.n; row++)
        for (int place = 0; place < hp_row_size(&t->rows, row); place++) {
            struct task_instance at = { row, hp_row_task(&t->rows, row, place) };
            const struct sim_task *task = &t->graph.task[at.task];
            for (int h = 0; h < task->n_holds; h++) {
                struct hold hold = hold_at(task, h);
                struct holdings *q = &c->of[hold.queue];
                ticks from = held_from(t, at, h);
                if (!hold.busy && !is_together(task))
                    continue;
                q->list = GROW(&c->arena, struct holding, q->list, q->n, &q->capacity);
                q->list[q->n++] = (struct holding){ from, from + hold.busy, at };
            }
        }
    for (int q = 0; q < t->graph.n_queues; q++)
        hp_sort(c->of[q].list, c->of[q].n, sizeof *c->of[q].list, by_until);
}

/* The hold of a queue that ends then, the one of some time first; NULL: none. */
static const struct holding *ending_at(const struct chain *c, int queue, ticks until)
{
    const struct holdings *q = &c->of[queue];
    const struct holding *found = NULL;
    int low = 0, high = q->n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (q->list[middle].until < until)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < q->n && q->list[low].until == until; low++)
        if (!found || q->list[low].from < found->from)
            found = &q->list[low];
    return found;
}

/* Mark the queues that are busy from `from` to `until`, while a task waits for `queue`. A task
 * that waits for several queues together keeps others from those that are free. */
static void cover(struct chain *c, int queue, ticks from, ticks until)
{
    for (int n = 0; until > from; n++) {
        const struct holding *holder = ending_at(c, queue, until);
        if (!holder || n > 1 << 20) {
            c->uncovered++;
            return;
        }
        c->waited[queue] = true;
        bool moved = holder->from < until;
        until = holder->from;
        if (until <= from || (moved && ending_at(c, queue, until)))
            continue;
        const struct sim_task *task = &c->t->graph.task[holder->at.task];
        int other = -1;
        for (int h = 0; is_together(task) && h < task->n_holds && other < 0; h++) {
            struct hold hold = hold_at(task, h);
            const struct holding *before =
                ending_at(c, hold.queue, held_from(c->t, holder->at, h));
            if (hold.queue != queue && before && before->at.task != holder->at.task)
                other = h;
        }
        if (other < 0) {
            c->uncovered++;
            return;
        }
        queue = hold_at(task, other).queue;
        until = held_from(c->t, holder->at, other);
    }
}

/* Where did an instance wait? */
static void cover_waits(struct chain *c, struct task_instance at)
{
    const struct sim_task *task = &c->t->graph.task[at.task];
    ticks ready = times_of(c->t, at)->ready;
    int last = -1;
    for (int h = 0; h < task->n_holds; h++) {
        struct hold hold = hold_at(task, h);
        ticks from = held_from(c->t, at, h), end = from + hold.busy;
        ticks arrival =
            task->held == HELD_ON_ROUTE && h > 0
                ? held_from(c->t, at, h - 1) + hold.offset - task->hold[h - 1].offset
                : ready;
        if (task->hold && task->held == HELD_ON_ROUTE) {
            if (hold.busy)
                cover(c, hold.queue, arrival, from);
        } else if (is_together(task)) {
            if (from > ready + hold.offset && ending_at(c, hold.queue, from) && last < 0) {
                cover(c, hold.queue, ready, from);
                last = h;
            }
        } else if (hold.busy &&
                   (last < 0 || end > held_from(c->t, at, last) + hold_at(task, last).busy)) {
            last = h;
        }
    }
    if (last >= 0 && !is_together(task) && task->held == HELD_EACH)
        cover(c, hold_at(task, last).queue, ready, held_from(c->t, at, last));
}

static struct chain chain_of(const struct timeline *t)
{
    struct chain c = { .t = t };
    struct task_instance at = { -1, -1 };
    list_holds(&c);
    c.waited = NEW(&c.arena, bool, t->graph.n_queues);
    for (int row = 0; row < t->rows.n; row++)
        for (int place = 0; place < hp_row_size(&t->rows, row); place++)
            if (t->times[row][place].end == t->length)
                at = (struct task_instance){ row, hp_row_task(&t->rows, row, place) };
    while (at.row >= 0) {
        c.link = GROW(&c.arena, struct task_instance, c.link, c.n, &c.capacity);
        c.link[c.n++] = at;
        cover_waits(&c, at);
        ticks ready = times_of(t, at)->ready;
        at = t->by[at.row][hp_row_place(&t->rows, at.row, at.task)];
        c.launched += ready - (at.row < 0 ? 0 : times_of(t, at)->end);
    }
    return c;
}

/* The bound ------------------------------------------------------------------------------ */

/* How long a task of the lesser machine may keep a queue of the better one: as long as its
 * hold there, or if a collective has another algorithm, as long as it takes. */
static ticks kept(const struct sim_task *lesser, const struct sim_task *better, int h)
{
    struct hold now = hold_at(better, h);
    for (int i = 0; i < lesser->n_holds; i++) {
        struct hold before = hold_at(lesser, i);
        if (before.queue == now.queue && before.busy >= now.busy)
            return before.busy;
    }
    return lesser->duration;
}

static double bound_of(const struct chain *c, const struct timeline *lesser)
{
    const struct timeline *t = c->t;
    double bound = (double)c->launched;
    for (int i = 0; i < c->n; i++)
        bound += (double)lesser->graph.task[c->link[i].task].duration;
    for (int row = 0; row < t->rows.n; row++)
        for (int place = 0; place < hp_row_size(&t->rows, row); place++) {
            int id = hp_row_task(&t->rows, row, place);
            const struct sim_task *task = &t->graph.task[id];
            for (int h = 0; h < task->n_holds; h++)
                if (c->waited[hold_at(task, h).queue])
                    bound += (double)kept(&lesser->graph.task[id], task, h);
        }
    return bound;
}

struct tally {
    int pairs, skipped, slower[3]; /* by more than 0, 0.1 and 1 % */
    double worst, loosest, mean_log;
    char where[4 * WORD];
};

static void compare(struct tally *tally, const struct pair *p, struct hypar_sim *lesser,
                    struct hypar_sim *better)
{
    static const double limits[] = { 1e-9, 1e-3, 1e-2 };
    const struct timeline *a = &lesser->timeline, *b = &better->timeline;
    assert_int_equal(a->graph.n_tasks, b->graph.n_tasks);
    for (int i = 0; i < a->graph.n_tasks; i++)
        if (b->graph.task[i].duration > a->graph.task[i].duration + 1)
            fail_msg("seed %llu: %s: task %d takes %lld ps, not %lld",
                     (unsigned long long)p->seed, p->what, i,
                     (long long)b->graph.task[i].duration,
                     (long long)a->graph.task[i].duration);
    struct chain c = chain_of(b);
    double bound = bound_of(&c, a), times = (double)b->length / (double)a->length;
    if (c.uncovered)
        fail_msg("seed %llu: %s: a wait of which no queue is the cause",
                 (unsigned long long)p->seed, p->what);
    if ((double)b->length > bound + c.n)
        fail_msg("seed %llu: %s: %lld ps, bound %.0f", (unsigned long long)p->seed, p->what,
                 (long long)b->length, bound);
    for (int l = 0; l < 3; l++)
        tally->slower[l] += times - 1 > limits[l];
    tally->pairs++;
    tally->mean_log += log(bound / (double)a->length);
    tally->loosest = fmax(tally->loosest, bound / (double)a->length);
    if (times > tally->worst) {
        tally->worst = times;
        snprintf(tally->where, sizeof tally->where, "seed %llu, %s",
                 (unsigned long long)p->seed, p->what);
    }
    hp_arena_free(&c.arena);
}

static void check_pair(struct tally *tally, uint64_t seed,
                       bool (*draw_pair)(struct random *r, struct pair *p))
{
    struct random random = { seed * 0x2545f4914f6cdd1d };
    struct pair p = { .seed = seed };
    if (draw_pair(&random, &p)) {
        struct hypar_sim *lesser = simulate_on(&p, p.lesser);
        struct hypar_sim *better = lesser ? simulate_on(&p, p.better) : NULL;
        if (lesser && better && lesser->timeline.length > 0)
            compare(tally, &p, lesser, better);
        else
            tally->skipped++;
        hypar_sim_free(lesser);
        hypar_sim_free(better);
    } else {
        tally->skipped++;
    }
    hypar_found_free(p.found);
    hypar_plan_free(p.drawn);
    hypar_graph_free(p.graph);
    hypar_machine_free(p.lesser);
    hypar_machine_free(p.better);
}

static void check_pairs(int64_t pairs, const char *what,
                        bool (*draw_pair)(struct random *r, struct pair *p))
{
    uint64_t first = number_from("HYPAR_BETTER_SEED", 1);
    struct tally t = { .worst = 0 };
    for (uint64_t seed = first; seed < first + (uint64_t)pairs; seed++)
        check_pair(&t, seed, draw_pair);
    print_message("%s, seeds %llu to %llu: %d pairs (%d left out), slower at all %d, by 0.1 %% "
                  "%d, by 1 %% %d; at most %.2f %% (%s); bound / step: mean %.2f, most %.2f\n",
                  what, (unsigned long long)first,
                  (unsigned long long)first + (unsigned long long)pairs - 1, t.pairs, t.skipped,
                  t.slower[0], t.slower[1], t.slower[2], 100 * (t.worst - 1), t.where,
                  exp(t.mean_log / t.pairs), t.loosest);
    assert_true(t.pairs > pairs / 2);
}

static void small_plans(void **state)
{
    (void)state;
    check_pairs(length_of("HYPAR_BETTER_PAIRS", 300, 1000, 8000), "random plans", draw_small);
}

static void usual_plans(void **state)
{
    (void)state;
    check_pairs(length_of("HYPAR_BETTER_PAIRS", 10, 100, 2000), "plans of planners",
                draw_usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(small_plans),
                                        cmocka_unit_test(usual_plans) };
    return cmocka_run_group_tests_name("sim/better", tests, NULL, NULL);
}
