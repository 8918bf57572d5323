/* base/files/gzip.h - unpacking gzip files (RFC 1951, 1952), and gzip's checksum. Internal. */
#ifndef BASE_FILES_GZIP_H
#define BASE_FILES_GZIP_H

#include "base/arena.h"
#include "base/error.h"

enum { HP_GZIP_FIRST_BYTE = 0x1f }; /* no text begins with this byte */

/* Unpack all members of `packed` into the arena. HYPAR_SYNTAX if the input is cut off or
 * damaged, HYPAR_UNSUPPORTED if the output is longer than `most` bytes. */
enum hypar_status hp_gunzip(struct arena *arena, const char **out, size_t *length,
                            const char *packed, size_t n_packed, size_t most,
                            struct hypar_error *err);

/* CRC-32 (RFC 1952) of all bytes so far; `crc` is the checksum of the bytes before, 0 at
 * first. */
uint32_t hp_crc32(uint32_t crc, const void *bytes, size_t n);

/* The same for bytes that arrive in pieces, in any order. CRC-32 is linear but for a constant.
 * Each piece knows how many bytes come `after` it and yields a share; the shares are combined
 * by exclusive or, and hp_crc32_of_shares() adds the constant of `n` bytes. */
uint32_t hp_crc32_share(const void *bytes, size_t n, int64_t after);
uint32_t hp_crc32_of_shares(uint32_t shares, int64_t n);

#endif /* BASE_FILES_GZIP_H */
