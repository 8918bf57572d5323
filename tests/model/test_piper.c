/* Piper's profiles, and choices in hypar-graph/1: good and bad files, and no loss on the
 * way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "tests/written_graph.h"

static struct hypar_graph *mask(int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, "tests/data/piper/mask.json",
                     &(struct hypar_import_options){ .batch = batch }, &err))
        fail_msg("%s", err.text);
    return graph;
}

static const struct op *op_of(const struct hypar_graph *g, const char *name)
{
    int op = hypar_graph_find_op(g, name);
    assert_true(op >= 0);
    return &g->ops[op];
}

static void nodes_become_operators_with_choices(void **state)
{
    struct hypar_graph *g = mask(0);
    (void)state;
    assert_string_equal(g->name, "mask");
    assert_int_equal(g->batch, 12);
    assert_int_equal(g->n_ops, 6);
    assert_true(hp_has_choices(g));
    const struct op_choices *layer = op_of(g, "layer.12")->choices;
    assert_int_equal(layer->n, 4);
    assert_int_equal(layer->choice[2].degree, 2);
    assert_false(layer->choice[2].recompute);
    assert_true(layer->choice[2].seconds == 0.018);
    assert_true(layer->choice[3].recompute);
    assert_true(layer->choice[3].stash_bytes == 3e7 && layer->choice[3].fixed_bytes == 4.3e8);
    assert_int_equal(op_of(g, "head")->choices->n, 1);
    hypar_graph_free(g);
}

/* Lists by input are in the order of the inputs, lists by use in that of the readers. */
static void edges_are_kept_apart(void **state)
{
    struct hypar_graph *g = mask(0);
    const struct op *layer = op_of(g, "layer.13");
    (void)state;
    assert_string_equal(g->tensors[layer->tensor[0]].name, "mask");
    assert_string_equal(g->tensors[layer->tensor[1]].name, "layer.12");
    assert_true(layer->choices->input_bytes[0] == 4e6);
    assert_true(layer->choices->input_bytes[1] == 3e7);
    assert_true(layer->choices->input_bytes[2] == 0); /* the parameters */
    assert_true(layer->choices->choice[2].in_sync_bytes[1] == 3e7);
    assert_int_equal(op_of(g, "mask")->choices->n_uses, 3);
    assert_true(op_of(g, "mask")->choices->choice[1].out_sync_bytes[2] == 4e6);
    hypar_graph_free(g);
}

static void other_planners_see_the_first_choice(void **state)
{
    struct hypar_graph *g = mask(0), *twice = mask(24);
    struct op_measure m;
    (void)state;
    assert_true(hp_op_measured(g, hypar_graph_find_op(g, "layer.12"), &m));
    assert_true(m.forward_s + m.backward_s == 12 * 0.03);
    assert_true(m.output_bytes == 12 * 3e7 && m.parameter_bytes == 1.8e8);
    assert_true(hp_op_measured(twice, hypar_graph_find_op(twice, "layer.12"), &m));
    assert_true(m.forward_s + m.backward_s == 24 * 0.03);
    hypar_graph_free(twice);
    hypar_graph_free(g);
}

static void choices_survive_writing(void **state)
{
    struct hypar_graph *g = mask(0);
    struct hypar_error err;
    (void)state;
    if (!survives_writing(g, &err))
        fail_msg("%s", err.text);
    hypar_graph_free(g);
}

/* Texts that are refused ------------------------------------------------------------------ */

static void refuses(const char *text, const char *why)
{
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    assert_int_not_equal(hp_graph_read_text(&graph, text, strlen(text), "t", 0, &err),
                         HYPAR_OK);
    assert_null(graph);
    if (!strstr(err.text, why) || strncmp(err.text, "t: ", 3) != 0)
        fail_msg("'%s', expected '%s'", err.text, why);
}

#define HEAD           "{\"mbsInBatch\": 4, \"nodes\": ["
#define NODE(ID, WAYS) "{\"id\": " ID ", \"TMPCs\": {\"1\": [" WAYS "]}}"
#define WAY(ID, IN, OUT)                                                                     \
    "{\"id\": \"" ID "\", \"timePerSample\": 1, \"parameterSize\": 1, \"memoryUsageA\": 1, " \
    "\"memoryUsageB\": 1, \"syncTimeFw\": {" IN "}, \"syncTimeBw\": {" OUT "}}"
#define EDGE(FROM, TO) "{\"sourceId\": " FROM ", \"destId\": " TO ", \"communicationCost\": 1}"
#define FIRST          NODE("0", WAY("vanilla", "", "\"1\": 0"))
#define SECOND         NODE("1", WAY("vanilla", "\"0\": 0", ""))
#define EDGES          "], \"edges\": ["

