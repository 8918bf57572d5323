/* The built-in models: parameters, work and layers of each; each can be written, read back and
 * given another batch. The figures are those of the papers and of the usual frameworks. */
#include "graph/graph.h"
#include "model/model.h"
#include "model/word.h"
#include "model/zoo/zoo.h"
#include "tests/length.h"
#include "tests/written_graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* clang-format off */
static const struct {
    const char *word;
    int64_t params;
    double gmacs; /* forward, one sample, 1e9; 0: not known from elsewhere */
    int layers;   /* weighted */
} figures[] = {
    { "sfc", 140722176, 0.140722176, 4 },
    { "sconv", 100500, 0, 4 },
    { "lenet-c", 430500, 0, 4 },
    { "cifar-c", 145376, 0, 5 },
    { "alexnet-t", 16624656, 0, 8 },
    { "vgg-a", 132851392, 7.609, 11 },
    { "vgg-b", 133035712, 11.309, 13 },
    { "vgg-c", 133625536, 11.77, 16 },
    { "vgg-d", 138344128, 15.47, 16 },
    { "vgg-e", 143652544, 19.632, 19 },
    { "alexnet-hypar", 62367776, 0, 8 },
    { "alexnet-optcnn", 74721984, 0, 8 },
    { "mlp", 784 * 512 + 512 + 512 * 10 + 10, 0.000406528, 2 },
    { "mlp:784-8192-8192-10", 73629706, 0.07361331, 3 },
    { "lenet5", 61706, 0.000416520, 5 },
    { "alexnet", 61100840, 0.7142, 8 },
    { "vgg", 138357544, 15.47, 16 },
    { "vgg11", 132863336, 7.609, 11 },
    { "vgg13", 133047848, 11.308, 13 },
    { "vgg16", 138357544, 15.47, 16 },
    { "vgg19", 143667240, 19.632, 19 },
    { "vgg:depth=11", 132863336, 7.609, 11 },
    { "vgg16:image=32,classes=10", 33638218, 0.3328, 16 },
    { "resnet", 25557032, 4.09, 54 },
    { "resnet18", 11689512, 1.814, 21 },
    { "resnet34", 21797672, 3.664, 37 },
    { "resnet50", 25557032, 4.09, 54 },
    { "resnet101", 44549160, 7.801, 105 },
    { "resnet152", 60192808, 11.514, 156 },
    { "resnet:depth=152", 60192808, 11.514, 156 },
    { "resnet18:image=32,classes=10", 11181642, 0.0371, 21 },
    { "googlenet", 6624904, 1.498, 58 },
    { "inception-v3", 23834568, 5.713, 95 },
    { "densenet121", 7978856, 2.834, 121 },
    { "densenet121:depth=169", 14149480, 3.36, 169 },
    { "densenet121:depth=201", 20013928, 4.29, 201 },
    { "mobilenet-v2", 3504872, 0.3008, 53 },
    { "vit-b-16", 86567656, 17.56, 74 },
    { "bert", 109482240, 0, 75 },
    { "bert-base", 109482240, 0, 75 },
    { "bert-base:seq=128", 109482240, 11.17, 75 },
    { "bert-large", 335141888, 0, 147 },
    { "gpt", 124439808, 0, 74 },
    { "gpt2", 124439808, 0, 74 },
    { "gpt2:seq=128", 124439808, 0, 74 },
    { "gpt2:attention=unfused,attention_dropout_percent=10", 124439808, 0, 74 },
    { "gpt:layers=24,hidden=2048,heads=16,seq=1024,vocab=50257", 1313626112, 0, 146 },
    { "gpt2:tied=0", 163037184, 0, 74 },
    { "gpt2:ffn=2048,kv_heads=4,biases=0", 96045312, 0, 74 },
    { "gpt2:gated=1", 152788224, 0, 86 },
    { "gpt2-xl", 1557611200, 0, 290 },
    { "gpt3-175b", 174604259328, 0, 578 },
    { "llama", 6738415616, 0, 226 },
    { "llama:tied=1", 6607343616, 0, 226 },
    { "llama2-7b", 6738415616, 0, 226 },
    { "llama2-70b", 68976648192, 0, 562 },
    { "llama3-8b", 8030261248, 0, 226 },
    { "llama3-70b", 70553706496, 0, 562 },
    { "t5", 60506624, 0, 101 },
    { "t5-small", 60506624, 0, 101 },
    { "t5-base", 222903552, 0, 197 },
    { "t5-large", 737668096, 0, 389 },
    { "t5-3b", 2851598336, 0, 389 },
    { "t5-11b", 11307321344, 0, 389 },
    { "t5-base:gated=1,tied=0,ffn=2048", 247577856, 0, 221 },
    { "t5:attention=unfused,attention_dropout_percent=10", 60506624, 0, 101 },
    { "rnntc", 43829250, 1.34218, 201 },
    { "rnnlm", 108111632, 0, 160 },
    { "rnnlm:steps=2,hidden=64", 1356560, 0, 8 },
    { "nmt", 134021376, 0, 320 },
    { "gnmt8", 193766976, 0, 15 },
    { "gnmt16", 277718592, 0, 23 },
};
/* clang-format on */

