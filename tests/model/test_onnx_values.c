/* Imported networks compute the same loss and gradients as PyTorch, in fp64.
 * tests/model/onnx_reference.py writes the files and the values; it fills the inputs by the
 * same formulas. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/weights.h"
#include "tests/model/onnx_values.h"
#include "tests/unsplit_run.h"

enum { N_VALUES = sizeof onnx_values / sizeof onnx_values[0] };

static const struct network {
    const char *name;
    int64_t batch;
} networks[] = {
    { "convolutions", 2 }, { "sum", 3 },    { "encoder", 2 },
    { "recurrent", 3 },    { "tokens", 2 }, { "generative", 3 },
};

enum { N_NETWORKS = sizeof networks / sizeof networks[0] };

/* The integers that the readers of an input take are below this. */
static int64_t below(const struct hypar_graph *g, int t)
{
    const struct nest *nest = g->ops[g->use[g->use_start[t]].op].nest;
    int axis = hp_nest_axis(nest, nest->kind == OP_EMBEDDING ? 'v' : 'c');
    return nest->axis[axis].extent;
}

static void fill(const struct hypar_graph *g, int t, const struct weights *weights,
                 double *data)
{
    struct hypar_error err = { 0 };
    const struct tensor *tensor = &g->tensors[t];
    int64_t n = hp_shape_elements(&tensor->shape);
    if (hp_weights_has(weights, tensor->name)) {
        if (hp_weights_read(weights, tensor->name, n, data, &err))
            fail_msg("%s", err.text);
        return;
    }
    assert_int_equal(tensor->kind, TENSOR_INPUT);
    for (int64_t e = 0; e < n; e++) {
        if (tensor->index)
            ((int32_t *)data)[e] = (int32_t)((7 * e + 3) % below(g, t));
        else
            data[e] = sin(1 + 0.9 * (double)e);
    }
}

static struct run_data read_data(struct arena *arena, const struct hypar_graph *g,
                                 const struct weights *weights)
{
    struct view *view = NEW(arena, struct view, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *tensor = &g->tensors[t];
        if (tensor->kind != TENSOR_PARAM && tensor->kind != TENSOR_INPUT)
            continue;
        double *data = NEW(arena, double, hp_shape_elements(&tensor->shape));
        fill(g, t, weights, data);
        struct box box = hp_shape_box(&tensor->shape);
        view[t] = hp_dense_view(data, &box);
    }
    return (struct run_data){ REAL_F64, view };
}

static void check(const struct onnx_value *v, double have)
{
    if (!(fabs(have - v->checksum) <= 1e-9 * (1 + fabs(v->checksum))))
        fail_msg("%s: '%s' is %.16g, PyTorch's is %.16g", v->network, v->tensor, have,
                 v->checksum);
}

static void check_gradient(const struct hypar_graph *g, const struct unsplit_run *run,
                           const struct onnx_value *v)
{
    for (int t = 0; t < g->n_tensors; t++) {
        if (g->tensors[t].kind != TENSOR_PARAM || strcmp(g->tensors[t].name, v->tensor) != 0)
            continue;
        const struct view *view =
            unsplit_run_view(run, (struct place){ .tensor = t, .grad = true }, 0);
        int64_t n = hp_shape_elements(&g->tensors[t].shape);
        double sum = 0;
        assert_int_equal(n, v->elements);
        for (int64_t e = 0; e < n; e++)
            sum += hp_get(view->data, e, REAL_F64) * cos((double)e);
        check(v, sum);
        return;
    }
    fail_msg("%s: no parameter '%s'", v->network, v->tensor);
}

static int check_network(const struct network *network)
{
    struct hypar_error err = { 0 };
    struct hypar_graph *g;
    struct weights *weights;
    struct arena arena = { 0 };
    char path[128];
    struct hypar_import_options options = { .batch = network->batch };
    snprintf(path, sizeof path, "tests/data/onnx/small/%s.onnx", network->name);
    if (hypar_import(&g, path, &options, &err) ||
        hp_weights_open(&weights, path, &options, &err))
        fail_msg("%s", err.text);
    struct run_data data = read_data(&arena, g, weights);
    struct unsplit_run *run = unsplit_run_new(
        g, &data,
        &(struct unsplit_settings){ .micro_batches = 1, .optimizer = hp_optimizer(HYPAR_SGD) });
    unsplit_run_step(run);
    int n = 0, params = 0;
    for (int i = 0; i < N_VALUES; i++) {
        const struct onnx_value *v = &onnx_values[i];
        if (strcmp(v->network, network->name) != 0)
            continue;
        if (strcmp(v->tensor, "loss") == 0)
            check(v, unsplit_run_loss(run, 0));
        else
            check_gradient(g, run, v);
        n++;
    }
    for (int t = 0; t < g->n_tensors; t++)
        params += g->tensors[t].kind == TENSOR_PARAM;
    assert_int_equal(n, params + 1); /* each is compared */
    unsplit_run_free(run);
    hp_arena_free(&arena);
    hp_weights_close(weights);
    hypar_graph_free(g);
    return n;
}

static void test_values_are_those_of_pytorch(void **state)
{
    (void)state;
    int n = 0;
    if (strstr(hypar_features(), "protobuf-c: no"))
        skip();
    for (int i = 0; i < N_NETWORKS; i++)
        n += check_network(&networks[i]);
    assert_int_equal(n, N_VALUES);
    printf("%d networks, %d values\n", N_NETWORKS, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_those_of_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
