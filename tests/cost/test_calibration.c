/* Intervals of predictions: what follows from a calibration, and which one counts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <hypar/graph.h>

#include "cost/calibration.h"
#include "machine/machine.h"

static void near(double got, double want, const char *what)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%s: got %.17g, want %.17g", what, got, want);
}

/* Devices and figures of the table are such as there are. */
static void test_rows(void **state)
{
    (void)state;
    for (int i = 0; hp_calibrated(i); i++) {
        const struct calibrated *row = hp_calibrated(i);
        assert_true(!*row->device || hp_device_type_find(row->device));
        assert_true(row->is.rows > 0 && row->is.on && *row->is.on);
        assert_true(row->is.spread > 0 && row->is.spread < 2);
        assert_true(row->is.pair >= 0 && row->is.pair <= 2 * row->is.spread);
        for (int k = 0; k < i; k++)
            assert_false(strcmp(hp_calibrated(k)->device, row->device) == 0 &&
                         strcmp(hp_calibrated(k)->framework, row->framework) == 0);
    }
}

static void test_intervals(void **state)
{
    (void)state;
    static const struct {
        struct hypar_calibration from;
        double low_s, high_s; /* of a step of a second */
    } cases[] = {
        { { .rows = 0 }, 1 / 1.6, 1.6 },
        { { .rows = 0, .bias = 0.38, .spread = 0.394 }, 1 / 1.6, 2.4228642144401475 },
        { { .rows = 0, .bias = -0.38, .spread = 0.394 }, 0.4127346444097241, 1.6 },
        { { .rows = 0, .bias = 0.1, .spread = 0.1 }, 1 / 1.6, 1.6 },
        { { .rows = 9, .bias = 0, .spread = 0.1 }, 0.87971261, 1.13673487 },
        { { .rows = 9, .bias = 0.05, .spread = 0.1 }, 0.92481644, 1.19501651 },
        { { .rows = 9, .bias = -0.05, .spread = 0 }, 0.951229425, 0.951229425 },
    };
    struct less_known none = { 0 }, parts = { .messages = 0.3, .launches = 0.9 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_interval wide = hp_interval(&cases[i].from, 1, &parts);
        struct hypar_interval one = hp_interval(&cases[i].from, 1, &none);
        struct hypar_interval long_one = hp_interval(&cases[i].from, 20, &none);
        assert_true(fabs(one.low_s - cases[i].low_s) < 1e-6);
        assert_true(fabs(one.high_s - cases[i].high_s) < 1e-6);
        near(long_one.low_s, 20 * one.low_s, "low");
        near(long_one.high_s, 20 * one.high_s, "high");
        assert_int_equal(one.from.rows, cases[i].from.rows);
        if (!cases[i].from.rows && cases[i].from.spread > 0) { /* as wide as with rows */
            struct hypar_calibration measured = cases[i].from;
            measured.rows = 9;
            struct hypar_interval of_rows = hp_interval(&measured, 1, &parts);
            assert_true(wide.low_s <= of_rows.low_s && wide.high_s >= of_rows.high_s);
            continue;
        }
        assert_true(cases[i].from.rows ? wide.low_s < one.low_s && wide.high_s > one.high_s
                                       : wide.low_s == one.low_s);
    }
}

/* The less a step that nobody measured consists of convolutions, the longer it takes at least;
 * measured rows know their convolutions. */
static void test_convolutions(void **state)
{
    (void)state;
    struct hypar_calibration unknown = { 0 }, known = { .rows = 9, .spread = 0.1 };
    for (int tenths = 0; tenths <= 10; tenths++) {
        struct less_known parts = { .convolutions = tenths / 10.0 };
        struct hypar_interval i = hp_interval(&unknown, 7, &parts);
        near(i.low_s, 7 * (parts.convolutions / 3.5 + (1 - parts.convolutions) / 1.6), "low");
        near(i.high_s, 7 * 1.6, "high");
        near(hp_interval(&known, 7, &parts).low_s,
             hp_interval(&known, 7, &(struct less_known){ 0 }).low_s, "measured");
    }
}

