/* Gunzip: a packed file is unpacked byte for byte; any other file gives a one-line error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/gzip.h"

/* "hello hello hello, " three times, by fixed codes; "abc" stored. */
static const unsigned char packed[] = { 0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                        0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40,
                                        0x90, 0x3a, 0xc8, 0x1c, 0x3c, 0x42, 0x00, 0x11, 0xd1,
                                        0x50, 0x03, 0x39, 0x00, 0x00, 0x00 };
static const unsigned char stored[] = { 0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                        0x03, 0x01, 0x03, 0x00, 0xfc, 0xff, 0x61, 0x62, 0x63,
                                        0xc2, 0x41, 0x24, 0x35, 0x03, 0x00, 0x00, 0x00 };

/* What counted() makes, by codes of its own. */
static const unsigned char dynamic[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xed, 0x90, 0xdb, 0x8d, 0xc5,
    0x20, 0x0c, 0x05, 0x5b, 0x99, 0x12, 0x62, 0x1b, 0x0c, 0xf4, 0xdf, 0xd8, 0x0e, 0x94, 0xb0,
    0xdf, 0x57, 0x8a, 0x50, 0x12, 0xce, 0xfb, 0x23, 0x18, 0x1c, 0xa2, 0xc9, 0x49, 0x35, 0xe3,
    0xd0, 0x83, 0x1d, 0x14, 0x39, 0x18, 0x8b, 0x95, 0x24, 0x15, 0x74, 0x72, 0x44, 0x14, 0xeb,
    0x23, 0x92, 0x59, 0x1c, 0xd1, 0x72, 0x15, 0xf0, 0x7d, 0x30, 0x3f, 0x36, 0x3d, 0xc9, 0xc5,
    0xde, 0xcc, 0x41, 0x26, 0x5b, 0x35, 0xa5, 0x26, 0x11, 0xec, 0xa6, 0x65, 0x6c, 0x2a, 0x09,
    0x91, 0x9c, 0x62, 0x4f, 0xd6, 0x61, 0x79, 0xd6, 0x7b, 0xde, 0xa7, 0x3f, 0xbd, 0xea, 0x0b,
    0x12, 0x2a, 0x41, 0x9a, 0xe4, 0x78, 0x42, 0xca, 0x29, 0xaa, 0xb4, 0x06, 0xda, 0x68, 0xa6,
    0xe5, 0xbe, 0xe6, 0x46, 0xb8, 0x41, 0xe2, 0x85, 0xea, 0x1b, 0xd0, 0x98, 0x86, 0x35, 0xb2,
    0xc1, 0xfb, 0x95, 0xc8, 0x5b, 0xc7, 0x52, 0x56, 0xab, 0x5b, 0xd2, 0xaa, 0x16, 0xae, 0x57,
    0xde, 0x09, 0x8e, 0x5b, 0x04, 0xdf, 0x6f, 0x93, 0xdf, 0x26, 0xff, 0xdf, 0xe4, 0x0f, 0xa3,
    0x63, 0xb8, 0xe1, 0x53, 0x03, 0x00, 0x00
};