enum { FIGURE_COUNT = sizeof figures / sizeof figures[0] };

static struct hypar_graph *import(const char *word, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    struct hypar_import_options options = { .batch = batch };
    if (hypar_import(&graph, word, &options, &err) != HYPAR_OK)
        fail_msg("%s: %s", word, err.text);
    return graph;
}

static struct hypar_graph *read_back(const char *text, size_t length, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    if (hp_graph_read_text(&graph, text, length, "text", batch, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return graph;
}

static void test_figures(void **state)
{
    (void)state;
    for (int i = 0; i < FIGURE_COUNT; i++) {
        struct hypar_graph *graph = import(figures[i].word, 1);
        if (hypar_graph_params(graph) != figures[i].params)
            fail_msg("%s: %lld parameters, expected %lld", figures[i].word,
                     (long long)hypar_graph_params(graph), (long long)figures[i].params);
        double gmacs = hypar_graph_flops_per_sample(graph) / 2e9;
        if (figures[i].gmacs > 0 && fabs(gmacs / figures[i].gmacs - 1) > 0.01)
            fail_msg("%s: %g G multiply-adds, expected %g", figures[i].word, gmacs,
                     figures[i].gmacs);
        if (hypar_graph_layer_count(graph) != figures[i].layers)
            fail_msg("%s: %d layers, expected %d", figures[i].word,
                     hypar_graph_layer_count(graph), figures[i].layers);
        assert_string_equal(hypar_graph_info(graph).name, figures[i].word);
        hypar_graph_free(graph);
    }
}

/* A model without figures is one that nobody has checked. */
static void test_every_model_has_figures(void **state)
{
    (void)state;
    for (int m = 0; m < hypar_model_count(); m++) {
        int i = 0;
        while (i < FIGURE_COUNT && strcmp(figures[i].word, hypar_model_at(m).name) != 0)
            i++;
        if (i == FIGURE_COUNT)
            fail_msg("model '%s' has no row: add one to figures in tests/model/test_zoo.c",
                     hypar_model_at(m).name);
    }
}

static void test_rows(void **state)
{
    (void)state;
    for (int m = 0; m < hypar_model_count(); m++) {
        struct hypar_model_info info = hypar_model_at(m);
        const struct model *model = hp_model(m);
        int values[MAX_SIZES];
        struct hypar_error err = { 0 };
        assert_true(*info.name && *info.summary && info.source);
        assert_null(strpbrk(info.name, ":/,= "));
        assert_true(model->family->n_options <= MAX_OPTIONS);
        hp_options_start(model->family, values);
        if (hp_options_read(model->family, model->preset, values, &err) != HYPAR_OK)
            fail_msg("%s: preset: %s", info.name, err.text);
        for (int k = 0; k < model->family->n_options; k++)
            assert_in_range(values[k], model->family->options[k].least,
                            model->family->options[k].most);
        for (int other = 0; other < m; other++)
            assert_string_not_equal(info.name, hypar_model_at(other).name);
    }
}

/* The options that are listed, written out, change nothing. */
static void test_listed_options(void **state)
{
    (void)state;
    for (int m = 0; m < hypar_model_count(); m++) {
        struct hypar_model_info info = hypar_model_at(m);
        char word[320];
        snprintf(word, sizeof word, "%s%s%s", info.name, *info.options ? ":" : "",
                 info.options);
        assert_true(strlen(info.options) + 1 < sizeof info.options);
        struct hypar_graph *plain = import(info.name, 2), *full = import(word, 2);
        assert_true(hypar_graph_info(plain).hash == hypar_graph_info(full).hash);
        hypar_graph_free(plain);
        hypar_graph_free(full);
    }
}

static void test_default_batch(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int64_t batch;
    } cases[] = {
        { "sfc", 256 }, { "vgg-e", 256 }, { "resnet18", 32 }, { "rnnlm:steps=2", 32 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *graph = import(cases[i].word, 0);
        assert_int_equal(hypar_graph_info(graph).batch, cases[i].batch);
        hypar_graph_free(graph);
    }
}

static void assert_same_tensors(const struct hypar_graph *a, const struct hypar_graph *b)
{
    assert_int_equal(a->n_tensors, b->n_tensors);
    for (int t = 0; t < a->n_tensors; t++) {
        assert_string_equal(a->tensors[t].name, b->tensors[t].name);
        assert_int_equal(a->tensors[t].is_output, b->tensors[t].is_output);
        assert_int_equal(a->tensors[t].needs_grad, b->tensors[t].needs_grad);
    }
    assert_int_equal(a->loss, b->loss);
}

/* Written, read back, written again: the same bytes and the same graph. Then read for another
 * batch: the graph that the zoo builds for it. */
static void check_round_trip(const char *word, int64_t batch, int64_t other)
{
    size_t n, again_n;
    struct hypar_graph *graph = import(word, batch), *target = import(word, other);
    char *text = written_graph(graph, &n);
    struct hypar_graph *same = read_back(text, n, 0);
    char *again = written_graph(same, &again_n);
    struct hypar_graph *moved = read_back(text, n, other);

    assert_int_equal(n, again_n);
    assert_memory_equal(text, again, n);
    assert_same_tensors(graph, same);
    assert_true(hypar_graph_info(graph).hash == hypar_graph_info(same).hash);
    assert_true(hypar_graph_info(target).hash == hypar_graph_info(moved).hash);
    assert_true(hypar_graph_info(target).hash != hypar_graph_info(graph).hash);
    free(text);
    free(again);
    hypar_graph_free(graph);
    hypar_graph_free(target);
    hypar_graph_free(same);
    hypar_graph_free(moved);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < FIGURE_COUNT; i++) {
        check_round_trip(figures[i].word, 0, 3);
        check_round_trip(figures[i].word, 1, 8);
    }
}

/* Is a row of the same builder before this one? It has the same options. */
static bool is_of_family(int m)
{
    for (int i = 0; i < m; i++)
        if (hp_model(i)->family == hp_model(m)->family)
            return true;
    return false;
}

/* Each option at its least and at its most: a graph, or one line. In the short form of one
 * model of each builder. */
static void test_extreme_options(void **state)
{
    (void)state;
    for (int m = 0; m < hypar_model_count(); m++) {
        const struct model *model = hp_model(m);
        if (is_of_family(m) && !full_length())
            continue;
        for (int k = 0; k < 2 * model->family->n_options; k++) {
            const struct option *option = &model->family->options[k / 2];
            struct hypar_graph *graph;
            struct hypar_error err = { 0 };
            struct hypar_import_options one = { .batch = 1 };
            char word[80];
            snprintf(word, sizeof word, "%s:%s=%d", model->name, option->name,
                     k % 2 ? option->most : option->least);
            enum hypar_status status = hypar_import(&graph, word, &one, &err);
            assert_true(status == HYPAR_OK || status == HYPAR_INVALID);
            assert_int_equal(status == HYPAR_OK, graph != NULL);
            if (status != HYPAR_OK && strncmp(err.text, word, strlen(word)) != 0)
                fail_msg("%s: says '%s'", word, err.text);
            hypar_graph_free(graph);
        }
    }
}

static bool has_op(const struct hypar_graph *graph, const char *name, const char *kind)
{
    int op = hypar_graph_find_op(graph, name);
    return op >= 0 && strcmp(hypar_graph_op(graph, op).kind, kind) == 0;
}

/* Names that plans and papers refer to. */
static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *word, *op, *kind;
    } cases[] = {
        { "sfc", "fc4", "linear" },
        { "sconv", "conv4", "conv" },
        { "vgg-e", "conv5_4", "conv" },
        { "vgg-e", "fc1", "linear" },
        { "vgg16", "conv3_3", "conv" },
        { "alexnet", "conv5", "conv" },
        { "resnet50", "layer1.0.conv1", "conv" },
        { "resnet50", "layer4.2.add", "add" },
        { "gpt2", "h.0.attn", "attention" },
        { "gpt2", "lm_head", "linear" },
        { "llama2-7b", "layers.31.rope_q", "rope" },
        { "t5-small", "decoder.block.5.EncDecAttention.attention", "attention" },
        { "t5-small", "encoder.relative_attention_bias.table", "embedding" },
        { "rnnlm", "lstm2.39", "lstm_cell" },
        { "bert-base", "pooler.tanh", "tanh" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *graph = import(cases[i].word, 1);
        if (!has_op(graph, cases[i].op, cases[i].kind))
            fail_msg("%s: no %s '%s'", cases[i].word, cases[i].kind, cases[i].op);
        hypar_graph_free(graph);
    }
}

