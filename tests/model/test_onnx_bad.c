/* Broken ONNX files: each gives one line with the place and the error, and has no other
 * effect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "model/onnx/onnx.h"
#include "model/weights.h"
#include "tests/onnx_text.h"

/* clang-format off */
static const struct bad {
    const char *model, *message;
    struct hypar_import_options options;
} bads[] = {
#define X2 "in x float batch 6; "
#define Y2 "; out y float batch 6"
    /* the whole */
    { "", "a model without nodes", { 0 } },
    { "opset 5; " X2 "node Relu r x -> y" Y2, "opset 5, expected 9 to 23", { 0 } },
    { "opset -1; " X2 "node Relu r x -> y" Y2, "opset -1, expected 9 to 23", { 0 } },
    { "opset 100; " X2 "node Relu r x -> y" Y2, "opset 100, expected 9 to 23", { 0 } },
    { X2 "node Relu r x -> y", "a model without outputs", { 0 } },
    { "node Constant c -> y value@float:1=1; out y float 1", "a model without inputs", { 0 } },
    { X2 "node Relu r x -> y; out z float 6", "output 'z' is not written by any node", { 0 } },
    { X2 "node Relu r x -> y; node Neg n x -> y" Y2, "node 'n' (Neg) writes 'y', which another node writes", { 0 } },
    { X2 "node Add a x v -> u; node Neg b u -> v; node Add c x u -> y" Y2, "is on a cycle", { 0 } },
    { X2 "node Add a x a1 -> a1; node Relu r a1 -> y" Y2, "node 'a' (Add) is on a cycle", { 0 } },
    { X2 "node Relu r z -> y" Y2, "node 'r' (Relu): input 'z' is not defined", { 0 } },
    { X2 "node Relu x1 x -> x" Y2, "node 'x1' (Relu) is on a cycle", { 0 } },
    { X2 "node Relu r1 x -> z; in z float batch 6; node Relu r z -> y" Y2, "'z' is defined twice", { 0 } },
    { X2 "init w float 6; init w float 6; node Add a x w -> y" Y2, "'w' is defined twice", { 0 } },
    /* inputs */
    { "in x string batch 6; node Relu r x -> y" Y2, "input 'x': element type STRING is not supported", { 0 } },
    { "in x complex64 batch 6; node Relu r x -> y" Y2, "element type COMPLEX64", { 0 } },
    { "in x 99 batch 6; node Relu r x -> y" Y2, "element type of an unknown number", { 0 } },
    { "in x - ; node Relu r x -> y" Y2, "element type of an unknown number", { 0 } },
    { "in x float*; node Relu r x -> y" Y2, "input 'x' has no shape", { 0 } },
    { "in x float batch seq; node Relu r x -> y; out y float*", "input 'x': dimension 1 ('seq') has no size, expected one from --dim seq=N", { 0 } },
    { "in x float batch 0; node Relu r x -> y; out y float*", "dimension 1 ('') has no size", { 0 } },
    { "in x float batch 1 1 1 1 1 1; node Relu r x -> y; out y float*", "7 dimensions, expected at most 6", { 0 } },
    { "in x float batch 1125899906842624; node Relu r x -> y; out y float*", "input 'x' is too large", { 0 } },
    /* options */
    { X2 "node Relu r x -> y" Y2, "the model has no input 'z'", { .batch_dims = "z=1" } },
    { X2 "node Relu r x -> y" Y2, "'x' is not NAME=NUMBER", { .batch_dims = "x" } },
    { X2 "node Relu r x -> y" Y2, "'x=1b' is not NAME=NUMBER", { .batch_dims = "x=1b" } },
    { X2 "node Relu r x -> y" Y2, "the samples cannot be in 2", { .batch_dims = "x=2" } },
    { X2 "node Relu r x -> y" Y2, "the model has no symbolic dimension 'seq'", { .dims = "seq=4" } },
    { "in x float 2 6; node Constant c -> s value@int64:3=2,3,2; node Reshape r x s -> y; out y float*", "node 'r' (Reshape): 24 elements do not fit a shape of 12", { .batch = 4, .dims = "" } },
    { "in x float 2 6; node Constant c -> s value@int64:3=2,3,-1; node Reshape r x s -> y; out y float*", "cannot follow a batch of 4", { .batch = 4 } },
    /* initializers */
    { X2 "init w string 6; node Add a x w -> y" Y2, "initializer 'w': element type STRING is not supported", { 0 } },
    { X2 "init w float -6; node Add a x w -> y" Y2, "initializer 'w': dimension 0 has -6", { 0 } },
    { X2 "init w float 0; node Add a x w -> y" Y2, "node 'a' (Add)", { 0 } },
    { X2 "init w float 1 1 1 1 1 1 1; node Add a x w -> y" Y2, "initializer 'w': 7 dimensions", { 0 } },
    { X2 "init w float 1099511627776 1099511627776; node Add a x w -> y" Y2, "initializer 'w': 1.20893e+24 elements", { 0 } },
    { X2 "init w float 6 raw 23; node Add a x w -> y" Y2, "initializer 'w': 23 bytes of values, expected 24", { 0 } },
    { X2 "init w float 6000 raw 4100; node Add a x w -> y" Y2, "initializer 'w': 4100 bytes of values, expected 24000", { 0 } },
    { X2 "init w float 6 at ../weights.bin 0 24; node Add a x w -> y" Y2, "expected a file beside the model", { 0 } },
    { X2 "init w float 6 at /etc/passwd 0 24; node Add a x w -> y" Y2, "expected a file beside the model", { 0 } },
    { X2 "init w float 6 at nowhere 0 24; node Add a x w -> y" Y2, "external data without a location", { 0 } },
    { X2 "init w float 6 at weights.bin x 24; node Add a x w -> y" Y2, "offset is 'x', expected bytes", { 0 } },
    { X2 "init w float 6 at weights.bin 0 23; node Add a x w -> y" Y2, "23 bytes of values, expected 24", { 0 } },
    { X2 "init i int64 1; node Unsqueeze u x i -> y; out y float*", "initializer 'i': the file has no values of it", { 0 } },
    /* shapes */
    { X2 "init w float 5 4; node MatMul m x w -> y; out y float batch 4", "node 'm' (MatMul): linear 'm': 'w' has 5 along axis c, expected 6", { 0 } },
    { X2 "init w float 5; node Add a x w -> y" Y2, "node 'a' (Add): the shapes of its inputs do not fit together", { 0 } },
    { X2 "node Relu r x -> y; out y float batch 7", "node 'r' (Relu): 'y' has 6 in dimension 1, but the file says 7", { 0 } },
    { X2 "node Relu r x -> z; info z float batch 6 1; node Relu s z -> y" Y2, "'z' has 2 dimensions, but the file says 3", { 0 } },
    { "in x float batch 4 6 6; init w float 8 3 3 3; node Conv c x w -> y; out y float*", "node 'c' (Conv): conv 'c': 'w' has 3 along axis c, expected 4", { 0 } },
    { "in x float batch 4 6 6; init w float 8 4 9 9; node Conv c x w -> y; out y float*", "a window of 9 does not fit", { 0 } },
    { "in x float batch 4 6 6; init w float 8 4 3 3; node Conv c x w -> y strides=0,1; out y float*", "a window, stride or dilation below 1", { 0 } },
    { "in x float batch 4 6 6; init w float 8 4 3 3; node Conv c x w -> y pads=1,1; out y float*", "'pads' has 2 values, expected 4", { 0 } },
    { "in x float batch 4 6 6; init w float 8 4 3 3; node Conv c x w -> y group=3; out y float*", "node 'c' (Conv)", { 0 } },
    { "in x float batch 4 6 6; node Conv c x -> y; out y float*", "node 'c' (Conv): the weight is missing", { 0 } },
    { X2 "node Transpose t x -> y perm=0,0; out y float*", "'perm' is no permutation of 0 to 1", { 0 } },
    { X2 "node Transpose t x -> y perm=0,1,2; out y float*", "'perm' has 3 values, expected 2", { 0 } },
    { X2 "node Concat t x x -> y axis=2; out y float*", "dimension 2 of a tensor that has 2", { 0 } },
    { X2 "in z float batch 5 1; node Concat t x z -> y axis=1; out y float*", "input 1 has 3 dimensions, expected 2", { 0 } },
    { X2 "node Constant c -> s value@int64:2=4,-1; node Reshape r x s -> y; out y float*", "elements do not fit a shape", { .batch = 3 } },
    { X2 "node Reshape r x -> y; out y float*", "the shape is missing", { 0 } },
    { X2 "node Squeeze r x -> y axes=1,; out y float*; opset 9", "dimension 1 has 6, expected 1", { 0 } },
    { X2 "node Slice s x -> y starts=1, ends=2,3 axes=1,; out y float*; opset 9", "starts, ends, axes and steps do not match", { 0 } },
    { X2 "node Slice s x -> y starts=4, ends=2, axes=1,; out y float*; opset 9", "nothing is left of dimension 1", { 0 } },
    { X2 "node Split s x -> y z axis=1 split=2,3; out y float*; opset 9", "attribute 'sizes' sums to 5, expected 6", { 0 } },
    { X2 "node Constant c -> s value@int64:2=5,5; node Expand e x s -> y; out y float*", "does not fit the shape asked for", { .batch = 3 } },
    { X2 "node Constant c -> s value@int64:1=1099511627776; node ConstantOfShape e s -> z; node Expand f z z -> v; node Relu r x -> y; out y float*", "values, expected at most", { 0 } },
    { X2 "node Constant c -> i value@int64:=6; node Gather g x i -> y axis=1; out y float*", "index 6 of a dimension of 6", { 0 } },
    { X2 "node Gather g x -> y; out y float*", "the list of indices is missing", { 0 } },
    { "in x float 5 batch 3; init w float 1 16 3; init r float 1 16 5; node LSTM l x w r -> y hidden_size=4; out y float*", "the shapes of its weights do not fit together", { 0 } },
    { X2 "node Relu r -> y; out y float*", "its first input is missing", { 0 } },
    { X2 "node Add a x _ -> y; out y float*", "an input is missing", { 0 } },
    /* what grows past 2^50 elements */
    { "in x float batch 500000000000000; node Concat c x x x -> y axis=1; out y float*", "a shape of 2^50 elements or more", { .batch = 1 } },
    { "in x float batch 30000000 2; in z float batch 2 40000000; node MatMul m x z -> y; out y float*", "1.2e+15 elements, expected less than 2^50", { .batch = 1 } },
    { "in x float batch 40000000 1; in z float batch 1 40000000; node Add a x z -> y; out y float*", "1.6e+15 elements, expected less than 2^50", { .batch = 1 } },
    { "in x float batch 1000 2; init w float 2 40000000; node MatMul m x w -> y; out y float*", "1.6e+15 elements, expected less than 2^50", { .batch = 40000 } },
    { "in x float batch 4 500 500; init w float 100000 4 1 1; node Conv c x w -> y; out y float*", "2.5e+15 elements, expected less than 2^50", { .batch = 100000 } },
    { "in x float batch 400000000000000; node Transpose t x -> u perm=1,0; node Transpose v x -> w perm=1,0; node Concat c u w u -> y axis=1; out y float*", "a shape of 2^50 elements or more", { .batch = 1 } },
    /* types and kinds */
    { "in x int64 batch 6; init w float 9 4; node Gather g w x -> e; node Relu r x -> y; out y float*", "a model without outputs", { 0 } },
    { X2 "node If i x -> y" Y2, "node 'i' (If): If is not read: which nodes run depends on the data", { 0 } },
    { X2 "node Loop i x -> y" Y2, "node 'i' (Loop): Loop is not read", { 0 } },
    { X2 "node Scan i x -> y" Y2, "node 'i' (Scan): Scan is not read", { 0 } },
    { X2 "node Frob f x -> z; node Relu r z -> y" Y2, "node 'f' (Frob): unknown operator, and the file does not tell the shape of 'z'", { 0 } },
    { X2 "node Cast c x -> y to=8" Y2, "element type STRING", { 0 } },
    { X2 "in s int64 2; node Reshape r x s -> y; out y float*", "an input that decides shapes is not known before the model runs", { 0 } },
    { X2 "node Constant c -> s value@string:1=1; node Reshape r x s -> y; out y float*", "element type STRING is not supported", { 0 } },
};
/* clang-format on */

