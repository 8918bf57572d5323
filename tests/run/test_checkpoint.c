/* Checkpoints: written data are read back, in any boxes; a damaged file gives one line; no
 * partial file stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/random.h"
#include "graph/graph.h"
#include "run/checkpoint/checkpoint.h"
#include "run/data.h"
#include "tests/scratch_file.h"

static char folder[] = "/tmp/hypar-checkpoint-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static int count_files(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* Round trips --------------------------------------------------------------------------- */

static const struct checkpoint_tensor tensors[] = {
    { "fc1.w", ELEMENT_F32, { 3, { 4, 5, 6 } } },
    { "optimizer.0.fc1.w", ELEMENT_F64, { 2, { 20, 6 } } },
    { "a \"name\" \\ with \303\251 and \001", ELEMENT_F32, { 1, { 3 } } },
    { "steps", ELEMENT_I64, { 0, { 0 } } },
    { "empty", ELEMENT_F32, { 2, { 0, 7 } } },
};
enum { N_TENSORS = sizeof tensors / sizeof tensors[0] };

static const struct training_state trained = { .step = 12,
                                               .position = 768,
                                               .seed = UINT64_MAX,
                                               .graph_hash = 0xfedcba9876543210u,
                                               .optimizer = HYPAR_ADAMW };

static double value_of(int t, int64_t i)
{
    return t + (double)i / 8; /* exact in both precisions */
}

/* A box of the tensor's type, dense. */
static void *dense_of(int t, const struct box *box)
{
    int64_t n = hp_box_elements(box), at = 0;
    double *dense = calloc((size_t)n + 1, sizeof *dense);
    assert_non_null(dense);
    struct runs r = hp_runs(&tensors[t].shape, box);
    for (; hp_next_run(&r); at += r.length)
        for (int64_t i = 0; i < r.length; i++) {
            if (tensors[t].type == ELEMENT_I64)
                ((int64_t *)(void *)dense)[at + i] = INT64_MIN + r.in_array + i;
            else
                hp_put(dense, at + i, value_of(t, r.in_array + i),
                       tensors[t].type == ELEMENT_F32 ? REAL_F32 : REAL_F64);
        }
    return dense;
}

static enum hypar_status put(struct checkpoint_writer *w, int t, const struct box *box,
                             struct hypar_error *err)
{
    void *dense = dense_of(t, box);
    enum hypar_status status = hp_checkpoint_put(w, t, box, dense, err);
    free(dense);
    return status;
}

/* Cut at random into boxes, the second half first. */
static void put_pieces(struct checkpoint_writer *w, int t, struct box box,
                       struct random *random)
{
    struct hypar_error err;
    int d = box.n_dims ? (int)hp_random_below(random, box.n_dims) : 0;
    if (box.n_dims == 0 || box.dim[d].hi - box.dim[d].lo < 2 ||
        hp_random_below(random, 4) == 0) {
        assert_int_equal(put(w, t, &box, &err), HYPAR_OK);
        return;
    }
    struct box second = box;
    int64_t cut =
        box.dim[d].lo + 1 + hp_random_below(random, box.dim[d].hi - box.dim[d].lo - 1);
    box.dim[d].hi = second.dim[d].lo = cut;
    put_pieces(w, t, second, random);
    put_pieces(w, t, box, random);
}

static void write_it(const char *to, struct random *random)
{
    struct checkpoint_writer *w;
    struct checkpoint_pair pair[TRAINING_PAIRS];
    struct arena arena = { 0 };
    struct hypar_error err = { 0 };
    hp_training_metadata(&trained, &arena, pair);
    if (hp_checkpoint_create(&w, to, tensors, N_TENSORS, pair, TRAINING_PAIRS, &err))
        fail_msg("%s", err.text);
    for (int t = N_TENSORS - 1; t >= 0; t--)
        put_pieces(w, t, hp_shape_box(&tensors[t].shape), random);
    assert_int_equal(hp_checkpoint_finish(w, true, &err), HYPAR_OK);
    hp_arena_free(&arena);
}

