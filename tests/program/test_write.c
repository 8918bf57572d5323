/* The written program, read back: its numbers, its edges and its bytes say what the plan says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/json.h"
#include "program/program.h"

enum { MAX_FUSED = 4, MAX_IDS = 4096, MAX_DEVICES = 8, WORDS = MAX_IDS / 64 };

/* The network is mlp:12-12-12: fc1 and relu1, then fc2 and loss, which may be stages. */
static const struct {
    const char *title;
    enum hypar_schedule_kind schedule;
    int batch, micro_batches;      /* pipedream: minibatches */
    int stages, samples, features; /* how many: stages, n split, split of features */
    double bucket_bytes;
    int replicas[2]; /* that take turns, by stage */
} cases[] = {
    { "one device", HYPAR_SCHEDULE_NONE, 12, 1, 1, 1, 1, 0, { 1, 1 } },
    { "samples", HYPAR_SCHEDULE_NONE, 12, 1, 1, 4, 1, 0, { 1, 1 } },
    { "samples in buckets", HYPAR_SCHEDULE_NONE, 12, 1, 1, 4, 1, 600, { 1, 1 } },
    { "features", HYPAR_SCHEDULE_NONE, 12, 1, 1, 1, 4, 0, { 1, 1 } },
    { "both", HYPAR_SCHEDULE_NONE, 12, 3, 1, 2, 2, 0, { 1, 1 } },
    { "one after another", HYPAR_SCHEDULE_NONE, 12, 4, 1, 2, 1, 0, { 1, 1 } },
    { "uneven", HYPAR_SCHEDULE_NONE, 5, 4, 1, 2, 1, 0, { 1, 1 } },
    { "uneven in one bucket", HYPAR_SCHEDULE_NONE, 5, 4, 1, 2, 1, 1e9, { 1, 1 } },
    { "gpipe", HYPAR_SCHEDULE_GPIPE, 12, 4, 2, 2, 1, 0, { 1, 1 } },
    { "gpipe, features", HYPAR_SCHEDULE_GPIPE, 12, 2, 2, 1, 2, 0, { 1, 1 } },
    { "gpipe, uneven", HYPAR_SCHEDULE_GPIPE, 5, 4, 2, 2, 1, 0, { 1, 1 } },
    { "1f1b", HYPAR_SCHEDULE_1F1B, 12, 6, 2, 1, 1, 0, { 1, 1 } },
    { "1f1b, samples", HYPAR_SCHEDULE_1F1B, 12, 4, 2, 2, 1, 64, { 1, 1 } },
    { "1f1b, uneven", HYPAR_SCHEDULE_1F1B, 5, 4, 2, 2, 1, 0, { 1, 1 } },
    { "pipedream", HYPAR_SCHEDULE_PIPEDREAM, 12, 7, 2, 1, 1, 0, { 1, 1 } },
    { "pipedream, features", HYPAR_SCHEDULE_PIPEDREAM, 12, 5, 2, 1, 2, 0, { 1, 1 } },
    { "pipedream, replicated", HYPAR_SCHEDULE_PIPEDREAM, 12, 9, 2, 1, 1, 0, { 3, 1 } },
    { "pipedream, both stages", HYPAR_SCHEDULE_PIPEDREAM, 12, 12, 2, 1, 1, 0, { 3, 2 } },
    { "pipedream, in buckets", HYPAR_SCHEDULE_PIPEDREAM, 12, 8, 2, 2, 1, 600, { 1, 2 } },
};

enum { N_CASES = sizeof cases / sizeof cases[0] };

enum what { OTHER, COMPUTE, COMM, UPDATE };

/* A task as the file says it is. */
struct line {
    enum what what;
    char subject[64]; /* operators or parameter */
    bool backward;
    int micro;                /* of an update: the round, 0 if there is only one */
    char pass[MAX_FUSED][32]; /* "fc1:0" */
    int n_passes;
    int device; /* -1: several */
    double bytes;
    int64_t id;
    uint64_t before[WORDS]; /* bit i: line i must be done before, by whatever way */
};

struct file {
    const char *title;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    struct hypar_program *program;
    struct json_document *document;
    struct line *line; /* MAX_IDS */
    int n_lines;
    int line_of[MAX_IDS]; /* by id, -1 */
};

/* Making and reading ---------------------------------------------------------------- */

