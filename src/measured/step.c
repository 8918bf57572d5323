/* Makes a measured step: the mean of a run, or of the steps of a trace file. */
#include "measured/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/json.h"
#include "base/sort.h"
#include "measured/torch_trace.h"
#include "plan/plan.h"

static struct hypar_measured_step *new_step(int n_ranks)
{
    struct arena arena = { 0 };
    struct hypar_measured_step *s = NEW(&arena, struct hypar_measured_step, 1);
    s->arena = arena;
    s->n_ranks = n_ranks;
    s->minibatches = 1;
    return s;
}

void hypar_measured_step_free(struct hypar_measured_step *step)
{
    if (!step)
        return;
    hp_arena_free(&step->arena);
}

int hypar_measured_step_minibatches(const struct hypar_measured_step *step)
{
    return step->window ? step->minibatches : 0;
}

static const char *const kind_name[] = {
    [HYPAR_EVENT_FORWARD] = "forward",   [HYPAR_EVENT_BACKWARD] = "backward",
    [HYPAR_EVENT_GRADIENT] = "gradient", [HYPAR_EVENT_UPDATE] = "update",
    [HYPAR_EVENT_COMM] = "comm",         [HYPAR_EVENT_OTHER] = "other",
};

const char *hp_event_kind_text(enum hypar_event_kind kind)
{
    return kind_name[kind];
}

const char *hp_plan_hash_text(const struct hypar_plan *plan, char text[HP_PLAN_HASH_BYTES])
{
    snprintf(text, HP_PLAN_HASH_BYTES, "%016llx", (unsigned long long)hypar_plan_hash(plan));
    return text;
}

/* From a run ------------------------------------------------------------------------------ */

struct hypar_measured_step *hp_measured_of(const struct hypar_train_result *result)
{
    struct hypar_trace_event e;
    int64_t n = 0;
    if (!result->trace)
        return NULL;
    while (hypar_trace_mean(result->trace, n, &e))
        n++;
    if (!n)
        return NULL;
    struct hypar_measured_step *s = new_step(result->ranks);
    s->window = result->minibatches > 0;
    s->minibatches = s->window ? result->minibatches : 1;
    s->n_steps = hypar_trace_info(result->trace).mean_steps * s->minibatches;
    s->step_s = result->mean_step_s * s->minibatches;
    s->in_turn = result->in_process;
    s->task = NEW(&s->arena, struct measured_task, n);
    for (; hypar_trace_mean(result->trace, s->n_tasks, &e); s->n_tasks++)
        s->task[s->n_tasks] =
            (struct measured_task){ e.id,    hp_arena_strdup(&s->arena, e.name),
                                    e.kind,  e.rank,
                                    e.with,  e.start_s,
                                    e.end_s, e.bytes };
    return s;
}

/* Reading a trace ------------------------------------------------------------------------ */

enum { MOST_EVENTS = 1 << 25, MOST_RANKS = 1 << 20 };
static const int64_t MOST_NUMBER = INT64_C(1) << 53;
static const double MOST_US = 1e15, MOST_BYTES = 1e18;

/* The task's name is in "args" if the bar is named after its kind. */
static enum hypar_status read_event(const struct hypar_measured_step *s,
                                    const struct json *event, struct hypar_trace_event *e,
                                    struct hypar_error *err)
{
    const char *name;
    struct json args;
    double start_us, long_us;
    *e = (struct hypar_trace_event){ .op = -1, .with = -1, .micro = -1, .stage = -1 };
    TRY(HP_JSON_READ(event, err, JSON_STRING("name", &name),
                     JSON_CHOICE("cat", &e->kind, kind_name, HYPAR_EVENT_OTHER),
                     JSON_NUMBER("ts", &start_us, 0, MOST_US),
                     JSON_NUMBER("dur", &long_us, 0, MOST_US), JSON_ANY("args", &args),
                     JSON_OTHERS));
    TRY(HP_JSON_READ(
        &args, err, JSON_STRING("?name", &name), JSON_INT("task", &e->id, 0, MOST_NUMBER),
        JSON_WHOLE("rank", &e->rank, 0, s->n_ranks - 1),
        JSON_INT("step", &e->step, 0, MOST_NUMBER), JSON_INT("?with", &e->with, 0, MOST_NUMBER),
        JSON_WHOLE("?micro_batch", &e->micro, 0, INT32_MAX),
        JSON_WHOLE("?minibatch", &e->micro, 0, INT32_MAX),
        JSON_WHOLE("?stage", &e->stage, 0, INT32_MAX), JSON_BOOL("?again", &e->again),
        JSON_NUMBER("?bytes", &e->bytes, 0, MOST_BYTES), JSON_OTHERS));
    snprintf(e->name, sizeof e->name, "%s", name);
    e->start_s = start_us * 1e-6;
    e->end_s = e->start_s + long_us * 1e-6;
    return HYPAR_OK;
}

