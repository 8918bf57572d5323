/* Batches: their samples, any box of them, and the rule that synthetic samples teach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hypar/graph.h>

#include "base/random.h"
#include "run/data.h"
#include "run/data/inputs.h"
#include "run/data/shuffle.h"
#include "run/data/source.h"
#include "run/elements.h"
#include "tests/scratch_file.h"

static struct hypar_graph *model(const char *word, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    struct hypar_import_options options = { .batch = batch };
    if (hypar_import(&graph, word, &options, &err))
        fail_msg("%s", err.text);
    return graph;
}

static int input(const struct hypar_graph *graph, const char *name)
{
    int t = hp_find_input(graph, name, strlen(name));
    assert_true(t >= 0);
    return t;
}

static struct data_source *open_data(const struct hypar_graph *graph,
                                     const struct data_options *options)
{
    struct data_source *source;
    struct hypar_error err = { 0 };
    if (hp_data_open(&source, graph, options, &err))
        fail_msg("%s", err.text);
    return source;
}

static void read_box(const struct data_source *source, const struct data_request *request,
                     void *out)
{
    struct hypar_error err = { 0 };
    if (hp_data_read(source, request, out, &err))
        fail_msg("%s", err.text);
}

/* Shuffling ----------------------------------------------------------------------------- */

static void permutations(void **state)
{
    (void)state;
    static char seen[5000];
    for (int n = 1; n <= 5000; n += n < 70 ? 1 : 493)
        for (int epoch = 0; epoch < 3; epoch++) {
            memset(seen, 0, sizeof seen);
            for (int i = 0; i < n; i++) {
                int64_t to = hp_shuffled(1, epoch, n, i);
                assert_true(to >= 0 && to < n && !seen[to]);
                seen[to] = 1;
            }
        }
    for (int64_t n = (int64_t)1 << 40; n > 0; n >>= 13) /* large ones are below n too */
        assert_true(hp_shuffled(5, 9, n, n - 1) < n);
}

/* Each of 10 samples comes to each of 10 places about as often: over 20,000 epochs, within five
 * deviations; and so does each order of three. */
static void fairness(void **state)
{
    (void)state;
    enum { N = 10, EPOCHS = 20000 };
    int count[N][N] = { { 0 } }, order[27] = { 0 }, orders = 0;
    double expected = EPOCHS / (double)N, deviation = sqrt(expected * (1 - 1.0 / N));
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (int i = 0; i < N; i++)
            count[i][hp_shuffled(3, epoch, N, i)]++;
        order[hp_shuffled(3, epoch, 3, 0) * 9 + hp_shuffled(3, epoch, 3, 1) * 3 +
              hp_shuffled(3, epoch, 3, 2)]++;
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            assert_true(fabs(count[i][k] - expected) < 5 * deviation);
    for (int i = 0; i < 27; i++) {
        orders += order[i] > 0;
        assert_true(!order[i] || fabs(order[i] - EPOCHS / 6.0) < 5 * sqrt(EPOCHS / 7.2));
    }
    assert_int_equal(orders, 6);
}

/* 23 samples of which the only element is the sample's number, and their labels. */
enum { SAMPLES = 23 };

static const char *numbered(void)
{
    static char text[80];
    unsigned char x[12 + SAMPLES] = { 0, 0, 9, 2, 0, 0, 0, SAMPLES, 0, 0, 0, 1 };
    unsigned char y[8 + SAMPLES] = { 0, 0, 8, 1, 0, 0, 0, SAMPLES };
    for (int i = 0; i < SAMPLES; i++) {
        x[12 + i] = (unsigned char)i;
        y[8 + i] = (unsigned char)(i % 3);
    }
    snprintf(text, sizeof text, "%s,%s", scratch_file(0, x, sizeof x),
             scratch_file(1, y, sizeof y));
    return text;
}

