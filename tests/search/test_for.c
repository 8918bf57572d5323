/* hypar plan --for: the target can run the plan of every planner, for any graph and machine;
 * planners restrict their choices so that they find such a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hypar/emit.h>
#include <hypar/search.h>

#include "tests/length.h"
#include "tests/random_graph.h"

struct tally {
    int asked, found;
};

/* One search; what it finds can be run. */
static bool search(const struct hypar_graph *graph, const struct hypar_machine *machine,
                   const char *planner, const char *target, const char *what)
{
    struct hypar_search_options options = { .planner = planner, .target = target };
    struct hypar_found *found;
    struct hypar_error err = { 0 };
    const struct hypar_planner_info *info = hypar_planner_find(planner);
    options.unlimited = true;
    options.proposals = info->proposes ? 100 : 0;
    if (hypar_search(&found, graph, machine, &options, &err) != HYPAR_OK) {
        if (!err.text[0])
            fail_msg("%s: %s --for %s: no reason", what, planner, target);
        return false;
    }
    if (hypar_emit_check(hypar_found_plan(found), target, &err) != HYPAR_OK)
        fail_msg("%s: %s --for %s: %s", what, planner, target, err.text);
    assert_string_equal(hypar_found_info(found).target, target);
    hypar_found_free(found);
    return true;
}

/* All plans of so many operators are some hundred thousand. */
static bool takes_long(const struct hypar_graph *graph, const char *planner)
{
    return !soak_length() && strcmp(planner, "exhaustive") == 0 &&
           hypar_graph_info(graph).n_ops > 20;
}

static void search_all(const struct hypar_graph *graph, const struct hypar_machine *machine,
                       const char *target, const char *what, struct tally *tally)
{
    const struct hypar_planner_info *info;
    for (int i = 0; (info = hypar_planner(i)); i++) {
        if (info->tries_others || takes_long(graph, info->name))
            continue;
        tally[i].asked++;
        tally[i].found += search(graph, machine, info->name, target, what);
    }
}

static struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err) != HYPAR_OK)
        fail_msg("%s: %s", word, err.text);
    return machine;
}

