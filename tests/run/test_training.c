/* A whole training on one device: parameter values, samples, updates, checkpoints. A network
 * learns, and its result holds for other samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hypar/graph.h>

#include "run/checkpoint/checkpoint.h"
#include "run/data/source.h"
#include "run/init.h"
#include "tests/random_data.h"
#include "tests/unsplit_run.h"

static struct hypar_graph *model(const char *word, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    struct hypar_import_options options = { .batch = batch };
    if (hypar_import(&graph, word, &options, &err))
        fail_msg("%s", err.text);
    return graph;
}

/* First values of all parameters, and the first batch of a set. */
static struct run_data first_data(struct arena *arena, const struct hypar_graph *graph,
                                  enum real real, enum data_set set)
{
    struct data_source *source;
    struct run_data data = random_data(arena, graph, real, 1); /* all of it is replaced */
    struct data_options options = { .seed = 3, .test = "synthetic" };
    assert_int_equal(hp_data_open(&source, graph, &options, NULL), HYPAR_OK);
    for (int t = 0; t < graph->n_tensors; t++) {
        struct data_request request = {
            .set = set, .tensor = t, .box = hp_shape_box(&graph->tensors[t].shape), .real = real
        };
        if (graph->tensors[t].kind == TENSOR_PARAM)
            hp_init_box(graph, t, &request.box, real, 3, data.tensor[t].data);
        else if (graph->tensors[t].kind == TENSOR_INPUT)
            assert_int_equal(hp_data_read(source, &request, data.tensor[t].data, NULL),
                             HYPAR_OK);
    }
    hp_data_close(source);
    return data;
}

static struct unsplit_run *start(const struct hypar_graph *graph, const struct run_data *data,
                                 struct optimizer optimizer)
{
    return unsplit_run_new(
        graph, data, &(struct unsplit_settings){ .micro_batches = 1, .optimizer = optimizer });
}

static double loss_after(struct unsplit_run *run, int steps)
{
    for (int i = 0; i < steps; i++)
        unsplit_run_step(run);
    return unsplit_run_loss(run, 0);
}

/* The parameters that a run has come to. */
static void copy_parameters(const struct hypar_graph *graph, const struct unsplit_run *run,
                            const struct run_data *to)
{
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_PARAM)
            memcpy(to->tensor[t].data,
                   unsplit_run_view(run, (struct place){ .tensor = t, .grad = false }, 0)->data,
                   (size_t)hp_shape_elements(&graph->tensors[t].shape) *
                       hp_real_bytes(to->real));
}

static void check_learning(const char *word, int64_t batch, struct optimizer optimizer,
                           int steps)
{
    struct arena arena = { 0 };
    struct hypar_graph *graph = model(word, batch);
    struct run_data train = first_data(&arena, graph, REAL_F32, DATA_TRAIN);
    struct run_data test = first_data(&arena, graph, REAL_F32, DATA_TEST);
    struct unsplit_run *run = start(graph, &train, optimizer);
    struct unsplit_run *before = start(graph, &test, hp_optimizer(HYPAR_SGD));
    double first = loss_after(run, 1), last = loss_after(run, steps);
    double unseen = loss_after(before, 1);
    copy_parameters(graph, run, &test);
    struct unsplit_run *after = start(graph, &test, hp_optimizer(HYPAR_SGD));
    double learned = loss_after(after, 1);
    if (!(last < 0.3 * first) || !(learned < 0.5 * unseen))
        fail_msg("%s, %s: loss %g, then %g; of other samples %g, then %g", word,
                 hypar_optimizer_text(optimizer.kind), first, last, unseen, learned);
    unsplit_run_free(run);
    unsplit_run_free(before);
    unsplit_run_free(after);
    hypar_graph_free(graph);
    hp_arena_free(&arena);
}

