/* The activations that a layer of a transformer keeps from forward to backward, against
 * published figures (Korthikanti et al., "Reducing Activation Recomputation in Large
 * Transformer Models", 2022): the bytes of a device with L + 1 layers minus those with L. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "program/memory/parts.h"

/* The layers ---------------------------------------------------------------------------- */

struct sizes {
    const char *name;
    int64_t heads, hidden, sequence, samples;
};

static const struct sizes models[] = {
    { "22B", 64, 6144, 2048, 1 },
    { "175B", 96, 12288, 2048, 1 },
    { "530B", 128, 20480, 2048, 1 },
    { "1T", 160, 25600, 2048, 1 },
};

enum { N_MODELS = sizeof models / sizeof models[0] };

struct net {
    struct graph_builder *builder;
    struct sizes size;
    int layer;
};

static int add_op(struct net *net, enum op_kind kind, const char *name, int x, int y,
                  const struct attrs *attrs)
{
    struct hypar_error err;
    char text[64];
    int out = -1;
    snprintf(text, sizeof text, "%s.%d", name, net->layer);
    struct op_request request = { kind, text, y == HP_ABSENT ? 1 : 2, (int[]){ x, y }, attrs };
    if (hp_build_op(net->builder, &request, &out, &err))
        fail_msg("%s", err.text);
    return out;
}

static int add_linear(struct net *net, const char *name, int x, int64_t width)
{
    return add_op(net, OP_LINEAR, name, x, HP_MAKE, ATTRS({ ATTR_OUT, 1, V((double)width) }));
}

/* [n,s,h] to heads: [n,a,s,h/a]. */
static int add_heads(struct net *net, const char *name, int x)
{
    const struct sizes *z = &net->size;
    char shape[32], heads[32];
    snprintf(shape, sizeof shape, "%s.shape", name);
    snprintf(heads, sizeof heads, "%s.heads", name);
    int y = add_linear(net, name, x, z->hidden);
    y = add_op(net, OP_RESHAPE, shape, y, HP_ABSENT,
               ATTRS({ ATTR_SHAPE, 4,
                       V((double)z->samples, (double)z->sequence, (double)z->heads,
                         (double)(z->hidden / z->heads)) }));
    return add_op(net, OP_TRANSPOSE, heads, y, HP_ABSENT,
                  ATTRS({ ATTR_PERM, 4, V(0, 2, 1, 3) }));
}

static int add_attention(struct net *net, int x)
{
    const struct sizes *z = &net->size;
    int q = add_heads(net, "q", x), k = add_heads(net, "k", x), v = add_heads(net, "v", x);
    int y = add_op(net, OP_MATMUL, "scores", q, k, ATTRS({ ATTR_TRANSPOSED, 1, V(1) }));
    y = add_op(net, OP_AFFINE, "scale", y, HP_ABSENT, ATTRS({ ATTR_ALPHA, 1, V(0.1) }));
    y = add_op(net, OP_SOFTMAX, "softmax", y, HP_ABSENT, NULL);
    y = add_op(net, OP_DROPOUT, "scores.drop", y, HP_ABSENT, NULL);
    y = add_op(net, OP_MATMUL, "mix", y, v, NULL);
    y = add_op(net, OP_TRANSPOSE, "mix.join", y, HP_ABSENT,
               ATTRS({ ATTR_PERM, 4, V(0, 2, 1, 3) }));
    y = add_op(net, OP_RESHAPE, "mix.shape", y, HP_ABSENT,
               ATTRS({ ATTR_SHAPE, 3,
                       V((double)z->samples, (double)z->sequence, (double)z->hidden) }));
    y = add_linear(net, "proj", y, z->hidden);
    return add_op(net, OP_DROPOUT, "stream.drop1", y, HP_ABSENT, NULL);
}

static int add_perceptron(struct net *net, int x)
{
    int y = add_linear(net, "up", x, 4 * net->size.hidden);
    y = add_op(net, OP_GELU, "gelu", y, HP_ABSENT, NULL);
    y = add_linear(net, "down", y, net->size.hidden);
    return add_op(net, OP_DROPOUT, "stream.drop2", y, HP_ABSENT, NULL);
}

