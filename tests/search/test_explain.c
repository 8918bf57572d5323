/* An explanation agrees with simulations: of every changed machine and plan, and of every
 * operator that is split differently, on random plans.
 *
 *     HYPAR_EXPLAIN_PLANS   how many random plans (250; 80 in the short form)
 *     HYPAR_EXPLAIN_SEED    the first seed (1)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/explain.h>

#include "machine/machine.h"
#include "search/mcmc/propose.h"
#include "tests/length.h"
#include "tests/random_plan.h"
#include "tests/scratch_file.h"
#include "tests/simulated.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const words[] = {
    "full:4",    "cluster:2x2,inter=1GB/s",
    "torus:2x3", "mesh:3x2,bandwidth=1MB/s,latency=100us",
    "htree:8",   "cluster:1x2,device=h100+cluster:2x2,device=a100",
    "full:1",
};

static const struct hypar_sim_options settings[] = {
    { .one_class = false },
    { .expand_collectives = true },
    { .no_overlap = true },
    { .lower = { .bucket_bytes = 1e4 } },
};

struct tally {
    int64_t plans, what_ifs, machines, alternatives, differences;
};

static struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return machine;
}

/* A machine as a file says it. */
static struct hypar_machine *read_back(const struct hypar_machine *machine)
{
    char *text;
    size_t n;
    FILE *file = open_memstream(&text, &n);
    hypar_machine_write(machine, file);
    fclose(file);
    struct hypar_machine *same = machine_of(scratch_file(0, text, n));
    free(text);
    return same;
}

/* What became of the figures of a machine: the factor that all of some kind have, or -1 if it
 * is not one. */
struct factors {
    double links, fp32, memory, memory_rate, fp32_j, dram_j, power_limit;
};

static void note_factor(double *factor, double now, double was)
{
    double f = now / was;
    if (now == 0 && was == 0)
        return; /* not known */
    *factor = *factor == 0 || *factor == f ? f : -1;
}

static struct factors factors_of(const struct hypar_machine *now,
                                 const struct hypar_machine *was)
{
    struct factors f = { 0 };
    assert_int_equal(hypar_machine_device_count(now), hypar_machine_device_count(was));
    assert_int_equal(hypar_machine_link_count(now), hypar_machine_link_count(was));
    for (int d = 0; d < hypar_machine_device_count(was); d++) {
        const struct hypar_device *x = hypar_machine_device(now, d),
                                  *y = hypar_machine_device(was, d);
        note_factor(&f.fp32, x->fp32_op_per_s, y->fp32_op_per_s);
        note_factor(&f.memory, (double)x->memory_bytes, (double)y->memory_bytes);
        note_factor(&f.memory_rate, x->memory_bytes_per_s, y->memory_bytes_per_s);
        note_factor(&f.fp32_j, x->fp32_op_j, y->fp32_op_j);
        note_factor(&f.dram_j, x->dram_access_j, y->dram_access_j);
        note_factor(&f.power_limit, x->power_limit_w, y->power_limit_w);
    }
    for (int l = 0; l < hypar_machine_link_count(was); l++)
        note_factor(&f.links, hypar_machine_link(now, l).bytes_per_s,
                    hypar_machine_link(was, l).bytes_per_s);
    return f;
}

/* Is it the expected factor? 0: the figure is not known. */
static bool is_factor(double factor, double expected)
{
    return factor == expected || factor == 0;
}

