/* The estimate of a plan with stages (search/estimate) against the simulated step, and bounds
 * of memory against the count: all schedules, sharding and recomputation, layouts and random
 * cuts, on random machines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/sim.h>

#include "base/random.h"
#include "graph/graph.h"
#include "plan/memory_terms.h"
#include "plan/schedules.h"
#include "search/estimate/estimate.h"
#include "search/estimate/needs.h"
#include "tests/length.h"
#include "tests/random_plan.h"
#include "tests/search/pipelines.h"

struct drawn {
    struct random random;
    char model[160], machine[80], what[400];
    struct hypar_graph *graph;
    struct hypar_machine *on;
    struct hypar_plan *plan;
    enum hypar_schedule_kind kind;
    enum hypar_shard shard;
    enum hypar_recompute recompute;
    int groups, replicas, tensor, chunks;
    int64_t n_micro;
    const struct hypar_framework *framework;
    enum hypar_masks masks;
};

#define ONE_OF(d, list) \
    (list)[draw(&(d)->random, 0, (int64_t)(sizeof(list) / sizeof *(list)) - 1)]

/* Transformers and convolutions, whose stages may be cut anywhere. */
static int64_t draw_model(struct drawn *d, bool layout)
{
    static const char *const cnn[] = { "vgg11", "vgg16", "resnet18", "alexnet" };
    if (!layout && draw(&d->random, 0, 2) > 0) {
        snprintf(d->model, sizeof d->model, "%s", ONE_OF(d, cnn));
        return 32 * draw(&d->random, 1, 4);
    }
    int layers = (int)draw(&d->random, 8, 12), stages = d->groups * d->chunks;
    layers -= d->chunks > 1 ? layers % stages : 0; /* stages of one layer at least */
    int heads = 4 * (int)draw(&d->random, 1, 4);
    snprintf(d->model, sizeof d->model, "gpt:layers=%d,hidden=%d,heads=%d,seq=%d,vocab=%d",
             layers, 64 * heads, heads, 64 << draw(&d->random, 0, 2),
             1024 << draw(&d->random, 0, 3));
    return 32 * draw(&d->random, 1, 3);
}

static void draw_machine(struct drawn *d, int n)
{
    static const char *const device[] = { "", ",device=a100", ",device=v100", ",device=h100" };
    if (n % 2 == 0 && draw(&d->random, 0, 1))
        snprintf(d->machine, sizeof d->machine, "cluster:%dx%d%s", 2, n / 2, ONE_OF(d, device));
    else
        snprintf(d->machine, sizeof d->machine, "full:%d%s", n, ONE_OF(d, device));
}

/* Operators in turn, about as many in each stage. */
static void cut_anywhere(struct drawn *d)
{
    int n_stages = d->groups * d->chunks, n = d->graph->n_ops, op[4096], device[64], at = 0;
    for (int i = 0; i < n; i++)
        op[i] = i;
    for (int s = 0; s < n_stages; s++) {
        int most = n / n_stages, end = s == n_stages - 1 ? n : (s + 1) * n / n_stages;
        end = s == n_stages - 1 ? n : end + (int)draw(&d->random, -most / 3, most / 3);
        for (int r = 0; r < d->replicas; r++)
            device[r] = s % d->groups * d->replicas + r;
        hp_plan_add_stage(
            d->plan,
            &(struct hypar_stage){ .n_ops = end - at,
                                   .op = op + at,
                                   .n_devices = d->replicas,
                                   .device = device,
                                   .replicas = hp_schedule[d->kind].delayed ? d->replicas : 1,
                                   .share = hp_schedule[d->kind].delayed ? HYPAR_SHARE_MINIBATCH
                                                                         : HYPAR_SHARE_BATCH });
        at = end;
    }
    for (int i = 0; i < n && d->replicas > 1 && !hp_schedule[d->kind].delayed; i++) {
        struct split split = { 0 };
        int sample = hp_sample_axis(d->graph->ops[i].nest);
        split.degree[sample >= 0 ? sample : d->graph->ops[i].nest->n_axes - 1] = d->replicas;
        hp_plan_set(d->plan, i, &split, NULL);
    }
}

/* The slots of 1f1b, by hand. */
static void list_slots(struct drawn *d)
{
    struct pipeline_size size = { d->groups, 1, d->n_micro };
    struct slot_order order[8];
    static struct slot slot[8][512];
    for (int s = 0; s < d->groups; s++)
        order[s] =
            (struct slot_order){ hp_schedule[HYPAR_SCHEDULE_1F1B].fill(&size, &s, slot[s]),
                                 slot[s] };
    hp_plan_set_orders(d->plan, order, d->groups);
}

