/* PipeDream's profiles: good and bad files, and no loss on the way through profile, graph and
 * JSON. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "model/pipedream/pipedream.h"

#define TIMES  "forward_compute_time=1.5, backward_compute_time=2.5, "
#define SIZES  "activation_size=8, parameter_size=4"
#define FIELDS TIMES SIZES
#define A      "a -- Linear -- " FIELDS "\n"
#define B      "b -- Linear -- " FIELDS "\n"

static struct text_profile *read_file(const char *path)
{
    struct text_profile *profile;
    struct hypar_error err;
    if (hp_text_profile_read_file(&profile, path, &err))
        fail_msg("%s", err.text);
    return profile;
}

static char *write_text(const struct text_profile *profile)
{
    char *text;
    size_t n;
    FILE *file = open_memstream(&text, &n);
    hp_text_profile_write(profile, file);
    fclose(file);
    return text;
}

static void a_chain_is_read(void **state)
{
    struct text_profile *p = read_file("tests/data/pipedream/chain.txt");
    (void)state;
    assert_int_equal(p->n_nodes, 6);
    assert_int_equal(p->n_edges, 5);
    assert_string_equal(p->node[1].description,
                        "Conv2d(3, 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))");
    assert_true(p->node[4].forward_ms == 3 && p->node[4].backward_ms == 5);
    assert_true(p->node[4].parameter_bytes == 60e6 && p->node[1].activation_bytes == 80e6);
    assert_int_equal(p->edge[3].from, 3);
    assert_int_equal(p->edge[3].to, 4);
    hp_text_profile_free(p);
}

static void lists_are_summed_and_stages_kept(void **state)
{
    struct text_profile *p = read_file("tests/data/pipedream/branches.txt");
    (void)state;
    assert_true(p->node[1].activation_bytes == 6260000);
    assert_int_equal(p->node[6].stage, -1);
    assert_int_equal(p->node[7].stage, 1);
    hp_text_profile_free(p);
}

static void what_is_written_reads_back(void **state)
{
    static const char *const files[] = { "tests/data/pipedream/chain.txt",
                                         "tests/data/pipedream/branches.txt" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct text_profile *p = read_file(files[i]), *back;
        char *text = write_text(p);
        assert_int_equal(hp_text_profile_read_text(&back, text, strlen(text), "", NULL),
                         HYPAR_OK);
        char *again = write_text(back);
        assert_string_equal(text, again);
        assert_int_equal(back->n_nodes, p->n_nodes);
        for (int n = 0; n < p->n_nodes; n++) {
            const struct profile_node *x = &p->node[n], *y = &back->node[n];
            assert_string_equal(x->name, y->name);
            assert_string_equal(x->description, y->description);
            assert_true(x->forward_ms == y->forward_ms && x->backward_ms == y->backward_ms);
            assert_true(x->activation_bytes == y->activation_bytes);
            assert_true(x->parameter_bytes == y->parameter_bytes && x->stage == y->stage);
        }
        free(text);
        free(again);
        hp_text_profile_free(back);
        hp_text_profile_free(p);
    }
}

/* Separators in descriptions, other orders of fields, edges before nodes, ends of lines. */
static void odd_but_good(void **state)
{
    static const struct {
        const char *text, *description;
        int n_nodes, n_edges;
    } rows[] = {
        { A, "Linear", 1, 0 },
        { "a -- x -- y=1, z -- " FIELDS "\n", "x -- y=1, z", 1, 0 },
        { "a -- -- " FIELDS "\n", NULL, 1, 0 },
        { "a --  -- " FIELDS " -- stage_id=2\n", "", 1, 0 },
        { "a -- f -- parameter_size=1e3, activation_size=[ 1; 2.5 ], "
          "backward_compute_time=0,forward_compute_time=.5",
          "f", 1, 0 },
        { "\ta -- b\n" A "\n\n" B, "Linear", 2, 1 },
        { "a -- Linear -- " FIELDS "\r\nb -- Linear -- " FIELDS "\r\n\ta -- b\r\n", "Linear", 2,
          1 },
        { "a -- f -- forward_compute_time=-0.0, backward_compute_time=0, " SIZES, "f", 1, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text_profile *p;
        struct hypar_error err = { 0 };
        enum hypar_status status =
            hp_text_profile_read_text(&p, rows[i].text, strlen(rows[i].text), "file", &err);
        if (!rows[i].description) {
            assert_int_not_equal(status, HYPAR_OK);
            continue;
        }
        if (status != HYPAR_OK)
            fail_msg("row %zu: %s", i, err.text);
        assert_string_equal(p->node[0].description, rows[i].description);
        assert_int_equal(p->n_nodes, rows[i].n_nodes);
        assert_int_equal(p->n_edges, rows[i].n_edges);
        hp_text_profile_free(p);
    }
}

static void malformed_profiles_get_one_line(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "", "p.txt: no nodes" },
        { "\n\n", "p.txt: no nodes" },
        { A B, "p.txt: 2 nodes and no edges" },
        { A B "\ta -- c\n", "p.txt:3: edge: there is no node 'c'" },
        { A B "\tx -- b\n", "p.txt:3: edge: there is no node 'x'" },
        { A B "\ta -- b\n\tb -- a\n", "p.txt: edges make a cycle that 'a' is on or behind" },
        { A B "\ta -- a\n", "p.txt:3: edge from 'a' to itself" },
        { A B "\ta -- b\n\ta -- b\n", "p.txt:4: edge 'a -- b' is there already" },
        { A B "\ta b\n", "p.txt:3: 'a b', expected NODE -- NODE" },
        { A A, "p.txt:2: node 'a' is defined already" },
        { "nonsense\n", "p.txt:1: 'nonsense', expected NODE -- DESCRIPTION" },
        { "a -- Linear\n", "p.txt:1: 'a -- Linear', expected NODE -- DESCRIPTION" },
        { " -- Linear -- " FIELDS, "p.txt:1: '' is no name of a node" },
        { "* -- Linear -- " FIELDS, "p.txt:1: '*' is no name of a node" },
        { "a -- b -- " TIMES "activation_size=8", "p.txt:1: parameter_size is missing" },
        { "a -- b -- " SIZES, "p.txt:1: forward_compute_time is missing" },
        { "a -- b -- " FIELDS ", size=3", "p.txt:1: 'size=3', expected name=value" },
        { "a -- b -- " FIELDS ",", "p.txt:1: '', expected name=value" },
        { "a -- b -- " FIELDS ", parameter_size=1", "p.txt:1: parameter_size is given twice" },
        { "a -- b -- forward_compute_time=-1, backward_compute_time=0, " SIZES,
          "p.txt:1: forward_compute_time is -1, expected 0 to 1e+12" },
        { "a -- b -- forward_compute_time=1e13, backward_compute_time=0, " SIZES,
          "p.txt:1: forward_compute_time is 1e13, expected 0 to 1e+12" },
        { "a -- b -- forward_compute_time=fast, backward_compute_time=0, " SIZES,
          "p.txt:1: forward_compute_time is 'fast', expected a number" },
        { "a -- b -- forward_compute_time=nan, backward_compute_time=0, " SIZES,
          "p.txt:1: forward_compute_time is 'nan', expected a number" },
        { "a -- b -- forward_compute_time=1ms, backward_compute_time=0, " SIZES,
          "p.txt:1: forward_compute_time is '1ms', expected a number" },
        { "a -- b -- forward_compute_time=, backward_compute_time=0, " SIZES,
          "p.txt:1: forward_compute_time is '', expected a number" },
        { "a -- b -- " TIMES "activation_size=[1; 2, parameter_size=0",
          "p.txt:1: activation_size is '[1; 2', expected a list to end in ']'" },
        { "a -- b -- " TIMES "activation_size=[1; -2], parameter_size=0",
          "p.txt:1: activation_size is -2, expected 0 to" },
        { "a -- b -- " TIMES "activation_size=[], parameter_size=0",
          "p.txt:1: activation_size is '', expected a number" },
        { "a -- b -- " TIMES "activation_size=[5e14; 5e14], parameter_size=0",
          "p.txt:1: activation_size is 1e+15 in all, expected 0 to" },
        { "a -- b -- " FIELDS " -- stage_id=x", "p.txt:1: stage_id is 'x', expected a number" },
        { "a -- b -- " FIELDS " -- stage_id=1.5",
          "p.txt:1: stage_id is 1.5, expected a whole" },
        { "a -- b -- stage_id=1", "p.txt:1: times and sizes are missing before stage_id" },
        { "a -- \001 -- " FIELDS, "p.txt:1: control character 1, expected text" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text_profile *p;
        struct hypar_error err = { 0 };
        enum hypar_status status =
            hp_text_profile_read_text(&p, rows[i].text, strlen(rows[i].text), "p.txt", &err);
        if (status == HYPAR_OK)
            fail_msg("row %zu is taken: %s", i, rows[i].text);
        assert_null(p);
        if (strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0)
            fail_msg("row %zu: '%s', expected '%s'", i, err.text, rows[i].message);
        assert_int_equal(hypar_status_exit_code(status), 3);
    }
}

