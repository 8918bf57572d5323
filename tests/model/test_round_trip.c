/* A graph from any source, written as hypar-graph/1, read and written again, has the same bytes
 * and the same hash. */
#define _XOPEN_SOURCE 700 /* glob */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "model/pipedream/pipedream.h"
#include "tests/random_graph.h"
#include "tests/written_graph.h"

static void check(const struct hypar_graph *graph, const char *what)
{
    struct hypar_error err = { 0 };
    if (!survives_writing(graph, &err))
        fail_msg("%s: %s", what, err.text);
}

/* As it is, and with a batch of `batch`, where the model follows one. */
static bool check_model(const char *model, int64_t batch)
{
    struct hypar_import_options options = { .batch = batch };
    struct hypar_graph *graph;
    bool read = hypar_import(&graph, model, &options, NULL) == HYPAR_OK;
    if (read)
        check(graph, model);
    hypar_graph_free(graph);
    return read;
}

static void test_zoo(void **state)
{
    (void)state;
    static const char *const words[] = { "mlp:8-6-4",        "resnet18:image=32",
                                         "bert-base:seq=16", "gpt2:seq=8",
                                         "lenet5",           "densenet121:depth=169" };
    for (int i = 0; i < hypar_model_count(); i++)
        assert_true(check_model(hypar_model_at(i).name, 3));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_true(check_model(words[i], 0));
}

/* Files --------------------------------------------------------------------------------- */

static int n_files;

/* Texts beside ONNX files are lists of layers; a few networks are no graph of their own. */
static void visit(const char *path)
{
    const char *end = strrchr(path, '.');
    if (!end || (strcmp(end, ".txt") == 0 && strstr(path, "/onnx/")))
        return;
    bool as_written = check_model(path, 0), in_pairs = check_model(path, 2);
    if (as_written || in_pairs)
        n_files++;
    else if (strcmp(end, ".json") != 0 && !strstr(path, "external.onnx"))
        fail_msg("%s: cannot be read", path);
}

static void test_files(void **state)
{
    (void)state;
    static const char *const files[] = { "tests/data/bounds/*", "tests/data/pipedream/*",
                                         "examples/models/*",   "tests/data/*",
                                         "tests/data/sizes/*",  "tests/data/onnx/*/*" };
    bool onnx = !strstr(hypar_features(), "protobuf-c: no");
    for (int i = 0; i < (onnx ? 6 : 3); i++) {
        glob_t found;
        assert_int_equal(glob(files[i], 0, NULL, &found), 0);
        for (size_t k = 0; k < found.gl_pathc; k++)
            visit(found.gl_pathv[k]);
        globfree(&found);
    }
    printf("%d files\n", n_files);
    assert_true(n_files > (onnx ? 30 : 8));
}

/* Random ones --------------------------------------------------------------------------- */

static void test_random_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        char what[32];
        struct random random = { seed };
        struct hypar_graph *graph = random_graph(&random,
                                                 (enum op_kind)(seed % (OP_KIND_COUNT + 1))),
                           *ordered;
        snprintf(what, sizeof what, "seed %d", (int)seed);
        assert_int_equal(hp_graph_renumber(graph, &ordered, NULL), HYPAR_OK);
        check(ordered, what);
        hypar_graph_free(ordered);
        hypar_graph_free(graph);
    }
}

/* Nodes in any order, some called as those that are no operators; each reads a few that have a
 * higher rank, so that there is no cycle. */
static size_t random_profile(struct random *random, char *text, size_t size)
{
    static const char *const kinds[] = { "Conv2d(3, 4)", "Input0", "__getitem__(0)", "Add" };
    int n = (int)draw(random, 2, 12);
    size_t at = 0;
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at,
                               "n%d -- %s -- forward_compute_time=%.3f, "
                               "backward_compute_time=%.3f, activation_size=%d.0, "
                               "parameter_size=%d.000\n",
                               i, kinds[draw(random, 0, 3)], hp_random_unit(random),
                               3 * hp_random_unit(random), (int)draw(random, 0, 4000),
                               one_in(random, 2) ? 0 : (int)draw(random, 0, 4000));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (i * 7 % 13 < k * 7 % 13 && one_in(random, 3))
                at += (size_t)snprintf(text + at, size - at, "\tn%d -- n%d\n", i, k);
    return at;
}

static void test_random_profiles(void **state)
{
    (void)state;
    int n_read = 0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        static char text[1 << 14];
        struct random random = { seed };
        size_t n = random_profile(&random, text, sizeof text);
        struct text_profile *profile;
        struct hypar_graph *graph = NULL;
        if (hp_text_profile_read_text(&profile, text, n, "random", NULL) == HYPAR_OK &&
            hp_text_profile_graph(&graph, profile, "random", 1 + (int64_t)seed % 5, NULL) ==
                HYPAR_OK) {
            char what[32];
            snprintf(what, sizeof what, "seed %d", (int)seed);
            check(graph, what);
            n_read++;
        }
        hypar_graph_free(graph);
        hp_text_profile_free(profile);
    }
    printf("%d profiles\n", n_read);
    assert_true(n_read > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zoo),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_random_profiles),
    };
    return cmocka_run_group_tests_name("model/round_trip", tests, NULL, NULL);
}