/* Convolutions with strides and windows of one element have no fast algorithm. */
static void test_convolution_share(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double least, most;
    } cases[] = { { "mlp:64-64-10", 0, 0 },
                  { "vit-b-16", 0, 0 },
                  { "vgg16", 0.9, 1 },
                  { "resnet50", 0.2, 0.6 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_error err;
        assert_int_equal(hypar_import(&graph, cases[i].model, NULL, &err), HYPAR_OK);
        assert_int_equal(hypar_machine_read(&machine, "full:2,device=p100", &err), HYPAR_OK);
        double share = hp_convolution_share(graph, machine, HYPAR_FP32);
        print_message("%s: %.3f\n", cases[i].model, share);
        assert_true(share >= cases[i].least && share <= cases[i].most);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

static void test_alike(void **state)
{
    (void)state;
    struct hypar_calibration c = { .rows = 4, .spread = 0.3, .pair = 0.02 };
    assert_true(hp_are_alike(&c, 1, 1));
    assert_true(hp_are_alike(&c, 1, 1.025));
    assert_true(hp_are_alike(&c, 1.025, 1));
    assert_false(hp_are_alike(&c, 1, 1.027));
    assert_false(hp_are_alike(&c, 1.027, 1));
}

static struct hypar_calibration of(const char *word, const struct hypar_framework *framework,
                                   bool profiled)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    assert_int_equal(hypar_machine_read(&machine, word, &err), HYPAR_OK);
    struct hypar_calibration c = hp_calibration(machine, framework, profiled);
    hypar_machine_free(machine);
    return c;
}

/* A framework's file knows itself; measured times go before it; a device that nobody measured
 * makes the whole machine unknown. */
static void test_which(void **state)
{
    (void)state;
    struct hypar_framework none = { .name = "nobody's" };
    struct hypar_framework own = { .name = "mine", .calibration = { 5, 0.1, 0.2, 0.1, "own" } };
    assert_int_equal(of("full:2,device=k80", &none, false).rows, 0);
    assert_string_equal(of("full:2,device=k80", &own, false).on, "own");
    assert_true(of("full:2,device=k80", &own, true).rows > 5);
    for (int i = 0; hp_calibrated(i); i++) {
        const struct calibrated *row = hp_calibrated(i);
        struct hypar_framework framework = { .name = row->framework };
        char word[256];
        if (!*row->device)
            continue;
        snprintf(word, sizeof word, "cluster:1x8,device=%s", row->device);
        near(of(word, &framework, false).spread, row->is.spread, word);
        snprintf(word, sizeof word, "cluster:1x8,device=%s+cluster:1x8,device=k80",
                 row->device);
        assert_int_equal(of(word, &framework, false).rows, 0);
        near(of(word, &framework, false).spread, row->is.spread, word);
    }
}

/* Other figures than the table's have no measured steps, also beside usual devices of the same
 * name, and the interval does not become narrower for them. */
static void test_changed(void **state)
{
    (void)state;
    static const char *const words[] = {
        "full:2,device=h200,bf16=100TFLOP/s",
        "cluster:1x8,device=h200+cluster:1x8,device=h200,bf16=100TFLOP/s",
        "cluster:1x8,device=h200,bf16=100TFLOP/s+cluster:1x8,device=h200",
    };
    struct hypar_framework fsdp = { .name = "fsdp" };
    struct hypar_calibration usual = of("full:2,device=h200", &fsdp, false);
    assert_int_equal(of("full:2,device=h200,memory=40GB", &fsdp, false).rows, usual.rows);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct hypar_calibration c = of(words[i], &fsdp, false);
        assert_int_equal(c.rows, 0);
        assert_string_equal(c.on, "h200");
        near(c.bias, usual.bias, words[i]);
        near(c.spread, usual.spread, words[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),         cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_convolutions), cmocka_unit_test(test_convolution_share),
        cmocka_unit_test(test_alike),        cmocka_unit_test(test_which),
        cmocka_unit_test(test_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
