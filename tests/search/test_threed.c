/* Planner 3d: the layout that the options ask for, or the best of all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/search.h>

#include "plan/plan.h"
#include "program/memory/memory.h"

struct setting {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
};

static struct setting open_setting(const char *model, int64_t batch, const char *machine)
{
    struct hypar_import_options options = { .batch = batch };
    struct setting s;
    struct hypar_error err;
    if (hypar_import(&s.graph, model, &options, &err) ||
        hypar_machine_read(&s.machine, machine, &err))
        fail_msg("%s", err.text);
    return s;
}

static void close_setting(struct setting *s)
{
    hypar_graph_free(s->graph);
    hypar_machine_free(s->machine);
}

static char *text_of(const struct hypar_plan *plan)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    hypar_plan_write(plan, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

#define LLAMA "llama:layers=4,hidden=64,heads=8,ffn=96,seq=16,vocab=100"

/* All degrees given: that plan, whether it is good or not. */
static void builds_what_is_asked(void **state)
{
    (void)state;
    struct setting s = open_setting(LLAMA, 16, "cluster:2x8");
    struct hypar_layout layout = { .data = 2,
                                   .tensor = 2,
                                   .pipeline = 4,
                                   .micro_batches = 2,
                                   .schedule = HYPAR_SCHEDULE_GPIPE,
                                   .sequence_parallel = true };
    struct hypar_search_options options = { .planner = "3d", .layout = layout };
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_search(&found, s.graph, s.machine, &options, &err))
        fail_msg("%s", err.text);
    struct hypar_plan *plan =
        hp_plan_new(s.graph, s.machine, &(struct hypar_plan_settings){ 0 });
    assert_int_equal(hp_plan_set_layout(plan, &layout, &err), HYPAR_OK);
    hp_plan_set_search(plan, hypar_plan_search(hypar_found_plan(found))); /* who found it */
    char *expected = text_of(plan), *got = text_of(hypar_found_plan(found));
    assert_string_equal(got, expected);
    free(expected);
    free(got);
    hypar_plan_free(plan);
    hypar_found_free(found);
    close_setting(&s);
}

static const struct {
    const char *model, *machine;
    struct hypar_layout layout;
    const char *error;
} bad[] = {
    { LLAMA,
      "full:8",
      { .data = 3, .tensor = 2, .pipeline = 1 },
      "3d: layout: data 3 x tensor 2 x pipeline 1, expected 8, the devices of the machine" },
    { LLAMA,
      "full:8",
      { .tensor = 3 },
      "3d: --tensor 3: expected degrees whose product divides the 8 devices of the machine" },
    { LLAMA,
      "full:16",
      { .data = 1, .tensor = 16, .pipeline = 1 },
      "3d: layout: tensor 16: op 'layers.0.attn' has 8 heads, expected at least as many" },
    { LLAMA,
      "full:8",
      { .pipeline = 8 },
      "3d: layout: pipeline 8: the model has 4 layers, expected at least as many" },
    { LLAMA,
      "full:8",
      { .data = 8, .tensor = 1, .pipeline = 1, .micro_batches = 3 },
      "3d: layout: 3 micro-batches x data 8, expected at most 16, the samples of the batch" },
    { LLAMA,
      "full:4,memory=100kB",
      { .micro_batches = 1 },
      "3d: weights, gradients and sgd state need 305 kB on device 0, which has 100 kB" },
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct setting s = open_setting(bad[i].model, 16, bad[i].machine);
        struct hypar_search_options options = { .planner = "3d", .layout = bad[i].layout };
        struct hypar_found *found;
        struct hypar_error err = { 0 };
        assert_int_equal(hypar_search(&found, s.graph, s.machine, &options, &err),
                         HYPAR_INFEASIBLE);
        assert_string_equal(err.text, bad[i].error);
        close_setting(&s);
    }
}

static double simulated_s(const struct setting *s, struct hypar_layout layout,
                          struct hypar_layout *chosen)
{
    struct hypar_sim_options simulation = { 0 };
    struct hypar_search_options options = { .planner = "3d",
                                            .layout = layout,
                                            .simulation = &simulation };
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_search(&found, s->graph, s->machine, &options, &err))
        return INFINITY;
    double step_s = INFINITY;
    if (hypar_found_simulated(found)->step.fits)
        step_s = hypar_found_simulated(found)->step.step_s;
    *chosen = *hypar_plan_layout(hypar_found_plan(found));
    hypar_found_free(found);
    return step_s;
}

