/* Resuming a training: a checkpoint is refused if any bit has changed, if something is missing,
 * or if its place in the data is wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hypar/graph.h>
#include <hypar/run.h>
#include <hypar/search.h>

#include "run/checkpoint/checkpoint.h"
#include "run/data.h"
#include "tests/onnx_text.h"
#include "tests/scratch_file.h"

static struct hypar_graph *graph;
static struct hypar_machine *machine;
static struct hypar_found *found;
static struct hypar_ranks *ranks;
static char good[4096]; /* a checkpoint after three steps */
static size_t n_good;

static enum hypar_status train(const char *resume, const char *checkpoint,
                               struct hypar_train_options how, struct hypar_error *err)
{
    struct hypar_train_result result;
    how.steps = resume ? 4 : 3;
    how.kernels = "reference";
    how.resume = resume;
    how.checkpoint = checkpoint;
    *err = (struct hypar_error){ 0 };
    enum hypar_status status = hypar_train(hypar_found_plan(found), ranks, &how, &result, err);
    hypar_trace_free(result.trace);
    return status;
}

static int make_checkpoint(void **state)
{
    (void)state;
    char folder[] = "/tmp/hypar-resume-XXXXXX", path[64];
    struct hypar_import_options import = { .batch = 8 };
    struct hypar_search_options search = { .planner = "dp", .optimizer = HYPAR_ADAM };
    struct hypar_error err = { 0 };
    if (!mkdtemp(folder) || hypar_import(&graph, "mlp:8-6-4", &import, &err) ||
        hypar_machine_read(&machine, "full:2", &err) ||
        hypar_search(&found, graph, machine, &search, &err) || hypar_ranks_join(&ranks, &err))
        fail_msg("%s", err.text);
    snprintf(path, sizeof path, "%s/c", folder);
    if (train(NULL, path, (struct hypar_train_options){ 0 }, &err))
        fail_msg("%s", err.text);
    FILE *file = fopen(path, "rb");
    n_good = fread(good, 1, sizeof good, file);
    fclose(file);
    assert_true(n_good < sizeof good);
    unlink(path);
    return rmdir(folder);
}

static int release(void **state)
{
    (void)state;
    hypar_ranks_leave(ranks, HYPAR_OK);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return 0;
}

/* Every byte, one of its bits after another: exit code 3, and a line that names the file. */
static void no_bit_may_flip(void **state)
{
    (void)state;
    static char text[sizeof good];
    struct hypar_error err;
    const char *path = scratch_file(0, good, n_good);
    size_t header = 8 + (unsigned char)good[0] + 256 * (size_t)(unsigned char)good[1];
    assert_int_equal(train(path, NULL, (struct hypar_train_options){ 0 }, &err), HYPAR_OK);
    memcpy(text, good, n_good);
    for (size_t i = 0; i < n_good; i++) {
        char bit = (char)(1 << i % 8);
        text[i] ^= bit;
        path = scratch_file(0, text, n_good);
        enum hypar_status status = train(path, NULL, (struct hypar_train_options){ 0 }, &err);
        text[i] ^= bit;
        if (hypar_status_exit_code(status) != 3 || strchr(err.text, '\n') ||
            strncmp(err.text, path, strlen(path)) != 0 ||
            (i >= header && !strstr(err.text, ": tensor '")))
            fail_msg("byte %zu of %zu: status %d, '%s'", i, n_good, status, err.text);
    }
}

/* The checkpoint again, but for tensors whose names have `without` in them, with another
 * position, tensor 0 transposed, and an infinite value. */
struct change {
    const char *without;
    int64_t position;
    bool transpose;
    const char *infinite; /* a tensor whose first value is */
};

static const char *changed(struct change change, const char *path)
{
    struct checkpoint *c;
    struct checkpoint_writer *w;
    struct checkpoint_tensor tensor[32];
    struct checkpoint_pair pair[TRAINING_PAIRS];
    struct training_state s;
    struct arena arena = { 0 };
    int kept[32], n = 0;
    assert_int_equal(hp_checkpoint_open(&c, scratch_file(1, good, n_good), NULL), HYPAR_OK);
    assert_int_equal(hp_training_state(c, &s, NULL), HYPAR_OK);
    for (int t = 0; t < hp_checkpoint_count(c); t++)
        if (!change.without || !strstr(hp_checkpoint_tensor(c, t)->name, change.without)) {
            tensor[n] = *hp_checkpoint_tensor(c, t);
            kept[n++] = t;
        }
    s.position = change.position ? change.position : s.position;
    hp_training_metadata(&s, &arena, pair);
    if (change.transpose) {
        int64_t rows = tensor[0].shape.dim[0];
        tensor[0].shape.dim[0] = tensor[0].shape.dim[1];
        tensor[0].shape.dim[1] = rows;
    }
    assert_int_equal(hp_checkpoint_create(&w, path, tensor, n, pair, TRAINING_PAIRS, NULL),
                     HYPAR_OK);
    for (int i = 0; i < n; i++) {
        float values[256];
        struct box from = hp_shape_box(&hp_checkpoint_tensor(c, kept[i])->shape);
        struct box to = hp_shape_box(&tensor[i].shape);
        assert_int_equal(hp_checkpoint_read(c, kept[i], &from, REAL_F32, values, NULL),
                         HYPAR_OK);
        if (change.infinite && strcmp(tensor[i].name, change.infinite) == 0)
            values[0] = INFINITY;
        assert_int_equal(hp_checkpoint_put(w, i, &to, values, NULL), HYPAR_OK);
    }
    assert_int_equal(hp_checkpoint_finish(w, true, NULL), HYPAR_OK);
    hp_checkpoint_close(c);
    hp_arena_free(&arena);
    return path;
}

