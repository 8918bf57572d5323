#include "cost/stragglers.h"

#include <math.h>

/* Where the standard normal distribution is p, 0.5 <= p < 1: by bisection. */
static double normal_quantile(double p)
{
    enum { HALVINGS = 60 };
    double low = 0, high = 10;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        *(0.5 * erfc(-middle / sqrt(2)) < p ? &low : &high) = middle;
    }
    return low;
}

double hp_slowest_of(int n, double jitter)
{
    return n > 1 && jitter > 0 ? 1 + jitter * normal_quantile((n - 0.375) / (n + 0.25)) : 1;
}
