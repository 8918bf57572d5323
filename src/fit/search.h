/* fit/search.h - the search for figures that predict the rows. Internal to the fit.
 *
 * The variables are the logarithms of those constants that are not left out. Residuals are
 * logarithms of predicted over measured seconds. */
#ifndef FIT_SEARCH_H
#define FIT_SEARCH_H

#include "fit/fit.h"

/* Fewer rows that depend on something do not determine it. */
enum { LEAST_ROWS = 3 };

struct search {
    struct hypar_fit *fit;
    struct predictor predictor;
    int n;
    int constant[MAX_VARIABLES]; /* by variable */
    double x[MAX_VARIABLES], low[MAX_VARIABLES], high[MAX_VARIABLES];
    struct least_squares_spread spread;
};

/* The residual of a row if the variables are x; past the rows: of doubt about each variable. */
double hp_fit_residual(struct search *search, int row, const double *x);

/* May the row's residual depend on variable `k`? */
bool hp_fit_depends(struct search *search, int row, int k);

/* Add a variable for this constant, which begins at such a value. */
void hp_fit_add(struct search *search, int constant, double value);

/* Minimise the residuals, of steps alone with doubts, beginning at search->x. `near`: the
 * minimum is near. */
void hp_fit_run(struct search *search, const bool *skip, bool near);

/* choices.c: change the framework to alternatives that explain the steps much better. */
void hp_fit_choose(struct search *search);

#endif /* FIT_SEARCH_H */
