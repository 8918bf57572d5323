/* PipeDream's schedule, simulated: the order of a 4-stage pipeline, its memory against a closed
 * form, and the time of a minibatch in steady state against the planner's recurrence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/sim.h>

#include "plan/plan.h"
#include "tests/search/pipelines.h"

enum { STAGES = 4, BATCH = 64, WIDTH = 256, MINIBATCHES = 20 };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct hypar_graph *graph_with(const char *model, int64_t batch)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, model, &(struct hypar_import_options){ .batch = batch }, &err))
        fail_msg("%s", err.text);
    return graph;
}

static struct hypar_sim *simulate(const struct hypar_plan *plan,
                                  struct hypar_sim_options options)
{
    struct hypar_sim *sim;
    struct hypar_error err;
    if (hypar_simulate(&sim, plan, &options, &err))
        fail_msg("%s", err.text);
    return sim;
}

/* Four layers, four stages, transfers in no time ------------------------------------------ */

struct four {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    struct hypar_sim *sim;
};

static struct four four_stages(struct hypar_schedule schedule)
{
    struct four f = { .graph = graph_with("mlp:256-256-256-256-256", BATCH),
                      .machine = machine_of("full:4,bandwidth=1e18B/s,latency=0s") };
    f.plan = hp_plan_new(f.graph, f.machine, &(struct hypar_plan_settings){ 0 });
    assert_int_equal(f.graph->n_ops, 2 * STAGES);
    for (int s = 0; s < STAGES; s++)
        hp_plan_add_stage(f.plan, &(struct hypar_stage){ .n_ops = 2,
                                                         .op = (int[]){ 2 * s, 2 * s + 1 },
                                                         .n_devices = 1,
                                                         .device = &s,
                                                         .replicas = 1 });
    schedule.kind = HYPAR_SCHEDULE_PIPEDREAM;
    schedule.micro_batches = 1;
    hp_plan_set_schedule(f.plan, &schedule);
    f.sim = simulate(f.plan, (struct hypar_sim_options){
                                 .timeline = true, .lower = { .minibatches = MINIBATCHES } });
    return f;
}

static void end_four(struct four *f)
{
    hypar_sim_free(f->sim);
    hypar_plan_free(f->plan);
    hypar_machine_free(f->machine);
    hypar_graph_free(f->graph);
}