static struct hypar_graph *transformer(const struct sizes *size, int layers)
{
    struct net net = { .builder = hp_build("transformer", size->samples), .size = *size };
    struct hypar_shape shape = { 3, { size->samples, size->sequence, size->hidden } };
    int x = hp_build_input(net.builder, "x", &shape, false, 0);
    int target = hp_build_input(net.builder, "target", &shape, false, 0);
    for (; net.layer < layers; net.layer++) {
        int y = add_op(&net, OP_LAYER_NORM, "stream.norm1", x, HP_MAKE, NULL);
        y = add_op(&net, OP_IDENTITY, "stream.gather1", y, HP_ABSENT, NULL);
        y = add_attention(&net, y);
        x = add_op(&net, OP_ADD, "stream.add1", x, y, NULL);
        y = add_op(&net, OP_LAYER_NORM, "stream.norm2", x, HP_MAKE, NULL);
        y = add_op(&net, OP_IDENTITY, "stream.gather2", y, HP_ABSENT, NULL);
        y = add_perceptron(&net, y);
        x = add_op(&net, OP_ADD, "stream.add2", x, y, NULL);
    }
    add_op(&net, OP_MSE_LOSS, "stream.loss", x, target, NULL);
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hp_build_finish(net.builder, &graph, &err))
        fail_msg("%s", err.text);
    return graph;
}

/* Plans ---------------------------------------------------------------------------------- */

/* How the operators of a layer are split over t devices, by the beginning of their names:
 * Megatron's tensor parallelism. What is said of the stream (norms, dropouts, sums) is another
 * thing with and without sequence parallelism. */
enum { HEADS = '*' }; /* the first axis that is as long as there are heads */

static const struct {
    const char *name;
    char axis;
} splits[] = {
    { "q.shape", HEADS },     { "q.heads", HEADS },  { "q.", 'k' },
    { "k.shape", HEADS },     { "k.heads", HEADS },  { "k.", 'k' },
    { "v.shape", HEADS },     { "v.heads", HEADS },  { "v.", 'k' },
    { "scores.drop", HEADS }, { "scores", 'b' },     { "scale", HEADS },
    { "softmax", HEADS },     { "mix.join", HEADS }, { "mix.shape", HEADS },
    { "mix", 'b' },           { "proj", 'c' },       { "up", 'k' },
    { "gelu", 'c' },          { "down", 'c' },
};

static char letter_of(const char *name, char stream)
{
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++)
        if (strncmp(name, splits[i].name, strlen(splits[i].name)) == 0)
            return splits[i].axis;
    return stream;
}

static int axis_of(const struct op *op, int64_t heads, char stream)
{
    char letter = letter_of(op->name, stream);
    int axis = letter == HEADS ? 0 : hp_nest_axis(op->nest, letter);
    while (letter == HEADS && op->nest->axis[axis].extent != heads)
        axis++;
    return axis;
}

static void split_ops(struct hypar_plan *plan, int64_t heads, int degree, char stream)
{
    for (int op = 0; op < plan->graph->n_ops; op++) {
        struct split split = { .degree = { 0 } };
        int axis = axis_of(&plan->graph->ops[op], heads, stream);
        assert_true(axis >= 0 && axis < plan->graph->ops[op].nest->n_axes);
        split.degree[axis] = degree;
        hp_plan_set(plan, op, &split, NULL);
    }
}

/* The paper's table 2: ways to split and to recompute, and what is published of each,
 * s b h (whole + (shared + scores a s / h) / t). Sequence parallelism gathers the inputs of q,
 * k and v, and of the perceptron, a second time in the backward pass: a plan says so by
 * computing `gather` again. Where it does not, what the other devices sent of them is kept:
 * `gathered` s b h of the (t - 1) / t that are theirs. */
static const struct row {
    const char *name;
    int degree;
    char stream; /* the axis of norms, dropouts and sums */
    enum hypar_recompute recompute;
    bool gathers_again;
    double whole, shared, scores, gathered;
} rows[] = {
    { "one device", 1, 'r', HYPAR_RECOMPUTE_NONE, false, 0, 34, 5, 0 },
    { "tensor parallel", 8, 'r', HYPAR_RECOMPUTE_NONE, false, 10, 24, 5, 0 },
    { "... and sequence, gathered once", 8, 't', HYPAR_RECOMPUTE_NONE, false, 0, 34, 5, 4 },
    { "... and sequence", 8, 't', HYPAR_RECOMPUTE_NONE, true, 0, 34, 5, 0 },
    { "one device, selective", 1, 'r', HYPAR_RECOMPUTE_SELECTIVE, false, 0, 34, 0, 0 },
    { "tensor parallel, selective", 8, 'r', HYPAR_RECOMPUTE_SELECTIVE, false, 10, 24, 0, 0 },
    { "... and sequence, selective", 8, 't', HYPAR_RECOMPUTE_SELECTIVE, true, 0, 34, 0, 0 },
    { "one device, full", 1, 'r', HYPAR_RECOMPUTE_FULL, false, 2, 0, 0, 0 },
    { "tensor parallel, full", 8, 'r', HYPAR_RECOMPUTE_FULL, false, 2, 0, 0, 0 },
};

