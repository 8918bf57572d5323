/* A sweep: every point is the result of a search there, for any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/report.h>

#include "tests/length.h"
#include "tests/search/pipelines.h"

/* A word of the zoo; the model is asked to stop with the point `stop_after`. */
struct model {
    const char *word;
    int64_t batch; /* instead of the model's own */
    volatile sig_atomic_t stop;
    int stop_after, done;
};

static enum hypar_status read_with(void *who, int64_t batch, struct hypar_graph **out,
                                   struct hypar_error *err)
{
    struct model *model = who;
    return hypar_import(out, model->word,
                        &(struct hypar_import_options){ .batch = batch ? batch : model->batch },
                        err);
}

static void count_done(void *who, int done, int all)
{
    struct model *model = who;
    assert_true(done <= all);
    model->done++;
    if (done == model->stop_after)
        model->stop = 1;
}

static enum hypar_status try_sweep(struct model *model, const char *machine,
                                   struct hypar_sweep_options how, struct hypar_sweep **out,
                                   struct hypar_error *err)
{
    struct hypar_machine *on = machine_of(machine);
    struct hypar_batches batches = { .graph = read_with, .who = model };
    how.progress = count_done;
    how.who = model;
    how.search.stop = &model->stop;
    enum hypar_status status = hypar_sweep(out, &batches, on, &how, err);
    hypar_machine_free(on);
    return status;
}

