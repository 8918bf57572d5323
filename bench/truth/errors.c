/* Errors of predictions. */
#include <math.h>

#include "bench/truth/truth.h"

/* Of equal values the mean rank. */
static double rank_of(const double *value, int n, double of)
{
    double rank = 0;
    for (int i = 0; i < n; i++)
        rank += value[i] < of ? 1 : value[i] == of ? 0.5 : 0;
    return rank;
}

/* Spearman's: the correlation of ranks. */
static double rank_correlation(const double *measured, const double *predicted, int n)
{
    double xy = 0, xx = 0, yy = 0, mean = n / 2.;
    for (int i = 0; i < n; i++) {
        double x = rank_of(measured, n, measured[i]) - mean;
        double y = rank_of(predicted, n, predicted[i]) - mean;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

struct truth_errors truth_errors(const double *measured, const double *predicted, int n)
{
    struct truth_errors e = { .rows = n };
    for (int i = 0; i < n; i++) {
        double error = predicted[i] / measured[i] - 1;
        e.mean += fabs(error) / n;
        e.bias += error / n;
        if (fabs(error) > fabs(e.worst)) {
            e.worst = error;
            e.worst_row = i;
        }
    }
    e.rank = rank_correlation(measured, predicted, n);
    return e;
}