enum { N_BAD = sizeof bads / sizeof bads[0] };

static void check_failed(enum hypar_status status, const struct hypar_graph *graph,
                         const struct hypar_error *err, const char *what)
{
    if (status == HYPAR_OK || graph || !*err->text || strchr(err->text, '\n'))
        fail_msg("%s: status %d, '%s'", what, (int)status, err->text);
    assert_int_equal(hypar_status_exit_code(status), 3);
}

static void test_bad(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < N_BAD; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        enum hypar_status status = hp_onnx_read_stream(&graph, onnx_text_stream(bads[i].model),
                                                       "bad.onnx", &bads[i].options, &err);
        check_failed(status, graph, &err, bads[i].model);
        if (strncmp(err.text, "bad.onnx: ", 10) != 0 || !strstr(err.text, bads[i].message))
            print_error("%s\n    says     %s\n    expected %s\n", bads[i].model, err.text,
                        bads[i].message),
                wrong++;
        assert_int_equal(hp_onnx_read_stream(&graph, onnx_text_stream(bads[i].model),
                                             "bad.onnx", &bads[i].options, NULL),
                         status);
    }
    printf("%d broken files\n", N_BAD);
    assert_int_equal(wrong, 0);
}

/* Any beginning of a file, and files with some bytes changed --------------------------------
 */

