/* The forms of operators in ONNX files: the result of each, one after another from
 * tests/model/onnx_forms.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/onnx/onnx.h"
#include "model/weights.h"
#include "tests/onnx_text.h"
#include "tests/written_graph.h"

static void kinds_text(const struct hypar_graph *g, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, ">");
    for (int op = 0; op < g->n_ops; op++)
        if (!(hp_op[g->ops[op].kind].flags & ROW_LOSS))
            n += (size_t)snprintf(text + n, size - n, " %s", hp_op[g->ops[op].kind].name);
}

/* What stands in the file, without its path. */
static bool reads_as(const char *model, const char *expected)
{
    struct hypar_graph *g;
    struct hypar_error err = { 0 };
    struct hypar_import_options options = { .batch = 3 };
    char have[1024];
    if (hp_onnx_read_stream(&g, onnx_text_stream(model), "", &options, &err) == HYPAR_OK)
        kinds_text(g, have, sizeof have);
    else
        snprintf(have, sizeof have, "!%s", err.text + 1); /* behind the colon */
    hypar_graph_free(g);
    size_t n = strlen(expected);
    bool same = *have == '!' ? strncmp(have, expected, n) == 0 : strcmp(have, expected) == 0;
    if (!same)
        print_error("%s\n    is       %s\n    expected %s\n", model, have, expected);
    return same;
}

static void test_forms(void **state)
{
    (void)state;
    FILE *file = fopen("tests/model/onnx_forms.txt", "r");
    char model[4096] = "", line[4096];
    int n = 0, wrong = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '>' || *line == '!')
            wrong += !reads_as(model, line), n++;
        else if (*line != '#')
            memcpy(model, line, sizeof model);
    }
    fclose(file);
    printf("%d forms\n", n);
    assert_true(n > 150);
    assert_int_equal(wrong, 0);
}

/* Every operator with every kind of input in every place: a graph that can be written and read,
 * or one line that names the node. */
static void check_any(const char *op, const char *const *input, const char *attrs, int *n_read)
{
    char model[1024];
    struct hypar_graph *g;
    struct hypar_error err = { 0 };
    struct hypar_import_options options = { .batch = 3 };
    snprintf(
        model, sizeof model,
        "in ids int64 batch 4; in x float batch 4; in x4 float batch 4 4 4; init w float 4 4; "
        "init none float 0 4; node Gather g w ids -> e; node Transpose t ids -> turned; "
        "node Constant a -> k value@float:4=1,2,3,4; node Constant b -> i value@int64:=1; "
        "node %s node %s %s %s -> y %s; node Relu r x -> z; out z float batch 4; out e "
        "float*; out y float*",
        op, input[0], input[1], input[2], attrs);
    enum hypar_status status =
        hp_onnx_read_stream(&g, onnx_text_stream(model), "any", &options, &err);
    if (status == HYPAR_OK ? !survives_writing(g, &err)
                           : !strstr(err.text, "node 'node'") || strchr(err.text, '\n'))
        fail_msg("%s\n    %s", model, err.text);
    *n_read += status == HYPAR_OK;
    hypar_graph_free(g);
}

static void test_any_input(void **state)
{
    (void)state;
    static const char *const inputs[] = {
        "x", "x4", "ids", "turned", "w", "none", "k", "i", "_"
    };
    static const char attrs[] =
        "axis=1 kernel_shape=2,2 to=7 perm=0,1 hidden_size=4 pads=0,1,0,1 starts=0, ends=1, "
        "axes=1, split=2,2 transA=1 transB=1 alpha:0.5 beta:0.5 keepdims=0";
    enum { N = sizeof inputs / sizeof inputs[0] };
    int n_read = 0, n = 0;
    for (int r = 0; hp_onnx_row_at(r); r++) {
        char op[40];
        sscanf(hp_onnx_row_at(r)->ops, "%39s", op); /* the first stands for all of a row */
        for (int i = 0; i < N * N; i++) {
            const char *two[3] = { inputs[i % N], inputs[i / N], "_" };
            const char *three[3] = { inputs[i % N], inputs[i / N], inputs[(i + r) % N] };
            check_any(op, two, "", &n_read);
            check_any(op, three, attrs, &n_read);
            n += 2;
        }
    }
    printf("%d of %d are read\n", n_read, n);
    assert_true(n_read > 1000);
}

