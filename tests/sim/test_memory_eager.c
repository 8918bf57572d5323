/* What PyTorch has in memory and sends, by closed forms: plans of a framework that runs
 * operator by operator. tests/torch/parallel.py compares such plans with PyTorch itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "program/memory/parts.h"
#include "search/estimate/needs.h"
#include "search/evaluate/room.h"

/* A network that is built, and its plan. */
struct net {
    struct graph_builder *builder;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    struct hypar_error err;
};

static int input(struct net *net, const char *name, int rows, int columns)
{
    return hp_build_input(net->builder, name, &(struct hypar_shape){ 2, { rows, columns } },
                          false, 0);
}

static int add_op(struct net *net, enum op_kind kind, const char *name, int x, int y,
                  const struct attrs *attrs)
{
    int out[3];
    struct op_request request = { kind, name, y == HP_ABSENT ? 1 : 2, (int[]){ x, y }, attrs };
    if (hp_build_op(net->builder, &request, out, &net->err))
        fail_msg("%s", net->err.text);
    return out[0];
}

static int linear(struct net *net, const char *name, int x, int columns)
{
    return add_op(net, OP_LINEAR, name, x, HP_MAKE, ATTRS({ ATTR_OUT, 1, V(columns) }));
}

/* The plan of the network on so many devices, each with its share of the samples. */
static void make_plan(struct net *net, int devices, struct hypar_plan_settings settings,
                      enum hypar_shard shard)
{
    char word[32];
    snprintf(word, sizeof word, "full:%d", devices);
    assert_int_equal(hypar_machine_read(&net->machine, word, &net->err), HYPAR_OK);
    if (hp_build_finish(net->builder, &net->graph, &net->err))
        fail_msg("%s", net->err.text);
    net->plan = hp_plan_new(net->graph, net->machine, &settings);
    for (int op = 0; op < net->graph->n_ops; op++) {
        const struct nest *nest = net->graph->ops[op].nest;
        struct split split = { .degree = { 0 } };
        int sample = hp_sample_axis(nest);
        split.degree[sample < 0 ? nest->n_axes - 1 : sample] = devices;
        hp_plan_set(net->plan, op, &split, NULL);
    }
    if (shard != HYPAR_SHARD_NONE &&
        hypar_plan_shard_all(net->plan, shard, 0, &net->err) != HYPAR_OK)
        fail_msg("%s", net->err.text);
}

static const struct hypar_plan_settings eager = { .simulation.framework.kernels =
                                                      HYPAR_KERNELS_EAGER };
static const struct hypar_plan_settings eager_bf16 = { .precision = HYPAR_BF16,
                                                       .fp32_gradients = true,
                                                       .simulation.framework.kernels =
                                                           HYPAR_KERNELS_EAGER };

static struct hypar_memory memory_of(const struct net *net)
{
    struct hypar_memory memory[8];
    assert_int_equal(hypar_plan_memory(net->plan, NULL, memory, NULL), HYPAR_OK);
    return memory[0];
}

static struct hypar_program_totals totals_of(const struct net *net)
{
    struct hypar_program *program;
    assert_int_equal(hypar_lower(&program, net->plan, NULL, NULL), HYPAR_OK);
    struct hypar_program_totals totals = hypar_program_totals(program);
    hypar_program_free(program);
    return totals;
}

static void expect(const char *what, double found, double expected)
{
    if (found != expected)
        fail_msg("%s: %.0f bytes, expected %.0f", what, found, expected);
}

static void end(struct net *net)
{
    hypar_plan_free(net->plan);
    hypar_machine_free(net->machine);
    hypar_graph_free(net->graph);
}

/* Views -------------------------------------------------------------------------------- */

/* A layer reads a quarter of a tensor. PyTorch saves a view, so the whole tensor stays; a
 * compiled network keeps a copy of the quarter. */
