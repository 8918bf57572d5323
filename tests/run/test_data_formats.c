/* Files of samples: each format as documented, and one line for any other file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hypar/graph.h>

#include "run/data.h"
#include "run/data/source.h"
#include "tests/scratch_file.h"

static struct hypar_graph *model(const char *word, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    struct hypar_import_options options = { .batch = batch };
    if (hypar_import(&graph, word, &options, &err))
        fail_msg("%s", err.text);
    return graph;
}

static int input(const struct hypar_graph *graph, const char *name)
{
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_INPUT && strcmp(graph->tensors[t].name, name) == 0)
            return t;
    fail_msg("no input '%s'", name);
    return -1;
}

static struct data_source *open_data(const struct hypar_graph *graph, const char *text)
{
    struct data_source *source;
    struct hypar_error err = { 0 };
    struct data_options options = { .train = text, .in_order = true };
    if (hp_data_open(&source, graph, &options, &err))
        fail_msg("%s", err.text);
    return source;
}

/* All of an input's batch at `position`. */
static void read_all(const struct data_source *source, const struct hypar_graph *graph,
                     const char *name, int64_t position, void *out)
{
    struct hypar_error err = { 0 };
    int t = input(graph, name);
    struct data_request request = { .tensor = t,
                                    .position = position,
                                    .box = hp_shape_box(&graph->tensors[t].shape),
                                    .real = REAL_F64 };
    if (hp_data_read(source, &request, out, &err))
        fail_msg("%s", err.text);
}

/* Bytes of files ------------------------------------------------------------------------ */

struct bytes {
    size_t n;
    unsigned char at[8192];
};

static void add(struct bytes *b, const void *from, size_t n)
{
    assert_true(b->n + n <= sizeof b->at);
    memcpy(b->at + b->n, from, n);
    b->n += n;
}

/* An integer of `width` bytes. */
static void add_int(struct bytes *b, int64_t value, int width, bool big)
{
    for (int i = 0; i < width; i++) {
        unsigned char byte = (unsigned char)((uint64_t)value >> 8 * (big ? width - 1 - i : i));
        add(b, &byte, 1);
    }
}

static void add_real(struct bytes *b, double value, int width, bool big)
{
    float single = (float)value;
    uint32_t short_bits;
    uint64_t long_bits;
    memcpy(&short_bits, &single, sizeof single);
    memcpy(&long_bits, &value, sizeof value);
    add_int(b, width == 4 ? (int64_t)short_bits : (int64_t)long_bits, width, big);
}

/* What comes before the elements of an array. */
static struct bytes npy(int version, const char *header)
{
    struct bytes b = { 0 };
    add(&b, "\x93NUMPY", 6);
    add_int(&b, version, 2, false); /* and minor version 0 */
    add_int(&b, (int64_t)strlen(header), version == 1 ? 2 : 4, false);
    add(&b, header, strlen(header));
    return b;
}

static const char *file_of(int which, const struct bytes *b)
{
    return scratch_file(which, b->at, b->n);
}

static const char *pair_of(const struct bytes *x, const struct bytes *y)
{
    static char text[80];
    snprintf(text, sizeof text, "%s,%s", file_of(0, x), file_of(1, y));
    return text;
}

/* Five labels 0, 1, 2, 0, 1. */
static struct bytes labels(void)
{
    struct bytes b = npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }\n");
    add(&b, "\0\1\2\0\1", 5);
    return b;
}

/* Arrays -------------------------------------------------------------------------------- */

/* mlp:6-4-3 on five samples: batches of four, the second one begins again. */
static void check_array(const struct bytes *x, double scale)
{
    struct hypar_graph *graph = model("mlp:6-4-3", 4);
    struct bytes y = labels();
    struct data_source *source = open_data(graph, pair_of(x, &y));
    double value[24];
    int32_t label[4];
    assert_int_equal(hp_data_samples(source, DATA_TRAIN), 5);
    assert_int_equal(hp_data_samples(source, DATA_TEST), 0);
    for (int step = 0; step < 3; step++) {
        read_all(source, graph, "x", 4 * step, value);
        read_all(source, graph, "labels", 4 * step, label);
        for (int i = 0; i < 24; i++) {
            int sample = (4 * step + i / 6) % 5;
            assert_true(fabs(value[i] - (sample * 6 + i % 6) * scale) < 1e-15);
            assert_int_equal(label[i / 6], sample % 3);
        }
    }
    hp_data_close(source);
    hypar_graph_free(graph);
}