static struct checkpoint *open_it(const char *from)
{
    struct checkpoint *c;
    struct hypar_error err = { 0 };
    if (hp_checkpoint_open(&c, from, &err))
        fail_msg("%s", err.text);
    return c;
}

static struct box random_box(const struct hypar_shape *shape, struct random *random)
{
    struct box box = { .n_dims = shape->n_dims };
    for (int d = 0; d < shape->n_dims; d++) {
        int64_t a = hp_random_below(random, shape->dim[d] + 1);
        int64_t b = hp_random_below(random, shape->dim[d] + 1);
        box.dim[d] = (struct range){ a < b ? a : b, a < b ? b : a };
    }
    return box;
}

static void check_box(const struct checkpoint *c, int t, const struct box *box)
{
    int64_t n = hp_box_elements(box), at = 0;
    for (int real = REAL_F32; real <= REAL_F64; real++, at = 0) {
        double *dense = calloc((size_t)n + 1, sizeof *dense);
        assert_int_equal(hp_checkpoint_read(c, t, box, (enum real)real, dense, NULL), HYPAR_OK);
        struct runs r = hp_runs(&tensors[t].shape, box);
        for (; hp_next_run(&r); at += r.length)
            for (int64_t i = 0; i < r.length; i++)
                assert_true(hp_get(dense, at + i, (enum real)real) ==
                            value_of(t, r.in_array + i));
        assert_int_equal(at, n);
        free(dense);
    }
}

static void round_trip(void **state)
{
    (void)state;
    struct random random = { 3 };
    for (int round = 0; round < 20; round++) {
        write_it(path, &random);
        assert_int_equal(count_files(), 1);
        struct checkpoint *c = open_it(path);
        assert_int_equal(hp_checkpoint_count(c), N_TENSORS);
        for (int t = 0; t < N_TENSORS; t++) {
            int found;
            assert_int_equal(
                hp_checkpoint_need(c, tensors[t].name, &tensors[t].shape, &found, NULL),
                HYPAR_OK);
            assert_int_equal(found, t);
            struct box box = random_box(&tensors[t].shape, &random);
            int64_t steps;
            if (tensors[t].type != ELEMENT_I64)
                check_box(c, t, &box);
            else if (!hp_checkpoint_read_int(c, t, &box, &steps, NULL))
                assert_true(steps == INT64_MIN);
        }
        struct training_state read;
        assert_int_equal(hp_training_state(c, &read, NULL), HYPAR_OK);
        assert_true(read.step == trained.step && read.position == trained.position);
        assert_true(read.seed == trained.seed && read.graph_hash == trained.graph_hash);
        assert_int_equal(read.optimizer, trained.optimizer);
        assert_string_equal(hp_checkpoint_metadata(c, "hypar_version"), "0.1.0");
        assert_null(hp_checkpoint_metadata(c, "something"));
        assert_int_equal(hp_checkpoint_find(c, "fc2.w"), -1);
        hp_checkpoint_close(c);
    }
}

/* Byte for byte as the format's description says, written out. */
static void bytes(void **state)
{
    (void)state;
    static const struct checkpoint_tensor one = { "w", ELEMENT_F32, { 1, { 2 } } };
    static const float values[] = { 1, -2 };
    static const char expected[] = "\x90\0\0\0\0\0\0\0"
                                   "{\"__metadata__\": {\"header_crc32\": \"41567e3a\", "
                                   "\"a\": \"b\", \"crc32.w\": \"c3872656\"}, "
                                   "\"w\": {\"dtype\": \"F32\", \"shape\": [2], "
                                   "\"data_offsets\": [0, 8]}}    "
                                   "\0\0\x80\x3f\0\0\0\xc0"; /* checksums: Python's zlib */
    char text[256];
    struct checkpoint_writer *w;
    struct box box = hp_shape_box(&one.shape);
    assert_int_equal(
        hp_checkpoint_create(&w, path, &one, 1, &(struct checkpoint_pair){ "a", "b" }, 1, NULL),
        HYPAR_OK);
    assert_int_equal(hp_checkpoint_put(w, 0, &box, values, NULL), HYPAR_OK);
    assert_int_equal(hp_checkpoint_finish(w, true, NULL), HYPAR_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_int_equal(n, sizeof expected - 1);
    assert_memory_equal(text, expected, n);
}

/* Damage -------------------------------------------------------------------------------- */

static size_t read_bytes(char *to, size_t room)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(to, 1, room, file);
    fclose(file);
    assert_true(n < room);
    return n;
}

