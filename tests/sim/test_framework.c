/* What each member of a framework does to a program and its step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/framework.h"
#include "plan/plan.h"
#include "sim/sim.h"
#include "tests/simulated.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define GPT          "gpt:layers=3,hidden=64,heads=4,seq=16,vocab=64,dropout_percent=0"

/* A layout of a small network run as `as`, on two devices of the H200's kernels; or with
 * `machine`. To be freed. */
static struct hypar_plan *plan_on(const char *machine, const char *model, const char *layout,
                                  const char *as)
{
    char text[1024];
    struct hypar_plan *plan;
    struct hypar_error err;
    int n = snprintf(text, sizeof text,
                     "{\"format\": \"hypar-plan/1\", \"model\": \"%s\", \"batch\": 8, "
                     "\"machine\": \"%s\", \"precision\": \"bf16\", \"optimizer\": \"adam\", "
                     "\"as\": \"%s\", \"layout\": {%s}}",
                     model, machine, as, layout);
    if (hp_plan_read_text(&plan, text, (size_t)n, "plan", NULL, &err) != HYPAR_OK)
        fail_msg("%s: %s", text, err.text);
    return plan;
}

static struct hypar_sim_summary run_on(const char *machine, const char *layout, const char *as)
{
    struct hypar_plan *plan = plan_on(machine, GPT, layout, as);
    struct hypar_sim_summary s = summary_of(plan, NULL);
    hypar_plan_free(plan);
    return s;
}

static struct hypar_sim_summary run(const char *layout, const char *as)
{
    return run_on("full:2,device=h200", layout, as);
}

static const char replicas[] = "\"data\": 2";
static const char divided[] = "\"data\": 2, \"shard\": \"parameters\"";

/* Exchanges beside kernels --------------------------------------------------------------- */

static bool uses(const struct hypar_sim *sim, const struct hypar_sim_event *e, int device)
{
    for (int l = 0; l < e->n_links; l++) {
        struct hypar_sim_link link = hypar_sim_link(sim, e->link[l]);
        if (link.from == device || link.to == device)
            return true;
    }
    return e->device == device;
}

static enum hypar_traffic class_of(const struct hypar_plan *plan,
                                   const struct hypar_sim_event *e)
{
    bool param = plan->graph->tensors[e->tensor].kind == TENSOR_PARAM;
    if (param)
        return strncmp(e->name, "all-gather", 10) == 0 ? HYPAR_TRAFFIC_GATHERS
                                                       : HYPAR_TRAFFIC_GRADIENTS;
    return strncmp(e->name, "send", 4) == 0          ? HYPAR_TRAFFIC_STAGES
           : strncmp(e->name, "all-reduce", 10) == 0 ? HYPAR_TRAFFIC_TENSOR
                                                     : HYPAR_TRAFFIC_SEQUENCE;
}

/* Pairs of an exchange of this class and a computation of one of its devices that overlap in
 * time; *n: exchanges of the class. */
static int overlaps(const struct hypar_plan *plan, enum hypar_traffic class, int *n)
{
    struct hypar_sim *sim =
        simulate(plan, &(struct hypar_sim_options){ .timeline = true,
                                                    .framework = plan->simulation.framework });
    struct hypar_sim_event e, c;
    int found = 0;
    *n = 0;
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++) {
        if (e.device >= 0 || e.tensor < 0 || class_of(plan, &e) != class)
            continue;
        ++*n;
        for (int64_t k = 0; hypar_sim_event(sim, k, &c); k++)
            found += c.device >= 0 && uses(sim, &e, c.device) && c.start_s < e.end_s &&
                     e.start_s < c.end_s;
    }
    hypar_sim_free(sim);
    return found;
}

/* Where devices wait for a class, none of them computes during such an exchange; the other
 * classes go on as they were. */