static void npy_types(void **state)
{
    (void)state;
    static const char *const kinds[] = { "f4", "f8", "i4", "i8", "u1", "i1", "u2", "i2", "u4" };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int big = 0; big < 2; big++)
            for (int version = 1; version <= 3; version++) {
                char header[128];
                int width = kinds[k][1] - '0';
                snprintf(header, sizeof header,
                         "{'descr': '%c%s', 'fortran_order': False, 'shape': (5, 6), }   \n",
                         width == 1 ? '|'
                         : big      ? '>'
                                    : '<',
                         kinds[k]);
                struct bytes b = npy(version, header);
                for (int i = 0; i < 30; i++)
                    if (kinds[k][0] == 'f')
                        add_real(&b, i, width, big);
                    else
                        add_int(&b, i, width, big);
                check_array(&b, strcmp(kinds[k], "u1") == 0 ? 1.0 / 255 : 1);
            }
}

/* Other ways to write the same header, and shapes that have the same samples. */
static void npy_headers(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<i2', 'fortran_order': False, 'shape': (5, 6)}",
        "{\"shape\":(5,6,),\"descr\":\"<i2\",\"fortran_order\":False}\n",
        " { 'shape' : ( 5L , 6L ) , 'fortran_order' : False , 'descr' : '=i2' , } ",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (5, 2, 3), }\n",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (5, 1, 6, 1), }\n",
    };
    for (size_t k = 0; k < sizeof headers / sizeof headers[0]; k++) {
        struct bytes b = npy(1, headers[k]);
        for (int i = 0; i < 30; i++)
            add_int(&b, i, 2, false);
        check_array(&b, 1);
    }
}

static struct bytes idx(int type, int n_dims, const int *dims)
{
    struct bytes b = { 0 };
    add_int(&b, type << 8 | n_dims, 4, true);
    for (int d = 0; d < n_dims; d++)
        add_int(&b, dims[d], 4, true);
    return b;
}

static void idx_types(void **state)
{
    (void)state;
    static const struct {
        int type, width;
        bool real;
    } rows[] = { { 8, 1, false },  { 9, 1, false }, { 11, 2, false },
                 { 12, 4, false }, { 13, 4, true }, { 14, 8, true } };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct bytes b = idx(rows[k].type, 3, (const int[]){ 5, 2, 3 });
        for (int i = 0; i < 30; i++)
            if (rows[k].real)
                add_real(&b, i, rows[k].width, true);
            else
                add_int(&b, i, rows[k].width, true);
        check_array(&b, rows[k].type == 8 ? 1.0 / 255 : 1); /* a byte is divided by 255 */
    }
}

static void named_inputs(void **state)
{
    (void)state;
    struct hypar_graph *graph = model("mlp:6-4-3", 4);
    struct bytes x = idx(9, 2, (const int[]){ 5, 6 }), y = labels();
    char text[128];
    int32_t label[4];
    for (int i = 0; i < 30; i++)
        add_int(&x, i, 1, true);
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, i ? "labels=%s,x=%s" : "labels=%s,%s", file_of(1, &y),
                 file_of(0, &x));
        struct data_source *source = open_data(graph, text);
        read_all(source, graph, "labels", 0, label);
        assert_int_equal(label[2], 2);
        hp_data_close(source);
    }
    hypar_graph_free(graph);
}

/* Records ------------------------------------------------------------------------------- */