/* Every second plan runs under the default framework, the others under any. */
static const struct hypar_framework *draw_framework(struct drawn *d)
{
    int n = 0;
    while (hypar_framework_at(n))
        n++;
    return hypar_framework_at(draw(&d->random, 0, 1) ? 0 : (int)draw(&d->random, 0, n - 1));
}

static bool make_plan(struct drawn *d, bool layout, struct hypar_error *err)
{
    static const enum hypar_precision precisions[] = { HYPAR_FP32, HYPAR_BF16 };
    static const enum hypar_optimizer optimizers[] = { HYPAR_SGD, HYPAR_MOMENTUM, HYPAR_ADAM };
    struct hypar_plan_settings settings = { .precision = ONE_OF(d, precisions),
                                            .optimizer = ONE_OF(d, optimizers) };
    bool delayed = hp_schedule[d->kind].delayed;
    settings.masks = d->masks;
    d->framework = draw_framework(d);
    settings.simulation.framework = *d->framework;
    d->plan = hp_plan_new(d->graph, d->on, &settings);
    if (layout) {
        struct hypar_layout l = { .data = d->replicas,
                                  .tensor = d->tensor,
                                  .pipeline = d->groups,
                                  .chunks = d->chunks,
                                  .micro_batches = d->n_micro,
                                  .schedule = d->kind };
        l.sequence_parallel = d->tensor > 1 && draw(&d->random, 0, 1);
        if (hp_plan_set_layout(d->plan, &l, err))
            return false;
    } else {
        cut_anywhere(d);
        hp_plan_set_schedule(d->plan, &(struct hypar_schedule){ .kind = d->kind,
                                                                .micro_batches = d->n_micro,
                                                                .stash = delayed,
                                                                .chunks = d->chunks });
        if (hp_schedule[d->kind].listed)
            list_slots(d);
    }
    hp_plan_set_recompute(d->plan, d->recompute);
    if (d->shard && d->replicas > 1 && !delayed &&
        hypar_plan_shard_all(d->plan, d->shard, 0, err))
        return false;
    return hypar_plan_check(d->plan, err) == HYPAR_OK;
}

/* Number `i`: its schedule, sharding and recomputation go through all that there are. */
static bool draw_plan(struct drawn *d, uint64_t seed, int i)
{
    struct hypar_import_options options = { 0 };
    struct hypar_error err = { 0 };
    *d = (struct drawn){ .random = { seed + (uint64_t)i * 7919 } };
    d->masks = (enum hypar_masks)draw(&d->random, 0, HYPAR_MASKS_COUNT - 1);
    d->kind = (enum hypar_schedule_kind)(1 + i % (HYPAR_SCHEDULE_COUNT - 1));
    d->shard = (enum hypar_shard)(i / (HYPAR_SCHEDULE_COUNT - 1) % HYPAR_SHARD_COUNT);
    d->recompute = (enum hypar_recompute)(i % HYPAR_RECOMPUTE_COUNT);
    const struct schedule_row *row = &hp_schedule[d->kind];
    bool layout = row->fill && draw(&d->random, 0, 1);
    d->groups = (int)draw(&d->random, 2, 4);
    d->chunks = row->interleaves ? 2 : 1;
    options.batch = draw_model(d, layout);
    d->replicas = (int)draw(&d->random, 1, 2);
    d->tensor = layout ? (int)draw(&d->random, 1, 2) : 1;
    d->n_micro = row->delayed       ? 1
                 : row->interleaves ? d->groups * draw(&d->random, 1, 4)
                                    : draw(&d->random, 1, 16);
    draw_machine(d, d->groups * d->replicas * d->tensor);
    if (hypar_import(&d->graph, d->model, &options, &err) ||
        hypar_machine_read(&d->on, d->machine, &err))
        fail_msg("%s on %s: %s", d->model, d->machine, err.text);
    bool ok = make_plan(d, layout, &err);
    snprintf(d->what, sizeof d->what,
             "%s, %s, %s, shard %s, recompute %s, %dx%dx%d, %d micro, %s on %s",
             d->framework->name, row->name, layout ? "layout" : "cuts",
             hypar_shard_text(d->shard), hypar_recompute_text(d->recompute), d->groups,
             d->replicas, d->tensor, (int)d->n_micro, d->model, d->machine);
    return ok;
}

static void end_plan(struct drawn *d)
{
    hypar_plan_free(d->plan);
    hypar_graph_free(d->graph);
    hypar_machine_free(d->on);
}

/* How many of so many were near enough. */
struct share {
    int n, near;
    double sum, worst;
};

static void count(struct share *s, double estimate, double exact, double tolerance)
{
    double off = fabs(estimate / exact - 1);
    s->n++;
    s->near += off <= tolerance;
    s->sum += off;
    s->worst = fmax(s->worst, off);
}

