/* base/divisor.h - the divisors of a number, in order. Internal. */
#ifndef BASE_DIVISOR_H
#define BASE_DIVISOR_H

#include <stdint.h>

/* The least divisor of n that is greater than d; 0: there is none. All of them, one after
 * another, take no more than twice the root of n steps: beyond it d is what n has beside a
 * divisor below it. n >= 1, d >= 0. */
static inline int64_t hp_next_divisor(int64_t n, int64_t d)
{
    if (d >= n)
        return 0;
    for (d++; d <= n / d; d++)
        if (n % d == 0)
            return d;
    int64_t beside = (n - 1) / (d - 1); /* n / beside >= d, and so for less */
    while (n % beside != 0)
        beside--;
    return n / beside;
}

#endif /* BASE_DIVISOR_H */
