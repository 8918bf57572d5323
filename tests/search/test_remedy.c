/* What makes a plan fit that does not: the remedy is right, and no weaker one of its kind is
 * enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/hypar.h>

static const char LLAMA[] = "llama:layers=4,hidden=256,heads=8,ffn=512,seq=256,vocab=512";

struct row {
    const char *model;
    int64_t batch;
    struct hypar_search_options asked;
    const char *remedy;              /* how its text begins */
    struct hypar_search_options use; /* what it names; no member: nothing fits */
    struct hypar_search_options
        less; /* a weaker remedy of the kind; no member: there is none */
};

static const struct row rows[] = {
    { LLAMA,
      16,
      { .planner = "dp", .memory_bytes = 80e6 },
      "fits with --recompute full (",
      { .planner = "dp",
        .memory_bytes = 80e6,
        .recompute = HYPAR_RECOMPUTE_FULL,
        .recompute_given = true },
      { 0 } },
    { "mlp:1024-1024-1024-10",
      65536,
      { .planner = "dp", .memory_bytes = 60e6 },
      "fits with --micro-batches ",
      { .planner = "dp", .memory_bytes = 60e6, .micro_batches = 8 },
      { .planner = "dp", .memory_bytes = 60e6, .micro_batches = 4 } },
    { "mlp:1024-4096-4096-10",
      64,
      { .planner = "dp", .memory_bytes = 250e6, .optimizer = HYPAR_ADAM },
      "fits with --shard parameters (",
      { .planner = "dp",
        .memory_bytes = 250e6,
        .optimizer = HYPAR_ADAM,
        .shard = HYPAR_SHARD_PARAMETERS,
        .shard_given = true },
      { 0 } },
    { "mlp:1024-4096-4096-10",
      64,
      { .planner = "dp", .memory_bytes = 20e6 },
      "no recomputation, micro-batches, sharding or stages fit: weights, gradients and sgd "
      "state alone fill ",
      { 0 },
      { 0 } },
};

/* Does a search find a plan that fits? */
static bool fits(const struct hypar_graph *graph, const struct hypar_machine *machine,
                 const struct hypar_search_options *options)
{
    struct hypar_found *found;
    struct hypar_memory fullest;
    if (hypar_search(&found, graph, machine, options, NULL) != HYPAR_OK)
        return false;
    bool fit = hypar_plan_fits(hypar_found_plan(found), options->memory_bytes, &fullest,
                               NULL) == HYPAR_OK;
    hypar_found_free(found);
    return fit;
}

static void test_remedies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct hypar_import_options import = { .batch = row->batch };
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_error err;
        char text[200];
        if (hypar_import(&graph, row->model, &import, &err) != HYPAR_OK ||
            hypar_machine_read(&machine, "full:4", &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        assert_false(fits(graph, machine, &row->asked));
        hypar_memory_remedy(text, sizeof text, graph, machine, &row->asked);
        print_message("%s\n", text);
        if (strncmp(text, row->remedy, strlen(row->remedy)) != 0)
            fail_msg("row %zu: '%s', expected '%s'", i, text, row->remedy);
        if (row->use.micro_batches)
            assert_int_equal(strtoll(text + strlen(row->remedy), NULL, 10),
                             row->use.micro_batches);
        assert_true(!row->use.planner || fits(graph, machine, &row->use));
        assert_true(!row->less.planner || !fits(graph, machine, &row->less));
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_remedies) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
