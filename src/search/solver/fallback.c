/* Solves a problem whose tables exceed the limit. Two exact methods come first: the elimination
 * without dominated states, then one elimination for each setting of a few fixed variables. If
 * both are too expensive, mini-buckets give a lower bound and a local search improves an
 * assignment: each of its sweeps solves part of the graph exactly while the other variables
 * keep their states. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "search/limits.h"
#include "search/solver/internal.h"

enum { STALE_ROUNDS = 24 }; /* sweeps without progress before a random change */

/* The cost of a forbidden term in the local search. It is finite, so an assignment with fewer
 * forbidden terms is an improvement. */
static const double FORBIDDEN = 1e30;

/* A problem in which the variables outside a cut have fixed states. A free variable's number is
 * its position in the cut's sequence, which is also its order of elimination. */
struct restriction {
    struct elimination_problem problem; /* over the free variables; its costs are `cost` */
    double **cost;
    const int *var; /* for each free variable, its number in the whole problem */
    int *fixed, n_fixed;
    int n_borders;
    struct border { /* an edge between a free and a fixed variable */
        int var, fixed;
        const double *pair;
        size_t stride, fixed_stride;
    } * borders;
};

static void restrict_edges(struct arena *arena, const struct elimination_problem *whole,
                           const int *index, struct restriction *r)
{
    struct elimination_edge *edges = NEW(arena, struct elimination_edge, whole->n_edges);
    r->borders = NEW(arena, struct border, whole->n_edges);
    int n_edges = 0;
    for (int e = 0; e < whole->n_edges; e++) {
        const struct elimination_edge *edge = &whole->edges[e];
        int u = index[edge->u], v = index[edge->v];
        size_t n = (size_t)whole->n_states[edge->v];
        if (u >= 0 && v >= 0)
            edges[n_edges++] = (struct elimination_edge){ u, v, edge->pair };
        else if (u >= 0)
            r->borders[r->n_borders++] = (struct border){ u, edge->v, edge->pair, n, 1 };
        else if (v >= 0)
            r->borders[r->n_borders++] = (struct border){ v, edge->u, edge->pair, 1, n };
    }
    r->problem.edges = edges;
    r->problem.n_edges = n_edges;
}

static struct restriction restrict_to(struct arena *arena,
                                      const struct elimination_problem *whole,
                                      const struct elimination_order *cut)
{
    struct restriction r = { .problem.n_vars = cut->n,
                             .problem.stop = whole->stop,
                             .var = cut->sequence };
    int *index = NEW(arena, int, whole->n_vars), *n_states = NEW(arena, int, cut->n);
    for (int v = 0; v < whole->n_vars; v++)
        index[v] = -1;
    r.cost = NEW(arena, double *, cut->n);
    for (int i = 0; i < cut->n; i++) {
        index[r.var[i]] = i;
        n_states[i] = whole->n_states[r.var[i]];
        r.cost[i] = NEW(arena, double, n_states[i]);
    }
    r.problem.n_states = n_states;
    r.problem.cost = (const double *const *)r.cost;
    r.fixed = NEW(arena, int, whole->n_vars);
    for (int v = 0; v < whole->n_vars; v++)
        if (index[v] < 0)
            r.fixed[r.n_fixed++] = v;
    restrict_edges(arena, whole, index, &r);
    return r;
}

/* Solve for the free variables while the fixed ones keep their states in `assignment`; writes
 * the free variables' states. An edge to a fixed variable costs at most `forbidden`. Returns
 * the least cost of the free part. */
static double solve_restricted(struct arena *arena, const struct elimination_problem *whole,
                               const struct restriction *r, double forbidden, int *assignment)
{
    for (int i = 0; i < r->problem.n_vars; i++)
        memcpy(r->cost[i], whole->cost[r->var[i]],
               (size_t)r->problem.n_states[i] * sizeof(double));
    for (int b = 0; b < r->n_borders; b++) {
        const struct border *border = &r->borders[b];
        const double *at =
            border->pair + (size_t)assignment[border->fixed] * border->fixed_stride;
        for (int x = 0; x < r->problem.n_states[border->var]; x++)
            r->cost[border->var][x] += fmin(at[(size_t)x * border->stride], forbidden);
    }
    struct arena_mark mark = hp_arena_mark(arena);
    int *state = NEW(arena, int, r->problem.n_vars);
    bool split;
    double value = hp_elimination_tables(arena, &r->problem, NULL, INFINITY, state, &split);
    for (int i = 0; i < r->problem.n_vars; i++)
        assignment[r->var[i]] = state[i];
    hp_arena_release(arena, mark);
    return value;
}

