/* Memory over time agrees with the reported memory: for random plans, the zoo, and special
 * cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/search.h>

#include "sim/sim.h"
#include "tests/random_plan.h"

enum { PLANS = 600 };

/* One device's points, from `i` on: returns the first of the next. In order of time; from what
 * lasts and back to it, never below; as high as is reported, and not later than the step. */
static int64_t check_device(const struct hypar_sim *sim, int64_t i, double end_s,
                            const char *what)
{
    struct hypar_sim_memory_point p, first;
    double most = 0, last_s = 0, last = 0;
    assert_true(hypar_sim_memory_point(sim, i, &first));
    double peak = hypar_sim_device(sim, first.device).memory.peak;
    double lasting = sim->memory->fixed[first.device];
    assert_true(first.time_s == 0);
    for (; hypar_sim_memory_point(sim, i, &p) && p.device == first.device; i++) {
        if (p.bytes < lasting || p.time_s < last_s || p.time_s > end_s * (1 + 1e-9))
            fail_msg("%s: device %d at %g s: %.0f bytes, expected %.0f or more from %g s on",
                     what, p.device, p.time_s, p.bytes, lasting, last_s);
        most = p.bytes > most ? p.bytes : most;
        last_s = p.time_s;
        last = p.bytes;
    }
    if (most != peak)
        fail_msg("%s: device %d: at most %.0f bytes, reported %.0f", what, first.device, most,
                 peak);
    if (last != lasting)
        fail_msg("%s: device %d: ends with %.0f bytes, expected %.0f", what, first.device, last,
                 lasting);
    return i;
}

static void check_points(const struct hypar_sim *sim, const char *what)
{
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    struct hypar_sim_pipeline pipeline = hypar_sim_pipeline(sim);
    struct hypar_sim_memory_point p;
    double end_s = pipeline.minibatches ? pipeline.window_s : s.step_s;
    int n = 0, expected = 0;
    for (int64_t i = 0; hypar_sim_memory_point(sim, i, &p); n++)
        i = check_device(sim, i, end_s, what);
    for (int d = 0; d < s.n_devices; d++)
        expected += hypar_sim_device(sim, d).memory.peak > 0;
    assert_int_equal(n, expected);
}

static bool check_plan(const struct hypar_plan *plan, const struct hypar_sim_options *how,
                       const char *what)
{
    struct hypar_sim_options options = *how;
    struct hypar_sim *sim;
    options.timeline = true;
    if (hypar_simulate(&sim, plan, &options, NULL) != HYPAR_OK)
        return false;
    check_points(sim, what);
    hypar_sim_free(sim);
    return true;
}

/* Stages under every schedule, micro-batches, buckets, messages one by one. */
static void at_random(void **state)
{
    static const char *const words[] = { "full:5", "cluster:2x3", "ring:4", "htree:8" };
    (void)state;
    int simulated = 0, delayed = 0;
    for (uint64_t seed = 1; seed <= PLANS; seed++) {
        struct random random = { seed * 0x9e3779b97f4a7c15 };
        struct plan_focus focus = { -1, -1, -1, seed % 3 == 0 };
        struct hypar_sim_options how = { .lower = { .bucket_bytes = seed % 5 ? 0 : 200 },
                                         .expand_collectives = seed % 7 == 0,
                                         .no_overlap = seed % 7 == 1 };
        struct hypar_machine *machine;
        char what[32];
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        assert_int_equal(hypar_machine_read(&machine, words[seed % 4], NULL), HYPAR_OK);
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_plan *plan = random_plan(&random, graph, machine, &focus);
        plan->simulation.framework.kernels =
            seed % 2 ? HYPAR_KERNELS_EAGER : HYPAR_KERNELS_COMPILED;
        bool ok = check_plan(plan, &how, what);
        simulated += ok;
        delayed += ok && plan->schedule.kind == HYPAR_SCHEDULE_PIPEDREAM;
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
    print_message("  %d plans, %d of them pipedream's\n", simulated, delayed);
    assert_true(simulated > PLANS / 2 && delayed > PLANS / 20);
}

/* Networks with branches, whose tasks the simulator serves in another order than theirs. */
static void networks(void **state)
{
    static const struct {
        const char *model, *machine, *planner;
    } cases[] = {
        { "inception-v3", "full:4", "mp" },  { "resnet18", "torus:4x4", "dp" },
        { "densenet121", "full:4", "owt" },  { "gpt2", "cluster:2x2", "hypar" },
        { "vgg16", "full:4", "pipedream" },  { "bert-base", "full:4", "gpipe" },
        { "resnet50", "htree:8", "accpar" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_search_options how = { .planner = cases[i].planner,
                                            .memory_bytes = 1e300 };
        struct hypar_sim_options plain = { 0 };
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_found *found;
        struct hypar_error err;
        assert_int_equal(hypar_import(&graph, cases[i].model, NULL, NULL), HYPAR_OK);
        assert_int_equal(hypar_machine_read(&machine, cases[i].machine, NULL), HYPAR_OK);
        if (hypar_search(&found, graph, machine, &how, &err) != HYPAR_OK)
            fail_msg("%s: %s", cases[i].model, err.text);
        assert_true(check_plan(hypar_found_plan(found), &plain, cases[i].model));
        hypar_found_free(found);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_random),
        cmocka_unit_test(networks),
    };
    return cmocka_run_group_tests_name("sim: memory over time", tests, NULL, NULL);
}
