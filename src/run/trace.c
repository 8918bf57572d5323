/* The measured timeline: records of all ranks are gathered at rank 0, clocks are aligned, tasks
 * get the simulator's numbers. */
#include "base/clock.h"
#include "program/instances.h"
#include "run/trainer.h"

struct rank_records {
    struct task_record *record;
    int64_t n, before; /* its events; events of the ranks before it */
};

/* The records of one rank. */
struct rank_told {
    struct rank_records all, mean;
    double begin_s;  /* of its mean step */
    double offset_s; /* its clock minus rank 0's */
};

struct hypar_trace {
    struct arena arena; /* it lives there */
    struct hypar_program *program;
    struct rows rows;
    int64_t *row_start; /* by row: the number of its first instance */
    int64_t first_step; /* of the run */
    int n_ranks;
    struct rank_told *rank;
    double start_s;
    int32_t last_step, n_steps, n_mean;
};

/* Clocks ------------------------------------------------------------------------------- */

enum { TRIPS = 20 };

/* Of several round trips, the shortest shows best what the other clock said at its middle.
 * Ranks of one host share a clock: an offset within the trip's time counts as 0. */
static double ask_clock(struct trainer *t, int rank)
{
    double best_s = 0, offset_s = 0;
    for (int i = 0; i < TRIPS; i++) {
        double there, start = hp_now_s();
        hp_send_now(&t->control, &start, sizeof start, rank, t->tag_trace);
        hp_receive_now(&t->control, &there, sizeof there, rank, t->tag_trace);
        double trip_s = hp_now_s() - start;
        if (i == 0 || trip_s < best_s) {
            best_s = trip_s;
            offset_s = there - (start + trip_s / 2);
        }
    }
    return offset_s < best_s / 2 && -offset_s < best_s / 2 ? 0 : offset_s;
}

static void tell_clock(struct trainer *t)
{
    for (int i = 0; i < TRIPS; i++) {
        double there;
        hp_receive_now(&t->control, &there, sizeof there, 0, t->tag_trace);
        there = hp_now_s();
        hp_send_now(&t->control, &there, sizeof there, 0, t->tag_trace);
    }
}

/* Gathering ---------------------------------------------------------------------------- */

/* The records of a ring buffer, the oldest first. */
static int64_t unroll(const struct records *records, struct arena *arena,
                      struct task_record **out)
{
    int64_t n = records->n < records->capacity ? records->n : records->capacity;
    *out = NEW(arena, struct task_record, n + 1);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = records->at[(records->n - n + i) % records->capacity];
    return n;
}

static void look(const struct executor *x, struct arena *arena, struct rank_told *out)
{
    out->all.n = unroll(hp_executor_records(x), arena, &out->all.record);
    out->mean.n = hp_executor_mean(x, arena, &out->mean.record, &out->begin_s);
}

static void send_records(struct trainer *t, const struct rank_records *r)
{
    hp_send_now(&t->control, &r->n, sizeof r->n, 0, t->tag_trace);
    hp_send_now(&t->control, r->record, (size_t)r->n * sizeof *r->record, 0, t->tag_trace);
}

static void tell_all(struct trainer *t)
{
    struct arena arena = { 0 };
    struct rank_told own;
    look(t->x[0], &arena, &own);
    tell_clock(t);
    send_records(t, &own.all);
    send_records(t, &own.mean);
    hp_send_now(&t->control, &own.begin_s, sizeof own.begin_s, 0, t->tag_trace);
    hp_arena_free(&arena);
}

static void receive_records(struct trainer *t, struct arena *arena, int rank,
                            struct rank_records *r)
{
    hp_receive_now(&t->control, &r->n, sizeof r->n, rank, t->tag_trace);
    r->record = NEW(arena, struct task_record, r->n + 1);
    hp_receive_now(&t->control, r->record, (size_t)r->n * sizeof *r->record, rank,
                   t->tag_trace);
}

static void ask_all(struct trainer *t, struct arena *arena, int rank, struct rank_told *out)
{
    out->offset_s = ask_clock(t, rank);
    receive_records(t, arena, rank, &out->all);
    receive_records(t, arena, rank, &out->mean);
    hp_receive_now(&t->control, &out->begin_s, sizeof out->begin_s, rank, t->tag_trace);
}

/* Mean steps begin when rank 0's does. */
static void place_means(struct hypar_trace *trace)
{
    int64_t before = 0;
    for (int r = 0; r < trace->n_ranks; r++) {
        struct rank_told *rank = &trace->rank[r];
        double later_s = rank->begin_s - rank->offset_s - trace->rank[0].begin_s;
        rank->mean.before = before;
        before += rank->mean.n;
        for (int64_t i = 0; i < rank->mean.n; i++) {
            rank->mean.record[i].start_s += later_s;
            rank->mean.record[i].end_s += later_s;
        }
    }
}