/* The work of an exact solution by a cut: the number of settings of the fixed variables times
 * the work of each elimination. */
static double conditioned_work(struct arena *arena, const struct elimination_problem *problem,
                               const struct elimination_order *cut)
{
    struct arena_mark mark = hp_arena_mark(arena);
    bool *is_free = NEW(arena, bool, problem->n_vars);
    for (int i = 0; i < cut->n; i++)
        is_free[cut->sequence[i]] = true;
    double settings = 1, states = 0;
    for (int v = 0; v < problem->n_vars; v++) {
        settings *= is_free[v] ? 1 : problem->n_states[v];
        states += problem->n_states[v];
    }
    hp_arena_release(arena, mark);
    return settings * (cut->work + states + 16.0 * (problem->n_vars + problem->n_edges));
}

/* Advance to the next setting of the fixed variables, the last running fastest. Returns false
 * after the last setting. */
static bool next_setting(const struct elimination_problem *problem, const struct restriction *r,
                         int *assignment)
{
    for (int i = r->n_fixed - 1; i >= 0; i--) {
        int v = r->fixed[i];
        if (++assignment[v] < problem->n_states[v])
            return true;
        assignment[v] = 0;
    }
    return false;
}

/* Solve exactly: enumerate the settings of the variables that the cheapest of several cuts
 * leaves out. Returns false if the work exceeds the limit. */
static bool condition(struct arena *arena, const struct elimination_problem *problem,
                      const struct elimination_options *options, struct elimination_result *out)
{
    struct elimination_order best = { 0 };
    double least = INFINITY, entries = (double)options->max_table_entries;
    for (; entries >= 1; entries /= 8) {
        struct elimination_order cut;
        hp_elimination_cut(arena, problem, entries, INFINITY, NULL, &cut);
        double work = conditioned_work(arena, problem, &cut);
        if (work < least) {
            least = work;
            best = cut;
        }
    }
    if (least > (double)options->max_work)
        return false;

    struct restriction r = restrict_to(arena, problem, &best);
    int *trial = NEW(arena, int, problem->n_vars);
    double cost = INFINITY;
    memset(out->assignment, 0, (size_t)problem->n_vars * sizeof(int));
    do {
        solve_restricted(arena, problem, &r, INFINITY, trial);
        double trial_cost = hp_elimination_cost(problem, trial);
        if (trial_cost < cost) {
            cost = trial_cost;
            memcpy(out->assignment, trial, (size_t)problem->n_vars * sizeof(int));
        }
    } while (!hp_stopped(problem->stop) && next_setting(problem, &r, trial));
    out->method = ELIMINATION_CONDITIONED;
    out->n_conditioned = r.n_fixed;
    out->exact = true;
    return true;
}

/* Solve exactly by one elimination or by enumeration. Returns false if neither is
 * affordable. */
static bool solve_exactly(struct arena *arena, const struct elimination_problem *problem,
                          const struct elimination_options *options,
                          struct elimination_result *out)
{
    struct elimination_order order;
    hp_elimination_order(arena, problem, (double)options->max_table_entries, &order);
    if (!order.fits)
        return condition(arena, problem, options, out);
    bool split;
    hp_elimination_tables(arena, problem, order.sequence, INFINITY, out->assignment, &split);
    out->method = ELIMINATION_PRUNED;
    out->exact = true;
    return true;
}

struct search {
    struct arena *arena;
    const struct elimination_problem *problem;
    double max_entries, max_work; /* limits for one block of free variables */
    double work_left;
    struct random random;
    uint64_t *priority;
    int *current, *trial;
    double cost; /* of `current` */
    bool infeasible;
};

/* The cost of an assignment with finite forbidden terms. `mark` gives the ends of forbidden
 * edges the highest priority, so that the next cut leaves them free. */