static int by_start(const void *a, const void *b)
{
    const struct hypar_sim_event *x = a, *y = b;
    return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

/* What a device does by the trace: halves of minibatches, in order. */
struct half {
    int micro;
    bool backward;
};

static int halves_of(const struct hypar_sim *sim, int device, struct half *half)
{
    static struct hypar_sim_event own[64 * MINIBATCHES];
    struct hypar_sim_event event;
    int n = 0, n_halves = 0;
    for (int64_t i = 0; hypar_sim_event(sim, i, &event); i++)
        if (event.device == device && event.kind != HYPAR_EVENT_UPDATE)
            own[n++] = event;
    qsort(own, (size_t)n, sizeof *own, by_start);
    for (int i = 0; i < n; i++) {
        struct half now = { own[i].micro, own[i].kind != HYPAR_EVENT_FORWARD };
        const struct half *last = n_halves ? &half[n_halves - 1] : NULL;
        if (!last || last->micro != now.micro || last->backward != now.backward)
            half[n_halves++] = now;
    }
    return n_halves;
}

/* Figure 4 of the paper: stage s of 4 begins 4 - s minibatches, then strictly alternates. */
static void four_stages_alternate_in_the_trace(void **state)
{
    (void)state;
    struct four f = four_stages((struct hypar_schedule){ .stash = true });
    assert_int_equal(hypar_sim_pipeline(f.sim).noam, STAGES);
    assert_int_equal(hypar_sim_pipeline(f.sim).minibatches, MINIBATCHES);
    for (int s = 0; s < STAGES; s++) {
        struct half half[2 * MINIBATCHES + 1];
        int admitted = STAGES - s;
        assert_int_equal(halves_of(f.sim, s, half), 2 * MINIBATCHES);
        for (int i = 0; i < 2 * MINIBATCHES; i++) {
            int step = i - admitted; /* after start-up: backward, forward, backward, ... */
            bool ends = i >= 2 * MINIBATCHES - admitted;
            bool backward = step >= 0 && (ends || step % 2 == 0);
            int micro = step < 0    ? i
                        : ends      ? i - MINIBATCHES
                        : !backward ? admitted + step / 2
                                    : step / 2;
            if (half[i].backward != backward || half[i].micro != micro)
                fail_msg("stage %d, slot %d: %c%d, expected %c%d", s, i, "FB"[half[i].backward],
                         half[i].micro, "FB"[backward], micro);
        }
    }
    end_four(&f);
}

/* Weights in as many versions as minibatches in flight (with vertical sync: as the first stage
 * has in flight, everywhere), one gradient, and of each minibatch in flight what a layer and
 * its activation keep; beside these the error that comes in, and the one that follows from it.
 */
static void memory_is_the_closed_form(void **state)
{
    (void)state;
    const struct {
        bool stash, vertical_sync;
    } rows[] = { { true, false }, { true, true }, { false, false } };
    double weights = 4.0 * (WIDTH * WIDTH + WIDTH), activation = 4.0 * BATCH * WIDTH;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct four f = four_stages((struct hypar_schedule){
            .stash = rows[i].stash, .vertical_sync = rows[i].vertical_sync });
        for (int s = 0; s < STAGES; s++) {
            struct hypar_sim_stage stage = hypar_sim_stage(f.sim, s);
            int in_flight = STAGES - s;
            int versions = !rows[i].stash ? 1 : rows[i].vertical_sync ? STAGES : in_flight;
            /* the last stage also has labels, and two statistics of a sample */
            double extra = s == STAGES - 1 ? 3 * 4.0 * BATCH : 0;
            double loss = s == STAGES - 1 ? 4 : 0, errors = s == STAGES - 1 ? 1 : 2;
            double expected = (versions + 1) * weights + in_flight * (2 * activation + extra) +
                              errors * activation + loss;
            assert_int_equal(stage.in_flight, in_flight);
            assert_int_equal(stage.versions, versions);
            if (stage.peak_memory_bytes != expected)
                fail_msg("stage %d: %.0f bytes, expected %.0f", s, stage.peak_memory_bytes,
                         expected);
        }
        end_four(&f);
    }
}

/* Steady state against the recurrence ----------------------------------------------------- */

/* The recurrence hides transfers behind computing, but not the sums of gradients, and counts
 * both directions of a link together: so does a simulation with half-duplex links and gradients
 * in one message after the last backward pass. */
static const struct {
    const char *model;
    int64_t batch;
    const char *machine;
    bool straight, no_overlap, half_duplex, one_bucket;
} rows[] = {
    /* compute-bound, straight: as it is */
    { "vgg16", 32, "full:4,bandwidth=1e15B/s,latency=0s", true, false, false, false },
    { "vgg16", 32, "full:7,bandwidth=1e15B/s,latency=0s", true, false, false, false },
    { "resnet50", 32, "full:4,bandwidth=1e15B/s,latency=0s", true, false, false, false },
    { "bert-base", 32, "full:6,bandwidth=1TB/s,latency=0s", true, false, false, false },
    { "alexnet", 256, "full:3,bandwidth=1TB/s,latency=0s", true, false, false, false },
    /* one replicated stage: no overlap, half-duplex links */
    { "sfc", 4096, "cluster:1x2,intra=100GB/s,latency=0s", false, true, true, false },
    { "sfc", 8192, "cluster:1x4,intra=100GB/s,latency=0s", false, true, true, false },
    { "gpt2", 8, "cluster:1x4,intra=10GB/s,latency=0s", false, true, true, false },
    /* bound by transfers, little to compute: likewise */
    { "lenet5", 32, "full:2,bandwidth=1MB/s,latency=0s", true, true, true, false },
    /* replicated stages and others: gradients not overlapped, half-duplex links */
    { "vgg16", 64, "cluster:1x4,intra=10GB/s,latency=0s", false, false, true, true },
    { "vgg16", 64, "cluster:1x8,intra=10GB/s,latency=0s", false, false, true, true },
    { "gpt2", 8, "cluster:1x4,intra=10GB/s,latency=0s", false, false, true, true },
    /* bound by transfers in a longer pipeline: half-duplex links */
    { "lenet5", 32, "full:4,bandwidth=1MB/s,latency=0s", true, false, true, false },
};