static void exchanges_that_are_waited_for_overlap_nothing(void **state)
{
    (void)state;
    static const struct {
        enum hypar_traffic class;
        const char *machine, *layout, *others;
        bool any; /* without waiting some do overlap */
    } rows[] = {
        { HYPAR_TRAFFIC_GRADIENTS, "full:2,device=h200", "\"data\": 2",
          "gathers+tensor+sequence+stages", true },
        { HYPAR_TRAFFIC_GATHERS, "full:2,device=h200", "\"data\": 2, \"shard\": \"parameters\"",
          "gradients+tensor+sequence+stages", true },
        { HYPAR_TRAFFIC_TENSOR, "full:2,device=h200", "\"tensor\": 2",
          "gradients+gathers+sequence+stages", false },
        { HYPAR_TRAFFIC_SEQUENCE, "full:2,device=h200",
          "\"tensor\": 2, \"sequence_parallel\": true", "gradients+gathers+tensor+stages",
          true },
        { HYPAR_TRAFFIC_STAGES, "full:2,device=h200", "\"pipeline\": 2, \"micro_batches\": 4",
          "gradients+gathers+tensor+sequence", true },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char as[128];
        int n, alone;
        struct hypar_plan *plan = plan_on(rows[i].machine, GPT, rows[i].layout, "compiled");
        int beside = overlaps(plan, rows[i].class, &n);
        hypar_plan_free(plan);
        snprintf(as, sizeof as, "compiled,overlap=%s", rows[i].others);
        plan = plan_on(rows[i].machine, GPT, rows[i].layout, as);
        int waited = overlaps(plan, rows[i].class, &alone);
        hypar_plan_free(plan);
        if (n == 0 || alone != n || waited != 0 || (rows[i].any && beside == 0))
            fail_msg("class %d: %d exchanges, %d when waited for; %d overlaps, %d when waited "
                     "for",
                     (int)rows[i].class, n, alone, beside, waited);
    }
}

/* Kernels beside a long collective lose a share of its time but the launch, on each of its
 * devices, and less beside a short one; who waits for it anyway loses nothing. */
static void collectives_take_time_from_kernels(void **state)
{
    (void)state;
    static const char half[] = "full:2,device=h200,comm-latency=50us,comm-share=0.5",
                      none[] = "full:2,device=h200,comm-latency=50us,comm-share=0";
    static const char wider[] = "gpt:layers=3,hidden=256,heads=4,seq=16,vocab=64";
    struct hypar_plan *plan = plan_on(half, wider, divided, "compiled");
    struct hypar_plan *without = plan_on(none, wider, divided, "compiled");
    struct hypar_sim *sim =
        simulate(plan, &(struct hypar_sim_options){ .timeline = true,
                                                    .framework = plan->simulation.framework });
    double all_s = 0;
    int collectives = 0, shorter = 0;
    for (int t = 0; t < sim->timeline.graph.n_tasks; t++) {
        const struct sim_task *task = &sim->timeline.graph.task[t];
        double held_s[2] = { 0, 0 }, taken_s = hp_seconds(task->duration) - 50e-6;
        for (int h = 0; task->hold && h < task->n_holds; h++)
            if (task->hold[h].queue < 2)
                held_s[task->hold[h].queue] += hp_seconds(task->hold[h].busy);
        if (!task->hold)
            continue;
        bool is_short = held_s[0] < 0.4 * taken_s;
        if (!is_short)
            expect_near("device 0", held_s[0], 0.5 * taken_s, 1e-4);
        expect_near("device 1", held_s[1], held_s[0], 1e-4);
        assert_true(held_s[0] > 0.02 * taken_s);
        all_s += held_s[0];
        collectives++;
        shorter += is_short;
    }
    assert_true(shorter > 4 && collectives - shorter > 4);
    double longer = hypar_sim_summary(sim).step_s - summary_of(without, NULL).step_s;
    assert_true(longer > 0 && longer <= all_s);
    assert_true(run_on(half, divided, "compiled,overlap=none").step_s ==
                run_on(none, divided, "compiled,overlap=none").step_s);
    hypar_sim_free(sim);
    hypar_plan_free(without);
    hypar_plan_free(plan);
}

/* --no-overlap is a framework that waits for everything. */
static void no_overlap_waits_for_all(void **state)
{
    (void)state;
    struct hypar_plan *plan = plan_on("full:2,device=h200", GPT, divided, "compiled");
    struct hypar_sim_options apart = { .no_overlap = true };
    double asked_s = summary_of(plan, &apart).step_s;
    hypar_plan_free(plan);
    assert_true(asked_s == run(divided, "compiled,overlap=none").step_s);
    assert_true(asked_s > run(divided, "compiled").step_s);
}

/* Widths --------------------------------------------------------------------------------- */

