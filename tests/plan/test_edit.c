/* Plans made and changed through the public header. */
#include "tests/plan/plans.h"

#include <hypar/program.h>
#include <hypar/search.h>
#include <limits.h>

struct study {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
};

static struct study study(const char *model, const char *machine)
{
    struct study t;
    assert_int_equal(hypar_import(&t.graph, model, NULL, NULL), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&t.machine, machine, NULL), HYPAR_OK);
    t.plan = hypar_plan_new(t.graph, t.machine, NULL);
    return t;
}

static void release(struct study *t)
{
    hypar_plan_free(t->plan);
    hypar_machine_free(t->machine);
    hypar_graph_free(t->graph);
}

static void expect_ok(enum hypar_status status, const struct hypar_error *err)
{
    if (status != HYPAR_OK)
        fail_msg("%s", err->text);
}

/* Refused with this in the reason, and nothing changed. */
static void expect_refused(const struct study *t, const char *before, enum hypar_status status,
                           const struct hypar_error *err, const char *why)
{
    assert_int_equal(status, HYPAR_INFEASIBLE);
    if (!strstr(err->text, why))
        fail_msg("'%s', expected '%s'", err->text, why);
    char *now = plan_text(t->plan);
    assert_string_equal(now, before);
    free(now);
}

static void settings_are_those_of_a_search(void **state)
{
    (void)state;
    struct study t = study("lenet5", "full:4");
    struct hypar_search_options options = { .precision = HYPAR_BF16,
                                            .optimizer = HYPAR_ADAM,
                                            .seed = 7,
                                            .recompute = HYPAR_RECOMPUTE_NONE };
    struct hypar_plan *plan = hypar_plan_new(t.graph, t.machine, &options);
    assert_int_equal(hypar_plan_settings(plan).precision, HYPAR_BF16);
    assert_int_equal(hypar_plan_settings(plan).optimizer, HYPAR_ADAM);
    assert_int_equal(hypar_plan_settings(plan).seed, 7);
    assert_int_equal(hypar_plan_check(plan, NULL), HYPAR_OK);
    hypar_plan_free(plan);
    release(&t);
}

static void an_operator_is_split_and_read_back(void **state)
{
    (void)state;
    struct study t = study("lenet5", "full:4");
    struct hypar_error err;
    int op = hypar_graph_find_op(t.graph, "conv1"), device[] = { 3, 1 };
    int64_t batch = hypar_graph_info(t.graph).batch, sizes[] = { batch - 3, 3 };
    struct hypar_split split = { .op = op, .degree = { 2 }, .device = device };
    split.sizes[0] = sizes;
    expect_ok(hypar_plan_set_op(t.plan, &split, &err), &err);
    assert_int_equal(hypar_plan_op(t.plan, op).n_parts, 2);
    assert_int_equal(hypar_plan_part_size(t.plan, op, 0, 1), 3);
    assert_int_equal(hypar_plan_op(t.plan, op).device[0], 3);

    struct hypar_split now = hypar_plan_split(t.plan, op);
    assert_int_equal(now.degree[0], 2);
    assert_int_equal(now.sizes[0][0], batch - 3);
    assert_int_equal(now.device[1], 1);
    now.op = hypar_graph_find_op(t.graph, "tanh1"); /* another one as this one is */
    expect_ok(hypar_plan_set_op(t.plan, &now, &err), &err);
    expect_ok(hypar_plan_set_op(t.plan, &now, &err), &err); /* and once more */
    assert_int_equal(hypar_plan_op(t.plan, now.op).device[0], 3);
    expect_ok(hypar_plan_check(t.plan, &err), &err);

    struct hypar_plan *copy = hypar_plan_copy(t.plan);
    char *a = plan_text(t.plan), *b = plan_text(copy);
    assert_string_equal(a, b);
    free(b);
    hypar_plan_free(copy);

    device[0] = 9;
    expect_refused(&t, a, hypar_plan_set_op(t.plan, &split, &err), &err, "device 9");
    split.device = NULL;
    sizes[0]++;
    expect_refused(&t, a, hypar_plan_set_op(t.plan, &split, &err), &err, "sizes sum to");
    split.sizes[0] = NULL;
    split.degree[0] = 5;
    expect_refused(&t, a, hypar_plan_set_op(t.plan, &split, &err), &err,
                   "5 parts for 4 devices");
    split.op = -1;
    expect_refused(&t, a, hypar_plan_set_op(t.plan, &split, &err), &err, "operator -1");
    free(a);
    release(&t);
}

