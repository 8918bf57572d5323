#include "tests/length.h"

#include <stdlib.h>
#include <string.h>

static bool is_length(const char *name)
{
    const char *length = getenv("HYPAR_TEST_LENGTH");
    return length && strcmp(length, name) == 0;
}

bool soak_length(void)
{
    return is_length("soak");
}

bool full_length(void)
{
    return soak_length() || is_length("full");
}

int64_t length_of(const char *name, int64_t few, int64_t full, int64_t all)
{
    const char *given = name ? getenv(name) : NULL;
    if (given)
        return strtoll(given, NULL, 10);
    return soak_length() ? all : full_length() ? full : few;
}

bool in_length(int i, int step, int full_step)
{
    return soak_length() || i % (full_length() ? full_step : step) == 0;
}