static void slices(void **state)
{
    (void)state;
    enum { N = 6, IN = 4, WIDE = 32, OUT = 8 };
    for (int compiled = 0; compiled < 2; compiled++) {
        struct net net = { .builder = hp_build("slices", N) };
        int x = input(&net, "x", N, IN), target = input(&net, "target", N, OUT);
        int y = linear(&net, "wide", x, WIDE);
        y = add_op(
            &net, OP_SLICE, "slice", y, HP_ABSENT,
            ATTRS({ ATTR_AXIS, 1, V(1) }, { ATTR_START, 1, V(0) }, { ATTR_STOP, 1, V(8) }));
        add_op(&net, OP_MSE_LOSS, "loss", linear(&net, "out", y, OUT), target, NULL);
        make_plan(&net, 1, compiled ? (struct hypar_plan_settings){ 0 } : eager,
                  HYPAR_SHARD_NONE);
        expect(compiled ? "compiled" : "eager", memory_of(&net).saved,
               4.0 * N * (IN + (compiled ? 8 : WIDE) + 2 * OUT) + 4);
        end(&net);
    }
}

/* A layer reads the second of two parts, the first is not read: PyTorch keeps both for it. */
static void parts(void **state)
{
    (void)state;
    enum { N = 6, IN = 4, WIDE = 32, PART = 8, OUT = 8 };
    for (int compiled = 0; compiled < 2; compiled++) {
        struct net net = { .builder = hp_build("parts", N) };
        int x = input(&net, "x", N, IN), target = input(&net, "target", N, OUT), part[2];
        struct op_request request = {
            OP_SPLIT, "split", 1, (int[]){ linear(&net, "wide", x, WIDE) },
            ATTRS({ ATTR_AXIS, 1, V(1) }, { ATTR_SIZES, 2, V(WIDE - PART, PART) })
        };
        assert_int_equal(hp_build_op(net.builder, &request, part, &net.err), HYPAR_OK);
        add_op(&net, OP_MSE_LOSS, "loss", linear(&net, "out", part[1], OUT), target, NULL);
        make_plan(&net, 1, compiled ? (struct hypar_plan_settings){ 0 } : eager,
                  HYPAR_SHARD_NONE);
        expect(compiled ? "compiled" : "eager", memory_of(&net).saved,
               4.0 * N * (IN + (compiled ? PART : WIDE) + 2 * OUT) + 4);
        end(&net);
    }
}

/* Errors ------------------------------------------------------------------------------- */

/* A sum hands its error on: while `down` computes the error of its input, the error of the sum
 * is also that of `down` and, so far, that of `in`. There are x, `in` and this error, what `up`
 * wrote and its error, and the first gradient. */
static void sums(void **state)
{
    (void)state;
    enum { N = 32, C = 4, WIDE = 16 };
    struct net net = { .builder = hp_build("sums", N) };
    int x = input(&net, "x", N, C), target = input(&net, "target", N, C);
    int in = linear(&net, "in", x, C);
    int down = linear(&net, "down", linear(&net, "up", in, WIDE), C);
    add_op(&net, OP_MSE_LOSS, "loss", add_op(&net, OP_ADD, "sum", in, down, NULL), target,
           NULL);
    make_plan(&net, 1, eager, HYPAR_SHARD_NONE);
    double params = C * C + 2 * C * WIDE;
    expect("peak", memory_of(&net).peak,
           4 * (params + 3 * N * C + 2 * N * WIDE + C * WIDE) + 4);
    end(&net);
}

/* The error of a batch norm over two replicas is computed from its input and its output's error
 * with two tensors of fp32, one of which becomes its error. Statistics have
 * two values of each channel: those of the batch, those that run, and sums of the errors. */
static void batch_norms(void **state)
{
    (void)state;
    enum { N = 64, HALF = N / 2, IN = 2, C = 8 };
    struct net net = { .builder = hp_build("norms", N) };
    int x = input(&net, "x", N, IN), target = input(&net, "target", N, C);
    int y = linear(&net, "linear", x, C);
    y = add_op(&net, OP_BATCH_NORM, "norm", y, HP_ABSENT, NULL);
    add_op(&net, OP_MSE_LOSS, "loss", y, target, NULL);
    make_plan(&net, 2, eager_bf16, HYPAR_SHARD_NONE);
    struct hypar_memory m = memory_of(&net);
    double batch = 4 * HALF * (IN + C), saved = 2 * HALF * (IN + C);
    double errors = HALF * C * (2 + 2 * 4);
    expect("peak", m.peak - m.parameters - m.optimizer,
           batch + saved + errors + 2 * (3 * 2 * C) + 4);
    expect("sums of means and of squares, in fp32", totals_of(&net).forward_bytes,
           2 * 4 * 2 * C);
    end(&net);
}

