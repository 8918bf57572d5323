/* Plans from a layout compute the same as one device: every number that a task reads, every
 * gradient and updated weight, in double precision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "program/program.h"
#include "tests/all_ranks.h"
#include "tests/check_program.h"
#include "tests/random_data.h"

static const struct {
    const char *model;
    struct hypar_layout layout;
} cases[] = {
#define LLAMA "llama:layers=4,hidden=24,heads=6,kv_heads=3,ffn=20,seq=5,vocab=23"
#define GPT   "gpt:layers=4,hidden=12,heads=6,seq=6,vocab=31"
    { LLAMA, { .data = 2, .tensor = 3, .pipeline = 1, .shard = HYPAR_SHARD_PARAMETERS } },
    { LLAMA,
      { .data = 1,
        .tensor = 2,
        .pipeline = 3,
        .micro_batches = 4,
        .schedule = HYPAR_SCHEDULE_1F1B } },
    { LLAMA,
      { .data = 1,
        .tensor = 3,
        .pipeline = 2,
        .micro_batches = 2,
        .schedule = HYPAR_SCHEDULE_GPIPE,
        .sequence_parallel = true,
        .recompute = HYPAR_RECOMPUTE_FULL } },
    { GPT,
      { .data = 2,
        .tensor = 2,
        .pipeline = 2,
        .micro_batches = 2,
        .schedule = HYPAR_SCHEDULE_1F1B } },
    { GPT,
      { .data = 1,
        .tensor = 4,
        .pipeline = 2,
        .micro_batches = 3,
        .schedule = HYPAR_SCHEDULE_1F1B,
        .sequence_parallel = true } },
    { GPT,
      { .data = 2,
        .tensor = 3,
        .pipeline = 1,
        .micro_batches = 2,
        .sequence_parallel = true,
        .recompute = HYPAR_RECOMPUTE_FULL } },
    { GPT,
      { .data = 1,
        .tensor = 2,
        .pipeline = 2,
        .chunks = 2,
        .micro_batches = 4,
        .schedule = HYPAR_SCHEDULE_INTERLEAVED,
        .sequence_parallel = true } },
    { GPT,
      { .data = 2,
        .tensor = 1,
        .pipeline = 4,
        .micro_batches = 3,
        .schedule = HYPAR_SCHEDULE_ZB_H1,
        .shard = HYPAR_SHARD_GRADIENTS,
        .recompute = HYPAR_RECOMPUTE_FULL } },
    { "bert:layers=3,hidden=8,heads=2,seq=4,vocab=9",
      { .data = 2,
        .tensor = 2,
        .pipeline = 3,
        .micro_batches = 2,
        .schedule = HYPAR_SCHEDULE_1F1B,
        .sequence_parallel = true } },
    { "lenet5",
      { .data = 1,
        .tensor = 3,
        .pipeline = 2,
        .micro_batches = 2,
        .schedule = HYPAR_SCHEDULE_1F1B } },
    { "mlp:6-8-8-8-8-5",
      { .data = 2,
        .tensor = 3,
        .pipeline = 2,
        .micro_batches = 2,
        .schedule = HYPAR_SCHEDULE_GPIPE } },
};

static enum hypar_status run(const struct hypar_program *program, const struct run_data *data,
                             enum task_order order, struct hypar_error *err)
{
    struct optimizer sgd = hp_optimizer(HYPAR_SGD);
    struct unsplit_settings alone = { .micro_batches = program->iteration->n_micro,
                                      .optimizer = sgd,
                                      .seed = 3 };
    struct unsplit_run *reference = unsplit_run_new(program->plan->graph, data, &alone);
    struct all_ranks_settings settings = {
        .data = data, .order = order, .optimizer = sgd, .seed = 3, .reference = reference
    };
    struct all_ranks *ranks;
    enum hypar_status status = all_ranks_new(&ranks, program, &settings, err);
    if (status == HYPAR_OK)
        status = all_ranks_step(ranks, err);
    all_ranks_free(ranks);
    unsplit_run_free(reference);
    return status;
}

static enum hypar_status prove(const struct hypar_plan *plan, struct arena *arena,
                               struct hypar_error *err)
{
    struct hypar_program *program;
    struct run_data data = random_data(arena, plan->graph, REAL_F64, 5);
    TRY(hypar_lower(&program, plan, NULL, err));
    enum hypar_status status = check_program(program, err);
    if (status == HYPAR_OK)
        status = run(program, &data, ORDER_NUMBERS, err);
    if (status == HYPAR_OK)
        status = run(program, &data, ORDER_LATEST, err);
    hypar_program_free(program);
    return status;
}

static void compute_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct hypar_layout *l = &cases[i].layout;
        struct hypar_import_options options = { .batch = 6 };
        struct arena arena = { 0 };
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_error err = { 0 };
        char word[32];
        snprintf(word, sizeof word, "full:%d", l->data * l->tensor * l->pipeline);
        if (hypar_import(&graph, cases[i].model, &options, &err) ||
            hypar_machine_read(&machine, word, &err))
            fail_msg("%s", err.text);
        struct hypar_plan *plan = hp_plan_new(
            graph, machine, &(struct hypar_plan_settings){ .precision = HYPAR_FP64 });
        if (hp_plan_set_layout(plan, l, &err) || hypar_plan_check(plan, &err) ||
            prove(plan, &arena, &err))
            fail_msg("case %zu: %s: %s", i, cases[i].model, err.text);
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
        hp_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(compute_the_same) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
