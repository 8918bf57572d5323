/* base/gzip.h - what gzip has packed (RFC 1951, 1952). Internal. */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/arena.h"
#include "base/error.h"

enum { HP_GZIP_FIRST_BYTE = 0x1f }; /* no text begins with it */

/* Unpack all members of `packed` into the arena. HYPAR_SYNTAX for what is cut off or damaged,
 * HYPAR_UNSUPPORTED for more than `most` bytes. */
enum hypar_status hp_gunzip(struct arena *arena, const char **out, size_t *length,
                            const char *packed, size_t n_packed, size_t most,
                            struct hypar_error *err);

#endif /* BASE_GZIP_H */
