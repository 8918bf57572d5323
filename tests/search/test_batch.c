/* Batches: a much larger batch does not make a search slower; the largest batch that fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/length.h"
#include "tests/search/pipelines.h"

static struct hypar_graph *graph_with(const char *model, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, model, &(struct hypar_import_options){ .batch = batch }, &err))
        fail_msg("%s", err.text);
    return graph;
}

/* What grows is the number of divisors of the batch, among which micro-batches are chosen: from
 * 49 of 10^6 to 81 of 10^8. Micro-batches by the hundred thousand are not simulated. */
static void large_batches_cost_no_more(void **state)
{
    static const char *const planners[] = { "dp", "optcnn", "1f1b", "zb-h1", "3d", "auto" };
    struct hypar_machine *machine = machine_of("cluster:1x8");
    struct hypar_graph *small = graph_with("vgg16", 1000000),
                       *large = graph_with("vgg16", 100000000);
    struct hypar_sim_options simulation = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof planners / sizeof planners[0]; i++) {
        struct hypar_search_options how = { .planner = planners[i], .simulation = &simulation };
        if (!soak_length() && strcmp(how.planner, "auto") == 0)
            continue; /* it runs the others again; cli/sizes has it at full length */
        struct hypar_found *a = search(small, machine, how), *b = search(large, machine, how);
        int64_t few = hypar_found_info(a).evaluated, many = hypar_found_info(b).evaluated;
        if (many > 2 * few)
            fail_msg("%s: %lld states weighed, %lld of a small batch", planners[i],
                     (long long)many, (long long)few);
        int64_t n = hypar_plan_schedule(hypar_found_plan(b)).micro_batches;
        assert_int_equal(hypar_found_simulated(b) == NULL, n > 4096);
        assert_int_equal(hypar_found_info(b).not_simulated == NULL, n <= 4096);
        assert_non_null(hypar_found_simulated(a));
        hypar_found_free(a);
        hypar_found_free(b);
    }
    hypar_graph_free(small);
    hypar_graph_free(large);
    hypar_machine_free(machine);
}

/* A word of the zoo, and how often it was asked for. */
struct model {
    const char *word;
    int64_t most; /* samples that it can have; 0: any */
    int asked, told;
    volatile sig_atomic_t stop;
    int stop_after;
};

static enum hypar_status read_with(void *who, int64_t batch, struct hypar_graph **out,
                                   struct hypar_error *err)
{
    struct model *model = who;
    *out = NULL;
    if (++model->asked == model->stop_after)
        model->stop = 1;
    if (model->most && batch > model->most) {
        snprintf(err->text, sizeof err->text, "too many");
        return HYPAR_UNSUPPORTED;
    }
    return hypar_import(out, model->word, &(struct hypar_import_options){ .batch = batch },
                        err);
}

static void count_told(void *who, int64_t batch, bool fits)
{
    (void)batch;
    (void)fits;
    ((struct model *)who)->told++;
}

static enum hypar_status largest(struct model *model, const char *machine,
                                 struct hypar_search_options how, struct hypar_largest *out,
                                 struct hypar_error *err)
{
    struct hypar_sim_options simulation = { 0 };
    struct hypar_batches batches = { read_with, count_told, model };
    struct hypar_machine *on = machine_of(machine);
    struct hypar_graph *graph;
    struct hypar_found *found;
    how.simulation = &simulation;
    enum hypar_status status = hypar_search_largest(&found, &graph, on, &how, &batches, err);
    if (status == HYPAR_OK) {
        *out = hypar_found_info(found).largest;
        assert_int_equal(hypar_graph_info(graph).batch, out->batch);
        assert_true(hypar_found_simulated(found)->step.fits);
        assert_int_equal(hypar_found_info(found).interrupted, model->stop != 0);
    } else {
        assert_null(found);
        assert_null(graph);
    }
    hypar_found_free(found);
    hypar_graph_free(graph);
    hypar_machine_free(on);
    return status;
}

/* Does the planner's plan of that batch fit? */
static bool fits(const char *model, const char *machine, struct hypar_search_options how,
                 int64_t batch)
{
    struct hypar_sim_options simulation = { 0 };
    struct hypar_machine *on = machine_of(machine);
    struct hypar_graph *graph = graph_with(model, batch);
    struct hypar_found *found;
    how.simulation = &simulation;
    how.micro_batches = how.micro_batches ? how.micro_batches : 1;
    bool fit = hypar_search(&found, graph, on, &how, NULL) == HYPAR_OK &&
               hypar_found_simulated(found)->step.fits;
    hypar_found_free(found);
    hypar_graph_free(graph);
    hypar_machine_free(on);
    return fit;
}