/* The samples of one batch, by what their labels and numbers say. */
static void read_numbers(const struct data_source *source, const struct hypar_graph *graph,
                         enum data_set set, int64_t position, int n, int *out)
{
    float x[64];
    int32_t label[64];
    struct data_request request = { .set = set,
                                    .tensor = input(graph, "x"),
                                    .position = position,
                                    .box = { 2, { { 0, n }, { 0, 1 } } } };
    read_box(source, &request, x);
    request.tensor = input(graph, "labels");
    request.box = (struct box){ 1, { { 0, n } } };
    read_box(source, &request, label);
    for (int i = 0; i < n; i++) {
        out[i] = (int)x[i];
        assert_int_equal(label[i], out[i] % 3);
    }
}

/* Every sample once an epoch, in orders that differ; the batch's size changes nothing. */
static void epochs(void **state)
{
    (void)state;
    struct hypar_graph *graph = model("mlp:1-3", 5);
    struct data_source *source =
        open_data(graph, &(struct data_options){ .train = numbered(), .seed = 4 });
    int all[3 * SAMPLES], five[5], same = 0;
    assert_int_equal(hp_data_samples(source, DATA_TRAIN), SAMPLES);
    for (int epoch = 0; epoch < 3; epoch++) {
        bool seen[SAMPLES] = { false };
        int *order = all + epoch * SAMPLES;
        read_numbers(source, graph, DATA_TRAIN, epoch * SAMPLES, SAMPLES, order);
        for (int i = 0; i < SAMPLES; i++) {
            assert_false(seen[order[i]]);
            seen[order[i]] = true;
            same += epoch > 0 && order[i] == all[i];
        }
    }
    assert_true(same < SAMPLES);
    for (int step = 0; 5 * step + 5 <= 3 * SAMPLES; step++) { /* across epochs too */
        read_numbers(source, graph, DATA_TRAIN, 5 * step, 5, five);
        assert_memory_equal(five, all + 5 * step, sizeof five);
    }
    hp_data_close(source);

    source = open_data(graph, &(struct data_options){ .train = numbered(), .in_order = true });
    read_numbers(source, graph, DATA_TRAIN, 0, SAMPLES, all);
    for (int i = 0; i < SAMPLES; i++)
        assert_int_equal(all[i], i);
    hp_data_close(source);
    hypar_graph_free(graph);
}

static void test_sets(void **state)
{
    (void)state;
    struct hypar_graph *graph = model("mlp:1-3", 5);
    struct data_source *source =
        open_data(graph, &(struct data_options){ .train = numbered(), .held_out = 0.2 });
    int number[18];
    assert_int_equal(hp_data_samples(source, DATA_TRAIN), 18);
    assert_int_equal(hp_data_samples(source, DATA_TEST), 5);
    assert_int_equal(hp_data_check(source, NULL), HYPAR_OK);
    read_numbers(source, graph, DATA_TEST, 0, 5, number);
    for (int i = 0; i < 5; i++)
        assert_int_equal(number[i], 18 + i); /* the last ones, in order */
    read_numbers(source, graph, DATA_TRAIN, 0, 18, number);
    for (int i = 0; i < 18; i++)
        assert_true(number[i] < 18);
    hp_data_close(source);

    source = open_data(graph, &(struct data_options){ .test = numbered() });
    assert_int_equal(hp_data_samples(source, DATA_TRAIN), 1 << 16);
    assert_int_equal(hp_data_samples(source, DATA_TEST), SAMPLES);
    read_numbers(source, graph, DATA_TEST, SAMPLES - 1, 2, number);
    assert_int_equal(number[0], SAMPLES - 1);
    assert_int_equal(number[1], 0); /* and from the first again */
    hp_data_close(source);

    struct hypar_error err = { 0 };
    static const double shares[] = { 0.01, 0.99 };
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            hp_data_open(&source, graph,
                         &(struct data_options){ .train = numbered(), .held_out = shares[i] },
                         &err),
            HYPAR_INVALID);
    assert_string_equal(err.text, "data: 0.99 of 23 samples are 23, expected some for training "
                                  "and some for testing");
    hypar_graph_free(graph);
}

