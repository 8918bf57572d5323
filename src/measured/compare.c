/* Compares a measured step with the simulated one: the time of each task, the waits, and the
 * differences. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "base/table.h"
#include "graph/graph.h"
#include "measured/step.h"

/* A span of a rank's time. */
struct span {
    int rank;
    double start_s, end_s;
    int64_t id; /* of the task */
};

struct spans {
    struct span *at;
    int n, capacity;
};

/* One side: predicted or measured. */
enum side { PREDICTED, MEASURED };

/* The state of the comparison. */
struct matching {
    struct truth *truth;
    struct arena arena;
    const struct hypar_sim *sim;
    const struct hypar_measured_step *measured;
    double scale; /* factor from one task on one rank to the mean of ranks in one step */
    int64_t n;    /* number of tasks */
    /* By task: */
    int64_t *measured_at;       /* index of its measurement, for a comm on one of its ranks; -1:
                                 * none */
    double *predicted_s;        /* its predicted time */
    double *joined_s;           /* predicted time of all tasks computed in one call with it */
    double *sent_s;             /* of a comm: when the last sender has begun */
    bool *received;             /* of a comm: some rank only receives it, and its time counts
                                 * there */
    int *op, *exchange, *place; /* rows; -1: none */
    struct table op_rows, exchange_rows, place_rows;
};

/* Names -------------------------------------------------------------------------------- */

/* Is `measured` the name in traces that were written before the names of gradients told the
 * parameter? " part 3 micro 0" for " part 3 of fc1.b micro 0". */
static bool without_param(const char *name, const char *measured)
{
    const char *of = strstr(name, " of ");
    size_t n = of ? (size_t)(of - name) : 0, rest = strlen(name), shorter = strlen(measured);
    return of && shorter >= n && shorter < rest && strncmp(name, measured, n) == 0 &&
           strcmp(name + rest - (shorter - n), measured + n) == 0;
}

/* Does the measured name match the task? Ranks do not name the algorithm of a collective. */
static bool same_name(const struct hypar_sim_event *e, const char *measured)
{
    size_t n = (size_t)e->what_bytes, way = e->way ? strlen(e->way) + strlen(" ()") : 0;
    if (strncmp(e->name, measured, n) != 0)
        return false;
    return strcmp(e->name + n + way, measured + n) == 0 ||
           (e->kind == HYPAR_EVENT_GRADIENT && without_param(e->name + n, measured + n));
}

/* The row with this name; a new row if no row has it. */
static int row_of(struct matching *m, struct truth_rows *rows, struct table *table,
                  const char *name)
{
    struct arena *arena = &m->truth->arena;
    int at = hp_table_get(table, name, strlen(name));
    if (at >= 0)
        return at;
    rows->row = GROW(arena, struct truth_row, rows->row, rows->n, &rows->capacity);
    rows->row[rows->n] = (struct truth_row){ .name = hp_arena_strdup(arena, name) };
    name = rows->row[rows->n].name;
    return hp_table_put(table, &m->arena, name, strlen(name), rows->n++);
}

static void add_time(struct truth_row *row, enum side side, double seconds)
{
    *(side == MEASURED ? &row->measured_s : &row->predicted_s) += seconds;
}

/* Tasks -------------------------------------------------------------------------------- */

static bool is_computed(enum hypar_event_kind kind)
{
    return kind != HYPAR_EVENT_COMM;
}

/* Add a simulated task to the rows of its time. */
static void add_predicted(struct matching *m, const struct hypar_sim_event *e)
{
    struct truth *t = m->truth;
    const struct hypar_graph *graph = hypar_plan_graph(hypar_sim_plan(m->sim));
    char *place = hp_arena_strndup(&m->arena, e->name, (size_t)e->what_bytes);
    m->op[e->id] = m->exchange[e->id] = m->place[e->id] = -1;
    if (e->op >= 0)
        m->op[e->id] = row_of(m, &t->op, &m->op_rows, graph->ops[e->op].name);
    if (!is_computed(e->kind)) {
        m->exchange[e->id] = row_of(m, &t->exchange, &m->exchange_rows, place);
        t->exchange.row[m->exchange[e->id]].tasks++;
        return;
    }
    m->place[e->id] = row_of(m, &t->place, &m->place_rows, place);
    m->predicted_s[e->id] = e->end_s - e->start_s;
    m->joined_s[e->id] += m->predicted_s[e->id];
    double seconds = m->predicted_s[e->id] * m->scale;
    add_time(&t->phase[e->kind], PREDICTED, seconds);
    add_time(&t->place.row[m->place[e->id]], PREDICTED, seconds);
    t->place.row[m->place[e->id]].tasks++;
    if (m->op[e->id] >= 0) {
        add_time(&t->op.row[m->op[e->id]], PREDICTED, seconds);
        t->op.row[m->op[e->id]].tasks++;
    }
}