/* Two files of two and one images: label, then 3072 bytes that depend on the image. */
static void cifar(void **state)
{
    (void)state;
    struct hypar_graph *graph = model("mlp:3072-10", 3);
    for (int hundred = 0; hundred < 2; hundred++) {
        struct bytes part[2] = { { 0 }, { 0 } };
        char text[80];
        int32_t label[3];
        static double value[3 * 3072];
        for (int i = 0; i < 3; i++) {
            if (hundred)
                add_int(&part[i / 2], 77, 1, false); /* coarse */
            add_int(&part[i / 2], 7 + i, 1, false);
            for (int k = 0; k < 3072; k++)
                add_int(&part[i / 2], (k + i) % 251, 1, false);
        }
        snprintf(text, sizeof text, "cifar10%s:%s,%s", hundred ? "0" : "", file_of(0, &part[0]),
                 file_of(1, &part[1]));
        struct data_source *source = open_data(graph, text);
        assert_int_equal(hp_data_samples(source, DATA_TRAIN), 3);
        read_all(source, graph, "x", 0, value);
        read_all(source, graph, "labels", 0, label);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(label[i], 7 + i);
            for (int k = 0; k < 3072; k++)
                assert_true(value[i * 3072 + k] == (k + i) % 251 / 255.0);
        }
        hp_data_close(source);
    }
    hypar_graph_free(graph);
}

/* Windows of four of eleven tokens: two, as the labels of a third would end behind the file. */
static void tokens(void **state)
{
    (void)state;
    struct hypar_graph *graph = model("gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16", 2);
    for (int width = 2; width <= 4; width += 2) {
        struct bytes b = { 0 };
        char text[80];
        int32_t id[8], label[8];
        for (int i = 0; i < 11; i++)
            add_int(&b, i, width, false);
        snprintf(text, sizeof text, "tokens%s:%s", width == 4 ? "32" : "", file_of(0, &b));
        struct data_source *source = open_data(graph, text);
        assert_int_equal(hp_data_samples(source, DATA_TRAIN), 2);
        assert_int_equal(hp_data_check(source, NULL), HYPAR_OK);
        read_all(source, graph, "tokens", 0, id);
        read_all(source, graph, "labels", 0, label);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(id[i], i);
            assert_int_equal(label[i], i + 1);
        }
        hp_data_close(source);
    }
    hypar_graph_free(graph);
}

/* What is wrong ------------------------------------------------------------------------- */

/* Opening fails with this, behind the name of the file if it is scratch file 0 or 1. */
static void check_bad(const struct hypar_graph *graph, const char *text, const char *message)
{
    struct data_source *source;
    struct hypar_error err = { 0 };
    struct data_options options = { .train = text };
    enum hypar_status status = hp_data_open(&source, graph, &options, &err);
    const char *reason =
        strncmp(err.text, "/dev/fd/", 8) == 0 ? strchr(err.text, ' ') + 1 : err.text;
    assert_null(source);
    assert_true(status == HYPAR_INVALID || status == HYPAR_UNREADABLE);
    if (strcmp(reason, message) != 0)
        fail_msg("%s, expected %s", reason, message);
}

