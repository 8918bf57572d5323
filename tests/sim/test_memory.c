/* Memory computed by hand, and published figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "program/memory/parts.h"

static struct hypar_machine *full(int n)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    char word[32];
    snprintf(word, sizeof word, "full:%d", n);
    if (hypar_machine_read(&machine, word, &err))
        fail_msg("%s", err.text);
    return machine;
}

static struct memory_model *memory_of(const struct hypar_plan *plan)
{
    struct hypar_program *program;
    struct hypar_error err;
    if (hypar_lower(&program, plan, NULL, &err))
        fail_msg("%s", err.text);
    struct memory_model *model = hp_memory(program, NULL);
    hypar_program_free(program);
    return model;
}

/* The samples of every operator over all devices; what has no samples is computed by each. */
static void split_samples(struct hypar_plan *plan, int degree)
{
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct nest *nest = plan->graph->ops[op].nest;
        struct split split = { .degree = { 0 } };
        int axis = nest->n_axes - 1;
        for (int a = 0; a < nest->n_axes; a++)
            axis = nest->axis[a].role == HYPAR_SAMPLE ? a : axis;
        split.degree[axis] = degree;
        hp_plan_set(plan, op, &split, NULL);
    }
}

static int add_op(struct graph_builder *b, enum op_kind kind, const char *name, int x, int y,
                  const struct attrs *attrs)
{
    struct hypar_error err;
    int out = -1;
    struct op_request request = { kind, name, y == HP_ABSENT ? 1 : 2, (int[]){ x, y }, attrs };
    if (hp_build_op(b, &request, &out, &err))
        fail_msg("%s", err.text);
    return out;
}

static struct hypar_graph *finish(struct graph_builder *b)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hp_build_finish(b, &graph, &err))
        fail_msg("%s", err.text);
    return graph;
}

/* Parameters, gradients, state --------------------------------------------------------- */

/* Bytes of one parameter: weight, gradient, optimizer. */
static const double per_param[HYPAR_PRECISION_COUNT][HYPAR_OPTIMIZER_COUNT][3] = {
    [HYPAR_FP32] = { { 4, 4, 0 }, { 4, 4, 4 }, { 4, 4, 8 }, { 4, 4, 8 } },
    [HYPAR_BF16] = { { 2, 2, 4 }, { 2, 2, 8 }, { 2, 2, 12 }, { 2, 2, 12 } },
    [HYPAR_FP64] = { { 8, 8, 0 }, { 8, 8, 8 }, { 8, 8, 16 }, { 8, 8, 16 } },
    [HYPAR_FP16] = { { 2, 2, 4 }, { 2, 2, 8 }, { 2, 2, 12 }, { 2, 2, 12 } },
    [HYPAR_TF32] = { { 4, 4, 0 }, { 4, 4, 4 }, { 4, 4, 8 }, { 4, 4, 8 } },
};

static void check_state(const struct hypar_graph *graph, struct hypar_machine *machine,
                        const struct hypar_plan_settings *settings)
{
    struct hypar_plan *plan = hp_plan_new(graph, machine, settings);
    const double *each = per_param[settings->precision][settings->optimizer];
    double bytes[3] = { each[0], each[1], each[2] };
    double params = (double)hypar_graph_params(graph), state[4];
    if (settings->fp32_gradients && bytes[1] < 4)
        bytes[1] = 4;
    struct hypar_memory memory[4];
    split_samples(plan, 4);
    assert_int_equal(hypar_plan_memory(plan, NULL, memory, NULL), HYPAR_OK);
    hypar_plan_state_bytes(plan, state);
    for (int d = 0; d < 4; d++) {
        assert_true(memory[d].parameters == bytes[0] * params);
        assert_true(memory[d].gradients == bytes[1] * params);
        assert_true(memory[d].optimizer == bytes[2] * params);
        assert_true(memory[d].weight_versions == 0);
        assert_true(state[d] == (bytes[0] + bytes[1] + bytes[2]) * params);
        assert_true(memory[d].limit == (double)hypar_machine_device(machine, d)->memory_bytes);
        assert_true(memory[d].framework == settings->framework_bytes);
        assert_true(memory[d].peak == state[d] + memory[d].activations + memory[d].buffers +
                                          settings->framework_bytes);
        assert_true(memory[d].peak == memory[0].peak);
    }
    hypar_plan_free(plan);
}

