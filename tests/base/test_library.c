#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/library.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_found),
        cmocka_unit_test(what_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
