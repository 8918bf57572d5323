/* The exact solver against exhaustive search, on thousands of random graphs. Costs are small
 * whole numbers, so sums are exact in any order and ties abound. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "search/solver/eliminate.h"

enum { MOST_VARS = 16, MOST_EDGES = 256, MOST_SETTINGS = 60000 };

/* A problem that can be drawn. */
struct draft {
    struct arena arena;
    uint64_t seed;
    const char *shape;
    struct elimination_problem problem;
    int n_states[MOST_VARS];
    const double *cost[MOST_VARS];
    struct elimination_edge edges[MOST_EDGES];
};

/* A condition on a drawn problem; names it when broken. */
#define EXPECT(draft, condition)                                                             \
    do {                                                                                     \
        if (!(condition))                                                                    \
            fail_msg("%s, seed %llu: %s", (draft)->shape, (unsigned long long)(draft)->seed, \
                     #condition);                                                            \
    } while (0)

struct drawing {
    int most_states;
    int forbidden_percent;
    int n_values;      /* costs are 0 .. n_values - 1, less an offset */
    bool share_tables; /* where the sizes agree */
};

static double draw_cost(struct random *random, const struct drawing *how)
{
    if (hp_random_below(random, 100) < how->forbidden_percent)
        return INFINITY;
    return (double)(hp_random_below(random, how->n_values) - how->n_values / 4);
}

static const double *draw_table(struct draft *d, struct random *random,
                                const struct drawing *how, int n)
{
    double *table = NEW(&d->arena, double, n);
    for (int i = 0; i < n; i++)
        table[i] = draw_cost(random, how);
    return table;
}

static void draw_edge(struct draft *d, struct random *random, const struct drawing *how, int u,
                      int v)
{
    int n = d->problem.n_edges;
    assert_true(n < MOST_EDGES);
    if (hp_random_below(random, 2)) {
        int swap = u;
        u = v;
        v = swap;
    }
    const double *pair = NULL;
    for (int e = 0; e < n && how->share_tables && !pair; e++)
        if (d->n_states[d->edges[e].u] == d->n_states[u] &&
            d->n_states[d->edges[e].v] == d->n_states[v])
            pair = d->edges[e].pair;
    if (!pair)
        pair = draw_table(d, random, how, d->n_states[u] * d->n_states[v]);
    d->edges[n] = (struct elimination_edge){ u, v, pair };
    d->problem.n_edges++;
}

static void draw_variables(struct draft *d, struct random *random, const struct drawing *how,
                           int n_vars)
{
    double settings = 1;
    d->problem = (struct elimination_problem){ 0, d->n_states, d->cost, 0, d->edges, NULL };
    for (int v = 0; v < n_vars; v++) {
        int n = 1 + (int)hp_random_below(random, how->most_states);
        if (settings * n > MOST_SETTINGS)
            n = 1;
        settings *= n;
        d->n_states[v] = n;
        d->cost[v] = draw_table(d, random, how, n);
        d->problem.n_vars++;
    }
}

/* Shapes of graphs: each draws the edges over the variables that are there. */
static void shape_chain(struct draft *d, struct random *random, const struct drawing *how)
{
    for (int v = 1; v < d->problem.n_vars; v++)
        draw_edge(d, random, how, v - 1, v);
}

static void shape_cycle(struct draft *d, struct random *random, const struct drawing *how)
{
    shape_chain(d, random, how);
    if (d->problem.n_vars > 1)
        draw_edge(d, random, how, 0, d->problem.n_vars - 1);
}

static void shape_tree(struct draft *d, struct random *random, const struct drawing *how)
{
    for (int v = 1; v < d->problem.n_vars; v++)
        draw_edge(d, random, how, (int)hp_random_below(random, v), v);
}

static void shape_star(struct draft *d, struct random *random, const struct drawing *how)
{
    for (int v = 1; v < d->problem.n_vars; v++)
        draw_edge(d, random, how, 0, v);
}

/* Residual blocks: a chain with skips of two or three. */
static void shape_residual(struct draft *d, struct random *random, const struct drawing *how)
{
    shape_chain(d, random, how);
    for (int v = 0; v + 3 < d->problem.n_vars; v += 2)
        draw_edge(d, random, how, v, v + 2 + (int)hp_random_below(random, 2));
}

/* Grown by doubling an edge or putting a variable on it. */
static void shape_series_parallel(struct draft *d, struct random *random,
                                  const struct drawing *how)
{
    int ends[MOST_EDGES][2], n_ends = 1, n_used = 2;
    if (d->problem.n_vars < 2)
        return;
    ends[0][0] = 0;
    ends[0][1] = 1;
    while (n_used < d->problem.n_vars || hp_random_below(random, 3)) {
        int e = (int)hp_random_below(random, n_ends);
        ends[n_ends][0] = ends[e][0];
        ends[n_ends][1] = ends[e][1];
        if (n_used < d->problem.n_vars && hp_random_below(random, 2))
            ends[n_ends][0] = ends[e][1] = n_used++;
        if (++n_ends == 3 * MOST_VARS)
            break;
    }
    for (int e = 0; e < n_ends; e++)
        draw_edge(d, random, how, ends[e][0], ends[e][1]);
}

static void shape_grid(struct draft *d, struct random *random, const struct drawing *how)
{
    int width = 2 + (int)hp_random_below(random, 3);
    for (int v = 0; v < d->problem.n_vars; v++) {
        if (v % width)
            draw_edge(d, random, how, v - 1, v);
        if (v >= width)
            draw_edge(d, random, how, v - width, v);
    }
}

static void shape_clique(struct draft *d, struct random *random, const struct drawing *how)
{
    for (int v = 0; v < d->problem.n_vars; v++)
        for (int u = 0; u < v; u++)
            draw_edge(d, random, how, u, v);
}

/* Anything: parallel edges, self-loops, several components. */
static void shape_random(struct draft *d, struct random *random, const struct drawing *how)
{
    int n = d->problem.n_vars;
    int n_edges = n ? (int)hp_random_below(random, 3 * n) : 0;
    for (int e = 0; e < n_edges; e++)
        draw_edge(d, random, how, (int)hp_random_below(random, n),
                  (int)hp_random_below(random, n));
}

static void shape_empty(struct draft *d, struct random *random, const struct drawing *how)
{
    (void)d, (void)random, (void)how;
}

/* clang-format off */
static const struct shape {
    const char *name;
    void (*draw)(struct draft *, struct random *, const struct drawing *);
} shapes[] = {
    { "empty",           shape_empty },
    { "chain",           shape_chain },
    { "cycle",           shape_cycle },
    { "tree",            shape_tree },
    { "star",            shape_star },
    { "residual",        shape_residual },
    { "series-parallel", shape_series_parallel },
    { "grid",            shape_grid },
    { "clique",          shape_clique },
    { "random",          shape_random },
};

static const struct drawing drawings[] = {
    { .most_states = 2, .forbidden_percent = 0,  .n_values = 1000 },
    { .most_states = 3, .forbidden_percent = 0,  .n_values = 3 },
    { .most_states = 4, .forbidden_percent = 10, .n_values = 50 },
    { .most_states = 9, .forbidden_percent = 0,  .n_values = 1000, .share_tables = true },
    { .most_states = 40, .forbidden_percent = 5, .n_values = 1000 },
    { .most_states = 3, .forbidden_percent = 45, .n_values = 10,   .share_tables = true },
};
/* clang-format on */

enum {
    N_SHAPES = sizeof shapes / sizeof *shapes,
    N_DRAWINGS = sizeof drawings / sizeof *drawings
};

static double exhaustive_minimum(const struct elimination_problem *problem)
{
    int state[MOST_VARS] = { 0 };
    double least = INFINITY;
    for (;;) {
        double cost = hp_elimination_cost(problem, state);
        least = cost < least ? cost : least;
        int v = problem->n_vars - 1;
        while (v >= 0 && ++state[v] == problem->n_states[v])
            state[v--] = 0;
        if (v < 0)
            return least;
    }
}

static struct elimination_result
solve(struct draft *d, const struct elimination_options *options, int *assignment)
{
    struct elimination_result result = { .assignment = assignment };
    struct hypar_error err = { 0 };
    enum hypar_status status = hp_eliminate(&d->arena, &d->problem, options, &result, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, HYPAR_OK);
    return result;
}

/* What must hold of any result. */
static void check_result(const struct draft *d, double minimum,
                         const struct elimination_result *result)
{
    const struct elimination_problem *problem = &d->problem;
    for (int v = 0; v < problem->n_vars; v++)
        EXPECT(d, result->assignment[v] >= 0 && result->assignment[v] < problem->n_states[v]);
    double cost = hp_elimination_cost(problem, result->assignment);
    EXPECT(d, cost == result->cost);
    EXPECT(d, result->feasible == (cost < INFINITY));
    EXPECT(d, result->lower_bound <= minimum && minimum <= cost);
    if (result->exact)
        EXPECT(d, cost == minimum && result->lower_bound == minimum);
    if (result->method != ELIMINATION_APPROXIMATE)
        EXPECT(d, result->exact);
}

/* Call `check` on many random problems of every shape and drawing. */
static void for_all(int n_each, void (*check)(struct draft *, double, struct random *))
{
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int drawing = 0; drawing < N_DRAWINGS; drawing++)
            for (int i = 0; i < n_each; i++) {
                uint64_t seed = (uint64_t)((shape * N_DRAWINGS + drawing) * 100000 + i);
                struct random random = { seed };
                struct draft d = { .seed = seed, .shape = shapes[shape].name };
                draw_variables(&d, &random, &drawings[drawing],
                               (int)hp_random_below(&random, MOST_VARS - 1));
                shapes[shape].draw(&d, &random, &drawings[drawing]);
                check(&d, exhaustive_minimum(&d.problem), &random);
                hp_arena_free(&d.arena);
            }
}