static void steady_state_is_the_bottleneck(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hypar_graph *graph = graph_with(rows[i].model, rows[i].batch);
        struct hypar_machine *machine = machine_of(rows[i].machine);
        struct hypar_found *found = search(
            graph, machine, (struct hypar_search_options){ .straight = rows[i].straight });
        double bottleneck_s = hypar_found_pipeline(found)->bottleneck_s;
        struct hypar_sim *sim = simulate(
            hypar_found_plan(found),
            (struct hypar_sim_options){ .no_overlap = rows[i].no_overlap,
                                        .half_duplex = rows[i].half_duplex,
                                        .lower.bucket_bytes = rows[i].one_bucket ? 1e15 : 0 });
        double step_s = hypar_sim_summary(sim).step_s;
        assert_true(hypar_sim_pipeline(sim).steady);
        print_message("  %-9s %-36s %2d stages: %10.6g ms, simulated %+.2f %%\n", rows[i].model,
                      rows[i].machine, hypar_sim_pipeline(sim).n_stages, 1e3 * bottleneck_s,
                      100 * (step_s / bottleneck_s - 1));
        if (fabs(step_s / bottleneck_s - 1) > 0.01)
            fail_msg("%s on %s: %g s, expected %g s", rows[i].model, rows[i].machine, step_s,
                     bottleneck_s);
        hypar_sim_free(sim);
        hypar_found_free(found);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

/* What there would be too much of -------------------------------------------------------- */

static void refuse(const int *replicas, int64_t minibatches, int64_t micro_batches,
                   const char *expected)
{
    struct hypar_graph *graph = graph_with("mlp:8-8-8-8", BATCH);
    struct hypar_machine *machine = machine_of("full:40");
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    int device[40];
    for (int d = 0; d < 40; d++)
        device[d] = d;
    for (int s = 0, first = 0; s < 3; first += replicas[s++])
        hp_plan_add_stage(plan, &(struct hypar_stage){ .n_ops = 2,
                                                       .op = (int[]){ 2 * s, 2 * s + 1 },
                                                       .n_devices = replicas[s],
                                                       .device = device + first,
                                                       .replicas = replicas[s],
                                                       .share = HYPAR_SHARE_MINIBATCH });
    for (int op = 0; op < graph->n_ops; op++)
        hp_plan_set(plan, op, &(struct split){ .degree = { 0 } }, NULL);
    hp_plan_set_schedule(plan, &(struct hypar_schedule){ .kind = HYPAR_SCHEDULE_PIPEDREAM,
                                                         .micro_batches = micro_batches,
                                                         .stash = true });
    struct hypar_program *program;
    struct hypar_error err = { 0 };
    struct hypar_lower_options options = { .minibatches = minibatches };
    assert_int_equal(hypar_lower(&program, plan, &options, &err), HYPAR_UNSUPPORTED);
    assert_null(program);
    if (!strstr(err.text, expected))
        fail_msg("'%s', expected '... %s ...'", err.text, expected);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    refuse((int[]){ 11, 13, 7 }, 0, 1,
           "minibatches take 1001 different sequences of replicas, expected at most");
    refuse((int[]){ 2, 1, 3 }, INT64_C(1) << 40, 1, "minibatches, expected 1 to");
    refuse((int[]){ 1, 1, 1 }, 0, 2, "with 2 micro-batches cannot be lowered, expected 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_stages_alternate_in_the_trace),
        cmocka_unit_test(memory_is_the_closed_form),
        cmocka_unit_test(steady_state_is_the_bottleneck),
        cmocka_unit_test(too_much_is_refused),
    };
    return cmocka_run_group_tests_name("sim: pipedream", tests, NULL, NULL);
}