/* Boxes --------------------------------------------------------------------------------- */

/* Inputs of every kind, one with its samples in the middle and one without any. */
static struct hypar_graph *odd_model(void)
{
    struct graph_builder *b = hp_build("odd", 3);
    struct hypar_graph *graph = NULL;
    struct hypar_error err = { 0 };
    int y[1], z[1];
    int middle = hp_build_input(b, "middle", &(struct hypar_shape){ 3, { 4, 3, 5 } }, false, 1);
    int last = hp_build_input(b, "last", &(struct hypar_shape){ 2, { 5, 3 } }, false, 1);
    int none = hp_build_input(b, "none", &(struct hypar_shape){ 1, { 5 } }, false, -1);
    int ids = hp_build_input(b, "ids", &(struct hypar_shape){ 2, { 3, 4 } }, true, 0);
    enum hypar_status status =
        hp_build_op(b,
                    &(struct op_request){ OP_TRANSPOSE, "turned", 1, &middle,
                                          ATTRS({ ATTR_PERM, 3, V(1, 0, 2) }) },
                    y, &err);
    status |= hp_build_op(
        b, &(struct op_request){ OP_ADD, "shifted", 2, (const int[]){ y[0], none }, NULL }, y,
        &err);
    status |= hp_build_op(b,
                          &(struct op_request){ OP_TRANSPOSE, "last_turned", 1, &last,
                                                ATTRS({ ATTR_PERM, 2, V(1, 0) }) },
                          y, &err);
    status |= hp_build_op(
        b,
        &(struct op_request){ OP_EMBEDDING, "table", 2, (const int[]){ ids, HP_MAKE },
                              ATTRS({ ATTR_VOCAB, 1, V(11) }, { ATTR_OUT, 1, V(2) }) },
        z, &err);
    if (status || hp_build_finish(b, &graph, &err))
        fail_msg("%s", err.text);
    return graph;
}

static struct box random_box(const struct box *whole, struct random *random)
{
    struct box box = *whole;
    for (int d = 0; d < box.n_dims; d++) {
        box.dim[d].lo = hp_random_below(random, box.dim[d].hi);
        box.dim[d].hi -= hp_random_below(random, box.dim[d].hi - box.dim[d].lo);
    }
    return box;
}

/* Random boxes of an input have what all of it has there. */
static void check_boxes(const struct data_source *source, const struct hypar_graph *graph,
                        int t, enum real real, struct random *random)
{
    const struct hypar_shape *shape = &graph->tensors[t].shape;
    size_t bytes = hp_tensor_element_bytes(graph, t, real);
    struct data_request request = {
        .tensor = t, .position = 7, .box = hp_shape_box(shape), .real = real
    };
    struct box whole = request.box;
    char *all = calloc((size_t)hp_box_elements(&whole), bytes);
    char *part = calloc((size_t)hp_box_elements(&whole), bytes);
    read_box(source, &request, all);
    for (int round = 0; round < 30; round++) {
        request.box = random_box(&whole, random);
        read_box(source, &request, part);
        struct runs r = hp_runs(shape, &request.box);
        while (hp_next_run(&r))
            assert_memory_equal(part + (size_t)r.in_box * bytes,
                                all + (size_t)r.in_array * bytes, (size_t)r.length * bytes);
    }
    request.box.dim[0].hi = request.box.dim[0].lo; /* of nothing */
    read_box(source, &request, NULL);
    free(all);
    free(part);
}

static void boxes_of_synthetic(void **state)
{
    (void)state;
    struct random random = { 8 };
    struct hypar_graph *graph = odd_model();
    struct data_source *source = open_data(graph, &(struct data_options){ .seed = 2 });
    for (int t = 0; t < graph->n_tensors; t++)
        for (int real = REAL_F32; real <= REAL_F64; real++)
            if (graph->tensors[t].kind == TENSOR_INPUT)
                check_boxes(source, graph, t, (enum real)real, &random);
    hp_data_close(source);
    hypar_graph_free(graph);
}

