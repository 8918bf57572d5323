/* Sorting, including empty arrays. */
#include "base/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void values_ascend(void **state)
{
    (void)state;
    int value[] = { 3, -2147483647, 2147483647, 0 };
    const int sorted[] = { -2147483647, 0, 3, 2147483647 };
    hp_sort_ints(value, 4);
    assert_memory_equal(value, sorted, sizeof sorted);
}

static void empty_arrays_may_be_null(void **state)
{
    (void)state;
    hp_sort_ints(NULL, 0);
    hp_sort_doubles(NULL, 0);
    hp_sort(NULL, 0, sizeof(int), hp_compare_ints);
}

static void medians(void **state)
{
    (void)state;
    double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };
    assert_true(hp_median(odd, 3) == 2);
    assert_true(hp_median(even, 4) == 2.5);
    assert_true(hp_median(NULL, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_ascend),
        cmocka_unit_test(empty_arrays_may_be_null),
        cmocka_unit_test(medians),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
