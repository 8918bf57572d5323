/* The forms that operators have in ONNX files: what becomes of each, one after another from
 * tests/data/onnx_forms.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/onnx.h"
#include "tests/onnx_text.h"

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
    struct hypar_error err = { "" };
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
    FILE *file = fopen("tests/data/onnx_forms.txt", "r");
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
        struct hypar_error err = { "" };
        double values[8] = { 0 };
        char text[128] = "";
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
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_types),
    };
    if (strstr(hypar_features(), "protobuf-c: no"))
        return 77; /* nothing to test */
    return cmocka_run_group_tests_name("model/onnx_forms", tests, NULL, NULL);
}