/* A mask of dropout has a byte for each element on a GPU, on a processor as many as what it is
 * multiplied with. */
static void processors(void **state)
{
    (void)state;
    enum { N = 64, C = 8 };
    struct net net = { .builder = hp_build("dropped", N) };
    int x = input(&net, "x", N, C), target = input(&net, "target", N, C);
    int y = add_op(&net, OP_DROPOUT, "dropout", linear(&net, "linear", x, C), HP_ABSENT,
                   ATTRS({ ATTR_RATE, 1, V(0.5) }));
    add_op(&net, OP_MSE_LOSS, "loss", y, target, NULL);
    make_plan(&net, 1, eager_bf16, HYPAR_SHARD_NONE);
    struct hypar_program *program;
    assert_int_equal(hypar_lower(&program, net.plan, NULL, NULL), HYPAR_OK);
    struct memory_model *host = hp_memory(program, &(struct memory_options){ .host = true });
    expect("saved on a processor", host->device[0].saved - memory_of(&net).saved, N * C);
    hp_memory_free(host);
    hypar_program_free(program);
    end(&net);
}

/* What a graph says that its model saves, in bf16, beside a linear layer's output: of a norm,
 * as it is written out (one kernel of a GPU saves nothing, a processor writes it out in fp32);
 * of a cross entropy of logits that are not converted. */
static void told(void **state)
{
    (void)state;
    enum { N = 64, C = 8 };
    const struct {
        int norm, upcast, saved, on_host;
    } cases[] = { { 6, 1, 6 + 2, 6 + 2 }, { 0, 1, 2, 2 + 6 }, { 4, 0, 4, 4 }, { -1, 0, 4, 4 } };
    double plain = 0;
    for (int i = -1; i < (int)(sizeof cases / sizeof *cases); i++) {
        struct net net = { .builder = hp_build("told", N) };
        int x = input(&net, "x", N, C), y = linear(&net, "linear", x, C), out[3],
            labels = hp_build_input(net.builder, "labels", &(struct hypar_shape){ 1, { N } },
                                    true, 0);
        struct op_request norm = { OP_RMS_NORM, "norm", 2, (int[]){ y, HP_MAKE },
                                   i < 0 || cases[i].norm < 0
                                       ? NULL
                                       : ATTRS({ ATTR_SAVED_FP32, 1, V(1) },
                                               { ATTR_SAVED_SHORT, 1, V(cases[i].norm) }) };
        assert_int_equal(hp_build_op(net.builder, &norm, out, &net.err), HYPAR_OK);
        add_op(&net, OP_CROSS_ENTROPY, "loss", out[0], labels,
               i < 0 ? NULL : ATTRS({ ATTR_UPCAST, 1, V(cases[i].upcast) }));
        make_plan(&net, 1, eager_bf16, HYPAR_SHARD_NONE);
        if (i < 0) { /* by the rows of the table: 4 of the norm, 2 of the loss */
            plain = memory_of(&net).saved - (4 + 2) * N * C;
        } else {
            struct hypar_program *program;
            assert_int_equal(hypar_lower(&program, net.plan, NULL, NULL), HYPAR_OK);
            struct memory_model *host =
                hp_memory(program, &(struct memory_options){ .host = true });
            expect("saved", memory_of(&net).saved - plain, cases[i].saved * N * C);
            expect("on a processor", host->device[0].saved - plain, cases[i].on_host * N * C);
            hp_memory_free(host);
            hypar_program_free(program);
        }
        end(&net);
    }
}

/* oneDNN's LSTM in bf16 keeps inputs and states of each sample and step, and their errors. A
 * GRU on a processor keeps three tensors as large as its output, or, where no reader keeps
 * that, two. */
