/* Planners of callers of the library: a registered planner is known everywhere, and its plans
 * are checked like any other plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/hypar.h>

static struct hypar_graph *graph, *other_graph;
static struct hypar_machine *machine;

/* Data parallelism on all devices; `who` counts calls. */
static enum hypar_status plan_layout(struct hypar_plan **out, const struct hypar_graph *g,
                                     const struct hypar_machine *m,
                                     const struct hypar_search_options *options, void *who,
                                     struct hypar_error *err)
{
    struct hypar_layout layout = { .data = hypar_machine_device_count(m) };
    if (who)
        ++*(int *)who;
    *out = hypar_plan_new(g, m, options);
    return hypar_plan_set_layout(*out, &layout, err);
}

/* As plan_layout(), and reports twice. */
static enum hypar_status plan_reporting(struct hypar_plan **out, const struct hypar_graph *g,
                                        const struct hypar_machine *m,
                                        const struct hypar_search_options *options, void *who,
                                        struct hypar_error *err)
{
    struct hypar_search_progress done = { .best_s = 1, .proposals = 100, .accepted = 10 };
    options->progress(options->who, &done);
    done.proposals = 250;
    done.accepted = 20;
    options->progress(options->who, &done);
    return plan_layout(out, g, m, options, who, err);
}

/* As many replicas as its option says, each on the others. */
static enum hypar_status plan_asked(struct hypar_plan **out, const struct hypar_graph *g,
                                    const struct hypar_machine *m,
                                    const struct hypar_search_options *options, void *who,
                                    struct hypar_error *err)
{
    const char *data = hypar_planner_option(options, "data");
    struct hypar_layout layout = { .data = data ? atoi(data) : 1 };
    (void)who;
    layout.tensor = hypar_machine_device_count(m) / layout.data;
    *out = hypar_plan_new(g, m, options);
    return hypar_plan_set_layout(*out, &layout, err);
}

static enum hypar_status plan_nothing(struct hypar_plan **out, const struct hypar_graph *g,
                                      const struct hypar_machine *m,
                                      const struct hypar_search_options *options, void *who,
                                      struct hypar_error *err)
{
    (void)out, (void)g, (void)m, (void)options, (void)who, (void)err;
    return HYPAR_OK;
}

static enum hypar_status plan_other(struct hypar_plan **out, const struct hypar_graph *g,
                                    const struct hypar_machine *m,
                                    const struct hypar_search_options *options, void *who,
                                    struct hypar_error *err)
{
    (void)g, (void)who, (void)err;
    *out = hypar_plan_new(other_graph, m, options);
    return HYPAR_OK;
}

/* Operators of which the second half is in no stage. */
static enum hypar_status plan_badly(struct hypar_plan **out, const struct hypar_graph *g,
                                    const struct hypar_machine *m,
                                    const struct hypar_search_options *options, void *who,
                                    struct hypar_error *err)
{
    (void)who;
    int op = 0, device = 0;
    struct hypar_stage stage = { 1, &op, 1, &device, 1, HYPAR_SHARE_BATCH };
    *out = hypar_plan_new(g, m, options);
    return hypar_plan_set_stages(*out, &stage, 1, err);
}

static enum hypar_status refuse(struct hypar_plan **out, const struct hypar_graph *g,
                                const struct hypar_machine *m,
                                const struct hypar_search_options *options, void *who,
                                struct hypar_error *err)
{
    (void)out, (void)g, (void)m, (void)options, (void)who;
    snprintf(err->text, sizeof err->text, "not today");
    return HYPAR_INFEASIBLE;
}

