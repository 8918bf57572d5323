/* Bubbles and memory of synchronous pipelines of equal stages, simulated, against closed forms
 * with the simulated times of a stage's forward (F), backward (B) and gradient (W) passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/sim.h>

#include "model/model.h"
#include "plan/plan.h"
#include "plan/slots.h"
#include "tests/search/pipelines.h"
#include "tests/simulated.h"

enum { WIDTH = 1024, MAX_STAGES = 16, MAX_LAYERS = 64 };

/* A chain of linear layers of one width; the first one, too, has an error to give, and of each
 * stage `frozen` layers have no gradient. */
struct chain {
    int stages, layers, frozen; /* layers of each stage, and of them */
};

static struct hypar_graph *chain_graph(const struct chain *c, int64_t batch)
{
    static char text[1 << 20];
    struct hypar_graph *graph;
    struct hypar_error err;
    int n_layers = c->stages * c->layers;
    size_t n = 0, size = sizeof text;
    n += (size_t)snprintf(text + n, size - n,
                          "{\"format\":\"hypar-graph/1\",\"name\":\"chain\",\"batch\":%lld,"
                          "\"inputs\":[{\"name\":\"x\",\"shape\":[%lld,%d]},"
                          "{\"name\":\"y\",\"shape\":[%lld,%d]}],"
                          "\"params\":[{\"name\":\"p\",\"shape\":[%d]}",
                          (long long)batch, (long long)batch, WIDTH, (long long)batch, WIDTH,
                          WIDTH);
    for (int i = 0; i < n_layers; i++)
        n += (size_t)snprintf(text + n, size - n, ",{\"name\":\"%s%d\",\"shape\":[%d,%d]}",
                              i % c->layers < c->frozen ? "fixed" : "w", i, WIDTH, WIDTH);
    n += (size_t)snprintf(text + n, size - n,
                          "],\"ops\":[{\"name\":\"scale\",\"kind\":\"mul\",\"inputs\":[\"x\","
                          "\"p\"]}");
    for (int i = 0; i < n_layers; i++)
        n += (size_t)snprintf(text + n, size - n,
                              ",{\"name\":\"fc%d\",\"kind\":\"linear\",\"inputs\":[\"%s%d\","
                              "\"%s%d\"],\"attrs\":{\"out\":%d}}",
                              i, i ? "fc" : "scale", i - 1,
                              i % c->layers < c->frozen ? "fixed" : "w", i, WIDTH);
    n += (size_t)snprintf(text + n, size - n,
                          ",{\"name\":\"loss\",\"kind\":\"mse_loss\",\"inputs\":[\"fc%d\","
                          "\"y\"]}],\"outputs\":[]}",
                          n_layers - 1);
    char *first = strstr(text, "scale-1");
    memmove(first + 5, first + 7, strlen(first + 7) + 1);
    n -= 2;
    assert_true(n < size);
    if (hp_graph_read_text(&graph, text, n, "chain", 0, &err))
        fail_msg("%s", err.text);
    if (c->frozen && hp_graph_freeze(graph, "fixed*", &err))
        fail_msg("%s", err.text);
    return graph;
}

static struct hypar_schedule schedule_of(enum hypar_schedule_kind kind, int64_t micro_batches,
                                         int chunks)
{
    return (struct hypar_schedule){ .kind = kind,
                                    .micro_batches = micro_batches,
                                    .chunks = chunks };
}

/* Stage s on device s mod p. */
static struct hypar_plan *chain_plan(const struct chain *c, const struct hypar_graph *graph,
                                     const struct hypar_machine *machine,
                                     const struct hypar_schedule *schedule)
{
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    int p = hypar_machine_device_count(machine);
    hp_plan_set_schedule(plan, schedule);
    for (int s = 0; s < c->stages; s++) {
        int op[MAX_LAYERS + 2], n = 0, device = s % p;
        if (s == 0)
            op[n++] = 0;
        for (int i = 0; i < c->layers; i++)
            op[n++] = 1 + s * c->layers + i;
        if (s == c->stages - 1)
            op[n++] = 1 + c->stages * c->layers;
        hp_plan_add_stage(
            plan, &(struct hypar_stage){
                      .n_ops = n, .op = op, .n_devices = 1, .device = &device, .replicas = 1 });
    }
    return plan;
}

/* What a simulated step took: the times of one micro-batch on device 0 in each phase, and the
 * most that a device waits between its first and its last pass, for others; not for its own
 * updates of layers that the last micro-batch is over with. */
