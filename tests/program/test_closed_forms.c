/* Bytes computed by hand: data and tensor parallelism, halos, and the table entries of HyPar
 * and AccPar for two devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cost/papers/partition.h"
#include "program/program.h"

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

static struct hypar_program *lower(const struct hypar_plan *plan, bool local_bn)
{
    struct hypar_program *program;
    struct hypar_error err;
    struct hypar_lower_options options = { .local_bn = local_bn };
    if (hypar_lower(&program, plan, &options, &err))
        fail_msg("%s", err.text);
    return program;
}

/* Split one axis of `op`, on devices 0, 1, ... */
static void split_axis(struct hypar_plan *plan, int op, char axis, int degree)
{
    int a = hp_nest_axis(plan->graph->ops[op].nest, axis);
    struct split split = { .degree = { 0 } };
    assert_true(a >= 0);
    split.degree[a] = degree;
    hp_plan_set(plan, op, &split, NULL);
}

/* Data parallelism ----------------------------------------------------------------- */

/* The samples of every operator over all devices; what has no samples is computed by each. */
static void split_samples(struct hypar_plan *plan, int degree)
{
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct nest *nest = plan->graph->ops[op].nest;
        char axis = 'r';
        for (int a = 0; a < nest->n_axes; a++)
            if (nest->axis[a].role == HYPAR_SAMPLE)
                axis = nest->axis[a].name[0];
        split_axis(plan, op, axis, degree);
    }
}

static bool has_batch_norm(const struct hypar_graph *graph)
{
    for (int op = 0; op < graph->n_ops; op++)
        if (graph->ops[op].kind == OP_BATCH_NORM)
            return true;
    return false;
}

/* Bytes of what operators with samples read and that has none itself: parameters, and what
 * operators without samples make of parameters (T5's bias of relative positions). Each device
 * computes the latter whole, so that its gradient is summed, and not that of its parameters. */
static void shared_bytes(const struct hypar_graph *g, double *parameters, double *made)
{
    *parameters = *made = 0;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *tensor = &g->tensors[t];
        bool met = false;
        for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++)
            met |= hp_sample_axis(g->ops[g->use[u].op].nest) >= 0;
        if (met && tensor->needs_grad && tensor->sample_dim < 0)
            *(tensor->kind == TENSOR_PARAM ? parameters : made) +=
                4.0 * (double)hp_shape_elements(&tensor->shape);
    }
}

static void check_data_parallel(const char *model, int degree)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    struct hypar_import_options options = { .batch = 2 * degree };
    if (hypar_import(&graph, model, &options, &err))
        fail_msg("%s", err.text);
    struct hypar_machine *machine = full(degree);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    split_samples(plan, degree);
    struct hypar_program *program = lower(plan, has_batch_norm(graph));
    struct hypar_program_totals totals = hypar_program_totals(program);
    double weights, made;
    shared_bytes(graph, &weights, &made);
    assert_true(made > 0 || weights == 4.0 * (double)hypar_graph_params(graph));
    if (totals.gradient_bytes != 2 * (degree - 1) * weights ||
        totals.loss_bytes != 2 * (degree - 1) * 4.0 ||
        totals.comm_bytes != 2 * (degree - 1) * (weights + made + 4))
        fail_msg("%s on %d devices: %.0f bytes of gradients, %.0f of loss, %.0f in all; "
                 "expected 2 (g - 1) (4 W + 4 A + 4) = %.0f",
                 model, degree, totals.gradient_bytes, totals.loss_bytes, totals.comm_bytes,
                 2 * (degree - 1) * (weights + made + 4));
    hypar_program_free(program);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* 2 (g - 1) W elements and the loss, for every network of the zoo. */
static void data_parallel(void **state)
{
    (void)state;
    for (int i = 0; i < hypar_model_count(); i++)
        check_data_parallel(hypar_model_at(i).name, 4);
    check_data_parallel("vgg16", 1);
    check_data_parallel("resnet18", 7);
    check_data_parallel("gpt2", 3);
}

/* Tensor parallelism --------------------------------------------------------------- */

/* Megatron's splits of a layer (Shoeybi et al. 2019), by the end of an operator's name; all
 * other operators are computed by each device. */
struct tensor_split {
    const char *end;
    char axis;
};