/* Values -------------------------------------------------------------------------------- */

/* Elements of tensors, by type and by the field that holds them, from memory and from a file.
 */
static void test_values(void **state)
{
    (void)state;
    enum { RAW = 9, FLOATS = 4, INTS = 5, LONGS = 7, DOUBLES = 10, UNSIGNED = 11 };
    static const struct {
        int type, field;
        const char *bytes;
        int n_bytes, n;
        const char *values; /* "!": why there are none */
    } cases[] = {
        { ONNX_FLOAT, RAW, "\0\0\x80\x3f\0\0\x20\xc0", 8, 2, "1 -2.5" },
        { ONNX_FLOAT, FLOATS, "\0\0\x80\x3f\0\0\x20\xc0", 8, 2, "1 -2.5" },
        { ONNX_DOUBLE, RAW, "\0\0\0\0\0\0\xf0\x3f", 8, 1, "1" },
        { ONNX_DOUBLE, DOUBLES, "\0\0\0\0\0\0\xf8\xbf", 8, 1, "-1.5" },
        { ONNX_FLOAT16, RAW, "\0\x3c\0\xc1\x01\0\0\x7c\0\xfc\0\x80\x01\x7e", 14, 7,
          "1 -2.5 5.96046e-08 inf -inf 0 nan" },
        { ONNX_FLOAT16, INTS, "\x80\x78\x80\x82\x03", 5, 2, "1 -2.5" }, /* 0x3c00, 0xc100 */
        { ONNX_BFLOAT16, RAW, "\x80\x3f\x20\xc0", 4, 2, "1 -2.5" },
        { ONNX_UINT8, RAW, "\xff\x01", 2, 2, "255 1" },
        { ONNX_INT8, RAW, "\xff\x01", 2, 2, "-1 1" },
        { ONNX_UINT16, RAW, "\xff\xff\x01\x00", 4, 2, "65535 1" },
        { ONNX_INT16, RAW, "\xff\xff\x01\x00", 4, 2, "-1 1" },
        { ONNX_INT32, RAW, "\xff\xff\xff\xff", 4, 1, "-1" },
        { ONNX_UINT32, RAW, "\xff\xff\xff\xff", 4, 1, "4.29497e+09" },
        { ONNX_UINT32, UNSIGNED, "\xff\xff\xff\xff\x0f", 5, 1, "4.29497e+09" },
        { ONNX_INT64, RAW, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 1, "-1" },
        { ONNX_UINT64, RAW, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 1, "1.84467e+19" },
        { ONNX_INT64, LONGS, "\x07\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x01", 13, 3,
          "7 -1 128" },
        { ONNX_BOOL, RAW, "\x02\0", 2, 2, "1 0" },
        { ONNX_BOOL, INTS, "\x01\0", 2, 2, "1 0" },
        { ONNX_INT64, LONGS, "\x07\x80", 2, 2, "!its values are cut off" },
        { ONNX_INT64, LONGS, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, 1,
          "!its values are cut off" },
        { ONNX_INT64, LONGS, "\x07", 1, 2, "!1 bytes of values, expected 2" },
        { ONNX_FLOAT, RAW, "\0\0\x80", 3, 1, "!3 bytes of values, expected 4" },
        { ONNX_DOUBLE, DOUBLES, "\0\0\x80\x3f", 4, 1, "!4 bytes of values, expected 8" },
        { ONNX_FLOAT, RAW, "", 0, 1, "!its values are cut off" },
        { ONNX_FLOAT, 0, "", 0, 1, "!the file has no values of it" },
        { ONNX_FLOAT, 0, "", 0, 0, "" },
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        struct onnx_tensor t = { .name = "t",
                                 .type = cases[i / 2].type,
                                 .shape = { 1, { cases[i / 2].n } },
                                 .elements = cases[i / 2].n,
                                 .field = cases[i / 2].field,
                                 .size = cases[i / 2].n_bytes,
                                 .offset = 3 };
        struct onnx_file file = { .path = "values", .stream = tmpfile() };
        struct hypar_error err = { 0 };
        double values[8] = { 0 };
        char text[600] = "";
        if (i % 2 && t.size)
            t.copy = (const unsigned char *)cases[i / 2].bytes;
        assert_non_null(file.stream);
        fwrite("...", 1, 3, file.stream);
        fwrite(cases[i / 2].bytes, 1, (size_t)cases[i / 2].n_bytes, file.stream);
        if (hp_onnx_read_data(&file, &t, 0, t.elements, values, &err) != HYPAR_OK)
            snprintf(text, sizeof text, "!%s", err.text);
        for (int k = 0, n = 0; *text != '!' && k < cases[i / 2].n; k++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%.6g", k ? " " : "",
                          values[k] + 0);
        assert_string_equal(text, cases[i / 2].values);
        if (*text != '!' && t.elements > 1) { /* the last alone */
            double last = 0;
            assert_int_equal(hp_onnx_read_data(&file, &t, t.elements - 1, 1, &last, &err),
                             HYPAR_OK);
            assert_memory_equal(&last, &values[t.elements - 1], sizeof last);
        }
        fclose(file.stream);
    }
}

