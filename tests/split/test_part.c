/* Boxes, parts of an axis, nested sizes; regions computed by hand. */
#include <stdio.h>
#include <string.h>

#include "tests/op_cases.h"

#include "base/random.h"
#include "split/split.h"

static void test_even_parts(void **state)
{
    static const struct {
        int64_t extent;
        int degree;
        int64_t sizes[8];
    } cases[] = {
        { 10, 1, { 10 } },
        { 10, 2, { 5, 5 } },
        { 10, 3, { 4, 3, 3 } },
        { 10, 4, { 3, 3, 2, 2 } },
        { 3, 5, { 1, 1, 1, 0, 0 } },
        { 1, 3, { 1, 0, 0 } },
        { 7, 7, { 1, 1, 1, 1, 1, 1, 1 } },
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int64_t at = 0;
        for (int i = 0; i < cases[c].degree; i++) {
            struct range part = hp_even_part(cases[c].extent, cases[c].degree, i);
            assert_int_equal(part.lo, at);
            assert_int_equal(part.hi - part.lo, cases[c].sizes[i]);
            at = part.hi;
        }
        assert_int_equal(at, cases[c].extent);
        assert_true(hp_sizes_even(cases[c].extent, cases[c].degree, cases[c].sizes));
    }
    assert_false(hp_sizes_even(10, 4, (const int64_t[]){ 3, 2, 3, 2 }));
}

static void test_nested_sizes(void **state)
{
    static const struct {
        int64_t extent;
        int levels, ways[4];
        int64_t sizes[12];
    } cases[] = {
        { 10, 0, { 0 }, { 10 } },
        { 10, 1, { 2 }, { 5, 5 } },
        { 10, 2, { 2, 2 }, { 3, 2, 3, 2 } },
        { 7, 3, { 2, 2, 2 }, { 1, 1, 1, 1, 1, 1, 1, 0 } },
        { 3, 3, { 2, 2, 2 }, { 1, 0, 1, 0, 1, 0, 0, 0 } },
        { 17, 2, { 3, 2 }, { 3, 3, 3, 3, 3, 2 } },
        { 17, 3, { 2, 3, 2 }, { 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1 } },
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int64_t sizes[12];
        int n = 1;
        for (int l = 0; l < cases[c].levels; l++)
            n *= cases[c].ways[l];
        hp_nested_sizes(cases[c].extent, cases[c].ways, cases[c].levels, sizes);
        assert_memory_equal(sizes, cases[c].sizes, (size_t)n * sizeof sizes[0]);
    }
}

static void test_nested_sizes_sum_to_the_extent(void **state)
{
    (void)state;
    uint64_t seed = 7;
    printf("seed %llu\n", (unsigned long long)seed);
    struct random random = { seed };
    for (int round = 0; round < 200; round++) {
        static int64_t sizes[4096];
        int ways[6], n = 1, levels = (int)hp_random_below(&random, 7);
        int64_t extent = hp_random_below(&random, 1000), sum = 0;
        for (int l = 0; l < levels; l++)
            n *= ways[l] = 1 + (int)hp_random_below(&random, 4);
        hp_nested_sizes(extent, ways, levels, sizes);
        for (int i = 0; i < n; i++) {
            assert_in_range(sizes[i], extent / n, extent / n + 1);
            sum += sizes[i];
        }
        assert_int_equal(sum, extent);
    }
}

static void test_boxes(void **state)
{
    (void)state;
    struct box a = { 2, { { 0, 4 }, { 2, 6 } } }, b = { 2, { { 3, 9 }, { 0, 3 } } };
    struct box both = { 2, { { 3, 4 }, { 2, 3 } } }, empty = { 2, { { 0, 4 }, { 3, 3 } } };
    struct box away = { 2, { { 4, 5 }, { 2, 6 } } }, scalar = { 0, { { 0, 0 } } };
    struct box got = hp_box_intersect(&a, &b);
    assert_true(hp_box_equal(&got, &both));
    assert_false(hp_box_equal(&a, &b));
    assert_int_equal(hp_box_elements(&a), 16);
    assert_int_equal(hp_box_elements(&empty), 0);
    assert_int_equal(hp_box_elements(&scalar), 1);
    assert_false(hp_box_empty(&scalar));
    assert_true(hp_box_contains(&a, &both));
    assert_false(hp_box_contains(&both, &a));
    assert_true(hp_box_contains(&both, &empty));
    got = hp_box_intersect(&a, &away);
    assert_true(hp_box_empty(&got));
    assert_int_equal(hp_box_elements(&got), 0);
}

/* The case of the table with this kind and label, as a graph. */
static struct hypar_graph *build(enum op_kind kind, const char *label)
{
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (op_cases[i].kind == kind && strcmp(op_cases[i].label, label) == 0)
            return op_case_build(&op_cases[i]);
    fail_msg("no case '%s'", label);
    return NULL;
}