static void recurrent(void **state)
{
    (void)state;
    enum { N = 4, T = 6, K = 32, LSTM_STATE = (2 * 2 + 4 * 4 + 2 * 2 + 2 * 4) * K };
    const struct {
        enum op_kind kind, reader;
        double more;
    } cases[] = { { OP_LSTM, OP_MSE_LOSS, (T + 1.0) * LSTM_STATE },
                  { OP_GRU, OP_MSE_LOSS, 3.0 * 2 * T * K },
                  { OP_GRU, OP_AFFINE, 2.0 * 2 * T * K } };
    for (int i = 0; i < 3; i++) {
        struct net net = { .builder = hp_build("recurrent", N) };
        struct hypar_shape shape = { 3, { N, T, K } };
        int x = hp_build_input(net.builder, "x", &shape, false, 0),
            target = hp_build_input(net.builder, "target", &shape, false, 0), out[3];
        bool lstm = cases[i].kind == OP_LSTM; /* has two states */
        int read[] = { x, HP_ABSENT, HP_MAKE, HP_MAKE, HP_MAKE, HP_MAKE, HP_MAKE };
        read[2] = lstm ? HP_ABSENT : HP_MAKE;
        struct op_request cell = { cases[i].kind, "cell", lstm ? 7 : 6, read,
                                   ATTRS({ ATTR_OUT, 1, V(K) }) };
        assert_int_equal(hp_build_op(net.builder, &cell, out, &net.err), HYPAR_OK);
        int y = cases[i].reader == OP_AFFINE
                    ? add_op(&net, OP_AFFINE, "copy", out[0], HP_ABSENT, NULL)
                    : out[0];
        add_op(&net, OP_MSE_LOSS, "loss", y, target, NULL);
        make_plan(&net, 1, eager_bf16, HYPAR_SHARD_NONE);
        struct hypar_program *program;
        assert_int_equal(hypar_lower(&program, net.plan, NULL, NULL), HYPAR_OK);
        struct memory_model *host =
            hp_memory(program, &(struct memory_options){ .host = true });
        expect("on a processor", host->device[0].saved - memory_of(&net).saved,
               N * cases[i].more);
        hp_memory_free(host);
        hypar_program_free(program);
        end(&net);
    }
}

/* Bags of words: on a processor other bytes are saved of each sample. */
static void bags(void **state)
{
    (void)state;
    enum { N = 16, WORDS = 3, ROWS = 5, C = 8, CARD = 40, HOST = 24 };
    double saved[2];
    for (int told = 0; told < 2; told++) {
        struct net net = { .builder = hp_build("bags", N) };
        int ids = hp_build_input(net.builder, "ids", &(struct hypar_shape){ 2, { N, WORDS } },
                                 true, 0),
            target = input(&net, "target", N, C), out[3];
        const struct attrs *attrs =
            told
                ? ATTRS({ ATTR_OUT, 1, V(C) }, { ATTR_VOCAB, 1, V(ROWS) },
                        { ATTR_SAVED_BYTES, 1, V(CARD) }, { ATTR_HOST_SAVED_BYTES, 1, V(HOST) })
                : ATTRS({ ATTR_OUT, 1, V(C) }, { ATTR_VOCAB, 1, V(ROWS) });
        struct op_request table = { OP_EMBEDDING, "table", 2, (int[]){ ids, HP_MAKE }, attrs };
        assert_int_equal(hp_build_op(net.builder, &table, out, &net.err), HYPAR_OK);
        int y = add_op(&net, OP_REDUCE_SUM, "sum", out[0], HP_ABSENT,
                       ATTRS({ ATTR_AXES, 1, V(1) }, { ATTR_KEEP, 1, V(0) }));
        add_op(&net, OP_MSE_LOSS, "loss", y, target, NULL);
        make_plan(&net, 1, eager_bf16, HYPAR_SHARD_NONE);
        struct hypar_program *program;
        assert_int_equal(hypar_lower(&program, net.plan, NULL, NULL), HYPAR_OK);
        struct memory_model *host =
            hp_memory(program, &(struct memory_options){ .host = true });
        saved[told] = memory_of(&net).saved;
        expect("on a processor", host->device[0].saved - saved[0], told ? HOST * N : 0);
        hp_memory_free(host);
        hypar_program_free(program);
        end(&net);
    }
    expect("on a card", saved[1] - saved[0], CARD * N);
}

/* Parameters that are divided ---------------------------------------------------------- */

/* Two layers in bf16, divided among two devices. PyTorch gathers both for each half, also the
 * first one's weight and the biases, which the backward half does not read. */