static double soft_cost(struct search *s, const int *assignment, bool mark)
{
    const struct elimination_problem *problem = s->problem;
    const uint64_t top = (uint64_t)1 << 63;
    double sum = 0;
    for (int v = 0; v < problem->n_vars; v++)
        sum += fmin(problem->cost[v][assignment[v]], FORBIDDEN);
    for (int e = 0; e < problem->n_edges; e++) {
        const struct elimination_edge *edge = &problem->edges[e];
        size_t row = (size_t)assignment[edge->u] * (size_t)problem->n_states[edge->v];
        double cost = edge->pair[row + (size_t)assignment[edge->v]];
        if (mark && cost >= FORBIDDEN) {
            s->priority[edge->u] |= top;
            s->priority[edge->v] |= top;
        }
        sum += fmin(cost, FORBIDDEN);
    }
    return sum;
}

/* Free as many random variables as an exact solution can handle, and solve for them. Returns
 * true if the result is better. The result is never worse, because the old states are among the
 * candidates. */
static bool improve_block(struct search *s)
{
    const struct elimination_problem *problem = s->problem;
    struct arena_mark mark = hp_arena_mark(s->arena);
    for (int v = 0; v < problem->n_vars; v++)
        s->priority[v] = hp_random_u64(&s->random) >> 1;
    soft_cost(s, s->current, true);
    struct elimination_order cut;
    hp_elimination_cut(s->arena, problem, s->max_entries, s->max_work, s->priority, &cut);
    s->work_left -= cut.work + 64.0 * (problem->n_vars + problem->n_edges);

    struct restriction r = restrict_to(s->arena, problem, &cut);
    memcpy(s->trial, s->current, (size_t)problem->n_vars * sizeof(int));
    double value = solve_restricted(s->arena, problem, &r, FORBIDDEN, s->trial);
    hp_arena_release(s->arena, mark);
    if (value >= INFINITY) {
        s->infeasible = true; /* infeasible even with free choice of the other variables */
        return false;
    }
    double cost = soft_cost(s, s->trial, false);
    if (cost >= s->cost)
        return false;
    int *swap = s->current;
    s->current = s->trial;
    s->trial = swap;
    s->cost = cost;
    return true;
}

/* Set a few variables to random states. */
static void push(struct search *s)
{
    const struct elimination_problem *problem = s->problem;
    for (int i = 0; i <= problem->n_vars / 16; i++) {
        int v = (int)hp_random_below(&s->random, problem->n_vars);
        s->current[v] = (int)hp_random_below(&s->random, problem->n_states[v]);
    }
    s->cost = soft_cost(s, s->current, false);
}

/* Iterated local search from the assignment in `out`; the assignment never gets worse. */
static void improve(struct search *s, struct elimination_result *out)
{
    size_t bytes = (size_t)s->problem->n_vars * sizeof(int);
    memcpy(s->current, out->assignment, bytes);
    double best = s->cost = soft_cost(s, s->current, false);
    for (int stale = 0; out->n_sweeps < HP_MANY / 4 && s->work_left > 0; out->n_sweeps++) {
        if (best <= out->lower_bound || s->infeasible || hp_stopped(s->problem->stop))
            return;
        stale = improve_block(s) ? 0 : stale + 1;
        if (s->cost < best) {
            best = s->cost;
            memcpy(out->assignment, s->current, bytes);
        }
        if (stale == STALE_ROUNDS) {
            memcpy(s->current, out->assignment, bytes);
            push(s);
            stale = 0;
        }
    }
}

/* The limit for one mini-bucket's table. All tables together must fit, and the number of tables
 * grows with the number of edges. */
static double bucket_entries(const struct elimination_problem *problem,
                             const struct elimination_options *options)
{
    double n_tables = problem->n_vars + problem->n_edges / 8.0;
    int most = 1;
    for (int v = 0; v < problem->n_vars; v++)
        most = problem->n_states[v] > most ? problem->n_states[v] : most;
    return fmin((double)options->max_table_entries / 4, (double)options->max_work / 8 / most) /
           n_tables;
}

/* Remove the states that no better assignment can have, by the bounds of `shifted`, and solve
 * exactly if the rest is small enough. */
