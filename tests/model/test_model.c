/* Model words and paths: the model they name, and the error if there is none. */
#include "model/word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    const char *word;
    int64_t batch;
    enum hypar_status status;
    const char *message;
} bad[] = {
    { "resnet51", 0, HYPAR_INVALID,
      "unknown model 'resnet51', did you mean resnet50, resnet or resnet18?" },
    { "vgg6", 0, HYPAR_INVALID, "unknown model 'vgg6', did you mean vgg or vgg16?" },
    { "VGG16", 0, HYPAR_INVALID, "unknown model 'VGG16', did you mean vgg16, vgg11 or vgg13?" },
    { "frobnicate", 0, HYPAR_INVALID,
      "unknown model 'frobnicate', expected one that 'hypar models' lists, or a path (with "
      "a '/', or ending in .json)" },
    { "", 0, HYPAR_INVALID,
      "unknown model '', expected one that 'hypar models' lists, or a path (with a '/', or "
      "ending in .json)" },
    { "sfc:depth=3", 0, HYPAR_INVALID, "sfc:depth=3: this model has no options" },
    { "resnet18:imag=32", 0, HYPAR_INVALID,
      "resnet18:imag=32: unknown option 'imag', did you mean image?" },
    { "resnet18:image", 0, HYPAR_INVALID,
      "resnet18:image: option 'image' is '', expected 32 to 4096" },
    { "resnet18:image=x", 0, HYPAR_INVALID,
      "resnet18:image=x: option 'image' is 'x', expected 32 to 4096" },
    { "resnet18:image=-1", 0, HYPAR_INVALID,
      "resnet18:image=-1: option 'image' is '-1', expected 32 to 4096" },
    { "resnet18:image=99999999999", 0, HYPAR_INVALID,
      "resnet18:image=99999999999: option 'image' is '99999999999', expected 32 to 4096" },
    { "resnet18:image=32,", 0, HYPAR_INVALID,
      "resnet18:image=32,: unknown option '', expected one of depth, image, classes" },
    { "resnet18:image=32,image=64", 0, HYPAR_INVALID,
      "resnet18:image=32,image=64: option 'image' is given twice" },
    { "resnet:depth=20", 0, HYPAR_INVALID,
      "resnet:depth=20: depth is 20, expected 18, 34, 50, 101 or 152" },
    { "vgg:depth=12", 0, HYPAR_INVALID,
      "vgg:depth=12: depth is 12, expected 11, 13, 16 or 19" },
    { "densenet121:depth=122", 0, HYPAR_INVALID,
      "densenet121:depth=122: depth is 122, expected 121, 169 or 201" },
    { "gpt2:seq=2048", 0, HYPAR_INVALID,
      "gpt2:seq=2048: seq is 2048, expected at most 1024, the learned positions" },
    { "gpt:attention=flash", 0, HYPAR_INVALID,
      "gpt:attention=flash: option 'attention' is 'flash', expected one of fused, unfused" },
    { "gpt:attention_dropout_percent=10", 0, HYPAR_INVALID,
      "gpt:attention_dropout_percent=10: dropout of attention weights, expected "
      "attention=unfused beside it" },
    { "gpt:hidden=100", 0, HYPAR_INVALID,
      "gpt:hidden=100: hidden is 100, expected a multiple of heads, which is 12" },
    { "llama:kv_heads=5", 0, HYPAR_INVALID,
      "llama:kv_heads=5: heads is 32, expected a multiple of kv_heads, which is 5" },
    { "vit-b-16:image=100", 0, HYPAR_INVALID,
      "vit-b-16:image=100: image is 100, expected a multiple of patch, which is 16" },
    { "gnmt8:layers=5", 0, HYPAR_INVALID,
      "gnmt8:layers=5: layers is 5, expected an even number" },
    { "mlp:784", 0, HYPAR_INVALID,
      "mlp:784: one size, expected at least two, as in 784-512-10" },
    { "mlp:784--10", 0, HYPAR_INVALID,
      "mlp:784--10: '' is no size, expected sizes from 1 to 16777216" },
    { "mlp:784-0", 0, HYPAR_INVALID,
      "mlp:784-0: '0' is no size, expected sizes from 1 to 16777216" },
    { "lenet5:", 0, HYPAR_INVALID, "lenet5:: nothing follows the colon, expected options" },
    { "mlp:", 0, HYPAR_INVALID, "mlp:: nothing follows the colon, expected options" },
    { "net.onnx", 0, HYPAR_UNREADABLE, "net.onnx: cannot open: No such file or directory" },
    { "net.onnx:dim=seq=4", 0, HYPAR_UNREADABLE,
      "net.onnx: cannot open: No such file or directory" },
    { "net.onnx:seq=4", 0, HYPAR_INVALID,
      "net.onnx: unknown option 'seq=4', expected batch-dim=NAME=DIM or dim=NAME=N" },
    { "./net:dim=seq=4,batch-dim=x=1", 0, HYPAR_UNREADABLE,
      "./net: cannot open: No such file or directory" },
    { "net:batch-dim=x=1,dim=seq=4", 0, HYPAR_INVALID,
      "unknown model 'net', did you mean nmt?" },
    { "sfc", (int64_t)1 << 33, HYPAR_INVALID, "batch is 8589934592, expected 1 to 4294967296" },
    { "sfc", -1, HYPAR_INVALID, "batch is -1, expected 1 to 4294967296" },
    { "no/such.json", 0, HYPAR_UNREADABLE,
      "no/such.json: cannot open: No such file or directory" },
    { "nosuch.json", 0, HYPAR_UNREADABLE,
      "nosuch.json: cannot open: No such file or directory" },
    { "no/such", 0, HYPAR_UNREADABLE, "no/such: cannot open: No such file or directory" },
    { "./tests", 0, HYPAR_UNREADABLE, "./tests: cannot read: Is a directory" },
    { "./LICENSE", 0, HYPAR_UNSUPPORTED,
      "./LICENSE: unknown kind of file, expected hypar-graph/1 JSON, ONNX or a PipeDream "
      "profile" },
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        struct hypar_import_options options = { .batch = bad[i].batch };
        enum hypar_status status = hypar_import(&graph, bad[i].word, &options, &err);
        if (status != bad[i].status || strcmp(err.text, bad[i].message) != 0)
            fail_msg("%s\n  says     %s\n  expected %s", bad[i].word, err.text, bad[i].message);
        assert_null(graph);
        assert_int_equal(hypar_import(&graph, bad[i].word, &options, NULL), status);
    }
}

