/* Batch norm over each replica's own samples, as in frameworks: data parallelism over g devices
 * then equals g micro-batches on one device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/all_ranks.h"
#include "tests/random_data.h"
#include "tests/random_graph.h"

enum { GRAPHS = 60, MAX_REPLICAS = 6 };

/* The samples of every operator over all devices; what has no samples is computed by each. */
static void split_samples(struct hypar_plan *plan, int replicas)
{
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct nest *nest = plan->graph->ops[op].nest;
        struct split split = { .degree = { 0 } };
        int axis = nest->n_axes - 1;
        for (int a = 0; a < nest->n_axes; a++)
            if (nest->axis[a].role == HYPAR_SAMPLE)
                axis = a;
        split.degree[axis] = replicas;
        hp_plan_set(plan, op, &split, NULL);
    }
}

/* Can the graph run in micro-batches, that is: does nothing but batch norm mix samples? */
static bool divides(const struct hypar_graph *graph, const struct hypar_machine *machine,
                    int micro_batches)
{
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    struct hypar_program *program;
    hp_plan_set_schedule(plan, &(struct hypar_schedule){ .micro_batches = micro_batches });
    bool ok = hypar_lower(&program, plan, NULL, NULL) == HYPAR_OK;
    hypar_program_free(program);
    hypar_plan_free(plan);
    return ok;
}

/* What a device reads against the micro-batch of its number. */
static void check(const struct hypar_graph *graph, const struct hypar_machine *machine,
                  int replicas, uint64_t seed)
{
    struct arena arena = { 0 };
    struct hypar_error err;
    struct hypar_program *program;
    struct run_data data = random_data(&arena, graph, REAL_F64, seed);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    split_samples(plan, replicas);
    if (hypar_lower(&program, plan, &(struct hypar_lower_options){ .local_bn = true }, &err))
        fail_msg("%s", err.text);
    struct optimizer sgd = hp_optimizer(HYPAR_SGD);
    struct unsplit_run *reference =
        unsplit_run_new(graph, &data,
                        &(struct unsplit_settings){
                            .micro_batches = replicas, .optimizer = sgd, .seed = seed });
    struct all_ranks *ranks;
    struct all_ranks_settings settings = { .data = &data,
                                           .optimizer = sgd,
                                           .seed = seed,
                                           .reference = reference,
                                           .micro_is_device = true };
    if (all_ranks_new(&ranks, program, &settings, &err) || all_ranks_step(ranks, &err))
        fail_msg("%s", err.text);
    all_ranks_free(ranks);
    unsplit_run_free(reference);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hp_arena_free(&arena);
}

static void replicas_are_micro_batches(void **state)
{
    (void)state;
    struct hypar_machine *machine[MAX_REPLICAS + 1];
    for (int n = 1; n <= MAX_REPLICAS; n++) {
        char word[16];
        snprintf(word, sizeof word, "full:%d", n);
        assert_int_equal(hypar_machine_read(&machine[n], word, NULL), HYPAR_OK);
    }
    int checked = 0;
    for (uint64_t seed = 1; checked < GRAPHS; seed++) {
        struct random random = { seed };
        struct hypar_graph *graph = random_graph(&random, OP_BATCH_NORM);
        int replicas = (int)graph->batch;
        if (one_in(&random, 2) && replicas % 2 == 0)
            replicas /= 2;
        if (replicas > 1 && divides(graph, machine[1], replicas)) {
            check(graph, machine[replicas], replicas, seed);
            checked++;
        }
        hypar_graph_free(graph);
    }
    for (int n = 1; n <= MAX_REPLICAS; n++)
        hypar_machine_free(machine[n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_are_micro_batches),
    };
    return cmocka_run_group_tests_name("program: local batch norm", tests, NULL, NULL);
}
