/* auto takes the safer of two plans that are equally fast: the one whose fullest device keeps
 * more memory, and says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/hypar.h>

/* One device, in as many micro-batches: each needs less memory, and the sums of gradients take
 * hardly any time. */
static enum hypar_status plan_micro(struct hypar_plan **out, const struct hypar_graph *g,
                                    const struct hypar_machine *m,
                                    const struct hypar_search_options *options, void *who,
                                    struct hypar_error *err)
{
    struct hypar_layout layout = { .micro_batches = *(int *)who };
    *out = hypar_plan_new(g, m, options);
    return hypar_plan_set_layout(*out, &layout, err);
}

static int two = 2, many = 2048;
static const struct hypar_planner planners[] = {
    { HYPAR_ABI_VERSION, "two", "in two", NULL, NULL, true, plan_micro, &two },
    { HYPAR_ABI_VERSION, "many", "in many", NULL, NULL, true, plan_micro, &many },
};

static struct hypar_found *search(const char *model, int64_t batch, const char *planner)
{
    struct hypar_import_options import = { .batch = batch };
    static const struct hypar_sim_options simulation;
    struct hypar_search_options how = { .planner = planner, .simulation = &simulation };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_import(&graph, model, &import, &err) != HYPAR_OK ||
        hypar_machine_read(&machine, "full:1", &err) != HYPAR_OK ||
        hypar_search(&found, graph, machine, &how, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return found;
}

/* Two halves cost 0.01 % of the step, many parts more than rounding. */
static void test_equals(void **state)
{
    (void)state;
    struct hypar_found *one = search("mlp:1024-1024-1024-10", 65536, "dp");
    struct hypar_found *best = search("mlp:1024-1024-1024-10", 65536, "auto");
    double one_s = hypar_found_simulated(one)->step.step_s;
    double best_s = hypar_found_simulated(best)->step.step_s;
    print_message("%g s, %g s\n", one_s, best_s);
    assert_true(best_s > one_s && best_s <= 1.001 * one_s);
    assert_string_equal(hypar_found_info(best).planner, "two");
    assert_non_null(hypar_found_info(best).safer);
    assert_non_null(strstr(hypar_found_info(best).safer, "as fast as the plan of dp"));
    assert_true(hypar_found_simulated(best)->fullest.peak <
                hypar_found_simulated(one)->fullest.peak);
}

/* Where little memory is gained the faster one is taken, without a word. */
static void test_unlike(void **state)
{
    (void)state;
    struct hypar_found *best = search("mlp:1024-1024-1024-10", 256, "auto");
    assert_string_not_equal(hypar_found_info(best).planner, "two");
    assert_null(hypar_found_info(best).safer);
}

static int begin(void **state)
{
    (void)state;
    struct hypar_error err;
    for (size_t i = 0; i < sizeof planners / sizeof *planners; i++)
        assert_int_equal(hypar_planner_register(&planners[i], &err), HYPAR_OK);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals),
        cmocka_unit_test(test_unlike),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
