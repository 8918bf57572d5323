/* The exact solver. Checks the problem, orders the variables and eliminates them. If the tables
 * exceed the limit, the fallback solves the problem (fallback.c). */
#include "search/solver/eliminate.h"

#include <math.h>

#include "search/limits.h"
#include "search/solver/internal.h"

enum { MOST_STATES = 1 << 20 };

static enum hypar_status check(const struct elimination_problem *problem,
                               const struct elimination_options *options,
                               struct hypar_error *err)
{
    if (problem->n_vars < 0 || problem->n_edges < 0)
        return hp_fail(err, HYPAR_INVALID,
                       "elimination: %d variables and %d edges, expected none "
                       "or more",
                       problem->n_vars, problem->n_edges);
    for (int v = 0; v < problem->n_vars; v++) {
        int n = problem->n_states[v];
        if (n < 1 || n > MOST_STATES)
            return hp_fail(err, HYPAR_INVALID,
                           "elimination: variable %d has %d states, expected "
                           "1 to %d",
                           v, n, MOST_STATES);
        if (options->initial && (options->initial[v] < 0 || options->initial[v] >= n))
            return hp_fail(err, HYPAR_INVALID,
                           "elimination: variable %d starts in state %d, "
                           "expected 0 to %d",
                           v, options->initial[v], n - 1);
    }
    for (int e = 0; e < problem->n_edges; e++) {
        int u = problem->edges[e].u, v = problem->edges[e].v;
        if (u < 0 || v < 0 || u >= problem->n_vars || v >= problem->n_vars)
            return hp_fail(err, HYPAR_INVALID,
                           "elimination: edge %d joins %d and %d, expected "
                           "variables 0 to %d",
                           e, u, v, problem->n_vars - 1);
    }
    if (options->max_table_entries < 0 || options->max_work < 0)
        return hp_fail(err, HYPAR_INVALID,
                       "elimination: a limit is negative, expected 0 (the "
                       "default) or more");
    return HYPAR_OK;
}

double hp_elimination_cost(const struct elimination_problem *problem, const int *assignment)
{
    double sum = 0;
    for (int v = 0; v < problem->n_vars; v++)
        sum += problem->cost[v][assignment[v]];
    for (int e = 0; e < problem->n_edges; e++) {
        const struct elimination_edge *edge = &problem->edges[e];
        size_t row = (size_t)assignment[edge->u] * (size_t)problem->n_states[edge->v];
        sum += edge->pair[row + (size_t)assignment[edge->v]];
    }
    return sum;
}

/* Compute the cost of the assignment found, replace it by a cheaper `initial`, and set bound
 * and flags. On entry, `lower_bound` and `exact` are those of the method. */
static void settle(const struct elimination_problem *problem, const int *initial,
                   struct elimination_result *out)
{
    out->cost = hp_elimination_cost(problem, out->assignment);
    if (initial) {
        double cost = hp_elimination_cost(problem, initial);
        if (cost < out->cost) {
            out->cost = cost;
            for (int v = 0; v < problem->n_vars; v++)
                out->assignment[v] = initial[v];
        }
    }
    /* The bound adds the same terms in another order, so equality holds up to rounding. */
    double slack = isfinite(out->cost) ? 1e-12 * fabs(out->cost) : 0;
    if (out->exact || out->lower_bound >= out->cost - slack) {
        out->exact = true;
        out->lower_bound = out->cost;
    }
    out->feasible = out->cost < INFINITY;
}

enum hypar_status hp_eliminate(struct arena *scratch, const struct elimination_problem *problem,
                               const struct elimination_options *options,
                               struct elimination_result *out, struct hypar_error *err)
{
    struct elimination_options chosen = options ? *options : (struct elimination_options){ 0 };
    TRY(check(problem, &chosen, err));
    if (!chosen.max_table_entries)
        chosen.max_table_entries = (int64_t)HP_MOST_BYTES / 8;
    if (!chosen.max_work)
        chosen.max_work = (int64_t)4 * HP_MOST_ADDITIONS;

    struct arena_mark mark = hp_arena_mark(scratch);
    struct elimination_order order;
    hp_elimination_order(scratch, problem, (double)chosen.max_table_entries, &order);
    *out = (struct elimination_result){ .assignment = out->assignment,
                                        .n_node_eliminations = order.n_node_eliminations,
                                        .n_general_eliminations = order.n_general_eliminations,
                                        .n_edge_eliminations = order.n_edge_eliminations,
                                        .width = order.width,
                                        .largest_entries = order.largest_entries,
                                        .total_entries = order.total_entries };
    if (order.fits) {
        bool split;
        out->method = ELIMINATION_EXACT;
        out->exact = true;
        hp_elimination_tables(scratch, problem, order.sequence, INFINITY, out->assignment,
                              &split);
    } else {
        hp_elimination_fallback(scratch, problem, &chosen, &order, out);
    }
    settle(problem, chosen.initial, out);
    hp_arena_release(scratch, mark);
    return hp_check_stop(problem->stop, err);
}
