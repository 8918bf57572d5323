/* Lowering, writing, reading and simulating equals simulating: the whole report, including
 * memory and energy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <hypar/report.h>
#include <hypar/search.h>

#include "tests/length.h"
#include "tests/random_plan.h"

static char path[] = "/tmp/hypar-lowered-XXXXXX";

/* Text, JSON, trace and timeline of a simulation. */
static char *report_of(const struct hypar_sim *sim, const struct hypar_plan *plan)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    hypar_report_simulation(to, sim, plan, HYPAR_TEXT);
    hypar_report_simulation(to, sim, plan, HYPAR_JSON);
    hypar_report_trace(to, sim, NULL);
    hypar_report_timeline(to, sim, HYPAR_JSON);
    assert_int_equal(fclose(to), 0);
    return text;
}

static void write_program(const struct hypar_plan *plan, const struct hypar_sim_options *how)
{
    struct hypar_program *program;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(hypar_lower(&program, plan, &how->lower, NULL), HYPAR_OK);
    assert_int_equal(hypar_program_write(program, file, NULL), HYPAR_OK);
    assert_int_equal(fclose(file), 0);
    hypar_program_free(program);
}

static bool check(const struct hypar_plan *plan, const struct hypar_sim_options *how,
                  const char *title)
{
    struct hypar_sim *sim, *again;
    struct hypar_error err = { 0 };
    if (hypar_simulate(&sim, plan, how, NULL) != HYPAR_OK)
        return false;
    write_program(plan, how);
    if (hypar_simulate_file(&again, path, NULL, how, &err) != HYPAR_OK)
        fail_msg("%s: %s", title, err.text);
    char *expected = report_of(sim, plan), *found = report_of(again, hypar_sim_plan(again));
    if (strcmp(expected, found) != 0)
        fail_msg("%s: another report", title);
    free(expected);
    free(found);
    hypar_sim_free(again);
    hypar_sim_free(sim);
    return true;
}

static void random_plans(void **state)
{
    static const char *const words[] = { "full:4", "cluster:2x3", "torus:2x2", "htree:8",
                                         "cluster:1x2,device=h100+cluster:1x2,device=a100" };
    (void)state;
    int64_t plans = length_of("HYPAR_LOWERED_PLANS", 60, 200, 200);
    int simulated = 0, delayed = 0;
    for (uint64_t seed = 1; simulated < plans; seed++) {
        struct random random = { seed * 0x9e3779b97f4a7c15 };
        struct plan_focus focus = { -1, -1, -1, seed % 3 == 0 };
        struct hypar_machine *machine;
        char title[64];
        snprintf(title, sizeof title, "seed %llu", (unsigned long long)seed);
        assert_int_equal(hypar_machine_read(&machine, words[seed % 5], NULL), HYPAR_OK);
        struct hypar_graph *drawn = random_graph(&random, OP_KIND_COUNT), *graph;
        assert_int_equal(hp_graph_renumber(drawn, &graph, NULL), HYPAR_OK);
        struct hypar_plan *plan = random_plan(&random, graph, machine, &focus);
        struct hypar_sim_options how = { .lower = { .bucket_bytes = seed % 4 ? 0 : 1000 },
                                         .expand_collectives = seed % 5 == 0,
                                         .timeline = true };
        if (check(plan, &how, title)) {
            simulated++;
            delayed += plan->schedule.kind == HYPAR_SCHEDULE_PIPEDREAM;
        }
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_graph_free(drawn);
        hypar_machine_free(machine);
    }
    print_message("  %d plans, %d of them pipedream's\n", simulated, delayed);
    assert_true(20 * delayed > simulated);
}

/* The examples, and what planners find for pipelines. */
static void examples_and_pipelines(void **state)
{
    static const char *const files[] = { "examples/plans/data-parallel.json",
                                         "examples/plans/one-weird-trick.json",
                                         "examples/plans/pipeline.json",
                                         "examples/plans/pipedream.json" };
    static const char *const planners[] = { "hypar", "gpipe", "1f1b", "pipedream", "optcnn" };
    static const char *const models[] = { "vgg-a", "lenet5" };
    struct hypar_sim_options how = { .timeline = true };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct hypar_plan *plan;
        assert_int_equal(hypar_plan_read(&plan, files[i], NULL, NULL), HYPAR_OK);
        assert_true(check(plan, &how, files[i]));
        hypar_plan_free(plan);
    }
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
        for (size_t p = 0; p < sizeof planners / sizeof planners[0]; p++) {
            struct hypar_graph *graph;
            struct hypar_machine *machine;
            struct hypar_found *found;
            assert_int_equal(hypar_import(&graph, models[m], NULL, NULL), HYPAR_OK);
            assert_int_equal(hypar_machine_read(&machine, "cluster:2x2", NULL), HYPAR_OK);
            struct hypar_search_options search = { .planner = planners[p], .model = models[m] };
            if (hypar_search(&found, graph, machine, &search, NULL) == HYPAR_OK) {
                assert_true(check(hypar_found_plan(found), &how, planners[p]));
                hypar_found_free(found);
            }
            hypar_machine_free(machine);
            hypar_graph_free(graph);
        }
}

static int begin(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int end(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans),
        cmocka_unit_test(examples_and_pipelines),
    };
    return cmocka_run_group_tests_name("sim: lowered files", tests, begin, end);
}
