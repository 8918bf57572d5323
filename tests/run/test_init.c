/* Initial values of parameters: the rule of each kind, their moments, and equal values in every
 * box. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
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

#include "base/random.h"
#include "run/data.h"
#include "run/elements.h"
#include "run/init.h"
#include "tests/onnx_text.h"

static struct hypar_graph *model(const char *word)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    struct hypar_import_options options = { .batch = 4 };
    if (hypar_import(&graph, word, &options, &err))
        fail_msg("%s", err.text);
    return graph;
}

static int param(const struct hypar_graph *graph, const char *name)
{
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_PARAM && strcmp(graph->tensors[t].name, name) == 0)
            return t;
    fail_msg("no parameter '%s'", name);
    return -1;
}

static void check_rule(const struct hypar_graph *graph, const char *name, enum init_kind kind,
                       double value)
{
    struct init_rule rule = hp_init_rule(graph, param(graph, name));
    if (rule.kind != kind || fabs(rule.value - value) > 1e-15)
        fail_msg("%s: kind %d, %g, expected %d, %g", name, rule.kind, rule.value, kind, value);
}

static void rules(void **state)
{
    (void)state;
    struct hypar_graph *g = model("mlp:8-6-4");
    check_rule(g, "fc1.w", INIT_UNIFORM, 1 / sqrt(8));
    check_rule(g, "fc2.w", INIT_UNIFORM, 1 / sqrt(6));
    check_rule(g, "fc2.b", INIT_UNIFORM, 1 / sqrt(6));
    hypar_graph_free(g);

    g = model("resnet18");
    check_rule(g, "conv1.w", INIT_UNIFORM, 1 / sqrt(3 * 7 * 7));
    check_rule(g, "bn1.w", INIT_CONSTANT, 1);
    check_rule(g, "bn1.b", INIT_CONSTANT, 0);
    check_rule(g, "fc.b", INIT_UNIFORM, 1 / sqrt(512));
    hypar_graph_free(g);

    g = model("gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16,positions=6");
    check_rule(g, "wte.w", INIT_NORMAL, 0.02); /* the output layer reads it too */
    check_rule(g, "wpe.w", INIT_NORMAL, 0.02); /* behind a slice */
    check_rule(g, "h.0.attn.c_attn.w[0:8]", INIT_UNIFORM, 1 / sqrt(8));
    check_rule(g, "h.0.mlp.c_proj.b", INIT_UNIFORM, 1 / sqrt(32));
    check_rule(g, "ln_f.w", INIT_CONSTANT, 1);
    check_rule(g, "ln_f.b", INIT_CONSTANT, 0);
    hypar_graph_free(g);
}

/* By hand: what the zoo has not, or has in other forms. */
static void rules_of_kinds(void **state)
{
    (void)state;
    struct graph_builder *b = hp_build("kinds", 4);
    struct hypar_graph *g;
    struct hypar_error err;
    int y[3];
#define OP(kind, name, n, inputs, attrs)                                               \
    assert_int_equal(                                                                  \
        hp_build_op(b, &(struct op_request){ kind, name, n, inputs, attrs }, y, &err), \
        HYPAR_OK)
    int x = hp_build_input(b, "x", &(struct hypar_shape){ 4, { 4, 6, 5, 5 } }, false, 0);
    OP(OP_GROUP_CONV, "conv", 3, ((const int[]){ x, HP_MAKE, HP_MAKE }),
       ATTRS({ ATTR_KERNEL, 2, V(3, 2) }, { ATTR_GROUPS, 1, V(3) }, { ATTR_OUT, 1, V(9) }));
    int s = hp_build_input(b, "s", &(struct hypar_shape){ 3, { 4, 7, 3 } }, false, 0);
    OP(OP_LSTM, "lstm", 7,
       ((const int[]){ s, HP_ABSENT, HP_ABSENT, HP_MAKE, HP_MAKE, HP_MAKE, HP_MAKE }),
       ATTRS({ ATTR_OUT, 1, V(5) }));
    int w = hp_build_param(b, "w", &(struct hypar_shape){ 2, { 10, 3 } });
    OP(OP_TRANSPOSE, "turned", 1, &w, ATTRS({ ATTR_PERM, 2, V(1, 0) }));
    OP(OP_LINEAR, "fc", 2, ((const int[]){ s, y[0] }), NULL);
    int scale = hp_build_param(b, "scale", &(struct hypar_shape){ 1, { 10 } });
    OP(OP_MUL, "scaled", 2, ((const int[]){ y[0], scale }), NULL);
    int shift = hp_build_param(b, "shift", &(struct hypar_shape){ 1, { 10 } });
    OP(OP_ADD, "shifted", 2, ((const int[]){ y[0], shift }), NULL);
#undef OP
    if (hp_build_finish(b, &g, &err))
        fail_msg("%s", err.text);
    check_rule(g, "conv.w", INIT_UNIFORM, 1 / sqrt(2 * 3 * 2));
    check_rule(g, "conv.b", INIT_UNIFORM, 1 / sqrt(2 * 3 * 2));
    check_rule(g, "lstm.w", INIT_UNIFORM, 1 / sqrt(5));
    check_rule(g, "lstm.u", INIT_UNIFORM, 1 / sqrt(5));
    check_rule(g, "lstm.d", INIT_UNIFORM, 1 / sqrt(5));
    check_rule(g, "w", INIT_UNIFORM, 1 / sqrt(3));
    check_rule(g, "scale", INIT_CONSTANT, 1);
    check_rule(g, "shift", INIT_NORMAL, 0.02);
    hypar_graph_free(g);
}