static enum hypar_status open_bytes(const void *from, size_t n, struct hypar_error *err)
{
    struct checkpoint *c;
    struct training_state found;
    *err = (struct hypar_error){ 0 };
    enum hypar_status status = hp_checkpoint_open(&c, scratch_file(0, from, n), err);
    assert_true((status == HYPAR_OK) == (c != NULL));
    assert_true((status == HYPAR_OK) == !*err->text);
    assert_null(strchr(err->text, '\n'));
    if (c)
        hp_training_state(c, &found, NULL);
    if (c)
        status = hp_checkpoint_verify(c, 0, 1, err);
    hp_checkpoint_close(c);
    return status;
}

static void truncated(void **state)
{
    (void)state;
    static char text[4096];
    struct random random = { 3 };
    struct hypar_error err;
    write_it(path, &random);
    size_t n = read_bytes(text, sizeof text);
    for (size_t length = 0; length < n; length++)
        assert_int_not_equal(open_bytes(text, length, &err), HYPAR_OK);
    assert_int_equal(open_bytes(text, n, &err), HYPAR_OK);
    assert_int_equal(open_bytes(text, n + 1, &err), HYPAR_INVALID); /* one too many */
}

/* Any flipped bit is found, by the header's checksum or by that of a tensor, whose name the
 * line has. */
static void flipped(void **state)
{
    (void)state;
    static char text[4096];
    struct random random = { 3 };
    struct hypar_error err;
    write_it(path, &random);
    size_t n = read_bytes(text, sizeof text),
           header = 8 + (unsigned char)text[0] + 256 * (size_t)(unsigned char)text[1];
    assert_true(header < n);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        if (open_bytes(text, n, &err) == HYPAR_OK)
            fail_msg("bit %zu of %zu was missed", bit, 8 * n);
        if (bit / 8 >= header && !strstr(err.text, ": tensor '"))
            fail_msg("bit %zu: %s", bit, err.text);
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
    }
}

/* A header that says the same in other bytes has a checksum that cannot be checked. */
static void written_anew(void **state)
{
    (void)state;
    static char text[4096];
    static const char key[] = "\"header_crc32\": ";
    struct random random = { 3 };
    struct hypar_error err;
    write_it(path, &random);
    size_t n = read_bytes(text, sizeof text), at = 8;
    while (memcmp(text + at, key, sizeof key - 1) != 0)
        assert_true(++at < n - sizeof key);
    memcpy(text + at + strlen("\"header_crc32\""), " :", 2);
    assert_true(open_bytes(text, n, &err) == HYPAR_INVALID);
    assert_non_null(strstr(err.text, "the header was written anew"));
}

/* The tensors are divided among processes: each is read by exactly one. */
static void shared_out(void **state)
{
    (void)state;
    static char text[4096];
    struct random random = { 3 };
    struct checkpoint *c;
    struct hypar_error err;
    write_it(path, &random);
    size_t n = read_bytes(text, sizeof text);
    text[n - 1] ^= 1; /* of "steps": the last is empty */
    assert_int_equal(hp_checkpoint_open(&c, scratch_file(0, text, n), &err), HYPAR_OK);
    assert_true(hp_checkpoint_has_checksums(c));
    for (int shares = 1; shares < 9; shares++) {
        int found = 0;
        for (int i = 0; i < shares; i++)
            found += hp_checkpoint_verify(c, i, shares, &err) != HYPAR_OK;
        assert_int_equal(found, 1);
        assert_non_null(strstr(err.text, ": tensor 'steps' is damaged: its checksum is "));
    }
    hp_checkpoint_close(c);
}

