/* A timeline in the Chrome trace event format, and as hypar-timeline/1, written event by event:
 * programs have millions.
 * Times are microseconds; the simulator's picoseconds are six digits behind the point, and a
 * double tells them apart over more than an hour. */
#include <hypar/report.h>

#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "plan/plan.h"
#include "report/measured_step.h"
#include "report/put.h"
#include "report/trace.h"

/* What the trace calls processes: the groups of rows. */
enum process {
    DEVICES = 1,
    LINKS,
    MEMORY,
    RANKS = HP_TRACE_RANKS,
    MESSAGES = HP_TRACE_MESSAGES
};

static const char *const process_name[] = {
    [DEVICES] = "devices",
    [LINKS] = "links",
    [MEMORY] = "memory",
    [RANKS] = "measured: ranks",
    [MESSAGES] = "measured: messages",
};

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
    snprintf(text, HP_PLAN_HASH_BYTES, "%016llx", (unsigned long long)hp_plan_hash(plan));
    return text;
}

static int64_t picoseconds(double seconds)
{
    return (int64_t)llround(seconds * 1e12);
}

/* "name", "ph", "ts", "pid", "tid" of an event whose object is left open. */
static void begin_event(struct json_writer *w, const char *name, const char *phase, int64_t ps,
                        enum process process, int row)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "name", name);
    hp_json_put_string(w, "ph", phase);
    hp_json_put_number(w, "ts", (double)ps / 1e6);
    hp_json_put_int(w, "pid", process);
    hp_json_put_int(w, "tid", row);
}

/* What every bar ends with. */
static void end_bar(struct json_writer *w, double bytes, int micro, int stage)
{
    if (bytes > 0)
        hp_json_put_number(w, "bytes", bytes);
    if (micro >= 0)
        hp_json_put_int(w, "micro_batch", micro);
    if (stage >= 0)
        hp_json_put_int(w, "stage", stage);
    hp_json_end_object(w);
    hp_json_end_object(w);
}

/* One bar: from one whole picosecond to another, so that neighbours never overlap. */
static void put_bar(struct json_writer *w, const struct hypar_sim_event *e,
                    enum process process, int row, double start_s, double end_s)
{
    int64_t start = picoseconds(start_s), end = picoseconds(end_s);
    begin_event(w, e->name, "X", start, process, row);
    hp_json_put_number(w, "dur", (double)(end - start) / 1e6);
    hp_json_put_string(w, "cat", kind_name[e->kind]);
    hp_json_begin_object(w, "args", true);
    hp_json_put_int(w, "task", e->id);
    hp_json_put_number(w, "ready_us", (double)picoseconds(e->ready_s) / 1e6);
    end_bar(w, e->bytes, e->micro, e->stage);
}

/* All bars; marks the links that have one. */
static void put_bars(struct json_writer *w, const struct hypar_sim *sim, bool *used)
{
    struct hypar_sim_event e;
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++) {
        if (e.device >= 0)
            put_bar(w, &e, DEVICES, e.device, e.start_s, e.end_s);
        for (int k = 0; k < e.n_links; k++) {
            double start_s = e.start_s + e.link_offset_s[k];
            put_bar(w, &e, LINKS, e.link[k], start_s, start_s + e.link_busy_s[k]);
            used[e.link[k]] = true;
        }
    }
}

/* Memory over time, a track for each device; marks the devices that have one. */
static void put_counters(struct json_writer *w, const struct hypar_sim *sim, bool *used)
{
    struct hypar_sim_memory_point point;
    for (int64_t i = 0; hypar_sim_memory_point(sim, i, &point); i++) {
        char name[32];
        snprintf(name, sizeof name, "device %d", point.device);
        begin_event(w, name, "C", picoseconds(point.time_s), MEMORY, point.device);
        hp_json_begin_object(w, "args", true);
        hp_json_put_number(w, "bytes", point.bytes);
        hp_json_end_object(w);
        hp_json_end_object(w);
        used[point.device] = true;
    }
}

static void put_label(struct json_writer *w, const char *what, enum process process, int row,
                      const char *name)
{
    begin_event(w, what, "M", 0, process, row);
    hp_json_begin_object(w, "args", true);
    hp_json_put_string(w, "name", name);
    hp_json_end_object(w);
    hp_json_end_object(w);
}

/* A row's name and its place among the others of its process: by number. */
static void put_row(struct json_writer *w, enum process process, int row, const char *name)
{
    put_label(w, "thread_name", process, row, name);
    begin_event(w, "thread_sort_index", "M", 0, process, row);
    hp_json_begin_object(w, "args", true);
    hp_json_put_int(w, "sort_index", row);
    hp_json_end_object(w);
    hp_json_end_object(w);
}

