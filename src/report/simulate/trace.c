/* Writes a timeline in the Chrome trace event format, and as hypar-timeline/1, event by event,
 * because programs have millions. Times are microseconds. The simulator's picoseconds are six
 * decimal digits; a double distinguishes them over more than an hour. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "measured/step.h"
#include "plan/schedules.h"
#include "report/put.h"
#include "report/svg/svg.h"
#include "sim/sim.h"

/* Processes of the trace: the groups of rows. */
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

static int64_t picoseconds(double seconds)
{
    return (int64_t)llround(seconds * 1e12);
}

/* Begin an event with "name", "ph", "ts", "pid", "tid"; its object stays open. */
static void begin_event(struct json_writer *w, const char *name, const char *phase, int64_t ps,
                        enum process process, int row)
{
    hp_json_begin_object(w, NULL, true);
    PUT(w, TEXT("name", name), TEXT("ph", phase));
    hp_json_put_millionths(w, "ts", ps);
    PUT(w, INT("pid", process), INT("tid", row));
}

/* The name of a bar: its kind and its micro-batch, written to text[64], because Perfetto gives
 * bars of one name one colour, whatever the numbers in it; the task's name is then an argument
 * of the bar. Or the task's name itself. */
static const char *bar_name(char text[64], enum hypar_event_kind kind, const char *task,
                            bool again, int micro, bool tasks)
{
    int n = (int)strcspn(task, " ");
    if (tasks || kind == HYPAR_EVENT_OTHER)
        return task;
    if (kind == HYPAR_EVENT_COMM) /* for example all-reduce, send */
        n = snprintf(text, 64, "%.*s", n < 40 ? n : 40, task);
    else
        n = snprintf(text, 64, "%s%s", hp_event_kind_text(kind), again ? " again" : "");
    if (micro >= 0)
        snprintf(text + n, 64 - (size_t)n, " %d", micro);
    return text;
}

/* The key of a bar's micro-batch; plans with delayed updates have minibatches. */
static const char *instance_key(const struct hypar_plan *plan)
{
    return plan && hp_is_delayed(plan) ? "minibatch" : "micro_batch";
}

/* End a bar. `task`: its task's name (NULL: the bar has this name); `key`: instance_key(). */
static void end_bar(struct json_writer *w, const char *task, double bytes, const char *key,
                    int micro, int stage)
{
    PUT(w, ONLY_IF(task, TEXT("name", task)), ONLY_IF(bytes > 0, NUMBER("bytes", bytes)),
        ONLY_IF(micro >= 0, INT(key, micro)), ONLY_IF(stage >= 0, INT("stage", stage)));
    hp_json_end_object(w);
    hp_json_end_object(w);
}

/* The part of a step to show, and counts of the events written. */
struct view {
    const struct hypar_sim *sim;
    struct hypar_trace_options options;
    double until_s;       /* later events are left out */
    bool *link, *memory;  /* by link, by device: it has a row */
    int64_t bars, arrows; /* so far */
    int n_devices;
};

static bool shows_device(const struct view *v, int device)
{
    return !v->options.device || (device < v->n_devices && v->options.device[device]);
}

/* Is the link one of a device that is shown? */
static bool shows_link(const struct view *v, int link)
{
    if (!v->options.device)
        return true;
    struct hypar_sim_link l = hypar_sim_link(v->sim, link);
    return (l.from >= 0 && shows_device(v, l.from)) || (l.to >= 0 && shows_device(v, l.to));
}

/* Times are rounded to whole picoseconds, so neighbours never overlap. */
struct bar {
    enum process process;
    int row;
    double start_s, end_s;
};

static bool shows_bar(const struct view *v, const struct bar *bar)
{
    bool shown = bar->process == DEVICES ? shows_device(v, bar->row) : shows_link(v, bar->row);
    return shown && bar->end_s >= v->options.from_s && bar->start_s < v->until_s;
}

