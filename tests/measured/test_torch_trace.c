/* Traces of PyTorch's profiler: the owner of each time, the report, and the profile made from
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hypar/search.h>

#include "measured/torch_trace.h"
#include "plan/plan.h"
#include "sim/op_times.h"
#include "tests/scratch_file.h"

/* A text that is written bit by bit; ' is written for ". */
struct text {
    char at[1 << 14];
    size_t n;
    int events;
};

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    size_t from = t->n;
    t->n += (size_t)vsnprintf(t->at + t->n, sizeof t->at - t->n, fmt, ap);
    va_end(ap);
    assert_true(t->n < sizeof t->at);
    for (size_t i = from; i < t->n; i++)
        t->at[i] = t->at[i] == '\'' ? '"' : t->at[i];
}

/* From and to in microseconds; `args` are members. */
static void event(struct text *t, const char *category, const char *name, int thread,
                  double from, double to, const char *args)
{
    put(t,
        "%s\n{'ph': 'X', 'cat': '%s', 'name': '%s', 'pid': 1, 'tid': %d, 'ts': %g, 'dur': %g",
        t->events++ ? "," : "", category, name, thread, from, to - from);
    put(t, ", 'args': {%s}}", args);
}

static void begin(struct text *t, const char *about)
{
    *t = (struct text){ .n = 0 };
    put(t, "{'schemaVersion': 1, %s'traceEvents': [", about);
}

static struct hypar_measured_step *end(struct text *t)
{
    struct hypar_measured_step *step;
    struct hypar_error err;
    put(t, "]}\n");
    if (hp_measured_read_text(&step, t->at, t->n, "trace", &err) != HYPAR_OK)
        fail_msg("%s\n%s", err.text, t->at);
    assert_non_null(step->torch);
    return step;
}

static void bar(struct text *t, const char *name, double from, double to)
{
    event(t, "user_annotation", name, 7, from, to, "");
}

static void op(struct text *t, const char *name, double from, double to, int number)
{
    char args[80];
    snprintf(args, sizeof args, "'Sequence number': %d, 'Fwd thread id': 0", number);
    event(t, "cpu_op", name, 7, from, to, args);
}

/* What autograd runs, on its own thread. */
static void node(struct text *t, const char *name, double from, double to, int number)
{
    char args[80], full[120];
    snprintf(full, sizeof full, "autograd::engine::evaluate_function: %s", name);
    snprintf(args, sizeof args, "'Sequence number': %d, 'Fwd thread id': 1", number);
    event(t, "cpu_op", full, 8, from, to, number < 0 ? "" : args);
}

static void kernel(struct text *t, const char *name, int thread, double launched, double from,
                   double to, int correlation)
{
    char args[80];
    snprintf(args, sizeof args, "'correlation': %d", correlation);
    event(t, "cuda_runtime", "cudaLaunchKernel", thread, launched, launched + 1, args);
    event(t, "kernel", name, 0, from, to, args);
}

static const struct torch_row *row(const struct hypar_measured_step *step, const char *name)
{
    for (int i = 0; i < step->torch->n_rows; i++)
        if (strcmp(step->torch->row[i].name, name) == 0)
            return &step->torch->row[i];
    fail_msg("no row '%s'", name);
    return NULL;
}

static const struct torch_other *other(const struct hypar_measured_step *step, const char *name)
{
    for (int i = 0; i < step->torch->n_others; i++)
        if (strcmp(step->torch->other[i].name, name) == 0)
            return &step->torch->other[i];
    fail_msg("no other '%s'", name);
    return NULL;
}

static void assert_us(double seconds, double us)
{
    if (fabs(seconds * 1e6 - us) > 1e-6)
        fail_msg("%g us, expected %g us", seconds * 1e6, us);
}