static void check_plain(struct draft *d, double minimum, struct random *random)
{
    (void)random;
    int assignment[MOST_VARS];
    struct elimination_result result = solve(d, NULL, assignment);
    EXPECT(d, result.method == ELIMINATION_EXACT);
    check_result(d, minimum, &result);
    int eliminated = result.n_node_eliminations + result.n_general_eliminations;
    EXPECT(d, eliminated == d->problem.n_vars);
}

static void test_equals_exhaustive_search(void **state)
{
    (void)state;
    for_all(40, check_plain);
}

/* Limits too small for the plain elimination: pruned, conditioned or approximate. */
static void check_limited(struct draft *d, double minimum, struct random *random)
{
    int first[MOST_VARS], again[MOST_VARS], initial[MOST_VARS];
    struct elimination_options options = {
        .max_table_entries = 1 + hp_random_below(random, 40),
        .max_work = hp_random_below(random, 2) ? 1 + hp_random_below(random, 100000) : 0,
        .seed = hp_random_u64(random),
    };
    for (int v = 0; v < d->problem.n_vars; v++)
        initial[v] = (int)hp_random_below(random, d->n_states[v]);
    if (hp_random_below(random, 2))
        options.initial = initial;
    struct elimination_result result = solve(d, &options, first);
    check_result(d, minimum, &result);
    if (options.initial)
        EXPECT(d, result.cost <= hp_elimination_cost(&d->problem, initial));

    struct elimination_result same = solve(d, &options, again);
    EXPECT(d, memcmp(first, again, (size_t)d->problem.n_vars * sizeof(int)) == 0);
    EXPECT(d, result.lower_bound == same.lower_bound && result.method == same.method);
    EXPECT(d, result.n_sweeps == same.n_sweeps);
}