static int asked;
static const struct hypar_planner planners[] = {
    { HYPAR_ABI_VERSION, "own", "as dp", "a test", "--proposals", true, plan_layout, &asked },
    { HYPAR_ABI_VERSION, "nothing", "no plan", NULL, NULL, false, plan_nothing, NULL },
    { HYPAR_ABI_VERSION, "other", "of another", NULL, NULL, false, plan_other, NULL },
    { HYPAR_ABI_VERSION, "badly", "no stage", NULL, NULL, false, plan_badly, NULL },
    { HYPAR_ABI_VERSION, "reports", "reports", NULL, NULL, false, plan_reporting, NULL },
    { HYPAR_ABI_VERSION, "asked", "asked", NULL, "--planner-option", false, plan_asked, NULL },
    { HYPAR_ABI_VERSION, "refuses", "refuses", NULL, NULL, false, refuse, NULL },
};

static int begin(void **state)
{
    (void)state;
    struct hypar_error err;
    assert_int_equal(hypar_import(&graph, "lenet5", NULL, &err), HYPAR_OK);
    assert_int_equal(hypar_import(&other_graph, "lenet5", NULL, &err), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&machine, "full:4", &err), HYPAR_OK);
    for (size_t i = 0; i < sizeof planners / sizeof *planners; i++)
        if (hypar_planner_register(&planners[i], &err) != HYPAR_OK)
            fail_msg("%s", err.text);
    return 0;
}

static int end(void **state)
{
    (void)state;
    hypar_graph_free(graph);
    hypar_graph_free(other_graph);
    hypar_machine_free(machine);
    return 0;
}

static struct hypar_found *search(const struct hypar_search_options *how)
{
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_search(&found, graph, machine, how, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return found;
}

static void it_is_searched_with(void **state)
{
    (void)state;
    struct hypar_sim_options simulation = { 0 };
    struct hypar_search_options how = {
        .planner = "own", .optimizer = HYPAR_ADAM, .proposals = 3, .simulation = &simulation
    };
    struct hypar_found *own = search(&how);
    how.planner = "dp";
    how.proposals = 0;
    struct hypar_found *dp = search(&how);
    assert_string_equal(hypar_found_info(own).planner, "own");
    assert_int_equal(hypar_plan_settings(hypar_found_plan(own)).optimizer, HYPAR_ADAM);
    assert_true(hypar_found_prediction(own).simulated);
    assert_true(hypar_found_simulated(own)->step.step_s ==
                hypar_found_simulated(dp)->step.step_s);
    hypar_found_free(own);
    hypar_found_free(dp);
}

static void count_reports(void *who, const struct hypar_search_progress *progress)
{
    (void)progress;
    ++*(int *)who;
}

static char *report(const struct hypar_found *found)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    hypar_report_found(file, found, NULL, 0, HYPAR_JSON);
    fclose(file);
    return text;
}

/* What it reported last; of one that reports nothing it is not known. */
static void its_effort_is_told(void **state)
{
    (void)state;
    int reports = 0;
    struct hypar_search_options how = { .planner = "reports",
                                        .progress = count_reports,
                                        .who = &reports };
    struct hypar_found *found = search(&how);
    struct hypar_search_info info = hypar_found_info(found);
    assert_int_equal(reports, 2);
    assert_int_equal(info.evaluated, 250);
    assert_int_equal(info.proposals, 250);
    assert_int_equal(info.accepted, 20);
    char *text = report(found);
    assert_non_null(strstr(text, "\"evaluated\": 250"));
    assert_non_null(strstr(text, "\"accepted\": 20"));
    free(text);
    hypar_found_free(found);
    how.planner = "own";
    found = search(&how);
    assert_int_equal(hypar_found_info(found).evaluated, -1);
    text = report(found);
    assert_non_null(strstr(text, "\"evaluated\": null"));
    assert_null(strstr(text, "\"proposals\""));
    free(text);
    hypar_found_free(found);
}

