/* Batches: far larger ones cost a search no more than small ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/search/pipelines.h"

static struct hypar_graph *graph_with(const char *model, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, model, &(struct hypar_import_options){ .batch = batch }, &err))
        fail_msg("%s", err.text);
    return graph;
}

/* What grows is the number of divisors of the batch, among which micro-batches are chosen: from
 * 49 of 10^6 to 81 of 10^8. Micro-batches by the hundred thousand are not simulated. */
static void large_batches_cost_no_more(void **state)
{
    static const char *const planners[] = { "dp", "optcnn", "1f1b", "zb-h1", "3d", "auto" };
    struct hypar_machine *machine = machine_of("cluster:1x8");
    struct hypar_graph *small = graph_with("vgg16", 1000000),
                       *large = graph_with("vgg16", 100000000);
    struct hypar_sim_options simulation = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof planners / sizeof planners[0]; i++) {
        struct hypar_search_options how = { .planner = planners[i], .simulation = &simulation };
        struct hypar_found *a = search(small, machine, how), *b = search(large, machine, how);
        int64_t few = hypar_found_info(a).evaluated, many = hypar_found_info(b).evaluated;
        if (many > 2 * few)
            fail_msg("%s: %lld states weighed, %lld of a small batch", planners[i],
                     (long long)many, (long long)few);
        int64_t n = hypar_plan_schedule(hypar_found_plan(b)).micro_batches;
        assert_int_equal(hypar_found_simulated(b) == NULL, n > 4096);
        assert_int_equal(hypar_found_info(b).not_simulated == NULL, n <= 4096);
        assert_non_null(hypar_found_simulated(a));
        hypar_found_free(a);
        hypar_found_free(b);
    }
    hypar_graph_free(small);
    hypar_graph_free(large);
    hypar_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_batches_cost_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