struct measured {
    double phase_s[3], bubble_s;
};

static struct measured measure(const struct hypar_sim *sim, int p, int64_t micro_batches)
{
    struct measured m = { .bubble_s = 0 };
    double first_s[MAX_STAGES], last_s[MAX_STAGES] = { 0 }, busy_s[MAX_STAGES] = { 0 };
    struct hypar_sim_event e;
    for (int d = 0; d < p; d++)
        first_s[d] = 1e30;
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++) {
        if (e.kind > HYPAR_EVENT_GRADIENT)
            continue;
        double took_s = e.end_s - e.start_s;
        busy_s[e.device] += took_s;
        first_s[e.device] = e.start_s < first_s[e.device] ? e.start_s : first_s[e.device];
        last_s[e.device] = e.end_s > last_s[e.device] ? e.end_s : last_s[e.device];
        if (e.device == 0)
            m.phase_s[e.kind] += took_s / (double)micro_batches;
    }
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++) /* some layers are done before */
        if (e.kind == HYPAR_EVENT_UPDATE && e.start_s < last_s[e.device])
            busy_s[e.device] += e.end_s - e.start_s;
    for (int d = 0; d < p; d++) {
        double waits_s = last_s[d] - first_s[d] - busy_s[d];
        m.bubble_s = waits_s > m.bubble_s ? waits_s : m.bubble_s;
    }
    return m;
}

static struct hypar_sim *simulate_chain(const struct chain *c, int p,
                                        const struct hypar_schedule *schedule,
                                        struct hypar_graph **graph,
                                        struct hypar_machine **machine,
                                        struct hypar_plan **plan)
{
    char word[96];
    struct hypar_sim_options options = { .timeline = true };
    snprintf(word, sizeof word, "full:%d,bandwidth=1e18B/s,latency=0s,memory-bandwidth=1e18B/s",
             p);
    *graph = chain_graph(c, 1024 * schedule->micro_batches);
    *machine = machine_of(word);
    *plan = chain_plan(c, *graph, *machine, schedule);
    return simulate(*plan, &options);
}

static void expect_bubble(const struct chain *c, int p, struct hypar_schedule schedule)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    struct hypar_sim *sim = simulate_chain(c, p, &schedule, &graph, &machine, &plan);
    struct measured m = measure(sim, p, schedule.micro_batches);
    double f = m.phase_s[0], b = m.phase_s[1], w = m.phase_s[2], closed = 0;
    switch (schedule.kind) {
    case HYPAR_SCHEDULE_INTERLEAVED:
        closed = (p - 1) * (f + b + w) / schedule.chunks;
        break;
    case HYPAR_SCHEDULE_ZB_H1:
        closed = (p - 1) * (f + b - w);
        break;
    case HYPAR_SCHEDULE_ZB_H2:
        closed = (p - 1) * (f + b - 2 * w);
        break;
    default:
        closed = (p - 1) * (f + b + w);
    }
    char what[96];
    snprintf(what, sizeof what, "%s, p = %d, m = %lld, F B W = %.3g %.3g %.3g",
             hypar_schedule_text(schedule.kind), p, (long long)schedule.micro_batches, f, b, w);
    if (closed < 1e-3 * f)
        assert_true(m.bubble_s < .01 * f);
    else
        expect_near(what, m.bubble_s, closed, .01);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* The share that each stage of gpipe waits for the others: (p - 1) / (m + p - 1). */
static void share_of_gpipe(void **state)
{
    enum { LAYERS = 40 };
    (void)state;
    for (int p = 2; p <= 8; p *= 2)
        for (int64_t m = p; m <= 4 * p; m *= 2) {
            struct chain chain = { p, LAYERS, 0 };
            struct hypar_schedule schedule = schedule_of(HYPAR_SCHEDULE_GPIPE, m, 1);
            struct hypar_graph *graph;
            struct hypar_machine *machine;
            struct hypar_plan *plan;
            struct hypar_sim *sim =
                simulate_chain(&chain, p, &schedule, &graph, &machine, &plan);
            for (int s = 0; s < p; s++)
                expect_near("bubble", hypar_sim_stage(sim, s).bubble,
                            (p - 1.) / ((double)m + p - 1), .03);
            hypar_sim_free(sim);
            hypar_plan_free(plan);
            hypar_machine_free(machine);
            hypar_graph_free(graph);
        }
}

