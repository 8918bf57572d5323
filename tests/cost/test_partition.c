/* The papers' tables, written out, against the rule that generates them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cost/papers/partition.h"

/* HyPar Table 1 on the paper's two examples: a fully-connected layer [32,70] x [70,100], and a
 * convolution 12x12x20 -> 8x8x50 with 5x5 kernels, batch 32. */
static void intra(void **state)
{
    (void)state;
    struct layer_sizes fc = { 32 * 70, 70 * 100, 32 * 100, 0 };
    struct layer_sizes conv = { 32 * 12 * 12 * 20, 5 * 5 * 20 * 50, 32 * 8 * 8 * 50, 0 };
    assert_true(hp_intra_elements(TYPE_I, &fc, 2) == 7000);
    assert_true(hp_intra_elements(TYPE_II, &fc, 2) == 3200);
    assert_true(hp_intra_elements(TYPE_III, &fc, 2) == 2240);
    assert_true(hp_intra_elements(TYPE_I, &conv, 2) == 25000);
    assert_true(hp_intra_elements(TYPE_II, &conv, 2) == 102400);
    assert_true(hp_intra_elements(TYPE_I, &fc, 3) == 14000);
}

/* What is not trained has no gradient to sum, and hands no error back. */
static void not_trained(void **state)
{
    (void)state;
    struct layer_sizes some = { 10, 100, 20, 40 }, all = { 10, 100, 20, 100 };
    assert_true(hp_intra_elements(TYPE_I, &some, 2) == 60);
    assert_true(hp_intra_elements(TYPE_III, &some, 2) == 10);
    assert_true(hp_intra_elements(TYPE_I, &all, 2) == 0);
    assert_true(hp_intra_elements(TYPE_II, &all, 2) == 20);
    assert_true(hp_intra_elements(TYPE_III, &all, 2) == 0);
}

/* AccPar's table for equal shares (HyPar's Table 2 is its upper left): parts of A(F) + A(E). */
static void inter(void **state)
{
    (void)state;
    const double table[3][3] = { { 0, .25 + .25, .5 }, { .5, .5, 0 }, { .25 + .25, 0, .5 } };
    for (int u = 0; u < 3; u++)
        for (int v = 0; v < 3; v++) {
            assert_true(hp_inter_share((enum layer_type)u, (enum layer_type)v, 2) ==
                        table[u][v]);
            assert_true(hp_inter_share_unequal((enum layer_type)u, (enum layer_type)v, .5) ==
                        table[u][v]);
        }
}

/* Unequal shares a + b = 1: I-II and III-I 2ab (F and E of one size), to whole b. */
static void unequal(void **state)
{
    (void)state;
    double a = .75, b = .25;
    assert_true(hp_inter_share_unequal(TYPE_I, TYPE_II, a) == 2 * a * b);
    assert_true(hp_inter_share_unequal(TYPE_III, TYPE_I, a) == 2 * a * b);
    assert_true(hp_inter_share_unequal(TYPE_I, TYPE_III, a) == b);
    assert_true(hp_inter_share_unequal(TYPE_III, TYPE_III, a) == b);
    assert_true(hp_inter_share_unequal(TYPE_II, TYPE_I, a) == b);
    assert_true(hp_inter_share_unequal(TYPE_II, TYPE_II, a) == b);
}

static void shrink(void **state)
{
    (void)state;
    const struct layer_sizes expected[TYPE_COUNT] = {
        { 4, 8, 4, 2 }, { 4, 4, 8, 1 }, { 8, 4, 4, 1 }, { 4, 4, 4, 1 }
    };
    for (int t = 0; t < TYPE_COUNT; t++) {
        struct layer_sizes sizes = { 8, 8, 8, 2 };
        hp_shrink(&sizes, (enum layer_type)t, .5);
        assert_memory_equal(&sizes, &expected[t], sizeof sizes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intra),   cmocka_unit_test(not_trained), cmocka_unit_test(inter),
        cmocka_unit_test(unequal), cmocka_unit_test(shrink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