static unsigned char *read_whole(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

/* Read it; whatever comes of it, it is a graph or one line. */
static bool reads(const unsigned char *bytes, size_t n)
{
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    struct hypar_import_options options = { .batch = 2 };
    FILE *file = tmpfile();
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    rewind(file);
    enum hypar_status status = hp_onnx_read_stream(&graph, file, "cut.onnx", &options, &err);
    if (status != HYPAR_OK)
        check_failed(status, graph, &err, "cut.onnx");
    hypar_graph_free(graph);
    return status == HYPAR_OK;
}

static void test_cut(void **state)
{
    (void)state;
    size_t n;
    unsigned char *bytes = read_whole("tests/data/onnx/small/sum.onnx", &n);
    assert_true(reads(bytes, n));
    for (size_t cut = 0; cut < n; cut += 7)
        if (reads(bytes, cut))
            fail_msg("read from %zu of %zu bytes", cut, n);
    free(bytes);
}

static void test_changed(void **state)
{
    (void)state;
    static const char *const files[] = { "tests/data/onnx/small/tokens.onnx",
                                         "tests/data/onnx/small/recurrent.onnx" };
    for (int f = 0; f < 2; f++) {
        size_t n;
        unsigned char *bytes = read_whole(files[f], &n);
        for (uint64_t seed = 0; seed < 300; seed++) {
            struct random random = { seed };
            unsigned char *copy = malloc(n);
            memcpy(copy, bytes, n);
            for (int64_t i = hp_random_below(&random, 4); i >= 0; i--)
                copy[hp_random_below(&random, (int64_t)n)] =
                    (unsigned char)hp_random_below(&random, 256);
            reads(copy, n);
            free(copy);
        }
        free(bytes);
    }
}

/* Files that are all of one field: `count` times `unit` in the message at `path`
 * ---------------
 */

static const struct crowd {
    const char *path; /* fields from the model on, each a message */
    const char *unit;
    int unit_bytes, count;
    const char *message;
} crowds[] = {
#define MANY   (1 << 21) + 1
#define FIELDS "more than 2097152 fields"
#define LISTS  "more than 16 MB in lists of numbers that are not values of tensors"
#define SECOND "not an ONNX file: a second message where one is expected at byte"
    { "", "\x42", 2, MANY, FIELDS },           /* sets of operators */
    { "", "\x08\x07", 2, MANY, FIELDS },       /* versions */
    { "\7", "\x0a", 2, MANY, FIELDS },         /* nodes */
    { "\7", "\x2a", 2, MANY, FIELDS },         /* initializers */
    { "\7", "\x5a", 2, MANY, FIELDS },         /* inputs */
    { "\7\1", "\x0a", 2, MANY, FIELDS },       /* inputs of a node */
    { "\7\1", "\x2a", 2, MANY, FIELDS },       /* its attributes */
    { "\7\1\5", "\x40\x01", 2, MANY, FIELDS }, /* numbers one by one */
    { "\7\1\5", "\x3d\0\0\0", 5, MANY, FIELDS },
    { "\7\5", "\x08\x01", 2, MANY, FIELDS },          /* dimensions of a tensor */
    { "\7\5", "\x38\x01", 2, MANY, FIELDS },          /* its values one by one */
    { "\7", "\x92\x01", 3, MANY, FIELDS },            /* what is left out */
    { "\7\5", "\x6a", 2, MANY, FIELDS },              /* where its values are */
    { "\7\13\2\1\2", "\x0a", 2, MANY, FIELDS },       /* dimensions of a type */
    { "\7\1\5\10", "\x01", 1, (1 << 24) + 1, LISTS }, /* numbers in one list */
    { "\7\1\5\7", "\x01", 1, (1 << 24) + 1, LISTS },
    { "\7\5\1", "\x01", 1, (1 << 24) + 1, LISTS },
    { "\7\5\10", "", 1, 1 << 28, "more than 256 MB" },      /* a name */
    { "\7\5\10", "", 1, 1 << 20, "a model without nodes" }, /* a long one will do */
    { "", "\x3a", 2, 2, SECOND },                           /* graphs */
    { "\7\1\5", "\x2a", 2, 2, SECOND },                     /* an attribute's tensors */
    { "\7\13", "\x12", 2, 2, SECOND },                      /* types of a tensor */
    { "\7\13\2", "\x0a", 2, 2, SECOND },
    { "\7\13\2\1", "\x12", 2, 2, SECOND }, /* its shapes */
};

static size_t put_length(unsigned char *to, size_t length)
{
    size_t n = 0;
    for (; length >= 0x80; length >>= 7)
        to[n++] = (unsigned char)(length | 0x80);
    to[n++] = (unsigned char)length;
    return n;
}

/* The heads of the messages around `size` bytes, from the inside out. */
static FILE *crowd_stream(const struct crowd *c)
{
    unsigned char head[64];
    size_t n = 0, unit = (size_t)c->unit_bytes, size = unit * (size_t)c->count;
    for (size_t i = strlen(c->path); i > 0; i--) {
        unsigned char one[16] = { (unsigned char)(c->path[i - 1] << 3 | 2) };
        size_t m = 1 + put_length(one + 1, size + n);
        memmove(head + m, head, n);
        memcpy(head, one, m);
        n += m;
    }
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(head, 1, n, file), n);
    for (size_t i = 0; i < size && *c->unit; i++)
        putc(c->unit[i % unit], file);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(ftruncate(fileno(file), (off_t)(n + size)), 0); /* zeros take no room */
    rewind(file);
    return file;
}

