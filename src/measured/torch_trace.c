/* Reads a trace of PyTorch's profiler. Bars become frames, nested on each thread of the host. A
 * frame belongs to the innermost hypar bar around it. A frame inside a function of autograd
 * belongs to the bar whose operator has the same sequence number. */
#include "measured/torch_trace.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "base/table.h"
#include "base/utf8.h"
#include "graph/graph.h"

static const char our_bar[] = "hypar: ", step_bar[] = "ProfilerStep#",
                  update_bar[] = "Optimizer.step#",
                  autograd_frame[] = "autograd::engine::evaluate_function";
enum { MOST_EVENTS = 1 << 25, MOST_TIMES = 1 << 25, MOST_RANKS = 1 << 20, NAME_BYTES = 80 };

/* Owners that are not a row. */
enum { NOBODY = -1, UPDATE = -2 };

enum half { FORWARD, BACKWARD };

enum frame_kind {
    FRAME_ON_DEVICE, /* a kernel or a copy */
    FRAME_LAUNCH,    /* a call of the device's driver */
    FRAME_OP,        /* a PyTorch operator, or a function of autograd */
    FRAME_BAR,       /* a user annotation */
};

struct frame {
    enum frame_kind kind;
    const char *name;                    /* owned by the document */
    int64_t thread, number, correlation; /* number: sequence number; -1: none */
    bool autograd;                       /* it is, or is inside, a function of autograd */
    double start_s, end_s;
    double inner_s; /* time of the frames directly inside it */
    int order;      /* position in the file */
    int parent;     /* -1: none */
    int outermost;  /* the outermost operator around it, with only operators in between; may be
                     * itself */
    int maker;      /* for the first frame with a sequence number: the last frame that began
                     * with this number */
    int owner;      /* a row, NOBODY or UPDATE */
    enum half half;
};

struct span_s {
    double start_s, end_s;
};

struct reading {
    struct hypar_measured_step *step;
    struct torch_trace *trace;
    struct arena arena;
    bool begun;
    double begin_us;     /* start of the first frame in the file */
    struct frame *frame; /* frames of the host by thread and start; frames on the device are in
                          * `work` */
    int n, capacity;
    struct frame *work;
    int n_work, work_capacity;
    struct span_s *steps; /* by start */
    int n_steps, step_capacity;
    struct table rows, others, numbers, launches;
    double *seconds; /* by row, half and step; then of updates, by step */
};

/* Events --------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), k = strlen(with);
    return n >= k && strcmp(text + n - k, with) == 0;
}

static const char *text_member(const struct json *object, const char *key)
{
    struct json at = hp_json_member(object, key);
    const char *text;
    return hp_json_is_string(&at) && hp_json_string(&at, &text, NULL) == HYPAR_OK ? text : "";
}

/* An integer member of an object; -1: none. */
static int64_t int_member(const struct json *object, const char *key)
{
    struct json at = hp_json_member(object, key);
    int64_t value;
    return hp_json_is_object(object) && at.value &&
                   hp_json_int(&at, 0, INT64_C(1) << 53, &value, NULL) == HYPAR_OK
               ? value
               : -1;
}

/* The kind of frame of an event. Returns false for events that are not used. */
static bool kind_of(const struct json *event, enum frame_kind *out)
{
    const char *category = text_member(event, "cat");
    if (!hp_json_is_object(event) || strcmp(text_member(event, "ph"), "X") != 0)
        return false;
    if (strcmp(category, "cpu_op") == 0)
        *out = FRAME_OP;
    else if (strcmp(category, "user_annotation") == 0)
        *out = FRAME_BAR;
    else if (ends(category, "_runtime") || ends(category, "_driver"))
        *out = FRAME_LAUNCH;
    else if (strcmp(category, "kernel") == 0 || strcmp(category, "gpu_memcpy") == 0 ||
             strcmp(category, "gpu_memset") == 0)
        *out = FRAME_ON_DEVICE;
    else
        return false;
    return true;
}

/* Read a time in microseconds. */
static enum hypar_status read_time(const struct json *event, const char *key, double *out,
                                   struct hypar_error *err)
{
    struct json at = hp_json_member(event, key);
    TRY(hp_json_number(&at, -1e18, 1e18, out, err));
    return HYPAR_OK;
}

