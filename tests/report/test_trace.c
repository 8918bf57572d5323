/* Traces: the format, row by row, and times that add up to the simulation's sums. */
#include <math.h>
#include <unistd.h>

#include "base/files/json.h"
#include "tests/plan/plans.h"

#include <hypar/report.h>

enum { MAX_EVENTS = 1 << 16, MAX_ROWS = 4096 };
enum { DEVICES = 1, LINKS, MEMORY, PROCESSES };

static const char *const kinds[] = { "forward", "backward", "gradient",
                                     "update",  "comm",     "other" };

struct bar {
    int pid, tid, micro;
    int kind; /* of kinds[] */
    char name[64];
    int64_t start, end;
};

/* What a trace says, in picoseconds. */
struct trace {
    struct bar *bar;
    int n_bars, n_counters;
    int n_starts, n_ends; /* of arrows */
    bool process_named[PROCESSES];
    bool used[PROCESSES][MAX_ROWS], named[PROCESSES][MAX_ROWS];
    double last_counter[MAX_ROWS];
};

static int64_t ps(double us)
{
    assert_true(us >= 0);
    assert_true(fabs(us * 1e6 - round(us * 1e6)) < 1e-3); /* whole picoseconds */
    return llround(us * 1e6);
}

static double number(const struct json *object, const char *key)
{
    struct json at = hp_json_member(object, key);
    struct hypar_error err;
    double value = 0;
    if (hp_json_number(&at, -1e300, 1e300, &value, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return value;
}

static const char *text(const struct json *object, const char *key)
{
    struct json at = hp_json_member(object, key);
    struct hypar_error err;
    const char *value = "";
    if (hp_json_name(&at, &value, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return value;
}

static void read_bar(struct trace *t, const struct json *event, int pid, int tid)
{
    struct json args = hp_json_member(event, "args");
    struct json micro = hp_json_member(&args, "micro_batch");
    struct bar bar = { .pid = pid, .tid = tid, .micro = -1 };
    const char *kind = text(event, "cat");
    while (strcmp(kinds[bar.kind], kind) != 0)
        assert_true(++bar.kind < (int)(sizeof kinds / sizeof kinds[0]));
    bar.start = ps(number(event, "ts"));
    bar.end = bar.start + ps(number(event, "dur"));
    assert_true(pid == DEVICES || pid == LINKS);
    assert_true(ps(number(&args, "ready_us")) <= bar.start);
    if (micro.value)
        bar.micro = (int)number(&args, "micro_batch");
    snprintf(bar.name, sizeof bar.name, "%s", text(event, "name"));
    assert_true(t->n_bars < MAX_EVENTS);
    t->bar[t->n_bars++] = bar;
}

static void read_counter(struct trace *t, const struct json *event, int pid, int tid)
{
    struct json args = hp_json_member(event, "args");
    double ts = number(event, "ts");
    assert_int_equal(pid, MEMORY);
    assert_true(number(&args, "bytes") >= 0);
    assert_true(ts >= t->last_counter[tid]);
    t->last_counter[tid] = ts;
    t->n_counters++;
}

static void read_label(struct trace *t, const struct json *event, int pid, int tid)
{
    struct json args = hp_json_member(event, "args");
    const char *what = text(event, "name");
    if (strcmp(what, "process_name") == 0) {
        text(&args, "name");
        t->process_named[pid] = true;
    } else if (strcmp(what, "thread_name") == 0) {
        text(&args, "name");
        assert_false(t->named[pid][tid]);
        t->named[pid][tid] = true;
    } else {
        assert_string_equal(what, "thread_sort_index");
        number(&args, "sort_index");
    }
}

static void read_event(struct trace *t, const struct json *event)
{
    const char *phase = text(event, "ph");
    int pid = (int)number(event, "pid"), tid = (int)number(event, "tid");
    text(event, "name");
    assert_true(number(event, "ts") >= 0);
    assert_true(pid >= DEVICES && pid < PROCESSES && tid >= 0 && tid < MAX_ROWS);
    if (strcmp(phase, "M") == 0) {
        read_label(t, event, pid, tid);
        return;
    }
    t->used[pid][tid] = true;
    if (strcmp(phase, "X") == 0)
        read_bar(t, event, pid, tid);
    else if (strcmp(phase, "C") == 0)
        read_counter(t, event, pid, tid);
    else if (strcmp(phase, "s") == 0)
        assert_int_equal(number(event, "id"), t->n_starts++);
    else if (strcmp(phase, "f") == 0)
        assert_int_equal(number(event, "id"), t->n_ends++);
    else
        fail_msg("phase '%s'", phase);
}

/* Write the trace and read it back. */
static struct trace *trace_with(const struct hypar_sim *sim,
                                const struct hypar_trace_options *options,
                                struct hypar_trace_shown *shown)
{
    struct trace *t = calloc(1, sizeof *t);
    char *json;
    size_t length;
    struct json_document *document;
    struct hypar_error err;
    FILE *to = open_memstream(&json, &length);
    assert_non_null(t);
    t->bar = calloc(MAX_EVENTS, sizeof *t->bar);
    *shown = hypar_report_trace(to, sim, options);
    assert_int_equal(fclose(to), 0);
    if (hp_json_read_text(&document, json, length, "trace", &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct json root = hp_json_root(document), events = hp_json_member(&root, "traceEvents");
    assert_string_equal(text(&root, "displayTimeUnit"), "ms");
    assert_true(hp_json_length(&events) > 0);
    for (int i = 0; i < hp_json_length(&events); i++) {
        struct json event = hp_json_element(&events, i);
        read_event(t, &event);
    }
    hp_json_free(document);
    free(json);
    assert_int_equal(shown->bars, t->n_bars);
    return t;
}

static struct trace *trace_of(const struct hypar_sim *sim)
{
    struct hypar_trace_shown shown;
    struct trace *t = trace_with(sim, NULL, &shown);
    assert_int_equal(shown.left_out, 0);
    return t;
}

static void free_trace(struct trace *t)
{
    free(t->bar);
    free(t);
}

static int by_row_and_time(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* What every trace keeps: names for all rows, and one thing at a time on each. */
static void check_rows(struct trace *t)
{
    for (int pid = DEVICES; pid < PROCESSES; pid++)
        for (int tid = 0; tid < MAX_ROWS; tid++)
            if (t->used[pid][tid]) {
                assert_true(t->named[pid][tid]);
                assert_true(t->process_named[pid]);
            }
    qsort(t->bar, (size_t)t->n_bars, sizeof t->bar[0], by_row_and_time);
    for (int i = 1; i < t->n_bars; i++) {
        const struct bar *a = &t->bar[i - 1], *b = &t->bar[i];
        if (a->pid == b->pid && a->tid == b->tid && a->end > b->start)
            fail_msg("row %d.%d: a bar ends at %lld ps, the next starts at %lld ps", a->pid,
                     a->tid, (long long)a->end, (long long)b->start);
    }
}

/* The bars of a row add up to what the simulation says of it; none ends after the step. */
static void check_sums(const struct trace *t, const struct hypar_sim *sim)
{
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    assert_true(s.n_devices <= MAX_ROWS && s.n_links <= MAX_ROWS);
    int64_t busy[PROCESSES][MAX_ROWS] = { 0 }, last = 0;
    for (int i = 0; i < t->n_bars; i++) {
        const struct bar *bar = &t->bar[i];
        busy[bar->pid][bar->tid] += bar->end - bar->start;
        last = bar->end > last ? bar->end : last;
    }
    for (int d = 0; d < s.n_devices; d++)
        assert_true(fabs((double)busy[DEVICES][d] - 1e12 * hypar_sim_device(sim, d).busy_s) <
                    1);
    for (int l = 0; l < s.n_links; l++)
        assert_true(fabs((double)busy[LINKS][l] - 1e12 * hypar_sim_link(sim, l).busy_s) < 1);
    assert_true((double)last <= 1e12 * s.step_s + 1);
}

static struct hypar_sim *simulated(struct hypar_plan **plan, const char *plan_json,
                                   struct hypar_sim_options options)
{
    struct hypar_error err;
    struct hypar_sim *sim = NULL;
    options.timeline = true;
    if (plan_from(plan, plan_json, &err) != HYPAR_OK ||
        hypar_simulate(&sim, *plan, &options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return sim;
}

static const char pipeline[] =
    "{'format': 'hypar-plan/1', 'model': 'mlp:64-64-64-64-10', 'batch': 64,"
    " 'machine': 'ring:4', 'ops': [{'name': '*', 'split': {}}], 'stages': ["
    " {'ops': ['fc1', 'relu1'], 'devices': [0], 'replicas': 1, 'share': 'batch'},"
    " {'ops': ['fc2', 'relu2'], 'devices': [1], 'replicas': 1, 'share': 'batch'},"
    " {'ops': ['fc3', 'relu3'], 'devices': [2], 'replicas': 1, 'share': 'batch'},"
    " {'ops': ['fc4', 'loss'], 'devices': [3], 'replicas': 1, 'share': 'batch'}],"
    " 'schedule': {'name': '1f1b', 'micro_batches': 8}}";

static void test_format(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        bool expand;
    } cases[] = {
        { pipeline, false },
        { "{'format': 'hypar-plan/1', 'model': 'lenet5', 'batch': 64, 'machine': 'torus:2x2',"
          " 'ops': [{'name': '*', 'split': {'n': 4}}]}",
          false },
        { "{'format': 'hypar-plan/1', 'model': 'lenet5', 'batch': 64, 'machine': 'torus:2x2',"
          " 'ops': [{'name': '*', 'split': {'n': 4}}]}",
          true },
        { "{'format': 'hypar-plan/1', 'model': 'mlp:8-8', 'batch': 8, 'machine': 'htree:4',"
          " 'ops': [{'name': '*', 'split': {'n': 4}}]}",
          true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_plan *plan;
        struct hypar_sim *sim =
            simulated(&plan, cases[i].plan,
                      (struct hypar_sim_options){ .expand_collectives = cases[i].expand });
        struct trace *t = trace_of(sim);
        assert_true(t->n_counters > 0);
        check_rows(t);
        check_sums(t, sim);
        free_trace(t);
        hypar_sim_free(sim);
        hypar_plan_free(plan);
    }
}

/* Slot `i` of stage `stage` of `stages` under 1F1B with `n` micro-batches: the forward half of
 * micro-batch m is m, the backward half -1 - m. */
static int slot_1f1b(int stage, int stages, int n, int i)
{
    int warm = stages - stage < n ? stages - stage : n; /* forward before the first backward */
    if (i < warm)
        return i;
    int rest = i - warm; /* B0 F(warm) B1 F(warm + 1) ..., then B alone */
    if (rest < 2 * (n - warm))
        return rest % 2 ? warm + rest / 2 : -1 - rest / 2;
    return -1 - (rest - (n - warm));
}

/* The rows of a pipeline show 1F1B. */
static void test_pipeline(void **state)
{
    (void)state;
    enum { STAGES = 4, MICRO = 8 };
    struct hypar_plan *plan;
    struct hypar_sim *sim = simulated(&plan, pipeline, (struct hypar_sim_options){ 0 });
    struct trace *t = trace_of(sim);
    check_rows(t); /* sorts */
    for (int stage = 0, i = 0; stage < STAGES; stage++) {
        int n = 0, now = INT32_MAX;
        for (; i < t->n_bars && t->bar[i].pid == DEVICES && t->bar[i].tid == stage; i++) {
            const struct bar *bar = &t->bar[i];
            if (bar->micro < 0 || bar->kind > 2) /* updates, what happens once */
                continue;
            int slot = bar->kind == 0 ? bar->micro : -1 - bar->micro;
            if (slot != now)
                assert_int_equal(slot, slot_1f1b(stage, STAGES, MICRO, n++));
            now = slot;
        }
        assert_int_equal(n, 2 * MICRO);
    }
    free_trace(t);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
}

/* Some devices; a part of the step; so many bars: of the whole trace, these and no others. */
static void test_parts(void **state)
{
    (void)state;
    static const bool second[4] = { false, true, false, false };
    struct hypar_plan *plan;
    struct hypar_sim *sim = simulated(&plan, pipeline, (struct hypar_sim_options){ 0 });
    struct trace *whole = trace_of(sim);
    double step_s = hypar_sim_summary(sim).step_s;
    struct hypar_trace_options cases[] = {
        { .device = second },
        { .from_s = step_s / 3, .to_s = step_s / 2 },
        { .from_s = step_s / 3 },
        { .most = 40 },
        { .device = second, .from_s = step_s / 3, .to_s = step_s / 2, .arrows = true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct hypar_trace_options *o = &cases[i];
        struct hypar_trace_shown shown;
        struct trace *t = trace_with(sim, o, &shown);
        double until_s = shown.left_out ? shown.until_s : o->to_s > 0 ? o->to_s : INFINITY;
        int expected = 0;
        for (int b = 0; b < whole->n_bars; b++) {
            const struct bar *bar = &whole->bar[b];
            struct hypar_sim_link l = { .from = -1, .to = -1 };
            if (bar->pid == LINKS)
                l = hypar_sim_link(sim, bar->tid);
            bool device = !o->device || (bar->pid == DEVICES ? o->device[bar->tid]
                                                             : l.from == 1 || l.to == 1);
            expected += device && (double)bar->end / 1e12 >= o->from_s - 1e-13 &&
                        (double)bar->start / 1e12 < until_s - 1e-13;
        }
        check_rows(t);
        assert_int_equal(t->n_bars, expected);
        assert_true(t->n_bars > 0 && t->n_bars < whole->n_bars);
        assert_int_equal(shown.left_out, o->most ? whole->n_bars - t->n_bars : 0);
        assert_true(!o->most || t->n_bars <= o->most);
        for (int d = 0; d < 4; d++)
            assert_int_equal(t->named[MEMORY][d], !o->device || o->device[d]);
        free_trace(t);
    }
    free_trace(whole);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
}

/* Names that colour by kind, or those of tasks; an arrow to each task that waited for one. */
static void test_names_and_arrows(void **state)
{
    (void)state;
    struct hypar_plan *plan;
    struct hypar_sim *sim = simulated(&plan, pipeline, (struct hypar_sim_options){ 0 });
    struct hypar_trace_shown shown;
    struct hypar_sim_event e, before;
    int waited = 0;
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++) {
        if (e.after < 0)
            continue;
        waited++;
        assert_true(hypar_sim_event(sim, e.after, &before));
        assert_true(before.end_s == e.ready_s);
    }
    assert_true(waited > 0);
    struct trace *t = trace_with(sim, &(struct hypar_trace_options){ .arrows = true }, &shown);
    assert_int_equal(t->n_starts, waited);
    assert_int_equal(t->n_ends, waited);
    for (int i = 0; i < t->n_bars; i++) {
        const struct bar *bar = &t->bar[i];
        char expected[64];
        snprintf(expected, sizeof expected, "%s %d", kinds[bar->kind], bar->micro);
        if (bar->pid == DEVICES)
            assert_string_equal(bar->name, bar->micro < 0 ? kinds[bar->kind] : expected);
        else
            assert_int_equal(strncmp(bar->name, "send", 4), 0);
    }
    free_trace(t);
    t = trace_with(sim, &(struct hypar_trace_options){ .tasks = true }, &shown);
    assert_string_equal(t->bar[0].name, "fc1+relu1 forward part 0 micro 0");
    assert_int_equal(t->n_starts + t->n_ends, 0);
    free_trace(t);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
}

/* A program file: its own links have rows of their own, and there is no memory. */
static void test_program_file(void **state)
{
    (void)state;
    static const char program[] =
        "{\"format\": \"hypar-program/1\", \"tasks\": ["
        "{\"id\": 7, \"on\": 0, \"name\": \"a \\\"quoted\\\" name\", \"seconds\": 1},"
        "{\"id\": 8, \"on\": \"bus\", \"seconds\": 0.5, \"after\": [7]},"
        "{\"id\": 9, \"on\": \"bus\", \"seconds\": 0.5, \"after\": [7]},"
        "{\"id\": 10, \"on\": 1, \"seconds\": 1e-12, \"after\": [9]}]}";
    char path[] = "/tmp/hypar-trace-XXXXXX";
    struct hypar_sim_options options = { .timeline = true };
    struct hypar_sim *sim;
    struct hypar_error err;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, program, sizeof program - 1), sizeof program - 1);
    close(fd);
    if (hypar_simulate_file(&sim, path, NULL, &options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct trace *t = trace_of(sim);
    assert_int_equal(t->n_counters, 0);
    assert_int_equal(t->n_bars, 4);
    check_rows(t);
    check_sums(t, sim);
    assert_int_equal(t->bar[1].end - t->bar[1].start, 1);
    free_trace(t);
    hypar_sim_free(sim);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),       cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_parts),        cmocka_unit_test(test_names_and_arrows),
        cmocka_unit_test(test_program_file),
    };
    return cmocka_run_group_tests_name("report/trace", tests, NULL, NULL);
}