static void profiles_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    refuses("{\"nodes\": [], \"edges\": []}", "mbsInBatch: missing");
    refuses(HEAD EDGES "]}", "a graph without operators");
    refuses(HEAD FIRST "," SECOND EDGES EDGE("0", "2") "]}",
            "edges[0].destId: there is no node 2");
    refuses(HEAD FIRST "," FIRST EDGES EDGE("0", "0") "]}",
            "nodes[1].id: there is a node 0 already");
    refuses(HEAD FIRST "," SECOND EDGES EDGE("0", "1") "," EDGE("0", "1") "]}",
            "edges[1]: from 0 to 1 there is an edge already");
    refuses(HEAD FIRST "," SECOND EDGES EDGE("0", "1") "," EDGE("1", "0") "]}",
            "edges: 2 nodes lie on or behind a cycle");
    refuses(HEAD FIRST "," SECOND EDGES "]}", "syncTimeBw: 1 numbers, expected one for each");
    refuses(HEAD NODE("0", WAY("vanilla", "", "")) "," SECOND EDGES EDGE("0", "1") "]}",
            "TMPCs.1[0].syncTimeBw.1: missing");
    refuses(HEAD NODE("0", WAY("other", "", "\"1\": 0")) "," SECOND EDGES EDGE("0", "1") "]}",
            "expected one of vanilla, activation recomp, not \"other\"");
    refuses(HEAD NODE("0", WAY("vanilla", "", "") "," WAY("vanilla", "", "")) EDGES "]}",
            "degree 1 without recomputation is there twice");
    refuses(HEAD NODE("0", "") EDGES "]}", "no choices, expected at least one");
    refuses(HEAD "{\"id\": 0, \"TMPCs\": {\"1.5\": []}}" EDGES "]}",
            "expected a number of devices");
}

#define GRAPH(OPS)                                                                           \
    "{\"format\": \"hypar-graph/1\", \"name\": \"g\", \"batch\": 2, \"inputs\": [{\"name\":" \
    " \"x\", \"shape\": [2, 1]}], \"ops\": [" OPS "]}"
#define OP(NAME, INPUT, MORE)                                                               \
    "{\"name\": \"" NAME "\", \"kind\": \"opaque\", \"inputs\": [\"" INPUT "\"], \"attrs\"" \
    ": {\"shape\": [0, 1]}" MORE "}"
#define NUMBERS                                                                              \
    "\"degree\": 1, \"seconds\": 1, \"parameter_bytes\": 0, \"stash_bytes\": 0, \"fixed_byt" \
    "es\": 0"
#define CHOICES(MORE) ", \"choices\": [{" NUMBERS MORE "}]"

static void choices_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    refuses(GRAPH(OP("a", "x", ", \"input_bytes\": 1")), "input_bytes: nothing is chosen");
    refuses(GRAPH(OP("a", "x", ", \"choices\": []")), "no choices, expected at least one");
    refuses(GRAPH(OP("a", "x", CHOICES(", \"time\": 1"))), "unknown member 'time'");
    refuses(GRAPH(OP("a", "x", CHOICES(", \"in_sync_bytes\": [1, 2]"))),
            "in_sync_bytes: 2 numbers, expected 1");
    refuses(GRAPH(OP("a", "x", CHOICES(", \"out_sync_bytes\": [1, 2]")) "," OP("b", "a", "")),
            "'a' has choices for 2 readers, expected 1");
    refuses(GRAPH("{\"name\": \"a\", \"kind\": \"relu\", \"inputs\": [\"x\"]" CHOICES("") "}"),
            "relu 'a' has choices");
}

/* One number stands for all inputs and for all readers. */
static void short_forms_are_read(void **state)
{
    static const char text[] =
        GRAPH(OP("a", "x", ", \"input_bytes\": 7" CHOICES(", \"out_sync_bytes\": 3")) "," OP(
            "b", "a", "") "," OP("c", "a", ""));
    struct hypar_graph *g;
    struct hypar_error err;
    (void)state;
    if (hp_graph_read_text(&g, text, sizeof text - 1, "t", 0, &err))
        fail_msg("%s", err.text);
    const struct op_choices *a = g->ops[0].choices;
    assert_int_equal(a->n_uses, 2);
    assert_true(a->input_bytes[0] == 7 && a->choice[0].out_sync_bytes[1] == 3);
    assert_null(g->ops[1].choices);
    assert_true(survives_writing(g, &err));
    hypar_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_become_operators_with_choices),
        cmocka_unit_test(edges_are_kept_apart),
        cmocka_unit_test(other_planners_see_the_first_choice),
        cmocka_unit_test(choices_survive_writing),
        cmocka_unit_test(profiles_that_make_no_sense_are_refused),
        cmocka_unit_test(choices_that_make_no_sense_are_refused),
        cmocka_unit_test(short_forms_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