static void files_that_cannot_be_read(void **state)
{
    struct text_profile *p;
    struct hypar_error err;
    (void)state;
    assert_int_equal(hp_text_profile_read_file(&p, "tests/data/pipedream/none.txt", &err),
                     HYPAR_UNREADABLE);
    assert_int_equal(hp_text_profile_read_file(&p, "tests/data/pipedream", &err),
                     HYPAR_UNREADABLE);
    assert_null(p);
}

/* Graphs ------------------------------------------------------------------------------- */

static struct hypar_graph *import(const char *path, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, path, &(struct hypar_import_options){ .batch = batch }, &err))
        fail_msg("%s", err.text);
    return graph;
}

/* Inputs are no operators, and sinks that only pick an element are dropped. */
static void a_profile_becomes_a_graph(void **state)
{
    struct hypar_graph *g = import("tests/data/pipedream/branches.txt", 32);
    struct op_measure m;
    (void)state;
    assert_string_equal(hypar_graph_info(g).name, "branches");
    assert_int_equal(hypar_graph_info(g).batch, 32);
    assert_int_equal(hypar_graph_info(g).n_ops, 6);
    assert_int_equal(hypar_graph_find_op(g, "node1"), -1);
    assert_int_equal(hypar_graph_find_op(g, "node4"), -1);
    assert_true(hp_op_measured(g, hypar_graph_find_op(g, "node8"), &m));
    assert_true(m.forward_s == 2e-3 && m.backward_s == 5e-3);
    assert_true(m.output_bytes == 190e6 && m.parameter_bytes == 132e6);
    assert_int_equal(hypar_graph_params(g), (33000000 + 4000000 + 132000000) / 4);
    hypar_graph_free(g);
}