/* A stage sends its last error before it computes the last of its gradients, so that each stage
 * but for those of zero bubble waits for one layer's less; hence many layers. */
static void bubbles(void **state)
{
    (void)state;
    enum { LAYERS = 40 };
    for (int p = 2; p <= 8; p *= 2)
        for (int frozen = 0; frozen <= LAYERS / 2; frozen += LAYERS / 4) {
            struct chain one = { p, LAYERS, frozen };
            for (int64_t m = 2 * p - 1; m <= 4 * p; m += p + 1) {
                expect_bubble(&one, p, schedule_of(HYPAR_SCHEDULE_GPIPE, m, 1));
                expect_bubble(&one, p, schedule_of(HYPAR_SCHEDULE_1F1B, m, 1));
                expect_bubble(&one, p, schedule_of(HYPAR_SCHEDULE_ZB_H1, m, 1));
                expect_bubble(&one, p, schedule_of(HYPAR_SCHEDULE_ZB_H2, m, 1));
            }
            for (int v = 2; v <= 4; v++)
                for (int64_t m = p; m <= 3 * p; m += 2 * p)
                    expect_bubble(&(struct chain){ p * v, LAYERS, frozen }, p,
                                  schedule_of(HYPAR_SCHEDULE_INTERLEAVED, m, v));
        }
}

/* Memory ------------------------------------------------------------------------------- */

/* The fullest device; and the most that a device has of activations and errors. */
static double most_of(const struct hypar_plan *plan, double *passing)
{
    struct hypar_memory memory[MAX_STAGES];
    struct hypar_error err;
    double peak = 0;
    *passing = 0;
    if (hypar_plan_memory(plan, NULL, memory, &err))
        fail_msg("%s", err.text);
    for (int d = 0; d < plan->n_all_devices; d++) {
        peak = memory[d].peak > peak ? memory[d].peak : peak;
        double here = memory[d].activations + memory[d].buffers;
        *passing = here > *passing ? here : *passing;
    }
    return peak;
}

/* Transformer layers, four of them on each of four devices. */
static void memory_of_transformers(void **state)
{
    (void)state;
    enum { P = 4, EACH = 4, MICRO = 8 };
    struct hypar_graph *graph;
    struct hypar_error err;
    struct hypar_machine *machine = machine_of("full:4");
    struct hypar_import_options how = { .batch = MICRO };
    if (hypar_import(&graph, "gpt:layers=16,hidden=256,heads=4,seq=128,vocab=8", &how, &err))
        fail_msg("%s", err.text);
    static const enum hypar_schedule_kind kinds[] = { HYPAR_SCHEDULE_1F1B, HYPAR_SCHEDULE_ZB_H1,
                                                      HYPAR_SCHEDULE_ZB_H2 };
    double peak[3], passing[3];
    for (int k = 0; k < 3; k++) {
        struct hypar_plan *plan =
            hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
        struct hypar_schedule schedule = schedule_of(kinds[k], MICRO, 1);
        hp_plan_set_schedule(plan, &schedule);
        int op[4096], stage = 0, n = 0, layer = 0;
        for (int i = 0; i < graph->n_ops; i++) {
            layer += i > 0 && strstr(graph->ops[i].name, ".ln_1") != NULL &&
                     !strstr(graph->ops[i].name, "h.0.");
            int at = layer / EACH < P ? layer / EACH : P - 1;
            if (at != stage) {
                hp_plan_add_stage(plan, &(struct hypar_stage){ n, op, 1, &stage, 1, 0 });
                stage = at;
                n = 0;
            }
            op[n++] = i;
        }
        hp_plan_add_stage(plan, &(struct hypar_stage){ n, op, 1, &stage, 1, 0 });
        assert_int_equal(plan->n_stages, P);
        peak[k] = most_of(plan, &passing[k]);
        hypar_plan_free(plan);
    }
    print_message("  1f1b %.0f, zb-h1 %.0f (%.3f), zb-h2 %.0f (without state %.3f)\n", peak[0],
                  peak[1], peak[1] / peak[0], peak[2], passing[2] / passing[0]);
    assert_true(peak[1] <= peak[0]);
    assert_true(passing[2] <= (2. * P - 1) / P * passing[0]);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bubbles),
        cmocka_unit_test(share_of_gpipe),
        cmocka_unit_test(memory_of_transformers),
    };
    return cmocka_run_group_tests_name("sim: schedules", tests, NULL, NULL);
}
