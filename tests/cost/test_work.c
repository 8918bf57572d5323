/* Work, seconds and joules of passes: closed forms, sums over parts, profiles. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/op_cases.h"

#include "base/random.h"
#include "cost/papers/array.h"
#include "cost/work.h"
#include "profile/profile.h"

static const operand_set all_operands = ~(operand_set)0;

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

static void assert_close(double value, double expected)
{
    if (!close_to(value, expected))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static const struct hypar_device *device_called(const char *name)
{
    for (int i = 0; hypar_device_type(i); i++)
        if (strcmp(hypar_device_type(i)->device.name, name) == 0)
            return &hypar_device_type(i)->device;
    fail_msg("no device %s", name);
    return NULL;
}

static struct hypar_graph *graph_of(enum op_kind kind, const char *label)
{
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (op_cases[i].kind == kind && strcmp(op_cases[i].label, label) == 0)
            return op_case_build(&op_cases[i]);
    fail_msg("no case %s (%s)", hp_op[kind].name, label);
    return NULL;
}

static const struct nest *last_nest(const struct hypar_graph *graph)
{
    return graph->ops[graph->n_ops - 1].nest;
}

static struct work whole_work(const struct nest *nest, int pass, enum hypar_precision precision)
{
    struct range range[MAX_AXES];
    hp_whole_ranges(nest, range);
    return hp_pass_work(nest, pass, range, all_operands, precision);
}

/* Closed forms -------------------------------------------------------------------------- */

static const struct {
    enum op_kind kind;
    const char *label; /* of tests/op_cases.h */
    int pass;
    double macs, other, elements, integers;
} forms[] = {
    /* x[6,9] w[9,7] b[7] y[6,7] */
    { OP_LINEAR, "n c", 0, 6 * 9 * 7, 0, 54 + 63 + 7 + 42, 0 },
    { OP_LINEAR, "n c", 1, 6 * 9 * 7, 0, 42 + 63 + 54, 0 },
    { OP_LINEAR, "n c", 2, 6 * 9 * 7, 0, 54 + 42 + 63, 0 },
    { OP_LINEAR, "n c", 3, 0, 6 * 7, 42 + 7, 0 },
    /* x[4,3,9,8] w[5,3,3,3] b[5] y[4,5,9,8] */
    { OP_CONV, "same, odd kernel", 0, 1440 * 27, 0, 864 + 135 + 5 + 1440, 0 },
    { OP_CONV, "same, odd kernel", 1, 1440 * 27, 0, 1440 + 135 + 864, 0 },
    { OP_CONV, "same, odd kernel", 2, 1440 * 27, 0, 864 + 1440 + 135, 0 },
    { OP_CONV, "same, odd kernel", 3, 0, 1440, 1440 + 5, 0 },
    /* x[2,5,(3,2,2)] k[2,7,(3,2)] v[2,7,(3,3)] y[2,5,(3,2,3)] m[2,5,3,2,2] t[2,5,3,2] */
    { OP_ATTENTION, "grouped, other keys, wider values", 0, 420 * 2, 4 * 420, 120 + 84 + 120,
      0 },
    { OP_ATTENTION, "grouped, other keys, wider values", 1, 420 * 3, 0,
      120 + 84 + 126 + 120 + 180, 0 },
    { OP_ATTENTION, "grouped, other keys, wider values", 2, 0, 2 * 180, 180 + 180 + 60, 0 },
    { OP_ATTENTION, "grouped, other keys, wider values", 3, 420 * 3 + 2 * 420 * 2, 6 * 420,
      120 + 84 + 126 + 120 + 60 + 180 + 120, 0 },
    /* ids[5,7], a table of 11 rows of 6: all of it is looked up at most once */
    { OP_EMBEDDING, "n t", 0, 0, 0, 66 + 210, 35 },
    { OP_EMBEDDING, "n t", 1, 0, 210, 210 + 66, 35 },
    /* x[5,3,7] y[7]: the gradient of what is broadcast is small */
    { OP_ADD, "one row for all samples", 0, 0, 105, 105 + 7 + 105, 0 },
    { OP_ADD, "one row for all samples", 2, 0, 105, 105 + 7, 0 },
    /* what moves data costs what it moves */
    { OP_CONCAT, "channels, pieces of 3, 1 and 6", 0, 0, 0, 200 + 200, 0 },
    { OP_SLICE, "every third", 0, 0, 0, 48 + 48, 0 },
    { OP_SLICE, "every third", 1, 0, 0, 48 + 48, 0 },
    { OP_PAD, "height and width", 0, 0, 0, 120 + 2 * 3 * 10 * 5, 0 },
    { OP_EXPAND, "middle", 0, 0, 0, 15 + 60, 0 },
    { OP_TRANSPOSE, "inner two", 0, 0, 0, 60 + 60, 0 },
    /* views do not */
    { OP_RESHAPE, "heads", 0, 0, 0, 0, 0 },
    { OP_FLATTEN, "n c h w", 1, 0, 0, 0, 0 },
    { OP_SQUEEZE, "both", 0, 0, 0, 0, 0 },
    { OP_UNSQUEEZE, "middle", 0, 0, 0, 0, 0 },
    { OP_IDENTITY, "n c", 0, 0, 0, 0, 0 },
};