static void gathered(void **state)
{
    (void)state;
    enum { N = 8, IN = 4, WIDE = 16, OUT = 8 };
    double first = IN * WIDE, second = WIDE * OUT;
    for (int compiled = 0; compiled < 2; compiled++) {
        struct net net = { .builder = hp_build("gathered", N) };
        struct hypar_plan_settings settings = eager_bf16;
        settings.simulation.framework.kernels =
            compiled ? HYPAR_KERNELS_COMPILED : HYPAR_KERNELS_EAGER;
        int x = input(&net, "x", N, IN), target = input(&net, "target", N, OUT);
        int y = linear(&net, "1", linear(&net, "0", x, WIDE), OUT);
        add_op(&net, OP_MSE_LOSS, "loss", y, target, NULL);
        make_plan(&net, 2, settings, HYPAR_SHARD_PARAMETERS);
        struct hypar_program_totals totals = totals_of(&net);
        expect("parameters", totals.parameter_bytes,
               2 * (first + second + (compiled ? 0 : first) + second));
        expect("gradients", totals.gradient_bytes, 4 * (first + second));
        end(&net);
    }
}

/* A layer's parameters are there once while its backward half runs, and those of the layer
 * before it, which are gathered ahead. Of layer 1 there are its input, its error, the error
 * that it computes, and its gradient, which waits in bf16; x is there, and the batch in fp32.
 */
static void gathered_memory(void **state)
{
    (void)state;
    enum { DEVICES = 4, N = 256, SHARE = N / DEVICES, C = 4, WIDE = 16 };
    struct net net = { .builder = hp_build("gathered", N) };
    int x = input(&net, "x", N, C), target = input(&net, "target", N, C);
    int y = linear(&net, "1", linear(&net, "0", x, WIDE), C);
    add_op(&net, OP_MSE_LOSS, "loss", y, target, NULL);
    make_plan(&net, DEVICES, eager_bf16, HYPAR_SHARD_PARAMETERS);
    struct hypar_memory m = memory_of(&net);
    double each = C * WIDE, batch = 4 * SHARE * 2 * C;
    expect("state", m.parameters + m.optimizer, 4 * 2 * each / DEVICES);
    expect("peak", m.peak - m.parameters - m.optimizer,
           batch + 4 * SHARE * (C + WIDE) + 2 * (2 * each + each) + 4);
    end(&net);
}

/* A step is fullest in the backward half of a large loss. Where the model computes the loss,
 * parameters of the first layer that goes backward are there by then; where the loss is beside
 * the model, they are gathered after it. */
static void loss_beside(void **state)
{
    (void)state;
    enum { DEVICES = 2, N = 512, C = 4, CLASSES = 64 };
    double peak[2];
    for (int own = 0; own < 2; own++) {
        struct net net = { .builder = hp_build("beside", N) };
        int x = input(&net, "x", N, C),
            labels = hp_build_input(net.builder, "labels", &(struct hypar_shape){ 1, { N } },
                                    true, 0);
        add_op(&net, OP_CROSS_ENTROPY, "loss", linear(&net, "head", x, CLASSES), labels, NULL);
        make_plan(&net, DEVICES, eager_bf16, HYPAR_SHARD_PARAMETERS);
        struct torch_argument arguments[] = { { .name = "x" }, { .name = "labels" } };
        net.graph->arguments = arguments;
        net.graph->n_arguments = own ? 2 : 1;
        peak[own] = memory_of(&net).peak;
        end(&net);
    }
    expect("gathered", peak[1] - peak[0], 2 * C * CLASSES);
}

/* Layers that read an input of the model tell by no error that their backward half is over: all
 * wait for the end, in bf16 and with their parameters. When the first one is summed, there are
 * its gradient in bf16, the buffer in fp32 and the half that this device owns, and of the two
 * other layers gradients and parameters. */
static void summed_at_end(void **state)
{
    (void)state;
    enum { N = 2, WIDE = 64, TABLES = 3, EACH = WIDE * WIDE };
    struct net net = { .builder = hp_build("tables", N) };
    int x = input(&net, "x", N, WIDE), target = input(&net, "target", N, WIDE), y = -1;
    for (int i = 0; i < TABLES; i++) {
        char name[16];
        snprintf(name, sizeof name, "tables.%d", i);
        int row = linear(&net, name, x, WIDE);
        y = i ? add_op(&net, OP_ADD, i == 1 ? "add" : "sum", y, row, NULL) : row;
    }
    add_op(&net, OP_MSE_LOSS, "loss", y, target, NULL);
    make_plan(&net, 2, eager_bf16, HYPAR_SHARD_PARAMETERS);
    struct hypar_memory m = memory_of(&net);
    expect("state", m.parameters + m.optimizer, 4.0 * TABLES * EACH / 2);
    assert_int_equal((int)((m.buffers + m.gradients) / EACH), 2 + 4 + 4 / 2 + 2 * (2 + 2));
    end(&net);
}

