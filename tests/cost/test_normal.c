/* The standard normal distribution and its inverse. */
#include "cost/normal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool near(double value, double wanted, double apart)
{
    return fabs(value - wanted) <= apart;
}

static void values_of_printed_tables(void **state)
{
    (void)state;
    assert_true(near(hp_normal_share(0), 0.5, 1e-15));
    assert_true(near(hp_normal_share(1.96), 0.9750021048517795, 1e-12));
    assert_true(near(hp_normal_value(0.975), 1.959963984540054, 1e-9));
    assert_true(near(hp_normal_value(0.95), 1.6448536269514722, 1e-9));
    assert_true(near(hp_normal_value(0.5), 0, 1e-15));
}

static void the_value_of_a_share_has_that_share(void **state)
{
    (void)state;
    for (double tail = 0.5; tail > 1e-12; tail *= 0.7) {
        assert_true(near(hp_normal_share(hp_normal_value(tail)) / tail, 1, 1e-9));
        assert_true(near(hp_normal_value(1 - tail), -hp_normal_value(tail), 1e-3));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_printed_tables),
        cmocka_unit_test(the_value_of_a_share_has_that_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
