/* Parts of unlike machines: which devices may be left out, the machine that is left, and plans
 * that are moved from it to the whole machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/explain.h>

#include "machine/machine.h"
#include "search/subsets.h"
#include "tests/simulated.h"

static struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err))
        fail_msg("%s", err.text);
    return machine;
}

static struct hypar_graph *graph_of(const char *model, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, model, &(struct hypar_import_options){ .batch = batch }, &err))
        fail_msg("%s", err.text);
    return graph;
}

/* Machines --------------------------------------------------------------------------------- */

/* The devices first .. last of the rows, one run after the other. */
struct kept {
    int first, last;
};

static int list_devices(const struct kept *kept, int *device)
{
    int n = 0;
    for (int k = 0; k < 4 && kept[k].last > 0; k++)
        for (int d = kept[k].first; d <= kept[k].last; d++)
            device[n++] = d;
    return n;
}

static void kept_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        struct kept kept[4];
        const char *left;
    } cases[] = {
        { "cluster:4x2,device=a100", { { 0, 3 } }, "cluster:2x2,device=a100" },
        { "cluster:4x2,device=a100", { { 0, 1 }, { 4, 7 } }, "cluster:3x2,device=a100" },
        { "cluster:3x2,device=a100,node1.peak=0.5x",
          { { 0, 1 }, { 4, 5 } },
          "cluster:2x2,device=a100" },
        { "cluster:2x4,device=a100+cluster:1x2,device=v100",
          { { 4, 7 } },
          "cluster:1x4,device=a100" },
        { "cluster:2x4,device=a100+cluster:1x2,device=v100",
          { { 0, 3 }, { 8, 9 } },
          "cluster:1x4,device=a100+cluster:1x2,device=v100" },
        { "cluster:1x4,device=a100+cluster:1x4,device=v100",
          { { 4, 7 }, { 0, 3 } },
          "cluster:1x4,device=v100+cluster:1x4,device=a100" },
        /* half a node has half of its cards, and never none */
        { "cluster:2x8,device=h100", { { 0, 3 }, { 8, 11 } }, "cluster:2x4,device=h100" },
        { "cluster:2x8,device=v100", { { 0, 3 }, { 8, 11 } }, "cluster:2x4,device=v100" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hypar_machine *machine = machine_of(cases[i].word), *left,
                             *other = machine_of(cases[i].left);
        struct hypar_error err;
        int device[16], n = list_devices(cases[i].kept, device);
        if (hp_machine_subset(&left, machine, device, n, &err) != HYPAR_OK)
            fail_msg("case %d: %s", (int)i, err.text);
        assert_string_equal(hypar_machine_word(left), hypar_machine_word(other));
        hypar_machine_free(other);
        hypar_machine_free(left);
        hypar_machine_free(machine);
    }
}

static void not_of_grids(void **state)
{
    (void)state;
    static const int device[] = { 0, 1, 2, 3, 0 };
    struct hypar_machine *grid = machine_of("torus:2x4"), *left,
                         *cluster = machine_of("cluster:2x2");
    struct hypar_error err;
    assert_int_equal(hp_machine_subset(&left, grid, device, 4, &err), HYPAR_UNSUPPORTED);
    assert_null(left);
    assert_int_equal(hp_machine_subset(&left, cluster, device, 5, &err), HYPAR_UNSUPPORTED);
    assert_null(left);
    hypar_machine_free(cluster);
    hypar_machine_free(grid);
}

/* Devices of listed links that are left out become switches: routes stay as long and as
 * wide. */