static void print_share(const char *what, const struct share *s, double tolerance)
{
    print_message(
        "  %-22s %3d of %3d within %.0f %%, on average %.1f %% off, at worst %.1f %%\n", what,
        s->near, s->n, 100 * tolerance, 100 * s->sum / fmax(1, s->n), 100 * s->worst);
}

/* The plan's needs before it is lowered. */
static struct fullest need_of(const struct drawn *d, enum need which)
{
    struct arena arena = { 0 };
    struct hypar_sim_options as_planned = hypar_as_planned(d->plan, NULL);
    struct hypar_search_options options = { .simulation = &as_planned,
                                            .masks = d->plan->masks,
                                            .precision = d->plan->precision,
                                            .optimizer = d->plan->optimizer,
                                            .recompute = d->recompute };
    struct problem problem = hp_problem(&arena, d->graph, d->on, &options);
    struct fullest need = hp_plan_need(which, &problem, hp_op_needs(&problem, &arena), d->plan);
    hp_arena_free(&arena);
    return need;
}

static double estimate(const struct drawn *d)
{
    struct hypar_program *program;
    struct hypar_error err;
    if (hp_lower(&program, d->plan, NULL, NULL, &err))
        fail_msg("%s: %s", d->what, err.text);
    double step_s = hp_estimate_step(program, NULL);
    hypar_program_free(program);
    return step_s;
}

/* The count without tasks is that of the simulated program, on each device; the bound from
 * operators is not above it. */
static void check_memory(const struct drawn *d, const struct hypar_sim *sim)
{
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    struct hypar_memory counted[64];
    struct hypar_error err;
    assert_true(s.n_devices <= 64);
    if (hypar_plan_memory(d->plan, NULL, counted, &err))
        fail_msg("%s: %s", d->what, err.text);
    for (int i = 0; i < s.n_devices; i++) {
        struct hypar_memory simulated = hypar_sim_device(sim, i).memory;
        if (memcmp(&counted[i], &simulated, sizeof simulated))
            fail_msg("%s: device %d holds %g bytes, counted %g", d->what, i, simulated.peak,
                     counted[i].peak);
    }
    double bytes = hp_tensor_bytes(&counted[s.fullest_device]);
    double least = need_of(d, NEED_LEAST).need;
    if (least > bytes * (1 + 1e-9))
        fail_msg("%s: %g bytes, at least %g are needed", d->what, bytes, least);
}

static void estimates_are_near(void **state)
{
    const double near = .15;
    uint64_t seed = number_from("HYPAR_ESTIMATE_SEED", 1);
    int n = (int)length_of("HYPAR_ESTIMATES", 28, 400, 400), n_plans = 0;
    struct share time = { 0 }, by_kind[HYPAR_SCHEDULE_COUNT] = { { 0 } };
    (void)state;
    print_message("seed %llu (HYPAR_ESTIMATE_SEED), %d plans (HYPAR_ESTIMATES)\n",
                  (unsigned long long)seed, n);
    for (int i = 0; n_plans < n && i < 10 * n; i++) {
        struct drawn d;
        struct hypar_error err;
        struct hypar_sim *sim;
        if (draw_plan(&d, seed, i)) {
            double estimated_s = estimate(&d);
            if (hypar_simulate(&sim, d.plan, NULL, &err))
                fail_msg("%s: %s", d.what, err.text);
            struct hypar_sim_summary s = hypar_sim_summary(sim);
            double time_off = estimated_s / s.step_s - 1;
            bool usual = d.framework == hypar_framework_at(0); /* hosts' time is left out */
            if (usual && fabs(time_off) > near)
                print_message("time %+.1f %%: %s\n", 100 * time_off, d.what);
            n_plans++;
            if (usual) {
                count(&time, estimated_s, s.step_s, near);
                count(&by_kind[d.kind], estimated_s, s.step_s, near);
            }
            check_memory(&d, sim);
            hypar_sim_free(sim);
        }
        end_plan(&d);
    }
    for (int kind = 1; kind < HYPAR_SCHEDULE_COUNT; kind++)
        print_share(hp_schedule[kind].name, &by_kind[kind], near);
    print_share("all schedules", &time, near);
    assert_true(time.near >= .95 * time.n);
}