static struct hypar_sweep *sweep(const char *word, const char *machine,
                                 struct hypar_sweep_options how)
{
    struct model model = { .word = word };
    struct hypar_sweep *s;
    struct hypar_error err;
    if (try_sweep(&model, machine, how, &s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(model.done, hypar_sweep_info(s).n_points);
    assert_int_equal(hypar_sweep_info(s).n_done, hypar_sweep_info(s).n_points);
    return s;
}

/* The step of a planner's plan, if it fits; else infinity. */
static double step_of(const char *model, const struct hypar_sweep_point *p, const char *planner)
{
    struct hypar_sim_options simulation = { 0 };
    struct hypar_machine *machine = machine_of(p->word);
    struct hypar_graph *graph;
    struct hypar_found *found;
    double step_s = INFINITY;
    hypar_import(&graph, model, &(struct hypar_import_options){ .batch = p->batch }, NULL);
    if (hypar_search(
            &found, graph, machine,
            &(struct hypar_search_options){ .planner = planner, .simulation = &simulation },
            NULL) == HYPAR_OK &&
        hypar_found_simulated(found)->step.fits)
        step_s = hypar_found_simulated(found)->step.step_s;
    hypar_found_free(found);
    hypar_graph_free(graph);
    hypar_machine_free(machine);
    return step_s;
}

/* Each point is the search of its own planner. */
static void points_are_searches(void **state)
{
    static const char *const words[] = { "full:2,memory=20MB", "full:4,memory=20MB",
                                         "full:8,memory=20MB" };
    static const int64_t batches[] = { 32, 64, 128, 256, 512, 1000 };
    struct hypar_sweep *s =
        sweep("lenet5", words[0],
              (struct hypar_sweep_options){
                  .batches = "32..512,1000", .devices = "2..8", .planners = "dp,1f1b" });
    int n_fit = 0, best = -1;
    double most = 0;
    (void)state;
    assert_int_equal(hypar_sweep_info(s).n_points, 36);
    for (int i = 0; i < 36; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        assert_string_equal(p->word, words[i / 12]);
        assert_int_equal(p->batch, batches[i / 2 % 6]);
        assert_int_equal(p->devices, 2 << i / 12);
        assert_string_equal(p->asked, i % 2 ? "1f1b" : "dp");
        double step_s = step_of("lenet5", p, p->asked);
        bool fits = step_s < INFINITY;
        assert_int_equal(p->verdict == HYPAR_SWEPT_FITS, fits);
        n_fit += fits;
        if (!fits)
            continue;
        assert_near(p->step_s, step_s);
        assert_string_equal(p->planner, p->asked);
        assert_near(p->samples_per_s, (double)p->batch / p->step_s);
        assert_true(p->simulated && p->memory_bytes > 0 && p->memory_bytes <= 20e6);
        if (p->samples_per_s / p->devices > most) {
            most = p->samples_per_s / p->devices;
            best = i;
        }
    }
    assert_true(n_fit > 9);
    for (int i = 0; i < 36; i++)
        assert_int_equal(hypar_sweep_point(s, i)->best, i == best);
    assert_null(hypar_sweep_point(s, -1));
    assert_null(hypar_sweep_point(s, hypar_sweep_info(s).n_points));
    hypar_sweep_free(s);
}

/* Data x tensor x pipeline, where that is what a plan is. */
static void families(void **state)
{
    static const struct {
        const char *model, *planner;
        struct hypar_search_options search;
        int data, tensor, pipeline, micro_batches;
    } cases[] = {
        { "vgg16", "dp", { 0 }, 8, 1, 1, 1 },
        { "vgg16", "dp", { .micro_batches = 4 }, 8, 1, 1, 4 },
        { "vgg16", "mp", { 0 }, 1, 8, 1, 1 },
        { "vgg16", "owt", { 0 }, 0, 0, 1, 1 },
        { "vgg16", "1f1b", { .stages = 4, .micro_batches = 8 }, 2, 1, 4, 8 },
        { "gpt2:layers=4",
          "3d",
          { .layout = { .data = 2, .tensor = 2, .pipeline = 2 }, .micro_batches = 2 },
          2,
          2,
          2,
          2 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_sweep *s = sweep(
            cases[i].model, "cluster:1x8,memory=1TB",
            (struct hypar_sweep_options){
                .batches = "32,32", .planners = cases[i].planner, .search = cases[i].search });
        const struct hypar_sweep_point *p = hypar_sweep_point(s, 1);
        assert_string_equal(p->planner, cases[i].planner);
        assert_int_equal(p->data, cases[i].data);
        assert_int_equal(p->tensor, cases[i].tensor);
        assert_int_equal(p->pipeline, cases[i].pipeline);
        assert_int_equal(p->micro_batches, cases[i].micro_batches);
        hypar_sweep_free(s);
    }
}

static char *text_of(const struct hypar_sweep *s, enum hypar_format format)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    hypar_report_sweep(file, s, format);
    hypar_report_sweep(file, s, HYPAR_CSV);
    hypar_report_sweep(file, s, HYPAR_SVG);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void threads_do_not_matter(void **state)
{
    struct hypar_sweep_options how = { .batches = full_length() ? "16,64" : "16",
                                       .devices = soak_length() ? "2,3,8" : "2,3",
                                       .topologies = "full,ring",
                                       .bandwidths = full_length() ? "1GB/s,10GB/s" : "1GB/s" };
    int points = soak_length() ? 2 * 3 * 2 * 2 : full_length() ? 2 * 2 * 2 * 2 : 1 * 2 * 2 * 1;
    char *text[2];
    (void)state;
    for (int k = 0; k < 2; k++) {
        how.search.threads = k ? 5 : 1;
        struct hypar_sweep *s = sweep("lenet5", "full:4", how);
        assert_int_equal(hypar_sweep_info(s).n_points, points);
        text[k] = text_of(s, HYPAR_JSON);
        hypar_sweep_free(s);
    }
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

/* What is not done when it is told to stop is not told of. */
static void stops(void **state)
{
    struct hypar_sweep_options how = { .batches = "8..64", .planners = "dp" };
    struct hypar_sweep *s;
    struct hypar_error err;
    (void)state;
    how.search.threads = 1;
    struct model model = { .word = "lenet5", .stop_after = 3 }, now = { .word = "lenet5" };
    assert_int_equal(try_sweep(&model, "full:4", how, &s, &err), HYPAR_OK);
    assert_int_equal(hypar_sweep_info(s).n_done, 3);
    for (int i = 0; i < 4; i++)
        assert_int_equal(hypar_sweep_point(s, i)->verdict,
                         i < 3 ? HYPAR_SWEPT_FITS : HYPAR_SWEPT_NOT_TRIED);
    char *text = text_of(s, HYPAR_TEXT);
    assert_non_null(strstr(text, "Not done in time: batch 64 on 4 devices.\n"));
    free(text);
    hypar_sweep_free(s);
    now.stop = 1;
    assert_int_equal(try_sweep(&now, "full:4", how, &s, &err), HYPAR_INFEASIBLE);
    assert_null(s);
    assert_string_equal(err.text, "interrupted before it had a plan");
}

/* A planner that has no plan says why; the others are none the worse for it. */
static void says_why(void **state)
{
    struct hypar_sweep *s =
        sweep("lenet5", "full:8",
              (struct hypar_sweep_options){ .batches = "4,8,1000000000", .planners = "dp" });
    (void)state;
    assert_int_equal(hypar_sweep_point(s, 0)->verdict, HYPAR_SWEPT_NO_PLAN);
    assert_string_equal(
        hypar_sweep_point(s, 0)->why.text,
        "dp splits the batch of 4 over 8 devices, expected a batch of at least 8");
    assert_int_equal(hypar_sweep_point(s, 1)->verdict, HYPAR_SWEPT_FITS);
    assert_int_equal(hypar_sweep_point(s, 2)->verdict, HYPAR_SWEPT_TOO_LARGE);
    assert_true(hypar_sweep_point(s, 2)->memory_bytes > hypar_sweep_point(s, 2)->limit_bytes);
    hypar_sweep_free(s);
    s = sweep("lenet5", "full:8,memory=1kB",
              (struct hypar_sweep_options){ .batches = "8,16", .planners = "dp,1f1b" });
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hypar_sweep_point(s, i)->verdict, HYPAR_SWEPT_NO_PLAN);
        assert_false(hypar_sweep_point(s, i)->best);
    }
    struct hypar_sweep *of_profile =
        sweep("tests/data/pipedream/chain.txt", "full:4",
              (struct hypar_sweep_options){ .devices = "2,4", .planners = "pipedream" });
    assert_int_equal(hypar_sweep_point(of_profile, 1)->verdict, HYPAR_SWEPT_FITS);
    assert_false(hypar_sweep_point(of_profile, 1)->simulated);
    hypar_sweep_free(of_profile);
    char *text = text_of(s, HYPAR_TEXT);
    assert_non_null(strstr(text, "None fits."));
    assert_non_null(strstr(text, "no plan fits; plans of "));
    free(text);
    hypar_sweep_free(s);
}

static void bad_lists(void **state)
{
    static const char *const fix[] = { "conv1:n=2" };
    static const struct {
        struct hypar_sweep_options how;
        const char *error;
        enum hypar_status status;
    } cases[] = {
        { { .batches = "5..2" }, "batch: 5..2 goes down, expected 2..5", HYPAR_USAGE },
        { { .batches = "0,4" },
          "batch: '0' is not a whole number from 1 to 1000000000",
          HYPAR_USAGE },
        { { .batches = "4,,8" },
          "batch: empty item, expected a list such as a,b,c",
          HYPAR_USAGE },
        { { .devices = "1e9" },
          "devices: '1e9' is not a whole number from 1 to 1048576",
          HYPAR_USAGE },
        { { .topologies = "sphere" }, "topologies: unknown topology 'sphere'", HYPAR_SYNTAX },
        { { .planners = "dp,nobody" },
          "unknown planner 'nobody'; 'hypar planners' lists them",
          HYPAR_USAGE },
        { { .batches = "1..1000000000,1..1000000000",
            .devices = "1..1024,1..1024,1..1024,"
                       "1..1024,1..1024,1..1024,"
                       "1..1024" },
          "60 batches on 77 machines by 1 planners, expected at most 4096 together",
          HYPAR_UNSUPPORTED },
        { { .search = { .n_fix = 1, .fix = fix }, .planners = "dp" },
          "--fix is for planners auto, hybrid, flexflow and exhaustive, not dp",
          HYPAR_USAGE },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model model = { .word = "lenet5", .batch = 8 };
        struct hypar_sweep *s;
        struct hypar_error err = { 0 };
        enum hypar_status status = try_sweep(&model, "full:4", cases[i].how, &s, &err);
        if (status != cases[i].status || !strstr(err.text, cases[i].error))
            fail_msg("case %d: %d, %s", (int)i, status, err.text);
        assert_null(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_searches),
        cmocka_unit_test(families),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(stops),
        cmocka_unit_test(says_why),
        cmocka_unit_test(bad_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
