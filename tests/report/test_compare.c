/* Comparisons: the best of the plans that fit, and rows without a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/report.h>

static const struct hypar_compared rows[] = {
    { .planner = "dp",
      .step = { .step_s = 2e-3, .comm_bytes = 4e6, .peak_memory_bytes = 1e9 },
      .fits = true,
      .search_s = 1e-3 },
    { .planner = "hypar",
      .step = { .step_s = 1e-3,
                .comm_bytes = 1e6,
                .peak_memory_bytes = 2e9,
                .energy = { 1, 2, 3, 4 },
                .interval = { .low_s = 5e-4, .high_s = 2e-3 } },
      .fits = true,
      .search_s = 5e-3,
      .processor_s = 8e-3,
      .evaluated = 42,
      .bound = { .step_s = 8e-4 } },
    { .planner = "greedy",
      .step = { .step_s = 5e-4, .comm_bytes = 2e6 },
      .search_s = 2e-3,
      .evaluated = -1,
      .updates = HYPAR_UPDATES_DELAYED },
    { .planner = "none", .why = "op 'fc1' is \"odd\", expected even" },
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static char *written(int n, double dp_step_s, enum hypar_format format)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    assert_int_equal(hypar_import(&graph, "mlp:4-4", NULL, NULL), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&machine, "full:2", NULL), HYPAR_OK);
    struct hypar_comparison comparison = {
        .graph = graph, .machine = machine, .dp_step_s = dp_step_s, .n = n, .row = rows
    };
    hypar_report_comparison(to, &comparison, format);
    fclose(to);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return text;
}

static void test_text(void **state)
{
    (void)state;
    char *text = written(N_ROWS, 2e-3, HYPAR_TEXT);
    /* what does not fit is never best, though it be the fastest */
    assert_string_equal(
        strchr(text, '\n'),
        "\n\n"
        "planner    step   over dp   sent   memory   energy   search\n"
        "dp         2 ms    1.00 x   4 MB     1 GB*     0 J*    1 ms*\n"
        "hypar      1 ms*   2.00 x*  1 MB*    2 GB     10 J     5 ms\n"
        "greedy   500 us    4.00 x   2 MB      0 B      0 J     2 ms   "
        "does not fit\n"
        "none          -         -      -        -        -        -   "
        "no plan\n"
        "* the best of its column by a plan that fits\n"
        "none: op 'fc1' is \"odd\", expected even\n"
        "\n"
        "The fastest that fits is hypar: 1 ms a step, 0 samples/s, 0.0 % of peak.\n"
        "Run as compiled on v100, the default device\n"
        "Not calibrated, no such step was measured: expect 500 us to 2 ms.\n");
    char *other = written(N_ROWS, 2e-3, HYPAR_DOT); /* a format that it does not have */
    assert_string_equal(other, text);
    free(other);
    free(text);
}

static void test_csv(void **state)
{
    (void)state;
    char *text = written(N_ROWS, 0, HYPAR_CSV);
    assert_string_equal(text,
                        "planner,step_s,speedup_over_dp,comm_bytes,peak_memory_bytes,energy_j,"
                        "search_s,fits,why_not,delayed_updates,processor_s,evaluated,"
                        "samples_per_s,mfu,link_bytes,gap,batch_per_replica\n"
                        "dp,0.002,,4000000,1000000000,0,0.001,1,,0,0,0,0,0,0,,0\n"
                        "hypar,0.001,,1000000,2000000000,10,0.005,1,,0,0.008,42,0,0,0,0.25,0\n"
                        "greedy,0.0005,,2000000,0,0,0.002,0,,1,0,,0,0,0,,0\n"
                        "none,,,,,,,,\"op 'fc1' is \"\"odd\"\", expected even\",,,,,,,,\n");
    free(text);
}

static void test_json(void **state)
{
    (void)state;
    char *text = written(N_ROWS, 2e-3, HYPAR_JSON);
    assert_non_null(strstr(text, "\"planner\": \"hypar\""));
    assert_non_null(strstr(text, "\"speedup_over_dp\": 2,"));
    assert_non_null(strstr(text, "\"energy_j\": 10,"));
    assert_non_null(strstr(text, "\"predicted\": null"));
    assert_non_null(strstr(text, "\"error\": \"op 'fc1' is \\\"odd\\\", expected even\""));
    free(text);
    text = written(N_ROWS, 2e-3, HYPAR_JSON);
    assert_non_null(strstr(text, "\"model\": \"mlp:4-4\",\n"));
    assert_non_null(strstr(text, "\"machine\": \"full:2\",\n"));
    assert_non_null(strstr(text, "\"gap\": 0.25,"));
    assert_non_null(strstr(text, "\"evaluated\": null"));
    free(text);
    text = written(0, 0, HYPAR_JSON);
    assert_non_null(strstr(text, "\"lower_bound\": null,\n  \"plans\": []\n}\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),
    };
    setenv("COLUMNS", "96", 1); /* as wide as what is expected */
    return cmocka_run_group_tests_name("report/compare", tests, NULL, NULL);
}
