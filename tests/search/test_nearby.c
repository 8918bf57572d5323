/* Similar machines, plans that are moved between them, and auto on better machines: its plan
 * for a smaller machine is not faster on the larger one than its plan for the larger one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "machine/machine.h"
#include "search/nearby.h"
#include "tests/length.h"
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

static void first_rows(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int rows, fewer; /* all; those that are tried next */
        double links;
        const char *like; /* with these */
    } cases[] = {
        { "cluster:4x8,device=a100", 4, 2, 1, "cluster:2x8,device=a100" },
        { "cluster:3x2", 3, 2, 0.5, "cluster:2x2,intra=75GB/s,inter=6.25GB/s" },
        { "cluster:1x8,device=h100", 1, 0, 1, NULL },
        { "cluster:2x2,device=a100+cluster:3x4,device=v100", 5, 4, 1,
          "cluster:2x2,device=a100+cluster:2x4,device=v100" },
        { "cluster:2x2,device=a100+cluster:1x4,device=v100", 3, 2, 1,
          "cluster:2x2,device=a100" },
        { "torus:4x3,bandwidth=10GB/s", 4, 2, 2, "torus:2x3,bandwidth=20GB/s" },
        { "htree:12", 12, 8, 1, "htree:8" },
        { "full:5,memory=1GB", 5, 4, 1, "full:4,memory=1GB" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hypar_machine *machine = machine_of(cases[i].word), *like;
        struct hypar_error err;
        assert_int_equal(hp_machine_rows(machine), cases[i].rows);
        assert_int_equal(hp_machine_fewer_rows(machine, cases[i].rows), cases[i].fewer);
        if (cases[i].like) {
            struct hypar_machine *other = machine_of(cases[i].like);
            assert_int_equal(
                hp_machine_like(&like, machine, cases[i].fewer, cases[i].links, &err),
                HYPAR_OK);
            assert_string_equal(hypar_machine_word(like), hypar_machine_word(other));
            hypar_machine_free(other);
            hypar_machine_free(like);
        }
        hypar_machine_free(machine);
    }
}

static void not_of_explicit_links(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("examples/machines/dgx1-v100.json"), *like;
    struct hypar_error err;
    assert_int_equal(hp_machine_rows(machine), 0);
    assert_int_equal(hp_machine_like(&like, machine, 1, 1, &err), HYPAR_UNSUPPORTED);
    assert_null(like);
    hypar_machine_free(machine);
}

/* Better machines -------------------------------------------------------------------------- */

static struct hypar_found *best_on(const struct hypar_graph *graph,
                                   const struct hypar_machine *machine)
{
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_search(&found, graph, machine, NULL, &err))
        fail_msg("%s", err.text);
    return found;
}

/* bench/bench_better.c does this with random pairs. */
static void better_machines(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t batch;
        const char *lesser, *better;
    } pairs[] = {
        { "lenet5", 32, "cluster:2x2,device=p100,inter=5GB/s",
          "cluster:3x2,device=p100,inter=5GB/s" },
        { "mlp:784-1024-1024-10", 64, "cluster:2x4", "cluster:2x4,inter=25GB/s" },
        { "mlp:64-10-3000", 512, "ring:8,bandwidth=25GB/s", "ring:8,bandwidth=50GB/s" },
        { "rnnlm:steps=3,layers=1,hidden=128", 24, "cluster:2x4,device=t4,inter=12.5GB/s",
          "cluster:2x4,device=t4,inter=12.5GB/s+cluster:2x1,device=t4,inter=5GB/s" },
        { "sconv", 16, "full:4,fp32=10TFLOP/s", "full:4,fp32=20TFLOP/s" },
        { "bert:layers=1,hidden=128,heads=4,seq=32,vocab=1000", 16, "torus:2x2,memory=0.1GB",
          "torus:2x2,memory=0.2GB" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!in_length((int)i, 6, 2))
            continue;
        struct hypar_graph *graph = graph_of(pairs[i].model, pairs[i].batch);
        struct hypar_machine *lesser = machine_of(pairs[i].lesser),
                             *better = machine_of(pairs[i].better);
        struct hypar_found *a = best_on(graph, lesser), *b = best_on(graph, better);
        struct hypar_plan_settings settings = { .machine_word = pairs[i].better };
        struct hypar_plan *carried =
            hp_plan_carry(hypar_found_plan(a), better, NULL, &settings);
        double lesser_s = summary_of(hypar_found_plan(a), NULL).step_s,
               carried_s = summary_of(carried, NULL).step_s,
               best_s = summary_of(hypar_found_plan(b), NULL).step_s;
        print_message("%s: %.4g us, carried %.4g us; %.4g us\n", pairs[i].model, 1e6 * lesser_s,
                      1e6 * carried_s, 1e6 * best_s);
        assert_true(best_s <= 1.01 * carried_s);
        hypar_plan_free(carried);
        hypar_found_free(a);
        hypar_found_free(b);
        hypar_machine_free(lesser);
        hypar_machine_free(better);
        hypar_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_rows),
        cmocka_unit_test(not_of_explicit_links),
        cmocka_unit_test(better_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
