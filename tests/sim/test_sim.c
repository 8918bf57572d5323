/* Steps computed by hand: one device, data parallelism without overlap, equal pipeline stages,
 * twice the speed, energy; and results that two ways to simulate must share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include <hypar/search.h>

#include "profile/profile.h"
#include "sim/sim.h"
#include "tests/all_reduces.h"
#include "tests/length.h"
#include "tests/simulated.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A plan with what it is for. */
struct setting {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
};

static struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return machine;
}

static struct hypar_graph *graph_of(const char *model, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, model, &(struct hypar_import_options){ .batch = batch }, &err) !=
        HYPAR_OK)
        fail_msg("%s", err.text);
    return graph;
}

/* The samples of every operator over all devices. */
static struct setting data_parallel(const char *model, int64_t batch, const char *word)
{
    struct setting s = { .graph = graph_of(model, batch), .machine = machine_of(word) };
    struct hypar_search_options options = { .planner = "dp", .memory_bytes = 1e15 };
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_search(&found, s.graph, s.machine, &options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    s.plan = hp_plan_copy(hypar_found_plan(found));
    hypar_found_free(found);
    return s;
}

static void release(struct setting *s)
{
    hypar_plan_free(s->plan);
    hypar_machine_free(s->machine);
    hypar_graph_free(s->graph);
}

/* All that device `d` computes: every pass of its parts, and the updates. */
static ticks computing_on(const struct hypar_plan *plan, int d)
{
    struct hypar_program *program;
    struct param_how how = hp_param_how(plan);
    double state = 0, *bytes = calloc((size_t)plan->n_all_devices, sizeof *bytes);
    ticks sum = 0;
    assert_non_null(bytes);
    assert_int_equal(hypar_lower(&program, plan, NULL, NULL), HYPAR_OK);
    const struct hypar_device *device = hypar_machine_device(plan->machine, d);
    for (int t = 0; t < program->first[program->n_bodies]; t++) {
        const struct task *task = &program->task[t];
        const int *next = program->blocks->next[hp_task_body(program, t)];
        for (int i = task->device == d ? task->index : -1; i >= 0; i = next[i]) {
            const struct op_pass *op_pass = &program->lowering->training.op_pass[i];
            const struct op *op = &plan->graph->ops[op_pass->op];
            struct range range[MAX_AXES];
            hp_part_ranges(op->nest, &plan->ops[op_pass->op].split, task->part, range);
            sum += hp_ticks(hp_pass_seconds(op->nest, op_pass->pass, range, hp_present(op),
                                            device, plan->precision, NULL));
        }
    }
    hypar_plan_state_bytes(plan, bytes);
    state = bytes[d] / hp_shared_element(&how, HYPAR_SHARD_NONE).held;
    struct work work = hp_update_work(state, plan->precision, plan->precision, plan->optimizer);
    sum += hp_ticks(hp_work_seconds(&work, device, hp_master_precision(plan->precision)));
    hypar_program_free(program);
    free(bytes);
    return sum;
}

/* Time ------------------------------------------------------------------------------------- */

/* Nothing to wait for: a step takes as long as all passes and updates together. */
static void one_device(void **state)
{
    static const char *const models[] = { "mlp",       "lenet5", "alexnet", "resnet18",
                                          "bert-base", "gpt2",   "rnnlm",   "inception-v3" };
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++) {
        struct setting s = data_parallel(models[i], 4, "full:1");
        struct hypar_sim *sim = simulate(s.plan, NULL);
        double expected = hp_seconds(computing_on(s.plan, 0));
        /* updates are rounded to picoseconds one by one */
        expect_near(models[i], hypar_sim_summary(sim).step_s, expected, 1e-6);
        assert_true(hypar_sim_device(sim, 0).busy_s == hypar_sim_summary(sim).step_s);
        assert_true(hypar_sim_device(sim, 0).comm_s == 0);
        assert_true(hypar_sim_summary(sim).comm_bytes == 0);
        assert_true(hypar_sim_summary(sim).link_bytes == 0);
        hypar_sim_free(sim);
        release(&s);
    }
}

