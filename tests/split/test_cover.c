/* Unions of boxes: against counting element by element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "split/cover.h"

enum { SIDE = 7, MAX_ELEMENTS = SIDE * SIDE * SIDE, ROUNDS = 3000 };

static void mark(const struct box *box, bool in[MAX_ELEMENTS])
{
    int64_t at[3] = { 0, 0, 0 };
    for (int64_t i = 0; i < MAX_ELEMENTS; i++) {
        at[0] = i % SIDE;
        at[1] = i / SIDE % SIDE;
        at[2] = i / SIDE / SIDE;
        bool inside = true;
        for (int d = 0; d < 3; d++)
            if (d < box->n_dims)
                inside &= box->dim[d].lo <= at[d] && at[d] < box->dim[d].hi;
            else
                inside &= at[d] == 0;
        in[i] |= inside;
    }
}

static void random_boxes(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random random = { seed };
        bool in[MAX_ELEMENTS] = { false };
        struct cover cover = { 0 };
        int n_dims = (int)hp_random_below(&random, 4);
        for (int64_t n = hp_random_below(&random, 12); n > 0; n--) {
            struct box box = { .n_dims = n_dims };
            for (int d = 0; d < n_dims; d++) {
                box.dim[d].lo = hp_random_below(&random, SIDE);
                box.dim[d].hi =
                    box.dim[d].lo + hp_random_below(&random, SIDE - box.dim[d].lo + 1);
            }
            hp_cover_add(&cover, &arena, &box);
            mark(&box, in);
        }
        int64_t right = 0;
        for (int i = 0; i < MAX_ELEMENTS; i++)
            right += in[i];
        if (hp_cover_elements(&cover, &arena) != right)
            fail_msg("seed %llu: %lld elements, expected %lld", (unsigned long long)seed,
                     (long long)hp_cover_elements(&cover, &arena), (long long)right);
    }
    hp_arena_free(&arena);
}

/* The parts of a grid, in order, grow into one box; every second one is counted in no time. */
static void grids(void **state)
{
    (void)state;
    enum { ROWS = 512, COLUMNS = 512 };
    struct arena arena = { 0 };
    for (int step = 1; step <= 2; step++) {
        struct cover cover = { 0 };
        for (int i = 0; i < ROWS * COLUMNS; i += step) {
            int r = i / COLUMNS, c = i % COLUMNS;
            struct box box = { 2, { { r, r + 1 }, { 3 * c, 3 * c + 3 } } };
            hp_cover_add(&cover, &arena, &box);
        }
        assert_true(step == 2 || cover.n == 1);
        assert_true(hp_cover_elements(&cover, &arena) == 3 * ROWS * COLUMNS / step);
    }
    hp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_boxes),
        cmocka_unit_test(grids),
    };
    return cmocka_run_group_tests_name("layout: covers", tests, NULL, NULL);
}
