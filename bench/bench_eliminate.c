/* How long the exact solver takes, by the shape of the graph. Each line: the best of several
 * runs, the width and the entries of the largest table. No input, no options:
 *
 *     build/bench/bench_eliminate */
#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "bench/bench.h"
#include "search/solver/eliminate.h"

enum { MOST_RUNS = 2000 };

/* A problem under construction; all edges of equal sizes may share one table. */
struct bench {
    struct arena arena;
    struct random random;
    struct elimination_problem problem;
    struct elimination_edge *edges;
    int capacity;
    bool shared;
};

static double *random_costs(struct bench *b, size_t n)
{
    double *costs = NEW(&b->arena, double, n);
    for (size_t i = 0; i < n; i++)
        costs[i] = hp_random_unit(&b->random);
    return costs;
}

static struct bench make(int n_vars, int n_states, bool shared)
{
    struct bench b = { .random = { 1 }, .shared = shared };
    int *states = NEW(&b.arena, int, n_vars);
    const double **cost = NEW(&b.arena, const double *, n_vars);
    for (int v = 0; v < n_vars; v++) {
        states[v] = n_states;
        cost[v] = random_costs(&b, (size_t)n_states);
    }
    b.problem = (struct elimination_problem){ n_vars, states, cost, 0, NULL, NULL };
    return b;
}

static void join(struct bench *b, int u, int v)
{
    int n = b->problem.n_edges++;
    size_t entries = (size_t)b->problem.n_states[u] * (size_t)b->problem.n_states[v];
    b->edges = GROW(&b->arena, struct elimination_edge, b->edges, n, &b->capacity);
    const double *pair = n && b->shared ? b->edges[0].pair : random_costs(b, entries);
    b->edges[n] = (struct elimination_edge){ u, v, pair };
    b->problem.edges = b->edges;
}

static void measure(const char *name, struct bench *b,
                    const struct elimination_options *options)
{
    struct elimination_result result = { .assignment = NEW(&b->arena, int, b->problem.n_vars) };
    double best_s = INFINITY, spent_s = 0;
    for (int run = 0; run < MOST_RUNS && (run < 2 || spent_s < 0.5); run++) {
        double start_s = wall_s();
        if (hp_eliminate(&b->arena, &b->problem, options, &result, NULL) != HYPAR_OK)
            return;
        double run_s = wall_s() - start_s;
        spent_s += run_s;
        best_s = run_s < best_s ? run_s : best_s;
    }
    static const char *const methods[] = { [ELIMINATION_EXACT] = "",
                                           [ELIMINATION_PRUNED] = "pruned",
                                           [ELIMINATION_CONDITIONED] = "conditioned",
                                           [ELIMINATION_APPROXIMATE] = "approximate" };
    printf("%-34s %12.1f us  width %3d  largest %9.3g  cost %.6g", name, 1e6 * best_s,
           result.width, result.largest_entries, result.cost);
    if (result.method != ELIMINATION_EXACT)
        printf("  bound %.6g, %s", result.lower_bound, methods[result.method]);
    printf("\n");
    hp_arena_free(&b->arena);
}

static void chain(const char *name, int n_vars, int n_states, bool shared)
{
    struct bench b = make(n_vars, n_states, shared);
    for (int v = 1; v < n_vars; v++)
        join(&b, v - 1, v);
    measure(name, &b, NULL);
}

/* A chain with a skip over every second pair, as in residual networks. */
static void residual(const char *name, int n_vars, int n_states)
{
    struct bench b = make(n_vars, n_states, false);
    for (int v = 1; v < n_vars; v++)
        join(&b, v - 1, v);
    for (int v = 0; v + 3 < n_vars; v += 3)
        join(&b, v, v + 3);
    measure(name, &b, NULL);
}

static void grid(const char *name, int width, int length, int n_states,
                 const struct elimination_options *options)
{
    struct bench b = make(width * length, n_states, false);
    for (int v = 0; v < width * length; v++) {
        if (v % width)
            join(&b, v - 1, v);
        if (v >= width)
            join(&b, v - width, v);
    }
    measure(name, &b, options);
}

/* An unrolled recurrent network: layers of cells, each step reads the one before, and every
 * step of the second half reads a shared context, as with attention. */
static void recurrent(const char *name, int n_steps, int n_layers, int n_states)
{
    struct bench b = make(n_steps * n_layers + 1, n_states, false);
    for (int t = 0; t < n_steps; t++)
        for (int layer = 0; layer < n_layers; layer++) {
            int v = t * n_layers + layer;
            if (layer)
                join(&b, v - 1, v);
            if (t)
                join(&b, v - n_layers, v);
            if (t >= n_steps / 2 && layer == 0)
                join(&b, v, n_steps * n_layers);
        }
    measure(name, &b, NULL);
}

/* A cycle: all but two of its variables have two neighbours when they go. */
static void cycle(const char *name, int n_vars, int n_states, bool shared)
{
    struct bench b = make(n_vars, n_states, shared);
    for (int v = 0; v < n_vars; v++)
        join(&b, v, (v + 1) % n_vars);
    measure(name, &b, NULL);
}

static void star(const char *name, int n_vars, int n_states)
{
    struct bench b = make(n_vars, n_states, true);
    for (int v = 1; v < n_vars; v++)
        join(&b, 0, v);
    measure(name, &b, NULL);
}

/* Every pair is joined: the fallback's hardest case. */
static void clique(const char *name, int n_vars, int n_states)
{
    struct bench b = make(n_vars, n_states, false);
    for (int v = 0; v < n_vars; v++)
        for (int u = 0; u < v; u++)
            join(&b, u, v);
    measure(name, &b, NULL);
}

int main(int argc, char **argv)
{
    take_words(argc, argv, 0, "");
    static const struct elimination_options small = { .max_table_entries = 1 << 16 };
    chain("chain 20 x 2", 20, 2, false);
    chain("chain 2000 x 2", 2000, 2, false);
    chain("chain 2000 x 3", 2000, 3, false);
    chain("chain 100000 x 3", 100000, 3, false);
    star("star 100000 x 3", 100000, 3);
    residual("residual 1000 x 3", 1000, 3);
    recurrent("recurrent 300 x 6 layers x 3", 300, 6, 3);
    grid("grid 4 x 250 x 3", 4, 250, 3, NULL);
    grid("grid 6 x 200 x 3", 6, 200, 3, NULL);
    grid("grid 10 x 30 x 3", 10, 30, 3, NULL);
    cycle("two neighbours, 100 states", 3, 100, false);
    cycle("cycle 30 x 100", 30, 100, true);
    chain("chain 30 x 1024, one table", 30, 1024, true);
    cycle("two neighbours, 1024 states", 3, 1024, true);
    grid("grid 20 x 20 x 3, 2^16 entries", 20, 20, 3, &small);
    clique("clique 40 x 10", 40, 10);
    clique("clique 300 x 3", 300, 3);
    return 0;
}
