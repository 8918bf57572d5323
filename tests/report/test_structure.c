/* The structure of a plan: rows of layers, pieces, blocks of devices, groups of stages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/graph.h>

#include "plan/structure/names.h"
#include "report/plan/words.h"

static struct hypar_plan *read(const char *model, const char *machine, const char *rest)
{
    static char text[1 << 16];
    struct hypar_plan *plan;
    struct hypar_error err;
    int n = snprintf(text, sizeof text,
                     "{\"format\":\"hypar-plan/1\",\"model\":\"%s\",\"batch\":64,\"machine\":"
                     "\"%s\",%s}",
                     model, machine, rest);
    if (hp_plan_read_text(&plan, text, (size_t)n, "plan", NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return plan;
}

static const char gpt[] = "gpt:layers=8,hidden=64,heads=8,seq=16,vocab=128";

/* Rows cover all operators once, in order, and pieces their first layers. */
static void check_cover(const struct plan_structure *s)
{
    int op = 0;
    for (int i = 0; i < s->n_rows; i++) {
        const struct plan_row *row = &s->row[i];
        int in_row = row->first;
        assert_int_equal(row->first, op);
        for (int p = 0; p < row->n_pieces; p++) {
            assert_int_equal(s->piece[row->first_piece + p].first, in_row);
            in_row += s->piece[row->first_piece + p].n_ops;
        }
        assert_int_equal(in_row, row->first + row->n_ops);
        op += row->n_ops * row->count;
    }
    assert_int_equal(op, s->plan->graph->n_ops);
}

static void folds_layers_of_all_stages(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_plan *plan = read(gpt, "full:16",
                                   "\"layout\":{\"data\":2,\"tensor\":2,\"pipeline\":4,"
                                   "\"micro_batches\":8}");
    struct plan_structure s = hp_plan_structure(&arena, plan);
    check_cover(&s);
    int layers = 0;
    for (int i = 0; i < s.n_rows; i++)
        if (s.row[i].count > 1) {
            layers++;
            assert_int_equal(s.row[i].count, 8);
            assert_string_equal(hp_plan_row_name(&arena, &s, &s.row[i]), "h.0 .. h.7");
        }
    assert_int_equal(layers, 1);
    assert_int_equal(s.n_blocks, 4);
    assert_int_equal(s.n_groups, 3);
    assert_int_equal(s.group[1].count, 2);
    assert_true(s.group[1].same);
    struct group_words w = hp_group_words(&arena, &s, 1);
    assert_string_equal(w.stages, "1-2");
    assert_string_equal(w.layers, "h.2 .. h.5");
    assert_string_equal(w.each, "2 layers");
    assert_string_equal(w.devices, "4-11, 4 each");
    assert_string_equal(w.replicas, "2");
    assert_string_equal(w.tensor, "2");
    assert_string_equal(hp_idle_text(&arena, &s), "");
    hypar_plan_free(plan);
    hp_arena_free(&arena);
}

/* Stages of the same devices are one block. */
static void joins_interleaved_stages(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_plan *plan = read(gpt, "full:4",
                                   "\"layout\":{\"pipeline\":4,\"chunks\":2,"
                                   "\"micro_batches\":8}");
    struct plan_structure s = hp_plan_structure(&arena, plan);
    assert_int_equal(s.n_blocks, 4);
    assert_int_equal(s.block[1].n_stages, 2);
    assert_int_equal(s.block[1].stage[1], 5);
    assert_int_equal(s.n_groups, 3);
    assert_string_equal(hp_group_words(&arena, &s, 0).layers, "wte .. drop, h.0, h.4");
    struct group_words w = hp_group_words(&arena, &s, 1);
    assert_string_equal(w.stages, "1-2, 5-6");
    assert_string_equal(w.layers, "h.1 .. h.2, h.5 .. h.6");
    assert_string_equal(w.each, "2 layers");
    hypar_plan_free(plan);
    hp_arena_free(&arena);
}

