/* Delta simulation through the public header: its result for a change equals the simulation of
 * the changed plan, an undone change has no effect, and an impossible change is refused.
 *
 *     HYPAR_PROPOSE_PAIRS   how many random pairs of graph and plan (300)
 *     HYPAR_PROPOSE_SEED    the first seed (1)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/search.h>

#include "program/lowering.h"
#include "tests/random_plan.h"

/* As hypar_delta_step_s() says it: of pipedream's window the mean. */
static double simulated_s(const struct hypar_plan *plan,
                          const struct hypar_sim_options *options)
{
    struct hypar_sim *sim;
    struct hypar_error err;
    if (hypar_simulate(&sim, plan, options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct hypar_sim_pipeline window = hypar_sim_pipeline(sim);
    double step_s = window.minibatches ? window.window_s / window.minibatches
                                       : hypar_sim_summary(sim).step_s;
    hypar_sim_free(sim);
    return step_s;
}

static char *text_of(const struct hypar_plan *plan)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    hypar_plan_write(plan, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void expect_plan(const struct hypar_plan *plan, const char *text)
{
    char *now = text_of(plan);
    assert_string_equal(now, text);
    free(now);
}

enum { MOST_PARTS = 64 };

/* What the lists of a split are in. */
struct lists {
    int device[MOST_PARTS];
    int64_t sizes[HYPAR_MAX_AXES][MOST_PARTS];
};

/* Sizes of the parts of an axis, some of them zero; now and then they do not add up. */
static const int64_t *draw_sizes(struct random *random, int64_t extent, int degree,
                                 int64_t sizes[MOST_PARTS])
{
    for (int i = 0; i < MOST_PARTS; i++)
        sizes[i] = 0;
    for (int64_t left = extent - one_in(random, 20); left > 0; left--)
        sizes[draw(random, 0, degree - 1)]++;
    return sizes;
}

/* Some of it no plan can hold: degrees of inner axes, devices that are none. */
static struct hypar_split draw_split(struct random *random, const struct hypar_graph *graph,
                                     int n_devices, struct lists *lists)
{
    struct hypar_split split = { .op =
                                     (int)draw(random, 0, hypar_graph_info(graph).n_ops - 1) };
    for (int i = 0; i < 2; i++) {
        int axis = (int)draw(random, 0, hypar_graph_op(graph, split.op).n_axes - 1);
        int degree = (int)draw(random, one_in(random, 50) ? -1 : 1, n_devices + 1);
        struct hypar_axis is = hypar_graph_axis(graph, split.op, axis);
        split.degree[axis] = degree;
        split.sizes[axis] = NULL;
        if (degree > 1 && is.role != HYPAR_COPY && one_in(random, 3))
            split.sizes[axis] = draw_sizes(random, is.extent, degree, lists->sizes[axis]);
    }
    for (int i = 0; i < MOST_PARTS; i++)
        lists->device[i] = (int)draw(random, 0, n_devices - 1);
    if (one_in(random, 20))
        lists->device[0] = n_devices;
    split.device = one_in(random, 3) ? NULL : lists->device;
    return split;
}

/* What became of changes; of the plans that were changed, how many were what. */
struct tally {
    int accepted, undone, refused, beyond;
    int windows, options, uneven, resent;
};

/* Does any operator send its result again, does any have parts of uneven sizes? */
static void note_plan(struct tally *tally, const struct hypar_plan *plan,
                      const struct hypar_sim_options *options)
{
    bool uneven = false, resent = false;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        resent |= plan->ops[op].resend;
        for (int a = 0; a < MAX_AXES; a++)
            uneven |= plan->ops[op].split.sizes[a] != NULL;
    }
    tally->windows += plan->schedule.kind == HYPAR_SCHEDULE_PIPEDREAM;
    tally->options += options != NULL;
    tally->uneven += uneven;
    tally->resent += resent;
}

static void propose_once(struct hypar_delta *delta, const struct hypar_sim_options *options,
                         struct random *random, struct tally *tally)
{
    const struct hypar_plan *plan = hypar_delta_plan(delta);
    int n = one_in(random, 3) ? 2 : 1;
    struct lists lists[2];
    struct hypar_split change[2];
    struct hypar_error err;
    char *before = text_of(plan);
    double was_s = hypar_delta_step_s(delta), step_s;
    for (int i = 0; i < n; i++)
        change[i] = draw_split(random, hypar_plan_graph(plan),
                               hypar_machine_device_count(hypar_plan_machine(plan)), &lists[i]);
    bool limited = one_in(random, 3);
    enum hypar_status status =
        hypar_delta_propose(delta, change, n, limited ? was_s : 0, &step_s, &err);
    if (status != HYPAR_OK || (limited && step_s > was_s)) {
        assert_true(status == HYPAR_OK || err.text[0]);
        tally->refused += status != HYPAR_OK;
        tally->beyond += status == HYPAR_OK;
        hypar_delta_accept(delta); /* of nothing */
        assert_true(hypar_delta_step_s(delta) == was_s);
        expect_plan(plan, before);
    } else {
        assert_true(step_s == hypar_delta_step_s(delta));
        assert_true(step_s == simulated_s(plan, options));
        if (one_in(random, 2)) {
            hypar_delta_accept(delta);
            tally->accepted++;
        } else {
            hypar_delta_undo(delta);
            tally->undone++;
            assert_true(hypar_delta_step_s(delta) == was_s);
            expect_plan(plan, before);
        }
        assert_true(hypar_delta_step_s(delta) == simulated_s(plan, options));
    }
    free(before);
}

/* NULL: as the plan says. */
static const struct hypar_sim_options *draw_options(struct random *random)
{
    static const struct hypar_sim_options options[] = {
        { .lower.local_bn = true },     { .lower.bucket_bytes = 1e3 },
        { .lower.forward = true },      { .no_overlap = true },
        { .expand_collectives = true }, { .half_duplex = true, .one_class = true },
        { .all_reduce = "ring" },
    };
    int n = (int)(sizeof options / sizeof *options);
    return one_in(random, 2) ? NULL : &options[draw(random, 0, n - 1)];
}

static void draw_resent(struct random *random, struct hypar_plan *plan)
{
    for (int op = 0; op < plan->graph->n_ops; op++) {
        plan->ops[op].resend = one_in(random, 6);
        if (hp_check_resend(plan, NULL) != HYPAR_OK)
            plan->ops[op].resend = false;
    }
}

static void changes_are_those_of_full_simulation(void **state)
{
    (void)state;
    enum { CHANGES = 10 };
    static const char *const machines[] = { "full:1", "full:3", "htree:4", "cluster:2x3" };
    struct plan_focus none = { -1, -1, -1, false };
    struct tally tally = { 0 };
    uint64_t first = number_from("HYPAR_PROPOSE_SEED", 1);
    uint64_t pairs = number_from("HYPAR_PROPOSE_PAIRS", 300);
    for (uint64_t seed = first; seed < first + pairs; seed++) {
        struct random random = { seed * 0x9e3779b97f4a7c15u };
        struct hypar_machine *machine;
        struct hypar_delta *delta;
        assert_int_equal(hypar_machine_read(&machine, machines[seed % 4], NULL), HYPAR_OK);
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_plan *plan = random_plan(&random, graph, machine, &none);
        const struct hypar_sim_options *options = draw_options(&random);
        draw_resent(&random, plan);
        print_message("seed %llu\n", (unsigned long long)seed);
        if (hypar_delta_begin(&delta, plan, options, NULL) == HYPAR_OK) {
            assert_true(hypar_delta_step_s(delta) == simulated_s(plan, options));
            for (int i = 0; i < CHANGES; i++)
                propose_once(delta, options, &random, &tally);
            note_plan(&tally, hypar_delta_plan(delta), options);
            hypar_delta_free(delta);
        }
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
    print_message("%d accepted, %d undone, %d refused, %d beyond the limit\n", tally.accepted,
                  tally.undone, tally.refused, tally.beyond);
    print_message("%d plans of pipedream's, %d with options, %d of uneven sizes, %d that send "
                  "again\n",
                  tally.windows, tally.options, tally.uneven, tally.resent);
    if (pairs >= 300)
        assert_true(tally.accepted > 100 && tally.undone > 100 && tally.refused > 100 &&
                    tally.beyond > 100 && tally.windows > 10 && tally.options > 50 &&
                    tally.uneven > 50 && tally.resent > 20);
}

/* Each with what is wrong in the message. */
static void what_no_plan_holds_is_refused(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_delta *delta;
    struct hypar_error err;
    int device[4] = { 0, 1, 2, 3 }, beyond[4] = { 0, 1, 2, 4 };
    double step_s;
    assert_int_equal(hypar_import(&graph, "lenet5", NULL, NULL), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&machine, "full:4", NULL), HYPAR_OK);
    struct hypar_plan *plan = hypar_plan_new(graph, machine, NULL);
    int n_ops = hypar_graph_info(graph).n_ops, fc = hypar_graph_find_op(graph, "fc1");
    plan->ops[fc].resend = true;
    assert_int_equal(hypar_delta_begin(&delta, plan, NULL, &err), HYPAR_OK);
    struct hypar_split ok = { .op = 1, .degree = { 4 }, .device = device };
    const struct {
        struct hypar_split split[2];
        int n;
        const char *why;
    } cases[] = {
        { { { .op = -1 } }, 1, "operator -1" },
        { { { .op = n_ops } }, 1, "operator" },
        { { { .op = 1, .degree = { -2 } } }, 1, "degree" },
        { { { .op = 1, .degree = { 8 } } }, 1, "8 parts for 4 devices" },
        { { { .op = 1, .degree = { 4 }, .device = beyond } }, 1, "device 4" },
        { { ok, ok }, 2, "named twice" },
        { { { .op = fc, .degree = { [2] = 2 } } }, 1, "axis 'c' leaves sums to be added up" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            hypar_delta_propose(delta, cases[i].split, cases[i].n, 0, &step_s, &err),
            HYPAR_INFEASIBLE);
        if (!strstr(err.text, cases[i].why))
            fail_msg("'%s', expected '%s'", err.text, cases[i].why);
    }
    assert_int_equal(hypar_delta_propose(delta, NULL, 0, 0, &step_s, &err), HYPAR_OK);
    assert_true(step_s == hypar_delta_step_s(delta)); /* of nothing */
    assert_int_equal(hypar_delta_propose(delta, &ok, 1, 0, &step_s, &err), HYPAR_OK);
    hypar_delta_accept(delta);
    assert_int_equal(hypar_plan_op(hypar_delta_plan(delta), 1).n_parts, 4);
    assert_int_equal(hypar_plan_op(plan, 1).n_parts, 1); /* the caller's stays as it was */
    hypar_delta_free(delta);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* A plan says how it is simulated; options that are given say it alone, as they do to
 * hypar_simulate(). What that refuses is refused. */
static void options_are_those_of_full_simulation(void **state)
{
    (void)state;
    static const struct hypar_simulation planned[] = {
        { .framework.waits = { true, true, true, true, true } },
        { .all_reduce = "ring" },
        { .framework.bucket_bytes = 1e6 },
        { .expand_collectives = true },
        { .framework.waits = { true, true, true, true, true }, .expand_collectives = true },
    };
    static const struct hypar_sim_options given[] = {
        { .lower.bucket_bytes = 0 }, { .no_overlap = true },         { .all_reduce = "tree" },
        { .half_duplex = true },     { .expand_collectives = true },
    };
    struct hypar_layout dp = { .data = 4 };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    int refused = 0;
    assert_int_equal(hypar_import(&graph, "lenet5", NULL, NULL), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&machine, "htree:4", NULL), HYPAR_OK);
    struct hypar_plan *plan = hypar_plan_new(graph, machine, NULL);
    assert_int_equal(hypar_plan_set_layout(plan, &dp, NULL), HYPAR_OK);
    for (size_t p = 0; p < sizeof planned / sizeof *planned; p++)
        for (size_t g = 0; g <= sizeof given / sizeof *given; g++) {
            const struct hypar_sim_options *options = g ? &given[g - 1] : NULL;
            struct hypar_delta *delta;
            struct hypar_sim *sim;
            plan->simulation = planned[p];
            enum hypar_status status = hypar_simulate(&sim, plan, options, NULL);
            assert_int_equal(hypar_delta_begin(&delta, plan, options, NULL), status);
            refused += status == HYPAR_USAGE;
            if (status == HYPAR_OK)
                assert_true(hypar_delta_step_s(delta) == hypar_sim_summary(sim).step_s);
            hypar_delta_free(delta);
            hypar_sim_free(sim);
        }
    assert_int_equal(refused, 1);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_those_of_full_simulation),
        cmocka_unit_test(what_no_plan_holds_is_refused),
        cmocka_unit_test(options_are_those_of_full_simulation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