/* What it chooses is near to the best of all factorisations, each simulated. */
static void chooses_well(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        int devices;
    } cases[] = {
        { "gpt2:layers=6", "cluster:2x4", 8 },
        { "gpt2:layers=6", "cluster:2x4,inter=1GB/s", 8 },
        { "bert-base", "cluster:2x4,memory=2GB", 8 },
        { "vgg16", "cluster:2x2", 4 },
        { "mlp:4096-4096-4096-4096-4096-4096-4096-4096-4096", "cluster:2x4", 8 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct setting s = open_setting(cases[i].model, 32, cases[i].machine);
        struct hypar_layout chosen, of, best = { 0 };
        double best_s = INFINITY,
               chosen_s = simulated_s(&s, (struct hypar_layout){ 0 }, &chosen);
        for (int t = 1; t <= cases[i].devices; t *= 2)
            for (int p = 1; p * t <= cases[i].devices; p *= 2) {
                struct hypar_layout layout = { .data = cases[i].devices / t / p,
                                               .tensor = t,
                                               .pipeline = p };
                double step_s = simulated_s(&s, layout, &of);
                if (step_s < best_s) {
                    best_s = step_s;
                    best = of;
                }
            }
        if (!(chosen_s <= 1.1 * best_s))
            fail_msg("%s on %s: %d x %d x %d takes %g s, %d x %d x %d %g s", cases[i].model,
                     cases[i].machine, chosen.data, chosen.tensor, chosen.pipeline, chosen_s,
                     best.data, best.tensor, best.pipeline, best_s);
        close_setting(&s);
    }
}

/* Stages are cut by what their kernels take, those that are run again as well: the busiest of
 * four devices, against the mean. */
static void stages_are_even(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        enum hypar_recompute recompute;
        double most;
    } row[] = {
        { "vgg16", "cluster:1x4,device=h100", HYPAR_RECOMPUTE_NONE, 1.15 },
        { "resnet50", "cluster:1x4,device=h100", HYPAR_RECOMPUTE_NONE, 1.15 },
        { "resnet50", "cluster:1x4,device=h100", HYPAR_RECOMPUTE_FULL, 1.15 },
        { "resnet50", "cluster:1x4,device=v100", HYPAR_RECOMPUTE_NONE, 1.15 },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct setting s = open_setting(row[i].model, 64, row[i].machine);
        struct hypar_layout layout = { .pipeline = 4,
                                       .micro_batches = 8,
                                       .schedule = HYPAR_SCHEDULE_GPIPE,
                                       .recompute = row[i].recompute };
        struct hypar_plan *plan = hp_plan_new(
            s.graph, s.machine, &(struct hypar_plan_settings){ .precision = HYPAR_BF16 });
        struct hypar_sim *sim;
        struct hypar_error err;
        if (hp_plan_set_layout(plan, &layout, &err) || hypar_simulate(&sim, plan, NULL, &err))
            fail_msg("%s", err.text);
        double most = 0, sum = 0;
        for (int d = 0; d < 4; d++) {
            most = fmax(most, hypar_sim_device(sim, d).busy_s);
            sum += hypar_sim_device(sim, d).busy_s;
        }
        if (!(most <= row[i].most * sum / 4))
            fail_msg("%s on %s: the busiest has %.3f of the mean", row[i].model, row[i].machine,
                     4 * most / sum);
        hypar_sim_free(sim);
        hypar_plan_free(plan);
        close_setting(&s);
    }
}

/* Bytes and energy in closed form count what replicas divide, and what is computed again, as
 * the simulator does. */
static void counts_sharding_and_recomputation(void **state)
{
    (void)state;
    struct setting s = open_setting(
        "llama:layers=4,hidden=1024,heads=8,ffn=2048,seq=512,vocab=1000", 64, "torus:2x4");
    struct hypar_sim_options plainly = { 0 };
    for (int shard = 0; shard < HYPAR_SHARD_COUNT; shard++)
        for (int again = 0; again < HYPAR_RECOMPUTE_COUNT; again++) {
            struct hypar_layout layout = { .data = 8,
                                           .tensor = 1,
                                           .pipeline = 1,
                                           .micro_batches = 4,
                                           .shard = (enum hypar_shard)shard,
                                           .recompute = (enum hypar_recompute)again };
            struct hypar_search_options options = { .planner = "3d",
                                                    .layout = layout,
                                                    .simulation = &plainly };
            struct hypar_found *found;
            struct hypar_error err;
            if (hypar_search(&found, s.graph, s.machine, &options, &err))
                fail_msg("%s", err.text);
            const struct hypar_sim_summary *step = &hypar_found_simulated(found)->step;
            struct hypar_prediction closed = hypar_found_prediction(found);
            double bytes = closed.comm_bytes / step->comm_bytes;
            double energy = closed.energy_j / hypar_energy_total_j(&step->energy);
            if (fabs(bytes - 1) > 0.02 || fabs(energy - 1) > 0.1)
                fail_msg("shard %d, recompute %d: %.3f of the bytes, %.3f of the energy", shard,
                         again, bytes, energy);
            hypar_found_free(found);
        }
    close_setting(&s);
}