static void closed_forms(void **state)
{
    (void)state;
    static const int bytes[HYPAR_PRECISION_COUNT] = {
        [HYPAR_FP32] = 4, [HYPAR_BF16] = 2, [HYPAR_FP64] = 8, [HYPAR_FP16] = 2, [HYPAR_TF32] = 4
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct hypar_graph *graph = graph_of(forms[i].kind, forms[i].label);
        for (int p = 0; p < HYPAR_PRECISION_COUNT; p++) {
            struct work work =
                whole_work(last_nest(graph), forms[i].pass, (enum hypar_precision)p);
            double expected = bytes[p] * forms[i].elements + 4 * forms[i].integers;
            if (work.macs != forms[i].macs || work.other != forms[i].other ||
                work.bytes != expected)
                fail_msg("%s (%s) pass %d: %g macs, %g other, %g bytes, expected %g, %g, %g",
                         hp_op[forms[i].kind].name, forms[i].label, forms[i].pass, work.macs,
                         work.other, work.bytes, forms[i].macs, forms[i].other, expected);
        }
        hypar_graph_free(graph);
    }
}

/* Every kind that moves data only either is a view or costs bytes and nothing else. */
static void lookups_and_views(void **state)
{
    (void)state;
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        struct hypar_graph *graph = op_case_build(&op_cases[i]);
        const struct nest *nest = last_nest(graph);
        struct work work = whole_work(nest, 0, HYPAR_FP32);
        bool lookup = hp_op[nest->kind].flags & ROW_LOOKUP;
        assert_true(lookup || !hp_is_view(nest));
        assert_int_equal(work.bytes > 0, !hp_is_view(nest));
        if (lookup)
            assert_true(work.macs == 0 && work.other == 0);
        hypar_graph_free(graph);
    }
}

/* Of a large table only the rows that are asked for; of a quarter of it, a quarter of those. */
static void large_table(void **state)
{
    (void)state;
    enum { N = 2, T = 3, K = 8, V = 1000 };
    struct graph_builder *b = hp_build("table", N);
    struct hypar_error err = { 0 };
    int ids = hp_build_input(b, "ids", &(struct hypar_shape){ 2, { N, T } }, true, 0);
    int inputs[] = { ids, HP_MAKE }, out[1];
    struct op_request request = { OP_EMBEDDING, "e", 2, inputs,
                                  ATTRS({ ATTR_OUT, 1, V(K) }, { ATTR_VOCAB, 1, V(V) }) };
    struct hypar_graph *graph;
    assert_int_equal(hp_build_op(b, &request, out, &err), HYPAR_OK);
    assert_int_equal(hp_build_finish(b, &graph, &err), HYPAR_OK);
    const struct nest *nest = last_nest(graph);
    for (int pass = 0; pass < 2; pass++) {
        struct work work = whole_work(nest, pass, HYPAR_BF16);
        assert_close(work.bytes, 4 * N * T + 2 * (N * T * K + N * T * K));
        struct range range[MAX_AXES];
        hp_whole_ranges(nest, range);
        range[hp_nest_axis(nest, 'v')] = (struct range){ V / 4, V / 2 };
        work = hp_pass_work(nest, pass, range, all_operands, HYPAR_BF16);
        assert_close(work.bytes, 4 * N * T + 2 * (N * T * K + N * T * K / 4));
    }
    hypar_graph_free(graph);
}

