/* base/sort.h - sorting arrays in place. Internal.
 *
 * All callers use these functions instead of qsort(): qsort() must not
 * be called with a null pointer, which an empty array may be. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* As qsort(); `array` may be NULL if n is 0. */
void hp_sort(void *array, int64_t n, size_t size, int (*compare)(const void *, const void *));

int hp_compare_ints(const void *a, const void *b);

/* In ascending order. */
void hp_sort_ints(int *value, int64_t n);
void hp_sort_doubles(double *value, int64_t n);

/* The median; sorts the values. For an even number of values: the mean of the middle two. 0 for
 * none. */
double hp_median(double *value, int64_t n);

#endif /* BASE_SORT_H */