static enum hypar_status fail(const struct measured_task *task, const char *expected,
                              struct hypar_error *err)
{
    return hp_fail(err, HYPAR_INVALID, "task %lld is '%.90s', the plan's is %s%.90s%s",
                   (long long)task->id, task->name, expected ? "'" : "none",
                   expected ? expected : "", expected ? "'" : "");
}

/* Check that ranks and minibatches have the same numbers. */
static enum hypar_status match_sizes(const struct matching *m, struct hypar_error *err)
{
    int devices = hypar_sim_summary(m->sim).n_devices;
    int minibatches = hypar_sim_pipeline(m->sim).minibatches;
    if (m->measured->n_ranks != devices)
        return hp_fail(err, HYPAR_INVALID, "%d ranks were measured, the plan has %d devices",
                       m->measured->n_ranks, devices);
    if (m->measured->minibatches != (minibatches ? minibatches : 1))
        return hp_fail(err, HYPAR_INVALID, "%d minibatches were measured, %d simulated",
                       m->measured->minibatches, minibatches);
    return HYPAR_OK;
}

/* Find the measurement of each task, and check that it is the simulated task. */
static enum hypar_status match_tasks(struct matching *m, struct hypar_error *err)
{
    struct hypar_sim_event e;
    for (int64_t i = 0; i < m->n; i++)
        m->measured_at[i] = -1;
    for (int64_t i = 0; i < m->measured->n_tasks; i++) {
        const struct measured_task *task = &m->measured->task[i];
        if (!hypar_sim_event(m->sim, task->id, &e))
            return fail(task, NULL, err);
        if (e.kind != task->kind || !same_name(&e, task->name) ||
            (is_computed(e.kind) && e.device != task->rank))
            return fail(task, e.name, err);
        if (task->with >= m->n || (task->with >= 0 && task->with == task->id))
            return hp_fail(err, HYPAR_INVALID, "task %lld was computed with %lld, no such task",
                           (long long)task->id, (long long)task->with);
        m->measured_at[task->id] = i;
    }
    for (int64_t i = 0; i < m->n; i++)
        if (m->measured_at[i] < 0 && hypar_sim_event(m->sim, i, &e))
            return hp_fail(err, HYPAR_INVALID, "task %lld of the plan, '%.120s', is missing",
                           (long long)i, e.name);
    return HYPAR_OK;
}

/* Tasks computed in one call have one measured time, which is divided in proportion to their
 * predicted times. */
static double measured_s(const struct matching *m, const struct measured_task *task)
{
    int64_t first = task->with >= 0 ? task->with : task->id;
    const struct measured_task *whole = &m->measured->task[m->measured_at[first]];
    double seconds = whole->end_s - whole->start_s;
    if (m->joined_s[first] > 0)
        return seconds * m->predicted_s[task->id] / m->joined_s[first];
    return task->id == first ? seconds : 0;
}

static void add_measured(struct matching *m, const struct measured_task *task)
{
    struct truth *t = m->truth;
    double seconds = measured_s(m, task) * m->scale;
    add_time(&t->phase[task->kind], MEASURED, seconds);
    add_time(&t->place.row[m->place[task->id]], MEASURED, seconds);
    if (m->op[task->id] >= 0)
        add_time(&t->op.row[m->op[task->id]], MEASURED, seconds);
}

static void add_tasks(struct matching *m)
{
    const struct hypar_measured_step *s = m->measured;
    struct hypar_sim_event e;
    for (int64_t i = 0; hypar_sim_event(m->sim, i, &e); i++)
        add_predicted(m, &e);
    for (int64_t i = 0; i < s->n_tasks; i++) {
        const struct measured_task *task = &s->task[i];
        if (task->with >= 0)
            m->joined_s[task->with] += m->predicted_s[task->id];
    }
    for (int64_t i = 0; i < s->n_tasks; i++)
        if (is_computed(s->task[i].kind))
            add_measured(m, &s->task[i]);
}

/* Exchanges ---------------------------------------------------------------------------- */

/* A comm begins for all ranks when the last sender has begun. */
static void find_sent(struct matching *m)
{
    for (int64_t i = 0; i < m->measured->n_tasks; i++) {
        const struct measured_task *task = &m->measured->task[i];
        if (is_computed(task->kind))
            continue;
        m->received[task->id] |= task->bytes <= 0;
        if (task->bytes > 0)
            m->sent_s[task->id] = fmax(m->sent_s[task->id], task->start_s);
    }
}