/* The memory that the fullest device needs under a layout; INFINITY: there is no such plan. */
static double need_of(const struct setting *s, const struct hypar_layout *layout)
{
    struct hypar_plan *plan =
        hp_plan_new(s->graph, s->machine, &(struct hypar_plan_settings){ 0 });
    struct hypar_program *program = NULL;
    double need = INFINITY;
    if (hp_plan_set_layout(plan, layout, NULL) == HYPAR_OK &&
        hypar_plan_check(plan, NULL) == HYPAR_OK &&
        hypar_lower(&program, plan, NULL, NULL) == HYPAR_OK) {
        struct memory_model *memory = hp_memory(program, NULL);
        need = 0;
        for (int d = 0; d < hypar_machine_device_count(s->machine); d++)
            need = fmax(need, memory->device[d].peak);
        hp_memory_free(memory);
    }
    hypar_program_free(program);
    hypar_plan_free(plan);
    return need;
}

/* Of all layouts with these degrees, the least need. */
static double least_of_degrees(const struct setting *s, int data, int tensor, int pipeline,
                               int64_t batch)
{
    double least = INFINITY;
    for (int64_t micro = 1; micro <= batch / data; micro *= 2)
        for (int other = 0; other < 2 * HYPAR_RECOMPUTE_COUNT * HYPAR_SHARD_COUNT; other++) {
            struct hypar_layout layout = {
                .data = data,
                .tensor = tensor,
                .pipeline = pipeline,
                .chunks = 1,
                .micro_batches = micro,
                .sequence_parallel = other % 2,
                .recompute = (enum hypar_recompute)(other / 2 % HYPAR_RECOMPUTE_COUNT),
                .shard = (enum hypar_shard)(other / 2 / HYPAR_RECOMPUTE_COUNT),
                .schedule = pipeline > 1 ? HYPAR_SCHEDULE_1F1B : HYPAR_SCHEDULE_GPIPE,
            };
            least = fmin(least, need_of(s, &layout));
        }
    return least;
}

/* A limit that one layout of all meets: a plan is found, by 3d and so by auto. */
static void finds_whatever_fits(void **state)
{
    (void)state;
    enum { DEVICES = 4, BATCH = 8 };
    static const struct {
        const char *planner, *model, *machine;
    } cases[] = {
        { "3d", "resnet18", "cluster:1x4" },
        { "3d", LLAMA, "cluster:1x4" },
        { "3d", "lenet-c", "cluster:1x4" },
        { "3d", "resnet18", "cluster:1x2,device=a100+cluster:1x2,device=v100" },
        { "3d", LLAMA, "cluster:1x3,device=h100-pcie+cluster:1x1,device=l40s" },
        { "auto", LLAMA, "cluster:1x2,device=l40s+cluster:1x2,device=h100" },
        { "auto", "lenet-c", "cluster:2x1,device=v100+cluster:1x2,device=t4" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct setting s = open_setting(cases[i].model, BATCH, cases[i].machine);
        struct hypar_search_options options = { .planner = cases[i].planner };
        struct hypar_found *found;
        struct hypar_error err;
        double least = INFINITY;
        for (int tensor = 1; tensor <= DEVICES; tensor *= 2)
            for (int pipeline = 1; pipeline <= DEVICES / tensor; pipeline *= 2)
                least = fmin(least, least_of_degrees(&s, DEVICES / tensor / pipeline, tensor,
                                                     pipeline, BATCH));
        options.memory_bytes = least;
        if (hypar_search(&found, s.graph, s.machine, &options, &err))
            fail_msg("%s on %s, %.0f bytes: %s", cases[i].model, cases[i].machine, least,
                     err.text);
        hypar_found_free(found);
        close_setting(&s);
    }
}

/* Attention is divided by its heads also where queries and keys have a norm over each head: the
 * gradient of the norm's weight, which all heads share, is summed over the tensor group. */
static void divides_heads_that_have_norms(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        char axis;
    } divided[] = { { "q", 'k' },      { "k", 'k' },         { "v", 'k' },  { "q_norm", 'u' },
                    { "k_norm", 'u' }, { "attention", 'a' }, { "out", 'c' } };
    struct setting s = open_setting("tests/data/head-norms.json", 4, "full:2");
    struct hypar_plan *plan =
        hp_plan_new(s.graph, s.machine, &(struct hypar_plan_settings){ 0 });
    struct hypar_error err;
    if (hp_plan_set_layout(plan, &(struct hypar_layout){ .tensor = 2 }, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof divided / sizeof divided[0]; i++) {
        int op = 0;
        while (strcmp(s.graph->ops[op].name, divided[i].op) != 0)
            op++;
        int axis = hp_nest_axis(s.graph->ops[op].nest, divided[i].axis);
        assert_int_equal(hp_degree(&plan->ops[op].split, axis), 2);
    }
    hypar_plan_free(plan);
    close_setting(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_what_is_asked),
        cmocka_unit_test(refuses),
        cmocka_unit_test(chooses_well),
        cmocka_unit_test(stages_are_even),
        cmocka_unit_test(counts_sharding_and_recomputation),
        cmocka_unit_test(finds_whatever_fits),
        cmocka_unit_test(divides_heads_that_have_norms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
