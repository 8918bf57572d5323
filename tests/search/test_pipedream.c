/* Planner pipedream against exhaustive search on random profiles, against the published
 * optimizer's results, and against its own formulas recomputed from the plan. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "model/pipedream/pipedream.h"
#include "search/pipeline/work.h"
#include "tests/search/pipelines.h"

/* An oracle that knows nothing of states: all sets closed under predecessors ------------- */

enum { MAX_NODES = 7, MAX_LEVELS_HERE = 2 };

struct oracle {
    int n; /* nodes, each with a predecessor but for node 0 */
    unsigned before[MAX_NODES], after[MAX_NODES]; /* sets */
    double time_s[MAX_NODES], weight[MAX_NODES], output[MAX_NODES];
    int n_levels, workers[MAX_LEVELS_HERE];
    double bytes_per_s[MAX_LEVELS_HERE];
    struct hypar_search_options options;
    double inside[1 << MAX_NODES]
                 [1 << MAX_NODES]; /* of level 0, from set to set; -1: unknown */
};

static double sum(const double *of, unsigned set)
{
    double total = 0;
    for (int i = 0; set >> i; i++)
        total += set >> i & 1 ? of[i] : 0;
    return total;
}

static bool closed(const struct oracle *o, unsigned set)
{
    for (int i = 0; i < o->n; i++)
        if (set >> i & 1 && o->before[i] & ~set)
            return false;
    return set != 0;
}

/* What crosses the cut after `set`: outputs with a reader outside, or with none at all. */
static double cut_bytes(const struct oracle *o, unsigned set)
{
    double bytes = 0;
    for (int i = 0; i < o->n; i++)
        if (set >> i & 1 && (o->after[i] == 0 || o->after[i] & ~set))
            bytes += o->output[i];
    return bytes;
}

static double best_s(struct oracle *o, int level, unsigned from, unsigned to);

/* One stage of a pipeline at `level`; `first` of its range or not. */
static double stage_s(struct oracle *o, int level, unsigned from, unsigned to, int m,
                      bool first)
{
    double b = o->bytes_per_s[level], w = sum(o->weight, to & ~from);
    double inner = level == 0 ? sum(o->time_s, to & ~from) : best_s(o, level - 1, from, to);
    if (o->options.recurrence == HYPAR_RECURRENCE_PAPER) {
        double t = fmax(inner, 2 * (m - 1) * w / b) / m;
        return first || o->options.free_transfers ? t : fmax(t, 2 * cut_bytes(o, from) / b);
    }
    double sync = 4 * (m - 1) * w / (b * m);
    if (first)
        return (inner + sync / (level ? o->workers[level - 1] : 1)) / m;
    double t = (inner + sync) / m;
    if (o->options.free_transfers)
        return t;
    t = fmax(t, 2 * cut_bytes(o, from) / (b * m));
    return to == (1u << o->n) - 1 ? t : fmax(t, 2 * cut_bytes(o, to) / (b * m));
}

/* Every sequence of stages that leads from `from` to `to` with `left` workers, one after the
 * other; so_far is the slowest of those before. */
static double every_way(struct oracle *o, int level, unsigned from, unsigned to, int left,
                        bool first, double so_far)
{
    if (from == to)
        return left == 0 || o->options.use_fewer ? so_far : INFINITY;
    double best = INFINITY;
    for (unsigned next = from + 1; next <= to; next++) {
        if ((next & from) != from || (next & to) != next || !closed(o, next))
            continue;
        for (int m = 1; m <= (o->options.straight && left > 1 ? 1 : left); m++) {
            double t = fmax(so_far, stage_s(o, level, from, next, m, first));
            best = fmin(best, every_way(o, level, next, to, left - m, false, t));
        }
    }
    return best;
}

static double best_s(struct oracle *o, int level, unsigned from, unsigned to)
{
    if (level > 0)
        return every_way(o, level, from, to, o->workers[level], true, 0);
    if (o->inside[from][to] < 0)
        o->inside[from][to] = every_way(o, 0, from, to, o->workers[0], true, 0);
    return o->inside[from][to];
}

