/* Numbers to and from text, the same in every locale. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBER_CHARS = 400 }; /* longer numbers are refused */

/* The host program may have set a locale that writes "1,5". */
static const char *decimal_point(void)
{
    const char *point = localeconv()->decimal_point;
    return *point ? point : ".";
}

/* Replace the locale's decimal point in `text` by ".". */
static void plain_point(char *text)
{
    const char *point = decimal_point();
    char *at = strstr(text, point);
    if (!at)
        return;
    size_t n = strlen(point);
    *at = '.';
    memmove(at + 1, at + n, strlen(at + n) + 1);
}

char *hp_number_text(char *text, double value)
{
    if (value == 0)
        return strcpy(text, "0");
    if (value == trunc(value) && fabs(value) < 1e15) {
        snprintf(text, NUMBER_TEXT_BYTES, "%.0f", value);
        return text;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, NUMBER_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    plain_point(text);
    return text;
}

char *hp_range_text(char *text, int64_t least, int64_t most)
{
    if (least > most)
        return strcpy(text, "none");
    int n = snprintf(text, RANGE_TEXT_BYTES, "%lld", (long long)least);
    if (least < most)
        snprintf(text + n, RANGE_TEXT_BYTES - (size_t)n, " to %lld", (long long)most);
    return text;
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* How many characters of `text` form a decimal number. strtod() alone would also accept signs,
 * hexadecimal, "inf" and "nan". */
static size_t number_length(const char *text)
{
    size_t whole = count_digits(text), n = whole, fraction = 0;
    if (text[n] == '.') {
        fraction = count_digits(text + n + 1);
        n += 1 + fraction;
    }
    if (whole + fraction == 0)
        return 0;
    if (text[n] == 'e' || text[n] == 'E') {
        size_t sign = text[n + 1] == '+' || text[n + 1] == '-';
        size_t digits = count_digits(text + n + 1 + sign);
        if (digits)
            n += 1 + sign + digits;
    }
    return n;
}

size_t hp_number_read(const char *text, double *out)
{
    size_t n = number_length(text);
    if (n == 0 || n > MAX_NUMBER_CHARS)
        return 0;

    char copy[MAX_NUMBER_CHARS + 16];
    const char *point = decimal_point();
    size_t whole = count_digits(text);
    if (text[whole] == '.' && strlen(point) < 16)
        snprintf(copy, sizeof copy, "%.*s%s%.*s", (int)whole, text, point, (int)(n - whole - 1),
                 text + whole + 1);
    else
        snprintf(copy, sizeof copy, "%.*s", (int)n, text);

    double value = strtod(copy, NULL);
    if (!isfinite(value))
        return 0;
    *out = value;
    return n;
}