static void *values(const struct hypar_graph *graph, int t, const struct box *box,
                    enum real real, uint64_t seed)
{
    void *dense = calloc((size_t)hp_box_elements(box) + 1, sizeof(double));
    assert_non_null(dense);
    hp_init_box(graph, t, box, real, seed, dense);
    return dense;
}

/* Any box has the elements of the whole; fp32 is the nearest to fp64. */
static void boxes(void **state)
{
    (void)state;
    struct hypar_graph *g = model("gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16");
    struct random random = { 1 };
    for (int t = 0; t < g->n_tensors; t++) {
        if (g->tensors[t].kind != TENSOR_PARAM)
            continue;
        struct box whole = hp_shape_box(&g->tensors[t].shape);
        double *all = values(g, t, &whole, REAL_F64, 9);
        for (int round = 0; round < 10; round++) {
            struct box box = whole;
            for (int d = 0; d < box.n_dims; d++) {
                box.dim[d].lo = hp_random_below(&random, box.dim[d].hi);
                box.dim[d].hi -= hp_random_below(&random, box.dim[d].hi - box.dim[d].lo);
            }
            double *part = values(g, t, &box, REAL_F64, 9);
            float *single = values(g, t, &box, REAL_F32, 9);
            int64_t n = hp_box_elements(&box), row = whole.dim[whole.n_dims - 1].hi;
            int64_t width = box.dim[box.n_dims - 1].hi - box.dim[box.n_dims - 1].lo;
            int64_t first = box.n_dims > 1 ? box.dim[0].lo : 0;
            assert_true(box.n_dims <= 2);
            for (int64_t i = 0; i < n; i++) {
                int64_t at = (first + i / width) * row + box.dim[box.n_dims - 1].lo + i % width;
                assert_true(part[i] == all[at]);
                assert_true(single[i] == (float)all[at]);
            }
            free(part);
            free(single);
        }
        free(all);
    }
    hypar_graph_free(g);
}

struct moments {
    double mean, deviation, least, most, kurtosis;
};

static struct moments moments_of(const double *x, int64_t n)
{
    struct moments m = { 0, 0, INFINITY, -INFINITY, 0 };
    for (int64_t i = 0; i < n; i++) {
        m.mean += x[i] / (double)n;
        m.least = fmin(m.least, x[i]);
        m.most = fmax(m.most, x[i]);
    }
    double second = 0, fourth = 0;
    for (int64_t i = 0; i < n; i++) {
        double off = x[i] - m.mean;
        second += off * off / (double)n;
        fourth += off * off * off * off / (double)n;
    }
    m.deviation = sqrt(second);
    m.kurtosis = fourth / (second * second);
    return m;
}

