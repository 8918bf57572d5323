/* Options that not every planner takes: every planner applies or refuses each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/hypar.h>

#include "plan/threed/threed.h"
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
static const char *const own_option[] = { "beam=8" };
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
    { TAKES_PLANNER_OPTION, { .planner_option = own_option, .n_planner_options = 1 } },
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
    for (int i = 0; i < 32; i++) {
        char text[64];
        unsigned bit = 1u << i;
        if (hp_options_text(text, sizeof text, bit)[0] && !(seen & bit))
            fail_msg("%s has no row: add one to rows in tests/search/test_options.c", text);
    }
}

/* A planner whose row has the option makes something of it; any other says so in one line. */
static void honoured_or_refused(void **state)
{
    (void)state;
    struct task t = task("mlp:16-8-8-4", "full:4", 16);
    for (int i = 0; i < N_ROWS; i++)
        for (int p = 0; hp_planner_at(p); p++) {
            struct hypar_search_options options = rows[i].options;
            struct hypar_error err = { 0 };
            struct hypar_found *found;
            const char *name = options.planner = hp_planner_at(p)->info.name;
            enum hypar_status status = hypar_search(&found, t.graph, t.machine, &options, &err);
            print_message("%s %s\n", name, err.text);
            if (!hp_planner_at(p)->random_search && !(hp_planner_at(p)->takes & rows[i].bit)) {
                assert_int_equal(status, HYPAR_USAGE);
                assert_non_null(strstr(err.text, " is for planner"));
            } else if (status == HYPAR_USAGE) { /* auto, where no planner that it tries can */
                assert_true(hp_planner_at(p)->random_search);
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
    for (int p = 0; hp_planner_at(p); p++) {
        struct hypar_search_options options = { .planner = hp_planner_at(p)->info.name,
                                                .micro_batches = 8,
                                                .simulation = &simulation };
        struct hypar_found *found;
        if (!hp_planner_at(p)->random_search &&
            !(hp_planner_at(p)->takes & TAKES_MICRO_BATCHES))
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

/* Seen in the plan --------------------------------------------------------------------------
 */

/* How many parts an operator has beside those of samples. */
static int other_parts(const struct hypar_plan *plan, int op, bool copies)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    int parts = 1;
    for (int a = 0; a < nest->n_axes; a++)
        if (a != hp_sample_axis(nest) && (nest->axis[a].role == HYPAR_COPY) == copies)
            parts *= hp_degree(&plan->ops[op].split, a);
    return parts;
}

static bool has_schedule(const struct hypar_plan *plan)
{
    return hypar_plan_schedule(plan).kind == HYPAR_SCHEDULE_GPIPE;
}

static bool has_stages(const struct hypar_plan *plan)
{
    return hypar_plan_stage_count(plan) == 3;
}

static bool has_micro_batches(const struct hypar_plan *plan)
{
    return hypar_plan_schedule(plan).micro_batches == 2;
}

static bool has_few_groups(const struct hypar_plan *plan)
{
    int groups = 0;
    for (int s = 0; s < plan->n_stages; s++) {
        bool seen = false;
        for (int i = 0; i < s; i++)
            seen |= plan->stages[i].device[0] == plan->stages[s].device[0];
        groups += !seen;
    }
    return groups <= 2;
}

static bool has_few_parts(const struct hypar_plan *plan)
{
    for (int op = 0; op < plan->graph->n_ops; op++)
        if (other_parts(plan, op, false) > 2)
            return false;
    return true;
}

/* What an expert divides by sequence is not copied. */
static bool is_by_sequence(const struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    struct tensor_axes axes;
    struct hypar_layout layout = { .tensor = 2, .sequence_parallel = true };
    bool good = true;
    assert_int_equal(hp_tensor_axes(&scratch, plan->graph, &layout, NULL, &axes, NULL),
                     HYPAR_OK);
    for (int op = 0; op < plan->graph->n_ops; op++) {
        int t = hp_nest_axis(plan->graph->ops[op].nest, 't');
        bool between = axes.op[op].region < 0 && t >= 0 && axes.op[op].axis == t;
        good &= !between || other_parts(plan, op, true) == 1;
    }
    hp_arena_free(&scratch);
    return good;
}

/* All that the word marks, unless it is another's training. */
static bool recomputes(const struct hypar_plan *plan)
{
    struct hypar_plan *all = hp_plan_copy(plan);
    bool same = true;
    hp_plan_set_recompute(all, HYPAR_RECOMPUTE_FULL);
    for (int op = 0; op < plan->graph->n_ops; op++)
        same &= plan->ops[op].recompute == all->ops[op].recompute;
    hypar_plan_free(all);
    return same;
}

static bool recomputes_nothing(const struct hypar_plan *plan)
{
    for (int op = 0; op < plan->graph->n_ops; op++)
        if (plan->ops[op].recompute)
            return false;
    return true;
}

static bool shards_optimizer(const struct hypar_plan *plan)
{
    struct hypar_plan *all = hp_plan_copy(plan);
    bool same = true;
    for (int op = 0; op < plan->graph->n_ops; op++)
        all->ops[op].shard = HYPAR_SHARD_NONE;
    assert_int_equal(hypar_plan_shard_all(all, HYPAR_SHARD_OPTIMIZER, 0, NULL), HYPAR_OK);
    for (int op = 0; op < plan->graph->n_ops; op++)
        same &= plan->ops[op].shard == all->ops[op].shard;
    hypar_plan_free(all);
    return same;
}

static bool shards_nothing(const struct hypar_plan *plan)
{
    for (int op = 0; op < plan->graph->n_ops; op++)
        if (plan->ops[op].shard)
            return false;
    return true;
}

static bool is_within_memory(const struct hypar_plan *plan)
{
    return hypar_plan_check_memory(plan, 120e3, NULL) == HYPAR_OK;
}

static bool is_fixed(const struct hypar_plan *plan)
{
    int op = 0;
    while (strcmp(plan->graph->ops[op].name, "lm_head") != 0)
        op++;
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct split *split = &plan->ops[op].split;
    return hp_degree(split, hp_sample_axis(nest)) == 2 &&
           hp_degree(split, hp_nest_axis(nest, 'k')) == 2 && hp_part_count(nest, split) == 4;
}

static const char *const fixed_head[] = { "lm_head:n=2,k=2" };

static const struct {
    const char *name;
    struct hypar_search_options options;
    bool (*seen)(const struct hypar_plan *plan);
    unsigned bit; /* of planners that take it; 0: all do */
} seen_rows[] = {
    { "--memory", { .memory_bytes = 120e3 }, is_within_memory, 0 },
    { "--recompute full",
      { .recompute = HYPAR_RECOMPUTE_FULL, .recompute_given = true },
      recomputes,
      0 },
    { "--recompute none", { .recompute_given = true }, recomputes_nothing, 0 },
    { "--shard optimizer",
      { .shard = HYPAR_SHARD_OPTIMIZER, .shard_given = true },
      shards_optimizer,
      0 },
    { "--shard none", { .shard_given = true }, shards_nothing, 0 },
    { "--stages", { .stages = 3 }, has_stages, TAKES_STAGES },
    { "--micro-batches", { .micro_batches = 2 }, has_micro_batches, TAKES_MICRO_BATCHES },
    { "--schedule", { .layout.schedule = HYPAR_SCHEDULE_GPIPE }, has_schedule, TAKES_SCHEDULE },
    { "--sequence-parallel",
      { .layout.sequence_parallel = true },
      is_by_sequence,
      TAKES_SEQUENCE_PARALLEL },
    { "--max-tensor", { .max_tensor = 2 }, has_few_parts, TAKES_MAX_TENSOR },
    { "--max-pipeline", { .max_pipeline = 2 }, has_few_groups, TAKES_MAX_PIPELINE },
    { "--fix", { .fix = fixed_head, .n_fix = 1 }, is_fixed, TAKES_FIX },
};

/* Whatever a planner is asked for is so in its plan, or it says why it has none; there are
 * plans with all that it takes, if there are samples enough. */
static void look_at_plans(int64_t batch)
{
    struct task t =
        task("llama:layers=3,hidden=32,heads=4,ffn=64,seq=8,vocab=64", "full:4", batch);
    for (size_t i = 0; i < sizeof seen_rows / sizeof *seen_rows; i++)
        for (int p = 0; hp_planner_at(p); p++) {
            const struct planner *planner = hp_planner_at(p);
            struct hypar_search_options options = seen_rows[i].options;
            struct hypar_error err = { 0 };
            struct hypar_found *found;
            options.planner = planner->info.name;
            if (planner->takes & TAKES_BUDGET)
                options.budget_s = 0.05;
            enum hypar_status status = hypar_search(&found, t.graph, t.machine, &options, &err);
            bool has = status == HYPAR_OK;
            print_message("%s %s %s\n", seen_rows[i].name, planner->info.name, err.text);
            assert_true(has || strlen(err.text) > 0);
            if (has && !seen_rows[i].seen(hypar_found_plan(found)))
                fail_msg("%s: planner %s drops it", seen_rows[i].name, planner->info.name);
            if (batch > 4 && !planner->info.small_only && (seen_rows[i].bit & planner->takes))
                assert_true(has);
            hypar_found_free(found);
        }
    release(&t);
}

static void seen_in_the_plan(void **state)
{
    (void)state;
    look_at_plans(8);
    look_at_plans(2); /* layers have to be divided */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_tried),
        cmocka_unit_test(honoured_or_refused),
        cmocka_unit_test(auto_keeps_to_those_that_take_it),
        cmocka_unit_test(micro_batches_are_kept),
        cmocka_unit_test(seen_in_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
