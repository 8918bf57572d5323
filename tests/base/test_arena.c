/* Arenas: zeroed and aligned memory, blocks of large arrays, marks, growing arrays. */
#include "base/arena.h"

#include "base/random.h"

#include <hypar/base.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void memory_comes_zeroed_and_aligned(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct random random = { 7 };
    print_message("seed 7\n");
    for (int i = 0; i < 2000; i++) {
        size_t count = (size_t)hp_random_below(&random, 500);
        hp_arena_strndup(&arena, "xyz", (size_t)(i % 4)); /* shift the place by odd amounts */
        double *numbers = NEW(&arena, double, count);
        assert_int_equal((uintptr_t)numbers % alignof(double), 0);
        for (size_t k = 0; k < count; k++) {
            assert_true(numbers[k] == 0);
            numbers[k] = 1;
        }
    }
    hp_arena_free(&arena);
    assert_null(arena.top);
}

/* Under a sanitizer or valgrind this fails if the arena is read after its memory is gone. */
static void an_object_owns_the_memory_it_lies_in(void **state)
{
    (void)state;
    struct object {
        struct arena arena;
        char *text;
    };
    struct arena arena = { 0 };
    struct object *object = NEW(&arena, struct object, 1);
    object->arena = arena;
    for (int i = 0; i < 8; i++)
        object->text = NEW(&object->arena, char, 1 << 20);
    assert_true(hp_arena_bytes(&object->arena) >= 8 << 20);
    hp_arena_free(&object->arena);
}

static void large_arrays_get_their_own_block(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    char *small = hp_arena_strdup(&arena, "kept");
    char *large = NEW(&arena, char, 1 << 20);
    memset(large, 1, 1 << 20);
    assert_string_equal(small, "kept");
    assert_string_equal(hp_arena_printf(&arena, "%d-%s", 12, "x"), "12-x");
    hp_arena_free(&arena);
}

static void release_returns_to_the_mark(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct arena_mark start = hp_arena_mark(&arena);
    int *kept = NEW(&arena, int, 3);
    kept[2] = 42;
    struct arena_mark mark = hp_arena_mark(&arena);
    char *first = NEW(&arena, char, 10);
    memset(first, 1, 10);
    for (int i = 0; i < 10; i++)
        NEW(&arena, char, 100000);
    hp_arena_release(&arena, mark);
    char *again = NEW(&arena, char, 10);
    assert_ptr_equal(first, again);
    assert_int_equal(again[0], 0); /* zeroed again */
    assert_int_equal(kept[2], 42);
    hp_arena_release(&arena, start);
    assert_null(arena.top);
}

static void grow_keeps_what_was_there(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    int *array = NULL, capacity = 0;
    for (int i = 0; i < 1000; i++) {
        array = GROW(&arena, int, array, i, &capacity);
        array[i] = i;
    }
    assert_true(capacity >= 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(array[i], i);
    hp_arena_free(&arena);
}

static jmp_buf refused;

static void go_back(size_t bytes, void *arg)
{
    (void)bytes, (void)arg;
    longjmp(refused, 1);
}

/* A list as long as int can count is full, not begun again. */
static void lists_end_with_int(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    int full = INT_MAX;
    hypar_set_out_of_memory(go_back, NULL);
    if (setjmp(refused) == 0) {
        hp_arena_grow(&arena, NULL, 0, &full, 1, 1);
        fail_msg("it grew to %d", full);
    }
    hypar_set_out_of_memory(NULL, NULL);
    hp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_comes_zeroed_and_aligned),
        cmocka_unit_test(an_object_owns_the_memory_it_lies_in),
        cmocka_unit_test(large_arrays_get_their_own_block),
        cmocka_unit_test(release_returns_to_the_mark),
        cmocka_unit_test(grow_keeps_what_was_there),
        cmocka_unit_test(lists_end_with_int),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