/* Weights in bf16 are copies of masters, which end layer by layer while gradients in fp32
 * begin. Gradients of so many layers are more than what there is of one layer. Where a second
 * micro-batch needs the copies, they stay. */
static void copies(void **state)
{
    (void)state;
    enum { N = 2, WIDE = 64, LAYERS = 32, EACH = WIDE * WIDE };
    for (int micro = 1; micro <= 2; micro++) {
        struct net net = { .builder = hp_build("copies", N) };
        int x = input(&net, "x", N, WIDE), target = input(&net, "target", N, WIDE);
        for (int layer = 0; layer < LAYERS; layer++) {
            char name[16];
            snprintf(name, sizeof name, "layers.%d", layer);
            x = linear(&net, name, x, WIDE);
        }
        add_op(&net, OP_MSE_LOSS, "loss", x, target, NULL);
        make_plan(&net, 1, eager_bf16, HYPAR_SHARD_NONE);
        hp_plan_set_schedule(net.plan, &(struct hypar_schedule){ .micro_batches = micro });
        struct hypar_memory m = memory_of(&net);
        double copied = 2.0 * EACH * (micro == 1 ? 0 : LAYERS);
        expect("parameters", m.parameters, copied);
        expect("optimizer and gradients", m.optimizer + m.gradients, 8.0 * EACH * LAYERS);
        double state_bytes;
        hypar_plan_state_bytes(net.plan, &state_bytes);
        expect("state", state_bytes, (micro == 1 ? 8.0 : 10.0) * EACH * LAYERS);
        struct problem problem = { .settings = eager_bf16 };
        expect("estimated state",
               EACH * LAYERS * hp_element_state_bytes(&problem, micro > 1, HYPAR_SHARD_NONE, 1),
               state_bytes);
        struct hypar_search_options options = { .memory_bytes = 8e9 };
        problem.machine = net.plan->machine;
        problem.options = &options;
        if (micro == 1) /* planners weigh parameters by the same bytes */
            expect("parameters that fit", hp_room_for_params(&problem),
                   hp_least_room(&problem) * EACH * LAYERS / state_bytes);
        /* The last layer's copy and its gradients in bf16 are gone when all gradients in fp32
         * are there, and the buffer that these are summed in. */
        assert_int_equal((int)(m.buffers / EACH), 4);
        end(&net);
    }
}

/* Also in fp32, fully_shard() computes with copies of the parameters of its replicas: they are
 * there beside their masters, which are divided with the optimizer's state. Activations of so
 * many samples are the most while no gradient is there. */
static void fp32_copies(void **state)
{
    (void)state;
    enum { N = 512, WIDE = 16, PARAMS = 2 * WIDE * WIDE };
    static const enum hypar_shard shards[] = { HYPAR_SHARD_NONE, HYPAR_SHARD_OPTIMIZER,
                                               HYPAR_SHARD_GRADIENTS, HYPAR_SHARD_NONE };
    for (int i = 0; i < 4; i++) {
        int devices = i < 3 ? 2 : 1;
        struct net net = { .builder = hp_build("fp32", N) };
        int x = input(&net, "x", N, WIDE), target = input(&net, "target", N, WIDE);
        int y = linear(&net, "layers.1", linear(&net, "layers.0", x, WIDE), WIDE);
        add_op(&net, OP_MSE_LOSS, "loss", y, target, NULL);
        make_plan(&net, devices, eager, shards[i]);
        struct hypar_memory m = memory_of(&net);
        double masters = shards[i] ? 0.5 : 1, copies = devices > 1 ? 1 : 0;
        expect("parameters", m.parameters, 4 * PARAMS * (masters + copies));
        end(&net);
    }
}

/* A network reads the first half of a table of positions. PyTorch sums, gathers and keeps all
 * of the table: with AdamW in bf16 12 bytes of each element, and its gradient. */
