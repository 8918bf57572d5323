/* search/solver/eliminate.h - the one exact solver: a state per variable so that the sum of a
 * cost per variable and a cost per edge is least. Internal.
 *
 * HyPar's dynamic programming over layers, AccPar's multi-path search and OptCNN's node and
 * edge eliminations (Eq. 2 and 3) are this problem; a planner fills the tables and reads the
 * states. Any graph is solved exactly by variable elimination while its tables fit the limit.
 * Beyond it the result says so: `method` tells what was done, `exact` whether the minimum was
 * reached all the same, `lower_bound` how far off it can be. */
#ifndef SEARCH_SOLVER_ELIMINATE_H
#define SEARCH_SOLVER_ELIMINATE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/stop.h"

/* One term of the sum: pair[state of u * n_states[v] + state of v]. Edges between the same
 * variables add up; u == v counts pair[s * n_states + s]. Edges may share a table. */
struct elimination_edge {
    int u, v;
    const double *pair;
};

/* Costs are finite or +INFINITY (forbidden); never NaN or -INFINITY. Everything is the caller's
 * and is only read. */
struct elimination_problem {
    int n_vars;
    const int *n_states;       /* of each variable, at least 1 */
    const double *const *cost; /* cost[v][state] */
    int n_edges;
    const struct elimination_edge *edges;
    const volatile sig_atomic_t *stop; /* NULL: nobody can */
};

/* All zero: the defaults. */
struct elimination_options {
    int64_t max_table_entries; /* of all tables together, 8 bytes each; 0: 2^26 */
    int64_t max_work;          /* additions the fallback may spend, roughly; 0: 2^31 */
    uint64_t seed;             /* of the fallback's local search */
    const int *initial;        /* a state per variable, or NULL: the result is never above it */
};

enum elimination_method {
    ELIMINATION_EXACT,       /* plain variable elimination */
    ELIMINATION_PRUNED,      /* the same without states shown to be needless; exact too */
    ELIMINATION_CONDITIONED, /* one elimination for each setting of a few variables; exact too
                              */
    ELIMINATION_APPROXIMATE, /* mini-bucket bound and local search; exact if they meet */
};

struct elimination_result {
    int *assignment; /* in: the caller's array of n_vars; out: the states chosen */
    double cost;     /* the sum, recomputed from the assignment; INFINITY: none found */
    double lower_bound;
    bool exact;    /* cost is the minimum (to rounding), and lower_bound equals it */
    bool feasible; /* cost is finite; exact and not feasible: there is no finite assignment */
    enum elimination_method method;

    /* The plain elimination, whether or not it was done. Where it did not fit the limit these
     * count up to the first table beyond it, which is included. */
    int n_node_eliminations;    /* variables with at most two neighbours (OptCNN Eq. 2) */
    int n_general_eliminations; /* variables with three neighbours and more */
    int n_edge_eliminations;    /* parallel edges added up (OptCNN Eq. 3) */
    int width;                  /* most neighbours of a variable when eliminated */
    double largest_entries;     /* of the tables over those neighbours */
    double total_entries;       /* of those over two and more, which take memory */

    int n_pruned_states; /* what the fallback did */
    int n_conditioned;   /* variables whose states were enumerated */
    int n_sweeps;        /* of the local search */
};

/* Solve `problem`; `options` may be NULL. Scratch memory is returned to the arena. Fails with
 * HYPAR_INVALID on a malformed problem (index or state out of range), never on an infeasible
 * one; and with hp_check_stop().
 *
 * Same input, same result. The order of elimination follows from the graph and the numbers of
 * states alone: ends of chains first, lowest index first, then by the least table, the index or
 * the fewest new edges, whichever gives the least work. States are then chosen in the
 * reverse order, the lowest state among equals. A chain is thus decided from its last variable
 * back, as in a forward dynamic programme. An initial assignment wins only if it is strictly
 * cheaper. */
enum hypar_status hp_eliminate(struct arena *scratch, const struct elimination_problem *problem,
                               const struct elimination_options *options,
                               struct elimination_result *out, struct hypar_error *err);

/* The sum for one assignment: variables in order, then edges in order. */
double hp_elimination_cost(const struct elimination_problem *problem, const int *assignment);

#endif /* SEARCH_SOLVER_ELIMINATE_H */