/* Absent operands cost nothing; an empty loop has no work. */
static void absent_and_empty(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    const struct nest *nest = last_nest(graph);
    struct range range[MAX_AXES];
    hp_whole_ranges(nest, range);
    struct work work =
        hp_pass_work(nest, 0, range, all_operands & ~(operand_set)4, HYPAR_FP32); /* b */
    assert_close(work.bytes, 4 * (54 + 63 + 42));
    range[hp_nest_axis(nest, 'k')] = (struct range){ 3, 3 };
    work = hp_pass_work(nest, 0, range, all_operands, HYPAR_FP32);
    assert_true(work.macs == 0 && work.other == 0 && work.bytes == 0);
    hypar_graph_free(graph);
}

/* Sums over parts ----------------------------------------------------------------------- */

/* Do all windows touch all that lies between them? */
static bool dense(const struct nest *nest)
{
    for (int o = 0; o < nest->n_operands; o++)
        for (int d = 0; d < nest->operand[o].n_dims; d++) {
            const struct dim_map *map = &nest->operand[o].dim[d];
            if (map->kind == DIM_AXIS && map->stride > map->span)
                return false;
        }
    return true;
}

/* Operations of all parts are those of the whole, times the parts that compute copies; bytes
 * are no fewer. */
static void check_sum(const struct nest *nest, const struct split *split, int pass)
{
    struct work whole = whole_work(nest, pass, HYPAR_FP32), sum = { 0 };
    struct range range[MAX_AXES];
    double copies = 1;
    for (int a = 0; a < nest->n_axes; a++)
        if (!(nest->pass[pass].axes >> a & 1) && split->degree[a] > 1) {
            int with_work = 0;
            for (int i = 0; i < split->degree[a]; i++)
                with_work += !hp_range_empty(hp_axis_part(nest, split, a, i));
            copies *= with_work;
        }
    for (int part = 0, n = hp_part_count(nest, split); part < n; part++) {
        if (!hp_part_ranges(nest, split, part, range))
            continue;
        struct work work = hp_pass_work(nest, pass, range, all_operands, HYPAR_FP32);
        sum.macs += work.macs;
        sum.other += work.other;
        sum.bytes += work.bytes;
    }
    assert_close(sum.macs, copies * whole.macs);
    assert_close(sum.other, copies * whole.other);
    if (dense(nest) && sum.bytes < whole.bytes * (1 - 1e-12))
        fail_msg("%s pass %d: parts touch %g bytes, the whole %g", hp_op[nest->kind].name, pass,
                 sum.bytes, whole.bytes);
}

static void parts_sum_to_the_whole(void **state)
{
    (void)state;
    uint64_t seed = 20250117;
    printf("seed %llu\n", (unsigned long long)seed);
    struct random random = { seed };
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        struct hypar_graph *graph = op_case_build(&op_cases[i]);
        const struct nest *nest = last_nest(graph);
        for (int round = 0; round < 20; round++) {
            struct split split = { .degree = { 0 } };
            for (int a = 0; a < nest->n_axes; a++)
                if (nest->axis[a].splittable && hp_part_count(nest, &split) <= 64)
                    split.degree[a] = 1 + (int)hp_random_below(&random, 4);
            for (int p = 0; p < nest->n_passes; p++)
                check_sum(nest, &split, p);
        }
        hypar_graph_free(graph);
    }
}

/* A convolution cut in height reads the rows next to its part as well. */
static void halo(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_CONV, "same, odd kernel");
    const struct nest *nest = last_nest(graph);
    struct range range[MAX_AXES];
    hp_whole_ranges(nest, range);
    range[hp_nest_axis(nest, 'h')] = (struct range){ 3, 6 };
    struct work work = hp_pass_work(nest, 0, range, all_operands, HYPAR_FP32);
    assert_close(work.bytes, 4 * (4 * 3 * 5 * 8 + 135 + 5 + 4 * 5 * 3 * 8));
    assert_close(work.macs, 1440 * 27 / 3);
    hypar_graph_free(graph);
}

