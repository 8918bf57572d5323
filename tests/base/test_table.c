/* Hash tables: numbers of keys, and results that are computed once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/table.h"

/* Keys are numbered in the order in which they come, and copied; an empty key is a key. */
static void numbers(void **unused)
{
    (void)unused;
    struct arena arena = { 0 };
    struct table table = { 0 };
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 1000; i++) {
            int key = 7 * i;
            assert_int_equal(hp_table_number(&table, &arena, &key, sizeof key), i);
            key = -1;
        }
    assert_int_equal(hp_table_number(&table, &arena, "", 0), 1000);
    assert_int_equal(hp_table_number(&table, &arena, "", 0), 1000);
    hp_arena_free(&arena);
}

/* The place of a key's result is empty once, however many keys follow. */
static void results(void **unused)
{
    (void)unused;
    struct arena arena = { 0 };
    struct memo memo = { 0 };
    static int value[500];
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 500; i++) {
            void **place = hp_memo(&memo, &arena, &i, sizeof i);
            assert_ptr_equal(*place, turn ? &value[i] : NULL);
            *place = &value[i];
        }
    hp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers), cmocka_unit_test(results) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