/* The last of a name counts; whoever does not take them refuses them. */
static void it_has_options_of_its_own(void **state)
{
    (void)state;
    const char *const word[] = { "data=4", "dat=1", "data=2" };
    const char *const bad[] = { "data" };
    struct hypar_error err;
    struct hypar_found *found;
    struct hypar_search_options how = { .planner = "asked",
                                        .planner_option = word,
                                        .n_planner_options = 3 };
    found = search(&how);
    assert_int_equal(hypar_plan_layout(hypar_found_plan(found))->data, 2);
    hypar_found_free(found);
    assert_null(hypar_planner_option(&how, "da"));
    how.planner = "own";
    assert_int_equal(hypar_search(&found, graph, machine, &how, &err), HYPAR_USAGE);
    assert_string_equal(err.text, "--planner-option is for planner asked, not own");
    how.planner = "auto"; /* tries none that takes them */
    assert_int_equal(hypar_search(&found, graph, machine, &how, &err), HYPAR_USAGE);
    how.planner = "asked";
    how.planner_option = bad;
    how.n_planner_options = 1;
    assert_int_equal(hypar_search(&found, graph, machine, &how, &err), HYPAR_USAGE);
    assert_string_equal(err.text, "--planner-option 'data': expected NAME=VALUE");
}

/* The error names every option that a row may take, as docs/library.md does. */
static void what_it_may_take_is_listed(void **state)
{
    (void)state;
    struct hypar_planner row = { HYPAR_ABI_VERSION, "takes", "takes", NULL,
                                 "--seed",          false,   refuse,  NULL };
    static char document[1 << 16];
    struct hypar_error err;
    FILE *file = fopen("docs/library.md", "r");
    assert_non_null(file);
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(hypar_planner_register(&row, &err), HYPAR_INVALID);
    char *at = strstr(err.text, "expected --joint, ");
    assert_non_null(at);
    assert_non_null(strstr(at, " or --minibatches"));
    for (char *word = strstr(at, "--"); word; word = strstr(word, "--")) {
        char quoted[64];
        int n = (int)strcspn(word, " ,");
        snprintf(quoted, sizeof quoted, "`%.*s`", n, word);
        if (!strstr(document, quoted))
            fail_msg("docs/library.md lacks %s", quoted);
        word += n;
    }
}

static void it_is_listed(void **state)
{
    (void)state;
    const struct hypar_planner_info *info = hypar_planner_find("own");
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(info);
    assert_true(info->proposes);
    assert_string_equal(info->source, "a test");
    hypar_report_planners(file, HYPAR_TEXT);
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(text, "\nown "));
    free(text);
}

/* auto's random search takes most of its time, and is not what these tests are about. */
enum { FEW_PROPOSALS = 20 };

static void auto_asks_those_that_want_it(void **state)
{
    (void)state;
    struct hypar_search_options how = { .planner = "auto", .proposals = FEW_PROPOSALS };
    int before = asked;
    hypar_found_free(search(&how));
    assert_true(asked > before);
}

/* The step of its plan among those that auto weighed; 0: it is not there. */
static double weighed_s(const struct hypar_search_options *how)
{
    struct hypar_found *found = search(how);
    struct hypar_search_info info = hypar_found_info(found);
    double step_s = 0;
    for (int i = 0; i < info.n_others; i++)
        if (strcmp(info.other[i].planner, "weighed") == 0)
            step_s = info.other[i].step_s;
    hypar_found_free(found);
    return step_s;
}

/* With the options that are its own. Registered here, as other tests rely on there being none
 * such. */
static void auto_weighs_their_plans(void **state)
{
    (void)state;
    static const struct hypar_planner row = { HYPAR_ABI_VERSION,  "weighed", "in auto",  NULL,
                                              "--planner-option", true,      plan_asked, NULL };
    const char *const word[] = { "data=2" };
    struct hypar_search_options how = { .planner = "auto", .proposals = FEW_PROPOSALS };
    struct hypar_sim_options simulation = { 0 };
    struct hypar_error err;
    assert_int_equal(hypar_planner_register(&row, &err), HYPAR_OK);
    double whole_s = weighed_s(&how);
    how.planner_option = word;
    how.n_planner_options = 1;
    double halves_s = weighed_s(&how);
    assert_true(whole_s > 0 && halves_s > 0 && whole_s != halves_s);
    how.planner = "weighed";
    how.proposals = 0; /* which it does not take */
    how.simulation = &simulation;
    struct hypar_found *alone = search(&how);
    assert_true(hypar_found_simulated(alone)->step.step_s == halves_s);
    hypar_found_free(alone);
}

