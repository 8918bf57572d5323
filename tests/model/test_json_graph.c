/* hypar-graph/1: files written by hand are read, and bad files give their errors. */
#include "base/random.h"
#include "graph/graph.h"
#include "model/model.h"
#include "tests/written_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Texts are written with ' for ". */
static enum hypar_status read_quoted(struct hypar_graph **out, const char *quoted,
                                     int64_t batch, struct hypar_error *err)
{
    char *text = strdup(quoted);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    enum hypar_status status = hp_graph_read_text(out, text, strlen(text), "f", batch, err);
    free(text);
    return status;
}

/* The parts that most cases have in common. */
#define HEAD     "{'format':'hypar-graph/1','name':'g','batch':4,"
#define X_INPUT  "{'name':'x','shape':[4,8]}"
#define IN       "'inputs':[" X_INPUT "],"
#define OPS(...) "'ops':[" __VA_ARGS__ "]}"
#define RELU     "{'name':'a','kind':'relu','inputs':['x']}"

static const struct {
    const char *text;
    int64_t batch;
    enum hypar_status status;
    const char *message;
} bad[] = {
    { "[]", 0, HYPAR_INVALID, "f: expected an object, not an array" },
    { "{}", 0, HYPAR_INVALID, "f: format: missing, expected a string" },
    { "{'format':'hypar-plan/1'}", 0, HYPAR_INVALID,
      "f: format: expected \"hypar-graph/1\", not \"hypar-plan/1\"" },
    { "{'format':'hypar-graph/1','nam':'g'}", 0, HYPAR_INVALID,
      "f: unknown member 'nam', did you mean name?" },
    { HEAD "'weights':'../w'," IN OPS(RELU), 0, HYPAR_INVALID,
      "f: weights: expected a file beside this one, not \"../w\"" },
    { HEAD "'weights':1," IN OPS(RELU), 0, HYPAR_INVALID,
      "f: weights: expected a string, not 1" },
    { HEAD IN "'params':[{'name':'b','shape':[8],'trained':0}],'ops':[]}", 0, HYPAR_INVALID,
      "f: params[0].trained: expected true or false, not 0" },
    { "{'format':'hypar-graph/1','name':3}", 0, HYPAR_INVALID,
      "f: name: expected a string, not 3" },
    { "{'format':'hypar-graph/1','name':'g'}", 0, HYPAR_INVALID,
      "f: batch: missing, expected an integer in 1..4294967296" },
    { "{'format':'hypar-graph/1','name':'g','batch':0}", 0, HYPAR_INVALID,
      "f: batch: expected an integer in 1..4294967296, not 0" },
    { HEAD "'ops':[]}", 0, HYPAR_INVALID, "f: inputs: missing, expected an array" },
    { HEAD "'inputs':[{'name':'x','shape':[4],'type':1}],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[0]: unknown member 'type', expected one of name, shape, index, sample_dim" },
    { HEAD "'inputs':[{'name':'x','shape':[8,8]}],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[0].shape: dimension 0 has 8, expected the batch of 4 (or \"sample_dim\": "
      "-1)" },
    { HEAD "'inputs':[{'name':'x','shape':[4,0]}],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[0].shape[1]: expected an integer in 1..1125899906842624, not 0" },
    { HEAD "'inputs':[{'name':'x','shape':[4,2,2,2,2,2,2]}],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[0].shape: has 7 elements, expected at most 6" },
    { HEAD "'inputs':[{'name':'x','shape':[4,1e9]}],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[0].shape[1]: expected an integer in 1..1125899906842624, not 1000000000.0" },
    { HEAD "'inputs':[{'name':'x','shape':[4,1000000000,1000000000]}],'ops':[]}", 0,
      HYPAR_INVALID, "f: inputs[0].shape: 4e+18 elements, expected less than 2^50" },
    { HEAD "'inputs':[{'name':'x','shape':[4],'sample_dim':1}],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[0].sample_dim: expected an integer in -1..0, not 1" },
    { HEAD "'inputs':[{'name':'x','shape':[4],'index':1}],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[0].index: expected true or false, not 1" },
    { HEAD "'inputs':[" X_INPUT "," X_INPUT "],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[1].name: 'x' is defined already" },
    { HEAD "'inputs':[{'name':'','shape':[4]}],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[0].name: empty, expected a name" },
    { HEAD IN "'params':[{'name':'w','shape':[8,8]}]," OPS(RELU), 0, HYPAR_INVALID,
      "f: params[0]: 'w' is not used by any operator" },
    { HEAD IN "'params':[{'name':'w','shape':[8,8],'index':true}],'ops':[]}", 0, HYPAR_INVALID,
      "f: params[0]: unknown member 'index', expected one of name, shape, trained" },
    { HEAD IN "'ops':[]}", 0, HYPAR_INVALID, "f: a graph without operators" },
    { HEAD IN "'ops':[1]}", 0, HYPAR_INVALID, "f: ops[0]: expected an object, not 1" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':['x'],'in':[]}"), 0, HYPAR_INVALID,
      "f: ops[0]: unknown member 'in', expected one of name, kind, inputs, attrs, input_bytes, "
      "choices, fp32" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':['x'],'fp32':1}"), 0, HYPAR_INVALID,
      "f: ops[0].fp32: expected true or false, not 1" },
    { HEAD IN OPS("{'kind':'relu','inputs':['x']}"), 0, HYPAR_INVALID,
      "f: ops[0].name: missing, expected a string" },
    { HEAD IN OPS("{'name':'','kind':'relu','inputs':['x']}"), 0, HYPAR_INVALID,
      "f: ops[0].name: empty, expected a name" },
    { HEAD IN OPS("{'name':'a','kind':'rely','inputs':['x']}"), 0, HYPAR_INVALID,
      "f: ops[0].kind: unknown operator kind 'rely', did you mean relu? See "
      "'hypar "
      "ops'" },
    { HEAD IN OPS("{'name':'a','kind':'frobnicate','inputs':['x']}"), 0, HYPAR_INVALID,
      "f: ops[0].kind: unknown operator kind 'frobnicate'; see 'hypar ops'" },
    { HEAD IN OPS("{'name':'*','kind':'relu','inputs':['x']}"), 0, HYPAR_INVALID,
      "f: ops[0].name: '*' stands for the rest in a plan, expected another name" },
    { HEAD IN OPS("{'name':'a\\u001b[1m','kind':'relu','inputs':['x']}"), 0, HYPAR_INVALID,
      "f: ops[0].name: 'a?[1m' has a control character, expected a name" },
    { HEAD "'inputs':[{'name':'a\\nb','shape':[4]}],'ops':[]}", 0, HYPAR_INVALID,
      "f: inputs[0].name: 'a?b' has a control character, expected a name" },
    { "{'format':'hypar-graph/1','name':'g\\u009b','batch':4}", 0, HYPAR_INVALID,
      "f: name: 'g?' has a control character, expected a name" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':[true]}"), 0, HYPAR_INVALID,
      "f: ops[0]: relu 'a': input 0 is no parameter that could be made" },
    { HEAD IN OPS("{'name':'a','kind':'linear','inputs':['x'],'attrs':{'sharp':1}}"), 0,
      HYPAR_INVALID,
      "f: ops[0].attrs.sharp: unknown attribute, expected one of out, transposed" },
    { HEAD IN OPS("{'name':'a','kind':'linear','inputs':['x'],'attrs':{'out':true}}"), 0,
      HYPAR_INVALID, "f: ops[0].attrs.out: expected an integer in 1..1073741824, not true" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':'x'}"), 0, HYPAR_INVALID,
      "f: ops[0].inputs: expected an array, not \"x\"" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':[1]}"), 0, HYPAR_INVALID,
      "f: ops[0].inputs[0]: expected a string, not 1" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':['b']}"), 0, HYPAR_INVALID,
      "f: ops[0] 'a': input 'b' is not defined before it" },
    { HEAD IN OPS("{'name':'b','kind':'relu','inputs':['a']}," RELU), 0, HYPAR_INVALID,
      "f: ops[0] 'b': input 'a' is not defined before it" },
    { HEAD IN OPS(RELU "," RELU), 0, HYPAR_INVALID,
      "f: ops[1]: relu 'a': tensor 'a' is there already" },
    { HEAD IN OPS("{'name':'x','kind':'relu','inputs':['x']}"), 0, HYPAR_INVALID,
      "f: ops[0]: relu 'x': tensor 'x' is there already" },
    { HEAD IN "'params':[{'name':'a','shape':[4]}]," OPS(RELU), 0, HYPAR_INVALID,
      "f: ops[0]: 'a' is defined already" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':[]}"), 0, HYPAR_INVALID,
      "f: ops[0]: relu 'a': input 0 is missing, expected a tensor's name" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':['x','x']}"), 0, HYPAR_INVALID,
      "f: ops[0]: relu 'a': 2 inputs, expected at most 1" },
    { HEAD IN OPS("{'name':'a','kind':'linear','inputs':['x',null],'attrs':{'out':2}}"), 0,
      HYPAR_INVALID, "f: ops[0]: linear 'a': input 'w' is missing, expected a tensor's name" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':['x'],'attrs':{'sharp':1}}"), 0,
      HYPAR_INVALID, "f: ops[0].attrs.sharp: unknown attribute, expected none" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':['x'],'attrs':{'out':1}}"), 0,
      HYPAR_INVALID, "f: ops[0]: relu 'a': unknown attribute 'out', expected none" },
    { HEAD IN OPS("{'name':'a','kind':'relu','inputs':['x'],'attrs':[]}"), 0, HYPAR_INVALID,
      "f: ops[0].attrs: expected an object, not an array" },
    { HEAD IN OPS("{'name':'a','kind':'linear','inputs':['x'],'attrs':{'out':0}}"), 0,
      HYPAR_INVALID, "f: ops[0].attrs.out: expected an integer in 1..1073741824, not 0" },
    { HEAD IN OPS("{'name':'a','kind':'linear','inputs':['x'],'attrs':{'out':[2,3]}}"), 0,
      HYPAR_INVALID, "f: ops[0]: linear 'a': attribute 'out' has 2 values, expected 1" },
    { HEAD IN OPS("{'name':'a','kind':'dropout','inputs':['x'],'attrs':{'rate':2}}"), 0,
      HYPAR_INVALID, "f: ops[0].attrs.rate: expected a number in 0..1, not 2" },
    { HEAD IN OPS("{'name':'a','kind':'dropout','inputs':['x'],'attrs':{'rate':true}}"), 0,
      HYPAR_INVALID, "f: ops[0].attrs.rate: expected a number in 0..1, not true" },
    { HEAD IN OPS("{'name':'a','kind':'concat','inputs':['x','x']}"), 0, HYPAR_INVALID,
      "f: ops[0]: concat 'a': missing attribute 'axis'" },
    { HEAD IN "'params':[{'name':'w','shape':[9,8]}]," OPS(
          "{'name':'a','kind':'linear','inputs':['x','w']}"),
      0, HYPAR_INVALID, "f: ops[0]: linear 'a': 'w' has 9 along axis c, expected 8" },
    { HEAD IN "'outputs':['b']," OPS(RELU), 0, HYPAR_INVALID,
      "f: outputs[0]: 'b' is not written by any operator" },
    { HEAD IN "'outputs':['x']," OPS(RELU), 0, HYPAR_INVALID,
      "f: outputs[0]: 'x' is not written by any operator" },
    /* another batch than the file's */
    { HEAD IN OPS("{'name':'a','kind':'reshape','inputs':['x'],'attrs':{'shape':[4,2,4]}}"), 8,
      HYPAR_INVALID,
      "with a batch of 8: f: ops[0]: reshape 'a': 64 elements do not fit the shape given" },
    { HEAD IN OPS("{'name':'a','kind':'opaque','inputs':['x'],'attrs':{'shape':[4,3]}}"), 8,
      HYPAR_INVALID, "f: cannot follow a batch of 8: 'a' has 4 in dimension 0, expected 8" },
    { HEAD IN "'params':[{'name':'w','shape':[1,8]}]," OPS(
          "{'name':'a','kind':'expand','inputs':['w'],'attrs':{'shape':[4,8]}}"),
      8, HYPAR_INVALID, "f: cannot follow a batch of 8: 'a' has 4 in dimension 0, expected 8" },
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        enum hypar_status status = read_quoted(&graph, bad[i].text, bad[i].batch, &err);
        if (status != bad[i].status || strcmp(err.text, bad[i].message) != 0)
            fail_msg("case %d: %s\n  says     %s\n  expected %s", (int)i, bad[i].text, err.text,
                     bad[i].message);
        assert_null(graph);
        assert_int_equal(read_quoted(&graph, bad[i].text, bad[i].batch, NULL), status);
    }
}

