/* run/optimizer/coefficients.h - the coefficients of an update. Internal to run/. It is part of
 * sources for cards, too, so it includes nothing. */
#ifndef RUN_OPTIMIZER_COEFFICIENTS_H
#define RUN_OPTIMIZER_COEFFICIENTS_H

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

#endif /* RUN_OPTIMIZER_COEFFICIENTS_H */