static void boxes_of_files(void **state)
{
    (void)state;
    enum { N = 6 };
    struct random random = { 8 };
    struct hypar_graph *graph = odd_model();
    static const unsigned char middle[] = { 0, 0, 9, 3, 0, 0, 0, N, 0, 0, 0, 4, 0, 0, 0, 5 };
    static const unsigned char last[] = { 0, 0, 9, 2, 0, 0, 0, N, 0, 0, 0, 5 };
    static const unsigned char ids[] = { 0, 0, 8, 2, 0, 0, 0, N, 0, 0, 0, 4 };
    unsigned char bytes[3][16 + N * 20];
    char text[120];
    struct hypar_error err = { 0 };
    memcpy(bytes[0], middle, sizeof middle);
    memcpy(bytes[1], last, sizeof last);
    memcpy(bytes[2], ids, sizeof ids);
    for (int i = 0; i < N * 20; i++)
        bytes[0][16 + i] = (unsigned char)i;
    for (int i = 0; i < N * 5; i++)
        bytes[1][12 + i] = (unsigned char)(100 + i);
    for (int i = 0; i < N * 4; i++)
        bytes[2][12 + i] = (unsigned char)(i % 11);
    snprintf(text, sizeof text, "%s,%s,%s", scratch_file(0, bytes[0], 16 + N * 20),
             scratch_file(1, bytes[1], 12 + N * 5), scratch_file(2, bytes[2], 12 + N * 4));
    struct data_source *source =
        open_data(graph, &(struct data_options){ .train = text, .in_order = true });
    for (int t = 0; t < graph->n_tensors; t++)
        for (int real = REAL_F32; real <= REAL_F64; real++)
            if (hp_is_data_input(graph, t))
                check_boxes(source, graph, t, (enum real)real, &random);

    double value[4 * 3 * 5];
    int t = input(graph, "middle"); /* [4, samples, 5] */
    struct data_request request = { .tensor = t,
                                    .position = 2,
                                    .box = hp_shape_box(&graph->tensors[t].shape),
                                    .real = REAL_F64 };
    read_box(source, &request, value);
    for (int i = 0; i < 60; i++)
        assert_true(value[i] == (2 + i / 5 % 3) * 20 + i / 15 * 5 + i % 5);
    for (t = 0; strcmp(graph->tensors[t].name, "none") != 0;)
        t++;
    request.tensor = t;
    request.box = hp_shape_box(&graph->tensors[t].shape);
    assert_int_equal(hp_data_read(source, &request, value, &err), HYPAR_INVALID);
    assert_string_equal(err.text, "data: no file for input 'none'");
    hp_data_close(source);
    hypar_graph_free(graph);
}

/* Synthetic samples --------------------------------------------------------------------- */