static void data_parallel_without_overlap(void **state)
{
    static const struct {
        const char *model;
        int batch;
        const char *machine;
    } cases[] = {
        { "mlp:64-64-64-64", 32, "full:2" },   { "mlp:64-64-64-64", 32, "full:4" },
        { "mlp:256-512-64", 64, "ring:8" },    { "lenet5", 32, "cluster:2x2" },
        { "alexnet", 64, "htree:4" },          { "alexnet", 64, "cluster:1x8" },
        { "vgg16:image=64", 32, "torus:2x2" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct setting s = data_parallel(cases[i].model, cases[i].batch, cases[i].machine);
        struct hypar_sim_options apart = { .no_overlap = true };
        double step_s = summary_of(s.plan, &apart).step_s;
        double computing_s = hp_seconds(computing_on(s.plan, 0)),
               all_s = all_reduces_s(s.plan, NULL);
        expect_near(cases[i].model, step_s, computing_s + all_s, 1e-6);
        double overlapped_s = summary_of(s.plan, NULL).step_s;
        assert_true(overlapped_s <= step_s * (1 + 1e-9));
        assert_true(overlapped_s >= computing_s * (1 - 1e-6));
        release(&s);
    }
}

/* Kernels ---------------------------------------------------------------------------------- */

/* x times a parameter, then twice that and 1, which nobody reads but the negative of it. */
static struct hypar_graph *element_wise(int64_t batch)
{
    struct graph_builder *b = hp_build("element-wise", batch);
    struct hypar_shape shape = { 2, { batch, 1024 } }, one = { 1, { 1 } };
    int x = hp_build_input(b, "x", &shape, false, 0);
    int target = hp_build_input(b, "target", &shape, false, 0);
    int scale = hp_build_param(b, "scale", &one), y;
    struct op_request mul = { OP_MUL, "mul", 2, (int[]){ x, scale }, NULL };
    assert_int_equal(hp_build_op(b, &mul, &y, NULL), HYPAR_OK);
    struct op_request affine = { OP_AFFINE, "affine", 1, &y, NULL };
    assert_int_equal(hp_build_op(b, &affine, &y, NULL), HYPAR_OK);
    struct op_request neg = { OP_NEG, "neg", 1, &y, NULL };
    assert_int_equal(hp_build_op(b, &neg, &y, NULL), HYPAR_OK);
    struct op_request loss = { OP_MSE_LOSS, "loss", 2, (int[]){ y, target }, NULL };
    assert_int_equal(hp_build_op(b, &loss, &y, NULL), HYPAR_OK);
    struct hypar_graph *graph;
    assert_int_equal(hp_build_finish(b, &graph, NULL), HYPAR_OK);
    return graph;
}

/* The task whose name begins so. */
static double task_seconds(const struct hypar_plan *plan, enum hypar_kernel_mode framework,
                           const char *name)
{
    struct hypar_sim_options options = { .framework.kernels = framework,
                                         .framework_given = true,
                                         .timeline = true };
    struct hypar_sim *sim = simulate(plan, &options);
    struct hypar_sim_event event;
    double seconds = 0;
    for (int64_t i = 0; hypar_sim_event(sim, i, &event); i++)
        if (strncmp(event.name, name, strlen(name)) == 0)
            seconds = event.end_s - event.start_s;
    hypar_sim_free(sim);
    return seconds;
}

/* A tensor is passed on in registers to who reads it on the same device, and only there. */
static void what_is_sent_is_in_memory(void **state)
{
    enum { BATCH = 4096, ELEMENTS = 1024 * BATCH };
    (void)state;
    struct hypar_graph *graph = element_wise(BATCH);
    struct hypar_machine *machine =
        machine_of("full:2,device=h200,vector-rate=0,kernel-time=1us,memory-bandwidth=1TB/s,"
                   "stream-efficiency=0.5");
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    double tensor_s = 4. * ELEMENTS / 0.5e12;
    hp_plan_set(plan, 1, &(struct split){ 0 }, (int[]){ 1 });
    for (int f = 0; f < HYPAR_KERNELS_NONE; f++)
        expect_near("sent", task_seconds(plan, (enum hypar_kernel_mode)f, "affine forward"),
                    1e-6 + 2 * tensor_s, 1e-6);
    hp_plan_set(plan, 0, &(struct split){ 0 }, (int[]){ 1 });
    expect_near("passed on", task_seconds(plan, HYPAR_KERNELS_COMPILED, "mul+affine forward"),
                1e-6 + 2 * tensor_s, 1e-6);
    expect_near("eager", task_seconds(plan, HYPAR_KERNELS_EAGER, "mul+affine forward"),
                2 * (1e-6 + 2 * tensor_s), 1e-6);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Pipelines -------------------------------------------------------------------------------- */

enum { WIDTH = 16, ROWS = 4 }; /* of a stage's layer; samples of a micro-batch */

/* x times a parameter, then `n` linear layers, each a stage, then the loss: every layer sends
 * an error back. */
static struct hypar_graph *chain(int n, int64_t batch)
{
    struct graph_builder *b = hp_build("chain", batch);
    struct hypar_shape shape = { 2, { batch, WIDTH } }, one = { 1, { 1 } };
    double out = WIDTH;
    int x = hp_build_input(b, "x", &shape, false, 0);
    int target = hp_build_input(b, "target", &shape, false, 0);
    int scale = hp_build_param(b, "scale", &one), y;
    struct op_request mul = { OP_MUL, "mul", 2, (int[]){ x, scale }, NULL };
    assert_int_equal(hp_build_op(b, &mul, &y, NULL), HYPAR_OK);
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "fc%d", i);
        struct op_request linear = { OP_LINEAR, name, 2, (int[]){ y, HP_MAKE },
                                     ATTRS({ ATTR_OUT, 1, V(out) }) };
        assert_int_equal(hp_build_op(b, &linear, &y, NULL), HYPAR_OK);
    }
    struct op_request loss = { OP_MSE_LOSS, "loss", 2, (int[]){ y, target }, NULL };
    assert_int_equal(hp_build_op(b, &loss, &y, NULL), HYPAR_OK);
    struct hypar_graph *graph;
    assert_int_equal(hp_build_finish(b, &graph, NULL), HYPAR_OK);
    return graph;
}