/* Stages by hand that are cut in the middle of layers, on devices far from each other. */
static void tells_stages_that_differ(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_plan *plan =
        read("mlp", "full:8",
             "\"stages\":[{\"ops\":[\"fc1\",\"relu1\"],\"devices\":[0,1,2,3]},"
             "{\"ops\":[\"fc2\",\"loss\"],\"devices\":[5]}],"
             "\"schedule\":{\"name\":\"1f1b\",\"micro_batches\":4},"
             "\"ops\":[{\"name\":\"fc1\",\"split\":{\"n\":2,\"k\":2}},"
             "{\"name\":\"relu1\",\"split\":{\"n\":4}},{\"name\":\"*\"}]");
    struct plan_structure s = hp_plan_structure(&arena, plan);
    check_cover(&s);
    assert_int_equal(s.n_groups, 2);
    struct group_words w = hp_group_words(&arena, &s, 0);
    assert_string_equal(w.replicas, "-"); /* its operators differ */
    assert_string_equal(w.each, "2 operators");
    w = hp_group_words(&arena, &s, 1);
    assert_string_equal(w.devices, "5");
    assert_string_equal(w.tensor, "1");
    assert_string_equal(hp_idle_text(&arena, &s), "devices 4, 6-7 idle");
    hypar_plan_free(plan);
    hp_arena_free(&arena);
}

static char *row_text(struct arena *arena, const struct plan_structure *s, int i)
{
    return hp_arena_printf(arena, "%s %s", hp_plan_row_name(arena, s, &s->row[i]),
                           hp_plan_row_text(arena, s, &s->row[i]));
}

/* An activation goes on with what its input is; not where that moves. */
static void joins_what_goes_on(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    static const struct {
        const char *relu, *first, *second;
    } cases[] = { { "", "fc1 .. relu1 k=4", "fc2 k=2 on 0-1" },
                  { ",\"devices\":[3,2,1,0]", "fc1 k=4", "relu1 c=4 on 3 2 1 0" } };
    for (int i = 0; i < 2; i++) {
        char rest[512];
        snprintf(rest, sizeof rest,
                 "\"ops\":[{\"name\":\"fc1\",\"split\":{\"k\":4}},"
                 "{\"name\":\"relu1\",\"split\":{\"c\":4}%s},"
                 "{\"name\":\"fc2\",\"split\":{\"k\":2}},{\"name\":\"*\"}]",
                 cases[i].relu);
        struct hypar_plan *plan = read("mlp", "full:4", rest);
        struct plan_structure s = hp_plan_structure(&arena, plan);
        check_cover(&s);
        assert_int_equal(s.n_rows, 3 + i);
        assert_string_equal(row_text(&arena, &s, 0), cases[i].first);
        assert_string_equal(row_text(&arena, &s, 1), cases[i].second);
        hypar_plan_free(plan);
    }
    hp_arena_free(&arena);
}

/* Pieces of one module are one row, as names tell. */
static void joins_modules(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_plan *plan =
        read("inception-v3", "full:2",
             "\"ops\":[{\"name\":\"Mixed_6b.7x7.1\",\"split\":{\"k\":2}},"
             "{\"name\":\"Mixed_6b.7x7dbl.1\",\"split\":{\"k\":2},\"recompute\":true},"
             "{\"name\":\"*\",\"split\":{\"n\":2}}]");
    struct plan_structure s = hp_plan_structure(&arena, plan);
    check_cover(&s);
    assert_int_equal(s.n_rows, 3);
    assert_string_equal(row_text(&arena, &s, 1),
                        "Mixed_6b 7x7.1 k=2, 7x7.1.bn .. 7x7dbl.0.relu n=2, 7x7dbl.1 k=2; "
                        "recomputed: 7x7dbl.1");
    hypar_plan_free(plan);
    hp_arena_free(&arena);
}