/* Parameters are gathered twice in a step, but for a few that the backward half does not read,
 * and gradients are summed once: all in fp32 are twice all in 16 bits, and two thirds of the
 * difference are the gathers'. */
static void widths_are_bytes(void **state)
{
    (void)state;
    double wide = run(divided, "compiled,gathers=fp32,sums=fp32").comm_bytes;
    double gathers = run(divided, "compiled,gathers=short,sums=fp32").comm_bytes;
    double sums = run(divided, "compiled,gathers=fp32,sums=short").comm_bytes;
    double both = run(divided, "compiled,gathers=short,sums=short").comm_bytes;
    double loss = 8; /* its sum over the samples, in fp32 both times */
    expect_near("both", both - loss, (wide - loss) / 2, 1e-3);
    expect_near("gathers", wide - gathers, 2 * (wide - sums), 0.02);
    expect_near("usual", run(divided, "compiled").comm_bytes, both, 1e-9);
}

/* A framework says what plans do not. */
static void plans_take_what_goes_without_saying(void **state)
{
    (void)state;
    struct hypar_plan *plan = plan_on("full:2,device=h200", GPT, replicas, "megatron-2021");
    struct hypar_plan *fused = plan_on("full:2,device=h200", GPT, replicas, "compiled");
    assert_true(plan->fp32_gradients);
    assert_int_equal(plan->masks, HYPAR_MASKS_KEPT);
    assert_true(plan->graph->n_ops > fused->graph->n_ops); /* attention is written out */
    assert_false(fused->fp32_gradients);
    hypar_plan_free(plan);
    hypar_plan_free(fused);
    plan = plan_on("full:2,device=h200", GPT ",attention=fused", replicas, "megatron-2021");
    fused = plan_on("full:2,device=h200", GPT ",attention=fused", replicas, "compiled");
    assert_int_equal(plan->graph->n_ops, fused->graph->n_ops); /* the model's word goes first */
    hypar_plan_free(plan);
    hypar_plan_free(fused);
}

/* The host ------------------------------------------------------------------------------- */

static void launches_are_as_the_framework_says(void **state)
{
    (void)state;
    static const char machine[] = "full:2,device=h200,eager-launch=10us,compiled-launch=2us";
    struct hypar_sim_summary usual = run_on(machine, replicas, "compiled"),
                             eager = run_on(machine, replicas, "compiled,launches=eager");
    assert_true(usual.kernels == eager.kernels);
    expect_near("captured", usual.launch_s, 2e-6 * usual.kernels, 1e-9);
    expect_near("one by one", eager.launch_s, 10e-6 * eager.kernels, 1e-9);
    assert_true(run_on(machine, replicas, "eager,launches=captured").launch_s <
                run_on(machine, replicas, "eager").launch_s / 4.9);
}

/* Three layers in two halves; and every parameter's sum. */
static void the_host_adds_seconds(void **state)
{
    (void)state;
    struct hypar_plan *plan = plan_on("full:2,device=h200", GPT, replicas, "compiled");
    int params = 0;
    for (int t = 0; t < plan->graph->n_tensors; t++)
        params += plan->graph->tensors[t].kind == TENSOR_PARAM;
    hypar_plan_free(plan);
    double none_s = run(replicas, "compiled").launch_s;
    expect_near("layers", run(replicas, "compiled,layer_s=1").launch_s - none_s, 6, 1e-6);
    expect_near("micro-batches",
                run("\"data\": 2, \"micro_batches\": 2", "compiled,layer_s=1").launch_s, 12,
                1e-2);
    expect_near("no stages", run(replicas, "compiled,slot_s=1").launch_s, none_s, 1e-6);
    expect_near("sums", run(replicas, "compiled,bucket_s=1").launch_s - none_s, params, 1e-6);
    expect_near("a bucket",
                run(replicas, "compiled,bucket_s=1,bucket_bytes=1GB").launch_s - none_s, 1,
                1e-6);
}

/* Three stages of a layer each, whose hosts take a second for a layer in each half, and devices
 * next to nothing. Hosts that wait for what a slot receives begin one after another, as stages
 * of a second do. Others launch their four micro-batches side by side. */
