/* Invalid or out-of-range numbers passed to the public functions: an error or no effect, never
 * a crash. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/hypar.h>

static struct {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    int n_ops, n_tensors;
} t;

static int begin(void **state)
{
    (void)state;
    assert_int_equal(hypar_import(&t.graph, "lenet5", NULL, NULL), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&t.machine, "full:4", NULL), HYPAR_OK);
    t.plan = hypar_plan_new(t.graph, t.machine, NULL);
    t.n_ops = hypar_graph_info(t.graph).n_ops;
    t.n_tensors = hypar_graph_info(t.graph).n_tensors;
    return 0;
}

static int end(void **state)
{
    (void)state;
    hypar_plan_free(t.plan);
    hypar_machine_free(t.machine);
    hypar_graph_free(t.graph);
    return 0;
}

/* Refused: HYPAR_INVALID, with the option's name. */
static void expect_refused(const struct hypar_search_options *options, const char *name)
{
    struct hypar_found *found;
    struct hypar_error err = { 0 };
    struct hypar_search_options with = *options;
    with.planner = "dp";
    assert_int_equal(hypar_search(&found, t.graph, t.machine, &with, &err), HYPAR_INVALID);
    assert_null(found);
    if (!strstr(err.text, name))
        fail_msg("'%s', expected '%s'", err.text, name);
    assert_null(hypar_plan_new(t.graph, t.machine, &with));
}

