/* The figures of a device that measurements may decide. */
#include "fit/fit.h"

#include <stddef.h>

/* To add one: a row, of any option of machine words (src/machine/option.c). */
static const struct constant_row rows[] = {
    /* option, start, least, most */
    { OPTION_EFFICIENCY, 0.5, 1e-4, 1 },       { OPTION_REDUCTION_LENGTH, 100, 0.1, 1e5 },
    { OPTION_OUTPUT_LENGTH, 50, 0.1, 1e5 },    { OPTION_UNALIGNED, 0.5, 1e-3, 1 },
    { OPTION_STREAM, 0.8, 1e-4, 1 },           { OPTION_ROW, 0.5, 1e-4, 1 },
    { OPTION_COLUMN, 0.5, 1e-4, 1 },           { OPTION_SCATTER, 0.1, 1e-4, 1 },
    { OPTION_KERNEL, 2e-6, 1e-9, 1 },          { OPTION_EAGER_LAUNCH, 1e-5, 1e-9, 1 },
    { OPTION_COMPILED_LAUNCH, 5e-6, 1e-9, 1 }, { OPTION_LATENCY, 1e-6, 1e-9, 1 },
    { OPTION_INTER_LATENCY, 2e-6, 1e-9, 1 },
};

const struct constant_row *hp_constant(int i)
{
    return i >= 0 && (size_t)i < sizeof rows / sizeof rows[0] ? &rows[i] : NULL;
}
