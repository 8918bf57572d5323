/* search/solver/internal.h - the steps of hp_eliminate(), one file each. Internal to these
 * files.
 *
 *   order      finds the order of elimination and the sizes of the tables; makes no table
 *   tables     eliminates in this order, exactly or by mini-buckets
 *   combine    the inner loops of tables.c (combine.h)
 *   prune      removes states that cannot improve the minimum
 *   shift      moves costs between edges and variables for a better lower bound
 *   fallback   solves problems whose tables exceed the limit */
#ifndef SEARCH_SOLVER_INTERNAL_H
#define SEARCH_SOLVER_INTERNAL_H

#include "search/solver/eliminate.h"

/* An order of elimination and its cost. */
struct elimination_order {
    int *sequence; /* n variables, in the order of elimination */
    int n;         /* all variables, or those that a cut leaves free */
    bool fits;     /* false: a limit was exceeded. Then the figures below end with the first
                    * table beyond the limit, and the rest of the sequence is a guess */
    int n_node_eliminations, n_general_eliminations, n_edge_eliminations, width;
    double largest_entries, total_entries;
    double work; /* additions, roughly */
};

/* Order all variables so that their tables have few entries, at most `max_entries` if
 * possible. */
void hp_elimination_order(struct arena *arena, const struct elimination_problem *problem,
                          double max_entries, struct elimination_order *out);

/* Order as many variables as fit in `max_entries` and `max_work`; the caller fixes the others
 * to a state. If a variable must be left out, the one with the lowest `priority` is; with NULL,
 * the one that loses the fewest states per edge removed. */
void hp_elimination_cut(struct arena *arena, const struct elimination_problem *problem,
                        double max_entries, double max_work, const uint64_t *priority,
                        struct elimination_order *out);

/* Eliminate all variables in the order `sequence` (NULL: 0, 1, ...) and choose the states in
 * reverse order. Several smaller tables (mini-buckets) replace a table beyond `max_entries`;
 * their sum is never above it. So the value returned is the minimum or, if *split, a lower
 * bound. */
double hp_elimination_tables(struct arena *arena, const struct elimination_problem *problem,
                             const int *sequence, double max_entries, int *assignment,
                             bool *split);

/* A problem without some of its states. */
struct elimination_pruning {
    struct elimination_problem problem;
    int **state; /* state[v][reduced state] = state of the whole problem */
    int n_pruned;
    struct elimination_replacement { /* for each removed state, in order, the state that
                                      * replaces it: never worse */
        int var, state, by;
    } * replaced; /* NULL: no replacement is known */
};

/* Remove each state of a variable that another of its states dominates for any states of the
 * neighbours (dead-end elimination). Spends at most about `max_work`. Returns false, and makes
 * nothing, if no state was removed or if the copies would exceed `max_entries`. */
bool hp_elimination_prune(struct arena *arena, const struct elimination_problem *problem,
                          double max_entries, double max_work, struct elimination_pruning *out);

/* Remove each state that no assignment of cost `ceiling` or less can have. The lower bounds are
 * those of `shifted`, which hp_elimination_shift() made from the problem. Returns as
 * hp_elimination_prune(). */
bool hp_elimination_prune_above(struct arena *arena, const struct elimination_problem *problem,
                                const struct elimination_problem *shifted, double ceiling,
                                double max_entries, struct elimination_pruning *out);

/* Make *out a copy of the problem with better lower bounds, in which every assignment costs the
 * same up to *rounding. Returns false, and makes nothing, if the copy would exceed
 * `max_entries`. */
bool hp_elimination_shift(struct arena *arena, const struct elimination_problem *problem,
                          double max_entries, double max_work, struct elimination_problem *out,
                          double *rounding);

/* Solve a problem whose tables exceed the limit. Fills `out` except the figures of the plain
 * elimination. All options are set; `order` is the order of the plain elimination. */
void hp_elimination_fallback(struct arena *arena, const struct elimination_problem *problem,
                             const struct elimination_options *options,
                             const struct elimination_order *order,
                             struct elimination_result *out);

#endif /* SEARCH_SOLVER_INTERNAL_H */
