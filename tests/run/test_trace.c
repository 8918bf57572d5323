/* The trace of a training run: the last steps, each task once, with the simulator's numbers and
 * names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <hypar/run.h>
#include <hypar/search.h>
#include <hypar/sim.h>

#include "base/arena.h"

enum { STEPS = 5, KEPT = 2 };

struct traced {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    const struct hypar_plan *plan;
    struct hypar_sim *sim;
    struct hypar_train_result result;
};

static void must(enum hypar_status status, const struct hypar_error *err)
{
    if (status != HYPAR_OK)
        fail_msg("%s", err->text);
}

static void train(struct traced *t, const struct hypar_search_options *how, const char *machine)
{
    struct hypar_error err;
    struct hypar_import_options import = { .batch = 6 };
    struct hypar_train_options options = { .steps = STEPS,
                                           .kernels = "reference",
                                           .trace_steps = KEPT };
    struct hypar_ranks *ranks;
    must(hypar_import(&t->graph, "mlp:12-10-5", &import, &err), &err);
    must(hypar_machine_read(&t->machine, machine, &err), &err);
    must(hypar_search(&t->found, t->graph, t->machine, how, &err), &err);
    t->plan = hypar_found_plan(t->found);
    must(hypar_ranks_join(&ranks, &err), &err);
    must(hypar_train(t->plan, ranks, &options, &t->result, &err), &err);
    hypar_ranks_leave(ranks, HYPAR_OK);
    struct hypar_sim_options simulated = { .timeline = true };
    simulated = hypar_as_planned(t->plan, &simulated);
    must(hypar_simulate(&t->sim, t->plan, &simulated, &err), &err);
}

static void release(struct traced *t)
{
    hypar_trace_free(t->result.trace);
    hypar_sim_free(t->sim);
    hypar_found_free(t->found);
    hypar_machine_free(t->machine);
    hypar_graph_free(t->graph);
}

/* The simulator adds how a collective is done. */
static void check_name(const struct traced *t, const struct hypar_trace_event *e)
{
    struct hypar_sim_event simulated;
    assert_true(hypar_sim_event(t->sim, e->id, &simulated));
    assert_int_equal(simulated.kind, e->kind);
    assert_int_equal(simulated.micro, e->micro);
    if (e->kind != HYPAR_EVENT_COMM) {
        assert_string_equal(simulated.name, e->name);
        assert_int_equal(simulated.device, e->rank);
        return;
    }
    size_t n = strcspn(e->name, " ");
    assert_int_equal(strncmp(simulated.name, e->name, n), 0);
}

/* Of the mean step each task is there once on each of its ranks, in the order of times. */
static void check_mean(const struct traced *t, const int *times)
{
    struct hypar_trace_event e;
    double sent = 0;
    int64_t n = 0, all = 0;
    assert_int_equal(hypar_trace_info(t->result.trace).mean_steps, STEPS - 1);
    for (; hypar_trace_mean(t->result.trace, n, &e); n++) {
        check_name(t, &e);
        assert_true(e.start_s >= 0 && e.end_s >= e.start_s);
        assert_true(e.end_s <= 1.01 * t->result.mean_step_s);
        sent += e.bytes;
    }
    for (int64_t i = 0; hypar_sim_event(t->sim, i, &(struct hypar_sim_event){ .id = 0 }); i++)
        all += times[i] / KEPT;
    assert_int_equal(n, all);
    assert_true(sent == t->result.comm_bytes_per_step);
}

static void check(const struct hypar_search_options *how, const char *machine)
{
    struct traced t = { .graph = NULL };
    struct arena arena = { 0 };
    struct hypar_trace_event e;
    struct hypar_sim_event simulated;
    int64_t n = 0;
    train(&t, how, machine);
    while (hypar_sim_event(t.sim, n, &simulated))
        n++;
    int *times = NEW(&arena, int, n);
    double end_s[8] = { 0 };
    assert_int_equal(hypar_trace_info(t.result.trace).steps, KEPT);
    for (int64_t i = 0; hypar_trace_event(t.result.trace, i, &e); i++) {
        check_name(&t, &e);
        times[e.id]++;
        assert_true(e.step > STEPS - KEPT && e.step <= STEPS);
        assert_true(e.start_s >= 0 && e.end_s >= e.start_s);
        if (e.kind == HYPAR_EVENT_COMM)
            continue;
        assert_true(e.start_s >= end_s[e.rank]); /* one after another */
        end_s[e.rank] = e.end_s;
    }
    for (int64_t i = 0; i < n; i++)
        assert_true(times[i] >= KEPT && times[i] % KEPT == 0); /* a comm on several ranks */
    check_mean(&t, times);
    hp_arena_free(&arena);
    release(&t);
}

static void all_tasks_of_the_last_steps_are_there(void **state)
{
    (void)state;
    check(&(struct hypar_search_options){ .planner = "dp" }, "local:2");
    check(&(struct hypar_search_options){ .planner = "hypar" }, "local:3");
    check(&(struct hypar_search_options){ .planner = "gpipe", .micro_batches = 4 }, "local:2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_tasks_of_the_last_steps_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