/* Under pipedream a stage keeps versions of parameters that are trained, and of no others. */
static void frozen_parameters_have_no_versions(void **state)
{
    struct drawn d = { .random = { 1 }, .kind = HYPAR_SCHEDULE_PIPEDREAM };
    struct hypar_import_options options = { .batch = 4, .freeze = "fc*" };
    struct hypar_error err = { 0 };
    (void)state;
    int op[256];
    const int device[] = { 0, 1 };
    if (hypar_import(&d.graph, "vgg11", &options, &err) ||
        hypar_machine_read(&d.on, "full:2", &err))
        fail_msg("%s", err.text);
    d.plan =
        hp_plan_new(d.graph, d.on, &(struct hypar_plan_settings){ .optimizer = HYPAR_ADAM });
    for (int i = 0; i < d.graph->n_ops; i++)
        op[i] = i;
    for (int s = 0; s < 2; s++) /* stage 1 is the loss: stage 0 has the frozen layers */
        hp_plan_add_stage(d.plan,
                          &(struct hypar_stage){ .n_ops = s ? 1 : d.graph->n_ops - 1,
                                                 .op = op + (s ? d.graph->n_ops - 1 : 0),
                                                 .n_devices = 1,
                                                 .device = device + s,
                                                 .replicas = 1,
                                                 .share = HYPAR_SHARE_MINIBATCH });
    hp_plan_set_schedule(
        d.plan, &(struct hypar_schedule){ .kind = d.kind, .micro_batches = 1, .stash = true });
    struct hypar_memory memory[2];
    if (hypar_plan_memory(d.plan, NULL, memory, &err))
        fail_msg("%s", err.text);
    assert_true(memory[0].gradients > 0 && memory[0].gradients < memory[0].parameters);
    assert_true(memory[0].weight_versions == memory[0].gradients); /* 2 minibatches in flight */
    end_plan(&d);
}

/* Causal attention that is split along its queries: the later part sees more keys, so parts of
 * equal size take different times. */
static void equal_parts_at_other_places_differ(void **state)
{
    struct drawn d = { .replicas = 2, .groups = 1, .chunks = 1 };
    struct hypar_import_options options = { .batch = 4 };
    struct hypar_sim *sim;
    struct hypar_error err = { 0 };
    (void)state;
    if (hypar_import(&d.graph, "gpt:layers=2,hidden=256,heads=4,seq=4096,vocab=64", &options,
                     &err) ||
        hypar_machine_read(&d.on, "full:2,device=a100", &err))
        fail_msg("%s", err.text);
    d.plan = hp_plan_new(d.graph, d.on, &(struct hypar_plan_settings){ 0 });
    cut_anywhere(&d);
    for (int op = 0; op < d.graph->n_ops; op++) {
        const struct nest *nest = d.graph->ops[op].nest;
        struct split split = { 0 };
        if (nest->kind == OP_ATTENTION) {
            split.degree[hp_nest_axis(nest, 'q')] = 2;
            hp_plan_set(d.plan, op, &split, NULL);
        }
    }
    if (hypar_simulate(&sim, d.plan, NULL, &err))
        fail_msg("%s", err.text);
    double step_s = hypar_sim_summary(sim).step_s, estimated_s = estimate(&d);
    print_message("%g s, estimated %g s\n", step_s, estimated_s);
    assert_true(fabs(estimated_s / step_s - 1) < .15);
    hypar_sim_free(sim);
    end_plan(&d);
}

/* PyTorch has no gradients while activations are most, and the gradients of early layers when
 * the activations of later layers are gone: no device needs all of both at once. */
static void gradients_come_when_activations_go(void **state)
{
    struct drawn d = { .replicas = 1, .groups = 1, .chunks = 1 };
    struct hypar_import_options options = { .batch = 512 };
    struct hypar_error err = { 0 };
    (void)state;
    struct hypar_framework *framework;
    if (hypar_framework_read(&framework, "eager", &err))
        fail_msg("%s", err.text);
    struct hypar_plan_settings settings = { .simulation.framework = *framework };
    if (hypar_import(&d.graph, "mlp:8-1024-1024-1024-1024-1024-1024-8", &options, &err) ||
        hypar_machine_read(&d.on, "full:1", &err))
        fail_msg("%s", err.text);
    d.plan = hp_plan_new(d.graph, d.on, &settings);
    cut_anywhere(&d);
    struct hypar_memory memory;
    if (hypar_plan_memory(d.plan, NULL, &memory, &err))
        fail_msg("%s", err.text);
    double bytes = hp_tensor_bytes(&memory), least = need_of(&d, NEED_LEAST).need;
    print_message("%g bytes, at least %g, about %g\n", bytes, least,
                  need_of(&d, NEED_ABOUT).need);
    assert_true(least <= bytes);
    hypar_framework_free(framework);
    end_plan(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_near),
        cmocka_unit_test(equal_parts_at_other_places_differ),
        cmocka_unit_test(gradients_come_when_activations_go),
        cmocka_unit_test(frozen_parameters_have_no_versions),
    };
    return cmocka_run_group_tests_name("search/estimate", tests, NULL, NULL);
}