static void options_are_honoured_or_refused(void **state)
{
    (void)state;
    struct hypar_search_options how = { .planner = "own", .stages = 2 };
    struct hypar_found *found;
    struct hypar_error err;
    assert_int_equal(hypar_search(&found, graph, machine, &how, &err), HYPAR_USAGE);
    assert_non_null(strstr(err.text, "--stages is for"));
    assert_null(found);
}

static void what_they_make_is_checked(void **state)
{
    (void)state;
    static const struct {
        const char *planner, *why;
        enum hypar_status status;
    } cases[] = {
        { "nothing", "nothing: no plan", HYPAR_INVALID },
        { "other", "other: its plan is for another model", HYPAR_INVALID },
        { "badly", "badly: op '", HYPAR_INFEASIBLE },
        { "refuses", "refuses: not today", HYPAR_INFEASIBLE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hypar_search_options how = { .planner = cases[i].planner };
        struct hypar_found *found;
        struct hypar_error err;
        assert_int_equal(hypar_search(&found, graph, machine, &how, &err), cases[i].status);
        if (strncmp(err.text, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("'%s', expected '%s'", err.text, cases[i].why);
    }
}

static void rows_are_checked(void **state)
{
    (void)state;
    static const struct {
        struct hypar_planner row;
        const char *why;
    } cases[] = {
        { { HYPAR_ABI_VERSION + 1, "x", "x", .plan = plan_layout }, "made for version" },
        { { HYPAR_ABI_VERSION, NULL, "x", .plan = plan_layout }, "without name" },
        { { HYPAR_ABI_VERSION, "x", .summary = "x" }, "without name" },
        { { HYPAR_ABI_VERSION, "a b", "x", .plan = plan_layout }, "'a b': expected a name" },
        { { HYPAR_ABI_VERSION, "dp", "x", .plan = plan_layout }, "'dp': there is one" },
        { { HYPAR_ABI_VERSION, "own", "x", .plan = plan_layout }, "'own': there is one" },
        { { HYPAR_ABI_VERSION, "x", "x", .takes = "--never", .plan = plan_layout },
          "'--never'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hypar_error err;
        assert_int_not_equal(hypar_planner_register(&cases[i].row, &err), HYPAR_OK);
        if (!strstr(err.text, cases[i].why))
            fail_msg("'%s', expected '%s'", err.text, cases[i].why);
    }
    assert_null(hypar_planner_find("x"));
    assert_int_equal(hypar_planner_register(&planners[0], NULL), HYPAR_OK); /* once more */
    assert_int_equal(hypar_abi_version(), HYPAR_ABI_VERSION);
}

static void what_is_no_library_is_not_loaded(void **state)
{
    (void)state;
    static const char *const paths[] = { "/dev/null", "./nowhere.so", "libm.so.6" };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const char *name;
        struct hypar_error err = { 0 };
        assert_int_equal(hypar_planner_load(&name, paths[i], &err), HYPAR_UNREADABLE);
        assert_null(name);
        assert_true(err.text[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_searched_with),
        cmocka_unit_test(its_effort_is_told),
        cmocka_unit_test(it_has_options_of_its_own),
        cmocka_unit_test(what_it_may_take_is_listed),
        cmocka_unit_test(it_is_listed),
        cmocka_unit_test(auto_asks_those_that_want_it),
        cmocka_unit_test(options_are_honoured_or_refused),
        cmocka_unit_test(what_they_make_is_checked),
        cmocka_unit_test(rows_are_checked),
        cmocka_unit_test(what_is_no_library_is_not_loaded),
        cmocka_unit_test(auto_weighs_their_plans),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