struct pass_times { /* of a linear layer, in seconds */
    double forward, error, gradient;
};

/* What is not a linear layer takes next to nothing. */
static double seconds_of(const struct nest *nest, int pass, const struct pass_times *times)
{
    const struct pass *p = &nest->pass[pass];
    if (nest->kind != OP_LINEAR)
        return 1e-15;
    return !p->backward ? times->forward : p->writes_grad & 1 ? times->error : times->gradient;
}

static struct hypar_profile *measured(const struct hypar_graph *graph,
                                      const struct pass_times *times)
{
    struct hypar_profile *profile = hypar_profile_new();
    for (int i = 0; i < graph->n_ops; i++) {
        const struct nest *nest = graph->ops[i].nest;
        int64_t extent[MAX_AXES];
        for (int a = 0; a < nest->n_axes; a++)
            extent[a] = nest->axis[a].role == HYPAR_SAMPLE ? ROWS : nest->axis[a].extent;
        for (int p = 0; p < nest->n_passes; p++)
            assert_int_equal(hp_profile_add(profile,
                                            &(struct measured_pass){ "v100", HYPAR_FP32, nest,
                                                                     p, extent, 0 },
                                            seconds_of(nest, p, times), NULL),
                             HYPAR_OK);
    }
    return profile;
}