static void put_devices(struct json_writer *w, enum process process, const bool *used, int n)
{
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "device %d", i);
        if (!used || used[i])
            put_row(w, process, i, name);
    }
}

static void put_simulated(struct json_writer *w, const struct hypar_sim *sim)
{
    struct arena arena = { 0 };
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    bool *link = NEW(&arena, bool, s.n_links + 1), *memory = NEW(&arena, bool, s.n_devices + 1);
    for (int p = DEVICES; p <= MEMORY; p++)
        put_label(w, "process_name", (enum process)p, 0, process_name[p]);
    put_devices(w, DEVICES, NULL, s.n_devices);
    put_bars(w, sim, link);
    put_counters(w, sim, memory);
    for (int i = 0; i < s.n_links; i++) {
        struct hypar_sim_link l = hypar_sim_link(sim, i);
        struct arena_mark mark = hp_arena_mark(&arena);
        if (link[i])
            put_row(w, LINKS, i, hp_link_name(&arena, &l, s.n_devices));
        hp_arena_release(&arena, mark);
    }
    put_devices(w, MEMORY, memory, s.n_devices);
    hp_arena_free(&arena);
}

static void begin_trace(struct json_writer *w)
{
    hp_json_begin_object(w, NULL, false);
    hp_json_put_string(w, "displayTimeUnit", "ms");
}

static void begin_events(struct json_writer *w)
{
    hp_json_begin_array(w, "traceEvents", false);
}

static void end_trace(struct json_writer *w)
{
    hp_json_end_array(w);
    hp_json_end_object(w);
}

void hypar_report_trace(FILE *to, const struct hypar_sim *sim)
{
    struct json_writer w = { .file = to };
    begin_trace(&w);
    begin_events(&w);
    put_simulated(&w, sim);
    end_trace(&w);
}

/* What was measured ---------------------------------------------------------------------- */

/* The clock has no finer ones. */
static int64_t nanoseconds(double seconds)
{
    return (int64_t)llround(seconds * 1e9);
}

static void put_measured(struct json_writer *w, const struct hypar_trace_event *e,
                         enum process process, int row)
{
    int64_t start = nanoseconds(e->start_s), end = nanoseconds(e->end_s);
    begin_event(w, e->name, "X", 1000 * start, process, row);
    hp_json_put_number(w, "dur", (double)(end - start) / 1e3);
    hp_json_put_string(w, "cat", kind_name[e->kind]);
    hp_json_begin_object(w, "args", true);
    hp_json_put_int(w, "task", e->id);
    hp_json_put_int(w, "rank", e->rank);
    hp_json_put_int(w, "step", e->step);
    if (e->with >= 0)
        hp_json_put_int(w, "with", e->with);
    end_bar(w, e->bytes, e->micro, e->stage);
}

/* Where measured events come from, by rank. */
struct trace_source {
    bool (*event)(const void *what, int64_t i, struct hypar_trace_event *event);
    const void *what;
    int n_ranks, minibatches;
    bool in_process;
};

static bool event_of_trace(const void *what, int64_t i, struct hypar_trace_event *event)
{
    return hypar_trace_event(what, i, event);
}

static bool event_of_step(const void *what, int64_t i, struct hypar_trace_event *event)
{
    const struct hypar_measured_step *step = what;
    if (i >= step->n_events)
        return false;
    *event = step->event[i];
    return true;
}

/* A comm of a rank. */
struct posted {
    int64_t event;
    double start_s, end_s;
};

