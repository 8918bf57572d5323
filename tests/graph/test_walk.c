/* Reading a graph through the public header: the functions return the graph's contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/graph.h>

static struct hypar_graph *import(const char *model)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, model, NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return graph;
}

/* By operands and by tensors the same: each use is one reader, each output has its writer. */
static void check_readers(const struct hypar_graph *graph)
{
    int reads = 0, readers = 0;
    for (int op = 0; op < hypar_graph_info(graph).n_ops; op++)
        for (int o = 0; o < hypar_graph_op(graph, op).n_operands; o++) {
            struct hypar_operand operand = hypar_graph_operand(graph, op, o);
            if (operand.tensor < 0)
                continue;
            struct hypar_tensor t = hypar_graph_tensor(graph, operand.tensor);
            reads += !operand.written;
            if (operand.written)
                assert_int_equal(t.writer, op);
            else
                assert_true(t.writer < op);
            for (int d = 0; d < HYPAR_MAX_DIMS; d++) {
                assert_true(operand.axis[d] < hypar_graph_op(graph, op).n_axes);
                assert_true(d < t.shape.n_dims || operand.axis[d] == -1);
            }
        }
    for (int t = 0; t < hypar_graph_info(graph).n_tensors; t++)
        for (int i = 0; i < hypar_graph_tensor(graph, t).n_readers; i++, readers++) {
            int op = hypar_graph_reader(graph, t, i), found = 0;
            for (int o = 0; o < hypar_graph_op(graph, op).n_operands; o++) {
                struct hypar_operand operand = hypar_graph_operand(graph, op, o);
                found += operand.tensor == t && !operand.written;
            }
            assert_true(found > 0);
        }
    assert_int_equal(reads, readers);
}

static void check_sums(const struct hypar_graph *graph)
{
    double flops = 0;
    int64_t params = 0;
    for (int op = 0; op < hypar_graph_info(graph).n_ops; op++)
        flops += hypar_graph_op(graph, op).forward_flops;
    double all = hypar_graph_flops_per_sample(graph) * (double)hypar_graph_info(graph).batch;
    assert_true(flops > 0.999999 * all && flops < 1.000001 * all);
    for (int t = 0; t < hypar_graph_info(graph).n_tensors; t++) {
        struct hypar_tensor tensor = hypar_graph_tensor(graph, t);
        int64_t elements = 1;
        for (int d = 0; d < tensor.shape.n_dims; d++)
            elements *= tensor.shape.dim[d];
        params += tensor.kind == HYPAR_TENSOR_PARAMETER ? elements : 0;
    }
    assert_int_equal(params, hypar_graph_params(graph));
}

static void a_walk_meets_everything(void **state)
{
    (void)state;
    static const char *const models[] = { "lenet5", "resnet18:image=32,classes=10",
                                          "gpt:layers=2,hidden=32,heads=2,seq=16,vocab=64" };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct hypar_graph *graph = import(models[i]);
        check_readers(graph);
        check_sums(graph);
        struct hypar_tensor loss = hypar_graph_tensor(graph, hypar_graph_info(graph).loss);
        assert_int_equal(loss.n_readers, 0);
        assert_int_equal(loss.kind, HYPAR_TENSOR_ACTIVATION);
        hypar_graph_free(graph);
    }
}

/* A layer y = x w^T + b, as 'hypar ops' has it: n samples, c inputs, k outputs. */
static void a_linear_layer(void **state)
{
    (void)state;
    struct hypar_graph *graph = import("mlp:784-512-10");
    int op = 0, parameters = 0;
    while (strcmp(hypar_graph_op(graph, op).kind, "linear") != 0)
        op++;
    double n = (double)hypar_graph_info(graph).batch;
    assert_true(hypar_graph_op(graph, op).forward_flops == 2 * n * 784 * 512);
    assert_true(hypar_graph_op(graph, op).backward_flops > 0);
    for (int o = 0; o < hypar_graph_op(graph, op).n_operands; o++) {
        struct hypar_operand operand = hypar_graph_operand(graph, op, o);
        struct hypar_tensor tensor = hypar_graph_tensor(graph, operand.tensor);
        parameters += tensor.kind == HYPAR_TENSOR_PARAMETER;
        for (int d = 0; d < tensor.shape.n_dims; d++) {
            struct hypar_axis axis = hypar_graph_axis(graph, op, operand.axis[d]);
            assert_int_equal(axis.extent, tensor.shape.dim[d]);
            assert_int_equal(axis.role == HYPAR_SAMPLE, d == tensor.sample_dim);
            assert_int_equal(strcmp(hypar_role_text(axis.role), "sample") == 0,
                             axis.role == HYPAR_SAMPLE);
        }
    }
    assert_int_equal(parameters, 2);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_meets_everything),
        cmocka_unit_test(a_linear_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
