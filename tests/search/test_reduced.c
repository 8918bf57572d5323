/* The step of a plan simulated in part, against the whole simulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "search/evaluate/reduced.h"
#include "tests/random_plan.h"
#include "tests/simulated.h"

struct setting {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
};

static struct setting open_setting(const char *model, int64_t batch, const char *machine,
                                   const struct hypar_layout *layout)
{
    struct hypar_import_options options = { .batch = batch };
    struct hypar_plan_settings settings = { .precision = HYPAR_BF16, .optimizer = HYPAR_ADAM };
    struct setting s;
    struct hypar_error err;
    if (hypar_import(&s.graph, model, &options, &err) ||
        hypar_machine_read(&s.machine, machine, &err))
        fail_msg("%s on %s: %s", model, machine, err.text);
    s.plan = hp_plan_new(s.graph, s.machine, &settings);
    if (hp_plan_set_layout(s.plan, layout, &err) || hypar_plan_check(s.plan, &err))
        fail_msg("%s on %s: %s", model, machine, err.text);
    return s;
}

static void close_setting(struct setting *s)
{
    hypar_plan_free(s->plan);
    hypar_graph_free(s->graph);
    hypar_machine_free(s->machine);
}

#define A8 "cluster:4x8,device=a100,nics=8"
#define A1 "cluster:4x8,device=a100,nics=1"

#define LAYOUT(d, t, p, c, micro, kind, sequence, again, divided)                   \
    {                                                                               \
        .data = d, .tensor = t, .pipeline = p, .chunks = c, .micro_batches = micro, \
        .schedule = HYPAR_SCHEDULE_##kind, .sequence_parallel = sequence,           \
        .recompute = HYPAR_RECOMPUTE_##again, .shard = HYPAR_SHARD_##divided        \
    }

static const struct {
    const char *model;
    int64_t batch;
    const char *machine;
    struct hypar_layout layout; /* data, tensor, pipeline, chunks, micro-batches, ... */
    int devices;                /* that are enough */
    double most;                /* error, as a part of the step; 0: 1 % */
} cases[] = {
    { "gpt2", 128, A8, LAYOUT(32, 1, 1, 1, 4, NONE, false, NONE, NONE), 1, 0 },
    { "gpt2", 128, A1, LAYOUT(32, 1, 1, 1, 4, NONE, false, NONE, NONE), 1, 0 },
    { "gpt2", 128, A8, LAYOUT(4, 2, 4, 1, 32, 1F1B, false, NONE, NONE), 8, 0 },
    { "gpt2", 128, A1, LAYOUT(4, 2, 4, 1, 32, 1F1B, false, NONE, NONE), 32, 0 },
    { "gpt2", 128, A1, LAYOUT(8, 1, 4, 1, 16, 1F1B, false, NONE, NONE), 32, 0 },
    { "gpt2", 128, A1, LAYOUT(8, 1, 4, 1, 16, GPIPE, false, NONE, NONE), 32, 0 },
    { "gpt2", 128, A1, LAYOUT(2, 4, 4, 1, 32, ZB_H1, false, NONE, NONE), 20, 0 },
    { "gpt2", 128, A1, LAYOUT(2, 4, 4, 1, 32, ZB_H2, false, NONE, NONE), 20, 0 },
    { "gpt2", 128, A1, LAYOUT(2, 4, 4, 3, 32, INTERLEAVED, false, NONE, NONE), 20, 0 },
    { "gpt2", 128, A8, LAYOUT(4, 2, 4, 1, 32, 1F1B, false, NONE, OPTIMIZER), 32, 0 },
    { "gpt2", 128, A1, LAYOUT(4, 2, 4, 1, 32, 1F1B, false, NONE, GRADIENTS), 32, 0 },
    { "gpt2", 128, A1, LAYOUT(4, 2, 4, 1, 32, 1F1B, false, NONE, PARAMETERS), 32, 0 },
    { "gpt2", 128, A8, LAYOUT(32, 1, 1, 1, 4, NONE, false, NONE, PARAMETERS), 1, 0 },
    { "gpt2", 120, A1, LAYOUT(4, 2, 4, 1, 22, 1F1B, false, FULL, NONE), 32, 0 },
    { "gpt2", 128, A1, LAYOUT(4, 2, 4, 1, 32, 1F1B, true, NONE, NONE), 32, 0 },
    { "bert-large", 256, A1, LAYOUT(4, 2, 4, 1, 32, 1F1B, false, SELECTIVE, NONE), 32, 0 },
    { "bert-large", 256, A1, LAYOUT(4, 4, 2, 1, 32, 1F1B, true, SELECTIVE, OPTIMIZER), 14, 0 },
    { "bert-large", 256, A8, LAYOUT(4, 1, 8, 1, 64, 1F1B, false, NONE, NONE), 8, 0 },
    { "bert-large", 250, A8, LAYOUT(4, 1, 8, 1, 60, 1F1B, false, NONE, NONE), 16, 0 },
    { "bert-large", 256, A8, LAYOUT(4, 1, 8, 3, 64, INTERLEAVED, false, NONE, NONE), 8, 0 },
    { "llama2-7b", 256, A8, LAYOUT(4, 8, 1, 1, 16, NONE, true, FULL, OPTIMIZER), 1, 0 },
    { "llama2-7b", 256, A1, LAYOUT(4, 8, 1, 1, 16, NONE, true, FULL, OPTIMIZER), 8, 0 },
    { "llama2-7b", 256, A1, LAYOUT(4, 4, 2, 1, 64, 1F1B, true, FULL, PARAMETERS), 16, 0.03 },
    { "llama2-7b", 256, A1, LAYOUT(1, 8, 4, 1, 256, ZB_H1, false, NONE, NONE), 8, 0 },
    { "llama2-7b", 256, A8, LAYOUT(2, 4, 4, 2, 64, INTERLEAVED, true, NONE, NONE), 4, 0 },
    { "resnet50", 1024, A1, LAYOUT(32, 1, 1, 1, 1, NONE, false, NONE, NONE), 1, 0 },
    { "resnet50", 1024, A1, LAYOUT(32, 1, 1, 1, 8, NONE, false, NONE, NONE), 1, 0 },
    { "resnet50", 1024, A8, LAYOUT(8, 1, 4, 1, 16, 1F1B, false, NONE, NONE), 4, 0 },
    { "vgg16", 512, A1, LAYOUT(32, 1, 1, 1, 4, NONE, false, NONE, NONE), 1, 0 },
    { "vgg16", 512, A8, LAYOUT(8, 1, 4, 1, 16, GPIPE, false, NONE, OPTIMIZER), 4, 0 },
    { "vgg16", 512, "torus:4x8,device=v100", LAYOUT(8, 1, 4, 1, 16, 1F1B, false, NONE, NONE), 4,
      0 },
    { "vgg16", 512, "cluster:1x8,memory=32GB+cluster:1x8",
      LAYOUT(16, 1, 1, 1, 1, NONE, false, NONE, NONE), 2, 0 }, /* the last have less memory */
    { "vgg16", 512, "htree:32", LAYOUT(8, 1, 4, 1, 16, 1F1B, false, NONE, NONE), 32, 0 },
};