/* One step of mlp:4-3-2 from `at` on, everything `times` as long. */
static void host_step(struct text *t, double at, double times, int number)
{
#define AT(us) (at + times * (us))
    bar(t, number ? "ProfilerStep#1" : "ProfilerStep#0", AT(0), AT(200));
    bar(t, "hypar: fc1", AT(5), AT(40));
    op(t, "aten::linear", AT(10), AT(38), number); /* a view, then the product itself */
    op(t, "aten::t", AT(12), AT(15), number);
    op(t, "aten::addmm", AT(16), AT(36), number + 1);
    event(t, "cpu_op", "aten::empty", 7, AT(20), AT(21), "");
    bar(t, "hypar: relu1 + fc2", AT(45), AT(60));
    op(t, "aten::relu", AT(47), AT(52), number + 2);
    bar(t, "hypar: loss", AT(52), AT(58)); /* a module inside another */
    op(t, "aten::nll_loss", AT(53), AT(57), number + 3);
    op(t, "aten::ones_like", AT(70), AT(74), number + 4); /* in no bar of ours */
    node(t, "NllLossBackward0", AT(80), AT(88), number + 3);
    node(t, "ReluBackward0", AT(90), AT(96), number + 2);
    node(t, "AddmmBackward0", AT(100), AT(130), number + 1);
    event(t, "cpu_op", "AddmmBackward0", 8, AT(101), AT(128),
          "'Sequence number': 1, 'Fwd thread id': 1");
    node(t, "TBackward0", AT(131), AT(133), number);
    node(t, "torch::autograd::AccumulateGrad", AT(134), AT(137), -1);
    bar(t, "Optimizer.step#SGD.step", AT(150), AT(170));
    op(t, "aten::add_", AT(155), AT(165), number + 5);
#undef AT
}

static struct hypar_measured_step *host_trace(struct text *t)
{
    begin(t, "");
    host_step(t, 1000, 1, 0);
    host_step(t, 2000, 3, 10);
    host_step(t, 3000, 2, 20);
    event(t, "cpu_op", "aten::late", 7, 9000, 9100, ""); /* in no step */
    return end(t);
}

/* Times of the second step are the largest, those of the third the medians. */
static void time_on_the_host_is_attributed(void **state)
{
    (void)state;
    struct text t;
    struct hypar_measured_step *step = host_trace(&t);
    assert_int_equal(step->n_steps, 3);
    assert_us(step->step_s, 2 * 200);
    assert_false(step->torch->on_device);
    assert_int_equal(step->torch->n_rows, 3);
    assert_us(row(step, "fc1")->forward.measured_s, 2 * 28);
    assert_us(row(step, "fc1")->backward.measured_s, 2 * 32);
    assert_us(row(step, "relu1 + fc2")->forward.measured_s, 2 * 5);
    assert_us(row(step, "relu1 + fc2")->backward.measured_s, 2 * 6);
    assert_us(row(step, "loss")->forward.measured_s, 2 * 4);
    assert_us(row(step, "loss")->backward.measured_s, 2 * 8);
    assert_us(step->torch->update_s, 2 * 10);
    assert_int_equal(step->torch->n_others, 2); /* the mean of the steps */
    assert_us(other(step, "aten::ones_like")->seconds, 2 * 4);
    assert_us(other(step, "torch::autograd::AccumulateGrad")->seconds, 2 * 3);
    assert_us(other(step, "torch::autograd::AccumulateGrad")->calls * 1e-6, 1);
    hypar_measured_step_free(step);
}