/* Bar `i` of an event; false past the last. */
static bool bar_of(const struct hypar_sim_event *e, int i, struct bar *bar)
{
    int link = e->device >= 0 ? i - 1 : i;
    if (link >= e->n_links)
        return false;
    if (link < 0) {
        *bar = (struct bar){ DEVICES, e->device, e->start_s, e->end_s };
        return true;
    }
    double start_s = e->start_s + e->link_offset_s[link];
    *bar = (struct bar){ LINKS, e->link[link], start_s, start_s + e->link_busy_s[link] };
    return true;
}

/* The first bar of an event that is shown. */
static bool first_bar(const struct view *v, const struct hypar_sim_event *e, struct bar *bar)
{
    for (int i = 0; bar_of(e, i, bar); i++)
        if (shows_bar(v, bar))
            return true;
    return false;
}

static void put_bar(struct json_writer *w, const struct view *v,
                    const struct hypar_sim_event *e, const struct bar *bar)
{
    int64_t start = picoseconds(bar->start_s), end = picoseconds(bar->end_s);
    char text[64];
    const char *name = bar_name(text, e->kind, e->name, e->again, e->micro, v->options.tasks);
    begin_event(w, name, "X", start, bar->process, bar->row);
    hp_json_put_millionths(w, "dur", end - start);
    hp_json_put_string(w, "cat", hp_event_kind_text(e->kind));
    hp_json_begin_object(w, "args", true);
    hp_json_put_int(w, "task", e->id);
    hp_json_put_millionths(w, "ready_us", picoseconds(e->ready_s));
    end_bar(w, name == text ? e->name : NULL, e->bytes, instance_key(hypar_sim_plan(v->sim)),
            e->micro, e->stage);
}

/* One end of an arrow, on a bar: "s" at its start, "f" at its end. */
static void put_end(struct json_writer *w, const char *phase, int64_t number,
                    const struct bar *bar)
{
    begin_event(w, "waits for", phase, picoseconds(bar->start_s), bar->process, bar->row);
    PUT(w, TEXT("cat", "arrow"), INT("id", number));
    if (*phase == 'f')
        hp_json_put_string(w, "bp", "e"); /* the enclosing bar, not the next one */
    hp_json_end_object(w);
}

/* Write an arrow from the last event that the event waited for to its first bar, if both are
 * shown. Viewers draw it from the end of a bar, but find the bar by its beginning. */
static void put_arrow(struct json_writer *w, struct view *v, const struct hypar_sim_event *e)
{
    struct hypar_sim_event before;
    struct bar to, from;
    if (!first_bar(v, e, &to)) /* before the next event overwrites its links */
        return;
    if (e->after < 0 || !hp_event_place(v->sim, e->after, &before) ||
        !first_bar(v, &before, &from))
        return;
    put_end(w, "s", v->arrows, &from);
    put_end(w, "f", v->arrows++, &to);
}

/* Write all bars that are shown, with their arrows. */
static void put_bars(struct json_writer *w, struct view *v)
{
    struct hypar_sim_event e;
    struct bar bar;
    for (int64_t i = 0; hp_event_place(v->sim, i, &e); i++) {
        if (!first_bar(v, &e, &bar))
            continue;
        hypar_sim_event(v->sim, i, &e);
        for (int k = 0; bar_of(&e, k, &bar); k++) {
            if (!shows_bar(v, &bar))
                continue;
            put_bar(w, v, &e, &bar);
            v->bars++;
            if (bar.process == LINKS)
                v->link[bar.row] = true;
        }
        if (v->options.arrows)
            put_arrow(w, v, &e);
    }
}

/* If there are more bars than the limit, set the time after which they are left out. Returns
 * the number left out. */