/* What is told of a plan, beside all of it simulated. */
static struct reduced_step reduced_of(const char *name, const struct hypar_plan *plan,
                                      const struct hypar_sim_summary *whole)
{
    struct hypar_search_options options = { .planner = NULL };
    struct problem problem = { .graph = plan->graph,
                               .machine = plan->machine,
                               .options = &options };
    struct hypar_error err;
    struct reduced_step step;
    if (hp_simulate_reduced(&problem, plan, NULL, &step, &err))
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(step.memory.device, whole->fullest_device);
    expect_near("memory", step.fullest.peak, whole->peak_memory_bytes, 0);
    expect_near("sent", step.totals.comm_bytes, whole->comm_bytes, 0);
    expect_near("on links", step.totals.link_bytes, whole->link_bytes, 0);
    expect_near("energy", hypar_energy_total_j(&step.totals.energy),
                hypar_energy_total_j(&whole->energy),
                5e-3); /* what devices take by running is that of those that were simulated */
    assert_int_equal(step.all_instances, whole->tasks);
    assert_in_range(step.devices, 1, step.all_devices);
    return step;
}

/* Told to stop, it fails: nothing is told of a part. */
static void stops(void **state)
{
    (void)state;
    static volatile sig_atomic_t stop = 1;
    struct hypar_search_options options = { .planner = NULL };
    struct setting s =
        open_setting(cases[0].model, cases[0].batch, cases[0].machine, &cases[0].layout);
    struct problem problem = { .graph = s.plan->graph,
                               .machine = s.plan->machine,
                               .options = &options };
    struct hypar_error err;
    struct reduced_step step;
    assert_int_equal(hp_simulate_reduced(&problem, s.plan, &stop, &step, &err),
                     HYPAR_INFEASIBLE);
    assert_string_equal(err.text, "interrupted");
    close_setting(&s);
}