static void kept_of_listed(void **state)
{
    (void)state;
    static const int device[] = { 1, 2, 3, 6, 7 };
    enum { N = sizeof device / sizeof *device };
    struct hypar_machine *machine = machine_of("examples/machines/dgx1-v100.json"), *left;
    struct hypar_error err;
    if (hp_machine_subset(&left, machine, device, N, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(hypar_machine_device_count(left), N);
    assert_int_equal(hypar_machine_device_count(left) + hypar_machine_switch_count(left),
                     hypar_machine_device_count(machine) + hypar_machine_switch_count(machine));
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            assert_int_equal(hypar_machine_route(left, a, b, NULL, 0),
                             hypar_machine_route(machine, device[a], device[b], NULL, 0));
    hypar_machine_free(left);
    hypar_machine_free(machine);
}

/* Subsets ---------------------------------------------------------------------------------- */

static bool has_subset(const struct subsets *s, const char *without, int n)
{
    for (int i = 0; i < s->n; i++)
        if (s->subset[i].n == n && strcmp(s->subset[i].without, without) == 0)
            return true;
    return false;
}

static void subsets_of_machines(void **state)
{
    (void)state;
    static const struct {
        const char *word, *without;
        int n;
    } cases[] = {
        { "cluster:4x2,device=a100", NULL, 0 },
        { "torus:2x4", NULL, 0 },
        { "cluster:4x2,device=a100,node2.peak=0.5x", "node 2", 6 },
        { "cluster:4x2,device=a100,node2.inter=0.1x", "node 2", 6 },
        /* of the others as many as are a power of two */
        { "cluster:4x2,device=a100,node2.inter=0.1x", "nodes 2 and 3", 4 },
        { "cluster:2x2,device=a100+cluster:3x2,device=h100", "nodes 0 and 1", 6 },
        { "cluster:2x2,device=a100+cluster:3x2,device=h100", "nodes 2 to 4", 4 },
        { "cluster:1x2,device=a100+cluster:1x2,device=h100+cluster:1x2,device=t4", "node 2",
          4 },
        { "cluster:1x2,device=a100+cluster:1x2,device=h100+cluster:1x2,device=t4",
          "nodes 0 and 2", 2 },
    };
    struct hypar_graph *graph = graph_of("lenet5", 64);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = { 0 };
        struct hypar_search_options options = { 0 };
        struct hypar_machine *machine = machine_of(cases[i].word);
        struct problem problem = hp_problem(&arena, graph, machine, &options);
        struct subsets s = hp_subsets(&arena, &problem);
        for (int k = 1; k < s.n; k++)
            assert_true(s.subset[k - 1].least_s <= s.subset[k].least_s);
        if (cases[i].without ? !has_subset(&s, cases[i].without, cases[i].n) : s.n > 0)
            fail_msg("case %d: %d subsets", (int)i, s.n);
        hypar_machine_free(machine);
        hp_arena_free(&arena);
    }
    hypar_graph_free(graph);
}

/* Plans ------------------------------------------------------------------------------------ */

/* A plan of a part of the machine is one of the whole with idle devices, and takes as long. */
static void moved_plans(void **state)
{
    (void)state;
    static const int device[] = { 0, 1, 4, 5, 6, 7 };
    enum { N = sizeof device / sizeof *device };
    struct hypar_graph *graph = graph_of("mlp:784-1024-1024-10", 48);
    struct hypar_machine *machine = machine_of("cluster:4x2,device=a100,node1.inter=0.1x"),
                         *left;
    struct hypar_error err;
    static const char *const planners[] = { "accpar", "1f1b", "3d", "hybrid" };
    assert_int_equal(hp_machine_subset(&left, machine, device, N, &err), HYPAR_OK);
    for (size_t i = 0; i < sizeof planners / sizeof *planners; i++) {
        struct hypar_found *found;
        struct hypar_search_options options = { .planner = planners[i] };
        if (hypar_search(&found, graph, left, &options, &err))
            fail_msg("%s", err.text);
        const struct hypar_plan *plan = hypar_found_plan(found);
        struct hypar_plan_settings settings = hypar_plan_settings(plan);
        settings.machine_word = NULL;
        struct hypar_plan *moved = hp_plan_carry(plan, machine, device, &settings);
        assert_int_equal(hypar_plan_check(moved, &err), HYPAR_OK);
        assert_int_equal(hypar_plan_idle_devices(moved), hypar_plan_idle_devices(plan) + 8 - N);
        assert_true(summary_of(moved, NULL).step_s == summary_of(plan, NULL).step_s);
        hypar_plan_free(moved);
        hypar_found_free(found);
    }
    hypar_machine_free(left);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* A node whose card is much slower than the others' is left out, and it is said what it would
 * cost; unlike devices get unlike shares. */
static void left_out(void **state)
{
    (void)state;
    static const char *const planners[] = { "hybrid", "auto" };
    struct hypar_graph *graph = graph_of("mlp:1024-2048-2048-1024", 9600);
    struct hypar_machine *machine = machine_of("cluster:3x2,device=h100,node1.inter=0.01x");
    struct hypar_error err;
    for (size_t i = 0; i < sizeof planners / sizeof *planners; i++) {
        struct hypar_found *found;
        struct hypar_search_options options = { .planner = planners[i],
                                                .precision = HYPAR_BF16 };
        if (hypar_search(&found, graph, machine, &options, &err))
            fail_msg("%s", err.text);
        struct hypar_search_info info = hypar_found_info(found);
        const char *idle = info.idle;
        print_message("%s: %s, %s; %s\n", planners[i], info.planner,
                      info.made_for ? info.made_for : "all", idle ? idle : "none");
        assert_non_null(idle);
        assert_non_null(strstr(idle, "node 1 would slow the step by "));
        assert_true(hypar_plan_idle_devices(hypar_found_plan(found)) >= 2);
        hypar_found_free(found);
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* explain tells what the slow node costs, of a plan that uses it. */
static void explained(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of("mlp:1024-2048-2048-1024", 9600);
    struct hypar_machine *machine = machine_of("cluster:3x2,device=h100,node1.inter=0.01x");
    struct hypar_search_options options = { .planner = "dp", .precision = HYPAR_BF16 };
    struct hypar_explanation *e;
    struct hypar_found *found;
    struct hypar_error err;
    const struct hypar_what_if *row = NULL;
    if (hypar_search(&found, graph, machine, &options, &err) ||
        hypar_explain(&e, hypar_found_plan(found), NULL, &err))
        fail_msg("%s", err.text);
    double step_s = hypar_sim_summary(hypar_explanation_info(e).sim).step_s;
    for (int i = 0; hypar_explained_what_if(e, i); i++)
        if (strcmp(hypar_explained_what_if(e, i)->what, "without node 1") == 0)
            row = hypar_explained_what_if(e, i);
    assert_non_null(row);
    assert_null(row->why_not);
    assert_true(row->step_s < 0.5 * step_s);
    assert_int_equal(hypar_plan_idle_devices(row->plan), 2);
    hypar_explanation_free(e);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_nodes),     cmocka_unit_test(not_of_grids),
        cmocka_unit_test(kept_of_listed), cmocka_unit_test(subsets_of_machines),
        cmocka_unit_test(moved_plans),    cmocka_unit_test(left_out),
        cmocka_unit_test(explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