static enum hypar_status read_frame(struct reading *r, const struct json *event,
                                    struct frame *f, struct hypar_error *err)
{
    struct json args = hp_json_member(event, "args"), name = hp_json_member(event, "name");
    double start_us, length_us;
    TRY(hp_json_string(&name, &f->name, err));
    TRY(read_time(event, "ts", &start_us, err));
    TRY(read_time(event, "dur", &length_us, err));
    if (!r->begun) /* times since 1970 would leave too few digits */
        r->begin_us = start_us;
    r->begun = true;
    f->start_s = (start_us - r->begin_us) * 1e-6;
    f->end_s = (start_us - r->begin_us + fmax(0, length_us)) * 1e-6;
    f->thread = int_member(event, "tid");
    f->number = int_member(&args, "Sequence number");
    f->correlation = int_member(&args, "correlation");
    f->autograd = int_member(&args, "Fwd thread id") > 0 || begins(f->name, autograd_frame);
    f->parent = -1;
    f->owner = NOBODY;
    return HYPAR_OK;
}

static enum hypar_status read_frames(struct reading *r, const struct json *root,
                                     struct hypar_error *err)
{
    struct json list = hp_json_member(root, "traceEvents");
    TRY(hp_json_array(&list, MOST_EVENTS, err));
    for (int i = 0; i < hp_json_length(&list); i++) {
        struct json event = hp_json_element(&list, i);
        struct frame f = { .order = i };
        if (!kind_of(&event, &f.kind))
            continue;
        TRY(read_frame(r, &event, &f, err));
        if (f.kind == FRAME_ON_DEVICE) {
            r->work = GROW(&r->arena, struct frame, r->work, r->n_work, &r->work_capacity);
            r->work[r->n_work++] = f;
        } else if (f.kind == FRAME_BAR && begins(f.name, step_bar)) {
            r->steps = GROW(&r->arena, struct span_s, r->steps, r->n_steps, &r->step_capacity);
            r->steps[r->n_steps++] = (struct span_s){ f.start_s, f.end_s };
        } else {
            r->frame = GROW(&r->arena, struct frame, r->frame, r->n, &r->capacity);
            r->frame[r->n++] = f;
        }
    }
    r->trace->on_device = r->n_work > 0;
    return HYPAR_OK;
}

/* Nesting ---------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_s != y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    if (x->end_s != y->end_s) /* the outer frame first */
        return x->end_s > y->end_s ? -1 : 1;
    if (x->kind != y->kind) /* bars first */
        return x->kind > y->kind ? -1 : 1;
    return x->order - y->order;
}

/* Find each frame's parent, and mark the frames inside functions of autograd. */
static void nest_frames(struct reading *r)
{
    int top = -1;
    if (r->n)
        hp_sort(r->frame, r->n, sizeof *r->frame, by_place);
    for (int i = 0; i < r->n; i++) {
        struct frame *f = &r->frame[i];
        while (top >= 0 &&
               (r->frame[top].thread != f->thread || r->frame[top].end_s <= f->start_s))
            top = r->frame[top].parent;
        f->parent = top;
        f->outermost = top >= 0 && r->frame[top].kind == FRAME_OP ? r->frame[top].outermost : i;
        if (top >= 0) {
            r->frame[top].inner_s += fmin(f->end_s, r->frame[top].end_s) - f->start_s;
            f->autograd |= r->frame[top].autograd;
        }
        top = i;
    }
}

static int row_of(struct reading *r, const char *name)
{
    struct torch_trace *t = r->trace;
    int at = hp_table_get(&r->rows, name, strlen(name));
    if (at >= 0)
        return at;
    t->row = GROW(&r->step->arena, struct torch_row, t->row, t->n_rows, &t->row_capacity);
    t->row[t->n_rows].name = hp_arena_strdup(&r->step->arena, name);
    name = t->row[t->n_rows].name;
    return hp_table_put(&r->rows, &r->arena, name, strlen(name), t->n_rows++);
}

/* The owner that the frame's own bar names, or NOBODY. */
static int own_owner(struct reading *r, const struct frame *f)
{
    if (f->kind != FRAME_BAR)
        return NOBODY;
    if (begins(f->name, update_bar))
        return UPDATE;
    return begins(f->name, our_bar) ? row_of(r, f->name + strlen(our_bar)) : NOBODY;
}