/* The beginning of the trace, and its steps. */
static void find_span(struct hypar_trace *trace)
{
    int32_t first = 0;
    int64_t before = 0;
    for (int r = 0; r < trace->n_ranks; r++) {
        struct rank_records *rank = &trace->rank[r].all;
        rank->before = before;
        before += rank->n;
        for (int64_t i = 0; i < rank->n; i++) {
            struct task_record *record = &rank->record[i];
            record->start_s -= trace->rank[r].offset_s;
            record->end_s -= trace->rank[r].offset_s;
            if (!first || record->start_s < trace->start_s)
                trace->start_s = record->start_s;
            if (!first || record->step < first)
                first = record->step;
            if (record->step > trace->last_step)
                trace->last_step = record->step;
        }
    }
    trace->n_steps = first ? trace->last_step - first + 1 : 0;
}

static void number_rows(struct hypar_trace *trace)
{
    struct hypar_program *p = trace->program;
    trace->rows = hp_rows_of(p->blocks, p->n_tasks, &trace->arena);
    trace->row_start = NEW(&trace->arena, int64_t, trace->rows.n + 1);
    for (int row = 0; row < trace->rows.n; row++)
        trace->row_start[row + 1] = trace->row_start[row] + hp_row_size(&trace->rows, row);
}

void hp_trainer_trace(struct trainer *t, struct hypar_trace **out)
{
    *out = NULL;
    if (t->rank != 0) {
        tell_all(t);
        return;
    }
    struct arena arena = { 0 };
    struct hypar_trace *trace = NEW(&arena, struct hypar_trace, 1);
    trace->arena = arena;
    trace->program = t->program;
    trace->first_step = t->program->iteration->delayed ? 0 : t->first_step;
    trace->n_ranks = t->n_devices;
    trace->rank = NEW(&trace->arena, struct rank_told, t->n_devices);
    for (int i = 0; i < t->n_here; i++)
        look(t->x[i], &trace->arena, &trace->rank[i]);
    for (int r = 1; r < t->n_ranks; r++)
        ask_all(t, &trace->arena, r, &trace->rank[r]);
    find_span(trace);
    place_means(trace);
    trace->n_mean = hp_executor_mean_steps(t->x[0]);
    number_rows(trace);
    t->program = NULL;
    *out = trace;
}

/* Reading a trace ---------------------------------------------------------------------- */

struct hypar_trace_info hypar_trace_info(const struct hypar_trace *trace)
{
    return (struct hypar_trace_info){ .mean_steps = trace->n_mean, .steps = trace->n_steps };
}

static int64_t instance(const struct hypar_trace *trace, int task, int micro)
{
    const struct rows *r = &trace->rows;
    int row = micro;
    if (hp_is_tail(trace->program, task))
        row = r->period[hp_update_group(trace->program, task)] + micro;
    return trace->row_start[row] + hp_row_place(r, row, task);
}

static const struct rank_records *records_of(const struct hypar_trace *trace, int rank,
                                             bool mean)
{
    return mean ? &trace->rank[rank].mean : &trace->rank[rank].all;
}

/* Event `i` of all, or of the mean step, and its rank; NULL: past the last. */
static const struct task_record *find_record(const struct hypar_trace *trace, bool mean,
                                             int64_t i, int *rank)
{
    for (*rank = 0; i >= 0 && *rank < trace->n_ranks; ++*rank) {
        const struct rank_records *r = records_of(trace, *rank, mean);
        if (i < r->before + r->n)
            return &r->record[i - r->before];
    }
    return NULL;
}

static void tell_event(const struct hypar_trace *trace, const struct task_record *record,
                       int rank, struct hypar_trace_event *event)
{
    const struct hypar_program *p = trace->program;
    const struct task *task = &p->task[record->task];
    bool tail = hp_is_tail(p, record->task), compute = task->kind == TASK_COMPUTE;
    *event = (struct hypar_trace_event){
        .id = instance(trace, record->task, record->micro),
        .rank = rank,
        .op = compute ? p->lowering->training.op_pass[task->index].op : -1,
        .micro = tail ? -1 : record->micro,
        .stage = -1,
        .step = trace->first_step + record->step,
        .with = record->with < 0 ? -1 : instance(trace, record->with, record->micro),
        .bytes = record->bytes,
        .start_s = record->start_s,
        .end_s = record->end_s,
    };
    if (compute)
        event->stage = p->plan->ops[event->op].stage;
    event->kind = hp_task_name(p, record->task, event->name, sizeof event->name);
    event->again = hp_is_again(p, record->task);
    hp_add_instance(p, tail ? -1 - record->micro : record->micro, event->name,
                    sizeof event->name);
}

bool hypar_trace_event(const struct hypar_trace *trace, int64_t i,
                       struct hypar_trace_event *event)
{
    int rank;
    const struct task_record *record = find_record(trace, false, i, &rank);
    if (!record)
        return false;
    tell_event(trace, record, rank, event);
    event->start_s -= trace->start_s;
    event->end_s -= trace->start_s;
    return true;
}

bool hypar_trace_mean(const struct hypar_trace *trace, int64_t i,
                      struct hypar_trace_event *event)
{
    int rank;
    const struct task_record *record = find_record(trace, true, i, &rank);
    if (!record)
        return false;
    tell_event(trace, record, rank, event);
    event->step = 0;
    return true;
}

void hypar_trace_free(struct hypar_trace *trace)
{
    if (!trace)
        return;
    hypar_program_free(trace->program);
    hp_arena_free(&trace->arena);
}