/* Kernels run later than they are launched, and count where that was. */
static struct hypar_measured_step *device_trace(struct text *t, const char *about)
{
    begin(t, about);
    bar(t, "hypar: fc1", 0, 10);
    op(t, "aten::linear", 1, 9, 0);
    kernel(t, "void gemm<float>(float*)", 7, 3, 100, 120, 1);
    event(t, "cuda_driver", "cuLaunchKernel", 7, 5, 6, "'correlation': 2");
    event(t, "gpu_memset", "Memset (Device)", 0, 120, 121, "'correlation': 2");
    bar(t, "hypar: loss", 12, 20);
    op(t, "aten::nll_loss", 13, 19, 1);
    kernel(t, "softmax", 7, 14, 121, 125, 3);
    node(t, "NllLossBackward0", 30, 40, 1);
    kernel(t, "softmax_backward", 8, 31, 125, 131, 4);
    node(t, "AddmmBackward0", 41, 50, 0);
    kernel(t, "void gemm<float>(float*)", 8, 42, 131, 150, 5);
    kernel(t, "ncclDevKernel_AllReduce(ncclComm*)", 9, 43, 131, 161, 6);
    event(t, "kernel", "void at::(anonymous namespace)::orphan<float, (int)1>(float*)", 0, 170,
          172, "'correlation': 99");
    event(t, "gpu_user_annotation", "hypar: fc1", 0, 0, 100, "");
    return end(t);
}

static void time_on_a_device_is_attributed(void **state)
{
    (void)state;
    struct text t;
    struct hypar_measured_step *step = device_trace(
        &t, "'deviceProperties': [{'id': 0, 'name': 'NVIDIA\\u000aH200'}], 'distributedInfo': "
            "{'rank': 1, 'world_size': 2}, ");
    assert_true(step->torch->on_device);
    assert_string_equal(step->torch->device, "NVIDIA?H200");
    assert_int_equal(step->torch->rank, 1);
    assert_int_equal(step->torch->n_ranks, 2);
    assert_us(step->step_s, 172);
    assert_us(row(step, "fc1")->forward.measured_s, 20 + 1);
    assert_us(row(step, "fc1")->backward.measured_s, 19);
    assert_us(row(step, "loss")->forward.measured_s, 4);
    assert_us(row(step, "loss")->backward.measured_s, 6);
    assert_int_equal(step->torch->n_others, 2);
    assert_us(other(step, "ncclDevKernel_AllReduce")->seconds, 30);
    assert_us(other(step, "at::(anonymous namespace)::orphan")->seconds, 2);
    assert_int_equal(step->n_events, 5); /* the bars, by kernel */
    assert_string_equal(step->event[0].name, "fc1 forward");
    hypar_measured_step_free(step);
}

/* Beside a plan -------------------------------------------------------------------------- */

struct planned {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_sim *sim;
};

static void plan_with(struct planned *p, const char *machine,
                      const struct hypar_search_options *options)
{
    struct hypar_error err;
    struct hypar_import_options import = { .batch = 8 };
    struct hypar_sim_options how = { .timeline = true };
    if (hypar_import(&p->graph, "mlp:4-3-2", &import, &err) ||
        hypar_machine_read(&p->machine, machine, &err) ||
        hypar_search(&p->found, p->graph, p->machine, options, &err) ||
        hypar_simulate(&p->sim, hypar_found_plan(p->found), &how, &err))
        fail_msg("%s", err.text);
}

static void plan(struct planned *p, const char *machine)
{
    plan_with(p, machine, &(struct hypar_search_options){ .planner = "dp" });
}

static void release(struct planned *p)
{
    hypar_sim_free(p->sim);
    hypar_found_free(p->found);
    hypar_machine_free(p->machine);
    hypar_graph_free(p->graph);
}