static void rows_not_read(void **state)
{
    (void)state;
    enum { N = 4, C = 64, TABLE = 2 * C };
    for (int shard = 0; shard < 2; shard++) {
        struct net net = { .builder = hp_build("positions", N) };
        struct hypar_plan_settings settings = eager_bf16;
        settings.optimizer = HYPAR_ADAMW;
        int x = input(&net, "x", N, C), target = input(&net, "target", N, C);
        int p = hp_build_param(net.builder, "p", &(struct hypar_shape){ 1, { TABLE } });
        p = add_op(
            &net, OP_SLICE, "slice", p, HP_ABSENT,
            ATTRS({ ATTR_AXIS, 1, V(0) }, { ATTR_START, 1, V(0) }, { ATTR_STOP, 1, V(C) }));
        p = add_op(&net, OP_RESHAPE, "view", p, HP_ABSENT, ATTRS({ ATTR_SHAPE, 2, V(1, C) }));
        add_op(&net, OP_MSE_LOSS, "loss", add_op(&net, OP_ADD, "add", x, p, NULL), target,
               NULL);
        make_plan(&net, 2, settings, shard ? HYPAR_SHARD_PARAMETERS : HYPAR_SHARD_NONE);
        struct hypar_program_totals totals = totals_of(&net);
        expect("gradients", totals.backward_bytes + totals.gradient_bytes,
               4 * TABLE * (shard ? 1.0 : 2.0));
        expect("parameters", totals.parameter_bytes, shard ? 2 * 2.0 * TABLE : 0);
        struct hypar_memory m = memory_of(&net);
        expect("state", m.parameters + m.optimizer, 12.0 * TABLE / (1 + shard));
        end(&net);
    }
}

/* The gradient of a view of a parameter: a sum over two devices moves every byte twice,
 * PyTorch's reduce-scatter of a divided parameter once. */
static void views_of_parameters(void **state)
{
    (void)state;
    enum { N = 4, C = 6 };
    static const struct {
        enum hypar_precision precision;
        bool fp32_gradients;
        int bytes;
    } rows[] = { { HYPAR_FP32, false, 4 }, { HYPAR_BF16, true, 4 }, { HYPAR_BF16, false, 2 } };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        struct net net = { .builder = hp_build("views", N) };
        struct hypar_plan_settings settings = eager;
        settings.precision = rows[i / 2].precision;
        settings.fp32_gradients = rows[i / 2].fp32_gradients;
        int x = input(&net, "x", N, C), target = input(&net, "target", N, C);
        int p = hp_build_param(net.builder, "p", &(struct hypar_shape){ 1, { C } });
        p = add_op(&net, OP_RESHAPE, "view", p, HP_ABSENT, ATTRS({ ATTR_SHAPE, 2, V(1, C) }));
        add_op(&net, OP_MSE_LOSS, "loss", add_op(&net, OP_ADD, "add", x, p, NULL), target,
               NULL);
        make_plan(&net, 2, settings, i % 2 ? HYPAR_SHARD_GRADIENTS : HYPAR_SHARD_NONE);
        struct hypar_program_totals totals = totals_of(&net);
        expect("gradients", totals.backward_bytes + totals.gradient_bytes,
               rows[i / 2].bytes * C * (i % 2 ? 1.0 : 2.0));
        end(&net);
    }
}

/* In one micro-batch PyTorch scatters each gradient as soon as it is made, also where only the
 * optimizer's state is divided. Gradients of several are added up whole. */
static void scattered(void **state)
{
    (void)state;
    enum { N = 8, WIDE = 32, DEVICES = 2 };
    for (int i = 0; i < 4; i++) {
        const bool compiled = i / 2;
        const int micro = i % 2 + 1;
        struct hypar_memory m[2];
        for (int both = 0; both < 2; both++) {
            struct net net = { .builder = hp_build("scattered", N) };
            int x = input(&net, "x", N, WIDE), target = input(&net, "target", N, WIDE);
            for (int layer = 0; layer < 4; layer++)
                x = linear(&net, (char[]){ 'l', (char)('0' + layer), 0 }, x, WIDE);
            add_op(&net, OP_MSE_LOSS, "loss", x, target, NULL);
            make_plan(&net, DEVICES, compiled ? (struct hypar_plan_settings){ 0 } : eager,
                      HYPAR_SHARD_NONE);
            hp_plan_set_schedule(net.plan, &(struct hypar_schedule){ .micro_batches = micro });
            if (hypar_plan_shard_all(
                    net.plan, both ? HYPAR_SHARD_GRADIENTS : HYPAR_SHARD_OPTIMIZER, 0, NULL))
                fail();
            m[both] = memory_of(&net);
            end(&net);
        }
        if (!compiled && micro == 1)
            expect("peak", m[0].peak, m[1].peak);
        else
            assert_true(m[0].peak > m[1].peak);
    }
}