static double pick(struct random *random, double least, double most)
{
    return floor(exp(log(least) + hp_random_unit(random) * log(most / least)));
}

/* A random profile of one source, whose numbers are whole milliseconds and bytes. */
static struct hypar_graph *random_profile(struct oracle *o, struct random *random)
{
    struct profile_node node[MAX_NODES];
    struct profile_edge edge[MAX_NODES * MAX_NODES];
    struct text_profile profile = { .node = node, .edge = edge };
    static const char *const names[MAX_NODES] = { "a", "b", "c", "d", "e", "f", "g" };
    o->n = profile.n_nodes = 1 + (int)hp_random_below(random, MAX_NODES);
    for (int i = 0; i < o->n; i++) {
        o->before[i] = o->after[i] = 0;
        bool idle = hp_random_below(random, 5) == 0;
        node[i] = (struct profile_node){ .name = names[i], .description = "x", .stage = -1 };
        node[i].forward_ms = idle ? 0 : pick(random, 1, 100);
        node[i].backward_ms = idle ? 0 : pick(random, 1, 200);
        node[i].activation_bytes = pick(random, 1, 1e8);
        node[i].parameter_bytes = hp_random_below(random, 2) ? pick(random, 1, 1e8) : 0;
        o->time_s[i] = (node[i].forward_ms + node[i].backward_ms) / 1000;
        o->output[i] = node[i].activation_bytes;
        o->weight[i] = node[i].parameter_bytes;
        bool chain = hp_random_below(random, 2);
        for (int j = 0; j < i; j++)
            if ((chain && j == i - 1) || (!chain && hp_random_below(random, 3) == 0) ||
                (j == i - 1 && !o->before[i])) {
                edge[profile.n_edges++] = (struct profile_edge){ j, i };
                o->before[i] |= 1u << j;
                o->after[j] |= 1u << i;
            }
    }
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hp_text_profile_graph(&graph, &profile, "random", 1, &err))
        fail_msg("%s", err.text);
    return graph;
}

static struct hypar_machine *random_machine(struct oracle *o, struct random *random)
{
    static const double rates[] = { 1e6, 1e8, 1e9, 1e10, 1e11 };
    char word[100];
    o->n_levels = 1 + (int)hp_random_below(random, 2);
    o->workers[0] = 2 + (int)hp_random_below(random, o->n_levels == 2 ? 2 : 4);
    o->workers[1] = 2 + (int)hp_random_below(random, 2);
    int rate = (int)hp_random_below(random, 5);
    o->bytes_per_s[0] = rates[rate];
    o->bytes_per_s[1] = rates[rate] / 4;
    if (o->n_levels == 2)
        snprintf(word, sizeof word, "cluster:%dx%d,intra=%gB/s,inter=%gB/s,memory=1000TB",
                 o->workers[1], o->workers[0], o->bytes_per_s[0], o->bytes_per_s[1]);
    else
        snprintf(word, sizeof word, "full:%d,bandwidth=%gB/s,memory=1000TB", o->workers[0],
                 o->bytes_per_s[0]);
    return machine_of(word);
}

/* A one-level plan's cost from its stages alone, by the oracle's formulas. */
static double plan_s(struct oracle *o, const struct hypar_plan *plan)
{
    unsigned from = 0;
    double most = 0;
    for (int s = 0; s < hypar_plan_stage_count(plan); s++) {
        struct hypar_stage stage = hypar_plan_stage(plan, s);
        unsigned to = from;
        for (int i = 0; i < stage.n_ops; i++)
            to |= 1u << (hypar_graph_op(hypar_plan_graph(plan), stage.op[i]).name[0] - 'a');
        most = fmax(most, stage_s(o, 0, from, to, stage.replicas, s == 0));
        from = to;
    }
    assert_int_equal(from, (1u << o->n) - 1);
    return most;
}

