/* ONNX: files exported by PyTorch have PyTorch's own figures and plan as the zoo's networks do;
 * each operator of the table becomes the right operator. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/search.h>

#include "model/onnx/onnx.h"
#include "tests/onnx_text.h"

static struct hypar_graph *import(const char *model, struct hypar_import_options options)
{
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    if (hypar_import(&graph, model, &options, &err))
        fail_msg("%s", err.text);
    return graph;
}

static int count(const struct hypar_graph *g, enum op_kind kind)
{
    int n = 0;
    for (int op = 0; op < g->n_ops; op++)
        n += g->ops[op].kind == kind;
    return n;
}

static const struct tensor *model_output(const struct hypar_graph *g)
{
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].is_output)
            return &g->tensors[t];
    fail_msg("%s has no output", g->name);
    return NULL;
}

/* Exports ---------------------------------------------------------------------------------- */

/* Each with what it must be made of again. */
static const struct export
{
    const char *name;
    const char *zoo; /* the same network there, NULL: none */
    int batch_dim;   /* of the output */
    int attention, layer_norm, gelu, lstm, silu;
}
exports[] = {
    { "alexnet", "alexnet", 0, 0, 0, 0, 0, 0 },
    { "vgg16", "vgg16", 0, 0, 0, 0, 0, 0 },
    { "resnet50", "resnet50", 0, 0, 0, 0, 0, 0 },
    { "inception_v3", "inception-v3", 0, 0, 0, 0, 0, 0 },
    { "googlenet", "googlenet", 0, 0, 0, 0, 0, 0 },
    { "densenet121", "densenet121", 0, 0, 0, 0, 0, 0 },
    { "mobilenet_v2", "mobilenet-v2", 0, 0, 0, 0, 0, 0 },
    { "efficientnet_b0", NULL, 0, 0, 0, 0, 0, 49 },
    { "vit_b_16", "vit-b-16", 0, 12, 25, 12, 0, 0 },
    { "squeezenet1_0", NULL, 0, 0, 0, 0, 0, 0 },
    { "encoder", NULL, 0, 2, 4, 2, 0, 0 },
    { "lstm_lm", NULL, 1, 0, 0, 0, 2, 0 },
};

enum { N_EXPORTS = sizeof exports / sizeof exports[0] };