/* Layers by input and output features in turn; element-wise operators as what they read. */
static void split_op(struct hypar_plan *plan, int op, int samples, int features)
{
    static const char axis[] = { 'k', 'c', 'c', 'r' }; /* fc1 relu1 fc2 loss */
    const struct nest *nest = plan->graph->ops[op].nest;
    struct split split = { .degree = { 0 } };
    split.degree[hp_nest_axis(nest, 'n')] = samples;
    split.degree[hp_nest_axis(nest, axis[op])] = features;
    hp_plan_set(plan, op, &split, NULL);
}

static void make_plan(struct file *f, int i)
{
    static const int device[MAX_DEVICES] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    int n = cases[i].samples * cases[i].features, first = 0;
    bool pipedream = cases[i].schedule == HYPAR_SCHEDULE_PIPEDREAM;
    assert_int_equal(f->graph->n_ops, 4);
    f->plan = hp_plan_new(f->graph, f->machine, &(struct plan_settings){ 0 });
    for (int s = 0; cases[i].stages == 2 && s < 2; s++) {
        int replicas = cases[i].replicas[s];
        hp_plan_add_stage(f->plan,
                          &(struct hypar_stage){ .n_ops = 2,
                                                 .op = (int[]){ 2 * s, 2 * s + 1 },
                                                 .n_devices = n * replicas,
                                                 .device = device + first,
                                                 .replicas = replicas,
                                                 .share = replicas > 1 ? HYPAR_SHARE_MINIBATCH
                                                                       : HYPAR_SHARE_BATCH });
        first += n * replicas;
    }
    hp_plan_set_schedule(f->plan, &(struct hypar_schedule){
                                      .kind = cases[i].schedule,
                                      .micro_batches = pipedream ? 1 : cases[i].micro_batches,
                                      .stash = pipedream });
    for (int op = 0; op < f->graph->n_ops; op++)
        split_op(f->plan, op, cases[i].samples, cases[i].features);
}

static void write_and_parse(struct file *f)
{
    char *text = NULL;
    size_t length = 0;
    struct hypar_error err;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    hypar_program_write(f->program, to);
    fclose(to);
    if (hp_json_read_text(&f->document, text, length, "program", &err))
        fail_msg("%s: %s", f->title, err.text);
    free(text);
}

static void read_name(struct line *line, const char *name)
{
    char half[16];
    if (sscanf(name, "update %63s round %d", line->subject, &line->micro) >= 1)
        line->what = UPDATE;
    else if (sscanf(name, "%63s %15s part %*d micro %d", line->subject, half, &line->micro) ==
             3)
        line->what = COMPUTE;
    line->backward = line->what == COMPUTE && strcmp(half, "forward") != 0;
}

static void read_line(struct file *f, const struct json *task)
{
    struct line *line = &f->line[f->n_lines];
    struct json id = hp_json_member(task, "id"), on = hp_json_member(task, "on");
    struct json name = hp_json_member(task, "name"), bytes = hp_json_member(task, "bytes");
    const char *text;
    int64_t device = -1;
    struct hypar_error err;
    if (hp_json_int(&id, 0, MAX_IDS - 1, &line->id, &err) || hp_json_string(&name, &text, &err))
        fail_msg("%s: %s", f->title, err.text);
    if (hp_json_is_array(&on)) {
        assert_int_equal(hp_json_number(&bytes, 0, 1e12, &line->bytes, &err), HYPAR_OK);
        assert_true(hp_json_length(&on) >= 2);
        line->what = COMM;
    } else {
        assert_int_equal(hp_json_int(&on, 0, MAX_DEVICES - 1, &device, &err), HYPAR_OK);
        read_name(line, text);
        struct json passes = hp_json_member(task, "passes");
        line->n_passes = line->what == COMPUTE ? hp_json_length(&passes) : 0;
        assert_true(line->n_passes <= MAX_FUSED);
        for (int i = 0; i < line->n_passes; i++) {
            struct json pass = hp_json_element(&passes, i);
            assert_int_equal(hp_json_string(&pass, &text, &err), HYPAR_OK);
            snprintf(line->pass[i], sizeof line->pass[i], "%s", text);
        }
    }
    line->device = (int)device;
    f->n_lines++;
}

