/* The slowest of several devices: the expected maximum of normals, and its order. */
#include "cost/stragglers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Expected maxima of n standard normals, as tables of order statistics have them. */
static void as_tabulated(void **state)
{
    (void)state;
    static const struct {
        int n;
        double expected;
    } rows[] = { { 2, .5642 }, { 5, 1.1630 }, { 10, 1.5388 }, { 100, 2.5076 }, { 1000, 3.2414 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = (hp_slowest_of(rows[i].n, 0.1) - 1) / 0.1;
        if (fabs(got / rows[i].expected - 1) > 0.05)
            fail_msg("of %d: %g, expected %g", rows[i].n, got, rows[i].expected);
    }
}

static void more_devices_are_never_faster(void **state)
{
    (void)state;
    assert_true(hp_slowest_of(1, 0.5) == 1);
    for (int n = 2; n <= 1 << 20; n *= 2) {
        assert_true(hp_slowest_of(n, 0) == 1);
        assert_true(hp_slowest_of(n, 0.03) > hp_slowest_of(n / 2, 0.03));
        assert_true(hp_slowest_of(n, 0.03) > hp_slowest_of(n, 0.02));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_tabulated),
        cmocka_unit_test(more_devices_are_never_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