/* What PyTorch says about it: "NAME parameters N output D...", exported with 2 samples. */
static void check_figures(const struct hypar_graph *g, const char *folder,
                          const struct export *e, bool same_params)
{
    char path[128], name[64];
    long long params, dim;
    snprintf(path, sizeof path, "tests/data/onnx/%s/%s.txt", folder, e->name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%63s parameters %lld output", name, &params), 2);
    if (same_params)
        assert_int_equal(hypar_graph_params(g), params);
    const struct hypar_shape *shape = &model_output(g)->shape;
    for (int d = 0; d < shape->n_dims; d++) {
        assert_int_equal(fscanf(file, "%lld", &dim), 1);
        if (shape->dim[d] != (d == e->batch_dim ? g->batch : dim))
            fail_msg("%s/%s: output has %lld in dimension %d, expected %lld", folder, e->name,
                     (long long)shape->dim[d], d, dim);
    }
    assert_int_equal(fscanf(file, "%lld", &dim), EOF);
    fclose(file);
}

static void check_export(const char *folder, const struct export *e, bool train, int64_t batch)
{
    char path[128];
    snprintf(path, sizeof path, "tests/data/onnx/%s/%s.onnx", folder, e->name);
    struct hypar_graph *g = import(path, (struct hypar_import_options){ .batch = batch });
    assert_int_equal(g->batch, batch);
    check_figures(g, folder, e, train);
    assert_int_equal(count(g, OP_OPAQUE), 0);
    assert_int_equal(count(g, OP_ATTENTION), e->attention);
    assert_int_equal(count(g, OP_LAYER_NORM), e->layer_norm);
    assert_int_equal(count(g, OP_GELU), e->gelu);
    assert_int_equal(count(g, OP_SILU), e->silu);
    assert_int_equal(count(g, OP_LSTM), e->lstm);
    assert_true(g->loss >= 0);
    if (batch > 1) /* of one sample a dimension like any of size 1 is left */
        assert_int_equal(model_output(g)->sample_dim, e->batch_dim);
    hypar_graph_free(g);
}

static void test_exports(void **state)
{
    (void)state;
    for (int i = 0; i < N_EXPORTS; i++) {
        check_export("train", &exports[i], true, 2);
        check_export("train", &exports[i], true, 7);
        check_export("train", &exports[i], true, 1);
        check_export("inference", &exports[i], false, 3);
    }
}

/* The oldest and the newest opset. */
static void test_opsets(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *name;
    } cases[] = { { "opset9", "encoder" },
                  { "opset9", "lstm_lm" },
                  { "opset9", "mobilenet_v2" },
                  { "opset17", "encoder" },
                  { "opset17", "efficientnet_b0" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int k = 0; k < N_EXPORTS; k++)
            if (strcmp(exports[k].name, cases[i].name) == 0)
                check_export(cases[i].folder, &exports[k], true, 2);
}

/* The digits of every level, one after another. */
static void plan_text(const struct hypar_graph *g, const char *machine, const char *planner,
                      char *text, size_t size)
{
    struct hypar_machine *m;
    struct hypar_found *found;
    struct hypar_error err = { 0 };
    struct hypar_search_options options = { .planner = planner };
    if (hypar_machine_read(&m, machine, &err) || hypar_search(&found, g, m, &options, &err))
        fail_msg("%s", err.text);
    const struct hypar_partition_view *view = hypar_found_partition(found);
    size_t n = 0;
    for (int h = 0; h < view->n_levels; h++)
        n += (size_t)snprintf(text + n, size - n, "%s ", view->level[h]);
    snprintf(text + n, size - n, "%.0f", view->total_elements);
    hypar_found_free(found);
    hypar_machine_free(m);
}

static void test_plans_as_the_zoo(void **state)
{
    (void)state;
    static const char *const planners[] = { "hypar", "accpar", "owt" };
    int compared = 0;
    for (int i = 0; i < N_EXPORTS; i++) {
        if (!exports[i].zoo)
            continue;
        char path[128], mine[4096], zoos[4096];
        struct hypar_import_options options = { .batch = 64 };
        snprintf(path, sizeof path, "tests/data/onnx/train/%s.onnx", exports[i].name);
        struct hypar_graph *g = import(path, options), *zoo = import(exports[i].zoo, options);
        double flops = hypar_graph_flops_per_sample(g),
               want = hypar_graph_flops_per_sample(zoo);
        assert_int_equal(hypar_graph_layer_count(g), hypar_graph_layer_count(zoo));
        assert_int_equal(hypar_graph_params(g), hypar_graph_params(zoo));
        if (fabs(flops - want) > 0.01 * want)
            fail_msg("%s: %g FLOP, the zoo has %g", exports[i].name, flops, want);
        for (size_t p = 0; p < sizeof planners / sizeof planners[0]; p++) {
            plan_text(g, "htree:16", planners[p], mine, sizeof mine);
            plan_text(zoo, "htree:16", planners[p], zoos, sizeof zoos);
            if (strcmp(mine, zoos) != 0)
                fail_msg("%s: %s plans\n%s\n, the zoo's\n%s", exports[i].name, planners[p],
                         mine, zoos);
            compared++;
        }
        hypar_graph_free(g);
        hypar_graph_free(zoo);
    }
    printf("%d plans\n", compared);
    assert_true(compared > 20);
}

/* Operators -------------------------------------------------------------------------------- */

/* A model and the kinds of its operators; the loss is left out. */
/* clang-format off */
static const struct op_text {
    const char *op, *model, *kinds;
} op_texts[] = {
#define X3 "in x float batch 3 8; "
#define X4 "in x float batch 4 6 6; "
#define X2 "in x float batch 6; "
    { "Conv", X4 "init w float 8 4 3 3; init b float 8; node Conv c x w b -> y pads=1,1,1,1; out y float batch 8 6 6", "conv" },
    { "Conv", X4 "init w float 8 2 3 3; node Conv c x w -> y group=2 auto_pad'SAME_UPPER strides=2,2; out y float batch 8 3 3", "group_conv" },
    { "Conv", X3 "init w float 5 3 2; node Conv c x w -> y dilations=2, kernel_shape=2,; out y float batch 5 6", "conv" },
    { "Gemm", X2 "init w float 6 4; node Gemm g x w -> y; out y float batch 4", "linear" },
    { "Gemm", X2 "init w float 4 6; init b float 4; node Gemm g x w b -> y transB=1; out y float batch 4", "linear" },
    { "Gemm", X2 "init w float 4 6; init b float 4; node Gemm g x w b -> y transB=1 alpha:0.5 beta:2; out y float batch 4", "linear affine affine add" },
    { "MatMul", X3 "init w float 8 5; node MatMul m x w -> y; out y float batch 3 5", "linear" },
    { "MatMul", X3 "node Transpose t x -> z perm=0,2,1; node MatMul m x z -> y; out y float batch 3 3", "transpose matmul" },
    { "MatMul", X3 "init w float 2 3; node MatMul m w x -> y; out y float batch 2 8", "transpose linear transpose" },
    { "LSTM", "in x float 5 batch 3; init w float 1 16 3; init r float 1 16 4; init b float 1 32; node LSTM l x w r b -> y h c hidden_size=4; node Squeeze s y -> z axes=1,; out z float 5 batch 4; opset 12", "transpose lstm transpose" },
    { "LSTM", "in x float 5 batch 3; init w float 2 16 3; init r float 2 16 4; node LSTM l x w r -> y hidden_size=4 direction'bidirectional; out y float 5 2 batch 4", "transpose lstm lstm concat reshape transpose reshape" },
    { "Gather", "in x int64 batch 5; init w float 9 4; node Gather g w x -> y; out y float batch 5 4", "embedding" },
    { "Gather", X3 "init i int64 = 1; node Gather g x i -> y axis=1; out y float batch 8", "slice reshape" },
    { "MaxPool", X4 "node MaxPool p x -> y kernel_shape=3,3 strides=2,2 ceil_mode=1; out y float batch 4 3 3", "max_pool" },
    { "AveragePool", X4 "node AveragePool p x -> y kernel_shape=2,2 strides=2,2; out y float batch 4 3 3", "avg_pool" },
    { "GlobalAveragePool", X4 "node GlobalAveragePool p x -> y; out y float batch 4 1 1", "global_avg_pool" },
    { "GlobalMaxPool", X4 "node GlobalMaxPool p x -> y; out y float batch 4 1 1", "global_max_pool" },
    { "LRN", X4 "node LRN l x -> y size=5; out y float batch 4 6 6", "lrn" },
    { "BatchNormalization", X4 "init s float 4; init b float 4; init m float 4; init v float 4; node BatchNormalization b x s b m v -> y training_mode=1; out y float batch 4 6 6", "batch_norm" },
    { "LayerNormalization", X3 "init s float 8; init b float 8; node LayerNormalization l x s b -> y; out y float batch 3 8; opset 17", "layer_norm" },
    { "LayerNormalization", X3 "init s float 3 8; node LayerNormalization l x s -> y axis=1; out y float batch 3 8; opset 17", "reshape reshape layer_norm reshape" },
    { "RMSNormalization", X3 "init s float 8; node RMSNormalization r x s -> y; out y float batch 3 8; opset 23", "rms_norm" },
    { "RMSNormalization", X3 "init s float 3 8; node RMSNormalization r x s -> y axis=1; out y float batch 3 8; opset 23", "reshape reshape rms_norm reshape" },
    { "Attention", X3 "in k float batch 3 4; node Attention a x k k -> y q_num_heads=4 kv_num_heads=2 is_causal=1; out y float batch 3 8; opset 23", "attention" },
    { "RotaryEmbedding", X3 "node Constant i -> c value@float:3x1=1,0.5403023,-0.4161468; node Constant j -> s value@float:3x1=0,0.8414710,0.9092974; node RotaryEmbedding r x c s -> y num_heads=4; out y float batch 3 8; opset 23", "rope" },
    { "Tile", X3 "node Constant c -> r value@int64:3=1,1,2; node Tile t x r -> y; out y float batch 3 16", "concat" },
    { "Tile", "in x float batch 1 8; node Constant c -> r value@int64:3=1,3,1; node Tile t x r -> y; out y float batch 3 8", "expand" },
    { "GatherElements", X2 "in i int64 batch 2; node GatherElements g x i -> y axis=1; out y float batch 2", "gather_elements" },
    { "ScatterElements", X2 "in i int64 batch 2; in s float batch 2; node ScatterElements g x i s -> y axis=1 reduction'add; out y float batch 6; opset 18", "scatter_add" },
    { "GatherND", "in x float batch 2; init w float 9 6; node Constant c -> i value@int64:2x1=5,3; node GatherND g w i -> z; node MatMul m x z -> y; out y float batch 6", "embedding linear" },
    { "ScatterND", X2 "node Constant a -> b value@float:6=1,2,3,4,5,6; node Constant c -> i value@int64:2x1=5,3; node Constant d -> u value@float:2=0,0; node ScatterND s b i u -> m; node Mul w x m -> y; out y float batch 6", "mul" },
    { "Einsum", "in x float batch 2 3 4; in z float batch 2 5 4; node Einsum e x z -> y equation'bhid,bhjd->bhij; out y float batch 2 3 5", "transpose matmul" },
    { "Einsum", "in x float batch 2 3 4; in z float batch 2 5 4; node Einsum e x z -> y equation'bhid,bhjd->bhji; out y float batch 2 5 3", "transpose matmul transpose" },
    { "ReduceL2", X3 "init a int64 1 = 2; node ReduceL2 r x a -> y; out y float batch 3 1; opset 18", "mul reduce_sum sqrt" },
    { "IsNaN", X3 "node Softmax s x -> z; node IsNaN n z -> b; node Constant c -> o value@float:=0; node Where w b o z -> y; out y float batch 3 8", "softmax" },
    { "CastLike", X2 "node Constant c -> o value@int64:=2; node CastLike n o x -> b; node Mul w b x -> y; out y float batch 6", "affine" },
    { "SplitToSequence", X2 "node Constant c -> o value@int64:=4; node SplitToSequence n x o -> q axis=1; node Constant d -> i value@int64:=1; node SequenceAt a q i -> y; out y float batch 2", "slice" },
    { "SequenceAt", X2 "node SplitToSequence n x -> q axis=1 keepdims=0; node Constant d -> i value@int64:=-1; node SequenceAt a q i -> y; out y float batch", "slice reshape" },
    { "InstanceNormalization", X4 "init s float 4; init b float 4; node InstanceNormalization b x s b -> y; out y float batch 4 6 6", "group_norm" },
    { "Softmax", X3 "node Softmax s x -> y; out y float batch 3 8", "softmax" },
    { "Softmax", X4 "node Softmax s x -> y axis=1; out y float batch 4 6 6", "transpose softmax transpose" },
    { "Softmax", X3 "node Softmax s x -> y axis=1; out y float batch 3 8; opset 11", "reshape softmax reshape" },
    { "LogSoftmax", X2 "node LogSoftmax s x -> y; out y float batch 6", "log_softmax" },
    { "Dropout", X2 "node Relu r x -> z; node Dropout d z -> y ratio:0.3; out y float batch 6; opset 11", "relu dropout" },
    { "Dropout", X2 "node Relu r x -> z; node Dropout d z -> y; out y float batch 6", "relu" },
    { "Relu", X2 "node Relu r x -> y; out y float batch 6", "relu" },
    { "Sigmoid", X2 "node Sigmoid r x -> y; out y float batch 6", "sigmoid" },
    { "Tanh", X2 "node Tanh r x -> y; out y float batch 6", "tanh" },
    { "LeakyRelu", X2 "node LeakyRelu r x -> y alpha:0.2; out y float batch 6", "leaky_relu" },
    { "Elu", X2 "node Elu r x -> y; out y float batch 6", "elu" },
    { "Selu", X2 "node Selu r x -> y; out y float batch 6", "elu affine" },
    { "PRelu", X2 "init s float 6; node PRelu r x s -> y; out y float batch 6", "relu neg relu mul sub" },
    { "Gelu", X2 "node Gelu r x -> y; out y float batch 6; opset 20", "gelu" },
    { "Gelu", X2 "node Gelu r x -> y approximate'tanh; out y float batch 6; opset 20", "gelu_tanh" },
    { "Mul", X2 "init val_7 float 1 = 3; node Mul r x val_7 -> y; out y float batch 6", "affine" },
    { "Mul", X2 "init gain float 1 = 3; node Mul r x gain -> y; out y float batch 6", "mul" },
    { "Softplus", X2 "node Softplus r x -> y; out y float batch 6", "softplus" },
    { "HardSigmoid", X2 "node HardSigmoid r x -> y; out y float batch 6", "hard_sigmoid" },
    { "HardSwish", X2 "node HardSwish r x -> y; out y float batch 6", "hard_swish" },
    { "Clip", X2 "init a float = 0; node Constant c -> b value@float:=6; node Clip r x _ b -> y; out y float batch 6", "clip" },
    { "Clip", X2 "node Clip r x -> y min:0 max:6; out y float batch 6; opset 9", "clip" },
    { "Exp", X2 "node Exp r x -> y; out y float batch 6", "exp" },
    { "Log", X2 "node Log r x -> y; out y float batch 6", "log" },
    { "Sqrt", X2 "node Sqrt r x -> y; out y float batch 6", "sqrt" },
    { "Pow", X2 "node Constant c -> e value@float:=3; node Pow r x e -> y; out y float batch 6", "pow" },
    { "Reciprocal", X2 "node Reciprocal r x -> y; out y float batch 6", "pow" },
    { "Erf", X2 "node Erf r x -> y; out y float batch 6", "erf" },
    { "Abs", X2 "node Abs r x -> y; out y float batch 6", "abs" },
    { "Neg", X2 "node Neg r x -> y; out y float batch 6", "neg" },
    { "Add", X2 "in z float batch 6; node Add r x z -> y; out y float batch 6", "add" },
    { "Add", X2 "init w float 6; node Add r x w -> y; out y float batch 6", "add" },
    { "Sub", X2 "node Constant c -> e value@float:=3; node Sub r e x -> y; out y float batch 6", "affine" },
    { "Mul", X2 "node Constant c -> e value@float:2=3,4; node Slice s x z0 z2 z1 -> v; init z0 int64 1 = 0; init z2 int64 1 = 2; init z1 int64 1 = 1; node Mul r e v -> y; out y float batch 2", "slice mul" },
    { "Div", X2 "node Constant c -> e value@float:=3; node Div r e x -> y; out y float batch 6", "pow affine" },
    { "Min", X2 "in z float batch 6; node Min r x z -> y; out y float batch 6", "minimum" },
    { "Max", X2 "node Constant c -> e value@float:=0; node Max r x e -> y; out y float batch 6", "clip" },
    { "Sum", X2 "in z float batch 6; node Sum r x z x -> y; out y float batch 6", "add add" },
    { "Mean", X2 "in z float batch 6; node Mean r x z -> y; out y float batch 6", "add affine" },
    { "Where", X2 "node Constant c -> b value@bool:6=1,0,1,0,1,0; node Constant d -> e value@float:=3; node Where r b x e -> y; out y float batch 6", "where" },
    { "ReduceMean", X3 "node ReduceMean r x -> y axes=-1,; out y float batch 3 1", "reduce_mean" },
    { "ReduceSum", X3 "node Constant c -> a value@int64:1=1; node ReduceSum r x a -> y keepdims=0; out y float batch 8", "reduce_sum" },
    { "ReduceMax", X4 "node ReduceMax r x -> y axes=2,3; out y float batch 4 1 1", "global_max_pool" },
    { "ReduceMin", X4 "node ReduceMin r x -> y axes=2,3; out y float batch 4 1 1", "opaque" },
    { "ReduceProd", X4 "node Shape s x -> s0; node ReduceProd p s0 -> s1; node Cast c s1 -> s2 to=1; node Mul m x s2 -> y; out y float batch 4 6 6", "affine" },
    { "Reshape", X3 "node Constant c -> s value@int64:3=0,4,-1; node Reshape r x s -> y; out y float batch 4 6", "reshape" },
    { "Flatten", X4 "node Flatten f x -> y; out y float batch 144", "reshape" },
    { "Squeeze", "in x float batch 1 6; node Squeeze f x -> y axes=1,; out y float batch 6; opset 12", "reshape" },
    { "Unsqueeze", X2 "node Constant c -> a value@int64:1=1; node Unsqueeze f x a -> y; out y float batch 1 6", "reshape" },
    { "Transpose", X3 "node Transpose t x -> y perm=0,2,1; out y float batch 8 3", "transpose" },
    { "Transpose", X3 "node Transpose t x -> z perm=0,2,1; node Relu r z -> v; node Transpose u v -> y perm=0,2,1; out y float batch 3 8", "relu" },
    { "Slice", X3 "node Slice s x -> y starts=1, ends=9223372036854775807, axes=2,; out y float batch 3 7; opset 9", "slice" },
    { "Concat", X3 "node Relu r x -> z; node Concat c x z -> y axis=-1; out y float batch 3 16", "relu concat" },
    { "Expand", "in x float batch 1 8; node Constant c -> s value@int64:3=1,4,8; node Expand e x s -> y; out y float batch 4 8", "expand" },
    { "Split", X3 "node Split s x -> a b axis=2; node Add d a b -> y; out y float batch 3 4", "split add" },
    { "Pad", X3 "node Constant c -> p value@int64:6=0,0,1,0,0,2; node Pad q x p -> y; out y float batch 3 11", "pad" },
    { "Identity", X2 "node Identity i x -> z; node Relu r z -> y; out y float batch 6", "relu" },
    { "Cast", X2 "node Cast i x -> z to=10; node Relu r z -> y; out y float batch 6", "relu" },
    { "Constant", X2 "node Constant c -> e value_float:2; node Mul m x e -> y; out y float batch 6", "affine" },
    { "ConstantOfShape", X2 "node Shape s x -> s0; node ConstantOfShape c s0 -> e value@float:1=2; node Mul m x e -> y; out y float batch 6", "affine" },
    { "Shape", X3 "node Shape s x -> s0 start=1; node Constant d -> i value@int64:=1; node Gather g s0 i -> s1; node Cast c s1 -> s2 to=1; node Div v x s2 -> y; out y float batch 3 8; opset 15", "affine" },
    { "Size", X2 "node Size s x -> s0; node Cast c s0 -> s1 to=1; node Div v x s1 -> y; out y float batch 6", "affine" },
    { "Range", X2 "init a int64 = 0; init b int64 = 6; init c int64 = 1; node Range r a b c -> i; init w float 8 3; node Gather g w i -> z; node MatMul m x z -> y; out y float batch 3", "slice linear" },
    { "Trilu", "in x float batch 4 4; node Trilu t x -> y; out y float batch 4 4", "opaque" },
#define LIKE(name) { name, X2 "node " name " t x -> y; out y float batch 6", "opaque" }
#define BOTH(name) { name, X2 "in z float batch 6; node " name " t x z -> y; out y float batch 6", "opaque" }
    { "Sin", X2 "node Sin t x -> y; out y float batch 6", "sin" },
    { "Cos", X2 "node Cos t x -> y; out y float batch 6", "cos" },
    { "CumSum", X2 "init a int64 = 1; node CumSum t x a -> y reverse=1; out y float batch 6", "cumsum" },
    LIKE("Not"), LIKE("Floor"), LIKE("Ceil"), LIKE("Round"), LIKE("Sign"), LIKE("Tan"), LIKE("Atan"),
    LIKE("Sinh"), LIKE("Cosh"), LIKE("Mish"), LIKE("Celu"), LIKE("Softsign"), LIKE("ThresholdedRelu"), LIKE("Shrink"),
    LIKE("Hardmax"), LIKE("CumSum"), LIKE("MeanVarianceNormalization"),
    BOTH("Mod"), BOTH("And"), BOTH("Or"), BOTH("Equal"), BOTH("Greater"), BOTH("GreaterOrEqual"), BOTH("Less"), BOTH("LessOrEqual"),
    { "GRU", "in x float 5 batch 3; init w float 1 12 3; init r float 1 12 4; node GRU g x w r -> y h hidden_size=4; out y float 5 1 batch 4; out h float 1 batch 4", "opaque opaque" },
    { "GRU", "in x float 5 batch 3; init w float 1 12 3; init r float 1 12 4; node GRU g x w r -> y h hidden_size=4 linear_before_reset=1; out y float 5 1 batch 4; out h float 1 batch 4", "transpose gru transpose reshape reshape" },
    { "RNN", "in x float 5 batch 3; init w float 1 4 3; init r float 1 4 4; node RNN g x w r -> y; out y float 5 1 batch 4", "opaque" },
    { "ConvTranspose", X4 "init w float 4 5 2 2; node ConvTranspose c x w -> y strides=2,2; out y float*", "conv_transpose" },
    { "Conv", "in x float batch 4 6 6 6; init w float 5 4 2 2 2; node Conv c x w -> y; out y float*", "conv" },
    { "MaxPool", "in x float batch 4 6 6 6; node MaxPool c x -> y kernel_shape=2,2,2; out y float*", "max_pool" },
    { "ReduceMax", X4 "node ReduceMax r x -> y axes=1,; out y float batch 1 6 6", "reduce_max" },
    { "Resize", X4 "node Constant c -> s value@float:4=1,1,2,2; node Resize r x _ s -> y; out y float*", "resize_nearest" },
    { "Resize", X4 "node Constant c -> s value@float:4=1,1,1.5,1.5; node Resize r x _ s -> y mode'linear; out y float*", "resize_linear" },
    { "Resize", X4 "node Constant c -> s value@float:4=1,1,1.5,1.5; node Resize r x _ s -> y mode'cubic; out y float*", "opaque" },
    { "Upsample", X4 "node Constant c -> s value@float:4=1,1,2,2; node Upsample r x s -> y; out y float*; opset 9", "resize_nearest" },
    { "Frobnicate", X2 "node Frobnicate t x -> y; out y float batch 6", "opaque" },
#define KEPT "node Constant k -> p value@float:=0.75; "
    { "RandomUniformLike", X2 KEPT "node RandomUniformLike u x -> r; node Less l r p -> m; node Cast t m -> s to=1; node Div d s p -> q; node Mul w x q -> y; out y float batch 6", "dropout" },
    { "RandomUniform", X2 KEPT "node RandomUniform u -> r shape=3,6; node Add a r p -> s; node Floor f s -> m; node Div d x p -> q; node Mul w q m -> y; out y float batch 6", "dropout" },
    { "RandomUniform", X2 "node RandomUniform u -> r shape=3,6; node Add w x r -> y; out y float batch 6", "add" },
    { "Bernoulli", X2 KEPT "node Shape t x -> n; node Expand e p n -> q; node Bernoulli b q -> m; node Div d m p -> s; node Mul w s x -> y; out y float batch 6", "dropout" },
    { "Bernoulli", X2 "node Sigmoid s x -> p; node Bernoulli b p -> m; node Mul w x m -> y; out y float batch 6", "sigmoid opaque mul" },
    { "RandomNormal", X2 "node RandomNormal n -> r shape=3,6; node Add w x r -> y; out y float batch 6", "add" },
    { "RandomNormalLike", X2 "node RandomNormalLike n x -> r; node Mul w x r -> y; out y float batch 6", "mul" },
    { "Multinomial", X2 "init w float 6 4; node Multinomial m x -> i sample_size=5; node Gather g w i -> y; out y float batch 5 4", "embedding" },
    { "Dropout", X2 "node Constant c -> p value@float:=0.5; in on bool; node Dropout d x p on -> y; out y float batch 6", "dropout" },
    { "Dropout", X2 "node Constant c -> p value@float:=0.5; node Constant e -> on value@bool:=1; node Dropout d x p on -> z m; node Cast t m -> n to=1; node Mul w z n -> y; out y float batch 6", "dropout dropout affine" },
};
/* clang-format on */

static void kinds_text(const struct hypar_graph *g, char *text, size_t size)
{
    size_t n = 0;
    *text = '\0';
    for (int op = 0; op < g->n_ops; op++)
        if (!(hp_op[g->ops[op].kind].flags & ROW_LOSS))
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? " " : "",
                                  hp_op[g->ops[op].kind].name);
}

