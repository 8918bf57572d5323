/* base/number.h - numbers as text, the same in every locale. Internal. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TEXT_BYTES = 32, RANGE_TEXT_BYTES = 48 };

/* The shortest usual text that reads back as exactly `value`, which is finite ("0.1",
 * "16000000000", "1e-06"). `text` holds NUMBER_TEXT_BYTES; returns `text`. */
char *hp_number_text(char *text, double value);

/* Read an unsigned decimal number ("12", ".5", "1.6e-3") at the start of `text`. Returns the
 * number of characters read; 0 if there is no number, or it is not finite. */
size_t hp_number_read(const char *text, double *out);

static inline bool hp_is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* a / b, rounded up; 0 if a is not above 0. */
static inline int64_t hp_divide_up(int64_t a, int64_t b)
{
    return a <= 0 ? 0 : (a + b - 1) / b;
}

/* The integers from `least` to `most`, for messages: "0 to 3", "0", "none". `text` holds
 * RANGE_TEXT_BYTES; returns `text`. */
char *hp_range_text(char *text, int64_t least, int64_t most);

#endif /* BASE_NUMBER_H */