/* Seconds ------------------------------------------------------------------------------- */

static void roofline(void **state)
{
    (void)state;
    const struct hypar_device *v100 = device_called("v100");
    struct work dense = { .macs = 1e12, .other = 5e11, .bytes = 9e8 };
    assert_close(hp_work_seconds(&dense, v100, HYPAR_FP32), 2.5e12 / (15.7e12 * 0.5));
    assert_close(hp_work_seconds(&dense, v100, HYPAR_FP16), 2.5e12 / (125e12 * 0.5));
    assert_close(hp_work_seconds(&dense, v100, HYPAR_BF16), 2.5e12 / (15.7e12 * 0.5));
    assert_close(hp_work_seconds(&dense, v100, HYPAR_TF32), 2.5e12 / (15.7e12 * 0.5));
    assert_close(hp_work_seconds(&dense, v100, HYPAR_FP64), 2.5e12 / (7.8e12 * 0.5));
    struct work moved = { .other = 1e9, .bytes = 9e9 };
    assert_close(hp_work_seconds(&moved, v100, HYPAR_FP32), 0.01);
    assert_true(hp_work_seconds(&(struct work){ 0 }, v100, HYPAR_FP32) == 0);
}

static void profiles(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    const struct nest *nest = last_nest(graph);
    const struct hypar_device *v100 = device_called("v100"), *k80 = device_called("k80");
    struct hypar_profile *profile = hypar_profile_new();
    struct hypar_error err = { 0 };
    struct range range[MAX_AXES];
    int64_t extent[MAX_AXES];
    hp_whole_ranges(nest, range);
    for (int a = 0; a < nest->n_axes; a++)
        extent[a] = range[a].hi - range[a].lo;
    struct hypar_device slow = *v100;
    slow.memory_bytes_per_s = 1e30; /* bound by arithmetic */
    double before = hp_pass_seconds(nest, 0, range, all_operands, &slow, HYPAR_FP32, NULL);
    assert_close(before, 2 * 378 / (15.7e12 * 0.5));
#define SECONDS(device) \
    hp_pass_seconds(nest, 0, range, all_operands, device, HYPAR_FP32, profile)
    assert_true(SECONDS(&slow) == before);

    hypar_profile_set_efficiency(profile, "v100", 0.25);
    assert_close(SECONDS(&slow), 2 * before);
    struct measured_pass at = { "v100", HYPAR_FP32, nest, 0, extent, 0 };
    assert_int_equal(hp_profile_add(profile, &at, 0.125, &err), HYPAR_OK);
    assert_true(SECONDS(&slow) == 0.125);
    assert_true(SECONDS(k80) ==
                hp_pass_seconds(nest, 0, range, all_operands, k80, HYPAR_FP32, NULL));
    range[0] = (struct range){ 1, 4 }; /* another extent: not measured, half the work */
    assert_close(SECONDS(&slow), before);
    range[0] = (struct range){ 0, 6 };
    assert_true(SECONDS(&slow) == 0.125);
#undef SECONDS
    hypar_profile_free(profile);
    hypar_graph_free(graph);
}

