/* base/divisor.h - the divisors of a number, in ascending order. Internal. */
#ifndef BASE_DIVISOR_H
#define BASE_DIVISOR_H

#include <stdint.h>

/* The least divisor of n that is greater than d; 0: there is none. n >= 1, d >= 0. Listing all
 * divisors takes at most twice the square root of n steps: beyond the root, each divisor is n /
 * b for a divisor b below the root. */
static inline int64_t hp_next_divisor(int64_t n, int64_t d)
{
    if (d >= n)
        return 0;
    for (d++; d <= n / d; d++)
        if (n % d == 0)
            return d;
    int64_t beside = (n - 1) / (d - 1); /* the largest b with n / b >= d */
    while (n % beside != 0)
        beside--;
    return n / beside;
}

#endif /* BASE_DIVISOR_H */