static void options_of_a_search(void **state)
{
    (void)state;
#define REAL(m)                                               \
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) \
        expect_refused(&(struct hypar_search_options){ .m = reals[i] }, #m);
#define BELOW(m) expect_refused(&(struct hypar_search_options){ .m = -1 }, #m);
#define ENUM(m, type)                                                         \
    expect_refused(&(struct hypar_search_options){ .m = (enum type)99 }, #m); \
    expect_refused(&(struct hypar_search_options){ .m = (enum type) - 1 }, #m);
    static const double reals[] = { NAN, INFINITY, -INFINITY, -1 };
    REAL(memory_bytes)
    REAL(framework_bytes)
    REAL(memory_certainty)
    REAL(clip)
    REAL(budget_s)
    BELOW(shard_over)
    BELOW(seed)
    BELOW(stages)
    BELOW(micro_batches)
    BELOW(max_tensor)
    BELOW(max_pipeline)
    BELOW(n_fix)
    BELOW(proposals)
    BELOW(threads)
    BELOW(layout.data)
    BELOW(layout.tensor)
    BELOW(layout.pipeline)
    BELOW(layout.chunks)
    BELOW(layout.micro_batches)
    ENUM(objective, hypar_objective)
    ENUM(precision, hypar_precision)
    ENUM(masks, hypar_masks)
    ENUM(optimizer, hypar_optimizer)
    ENUM(recompute, hypar_recompute)
    ENUM(shard, hypar_shard)
    ENUM(recurrence, hypar_recurrence)
    ENUM(sync, hypar_sync)
    ENUM(layout.schedule, hypar_schedule_kind)
}

static void options_of_a_simulation(void **state)
{
    (void)state;
    static const struct hypar_sim_options bad[] = {
        { .lower.bucket_bytes = NAN },
        { .lower.bucket_bytes = INFINITY },
        { .lower.bucket_bytes = -1 },
        { .lower.minibatches = -1 },
        { .framework.kernels = (enum hypar_kernel_mode)99 },
        { .framework.kernels = (enum hypar_kernel_mode) - 1 },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hypar_sim *sim;
        struct hypar_delta *delta;
        struct hypar_found *found;
        struct hypar_search_options search = { .planner = "dp", .simulation = &bad[i] };
        assert_int_equal(hypar_simulate(&sim, t.plan, &bad[i], NULL), HYPAR_INVALID);
        assert_null(sim);
        assert_int_equal(hypar_delta_begin(&delta, t.plan, &bad[i], NULL), HYPAR_INVALID);
        assert_null(delta);
        assert_int_equal(hypar_search(&found, t.graph, t.machine, &search, NULL),
                         HYPAR_INVALID);
    }
    struct hypar_program *program;
    struct hypar_memory memory[4];
    assert_int_equal(hypar_lower(&program, t.plan, &bad[0].lower, NULL), HYPAR_INVALID);
    assert_null(program);
    assert_int_equal(hypar_plan_memory(t.plan, &bad[3].lower, memory, NULL), HYPAR_INVALID);
}

static void proposals(void **state)
{
    (void)state;
    struct hypar_delta *delta;
    struct hypar_split split = { .op = t.n_ops };
    double step_s;
    assert_int_equal(hypar_delta_begin(&delta, t.plan, NULL, NULL), HYPAR_OK);
    assert_int_equal(hypar_delta_propose(delta, &split, -1, 0, &step_s, NULL), HYPAR_INVALID);
    assert_int_equal(hypar_delta_propose(delta, &split, 0, NAN, &step_s, NULL), HYPAR_INVALID);
    assert_int_equal(hypar_delta_propose(delta, &split, 1, 0, &step_s, NULL), HYPAR_INFEASIBLE);
    assert_int_equal(hypar_delta_propose(delta, &split, 0, INFINITY, &step_s, NULL), HYPAR_OK);
    assert_int_equal(hypar_delta_propose(delta, &split, 0, -1, &step_s, NULL), HYPAR_OK);
    hypar_delta_free(delta);
}

static void getters_of_graphs_and_machines(void **state)
{
    (void)state;
    const int ops[] = { -1, INT_MIN, t.n_ops, INT_MAX };
    int links[8];
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        int none = ops[i], tensor = none == t.n_ops ? t.n_tensors : none;
        assert_null(hypar_graph_op(t.graph, none).name);
        assert_null(hypar_graph_op(t.graph, none).kind);
        assert_int_equal(hypar_graph_op(t.graph, none).n_axes, 0);
        assert_int_equal(hypar_graph_axis(t.graph, 0, none).extent, 0);
        assert_int_equal(hypar_graph_axis(t.graph, none, 0).extent, 0);
        assert_true(hypar_graph_op(t.graph, none).backward_flops == 0);
        assert_int_equal(hypar_graph_op(t.graph, none).n_operands, 0);
        assert_int_equal(hypar_graph_operand(t.graph, none, 0).tensor, -1);
        assert_int_equal(hypar_graph_operand(t.graph, 0, none).tensor, -1);
        assert_null(hypar_graph_tensor(t.graph, tensor).name);
        assert_int_equal(hypar_graph_reader(t.graph, tensor, 0), -1);
        assert_int_equal(hypar_graph_reader(t.graph, 0, none), -1);
        assert_null(hypar_machine_device(t.machine, none));
        assert_true(hypar_machine_link(t.machine, none).bytes_per_s == 0);
        assert_int_equal(hypar_machine_route(t.machine, none, 0, links, 8), 0);
        assert_int_equal(hypar_machine_route(t.machine, 0, none, links, 8), 0);
    }
}

static void getters_of_tables(void **state)
{
    (void)state;
    const int beyond[] = { -1, INT_MIN, 1000, INT_MAX };
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        struct hypar_model_option option;
        assert_null(hypar_model_at(beyond[i]).name);
        assert_false(hypar_model_option(beyond[i], 0, &option));
        assert_false(hypar_model_option(0, beyond[i], &option));
        assert_null(hypar_target_at(beyond[i]).name);
        assert_null(hypar_device_type(beyond[i]));
        assert_null(hypar_topology(beyond[i]));
        assert_null(hypar_machine_option(beyond[i]));
        assert_null(hypar_planner(beyond[i]));
        assert_null(hypar_precision_text((enum hypar_precision)beyond[i]));
        assert_null(hypar_optimizer_text((enum hypar_optimizer)beyond[i]));
        assert_null(hypar_masks_text((enum hypar_masks)beyond[i]));
        assert_null(hypar_schedule_text((enum hypar_schedule_kind)beyond[i]));
        assert_null(hypar_share_text((enum hypar_share)beyond[i]));
        assert_null(hypar_recompute_text((enum hypar_recompute)beyond[i]));
        assert_null(hypar_shard_text((enum hypar_shard)beyond[i]));
        assert_null(hypar_kernel_mode_text((enum hypar_kernel_mode)beyond[i]));
        assert_null(hypar_role_text((enum hypar_role)beyond[i]));
        assert_null(hypar_unit_text((enum hypar_unit)beyond[i]));
        assert_non_null(hypar_status_text((enum hypar_status)beyond[i]));
    }
}