/* Two stages of half the operators each, on two devices each. */
static void stages_and_schedule(void **state)
{
    (void)state;
    struct study t = study("lenet5", "full:4");
    struct hypar_error err;
    int op[256], device[] = { 0, 1, 2, 3 }, n = hypar_graph_info(t.graph).n_ops;
    for (int i = 0; i < n; i++)
        op[i] = i;
    struct hypar_stage stage[] = {
        { .n_ops = n / 2, .op = op, .n_devices = 2, .device = device, .replicas = 1 },
        { .n_ops = n - n / 2,
          .op = op + n / 2,
          .n_devices = 2,
          .device = device + 2,
          .replicas = 1 },
    };
    struct hypar_schedule schedule = { .kind = HYPAR_SCHEDULE_1F1B, .micro_batches = 4 };
    char *whole = plan_text(t.plan);
    expect_refused(&t, whole, hypar_plan_set_schedule(t.plan, &schedule, &err), &err,
                   "needs stages");
    device[3] = 4;
    expect_refused(&t, whole, hypar_plan_set_stages(t.plan, stage, 2, &err), &err,
                   "stage 1: device 4");
    device[3] = 3;
    op[1] = n;
    expect_refused(&t, whole, hypar_plan_set_stages(t.plan, stage, 2, &err), &err,
                   "stage 0: operator");
    op[1] = 1;
    expect_ok(hypar_plan_set_stages(t.plan, stage, 2, &err), &err);
    expect_ok(hypar_plan_set_schedule(t.plan, &schedule, &err), &err);
    struct hypar_split split = { .op = n - 1, .device = (int[]){ 0 } };
    assert_int_equal(hypar_plan_set_op(t.plan, &split, &err), HYPAR_INFEASIBLE);
    assert_non_null(strstr(err.text, "not in its stage 1"));
    expect_ok(hypar_plan_check(t.plan, &err), &err);
    assert_int_equal(hypar_plan_op(t.plan, n - 1).stage, 1);
    struct hypar_sim *sim;
    expect_ok(hypar_simulate(&sim, t.plan, NULL, &err), &err);
    hypar_sim_free(sim);

    const char *slots[] = { "F0.0 F0.1 B0.0 B0.1", " F1.0 B1.0  F1.1 B1.1 " };
    char *before = plan_text(t.plan);
    expect_refused(&t, before, hypar_plan_set_slots(t.plan, 2, slots, 1, &err), &err,
                   "1 lists of slots");
    expect_refused(&t, before, hypar_plan_set_slots(t.plan, 2, slots, -1, &err), &err,
                   "lists of slots -1");
    expect_refused(&t, before, hypar_plan_set_slots(t.plan, 3, slots, 2, &err), &err, "slots");
    slots[1] = "F1.0 B1.0 F1.1 X1.1";
    expect_refused(&t, before, hypar_plan_set_slots(t.plan, 2, slots, 2, &err), &err,
                   "list 1: slot 'X1.1', expected one such as F0.3");
    slots[1] = "F1.0 B1.0 F1.1 B1.1";
    expect_ok(hypar_plan_set_slots(t.plan, 2, slots, 2, &err), &err);
    char *by_hand = plan_text(t.plan);
    assert_non_null(strstr(by_hand, "[\"F0.0\", \"F0.1\", \"B0.0\", \"B0.1\"]"));
    expect_ok(hypar_simulate(&sim, t.plan, NULL, &err), &err);
    hypar_sim_free(sim);
    free(by_hand);
    free(before);

    expect_ok(hypar_plan_set_stages(t.plan, stage, 1, &err), &err); /* some are in none */
    assert_int_equal(hypar_simulate(&sim, t.plan, NULL, &err), HYPAR_INFEASIBLE);
    expect_ok(hypar_plan_set_stages(t.plan, NULL, 0, &err), &err);
    schedule = (struct hypar_schedule){ .micro_batches = 1 };
    expect_ok(hypar_plan_set_schedule(t.plan, &schedule, &err), &err);
    char *again = plan_text(t.plan);
    assert_string_equal(again, whole);
    free(again);
    free(whole);
    release(&t);
}

static void memory_is_saved(void **state)
{
    (void)state;
    struct study t = study("gpt:layers=2,hidden=32,heads=2,seq=16,vocab=64", "full:4");
    struct hypar_error err;
    int op = 0, none = -1;
    while (hypar_graph_op(t.graph, op).n_axes && !hp_op_has_params(t.graph, op))
        none = op++;
    expect_ok(hypar_plan_set_recompute(t.plan, op, true, &err), &err);
    assert_true(hypar_plan_op(t.plan, op).recompute);
    expect_ok(hypar_plan_recompute_all(t.plan, HYPAR_RECOMPUTE_NONE, &err), &err);
    assert_false(hypar_plan_op(t.plan, op).recompute);
    expect_ok(hypar_plan_set_shard(t.plan, op, HYPAR_SHARD_OPTIMIZER, 2, &err), &err);
    assert_int_equal(hypar_plan_op(t.plan, op).shard, HYPAR_SHARD_OPTIMIZER);
    assert_int_equal(hypar_plan_op(t.plan, op).shard_over, 2);
    assert_int_equal(hypar_plan_set_shard(t.plan, op, HYPAR_SHARD_OPTIMIZER, -1, &err),
                     HYPAR_INFEASIBLE);
    if (none >= 0)
        assert_int_equal(hypar_plan_set_shard(t.plan, none, HYPAR_SHARD_OPTIMIZER, 0, &err),
                         HYPAR_INFEASIBLE);
    release(&t);
}