static void check_random(struct oracle *o, struct random *random, int i)
{
    struct hypar_graph *graph = random_profile(o, random);
    struct hypar_machine *machine = random_machine(o, random);
    struct hypar_found *found;
    struct hypar_error err;
    o->options = (struct hypar_search_options){
        .planner = "pipedream",
        .recurrence = hp_random_below(random, 2) ? HYPAR_RECURRENCE_PAPER : 0,
        .straight = hp_random_below(random, 4) == 0,
        .use_fewer = hp_random_below(random, 3) == 0,
        .free_transfers = hp_random_below(random, 3) == 0,
    };
    for (unsigned a = 0; a < 1u << o->n; a++)
        for (unsigned b = 0; b < 1u << o->n; b++)
            o->inside[a][b] = -1;
    double best = best_s(o, o->n_levels - 1, 0, (1u << o->n) - 1);
    enum hypar_status status = hypar_search(&found, graph, machine, &o->options, &err);
    if (!isfinite(best)) {
        assert_int_equal(status, HYPAR_INFEASIBLE);
    } else {
        if (status != HYPAR_OK)
            fail_msg("case %d: %s", i, err.text);
        const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
        assert_true(view->all_states);
        assert_near(view->bottleneck_s, best);
        if (o->n_levels == 1)
            assert_near(plan_s(o, hypar_found_plan(found)), best);
        hypar_found_free(found);
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void no_plan_is_better_than_the_chosen_one(void **state)
{
    enum { CASES = 4000, SEED = 11 };
    struct random random = { SEED };
    struct oracle *o = calloc(1, sizeof *o);
    (void)state;
    printf("seed %d\n", SEED);
    for (int i = 0; i < CASES; i++)
        check_random(o, &random, i);
    free(o);
}

/* The recomputed cost of whole solutions, levels and all. */
static void costs_recomputed_from_the_stages_agree(void **state)
{
    enum { CASES = 500, SEED = 12 };
    struct random random = { SEED };
    struct arena arena = { 0 };
    (void)state;
    printf("seed %d\n", SEED);
    for (int i = 0; i < CASES; i++) {
        enum { N = 40 };
        struct pipeline_layers l = { .n = N,
                                     .forward_s = NEW(&arena, double, N),
                                     .backward_s = NEW(&arena, double, N),
                                     .weight_bytes = NEW(&arena, double, N),
                                     .output_bytes = NEW(&arena, double, N),
                                     .fixed_bytes = NEW(&arena, double, N),
                                     .after_start = NEW(&arena, int, N + 1),
                                     .after = NEW(&arena, int, N) };
        for (int k = 0; k < N; k++) {
            l.forward_s[k] = pick(&random, 1, 100);
            l.weight_bytes[k] = pick(&random, 1, 1e6);
            l.output_bytes[k] = pick(&random, 1, 1e6);
            l.after[k] = k + 1;
            l.after_start[k + 1] = k + (k < N - 1);
        }
        struct pipeline_problem p = { .states = hp_cut_states(&arena, &l, 100, 100),
                                      .machine = { 3, { 2, 3, 2 }, { 1e6, 1e5, 3e4 } },
                                      .rules = { i % 2, i % 3 == 0 } };
        struct pipeline out;
        assert_int_equal(p.states->n, N);
        assert_int_equal(hp_pipeline_solve(&arena, &p, &out, NULL), HYPAR_OK);
        assert_near(out.bottleneck_s, hp_pipeline_s(&p.rules, &p.machine, &p.states->cost,
                                                    out.stage, out.n_stages));
    }
    hp_arena_free(&arena);
}

/* The recurrence as it is written, with nothing left out. */
struct plain {
    const struct pipeline_problem *p;
    double *table[2]; /* by level: [(m * n + i) * n + j], i one more than the state before */
};

static double *plain_at(const struct plain *x, int l, int i, int j, int m)
{
    int n = x->p->states->n;
    return &x->table[l][(m * n + i) * n + j];
}

static double plain_stage(const struct plain *x, int l, int i, int j, int m, int r, bool first)
{
    const struct pipeline_problem *p = x->p;
    const struct pipeline_states *c = &p->states->cost;
    int below = l ? p->machine.workers[l - 1] : 0, before = i - 1;
    double rate = p->machine.bytes_per_s[l], range[4];
    const double *sum[] = { c->time_s, c->weight_bytes, c->activation_bytes, c->fixed_bytes };
    for (int k = 0; k < 4; k++)
        range[k] = sum[k][j] - (before < 0 ? 0 : sum[k][before]);
    int in_flight = (p->machine.workers[l] - m + r + r - 1) / r;
    if ((p->straight && r > 1) ||
        (l == 0 && p->memory_bytes > 0 &&
         hp_pipeline_memory(range[1], range[2], range[3], in_flight) > p->memory_bytes))
        return INFINITY;
    double sync_s = hp_pipeline_sync_s(&p->rules, range[1], r, rate);
    sync_s /= first ? hp_pipeline_below(&p->rules, &p->machine, l) : 1;
    double s = hp_pipeline_stage_s(&p->rules, l ? *plain_at(x, l - 1, i, j, below) : range[0],
                                   sync_s, r);
    if (first)
        return s;
    s = fmax(s, hp_pipeline_transfer_s(&p->rules, c->cut_bytes[before], r, rate));
    if (p->rules.paper || j == c->n - 1)
        return s;
    return fmax(s, hp_pipeline_transfer_s(&p->rules, c->cut_bytes[j], r, rate));
}

static double plain_best_s(struct plain *x, struct arena *arena)
{
    const struct pipeline_problem *p = x->p;
    int n = p->states->n, top = p->machine.n_levels - 1;
    for (int l = 0; l <= top; l++) {
        int workers = p->machine.workers[l];
        x->table[l] = NEW(arena, double, (workers + 1) * n * n);
        for (int j = 0; j < n; j++)
            for (int i = 0; i <= j; i++)
                for (int m = 1; m <= workers; m++) {
                    double best = plain_stage(x, l, i, j, m, m, true);
                    if (p->use_fewer && m > 1)
                        best = fmin(best, *plain_at(x, l, i, j, m - 1));
                    for (int k = i; k < j; k++)
                        for (int r = 1; r < m; r++)
                            best = fmin(best, fmax(*plain_at(x, l, i, k, m - r),
                                                   plain_stage(x, l, k + 1, j, m, r, false)));
                    *plain_at(x, l, i, j, m) = best;
                }
    }
    return *plain_at(x, top, 0, n - 1, p->machine.workers[top]);
}

/* Few states, so many workers that they are not looked at one by one. */
static void many_workers_are_all_thought_of(void **state)
{
    enum { CASES = 150, SEED = 13, MOST = 5 };
    struct random random = { SEED };
    int infeasible = 0;
    (void)state;
    printf("seed %d\n", SEED);
    for (int i = 0; i < CASES; i++) {
        struct arena arena = { 0 };
        int n = 1 + (int)hp_random_below(&random, MOST);
        double array[5][MOST];
        int after_start[MOST + 1] = { 0 }, after[MOST];
        struct pipeline_layers l = { n,        array[0], array[1],    array[2],
                                     array[3], array[4], after_start, after,
                                     NULL,     false,    NULL };
        for (int k = 0; k < n; k++) {
            array[0][k] = hp_random_below(&random, 5) ? pick(&random, 1, 100) : 0;
            array[1][k] = array[4][k] = 0;
            array[2][k] = pick(&random, 1, 1e6);
            array[3][k] = pick(&random, 1, 1e6);
            after[k] = k + 1;
            after_start[k + 1] = k + (k < n - 1);
        }
        struct pipeline_problem p = { .states = hp_cut_states(&arena, &l, 100, 100),
                                      .machine = { 1 + i % 2, { 0, 2 }, { 0, 1e4 } },
                                      .rules = { i / 2 % 2, hp_random_below(&random, 3) == 0 },
                                      .straight = hp_random_below(&random, 6) == 0,
                                      .use_fewer = hp_random_below(&random, 3) == 0 };
        p.machine.workers[0] = 192 + (int)hp_random_below(&random, 80);
        p.machine.bytes_per_s[0] = pick(&random, 1e4, 1e7);
        if (hp_random_below(&random, 3) == 0)
            p.memory_bytes = pick(&random, 1e6, 1e8);
        struct plain plain = { &p, { NULL, NULL } };
        struct pipeline out;
        double best = plain_best_s(&plain, &arena);
        enum hypar_status status = hp_pipeline_solve(&arena, &p, &out, NULL);
        assert_int_equal(status, isfinite(best) ? HYPAR_OK : HYPAR_INFEASIBLE);
        if (isfinite(best)) {
            assert_near(out.bottleneck_s, best);
            assert_near(
                hp_pipeline_s(&p.rules, &p.machine, &p.states->cost, out.stage, out.n_stages),
                best);
        }
        infeasible += !isfinite(best);
        hp_arena_free(&arena);
    }
    assert_true(infeasible > 0 && infeasible < CASES / 2);
}

/* By hand ------------------------------------------------------------------------------ */

/* 66 ms in all: conv 30, relu 6, conv 24 | linear 8 + 4; nothing but the linear layers has
 * weights to speak of. */
static void a_chain_by_hand(void **state)
{
    struct hypar_graph *graph = graph_of("tests/data/pipedream/chain.txt");
    struct hypar_machine *machine = machine_of("cluster:1x4,intra=1GB/s");
    struct hypar_found *found = search(graph, machine, (struct hypar_search_options){ 0 });
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    (void)state;
    assert_near(view->one_worker_s, 0.072);
    /* (72 ms + 4 * 3 * 77.2 MB / 4 GB/s) / 4 */
    assert_near(view->dp_bottleneck_s, (0.072 + 4 * 3 * 77.2e6 / (1e9 * 4)) / 4);
    /* three copies of the first three, then the linear layers; 2 * 20 MB / 1 GB/s between */
    assert_int_equal(view->n_stages, 2);
    assert_int_equal(view->stage[0].replicas, 3);
    assert_near(view->stage[0].time_s, (0.060 + 4 * 2 * 1.2e6 / (1e9 * 3)) / 3);
    assert_near(view->stage[1].time_s, 0.012);
    assert_near(view->bottleneck_s, 2 * 20e6 / 1e9);
    assert_int_equal(view->noam, 2);
    assert_int_equal(view->stage[0].delay, 1);
    assert_near(view->stage[0].memory_bytes, 2 * (180e6 + 1.2e6) + 1.2e6);
    assert_near(view->stage[1].memory_bytes, 2.5e6 + 76e6 + 76e6);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void memory_bounds_the_stages(void **state)
{
    struct hypar_graph *graph = graph_of("tests/data/pipedream/chain.txt");
    static const char *const words[] = { "cluster:1x4,intra=1GB/s",
                                         "cluster:2x2,intra=10GB/s,inter=1GB/s" };
    (void)state;
    for (int w = 0; w < 2; w++) {
        struct hypar_machine *machine = machine_of(words[w]);
        double before = 0;
        int plans = 0;
        for (double limit = 1e9; limit > 5e7; limit *= 0.8) {
            struct hypar_search_options options = { .planner = "pipedream",
                                                    .memory_bytes = limit };
            struct hypar_found *found;
            struct hypar_error err;
            if (hypar_search(&found, graph, machine, &options, &err) != HYPAR_OK)
                break;
            const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
            for (int s = 0; s < view->n_stages; s++)
                assert_true(view->stage[s].memory_bytes <= limit);
            assert_true(view->bottleneck_s >= before * (1 - 1e-12) || w > 0);
            before = view->bottleneck_s;
            plans++;
            hypar_found_free(found);
        }
        assert_true(plans > 2);
        hypar_machine_free(machine);
    }
    hypar_graph_free(graph);
}

/* A plan is an ordinary plan: written, read, checked. */
static void plans_read_back(void **state)
{
    struct hypar_graph *graph = graph_of("tests/data/pipedream/branches.txt");
    struct hypar_machine *machine = machine_of("cluster:2x3,intra=10GB/s,inter=1GB/s");
    struct hypar_found *found =
        search(graph, machine,
               (struct hypar_search_options){ .model = "tests/data/pipedream/branches.txt",
                                              .machine = hypar_machine_word(machine),
                                              .vertical_sync = true });
    struct hypar_plan *back;
    struct hypar_error err;
    char *text, *again;
    size_t n, m;
    (void)state;
    FILE *file = open_memstream(&text, &n);
    hypar_plan_write(hypar_found_plan(found), file);
    fclose(file);
    if (hp_plan_read_text(&back, text, n, "plan", NULL, &err))
        fail_msg("%s", err.text);
    file = open_memstream(&again, &m);
    hypar_plan_write(back, file);
    fclose(file);
    assert_string_equal(text, again);
    assert_true(hypar_plan_schedule(back).vertical_sync && hypar_plan_schedule(back).stash);
    assert_int_equal(hypar_plan_schedule(back).kind, HYPAR_SCHEDULE_PIPEDREAM);
    free(text);
    free(again);
    hypar_plan_free(back);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Where antichains explode ---------------------------------------------------------------- */

/* `width` branches of `length` between a first and a last node. */
static struct hypar_graph *wide_profile(int width, int length)
{
    int n = width * length + 2;
    struct arena arena = { 0 };
    struct text_profile p = { .n_nodes = n };
    p.node = NEW(&arena, struct profile_node, n);
    p.edge = NEW(&arena, struct profile_edge, 2 * n);
    for (int i = 0; i < n; i++)
        p.node[i] = (struct profile_node){ .name = hp_arena_printf(&arena, "n%d", i),
                                           .description = "x",
                                           .forward_ms = 1 + i % 3,
                                           .activation_bytes = 1000,
                                           .stage = -1 };
    for (int b = 0; b < width; b++)
        for (int i = 0; i <= length; i++) {
            int node = 1 + b * length + i;
            p.edge[p.n_edges++] =
                (struct profile_edge){ i == 0 ? 0 : node - 1, i == length ? n - 1 : node };
        }
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hp_text_profile_graph(&graph, &p, "wide", 1, &err))
        fail_msg("%s", err.text);
    hp_arena_free(&arena);
    return graph;
}

static void explosions_are_planned_and_said(void **state)
{
    struct hypar_graph *narrow = wide_profile(3, 8), *wide = wide_profile(12, 8);
    struct hypar_machine *machine = machine_of("cluster:1x4,intra=10GB/s");
    struct hypar_found *a = search(narrow, machine, (struct hypar_search_options){ 0 });
    struct hypar_found *b = search(wide, machine, (struct hypar_search_options){ 0 });
    (void)state;
    assert_true(hypar_found_pipeline(a)->all_states && hypar_found_info(a).exact);
    assert_int_equal(hypar_found_pipeline(a)->n_states, 9 * 9 * 9 + 1);
    assert_false(hypar_found_pipeline(b)->all_states || hypar_found_info(b).exact);
    assert_int_equal(hypar_found_pipeline(b)->n_states, 12 * 8 + 2);
    hypar_found_free(a);
    hypar_found_free(b);
    hypar_machine_free(machine);
    hypar_graph_free(narrow);
    hypar_graph_free(wide);
}

/* Prefixes are a part of all states: never better, and on a chain the same. */
static void prefixes_are_never_better(void **state)
{
    struct arena arena = { 0 };
    struct random random = { 13 };
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct oracle *o = NEW(&arena, struct oracle, 1);
        struct hypar_graph *graph = random_profile(o, &random);
        struct hypar_machine *machine = machine_of("cluster:1x3,intra=1GB/s");
        struct hypar_search_options options = { 0 };
        struct problem problem = { .graph = graph, .machine = machine, .options = &options };
        struct pipeline_layers *l = hp_pipeline_layers(&arena, &problem, true);
        struct pipeline_problem p = { .states = hp_cut_states(&arena, l, 1000, 1000),
                                      .machine = { 1, { 3 }, { 1e9 } } };
        struct pipeline all, some, few;
        hp_pipeline_solve(&arena, &p, &all, NULL);
        p.states = hp_cut_states(&arena, l, 0, 1000);
        assert_true(p.states->chain && !p.states->all && p.states->n == o->n);
        hp_pipeline_solve(&arena, &p, &some, NULL);
        assert_true(some.bottleneck_s >= all.bottleneck_s * (1 - 1e-12));
        p.states = hp_cut_states(&arena, l, 0, 3);
        assert_true(p.states->n <= 3 && p.states->n + p.states->n_skipped == o->n);
        hp_pipeline_solve(&arena, &p, &few, NULL);
        assert_true(few.bottleneck_s >= some.bottleneck_s * (1 - 1e-12));
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
    hp_arena_free(&arena);
}

/* Zoo models --------------------------------------------------------------------------- */

/* Operators that share a parameter are in one stage; every plan passes its check. */
static void zoo_models_have_plans(void **state)
{
    static const char *const models[] = { "vgg16", "resnet50", "inception-v3", "bert-base",
                                          "gpt2",  "nmt",      "densenet121" };
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct hypar_graph *graph = graph_of(models[i]);
        struct hypar_machine *machine = machine_of("cluster:2x4,device=v100,memory=1000TB");
        struct hypar_found *found = search(graph, machine, (struct hypar_search_options){ 0 });
        const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
        assert_true(view->bottleneck_s <= view->dp_bottleneck_s * (1 + 1e-12));
        assert_true(view->bottleneck_s >= view->one_worker_s / 8 * (1 - 1e-12));
        for (int s = 0; s < view->n_stages; s++)
            assert_true(view->stage[s].time_s <= view->bottleneck_s * (1 + 1e-12));
        hypar_found_free(found);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

/* What cannot be had --------------------------------------------------------------------- */

static void refusals(void **state)
{
    static const struct {
        const char *model, *machine, *message;
        struct hypar_search_options options;
    } rows[] = {
        { "tests/data/pipedream/chain.txt",
          "full:8",
          "at most 5, expected --use-fewer",
          { .planner = "pipedream", .straight = true } },
        { "gpt:layers=1,hidden=8,heads=1,seq=4,vocab=8",
          "full:4",
          "at most 2 (operators that share a parameter stay together), expected --use-fewer",
          { .planner = "pipedream", .straight = true } },
        { "tests/data/pipedream/chain.txt",
          "full:4",
          "fits into memory",
          { .planner = "pipedream", .memory_bytes = 1e7 } },
        { "lenet5",
          "full:4",
          "5 stages, expected at most 4",
          { .planner = "gpipe", .stages = 5 } },
        { "resnet50",
          "full:4",
          "no plan found that fits; the nearest needs 517 MB on device 0, which has 1 MB",
          { .planner = "1f1b", .memory_bytes = 1e6 } },
        { "tests/data/pipedream/chain.txt", /* opaque: in closed form */
          "full:2",
          "no plan found that fits; the nearest needs 176 MB on device 1, which has 10 MB",
          { .planner = "gpipe", .memory_bytes = 1e7 } },
        { "tests/data/pipedream/chain.txt",
          "full:16",
          "a batch of 1 and a model that can be cut into 5 make no pipeline of equal stages",
          { .planner = "1f1b" } },
        { "tests/data/pipedream/chain.txt",
          "full:4",
          "dp divides layers, of which a profile knows nothing",
          { .planner = "dp" } },
        { "lenet5",
          "full:4",
          "4096 micro-batches of a batch of 32",
          { .planner = "1f1b", .micro_batches = 4096 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hypar_graph *graph = graph_of(rows[i].model);
        struct hypar_machine *machine = machine_of(rows[i].machine);
        struct hypar_found *found;
        struct hypar_error err;
        assert_int_equal(hypar_search(&found, graph, machine, &rows[i].options, &err),
                         HYPAR_INFEASIBLE);
        if (!strstr(err.text, rows[i].message))
            fail_msg("row %zu: '%s'", i, err.text);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_is_better_than_the_chosen_one),
        cmocka_unit_test(costs_recomputed_from_the_stages_agree),
        cmocka_unit_test(many_workers_are_all_thought_of),
        cmocka_unit_test(a_chain_by_hand),
        cmocka_unit_test(memory_bounds_the_stages),
        cmocka_unit_test(plans_read_back),
        cmocka_unit_test(explosions_are_planned_and_said),
        cmocka_unit_test(prefixes_are_never_better),
        cmocka_unit_test(zoo_models_have_plans),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
