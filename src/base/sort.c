/* Sorting arrays in place, and the median of an array. */
#include "base/sort.h"

#include <stdlib.h>

void hp_sort(void *array, int64_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n > 1)
        qsort(array, (size_t)n, size, compare);
}

int hp_compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void hp_sort_ints(int *value, int64_t n)
{
    hp_sort(value, n, sizeof *value, hp_compare_ints);
}

void hp_sort_doubles(double *value, int64_t n)
{
    hp_sort(value, n, sizeof *value, compare_doubles);
}

double hp_median(double *value, int64_t n)
{
    hp_sort_doubles(value, n);
    return n == 0 ? 0 : (value[(n - 1) / 2] + value[n / 2]) / 2;
}