static void keep_note(void *who, const char *text)
{
    snprintf(who, sizeof(struct hypar_error), "%s", text);
}

static void what_it_says_must_be_true(void **state)
{
    (void)state;
    static const struct {
        struct change change;
        const char *refused, *noted; /* after the path; noted: with partial_weights */
    } rows[] = {
        { { NULL }, NULL, NULL },
        { { .without = "optimizer.1.fc2.b" },
          "1 of 12 tensors is missing, the first is 'optimizer.1.fc2.b'; --partial-weights "
          "goes on without",
          "1 of 12 tensors is missing: 0 parameters are drawn at random, other state begins as "
          "in a new run" },
        { { .without = "fc1.w" },
          "3 of 12 tensors are missing, the first is 'fc1.w'; --partial-weights goes on "
          "without",
          "3 of 12 tensors are missing: 1 parameter is drawn at random, other state begins as "
          "in a new run" },
        { { .position = 999 },
          "metadata position: '999', expected 3 steps of 8 samples",
          NULL },
        { { .position = INT64_MAX },
          "metadata position: '9223372036854775807', expected 3 steps of 8 samples",
          NULL },
        { { .infinite = "fc1.w" },
          "'fc1.w' has values that are not finite, expected none",
          NULL },
        { { .infinite = "optimizer.1.fc2.b" },
          "'optimizer.1.fc2.b' has values that are not finite, expected none",
          NULL },
        { { .transpose = true }, "tensor 'fc1.w' has shape [6, 8], expected [8, 6]", NULL },
    };
    char path[] = "/tmp/hypar-resume-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int partial = 0; partial < 2; partial++) {
            struct hypar_error err, note = { 0 };
            struct hypar_train_options how = { .partial_weights = partial,
                                               .note = keep_note,
                                               .who = &note };
            const char *refused = partial && rows[i].noted ? NULL : rows[i].refused;
            enum hypar_status status = train(changed(rows[i].change, path), NULL, how, &err);
            assert_int_equal(status, refused ? HYPAR_INVALID : HYPAR_OK);
            if (refused)
                assert_string_equal(err.text + sizeof path + 1, refused);
            if (partial && rows[i].noted)
                assert_string_equal(note.text + sizeof path + 1, rows[i].noted);
            else
                assert_string_equal(note.text, "");
        }
    unlink(path);
}

/* An ONNX file has values of all parameters, or is a network without any. */
static void onnx_files(void **state)
{
    (void)state;
#define MODEL(v, w)                                                 \
    "in x float batch 2; init v float 2 2" v "; init w float 2 2" w \
    "; node Gemm f x v -> h; node Gemm g h w -> y; out y float batch 2"
    static const struct {
        const char *model, *refused, *noted; /* noted: with partial_weights */
    } rows[] = {
        { MODEL(" = 1 2 3 4", " = 1 2 3 4"), NULL, "" },
        { MODEL(" = 1 2 3 4", ""),
          "1 of 2 tensors is missing, the first is 'w'; --partial-weights goes on without",
          "1 of 2 tensors is missing: 1 parameter is drawn at random" },
        { MODEL("", ""), NULL, "has no values: all 2 parameters are drawn at random" },
    };
#undef MODEL
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int partial = 0; partial < 2; partial++) {
            size_t n;
            unsigned char *bytes = onnx_text(rows[i].model, &n);
            assert_non_null(bytes);
            const char *path = scratch_file(2, bytes, n);
            struct hypar_import_options import = { .batch = 4 };
            struct hypar_search_options search = { .planner = "dp" };
            struct hypar_graph *net;
            struct hypar_found *plan;
            struct hypar_train_result result;
            struct hypar_error err = { 0 }, note = { 0 };
            struct hypar_train_options how = { .steps = 1,
                                               .kernels = "reference",
                                               .partial_weights = partial,
                                               .note = keep_note,
                                               .who = &note };
            free(bytes);
            if (hypar_import(&net, path, &import, &err) ||
                hypar_search(&plan, net, machine, &search, &err))
                fail_msg("%s", err.text);
            const char *refused = partial ? NULL : rows[i].refused;
            assert_int_equal(hypar_train(hypar_found_plan(plan), ranks, &how, &result, &err),
                             refused ? HYPAR_INVALID : HYPAR_OK);
            const char *said = refused ? err.text : note.text;
            const char *expected = refused ? refused : rows[i].noted;
            assert_string_equal(*expected ? said + strlen(path) + 2 : said, expected);
            hypar_trace_free(result.trace);
            hypar_found_free(plan);
            hypar_graph_free(net);
        }
}

/* The step that a large rate spoils writes nothing: what was there before stays. */
static void nothing_infinite_is_written(void **state)
{
    (void)state;
    char path[] = "/tmp/hypar-resume-XXXXXX", text[sizeof good + 1];
    struct hypar_error err;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, good, n_good), n_good);
    close(fd);
    struct hypar_train_options how = { .learning_rate = 1e39 }; /* the first update overflows */
    assert_int_equal(train(path, path, how, &err), HYPAR_INFEASIBLE);
    assert_memory_equal(err.text, "after step 4: ", 14);
    assert_string_equal(err.text + 14 + sizeof path + 1,
                        "not written, as 'fc1.w' has values that are not finite; a lower "
                        "--learning-rate may help");
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(text, 1, sizeof text, file), n_good);
    fclose(file);
    assert_memory_equal(text, good, n_good);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bit_may_flip),
        cmocka_unit_test(what_it_says_must_be_true),
        cmocka_unit_test(onnx_files),
        cmocka_unit_test(nothing_infinite_is_written),
    };
    return cmocka_run_group_tests_name("run: going on", tests, make_checkpoint, release);
}
