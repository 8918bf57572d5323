/* search/solver/eliminate.h - the exact solver: chooses a state for each variable so that the
 * sum of a cost per variable and a cost per edge is least. Internal.
 *
 * HyPar's dynamic programming over layers, AccPar's multi-path search and OptCNN's node and
 * edge eliminations (Eq. 2 and 3) are this problem: a planner fills the tables and reads the
 * states. Variable elimination solves any graph exactly while its tables fit the limit. Beyond
 * the limit, the result says so: `method` names the method used, `exact` says whether the cost
 * is the minimum nevertheless, and `lower_bound` bounds the distance from the minimum. */
#ifndef SEARCH_SOLVER_ELIMINATE_H
#define SEARCH_SOLVER_ELIMINATE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/stop.h"

/* One term of the sum: pair[state of u * n_states[v] + state of v]. Edges between the same
 * variables add up. An edge with u == v adds pair[s * n_states + s]. Edges may share a
 * table. */
struct elimination_edge {
    int u, v;
    const double *pair;
};

/* Costs are finite or +INFINITY (forbidden); never NaN or -INFINITY. The caller owns all
 * arrays; the solver only reads them. */
struct elimination_problem {
    int n_vars;
    const int *n_states;       /* of each variable, at least 1 */
    const double *const *cost; /* cost[v][state] */
    int n_edges;
    const struct elimination_edge *edges;
    const volatile sig_atomic_t *stop; /* stops the solver when set; NULL: never */
};

/* Zero in a field means its default. */
struct elimination_options {
    int64_t max_table_entries; /* limit of all tables together, 8 bytes an entry; 0: 2^26 */
    int64_t max_work;          /* additions that the fallback may spend, roughly; 0: 2^31 */
    uint64_t seed;             /* seed of the fallback's local search */
    const int *initial;        /* a state per variable, or NULL; the result costs no more than
                                * this assignment */
};

enum elimination_method {
    ELIMINATION_EXACT,       /* plain variable elimination */
    ELIMINATION_PRUNED,      /* plain elimination after pruning unnecessary states; also
                              * exact */
    ELIMINATION_CONDITIONED, /* one elimination for each setting of a few variables; also
                              * exact */
    ELIMINATION_APPROXIMATE, /* mini-bucket bound and local search; exact if the two meet */
};

struct elimination_result {
    int *assignment; /* in: the caller's array of n_vars ints; out: the states chosen */
    double cost;     /* the sum, recomputed from the assignment; INFINITY: no finite assignment
                      * was found */
    double lower_bound;
    bool exact;    /* cost is the minimum (up to rounding) and equals lower_bound */
    bool feasible; /* cost is finite. Exact but not feasible: no finite assignment exists */
    enum elimination_method method;

    /* Figures of the plain elimination, whether it was executed or not. If it does not fit the
     * limit, the figures include the first table beyond the limit and end there. */
    int n_node_eliminations;    /* variables with at most two neighbours (OptCNN Eq. 2) */
    int n_general_eliminations; /* variables with three neighbours and more */
    int n_edge_eliminations;    /* parallel edges added up (OptCNN Eq. 3) */
    int width;                  /* largest number of neighbours of a variable at its
                                 * elimination */
    double largest_entries;     /* entries of the largest table over the neighbours of a
                                 * variable */
    double total_entries;       /* entries of all tables over two variables or more: these take
                                 * memory */

    int n_pruned_states; /* states that the fallback removed */
    int n_conditioned;   /* variables whose states were enumerated */
    int n_sweeps;        /* sweeps of the local search */
};

/* Solve `problem`; `options` may be NULL. Returns its scratch memory to the arena. Fails with
 * HYPAR_INVALID on a malformed problem (index or state out of range) and with hp_check_stop();
 * an infeasible problem is no failure.
 *
 * Same input, same result. The order of elimination depends only on the graph and the numbers
 * of states. Ends of chains go first, the lowest index among them. Then one of three rules
 * chooses: the smallest table, the lowest index, or the fewest new edges; the solver uses the
 * rule that gives the least work. States are then chosen in reverse order, the lowest state
 * among equals. So a chain is decided from its last variable back, as in a forward dynamic
 * programme. An initial assignment wins only if it is strictly cheaper. */
enum hypar_status hp_eliminate(struct arena *scratch, const struct elimination_problem *problem,
                               const struct elimination_options *options,
                               struct elimination_result *out, struct hypar_error *err);

/* The sum for one assignment: variables in order, then edges in order. */
double hp_elimination_cost(const struct elimination_problem *problem, const int *assignment);

#endif /* SEARCH_SOLVER_ELIMINATE_H */