/* The nearest of the classes' means, taken over 1,000 samples, is right for others. */
static void classes_can_be_learned(void **state)
{
    (void)state;
    enum { N = 1000, TEST = 200, DIMS = 40, CLASSES = 10 };
    struct hypar_graph *graph = model("mlp:40-10", N);
    struct data_source *source = open_data(
        graph,
        &(struct data_options){ .seed = 6, .test = "synthetic", .synthetic_samples = N });
    static double x[N][DIMS], mean[CLASSES][DIMS];
    static int32_t label[N];
    int count[CLASSES] = { 0 }, right = 0;
    struct data_request numbers = { .tensor = input(graph, "x"),
                                    .box = { 2, { { 0, N }, { 0, DIMS } } },
                                    .real = REAL_F64 };
    struct data_request labels = { .tensor = input(graph, "labels"),
                                   .box = { 1, { { 0, N } } } };
    read_box(source, &numbers, x);
    read_box(source, &labels, label);
    for (int i = 0; i < N; i++) {
        assert_true(label[i] >= 0 && label[i] < CLASSES);
        count[label[i]]++;
        for (int d = 0; d < DIMS; d++)
            mean[label[i]][d] += x[i][d];
    }
    numbers.set = labels.set = DATA_TEST;
    read_box(source, &numbers, x);
    read_box(source, &labels, label);
    for (int i = 0; i < TEST; i++) {
        int nearest = 0;
        double least = INFINITY;
        for (int c = 0; c < CLASSES; c++) {
            double away = 0;
            for (int d = 0; d < DIMS; d++)
                away += pow(x[i][d] - mean[c][d] / count[c], 2);
            nearest = away < least ? c : nearest;
            least = fmin(away, least);
        }
        right += nearest == label[i];
    }
    assert_true(right > 0.9 * TEST);
    for (int c = 0; c < CLASSES; c++)
        assert_true(count[c] > 60 && count[c] < 140);
    hp_data_close(source);
    hypar_graph_free(graph);
}

/* Labels are the ids that follow, and follow from the two before. */
static void sequences_can_be_learned(void **state)
{
    (void)state;
    struct hypar_graph *graph = model("gpt:layers=1,hidden=8,heads=2,seq=9,vocab=50", 20);
    struct data_source *source = open_data(graph, &(struct data_options){ .seed = 1 });
    int32_t id[20][9], label[20][9];
    struct data_request request = { .tensor = input(graph, "tokens"),
                                    .box = { 2, { { 0, 20 }, { 0, 9 } } } };
    read_box(source, &request, id);
    request.tensor = input(graph, "labels");
    read_box(source, &request, label);
    for (int i = 0; i < 20; i++)
        for (int k = 1; k < 9; k++) {
            assert_int_equal(label[i][k - 1], id[i][k]);
            assert_int_equal(label[i][k], (2 * id[i][k] - id[i][k - 1] + 50) % 50);
        }
    hp_data_close(source);
    hypar_graph_free(graph);
}

/* Targets and several inputs of ids, as BERT has them; another seed, other samples. */
static void other_models(void **state)
{
    (void)state;
    struct hypar_graph *graph = model("bert:layers=1,hidden=8,heads=2,seq=4,vocab=16,ffn=8", 6);
    double target[2][48];
    int32_t type[24], id[2][24];
    for (int i = 0; i < 2; i++) {
        struct data_source *source =
            open_data(graph, &(struct data_options){ .seed = (uint64_t)i });
        struct data_request request = { .tensor = input(graph, "types"),
                                        .box = { 2, { { 0, 6 }, { 0, 4 } } },
                                        .real = REAL_F64 };
        read_box(source, &request, type);
        for (int k = 0; k < 24; k++)
            assert_true(type[k] == 0 || type[k] == 1);
        request.tensor = input(graph, "tokens");
        read_box(source, &request, id[i]);
        request.tensor = input(graph, "target");
        request.box = hp_shape_box(&graph->tensors[request.tensor].shape);
        assert_int_equal(hp_box_elements(&request.box), 48);
        read_box(source, &request, target[i]);
        for (int k = 0; k < 48; k++)
            assert_true(fabs(target[i][k]) <= 1);
        hp_data_close(source);
    }
    assert_memory_not_equal(target[0], target[1], sizeof target[0]);
    assert_memory_not_equal(id[0], id[1], sizeof id[0]);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutations),
        cmocka_unit_test(fairness),
        cmocka_unit_test(epochs),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(boxes_of_synthetic),
        cmocka_unit_test(boxes_of_files),
        cmocka_unit_test(classes_can_be_learned),
        cmocka_unit_test(sequences_can_be_learned),
        cmocka_unit_test(other_models),
    };
    return cmocka_run_group_tests_name("run: samples of a batch", tests, NULL, NULL);
}