static void test_random(void **state)
{
    static const char *const words[] = { "full:2", "htree:4", "full:3", "torus:2x2" };
    struct tally tally[32] = { { 0 } };
    const struct hypar_planner_info *info;
    int graphs = (int)length_of(NULL, 8, 30, 60);
    for (int seed = 1; seed <= graphs; seed++) {
        char what[64];
        struct random random = { (uint64_t)seed };
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        const char *word = words[draw(&random, 0, 3)];
        struct hypar_machine *machine = machine_of(word);
        snprintf(what, sizeof what, "seed %d on %s", seed, word);
        search_all(graph, machine, "torch", what, tally);
        print_message("%s\n", what);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
    for (int i = 0; (info = hypar_planner(i)); i++)
        if (tally[i].asked) {
            bool searches = strstr("hybrid 3d flexflow", info->name) != NULL;
            print_message("%s: %d of %d\n", info->name, tally[i].found, tally[i].asked);
            assert_true(!searches || tally[i].found > graphs * 9 / 10);
        }
    (void)state;
}

/* Who finds a plan for whom. */
static const struct {
    const char *model, *machine, *target, *planners;
} expected[] = {
    { "llama:layers=4,hidden=64,heads=8,ffn=96,seq=16,vocab=96", "full:4", "torch",
      "auto dp hypar accpar optcnn 1f1b gpipe hybrid 3d flexflow" },
    { "vgg11:image=32", "full:4", "torch",
      "auto dp mp owt hypar accpar optcnn 1f1b gpipe hybrid 3d flexflow" },
    { "bert:layers=4,hidden=64,heads=8,seq=16,vocab=100", "cluster:2x4", "torch",
      "auto dp mp owt hypar hybrid 3d flexflow" },
    /* tables of 2 and 102 rows, 6 heads: four even parts of none */
    { "bert:layers=2,hidden=48,heads=6,seq=16,vocab=102", "full:4", "torch",
      "auto dp mp owt hypar hybrid 3d" },
    { "mlp:64-64-64-16", "htree:8", "torch", "auto dp mp owt hypar accpar optcnn hybrid 3d" },
    { "llama:layers=4,hidden=64,heads=8,ffn=96,seq=16,vocab=96", "full:8", "megatron",
      "auto dp 3d hybrid" },
    { "llama:layers=4,hidden=64,heads=8,ffn=96,seq=16,vocab=96", "full:8", "deepspeed",
      "auto dp 3d hybrid" },
    { "vgg11:image=32", "full:4", "deepspeed", "auto dp 3d hybrid" },
};

static void test_expected(void **state)
{
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct hypar_graph *graph;
        struct hypar_machine *machine = machine_of(expected[i].machine);
        char name[32];
        int n;
        assert_int_equal(hypar_import(&graph, expected[i].model, NULL, NULL), HYPAR_OK);
        for (const char *at = expected[i].planners; sscanf(at, "%31s%n", name, &n) == 1;
             at += n)
            if (!search(graph, machine, name, expected[i].target, expected[i].model))
                fail_msg("%s on %s: %s finds nothing for %s", expected[i].model,
                         expected[i].machine, name, expected[i].target);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
    (void)state;
}

/* Schedules that a framework lacks are refused by name, before anything is searched. */
static void test_refused(void **state)
{
    static const char *const planners[] = { "zb-h1", "zb-h2", "pipedream" };
    struct hypar_graph *graph;
    struct hypar_machine *machine = machine_of("full:4");
    assert_int_equal(hypar_import(&graph, "vgg11:image=32", NULL, NULL), HYPAR_OK);
    for (int i = 0; i < 3; i++) {
        struct hypar_search_options options = { .planner = planners[i], .target = "torch" };
        struct hypar_found *found;
        struct hypar_error err = { 0 };
        char text[200];
        snprintf(text, sizeof text,
                 "PyTorch has no schedule '%s', expected gpipe, 1f1b, interleaved (or plan "
                 "without --for, then 'hypar export --to torch --nearest FILE')",
                 planners[i]);
        assert_int_equal(hypar_search(&found, graph, machine, &options, &err),
                         HYPAR_INFEASIBLE);
        assert_string_equal(err.text, text);
    }
    struct hypar_search_options options = { .target = "jax" };
    struct hypar_found *found;
    assert_int_equal(hypar_search(&found, graph, machine, &options, NULL), HYPAR_USAGE);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    (void)state;
}

/* Why there is no plan: the target, memory, or neither; only the target has the hint. */
static void test_causes(void **state)
{
    static const struct {
        struct hypar_search_options options;
        enum hypar_cause cause;
    } row[] = {
        { { .planner = "zb-h1", .target = "torch" }, HYPAR_CAUSE_TARGET },
        { { .planner = "3d", .layout.tensor = 3, .target = "torch" }, HYPAR_CAUSE_OTHER },
        { { .planner = "dp", .memory_bytes = 1e6, .target = "torch" }, HYPAR_CAUSE_MEMORY },
        { { .planner = "auto", .memory_bytes = 1e6, .target = "torch" }, HYPAR_CAUSE_MEMORY },
        { { .planner = "hybrid", .memory_bytes = 1e6 }, HYPAR_CAUSE_MEMORY },
        { { .planner = "3d", .memory_bytes = 1e6 }, HYPAR_CAUSE_MEMORY },
    };
    struct hypar_graph *graph;
    struct hypar_machine *machine = machine_of("full:4");
    assert_int_equal(hypar_import(&graph, "vgg11:image=32", NULL, NULL), HYPAR_OK);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct hypar_found *found;
        struct hypar_error err = { 0 };
        assert_int_equal(hypar_search(&found, graph, machine, &row[i].options, &err),
                         HYPAR_INFEASIBLE);
        if (err.cause != row[i].cause)
            fail_msg("%s: cause %d: %s", row[i].options.planner, (int)err.cause, err.text);
        bool hint = strstr(err.text, "(or plan without --for") != NULL;
        assert_int_equal(hint, row[i].cause == HYPAR_CAUSE_TARGET);
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    (void)state;
}

/* The number of parts of an operator's output channels (k). */
static int channel_parts(const struct hypar_plan *plan, const struct hypar_graph *graph,
                         const char *name)
{
    for (int op = 0; op < hypar_graph_info(graph).n_ops; op++) {
        struct hypar_op info = hypar_graph_op(graph, op);
        for (int a = 0; a < info.n_axes && strcmp(info.name, name) == 0; a++)
            if (hypar_graph_axis(graph, op, a).name[0] == 'k')
                return hypar_plan_degree(plan, op, a);
    }
    fail_msg("no operator '%s' with axis k", name);
    return 0;
}

/* What the target refuses of a split is whole in the plan, and named; the rest is split. */
static void test_kept_whole(void **state)
{
    static const struct hypar_search_options rows[] = {
        { .planner = "3d", .layout.tensor = 2, .layout.data = 2, .target = "torch" },
        { .planner = "3d", .layout.tensor = 2, .layout.pipeline = 2, .target = "torch" },
    };
    struct hypar_graph *graph;
    struct hypar_machine *machine = machine_of("full:4");
    assert_int_equal(hypar_import(&graph, "vgg11:image=32", NULL, NULL), HYPAR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hypar_found *found;
        struct hypar_error err;
        if (hypar_search(&found, graph, machine, &rows[i], &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        const struct hypar_plan *plan = hypar_found_plan(found);
        const char *text = hypar_found_info(found).for_target;
        assert_int_equal(hypar_emit_check(plan, "torch", &err), HYPAR_OK);
        assert_int_equal(channel_parts(plan, graph, "conv1_1"), 1);
        assert_int_equal(channel_parts(plan, graph, "fc1"), 2);
        assert_non_null(text);
        assert_true(strncmp(text, "conv1_1, ", 9) == 0 &&
                    strstr(text, "are kept whole. Refused as asked: op 'conv1_1'"));
        hypar_found_free(found);
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    (void)state;
}

/* Blocks of a residual network end in functions: stages begin where modules do. */
static void test_stages(void **state)
{
    static const char *const planners[] = { "hybrid", "1f1b", "gpipe", "3d", "auto" };
    struct hypar_graph *graph;
    struct hypar_machine *machine = machine_of("full:4,fp32=1GFLOP/s");
    assert_int_equal(hypar_import(&graph, "tests/cli/resnet-torch.json", NULL, NULL), HYPAR_OK);
    for (int i = 0; i < 5; i++) {
        bool expert = strcmp(planners[i], "3d") == 0; /* it cuts between the two blocks alone */
        for (int stages = 2; stages <= (expert ? 2 : 4); stages += 2) {
            struct hypar_search_options options = { .planner = planners[i],
                                                    .target = "torch",
                                                    .stages = expert ? 0 : stages,
                                                    .layout.pipeline = expert ? stages : 0 };
            struct hypar_found *found;
            struct hypar_error err = { 0 };
            if (hypar_search(&found, graph, machine, &options, &err) != HYPAR_OK)
                fail_msg("%s, %d stages: %s", planners[i], stages, err.text);
            const struct hypar_plan *plan = hypar_found_plan(found);
            assert_int_equal(hypar_plan_stage_count(plan), stages);
            assert_int_equal(hypar_emit_check(plan, "torch", &err), HYPAR_OK);
            hypar_found_free(found);
        }
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expected), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_causes),   cmocka_unit_test(test_kept_whole),
        cmocka_unit_test(test_stages),   cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
