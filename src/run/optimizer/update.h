/* run/optimizer/update.h - the loops that update a parameter, in each precision. Internal to
 * run/. */
#ifndef RUN_OPTIMIZER_UPDATE_H
#define RUN_OPTIMIZER_UPDATE_H

#include "run/optimizer/optimizer.h"

/* The coefficients of the loops, computed once for a call:
 *
 *   g = scale gradient + decay w
 *   sgd        w = w - rate g
 *   momentum   v = beta1 v + g;  w = w - rate v
 *   adam       m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g g
 *              w = keep w - rate m / (root sqrt(v) + epsilon) */
struct update {
    double scale, decay, rate;
    double beta1, beta2, epsilon;
    double keep; /* the share of w that decoupled decay leaves */
    double root; /* 1 / sqrt(correction of v) */
};

struct update_loops {
    void (*sgd)(const struct update *u, int64_t n, void *w, const void *g);
    void (*momentum)(const struct update *u, int64_t n, void *w, const void *g, void *v);
    void (*adam)(const struct update *u, int64_t n, void *w, const void *g,
                 const struct optimizer_state *state);
    double (*sum_of_squares)(int64_t n, const void *x);
};

extern const struct update_loops hp_update_f32, hp_update_f64;

#endif /* RUN_OPTIMIZER_UPDATE_H */