static void stages_wait_for_hosts(void **state)
{
    (void)state;
    static const char stages[] = "\"pipeline\": 3, \"micro_batches\": 4";
    static const char machine[] = "full:3,device=h200";
    struct hypar_sim_summary wait =
                                 run_on(machine, stages, "compiled,layer_s=1,host_waits=yes"),
                             ahead = run_on(machine, stages, "compiled,layer_s=1");
    expect_near("launches", wait.launch_s, 4 * 2, 1e-2);
    expect_near("stages", wait.step_s, (4 + 3 - 1) * 2, 1e-2);
    expect_near("ahead", ahead.step_s, 4 * 2, 1e-2);
    expect_near("slots", run_on(machine, stages, "compiled,slot_s=1,host_waits=yes").step_s,
                (4 + 3 - 1) * 2, 1e-2);
    expect_near("PyTorch's slots",
                run_on(machine, stages, "eager").launch_s -
                    run_on(machine, stages, "eager,slot_s=0").launch_s,
                4 * 2 * 0.2e-3, 1e-6);
    expect_near("one micro-batch",
                run_on(machine, "\"pipeline\": 3, \"micro_batches\": 1",
                       "compiled,layer_s=1,host_waits=yes")
                    .step_s,
                3 * 2, 1e-2);
    assert_true(run_on(machine, stages, "none,bucket_s=1ps,host_waits=yes").step_s ==
                run_on(machine, stages, "none").step_s); /* hosts do nothing for tasks */
    expect_near("no time", run_on(machine, stages, "compiled,host_waits=yes").step_s,
                run_on(machine, stages, "compiled").step_s, 0.2);
    assert_true(run("\"data\": 2, \"micro_batches\": 2", "compiled,host_waits=yes").step_s ==
                run("\"data\": 2, \"micro_batches\": 2", "compiled").step_s);
}

/* The critical path of a step that waits for hosts has no gaps, and is mostly launches. */
static void the_path_tells_hosts(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        plan_on("full:3,device=h200", GPT, "\"pipeline\": 3, \"micro_batches\": 4",
                "compiled,layer_s=1,host_waits=yes");
    struct hypar_sim_options how = hypar_as_planned(plan, NULL);
    struct hypar_sim_segment at;
    double end_s = 0, launches_s = 0;
    how.timeline = true;
    struct hypar_sim *sim = simulate(plan, &how);
    for (int64_t i = 0; hypar_sim_segment(sim, i, &at); i++) {
        assert_true(at.start_s == end_s && at.end_s > at.start_s);
        launches_s += at.kind == HYPAR_SEGMENT_LAUNCH ? at.end_s - at.start_s : 0;
        end_s = at.end_s;
    }
    assert_true(end_s == hypar_sim_summary(sim).step_s);
    expect_near("launches", launches_s, end_s, 1e-2);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
}

/* Buckets, prefetch, loss ---------------------------------------------------------------- */

static void buckets_are_those_of_the_option(void **state)
{
    (void)state;
    struct hypar_plan *plan = plan_on("full:2,device=h200", GPT, replicas, "compiled");
    struct hypar_sim_options asked = { .lower.bucket_bytes = 1e4 };
    double step_s = summary_of(plan, &asked).step_s;
    hypar_plan_free(plan);
    assert_true(step_s == run(replicas, "compiled,bucket_bytes=10000").step_s);
    assert_true(step_s != run(replicas, "compiled").step_s);
}

/* Number of the layer in "all-gather h.1.attn..." or "h.1.attn forward"; -1: none. */
static int layer_of(const char *name)
{
    const char *at = strstr(name, "h.");
    return at && at[2] >= '0' && at[2] <= '9' ? at[2] - '0' : -1;
}

/* Memory --------------------------------------------------------------------------------- */

static struct hypar_memory memory_on(const char *machine, const char *model, const char *layout,
                                     const char *as)
{
    struct hypar_plan *plan = plan_on(machine, model, layout, as);
    struct hypar_sim *sim;
    struct hypar_error err;
    if (hypar_simulate(&sim, plan, NULL, &err) != HYPAR_OK)
        fail_msg("%s: %s", as, err.text);
    struct hypar_memory memory = hypar_sim_device(sim, 0).memory;
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    return memory;
}

static struct hypar_memory memory(const char *layout, const char *as)
{
    return memory_on("full:2,device=h200", GPT, layout, as);
}