static void test_limited(void **state)
{
    (void)state;
    for_all(25, check_limited);
}

/* Every method is reached, and the last is honest: seen over many dense problems. */
static void test_every_method(void **state)
{
    (void)state;
    static const struct elimination_options limits[] = {
        [ELIMINATION_EXACT] = { .max_work = 1 },
        [ELIMINATION_PRUNED] = { .max_table_entries = 400 },
        [ELIMINATION_CONDITIONED] = { .max_table_entries = 30 },
        [ELIMINATION_APPROXIMATE] = { .max_table_entries = 10, .max_work = 3000 },
    };
    for (int method = 0; method <= ELIMINATION_APPROXIMATE; method++) {
        int reached = 0, met = 0;
        for (uint64_t seed = 0; seed < 60; seed++) {
            struct random random = { seed };
            struct drawing how = { 3, 5, seed % 2 ? 4 : 1000, false };
            struct draft d = { .seed = seed, .shape = "clique" };
            int assignment[MOST_VARS];
            draw_variables(&d, &random, &how, 9);
            shape_clique(&d, &random, &how);
            struct elimination_result result = solve(&d, &limits[method], assignment);
            check_result(&d, exhaustive_minimum(&d.problem), &result);
            reached += (int)result.method == method;
            met += result.cost == exhaustive_minimum(&d.problem);
            hp_arena_free(&d.arena);
        }
        print_message("method %d: reached %d times of 60, minimum found %d times\n", method,
                      reached, met);
        assert_true(reached > 0);
        assert_true(met > 30);
    }
}

