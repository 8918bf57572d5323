/* Quantities with units, such as 15.7TFLOP/s and 3us, to and from text. */
#include "base/number.h"

#include <hypar/tool.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A unit is a prefix and a base: "G" + "B/s". Scales are a product and a quotient of whole
 * numbers, so that "3us" is exactly the double 3e-6. */
struct scale {
    const char *text;
    double times, over;
};

static const struct scale prefixes[] = {
    { "", 1, 1 },        { "k", 1e3, 1 },     { "K", 1e3, 1 },     { "M", 1e6, 1 },
    { "G", 1e9, 1 },     { "T", 1e12, 1 },    { "P", 1e15, 1 },    { "E", 1e18, 1 },
    { "Ki", 0x1p10, 1 }, { "Mi", 0x1p20, 1 }, { "Gi", 0x1p30, 1 }, { "Ti", 0x1p40, 1 },
    { "m", 1, 1e3 },     { "u", 1, 1e6 },     { "µ", 1, 1e6 },     { "n", 1, 1e9 },
    { "p", 1, 1e12 },
};

enum { N_PREFIXES = sizeof prefixes / sizeof prefixes[0], MAX_BASES = 9 };

/* The units of each kind of quantity; quantities are printed with the first one. */
/* clang-format off */
static const struct dimension {
    const char *text;
    bool large, small; /* which prefixes are allowed: k and above, m and below; none for a base that is a multiple of the first */
    struct scale bases[MAX_BASES];
} dimensions[] = {
    [HYPAR_UNIT_COUNT]     = { "a number such as 12 or 4k", true,  false, { { "", 1, 1 } } },
    [HYPAR_UNIT_BYTES]     = { "a size such as 80GB or 80GiB", true,  false, { { "B", 1, 1 } } },
    [HYPAR_UNIT_SECONDS]   = { "a time such as 2us or 1.5ms", false, true,  { { "s", 1, 1 } } },
    [HYPAR_UNIT_DURATION]  = { "a time such as 30s, 2m or 1.5h", false, true,
                               { { "s", 1, 1 }, { "sec", 1, 1 }, { "m", 60, 1 }, { "min", 60, 1 },
                                 { "h", 3600, 1 } } },
    [HYPAR_UNIT_BANDWIDTH] = { "a bandwidth such as 450GB/s or 100Gb/s", true,  false,
                               { { "B/s", 1, 1 }, { "Bps", 1, 1 }, { "b/s", 1, 8 },
                                 { "bps", 1, 8 }, { "bit/s", 1, 8 } } },
    [HYPAR_UNIT_RATE]      = { "a rate such as 15.7TFLOP/s or 84GOPS", true,  false,
                               { { "FLOP/s", 1, 1 }, { "FLOPS", 1, 1 }, { "FLOPs", 1, 1 },
                                 { "flop/s", 1, 1 }, { "OP/s", 1, 1 }, { "OPS", 1, 1 },
                                 { "op/s", 1, 1 }, { "", 1, 1 } } },
    [HYPAR_UNIT_JOULES]    = { "an energy such as 3.7pJ or 1mJ", true,  true,  { { "J", 1, 1 } } },
    [HYPAR_UNIT_WATTS]     = { "a power such as 75W", true,  true,  { { "W", 1, 1 } } },
};
/* clang-format on */

static bool prefix_fits(const struct scale *prefix, const struct dimension *dimension)
{
    return (prefix->times > 1 ? dimension->large : true) &&
           (prefix->over > 1 ? dimension->small : true);
}

static bool find_unit(const char *suffix, const struct dimension *dimension, struct scale *out)
{
    for (int p = 0; p < N_PREFIXES; p++) {
        size_t n = strlen(prefixes[p].text);
        if (!prefix_fits(&prefixes[p], dimension) || strncmp(suffix, prefixes[p].text, n) != 0)
            continue;
        for (const struct scale *base = dimension->bases; base->text; base++) {
            if (strcmp(suffix + n, base->text) == 0 && (n == 0 || base->times == 1)) {
                *out = (struct scale){ suffix, prefixes[p].times * base->times,
                                       prefixes[p].over * base->over };
                return true;
            }
        }
    }
    return false;
}

bool hypar_parse_quantity(const char *text, enum hypar_unit unit, double *out)
{
    double value;
    size_t n = hp_number_read(text, &value);
    if (n == 0)
        return false;
    const char *suffix = text + n;
    if (*suffix) {
        suffix += *suffix == ' ';
        struct scale scale;
        if (!find_unit(suffix, &dimensions[unit], &scale))
            return false;
        value = value * scale.times / scale.over;
    }
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

bool hypar_lacks_unit(const char *text, enum hypar_unit unit)
{
    double value;
    size_t n = hp_number_read(text, &value);
    if (n == 0 || text[n] || value == 0)
        return false;
    switch (unit) {
    case HYPAR_UNIT_BYTES:
    case HYPAR_UNIT_BANDWIDTH:
    case HYPAR_UNIT_RATE:
        return value < 1000;
    case HYPAR_UNIT_SECONDS:
    case HYPAR_UNIT_JOULES:
        return value >= 1;
    default:
        return false;
    }
}

static bool is_unit(enum hypar_unit unit)
{
    return (int)unit >= 0 && (size_t)unit < sizeof dimensions / sizeof *dimensions;
}

const char *hypar_unit_text(enum hypar_unit unit)
{
    return is_unit(unit) ? dimensions[unit].text : NULL;
}

char *hypar_format_quantity(char *buffer, double value, enum hypar_unit unit)
{
    enum { BUFFER_BYTES = 32 };
    static const char *const names[] = { "p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E" };
    const struct dimension *dimension = &dimensions[unit];
    int lowest = dimension->small ? (unit == HYPAR_UNIT_SECONDS ? -3 : -4) : 0;
    int highest = dimension->large ? 6 : 0;
    if (unit == HYPAR_UNIT_SECONDS && fabs(value) < 0.5e-12)
        value = 0; /* what is left over where times that are equal are subtracted */

    /* Round to three digits first, so that 999.9 becomes 1 k and not 1000. */
    char digits[NUMBER_TEXT_BYTES];
    snprintf(digits, sizeof digits, "%.2e", value);
    double rounded = isfinite(value) ? strtod(digits, NULL) : value;
    int group = 0;
    if (isfinite(rounded) && rounded != 0)
        group = (int)floor(floor(log10(fabs(rounded)) + 1e-9) / 3);
    group = group < lowest ? lowest : group > highest ? highest : group;

    double shown = rounded / pow(1000, group);
    const char *name = names[group + 4], *base = dimension->bases[0].text;
    const char *space = *name || *base ? " " : "";
    if (fabs(shown) >= 999.5 && fabs(shown) < 1e9)
        snprintf(buffer, BUFFER_BYTES, "%.0f%s%s%s", shown, space, name, base);
    else
        snprintf(buffer, BUFFER_BYTES, "%.3g%s%s%s", shown, space, name, base);
    return buffer;
}
