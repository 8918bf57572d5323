/* search/hybrid/candidates.h - finds candidates: shapes of pipelines, each with its best cut in
 * closed form, sorted by their steps. Internal to planner hybrid. */
#ifndef SEARCH_HYBRID_CANDIDATES_H
#define SEARCH_HYBRID_CANDIDATES_H

#include "search/hybrid/pipeline.h"
#include "search/micro_batch.h"

struct candidates {
    struct hybrid h;
    const struct problem *problem;
    int n_numbers, number_capacity;
    int64_t *number;  /* numbers of micro-batches */
    bool all_numbers; /* these are all divisors of the batch */
    struct batch_limit limit;
    bool all; /* cut also shapes that are much slower than the best so far */
    double best_s;
    double least_s; /* the shortest step of all candidates, in closed form */
    int n, capacity, n_found;
    struct candidate *candidate;
    /* Shapes that would be faster with more memory. They have no stages yet, and their steps
     * are lower bounds. */
    int n_tight, tight_capacity;
    struct candidate *tight;
};

enum hypar_status hp_candidates_begin(struct candidates *out, struct arena *arena,
                                      const struct problem *problem, struct hypar_error *err);
void hp_candidates_end(struct candidates *s);

/* Find all candidates anew. `all`: of every shape, even if a much faster one is known. */
void hp_find_candidates(struct candidates *s, bool all);

/* Replace the candidates by those with steps below `below_s` that need a little more memory
 * than there is. Their closed forms may be too high; the exact need of the program decides. */
void hp_find_larger(struct candidates *s, double below_s);

/* Append the best cut of a shape if it fits and is not known yet. */
void hp_try_shape(struct candidates *s, const struct pipeline_shape *shape);

#endif /* SEARCH_HYBRID_CANDIDATES_H */
