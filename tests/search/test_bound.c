/* No simulated step is shorter than the bound. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "search/bound.h"
#include "sim/timing.h"
#include "tests/length.h"
#include "tests/random_plan.h"
#include "tests/simulated.h"

static struct hypar_bound bound_of(const struct hypar_plan *plan,
                                   const struct hypar_sim_options *how)
{
    struct hypar_search_options options = { .simulation = how };
    struct problem problem = { .graph = plan->graph,
                               .machine = plan->machine,
                               .options = &options,
                               .settings = { .simulation = hp_simulation_of(how),
                                             .precision = plan->precision,
                                             .optimizer = plan->optimizer,
                                             .fp32_gradients = plan->fp32_gradients } };
    return hp_step_bound(&problem);
}

/* In some of them all that takes long is computing, on few devices. */
#define SLOW "fp32=10MFLOP/s,tf32=10MFLOP/s,memory-bandwidth=20MB/s,latency=0"
static const char *const machines[] = {
    "full:4",
    "cluster:2x3,device=a100",
    "cluster:1x2,device=h100+cluster:1x2,device=a100",
    "full:1," SLOW,
    "full:2,bandwidth=1TB/s," SLOW,
    "cluster:1x1,device=a100," SLOW,
    "cluster:1x2,device=h100,comm-latency=0," SLOW,
    "cluster:1x1,device=h100+cluster:1x1,device=v100," SLOW,
};

/* Any plan of any graph; HYPAR_BOUND_PLANS: so many, HYPAR_BOUND_SEED: from this one on. */
static void random_plans(void **state)
{
    (void)state;
    enum { N = 1500, N_MACHINES = sizeof machines / sizeof *machines };
    uint64_t first = (uint64_t)length_of("HYPAR_BOUND_SEED", 1, 1, 1);
    uint64_t last = first + (uint64_t)length_of("HYPAR_BOUND_PLANS", N, N, N);
    double nearest = 0;
    int n = 0;
    for (uint64_t seed = first; seed < last; seed++) {
        struct random random = { seed * 0x9e3779b97f4a7c15 };
        struct hypar_machine *machine;
        struct hypar_error err;
        struct hypar_sim *sim;
        const struct plan_focus none = { -1, -1, -1, false };
        if (hypar_machine_read(&machine, machines[seed % N_MACHINES], &err))
            fail_msg("%s", err.text);
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_plan *plan = random_plan(&random, graph, machine, &none);
        struct hypar_sim_options how = {
            .framework.kernels = (enum hypar_kernel_mode)(seed % HYPAR_KERNELS_COUNT),
            .lower = { .local_bn = seed % 5 == 0 },
        };
        if (plan->schedule.kind != HYPAR_SCHEDULE_PIPEDREAM &&
            hypar_simulate(&sim, plan, &how, &err) == HYPAR_OK) {
            double step_s = hypar_sim_summary(sim).step_s;
            struct hypar_bound bound = bound_of(plan, &how);
            if (bound.step_s > step_s)
                fail_msg("seed %llu: a step of %.12g s, and a bound of %.12g s (%s)",
                         (unsigned long long)seed, step_s, bound.step_s, bound.by);
            nearest = step_s > 0 ? fmax(nearest, bound.step_s / step_s) : nearest;
            n += bound.step_s > 0;
            hypar_sim_free(sim);
        }
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
    print_message("  %d plans; the nearest is %.1f %% of its step\n", n, 100 * nearest);
    assert_true((uint64_t)n > (last - first) / 2);
}

static const struct {
    const char *model;
    int64_t batch;
    const char *machine;
} searched[] = {
    { "lenet5", 64, "cluster:1x1,device=a100" },
    { "lenet5", 64, "cluster:2x4,device=h100" },
    { "alexnet", 128, "cluster:1x4" },
    { "alexnet", 256, "cluster:2x4,device=a100" },
    { "vgg16", 64, "htree:8" },
    { "resnet50", 128, "cluster:2x4,device=v100" },
    { "gpt2", 16, "cluster:1x8,device=h100" },
    { "gnmt8", 32, "torus:2x4,device=a100" },

};

/* What planners find. */
static void every_planner(void **state)
{
    (void)state;
    double nearest = 0;
    for (size_t i = 0; i < sizeof searched / sizeof *searched; i++) {
        struct hypar_import_options import = { .batch = searched[i].batch };
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_error err;
        if (hypar_import(&graph, searched[i].model, &import, &err) ||
            hypar_machine_read(&machine, searched[i].machine, &err))
            fail_msg("%s", err.text);
        for (int p = 0; hypar_planner(p); p++) {
            struct hypar_sim_options how = { .framework.kernels = HYPAR_KERNELS_COMPILED };
            struct hypar_search_options options = { .planner = hypar_planner(p)->name,
                                                    .precision =
                                                        p % 2 ? HYPAR_BF16 : HYPAR_FP32,
                                                    .optimizer = HYPAR_ADAM,
                                                    .proposals = 20,
                                                    .simulation = &how };
            struct hypar_found *found;
            if (hypar_planner(p)->tries_others || hypar_planner(p)->small_only ||
                hypar_search(&found, graph, machine, &options, &err))
                continue;
            const struct hypar_simulated *s = hypar_found_simulated(found);
            struct hypar_bound bound = hypar_found_info(found).bound;
            bool delayed =
                hypar_plan_schedule(hypar_found_plan(found)).kind == HYPAR_SCHEDULE_PIPEDREAM;
            assert_true(delayed ? bound.step_s == 0 : bound.step_s > 0);
            nearest = s ? fmax(nearest, bound.step_s / s->step.step_s) : nearest;
            if (s && bound.step_s > s->step.step_s)
                fail_msg("%s on %s, planner %s: a step of %.12g s, a bound of %.12g s (%s)",
                         searched[i].model, searched[i].machine, options.planner,
                         s->step.step_s, bound.step_s, bound.by);
            hypar_found_free(found);
        }
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
    print_message("  the nearest is %.1f %% of its step\n", 100 * nearest);
    assert_true(nearest > 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans),
        cmocka_unit_test(every_planner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