static struct hypar_graph *read_text(const char *text, struct hypar_import_options options)
{
    struct hypar_graph *g;
    struct hypar_error err = { 0 };
    if (hp_onnx_read_stream(&g, onnx_text_stream(text), "text", &options, &err))
        fail_msg("%s\n    %s", text, err.text);
    return g;
}

static int notes_with(const struct hypar_graph *g, const char *text)
{
    int n = 0;
    for (int i = 0; i < g->n_notes; i++)
        n += strstr(g->notes[i], text) != NULL;
    return n;
}

static void test_operators(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof op_texts / sizeof op_texts[0]; i++) {
        char kinds[256];
        struct hypar_graph *g =
            read_text(op_texts[i].model, (struct hypar_import_options){ .batch = 3 });
        kinds_text(g, kinds, sizeof kinds);
        if (strcmp(kinds, op_texts[i].kinds) != 0)
            fail_msg("%s\n    is %s, expected %s", op_texts[i].model, kinds, op_texts[i].kinds);
        assert_int_equal(notes_with(g, "is opaque"), count(g, OP_OPAQUE));
        hypar_graph_free(g);
    }
}

/* A row of the table without a case here fails. */
static void test_every_operator_is_tested(void **state)
{
    (void)state;
    for (int r = 0; hp_onnx_row_at(r); r++) {
        const struct onnx_row *row = hp_onnx_row_at(r);
        bool refused = row->translate == hp_onnx_control; /* test_onnx_bad.c */
        char op[40];
        int length;
        for (const char *p = row->ops; sscanf(p, "%39s%n", op, &length) == 1; p += length) {
            bool found = refused || (!row->translate && !row->fold); /* of an unknown one the
                                                                        shape alone is known */
            for (size_t i = 0; i < sizeof op_texts / sizeof op_texts[0]; i++)
                found |= strcmp(op_texts[i].op, op) == 0;
            if (!found)
                fail_msg("operator '%s' has no case: add one to op_texts in "
                         "tests/model/test_onnx.c",
                         op);
            assert_ptr_equal(hp_onnx_row(op), row);
        }
    }
}

