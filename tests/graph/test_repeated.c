/* The repeated layers of networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/graph.h>

#include "graph/structure/repeated.h"

static const struct {
    const char *model, *first; /* operator of the first layer; NULL: nothing is repeated */
    int count;
    const char *last; /* operator of the last layer */
} cases[] = {
    { "gpt3-175b", "h.0.ln_1", 96, "h.95.mlp.add" },
    { "gpt:layers=2", "h.0.ln_1", 2, "h.1.mlp.add" },
    { "bert-base", "layer.0.attention.q", 12, "layer.11.ffn.norm" },
    { "llama:layers=5", "layers.0.input_norm", 5, "layers.4.mlp.add" }, /* a norm follows */
    { "mlp:8-6-4", NULL, 0, NULL },
    { "mlp:8-8-8-8-4", "fc1", 3, "relu3" },
};

static void finds_layers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_error err;
        if (hypar_import(&graph, cases[i].model, NULL, &err))
            fail_msg("%s", err.text);
        struct repeated_layers layers = hp_repeated_layers(graph);
        assert_int_equal(layers.count, cases[i].count);
        if (cases[i].count) {
            int end = layers.first + layers.count * layers.n_ops;
            assert_string_equal(graph->ops[layers.first].name, cases[i].first);
            assert_string_equal(graph->ops[end - 1].name, cases[i].last);
        }
        hypar_graph_free(graph);
    }
}

/* x of a transformer passes from layer to layer; within a layer more does. */
static void counts_elements(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_graph *graph;
    struct hypar_import_options options = { .batch = 3 };
    assert_int_equal(hypar_import(&graph,
                                  "llama:layers=3,hidden=8,heads=2,ffn=12,seq=5,vocab=9",
                                  &options, NULL),
                     HYPAR_OK);
    struct repeated_layers layers = hp_repeated_layers(graph);
    const int64_t *crossing = hp_crossing(&arena, graph, true);
    int second = layers.first + layers.n_ops;
    assert_int_equal(crossing[0], 0);
    assert_int_equal(crossing[second], 3 * 5 * 8);
    assert_int_equal(crossing[second + 1], 2 * 3 * 5 * 8);
    assert_int_equal(crossing[graph->n_ops], 0);
    hypar_graph_free(graph);
    hp_arena_free(&arena);
}

/* Layers of mlp:8-8-8-8-4 are fc1 relu1 | fc2 relu2 | fc3 relu3. */
static void moves_layers(void **state)
{
    (void)state;
    static const struct {
        const char *borders; /* operators where a stage may begin */
        int moved;           /* 9: there is no such number */
    } moves[] = { { "111111111", 0 },  { "001010000", 0 }, { "000101000", 1 },
                  { "010100000", -1 }, { "001101000", 1 }, { "001001000", 9 } };
    struct hypar_graph *graph;
    assert_int_equal(hypar_import(&graph, "mlp:8-8-8-8-4", NULL, NULL), HYPAR_OK);
    struct repeated_layers layers = hp_repeated_layers(graph);
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        bool borders[9];
        int moved;
        for (int op = 0; op < 9; op++)
            borders[op] = moves[i].borders[op] == '1';
        bool any = hp_layers_at_borders(&layers, borders, &moved);
        assert_int_equal(any, moves[i].moved != 9);
        assert_true(!any || moved == moves[i].moved);
    }
    int moved = 7;
    assert_true(hp_layers_at_borders(&layers, NULL, &moved));
    assert_int_equal(moved, 0);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_layers),
        cmocka_unit_test(counts_elements),
        cmocka_unit_test(moves_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