static void close_gap(struct arena *arena, const struct elimination_problem *problem,
                      const struct elimination_problem *shifted, double ceiling,
                      const struct elimination_options *options, struct elimination_result *out)
{
    double max_entries = (double)options->max_table_entries;
    struct elimination_pruning pruning;
    if (!hp_elimination_prune_above(arena, problem, shifted, ceiling, max_entries, &pruning))
        return;
    struct elimination_result reduced = { .assignment = NEW(arena, int, problem->n_vars) };
    if (!solve_exactly(arena, &pruning.problem, options, &reduced))
        return;
    for (int v = 0; v < problem->n_vars; v++)
        reduced.assignment[v] = pruning.state[v][reduced.assignment[v]];
    if (hp_elimination_cost(problem, reduced.assignment) <
        hp_elimination_cost(problem, out->assignment))
        memcpy(out->assignment, reduced.assignment, (size_t)problem->n_vars * sizeof(int));
    out->method = reduced.method;
    out->n_conditioned = reduced.n_conditioned;
    out->n_pruned_states += pruning.n_pruned;
    out->exact = true;
}

/* Find a lower bound and an assignment when no exact method is affordable. */
static void approximate(struct arena *arena, const struct elimination_problem *problem,
                        const struct elimination_options *options,
                        const struct elimination_order *order, const int *initial,
                        struct elimination_result *out)
{
    int n = problem->n_vars;
    double max_entries = (double)options->max_table_entries,
           max_work = (double)options->max_work;
    struct elimination_problem shifted = *problem;
    double rounding = 0;
    bool split, is_shifted = hp_elimination_shift(arena, problem, max_entries, max_work / 8,
                                                  &shifted, &rounding);
    out->method = ELIMINATION_APPROXIMATE;
    out->lower_bound =
        hp_elimination_tables(arena, &shifted, order->sequence,
                              bucket_entries(problem, options), out->assignment, &split) -
        rounding;

    struct search s = { .arena = arena,
                        .problem = problem,
                        .max_entries = max_entries,
                        .max_work = max_work / 1024,
                        .work_left = max_work / 2,
                        .random = { options->seed } };
    s.priority = NEW(arena, uint64_t, n);
    s.current = NEW(arena, int, n);
    s.trial = NEW(arena, int, n);
    if (initial && soft_cost(&s, initial, false) < soft_cost(&s, out->assignment, false))
        memcpy(out->assignment, initial, (size_t)n * sizeof(int));
    improve(&s, out);
    if (s.infeasible)
        out->lower_bound = INFINITY;

    double cost = hp_elimination_cost(problem, out->assignment);
    if (is_shifted && cost < INFINITY && out->lower_bound < cost)
        close_gap(arena, problem, &shifted, cost + rounding, options, out);
}

/* The initial assignment in states of the pruned problem. Each removed state is replaced in the
 * order of removal, by a state that is no worse. */
static const int *reduce_initial(struct arena *arena, const struct elimination_pruning *pruning,
                                 const int *initial)
{
    if (!initial)
        return NULL;
    int n = pruning->problem.n_vars, *reduced = NEW(arena, int, n);
    memcpy(reduced, initial, (size_t)n * sizeof(int));
    for (int i = 0; i < pruning->n_pruned; i++) {
        const struct elimination_replacement *one = &pruning->replaced[i];
        if (reduced[one->var] == one->state)
            reduced[one->var] = one->by;
    }
    for (int v = 0; v < n; v++) {
        int state = 0;
        while (pruning->state[v][state] != reduced[v])
            state++;
        reduced[v] = state;
    }
    return reduced;
}

void hp_elimination_fallback(struct arena *arena, const struct elimination_problem *problem,
                             const struct elimination_options *options,
                             const struct elimination_order *order,
                             struct elimination_result *out)
{
    struct elimination_pruning pruning;
    if (!hp_elimination_prune(arena, problem, (double)options->max_table_entries,
                              (double)options->max_work / 8, &pruning)) {
        if (!condition(arena, problem, options, out))
            approximate(arena, problem, options, order, options->initial, out);
        return;
    }
    out->n_pruned_states = pruning.n_pruned;
    if (!solve_exactly(arena, &pruning.problem, options, out))
        approximate(arena, &pruning.problem, options, order,
                    reduce_initial(arena, &pruning, options->initial), out);
    for (int v = 0; v < problem->n_vars; v++)
        out->assignment[v] = pruning.state[v][out->assignment[v]];
}
