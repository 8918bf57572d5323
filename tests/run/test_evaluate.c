/* Tests on held-out samples: every plan reports the result of the unsplit graph for exactly the
 * samples of the set, with running statistics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <hypar/run.h>
#include <hypar/search.h>

#include "run/data/source.h"
#include "run/init.h"
#include "run/running.h"
#include "tests/random_data.h"
#include "tests/unsplit_run.h"

enum { BATCH = 10, TESTED = 297, CLASSES = 10 };

#define DIGITS "examples/data/digits-"

struct data {
    const char *train, *test;
    int steps; /* of training */
};

static const struct data digits = { DIGITS "train-x.npy," DIGITS "train-y.npy",
                                    DIGITS "test-x.npy," DIGITS "test-y.npy", 2 };
static const struct data images = { DIGITS "train-x.npy," DIGITS "train-x.npy",
                                    DIGITS "test-x.npy," DIGITS "test-x.npy", 1 };

static struct hypar_graph *model(const char *word)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    struct hypar_import_options options = { .batch = BATCH };
    if (hypar_import(&graph, word, &options, &err))
        fail_msg("%s", err.text);
    return graph;
}

/* The unsplit run ------------------------------------------------------------------------ */

/* Inputs of one batch of a set. */
static void fill_inputs(const struct hypar_graph *graph, const struct data_source *source,
                        enum data_set set, int64_t batch, const struct run_data *data)
{
    for (int t = 0; t < graph->n_tensors; t++) {
        struct data_request request = { .set = set,
                                        .tensor = t,
                                        .position = batch * BATCH,
                                        .box = hp_shape_box(&graph->tensors[t].shape),
                                        .real = REAL_F64 };
        if (graph->tensors[t].kind == TENSOR_INPUT)
            assert_int_equal(hp_data_read(source, &request, data->tensor[t].data, NULL),
                             HYPAR_OK);
    }
}

static void copy_all(const struct view *to, const struct view *from)
{
    hp_view_copy(to, from, &to->box, sizeof(double));
}

/* Parameters and running statistics after some steps, one run for each batch. */
static void train(const struct hypar_graph *graph, const struct data_source *source, int steps,
                  const struct run_data *data)
{
    for (int t = 0; t < graph->n_tensors; t++) {
        struct box box = hp_shape_box(&graph->tensors[t].shape);
        if (graph->tensors[t].kind == TENSOR_PARAM)
            hp_init_box(graph, t, &box, REAL_F64, 0, data->tensor[t].data);
        else if (hp_is_running(graph, t))
            hp_first_running(&data->tensor[t], REAL_F64);
    }
    for (int step = 0; step < steps; step++) {
        fill_inputs(graph, source, DATA_TRAIN, step, data);
        struct unsplit_run *run =
            unsplit_run_new(graph, data,
                            &(struct unsplit_settings){ .micro_batches = 1,
                                                        .optimizer = hp_optimizer(HYPAR_SGD) });
        unsplit_run_step(run);
        for (int t = 0; t < graph->n_tensors; t++)
            if (graph->tensors[t].kind == TENSOR_PARAM)
                copy_all(
                    &data->tensor[t],
                    unsplit_run_view(run, (struct place){ .tensor = t, .grad = false }, 0));
            else if (hp_is_running(graph, t))
                copy_all(&data->tensor[t], unsplit_run_running(run, t));
        unsplit_run_free(run);
    }
}

/* -log softmax of one row at its label, and whether the label is the first of the largest. */
static double row_loss(const double *x, int label, bool *right)
{
    int best = 0;
    double sum = 0;
    for (int c = 1; c < CLASSES; c++)
        best = x[c] > x[best] ? c : best;
    for (int c = 0; c < CLASSES; c++)
        sum += exp(x[c] - x[best]);
    *right = best == label;
    return log(sum) + x[best] - x[label];
}

/* The mean square of one row's errors. */
static double row_error(const double *x, const double *target, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (x[i] - target[i]) * (x[i] - target[i]);
    return sum / (double)n;
}

static struct hypar_train_test expect(const struct hypar_graph *graph, const struct data *from)
{
    struct arena arena = { 0 };
    struct data_source *source;
    struct data_options options = { .train = from->train, .test = from->test };
    struct hypar_train_test out = { .samples = TESTED };
    struct run_data data = random_data(&arena, graph, REAL_F64, 1);
    const struct op *loss = &graph->ops[graph->tensors[graph->loss].producer];
    bool classifies = loss->kind == OP_CROSS_ENTROPY;
    int64_t width = hp_shape_elements(&graph->tensors[loss->tensor[0]].shape) / BATCH;
    assert_int_equal(hp_data_open(&source, graph, &options, NULL), HYPAR_OK);
    assert_int_equal(hp_data_samples(source, DATA_TEST), TESTED);
    train(graph, source, from->steps, &data);
    for (int64_t b = 0; b * BATCH < TESTED; b++) {
        fill_inputs(graph, source, DATA_TEST, b, &data);
        struct unsplit_run *run = unsplit_run_new(
            graph, &data, &(struct unsplit_settings){ .micro_batches = 1, .forward = true });
        unsplit_run_step(run);
        const double *x =
            unsplit_run_view(run, (struct place){ .tensor = loss->tensor[0] }, 0)->data;
        const void *label = data.tensor[loss->tensor[1]].data;
        for (int64_t i = 0; i < BATCH && b * BATCH + i < TESTED; i++) {
            bool right = false;
            double one =
                classifies ? row_loss(x + i * width, ((const int32_t *)label)[i], &right)
                           : row_error(x + i * width, (const double *)label + i * width, width);
            out.loss += one / TESTED;
            out.accuracy += right / (double)TESTED;
        }
        unsplit_run_free(run);
    }
    out.accuracy = classifies ? out.accuracy : -1;
    hp_data_close(source);
    hp_arena_free(&arena);
    return out;
}

