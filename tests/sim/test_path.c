/* The critical path: on random plans its segments follow each other from 0 to the end of the
 * step, each is within its task, and each task follows the one before for a reason.
 *
 *     HYPAR_PATH_PAIRS   how many random pairs of graph and plan (400)
 *     HYPAR_PATH_SEED    the first seed (1)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <hypar/search.h>
#include <hypar/sim.h>

#include "tests/random_plan.h"
#include "tests/simulated.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* In the second and third nearly everything is a tie. */
static const char *const words[] = {
    "full:4",
    "full:4,latency=0s,bandwidth=1e18B/s,fp64=1e15,memory-bandwidth=1e15B/s",
    "cluster:2x3,latency=0s,bandwidth=1e18B/s,fp64=1e18,memory-bandwidth=1e18B/s",
    "cluster:2x2,inter=1GB/s",
    "torus:2x3",
    "mesh:3x2,bandwidth=1MB/s,latency=100us",
    "htree:8",
    "cluster:1x2,device=h100+cluster:2x2,device=a100",
    "full:1",
};

static const struct hypar_sim_options settings[] = {
    { .timeline = true },
    { .timeline = true, .expand_collectives = true },
    { .timeline = true, .no_overlap = true },
    { .timeline = true, .half_duplex = true },
    { .timeline = true, .one_class = true },
    { .timeline = true, .lower = { .bucket_bytes = 1e4 } },
    { .timeline = true, .lower = { .forward = true } },
};

struct tally {
    int64_t plans, delayed, segments, exchanges, queued;
};

/* Which seed and setting a message is about. */
struct about {
    uint64_t seed;
    const char *word;
    int setting;
};

