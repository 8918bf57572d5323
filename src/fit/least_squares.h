/* fit/least_squares.h - variables for which residuals are least, robustly. Internal.
 *
 * The loss is Huber's (1964): the square of a residual up to a little more than the usual one,
 * and linear beyond, so that a few rows that a model does not describe decide little. It is
 * made least by Levenberg's and Marquardt's steps (1944, 1963) with numeric derivatives, within
 * bounds; where residuals have kinks, which stop them, changes of one variable at a time go on.
 * All of it is deterministic. */
#ifndef FIT_LEAST_SQUARES_H
#define FIT_LEAST_SQUARES_H

#include <stdbool.h>

#include "base/arena.h"

enum { MAX_VARIABLES = 64 };

struct least_squares {
    int n_rows, n_variables;
    const double *low, *high; /* bounds of the variables */
    const bool *skip;         /* rows that do not count; NULL: all do */
    bool near;                /* the best is near where it begins: steps alone find it */
    double (*residual)(void *who, int row, const double *x);
    bool (*depends)(void *who, int row, int variable); /* can it? NULL: on all */
    void *who;                                         /* handed to them */
};

/* How well the rows decide the variables at `x`. */
struct least_squares_spread {
    double scale; /* the usual residual: as a standard deviation, by the median */
    double error[MAX_VARIABLES]; /* standard error of each variable; INFINITY: not decided */
    int rows[MAX_VARIABLES];     /* that feel it: their residual changes by a tenth of it */
};

/* Begin at x[], within bounds, and leave the best there. */
void hp_least_squares(const struct least_squares *problem, double *x,
                      struct least_squares_spread *spread);

/* The `share` quantile of n numbers in order: the least that so many are not above. */
double hp_quantile(const double *v, int n, double share);

#endif /* FIT_LEAST_SQUARES_H */