/* Short gradients lie in buckets beside the fp32 ones that are added up; not where replicas
 * divide the optimizer's state, and each sums its part. */
static void buckets_hold_gradients_again(void **state)
{
    (void)state;
    struct hypar_memory once = memory(replicas, "megatron"),
                        twice = memory(replicas, "megatron,bucket_copies=yes");
    assert_true(twice.gradients - once.gradients == once.parameters); /* both 2 bytes each */
    once = memory(divided, "megatron");
    twice = memory(divided, "megatron,bucket_copies=yes");
    assert_true(twice.gradients == once.gradients);
}

static void a_workspace_is_as_large_as_told(void **state)
{
    (void)state;
    assert_true(memory(replicas, "megatron,workspace_bytes=3MB").allocated -
                    memory(replicas, "megatron,workspace_bytes=1MB").allocated ==
                2 * 2e6);
}

/* Two micro-batches of 2 samples on each device, 16 tokens, 64 logits of 2 bytes. */
static void deferred_errors_of_logits_wait(void **state)
{
    (void)state;
    static const char layout[] = "\"data\": 2, \"micro_batches\": 2";
    struct hypar_memory at_once = memory(layout, "megatron"),
                        later = memory(layout, "megatron,deferred_logits=5");
    assert_true(later.activations - at_once.activations == 2 * 2 * 16 * 64 * 2);
}

/* The embedding, 64 x 64 with 12 bytes of state each, is in both stages: four devices have a
 * quarter of its state each, or the two of a stage halves. */
static void stages_have_state_of_their_own(void **state)
{
    (void)state;
    static const char layout[] = "\"data\": 2, \"pipeline\": 2, \"micro_batches\": 2, "
                                 "\"shard\": \"optimizer\"";
    static const char machine[] = "full:4,device=h200";
    struct hypar_memory all = memory_on(machine, GPT, layout, "megatron,state_by_stage=no"),
                        own = memory_on(machine, GPT, layout, "megatron");
    assert_true(own.optimizer - all.optimizer == 12. * 64 * 64 / 4);
}

/* Step by step an RMS norm keeps what it normalised in fp32 and once more: 6 bytes of each
 * element of the seven norms, 4 samples of 16 x 64 on each device. */
static void norms_of_one_kernel_keep_what_they_read(void **state)
{
    (void)state;
    static const char model[] = "llama:layers=3,hidden=64,heads=4,ffn=128,seq=16,vocab=64";
    static const char machine[] = "full:2,device=h200";
    struct hypar_memory steps = memory_on(machine, model, replicas, "eager"),
                        fused = memory_on(machine, model, replicas, "eager,fused_norms=yes");
    assert_true(steps.saved - fused.saved <= 7. * 6 * 4 * 16 * 64);
    assert_true(steps.saved - fused.saved > 6. * 4 * 4 * 16 * 64);
}

static bool again(const struct hypar_plan *plan, const char *name)
{
    for (int op = 0; op < plan->graph->n_ops; op++)
        if (strcmp(plan->graph->ops[op].name, name) == 0)
            return plan->ops[op].recompute;
    fail_msg("no operator %s", name);
    return false;
}

/* Of a layer's products every second one, of the rest all but attention and what leaves it. */
static void selective_is_as_the_framework_says(void **state)
{
    (void)state;
    static const char model[] = "llama:layers=3,hidden=64,heads=4,ffn=128,seq=16,vocab=64";
    static const char layout[] = "\"data\": 2, \"recompute\": \"selective\"";
    static const struct {
        const char *name;
        bool again;
    } ops[] = { { "layers.1.q_proj", false },  { "layers.1.k_proj", true },
                { "layers.1.v_proj", false },  { "layers.1.attn", false },
                { "layers.1.o_proj", true },   { "layers.1.gate_proj", false },
                { "layers.1.up_proj", true },  { "layers.1.silu", true },
                { "layers.1.mlp.add", false }, { "lm_head", false } };
    struct hypar_plan *plan = plan_on("full:2,device=h200", model, layout, "torchtitan");
    for (size_t i = 0; i < COUNT(ops); i++)
        if (again(plan, ops[i].name) != ops[i].again)
            fail_msg("%s", ops[i].name);
    hypar_plan_free(plan);
    plan = plan_on("full:2,device=h200", model, layout, "fsdp"); /* nothing is written out */
    assert_false(again(plan, "layers.1.k_proj"));
    hypar_plan_free(plan);
}

