/* Planners gpipe and 1f1b: their plans can be lowered, 1f1b keeps fewer activations, and every
 * plan fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/program.h>

#include "plan/plan.h"
#include "tests/length.h"
#include "tests/random_graph.h"
#include "tests/search/pipelines.h"

static void flushing_pipelines_lower(void **state)
{
    static const struct {
        const char *model, *machine;
        int64_t batch;
    } rows[] = { { "lenet5", "full:4", 64 },
                 { "alexnet", "cluster:2x2", 32 },
                 { "gpt2", "cluster:2x4", 16 },
                 { "resnet18", "full:6", 36 } };
    static const char *const planners[] = { "gpipe", "1f1b", "zb-h1", "zb-h2" };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int k = 0; k < 2; k++) {
            struct hypar_graph *graph;
            struct hypar_error err;
            struct hypar_program *program;
            if (hypar_import(&graph, rows[i].model,
                             &(struct hypar_import_options){ .batch = rows[i].batch }, &err))
                fail_msg("%s", err.text);
            struct hypar_machine *machine = machine_of(rows[i].machine);
            struct hypar_found *found =
                search(graph, machine, (struct hypar_search_options){ .planner = planners[k] });
            const struct hypar_plan *plan = hypar_found_plan(found);
            assert_true(hypar_plan_stage_count(plan) > 1);
            assert_string_equal(hypar_schedule_text(hypar_plan_schedule(plan).kind),
                                planners[k]);
            if (hypar_lower(&program, plan, NULL, &err))
                fail_msg("%s %s: %s", rows[i].model, planners[k], err.text);
            hypar_program_free(program);
            hypar_found_free(found);
            hypar_machine_free(machine);
            hypar_graph_free(graph);
        }
}

/* Between forward and backward, gpipe keeps every micro-batch, 1f1b those on their way. */
static void one_by_one_needs_less_memory(void **state)
{
    struct hypar_graph *graph = graph_of("resnet50");
    struct hypar_machine *machine = machine_of("full:4,memory=1000TB");
    struct hypar_search_options options = { .stages = 4, .micro_batches = 16 };
    (void)state;
    options.planner = "gpipe";
    struct hypar_found *a = search(graph, machine, options);
    options.planner = "1f1b";
    struct hypar_found *b = search(graph, machine, options);
    for (int s = 0; s < 4; s++) {
        const struct hypar_pipeline_stage *x = &hypar_found_pipeline(a)->stage[s],
                                          *y = &hypar_found_pipeline(b)->stage[s];
        assert_int_equal(x->in_flight, 16);
        assert_int_equal(y->in_flight, 4 - s);
        assert_near(y->memory_bytes - 2 * y->weight_bytes,
                    (x->memory_bytes - 2 * x->weight_bytes) * (4 - s) / 16);
    }
    assert_near(hypar_found_prediction(a).step_s, hypar_found_prediction(b).step_s);
    hypar_found_free(a);
    hypar_found_free(b);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Statistics of very few samples tell little: batch norms keep micro-batches from being so
 * small, whoever plans, unless they are asked for. */
static void batch_norms_see_samples_enough(void **state)
{
    static const struct {
        struct hypar_search_options options;
        int64_t most; /* micro-batches, of a batch of 16 */
    } rows[] = {
        { { .planner = "gpipe", .stages = 4 }, 2 },
        { { .planner = "1f1b", .stages = 4 }, 2 },
        { { .planner = "3d", .layout = { .data = 1, .tensor = 1, .pipeline = 4 } }, 2 },
        { { .planner = "hybrid", .stages = 4 }, 2 },
        { { .planner = "3d", .layout = { .data = 2, .tensor = 1, .pipeline = 2 } }, 2 },
        { { .planner = "1f1b", .stages = 4, .micro_batches = 16 }, 16 },
    };
    (void)state;
    for (int local = 0; local < 2; local++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            struct hypar_sim_options how = { .lower.local_bn = local };
            struct hypar_search_options options = rows[i].options;
            struct hypar_graph *graph;
            struct hypar_error err;
            if (hypar_import(&graph, "resnet18", &(struct hypar_import_options){ .batch = 16 },
                             &err))
                fail_msg("%s", err.text);
            struct hypar_machine *machine = machine_of("full:4");
            options.simulation = &how;
            struct hypar_found *found = search(graph, machine, options);
            int64_t m = hypar_plan_schedule(hypar_found_plan(found)).micro_batches;
            int64_t most = rows[i].most / (local && options.layout.data == 2 ? 2 : 1);
            if (options.micro_batches ? m != most : m > most)
                fail_msg("%s: %lld micro-batches", options.planner, (long long)m);
            assert_int_equal(hypar_plan_divides_statistics(hypar_found_plan(found)), m > 1);
            hypar_found_free(found);
            hypar_machine_free(machine);
            hypar_graph_free(graph);
        }
}

/* Memory ------------------------------------------------------------------------------- */

/* One of the pipelines that a planner may choose, planned without a limit. */
struct option {
    double step_s; /* simulated */
    double peak;   /* of the fullest device, by simulation */
    bool fits;     /* what the devices have */
};

static double simulated_s(const struct hypar_plan *plan)
{
    struct hypar_sim *sim;
    assert_int_equal(hypar_simulate(&sim, plan, NULL, NULL), HYPAR_OK);
    double step_s = hypar_sim_summary(sim).step_s;
    hypar_sim_free(sim);
    return step_s;
}

static void look(const struct hypar_found *found, struct option *out)
{
    struct hypar_memory fullest = { 0 };
    const struct hypar_plan *plan = hypar_found_plan(found);
    assert_int_equal(hypar_plan_fits(plan, 1e300, &fullest, NULL), HYPAR_OK); /* it lowers */
    *out = (struct option){ simulated_s(plan), fullest.peak,
                            hypar_plan_fits(plan, 0, NULL, NULL) == HYPAR_OK };
}

enum { MAX_OPTIONS = 64 };

/* All of a planner's space: stages that divide the devices, micro-batches that divide what a
 * replica has of the batch, and that batch norms can do with. */
static int all_options(const struct hypar_graph *graph, const struct hypar_machine *machine,
                       struct hypar_search_options how, struct option *option)
{
    int n_devices = hypar_machine_device_count(machine), n = 0;
    how.unlimited = true;
    for (how.stages = 2; how.stages <= n_devices; how.stages++) {
        int64_t each = graph->batch / (n_devices / how.stages);
        int64_t most =
            hp_has_batch_norm(graph) ? graph->batch / HYPAR_LEAST_NORM_SAMPLES : each;
        for (how.micro_batches = 1; how.micro_batches <= each; how.micro_batches++) {
            struct hypar_found *found;
            if (n_devices % how.stages != 0 || each % how.micro_batches != 0 ||
                (how.micro_batches > 1 && how.micro_batches > most) ||
                hypar_search(&found, graph, machine, &how, NULL) != HYPAR_OK)
                continue;
            assert_true(n < MAX_OPTIONS);
            look(found, &option[n++]);
            hypar_found_free(found);
        }
    }
    return n;
}

/* Does what is found fit, and is it among the fastest that do? If it is refused, does none fit,
 * and is it told what the nearest needs? */
static bool check_limit(const struct hypar_graph *graph, const struct hypar_machine *machine,
                        const struct hypar_search_options *how, const struct option *option,
                        int n)
{
    struct hypar_found *found;
    struct hypar_error err;
    double best_s = INFINITY, limit = how->memory_bytes;
    for (int i = 0; i < n; i++)
        if (limit > 0 ? option[i].peak <= limit : option[i].fits)
            best_s = fmin(best_s, option[i].step_s);
    if (hypar_search(&found, graph, machine, how, &err) != HYPAR_OK) {
        if (best_s < INFINITY)
            fail_msg("one of %g s fits, but: %s", best_s, err.text);
        if (!strstr(err.text, "no plan found that fits; the nearest needs") &&
            !strstr(err.text, "state need"))
            fail_msg("refused without what is needed: %s", err.text);
        return false;
    }
    struct option got;
    look(found, &got);
    if (limit > 0 ? got.peak > limit : !got.fits)
        fail_msg("it needs %g bytes, limit %g", got.peak, limit);
    if (!(got.step_s <= 1.05 * best_s * (1 + 1e-9)))
        fail_msg("%g s, expected at most %g", got.step_s, 1.05 * best_s);
    hypar_found_free(found);
    return true;
}

static struct hypar_search_options random_options(struct random *random)
{
    static const char *const planners[] = { "gpipe", "1f1b", "zb-h1", "zb-h2" };
    return (struct hypar_search_options){
        .planner = planners[draw(random, 0, 3)],
        .precision = (enum hypar_precision)draw(random, 0, HYPAR_PRECISION_COUNT - 1),
        .optimizer = (enum hypar_optimizer)draw(random, 0, HYPAR_OPTIMIZER_COUNT - 1)
    };
}

static void what_is_offered_fits_and_what_fits_is_offered(void **state)
{
    int n_found = 0, n_refused = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct random random = { seed };
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct option option[MAX_OPTIONS];
        char word[64];
        snprintf(word, sizeof word, "full:%d", (int)draw(&random, 2, 6));
        struct hypar_machine *machine = machine_of(word);
        struct hypar_search_options how = random_options(&random);
        print_message("seed %d: %s on %s\n", (int)seed, how.planner, word);
        int n = all_options(graph, machine, how, option);
        for (int i = 0; i < n; i++) {
            how.memory_bytes = option[i].peak * (double)draw(&random, 80, 101) / 100;
            bool found = check_limit(graph, machine, &how, option, n);
            n_found += found;
            n_refused += !found;
        }
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
    print_message("%d found, %d refused\n", n_found, n_refused);
    assert_true(n_found > 100 && n_refused > 100);
}

/* No limit is asked for, and devices have different memories. */
static void every_device_counts(void **state)
{
    int n_found = 0, n_refused = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random random = { seed };
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_search_options how = random_options(&random);
        struct option option[MAX_OPTIONS];
        int n_each = (int)draw(&random, 1, 3);
        char word[96];
        snprintf(word, sizeof word, "cluster:2x%d", n_each);
        struct hypar_machine *machine = machine_of(word);
        int n = all_options(graph, machine, how, option);
        int64_t peak = n ? (int64_t)option[draw(&random, 0, n - 1)].peak : 1000;
        hypar_machine_free(machine);
        snprintf(word, sizeof word, "cluster:1x%d,memory=%dB+cluster:1x%d,memory=%dB", n_each,
                 (int)(peak * draw(&random, 50, 120) / 100), n_each,
                 (int)(peak * draw(&random, 50, 120) / 100));
        print_message("seed %d: %s on %s\n", (int)seed, how.planner, word);
        machine = machine_of(word);
        n = all_options(graph, machine, how, option);
        bool found = n && check_limit(graph, machine, &how, option, n);
        n_found += found;
        n_refused += n && !found;
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
    print_message("%d found, %d refused\n", n_found, n_refused);
    assert_true(n_found > 20 && n_refused > 20);
}

/* Where links are faster, or devices, a pipeline is no slower, however it is cut. */
static void faster_is_not_slower(void **state)
{
    static const char *const planners[] = { "gpipe", "1f1b", "zb-h1", "zb-h2" };
    static const char *const models[] = { "alexnet", "vgg-a", "gpt:layers=6" };
    static const char *const bandwidths[] = { "1", "5", "10", "25", "50", "100", "300" };
    static const char *const peaks[] = { "5", "10", "20", "40" };
    enum { N_LINKS = 7, N_ALL = 11 };
    (void)state;
    for (int p = 0; p < 4; p++)
        for (int m = 0; m < 3; m++) {
            if (!in_length(p + m, 6, 2))
                continue;
            struct hypar_graph *graph = graph_of(models[m]);
            double before_s = INFINITY;
            for (int i = 0; i < N_ALL; i++) {
                char word[96];
                snprintf(word, sizeof word, "full:8,%s=%s%s",
                         i < N_LINKS ? "bandwidth" : "fp32",
                         i < N_LINKS ? bandwidths[i] : peaks[i - N_LINKS],
                         i < N_LINKS ? "GB/s" : "TFLOP/s");
                struct hypar_machine *machine = machine_of(word);
                struct hypar_found *found = search(
                    graph, machine, (struct hypar_search_options){ .planner = planners[p] });
                double step_s = simulated_s(hypar_found_plan(found));
                print_message("%s %s %s: %g s\n", planners[p], models[m], word, step_s);
                before_s = i == N_LINKS ? INFINITY : before_s;
                assert_true(step_s <= before_s * 1.001);
                before_s = step_s;
                hypar_found_free(found);
                hypar_machine_free(machine);
            }
            hypar_graph_free(graph);
        }
}

/* Stages begin where layers that the model repeats do. */
static void stages_are_cut_at_layers(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of("gpt:layers=12");
    struct hypar_machine *machine = machine_of("full:4");
    for (int64_t stages = 2; stages <= 4; stages++) {
        struct hypar_found *found =
            search(graph, machine,
                   (struct hypar_search_options){ .planner = "1f1b", .stages = stages });
        const struct hypar_plan *plan = hypar_found_plan(found);
        for (int op = 1; op < hypar_graph_info(graph).n_ops; op++)
            if (plan->ops[op].stage != plan->ops[op - 1].stage) {
                print_message("%s\n", graph->ops[op].name);
                assert_non_null(strstr(graph->ops[op].name, ".ln_1"));
            }
        hypar_found_free(found);
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flushing_pipelines_lower),
        cmocka_unit_test(one_by_one_needs_less_memory),
        cmocka_unit_test(batch_norms_see_samples_enough),
        cmocka_unit_test(what_is_offered_fits_and_what_fits_is_offered),
        cmocka_unit_test(every_device_counts),
        cmocka_unit_test(faster_is_not_slower),
        cmocka_unit_test(stages_are_cut_at_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