/* As one finds it that tries them all. */
static void the_largest_that_fits(void **state)
{
    static const struct {
        const char *model, *machine;
        struct hypar_search_options how;
        int unit;
    } cases[] = {
        { "lenet5", "full:4,memory=8MB", { .planner = "dp" }, 4 },
        { "lenet5", "full:4,memory=8MB", { .planner = "mp" }, 4 },
        { "lenet5", "full:4,memory=8MB", { .planner = "hypar" }, 4 },
        { "lenet5", "full:4,memory=8MB", { .planner = "dp", .micro_batches = 3 }, 12 },
        { "lenet5", "full:4,memory=6MB", { .planner = "1f1b" }, 4 },
        { "lenet5", "full:4,memory=4MB", { .planner = "1f1b", .micro_batches = 2 }, 8 },
        { "lenet5", "full:4,memory=4MB", { .planner = "3d" }, 4 },
        { "lenet5", "full:4", { .planner = "optcnn", .memory_bytes = 5e6 }, 4 },
        { "lenet5", "full:3,memory=6MB", { .planner = "pipedream" }, 3 },
        { "mlp:64-64-64", "full:16,memory=12kB", { .planner = "mp" }, 1 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!in_length((int)i, 2, 1))
            continue;
        struct model model = { .word = cases[i].model };
        struct hypar_largest found;
        struct hypar_error err;
        int64_t most = 0;
        if (largest(&model, cases[i].machine, cases[i].how, &found, &err))
            fail_msg("case %d: %s", (int)i, err.text);
        for (int64_t b = cases[i].unit; b <= found.beyond; b += cases[i].unit)
            if (fits(cases[i].model, cases[i].machine, cases[i].how, b))
                most = b;
        if (found.batch != most || found.beyond != most + cases[i].unit)
            fail_msg("case %d: %lld and not %lld, expected %lld", (int)i,
                     (long long)found.batch, (long long)found.beyond, (long long)most);
        assert_int_equal(found.tried, model.asked);
        assert_int_equal(found.tried, model.told);
        assert_true(found.tried < 24);
        assert_true(*found.why.text ? found.need_bytes == 0
                                    : found.need_bytes > found.has_bytes);
    }
}

/* It tries the others, and has a plan where one of them has. */
static void auto_has_no_smaller_one(void **state)
{
    static const char *const planners[] = { "dp", "hypar", "1f1b", "auto" };
    int64_t most = 0;
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct model model = { .word = "lenet5" };
        struct hypar_largest found;
        struct hypar_error err;
        struct hypar_search_options how = { .planner = planners[i] };
        const char *machine = full_length() ? "full:4,memory=3MB" : "full:2,memory=3MB";
        assert_int_equal(largest(&model, machine, how, &found, &err), HYPAR_OK);
        assert_true(i < 3 || found.batch >= most);
        most = found.batch > most ? found.batch : most;
    }
}

/* The model itself may be what cannot be larger, or nothing at all. */
static void other_bounds(void **state)
{
    struct model bounded = { .word = "lenet5", .most = 1000 }, free = { .word = "mlp:2-2" };
    struct hypar_largest found;
    struct hypar_error err;
    struct hypar_search_options dp = { .planner = "dp" };
    (void)state;
    assert_int_equal(largest(&bounded, "full:3", dp, &found, &err), HYPAR_OK);
    assert_int_equal(found.batch, 999);
    assert_int_equal(found.beyond, 1002);
    assert_string_equal(found.why.text, "too many");
    assert_int_equal(largest(&free, "full:3,memory=1PB", dp, &found, &err), HYPAR_OK);
    assert_int_equal(found.batch, 999999999);
    assert_int_equal(found.beyond, 0);
}

static void none_fits(void **state)
{
    static const struct {
        const char *model, *machine, *planner, *error;
        enum hypar_status status;
    } cases[] = {
        { "lenet5", "full:4,memory=150kB", "mp",
          "not even a batch of 1 fits: it needs 187 kB of 150 kB", HYPAR_INFEASIBLE },
        { "lenet5", "full:4,memory=200kB", "dp", "dp: weights, gradients and sgd state",
          HYPAR_INFEASIBLE },
        { "lenet9", "full:4", "dp", "lenet9", HYPAR_INVALID },
        { "lenet5", "full:4", "dpp", "unknown planner 'dpp'", HYPAR_USAGE },
        { "tests/data/pipedream/chain.txt", "full:4", "1f1b", "has measured figures",
          HYPAR_UNSUPPORTED },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model model = { .word = cases[i].model };
        struct hypar_search_options how = { .planner = cases[i].planner };
        struct hypar_largest found;
        struct hypar_error err;
        assert_int_equal(largest(&model, cases[i].machine, how, &found, &err), cases[i].status);
        if (!strstr(err.text, cases[i].error))
            fail_msg("%s", err.text);
    }
}

/* Told to stop, it gives the largest so far. */
static void stops(void **state)
{
    struct hypar_search_options how = { .planner = "dp" };
    struct hypar_largest found;
    struct hypar_error err;
    (void)state;
    for (int after = 1; after <= 4; after++) {
        struct model model = { .word = "lenet5", .stop_after = after };
        how.stop = &model.stop;
        enum hypar_status status = largest(&model, "full:4", how, &found, &err);
        assert_int_equal(status, after == 1 ? HYPAR_INFEASIBLE : HYPAR_OK);
        assert_int_equal(model.asked, after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_batches_cost_no_more),
        cmocka_unit_test(the_largest_that_fits),
        cmocka_unit_test(auto_has_no_smaller_one),
        cmocka_unit_test(other_bounds),
        cmocka_unit_test(none_fits),
        cmocka_unit_test(stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