/* Is the event a measured bar? */
static bool is_measured(const struct json *event)
{
    struct json ph = hp_json_member(event, "ph"), pid = hp_json_member(event, "pid");
    const char *text;
    int64_t process;
    return hp_json_is_object(event) && hp_json_is_string(&ph) &&
           hp_json_string(&ph, &text, NULL) == HYPAR_OK && strcmp(text, "X") == 0 &&
           hp_json_int(&pid, HP_TRACE_RANKS, HP_TRACE_MESSAGES, &process, NULL) == HYPAR_OK;
}

static int by_rank(const void *a, const void *b)
{
    const struct hypar_trace_event *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->end_s != y->end_s)
        return x->end_s < y->end_s ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

static enum hypar_status read_events(struct hypar_measured_step *s, const struct json *root,
                                     struct hypar_error *err)
{
    struct json list = hp_json_member(root, "traceEvents");
    TRY(hp_json_array(&list, MOST_EVENTS, err));
    int used = 0;
    for (struct json event = { 0 }; hp_json_each(&list, &event);)
        used += is_measured(&event);
    s->event = NEW(&s->arena, struct hypar_trace_event, used + 1);
    for (struct json event = { 0 }; hp_json_each(&list, &event);)
        if (is_measured(&event))
            TRY(read_event(s, &event, &s->event[s->n_events++], err));
    if (!s->n_events)
        return hp_json_fail(root, err,
                            "nothing measured, expected what 'hypar train --trace' or "
                            "PyTorch's profiler writes");
    hp_sort(s->event, s->n_events, sizeof *s->event, by_rank);
    return HYPAR_OK;
}

/* Read "otherData": the plan and run of the trace. */
static enum hypar_status read_about(struct hypar_measured_step *s, const struct json *root,
                                    const struct hypar_plan *plan, struct hypar_error *err)
{
    struct json about = hp_json_member(root, "otherData");
    const char *hash;
    char own[HP_PLAN_HASH_BYTES];
    TRY(hp_json_object(root, err));
    if (!about.value)
        return hp_json_fail(root, err,
                            "no 'otherData', expected what 'hypar train --trace' or "
                            "PyTorch's profiler writes");
    TRY(HP_JSON_READ(&about, err, JSON_STRING("plan", &hash),
                     JSON_WHOLE("ranks", &s->n_ranks, 1, MOST_RANKS),
                     JSON_WHOLE("?minibatches", &s->minibatches, 1, MOST_EVENTS),
                     JSON_BOOL("?in_process", &s->in_turn), JSON_OTHERS));
    if (plan && strcmp(hash, hp_plan_hash_text(plan, own)) != 0)
        return hp_json_fail(root, err, "a trace of another plan");
    s->window = plan && hypar_plan_updates(plan) != HYPAR_UPDATES_BATCH;
    return HYPAR_OK;
}

/* The mean of the steps ------------------------------------------------------------------- */

struct trace_step {
    int64_t number, n; /* events */
    double start_s, end_s;
};