/* Rows that say what is twice as fast. */
static void check_figures(const struct hypar_what_if *w, const struct hypar_machine *was)
{
    static const struct {
        const char *what;
        struct factors factors;
    } rows[] = {
        { "links twice as fast", { 2, 1, 1, 1, 1, 1, 1 } },
        { "links inside nodes twice as fast", { -1, 1, 1, 1, 1, 1, 1 } },
        { "links between nodes twice as fast", { -1, 1, 1, 1, 1, 1, 1 } },
        { "arithmetic twice as fast", { 1, 2, 1, 1, 0.5, 1, 1 } },
        { "devices' memory twice as fast", { 1, 1, 1, 2, 1, 0.5, 1 } },
        { "devices twice as fast", { 1, 2, 1, 2, 0.5, 0.5, 1 } },
        { "power limit twice as high", { 1, 1, 1, 1, 1, 1, 2 } },
        { "twice the memory", { 1, 1, 2, 1, 1, 1, 1 } },
    };
    struct factors f = factors_of(hypar_plan_machine(w->plan), was);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct factors *expected = &rows[i].factors;
        if (strcmp(w->what, rows[i].what) != 0)
            continue;
        if (f.links != 0 && expected->links > 0)
            assert_true(f.links == expected->links);
        assert_true(f.fp32 == expected->fp32 && f.memory == expected->memory &&
                    f.memory_rate == expected->memory_rate &&
                    is_factor(f.power_limit, expected->power_limit) &&
                    is_factor(f.fp32_j, expected->fp32_j) &&
                    is_factor(f.dram_j, expected->dram_j));
    }
}

/* The step of `plan` on what a file says of the changed machine. */
static double step_on_written(const struct hypar_plan *plan, const struct hypar_machine *on,
                              const struct hypar_sim_options *how)
{
    struct hypar_machine *machine = read_back(on);
    struct hypar_plan_settings said = hypar_plan_settings(plan);
    struct hypar_plan *carried = hp_plan_carry(plan, machine, NULL, &said);
    double step_s = summary_of(carried, how).step_s;
    hypar_plan_free(carried);
    hypar_machine_free(machine);
    return step_s;
}

static void check_what_ifs(uint64_t seed, const struct hypar_explanation *e,
                           const struct hypar_plan *plan, const struct hypar_sim_options *how,
                           struct tally *tally)
{
    const struct hypar_what_if *w;
    double before_s = 0;
    for (int i = 0; (w = hypar_explained_what_if(e, i)); i++) {
        if (!w->plan) {
            assert_non_null(w->why_not);
            continue;
        }
        bool machine = w->plan->machine != plan->machine;
        double step_s = machine ? step_on_written(w->plan, w->plan->machine, how)
                                : summary_of(w->plan, how).step_s;
        if (w->step_s != step_s)
            fail_msg("seed %llu: %s: %.17g s, simulated %.17g s", (unsigned long long)seed,
                     w->what, w->step_s, step_s);
        if (machine)
            check_figures(w, plan->machine);
        assert_true(w->why_not || w->step_s >= before_s);
        before_s = w->why_not ? before_s : w->step_s;
        tally->what_ifs++;
        tally->machines += machine;
    }
}

static void check_alternatives(uint64_t seed, const struct hypar_explanation *e,
                               const struct hypar_plan *before,
                               const struct hypar_sim_options *how, struct tally *tally)
{
    const struct hypar_explained_op *op;
    double before_s = -1;
    int n = 0;
    for (int i = 0; (op = hypar_explained_op(e, i)); i++) {
        n++;
        assert_true(before_s < 0 || op->path_s <= before_s);
        before_s = op->path_s;
        for (int k = 0; k < op->n_alternatives; k++) {
            struct hypar_plan *plan = hypar_explained_alternative(e, i, k);
            if (before->ops[op->op].n_devices == 1)
                assert_string_not_equal(op->alternative[k].what, "whole");
            double step_s = summary_of(plan, how).step_s;
            if (op->alternative[k].step_s != step_s)
                fail_msg("seed %llu: operator %d as %s: %.17g s, simulated %.17g s",
                         (unsigned long long)seed, op->op, op->alternative[k].what,
                         op->alternative[k].step_s, step_s);
            hypar_plan_free(plan);
            tally->alternatives++;
        }
        assert_null(hypar_explained_alternative(e, i, op->n_alternatives));
        assert_null(hypar_explained_alternative(e, i, -1));
    }
    assert_null(hypar_explained_alternative(e, n, 0));
    assert_null(hypar_explained_alternative(e, -1, 0));
}

