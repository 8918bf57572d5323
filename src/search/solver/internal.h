/* search/solver/internal.h - the parts of hp_eliminate(), one file each. Internal to them.
 *
 *   order      which variable goes when, and how large the tables get; no table is touched
 *   tables     the elimination itself, exact or cut into mini-buckets
 *   combine    its inner loops (combine.h)
 *   prune      states that another state is never worse than
 *   shift      costs moved between edges and variables, for a better bound
 *   fallback   what to do when the tables do not fit */
#ifndef SEARCH_SOLVER_INTERNAL_H
#define SEARCH_SOLVER_INTERNAL_H

#include "search/solver/eliminate.h"

/* An order of elimination and what it costs. */
struct elimination_order {
    int *sequence; /* n variables in the order they go */
    int n;         /* all of them, or those a cut left free */
    bool fits;     /* no limit was met; else the figures below stop at the first table beyond it
                    * and the rest of the sequence is a guess */
    int n_node_eliminations, n_general_eliminations, n_edge_eliminations, width;
    double largest_entries, total_entries;
    double work; /* additions, roughly */
};

/* Order all variables so that few table entries are needed, at most `max_entries` if that can
 * be had. */
void hp_elimination_order(struct arena *arena, const struct elimination_problem *problem,
                          double max_entries, struct elimination_order *out);

/* Order as many variables as fit in `max_entries` and `max_work`; the others are to be fixed to
 * a state. Where one must go, it is that of the lowest `priority`, or with NULL the one whose
 * fixing costs fewest states per edge removed. */
void hp_elimination_cut(struct arena *arena, const struct elimination_problem *problem,
                        double max_entries, double max_work, const uint64_t *priority,
                        struct elimination_order *out);

/* Eliminate in the given order (all variables; NULL: 0, 1, ...) and choose the states
 * backwards. A table beyond `max_entries` is replaced by several smaller ones whose sum is
 * never above it (mini-buckets), so the value returned is the minimum, or a lower bound if
 * *split. */
double hp_elimination_tables(struct arena *arena, const struct elimination_problem *problem,
                             const int *sequence, double max_entries, int *assignment,
                             bool *split);

/* A problem without some of its states. */
struct elimination_pruning {
    struct elimination_problem problem;
    int **state; /* state[v][reduced state] = state of the whole problem */
    int n_pruned;
    struct elimination_replacement { /* for each state removed, in order, one never worse */
        int var, state, by;
    } * replaced; /* NULL: not known */
};

/* Remove states that another state of the same variable is never worse than, whatever the
 * neighbours do (dead-end elimination), spending at most about `max_work`. False, and nothing
 * made, if none were found or the copies would exceed `max_entries`. */
bool hp_elimination_prune(struct arena *arena, const struct elimination_problem *problem,
                          double max_entries, double max_work, struct elimination_pruning *out);

/* Remove states that no assignment of `ceiling` or less has, by the bounds of `shifted`, which
 * hp_elimination_shift() made of the problem. Else as above. */
bool hp_elimination_prune_above(struct arena *arena, const struct elimination_problem *problem,
                                const struct elimination_problem *shifted, double ceiling,
                                double max_entries, struct elimination_pruning *out);

/* Make *out a copy of the problem in which every assignment costs the same, but for *rounding
 * at most, and whose lower bounds are better. False, and nothing made, if the copy would exceed
 * `max_entries`. */
bool hp_elimination_shift(struct arena *arena, const struct elimination_problem *problem,
                          double max_entries, double max_work, struct elimination_problem *out,
                          double *rounding);

/* Solve what does not fit: fills all of `out` but the figures of the plain elimination. All
 * options are set; `order` is the plain order that did not fit. */
void hp_elimination_fallback(struct arena *arena, const struct elimination_problem *problem,
                             const struct elimination_options *options,
                             const struct elimination_order *order,
                             struct elimination_result *out);

#endif /* SEARCH_SOLVER_INTERNAL_H */
