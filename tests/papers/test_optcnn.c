/* OptCNN's published results (Jia et al., ICML 2018) that follow from the configurations alone:
 * the AlexNet rows of Fig. 8, to the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <hypar/search.h>
#include <hypar/sim.h>

#include "cost/papers/optcnn.h"
#include "plan/plan.h"
#include "tests/papers/optcnn_printed.h"

/* Numbers that the paper counts for a planner's plan of alexnet-optcnn, 32 images on a GPU. */
static double counted(const char *planner, int gpus)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_error err;
    struct arena arena = { 0 };
    char word[64];
    snprintf(word, sizeof word, "cluster:%dx%d,device=p100", gpus > 4 ? gpus / 4 : 1,
             gpus > 4 ? 4 : gpus);
    if (hypar_import(&graph, "alexnet-optcnn",
                     &(struct hypar_import_options){ .batch = 32 * gpus }, &err) ||
        hypar_machine_read(&machine, word, &err) ||
        hypar_search(&found, graph, machine,
                     &(struct hypar_search_options){ .planner = planner }, &err))
        fail_msg("%s", err.text);
    struct split *split = NEW(&arena, struct split, graph->n_ops);
    for (int op = 0; op < graph->n_ops; op++)
        split[op] = hypar_found_plan(found)->ops[op].split;
    double numbers = hp_optcnn_printed_numbers(graph, split);
    hp_arena_free(&arena);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return numbers;
}

static void bytes_of_alexnet(void **state)
{
    (void)state;
    for (int gpus = 2; gpus <= 16; gpus *= 2) {
        double dp = 4 * counted("dp", gpus), owt = 4 * counted("owt", gpus);
        print_message("%2d GPUs: data parallel %.0f bytes, one weird trick %.0f\n", gpus, dp,
                      owt);
        assert_true(dp == 4 * optcnn_printed_dp(gpus));
        assert_true(owt == 4 * optcnn_printed_owt(gpus));
    }
}

/* The printed optimum of VGG-16 on four GPUs is one of the configurations that are weighed; its
 * layer-wise AlexNet, too, obeys the closed form: convolutions by samples, the fully-connected
 * layers by channels on two GPUs. */
static void bytes_of_layerwise_alexnet(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_error err;
    for (int gpus = 2; gpus <= 16; gpus *= 2) {
        struct arena arena = { 0 };
        assert_int_equal(hypar_import(&graph, "alexnet-optcnn",
                                      &(struct hypar_import_options){ .batch = 32 * gpus },
                                      &err),
                         HYPAR_OK);
        struct split *split = NEW(&arena, struct split, graph->n_ops);
        bool after_linear = false;
        for (int op = 0; op < graph->n_ops; op++) {
            const struct nest *nest = graph->ops[op].nest;
            after_linear |= graph->ops[op].kind == OP_LINEAR;
            int axis = hp_nest_axis(nest, after_linear ? 'k' : 'n');
            if (axis < 0)
                axis = hp_nest_axis(nest, 'c'); /* what follows a linear layer */
            split[op].degree[axis] = after_linear ? 2 : gpus;
        }
        assert_true(hp_optcnn_printed_numbers(graph, split) == optcnn_printed_layerwise(gpus));
        hp_arena_free(&arena);
        hypar_graph_free(graph);
    }
}

/* The measured steps on one P100, 32 images, lie in the intervals of their predictions. */
static void intervals_hold_measured_steps(void **state)
{
    (void)state;
    enum { N = sizeof optcnn_printed_rates / sizeof *optcnn_printed_rates };
    for (int i = 0; i < N; i++) {
        const struct optcnn_printed_rates *p = &optcnn_printed_rates[i];
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_found *found;
        struct hypar_sim *sim;
        struct hypar_error err;
        if (hypar_import(&graph, p->model, &(struct hypar_import_options){ .batch = 32 },
                         &err) ||
            hypar_machine_read(&machine, "cluster:1x1,device=p100", &err) ||
            hypar_search(&found, graph, machine,
                         &(struct hypar_search_options){ .planner = "dp" }, &err) ||
            hypar_simulate(&sim, hypar_found_plan(found), NULL, &err))
            fail_msg("%s", err.text);
        struct hypar_interval interval = hypar_sim_summary(sim).interval;
        double measured_s = 32 / p->dp[0];
        print_message("%s: %g s measured, %g to %g s expected\n", p->name, measured_s,
                      interval.low_s, interval.high_s);
        assert_true(interval.low_s <= measured_s && measured_s <= interval.high_s);
        hypar_sim_free(sim);
        hypar_found_free(found);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_hold_measured_steps),
        cmocka_unit_test(bytes_of_alexnet),
        cmocka_unit_test(bytes_of_layerwise_alexnet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