static char tensor_axis(const char *name, const struct tensor_split *splits)
{
    for (; splits->end; splits++) {
        size_t n = strlen(name), m = strlen(splits->end);
        if (n >= m && strcmp(name + n - m, splits->end) == 0)
            return splits->axis;
    }
    return 'r';
}

static void split_tensors(struct hypar_plan *plan, int degree,
                          const struct tensor_split *splits)
{
    for (int op = 0; op < plan->graph->n_ops; op++)
        split_axis(plan, op, tensor_axis(plan->graph->ops[op].name, splits), degree);
}

static struct hypar_graph *import(const char *model)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, model, &(struct hypar_import_options){ .batch = 2 }, &err))
        fail_msg("%s", err.text);
    return graph;
}

/* Each layer sums [n,t,h] twice forward, behind attention and behind the perceptron, and twice
 * backward, before them; nothing else moves. */
static void check_tensor_parallel(const char *model, int layers, int degree, double elements,
                                  const struct tensor_split *splits)
{
    struct hypar_graph *graph = import(model);
    struct hypar_machine *machine = full(degree);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    struct hypar_hidden_moves hidden;
    split_tensors(plan, degree, splits);
    assert_int_equal(hypar_plan_hidden_moves(plan, &hidden, NULL), HYPAR_OK);
    assert_int_equal(hidden.count, 0);
    struct hypar_program *program = lower(plan, false);
    struct hypar_program_totals totals = hypar_program_totals(program);
    double bytes = layers * 2 * (2.0 * (degree - 1) * 4 * elements);
    if (totals.forward_bytes != bytes || totals.backward_bytes != bytes ||
        totals.comm_bytes != 2 * bytes)
        fail_msg("%s on %d devices: %.0f bytes forward, %.0f backward, %.0f in all; expected "
                 "%.0f forward and backward",
                 model, degree, totals.forward_bytes, totals.backward_bytes, totals.comm_bytes,
                 bytes);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* clang-format off */
#define UNFUSED \
    { ".q_shape", 'k' }, { ".k_shape", 'k' }, { ".v_shape", 'k' }, { ".q_heads", 'k' }, { ".k_heads", 'k' }, \
    { ".v_heads", 'k' }, { ".unsqueeze", 'k' }, { ".expand", 'c' }, { "_repeat.shape", 'c' }, { ".scores", 'b' }, \
    { ".scale", 'c' }, { ".softmax", 't' }, { ".softmax_dropout", 'c' }, { ".mix", 'b' }, { ".join_heads", 'b' }, \
    { ".join_shape", 'b' }

static const struct tensor_split gpt[] = {
    { ".attn.q", 'k' }, { ".attn.k", 'k' }, { ".attn.v", 'k' }, { ".attn", 'a' }, { ".attn.c_proj", 'c' },
    { ".c_fc", 'k' }, { ".gelu", 'c' }, { ".mlp.c_proj", 'c' }, UNFUSED, { NULL, 0 },
};
static const struct tensor_split bert[] = {
    { ".attention.q", 'k' }, { ".attention.k", 'k' }, { ".attention.v", 'k' }, { ".attention", 'a' },
    { ".attention.out", 'c' }, { ".ffn.in", 'k' }, { ".gelu", 'c' }, { ".ffn.out", 'c' }, UNFUSED, { NULL, 0 },
};
static const struct tensor_split vit[] = {
    { ".attn.q", 'k' }, { ".attn.k", 'k' }, { ".attn.v", 'k' }, { ".attn", 'a' }, { ".attn.out", 'c' },
    { ".mlp.0", 'k' }, { ".gelu", 'c' }, { ".mlp.3", 'c' }, { NULL, 0 },
};
static const struct tensor_split llama[] = {
    { ".q_proj", 'k' }, { ".k_proj", 'k' }, { ".v_proj", 'k' }, { ".rope_q", 'a' }, { ".rope_k", 'a' },
    { ".attn", 'a' }, { ".o_proj", 'c' }, { ".gate_proj", 'k' }, { ".up_proj", 'k' }, { ".silu", 'c' },
    { ".gate", 'c' }, { ".down_proj", 'c' }, { ".q_shape", 'a' }, { ".k_shape", 'a' }, { ".q_heads", 'a' },
    { ".k_heads", 'a' }, { ".k_repeat.unsqueeze", 'a' }, UNFUSED, { NULL, 0 },
};
/* clang-format on */

static void tensor_parallel(void **state)
{
    (void)state;
    check_tensor_parallel("gpt:layers=2,hidden=48,heads=12,seq=16,vocab=96", 2, 4, 2 * 16 * 48,
                          gpt);
    check_tensor_parallel("gpt:layers=1,hidden=48,heads=12,seq=16,vocab=96", 1, 3, 2 * 16 * 48,
                          gpt);
    check_tensor_parallel("gpt2", 12, 2, 2.0 * 1024 * 768, gpt);
    check_tensor_parallel("bert:layers=2,hidden=48,heads=12,seq=16,vocab=96", 2, 6, 2 * 16 * 48,
                          bert);
    check_tensor_parallel("vit-b-16:layers=2,hidden=48,heads=4,image=32,patch=8,ffn=96", 2, 2,
                          2 * 17 * 48, vit);
    check_tensor_parallel("llama2-7b:layers=2,hidden=64,heads=8,ffn=96,seq=16,vocab=96", 2, 4,
                          2 * 16 * 64, llama);
    check_tensor_parallel(
        "llama2-7b:layers=1,hidden=64,heads=8,kv_heads=4,ffn=96,seq=16,vocab=96", 1, 4,
        2 * 16 * 64, llama);
}

/* The same with attention written out: heads are k, b, c or t by the operator. */
static void tensor_parallel_unfused(void **state)
{
    (void)state;
    check_tensor_parallel("gpt:layers=2,hidden=48,heads=12,seq=16,vocab=96,attention=unfused,"
                          "attention_dropout_percent=10",
                          2, 4, 2 * 16 * 48, gpt);
    check_tensor_parallel("bert:layers=1,hidden=48,heads=12,seq=16,vocab=96,attention=unfused",
                          1, 3, 2 * 16 * 48, bert);
    check_tensor_parallel("llama2-7b:layers=1,hidden=64,heads=8,kv_heads=4,ffn=96,seq=16,"
                          "vocab=96,attention=unfused",
                          1, 4, 2 * 16 * 64, llama);
}

/* x -> linear -> transposed -> relu -> mean squares: t of relu is k of the transpose. */
static struct hypar_graph *turned_net(void)
{
    struct graph_builder *b = hp_build("turned", 2);
    struct hypar_shape shape = { 3, { 2, 4, 3 } }, turned = { 3, { 2, 8, 4 } };
    int y = hp_build_input(b, "x", &shape, false, 0), loss;
    int target = hp_build_input(b, "target", &turned, false, 0);
    const struct op_request request[] = {
        { OP_LINEAR, "linear", 2, (int[]){ y, HP_MAKE }, ATTRS({ ATTR_OUT, 1, V(8) }) },
        { OP_TRANSPOSE, "turn", 1, &y, ATTRS({ ATTR_PERM, 3, V(0, 2, 1) }) },
        { OP_RELU, "relu", 1, &y, NULL },
    };
    for (int i = 0; i < 3; i++)
        assert_int_equal(hp_build_op(b, &request[i], &y, NULL), HYPAR_OK);
    struct op_request end = { OP_MSE_LOSS, "loss", 2, (int[]){ y, target }, NULL };
    assert_int_equal(hp_build_op(b, &end, &loss, NULL), HYPAR_OK);
    struct hypar_graph *graph;
    assert_int_equal(hp_build_finish(b, &graph, NULL), HYPAR_OK);
    return graph;
}

/* Query, key and value from one matrix, cut apart by an operator of its own. */
static struct hypar_graph *one_matrix_net(void)
{
    struct graph_builder *b = hp_build("one matrix", 2);
    struct hypar_shape shape = { 3, { 2, 4, 8 } };
    int x = hp_build_input(b, "x", &shape, false, 0), y[3] = { x }, loss;
    int target = hp_build_input(b, "target", &shape, false, 0);
    const struct op_request request[] = {
        { OP_LINEAR, "qkv", 1, y, ATTRS({ ATTR_OUT, 1, V(24) }) },
        { OP_SPLIT, "cut", 1, y, ATTRS({ ATTR_AXIS, 1, V(2) }, { ATTR_SIZES, 3, V(8, 8, 8) }) },
        { OP_ATTENTION, "attn", 3, y, ATTRS({ ATTR_HEADS, 1, V(4) }) },
    };
    for (int i = 0; i < 3; i++)
        assert_int_equal(hp_build_op(b, &request[i], y, NULL), HYPAR_OK);
    struct op_request end = { OP_MSE_LOSS, "loss", 2, (int[]){ y[0], target }, NULL };
    assert_int_equal(hp_build_op(b, &end, &loss, NULL), HYPAR_OK);
    struct hypar_graph *graph;
    assert_int_equal(hp_build_finish(b, &graph, NULL), HYPAR_OK);
    return graph;
}

/* The warning of splits that look alike and are not; empty: there is none. */
static void check_hidden(struct hypar_graph *graph, int degree,
                         const struct tensor_split *splits, int count, const char *text)
{
    struct hypar_machine *machine = full(degree);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    struct hypar_hidden_moves hidden;
    split_tensors(plan, degree, splits);
    assert_int_equal(hypar_plan_hidden_moves(plan, &hidden, NULL), HYPAR_OK);
    assert_int_equal(hidden.count, count);
    assert_string_equal(hidden.text, text);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void hidden_moves(void **state)
{
    (void)state;
    /* 12 heads on 5 devices: parts of k are no whole heads */
    check_hidden(
        import("gpt:layers=2,hidden=60,heads=12,seq=16,vocab=96"), 5, gpt, 8,
        "'h.0.attn.q' (k=5) and 'h.0.attn' (a=5) are split alike, on the same devices, "
        "but not into the same elements: what is between them is sent, 15.4 kB a step, "
        "forward, with 7 more such pairs");
    static const struct tensor_split positions[] = { { "turn", 't' },
                                                     { "relu", 't' },
                                                     { NULL, 0 } };
    check_hidden(turned_net(), 2, positions, 1,
                 "'turn' (t=2) and 'relu' (t=2) are split alike, on the same devices, but not "
                 "into the same elements: what is between them is sent, 128 B a step, forward");
    static const struct tensor_split features[] = { { "turn", 'k' },
                                                    { "relu", 't' },
                                                    { NULL, 0 } };
    check_hidden(turned_net(), 2, features, 0, "");
    static const struct tensor_split whole[] = {
        { "qkv", 'k' },
        { "cut", 'c' },
        { "attn", 'a' },
        { NULL, 0 },
    };
    check_hidden(one_matrix_net(), 4, whole, 3,
                 "'cut' (c=4) and 'attn' (a=4) are split alike, on the same devices, but not "
                 "into the same elements: what is between them is sent, 512 B a step, forward, "
                 "with 2 more such pairs");
    /* halos are no such thing */
    static const struct tensor_split height[] = {
        { "conv1", 'h' }, { "conv2", 'h' }, { "pool1", 'h' }, { "relu1", 'h' }, { NULL, 0 },
    };
    check_hidden(import("lenet-c"), 2, height, 0, "");
}

/* Halos ---------------------------------------------------------------------------- */

enum { BATCH = 3, CHANNELS = 5, HEIGHT = 24, WIDTH = 7 };

/* x -> times a parameter -> convolution -> mean squares. */
static struct hypar_graph *conv_net(int kernel)
{
    struct graph_builder *b = hp_build("conv", BATCH);
    struct hypar_shape shape = { 4, { BATCH, CHANNELS, HEIGHT, WIDTH } }, one = { 1, { 1 } };
    double k = kernel, pad = (kernel - 1) / 2, out = CHANNELS;
    int x = hp_build_input(b, "x", &shape, false, 0);
    int target = hp_build_input(b, "target", &shape, false, 0);
    int scale = hp_build_param(b, "scale", &one), y;
    struct op_request mul = { OP_MUL, "mul", 2, (int[]){ x, scale }, NULL };
    assert_int_equal(hp_build_op(b, &mul, &y, NULL), HYPAR_OK);
    struct op_request conv = { OP_CONV, "conv", 2, (int[]){ y, HP_MAKE },
                               ATTRS({ ATTR_KERNEL, 2, V(k, k) },
                                     { ATTR_PAD, 4, V(pad, pad, pad, pad) },
                                     { ATTR_OUT, 1, V(out) }) };
    assert_int_equal(hp_build_op(b, &conv, &y, NULL), HYPAR_OK);
    struct op_request loss = { OP_MSE_LOSS, "loss", 2, (int[]){ y, target }, NULL };
    assert_int_equal(hp_build_op(b, &loss, &y, NULL), HYPAR_OK);
    struct hypar_graph *graph;
    assert_int_equal(hp_build_finish(b, &graph, NULL), HYPAR_OK);
    return graph;
}

/* Split in height: at each of the d - 1 borders k/2 rows go up and k/2 down, x forward and dx
 * backward, and nothing else but the gradient of the weights and the loss. */
static void check_halo(int kernel, int degree)
{
    struct hypar_graph *graph = conv_net(kernel);
    struct hypar_machine *machine = full(degree);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    for (int op = 0; op < graph->n_ops; op++)
        split_axis(plan, op, 'h', degree);
    struct hypar_program *program = lower(plan, false);
    struct hypar_program_totals totals = hypar_program_totals(program);
    double rows = 2.0 * (degree - 1) * (kernel / 2), row_bytes = 4.0 * BATCH * CHANNELS * WIDTH;
    double weights = CHANNELS * CHANNELS * kernel * kernel + 1;
    assert_true(totals.forward_bytes == rows * row_bytes);
    assert_true(totals.backward_bytes == rows * row_bytes);
    assert_true(totals.gradient_bytes == 2 * (degree - 1) * 4 * weights);
    assert_true(totals.loss_bytes == 2 * (degree - 1) * 4);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void halos(void **state)
{
    (void)state;
    for (int degree = 1; degree <= 6; degree++)
        for (int kernel = 1; kernel <= 5; kernel += 2)
            check_halo(kernel, degree);
}

/* HyPar's and AccPar's tables ------------------------------------------------------ */

enum { N = 6, C0 = 4, C1 = 10, C2 = 8 };

/* x -> mul -> layer1 -> layer2 -> relu -> mean squares; the layers are ops 1 and 2. */
static struct hypar_graph *two_layers(void)
{
    struct graph_builder *b = hp_build("two layers", N);
    struct hypar_shape in = { 2, { N, C0 } }, out = { 2, { N, C2 } }, one = { 1, { 1 } };
    int x = hp_build_input(b, "x", &in, false, 0), y;
    int target = hp_build_input(b, "target", &out, false, 0);
    int scale = hp_build_param(b, "scale", &one);
    struct op_request ops[] = {
        { OP_MUL, "mul", 2, (int[]){ x, scale }, NULL },
        { OP_LINEAR, "layer1", 2, (int[]){ -1, HP_MAKE }, ATTRS({ ATTR_OUT, 1, V(C1) }) },
        { OP_LINEAR, "layer2", 2, (int[]){ -1, HP_MAKE }, ATTRS({ ATTR_OUT, 1, V(C2) }) },
        { OP_RELU, "relu", 1, (int[]){ -1 }, NULL },
        { OP_MSE_LOSS, "loss", 2, (int[]){ -1, target }, NULL },
    };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        int inputs[2];
        memcpy(inputs, ops[i].inputs, (size_t)ops[i].n_inputs * sizeof inputs[0]);
        inputs[0] = i ? y : x;
        ops[i].inputs = inputs;
        assert_int_equal(hp_build_op(b, &ops[i], &y, NULL), HYPAR_OK);
    }
    struct hypar_graph *graph;
    assert_int_equal(hp_build_finish(b, &graph, NULL), HYPAR_OK);
    return graph;
}

/* The axis that a type of layer divides, and one that leaves an element-wise operator in a
 * layout. */
static const char type_axis[] = { [TYPE_I] = 'n', [TYPE_II] = 'c', [TYPE_III] = 'k' };
static const char layout_axis[] = { [BY_BATCH] = 'n', [BY_CHANNEL] = 'c', [WHOLE] = 'r' };

/* What the exchange of a tensor's value or gradient sends. */
static double place_bytes(const struct hypar_program *p, int tensor, bool grad)
{
    double elements = 0;
    for (int t = 0; t < p->n_tasks; t++)
        if (p->task[t].kind == TASK_COMM && hp_task_place(p, t).tensor == tensor &&
            hp_task_place(p, t).grad == grad)
            elements += hp_task_comm(p, t)->sent_elements;
    return 4 * elements;
}

/* Bytes of the exchanges that the papers count: inputs' errors, outputs and weights of the two
 * layers. What lies before and after them is laid out as they are, so it adds nothing. */
struct two_bytes {
    double f, e; /* of the tensor between the layers */
    double rest; /* E before layer 1, F after layer 2, both dW */
};

static struct two_bytes program_bytes(enum layer_type first, enum layer_type second)
{
    struct hypar_graph *g = two_layers();
    struct hypar_machine *machine = full(2);
    struct hypar_plan *plan = hp_plan_new(g, machine, &(struct hypar_plan_settings){ 0 });
    split_axis(plan, 0, layout_axis[hp_split_in(first)], 2);
    split_axis(plan, 1, type_axis[first], 2);
    split_axis(plan, 2, type_axis[second], 2);
    split_axis(plan, 3, layout_axis[hp_split_out(second)], 2);
    split_axis(plan, 4, layout_axis[hp_split_out(second)], 2);
    struct hypar_program *p = lower(plan, false);
    const int *layer1 = g->ops[1].tensor, *layer2 = g->ops[2].tensor; /* x w b y */
    struct two_bytes bytes = {
        .f = place_bytes(p, layer1[3], false),
        .e = place_bytes(p, layer1[3], true),
        .rest = place_bytes(p, layer1[0], true) + place_bytes(p, layer2[3], false) +
                place_bytes(p, layer1[1], true) + place_bytes(p, layer2[1], true),
    };
    hypar_program_free(p);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(g);
    return bytes;
}

/* The same by the papers: 8 bytes for each element that two sides exchange one way. The sum of
 * a partial F (type II) or E (type III) is counted with the layer; here with the tensor. */
static struct two_bytes paper_bytes(enum layer_type first, enum layer_type second)
{
    double between = N * C1;
    struct layer_sizes one = { N * C0, C0 * C1, between, 0 };
    struct layer_sizes two = { between, C1 * C2, N * C2, 0 };
    double intra1 = 8 * hp_intra_elements(first, &one, 2);
    double intra2 = 8 * hp_intra_elements(second, &two, 2);
    enum side_split out = hp_split_out(first), in = hp_split_in(second);
    struct two_bytes bytes = { .f = 8 * between * hp_convert_share(out, in, 2),
                               .e = 8 * between * hp_convert_share(in, out, 2) };
    *(first == TYPE_II ? &bytes.f : &bytes.rest) += intra1;
    *(second == TYPE_III ? &bytes.e : &bytes.rest) += intra2;
    assert_true(bytes.f + bytes.e + bytes.rest ==
                intra1 + intra2 + 8 * between * hp_inter_share(first, second, 2));
    return bytes;
}

/* Where a sum is not read whole by both sides, half of the papers' exchange is enough: each
 * side gets the sum of what it reads (a reduce-scatter), not all of it (an all-reduce). */
static void tables(void **state)
{
    (void)state;
    static const char *const names[] = { "I", "II", "III" };
    print_message("  types       F between     E between          rest   (bytes: program / "
                  "papers)\n");
    for (enum layer_type first = TYPE_I; first <= TYPE_III; first++)
        for (enum layer_type second = TYPE_I; second <= TYPE_III; second++) {
            struct two_bytes does = program_bytes(first, second);
            struct two_bytes says = paper_bytes(first, second);
            bool f_scattered = first == TYPE_II && hp_split_in(second) != WHOLE;
            bool e_scattered = second == TYPE_III && hp_split_out(first) != WHOLE;
            print_message("  %-3s > %-3s   %5.0f / %-5.0f %5.0f / %-5.0f %5.0f / %-5.0f%s%s\n",
                          names[first], names[second], does.f, says.f, does.e, says.e,
                          does.rest, says.rest,
                          f_scattered ? "   F: each side reads half of the sum" : "",
                          e_scattered ? "   E: each side reads half of the sum" : "");
            assert_true(does.f == (f_scattered ? says.f / 2 : says.f));
            assert_true(does.e == (e_scattered ? says.e / 2 : says.e));
            assert_true(does.rest == says.rest);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_parallel),
        cmocka_unit_test(tensor_parallel),
        cmocka_unit_test(tensor_parallel_unfused),
        cmocka_unit_test(hidden_moves),
        cmocka_unit_test(halos),
        cmocka_unit_test(tables),
    };
    return cmocka_run_group_tests_name("program: closed forms", tests, NULL, NULL);
}