static void inherit(struct reading *r, struct frame *f)
{
    const struct frame *parent = f->parent >= 0 ? &r->frame[f->parent] : NULL;
    int own = own_owner(r, f);
    f->owner = own != NOBODY ? own : parent ? parent->owner : NOBODY;
    f->half = f->autograd ? BACKWARD : FORWARD;
}

/* Of several operators with one sequence number, the last that began created autograd's node:
 * the number increases with it. */
static void find_numbers(struct reading *r)
{
    for (int i = 0; i < r->n; i++) {
        struct frame *f = &r->frame[i];
        inherit(r, f);
        if (f->kind != FRAME_OP || f->number < 0 || f->autograd)
            continue;
        int at = hp_table_put(&r->numbers, &r->arena, &f->number, sizeof f->number, i);
        struct frame *first = &r->frame[at];
        if (at == i || r->frame[first->maker].start_s <= f->start_s)
            first->maker = i;
    }
}

static void find_owners(struct reading *r)
{
    find_numbers(r);
    for (int i = 0; i < r->n; i++) {
        struct frame *f = &r->frame[i];
        inherit(r, f);
        if (f->kind == FRAME_OP && begins(f->name, autograd_frame)) {
            int at = hp_table_get(&r->numbers, &f->number, sizeof f->number);
            f->owner = at >= 0 ? r->frame[r->frame[at].maker].owner : NOBODY;
        } else if (f->kind == FRAME_LAUNCH && f->correlation >= 0) {
            hp_table_put(&r->launches, &r->arena, &f->correlation, sizeof f->correlation, i);
        }
    }
}

/* Steps ---------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct span_s *x = a, *y = b;
    return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

/* Sort the steps of the trace; if it has none, the whole trace is one step. */
static void find_steps(struct reading *r)
{
    if (!r->n_steps) {
        struct span_s all = { HUGE_VAL, -HUGE_VAL };
        for (int i = 0; i < r->n + r->n_work; i++) {
            const struct frame *f = i < r->n ? &r->frame[i] : &r->work[i - r->n];
            all.start_s = fmin(all.start_s, f->start_s);
            all.end_s = fmax(all.end_s, f->end_s);
        }
        r->steps = NEW(&r->arena, struct span_s, 1);
        r->steps[r->n_steps++] = all;
    }
    hp_sort(r->steps, r->n_steps, sizeof *r->steps, by_start);
}

