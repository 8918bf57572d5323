/* base/gzip.h - what gzip has packed (RFC 1951, 1952), and gzip's checksum. Internal. */
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

/* CRC-32 (RFC 1952) of all bytes so far, `crc` (at first 0) being that of the bytes before. */
uint32_t hp_crc32(uint32_t crc, const void *bytes, size_t n);

/* The same of bytes that come in parts in any order. CRC-32 is linear but for a constant: the
 * shares of all parts, each of which knows how many bytes come `after` it, are combined by
 * exclusive or, and hp_crc32_of_shares() adds the constant of `n` bytes. */
uint32_t hp_crc32_share(const void *bytes, size_t n, int64_t after);
uint32_t hp_crc32_of_shares(uint32_t shares, int64_t n);

#endif /* BASE_GZIP_H */
