/* fit/least_squares.h - robust nonlinear least squares. Internal.
 *
 * The loss is Huber's (1964): quadratic up to a little more than the usual residual, linear
 * beyond, so that a few rows that the model does not describe have little weight. Steps of
 * Levenberg and Marquardt (1944, 1963) with numeric derivatives minimise it within bounds.
 * Kinks in the residuals can stop these steps; then a search along one variable at a time goes
 * on. The result is deterministic. */
#ifndef FIT_LEAST_SQUARES_H
#define FIT_LEAST_SQUARES_H

#include <stdbool.h>

#include "base/arena.h"

enum { MAX_VARIABLES = 64 };

struct least_squares {
    int n_rows, n_variables;
    const double *low, *high; /* bounds of the variables */
    const bool *skip;         /* rows to ignore; NULL: none */
    bool near;                /* the minimum is near the start: steps alone find it */
    double (*residual)(void *who, int row, const double *x);
    bool (*depends)(void *who, int row,
                    int variable); /* does the row depend on the variable? NULL: on all */
    void *who;                     /* passed to the functions */
};

/* How well the rows determine the variables at `x`. */
struct least_squares_spread {
    double scale;                /* the usual residual: a standard deviation, from the median */
    double error[MAX_VARIABLES]; /* standard error of each variable; INFINITY: not determined */
    int rows[MAX_VARIABLES]; /* rows that depend on it: their residual changes by a tenth of it
                              */
};

/* Begin at x[], which is within bounds, and store the minimum there. */
void hp_least_squares(const struct least_squares *problem, double *x,
                      struct least_squares_spread *spread);

/* The `share` quantile of n sorted numbers: the least one that this share does not exceed. */
double hp_quantile(const double *v, int n, double share);

#endif /* FIT_LEAST_SQUARES_H */
