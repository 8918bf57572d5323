/* Packing, unpacking and checksums of gzip, by zlib. Only this file includes zlib. */
#define _GNU_SOURCE /* fopencookie */

#include "base/files/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>
#define ZLIB_CONST /* zlib only reads its input */
#include <zlib.h>

enum { GZIP_ALONE = 16 }; /* added to the window size: zlib then expects gzip's header */

/* zlib's state is small; it is released with the arena. */
static void *take_memory(void *arena, unsigned n, unsigned size)
{
    return hp_arena_alloc(arena, n, size, alignof(max_align_t));
}

static void leave_memory(void *arena, void *memory)
{
    (void)arena;
    (void)memory;
}

/* Unpacking ------------------------------------------------------------------------------ */

struct unpacked {
    char *text;
    size_t n, capacity;
};

/* Make room for at least one more byte, and for at most `most` bytes in all. */
static void make_room(struct unpacked *u, struct arena *arena, size_t most)
{
    if (u->n < u->capacity)
        return;
    size_t capacity = u->capacity > most / 2 ? most : 2 * u->capacity;
    char *text = NEW(arena, char, capacity);
    memcpy(text, u->text, u->n);
    u->text = text;
    u->capacity = capacity;
}

/* Unpack members one after another until the input is used up. Z_STREAM_END: done; Z_BUF_ERROR:
 * the input is cut off; Z_MEM_ERROR: the output is longer than `most`. */
static int unpack(z_stream *z, struct unpacked *u, struct arena *arena, size_t n_packed,
                  size_t most)
{
    int status = Z_OK;
    while (status == Z_OK || (status == Z_STREAM_END && n_packed + z->avail_in > 0)) {
        if (status == Z_STREAM_END && *z->next_in != HP_GZIP_FIRST_BYTE)
            return Z_DATA_ERROR;
        if (status == Z_STREAM_END)
            inflateReset(z);
        make_room(u, arena, most + 1);
        size_t room = u->capacity - u->n < UINT_MAX ? u->capacity - u->n : UINT_MAX;
        if (z->avail_in == 0) {
            z->avail_in = n_packed < UINT_MAX ? (unsigned)n_packed : UINT_MAX;
            n_packed -= z->avail_in;
        }
        z->next_out = (unsigned char *)u->text + u->n;
        z->avail_out = (unsigned)room;
        status = inflate(z, Z_NO_FLUSH);
        u->n += room - z->avail_out;
        if (u->n > most)
            return Z_MEM_ERROR;
    }
    return status;
}

enum hypar_status hp_gunzip(struct arena *arena, const char **out, size_t *length,
                            const char *packed, size_t n_packed, size_t most,
                            struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct unpacked u = { NEW(arena, char, 1), 0, 1 };
    z_stream z = { .zalloc = take_memory, .zfree = leave_memory, .opaque = &scratch };
    z.next_in = (const unsigned char *)packed;
    int status = inflateInit2(&z, MAX_WBITS + GZIP_ALONE);
    if (status == Z_OK)
        status = unpack(&z, &u, arena, n_packed, most);
    inflateEnd(&z);
    hp_arena_free(&scratch);
    *out = u.text;
    *length = u.n;
    if (status == Z_STREAM_END)
        return HYPAR_OK;
    if (status == Z_MEM_ERROR)
        return hp_fail(err, HYPAR_UNSUPPORTED, "unpacked larger than %zu bytes", most);
    return hp_fail(err, HYPAR_SYNTAX, "gzip: %s",
                   status == Z_BUF_ERROR ? "cut off" : "damaged");
}

/* Packing -------------------------------------------------------------------------------- */

struct packer {
    struct arena arena; /* the packer and zlib's state lie in it */
    FILE *to;
    z_stream z;
    unsigned char packed[1 << 16];
};

/* Pack the input z.next_in; Z_FINISH as `flush` ends the file. False: the file cannot be
 * written. */
static bool pack(struct packer *p, int flush)
{
    do {
        p->z.next_out = p->packed;
        p->z.avail_out = sizeof p->packed;
        deflate(&p->z, flush);
        size_t n = sizeof p->packed - p->z.avail_out;
        if (fwrite(p->packed, 1, n, p->to) != n)
            return false;
    } while (p->z.avail_out == 0);
    return true;
}

static ssize_t write_packed(void *packer, const char *text, size_t n)
{
    struct packer *p = packer;
    p->z.next_in = (const unsigned char *)text;
    p->z.avail_in = (unsigned)n; /* at most the size of a stream's buffer */
    return pack(p, Z_NO_FLUSH) ? (ssize_t)n : 0;
}

static int close_packed(void *packer)
{
    struct packer *p = packer;
    p->z.avail_in = 0;
    bool written = pack(p, Z_FINISH);
    deflateEnd(&p->z);
    hp_arena_free(&p->arena);
    errno = written ? errno : EIO;
    return written ? 0 : EOF;
}

FILE *hypar_gzip(FILE *to)
{
    enum { LEVEL = 3, MEMORY = 8 };
    static const cookie_io_functions_t functions = { .write = write_packed,
                                                     .close = close_packed };
    struct arena arena = { 0 };
    struct packer *p = NEW(&arena, struct packer, 1);
    p->arena = arena;
    p->to = to;
    p->z.zalloc = take_memory;
    p->z.zfree = leave_memory;
    p->z.opaque = &p->arena;
    if (deflateInit2(&p->z, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP_ALONE, MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        hypar_out_of_memory(0);
    return hypar_or_out_of_memory(fopencookie(p, "w", functions));
}

/* Checksums ------------------------------------------------------------------------------ */

static const uint32_t ONES = 0xffffffff;

uint32_t hp_crc32(uint32_t crc, const void *bytes, size_t n)
{
    for (; n > UINT_MAX; n -= UINT_MAX, bytes = (const char *)bytes + UINT_MAX)
        crc = (uint32_t)crc32(crc, bytes, UINT_MAX);
    return (uint32_t)crc32(crc, bytes, (unsigned)n);
}

/* zlib inverts the register before and after. A register that begins with ones starts from
 * zero, which leaves the linear part. Combining with the checksum 0 runs the register through
 * `after` bytes of zeros. */
uint32_t hp_crc32_share(const void *bytes, size_t n, int64_t after)
{
    return (uint32_t)crc32_combine(hp_crc32(ONES, bytes, n) ^ ONES, 0, (z_off_t)after);
}

uint32_t hp_crc32_of_shares(uint32_t shares, int64_t n)
{
    return shares ^ (uint32_t)crc32_combine(ONES, 0, (z_off_t)n) ^ ONES;
}