static void numbers_that_stand_for_nothing_are_refused(void **state)
{
    (void)state;
    struct study t = study("gpt:layers=2,hidden=32,heads=2,seq=16,vocab=64", "full:4");
    struct hypar_error err;
    const int bad[] = { -1, INT_MIN, INT_MAX, 1000000, 99 };
    for (int i = 0; i < 5; i++) {
        int b = bad[i];
        struct hypar_layout layout[] = { { .data = 4, .schedule = b },
                                         { .data = 4, .recompute = b },
                                         { .data = 4, .shard = b },
                                         { .data = 2, .pipeline = 2, .chunks = b } };
        struct hypar_stage stage = { .n_ops = b, .n_devices = 1, .device = &(int){ 0 } };
        if (b != 99) { /* it has so many operators, or not */
            assert_int_equal(hypar_plan_set_recompute(t.plan, b, true, &err), HYPAR_INFEASIBLE);
            assert_int_equal(hypar_plan_set_shard(t.plan, b, HYPAR_SHARD_NONE, 0, &err),
                             HYPAR_INFEASIBLE);
        }
        assert_int_equal(hypar_plan_set_shard(t.plan, 0, b, 0, &err), HYPAR_INFEASIBLE);
        assert_int_equal(hypar_plan_recompute_all(t.plan, b, &err), HYPAR_INFEASIBLE);
        assert_int_equal(
            hypar_plan_set_schedule(
                t.plan, &(struct hypar_schedule){ .kind = b, .micro_batches = 1 }, &err),
            HYPAR_INFEASIBLE);
        assert_int_equal(hypar_plan_set_stages(t.plan, &stage, 1, &err), HYPAR_INFEASIBLE);
        if (b != 99)
            assert_int_equal(hypar_plan_set_stages(t.plan, &stage, b, &err), HYPAR_INFEASIBLE);
        for (int k = 0; k < 4; k++)
            assert_int_equal(hypar_plan_set_layout(t.plan, &layout[k], &err), HYPAR_INFEASIBLE);
    }
    expect_ok(hypar_plan_check(t.plan, &err), &err);
    release(&t);
}

static void nothing_stays_of_what_was_before_a_layout(void **state)
{
    (void)state;
    struct study t = study("gpt:layers=2,hidden=32,heads=2,seq=16,vocab=64", "full:4");
    struct hypar_error err;
    int op = 0;
    while (!hp_op_has_params(t.graph, op))
        op++;
    expect_ok(hypar_plan_set_layout(t.plan, &(struct hypar_layout){ .data = 4 }, &err), &err);
    for (int i = 0; i < hypar_graph_info(t.graph).n_ops; i++)
        if (hp_op_has_params(t.graph, i))
            hypar_plan_set_shard(t.plan, i, HYPAR_SHARD_OPTIMIZER, 2, &err);
    expect_ok(hypar_plan_set_layout(t.plan, &(struct hypar_layout){ .data = 4 }, &err), &err);
    assert_int_equal(hypar_plan_op(t.plan, op).shard, HYPAR_SHARD_NONE);
    expect_ok(hypar_plan_check(t.plan, &err), &err);
    struct hypar_layout pipeline = { .data = 2, .pipeline = 2, .micro_batches = 2 };
    expect_ok(hypar_plan_set_layout(t.plan, &pipeline, &err), &err);
    assert_int_equal(hypar_plan_set_layout(t.plan, &(struct hypar_layout){ .data = 3 }, &err),
                     HYPAR_INFEASIBLE);
    expect_ok(hypar_plan_check(t.plan, &err), &err);
    release(&t);
}

static void what_is_gathered_again_stays(void **state)
{
    (void)state;
    struct study t = study("gpt:layers=2,hidden=32,heads=2,seq=16,vocab=64", "full:4");
    struct hypar_error err;
    struct hypar_layout layout = { .data = 2, .tensor = 2, .sequence_parallel = true };
    expect_ok(hypar_plan_set_layout(t.plan, &layout, &err), &err);
    int n = 0;
    for (int op = 0; op < hypar_graph_info(t.graph).n_ops; op++)
        if (t.plan->ops[op].resend) {
            expect_ok(hypar_plan_set_recompute(t.plan, op, false, &err), &err);
            assert_true(t.plan->ops[op].resend);
            n++;
        }
    assert_true(n > 0);
    release(&t);
}