/* Options ---------------------------------------------------------------------------------- */

static void test_batch(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        struct hypar_import_options options;
        int64_t batch;
        int sample_dim; /* of x */
        int notes;
    } cases[] = {
#define RELU "node Relu r x -> y; out y float*"
        { "in x float batch 6; " RELU, { .batch = 5 }, 5, 0, 0 },
        { "in x float batch 6; " RELU, { 0 }, 32, 0, 1 },
        { "in x float 6 Batch_size; " RELU, { .batch = 5 }, 5, 1, 0 },
        { "in x float 6 n; " RELU, { .batch = 5, .batch_dims = "x=1" }, 5, 1, 0 },
        { "in x float 4 6; " RELU, { 0 }, 4, 0, 0 },
        { "in x float 4 6; " RELU, { .batch = 8 }, 8, 0, 0 },
        { "in x float 4 6; " RELU, { .batch_dims = "x=1" }, 6, 1, 0 },
        { "in x float ? 6; " RELU, { .batch = 3 }, 3, 0, 0 },
        { "in x float n seq; " RELU, { .batch = 3, .dims = "seq=9" }, 3, 0, 0 },
        { "in x float 1 6; in z float batch 6; node Add a x z -> y; out y float*",
          { .batch = 3 },
          3,
          -1,
          0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *g = read_text(cases[i].model, cases[i].options);
        if (g->batch != cases[i].batch || g->tensors[0].sample_dim != cases[i].sample_dim ||
            g->n_notes != cases[i].notes)
            fail_msg("%s: batch %lld, samples in %d, %d notes", cases[i].model,
                     (long long)g->batch, g->tensors[0].sample_dim, g->n_notes);
        hypar_graph_free(g);
    }
}

