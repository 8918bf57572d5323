/* run/optimizer/update.h - the loops that update a parameter, in each precision. Internal to
 * run/. */
#ifndef RUN_OPTIMIZER_UPDATE_H
#define RUN_OPTIMIZER_UPDATE_H

#include "run/optimizer/coefficients.h"
#include "run/optimizer/optimizer.h"

struct update_loops {
    void (*sgd)(const struct update *u, int64_t n, void *w, const void *g);
    void (*momentum)(const struct update *u, int64_t n, void *w, const void *g, void *v);
    void (*adam)(const struct update *u, int64_t n, void *w, const void *g,
                 const struct optimizer_state *state);
    double (*sum_of_squares)(int64_t n, const void *x);
};

/* The coefficients of a step. */
struct update hp_update_of(const struct optimizer *optimizer, const struct update_step *at);

extern const struct update_loops hp_update_f32, hp_update_f64;

#endif /* RUN_OPTIMIZER_UPDATE_H */
