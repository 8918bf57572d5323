/* Options that not every planner takes: each is honoured or refused, by every planner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/hypar.h>

#include "search/planner.h"

struct task {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
};

static struct task task(const char *model, const char *machine, int64_t batch)
{
    struct task t;
    struct hypar_error err;
    struct hypar_import_options how = { .batch = batch };
    if (hypar_import(&t.graph, model, &how, &err) ||
        hypar_machine_read(&t.machine, machine, &err))
        fail_msg("%s", err.text);
    return t;
}

static void release(struct task *t)
{
    hypar_graph_free(t->graph);
    hypar_machine_free(t->machine);
}

static const char *const one_fix[] = { "fc1:n=2" };
static const struct hypar_sim_options minibatches = { .lower.minibatches = 3 };

/* One of each. */
static const struct {
    unsigned bit;
    struct hypar_search_options options;
} rows[] = {
    { TAKES_JOINT, { .joint = true } },
    { TAKES_OBJECTIVE, { .objective = HYPAR_COMM } },
    { TAKES_OBJECTIVE, { .objective_given = true } },
    { TAKES_RECURRENCE, { .recurrence_given = true } },
    { TAKES_STRAIGHT, { .straight = true } },
    { TAKES_USE_FEWER, { .use_fewer = true } },
    { TAKES_FREE_TRANSFERS, { .free_transfers = true } },
    { TAKES_VERTICAL_SYNC, { .vertical_sync = true } },
    { TAKES_STAGES, { .stages = 2 } },
    { TAKES_MICRO_BATCHES, { .micro_batches = 2 } },
    { TAKES_DATA, { .layout.data = 2 } },
    { TAKES_TENSOR, { .layout.tensor = 2 } },
    { TAKES_PIPELINE, { .layout.pipeline = 2 } },
    { TAKES_CHUNKS, { .layout.chunks = 1 } },
    { TAKES_SCHEDULE, { .layout.schedule = HYPAR_SCHEDULE_GPIPE } },
    { TAKES_SEQUENCE_PARALLEL, { .layout.sequence_parallel = true } },
    { TAKES_MAX_TENSOR, { .max_tensor = 2 } },
    { TAKES_MAX_PIPELINE, { .max_pipeline = 2 } },
    { TAKES_AXES, { .axes = "nk" } },
    { TAKES_SYNC, { .sync_given = true } },
    { TAKES_FIX, { .fix = one_fix, .n_fix = 1 } },
    { TAKES_BUDGET, { .budget_s = 0.01 } },
    { TAKES_PROPOSALS, { .proposals = 4 } },
    { TAKES_MINIBATCHES, { .simulation = &minibatches } },
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* All bits but that of a plan to begin with have a row here. */
static void all_are_tried(void **state)
{
    (void)state;
    unsigned seen = TAKES_START;
    for (int i = 0; i < N_ROWS; i++) {
        assert_int_equal(hp_options_given(&rows[i].options), rows[i].bit);
        seen |= rows[i].bit;
    }
    assert_int_equal(seen, 2 * (unsigned)TAKES_MINIBATCHES - 1);
}

/* A planner whose row has the option makes something of it; any other says so in one line. */
static void honoured_or_refused(void **state)
{
    (void)state;
    struct task t = task("mlp:16-8-8-4", "full:4", 16);
    for (int i = 0; i < N_ROWS; i++)
        for (int p = 0; hp_planners[p]; p++) {
            struct hypar_search_options options = rows[i].options;
            struct hypar_error err = { "" };
            struct hypar_found *found;
            const char *name = options.planner = hp_planners[p]->info.name;
            enum hypar_status status = hypar_search(&found, t.graph, t.machine, &options, &err);
            print_message("%s %s\n", name, err.text);
            if (!hp_planners[p]->random_search && !(hp_planners[p]->takes & rows[i].bit)) {
                assert_int_equal(status, HYPAR_USAGE);
                assert_non_null(strstr(err.text, " is for planner"));
            } else if (status == HYPAR_USAGE) { /* auto, where no planner that it tries can */
                assert_true(hp_planners[p]->random_search);
            }
            hypar_keep_options(&options, name);
            if (status == HYPAR_USAGE)
                assert_int_equal(hp_options_given(&options) & ~(unsigned)TAKES_MINIBATCHES, 0);
            hypar_found_free(found);
        }
    release(&t);
}

/* Auto tries those that take it, and says so. */
static void auto_keeps_to_those_that_take_it(void **state)
{
    (void)state;
    struct task t = task("mlp:16-8-8-4", "full:4", 16);
    struct hypar_search_options options = { .stages = 2, .objective = HYPAR_ENERGY };
    struct hypar_found *found;
    assert_int_equal(hypar_search(&found, t.graph, t.machine, &options, NULL), HYPAR_OK);
    struct hypar_search_info info = hypar_found_info(found);
    assert_string_equal(info.restricted, "--stages");
    assert_true(hp_find_planner(info.planner)->takes & TAKES_STAGES);
    for (int i = 0; i < info.n_others; i++)
        assert_true(hp_find_planner(info.other[i].planner)->takes & TAKES_STAGES);
    assert_int_equal(hypar_plan_stage_count(hypar_found_plan(found)), 2);
    hypar_found_free(found);
    release(&t);
}

/* Every planner that takes micro-batches has so many; without stages gradients add up, and the
 * step is that of as many smaller ones. */
static void micro_batches_are_kept(void **state)
{
    (void)state;
    static const struct hypar_sim_options simulation;
    struct task t = task("mlp:16-8-8-4", "full:4", 64);
    for (int p = 0; hp_planners[p]; p++) {
        struct hypar_search_options options = { .planner = hp_planners[p]->info.name,
                                                .micro_batches = 8,
                                                .simulation = &simulation };
        struct hypar_found *found;
        if (!hp_planners[p]->random_search && !(hp_planners[p]->takes & TAKES_MICRO_BATCHES))
            continue;
        assert_int_equal(hypar_search(&found, t.graph, t.machine, &options, NULL), HYPAR_OK);
        const struct hypar_plan *plan = hypar_found_plan(found);
        assert_int_equal(hypar_plan_schedule(plan).micro_batches, 8);
        if (hypar_plan_stage_count(plan) == 0)
            assert_int_equal(hypar_plan_schedule(plan).kind, HYPAR_SCHEDULE_NONE);
        hypar_found_free(found);
    }
    release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_tried),
        cmocka_unit_test(honoured_or_refused),
        cmocka_unit_test(auto_keeps_to_those_that_take_it),
        cmocka_unit_test(micro_batches_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