/* The step at a time; -1: none. */
static int step_at(const struct reading *r, double start_s)
{
    int low = 0, high = r->n_steps; /* steps before `low` begin no later */
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (r->steps[middle].start_s <= start_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low && start_s <= r->steps[low - 1].end_s ? low - 1 : -1;
}

/* Seconds -------------------------------------------------------------------------------- */

static double *seconds_of(struct reading *r, int owner, enum half half)
{
    int at = owner == UPDATE ? 2 * r->trace->n_rows : 2 * owner + (int)half;
    return r->seconds + (size_t)at * (size_t)r->n_steps;
}

/* The first `n` bytes of a text, with unprintable characters replaced. */
static char *shortened(struct arena *arena, const char *text, size_t n)
{
    char *made = hp_arena_printf(arena, "%.*s", (int)(n < NAME_BYTES ? n : NAME_BYTES), text);
    hp_drop_cut(made);
    return hp_clean_text(made, '?');
}

/* A readable name: a kernel's name without its types and arguments. */
static char *short_name(struct arena *arena, const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";
    if (begins(name, autograd_frame))
        name += strlen(autograd_frame);
    name += strspn(name, ": ");
    name += begins(name, "void ") ? strlen("void ") : 0;
    size_t n = 0;
    while (name[n] && name[n] != '<' && (name[n] != '(' || begins(name + n, anonymous)))
        n += name[n] == '(' ? strlen(anonymous) : 1;
    n = n ? n : strlen(name);
    return shortened(arena, name, n);
}

static void add_other(struct reading *r, const char *name, double seconds, double calls)
{
    struct torch_trace *t = r->trace;
    char *shown = short_name(&r->arena, name);
    int at = hp_table_get(&r->others, shown, strlen(shown));
    if (at < 0) {
        t->other = GROW(&r->step->arena, struct torch_other, t->other, t->n_others,
                        &t->other_capacity);
        t->other[t->n_others].name = hp_arena_strdup(&r->step->arena, shown);
        at = hp_table_put(&r->others, &r->arena, shown, strlen(shown), t->n_others++);
    }
    t->other[at].seconds += seconds / r->n_steps;
    t->other[at].calls += calls / r->n_steps;
}

/* Add the times of frames on the host, without the frames inside them. */
static void add_host(struct reading *r)
{
    for (int i = 0; i < r->n; i++) {
        const struct frame *f = &r->frame[i], *outer = &r->frame[f->outermost];
        int step = step_at(r, f->start_s);
        double seconds = fmax(0, f->end_s - f->start_s - f->inner_s);
        if (f->kind != FRAME_OP || step < 0)
            continue;
        if (f->owner == NOBODY)
            add_other(r, outer->name, seconds, f == outer);
        else
            seconds_of(r, f->owner, f->half)[step] += seconds;
    }
}

static const struct frame *launch_of(const struct reading *r, const struct frame *work)
{
    int at = hp_table_get(&r->launches, &work->correlation, sizeof work->correlation);
    return at >= 0 ? &r->frame[at] : NULL;
}

static void add_device(struct reading *r)
{
    for (int i = 0; i < r->n_work; i++) {
        struct frame *f = &r->work[i];
        const struct frame *launch = launch_of(r, f);
        int step = step_at(r, launch ? launch->start_s : f->start_s);
        f->owner = launch ? launch->owner : NOBODY;
        f->half = launch ? launch->half : FORWARD;
        if (step < 0)
            continue;
        if (f->owner == NOBODY)
            add_other(r, f->name, f->end_s - f->start_s, 1);
        else
            seconds_of(r, f->owner, f->half)[step] += f->end_s - f->start_s;
    }
}

static int longest_first(const void *a, const void *b)
{
    const struct torch_other *x = a, *y = b;
    return x->seconds != y->seconds ? (x->seconds > y->seconds ? -1 : 1)
                                    : strcmp(x->name, y->name);
}

void hp_torch_sort_others(struct torch_other *other, int n)
{
    if (n)
        hp_sort(other, n, sizeof *other, longest_first);
}

static void add_up(struct reading *r)
{
    struct torch_trace *t = r->trace;
    double *length = NEW(&r->arena, double, r->n_steps);
    r->seconds = NEW(&r->arena, double, (size_t)(2 * t->n_rows + 1) * (size_t)r->n_steps);
    if (t->on_device)
        add_device(r);
    else
        add_host(r);
    for (int i = 0; i < t->n_rows; i++) {
        t->row[i].forward.measured_s = hp_median(seconds_of(r, i, FORWARD), r->n_steps);
        t->row[i].backward.measured_s = hp_median(seconds_of(r, i, BACKWARD), r->n_steps);
    }
    t->update_s = hp_median(seconds_of(r, UPDATE, FORWARD), r->n_steps);
    for (int i = 0; i < r->n_steps; i++)
        length[i] = r->steps[i].end_s - r->steps[i].start_s;
    r->step->n_steps = r->n_steps;
    r->step->step_s = hp_median(length, r->n_steps);
    hp_torch_sort_others(t->other, t->n_others);
}

/* Bars of the last step ------------------------------------------------------------------ */

static void add_bar(struct reading *r, const struct frame *f)
{
    struct hypar_measured_step *s = r->step;
    const struct span_s *last = &r->steps[r->n_steps - 1];
    struct hypar_trace_event *e = &s->event[s->n_events];
    *e = (struct hypar_trace_event){ .op = -1,
                                     .with = -1,
                                     .micro = -1,
                                     .stage = -1,
                                     .id = s->n_events++,
                                     .rank = r->trace->rank,
                                     .step = r->n_steps,
                                     .start_s = f->start_s - last->start_s,
                                     .end_s = f->end_s - last->start_s };
    e->kind = f->owner == UPDATE    ? HYPAR_EVENT_UPDATE
              : f->half == BACKWARD ? HYPAR_EVENT_BACKWARD
                                    : HYPAR_EVENT_FORWARD;
    snprintf(e->name, sizeof e->name, "%.140s%s",
             f->owner == UPDATE ? "update" : r->trace->row[f->owner].name,
             f->owner == UPDATE    ? ""
             : f->half == BACKWARD ? " backward"
                                   : " forward");
    hp_clean_text(e->name, '?');
}

/* Frame i if it becomes a bar of the last step, else NULL. Kernels become bars; without a
 * device, hypar bars and the functions of autograd for them do. */
static const struct frame *bar_of_last(const struct reading *r, int i)
{
    bool device = r->trace->on_device;
    const struct frame *f = device ? &r->work[i] : &r->frame[i];
    const struct frame *begun = device ? launch_of(r, f) : f;
    bool bar =
        device ||
        (f->kind == FRAME_BAR && (begins(f->name, our_bar) || begins(f->name, update_bar))) ||
        (f->kind == FRAME_OP && begins(f->name, autograd_frame));
    return bar && f->owner != NOBODY && begun && step_at(r, begun->start_s) == r->n_steps - 1
               ? f
               : NULL;
}

static void keep_bars(struct reading *r)
{
    int n = r->trace->on_device ? r->n_work : r->n, kept = 0;
    for (int i = 0; i < n; i++)
        kept += bar_of_last(r, i) != NULL;
    r->step->event = NEW(&r->step->arena, struct hypar_trace_event, kept + 1);
    for (int i = 0; i < n; i++) {
        const struct frame *f = bar_of_last(r, i);
        if (f)
            add_bar(r, f);
    }
}

/* The whole trace -------------------------------------------------------------------------- */

bool hp_is_torch_trace(const struct json *root)
{
    struct json ours = hp_json_member(root, "otherData"),
                version = hp_json_member(root, "schemaVersion");
    return hp_json_is_object(root) && !ours.value && version.value;
}

/* Read rank and device of the trace. */
static void read_about(struct reading *r, const struct json *root)
{
    struct json info = hp_json_member(root, "distributedInfo"),
                devices = hp_json_member(root, "deviceProperties"),
                device = hp_json_element(&devices, 0);
    int64_t rank = int_member(&info, "rank"), ranks = int_member(&info, "world_size");
    const char *name = hp_json_length(&devices) > 0 && hp_json_is_object(&device)
                           ? text_member(&device, "name")
                           : "";
    r->trace->rank = rank > 0 && rank < MOST_RANKS ? (int)rank : 0;
    r->trace->n_ranks =
        ranks > r->trace->rank && ranks <= MOST_RANKS ? (int)ranks : r->trace->rank + 1;
    r->step->n_ranks = r->trace->n_ranks;
    if (*name)
        r->trace->device = shortened(&r->step->arena, name, strlen(name));
}

enum hypar_status hp_torch_trace_read(struct hypar_measured_step *step, const struct json *root,
                                      struct hypar_error *err)
{
    step->torch = NEW(&step->arena, struct torch_trace, 1);
    struct reading r = { .step = step, .trace = step->torch };
    read_about(&r, root);
    enum hypar_status status = read_frames(&r, root, err);
    if (status == HYPAR_OK) {
        nest_frames(&r);
        find_owners(&r);
        if (!r.trace->n_rows)
            status = hp_json_fail(root, err,
                                  "no bars 'hypar: OPERATOR', expected a trace of what "
                                  "hypar.torch has annotated");
    }
    if (status == HYPAR_OK) {
        find_steps(&r);
        if ((int64_t)r.n_steps * r.trace->n_rows > MOST_TIMES)
            status = hp_json_fail(root, err, "more than 2^25 times of operators and steps");
    }
    if (status == HYPAR_OK) {
        add_up(&r);
        keep_bars(&r);
    }
    hp_arena_free(&r.arena);
    return status;
}

/* Operators ------------------------------------------------------------------------------ */

void hp_torch_match(const struct torch_trace *trace, const struct hypar_graph *graph,
                    int *row_of_op)
{
    static const char and[] = " + ";
    struct arena arena = { 0 };
    struct table named = { 0 };
    for (int i = 0; i < trace->n_rows; i++)
        for (const char *name = trace->row[i].name, *next; name; name = next) {
            const char *end = strstr(name, and);
            hp_table_put(&named, &arena, name, end ? (size_t)(end - name) : strlen(name), i);
            next = end ? end + strlen(and) : NULL;
        }
    for (int op = 0; op < graph->n_ops; op++) {
        const char *name = graph->ops[op].name;
        size_t n = strlen(name);
        row_of_op[op] = hp_table_get(&named, name, n);
        while (row_of_op[op] < 0 && n > 0) { /* the path of its module; "" for the outermost */
            while (n > 0 && name[n - 1] != '.')
                n--;
            n -= n > 0;
            row_of_op[op] = hp_table_get(&named, name, n);
        }
    }
    hp_arena_free(&arena);
}