static int by_number(const void *a, const void *b)
{
    const struct trace_step *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static struct trace_step *find_step(struct trace_step *step, int n, int64_t number)
{
    const struct trace_step key = { .number = number };
    return bsearch(&key, step, (size_t)n, sizeof *step, by_number);
}

/* Find the steps, ascending. A step that lacks tasks, because a rank kept only the last ones,
 * has n 0. */
static int find_steps(struct hypar_measured_step *s, struct trace_step **out)
{
    int n = 0;
    int64_t most = 0;
    struct trace_step *step = NEW(&s->arena, struct trace_step, s->n_events + 1);
    for (int64_t i = 0; i < s->n_events; i++)
        step[i].number = s->event[i].step;
    hp_sort(step, s->n_events, sizeof *step, by_number);
    for (int64_t i = 0; i < s->n_events; i++)
        if (n == 0 || step[n - 1].number != step[i].number)
            step[n++] = (struct trace_step){ .number = step[i].number, .start_s = HUGE_VAL };
    for (int64_t i = 0; i < s->n_events; i++) {
        struct trace_step *at = find_step(step, n, s->event[i].step);
        at->n++;
        at->start_s = fmin(at->start_s, s->event[i].start_s);
        at->end_s = fmax(at->end_s, s->event[i].end_s);
        most = at->n > most ? at->n : most;
    }
    for (int i = 0; i < n; i++)
        step[i].n = step[i].n == most ? most : 0;
    *out = step;
    return n;
}

static int by_task(const void *a, const void *b)
{
    const struct measured_task *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void average(struct hypar_measured_step *s)
{
    struct trace_step *step, *at;
    int n_steps = find_steps(s, &step);
    int64_t n = 0;
    for (int i = 0; i < n_steps; i++) {
        s->n_steps += step[i].n > 0;
        s->step_s += step[i].n > 0 ? step[i].end_s - step[i].start_s : 0;
    }
    s->step_s /= (double)s->n_steps;
    s->task = NEW(&s->arena, struct measured_task, s->n_events);
    for (int64_t i = 0; i < s->n_events; i++) {
        const struct hypar_trace_event *e = &s->event[i];
        at = find_step(step, n_steps, e->step);
        if (at->n)
            s->task[n++] = (struct measured_task){ e->id,
                                                   e->name,
                                                   e->kind,
                                                   e->rank,
                                                   e->with,
                                                   e->start_s - at->start_s,
                                                   e->end_s - at->start_s,
                                                   e->bytes };
    }
    hp_sort(s->task, n, sizeof *s->task, by_task);
    for (int64_t i = 0, k; i < n; i = k, s->n_tasks++) {
        struct measured_task *sum = &s->task[s->n_tasks];
        *sum = s->task[i];
        for (k = i + 1; k < n && by_task(&s->task[k], &s->task[i]) == 0; k++) {
            sum->start_s += s->task[k].start_s;
            sum->end_s += s->task[k].end_s;
        }
        sum->start_s /= (double)(k - i);
        sum->end_s /= (double)(k - i);
    }
}

static enum hypar_status read_document(struct hypar_measured_step **out,
                                       struct json_document *document,
                                       const struct hypar_plan *plan, struct hypar_error *err)
{
    struct hypar_measured_step *s = new_step(0);
    struct json root = hp_json_root(document);
    bool torch = hp_is_torch_trace(&root);
    enum hypar_status status =
        torch ? hp_torch_trace_read(s, &root, err) : read_about(s, &root, plan, err);
    if (status == HYPAR_OK && !torch)
        status = read_events(s, &root, err);
    hp_json_free(document);
    if (status != HYPAR_OK) {
        hypar_measured_step_free(s);
        return status;
    }
    if (!torch)
        average(s);
    *out = s;
    return HYPAR_OK;
}

enum hypar_status hypar_measured_step_read(struct hypar_measured_step **out, const char *path,
                                           const struct hypar_plan *plan,
                                           struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_file(&document, path, err));
    return read_document(out, document, plan, err);
}

enum hypar_status hp_measured_read_text(struct hypar_measured_step **out, const char *text,
                                        size_t length, const char *name,
                                        struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_text(&document, text, length, name, err));
    return read_document(out, document, NULL, err);
}
