/* Operators with which a stage may begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/graph.h>

#include "graph/structure/cut_points.h"

enum { N_OPS = 8 };

/* Layers of mlp:8-8-8-8-4 are fc1 relu1 | fc2 relu2 | fc3 relu3; fc4 and loss follow. */
static const struct {
    const char *inside, *borders; /* by operator; NULL: as in the rule */
    int slow;                     /* an operator that takes most of the time; -1: all equally */
    bool ends, anywhere;
    bool layers;
    const char *first; /* operators with which pieces begin */
} cases[] = {
    { NULL, NULL, -1, false, false, true, "10101000" },
    { NULL, NULL, -1, true, false, true, "10101010" },
    { NULL, NULL, 7, true, false, false, "10101010" },         /* before products */
    { "00100000", NULL, -1, false, false, false, "10001010" }, /* no stage begins with fc2 */
    { "00001000", NULL, -1, false, false, false, "10100010" }, /* ... with fc3 */
    { NULL, "00010100", -1, true, false, true, "10010100" },   /* layers are moved by one */
    { NULL, "00100100", -1, true, false, false, "10100100" },  /* layers cannot be moved */
    { NULL, NULL, -1, false, true, false, "11111111" },
    { "01000000", "11011000", -1, false, true, false, "10011000" },
};

static void read_flags(const char *text, bool out[N_OPS])
{
    for (int op = 0; op < N_OPS && text; op++)
        out[op] = text[op] == '1';
}

static void cuts_where_a_stage_may_begin(void **state)
{
    struct hypar_graph *graph;
    (void)state;
    assert_int_equal(hypar_import(&graph, "mlp:8-8-8-8-4", NULL, NULL), HYPAR_OK);
    assert_int_equal(graph->n_ops, N_OPS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = { 0 };
        bool inside[N_OPS], borders[N_OPS];
        double op_s[N_OPS];
        char first[N_OPS + 1] = "00000000";
        read_flags(cases[i].inside, inside);
        read_flags(cases[i].borders, borders);
        for (int op = 0; op < N_OPS; op++)
            op_s[op] = op == cases[i].slow ? 100 : 1;
        struct cut_rule rule = { .op_s = op_s,
                                 .inside = cases[i].inside ? inside : NULL,
                                 .borders = cases[i].borders ? borders : NULL,
                                 .ends = cases[i].ends,
                                 .anywhere = cases[i].anywhere };
        struct cut_points points = hp_cut_points(&arena, graph, &rule);
        for (int p = 0; p < points.n; p++)
            first[points.first[p]] = '1';
        print_message("row %zu\n", i);
        assert_string_equal(first, cases[i].first);
        assert_int_equal(points.layers, cases[i].layers);
        assert_int_equal(points.first[points.n], N_OPS);
        hp_arena_free(&arena);
    }
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(cuts_where_a_stage_may_begin) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