static void assert_unpacks(const unsigned char *in, size_t n, const char *expected)
{
    struct hypar_error err = { 0 };
    const char *out;
    struct arena arena = { 0 };
    size_t length;
    if (hp_gunzip(&arena, &out, &length, (const char *)in, n, 1 << 20, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(out, expected, length);
    hp_arena_free(&arena);
}

static char *counted(void)
{
    char *text = malloc(1 << 16);
    size_t n = 0;
    assert_non_null(text);
    for (int i = 0; i < 300; i++)
        n += (size_t)snprintf(text + n, (1 << 16) - n, "%d ", i * i % 97);
    return text;
}

static void members_are_unpacked(void **state)
{
    (void)state;
    unsigned char both[sizeof packed + sizeof stored];
    char *text = counted();
    const char *greeting = "hello hello hello, hello hello hello, hello hello hello, ";
    char joined[128];
    assert_unpacks(packed, sizeof packed, greeting);
    assert_unpacks(stored, sizeof stored, "abc");
    assert_unpacks(dynamic, sizeof dynamic, text);
    memcpy(both, packed, sizeof packed);
    memcpy(both + sizeof packed, stored, sizeof stored);
    snprintf(joined, sizeof joined, "%sabc", greeting);
    assert_unpacks(both, sizeof both, joined);
    free(text);
}

static void damage_is_told(void **state)
{
    (void)state;
    unsigned char changed[sizeof dynamic];
    const char *out;
    struct arena arena = { 0 };
    size_t length;
    int told = 0;
    for (size_t n = 0; n < sizeof dynamic; n++) { /* whatever is cut off */
        struct hypar_error err = { 0 };
        assert_int_equal(
            hp_gunzip(&arena, &out, &length, (const char *)dynamic, n, 1 << 20, &err),
            HYPAR_SYNTAX);
        assert_true(*err.text);
    }
    for (size_t i = 0; i < sizeof dynamic; i++) {
        struct hypar_error err = { 0 };
        memcpy(changed, dynamic, sizeof dynamic);
        changed[i] ^= 0x10;
        enum hypar_status status = hp_gunzip(&arena, &out, &length, (const char *)changed,
                                             sizeof changed, 1 << 20, &err);
        bool heading = i >= 4 && i < 10; /* a time, and what it was packed on */
        assert_int_equal(status == HYPAR_OK, heading);
        told += status != HYPAR_OK;
    }
    assert_int_equal(told, sizeof dynamic - 6);
    hp_arena_free(&arena);
}

static void length_is_limited(void **state)
{
    (void)state;
    struct hypar_error err = { 0 };
    const char *out;
    struct arena arena = { 0 };
    size_t length;
    assert_int_equal(
        hp_gunzip(&arena, &out, &length, (const char *)packed, sizeof packed, 56, &err),
        HYPAR_UNSUPPORTED);
    assert_string_equal(err.text, "unpacked larger than 56 bytes");
    assert_int_equal(
        hp_gunzip(&arena, &out, &length, (const char *)packed, sizeof packed, 57, &err),
        HYPAR_OK);
    hp_arena_free(&arena);
}

/* What is packed is unpacked again, however it is written; and the stream around stays open. */
static void what_is_packed_is_unpacked(void **state)
{
    (void)state;
    enum { LINES = 20000 };
    char *in, *out;
    size_t n, n_packed;
    FILE *to = open_memstream(&in, &n);
    FILE *file = open_memstream(&out, &n_packed), *pack = hypar_gzip(file);
    for (int i = 0; i < LINES; i++) {
        fprintf(to, "line %d of %d\n", i * i, LINES);
        fprintf(pack, "line %d of %d\n", i * i, LINES);
    }
    assert_int_equal(fclose(to), 0);
    assert_int_equal(fclose(pack), 0);
    assert_int_equal(fclose(file), 0);
    assert_true(n_packed < n / 2);
    struct hypar_error err = { 0 };
    struct arena arena = { 0 };
    const char *text;
    size_t length;
    if (hp_gunzip(&arena, &text, &length, out, n_packed, 1 << 20, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(length, n);
    assert_memory_equal(text, in, n);
    hp_arena_free(&arena);
    free(in);
    free(out);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    FILE *pack = hypar_gzip(full);
    for (int i = 0; i < 100000; i++)
        fprintf(pack, "%d %d\n", i * 7919 % 10007, i);
    fclose(pack);
    assert_true(fflush(full) != 0 || ferror(full));
    fclose(full);
}

/* The check value of CRC-32, and any cut into parts, in any order. */
static void checksums(void **state)
{
    (void)state;
    static const char text[] = "123456789";
    enum { N = sizeof text - 1 };
    assert_int_equal(hp_crc32(0, text, N), 0xcbf43926);
    assert_int_equal(hp_crc32(hp_crc32(0, text, 4), text + 4, N - 4), 0xcbf43926);
    assert_int_equal(hp_crc32_of_shares(0, 0), hp_crc32(0, "", 0));
    for (int a = 0; a <= N; a++)
        for (int b = a; b <= N; b++) {
            uint32_t shares = hp_crc32_share(text + b, (size_t)(N - b), 0);
            shares ^= hp_crc32_share(text, (size_t)a, N - a);
            shares ^= hp_crc32_share(text + a, (size_t)(b - a), N - b);
            assert_int_equal(hp_crc32_of_shares(shares, N), 0xcbf43926);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_unpacked), cmocka_unit_test(damage_is_told),
        cmocka_unit_test(length_is_limited),    cmocka_unit_test(what_is_packed_is_unpacked),
        cmocka_unit_test(a_full_disk_is_told),  cmocka_unit_test(checksums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