static void measured_times_travel_through_json(void **state)
{
    struct hypar_graph *g = import("tests/data/pipedream/branches.txt", 4), *back, *half;
    struct op_measure x, y;
    char *text;
    size_t n;
    (void)state;
    FILE *file = open_memstream(&text, &n);
    hypar_graph_write(g, file);
    fclose(file);
    assert_int_equal(hp_graph_read_text(&back, text, n, "json", 0, NULL), HYPAR_OK);
    assert_true(hypar_graph_info(back).hash == hypar_graph_info(g).hash);
    assert_int_equal(hp_graph_read_text(&half, text, n, "json", 2, NULL), HYPAR_OK);
    for (int op = 0; op < g->n_ops; op++) { /* half the samples take half the time */
        assert_true(hp_op_measured(g, op, &x) && hp_op_measured(half, op, &y));
        assert_true(x.forward_s == 2 * y.forward_s && x.output_bytes == 2 * y.output_bytes);
        assert_true(x.parameter_bytes == y.parameter_bytes);
    }
    free(text);
    hypar_graph_free(half);
    hypar_graph_free(back);
    hypar_graph_free(g);
}

static void a_graph_becomes_a_profile(void **state)
{
    struct hypar_graph *g = import("tests/data/pipedream/branches.txt", 1), *again;
    struct text_profile *p;
    struct op_measure x, y;
    struct hypar_error err;
    (void)state;
    assert_int_equal(hp_text_profile_of_graph(&p, g, NULL, &err), HYPAR_OK);
    assert_int_equal(p->n_nodes, 7); /* with the input */
    assert_int_equal(hp_text_profile_graph(&again, p, "branches", 1, &err), HYPAR_OK);
    assert_int_equal(again->n_ops, g->n_ops);
    for (int op = 0; op < g->n_ops; op++) {
        assert_true(hp_op_measured(g, op, &x) && hp_op_measured(again, op, &y));
        assert_string_equal(g->ops[op].name, again->ops[op].name);
        assert_true(x.output_bytes == y.output_bytes && x.parameter_bytes == y.parameter_bytes);
        assert_true(fabs(x.forward_s - y.forward_s) < 1e-15);
        assert_true(fabs(x.backward_s - y.backward_s) < 1e-15);
    }
    hypar_graph_free(again);
    hp_text_profile_free(p);
    hypar_graph_free(g);
}