/* The edges of one line; what is before those before it is before it. */
static void read_after(struct file *f, int i, const struct json *after)
{
    struct line *line = &f->line[i];
    struct hypar_error err;
    bool seen[MAX_IDS] = { false };
    for (int k = 0; k < hp_json_length(after); k++) {
        struct json at = hp_json_element(after, k);
        int64_t id;
        if (hp_json_int(&at, 0, MAX_IDS - 1, &id, &err))
            fail_msg("%s: %s", f->title, err.text);
        int j = f->line_of[id];
        if (j < 0 || id >= line->id || seen[id])
            fail_msg("%s: task %lld waits for %lld, which %s", f->title, (long long)line->id,
                     (long long)id,
                     j < 0      ? "does not exist"
                     : seen[id] ? "is named twice"
                                : "comes later");
        seen[id] = true;
        line->before[j / 64] |= (uint64_t)1 << (j % 64);
        for (int w = 0; w < WORDS; w++)
            line->before[w] |= f->line[j].before[w];
    }
}

static void read_lines(struct file *f)
{
    struct json root = hp_json_root(f->document), tasks = hp_json_member(&root, "tasks");
    int n = hp_json_length(&tasks);
    assert_true(n > 0 && n <= MAX_IDS);
    f->line = calloc(MAX_IDS, sizeof *f->line);
    assert_non_null(f->line);
    memset(f->line_of, -1, sizeof f->line_of);
    for (int i = 0; i < n; i++) {
        struct json task = hp_json_element(&tasks, i);
        read_line(f, &task);
        if (i && f->line[i].id <= f->line[i - 1].id)
            fail_msg("%s: task %lld stands after %lld", f->title, (long long)f->line[i].id,
                     (long long)f->line[i - 1].id);
        f->line_of[f->line[i].id] = i;
    }
    for (int i = 0; i < n; i++) {
        struct json task = hp_json_element(&tasks, i), after = hp_json_member(&task, "after");
        read_after(f, i, &after);
    }
}

static struct file *open_case(int i)
{
    struct file *f = calloc(1, sizeof *f);
    struct hypar_error err;
    struct hypar_import_options options = { .batch = cases[i].batch };
    struct hypar_lower_options how = { .bucket_bytes = cases[i].bucket_bytes,
                                       .minibatches = cases[i].micro_batches };
    assert_non_null(f);
    f->title = cases[i].title;
    if (hypar_import(&f->graph, "mlp:12-12-12", &options, &err) ||
        hypar_machine_read(&f->machine, "full:8", &err))
        fail_msg("%s", err.text);
    make_plan(f, i);
    if (hypar_lower(&f->program, f->plan, &how, &err))
        fail_msg("%s: %s", f->title, err.text);
    write_and_parse(f);
    read_lines(f);
    return f;
}

static void close_case(struct file *f)
{
    hp_json_free(f->document);
    hypar_program_free(f->program);
    hypar_plan_free(f->plan);
    hypar_machine_free(f->machine);
    hypar_graph_free(f->graph);
    free(f->line);
    free(f);
}

/* What must hold -------------------------------------------------------------------- */

static bool is_before(const struct file *f, int a, int b)
{
    return f->line[b].before[a / 64] >> (a % 64) & 1;
}

/* Every task of the program is there, and every byte. Exact: the bytes are whole numbers. */
static void bytes_and_counts(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        struct file *f = open_case(i);
        struct hypar_program_totals totals = hypar_program_totals(f->program);
        int64_t n[UPDATE + 1] = { 0 };
        double bytes = 0, steps = totals.minibatches ? totals.minibatches : 1;
        for (int k = 0; k < f->n_lines; k++) {
            bytes += f->line[k].bytes;
            n[f->line[k].what]++;
        }
        if (fabs(bytes - totals.comm_bytes * steps) > (steps > 1 ? 1e-9 * bytes : 0))
            fail_msg("%s: %g bytes are written, expected %g", f->title, bytes,
                     totals.comm_bytes);
        assert_int_equal(n[COMPUTE], totals.compute);
        assert_int_equal(n[COMM], totals.comm);
        assert_int_equal(n[UPDATE], totals.update);
        close_case(f);
    }
}

/* Has the update to wait for this pass? If it reads the old values on the update's
 * device or gives a part of the gradient, which all devices do where only samples are split. */
static bool pass_concerns(const struct file *f, const char *what, const struct line *update,
                          bool here, bool only_samples)
{
    const char *colon = strchr(what, ':');
    for (int op = 0; op < f->graph->n_ops; op++) {
        const struct op *o = &f->graph->ops[op];
        const struct pass *pass = &o->nest->pass[atoi(colon + 1)];
        bool mine =
            strncmp(o->name, what, (size_t)(colon - what)) == 0 && !o->name[colon - what];
        for (int k = 0; mine && k < o->nest->n_operands; k++)
            if (o->tensor[k] >= 0 &&
                strcmp(f->graph->tensors[o->tensor[k]].name, update->subject) == 0)
                return (here && pass->reads >> k & 1) ||
                       ((here || only_samples) && pass->writes_grad >> k & 1);
    }
    return false;
}