static void add_stages(struct hypar_plan *plan, int n_stages, int micro_batches,
                       enum hypar_schedule_kind kind)
{
    for (int s = 0; s < n_stages; s++) {
        int op[3], n = 0, device = s;
        if (s == 0)
            op[n++] = 0;
        op[n++] = s + 1;
        if (s == n_stages - 1)
            op[n++] = s + 2;
        hp_plan_add_stage(plan, &(struct hypar_stage){ n, op, 1, &device, 1, 0 });
    }
    hp_plan_set_schedule(
        plan, &(struct hypar_schedule){ .kind = kind, .micro_batches = micro_batches });
}

struct pipeline {
    const struct hypar_machine *machine;
    int stages, micro_batches;
    enum hypar_schedule_kind schedule;
    struct pass_times times;
};

static double pipeline_step_s(const struct pipeline *p)
{
    struct hypar_graph *graph = chain(p->stages, ROWS * p->micro_batches);
    struct hypar_profile *profile = measured(graph, &p->times);
    struct hypar_plan *plan =
        hp_plan_new(graph, p->machine, &(struct hypar_plan_settings){ 0 });
    add_stages(plan, p->stages, p->micro_batches, p->schedule);
    assert_int_equal(hypar_plan_check(plan, NULL), HYPAR_OK);
    struct hypar_sim *sim = simulate(plan, &(struct hypar_sim_options){ .profile = profile });
    double step_s = hypar_sim_summary(sim).step_s;
    double slot_s = p->times.forward + p->times.error + p->times.gradient;
    for (int s = 0; s < p->stages; s++) /* every stage the same work */
        expect_near("busy", hypar_sim_device(sim, s).busy_s, slot_s * p->micro_batches, 1e-9);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    hypar_profile_free(profile);
    hypar_graph_free(graph);
    return step_s;
}

static void expect_step(const struct pipeline *p, double expected_s)
{
    char what[64];
    snprintf(what, sizeof what, "%s, %d stages, %d micro-batches",
             hypar_schedule_text(p->schedule), p->stages, p->micro_batches);
    expect_near(what, pipeline_step_s(p), expected_s, 1e-9);
}

/* GPipe (Huang et al. 2019): S equal stages and m micro-batches take m + S - 1 slots of forward
 * and backward when messages are free; 1F1B (Narayanan et al. 2019) as many. */
static void equal_stages(void **state)
{
    struct hypar_machine *machine =
        machine_of("full:6,latency=0s,bandwidth=1e18B/s,memory-bandwidth=1e18B/s,fp32=1e18");
    struct pipeline p = { .machine = machine, .times = { 1e-3, 2e-3, 1e-15 } };
    (void)state;
    for (p.stages = 1; p.stages <= 6; p.stages++)
        for (p.micro_batches = 1; p.micro_batches <= 9; p.micro_batches++) {
            p.schedule = HYPAR_SCHEDULE_GPIPE;
            expect_step(&p, 3e-3 * (p.micro_batches + p.stages - 1));
            p.schedule = HYPAR_SCHEDULE_1F1B;
            expect_step(&p, 3e-3 * (p.micro_batches + p.stages - 1));
        }
    hypar_machine_free(machine);
}

/* Gradients are passes of their own, after the errors: on its way back the error meets errors
 * only. A message between neighbours takes c, which the first micro-batch meets S - 1 times on
 * its way there and back, while others hide behind computing. */
static void errors_go_first(void **state)
{
    (void)state;
    /* 4 x 16 floats are 256 bytes: 100 us */
    struct hypar_machine *machine =
        machine_of("full:5,latency=0s,bandwidth=2.56MB/s,memory-bandwidth=1e18B/s,fp32=1e18");
    struct pipeline p = { .machine = machine,
                          .schedule = HYPAR_SCHEDULE_GPIPE,
                          .times = { 1e-3, 1e-3, 1e-3 } };
    for (p.stages = 2; p.stages <= 5; p.stages++)
        for (p.micro_batches = 1; p.micro_batches <= 6; p.micro_batches++)
            expect_step(&p, 3e-3 * p.micro_batches + (2e-3 + 2e-4) * (p.stages - 1));
    hypar_machine_free(machine);
}