static void networks_learn(void **state)
{
    (void)state;
    for (int kind = 0; kind < HYPAR_OPTIMIZER_COUNT; kind++) {
        struct optimizer optimizer = hp_optimizer((enum hypar_optimizer)kind);
        optimizer.learning_rate = kind == HYPAR_SGD        ? 0.5
                                  : kind == HYPAR_MOMENTUM ? 0.05
                                                           : 0.01;
        check_learning("mlp:40-32-5", 200, optimizer, 60);
    }
    struct optimizer adam = hp_optimizer(HYPAR_ADAMW);
    adam.learning_rate = 0.01;
    check_learning("gpt:layers=1,hidden=32,heads=2,seq=8,vocab=12", 48, adam, 100);
}

/* Six steps are three, a checkpoint, and three more. */
static void write_parameters(const char *path, const struct hypar_graph *graph,
                             const struct run_data *data)
{
    struct checkpoint_tensor tensor[16];
    struct checkpoint_writer *w;
    int n = 0;
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_PARAM)
            tensor[n++] =
                (struct checkpoint_tensor){ graph->tensors[t].name, hp_real_element(data->real),
                                            graph->tensors[t].shape };
    assert_int_equal(hp_checkpoint_create(&w, path, tensor, n, NULL, 0, NULL), HYPAR_OK);
    n = 0;
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_PARAM) {
            struct box box = hp_shape_box(&graph->tensors[t].shape);
            assert_int_equal(hp_checkpoint_put(w, n++, &box, data->tensor[t].data, NULL),
                             HYPAR_OK);
        }
    assert_int_equal(hp_checkpoint_finish(w, true, NULL), HYPAR_OK);
}

static void read_parameters(const char *path, const struct hypar_graph *graph,
                            const struct run_data *data)
{
    struct checkpoint *c;
    assert_int_equal(hp_checkpoint_open(&c, path, NULL), HYPAR_OK);
    for (int t = 0; t < graph->n_tensors; t++) {
        int at;
        const struct tensor *tensor = &graph->tensors[t];
        struct box box = hp_shape_box(&tensor->shape);
        if (tensor->kind != TENSOR_PARAM)
            continue;
        assert_int_equal(hp_checkpoint_need(c, tensor->name, &tensor->shape, &at, NULL),
                         HYPAR_OK);
        assert_int_equal(
            hp_checkpoint_read(c, at, &box, data->real, data->tensor[t].data, NULL), HYPAR_OK);
    }
    hp_checkpoint_close(c);
}

static void resumed(void **state)
{
    (void)state;
    char folder[] = "/tmp/hypar-training-XXXXXX", path[64];
    struct hypar_graph *graph = model("mlp:12-8-3", 10);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    for (int real = REAL_F32; real <= REAL_F64; real++) {
        struct arena arena = { 0 };
        struct run_data data = first_data(&arena, graph, (enum real)real, DATA_TRAIN);
        struct run_data again = first_data(&arena, graph, (enum real)real, DATA_TRAIN);
        struct unsplit_run *run = start(graph, &data, hp_optimizer(HYPAR_SGD));
        loss_after(run, 3);
        copy_parameters(graph, run, &data);
        write_parameters(path, graph, &data);
        double expected = loss_after(run, 3);
        read_parameters(path, graph, &again);
        struct unsplit_run *second = start(graph, &again, hp_optimizer(HYPAR_SGD));
        assert_true(loss_after(second, 3) == expected);
        copy_parameters(graph, run, &data);
        copy_parameters(graph, second, &again);
        for (int t = 0; t < graph->n_tensors; t++)
            if (graph->tensors[t].kind == TENSOR_PARAM)
                assert_memory_equal(data.tensor[t].data, again.tensor[t].data,
                                    (size_t)hp_shape_elements(&graph->tensors[t].shape) *
                                        hp_real_bytes((enum real)real));
        unsplit_run_free(run);
        unsplit_run_free(second);
        hp_arena_free(&arena);
    }
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_learn),
        cmocka_unit_test(resumed),
    };
    return cmocka_run_group_tests_name("run: a training's parts", tests, NULL, NULL);
}