static int64_t cut(struct view *v)
{
    struct arena arena = { 0 };
    int64_t most = v->options.most > 0 ? v->options.most : HYPAR_TRACE_BARS, left_out = 0;
    int n = 0, capacity = 0;
    double *start_s = NULL;
    struct hypar_sim_event e;
    struct bar bar;
    for (int64_t i = 0; hp_event_place(v->sim, i, &e); i++)
        for (int k = 0; bar_of(&e, k, &bar); k++)
            if (shows_bar(v, &bar)) {
                start_s = GROW(&arena, double, start_s, n, &capacity);
                start_s[n++] = bar.start_s;
            }
    if (n > most) {
        hp_sort_doubles(start_s, n);
        double from_s = start_s[most];
        while (most > 0 && start_s[most - 1] == from_s)
            most--;
        while (most < n && start_s[most] == start_s[0]) /* same start: all or none */
            most++;
        left_out = n - most;
        v->until_s = left_out ? start_s[most] : v->until_s;
    }
    hp_arena_free(&arena);
    return left_out;
}

/* Write an event without a duration, with one argument. */
static void put_event(struct json_writer *w, const char *name, const char *phase, int64_t ps,
                      enum process process, int row, struct member argument)
{
    begin_event(w, name, phase, ps, process, row);
    PUT_OBJECT(w, "args", true, argument);
    hp_json_end_object(w);
}

/* Write the memory over time, a track for each device. A part of the step begins with the
 * memory at that time. */
static void put_counters(struct json_writer *w, struct view *v)
{
    struct hypar_sim_memory_point point, next;
    char name[32];
    bool more = hypar_sim_memory_point(v->sim, 0, &next);
    for (int64_t i = 1; more; i++) {
        point = next;
        more = hypar_sim_memory_point(v->sim, i, &next);
        bool last_before =
            point.time_s < v->options.from_s &&
            !(more && next.device == point.device && next.time_s <= v->options.from_s);
        if (!shows_device(v, point.device) || point.time_s >= v->until_s ||
            (point.time_s < v->options.from_s && !last_before))
            continue;
        snprintf(name, sizeof name, "device %d", point.device);
        put_event(w, name, "C", picoseconds(last_before ? v->options.from_s : point.time_s),
                  MEMORY, point.device, NUMBER("bytes", point.bytes));
        v->memory[point.device] = true;
    }
}

static void name_processes(struct json_writer *w, enum process first, enum process last)
{
    for (enum process p = first; p <= last; p++)
        put_event(w, "process_name", "M", 0, p, 0, TEXT("name", process_name[p]));
}

/* Write a row's name and its position in its process: by number. */
static void put_row(struct json_writer *w, enum process process, int row, const char *name)
{
    put_event(w, "thread_name", "M", 0, process, row, TEXT("name", name));
    put_event(w, "thread_sort_index", "M", 0, process, row, INT("sort_index", row));
}

static void put_rows(struct json_writer *w, const struct view *v, struct arena *arena,
                     int n_links)
{
    for (int d = 0; d < v->n_devices; d++) {
        struct arena_mark mark = hp_arena_mark(arena);
        const char *name = hp_device_name(arena, hypar_sim_plan(v->sim), d);
        if (shows_device(v, d))
            put_row(w, DEVICES, d, name);
        if (v->memory[d])
            put_row(w, MEMORY, d, name);
        hp_arena_release(arena, mark);
    }
    for (int i = 0; i < n_links; i++) {
        struct hypar_sim_link l = hypar_sim_link(v->sim, i);
        struct arena_mark mark = hp_arena_mark(arena);
        if (v->link[i])
            put_row(w, LINKS, i, hp_link_name(arena, &l, v->n_devices));
        hp_arena_release(arena, mark);
    }
}