static void data_parallel_state(void **state)
{
    (void)state;
    struct hypar_machine *machine = full(4);
    for (int i = 0; i < 2; i++) { /* gpt2 ties its embeddings: they count once */
        struct hypar_graph *graph;
        struct hypar_import_options options = { .batch = 8 };
        assert_int_equal(hypar_import(&graph, i ? "gpt2" : "vgg16", &options, NULL), HYPAR_OK);
        for (int p = 0; p < HYPAR_PRECISION_COUNT; p++)
            for (int o = 0; o < 2 * HYPAR_OPTIMIZER_COUNT; o++)
                check_state(
                    graph, machine,
                    &(struct hypar_plan_settings){ .precision = (enum hypar_precision)p,
                                                   .optimizer = (enum hypar_optimizer)(o / 2),
                                                   .fp32_gradients = o % 2,
                                                   .framework_bytes = o % 2 ? 1e9 : 0 });
        hypar_graph_free(graph);
    }
    hypar_machine_free(machine);
}

/* Gradients are summed as they are held: only their messages follow their precision. */
static void gradient_messages(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_machine *machine = full(4);
    struct hypar_program_totals totals[2];
    assert_int_equal(hypar_import(&graph, "lenet5", NULL, NULL), HYPAR_OK);
    for (int i = 0; i < 2; i++) {
        struct hypar_plan_settings settings = { .precision = HYPAR_FP16, .fp32_gradients = i };
        struct hypar_plan *plan = hp_plan_new(graph, machine, &settings);
        struct hypar_program *program;
        split_samples(plan, 4);
        hp_plan_set(plan, 0, &(struct split){ .degree = { 0 } }, NULL); /* values move, too */
        assert_int_equal(hypar_lower(&program, plan, NULL, NULL), HYPAR_OK);
        totals[i] = hypar_program_totals(program);
        hypar_program_free(program);
        hypar_plan_free(plan);
    }
    assert_true(totals[0].forward_bytes > 0 && totals[0].gradient_bytes > 0);
    assert_true(totals[1].gradient_bytes == 2 * totals[0].gradient_bytes);
    assert_true(totals[1].forward_bytes == totals[0].forward_bytes);
    assert_true(totals[1].backward_bytes == totals[0].backward_bytes);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Older versions of the weights are as large as the weights. */
static void weight_versions(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_machine *machine = full(2);
    assert_int_equal(hypar_import(&graph, "lenet-c", NULL, NULL), HYPAR_OK);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    struct hypar_program *program;
    assert_int_equal(hypar_lower(&program, plan, NULL, NULL), HYPAR_OK);
    struct memory_options options = { .versions = (int[]){ 3 } };
    struct memory_model *one = hp_memory(program, NULL), *three = hp_memory(program, &options);
    double weights = one->device[0].parameters;
    assert_true(three->device[0].weight_versions == 2 * weights);
    assert_true(three->device[0].peak == one->device[0].peak + 2 * weights);
    assert_true(one->device[1].peak == 0); /* nothing is done there */
    hp_memory_free(one);
    hp_memory_free(three);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* By hand ------------------------------------------------------------------------------ */

enum { N = 6, C0 = 4, C1 = 32, C2 = 8 };

/* x -> linear1 -> relu (under other names too) -> linear2 -> mean squares. */
static struct hypar_graph *small_net(bool rename)
{
    struct graph_builder *b = hp_build("small", N);
    int x = hp_build_input(b, "x", &(struct hypar_shape){ 2, { N, C0 } }, false, 0);
    int target = hp_build_input(b, "target", &(struct hypar_shape){ 2, { N, C2 } }, false, 0);
    int y = add_op(b, OP_LINEAR, "linear1", x, HP_MAKE, ATTRS({ ATTR_OUT, 1, V(C1) }));
    y = add_op(b, OP_RELU, "relu", y, HP_ABSENT, NULL);
    if (rename) {
        y = add_op(b, OP_IDENTITY, "identity", y, HP_ABSENT, NULL);
        y = add_op(b, OP_RESHAPE, "reshape", y, HP_ABSENT,
                   ATTRS({ ATTR_SHAPE, 3, V(N, 4, C1 / 4) }));
        y = add_op(b, OP_UNSQUEEZE, "unsqueeze", y, HP_ABSENT, ATTRS({ ATTR_AXES, 1, V(1) }));
        y = add_op(b, OP_FLATTEN, "flatten", y, HP_ABSENT, NULL);
    }
    y = add_op(b, OP_LINEAR, "linear2", y, HP_MAKE, ATTRS({ ATTR_OUT, 1, V(C2) }));
    add_op(b, OP_MSE_LOSS, "loss", y, target, NULL);
    return finish(b);
}

/* One device, fp32. Kept: x (for linear1's gradient), relu's output (linear2's gradient and
 * relu's own error), linear2's output and the target (the loss's error). It is fullest when the
 * error of linear1's output is computed from that of relu's: x and relu's output are there
 * still, and the loss, which lasts. */
static void small_by_hand(void **state)
{
    (void)state;
    for (int rename = 0; rename < 2; rename++) {
        struct hypar_graph *graph = small_net(rename);
        struct hypar_machine *machine = full(1);
        struct hypar_plan *plan =
            hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
        struct memory_model *model = memory_of(plan);
        const struct hypar_memory *m = &model->device[0];
        assert_true(model->kept[0][0] == 4 * N * (C0 + C1 + 2 * C2));
        assert_true(m->parameters == 4 * (C0 * C1 + C1 * C2));
        assert_true(m->activations == 4 * N * (C0 + C1) + 4);
        assert_true(m->buffers == 4 * N * 2 * C1);
        assert_true(m->recompute_saves == 4 * N * C1);
        assert_true(m->peak == 2 * m->parameters + m->activations + m->buffers);
        hp_memory_free(model);
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

/* Two devices, each with half of the samples: after the step each adds up half of a gradient,
 * in its place. It is fullest when the error of the loss is computed. */
static void sums_by_hand(void **state)
{
    (void)state;
    struct graph_builder *b = hp_build("wide", 2);
    int x = hp_build_input(b, "x", &(struct hypar_shape){ 2, { 2, 100 } }, false, 0);
    int target = hp_build_input(b, "target", &(struct hypar_shape){ 2, { 2, 60 } }, false, 0);
    int y = add_op(b, OP_LINEAR, "linear", x, HP_MAKE, ATTRS({ ATTR_OUT, 1, V(60) }));
    add_op(b, OP_MSE_LOSS, "loss", y, target, NULL);
    struct hypar_graph *graph = finish(b);
    struct hypar_machine *machine = full(2);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    split_samples(plan, 2);
    struct memory_model *model = memory_of(plan);
    for (int d = 0; d < 2; d++) {
        assert_true(model->kept[0][d] == 4 * (100 + 60 + 60));
        assert_true(model->device[d].activations == 4 * (100 + 60 + 60) + 4);
        assert_true(model->device[d].buffers == 4 * 60);
    }
    hp_memory_free(model);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* All but the first operator on another device: the first one's output is sent, and is there
 * until the backward half begins, since nothing else is done meanwhile. */
static void sends_by_hand(void **state)
{
    (void)state;
    struct hypar_graph *graph = small_net(false);
    struct hypar_machine *machine = full(2);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    for (int op = 1; op < graph->n_ops; op++)
        hp_plan_set(plan, op, &(struct split){ .degree = { 0 } }, (int[]){ 1 });
    struct memory_model *model = memory_of(plan);
    const double *waits = model->waits[0];
    assert_true(model->kept[0][0] == 4 * N * (C0 + C1));
    assert_true(waits[hp_memory_at(model, 0, PHASE_BACKWARD)] == 4 * N * C1);
    assert_true(model->kept[0][1] == 4 * N * (C1 + 2 * C2));
    assert_true(waits[hp_memory_at(model, 1, PHASE_BACKWARD)] == 0);
    assert_true(model->device[0].activations == 4 * N * (C0 + C1));
    assert_true(model->device[0].buffers == 0);
    assert_true(model->device[1].activations == 4 * N * C1 + 4);
    assert_true(model->device[1].buffers == 4 * N * 2 * C1);
    hp_memory_free(model);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Pipelines ---------------------------------------------------------------------------- */

enum { STAGES = 4, WIDTH = 16 };

static char *named(const char *name, int layer)
{
    static char text[96];
    snprintf(text, sizeof text, "%s%d", name, layer);
    return text;
}

enum { HIDDEN = 12, HEADS = 3, SEQUENCE = 8, LAYER_SAMPLES = 2 };

static double kept_by_gpt(int layers)
{
    struct hypar_graph *graph;
    char word[160];
    snprintf(word, sizeof word,
             "gpt:layers=%d,hidden=%d,heads=%d,seq=%d,vocab=16,attention=unfused,"
             "attention_dropout_percent=10",
             layers, HIDDEN, HEADS, SEQUENCE);
    assert_int_equal(hypar_import(&graph, word,
                                  &(struct hypar_import_options){ .batch = LAYER_SAMPLES },
                                  NULL),
                     HYPAR_OK);
    struct hypar_machine *machine = full(1);
    struct hypar_plan *plan = hp_plan_new(
        graph, machine,
        &(struct hypar_plan_settings){ .precision = HYPAR_BF16, .masks = HYPAR_MASKS_KEPT });
    struct memory_model *model = memory_of(plan);
    double kept = model->kept[0][0];
    hp_memory_free(model);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return kept;
}

/* A layer of the zoo's gpt with attention written out has just the operators that they count.
 */
static void zoo_layer(void **state)
{
    (void)state;
    double s = SEQUENCE, b = LAYER_SAMPLES, h = HIDDEN, a = HEADS;
    assert_true(kept_by_gpt(3) - kept_by_gpt(2) ==
                s * b * h * (34 + 5 * a * s / h) + 2 * 2 * 4 * s * b); /* two norms, in fp32 */
}

/* A linear layer and a relu for each stage, each stage on a device of its own. */
static struct hypar_plan *pipeline(struct hypar_graph **graph, struct hypar_machine *machine,
                                   int batch, enum hypar_schedule_kind kind, int micro_batches)
{
    struct graph_builder *b = hp_build("chain", batch);
    struct hypar_shape shape = { 2, { batch, WIDTH } };
    int x = hp_build_input(b, "x", &shape, false, 0);
    int target = hp_build_input(b, "target", &shape, false, 0);
    for (int s = 0; s < STAGES; s++) {
        x = add_op(b, OP_LINEAR, named("linear", s), x, HP_MAKE,
                   ATTRS({ ATTR_OUT, 1, V(WIDTH) }));
        x = add_op(b, OP_RELU, named("relu", s), x, HP_ABSENT, NULL);
    }
    add_op(b, OP_MSE_LOSS, "loss", x, target, NULL);
    *graph = finish(b);
    struct hypar_plan *plan = hp_plan_new(*graph, machine, &(struct hypar_plan_settings){ 0 });
    for (int s = 0; s < STAGES; s++)
        hp_plan_add_stage(plan,
                          &(struct hypar_stage){ .n_ops = s == STAGES - 1 ? 3 : 2,
                                                 .op = (int[]){ 2 * s, 2 * s + 1, 2 * s + 2 },
                                                 .n_devices = 1,
                                                 .device = &s,
                                                 .replicas = 1 });
    hp_plan_set_schedule(
        plan, &(struct hypar_schedule){ .kind = kind, .micro_batches = micro_batches });
    return plan;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* A stage keeps its input and its relu's output of every micro-batch in flight, the last one
 * the target too. It is fullest when the first backward half begins, with the error of its
 * relu's output and that of its linear layer's; as full when the next forward half ends, with
 * the linear layer's output and the error that was sent. */
static void check_pipeline(enum hypar_schedule_kind kind, int micro_batches, int rows)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine = full(STAGES);
    struct hypar_plan *plan =
        pipeline(&graph, machine, rows * micro_batches, kind, micro_batches);
    struct memory_model *model = memory_of(plan);
    for (int s = 0; s < STAGES; s++) {
        int flying = kind == HYPAR_SCHEDULE_GPIPE  ? micro_batches
                     : kind == HYPAR_SCHEDULE_1F1B ? least(STAGES - s, micro_batches)
                                                   : 1;
        double tensor = 4.0 * rows * WIDTH;
        if (model->in_flight[s] != flying)
            fail_msg("%s, stage %d of %d, %d micro-batches: %d in flight, expected %d",
                     hypar_schedule_text(kind), s, STAGES, micro_batches, model->in_flight[s],
                     flying);
        assert_true(model->kept[0][s] == (s == STAGES - 1 ? 3 : 2) * tensor);
        const struct hypar_memory *m = &model->device[s];
        if (s < STAGES - 1)
            assert_true(m->activations + m->buffers == (2 * flying + 2) * tensor);
        else
            assert_true(m->activations + m->buffers == (3 * flying + 1) * tensor + 4);
        assert_true(m->recompute_saves <= m->activations);
    }
    hp_memory_free(model);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void pipelines(void **state)
{
    (void)state;
    static const enum hypar_schedule_kind kinds[] = { HYPAR_SCHEDULE_NONE, HYPAR_SCHEDULE_GPIPE,
                                                      HYPAR_SCHEDULE_1F1B };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int micro_batches = 1; micro_batches <= 9; micro_batches++)
            check_pipeline(kinds[k], micro_batches, 3);
}

/* Ten samples in four micro-batches: 3, 3, 2, 2. What counts is how many of which size are in
 * flight at once: all under GPipe; the first stages-from-here, then larger ones go, smaller
 * ones come, under 1F1B. */
static void uneven_micro_batches(void **state)
{
    (void)state;
    static const int gpipe[STAGES] = { 10, 10, 10, 10 }, alternate[STAGES] = { 10, 8, 6, 3 };
    struct hypar_machine *machine = full(STAGES);
    for (int k = 0; k < 2; k++) {
        struct hypar_graph *graph;
        struct hypar_plan *plan =
            pipeline(&graph, machine, 10, k ? HYPAR_SCHEDULE_1F1B : HYPAR_SCHEDULE_GPIPE, 4);
        struct memory_model *model = memory_of(plan);
        for (int s = 0; s < STAGES - 1; s++) {
            double rows = k ? alternate[s] : gpipe[s], row = 4.0 * WIDTH;
            const struct hypar_memory *m = &model->device[s];
            assert_true(m->activations + m->buffers == (2 * rows + 2 * 3) * row);
        }
        hp_memory_free(model);
        hypar_plan_free(plan);
        hypar_graph_free(graph);
    }
    hypar_machine_free(machine);
}

/* Batches ------------------------------------------------------------------------------ */

/* Without batch norm, what is kept grows with the batch exactly, all else no less. */
static void larger_batches(void **state)
{
    (void)state;
    struct hypar_machine *machine = full(1);
    static const char *const models[] = { "vgg16", "resnet18", "gpt2" };
    for (int i = 0; i < 3; i++) {
        double kept = 0, peak = 0;
        for (int batch = 1; batch <= 16; batch *= 2) {
            struct hypar_graph *graph;
            struct hypar_import_options options = { .batch = batch };
            assert_int_equal(hypar_import(&graph, models[i], &options, NULL), HYPAR_OK);
            struct hypar_plan *plan =
                hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
            struct memory_model *model = memory_of(plan);
            assert_true(model->device[0].peak > peak);
            if (i == 0 && batch > 1)
                assert_true(model->kept[0][0] == 2 * kept);
            kept = model->kept[0][0];
            peak = model->device[0].peak;
            hp_memory_free(model);
            hypar_plan_free(plan);
            hypar_graph_free(graph);
        }
    }
    hypar_machine_free(machine);
}

/* A plan that cannot be lowered is refused with the reason. */
static void refused(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    struct hypar_machine *machine = full(1);
    struct hypar_memory memory;
    struct graph_builder *b = hp_build("no loss", 2);
    int x = hp_build_input(b, "x", &(struct hypar_shape){ 2, { 2, 2 } }, false, 0);
    add_op(b, OP_RELU, "relu", x, HP_ABSENT, NULL);
    graph = finish(b);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    assert_int_equal(hypar_plan_memory(plan, NULL, &memory, &err), HYPAR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no loss"));
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_parallel_state),
        cmocka_unit_test(weight_versions),
        cmocka_unit_test(gradient_messages),
        cmocka_unit_test(small_by_hand),
        cmocka_unit_test(sums_by_hand),
        cmocka_unit_test(sends_by_hand),
        cmocka_unit_test(zoo_layer),
        cmocka_unit_test(pipelines),
        cmocka_unit_test(uneven_micro_batches),
        cmocka_unit_test(larger_batches),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("sim: memory", tests, NULL, NULL);
}