/* Values of constants that became inputs, and of a parameter in two parts. */
static void test_weights(void **state)
{
    (void)state;
    static const char model[] =
        "in x float batch 2; node Constant c -> e value@float:2=3,4; node Mul m x e -> v; "
        "init w float 2 4 = 1 2 3 4 5 6 7 8; node MatMul l v w -> u; node Split s u -> p q "
        "axis=1 "
        "split=1,3; node Exp k q -> r; node Concat j p r -> y axis=1; out y float batch 4; "
        "opset 9";
    static const struct {
        const char *name;
        int n;
        double value[6];
    } cases[] = {
        { "m.constant", 2, { 3, 4 } },
        { "w[0:1]", 2, { 1, 5 } },
        { "w[1:4]", 6, { 2, 3, 4, 6, 7, 8 } },
    };
    char path[] = "/tmp/hypar-forms-XXXXXX";
    size_t n;
    unsigned char *bytes = onnx_text(model, &n);
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
    free(bytes);
    struct weights *weights;
    struct hypar_error err = { 0 };
    if (hp_weights_open(&weights, path, NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double have[6];
        if (hp_weights_read(weights, cases[i].name, cases[i].n, have, &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(have, cases[i].value, (size_t)cases[i].n * sizeof *have);
        assert_int_equal(hp_weights_read(weights, cases[i].name, 1, have, &err), HYPAR_INVALID);
        for (int start = 0; start < cases[i].n; start++) /* any part of it alone */
            for (int m = 1; start + m <= cases[i].n; m++) {
                assert_int_equal(hp_weights_read_part(weights, cases[i].name, cases[i].n, start,
                                                      m, have, &err),
                                 HYPAR_OK);
                assert_memory_equal(have, cases[i].value + start, (size_t)m * sizeof *have);
            }
    }
    FILE *cut = fopen(path, "wb"); /* nothing is left of it */
    fclose(cut);
    double have[2];
    assert_int_equal(hp_weights_read(weights, "w[0:1]", 2, have, &err), HYPAR_OK); /* copied */
    hp_weights_close(weights);
    assert_int_equal(hp_weights_open(&weights, path, NULL, &err), HYPAR_INVALID);
    hp_weights_close(NULL);
    unlink(path);
}

static void test_types(void **state)
{
    (void)state;
    assert_int_equal(hp_onnx_type_bytes(ONNX_BFLOAT16), 2);
    assert_int_equal(hp_onnx_type_bytes(ONNX_STRING), 0);
    assert_int_equal(hp_onnx_type_bytes(0), 0);
    assert_int_equal(hp_onnx_type_bytes(17), 0);
    assert_int_equal(hp_onnx_family(0), ONNX_OTHER);
    assert_int_equal(hp_onnx_family(ONNX_BOOL), ONNX_INTEGERS);
    assert_string_equal(hp_onnx_type_name(ONNX_COMPLEX128), "COMPLEX128");
    assert_string_equal(hp_onnx_type_name(-1), "of an unknown number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),  cmocka_unit_test(test_any_input),
        cmocka_unit_test(test_values), cmocka_unit_test(test_weights),
        cmocka_unit_test(test_types),
    };
    if (strstr(hypar_features(), "protobuf-c: no"))
        return 77; /* nothing to test */
    return cmocka_run_group_tests_name("model/onnx_forms", tests, NULL, NULL);
}