static void test_no_json(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "{", "{'format':'hypar-graph/1',",
                                         HEAD IN OPS(RELU) ",", "{'a':1,'a':2}" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        assert_int_equal(read_quoted(&graph, texts[i], 0, &err), HYPAR_SYNTAX);
        assert_memory_equal(err.text, "f:1:", 4); /* line and column */
        assert_null(graph);
    }
}

/* Required parameters that are left out are made; null is an absent operand. */
static void test_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t params;
    } good[] = {
        { HEAD IN OPS(RELU), 0 },
        { HEAD IN "'params':[]," OPS(RELU), 0 },
        { HEAD IN OPS("{'name':'a','kind':'linear','inputs':['x'],'attrs':{'out':2}}"), 16 },
        { HEAD IN OPS("{'name':'a','kind':'linear','inputs':['x'],'attrs':{'out':8}},"
                      "{'name':'b','kind':'linear','inputs':['a','a.w']}"),
          64 },
        { HEAD IN OPS("{'name':'a','kind':'linear','inputs':['x',true,true],'attrs':{'out':2,"
                      "'transposed':true}}"),
          18 },
        { HEAD IN OPS("{'name':'a','kind':'layer_norm','inputs':['x',true,false]}"), 8 },
        { HEAD IN OPS(
              "{'name':'größe','kind':'concat','inputs':['x','x'],'attrs':{'axis':-1}}"),
          0 },
        { HEAD IN "'params':[{'name':'b','shape':[3]}]," OPS(
              "{'name':'a','kind':'lstm_cell','inputs':['x',null,null],'attrs':{'out':3}},"
              "{'name':'c','kind':'add','inputs':['a:s','b']}"),
          4 * 3 * 8 + 4 * 3 * 3 + 3 },
        { HEAD "'inputs':[" X_INPUT ",{'name':'table','shape':[7],'sample_dim':-1}]," OPS(RELU),
          0 },
        { HEAD "'inputs':[{'name':'x','shape':[5,4,8],'sample_dim':1}]," OPS(RELU), 0 },
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        if (read_quoted(&graph, good[i].text, 0, &err) != HYPAR_OK)
            fail_msg("%s: %s", good[i].text, err.text);
        assert_int_equal(hypar_graph_params(graph), good[i].params);
        hypar_graph_free(graph);
        if (read_quoted(&graph, good[i].text, 6, &err) != HYPAR_OK)
            fail_msg("%s: %s", good[i].text, err.text);
        assert_int_equal(hypar_graph_info(graph).batch, 6);
        hypar_graph_free(graph);
    }
}