static void test_crowded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof crowds / sizeof crowds[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        struct hypar_import_options options = { 0 };
        enum hypar_status status =
            hp_onnx_read_stream(&graph, crowd_stream(&crowds[i]), "bad.onnx", &options, &err);
        check_failed(status, graph, &err, "bad.onnx");
        if (!strstr(err.text, crowds[i].message))
            fail_msg("crowd %zu: says '%s', expected '%s'", i, err.text, crowds[i].message);
    }
}

/* External data ------------------------------------------------------------------------------
 */

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

/* Takes note of the last file, and refuses it if it is `no`. */
struct reading {
    const char *no;
    char last[64];
};

static enum hypar_status note_reading(void *who, const char *path, struct hypar_error *err)
{
    struct reading *reading = who;
    snprintf(reading->last, sizeof reading->last, "%s", path);
    if (!reading->no || strcmp(path, reading->no) != 0)
        return HYPAR_OK;
    snprintf(err->text, sizeof err->text, "not this one");
    return HYPAR_USAGE;
}

/* Both files are told before they are read. */
static void check_reads(const char *path, const char *data)
{
    struct reading reading = { .no = path };
    struct hypar_import_options options = { .reads = note_reading, .who = &reading };
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    assert_int_equal(hypar_import(&graph, path, &options, &err), HYPAR_USAGE);
    assert_null(graph);
    assert_string_equal(err.text, "not this one");
    reading.no = data;
    assert_int_equal(hypar_import(&graph, path, &options, &err), HYPAR_USAGE);
    assert_null(graph);
    assert_non_null(strstr(err.text, "initializer 'a': not this one"));
    reading.no = NULL;
    if (hypar_import(&graph, path, &options, &err))
        fail_msg("%s", err.text);
    assert_string_equal(reading.last, data);
    hypar_graph_free(graph);
}