/* 80,000 and 64,000 elements: the sample's moments are within five of their deviations. */
static void distributions(void **state)
{
    (void)state;
    struct hypar_graph *g = model("mlp:400-200-2");
    int t = param(g, "fc1.w");
    struct box box = hp_shape_box(&g->tensors[t].shape);
    double *x = values(g, t, &box, REAL_F64, 1), bound = 1.0 / 20;
    struct moments m = moments_of(x, 80000);
    assert_true(m.least >= -bound && m.least < -0.999 * bound);
    assert_true(m.most < bound && m.most > 0.999 * bound);
    assert_true(fabs(m.mean) < 5 * bound / sqrt(3) / sqrt(80000));
    assert_true(fabs(m.deviation / (bound / sqrt(3)) - 1) < 0.01);
    assert_true(fabs(m.kurtosis - 1.8) < 0.03);

    double *other = values(g, t, &box, REAL_F64, 2); /* another seed */
    double same = 0;
    for (int i = 0; i < 80000; i++)
        same += x[i] * other[i] / (bound * bound / 3) / 80000;
    assert_true(fabs(same) < 5 / sqrt(80000));
    free(x);
    free(other);
    hypar_graph_free(g);

    g = model("gpt:layers=1,hidden=64,heads=2,seq=4,vocab=1000");
    t = param(g, "wte.w");
    box = hp_shape_box(&g->tensors[t].shape);
    x = values(g, t, &box, REAL_F64, 1);
    m = moments_of(x, 64000);
    assert_true(fabs(m.mean) < 5 * 0.02 / sqrt(64000));
    assert_true(fabs(m.deviation / 0.02 - 1) < 5 / sqrt(2 * 64000));
    assert_true(fabs(m.kurtosis - 3) < 5 * sqrt(24.0 / 64000));
    for (int k = 1; k <= 3; k++) { /* as many beyond k deviations as there should be */
        double beyond = 0, expected = erfc(k / sqrt(2));
        for (int i = 0; i < 64000; i++)
            beyond += fabs(x[i]) > k * 0.02;
        assert_true(fabs(beyond / 64000 - expected) < 5 * sqrt(expected / 64000));
    }
    double beside = 0; /* neighbours have nothing in common */
    for (int i = 0; i + 1 < 64000; i++)
        beside += x[i] * x[i + 1] / (0.02 * 0.02) / 64000;
    assert_true(fabs(beside) < 5 / sqrt(64000));
    free(x);
    hypar_graph_free(g);
}

/* Written down: a change of these changes every training. */
static void recorded(void **state)
{
    (void)state;
    struct hypar_graph *g = model("gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16");
    struct box box = { 2, { { 3, 4 }, { 2, 4 } } };
    double *x = values(g, param(g, "wte.w"), &box, REAL_F64, 42);
    double *y = values(g, param(g, "h.0.attn.c_attn.w[0:8]"), &box, REAL_F64, 42);
    if (x[0] != -0x1.0d79e977b2de5p-6 || x[1] != 0x1.f3faa81b92a29p-6 ||
        y[0] != -0x1.38e8825a898bfp-2 || y[1] != 0x1.65f065ce0414ep-2)
        fail_msg("%a %a %a %a", x[0], x[1], y[0], y[1]);
    free(x);
    free(y);
    hypar_graph_free(g);
}

/* Boxes of a parameter from a file are boxes of the whole. */
static void check_boxes(const struct weights *weights, const struct hypar_graph *g, int t)
{
    struct random random = { 5 };
    struct hypar_error err = { 0 };
    const struct hypar_shape *shape = &g->tensors[t].shape;
    int64_t n = hp_shape_elements(shape);
    double *all = malloc((size_t)n * sizeof *all), *part = malloc((size_t)n * sizeof *part);
    assert_true(hp_weights_has(weights, g->tensors[t].name));
    assert_int_equal(hp_weights_read(weights, g->tensors[t].name, n, all, &err), HYPAR_OK);
    for (int i = 0; i < 20; i++) {
        enum real real = i % 2 ? REAL_F32 : REAL_F64;
        struct box box = hp_shape_box(shape);
        for (int d = 0; d < box.n_dims && i; d++) {
            box.dim[d].lo = hp_random_below(&random, shape->dim[d]);
            box.dim[d].hi =
                box.dim[d].lo + 1 + hp_random_below(&random, shape->dim[d] - box.dim[d].lo);
        }
        assert_int_equal(hp_init_from(weights, g, t, &box, real, part, &err), HYPAR_OK);
        struct runs r = hp_runs(shape, &box);
        while (hp_next_run(&r))
            for (int64_t e = 0; e < r.length; e++) {
                double want = all[r.in_array + e];
                want = real == REAL_F32 ? (double)(float)want : want;
                assert_true(hp_get(part, r.in_box + e, real) == want);
            }
    }
    free(all);
    free(part);
}

