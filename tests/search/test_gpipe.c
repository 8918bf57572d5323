/* Planners gpipe and 1f1b: their plans lower, and 1f1b keeps less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/program.h>

#include "tests/search/pipelines.h"

static void flushing_pipelines_lower(void **state)
{
    static const struct {
        const char *model, *machine;
        int64_t batch;
    } rows[] = { { "lenet5", "full:4", 64 },
                 { "alexnet", "cluster:2x2", 32 },
                 { "gpt2", "cluster:2x4", 16 },
                 { "resnet18", "full:6", 36 } };
    static const char *const planners[] = { "gpipe", "1f1b" };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int k = 0; k < 2; k++) {
            struct hypar_graph *graph;
            struct hypar_error err;
            struct hypar_program *program;
            if (hypar_import(&graph, rows[i].model,
                             &(struct hypar_import_options){ .batch = rows[i].batch }, &err))
                fail_msg("%s", err.text);
            struct hypar_machine *machine = machine_of(rows[i].machine);
            struct hypar_found *found =
                search(graph, machine, (struct hypar_search_options){ .planner = planners[k] });
            const struct hypar_plan *plan = hypar_found_plan(found);
            assert_true(hypar_plan_stage_count(plan) > 1);
            assert_string_equal(hypar_schedule_text(hypar_plan_schedule(plan).kind),
                                planners[k]);
            if (hypar_lower(&program, plan, NULL, &err))
                fail_msg("%s %s: %s", rows[i].model, planners[k], err.text);
            hypar_program_free(program);
            hypar_found_free(found);
            hypar_machine_free(machine);
            hypar_graph_free(graph);
        }
}

/* Between forward and backward, gpipe keeps every micro-batch, 1f1b those on their way. */
static void one_by_one_needs_less_memory(void **state)
{
    struct hypar_graph *graph = graph_of("resnet50");
    struct hypar_machine *machine = machine_of("full:4,memory=1000TB");
    struct hypar_search_options options = { .stages = 4, .micro_batches = 16 };
    (void)state;
    options.planner = "gpipe";
    struct hypar_found *a = search(graph, machine, options);
    options.planner = "1f1b";
    struct hypar_found *b = search(graph, machine, options);
    for (int s = 0; s < 4; s++) {
        const struct hypar_pipeline_stage *x = &hypar_found_pipeline(a)->stage[s],
                                          *y = &hypar_found_pipeline(b)->stage[s];
        assert_int_equal(x->in_flight, 16);
        assert_int_equal(y->in_flight, 4 - s);
        assert_near(y->memory_bytes - 2 * y->weight_bytes,
                    (x->memory_bytes - 2 * x->weight_bytes) * (4 - s) / 16);
    }
    assert_near(hypar_found_prediction(a).step_s, hypar_found_prediction(b).step_s);
    hypar_found_free(a);
    hypar_found_free(b);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flushing_pipelines_lower),
        cmocka_unit_test(one_by_one_needs_less_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