/* Add the times of exchanges: from the time when all data can be sent until a rank has them.
 * Ranks that only send do not count: they continue at once. */
static void add_exchanges(struct matching *m)
{
    struct hypar_sim_event e;
    for (int64_t i = 0; i < m->measured->n_tasks; i++) {
        const struct measured_task *task = &m->measured->task[i];
        if (is_computed(task->kind) || !hypar_sim_event(m->sim, task->id, &e))
            continue;
        struct truth_row *row = &m->truth->exchange.row[m->exchange[task->id]];
        row->bytes += task->bytes / m->measured->minibatches;
        if (task->bytes > 0 && m->received[task->id])
            continue;
        double start_s = fmin(m->sent_s[task->id], task->end_s);
        add_time(row, PREDICTED, (e.end_s - e.ready_s) * m->scale);
        add_time(row, MEASURED, (task->end_s - start_s) * m->scale);
    }
}

/* Waiting ------------------------------------------------------------------------------ */

static void add_span(struct matching *m, struct spans *spans, struct span span)
{
    spans->at = GROW(&m->arena, struct span, spans->at, spans->n, &spans->capacity);
    spans->at[spans->n++] = span;
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->start_s != y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    if (x->end_s != y->end_s)
        return x->end_s < y->end_s ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void sort(struct spans *spans)
{
    if (spans->n)
        hp_sort(spans->at, spans->n, sizeof *spans->at, by_start);
}

/* The computation of the ranks; with `comms`, also their messages in progress. */
static struct spans spans_of(struct matching *m, enum side side, bool comms)
{
    struct spans out = { 0 };
    struct hypar_sim_event e;
    for (int64_t i = 0; side == PREDICTED && hypar_sim_event(m->sim, i, &e); i++)
        if (is_computed(e.kind))
            add_span(m, &out, (struct span){ e.device, e.start_s, e.end_s, e.id });
    for (int64_t i = 0; side == MEASURED && i < m->measured->n_tasks; i++) {
        const struct measured_task *t = &m->measured->task[i];
        double start_s = is_computed(t->kind) ? t->start_s : fmin(m->sent_s[t->id], t->end_s);
        if (t->with < 0 && (comms || is_computed(t->kind)))
            add_span(m, &out, (struct span){ t->rank, start_s, t->end_s, t->id });
    }
    sort(&out);
    return out;
}

/* The total time covered by spans, over all ranks. */
static double covered_s(const struct spans *spans)
{
    double sum = 0, until_s = 0;
    for (int i = 0; i < spans->n; i++) {
        const struct span *s = &spans->at[i];
        if (i == 0 || s->rank != s[-1].rank)
            until_s = 0;
        if (s->end_s > until_s)
            sum += s->end_s - fmax(until_s, s->start_s);
        until_s = fmax(until_s, s->end_s);
    }
    return sum;
}

static void add_wait(struct matching *m, enum side side, const char *before, double seconds)
{
    char *name = before ? hp_arena_printf(&m->arena, "waiting before %s", before)
                        : hp_arena_strdup(&m->arena, "waiting at the end");
    int row = row_of(m, &m->truth->place, &m->place_rows, name); /* the rows may move */
    add_time(&m->truth->place.row[row], side, seconds * m->scale);
}

/* Add the waits between the tasks of a rank, and after the last. */
static void add_waits(struct matching *m, enum side side, double step_s)
{
    struct spans spans = spans_of(m, side, false);
    double until_s = 0;
    for (int i = 0; i < spans.n; i++) {
        const struct span *s = &spans.at[i];
        if (s->start_s > until_s)
            add_wait(m, side, m->truth->place.row[m->place[s->id]].name, s->start_s - until_s);
        until_s = fmax(until_s, s->end_s);
        if (i + 1 < spans.n && s[1].rank == s->rank)
            continue;
        if (step_s > until_s)
            add_wait(m, side, NULL, step_s - until_s);
        until_s = 0;
    }
}

static void add_phases(struct matching *m)
{
    struct truth *t = m->truth;
    const struct hypar_measured_step *s = m->measured;
    double step_s = t->step.predicted_s;
    for (int d = 0; d < s->n_ranks; d++) {
        struct hypar_sim_device device = hypar_sim_device(m->sim, d);
        double alone_s = fmax(0, step_s - device.busy_s - device.waiting_s);
        t->phase[TRUTH_COMM].predicted_s += alone_s / s->n_ranks;
        t->phase[TRUTH_WAITING].predicted_s += device.waiting_s / s->n_ranks;
    }
    if (t->in_turn)
        return;
    struct spans computing = spans_of(m, MEASURED, false), all = spans_of(m, MEASURED, true);
    double either_s = covered_s(&all) * m->scale;
    t->phase[TRUTH_COMM].measured_s = either_s - covered_s(&computing) * m->scale;
    t->phase[TRUTH_WAITING].measured_s = fmax(0, t->step.measured_s - either_s);
}

/* The whole comparison --------------------------------------------------------------------- */

double hp_run_step_s(const struct hypar_sim *sim)
{
    struct hypar_sim_pipeline pipeline = hypar_sim_pipeline(sim);
    return pipeline.minibatches ? pipeline.window_s / pipeline.minibatches
                                : hypar_sim_summary(sim).step_s;
}

static void begin(struct matching *m)
{
    static const char *const phases[] = { "forward", "backward",      "gradient",
                                          "update",  "communicating", "waiting" };
    struct truth *t = m->truth;
    const struct hypar_measured_step *s = m->measured;
    for (int p = 0; p < TRUTH_PHASES; p++)
        t->phase[p].name = phases[p];
    t->n_ranks = s->n_ranks;
    t->n_steps = s->n_steps;
    t->in_turn = s->in_turn;
    t->step = (struct truth_row){
        .name = "step",
        .predicted_s = hp_run_step_s(m->sim),
        .measured_s = s->step_s / s->minibatches,
    };
    m->scale = 1.0 / s->n_ranks / s->minibatches;
    struct hypar_sim_event e;
    while (hypar_sim_event(m->sim, m->n, &e))
        m->n++;
    m->measured_at = NEW(&m->arena, int64_t, m->n + 1);
    m->predicted_s = NEW(&m->arena, double, m->n + 1);
    m->joined_s = NEW(&m->arena, double, m->n + 1);
    m->sent_s = NEW(&m->arena, double, m->n + 1);
    m->received = NEW(&m->arena, bool, m->n + 1);
    m->op = NEW(&m->arena, int, m->n + 1);
    m->exchange = NEW(&m->arena, int, m->n + 1);
    m->place = NEW(&m->arena, int, m->n + 1);
}

enum hypar_status hp_truth_make(struct truth *out, const struct hypar_measured_step *measured,
                                const struct hypar_sim *sim, struct hypar_error *err)
{
    *out = (struct truth){ .n_ranks = 0 };
    struct matching m = { .truth = out, .sim = sim, .measured = measured };
    begin(&m);
    enum hypar_status status = match_sizes(&m, err);
    if (status == HYPAR_OK)
        status = match_tasks(&m, err);
    if (status == HYPAR_OK) {
        add_tasks(&m);
        if (!measured->in_turn) {
            find_sent(&m);
            add_exchanges(&m);
            add_waits(&m, PREDICTED, out->step.predicted_s * measured->minibatches);
            add_waits(&m, MEASURED, measured->step_s);
        }
        add_phases(&m);
    }
    hp_arena_free(&m.arena);
    return status;
}

void hp_truth_free(struct truth *truth)
{
    hp_arena_free(&truth->arena);
}

/* Order -------------------------------------------------------------------------------- */

static int descending(double x, double y, const struct truth_row *a, const struct truth_row *b)
{
    return x != y ? (x > y ? -1 : 1) : strcmp(a->name, b->name);
}

static int by_difference(const void *a, const void *b)
{
    const struct truth_row *x = a, *y = b;
    return descending(fabs(x->measured_s - x->predicted_s),
                      fabs(y->measured_s - y->predicted_s), x, y);
}

static int by_size(const void *a, const void *b)
{
    const struct truth_row *x = a, *y = b;
    return descending(fmax(x->measured_s, x->predicted_s), fmax(y->measured_s, y->predicted_s),
                      x, y);
}

/* The ratio of measured to predicted, or its inverse if larger; 1: as predicted; infinite if
 * only one of them is zero. */
static double misjudged(const struct truth_row *row)
{
    double p = row->predicted_s, s = row->measured_s;
    if (p <= 0 && s <= 0)
        return 1;
    return p > 0 && s > 0 ? fmax(p / s, s / p) : HUGE_VAL;
}

static int by_ratio(const void *a, const void *b)
{
    return descending(misjudged(a), misjudged(b), a, b);
}

void hp_truth_by_difference(struct truth_rows *rows)
{
    if (rows->n)
        hp_sort(rows->row, rows->n, sizeof *rows->row, by_difference);
}

void hp_truth_by_ratio(struct truth_rows *rows, int n)
{
    if (!rows->n)
        return;
    hp_sort(rows->row, rows->n, sizeof *rows->row, by_size);
    hp_sort(rows->row, (n < rows->n ? n : rows->n), sizeof *rows->row, by_ratio);
}