static void getters_of_plans_and_steps(void **state)
{
    (void)state;
    const int none[] = { -1, INT_MIN, t.n_ops, INT_MAX };
    struct hypar_sim *sim;
    struct hypar_sim_options options = { .timeline = true };
    assert_int_equal(hypar_simulate(&sim, t.plan, &options, NULL), HYPAR_OK);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct hypar_sim_event event;
        struct hypar_sim_memory_point point;
        struct hypar_sim_segment segment;
        int64_t far = i % 2 ? INT64_MAX : INT64_MIN;
        assert_int_equal(hypar_plan_degree(t.plan, none[i], 0), 0);
        assert_int_equal(hypar_plan_degree(t.plan, 0, none[i]), 0);
        assert_int_equal(hypar_plan_part_size(t.plan, none[i], 0, 0), 0);
        assert_int_equal(hypar_plan_part_size(t.plan, 0, none[i], 0), 0);
        assert_int_equal(hypar_plan_part_size(t.plan, 0, 0, none[i]), 0);
        struct hypar_plan_op op = hypar_plan_op(t.plan, none[i]);
        assert_true(op.n_parts == 0 && op.n_devices == 0 && op.stage == -1 && !op.device);
        assert_true(!op.recompute && !op.resend && !op.shard && !op.shard_over);
        assert_int_equal(hypar_plan_stage(t.plan, none[i]).n_ops, 0);
        assert_int_equal(hypar_plan_split(t.plan, none[i]).op, -1);
        assert_int_equal(hypar_plan_set_recompute(t.plan, none[i], true, NULL),
                         HYPAR_INFEASIBLE);
        assert_int_equal(hypar_plan_set_resend(t.plan, none[i], true, NULL), HYPAR_INFEASIBLE);
        assert_int_equal(hypar_sim_stage(sim, none[i]).replicas, 0);
        assert_true(hypar_sim_device(sim, none[i]).busy_s == 0);
        assert_int_equal(hypar_sim_link(sim, none[i] == t.n_ops ? 24 : none[i]).from, -1);
        assert_false(hypar_sim_event(sim, far, &event));
        assert_false(hypar_sim_memory_point(sim, far, &point));
        assert_false(hypar_sim_segment(sim, far, &segment));
    }
    hypar_sim_free(sim);
}

/* What a plan of the command may say, a plan made by hand may say, too. */
static void settings(void **state)
{
    (void)state;
    struct hypar_plan *clipped =
        hypar_plan_new(t.graph, t.machine, &(struct hypar_search_options){ .clip = 2 });
    assert_true(hypar_plan_settings(clipped).clip == 2);
    hypar_plan_free(clipped);
    struct hypar_plan_settings s = hypar_plan_settings(t.plan), bad = s;
    assert_int_equal(s.gather_ahead, 1);
    s.precision = HYPAR_BF16;
    s.fp32_gradients = true;
    s.optimizer = HYPAR_ADAMW;
    s.masks = HYPAR_MASKS_KEPT;
    s.framework_bytes = 1e9;
    s.memory_limit_bytes = 5e9;
    s.clip = 1;
    s.seed = 7;
    s.gather_ahead = 3;
    s.simulation.framework.waits[HYPAR_TRAFFIC_STAGES] = true;
    assert_int_equal(hypar_plan_set_settings(t.plan, &s, NULL), HYPAR_OK);
    bad.clip = NAN;
    assert_int_equal(hypar_plan_set_settings(t.plan, &bad, NULL), HYPAR_INFEASIBLE);
    bad = s;
    bad.memory_limit_bytes = -1;
    assert_int_equal(hypar_plan_set_settings(t.plan, &bad, NULL), HYPAR_INFEASIBLE);
    bad = s;
    bad.gather_ahead = -1;
    assert_int_equal(hypar_plan_set_settings(t.plan, &bad, NULL), HYPAR_INFEASIBLE);
    bad = s;
    bad.optimizer = HYPAR_OPTIMIZER_COUNT;
    assert_int_equal(hypar_plan_set_settings(t.plan, &bad, NULL), HYPAR_INFEASIBLE);
    struct hypar_plan_settings now = hypar_plan_settings(t.plan);
    assert_int_equal(hypar_plan_gradient_precision(t.plan), HYPAR_FP32);
    assert_true(now.precision == HYPAR_BF16 && now.optimizer == HYPAR_ADAMW && now.clip == 1 &&
                now.masks == HYPAR_MASKS_KEPT && now.framework_bytes == 1e9 &&
                now.memory_limit_bytes == 5e9 && now.seed == 7 && now.gather_ahead == 3 &&
                now.simulation.framework.waits[HYPAR_TRAFFIC_STAGES]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(options_of_a_search, begin, end),
        cmocka_unit_test_setup_teardown(options_of_a_simulation, begin, end),
        cmocka_unit_test_setup_teardown(proposals, begin, end),
        cmocka_unit_test_setup_teardown(getters_of_graphs_and_machines, begin, end),
        cmocka_unit_test_setup_teardown(getters_of_tables, begin, end),
        cmocka_unit_test_setup_teardown(getters_of_plans_and_steps, begin, end),
        cmocka_unit_test_setup_teardown(settings, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