/* What is read is what is written again. */
static void check_stable(const struct hypar_graph *graph)
{
    struct hypar_error err = { 0 };
    if (!survives_writing(graph, &err))
        fail_msg("%s", err.text);
}

/* jansson reads -0.0 as it is; it is written as 0. */
static void test_negative_zero(void **state)
{
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    (void)state;
    if (read_quoted(&graph,
                    HEAD IN OPS("{'name':'a','kind':'clip','inputs':['x'],"
                                "'attrs':{'min':-0.0,'max':6}}"),
                    0, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    check_stable(graph);
    hypar_graph_free(graph);
}

static void test_written_form(void **state)
{
    (void)state;
    static const char text[] =
        "{\n"
        "  \"format\": \"hypar-graph/1\",\n"
        "  \"name\": \"g\",\n"
        "  \"batch\": 4,\n"
        "  \"inputs\": [\n"
        "    {\"name\": \"x\", \"shape\": [4, 8]},\n"
        "    {\"name\": \"l\", \"shape\": [4], \"index\": true}\n"
        "  ],\n"
        "  \"params\": [\n"
        "    {\"name\": \"a.w\", \"shape\": [8, 2]}\n"
        "  ],\n"
        "  \"ops\": [\n"
        "    {\"name\": \"a\", \"kind\": \"linear\", \"inputs\": [\"x\", \"a.w\"], \"attrs\": "
        "{\"out\": 2, \"transposed\": 0}},\n"
        "    {\"name\": \"loss\", \"kind\": \"cross_entropy\", \"inputs\": [\"a\", \"l\"]}\n"
        "  ],\n"
        "  \"outputs\": [\"a\"]\n"
        "}\n";
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    size_t n;
    if (hp_graph_read_text(&graph, text, strlen(text), "f", 0, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    char *again = written_graph(graph, &n);
    assert_string_equal(again, text);
    free(again);
    hypar_graph_free(graph);
}

/* What is not trained needs no gradient, nor does what is computed from nothing else; it is
 * told again when the graph is written, and so is the file of values. */
static void test_untrained(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    size_t n;
    if (read_quoted(&graph,
                    HEAD "'weights':'w.safetensors'," IN
                         "'params':[{'name':'b','shape':[8],'trained':false},"
                         "{'name':'w','shape':[8,2],'trained':true}]," OPS(
                             "{'name':'a','kind':'add','inputs':['x','b']},"
                             "{'name':'y','kind':'linear','inputs':['a','w']}"),
                    0, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    for (int t = 0; t < graph->n_tensors; t++) {
        const char *name = graph->tensors[t].name;
        assert_int_equal(graph->tensors[t].untrained, strcmp(name, "b") == 0);
        assert_int_equal(graph->tensors[t].needs_grad,
                         strcmp(name, "w") == 0 || strcmp(name, "y") == 0);
    }
    assert_string_equal(graph->values_name, "w.safetensors");
    assert_null(graph->values_path); /* it was read from a text */
    char *again = written_graph(graph, &n);
    assert_non_null(strstr(again, "\"batch\": 4,\n  \"weights\": \"w.safetensors\",\n"));
    assert_non_null(strstr(again, "{\"name\": \"b\", \"shape\": [8], \"trained\": false},\n"
                                  "    {\"name\": \"w\", \"shape\": [8, 2]}\n"));
    check_stable(graph);
    free(again);
    hypar_graph_free(graph);
}

/* Modules are kept in their order, each as often as it is called; what PyTorch's DTensor lacks
 * and the function of the loss are kept as they are. */
static void test_modules(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    size_t n;
    if (read_quoted(&graph,
                    HEAD IN
                    "'modules':['y','a.b','y'],'undivided':['y (n.py:1): unfold'],"
                    "'loss_function':'n:loss'," OPS(
                        "{'name':'y','kind':'linear','inputs':['x'],'attrs':{'out':2}}"),
                    0, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(graph->n_modules, 3);
    assert_int_equal(hp_table_get(&graph->module_at, "a.b", 3), 1);
    assert_int_equal(hp_table_get(&graph->module_at, "y", 1), 0);
    char *again = written_graph(graph, &n);
    assert_non_null(strstr(again, "  \"modules\": [\"y\", \"a.b\", \"y\"],\n"
                                  "  \"undivided\": [\"y (n.py:1): unfold\"],\n"
                                  "  \"loss_function\": \"n:loss\"\n"));
    check_stable(graph);
    free(again);
    hypar_graph_free(graph);
    assert_int_not_equal(
        read_quoted(&graph,
                    HEAD IN "'modules':['']," OPS(
                        "{'name':'y','kind':'linear','inputs':['x'],'attrs':{'out':2}}"),
                    0, &err),
        HYPAR_OK);
    assert_non_null(strstr(err.text, "modules"));
}

/* Samples of arguments follow the batch, also where a dimension holds their positions, too. */
static void test_arguments(void **state)
{
    (void)state;
    static const char file[] =
        HEAD IN "'mixing':['y (n.py:1): mm'],'arguments':["
                "{'name':'y','shape':[12],'type':'int64'},"
                "{'name':'mask','shape':[5,8],'type':'bool','sample_dim':%d}]," OPS(RELU);
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    char text[sizeof file + 8];
    size_t n;
    snprintf(text, sizeof text, file, -1);
    if (read_quoted(&graph, text, 8, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    char *again = written_graph(graph, &n);
    assert_non_null(strstr(again, "{\"name\": \"y\", \"shape\": [24], \"type\": \"int64\"}"));
    assert_non_null(
        strstr(again, "\"shape\": [5, 8], \"type\": \"bool\", \"sample_dim\": -1}"));
    assert_non_null(strstr(again, "  \"mixing\": [\"y (n.py:1): mm\"]\n"));
    free(again);
    hypar_graph_free(graph);
    snprintf(text, sizeof text, file, 0);
    assert_int_not_equal(read_quoted(&graph, text, 8, &err), HYPAR_OK);
    assert_non_null(strstr(err.text, "expected a multiple of the batch"));
}

/* Short forms are written in the long one. */
static void test_short_forms(void **state)
{
    (void)state;
    static const struct {
        const char *op, *attrs;
    } cases[] = {
        { "'kind':'conv','inputs':['x'],'attrs':{'kernel':3,'pad':1,'out':5}",
          "{\"kernel\": [3, 3], \"stride\": [1, 1], \"pad\": [1, 1, 1, 1], \"dilation\": [1, "
          "1], "
          "\"out\": 5}" },
        { "'kind':'max_pool','inputs':['x'],'attrs':{'kernel':[2],'ceil':true}",
          "{\"kernel\": [2, 2], \"stride\": [1, 1], \"pad\": [0, 0, 0, 0], \"dilation\": [1, "
          "1], "
          "\"ceil\": 1}" },
        { "'kind':'concat','inputs':['x','x'],'attrs':{'axis':-3}", "{\"axis\": 1}" },
        { "'kind':'unsqueeze','inputs':['x'],'attrs':{'axes':[-1]}", "{\"axes\": 4}" },
        { "'kind':'reduce_sum','inputs':['x'],'attrs':{'axes':[-1,2],'keep':false}",
          "{\"axes\": [3, 2], \"keep\": 0}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512], expected[256];
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        size_t n;
        snprintf(text, sizeof text,
                 HEAD "'inputs':[{'name':'x','shape':[4,2,6,6]}],'ops':[{'name':'a',%s}]}",
                 cases[i].op);
        if (read_quoted(&graph, text, 0, &err) != HYPAR_OK)
            fail_msg("%s: %s", cases[i].op, err.text);
        char *again = written_graph(graph, &n);
        snprintf(expected, sizeof expected, "\"attrs\": %s}", cases[i].attrs);
        if (!strstr(again, expected))
            fail_msg("%s: expected %s in\n%s", cases[i].op, expected, again);
        check_stable(graph);
        free(again);
        hypar_graph_free(graph);
    }
}

static void test_examples(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int64_t params;
    } examples[] = {
        { "examples/models/mlp.json", 784 * 512 + 512 * 10 },
        { "examples/models/residual.json", 32 * 27 + 32 * 32 * 9 + 330 },
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        if (hypar_import(&graph, examples[i].path, NULL, &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        assert_int_equal(hypar_graph_params(graph), examples[i].params);
        check_stable(graph);
        hypar_graph_free(graph);
    }
}

/* A random operator on random tensors of [batch, 6, width]; it may refuse them. */
static void random_op(struct graph_builder *b, struct random *random, int number, int *made,
                      int *n_made)
{
    double width = (double)(4 * (1 + hp_random_below(random, 3)));
    const struct {
        enum op_kind kind;
        int n_inputs, n_params, n_outputs;
        const struct attrs *attrs;
    } rows[] = {
        { OP_RELU, 1, 0, 1, NULL },
        { OP_ADD, 2, 0, 1, NULL },
        { OP_MATMUL, 2, 0, 1, NULL },
        { OP_LINEAR, 1, 2, 1, ATTRS({ ATTR_OUT, 1, V(width) }) },
        { OP_LAYER_NORM, 1, 2, 1, NULL },
        { OP_CONCAT, 2, 0, 1, ATTRS({ ATTR_AXIS, 1, V((double)hp_random_below(random, 3)) }) },
        { OP_SPLIT, 1, 0, 2,
          ATTRS({ ATTR_AXIS, 1, V(2) }, { ATTR_SIZES, 2, V(width / 2, width / 2) }) },
        { OP_TRANSPOSE, 1, 0, 1, ATTRS({ ATTR_PERM, 3, V(0, 2, 1) }) },
        { OP_ATTENTION, 3, 0, 1, ATTRS({ ATTR_HEADS, 1, V(2) }, { ATTR_KV_HEADS, 1, V(1) }) },
        { OP_DROPOUT, 1, 0, 1, ATTRS({ ATTR_RATE, 1, V(hp_random_unit(random)) }) },
        { OP_REDUCE_MEAN, 1, 0, 1, ATTRS({ ATTR_AXES, 1, V(1) }, { ATTR_KEEP, 1, V(1) }) },
    };
    int row = (int)hp_random_below(random, sizeof rows / sizeof rows[0]);
    int inputs[3], outputs[MAX_OPERANDS];
    char name[16];
    snprintf(name, sizeof name, "op%d", number);
    for (int i = 0; i < 3; i++)
        inputs[i] = i < rows[row].n_inputs       ? made[hp_random_below(random, *n_made)]
                    : i == rows[row].n_inputs    ? HP_MAKE
                    : hp_random_below(random, 2) ? HP_MAKE
                                                 : HP_ABSENT;
    struct op_request request = { rows[row].kind, name, rows[row].n_inputs + rows[row].n_params,
                                  inputs, rows[row].attrs };
    if (hp_build_op(b, &request, outputs, NULL) != HYPAR_OK)
        return;
    for (int i = 0; i < rows[row].n_outputs; i++)
        made[(*n_made)++] = outputs[i];
}

static void test_random_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random random = { seed };
        struct graph_builder *b = hp_build("random \"net\"", 4);
        struct hypar_shape shape = { 3, { 4, 6, 8 } };
        int made[200] = { hp_build_input(b, "x", &shape, false, 0) }, n_made = 1;
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        for (int i = 0; i < 60; i++)
            random_op(b, &random, i, made, &n_made);
        if (hp_build_finish(b, &graph, &err) != HYPAR_OK)
            fail_msg("seed %d: %s", (int)seed, err.text);
        check_stable(graph);
        hypar_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad),           cmocka_unit_test(test_no_json),
        cmocka_unit_test(test_by_hand),       cmocka_unit_test(test_written_form),
        cmocka_unit_test(test_untrained),     cmocka_unit_test(test_short_forms),
        cmocka_unit_test(test_modules),       cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_examples),      cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_negative_zero),
    };
    return cmocka_run_group_tests_name("model/json_graph", tests, NULL, NULL);
}