/* Weights beside the model, in three precisions, and from fp16 in a list of integers. */
static void test_external(void **state)
{
    (void)state;
    char folder[] = "/tmp/hypar-onnx-XXXXXX", path[64], data[64];
    static const unsigned char bytes[] = { 0,    0,    0,    0, /* skipped */
                                           0,    0,    0x80, 0x3f,
                                           0,    0,    0,    0xc0,   /* fp32 1, -2 */
                                           0,    0x3c, 0,    0xc0,   /* fp16 1, -2 */
                                           0x80, 0x3f, 0,    0xc0 }; /* bf16 1, -2 */
    size_t n;
    unsigned char *model = onnx_text("in x float batch 2; init a float 2 at w.bin 4 8; init b "
                                     "float16 2 at w.bin 12 4; init c "
                                     "bfloat16 2 at w.bin 16; node Add u x a -> v; node Add w "
                                     "v b -> z; node Add s z c -> y; "
                                     "out y float batch 2",
                                     &n);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    snprintf(data, sizeof data, "%s/w.bin", folder);
    write_file(path, model, n);
    write_file(data, bytes, sizeof bytes);
    struct weights *weights;
    struct hypar_error err = { 0 };
    if (hp_weights_open(&weights, path, NULL, &err))
        fail_msg("%s", err.text);
    for (const char *name = "abc"; *name; name++) {
        double values[2];
        const char one[2] = { *name };
        if (hp_weights_read(weights, one, 2, values, &err))
            fail_msg("%s", err.text);
        assert_true(values[0] == 1 && values[1] == -2);
    }
    check_reads(path, data);
    double two[2];
    assert_int_equal(hp_weights_read(weights, "a", 3, two, &err), HYPAR_INVALID);
    assert_int_equal(hp_weights_read(weights, "d", 2, two, &err), HYPAR_INVALID);
    write_file(data, bytes, 10); /* too short now */
    struct hypar_graph *graph;
    enum hypar_status status = hypar_import(&graph, path, NULL, &err);
    check_failed(status, graph, &err, path);
    assert_non_null(strstr(err.text, "has 10 bytes, expected 8 from byte 4 on"));
    unlink(data); /* which is enough to plan with, not to train */
    if (hypar_import(&graph, path, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(hypar_graph_info(graph).n_notes, 2);
    assert_non_null(strstr(hypar_graph_info(graph).note[1], "in a file that is not there"));
    assert_int_equal(hp_weights_read(weights, "a", 2, two, &err), HYPAR_UNREADABLE);
    assert_non_null(strstr(err.text, "No such file or directory"));
    hypar_graph_free(graph);
    hp_weights_close(weights);
    unlink(path);
    rmdir(folder);
    free(model);
}

/* Where external data may lie: whether a link leads out of the folder is looked at behind all
 * links, those of the folder too; names are UTF-8. */
static void test_places(void **state)
{
    (void)state;
    static const struct {
        const char *location, *message; /* NULL: it is read */
        const char *followed;           /* with follow_links; "": as without */
    } cases[] = {
        { "w.bin", NULL, "" },
        { "gr\xc3\xb6\xc3\x9f"
          "e.bin",
          NULL, "" },
        { "within", NULL, "" },
        { "sub/w.bin", NULL, "" },
        { "sub/up", NULL, "" },
        { "out", "/out' is a link out of the model's folder", NULL },
        { "twice", "/twice' is a link out of the model's folder, which --follow-links allows",
          NULL },
        { "folder/x.bin", "/folder/x.bin' is a link out of the model's folder", NULL },
        { "sibling", "/sibling' is a link out of the model's folder", NULL },
        { "dangling", "/dangling': No such file or directory", "" },
        { "sub", "/sub': not a regular file", "" },
        { "w\xff.bin", "external data is in 'w_.bin', expected a name in UTF-8", "" },
        { "w\x1b[31m", "external data is in 'w_[31m', expected a name in UTF-8", "" },
    };
    char root[] = "/tmp/hypar-onnx-XXXXXX", command[1024];
    assert_non_null(mkdtemp(root));
    snprintf(
        command, sizeof command,
        "cd %s && mkdir -p m/sub else mm && printf 12345678 > m/w.bin && cp m/w.bin "
        "m/gr\xc3\xb6\xc3\x9f"
        "e.bin && cp m/w.bin m/sub && cp m/w.bin else/x.bin && cp m/w.bin "
        "mm/w.bin && ln -s w.bin m/within && ln -s ../w.bin m/sub/up && ln -s ../else/x.bin "
        "m/out && ln -s out m/twice && ln -s ../else m/folder && ln -s ../mm/w.bin "
        "m/sibling && ln -s nothing m/dangling && ln -s m n",
        root);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < 2 * 2 * sizeof cases / sizeof cases[0]; i++) {
        const char *location = cases[i / 4].location, *message = cases[i / 4].message;
        struct hypar_import_options options = { .follow_links = i & 1 };
        char text[256], path[64];
        size_t n;
        if (options.follow_links && (!cases[i / 4].followed || *cases[i / 4].followed))
            message = cases[i / 4].followed;
        snprintf(text, sizeof text,
                 "in x float batch 2; init a float 2 at %s 0 8; node Add u x a -> y; out y "
                 "float batch 2",
                 location);
        snprintf(path, sizeof path, "%s/%c/m.onnx", root, i & 2 ? 'n' : 'm');
        unsigned char *model = onnx_text(text, &n);
        write_file(path, model, n);
        free(model);
        struct hypar_graph *graph;
        struct weights *weights;
        struct hypar_error err = { 0 }, again = { 0 };
        enum hypar_status status = hypar_import(&graph, path, &options, &err);
        assert_int_equal(hp_weights_open(&weights, path, &options, &again), status);
        if (message)
            assert_string_equal(err.text, again.text);
        if (message ? !strstr(err.text, message) : status != HYPAR_OK)
            fail_msg("'%s': says '%s', expected '%s'", location, err.text, message);
        hypar_graph_free(graph);
        hp_weights_close(weights);
    }
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad),      cmocka_unit_test(test_cut),
        cmocka_unit_test(test_changed),  cmocka_unit_test(test_crowded),
        cmocka_unit_test(test_external), cmocka_unit_test(test_places),
    };
    if (strstr(hypar_features(), "protobuf-c: no"))
        return 77; /* nothing to test */
    return cmocka_run_group_tests_name("model/onnx_bad", tests, NULL, NULL);
}
