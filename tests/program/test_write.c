/* Written programs, read back: the same tasks, edges and bytes; a program that contradicts its
 * plan is refused with the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/files/json.h"
#include "program/lowering.h"
#include "program/program.h"
#include "tests/random_plan.h"

enum { PLANS = 200 };

static char *text_of(const struct hypar_program *program, size_t *length)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, length);
    assert_non_null(to);
    assert_int_equal(hypar_program_write(program, to, NULL), HYPAR_OK);
    assert_int_equal(fclose(to), 0);
    return text;
}

static enum hypar_status read_text(struct hypar_program **out, const char *text,
                                   struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    enum hypar_status status = hp_json_read_text(&document, text, strlen(text), "p", err);
    if (status != HYPAR_OK)
        return status;
    struct json root = hp_json_root(document);
    status = hp_program_read_json(out, &root, err);
    hp_json_free(document);
    return status;
}

/* The file gives the program again, which gives the file. */
static void check_round_trip(const struct hypar_program *program, const char *title)
{
    struct hypar_program *again;
    struct hypar_error err = { 0 };
    size_t n, m;
    char *text = text_of(program, &n);
    if (read_text(&again, text, &err) != HYPAR_OK)
        fail_msg("%s: %s", title, err.text);
    char *same = text_of(again, &m);
    if (n != m || memcmp(text, same, n) != 0)
        fail_msg("%s: not written as it was read", title);
    struct hypar_program_totals a = hypar_program_totals(program);
    struct hypar_program_totals b = hypar_program_totals(again);
    assert_memory_equal(&a, &b, sizeof a);
    free(same);
    free(text);
    hypar_program_free(again);
}

static void random_plans(void **state)
{
    static const char *const words[] = { "full:4", "cluster:2x3", "ring:5", "full:1",
                                         "cluster:1x2,device=h100+cluster:1x2,device=a100" };
    (void)state;
    int delayed = 0, clipped = 0;
    for (uint64_t seed = 1; seed <= PLANS; seed++) {
        struct random random = { seed * 0x9e3779b97f4a7c15 };
        struct plan_focus focus = { -1, -1, -1, seed % 3 == 0 };
        struct hypar_machine *machine;
        struct hypar_program *program;
        char title[64];
        snprintf(title, sizeof title, "seed %llu", (unsigned long long)seed);
        assert_int_equal(hypar_machine_read(&machine, words[seed % 5], NULL), HYPAR_OK);
        struct hypar_graph *drawn = random_graph(&random, OP_KIND_COUNT), *graph;
        assert_int_equal(hp_graph_renumber(drawn, &graph, NULL), HYPAR_OK);
        struct hypar_plan *plan = random_plan(&random, graph, machine, &focus);
        struct hypar_lower_options how = { .bucket_bytes = seed % 4 ? 0 : 1000 };
        if (!focus.delayed && seed % 2)
            plan->clip = 0.5;
        if (hypar_lower(&program, plan, &how, NULL) == HYPAR_OK)
            check_round_trip(program, title);
        delayed += program && hypar_program_totals(program).minibatches > 0;
        clipped += program && program->lowering->training.norm >= 0;
        hypar_program_free(program);
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_graph_free(drawn);
        hypar_machine_free(machine);
    }
    print_message("  %d plans, %d of them pipedream's, %d with clipping\n", PLANS, delayed,
                  clipped);
    assert_true(delayed > 10 && clipped > 10);
}

/* One place of a small program is changed. */
static const struct {
    const char *what, *from, *to, *message;
} changes[] = {
    { "an edge less", "\"after\": [[0], [1]]", "\"after\": [[0], []]",
      "an array of 0, expected an array of 1 by the file's own plan" },
    { "another device", "\"devices\": [0, 1], \"ranges\"", "\"devices\": [1, 0], \"ranges\"",
      "devices[0]: 1, expected 0 by the file's own plan" },
    { "another range", "[[0, 4], [4, 8]]", "[[0, 5], [5, 8]]", "expected 4 by" },
    { "another order", "\"F0.0\", \"B0.0\"", "\"B0.0\", \"F0.0\"",
      "schedule[0].slots[0]: \"B0.0\", expected \"F0.0\" by the file's own plan" },
    { "another collective", "\"all-reduce\"", "\"all-gather\"",
      "kind: \"all-gather\", expected" },
    { "a block less", "\"tail\": [", "\"tail\": [], \"t\": [", "unknown member 't'" },
    { "another plan", "\"split\": {\"n\": 2}", "\"split\": {\"n\": 1}", "" },
    { "another machine", "\"machine\": {", "\"machine\": {\"x\": 1, ", "unknown member 'x'" },
    { "another graph", "\"batch\": 8,\n    \"inputs\"", "\"batch\": 4,\n    \"inputs\"", "" },
    { "no options", "\"lower\"", "\"lowered\"", "unknown member 'lowered'" },
    { "another version", "hypar-program/1", "hypar-program/2",
      "format: \"hypar-program/2\", expected" },
    { "another form", "\"form\": \"lowered\"", "\"form\": 5", "form: 5, expected \"lowered\"" },
    { "another batch", "\"batch\": 8,\n    \"precision\"", "\"batch\": 64,\n    \"precision\"",
      "plan.batch: 64, expected 8" },
};

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("the file does not say %s", from);
    size_t before = (size_t)(at - text), n = strlen(text) + strlen(to) + 1;
    char *out = calloc(n, 1);
    assert_non_null(out);
    memcpy(out, text, before);
    snprintf(out + before, n - before, "%s%s", to, at + strlen(from));
    return out;
}

static void changed_programs_are_refused(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_program *program, *again;
    struct split split = { .degree = { 0 } };
    size_t n;
    assert_int_equal(
        hypar_import(&graph, "mlp:4-4-4", &(struct hypar_import_options){ .batch = 8 }, NULL),
        HYPAR_OK);
    assert_int_equal(hypar_machine_read(&machine, "full:2", NULL), HYPAR_OK);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    for (int op = 0; op < graph->n_ops; op++) {
        split.degree[hp_nest_axis(graph->ops[op].nest, 'n')] = 2;
        hp_plan_set(plan, op, &split, NULL);
    }
    assert_int_equal(hypar_lower(&program, plan, NULL, NULL), HYPAR_OK);
    char *text = text_of(program, &n);
    check_round_trip(program, "mlp");
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct hypar_error err = { 0 };
        char *other = replaced(text, changes[i].from, changes[i].to);
        if (read_text(&again, other, &err) == HYPAR_OK || !strstr(err.text, changes[i].message))
            fail_msg("%s: '%s', expected '... %s ...'", changes[i].what, err.text,
                     changes[i].message);
        assert_null(again);
        free(other);
    }
    free(text);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans),
        cmocka_unit_test(changed_programs_are_refused),
    };
    return cmocka_run_group_tests_name("program: the written form", tests, NULL, NULL);
}