static void all_of_it_from_a_layout(void **state)
{
    (void)state;
    struct study t = study("gpt:layers=4,hidden=32,heads=2,seq=16,vocab=64", "cluster:2x4");
    struct hypar_error err;
    struct hypar_layout layout = { .data = 2, .tensor = 2, .pipeline = 2, .micro_batches = 2 };
    expect_ok(hypar_plan_set_layout(t.plan, &layout, &err), &err);
    assert_int_equal(hypar_plan_stage_count(t.plan), 2);
    assert_int_equal(hypar_plan_schedule(t.plan).kind, HYPAR_SCHEDULE_1F1B);
    expect_ok(hypar_plan_check(t.plan, &err), &err);
    layout = (struct hypar_layout){ .data = 8 };
    expect_ok(hypar_plan_set_layout(t.plan, &layout, &err), &err);
    assert_int_equal(hypar_plan_stage_count(t.plan), 0);
    layout.data = 3;
    assert_int_equal(hypar_plan_set_layout(t.plan, &layout, &err), HYPAR_INFEASIBLE);
    assert_int_equal(hypar_plan_op(t.plan, 0).n_parts, 1);
    expect_ok(hypar_plan_check(t.plan, &err), &err);
    release(&t);
}

/* A plan with a changed operator is not called by its layout any more. */
static void a_changed_operator_drops_the_layout(void **state)
{
    (void)state;
    struct study t = study("lenet5", "full:4");
    struct hypar_error err;
    int op = hypar_graph_find_op(t.graph, "conv1"), device[] = { 3, 1 };
    expect_ok(hypar_plan_set_layout(t.plan, &(struct hypar_layout){ .data = 4 }, &err), &err);
    struct hypar_split split = hypar_plan_split(t.plan, op);
    expect_ok(hypar_plan_set_op(t.plan, &split, &err), &err); /* as it is */
    assert_non_null(hypar_plan_layout(t.plan));
    split = (struct hypar_split){ .op = op, .degree = { 2 }, .device = device };
    expect_ok(hypar_plan_set_op(t.plan, &split, &err), &err);
    assert_null(hypar_plan_layout(t.plan));
    release(&t);
}

/* The words of files and options: each is found again, and another one is not. */
#define BOTH_WAYS(kind, name, count, text_of)                                               \
    do {                                                                                    \
        for (int i = 0; i < (count); i++)                                                   \
            assert_int_equal(hypar_name_find(HYPAR_NAME_##kind, text_of((enum name)i)), i); \
        assert_int_equal(hypar_name_find(HYPAR_NAME_##kind, "never"), -1);                  \
    } while (0)

static void words_are_found_again(void **state)
{
    (void)state;
    BOTH_WAYS(PRECISION, hypar_precision, HYPAR_PRECISION_COUNT, hypar_precision_text);
    BOTH_WAYS(OPTIMIZER, hypar_optimizer, HYPAR_OPTIMIZER_COUNT, hypar_optimizer_text);
    BOTH_WAYS(MASKS, hypar_masks, HYPAR_MASKS_COUNT, hypar_masks_text);
    BOTH_WAYS(SHARE, hypar_share, HYPAR_SHARE_COUNT, hypar_share_text);
    BOTH_WAYS(RECOMPUTE, hypar_recompute, HYPAR_RECOMPUTE_COUNT, hypar_recompute_text);
    BOTH_WAYS(SHARD, hypar_shard, HYPAR_SHARD_COUNT, hypar_shard_text);
    BOTH_WAYS(KERNELS, hypar_kernel_mode, HYPAR_KERNELS_COUNT, hypar_kernel_mode_text);
    BOTH_WAYS(SCHEDULE, hypar_schedule_kind, HYPAR_SCHEDULE_COUNT, hypar_schedule_text);
    assert_int_equal(hypar_name_find(HYPAR_NAME_COUNT, "none"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_those_of_a_search),
        cmocka_unit_test(an_operator_is_split_and_read_back),
        cmocka_unit_test(stages_and_schedule),
        cmocka_unit_test(memory_is_saved),
        cmocka_unit_test(numbers_that_stand_for_nothing_are_refused),
        cmocka_unit_test(nothing_stays_of_what_was_before_a_layout),
        cmocka_unit_test(what_is_gathered_again_stays),
        cmocka_unit_test(all_of_it_from_a_layout),
        cmocka_unit_test(a_changed_operator_drops_the_layout),
        cmocka_unit_test(words_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