/* Bytes that the fullest device keeps between the halves. */
static double kept_by_layers(const struct sizes *size, int layers, const struct row *row,
                             enum hypar_masks masks)
{
    struct hypar_graph *graph = transformer(size, layers);
    struct hypar_machine *machine;
    struct hypar_program *program;
    struct hypar_error err = { 0 };
    char word[32];
    snprintf(word, sizeof word, "full:%d", row->degree);
    assert_int_equal(hypar_machine_read(&machine, word, &err), HYPAR_OK);
    struct hypar_plan_settings settings = { .precision = HYPAR_FP16,
                                            .masks = masks,
                                            .recompute = row->recompute };
    struct hypar_plan *plan = hp_plan_new(graph, machine, &settings);
    split_ops(plan, size->heads, row->degree, row->stream);
    for (int op = 0; op < graph->n_ops && row->gathers_again; op++)
        plan->ops[op].recompute |= strncmp(graph->ops[op].name, "stream.gather", 13) == 0;
    if (hypar_lower(&program, plan, NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct memory_model *model = hp_memory(program, NULL);
    double kept = 0;
    for (int d = 0; d < row->degree; d++)
        kept = model->kept[0][d] > kept ? model->kept[0][d] : kept;
    hp_memory_free(model);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return kept;
}

/* What the paper leaves out: two statistics of each position for each of two layer norms, which
 * are whole on each device or shared as the stream is, and computed again with all else. */
static double statistics(const struct sizes *z, const struct row *row)
{
    double bytes = 2.0 * 2 * 4 * (double)(z->sequence * z->samples); /* in fp32 */
    if (row->recompute == HYPAR_RECOMPUTE_FULL)
        return 0;
    return row->stream == 't' ? bytes / row->degree : bytes;
}

static void check_layer(const struct sizes *z, const struct row *row)
{
    double sbh = (double)(z->sequence * z->samples * z->hidden), t = row->degree;
    double squares = (double)(z->heads * z->sequence) / (double)z->hidden;
    double published = sbh * (row->whole + (row->shared + row->scores * squares) / t);
    double gathered = row->gathered * sbh * (t - 1) / t;
    double layer = kept_by_layers(z, 3, row, HYPAR_MASKS_KEPT) -
                   kept_by_layers(z, 2, row, HYPAR_MASKS_KEPT);
    print_message("  %-31s %-4s %4.0f MB, published %4.0f MB, gathered %3.0f MB: %+.3f %%\n",
                  row->name, z->name, layer / 1e6, published / 1e6, gathered / 1e6,
                  100 * (layer / (published + gathered) - 1));
    assert_true(layer == published + gathered + statistics(z, row));
    assert_true(layer < 1.01 * (published + gathered));
}

static void layers_keep_what_is_published(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (int m = 0; m < N_MODELS; m++)
            check_layer(&models[m], &rows[r]);
}

/* Drawn again, the masks of both dropouts of the stream and of the scores take nothing. */
static void masks_are_a_byte_for_each_element(void **state)
{
    (void)state;
    const struct sizes *z = &models[0];
    double kept[HYPAR_MASKS_COUNT];
    for (int m = 0; m < HYPAR_MASKS_COUNT; m++)
        kept[m] = kept_by_layers(z, 1, &rows[0], (enum hypar_masks)m);
    double sb = (double)(z->sequence * z->samples);
    assert_true(kept[HYPAR_MASKS_KEPT] - kept[HYPAR_MASKS_DRAWN] ==
                2 * sb * (double)z->hidden + (double)(z->heads * z->sequence) * sb);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(layers_keep_what_is_published),
                                        cmocka_unit_test(masks_are_a_byte_for_each_element) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