/* Plans ---------------------------------------------------------------------------------- */

static struct hypar_train_test run(const char *word, const struct data *from,
                                   const char *machine, const char *kernels,
                                   const struct hypar_search_options *how)
{
    struct hypar_graph *graph = model(word);
    struct hypar_machine *on;
    struct hypar_found *found;
    struct hypar_ranks *ranks;
    struct hypar_train_result result;
    struct hypar_error err;
    struct hypar_train_options options = { .steps = from->steps,
                                           .kernels = kernels,
                                           .check = strcmp(kernels, "reference") == 0,
                                           .data = from->train,
                                           .test_data = from->test };
    if (hypar_machine_read(&on, machine, &err) || hypar_search(&found, graph, on, how, &err) ||
        hypar_ranks_join(&ranks, &err) ||
        hypar_train(hypar_found_plan(found), ranks, &options, &result, &err))
        fail_msg("%s on %s by %s: %s", word, machine, how->planner, err.text);
    hypar_ranks_leave(ranks, HYPAR_OK);
    hypar_trace_free(result.trace);
    hypar_found_free(found);
    hypar_machine_free(on);
    hypar_graph_free(graph);
    return result.test;
}

static void compare(const struct hypar_train_test *found, const struct hypar_train_test *right,
                    const char *planner)
{
    if (found->samples != right->samples || fabs(found->accuracy - right->accuracy) > 1e-12 ||
        !(fabs(found->loss - right->loss) <= 1e-11 * right->loss))
        fail_msg("%s: %lld samples, loss %.17g, %.17g right, expected %lld, %.17g, %.17g",
                 planner, (long long)found->samples, found->loss, found->accuracy,
                 (long long)right->samples, right->loss, right->accuracy);
}

/* By samples, by features, in stages: the same loss, and the same number right. The set is no
 * whole number of batches. */
static void every_plan_tests_the_same(void **state)
{
    (void)state;
    const char word[] = "examples/models/digits.json";
    struct hypar_graph *graph = model(word);
    struct hypar_train_test right = expect(graph, &digits);
    const struct {
        const char *machine;
        struct hypar_search_options how;
    } rows[] = {
        { "full:1", { .planner = "dp" } },
        { "full:4", { .planner = "dp" } },
        { "full:3", { .planner = "mp" } },
        { "full:2", { .planner = "owt" } },
        { "full:4", { .planner = "optcnn" } },
        { "full:3", { .planner = "gpipe", .stages = 3, .micro_batches = 1 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hypar_search_options how = rows[i].how;
        how.precision = HYPAR_FP64;
        struct hypar_train_test found = run(word, &digits, rows[i].machine, "reference", &how);
        compare(&found, &right, how.planner);
        if (hp_kernels_find("fast")) {
            found = run(word, &digits, rows[i].machine, "fast", &how);
            compare(&found, &right, how.planner);
        }
    }
    hypar_graph_free(graph);
}

/* Classes that score the same: the first counts, also where parts have some of them each. */
static void first_of_equals(void **state)
{
    (void)state;
    static const char *const planners[] = { "dp", "mp" };
    const char path[] = "tests/data/equal-scores.json";
    struct hypar_graph *graph = model(path);
    struct hypar_train_test right = expect(graph, &digits);
    assert_true(right.accuracy > 0.05 && right.accuracy < 0.2); /* zeros among the digits */
    for (int i = 0; i < 2; i++) {
        struct hypar_search_options how = { .planner = planners[i], .precision = HYPAR_FP64 };
        struct hypar_train_test found = run(path, &digits, "full:2", "reference", &how);
        compare(&found, &right, planners[i]);
    }
    hypar_graph_free(graph);
}

/* Of a regression there is the loss; dropout, which draws in training, lets everything through.
 */
static void regressions(void **state)
{
    (void)state;
    static const char *const planners[] = { "dp", "mp" };
    const char path[] = "tests/data/autoencoder.json";
    struct hypar_graph *graph = model(path);
    struct hypar_train_test right = expect(graph, &images);
    for (int i = 0; i < 2; i++) {
        struct hypar_search_options how = { .planner = planners[i], .precision = HYPAR_FP64 };
        struct hypar_train_test found = run(path, &images, "full:3", "reference", &how);
        compare(&found, &right, planners[i]);
    }
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_tests_the_same),
        cmocka_unit_test(first_of_equals),
        cmocka_unit_test(regressions),
    };
    return cmocka_run_group_tests_name("run: tests on held-out samples", tests, NULL, NULL);
}