static void bad_headers(void **state)
{
    (void)state;
#define T(dtype, shape, offsets) \
    "{\"t\": {\"dtype\": " dtype ", \"shape\": " shape ", \"data_offsets\": " offsets "}}"
#define TWO(a, b)                                                                    \
    "{\"t\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": " a "}, \"u\": " \
    "{\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": " b "}}"
    static const struct {
        const char *header;
        int data;
        const char *message; /* after the path */
    } rows[] = {
        { T("\"F32\"", "[2]", "[0, 8]"), 8, NULL },
        { T("\"F32\"", "[2]", "[0, 8]"), 7,
          "t.data_offsets[1]: expected an integer in 0..7, not 8" },
        { T("\"F32\"", "[2]", "[0, 8]"), 9,
          "9 bytes of data, expected 8, where the last tensor ends" },
        { T("\"F32\"", "[2]", "[0, 4]"), 8,
          "t.data_offsets: 0 to 4, expected 8 bytes, as type and shape say" },
        { T("\"F32\"", "[2]", "[8, 0]"), 8,
          "t.data_offsets: 8 to 0, expected 8 bytes, as type and shape say" },
        { T("\"F33\"", "[2]", "[0, 8]"), 8,
          "t.dtype: unknown type 'F33', expected one such as F32 or F64" },
        { T("4", "[2]", "[0, 8]"), 8, "t.dtype: expected a string, not 4" },
        { T("\"F32\"", "[-2]", "[0, 8]"), 8,
          "t.shape[0]: expected an integer in 0..1125899906842624, not -2" },
        { T("\"F32\"", "[2.0]", "[0, 8]"), 8,
          "t.shape[0]: expected an integer in 0..1125899906842624, not 2.0" },
        { T("\"F32\"", "[1099511627776, 1099511627776]", "[0, 8]"), 8,
          "t.shape: more than 2^50 elements" },
        { T("\"F32\"", "2", "[0, 8]"), 8, "t.shape: expected an array, not 2" },
        { T("\"F32\"", "[2]", "[0]"), 8,
          "t.data_offsets[1]: missing, expected an integer in 0..8" },
        { T("\"F32\"", "[2]", "[0, 8, 8]"), 8,
          "t.data_offsets: has 3 elements, expected at most 2" },
        { TWO("[4, 8]", "[0, 4]"), 8, NULL }, /* in any order */
        { TWO("[0, 4]", "[0, 4]"), 4,
          "tensor 'u' begins at byte 0 of the data, expected 4, where the one before it ends" },
        { TWO("[0, 4]", "[8, 12]"), 12,
          "tensor 'u' begins at byte 8 of the data, expected 4, where the one before it ends" },
        { "{\"t\": {\"dtype\": \"F32\"}}", 0, "t.shape: missing, expected an array" },
        { "{\"t\": {\"dtype\": \"F32\", \"type\": 1}}", 0,
          "t: unknown member 'type', did you mean dtype?" },
        { "{\"t\": 1}", 0, "t: expected an object, not 1" },
        { "{\"__metadata__\": {\"a\": 1}}", 0, "__metadata__.a: expected a string, not 1" },
        { "{\"__metadata__\": {\"crc32.t\": \"00000000\"}}", 0,
          "the header has no checksum, expected header_crc32 beside those of tensors" },
        { "{\"__metadata__\": {\"header_crc32\": \"00000000\"}}", 0,
          "the header is damaged: its checksum is dd30dbdf, expected 00000000" },
        { "{\"__metadata__\": {\"header_crc32\": \"a9df1390\"}, \"t\": {\"dtype\": \"F32\", "
          "\"shape\": [0], \"data_offsets\": [0, 0]}}",
          0, "tensor 't' has no checksum, expected one as the header has" },
        { "{\"__metadata__\": []}", 0, "__metadata__: expected an object, not an array" },
    };
    char text[512];
    struct hypar_error err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length = strlen(rows[i].header);
        memset(text, 0, sizeof text);
        text[0] = (char)length;
        memcpy(text + 8, rows[i].header, length);
        enum hypar_status status = open_bytes(text, 8 + length + (size_t)rows[i].data, &err);
        assert_int_equal(status, rows[i].message ? HYPAR_INVALID : HYPAR_OK);
        if (!rows[i].message)
            continue;
        const char *reason = strstr(err.text, ": ");
        assert_non_null(reason);
        assert_string_equal(reason + 2, rows[i].message);
    }
