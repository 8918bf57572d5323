/* search/hybrid/candidates.h - plans in closed form, the shortest step first. Internal to
 * planner hybrid. */
#ifndef SEARCH_HYBRID_CANDIDATES_H
#define SEARCH_HYBRID_CANDIDATES_H

#include "search/hybrid/pipeline.h"
#include "search/micro_batch.h"

struct candidates {
    struct hybrid h;
    const struct problem *problem;
    int n_numbers, number_capacity;
    int64_t *number;  /* of micro-batches */
    bool all_numbers; /* ... that divide the batch */
    struct batch_limit limit;
    bool all; /* also shapes that cannot be about as good as the best so far */
    double best_s;
    double least_s; /* of those found, the shortest step in closed form */
    int n, capacity, n_found;
    struct candidate *candidate;
    /* Shapes that would be faster if there were more memory, without stages; their step is a
     * lower bound. */
    int n_tight, tight_capacity;
    struct candidate *tight;
};

enum hypar_status hp_candidates_begin(struct candidates *out, struct arena *arena,
                                      const struct problem *problem, struct hypar_error *err);
void hp_candidates_end(struct candidates *s);

/* Find them anew. `all`: of every shape, though another is known that is much faster. */
void hp_find_candidates(struct candidates *s, bool all);

/* Find those below so many seconds that need a little more memory than there is: closed forms
 * may count too much of it, and the need that is worked out from a program decides. They take
 * the place of those before. */
void hp_find_larger(struct candidates *s, double below_s);

/* One more, at the end, if it fits and there is none like it. */
void hp_try_shape(struct candidates *s, const struct pipeline_shape *shape);

#endif /* SEARCH_HYBRID_CANDIDATES_H */