/* Twice as fast ---------------------------------------------------------------------------- */

static void twice_as_fast(void **state)
{
    static const char *const models[] = { "alexnet", "resnet18", "bert:layers=2", "rnnlm" };
    static const struct hypar_sim_options options[] = { { .no_overlap = false },
                                                        { .no_overlap = true },
                                                        { .expand_collectives = true } };
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++)
        for (size_t k = 0; k < COUNT(options); k++) {
            struct setting slow =
                data_parallel(models[i], 16,
                              "cluster:2x2,fp32=10T,memory-bandwidth=500GB/s,intra=20GB/s,"
                              "inter=5GB/s,latency=4us,inter-latency=8us");
            struct setting fast =
                data_parallel(models[i], 16,
                              "cluster:2x2,fp32=20T,memory-bandwidth=1000GB/s,intra=40GB/s,"
                              "inter=10GB/s,latency=2us,inter-latency=4us");
            struct hypar_sim_summary a = summary_of(slow.plan, &options[k]);
            struct hypar_sim_summary b = summary_of(fast.plan, &options[k]);
            expect_near(models[i], 2 * b.step_s, a.step_s, 1e-6);
            expect_near(models[i], b.samples_per_s, 2 * a.samples_per_s, 1e-6);
            expect_near(models[i], b.mfu, a.mfu, 1e-6);
            assert_true(a.comm_bytes == b.comm_bytes && a.link_bytes == b.link_bytes);
            assert_true(a.peak_memory_bytes == b.peak_memory_bytes);
            release(&slow);
            release(&fast);
        }
}

/* Bytes and joules --------------------------------------------------------------------------
 */

static void bytes_are_the_programs(void **state)
{
    static const char *const machines[] = { "full:4", "cluster:2x2", "cluster:1x4", "torus:2x2",
                                            "ring:4", "mesh:4",      "htree:4" };
    static const char *const models[] = { "lenet5", "alexnet", "resnet18", "gpt2" };
    (void)state;
    for (size_t i = 0; i < COUNT(machines); i++)
        for (size_t k = 0; k < 2 * COUNT(models); k++) {
            struct setting s = data_parallel(models[k / 2], 8, machines[i]);
            struct hypar_sim_options options = { .expand_collectives = k % 2 };
            struct hypar_sim *sim = simulate(s.plan, &options);
            struct hypar_sim_summary sum = hypar_sim_summary(sim);
            double on_links = 0;
            for (int l = 0; l < sum.n_links; l++)
                on_links += hypar_sim_link(sim, l).bytes;
            assert_true(sum.comm_bytes == hypar_program_totals(sim->program).comm_bytes);
            assert_true(sum.link_bytes >= sum.comm_bytes * (1 - 1e-12));
            expect_near("bytes on links", on_links, sum.link_bytes, 1e-9);
            hypar_sim_free(sim);
            release(&s);
        }
}

/* Two linear layers of 12, 20, 7 features, data parallel: forward each weight meets each sample
 * once, backward twice (error and gradient), but nobody wants the error of the input; SGD is
 * one multiply-add for each parameter on each device. */
static void energy(void **state)
{
    (void)state;
    for (int devices = 1; devices <= 4; devices *= 2) {
        char word[64];
        snprintf(word, sizeof word, "full:%d,device=eyeriss-hmc", devices);
        struct setting s = data_parallel("mlp:12-20-7", 8, word);
        const struct hypar_device *d = hypar_machine_device(s.machine, 0);
        struct hypar_sim_summary sum = summary_of(s.plan, NULL);
        double params = 12 * 20 + 20 + 20 * 7 + 7, batch = 8;
        double macs = batch * (2 * 12 * 20 + 3 * 20 * 7) + params * devices;
        expect_near("sram", sum.energy.sram_j, 3 * macs * d->sram_access_j, 1e-12);
        assert_true(sum.energy.arithmetic_j > macs * (d->add_j + d->multiply_j));
        double sent = 2 * (devices - 1) * (4 * params + 4); /* all-reduces */
        double bit_j = devices > 1 ? hypar_machine_link(s.machine, 0).energy_j_per_bit : 0;
        assert_true(sum.comm_bytes == sent);
        expect_near("links", sum.energy.link_j, 8 * sum.link_bytes * bit_j, 1e-12);
        if (devices == 2)
            assert_true(sum.link_bytes == sent);
        release(&s);
    }
}