/* One operator is otherwise: that is the difference, and its step is the other plan's. */
static void check_differences(uint64_t seed, const struct hypar_plan *a,
                              const struct hypar_sim_options *how, struct tally *tally)
{
    struct hypar_plan *b = hp_plan_copy(a);
    struct random random = { seed };
    struct proposer proposer;
    struct proposal change;
    struct hypar_differences *d;
    struct hypar_sim *sim;
    struct hypar_error err;
    hp_proposer_begin(&proposer, b, NULL);
    hp_proposal_begin(&change, b->graph);
    bool any = hp_propose(&proposer, &random, MOVE_ONE, &change);
    if (any)
        hp_proposal_apply(b, &change);
    if (hypar_simulate(&sim, b, how, &err) == HYPAR_OK) {
        double step_s = hypar_sim_summary(sim).step_s;
        hypar_sim_free(sim);
        if (hypar_plan_differences(&d, a, b, how, &err) != HYPAR_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        const struct hypar_what_if *w = hypar_difference(d, 0);
        if (!w != !any || hypar_difference(d, any) || (w && w->step_s != step_s))
            fail_msg("seed %llu: %s: %.17g s, simulated %.17g s", (unsigned long long)seed,
                     w ? w->what : "no difference", w ? w->step_s : 0, step_s);
        hypar_differences_free(d);
        tally->differences += any;
    }
    hp_proposal_end(&change);
    hp_proposer_end(&proposer);
    hypar_plan_free(b);
}

/* Settings that differ are told, with the step and the memory of the second plan. */
static void check_memory_settings(const struct hypar_plan *a,
                                  const struct hypar_sim_options *how)
{
    struct hypar_plan *b = hp_plan_copy(a);
    struct hypar_differences *d;
    struct hypar_error err;
    b->framework_bytes = a->framework_bytes + 1e9;
    b->masks = a->masks == HYPAR_MASKS_DRAWN ? HYPAR_MASKS_KEPT : HYPAR_MASKS_DRAWN;
    assert_int_equal(hypar_plan_differences(&d, a, b, how, &err), HYPAR_OK);
    int n = 0;
    for (const struct hypar_what_if *w; (w = hypar_difference(d, n)); n++) {
        bool framework = strncmp(w->what, "framework's memory: ", 20) == 0;
        assert_true(framework || strncmp(w->what, "dropout masks: ", 15) == 0);
        assert_true(w->plan->framework_bytes == (framework ? b : a)->framework_bytes);
        assert_true(w->plan->masks == (framework ? a : b)->masks);
        assert_true(w->step_s == summary_of(w->plan, how).step_s);
    }
    assert_int_equal(n, 2);
    hypar_differences_free(d);
    hypar_plan_free(b);
}

static void check_plan(uint64_t seed, const struct hypar_machine *machine, struct tally *tally)
{
    struct random random = { seed };
    struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
    struct hypar_plan *plan =
        random_plan(&random, graph, machine, &(struct plan_focus){ -1, -1, -1, seed % 7 == 0 });
    struct hypar_sim_options how =
        hypar_as_planned(plan, &settings[seed / 7 % COUNT(settings)]);
    struct hypar_explain_options options = { .simulation = &how, .ops = 3 };
    struct hypar_explanation *e;
    struct hypar_error err;
    enum hypar_status status = hypar_explain(&e, plan, &options, &err);
    if (status == HYPAR_OK) {
        check_what_ifs(seed, e, plan, &how, tally);
        check_alternatives(seed, e, plan, &how, tally);
        check_differences(seed, plan, &how, tally);
        check_memory_settings(plan, &how);
        tally->plans++;
    } else if (status != HYPAR_UNSUPPORTED) { /* samples that are mixed in micro-batches */
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    }
    hypar_explanation_free(e);
    hypar_plan_free(plan);
    hypar_graph_free(graph);
}

static void random_plans(void **state)
{
    (void)state;
    struct hypar_machine *machine[COUNT(words)];
    struct tally tally = { 0 };
    uint64_t first = number_from("HYPAR_EXPLAIN_SEED", 1);
    uint64_t plans = (uint64_t)length_of("HYPAR_EXPLAIN_PLANS", 80, 250, 250);
    for (size_t i = 0; i < COUNT(words); i++)
        machine[i] = machine_of(words[i]);
    for (uint64_t seed = first; seed < first + plans; seed++)
        check_plan(seed, machine[seed % COUNT(words)], &tally);
    for (size_t i = 0; i < COUNT(words); i++)
        hypar_machine_free(machine[i]);
    print_message("  seeds %llu to %llu: %lld plans, %lld what-ifs (%lld of machines), %lld "
                  "alternatives, %lld differences\n",
                  (unsigned long long)first, (unsigned long long)(first + plans - 1),
                  (long long)tally.plans, (long long)tally.what_ifs, (long long)tally.machines,
                  (long long)tally.alternatives, (long long)tally.differences);
    assert_true(tally.plans >= (int64_t)(plans * 4 / 5));
}

/* What the layers of a chain exchange at a level, by the terms of their choices. */
static double level_bytes(const struct hypar_partition_view *view, int level)
{
    double sum = 0;
    for (int i = 0; i < view->n_layers; i++) {
        const struct hypar_layer_terms *terms = &view->terms[level * view->n_layers + i];
        const struct hypar_type_terms *chosen =
            view->level[level][i] == '0' ? &terms->dp : &terms->mp;
        sum += chosen->own_bytes + chosen->previous_bytes;
    }
    return sum;
}

/* No layer of a level would exchange less by the other type, while the others keep theirs. */
static void check_choices(const struct hypar_partition_view *view)
{
    for (int i = 0; i < view->n_levels * view->n_layers; i++) {
        const struct hypar_type_terms *dp = &view->terms[i].dp, *mp = &view->terms[i].mp;
        double dp_bytes = dp->own_bytes + dp->previous_bytes + dp->next_bytes;
        double mp_bytes = mp->own_bytes + mp->previous_bytes + mp->next_bytes;
        if (view->level[i / view->n_layers][i % view->n_layers] == '0')
            assert_true(dp_bytes <= mp_bytes);
        else
            assert_true(mp_bytes <= dp_bytes);
    }
}

/* HyPar's terms add up to what its search counts, and each choice is the less of the two. Other
 * planners' plans and plans that were changed have none. */
static void terms_of_hypar(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("htree:16");
    struct hypar_graph *graph;
    struct hypar_found *found;
    struct hypar_explanation *e;
    const struct hypar_explain_options few = { .ops = -1 };
    static const char *const planner[] = { "hypar", "dp" };
    assert_int_equal(hypar_import(&graph, "alexnet", NULL, NULL), HYPAR_OK);
    for (size_t i = 0; i < COUNT(planner); i++) {
        const struct hypar_search_options options = { .planner = planner[i] };
        assert_int_equal(hypar_search(&found, graph, machine, &options, NULL), HYPAR_OK);
        assert_int_equal(hypar_explain(&e, hypar_found_plan(found), &few, NULL), HYPAR_OK);
        const struct hypar_partition_view *view = hypar_explanation_info(e).partition;
        const struct hypar_partition_view *counted = hypar_found_partition(found);
        if (i > 0)
            assert_null(view);
        for (int h = 0; i == 0 && h < counted->n_levels; h++)
            expect_near("bytes of a level", level_bytes(view, h),
                        8 * counted->level_elements[h] * (1 << h), 1e-12);
        if (i == 0)
            check_choices(view);
        hypar_explanation_free(e);
        hypar_found_free(found);
    }
    hypar_graph_free(graph);
    hypar_machine_free(machine);
}

/* Two stages on links of 1 MB/s: what the first one sends, and its gradient, take nearly all of
 * the step. Its last addition makes it, which follows h.0.mlp.c_proj; the embedding at the
 * beginning of the residual stream has nothing of it. */
static void transfers_between_stages(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("full:2,bandwidth=1MB/s,latency=0");
    struct hypar_graph *graph;
    struct hypar_explanation *e;
    assert_int_equal(
        hypar_import(&graph, "gpt:layers=2,hidden=8,heads=2,seq=4,vocab=8", NULL, NULL),
        HYPAR_OK);
    struct hypar_plan *plan = hypar_plan_new(graph, machine, NULL);
    assert_int_equal(hypar_plan_set_layout(plan, &(struct hypar_layout){ .pipeline = 2 }, NULL),
                     HYPAR_OK);
    assert_int_equal(hypar_explain(&e, plan, NULL, NULL), HYPAR_OK);
    const struct hypar_explained_op *first = hypar_explained_op(e, 0), *op;
    double sent_bytes = 32 * 4 * 8 * 4, sent_s = 2 * sent_bytes / 1e6;
    assert_string_equal(graph->ops[first->op].name, "h.0.mlp.c_proj");
    assert_true(first->path_s >= sent_s && first->path_s < 1.01 * sent_s);
    for (int i = 1; (op = hypar_explained_op(e, i)); i++)
        assert_true(op->path_s < 0.1 * sent_s);
    hypar_explanation_free(e);
    hypar_plan_free(plan);
    hypar_graph_free(graph);
    hypar_machine_free(machine);
}

static const struct hypar_what_if *what_if(const struct hypar_explanation *e, const char *what)
{
    const struct hypar_what_if *w = hypar_explained_what_if(e, 0);
    for (int i = 1; w && strcmp(w->what, what) != 0; i++)
        w = hypar_explained_what_if(e, i);
    return w;
}

/* Twice the memory is twice the limit that the plan was searched under. */
static void limit_of_the_search(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("full:2");
    struct hypar_graph *graph;
    struct hypar_explanation *e;
    assert_int_equal(hypar_import(&graph, "mlp:8-6-4", NULL, NULL), HYPAR_OK);
    struct hypar_plan *plan =
        hypar_plan_new(graph, machine, &(struct hypar_search_options){ .memory_bytes = 1e9 });
    assert_int_equal(hypar_explain(&e, plan, NULL, NULL), HYPAR_OK);
    const struct hypar_what_if *w = what_if(e, "twice the memory");
    assert_non_null(w);
    assert_true(w->limit_bytes == 2e9 && w->fits);
    hypar_explanation_free(e);
    hypar_plan_free(plan);
    hypar_graph_free(graph);
    hypar_machine_free(machine);
}

/* Hosts take longer than devices: the whole path is launches, and faster hosts would help; of a
 * step that does not wait for them, they are no row. Captured launches take the framework's own
 * time for layers and slots away, too. */
static void steps_that_wait_for_hosts(void **state)
{
    (void)state;
    static const char half[] = "hosts twice as fast",
                      captured[] = "launches captured (CUDA graphs)";
    struct hypar_machine *machine = machine_of("full:2,device=h100");
    struct hypar_graph *graph;
    assert_int_equal(hypar_import(&graph, "mlp:64-64-64-8", NULL, NULL), HYPAR_OK);
    for (int waits = 0; waits < 2; waits++) {
        struct hypar_sim_options how = { .framework = { .kernels = waits ? HYPAR_KERNELS_EAGER
                                                                         : HYPAR_KERNELS_NONE,
                                                        .layer_s = waits ? 1e-3 : 0,
                                                        .slot_s = waits ? 1e-3 : 0 },
                                         .framework_given = true };
        struct hypar_plan *plan = hypar_plan_new(
            graph, machine, &(struct hypar_search_options){ .simulation = &how });
        struct hypar_explanation *e;
        assert_int_equal(hypar_explain(&e, plan,
                                       &(struct hypar_explain_options){ .simulation = &how },
                                       NULL),
                         HYPAR_OK);
        double step_s = summary_of(plan, &how).step_s;
        struct hypar_sim_segment s;
        assert_true(hypar_sim_segment(hypar_explanation_info(e).sim, 0, &s));
        assert_true((s.kind == HYPAR_SEGMENT_LAUNCH && s.end_s == step_s) == waits);
        assert_true(!what_if(e, half) == !waits && !what_if(e, captured) == !waits);
        if (waits) {
            expect_near(half, what_if(e, half)->step_s, step_s / 2, 1e-6);
            assert_true(what_if(e, captured)->step_s < 1e-3);
            expect_near(captured, summary_of(what_if(e, captured)->plan, NULL).step_s,
                        what_if(e, captured)->step_s, 1e-12);
        }
        hypar_explanation_free(e);
        hypar_plan_free(plan);
    }
    hypar_graph_free(graph);
    hypar_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans),
        cmocka_unit_test(terms_of_hypar),
        cmocka_unit_test(transfers_between_stages),
        cmocka_unit_test(limit_of_the_search),
        cmocka_unit_test(steps_that_wait_for_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