#define EXPECT(about, condition)                                                         \
    do {                                                                                 \
        if (!(condition))                                                                \
            fail_msg("seed %llu, %s, setting %d, segment %lld: not %s",                  \
                     (unsigned long long)(about)->seed, (about)->word, (about)->setting, \
                     (long long)i, #condition);                                          \
    } while (0)

static bool holds_link(const struct hypar_sim_event *e, int link)
{
    for (int k = 0; k < e->n_links; k++)
        if (e->link[k] == link)
            return true;
    return false;
}

/* Does a task hold a device: it computes there, or is a comm of it, and so has a link that
 * begins or ends there, and takes the device (no_overlap) or a share of it? */
static bool holds_device(const struct hypar_sim *sim, const struct hypar_sim_event *e,
                         bool no_overlap, int device)
{
    const struct hypar_machine *machine = hypar_plan_machine(hypar_sim_plan(sim));
    bool taken = no_overlap || hypar_machine_device(machine, device)->kernels.comm_share > 0;
    for (int k = 0; taken && k < e->n_links; k++) {
        struct hypar_link link = hypar_machine_link(machine, e->link[k] / 2);
        if (link.from == device || link.to == device)
            return true;
    }
    return e->device == device;
}

/* Does a task of no time, which is not on the path, begin and end when `now` begins, and hold
 * the device of it? */
static bool begins_after_nothing(const struct hypar_sim *sim, bool no_overlap,
                                 const struct hypar_sim_event *now)
{
    struct hypar_sim_event e;
    for (int64_t i = 0; now->device >= 0 && hypar_sim_event(sim, i, &e); i++)
        if (e.start_s == now->start_s && e.end_s == now->start_s &&
            holds_device(sim, &e, no_overlap, now->device))
            return true;
    return false;
}

/* Does the task of a segment let the next one's begin: by its end, or by its queue? */
static bool follows(const struct hypar_sim *sim, bool no_overlap,
                    const struct hypar_sim_segment *before,
                    const struct hypar_sim_segment *next)
{
    struct hypar_sim_event was, now;
    if (before->event == next->event || next->kind == HYPAR_SEGMENT_LAUNCH)
        return true;
    hypar_sim_event(sim, before->event, &was);
    double end_s = was.end_s;
    hypar_sim_event(sim, next->event, &now);
    bool queue = (before->link >= 0 && holds_link(&now, before->link)) ||
                 (before->device >= 0 && holds_device(sim, &now, no_overlap, before->device));
    return end_s == now.ready_s || queue || begins_after_nothing(sim, no_overlap, &now);
}

static void check_segment(const struct about *about, const struct hypar_sim *sim, int64_t i,
                          const struct hypar_sim_segment *s)
{
    struct hypar_sim_event e;
    EXPECT(about, s->start_s < s->end_s);
    EXPECT(about, s->queued_s >= 0 && s->queued_s <= s->end_s - s->start_s + 1e-12 * s->end_s);
    if (s->kind == HYPAR_SEGMENT_LAUNCH) {
        EXPECT(about, s->event == -1);
        return;
    }
    EXPECT(about, hypar_sim_event(sim, s->event, &e));
    EXPECT(about, s->start_s >= e.start_s && s->end_s <= e.end_s);
    EXPECT(about, (s->kind == HYPAR_SEGMENT_EXCHANGE) == (e.kind == HYPAR_EVENT_COMM));
    EXPECT(about, s->link < 0 || holds_link(&e, s->link));
    if (e.device >= 0)
        EXPECT(about, s->device == e.device && s->start_s == e.start_s);
}

static void check_path(const struct about *about, const struct hypar_sim *sim,
                       struct tally *tally)
{
    struct hypar_sim_pipeline pipeline = hypar_sim_pipeline(sim);
    double whole_s = pipeline.minibatches ? pipeline.window_s : hypar_sim_summary(sim).step_s;
    struct hypar_sim_segment s, before = { 0 };
    double sum_s = 0;
    int64_t i = 0;
    for (; hypar_sim_segment(sim, i, &s); i++) {
        EXPECT(about, s.start_s == before.end_s);
        check_segment(about, sim, i, &s);
        if (i)
            EXPECT(about, follows(sim, settings[about->setting].no_overlap, &before, &s));
        sum_s += s.end_s - s.start_s;
        tally->exchanges += s.kind == HYPAR_SEGMENT_EXCHANGE;
        tally->queued += s.queued_s > 0;
        before = s;
    }
    EXPECT(about, before.end_s == whole_s);
    if (whole_s > 0)
        expect_near("sum of the segments", sum_s, whole_s, 1e-9);
    tally->segments += i;
    tally->delayed += pipeline.minibatches > 0;
    tally->plans++;
}

/* Of some plans there is no step: samples that are mixed in micro-batches. */
static void check_pair(const struct about *about, const struct hypar_machine *machine,
                       struct tally *tally)
{
    struct random random = { about->seed };
    struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
    struct hypar_plan *plan = random_plan(
        &random, graph, machine, &(struct plan_focus){ -1, -1, -1, about->seed % 5 == 0 });
    struct hypar_sim *sim;
    struct hypar_error err;
    enum hypar_status status = hypar_simulate(&sim, plan, &settings[about->setting], &err);
    if (status == HYPAR_OK)
        check_path(about, sim, tally);
    else if (status != HYPAR_UNSUPPORTED)
        fail_msg("seed %llu: %s", (unsigned long long)about->seed, err.text);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    hypar_graph_free(graph);
}

static void random_plans(void **state)
{
    (void)state;
    struct hypar_machine *machine[COUNT(words)];
    struct tally tally = { 0 };
    struct hypar_error err;
    uint64_t first = number_from("HYPAR_PATH_SEED", 1);
    uint64_t pairs = number_from("HYPAR_PATH_PAIRS", 400);
    for (size_t i = 0; i < COUNT(words); i++)
        if (hypar_machine_read(&machine[i], words[i], &err) != HYPAR_OK)
            fail_msg("%s", err.text);
    for (uint64_t seed = first; seed < first + pairs; seed++)
        check_pair(&(struct about){ seed, words[seed % COUNT(words)],
                                    (int)(seed / COUNT(words) % COUNT(settings)) },
                   machine[seed % COUNT(words)], &tally);
    for (size_t i = 0; i < COUNT(words); i++)
        hypar_machine_free(machine[i]);
    print_message("  seeds %llu to %llu: %lld plans, %lld of them pipedream's; %lld segments, "
                  "%lld of exchanges, %lld in a queue\n",
                  (unsigned long long)first, (unsigned long long)(first + pairs - 1),
                  (long long)tally.plans, (long long)tally.delayed, (long long)tally.segments,
                  (long long)tally.exchanges, (long long)tally.queued);
    assert_true(pairs < 400 || tally.plans >= 200);
}

/* Networks ------------------------------------------------------------------------------- */

static void networks(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine, *planner;
        int batch;
    } cases[] = {
        { "alexnet", "cluster:2x4,inter=1GB/s", "dp", 64 },
        { "resnet18", "torus:2x2", "hypar", 32 },
        { "gpt2:layers=4", "cluster:2x2,device=a100", "1f1b", 16 },
        { "gpt2:layers=4", "cluster:2x2,device=h100", "pipedream", 16 },
        { "bert:layers=2,seq=16", "full:2,device=h100,eager-launch=100us", "dp",
          8 }, /* launches take longest */
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct hypar_import_options read = { .batch = cases[c].batch };
        struct hypar_search_options search = { .planner = cases[c].planner };
        struct hypar_machine *machine;
        struct hypar_graph *graph;
        struct hypar_found *found;
        struct hypar_error err;
        struct tally tally = { 0 };
        if (hypar_machine_read(&machine, cases[c].machine, &err) != HYPAR_OK ||
            hypar_import(&graph, cases[c].model, &read, &err) != HYPAR_OK ||
            hypar_search(&found, graph, machine, &search, &err) != HYPAR_OK)
            fail_msg("%s: %s", cases[c].model, err.text);
        struct hypar_sim_options how = settings[0];
        how.framework.kernels = HYPAR_KERNELS_EAGER;
        how.framework_given = true;
        struct hypar_sim *sim = simulate(hypar_found_plan(found), &how);
        check_path(&(struct about){ c, cases[c].machine, 0 }, sim, &tally);
        if (c == COUNT(cases) - 1) {
            struct hypar_sim_segment last = { 0 }, s;
            for (int64_t i = 0; hypar_sim_segment(sim, i, &s); i++)
                last = s;
            assert_int_equal(last.kind, HYPAR_SEGMENT_LAUNCH);
        }
        hypar_sim_free(sim);
        hypar_found_free(found);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans),
        cmocka_unit_test(networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