#undef T
#undef TWO
}

static void foreign(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *message;
    } rows[] = {
        { "", 0, "0 bytes, expected a safetensors file" },
        { "PK\3\4\24\0\0\10\10\0", 10,
          "the header does not begin with '{', expected a safetensors file" },
        { "\377\377\377\377\377\377\377\377{}", 10,
          "a header of 18446744073709551615 bytes in a file of 10, expected a safetensors "
          "file" },
        { "\3\0\0\0\0\0\0\0{}", 10,
          "a header of 3 bytes in a file of 10, expected a safetensors file" },
    };
    struct hypar_error err;
    struct checkpoint *c;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(open_bytes(rows[i].bytes, rows[i].n, &err), HYPAR_INVALID);
        assert_string_equal(strstr(err.text, ": ") + 2, rows[i].message);
    }
    assert_int_equal(open_bytes("\2\0\0\0\0\0\0\0{,", 10, &err), HYPAR_SYNTAX);
    assert_int_equal(hp_checkpoint_open(&c, "/not/there", &err), HYPAR_UNREADABLE);
    assert_string_equal(err.text, "/not/there: cannot open: No such file or directory");
    assert_int_equal(hp_checkpoint_open(&c, "/tmp", &err), HYPAR_UNREADABLE);
    assert_string_equal(err.text, "/tmp: not a regular file");
}

/* What is not in it, or is something else. */
static void needs(void **state)
{
    (void)state;
    struct random random = { 3 };
    struct hypar_error err;
    int t;
    double value[24];
    write_it(path, &random);
    struct checkpoint *c = open_it(path);
    const struct hypar_shape shape = { 2, { 4, 6 } };
    char expected[256];
    assert_int_equal(hp_checkpoint_need(c, "fc9.w", &shape, &t, &err), HYPAR_INVALID);
    snprintf(expected, sizeof expected,
             "%s: has no tensor 'fc9.w', expected one of shape [4, 6]", path);
    assert_string_equal(err.text, expected);
    assert_int_equal(hp_checkpoint_need(c, "fc1.w", &shape, &t, &err), HYPAR_INVALID);
    snprintf(expected, sizeof expected,
             "%s: tensor 'fc1.w' has shape [4, 5, 6], expected [4, 6]", path);
    assert_string_equal(err.text, expected);
    struct box box = hp_shape_box(&tensors[3].shape);
    assert_int_equal(hp_checkpoint_read(c, 3, &box, REAL_F64, value, &err), HYPAR_INVALID);
    snprintf(expected, sizeof expected, "%s: tensor 'steps' has type I64, expected F32 or F64",
             path);
    assert_string_equal(err.text, expected);
    hp_checkpoint_close(c);
}