/* A layer is gathered when the last operator with parameters of the one `prefetch` + 1 before
 * it is done, and no earlier. */
static void layers_are_gathered_ahead(void **state)
{
    (void)state;
    for (int prefetch = 1; prefetch <= 2; prefetch++) {
        char as[64];
        double done_s[8] = { 0 }, begin_s[8];
        struct hypar_sim_event e;
        snprintf(as, sizeof as, "compiled,prefetch=%d", prefetch);
        struct hypar_plan *plan =
            plan_on("full:2,device=h200", "gpt:layers=6,hidden=64,heads=4,seq=16,vocab=64",
                    divided, as);
        struct hypar_sim_options how = hypar_as_planned(plan, NULL);
        how.timeline = true;
        struct hypar_sim *sim = simulate(plan, &how);
        for (int i = 0; i < 8; i++)
            begin_s[i] = 1e9;
        for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++) {
            int layer = layer_of(e.name);
            bool forward = strstr(e.name, "forward") != NULL;
            if (layer >= 0 && forward && strstr(e.name, "mlp.c_proj") &&
                e.end_s > done_s[layer])
                done_s[layer] = e.end_s;
            if (layer >= 0 && e.device < 0 && e.start_s < begin_s[layer] &&
                strncmp(e.name, "all-gather", 10) == 0)
                begin_s[layer] = e.start_s;
        }
        for (int i = prefetch + 1; i < 6; i++) {
            assert_true(begin_s[i] >= done_s[i - prefetch - 1]);
            assert_true(begin_s[i] < done_s[i - 1]);
        }
        hypar_sim_free(sim);
        hypar_plan_free(plan);
    }
}

static double loss_seconds(const char *as)
{
    struct hypar_plan *plan =
        plan_on("full:2,device=h200,kernel-time=0,reduction-time=0",
                "gpt:layers=1,hidden=64,heads=4,seq=1024,vocab=50304", replicas, as);
    struct hypar_sim_options how = hypar_as_planned(plan, NULL);
    struct hypar_sim_event e;
    double seconds = 0;
    how.timeline = true;
    struct hypar_sim *sim = simulate(plan, &how);
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++)
        if (strncmp(e.name, "loss backward", 13) == 0)
            seconds = e.end_s - e.start_s;
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    return seconds;
}

static void a_loss_in_fp32_moves_twice_the_bytes(void **state)
{
    (void)state;
    double short_s = loss_seconds("eager,autocast=no");
    assert_true(short_s > 0);
    expect_near("loss", loss_seconds("eager,autocast=no,loss=fp32"), 2 * short_s, 0.01);
    /* the errors of the logits are converted: fp32 is read, 16 bits are written */
    expect_near("autocast", loss_seconds("eager") / short_s, 2 + (4 + 2) / (2. * (2 + 2)),
                0.05);
}

/* Kernels that convert: 34 of each layer (six products have a weight and a bias, four read
 * fp32, and two sums have an error in 16 bits); two of the last product's x, of its weight, and
 * of the logits. Fused kernels convert on their way. Gradients are in fp32. */
static void autocast_converts(void **state)
{
    (void)state;
    struct hypar_sim_summary with = run(replicas, "eager"),
                             without = run(replicas, "eager,autocast=no");
    assert_int_equal(with.kernels - without.kernels, 3 * 34 + 3 * 2); /* of a device */
    assert_true(with.launch_s > without.launch_s);
    assert_true(with.step_s > without.step_s);
    assert_true(run(replicas, "compiled,autocast=yes").kernels ==
                run(replicas, "compiled").kernels);
    expect_near("messages", with.comm_bytes, 2 * without.comm_bytes, 1e-3); /* gradients */
}

/* Seconds that device 0 computes. */
static double busy_seconds(const char *machine, const char *layout, const char *as)
{
    struct hypar_plan *plan = plan_on(machine, GPT, layout, as);
    struct hypar_sim_options how = hypar_as_planned(plan, NULL);
    struct hypar_sim *sim = simulate(plan, &how);
    double seconds = hypar_sim_device(sim, 0).busy_s;
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    return seconds;
}

