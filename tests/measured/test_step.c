/* A measured step against the simulated one: sums that must agree, and traces that are
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hypar/search.h>

#include "measured/step.h"
#include "tests/scratch_file.h"

struct run {
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

static void train(struct run *r, const char *model, const char *machine,
                  const struct hypar_search_options *how)
{
    struct hypar_error err;
    struct hypar_import_options import = { .batch = 8 };
    struct hypar_train_options options = { .steps = 4, .trace_steps = 2 };
    struct hypar_ranks *ranks;
    *r = (struct run){ .graph = NULL };
    must(hypar_import(&r->graph, model, &import, &err), &err);
    must(hypar_machine_read(&r->machine, machine, &err), &err);
    must(hypar_search(&r->found, r->graph, r->machine, how, &err), &err);
    r->plan = hypar_found_plan(r->found);
    must(hypar_ranks_join(&ranks, &err), &err);
    must(hypar_train(r->plan, ranks, &options, &r->result, &err), &err);
    hypar_ranks_leave(ranks, HYPAR_OK);
    struct hypar_sim_options simulated = { .timeline = true,
                                           .lower = { .minibatches = r->result.minibatches } };
    simulated = hypar_as_planned(r->plan, &simulated);
    must(hypar_simulate(&r->sim, r->plan, &simulated, &err), &err);
}

static void release(struct run *r)
{
    hypar_trace_free(r->result.trace);
    hypar_sim_free(r->sim);
    hypar_found_free(r->found);
    hypar_machine_free(r->machine);
    hypar_graph_free(r->graph);
}

/* Every task takes three times as long as simulated, and begins three times as late. */
static void make_thrice(struct run *r, struct hypar_measured_step *step)
{
    struct hypar_sim_event e;
    struct hypar_sim_pipeline pipeline = hypar_sim_pipeline(r->sim);
    step->in_turn = false;
    step->step_s =
        3 * (pipeline.minibatches ? pipeline.window_s : hypar_sim_summary(r->sim).step_s);
    for (int64_t i = 0; i < step->n_tasks; i++) {
        struct measured_task *task = &step->task[i];
        assert_true(hypar_sim_event(r->sim, task->id, &e));
        task->with = -1;
        task->start_s = 3 * (task->kind == HYPAR_EVENT_COMM ? e.ready_s : e.start_s);
        task->end_s = 3 * e.end_s;
    }
}

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected) + 1e-15))
        fail_msg("%.17g, expected %.17g", found, expected);
}

/* Each row is off by the factor; returns the sums. */
static struct truth_row check_rows(const struct truth_rows *rows, double factor)
{
    struct truth_row sum = { .name = NULL };
    for (int i = 0; i < rows->n; i++) {
        assert_near(rows->row[i].measured_s, factor * rows->row[i].predicted_s);
        sum.predicted_s += rows->row[i].predicted_s;
        sum.measured_s += rows->row[i].measured_s;
        sum.bytes += rows->row[i].bytes;
    }
    return sum;
}

static void check_thrice(const char *model, const char *machine,
                         const struct hypar_search_options *how)
{
    struct run r;
    struct truth truth;
    struct hypar_error err;
    train(&r, model, machine, how);
    struct hypar_measured_step *step = hp_measured_of(&r.result);
    assert_non_null(step);
    make_thrice(&r, step);
    must(hp_truth_make(&truth, step, r.sim, &err), &err);
    assert_near(truth.step.measured_s, 3 * truth.step.predicted_s);
    double computing = 0, phases = 0;
    for (int p = 0; p < TRUTH_COMM; p++) {
        assert_near(truth.phase[p].measured_s, 3 * truth.phase[p].predicted_s);
        computing += truth.phase[p].predicted_s;
    }
    for (int p = 0; p < TRUTH_PHASES; p++)
        phases += truth.phase[p].measured_s;
    assert_near(phases, truth.step.measured_s);
    assert_near(check_rows(&truth.op, 3).predicted_s,
                computing - truth.phase[TRUTH_UPDATE].predicted_s);
    assert_near(check_rows(&truth.exchange, 3).bytes, r.result.comm_bytes_per_step);
    assert_near(check_rows(&truth.place, 3).predicted_s, truth.step.predicted_s);
    hp_truth_free(&truth);
    hypar_measured_step_free(step);
    release(&r);
}

static void rows_add_up_to_the_step(void **state)
{
    (void)state;
    check_thrice("mlp:12-10-5", "local:2", &(struct hypar_search_options){ .planner = "dp" });
    check_thrice("lenet5", "local:3", &(struct hypar_search_options){ .planner = "hypar" });
    check_thrice("mlp:12-10-9-5", "local:2",
                 &(struct hypar_search_options){ .planner = "1f1b", .micro_batches = 4 });
    check_thrice("mlp:12-10-9-5", "local:2",
                 &(struct hypar_search_options){ .planner = "pipedream" });
}