static void is_near_the_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct hypar_layout *l = &cases[i].layout;
        char name[160];
        snprintf(name, sizeof name, "%s on %s: %d x %d x %d, %s, shard %s, recompute %s",
                 cases[i].model, cases[i].machine, l->data, l->tensor, l->pipeline,
                 hypar_schedule_text(l->schedule), hypar_shard_text(l->shard),
                 hypar_recompute_text(l->recompute));
        struct setting s = open_setting(cases[i].model, cases[i].batch, cases[i].machine, l);
        struct hypar_sim_summary whole = summary_of(s.plan, NULL);
        struct reduced_step step = reduced_of(name, s.plan, &whole);
        printf("%+7.3f %% (%.3f %%) %3d of %d devices: %s\n",
               100 * (step.step_s / whole.step_s - 1), 100 * step.error_s / step.step_s,
               step.devices, step.all_devices, name);
        expect_near(name, step.step_s, whole.step_s, cases[i].most ? cases[i].most : 0.01);
        assert_true(step.devices <= cases[i].devices);
        double about = hp_plan_instances(s.plan);
        assert_true(about < 2 * (double)whole.tasks && about > 0.5 * (double)whole.tasks);
        close_setting(&s);
    }
}

/* Parts of any size anywhere: what does the same is found among them, too. */
static void random_plans(void **state)
{
    (void)state;
    enum { N = 300 };
    const struct plan_focus none = { -1, -1, -1, false };
    double worst = 0;
    int n = 0, fewer = 0;
    for (int seed = 0; seed < N; seed++) {
        struct random random = { (uint64_t)(seed + 1) * 0x9e3779b97f4a7c15 };
        struct hypar_machine *machine;
        struct hypar_error err;
        assert_int_equal(hypar_machine_read(&machine, "cluster:2x4,device=a100", &err), 0);
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_plan *plan = random_plan(&random, graph, machine, &none);
        struct hypar_sim *sim;
        char name[32];
        if (hypar_simulate(&sim, plan, NULL, &err))
            goto next;
        struct hypar_sim_summary whole = hypar_sim_summary(sim);
        hypar_sim_free(sim);
        snprintf(name, sizeof name, "seed %d", seed);
        struct reduced_step step = reduced_of(name, plan, &whole);
        double error = whole.step_s > 0 ? fabs(step.step_s / whole.step_s - 1) : 0;
        worst = fmax(worst, error);
        fewer += step.devices < step.all_devices;
        n++;
    next:
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
    print_message("  %d plans, %d of fewer devices, %.3f %% off at most\n", n, fewer,
                  100 * worst);
    assert_true(n > N / 2 && worst < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_near_the_whole),
        cmocka_unit_test(stops),
        cmocka_unit_test(random_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