/* A batch too large for a tensor is refused, not overflown. */
static void test_too_large(void **state)
{
    (void)state;
    static const char *const words[] = { "resnet18:image=4096",
                                         "gpt3-175b:seq=1048576,positions=0", "rnnlm",
                                         "mlp:16777216-16777216" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        struct hypar_import_options options = { .batch = (int64_t)1 << 32 };
        assert_int_equal(hypar_import(&graph, words[i], &options, &err), HYPAR_INVALID);
        if (!strstr(err.text, "expected less than 2^50"))
            fail_msg("%s: says %s", words[i], err.text);
    }
}

/* Whatever its name, a file that begins with '{' is JSON. */
static void test_by_content(void **state)
{
    (void)state;
    static const char text[] = " {\"format\":\"hypar-graph/1\",\"name\":\"g\",\"batch\":2,"
                               "\"inputs\":[{\"name\":\"x\",\"shape\":[2,3]}],\"ops\":"
                               "[{\"name\":\"a\",\"kind\":\"relu\",\"inputs\":[\"x\"]}]}";
    char path[] = "/tmp/hypar-model-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    enum hypar_status status = hypar_import(&graph, path, NULL, &err);
    unlink(path);
    if (status != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(hypar_graph_info(graph).batch, 2);
    hypar_graph_free(graph);
}

/* Options of the word and of the call add up, as lists do. */
static void test_options_add_up(void **state)
{
    (void)state;
    static const struct {
        const char *word, *batch_dims, *dims, *message; /* NULL: it is read */
    } cases[] = {
        { "lstm_lm.onnx:batch-dim=x=1", NULL, NULL, NULL },
        { "lstm_lm.onnx", "x=1", NULL, NULL },
        { "lstm_lm.onnx:dim=nope=1", "x=1", NULL,
          "no symbolic dimension 'nope'; it has batch" },
        { "lstm_lm.onnx:dim=batch=4", NULL, "nope=1", "no symbolic dimension 'nope'" },
        { "lstm_lm.onnx:batch-dim=x=1", "nope=1", NULL, "no input 'nope'; it has x" },
        { "lstm_lm.onnx:batch-dim=x=1,batch-dim=x=0", NULL, "batch=4", NULL },
        { "lstm_lm.onnx", "x=-2", NULL, "the samples cannot be in -2" },
        { "lstm_lm.onnx", "x", NULL, "'x' is not NAME=NUMBER" },
        { "lstm_lm.onnx", "x=", NULL, "'x=' is not NAME=NUMBER" },
        { "lstm_lm.onnx", "x=1y", NULL, "'x=1y' is not NAME=NUMBER" },
    };
    if (strstr(hypar_features(), "protobuf-c: no"))
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[256];
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        struct hypar_import_options options = { .batch = 4,
                                                .batch_dims = cases[i].batch_dims,
                                                .dims = cases[i].dims };
        snprintf(path, sizeof path, "tests/data/onnx/train/%s", cases[i].word);
        enum hypar_status status = hypar_import(&graph, path, &options, &err);
        if (cases[i].message ? !strstr(err.text, cases[i].message) : status != HYPAR_OK)
            fail_msg("%s: says '%s', expected '%s'", path, err.text, cases[i].message);
        hypar_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_by_content),
        cmocka_unit_test(test_options_add_up),
    };
    return cmocka_run_group_tests_name("model/model", tests, NULL, NULL);
}