/* What was computed in one call is divided as predicted. */
static void time_of_one_call_is_divided(void **state)
{
    (void)state;
    struct run r;
    struct truth truth;
    struct hypar_error err;
    train(&r, "mlp:12-10-5", "local:1", &(struct hypar_search_options){ .planner = "dp" });
    struct hypar_measured_step *step = hp_measured_of(&r.result);
    make_thrice(&r, step);
    struct measured_task *first = NULL, *second = NULL;
    for (int64_t i = 0; i < step->n_tasks; i++) {
        first = strcmp(step->task[i].name, "fc2 backward part 0") == 0 ? &step->task[i] : first;
        second = strcmp(step->task[i].name, "fc2 gradient part 0 of fc2.w") == 0
                     ? &step->task[i]
                     : second;
    }
    assert_true(first && second);
    first->end_s += second->end_s - second->start_s;
    second->start_s = second->end_s = first->end_s;
    second->with = first->id;
    must(hp_truth_make(&truth, step, r.sim, &err), &err);
    for (int p = 0; p < TRUTH_COMM; p++)
        assert_near(truth.phase[p].measured_s, 3 * truth.phase[p].predicted_s);
    hp_truth_free(&truth);
    hypar_measured_step_free(step);
    release(&r);
}

/* The gradients of a weight and of its bias have names of their own. Traces from before these
 * names are still matched; another parameter is not. */
static void gradients_tell_their_parameter(void **state)
{
    (void)state;
    struct run r;
    struct truth truth;
    struct hypar_error err;
    train(&r, "mlp:12-10-9-5", "local:2",
          &(struct hypar_search_options){ .planner = "1f1b", .micro_batches = 4 });
    struct hypar_measured_step *step = hp_measured_of(&r.result);
    struct measured_task *weight = NULL, *bias = NULL;
    for (int64_t i = 0; i < step->n_tasks; i++)
        for (int64_t k = 0; k < i; k++)
            assert_true(step->task[i].kind != HYPAR_EVENT_GRADIENT ||
                        strcmp(step->task[i].name, step->task[k].name) != 0);
    for (int64_t i = 0; i < step->n_tasks; i++) {
        struct measured_task *task = &step->task[i];
        weight =
            strcmp(task->name, "fc3 gradient part 0 of fc3.w micro 3") == 0 ? task : weight;
        bias = strcmp(task->name, "fc3 gradient part 0 of fc3.b micro 3") == 0 ? task : bias;
    }
    assert_true(weight && bias);
    weight->name = bias->name = "fc3 gradient part 0 micro 3";
    must(hp_truth_make(&truth, step, r.sim, &err), &err);
    hp_truth_free(&truth);
    bias->name = "fc3 gradient part 0 of fc3.w micro 3";
    assert_int_equal(hp_truth_make(&truth, step, r.sim, &err), HYPAR_INVALID);
    hypar_measured_step_free(step);
    release(&r);
}

/* A trace that is written and read again has the steps that were kept. */
static void a_trace_is_read_again(void **state)
{
    (void)state;
    struct run r;
    struct truth truth;
    struct hypar_error err;
    struct hypar_measured_step *step;
    struct hypar_trace_event e;
    char *text;
    size_t size;
    train(&r, "mlp:12-10-5", "local:2", &(struct hypar_search_options){ .planner = "dp" });
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    hypar_report_train_trace(file, &r.result, r.plan, r.sim, NULL);
    fclose(file);
    must(hypar_measured_step_read(&step, scratch_file(0, text, size), r.plan, &err), &err);
    free(text);
    assert_int_equal(step->n_ranks, 2);
    assert_int_equal(step->n_steps, 2);
    assert_true(step->in_turn);
    int64_t n = 0;
    while (hypar_trace_event(r.result.trace, n, &e))
        n++;
    assert_int_equal(step->n_events, n);
    assert_int_equal(step->n_tasks, n / 2);
    must(hp_truth_make(&truth, step, r.sim, &err), &err);
    assert_true(truth.step.measured_s > 0);
    hp_truth_free(&truth);
    hypar_measured_step_free(step);
    release(&r);
}

static void a_step_of_another_plan_is_refused(void **state)
{
    (void)state;
    struct run a, b;
    struct truth truth;
    struct hypar_error err = { 0 };
    train(&a, "mlp:12-10-5", "local:2", &(struct hypar_search_options){ .planner = "dp" });
    train(&b, "mlp:12-10-5", "local:2", &(struct hypar_search_options){ .planner = "mp" });
    struct hypar_measured_step *step = hp_measured_of(&a.result);
    assert_int_equal(hp_truth_make(&truth, step, b.sim, &err), HYPAR_INVALID);
    assert_non_null(strstr(err.text, "the plan's is"));
    hp_truth_free(&truth);
    step->n_tasks--;
    assert_int_equal(hp_truth_make(&truth, step, a.sim, &err), HYPAR_INVALID);
    assert_non_null(strstr(err.text, "is missing"));
    hp_truth_free(&truth);
    step->n_tasks++;
    step->n_ranks = 3;
    assert_int_equal(hp_truth_make(&truth, step, a.sim, &err), HYPAR_INVALID);
    hp_truth_free(&truth);
    hypar_measured_step_free(step);
    release(&a);
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_add_up_to_the_step),
        cmocka_unit_test(time_of_one_call_is_divided),
        cmocka_unit_test(gradients_tell_their_parameter),
        cmocka_unit_test(a_trace_is_read_again),
        cmocka_unit_test(a_step_of_another_plan_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