static int by_start(const void *a, const void *b)
{
    const struct posted *x = a, *y = b;
    if (x->start_s != y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

/* The comms of a rank, which may be under way at the same time, on as many rows as it takes,
 * from `first` on; returns how many. */
static int put_messages(struct json_writer *w, const struct trace_source *from, int rank,
                        int first, struct posted *posted, int64_t n)
{
    struct arena arena = { 0 };
    double *busy_until = NEW(&arena, double, n + 1);
    struct hypar_trace_event e;
    int rows = 0;
    qsort(posted, (size_t)n, sizeof *posted, by_start);
    for (int64_t i = 0; i < n; i++) {
        int row = 0;
        while (row < rows && busy_until[row] > posted[i].start_s)
            row++;
        if (row == rows) {
            char name[64];
            snprintf(name, sizeof name, rows ? "rank %d (%d)" : "rank %d", rank, rows + 1);
            put_row(w, MESSAGES, first + rows++, name);
        }
        busy_until[row] = posted[i].end_s;
        from->event(from->what, posted[i].event, &e);
        put_measured(w, &e, MESSAGES, first + row);
    }
    hp_arena_free(&arena);
    return rows;
}

/* Whose trace it is, for those who read it. */
static void put_about(struct json_writer *w, const struct trace_source *from,
                      const struct hypar_plan *plan)
{
    char hash[HP_PLAN_HASH_BYTES];
    hp_json_begin_object(w, "otherData", true);
    hp_json_put_string(w, "model", hypar_plan_model(plan));
    hp_json_put_string(w, "plan", hp_plan_hash_text(plan, hash));
    hp_json_put_int(w, "ranks", from->n_ranks);
    hp_json_put_int(w, "minibatches", from->minibatches);
    hp_json_put_bool(w, "in_process", from->in_process);
    hp_json_end_object(w);
}

static void put_ranks(struct json_writer *w, const struct trace_source *from)
{
    struct arena arena = { 0 };
    struct hypar_trace_event e;
    struct posted *posted = NULL;
    int capacity = 0, n = 0, rows = 0;
    int64_t i = 0;
    for (int p = RANKS; p <= MESSAGES; p++)
        put_label(w, "process_name", (enum process)p, 0, process_name[p]);
    for (int rank = 0; rank < from->n_ranks; rank++) {
        char name[32];
        snprintf(name, sizeof name, "rank %d", rank);
        put_row(w, RANKS, rank, name);
        for (n = 0; from->event(from->what, i, &e) && e.rank == rank; i++) {
            if (e.kind != HYPAR_EVENT_COMM) {
                put_measured(w, &e, RANKS, rank);
                continue;
            }
            posted = GROW(&arena, struct posted, posted, n, &capacity);
            posted[n++] = (struct posted){ i, e.start_s, e.end_s };
        }
        rows += put_messages(w, from, rank, rows, posted, n);
    }
    hp_arena_free(&arena);
}

static void put_both(FILE *to, const struct trace_source *from, const struct hypar_plan *plan,
                     const struct hypar_sim *sim)
{
    struct json_writer w = { .file = to };
    begin_trace(&w);
    put_about(&w, from, plan);
    begin_events(&w);
    if (sim)
        put_simulated(&w, sim);
    put_ranks(&w, from);
    end_trace(&w);
}

void hypar_report_train_trace(FILE *to, const struct hypar_train_result *result,
                              const struct hypar_plan *plan, const struct hypar_sim *sim)
{
    put_both(to,
             &(struct trace_source){ event_of_trace, result->trace, result->ranks,
                                     result->minibatches ? result->minibatches : 1,
                                     result->in_process },
             plan, sim);
}

void hypar_report_measured_trace(FILE *to, const struct hypar_measured_step *step,
                                 const struct hypar_sim *sim)
{
    put_both(to,
             &(struct trace_source){ event_of_step, step, step->n_ranks, step->minibatches,
                                     step->in_turn },
             hypar_sim_plan(sim), sim);
}

/* Times alone ---------------------------------------------------------------------------- */

/* On a device, or on directed links (2 * link + direction). */
static void put_on(struct json_writer *w, const struct hypar_sim_event *e)
{
    if (e->device >= 0) {
        hp_json_put_int(w, "on", e->device);
        return;
    }
    hp_json_begin_array(w, "links", true);
    for (int i = 0; i < e->n_links; i++)
        hp_json_put_int(w, NULL, e->link[i]);
    hp_json_end_array(w);
}

void hypar_report_timeline(FILE *to, const struct hypar_sim *sim)
{
    struct json_writer w = { .file = to };
    struct hypar_sim_event e;
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "format", "hypar-timeline/1");
    hp_json_put_int(&w, "devices", hypar_sim_summary(sim).n_devices);
    hp_json_begin_array(&w, "tasks", false);
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++) {
        hp_json_begin_object(&w, NULL, true);
        hp_json_put_int(&w, "id", e.id);
        put_on(&w, &e);
        hp_json_put_string(&w, "name", e.name);
        hp_json_put_string(&w, "kind", kind_name[e.kind]);
        if (e.bytes > 0)
            hp_json_put_number(&w, "bytes", e.bytes);
        hp_json_put_number(&w, "ready", e.ready_s);
        hp_json_put_number(&w, "start", e.start_s);
        hp_json_put_number(&w, "end", e.end_s);
        hp_json_end_object(&w);
    }
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}