static void test_no_variables(void **state)
{
    (void)state;
    struct draft d = { .arena = { 0 } };
    struct elimination_result result = solve(&d, NULL, NULL);
    assert_true(result.exact && result.feasible && result.cost == 0);
    hp_arena_free(&d.arena);
}

static void test_infeasible(void **state)
{
    (void)state;
    static const double never[] = { INFINITY, INFINITY, INFINITY, INFINITY },
                        free_[] = { 0, 0 };
    static const double *const cost[] = { free_, free_, free_ };
    static const int n_states[] = { 2, 2, 2 };
    static const struct elimination_edge edges[] = { { 0, 1, never },
                                                     { 1, 2, never },
                                                     { 0, 2, never } };
    struct draft d = { .problem = { 3, n_states, cost, 3, edges, NULL } };
    static const struct elimination_options limits[] = {
        { 0 }, { .max_table_entries = 1 }, { .max_table_entries = 1, .max_work = 1 }
    };
    for (int i = 0; i < 3; i++) {
        int assignment[3];
        struct elimination_result result = solve(&d, &limits[i], assignment);
        assert_true(result.exact && !result.feasible);
        assert_true(result.cost == INFINITY && result.lower_bound == INFINITY);
    }
    hp_arena_free(&d.arena);
}

/* Equal costs: a chain is decided from its end, each variable in its lowest state. */
static void test_ties(void **state)
{
    (void)state;
    static const double zero[9] = { 0 }, equal[9] = { 0, 1, 1, 1, 0, 1, 1, 1, 0 };
    static const double *const cost[] = { zero, zero, zero };
    static const int n_states[] = { 3, 3, 3 };
    static const struct elimination_edge edges[] = { { 0, 1, equal }, { 1, 2, equal } };
    struct draft d = { .problem = { 3, n_states, cost, 2, edges, NULL } };
    int assignment[3], initial[] = { 2, 2, 2 };
    struct elimination_options options = { .initial = initial };
    struct elimination_result result = solve(&d, &options, assignment);
    static const int expected[] = { 0, 0, 0 };
    assert_true(result.cost == 0);
    assert_memory_equal(assignment, expected, sizeof expected);
    hp_arena_free(&d.arena);
}