/* The plan computes operator `op` again in the backward half; -1: none. */
static void compute_again(struct planned *p, int op)
{
    struct hypar_error err;
    if (op < 0)
        return;
    ((struct hypar_plan *)hypar_found_plan(p->found))->ops[op].recompute = true;
    hypar_sim_free(p->sim);
    if (hypar_simulate(&p->sim, hypar_found_plan(p->found), NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    const struct training_graph *k = &p->sim->timing->lowering->training;
    int n = 0;
    for (int i = 0; i < k->n_op_passes; i++)
        n += k->op_pass[i].again && k->op_pass[i].op == op;
    assert_true(n > 0);
}

/* The step with the profile takes what its operators and the optimizer took. */
static void check_profile(const struct hypar_search_options *options, int again)
{
    struct text t;
    struct planned p;
    struct hypar_error err;
    struct hypar_measured_added added;
    struct hypar_sim *sim;
    struct hypar_profile *profile = hypar_profile_new();
    struct hypar_measured_step *step = host_trace(&t);
    plan_with(&p, "local:1", options);
    compute_again(&p, again);
    if (hypar_measured_step_add(step, p.sim, profile, &added, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_us(added.computed_s, 2 * (28 + 32 + 5 + 6 + 4 + 8));
    assert_us(added.operators_s, 2 * (28 + 32 + 5 + 6 + 4 + 8));
    assert_us(added.update_s, 2 * 10);
    assert_int_equal(added.passes, hypar_profile_info(profile).n_passes);
    struct hypar_sim_options how = { .profile = profile };
    assert_int_equal(hypar_simulate(&sim, hypar_found_plan(p.found), &how, &err), HYPAR_OK);
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    assert_int_equal(s.measured.measured, s.measured.passes);
    if (fabs(s.step_s - added.operators_s - added.update_s) > 1e-10)
        fail_msg("%.12g s, expected %.12g s", s.step_s, added.operators_s + added.update_s);
    hypar_sim_free(sim);
    hypar_profile_free(profile);
    hypar_measured_step_free(step);
    release(&p);
}

static void a_profile_adds_up_to_the_step(void **state)
{
    (void)state;
    check_profile(&(struct hypar_search_options){ .planner = "dp" }, -1);
}

/* Of 8 samples 4 micro-batches are of one size, 3 are of two. */
static void a_pass_is_of_one_micro_batch(void **state)
{
    (void)state;
    check_profile(&(struct hypar_search_options){ .planner = "dp", .micro_batches = 4 }, -1);
    check_profile(&(struct hypar_search_options){ .planner = "dp", .micro_batches = 3 }, -1);
}

static void what_is_computed_again_shares_the_backward_time(void **state)
{
    (void)state;
    check_profile(&(struct hypar_search_options){ .planner = "dp", .micro_batches = 3 }, 1);
}

static char *report(const struct hypar_measured_step *step, const struct hypar_sim *sim,
                    enum hypar_format format)
{
    char *text;
    size_t n;
    struct hypar_error err;
    FILE *to = open_memstream(&text, &n);
    assert_non_null(to);
    if (hypar_report_measured(to, step, sim, false, format, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    fclose(to);
    return text;
}

static void assert_tells(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("'%s' is not in\n%s", what, text);
}

static void rows_and_the_rest_are_told(void **state)
{
    (void)state;
    struct text t;
    struct planned p;
    struct hypar_measured_step *step = host_trace(&t);
    plan(&p, "local:1");
    char *text = report(step, p.sim, HYPAR_TEXT);
    assert_tells(text, "a step of rank 0 takes 400 us in PyTorch");
    assert_tells(text, "medians of 3 steps, times of operators on the host");
    assert_tells(text, "relu1 + fc2");
    assert_tells(text, "torch::autograd::AccumulateGrad      1");
    free(text);
    text = report(step, p.sim, HYPAR_JSON);
    assert_tells(text, "\"operators_not_matched\": 0");
    assert_tells(text, "{\"name\": \"relu1 + fc2\", \"operators\": 2");
    free(text);
    hypar_measured_step_free(step);
    release(&p);
}

/* Operators without a bar of their own belong to that of their module; bars of nothing that the
 * plan has are told. */
static void modules_have_their_operators(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_error err;
    int row_of_op[8];
    static const char model[] = "{'format': 'hypar-graph/1', 'name': 'g', 'batch': 2, "
                                "'inputs': [{'name': 'x', 'shape': "
                                "[2, 3]}], 'params': [], 'ops': [{'name': 'a.b.relu', 'kind': "
                                "'relu', 'inputs': ['x']}, "
                                "{'name': 'a.c', 'kind': 'relu', 'inputs': ['a.b.relu']}, "
                                "{'name': 'ab', 'kind': 'relu', "
                                "'inputs': ['a.c']}], 'outputs': ['ab']}";
    struct text t = { .n = 0 }, m = { .n = 0 };
    put(&m, "%s", model);
    if (hypar_import(&graph, scratch_file(0, m.at, m.n), NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    begin(&t, "");
    bar(&t, "hypar: ", 0, 100);
    bar(&t, "hypar: a", 10, 50);
    bar(&t, "hypar: a.b", 20, 30);
    struct hypar_measured_step *step = end(&t);
    hp_torch_match(step->torch, graph, row_of_op);
    assert_string_equal(step->torch->row[row_of_op[0]].name, "a.b");
    assert_string_equal(step->torch->row[row_of_op[1]].name, "a");
    assert_string_equal(step->torch->row[row_of_op[2]].name, "");
    hypar_measured_step_free(step);
    hypar_graph_free(graph);
}

static void another_number_of_ranks_is_refused(void **state)
{
    (void)state;
    struct text t;
    struct planned p;
    struct hypar_error err;
    struct hypar_measured_added added;
    struct hypar_profile *profile = hypar_profile_new();
    struct hypar_measured_step *step =
        device_trace(&t, "'distributedInfo': {'rank': 2, 'world_size': 4}, ");
    plan(&p, "local:2");
    assert_int_equal(hypar_report_measured(stdout, step, p.sim, false, HYPAR_TEXT, &err),
                     HYPAR_INVALID);
    assert_string_equal(err.text, "rank 2 of 4 was measured, the plan has 2 devices");
    assert_int_equal(hypar_measured_step_add(step, p.sim, profile, &added, &err),
                     HYPAR_INVALID);
    hypar_profile_free(profile);
    hypar_measured_step_free(step);
    release(&p);
}

static void bad_traces_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "{'schemaVersion': 1}", "trace: traceEvents: missing, expected an array" },
        { "{'schemaVersion': 1, 'traceEvents': []}",
          "trace: no bars 'hypar: OPERATOR', expected a trace of what hypar.torch has "
          "annotated" },
        { "{'schemaVersion': 1, 'traceEvents': [{'ph': 'X', 'cat': 'cpu_op', 'name': 3}]}",
          "trace: traceEvents[0].name: expected a string, not 3" },
        { "{'schemaVersion': 1, 'traceEvents': [1, {'ph': 'X', 'cat': 'kernel', 'name': 'a', "
          "'ts': 'b'}]}",
          "trace: traceEvents[1].ts: expected a number" },
        { "{'schemaVersion': 1, 'traceEvents': [{'ph': 'X', 'cat': 'cpu_op', 'name': 'a', "
          "'ts': 1}]}",
          "trace: traceEvents[0].dur: missing, expected a number" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text t = { .n = 0 };
        struct hypar_measured_step *step;
        struct hypar_error err;
        put(&t, "%s", rows[i].text);
        assert_int_equal(hp_measured_read_text(&step, t.at, t.n, "trace", &err), HYPAR_INVALID);
        if (strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0)
            fail_msg("%s\nexpected %s", err.text, rows[i].message);
        assert_null(step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_on_the_host_is_attributed),
        cmocka_unit_test(time_on_a_device_is_attributed),
        cmocka_unit_test(a_profile_adds_up_to_the_step),
        cmocka_unit_test(a_pass_is_of_one_micro_batch),
        cmocka_unit_test(what_is_computed_again_shares_the_backward_time),
        cmocka_unit_test(rows_and_the_rest_are_told),
        cmocka_unit_test(modules_have_their_operators),
        cmocka_unit_test(another_number_of_ranks_is_refused),
        cmocka_unit_test(bad_traces_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
