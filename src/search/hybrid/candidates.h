/* search/hybrid/candidates.h - plans in closed form, the shortest step first. Internal to
 * planner hybrid. */
#ifndef SEARCH_HYBRID_CANDIDATES_H
#define SEARCH_HYBRID_CANDIDATES_H

#include "search/hybrid/pipeline.h"

enum { MOST_NUMBERS = 64 };

struct candidates {
    struct hybrid h;
    const struct problem *problem;
    int n_numbers;
    int64_t number[MOST_NUMBERS]; /* of micro-batches */
    bool all_numbers;             /* ... that divide the batch */
    bool all; /* also shapes that cannot be about as good as the best so far */
    double best_s;
    int n, capacity, n_found;
    struct candidate *candidate;
};

enum hypar_status hp_candidates_begin(struct candidates *out, struct arena *arena,
                                      const struct problem *problem, struct hypar_error *err);
void hp_candidates_end(struct candidates *s);

/* Find them anew. `all`: of every shape, though another is known that is much faster. */
void hp_find_candidates(struct candidates *s, bool all);

/* One more, at the end, if it fits and there is none like it. */
void hp_try_shape(struct candidates *s, const struct pipeline_shape *shape);

#endif /* SEARCH_HYBRID_CANDIDATES_H */