/* What operators begin with, or end with, is left out of their names. */
static void shortens_names(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct hypar_graph *graph;
    assert_int_equal(hypar_import(&graph, "nmt", NULL, NULL), HYPAR_OK);
    int first = hypar_graph_find_op(graph, "source.embed.3");
    struct short_names names = hp_short_names(graph, first, first + 3);
    assert_string_equal(hp_ops_name(&arena, graph, names, first, first + 3),
                        "source.embed .. encoder2");
    assert_string_equal(hp_layers_name(&arena, graph, first, 4, 4),
                        "source.embed.3 .. encoder.step.6");
    hypar_graph_free(graph);
    assert_int_equal(hypar_import(&graph, "gpt2", NULL, NULL), HYPAR_OK);
    first = hypar_graph_find_op(graph, "h.3.attn.q");
    names = hp_short_names(graph, first, first + 3);
    assert_string_equal(hp_ops_name(&arena, graph, names, first, first + 3), "q .. v");
    assert_int_equal(hp_module_length(graph, first, first + 20), 1);
    assert_int_equal(hp_shared_parts(graph, first, first + 1), 3);
    hypar_graph_free(graph);
    hp_arena_free(&arena);
}

/* Adds a stage on a device of its own: operators from .. to - 1. */
static size_t add_stage(char *text, size_t size, const struct hypar_graph *graph, int from,
                        int to, int stage)
{
    size_t n = (size_t)snprintf(text, size, "%s{\"ops\":[", stage ? "," : "\"stages\":[");
    for (int op = from; op < to; op++)
        n += (size_t)snprintf(text + n, size - n, "%s\"%s\"", op > from ? "," : "",
                              hypar_graph_op(graph, op).name);
    return n + (size_t)snprintf(text + n, size - n, "],\"devices\":[%d]}", stage);
}

/* More stages than can be told one by one: how many layers they have, at least and at most. */
static void joins_many_stages(void **state)
{
    (void)state;
    static const char model[] = "gpt:layers=30,hidden=16,heads=2,seq=4,vocab=16";
    static char rest[1 << 15];
    struct arena arena = { 0 };
    struct hypar_graph *graph;
    size_t n = 0;
    assert_int_equal(hypar_import(&graph, model, NULL, NULL), HYPAR_OK);
    int from = 0, op = 0, stage = 0, layer = 0, n_ops = hypar_graph_info(graph).n_ops;
    while (from < n_ops) { /* two layers, one, two, one, ... */
        layer += stage % 2 ? 1 : 2;
        char next[16];
        snprintf(next, sizeof next, "h.%d.", layer);
        while (op < n_ops && strncmp(hypar_graph_op(graph, op).name, next, strlen(next)) != 0)
            op++;
        n += add_stage(rest + n, sizeof rest - n, graph, from, op, stage++);
        from = op;
    }
    snprintf(
        rest + n, sizeof rest - n,
        "],\"schedule\":{\"name\":\"1f1b\",\"micro_batches\":4},\"ops\":[{\"name\":\"*\"}]");
    struct hypar_plan *plan = read(model, "full:20", rest);
    struct plan_structure s = hp_plan_structure(&arena, plan);
    assert_int_equal(s.n_blocks, 20);
    assert_int_equal(s.n_groups, 3);
    struct group_words w = hp_group_words(&arena, &s, 1);
    assert_string_equal(w.stages, "1-18");
    assert_string_equal(w.layers, "h.2 .. h.28");
    assert_string_equal(w.each, "1 to 2 layers");
    assert_string_equal(hp_group_words(&arena, &s, 2).layers, "h.29, ln_f .. loss");
    hypar_plan_free(plan);
    hypar_graph_free(graph);
    hp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_layers_of_all_stages),
        cmocka_unit_test(joins_interleaved_stages),
        cmocka_unit_test(tells_stages_that_differ),
        cmocka_unit_test(joins_what_goes_on),
        cmocka_unit_test(joins_modules),
        cmocka_unit_test(shortens_names),
        cmocka_unit_test(joins_many_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
