/* The bytes of plans from a layout are Megatron-LM's: Shoeybi et al. 2019, Narayanan et al., SC
 * 2021, Korthikanti et al., MLSys 2023. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "program/program.h"

enum { BATCH = 16, SEQ = 16, HIDDEN = 32, VOCAB = 128, ELEMENT = 4 };

/* What passes from layer to layer, of all samples: b s h. */
static const double X = (double)BATCH * SEQ * HIDDEN * ELEMENT;

struct measured {
    struct hypar_program_totals totals;
    double params, copied_params; /* all; of operators whose tensor axis is none */
};

/* "%d" of the model is the number of layers. */
static struct measured measure(const char *model, int layers, struct hypar_layout layout)
{
    struct hypar_import_options options = { .batch = BATCH };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_program *program;
    struct hypar_error err = { 0 };
    struct measured m = { 0 };
    char word[128];
    snprintf(word, sizeof word, model, layers);
    if (hypar_import(&graph, word, &options, &err))
        fail_msg("%s", err.text);
    snprintf(word, sizeof word, "cluster:%dx%d", layout.data * layout.pipeline, layout.tensor);
    assert_int_equal(hypar_machine_read(&machine, word, &err), HYPAR_OK);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    if (hp_plan_set_layout(plan, &layout, &err) || hypar_plan_check(plan, &err) ||
        hypar_lower(&program, plan, NULL, &err))
        fail_msg("%s", err.text);
    m.totals = hypar_program_totals(program);
    m.params = ELEMENT * (double)hypar_graph_params(graph);
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_PARAM && graph->tensors[t].shape.n_dims == 1)
            m.copied_params += ELEMENT * (double)hp_shape_elements(&graph->tensors[t].shape);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return m;
}

#define LLAMA "llama:layers=%d,hidden=32,heads=8,ffn=48,seq=16,vocab=128"

static const struct hypar_layout layouts[] = {
    { .data = 1, .tensor = 2, .pipeline = 1 },
    { .data = 2, .tensor = 4, .pipeline = 1, .micro_batches = 4 },
    { .data = 4, .tensor = 8, .pipeline = 1, .micro_batches = 2 },
    { .data = 2,
      .tensor = 4,
      .pipeline = 2,
      .micro_batches = 4,
      .schedule = HYPAR_SCHEDULE_1F1B },
};
enum { N_LAYOUTS = sizeof layouts / sizeof layouts[0] };

/* Two all-reduces of b s h forward and two backward in each layer; with sequence parallelism as
 * many all-gathers and reduce-scatters, which are the halves of an all-reduce, and what columns
 * read is gathered again in the backward half instead of being kept. */
static void layers(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * N_LAYOUTS; i++) {
        struct hypar_layout layout = layouts[i / 2];
        layout.sequence_parallel = i % 2;
        struct measured few = measure(LLAMA, 2, layout), more = measure(LLAMA, 4, layout);
        double all_reduce = 2 * (layout.tensor - 1) * X;
        double forward = (more.totals.forward_bytes - few.totals.forward_bytes) / 2,
               backward = (more.totals.backward_bytes - few.totals.backward_bytes) / 2;
        double again = layout.sequence_parallel ? all_reduce : 0; /* two halves */
        if (forward != 2 * all_reduce || backward != 2 * all_reduce + again)
            fail_msg("layout %d: %.0f bytes forward, %.0f backward, expected %.0f and %.0f", i,
                     forward, backward, 2 * all_reduce, 2 * all_reduce + again);
    }
}

/* Beside the layers: the embedding's sum forward, the output layer's error backward, and the
 * greatest logit and the sum of exponentials of each token. */
static void vocabulary(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * N_LAYOUTS; i++) {
        struct hypar_layout layout = layouts[i / 2];
        if (layout.pipeline > 1)
            continue;
        layout.sequence_parallel = i % 2;
        struct measured m = measure(LLAMA, 2, layout);
        double all_reduce = 2 * (layout.tensor - 1) * X;
        double statistics = 2 * (layout.tensor - 1) * 2.0 * BATCH * SEQ * ELEMENT;
        assert_true(m.totals.forward_bytes == 5 * all_reduce + statistics);
        double again = layout.sequence_parallel ? 5 * all_reduce / 2 : 0;
        assert_true(m.totals.backward_bytes == 5 * all_reduce + again);
    }
}

/* b s h forward and backward over each border; without sequence parallelism to each part. */
static void borders(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hypar_layout one = {
            .data = 2, .tensor = 4, .pipeline = 1, .sequence_parallel = i
        };
        struct hypar_layout four = one;
        four.pipeline = 4;
        four.micro_batches = 4;
        four.schedule = HYPAR_SCHEDULE_1F1B;
        struct measured flat = measure(LLAMA, 4, one), deep = measure(LLAMA, 4, four);
        double border = (i ? 1 : four.tensor) * X;
        assert_true(deep.totals.forward_bytes - flat.totals.forward_bytes == 3 * border);
        assert_true(deep.totals.backward_bytes - flat.totals.backward_bytes == 3 * border);
    }
}

/* Each part of a parameter is summed by its replicas. Copies of a norm are one sum: its parts
 * come from the replicas, and every device reads it (a single replica's copies agree); by
 * sequence every device has a part. */
static void gradients(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * N_LAYOUTS; i++) {
        struct hypar_layout layout = layouts[i / 2];
        layout.sequence_parallel = i % 2;
        struct measured m = measure(LLAMA, 4, layout);
        double d = layout.data, all = d * layout.tensor;
        double copied = layout.sequence_parallel ? 2 * (all - 1) : d > 1 ? d - 1 + all - 1 : 0;
        double expected = 2 * (d - 1) * (m.params - m.copied_params) + copied * m.copied_params;
        if (m.totals.gradient_bytes != expected)
            fail_msg("layout %d: %.0f bytes, expected %.0f", i, m.totals.gradient_bytes,
                     expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers),
        cmocka_unit_test(vocabulary),
        cmocka_unit_test(borders),
        cmocka_unit_test(gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