static void updates(void **state)
{
    (void)state;
    static const double bytes[HYPAR_PRECISION_COUNT][HYPAR_OPTIMIZER_COUNT] = {
        /* gradient, weight twice, moments twice each */
        [HYPAR_FP32] = { 4 + 8, 4 + 8 + 8, 4 + 8 + 16, 4 + 8 + 16 },
        /* gradient, fp32 master twice, the weight written, fp32 moments twice each */
        [HYPAR_BF16] = { 2 + 8 + 2, 2 + 8 + 2 + 8, 2 + 8 + 2 + 16, 2 + 8 + 2 + 16 },
        [HYPAR_FP64] = { 8 + 16, 8 + 16 + 16, 8 + 16 + 32, 8 + 16 + 32 },
        [HYPAR_FP16] = { 2 + 8 + 2, 2 + 8 + 2 + 8, 2 + 8 + 2 + 16, 2 + 8 + 2 + 16 },
        [HYPAR_TF32] = { 4 + 8, 4 + 8 + 8, 4 + 8 + 16, 4 + 8 + 16 },
    };
    for (int p = 0; p < HYPAR_PRECISION_COUNT; p++)
        for (int o = 0; o < HYPAR_OPTIMIZER_COUNT; o++) {
            enum hypar_precision precision = (enum hypar_precision)p;
            enum hypar_precision fp32 = hp_gradient_precision(precision, true);
            struct work work =
                hp_update_work(1000, precision, precision, (enum hypar_optimizer)o);
            assert_close(work.bytes, 1000 * bytes[p][o]);
            assert_true(work.macs >= 1000);
            double longer = hp_precision_bytes(fp32) - hp_precision_bytes(precision);
            work = hp_update_work(1000, precision, fp32, (enum hypar_optimizer)o);
            assert_close(work.bytes, 1000 * (bytes[p][o] + longer));
        }
    assert_int_equal(hp_master_precision(HYPAR_BF16), HYPAR_FP32);
    assert_int_equal(hp_master_precision(HYPAR_TF32), HYPAR_FP32);
    assert_int_equal(hp_master_precision(HYPAR_FP64), HYPAR_FP64);
    assert_int_equal(hp_gradient_precision(HYPAR_FP16, true), HYPAR_FP32);
    assert_int_equal(hp_gradient_precision(HYPAR_FP16, false), HYPAR_FP16);
    assert_int_equal(hp_gradient_precision(HYPAR_FP64, true), HYPAR_FP64);
}

/* Joules -------------------------------------------------------------------------------- */

static double total_j(const struct work_energy *e)
{
    return e->arithmetic_j + e->sram_j + e->dram_j;
}

/* The closed form of HyPar's array counts the same. */
static void energy(void **state)
{
    (void)state;
    const struct hypar_device *device = device_called("eyeriss-hmc");
    struct work work = { .macs = 3e9, .bytes = 4 * 7e6 };
    struct work_energy e = hp_work_energy(&work, device, HYPAR_FP32);
    assert_close(e.arithmetic_j, 3e9 * (0.9e-12 + 3.7e-12));
    assert_close(e.sram_j, 3e9 * 3 * 5e-12);
    assert_close(e.dram_j, 7e6 * 640e-12);
    struct array_work array = { .macs = 3e9, .dram_words = 7e6, .sent_words = 5e5 };
    double link_j = 6.78e-12;
    assert_close(hp_array_energy_j(&array, device, link_j, HYPAR_FP32),
                 total_j(&e) + hp_message_dram_j(4 * 5e5, device, device) + 5e5 * 32 * link_j);
    assert_close(hp_message_dram_j(4 * 5e5, device, device), 5e5 * 2 * 640e-12);
    assert_close(hp_array_energy_j(&array, device, link_j, HYPAR_FP32), /* by hand */
                 3e9 * 19.6e-12 + 7e6 * 640e-12 + 5e5 * (1280e-12 + 32 * 6.78e-12));

    struct work_energy half = hp_work_energy(&work, device, HYPAR_BF16);
    struct work_energy twice = hp_work_energy(&work, device, HYPAR_FP64);
    assert_close(2 * half.arithmetic_j, e.arithmetic_j);
    assert_close(2 * half.sram_j, e.sram_j);
    assert_close(hp_array_energy_j(&array, device, link_j, HYPAR_FP32) -
                     hp_array_energy_j(&array, device, link_j, HYPAR_BF16),
                 half.arithmetic_j + half.sram_j);
    assert_close(half.dram_j, e.dram_j); /* bytes are bytes */
    assert_close(twice.arithmetic_j + twice.sram_j, 2 * (e.arithmetic_j + e.sram_j));

    struct work other = { .other = 1e9 };
    e = hp_work_energy(&other, device, HYPAR_FP32);
    assert_close(total_j(&e), 1e9 * 0.9e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms), cmocka_unit_test(lookups_and_views),
        cmocka_unit_test(large_table),  cmocka_unit_test(absent_and_empty),
        cmocka_unit_test(halo),         cmocka_unit_test(parts_sum_to_the_whole),
        cmocka_unit_test(roofline),     cmocka_unit_test(profiles),
        cmocka_unit_test(updates),      cmocka_unit_test(energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