/* Stages ------------------------------------------------------------------------------- */

/* A stage has a buffer for each micro-batch that it receives, and for each error, and keeps
 * what it sent until the backward half is over. The first stage also keeps its input. Of one
 * micro-batch more there is the error of its linear layer, in later stages also the error that
 * it sends. The gradient of a later micro-batch is there before it is added to the others. If
 * it is known what the model is given, every stage has all of that. */
static void stages(void **state)
{
    (void)state;
    enum { STAGES = 4, WIDTH = 16, ROWS = 3 };
    static const enum hypar_schedule_kind kinds[] = { HYPAR_SCHEDULE_GPIPE,
                                                      HYPAR_SCHEDULE_1F1B };
    for (int i = 0; i < 20; i++) {
        int micro = 1 + i / 4;
        bool given = i / 2 % 2;
        struct net net = { .builder = hp_build("chain", ROWS * micro) };
        int x = input(&net, "x", ROWS * micro, WIDTH);
        int target = input(&net, "target", ROWS * micro, WIDTH);
        for (int s = 0; s < STAGES; s++) {
            char name[2][16];
            snprintf(name[0], sizeof name[0], "linear%d", s);
            snprintf(name[1], sizeof name[1], "relu%d", s);
            x = add_op(&net, OP_RELU, name[1], linear(&net, name[0], x, WIDTH), HP_ABSENT,
                       NULL);
        }
        add_op(&net, OP_MSE_LOSS, "loss", x, target, NULL);
        make_plan(&net, STAGES, eager, HYPAR_SHARD_NONE);
        net.graph->arguments =
            (struct torch_argument[]){ { .name = "x" }, { .name = "target" } };
        net.graph->n_arguments = given ? 2 : 0;
        hypar_plan_free(net.plan);
        net.plan = hp_plan_new(net.graph, net.machine, &eager);
        for (int s = 0; s < STAGES; s++)
            hp_plan_add_stage(
                net.plan, &(struct hypar_stage){ .n_ops = s == STAGES - 1 ? 3 : 2,
                                                 .op = (int[]){ 2 * s, 2 * s + 1, 2 * s + 2 },
                                                 .n_devices = 1,
                                                 .device = &s,
                                                 .replicas = 1 });
        hp_plan_set_schedule(
            net.plan, &(struct hypar_schedule){ .kind = kinds[i % 2], .micro_batches = micro });
        struct hypar_memory memory[STAGES];
        assert_int_equal(hypar_plan_memory(net.plan, NULL, memory, NULL), HYPAR_OK);
        double tensor = 4 * ROWS * WIDTH;
        for (int s = 0; s < STAGES - 1; s++) {
            int flying = i % 2 && micro > STAGES - s ? STAGES - s : micro;
            double kept = s == 0 ? 2 * flying + 1 : flying + 2,
                   received = s == 0 ? micro : 2 * micro,
                   unread = !given   ? 0
                            : s == 0 ? micro
                                     : 2 * micro;
            expect("peak", memory[s].peak,
                   (micro > 1 ? 3 : 2) * 4 * WIDTH * WIDTH +
                       tensor * (kept + received + unread));
        }
        end(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told),
        cmocka_unit_test(loss_beside),
        cmocka_unit_test(bags),
        cmocka_unit_test(recurrent),
        cmocka_unit_test(slices),
        cmocka_unit_test(parts),
        cmocka_unit_test(copies),
        cmocka_unit_test(fp32_copies),
        cmocka_unit_test(sums),
        cmocka_unit_test(processors),
        cmocka_unit_test(batch_norms),
        cmocka_unit_test(gathered),
        cmocka_unit_test(gathered_memory),
        cmocka_unit_test(summed_at_end),
        cmocka_unit_test(rows_not_read),
        cmocka_unit_test(views_of_parameters),
        cmocka_unit_test(scattered),
        cmocka_unit_test(stages),
    };
    return cmocka_run_group_tests_name("sim: memory of eager frameworks", tests, NULL, NULL);
}
