#include "cost/stragglers.h"

#include "cost/normal.h"

double hp_slowest_of(int n, double jitter)
{
    return n > 1 && jitter > 0 ? 1 + jitter * hp_normal_value((n - 0.375) / (n + 0.25)) : 1;
}
