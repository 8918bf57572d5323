/* Lists of divisors, in order. */
#include "base/divisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* As one finds them that tries every number. */
static void all_in_order(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 400; n++) {
        for (int64_t d = 0, expected; d <= n; d++) {
            for (expected = d + 1; expected <= n && n % expected != 0; expected++)
                ;
            assert_int_equal(hp_next_divisor(n, d), expected <= n ? expected : 0);
        }
    }
}

/* Of a number that nobody counts up to. */
static void of_large_numbers(void **state)
{
    const int64_t n = 10000000000, prime = 9999999967;
    int64_t d = 0, sum = 0, count = 0;
    (void)state;
    while ((d = hp_next_divisor(n, d))) {
        sum += d;
        count++;
    }
    assert_int_equal(count, 11 * 11);
    assert_int_equal(sum, (int64_t)2047 * 12207031); /* (2^11 - 1) (5^11 - 1) / 4 */
    assert_int_equal(hp_next_divisor(prime, 1), prime);
    assert_int_equal(hp_next_divisor(prime, prime), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_in_order),
        cmocka_unit_test(of_large_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