static void test_parts_are_row_major(void **state)
{
    (void)state;
    struct hypar_graph *graph = build(OP_LINEAR, "n c");
    const struct nest *nest = graph->ops[graph->n_ops - 1].nest;
    struct split split = { .degree = { 0 } };
    int n = hp_nest_axis(nest, 'n'), k = hp_nest_axis(nest, 'k'), r = nest->n_axes - 1;
    static const int64_t sizes[] = { 1, 4, 2 };
    split.degree[n] = 2;
    split.degree[k] = 3;
    split.degree[r] = 2;
    split.sizes[k] = sizes;
    assert_int_equal(hp_part_count(nest, &split), 12);
    for (int part = 0; part < 12; part++) {
        int at[MAX_AXES];
        struct range range[MAX_AXES];
        hp_part_coordinates(nest, &split, part, at);
        assert_int_equal((at[n] * 3 + at[k]) * 2 + at[r], part);
        assert_true(hp_part_ranges(nest, &split, part, range));
        assert_int_equal(range[n].lo, at[n] * 3);
        assert_int_equal(range[k].lo, at[k] == 0 ? 0 : at[k] == 1 ? 1 : 5);
        assert_int_equal(range[k].hi - range[k].lo, sizes[at[k]]);
        assert_int_equal(range[r].lo, 0);
        assert_int_equal(range[r].hi, nest->axis[r].extent);
    }
    hypar_graph_free(graph);
}

/* Regions of operand 0 that were worked out by hand. */
static void test_regions_by_hand(void **state)
{
    static const struct {
        enum op_kind kind;
        const char *label;
        char axis;
        int degree, dim;
        int64_t lo_hi[8];
    } cases[] = {
        /* 9 outputs in 5 + 4, 3 taps, padding 1 */
        { OP_CONV, "same, odd kernel", 'h', 2, 2, { 0, 6, 4, 9 } },
        /* 11 -> 6 outputs in 2 + 2 + 2: taps [-1, 4), [3, 8), [7, 12) */
        { OP_CONV, "stride 2", 'h', 3, 2, { 0, 4, 3, 8, 7, 11 } },
        /* 17 -> 6 outputs, every third element: 0 3 6, 9 12 15 */
        { OP_CONV, "stride above the kernel", 'h', 2, 2, { 0, 7, 9, 16 } },
        /* two groups of three channels */
        { OP_GROUP_CONV, "two groups", 'g', 2, 1, { 0, 3, 3, 6 } },
        /* heads of 4 numbers, in 2 + 1 */
        { OP_ROPE, "three heads", 'a', 2, 2, { 0, 8, 8, 12 } },
        /* input 0 is [0, 3) of 10: parts of 4, 3 and 3 */
        { OP_CONCAT, "channels, pieces of 3, 1 and 6", 't', 3, 1, { 0, 3, 3, 3, 3, 3 } },
        { OP_SLICE, "middle", 't', 2, 1, { 2, 5, 5, 7 } },
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct hypar_graph *graph = build(cases[c].kind, cases[c].label);
        const struct nest *nest = graph->ops[graph->n_ops - 1].nest;
        struct split split = { .degree = { 0 } };
        int axis = hp_nest_axis(nest, cases[c].axis);
        assert_true(axis >= 0);
        split.degree[axis] = cases[c].degree;
        for (int part = 0; part < cases[c].degree; part++) {
            struct range range[MAX_AXES];
            assert_true(hp_part_ranges(nest, &split, part, range));
            struct range got = hp_region(nest, 0, range).dim[cases[c].dim];
            assert_int_equal(got.lo, cases[c].lo_hi[2 * part]);
            assert_int_equal(got.hi, cases[c].lo_hi[2 * part + 1]);
        }
        hypar_graph_free(graph);
    }
}

/* A part with no samples has no work, and an empty region of whatever the axis indexes. */
static void test_empty_parts(void **state)
{
    (void)state;
    struct hypar_graph *graph = build(OP_LINEAR, "n c");
    const struct nest *nest = graph->ops[graph->n_ops - 1].nest;
    struct split split = { .degree = { 0 } };
    struct range range[MAX_AXES];
    split.degree[hp_nest_axis(nest, 'n')] = 9;
    assert_true(hp_part_ranges(nest, &split, 5, range));
    assert_false(hp_part_ranges(nest, &split, 6, range));
    struct box x = hp_region(nest, 0, range), w = hp_region(nest, 1, range);
    struct box whole = hp_operand_box(nest, 1);
    assert_true(hp_box_empty(&x));
    assert_true(hp_box_equal(&w, &whole));
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even_parts),
        cmocka_unit_test(test_nested_sizes),
        cmocka_unit_test(test_nested_sizes_sum_to_the_extent),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_parts_are_row_major),
        cmocka_unit_test(test_regions_by_hand),
        cmocka_unit_test(test_empty_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