static bool concerns(const struct file *f, const struct line *task, const struct line *update,
                     bool only_samples)
{
    for (int i = 0; i < task->n_passes; i++)
        if (pass_concerns(f, task->pass[i], update, task->device == update->device,
                          only_samples))
            return true;
    return false;
}

static int stage_of(const struct line *line)
{
    return strncmp(line->subject, "fc2", 3) == 0 || strncmp(line->subject, "loss", 4) == 0;
}

/* Is the task of a micro-batch of the update's round? */
static bool in_round(int i, const struct line *task, const struct line *update)
{
    int n = cases[i].schedule == HYPAR_SCHEDULE_PIPEDREAM ? cases[i].replicas[stage_of(update)]
                                                          : cases[i].micro_batches;
    return task->micro / n == update->micro;
}

/* An update comes after everything, of every micro-batch of its round, that gives its gradient
 * or reads the old values. */
static void updates_wait_for_all(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        struct file *f = open_case(i);
        bool seen[64] = { false };
        for (int u = 0; u < f->n_lines; u++)
            for (int t = 0; f->line[u].what == UPDATE && t < f->n_lines; t++) {
                const struct line *task = &f->line[t], *update = &f->line[u];
                if (!concerns(f, task, update, cases[i].features == 1) ||
                    !in_round(i, task, update))
                    continue;
                seen[task->micro] |= task->backward;
                if (!is_before(f, t, u))
                    fail_msg("%s: update %s on %d does not wait for %s of micro-batch %d on %d",
                             f->title, update->subject, update->device, task->subject,
                             task->micro, task->device);
            }
        for (int m = 0; m < cases[i].micro_batches; m++)
            assert_true(seen[m]);
        close_case(f);
    }
}

/* When `line` runs among the slots of its stage, by the file's own schedule. */
static int slot_of(const struct file *f, const struct line *line)
{
    struct json root = hp_json_root(f->document), all = hp_json_member(&root, "schedule");
    struct json slots = hp_json_element(&all, hp_json_length(&all) == 2 && stage_of(line));
    char wanted[24];
    snprintf(wanted, sizeof wanted, "%c%d",
             line->what == UPDATE ? 'U'
             : line->backward     ? 'B'
                                  : 'F',
             line->micro);
    for (int i = 0; i < hp_json_length(&slots); i++) {
        struct json slot = hp_json_element(&slots, i);
        const char *text;
        assert_int_equal(hp_json_string(&slot, &text, NULL), HYPAR_OK);
        if (strcmp(text, wanted) == 0)
            return i;
    }
    fail_msg("%s: %s is not in the schedule", f->title, wanted);
    return -1;
}

/* On each device all of a slot comes before all of the next, by the edges alone; what follows
 * an update of a round waits for it. A single micro-batch is in order by what its tasks read.
 */
static void slots_are_in_order(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        struct file *f = open_case(i);
        int *slot = calloc(MAX_IDS, sizeof *slot);
        int pairs = 0;
        assert_non_null(slot);
        for (int k = 0; k < f->n_lines; k++)
            slot[k] =
                f->line[k].what == COMPUTE || (f->line[k].what == UPDATE &&
                                               cases[i].schedule == HYPAR_SCHEDULE_PIPEDREAM)
                    ? slot_of(f, &f->line[k])
                    : -1;
        for (int a = 0; cases[i].micro_batches > 1 && a < f->n_lines; a++)
            for (int b = 0; slot[a] >= 0 && b < f->n_lines; b++) {
                if (f->line[a].device != f->line[b].device || slot[a] >= slot[b] ||
                    f->line[b].what == UPDATE) /* which waits for its round only */
                    continue;
                pairs++;
                if (!is_before(f, a, b))
                    fail_msg("%s: device %d: task %lld of slot %d does not wait for %lld of "
                             "slot %d",
                             f->title, f->line[a].device, (long long)f->line[b].id, slot[b],
                             (long long)f->line[a].id, slot[a]);
            }
        assert_true(pairs > 0 || cases[i].micro_batches == 1);
        free(slot);
        close_case(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_and_counts),
        cmocka_unit_test(updates_wait_for_all),
        cmocka_unit_test(slots_are_in_order),
    };
    return cmocka_run_group_tests_name("program: the written form", tests, NULL, NULL);
}