static void bad_states(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    static const struct {
        int pair;
        const char *value, *message;
    } rows[] = {
        { 0, "pt", "metadata format: 'pt', expected hypar-checkpoint/1" },
        { 2, "g", "metadata graph_hash: 'g', expected a hexadecimal number" },
        { 2, "10000000000000000",
          "metadata graph_hash: '10000000000000000', expected a hexadecimal number" },
        { 3, "lion", "metadata optimizer: 'lion', expected the name of an optimizer" },
        { 4, "-1", "metadata step: '-1', expected a number" },
        { 4, "9223372036854775808", "metadata step: '9223372036854775808', expected a number" },
        { 4, NULL, "metadata step: missing, expected a number" },
        { 5, "", "metadata position: '', expected a number" },
        { 6, "18446744073709551616",
          "metadata seed: '18446744073709551616', expected a number" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct checkpoint_pair pair[TRAINING_PAIRS];
        struct checkpoint_writer *w;
        struct training_state read;
        struct hypar_error err = { 0 };
        hp_training_metadata(&trained, &arena, pair);
        pair[rows[i].pair] =
            (struct checkpoint_pair){ rows[i].value ? pair[rows[i].pair].key : "else",
                                      rows[i].value ? rows[i].value : "" };
        assert_int_equal(hp_checkpoint_create(&w, path, NULL, 0, pair, TRAINING_PAIRS, &err),
                         HYPAR_OK);
        assert_int_equal(hp_checkpoint_finish(w, true, &err), HYPAR_OK);
        struct checkpoint *c = open_it(path);
        assert_int_equal(hp_training_state(c, &read, &err), HYPAR_INVALID);
        assert_string_equal(strstr(err.text, "metadata"), rows[i].message);
        assert_memory_equal(err.text, path, strlen(path));
        hp_checkpoint_close(c);
    }
    assert_string_equal(hp_state_name(&arena, 1, "fc1.w"), "optimizer.1.fc1.w");
    hp_arena_free(&arena);
}

/* Failing writes ------------------------------------------------------------------------ */

static void abandoned(void **state)
{
    (void)state;
    struct checkpoint_writer *w;
    struct box box = hp_shape_box(&tensors[0].shape);
    unlink(path);
    assert_int_equal(hp_checkpoint_create(&w, path, tensors, N_TENSORS, NULL, 0, NULL),
                     HYPAR_OK);
    assert_int_equal(put(w, 0, &box, NULL), HYPAR_OK);
    assert_int_equal(hp_checkpoint_finish(w, false, NULL), HYPAR_OK);
    assert_int_equal(count_files(), 0);
    assert_int_equal(hp_checkpoint_finish(NULL, true, NULL), HYPAR_OK);
}

/* A file may have no more than 1 KiB: as a disk that is full in the middle of a tensor. What
 * was there before stays. */
static void full_disk(void **state)
{
    (void)state;
    struct checkpoint_writer *w;
    struct random random = { 3 };
    struct hypar_error err = { 0 };
    struct box box = hp_shape_box(&tensors[1].shape);
    struct rlimit before, limit;
    char expected[128];
    write_it(path, &random);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){ 1024, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(hp_checkpoint_create(&w, path, tensors, N_TENSORS, NULL, 0, &err),
                     HYPAR_OK);
    enum hypar_status putting = put(w, 1, &box, &err);
    enum hypar_status finishing = hp_checkpoint_finish(w, true, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(putting, HYPAR_RUNTIME);
    assert_int_equal(finishing, HYPAR_RUNTIME);
    snprintf(expected, sizeof expected, "%s: cannot write: File too large", path);
    assert_string_equal(err.text, expected);
    assert_int_equal(hypar_status_exit_code(putting), 4);
    assert_int_equal(count_files(), 1);
    struct checkpoint *c = open_it(path);
    assert_int_equal(hp_checkpoint_count(c), N_TENSORS);
    hp_checkpoint_close(c);
}

static void not_writable(void **state)
{
    (void)state;
    struct checkpoint_writer *w;
    struct hypar_error err = { 0 };
    assert_int_equal(
        hp_checkpoint_create(&w, "/not/there/file", tensors, N_TENSORS, NULL, 0, &err),
        HYPAR_RUNTIME);
    assert_null(w);
    assert_string_equal(err.text, "/not/there/file: cannot write: No such file or directory");
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(
            hp_checkpoint_create(&w, "/dev/full", tensors, N_TENSORS, NULL, 0, &err),
            HYPAR_RUNTIME);
        assert_string_equal(err.text, "/dev/full: cannot write: No space left on device");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),   cmocka_unit_test(bytes),
        cmocka_unit_test(truncated),    cmocka_unit_test(flipped),
        cmocka_unit_test(written_anew), cmocka_unit_test(shared_out),
        cmocka_unit_test(bad_headers),  cmocka_unit_test(foreign),
        cmocka_unit_test(needs),        cmocka_unit_test(bad_states),
        cmocka_unit_test(abandoned),    cmocka_unit_test(full_disk),
        cmocka_unit_test(not_writable),
    };
    return cmocka_run_group_tests_name("run: checkpoints", tests, make_folder, remove_folder);
}