static double param_elements(void)
{
    struct hypar_plan *plan = plan_on("full:2,device=h200", GPT, replicas, "compiled");
    double sum = 0;
    for (int t = 0; t < plan->graph->n_tensors; t++)
        if (plan->graph->tensors[t].kind == TENSOR_PARAM)
            sum += (double)hp_shape_elements(&plan->graph->tensors[t].shape);
    hypar_plan_free(plan);
    return sum;
}

/* Copies take the memory's time for every element, where replicas sum or gather it: gradients
 * once a step, divided parameters in each half, and nothing on one device. The tied table is
 * read, and its gradient written, by two operators. */
static void copies_around_messages_take_time(void **state)
{
    (void)state;
    static const char one[] = "full:1,device=h200", two[] = "full:2,device=h200";
    struct hypar_machine *machine;
    struct hypar_error err;
    assert_int_equal(hypar_machine_read(&machine, one, &err), HYPAR_OK);
    const struct hypar_device *h200 = hypar_machine_device(machine, 0);
    double tied = 64 * 64, rate = h200->memory_bytes_per_s * h200->kernels.stream_efficiency;
    double step_s = (param_elements() + tied) * 1000 / rate;
    hypar_machine_free(machine);
    expect_near("sums",
                busy_seconds(two, replicas, "compiled,sum_copy_bytes=1000") -
                    busy_seconds(two, replicas, "compiled"),
                step_s, 1e-3);
    expect_near("gathers",
                busy_seconds(two, divided, "compiled,gather_copy_bytes=1000") -
                    busy_seconds(two, divided, "compiled"),
                2 * step_s, 1e-3);
    assert_true(busy_seconds(two, replicas, "compiled,gather_copy_bytes=1000") ==
                busy_seconds(two, replicas, "compiled"));
    assert_true(busy_seconds(one, "\"data\": 1", "compiled,sum_copy_bytes=1000") ==
                busy_seconds(one, "\"data\": 1", "compiled"));
}

/* After an update each device copies two pieces of every parameter. */
static void pieces_are_kernels(void **state)
{
    (void)state;
    static const char owned[] = "\"data\": 2, \"shard\": \"optimizer\"";
    struct hypar_plan *plan = plan_on("full:2,device=h200", GPT, owned, "nanotron");
    int params = 0;
    for (int t = 0; t < plan->graph->n_tensors; t++)
        params += plan->graph->tensors[t].kind == TENSOR_PARAM;
    hypar_plan_free(plan);
    struct hypar_sim_summary with = run(owned, "nanotron"),
                             without = run(owned, "nanotron,gathers_by_piece=no");
    assert_int_equal(with.kernels - without.kernels, 2 * params);
    expect_near("host", with.launch_s - without.launch_s,
                2 * params * (without.launch_s / without.kernels), 1e-6);
    assert_true(run(replicas, "nanotron").kernels ==
                run(replicas, "nanotron,gathers_by_piece=no").kernels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges_that_are_waited_for_overlap_nothing),
        cmocka_unit_test(collectives_take_time_from_kernels),
        cmocka_unit_test(no_overlap_waits_for_all),
        cmocka_unit_test(widths_are_bytes),
        cmocka_unit_test(plans_take_what_goes_without_saying),
        cmocka_unit_test(launches_are_as_the_framework_says),
        cmocka_unit_test(the_host_adds_seconds),
        cmocka_unit_test(stages_wait_for_hosts),
        cmocka_unit_test(the_path_tells_hosts),
        cmocka_unit_test(buckets_are_those_of_the_option),
        cmocka_unit_test(layers_are_gathered_ahead),
        cmocka_unit_test(buckets_hold_gradients_again),
        cmocka_unit_test(a_workspace_is_as_large_as_told),
        cmocka_unit_test(deferred_errors_of_logits_wait),
        cmocka_unit_test(stages_have_state_of_their_own),
        cmocka_unit_test(norms_of_one_kernel_keep_what_they_read),
        cmocka_unit_test(selective_is_as_the_framework_says),
        cmocka_unit_test(a_loss_in_fp32_moves_twice_the_bytes),
        cmocka_unit_test(autocast_converts),
        cmocka_unit_test(copies_around_messages_take_time),
        cmocka_unit_test(pieces_are_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