/* Each parameter is counted once, whatever the exporter made of it; constants are none. */
static void test_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t params;
        const char *note; /* a part of it; NULL: none */
    } cases[] = {
#define TOKENS "in x float 2 3 4; param cls; "
#define JOIN   "node Concat c e x -> y axis=1; out y float*"
#define HALVES "1 2 3 4 1 2 3 4"
        /* repeated for each sample, in the file and in advance */
        { TOKENS
          "init cls float 1 1 4; node Constant s -> n value@int64:3=2,1,4; node Expand r "
          "cls n -> e; " JOIN,
          4, NULL },
        { TOKENS "init cls float 1 1 4; node Constant s -> n value@int64:3=2,1,1; node Tile r "
                 "cls n -> e; " JOIN,
          4, NULL },
        { TOKENS "init e float 2 1 4 = " HALVES "; folded e cls val_6; " JOIN, 4,
          "1 initializer with 4 elements more repeats a parameter for each sample ('cls')" },
        { TOKENS "init e float 2 1 4 = 0 0 0 0 0 0 0 0; folded e cls val_6; " JOIN, 4,
          "repeats a parameter" },
        { TOKENS "init e float 2 1 4 = 1 2 3 4 5 6 7 8; folded e cls val_6; " JOIN, 8, NULL },
        { TOKENS "init e float 2 1 4; folded e cls val_6; " JOIN, 8, NULL },
        { "in x float 2 3 4; init onnx::Concat_7 float 2 1 4 = " HALVES
          "; node Concat c onnx::Concat_7 x -> y axis=1; out y float*",
          4, "repeats a parameter" },
        /* chosen by numbers: a relative position for each pair */
        { "in x float 2 1 4 4; param t; param w; init w float 4 4; init b float 1 1 4 4 = 4 3 "
          "2 1 "
          "5 4 3 2 6 5 4 3 7 6 5 4; folded b t val_6; node Add a x b -> z; node MatMul m z w "
          "-> "
          "y; out y float*",
          16, "1 initializer with 16 elements was computed from a parameter by the exporter" },
        { "in x float 2 2 4; param t; init b float 1 2 4 = 1 2 3 4 5 6 7 8; folded b t val_6; "
          "node Add a x b -> y; out y float*",
          8, NULL },
        { "in x float 2 2 4; param t; init b float 1 2 4 = 1 1 1 1 1 1 1 1; folded b t val_6; "
          "node Mul a x b -> y; out y float*",
          8, NULL },
        { "in x float 2 2 4; param t; param w; buffer i; init w float 4; init b float 1 2 4 = "
          "0 0 0 "
          "0 0 0 0 0; folded b t i; node Add a x b -> z; node Mul m z w -> y; out y float*",
          4, "was computed from a parameter" },
        /* an embedding that the older exporter transposed for the head */
        { "in x int64 2 5; init w float 3 2 = 1 2 3 4 5 6; init onnx::MatMul_9 float 2 3 = 1 3 "
          "5 2 "
          "4 6; node Gather g w x -> z; node MatMul m z onnx::MatMul_9 -> y; out y float*",
          6, "is tied to others" },
        { "in x int64 2 5; init w float 3 2 = 1 2 3 4 5 6; init onnx::MatMul_9 float 2 3 = 1 3 "
          "5 2 "
          "4 7; node Gather g w x -> z; node MatMul m z onnx::MatMul_9 -> y; out y float*",
          12, NULL },
        { "in x int64 2 5; init w float 3 2 = 1 1 1 1 1 1; init onnx::MatMul_9 float 2 3 = 1 1 "
          "1 1 "
          "1 1; node Gather g w x -> z; node MatMul m z onnx::MatMul_9 -> y; out y float*",
          12, NULL },
        /* positions are integers */
        { "in x float 2 3 4; init i int64 3 = 2 0 1; init w float 3 4; node Gather g w i -> z; "
          "node Add a x z -> y; out y float*",
          12, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *g =
            read_text(cases[i].model, (struct hypar_import_options){ .batch = 2 });
        if (hypar_graph_params(g) != cases[i].params ||
            (cases[i].note ? notes_with(g, cases[i].note) != 1 : g->n_notes != 0))
            fail_msg("%s: %lld parameters, %d notes (%s)", cases[i].model,
                     (long long)hypar_graph_params(g), g->n_notes,
                     g->n_notes ? g->notes[0] : "");
        hypar_graph_free(g);
    }
    /* what is repeated follows another batch */
    struct hypar_graph *g =
        read_text(TOKENS "init e float 2 1 4 = " HALVES "; folded e cls val_6; " JOIN,
                  (struct hypar_import_options){ .batch = 5 });
    assert_int_equal(g->batch, 5);
    assert_int_equal(hypar_graph_params(g), 4);
    hypar_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exports),
        cmocka_unit_test(test_opsets),
        cmocka_unit_test(test_plans_as_the_zoo),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_every_operator_is_tested),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_parameters),
    };
    if (strstr(hypar_features(), "protobuf-c: no"))
        return 77; /* nothing to test */
    return cmocka_run_group_tests_name("model/onnx", tests, NULL, NULL);
}