static void bad_arrays(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        int bytes;
        const char *message;
    } rows[] = {
        { "", 0, "header, byte 0: expected '{'" },
        { "{", 0, "header, byte 1: expected a string in quotes" },
        { "{'descr': '<f4', }", 0,
          "header, byte 18: expected all of descr, fortran_order and shape" },
        { "{'dtype': '<f4', }", 0,
          "header, byte 10: expected descr, fortran_order or shape before it" },
        { "{'descr': [('a', '<f4')], }", 0, "header, byte 10: expected a string in quotes" },
        { "{'descr': '<f4' 'shape': ()}", 0, "header, byte 16: expected ',' or '}'" },
        { "{'descr': '<f4', 'fortran_order': 0}", 0,
          "header, byte 34: expected True or False" },
        { "{'shape': 5}", 0, "header, byte 10: expected a shape in parentheses" },
        { "{'shape': (5 6)}", 0, "header, byte 13: expected ',' or ')'" },
        { "{'shape': (-5)}", 0, "header, byte 11: expected a size" },
        { "{'shape': (1,2,3,4,5,6,7)}", 0, "header, byte 23: expected at most 6 dimensions" },
        { "{'shape': (99999999999999999999,)}", 0, "header, byte 29: expected a smaller size" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 6)} x", 120,
          "header, byte 58: expected the end of the header" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (5, 6)}", 240,
          "elements of type '<c8', expected f4, f8, i4, i8, u1 or another number of at most 8 "
          "bytes" },
        { "{'descr': '|b1', 'fortran_order': False, 'shape': (5, 6)}", 30,
          "elements of type '|b1', expected f4, f8, i4, i8, u1 or another number of at most 8 "
          "bytes" },
        { "{'descr': '|f4', 'fortran_order': False, 'shape': (5, 6)}", 120,
          "elements of type '|f4', expected f4, f8, i4, i8, u1 or another number of at most 8 "
          "bytes" },
        { "{'descr': '<f4', 'fortran_order': True, 'shape': (5, 6)}", 120,
          "Fortran order, expected C order (numpy.ascontiguousarray)" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4,
          "an array of shape [], expected samples, then a sample's dimensions, each at least "
          "1" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 6)}", 0,
          "an array of shape [0, 6], expected samples, then a sample's dimensions, each at "
          "least 1" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}", 0,
          "an array of shape [9999999999, 9999999999], expected samples, then a sample's "
          "dimensions, each at least 1" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 6)}", 119,
          "186 bytes, expected 187 for an array of [5, 6], F32" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 6)}", 121,
          "188 bytes, expected 187 for an array of [5, 6], F32" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 7)}", 140,
          "samples of shape [7], expected [6] for input 'x'" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 6)}", 96,
          "5 samples, expected 4, as many as the first input has" },
    };
    struct hypar_graph *graph = model("mlp:6-4-3", 4);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bytes x = npy(1, rows[i].header), y = labels();
        x.n += (size_t)rows[i].bytes;
        check_bad(graph, pair_of(&x, &y), rows[i].message);
    }
    hypar_graph_free(graph);
}

static void bad_files(void **state)
{
    (void)state;
    struct hypar_graph *graph = model("mlp:6-4-3", 4);
    struct bytes x = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 6)}");
    struct bytes y = labels(), empty = { 0 }, zip = { 4, "PK\3\4" }, old = npy(1, "{}");
    struct bytes floats = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}");
    struct bytes cut = npy(2, "{'descr'"), deep = { 4, { 0, 0, 8, 7 } };
    struct bytes image = { 4, { 0, 0, 8, 3 } };
    char text[160];
    x.n += 120;
    floats.n += 20;
    old.at[6] = 4;
    cut.n -= 1;
    check_bad(graph, file_of(0, &x), "data: no file for input 'labels'");
    check_bad(graph, "", "data: the name of a file is empty");
    check_bad(graph, "/not/there", "/not/there: cannot open: No such file or directory");
    check_bad(graph, "/", "/: not a regular file");
    snprintf(text, sizeof text, "%s,/more", pair_of(&x, &y));
    check_bad(graph, text, "data: '/more' is one file more than the model has inputs");
    snprintf(text, sizeof text, "x=%s,x=%s", file_of(0, &x), file_of(1, &x));
    check_bad(graph, text, "data: input 'x' has two files");
    check_bad(graph, pair_of(&x, &floats),
              "elements of type F32, expected integers for input 'labels'");
    static const char unknown[] =
        ", expected a .npy or an IDX file, or cifar10:, cifar100:, tokens: or tokens32: in "
        "front of the name";
    snprintf(text, sizeof text, "begins with 00 00 00 00%s", unknown);
    check_bad(graph, pair_of(&empty, &y), text);
    snprintf(text, sizeof text, "begins with 50 4b 03 04%s", unknown);
    check_bad(graph, pair_of(&zip, &y), text);
    check_bad(graph, pair_of(&old, &y), "version 4 of the .npy format, expected 1, 2 or 3");
    check_bad(graph, pair_of(&cut, &y),
              "a header of 8 bytes in a file of 19, expected a .npy file of NumPy");
    check_bad(graph, pair_of(&deep, &y), "an IDX file of 7 dimensions, expected at most 6");
    check_bad(graph, pair_of(&image, &y), "4 bytes, expected 16 for the header of an IDX file");
    hypar_graph_free(graph);
}