static void only_what_is_measured_is_a_profile(void **state)
{
    struct hypar_graph *g = import("lenet5", 4);
    struct text_profile *p;
    struct hypar_error err;
    (void)state;
    assert_int_equal(hp_text_profile_of_graph(&p, g, NULL, &err), HYPAR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "has no measured times"));
    assert_null(p);
    struct op_measure *m = calloc((size_t)g->n_ops, sizeof *m);
    assert_int_equal(hp_text_profile_of_graph(&p, g, m, &err), HYPAR_OK);
    free(m);
    hp_text_profile_free(p);
    hypar_graph_free(g);
}

/* An operator that is called `name` and reads its input twice. */
static struct hypar_graph *called(const char *name)
{
    char text[512];
    struct hypar_graph *g;
    struct hypar_error err = { 0 };
    int n = snprintf(text, sizeof text,
                     "{\"format\":\"hypar-graph/1\",\"name\":\"g\",\"batch\":2,\"inputs\":"
                     "[{\"name\":\"x\",\"shape\":[2,3]}],\"ops\":[{\"name\":\"%s\",\"kind\":"
                     "\"opaque\",\"inputs\":[\"x\",\"x\"],\"attrs\":{\"shape\":[0,4],"
                     "\"forward_s\":0.25,\"backward_s\":0.5,\"output_bytes\":32,"
                     "\"parameter_bytes\":0}}]}",
                     name);
    if (hp_graph_read_text(&g, text, (size_t)n, "g", 0, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return g;
}

static void names_that_fit_into_the_form(void **state)
{
    static const struct {
        const char *name;
        bool fits;
    } cases[] = { { "a", true },    { "a b", true },        { "a--b", true },
                  { "-- a", true }, { "gr\xc3\xb6", true }, { "a -- b", false },
                  { " a", false },  { "a ", false },        { "a --", false } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *g = called(cases[i].name);
        struct text_profile *back;
        struct hypar_error err = { 0 };
        char *text;
        size_t n;
        FILE *file = open_memstream(&text, &n);
        enum hypar_status status = hypar_graph_write_profile(g, file, &err);
        fclose(file);
        assert_int_equal(status, cases[i].fits ? HYPAR_OK : HYPAR_UNSUPPORTED);
        if (cases[i].fits) {
            assert_int_equal(hp_text_profile_read_text(&back, text, n, "p", &err), HYPAR_OK);
            assert_int_equal(back->n_nodes, 2);
            assert_int_equal(back->n_edges, 1);
            assert_string_equal(back->node[1].name, cases[i].name);
            assert_true(back->node[1].forward_ms == 250 && back->node[1].backward_ms == 500);
            hp_text_profile_free(back);
        } else {
            assert_non_null(strstr(err.text, "is no name in a PipeDream profile"));
        }
        free(text);
        hypar_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_read),
        cmocka_unit_test(lists_are_summed_and_stages_kept),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(odd_but_good),
        cmocka_unit_test(malformed_profiles_get_one_line),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(a_profile_becomes_a_graph),
        cmocka_unit_test(measured_times_travel_through_json),
        cmocka_unit_test(a_graph_becomes_a_profile),
        cmocka_unit_test(only_what_is_measured_is_a_profile),
        cmocka_unit_test(names_that_fit_into_the_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
