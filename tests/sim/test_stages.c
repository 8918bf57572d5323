/* Stages of a pipeline, one by one: of every schedule, not only pipedream's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <hypar/search.h>

static void check_stages(const char *planner)
{
    enum { STAGES = 2 };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_sim *sim;
    struct hypar_error err;
    struct hypar_search_options how = { .planner = planner, .stages = STAGES };
    assert_int_equal(hypar_import(&graph, "lenet5", NULL, &err), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&machine, "full:2", &err), HYPAR_OK);
    if (hypar_search(&found, graph, machine, &how, &err) != HYPAR_OK)
        fail_msg("%s: %s", planner, err.text);
    const struct hypar_plan *plan = hypar_found_plan(found);
    assert_int_equal(hypar_plan_stage_count(plan), STAGES);
    assert_int_equal(hypar_simulate(&sim, plan, NULL, &err), HYPAR_OK);
    for (int s = 0; s < STAGES; s++) {
        struct hypar_sim_stage stage = hypar_sim_stage(sim, s);
        double step_s = hypar_sim_summary(sim).step_s;
        assert_int_equal(stage.replicas, 1);
        assert_true(stage.busy_s > 0 && stage.busy_s < step_s);
        assert_true(stage.bubble >= 0 && stage.bubble < 1);
        assert_true(stage.bubble <= 1 - stage.busy_s / step_s);
        assert_true(stage.peak_memory_bytes > 0);
    }
    assert_true(hypar_sim_stage(sim, STAGES).busy_s == 0);
    assert_true(hypar_sim_stage(sim, -1).busy_s == 0);
    hypar_sim_free(sim);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void test_stages(void **state)
{
    (void)state;
    check_stages("gpipe");
    check_stages("1f1b");
    check_stages("zb-h1");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_stages) };
    return cmocka_run_group_tests_name("sim/stages", tests, NULL, NULL);
}