/* OptCNN's counts on its own example shapes: a chain, two branches, and a triangle of pairs. */
static void test_counts(void **state)
{
    (void)state;
    static const double zero[9] = { 0 };
    static const double *const cost[] = { zero, zero, zero, zero };
    static const int n_states[] = { 3, 3, 3, 3 };
    static const struct {
        int n_edges;
        struct elimination_edge edges[6];
        int n_node, n_general, n_edge, width, largest, total;
    } cases[] = {
        { 3, { { 0, 1, zero }, { 1, 2, zero }, { 2, 3, zero } }, 4, 0, 0, 1, 3, 0 },
        { 4,
          { { 0, 1, zero }, { 0, 2, zero }, { 1, 3, zero }, { 2, 3, zero } },
          4,
          0,
          1,
          2,
          9,
          9 + 9 },
        { 2, { { 0, 1, zero }, { 1, 0, zero } }, 4, 0, 1, 1, 3, 0 },
        { 6,
          { { 0, 1, zero },
            { 0, 2, zero },
            { 0, 3, zero },
            { 1, 2, zero },
            { 1, 3, zero },
            { 2, 3, zero } },
          3,
          1,
          1,
          3,
          27,
          27 + 9 },
        { 1, { { 2, 2, zero } }, 4, 0, 0, 0, 1, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct draft d = { .problem = { 4, n_states, cost, cases[i].n_edges, cases[i].edges,
                                        NULL } };
        int assignment[4];
        struct elimination_result result = solve(&d, NULL, assignment);
        assert_int_equal(result.n_node_eliminations, cases[i].n_node);
        assert_int_equal(result.n_general_eliminations, cases[i].n_general);
        assert_int_equal(result.n_edge_eliminations, cases[i].n_edge);
        assert_int_equal(result.width, cases[i].width);
        assert_int_equal((int)result.largest_entries, cases[i].largest);
        assert_int_equal((int)result.total_entries, cases[i].total);
        hp_arena_free(&d.arena);
    }
}

static void test_malformed(void **state)
{
    (void)state;
    static const double zero[4] = { 0 };
    static const double *const cost[] = { zero, zero };
    static const int two[] = { 2, 2 }, none[] = { 2, 0 }, start[] = { 0, 2 };
    static const struct elimination_edge good = { 0, 1, zero }, bad = { 1, 2, zero };
    static const struct {
        struct elimination_problem problem;
        struct elimination_options options;
        const char *text;
    } cases[] = {
        { { -1, two, cost, 0, NULL, NULL },
          { 0 },
          "elimination: -1 variables and 0 edges, expected none or more" },
        { { 2, none, cost, 0, NULL, NULL },
          { 0 },
          "elimination: variable 1 has 0 states, expected 1 to 1048576" },
        { { 2, two, cost, 1, &bad, NULL },
          { 0 },
          "elimination: edge 0 joins 1 and 2, expected variables 0 to 1" },
        { { 2, two, cost, 1, &good, NULL },
          { .initial = start },
          "elimination: variable 1 starts in state 2, expected 0 to 1" },
        { { 2, two, cost, 1, &good, NULL },
          { .max_work = -1 },
          "elimination: a limit is negative, expected 0 (the default) or more" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = { 0 };
        struct hypar_error err = { 0 };
        int assignment[2];
        struct elimination_result result = { .assignment = assignment };
        assert_int_equal(
            hp_eliminate(&arena, &cases[i].problem, &cases[i].options, &result, &err),
            HYPAR_INVALID);
        assert_string_equal(err.text, cases[i].text);
        hp_arena_free(&arena);
    }
}

/* Larger than exhaustive search can check: a chain against the textbook recurrence, with rows
 * longer than any unrolling, and either orientation of the tables. */
static void test_long_chain(void **state)
{
    (void)state;
    enum { N = 300, STATES = 37 };
    struct arena arena = { 0 };
    struct random random = { 5 };
    int n_states[N], assignment[N];
    const double *cost[N];
    struct elimination_edge edges[N];
    double best[STATES] = { 0 };
    for (int v = 0; v < N; v++) {
        double *own = NEW(&arena, double, STATES), *pair = NEW(&arena, double, STATES *STATES);
        double next[STATES];
        n_states[v] = STATES;
        for (int i = 0; i < STATES * STATES; i++)
            pair[i] = (double)hp_random_below(&random, 1000);
        edges[v] = v % 3 ? (struct elimination_edge){ v - 1, v, pair }
                         : (struct elimination_edge){ v, v ? v - 1 : v, pair };
        for (int x = 0; x < STATES; x++) {
            own[x] = (double)hp_random_below(&random, 1000);
            next[x] = v ? INFINITY : pair[x * STATES + x];
            for (int y = 0; v && y < STATES; y++)
                next[x] =
                    fmin(next[x], best[y] + pair[v % 3 ? y * STATES + x : x * STATES + y]);
            next[x] += own[x];
        }
        cost[v] = own;
        memcpy(best, next, sizeof best);
    }
    double minimum = INFINITY;
    for (int x = 0; x < STATES; x++)
        minimum = fmin(minimum, best[x]);
    struct elimination_problem problem = { N, n_states, cost, N, edges, NULL };
    struct elimination_result result = { .assignment = assignment };
    assert_int_equal(hp_eliminate(&arena, &problem, NULL, &result, NULL), HYPAR_OK);
    assert_true(result.exact && result.cost == minimum);
    hp_arena_free(&arena);
}

/* A grid too wide for the limit: bound and cost enclose the exact minimum and lie close. */
static void test_wide_grid(void **state)
{
    (void)state;
    enum { SIDE = 9, N = SIDE * SIDE, STATES = 3 };
    struct arena arena = { 0 };
    struct random random = { 11 };
    int n_states[N], assignment[N];
    const double *cost[N];
    struct elimination_edge edges[2 * N];
    struct elimination_problem problem = { N, n_states, cost, 0, edges, NULL };
    for (int v = 0; v < N; v++) {
        double *own = NEW(&arena, double, STATES);
        n_states[v] = STATES;
        for (int x = 0; x < STATES; x++)
            own[x] = (double)hp_random_below(&random, 100);
        cost[v] = own;
        for (int back = 1; back <= SIDE; back += SIDE - 1) {
            if (v < back || (back == 1 && v % SIDE == 0))
                continue;
            double *pair = NEW(&arena, double, STATES *STATES);
            for (int i = 0; i < STATES * STATES; i++)
                pair[i] = (double)hp_random_below(&random, 100);
            edges[problem.n_edges++] = (struct elimination_edge){ v - back, v, pair };
        }
    }
    struct elimination_result exact = { .assignment = assignment };
    assert_int_equal(hp_eliminate(&arena, &problem, NULL, &exact, NULL), HYPAR_OK);
    assert_int_equal(exact.method, ELIMINATION_EXACT);
    struct elimination_options options = { .max_table_entries = 20000, .max_work = 20000000 };
    struct elimination_result rough = { .assignment = assignment };
    assert_int_equal(hp_eliminate(&arena, &problem, &options, &rough, NULL), HYPAR_OK);
    print_message("minimum %g; limited: bound %g, cost %g, method %d, %d rounds\n", exact.cost,
                  rough.lower_bound, rough.cost, (int)rough.method, rough.n_sweeps);
    assert_int_not_equal(rough.method, ELIMINATION_EXACT);
    assert_true(rough.lower_bound <= exact.cost && exact.cost <= rough.cost);
    assert_true(rough.cost <= 1.02 * exact.cost);
    assert_true(rough.lower_bound >= 0.95 * exact.cost);
    hp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_exhaustive_search),
        cmocka_unit_test(test_limited),
        cmocka_unit_test(test_every_method),
        cmocka_unit_test(test_no_variables),
        cmocka_unit_test(test_infeasible),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_wide_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
