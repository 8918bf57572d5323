/* The record of a search in its plan: it agrees with the search, survives writing and reading,
 * and says whether the plan was changed since. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "search/planner.h"

static struct hypar_found *search(const struct hypar_search_options *options,
                                  struct hypar_graph **graph, struct hypar_machine **machine)
{
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_import(graph, options->model, NULL, &err) != HYPAR_OK ||
        hypar_machine_read(machine, options->machine, &err) != HYPAR_OK ||
        hypar_search(&found, *graph, *machine, options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return found;
}

static char *text_of(const struct hypar_plan *plan, size_t *length)
{
    char *text;
    FILE *file = open_memstream(&text, length);
    hypar_plan_write(plan, file);
    fclose(file);
    return text;
}

static struct hypar_plan *read_text(const char *text, size_t length)
{
    struct hypar_plan *plan;
    struct hypar_error err;
    if (hp_plan_read_text(&plan, text, length, "plan", NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return plan;
}

static void check_same(const struct hypar_plan_search *a, const struct hypar_plan_search *b)
{
    assert_string_equal(a->asked, b->asked);
    assert_string_equal(a->options, b->options);
    assert_string_equal(a->self.planner, b->self.planner);
    assert_true(a->self.step_s == b->self.step_s && a->self.compute_s == b->self.compute_s);
    assert_int_equal(a->n_others, b->n_others);
    assert_int_equal(a->n_left_out, b->n_left_out);
    for (int i = 0; i < a->n_others; i++) {
        assert_string_equal(a->other[i].planner, b->other[i].planner);
        assert_string_equal(a->other[i].how, b->other[i].how);
        assert_true(a->other[i].step_s == b->other[i].step_s);
    }
    for (int i = 0; i < a->n_left_out; i++)
        assert_string_equal(a->left_out[i].why, b->left_out[i].why);
}

/* What auto says of the others is in the plan, and in its file. */
static void survives(void **state)
{
    (void)state;
    struct hypar_search_options options = {
        .model = "lenet5", .machine = "full:4", .memory_bytes = 1e9, .max_tensor = 2, .seed = 7
    };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found = search(&options, &graph, &machine);
    struct hypar_search_info info = hypar_found_info(found);
    const struct hypar_plan_search *kept = hypar_plan_search(hypar_found_plan(found));
    assert_non_null(kept);
    assert_string_equal(kept->asked, "auto");
    assert_string_equal(kept->options, "--memory 1GB --max-tensor 2");
    assert_string_equal(kept->self.planner, info.planner);
    assert_true(kept->self.step_s == hypar_found_simulated(found)->step.step_s);
    assert_true(kept->n_others > 0 && kept->n_others == info.n_others);
    for (int i = 0; i < kept->n_others; i++)
        assert_true(kept->other[i].step_s >= kept->self.step_s && *kept->other[i].how);
    assert_true(hp_plan_is_as_found(hypar_found_plan(found)));

    size_t n, m;
    char *text = text_of(hypar_found_plan(found), &n);
    struct hypar_plan *again = read_text(text, n);
    char *same = text_of(again, &m);
    assert_int_equal(n, m);
    assert_memory_equal(text, same, n);
    check_same(kept, hypar_plan_search(again));
    assert_true(hp_plan_is_as_found(again));
    free(same);
    free(text);
    hypar_plan_free(again);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Exactness is told in words, only where it is so. */
static void tells_what_is_exact(void **state)
{
    (void)state;
    static const struct {
        const char *planner;
        bool exact;
    } cases[] = { { "hypar", false }, { "optcnn", true }, { "dp", false } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_search_options options = { .model = "lenet5",
                                                .machine = "full:4",
                                                .planner = cases[i].planner };
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_found *found = search(&options, &graph, &machine);
        const struct hypar_plan_search *kept = hypar_plan_search(hypar_found_plan(found));
        assert_int_equal(hypar_found_info(found).exact, cases[i].exact);
        assert_int_equal(kept->exact != NULL, cases[i].exact);
        assert_string_equal(kept->options, "");
        hypar_found_free(found);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

/* A plan that is changed is not as found any more, in memory and in its file; what it was found
 * by stays. A plan without the member has none. */
static void tells_of_changes(void **state)
{
    (void)state;
    struct hypar_search_options options = { .model = "lenet5",
                                            .machine = "full:4",
                                            .planner = "dp" };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found = search(&options, &graph, &machine);
    size_t n;
    hp_plan_set(found->plan, 0, &(struct split){ .degree = { 1, 2 } }, NULL);
    assert_false(hp_plan_is_as_found(found->plan));
    char *text = text_of(found->plan, &n);
    struct hypar_plan *again = read_text(text, n);
    assert_false(hp_plan_is_as_found(again));
    assert_string_equal(hypar_plan_search(again)->self.planner, "dp");
    hypar_plan_free(again);
    free(text);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);

    static const char bare[] = "{\"format\": \"hypar-plan/1\", \"model\": \"lenet5\", "
                               "\"machine\": \"full:2\", \"ops\": [{\"name\": \"*\"}]}";
    struct hypar_plan *plan = read_text(bare, sizeof bare - 1);
    assert_null(hypar_plan_search(plan));
    assert_false(hp_plan_is_as_found(plan));
    hypar_plan_free(plan);
}

/* What is no search is refused at its place. */
static void refuses(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "[]", "plan: search: expected an object, not an array" },
        { "{}", "plan: search.planner: missing, expected a string" },
        { "{\"planner\": \"\"}", "plan: search.planner: empty, expected a name" },
        { "{\"planner\": \"dp\", \"step_s\": -1}", "search.step_s: expected" },
        { "{\"planner\": \"dp\", \"who\": 1}", "search: unknown member 'who'" },
        { "{\"planner\": \"dp\", \"plan_hash\": \"12\"}",
          "search.plan_hash: expected 16 hexadecimal digits" },
        { "{\"planner\": \"dp\", \"others\": [{\"step_s\": 1}]}",
          "search.others[0].planner: missing" },
        { "{\"planner\": \"dp\", \"left_out\": [{\"planner\": \"mp\"}]}",
          "search.left_out[0].why: missing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_plan *plan;
        struct hypar_error err = { 0 };
        char text[512];
        int n = snprintf(text, sizeof text,
                         "{\"format\": \"hypar-plan/1\", \"model\": \"lenet5\", \"machine\": "
                         "\"full:2\", \"ops\": [{\"name\": \"*\"}], \"search\": %s}",
                         cases[i][0]);
        assert_int_equal(hp_plan_read_text(&plan, text, (size_t)n, "plan", NULL, &err),
                         HYPAR_INVALID);
        assert_null(plan);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("'%s' is not in '%s'", cases[i][1], err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives),
        cmocka_unit_test(tells_what_is_exact),
        cmocka_unit_test(tells_of_changes),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
