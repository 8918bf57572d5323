/* Any bytes: what gzip unpacks them to, no more than is allowed, or one line. */
#include "base/files/gzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 20 };
    struct hypar_error err = { 0 };
    struct arena arena = { 0 };
    const char *out;
    size_t n;
    enum hypar_status status =
        hp_gunzip(&arena, &out, &n, (const char *)data, size, MOST, &err);
    if (!out || n > MOST)
        abort();
    if ((status == HYPAR_OK) != !*err.text || strchr(err.text, '\n'))
        abort();
    hp_arena_free(&arena);
    return 0;
}
