#include "tests/length.h"

#include <stdlib.h>
#include <string.h>

bool full_length(void)
{
    const char *length = getenv("HYPAR_TEST_LENGTH");
    return length && strcmp(length, "full") == 0;
}

int64_t length_of(const char *name, int64_t few, int64_t full)
{
    const char *given = name ? getenv(name) : NULL;
    return given ? strtoll(given, NULL, 10) : full_length() ? full : few;
}

bool in_length(int i, int step)
{
    return full_length() || i % step == 0;
}