/* Of every device, all the step; nothing else changes. */
static void idle_power(void **state)
{
    (void)state;
    struct setting without = data_parallel("mlp:12-20-7", 8, "full:4"),
                   with = data_parallel("mlp:12-20-7", 8, "full:4,idle-power=75W");
    struct hypar_sim_summary a = summary_of(without.plan, NULL),
                             b = summary_of(with.plan, NULL);
    assert_true(a.energy.idle_j == 0 && a.step_s == b.step_s);
    expect_near("idle", b.energy.idle_j, 4 * 75 * b.step_s, 1e-12);
    expect_near("total", hypar_energy_total_j(&b.energy),
                hypar_energy_total_j(&a.energy) + b.energy.idle_j, 1e-12);
    release(&without);
    release(&with);
}

/* Two devices of this type that train a network as the framework does. */
static struct hypar_sim_summary trained_as(const char *model, const char *device,
                                           const struct hypar_framework *as, bool short_numbers)
{
    char word[64];
    snprintf(word, sizeof word, "cluster:1x2,device=%s", device);
    struct hypar_sim_options how = { .framework = *as, .framework_given = true };
    struct hypar_search_options options = { .planner = "dp",
                                            .precision =
                                                short_numbers ? HYPAR_BF16 : HYPAR_FP32,
                                            .simulation = &how,
                                            .unlimited = true };
    struct setting s = { .graph = graph_of(model, 8), .machine = machine_of(word) };
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_search(&found, s.graph, s.machine, &options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct hypar_sim_summary sum = summary_of(hypar_found_plan(found), &how);
    hypar_found_free(found);
    hypar_graph_free(s.graph);
    hypar_machine_free(s.machine);
    return sum;
}

/* No device takes more than its power limit, whatever it computes and as which framework. */
static void power_keeps_to_the_limit(void **state)
{
    (void)state;
    static const char *const models[] = {
        "alexnet",   "resnet50",
        "vgg16",     "mlp:4096-16384-4096-1000",
        "vit-b-16",  "gpt:layers=2,hidden=2048,heads=16,seq=1024,vocab=8192",
        "bert-base", "llama:layers=2,hidden=4096,heads=32,seq=2048,vocab=32000",
    };
    const struct hypar_device_type *type;
    const struct hypar_framework *as;
    int number = 0, asked = 0;
    double most = 0;
    for (int d = 0; (type = hypar_device_type(d)); d++)
        for (int f = 0; type->device.power_limit_w > 0 && (as = hypar_framework_at(f)); f++)
            for (size_t m = 0; m < COUNT(models); m++) {
                if (!in_length(number++, 31, 5))
                    continue;
                struct hypar_sim_summary s =
                    trained_as(models[m], type->device.name, as, number % 2);
                double watts =
                    (hypar_energy_total_j(&s.energy) - s.energy.link_j) / s.step_s / 2;
                if (watts > type->device.power_limit_w * (1 + 1e-9))
                    fail_msg("%s on %s as %s: %g W, limit %g W", models[m], type->device.name,
                             as->name, watts, type->device.power_limit_w);
                most = fmax(most, watts / type->device.power_limit_w);
                asked++;
            }
    print_message("  %d of %d networks, devices and frameworks, at most %.3f of the limit\n",
                  asked, number, most);
    assert_true(most > 0.7);
}

/* A word sent is read from DRAM once and written once: the same layer here and elsewhere. */
static void energy_of_dram(void **state)
{
    (void)state;
    struct hypar_graph *graph = chain(1, 8);
    struct hypar_machine *machine = machine_of("full:2,device=eyeriss-hmc");
    struct hypar_plan *one = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    struct hypar_plan *far = hp_plan_copy(one);
    int devices[] = { 1 };
    for (int op = 0; op < graph->n_ops; op++)
        hp_plan_set(far, op, &(struct split){ .degree = { 0 } }, op == 1 ? devices : NULL);
    const struct hypar_device *d = hypar_machine_device(machine, 0);
    struct hypar_sim_summary near_sum = summary_of(one, NULL), far_sum = summary_of(far, NULL);
    /* the layer elsewhere: its input and output go there and back, and their errors too */
    double sent = 4 * (8 * WIDTH) * 4;
    assert_true(far_sum.comm_bytes == sent && near_sum.comm_bytes == 0);
    expect_near("dram of messages", far_sum.energy.dram_j - near_sum.energy.dram_j,
                2 * sent / 4 * d->dram_access_j, 1e-9);
    assert_true(near_sum.energy.sram_j == far_sum.energy.sram_j);
    assert_true(near_sum.energy.arithmetic_j == far_sum.energy.arithmetic_j);
    expect_near("links", far_sum.energy.link_j,
                8 * sent * hypar_machine_link(machine, 0).energy_j_per_bit, 1e-12);
    hypar_plan_free(one);
    hypar_plan_free(far);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Two ways --------------------------------------------------------------------------------- */

/* Split the inputs of every layer of a chain, so that it ends in partial sums: one all-reduce
 * or all-gather after the other. */
static struct hypar_plan *partial_sums(const struct hypar_graph *graph,
                                       const struct hypar_machine *machine)
{
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    for (int op = 0; op < graph->n_ops; op++) {
        const struct nest *nest = graph->ops[op].nest;
        struct split split = { .degree = { 0 } };
        split.degree[hp_nest_axis(nest, nest->kind == OP_LINEAR ? 'c' : 'r')] =
            hypar_machine_device_count(machine);
        hp_plan_set(plan, op, &split, NULL);
    }
    assert_int_equal(hypar_plan_check(plan, NULL), HYPAR_OK);
    return plan;
}

/* Where neither collectives nor the messages of one meet on links, message by message is as one
 * task; elsewhere a round of the one need not wait for all of the round before. */
static void expanded_or_not(void **state)
{
    static const struct {
        const char *machine;
        double tolerance;
    } cases[] = {
        { "full:2", 1e-6 },      { "full:4", 1e-6 },      { "full:8", 1e-6 },
        { "ring:4", 1e-6 },      { "ring:8", 1e-6 },      { "torus:2x4", 1e-6 },
        { "cluster:1x4", 1e-6 }, { "cluster:1x8", 1e-6 }, { "cluster:2x4", .15 },
        { "htree:8", .15 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hypar_graph *graph = chain(4, 4096);
        struct hypar_machine *machine = machine_of(cases[i].machine);
        struct hypar_plan *plan = partial_sums(graph, machine);
        struct hypar_sim_options expand = { .expand_collectives = true };
        struct hypar_sim_summary one = summary_of(plan, NULL);
        struct hypar_sim_summary expanded = summary_of(plan, &expand);
        assert_int_equal(one.comm, 8); /* four layers, there and back */
        assert_true(expanded.comm > one.comm && expanded.comm_bytes == one.comm_bytes);
        expect_near(cases[i].machine, expanded.step_s, one.step_s, cases[i].tolerance);
        expect_near(cases[i].machine, expanded.link_bytes, one.link_bytes, 1e-9);
        expect_near(cases[i].machine, expanded.energy.link_j, one.energy.link_j, 1e-9);
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

/* Whatever a plan was searched with it is simulated with where nothing else is said; each of
 * these settings is kept, and makes a difference to time, tasks or bytes. */
static void as_planned(void **state)
{
    (void)state;
    static const struct hypar_sim_options cases[] = {
        { .lower = { .bucket_bytes = 1e6 } },
        { .lower = { .local_bn = true } },
        { .no_overlap = true },
        { .half_duplex = true },
        { .expand_collectives = true },
        { .all_reduce = "hierarchical-server" },
        { .all_reduce = "auto" }, /* the default */
    };
    struct hypar_graph *graph = graph_of("resnet18", 16);
    struct hypar_machine *machine = machine_of("cluster:2x2");
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hypar_search_options options = { .planner = "dp", .simulation = &cases[i] };
        struct hypar_found *found;
        assert_int_equal(hypar_search(&found, graph, machine, &options, NULL), HYPAR_OK);
        const struct hypar_plan *plan = hypar_found_plan(found);
        struct hypar_sim_summary planned = summary_of(plan, NULL);
        struct hypar_sim_summary asked = summary_of(plan, &cases[i]);
        struct hypar_sim_summary plain = summary_of(plan, &(struct hypar_sim_options){ 0 });
        bool differs = i + 1 < COUNT(cases);
        assert_true(planned.step_s == asked.step_s && planned.tasks == asked.tasks);
        assert_true(planned.step_s == hypar_found_simulated(found)->step.step_s);
        assert_true(hp_simulation_same(&planned.how, &plan->simulation));
        static const struct hypar_simulation by_default;
        assert_true(hp_simulation_same(&planned.how, &by_default) == !differs);
        assert_true((planned.step_s != plain.step_s || planned.tasks != plain.tasks) ==
                    differs);
        hypar_found_free(found);
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static bool same_events(const struct hypar_sim *a, const struct hypar_sim *b, int64_t *n)
{
    struct hypar_sim_event x, y;
    for (*n = 0; hypar_sim_event(a, *n, &x); ++*n) {
        if (!hypar_sim_event(b, *n, &y) || strcmp(x.name, y.name) != 0 ||
            x.ready_s != y.ready_s || x.start_s != y.start_s || x.end_s != y.end_s ||
            x.device != y.device || x.n_links != y.n_links || x.bytes != y.bytes)
            return false;
    }
    return !hypar_sim_event(b, *n, &y);
}

/* The same plan, and a copy of it, give the same step to the last bit. */
static void deterministic(void **state)
{
    (void)state;
    for (int expand = 0; expand < 2; expand++) {
        struct setting s = data_parallel("resnet18", 16, "cluster:2x2");
        struct hypar_plan *copy = hp_plan_copy(s.plan);
        struct hypar_sim_options options = { .timeline = true, .expand_collectives = expand };
        struct hypar_sim *a = simulate(s.plan, &options), *b = simulate(copy, &options);
        struct hypar_sim_summary x = hypar_sim_summary(a), y = hypar_sim_summary(b);
        int64_t n;
        assert_memory_equal(&x.energy, &y.energy, sizeof x.energy);
        assert_true(x.step_s == y.step_s && x.link_bytes == y.link_bytes);
        assert_true(same_events(a, b, &n));
        assert_int_equal(n, x.tasks);
        assert_int_equal(x.tasks, x.compute + x.comm + x.update);
        hypar_sim_free(a);
        hypar_sim_free(b);
        hypar_plan_free(copy);
        release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device),
        cmocka_unit_test(data_parallel_without_overlap),
        cmocka_unit_test(equal_stages),
        cmocka_unit_test(errors_go_first),
        cmocka_unit_test(twice_as_fast),
        cmocka_unit_test(bytes_are_the_programs),
        cmocka_unit_test(energy),
        cmocka_unit_test(idle_power),
        cmocka_unit_test(power_keeps_to_the_limit),
        cmocka_unit_test(energy_of_dram),
        cmocka_unit_test(expanded_or_not),
        cmocka_unit_test(as_planned),
        cmocka_unit_test(deterministic),
        cmocka_unit_test(what_is_sent_is_in_memory),
    };
    return cmocka_run_group_tests_name("sim/sim", tests, NULL, NULL);
}