static struct hypar_trace_shown put_simulated(struct json_writer *w,
                                              const struct hypar_sim *sim,
                                              const struct hypar_trace_options *options)
{
    struct arena arena = { 0 };
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    struct view v = { .sim = sim,
                      .link = NEW(&arena, bool, s.n_links + 1),
                      .memory = NEW(&arena, bool, s.n_devices + 1),
                      .n_devices = s.n_devices };
    if (options)
        v.options = *options;
    v.until_s = v.options.to_s > 0 ? v.options.to_s : INFINITY;
    int64_t left_out = cut(&v);
    name_processes(w, DEVICES, MEMORY);
    put_bars(w, &v);
    put_counters(w, &v);
    put_rows(w, &v, &arena, s.n_links);
    hp_arena_free(&arena);
    return (struct hypar_trace_shown){ v.bars, left_out, left_out ? v.until_s : 0 };
}

/* Measured events -------------------------------------------------------------------------- */

/* The clock has no finer resolution. Times are limited to +-106 days, the range of picoseconds
 * in an int64_t. */
static int64_t nanoseconds(double seconds)
{
    const double most = (double)(INT64_MAX / 1000 - 1000);
    return (int64_t)llround(fmax(-most, fmin(seconds * 1e9, most)));
}

/* The measured events of each rank. */
struct trace_source {
    bool (*event)(const void *what, int64_t i, struct hypar_trace_event *event);
    const void *what;
    int n_ranks, minibatches;
    bool in_process;
    bool tasks;           /* how bars are named */
    const char *instance; /* instance_key() */
};

static void put_measured(struct json_writer *w, const struct trace_source *from,
                         const struct hypar_trace_event *e, enum process process, int row)
{
    int64_t start = nanoseconds(e->start_s), end = nanoseconds(e->end_s);
    char text[64];
    const char *name = bar_name(text, e->kind, e->name, e->again, e->micro, from->tasks);
    begin_event(w, name, "X", 1000 * start, process, row);
    PUT(w, NUMBER("dur", (double)(end - start) / 1e3),
        TEXT("cat", hp_event_kind_text(e->kind)));
    hp_json_begin_object(w, "args", true);
    PUT(w, INT("task", e->id), INT("rank", e->rank), INT("step", e->step),
        ONLY_IF(e->with >= 0, INT("with", e->with)), ONLY_IF(e->again, FLAG("again", true)));
    end_bar(w, name == text ? e->name : NULL, e->bytes, from->instance, e->micro, e->stage);
}

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

/* Write the comms of a rank from row `first` on. Comms may overlap, so they use as many rows as
 * needed; returns the number of rows. */
static int put_messages(struct json_writer *w, const struct trace_source *from, int rank,
                        int first, struct posted *posted, int64_t n)
{
    struct arena arena = { 0 };
    double *busy_until = NEW(&arena, double, n + 1);
    struct hypar_trace_event e;
    int rows = 0;
    hp_sort(posted, n, sizeof *posted, by_start);
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
        put_measured(w, from, &e, MESSAGES, first + row);
    }
    hp_arena_free(&arena);
    return rows;
}

static void put_ranks(struct json_writer *w, const struct trace_source *from)
{
    struct arena arena = { 0 };
    struct hypar_trace_event e;
    struct posted *posted = NULL;
    int capacity = 0, n = 0, rows = 0;
    int64_t i = 0;
    name_processes(w, RANKS, MESSAGES);
    for (int rank = 0; rank < from->n_ranks; rank++) {
        char name[32];
        snprintf(name, sizeof name, "rank %d", rank);
        put_row(w, RANKS, rank, name);
        for (n = 0; from->event(from->what, i, &e) && e.rank == rank; i++) {
            if (e.kind != HYPAR_EVENT_COMM) {
                put_measured(w, from, &e, RANKS, rank);
                continue;
            }
            posted = GROW(&arena, struct posted, posted, n, &capacity);
            posted[n++] = (struct posted){ i, e.start_s, e.end_s };
        }
        rows += put_messages(w, from, rank, rows, posted, n);
    }
    hp_arena_free(&arena);
}

/* Write a trace: the simulated step (NULL: none) and measured events (NULL: none). A trace with
 * measured events names its plan and its run for readers. */