static void bad_records(void **state)
{
    (void)state;
    struct hypar_graph *mlp = model("mlp:3072-10", 4);
    struct hypar_graph *gpt = model("gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16", 2);
    struct hypar_graph *bert = model("bert:layers=1,hidden=8,heads=2,seq=4,vocab=16,ffn=8", 2);
    struct bytes b = { 0 };
    char text[80];
    b.n = 3072;
    snprintf(text, sizeof text, "cifar10:%s", file_of(0, &b));
    check_bad(mlp, text, "3072 bytes, expected a multiple of 3073, as cifar10 has it");
    check_bad(gpt, text, "data: the model has no input of numbers, expected one for cifar10");
    b.n = 0;
    snprintf(text, sizeof text, "cifar100:%s", file_of(0, &b));
    check_bad(mlp, text, "0 images, expected at least 1");
    b.n = 8;
    snprintf(text, sizeof text, "tokens:%s", file_of(0, &b));
    check_bad(gpt, text, "4 tokens, expected at least 5");
    check_bad(mlp, text, "data: the model has no input of ids, expected one for tokens");
    check_bad(bert, text, "data: the model has several inputs of ids, expected one for tokens");
    b.n = 10;
    snprintf(text, sizeof text, "tokens32:%s", file_of(0, &b));
    check_bad(gpt, text, "10 bytes, expected a multiple of 4, as tokens32 has it");
    hypar_graph_free(mlp);
    hypar_graph_free(gpt);
    hypar_graph_free(bert);
}

/* Labels and ids beyond what the model takes; a file that is cut while it is open. */
static void bad_values(void **state)
{
    (void)state;
    struct hypar_graph *graph = model("mlp:6-4-3", 4);
    struct bytes x = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 6)}");
    struct bytes y = npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (5,)}");
    static const int64_t values[] = { 0, 2, 3, -1, INT64_MAX };
    static const char *const messages[] = { NULL, NULL, "3", "-1", "9223372036854775807" };
    int32_t label[4];
    char expected[128];
    struct hypar_error err;
    x.n += 120;
    for (int i = 0; i < 5; i++)
        add_int(&y, values[i], 8, false);
    struct data_source *source = open_data(graph, pair_of(&x, &y));
    assert_int_equal(hp_data_check(source, &err), HYPAR_INVALID);
    assert_string_equal(strchr(err.text, ' ') + 1,
                        "sample 2, element 0: 3, expected 0 to 2 for input 'labels'");
    for (int i = 0; i < 5; i++) {
        struct data_request request = { .tensor = input(graph, "labels"),
                                        .position = i,
                                        .box = { 1, { { 0, 1 } } } };
        enum hypar_status status = hp_data_read(source, &request, label, &err);
        assert_int_equal(status, messages[i] ? HYPAR_INVALID : HYPAR_OK);
        snprintf(expected, sizeof expected,
                 "sample %d, element 0: %s, expected 0 to 2 for input 'labels'", i,
                 messages[i] ? messages[i] : "");
        if (messages[i])
            assert_string_equal(strchr(err.text, ' ') + 1, expected);
    }
    y.n -= 8;
    file_of(1, &y);
    struct data_request last = { .tensor = input(graph, "labels"),
                                 .position = 4,
                                 .box = { 1, { { 0, 1 } } } };
    assert_int_equal(hp_data_read(source, &last, label, &err), HYPAR_UNREADABLE);
    assert_string_equal(strchr(err.text, ' ') + 1, "has become shorter since it was opened");
    hp_data_close(source);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_types),   cmocka_unit_test(npy_headers),
        cmocka_unit_test(idx_types),   cmocka_unit_test(named_inputs),
        cmocka_unit_test(cifar),       cmocka_unit_test(tokens),
        cmocka_unit_test(bad_arrays),  cmocka_unit_test(bad_files),
        cmocka_unit_test(bad_records), cmocka_unit_test(bad_values),
    };
    return cmocka_run_group_tests_name("run: files of samples", tests, NULL, NULL);
}