static int check_parameters(const char *path)
{
    struct hypar_graph *g = model(path);
    struct weights *weights;
    struct hypar_error err = { 0 };
    int n = 0;
    assert_string_equal(g->weights.path, path);
    if (hp_weights_open(&weights, g->weights.path, &g->weights.options, &err))
        fail_msg("%s", err.text);
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM) {
            check_boxes(weights, g, t);
            n++;
        }
    hp_weights_close(weights);
    hypar_graph_free(g);
    return n;
}

/* Parameters that are one initializer, a part of its rows or columns, or gates of an LSTM in
 * another order. */
static void from_file(void **state)
{
    (void)state;
    if (strstr(hypar_features(), "protobuf-c: no"))
        skip();
    int n = check_parameters("tests/data/onnx/small/encoder.onnx") +
            check_parameters("tests/data/onnx/small/generative.onnx") +
            check_parameters("tests/data/onnx/small/recurrent.onnx") +
            check_parameters("tests/data/onnx/small/convolutions.onnx");
    assert_true(n > 40);
}

/* More than is read at once, from a file beside the model. */
static void from_external_file(void **state)
{
    (void)state;
    enum { ROWS = 300, COLUMNS = 400, N = ROWS * COLUMNS };
    char folder[] = "/tmp/hypar-init-XXXXXX", path[64], data[64];
    static float values[N];
    size_t n;
    if (strstr(hypar_features(), "protobuf-c: no"))
        skip();
    unsigned char *bytes =
        onnx_text("in x float batch 300; init w float 300 400 at w.bin 0 480000; node MatMul m "
                  "x w -> y; out y float batch 400",
                  &n);
    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    snprintf(data, sizeof data, "%s/w.bin", folder);
    FILE *file = fopen(path, "wb"), *beside = fopen(data, "wb");
    assert_true(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
    assert_true(beside && fwrite(values, sizeof *values, N, beside) == N &&
                fclose(beside) == 0);
    assert_int_equal(check_parameters(path), 1);
    unlink(path);
    unlink(data);
    rmdir(folder);
    free(bytes);
}

/* What a batch norm has for inference is known by its operator's name. */
static void statistics(void **state)
{
    (void)state;
    struct weights *weights;
    struct hypar_error err = { 0 };
    double mean[8], variance[8];
    int norms = 0;
    if (strstr(hypar_features(), "protobuf-c: no"))
        skip();
    struct hypar_graph *g = model("tests/data/onnx/small/convolutions.onnx");
    assert_int_equal(hp_weights_open(&weights, g->weights.path, &g->weights.options, &err), 0);
    for (int op = 0; op < g->n_ops; op++) {
        char name[2][64];
        if (g->ops[op].kind != OP_BATCH_NORM)
            continue;
        snprintf(name[0], sizeof name[0], "%s.mean", g->ops[op].name);
        snprintf(name[1], sizeof name[1], "%s.variance", g->ops[op].name);
        assert_int_equal(hp_weights_read(weights, name[0], 8, mean, &err), HYPAR_OK);
        assert_int_equal(hp_weights_read(weights, name[1], 8, variance, &err), HYPAR_OK);
        for (int c = 0; c < 8; c++)
            assert_true(fabs(mean[c]) < 1 && variance[c] > 0.9); /* they begin as 0 and 1 */
        norms++;
    }
    assert_int_equal(norms, 1);
    hp_weights_close(weights);
    hypar_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(rules_of_kinds),
        cmocka_unit_test(boxes),
        cmocka_unit_test(distributions),
        cmocka_unit_test(recorded),
        cmocka_unit_test(from_file),
        cmocka_unit_test(from_external_file),
        cmocka_unit_test(statistics),
    };
    return cmocka_run_group_tests_name("run: values of parameters", tests, NULL, NULL);
}