static struct hypar_trace_shown put_trace(FILE *to, struct trace_source *from,
                                          const struct hypar_plan *plan,
                                          const struct hypar_sim *sim,
                                          const struct hypar_trace_options *options)
{
    struct json_writer w = { .file = to };
    struct hypar_trace_shown shown = { 0 };
    char hash[HP_PLAN_HASH_BYTES];
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "displayTimeUnit", "ms");
    if (from)
        PUT_OBJECT(&w, "otherData", true, TEXT("model", hypar_plan_model(plan)),
                   TEXT("plan", hp_plan_hash_text(plan, hash)), INT("ranks", from->n_ranks),
                   INT("minibatches", from->minibatches), FLAG("in_process", from->in_process));
    hp_json_begin_array(&w, "traceEvents", false);
    if (sim)
        shown = put_simulated(&w, sim, options);
    if (from) {
        from->tasks = options && options->tasks;
        from->instance = instance_key(plan);
        put_ranks(&w, from);
    }
    hp_json_end_array(&w);
    hp_json_end_object(&w);
    return shown;
}

struct hypar_trace_shown hypar_report_trace(FILE *to, const struct hypar_sim *sim,
                                            const struct hypar_trace_options *options)
{
    return put_trace(to, NULL, NULL, sim, options);
}

struct hypar_trace_shown hypar_report_train_trace(FILE *to,
                                                  const struct hypar_train_result *result,
                                                  const struct hypar_plan *plan,
                                                  const struct hypar_sim *sim,
                                                  const struct hypar_trace_options *options)
{
    struct trace_source from = { .event = event_of_trace,
                                 .what = result->trace,
                                 .n_ranks = result->ranks,
                                 .minibatches = result->minibatches ? result->minibatches : 1,
                                 .in_process = result->in_process };
    return put_trace(to, &from, plan, sim, options);
}

struct hypar_trace_shown hypar_report_measured_trace(FILE *to,
                                                     const struct hypar_measured_step *step,
                                                     const struct hypar_sim *sim,
                                                     const struct hypar_trace_options *options)
{
    struct trace_source from = { .event = event_of_step,
                                 .what = step,
                                 .n_ranks = step->n_ranks,
                                 .minibatches = step->minibatches,
                                 .in_process = step->in_turn };
    return put_trace(to, &from, hypar_sim_plan(sim), sim, options);
}

/* Times only ------------------------------------------------------------------------------ */

/* Write the place of an event: a device, or directed links (2 * link + direction). */
static void put_on(struct json_writer *w, const struct hypar_sim_event *e)
{
    if (e->device >= 0) {
        hp_json_put_int(w, "on", e->device);
        return;
    }
    hp_json_put_ints(w, "links", e->link, e->n_links);
}

static void timeline_json(FILE *to, const struct hypar_sim *sim)
{
    struct json_writer w = { .file = to };
    struct hypar_sim_event e;
    hp_json_begin_object(&w, NULL, false);
    PUT(&w, TEXT("format", "hypar-timeline/1"),
        INT("devices", hypar_sim_summary(sim).n_devices));
    hp_json_begin_array(&w, "tasks", false);
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++) {
        hp_json_begin_object(&w, NULL, true);
        hp_json_put_int(&w, "id", e.id);
        put_on(&w, &e);
        PUT(&w, TEXT("name", e.name), TEXT("kind", hp_event_kind_text(e.kind)),
            ONLY_IF(e.bytes > 0, NUMBER("bytes", e.bytes)), NUMBER("ready", e.ready_s),
            NUMBER("start", e.start_s), NUMBER("end", e.end_s));
        hp_json_end_object(&w);
    }
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}

void hypar_report_timeline(FILE *to, const struct hypar_sim *sim, enum hypar_format format)
{
    (format == HYPAR_SVG ? hp_timeline_svg : timeline_json)(to, sim);
}