/* Maps of the networks whose papers' closed forms use them. */
static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *word, *tensor;
        struct hypar_shape shape;
    } cases[] = {
        { "alexnet-t", "conv1", { 4, { 2, 48, 55, 55 } } },
        { "alexnet-t", "pool2", { 4, { 2, 128, 27, 27 } } },
        { "alexnet-t", "pool3", { 4, { 2, 192, 13, 13 } } },
        { "alexnet-hypar", "pool5", { 4, { 2, 256, 6, 6 } } },
        { "alexnet-optcnn", "pool5", { 4, { 2, 256, 7, 7 } } },
        { "cifar-c", "pool3", { 4, { 2, 64, 4, 4 } } },
        { "sconv", "pool4", { 4, { 2, 10, 1, 1 } } },
        { "googlenet", "maxpool4", { 4, { 2, 832, 7, 7 } } },
        { "inception-v3", "Mixed_7c.concat", { 4, { 2, 2048, 8, 8 } } },
        { "densenet121", "denseblock4.denselayer16.concat", { 4, { 2, 1024, 7, 7 } } },
        { "vit-b-16", "with_class", { 3, { 2, 197, 768 } } },
        { "rnnlm", "logits", { 3, { 2, 40, 10000 } } },
        { "nmt", "memory", { 3, { 2, 40, 1024 } } },
        { "gnmt8", "attention", { 3, { 2, 50, 1024 } } },
        { "bert-base", "pooler.tanh", { 2, { 2, 768 } } },
        { "llama2-70b:layers=1", "layers.0.k_proj", { 3, { 2, 4096, 1024 } } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *graph = import(cases[i].word, 2);
        int t = 0;
        while (t < graph->n_tensors && strcmp(graph->tensors[t].name, cases[i].tensor) != 0)
            t++;
        if (t == graph->n_tensors)
            fail_msg("%s: no tensor '%s'", cases[i].word, cases[i].tensor);
        const struct hypar_shape *shape = &graph->tensors[t].shape;
        assert_int_equal(shape->n_dims, cases[i].shape.n_dims);
        for (int d = 0; d < shape->n_dims; d++)
            assert_int_equal(shape->dim[d], cases[i].shape.dim[d]);
        assert_int_equal(graph->tensors[t].sample_dim, 0);
        hypar_graph_free(graph);
    }
}

/* Each network ends in one output and one loss, and every parameter is trained. */
static void test_ends(void **state)
{
    (void)state;
    for (int m = 0; m < hypar_model_count(); m++) {
        struct hypar_graph *graph = import(hypar_model_at(m).name, 1);
        int outputs = 0;
        for (int t = 0; t < graph->n_tensors; t++) {
            outputs += graph->tensors[t].is_output;
            if (graph->tensors[t].kind == TENSOR_PARAM)
                assert_true(graph->use_start[t] < graph->use_start[t + 1]);
        }
        assert_int_equal(outputs, 1);
        assert_int_equal(graph->tensors[graph->loss].producer, graph->n_ops - 1);
        hypar_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_every_model_has_figures),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_listed_options),
        cmocka_unit_test(test_default_batch),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_extreme_options),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests_name("model/zoo", tests, NULL, NULL);
}
