#define _GNU_SOURCE /* dladdr() */
/* Shared libraries: functions are found; a missing function or a truncated file is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/library.h"

static double (*cosine)(double x);
static int (*nothing)(void);

static void functions_are_found(void **state)
{
    (void)state;
    const struct library_symbol symbol = { "cos", &cosine };
    struct hypar_error err;
    void *library;
    if (hp_library_load(&library, "libm.so.6", LIBRARY_SEEN, &symbol, 1, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_true(cosine(0) == 1);
    hp_library_unload(library);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    const struct library_symbol symbols[] = { { "cos", &cosine },
                                              { "hypar_nothing", &nothing } };
    struct hypar_error err;
    void *library;
    assert_int_equal(
        hp_library_load(&library, "libhypar-nowhere.so.7", LIBRARY_SEEN, symbols, 1, &err),
        HYPAR_RUNTIME);
    assert_non_null(strstr(err.text, "libhypar-nowhere.so.7: cannot open"));
    assert_int_equal(hp_library_load(&library, "libm.so.6", LIBRARY_SEEN, symbols, 2, &err),
                     HYPAR_RUNTIME);
    assert_non_null(strstr(err.text, "hypar_nothing"));
}

/* The path of a library that is there on every machine. */
static void find_path(char *path, size_t size)
{
    const struct library_symbol symbol = { "cos", &cosine };
    Dl_info about;
    void *library, *address;
    assert_int_equal(hp_library_load(&library, "libm.so.6", LIBRARY_SEEN, &symbol, 1, NULL),
                     HYPAR_OK);
    memcpy(&address, &cosine, sizeof address);
    assert_int_not_equal(dladdr(address, &about), 0);
    snprintf(path, size, "%s", about.dli_fname);
    hp_library_unload(library);
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* A copy that was not finished: one line, wherever it ends. */
static void one_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    enum { MOST = 8 << 20, ENDS = 16 };
    char path[512], name[] = "/tmp/hypar-library-XXXXXX";
    find_path(path, sizeof path);
    char *bytes = malloc(MOST);
    FILE *file = fopen(path, "rb");
    assert_true(bytes && file);
    size_t n = fread(bytes, 1, MOST, file);
    fclose(file);
    close(mkstemp(name));
    for (size_t i = 0; i < ENDS; i++) {
        struct hypar_error err = { 0 };
        void *library;
        write_bytes(name, bytes, i * n / ENDS + 7); /* all but the last sixteenth, at most */
        if (hp_library_load(&library, name, LIBRARY_APART, NULL, 0, &err) == HYPAR_OK)
            hp_library_unload(library); /* what is cut off is not loaded: section headers */
        else
            assert_non_null(strstr(err.text, name));
    }
    write_bytes(name, bytes, n / 2);
    struct hypar_error err = { 0 };
    void *library;
    assert_int_equal(hp_library_load(&library, name, LIBRARY_APART, NULL, 0, &err),
                     HYPAR_UNREADABLE);
    assert_non_null(strstr(err.text, "cut off after"));
    unlink(name);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_found),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(one_that_is_cut_off_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
