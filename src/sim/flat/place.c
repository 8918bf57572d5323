/* Reading a program file: the queues that each task holds, and for how long. */
#include <string.h>

#include "cost/collective.h"
#include "sim/flat/read.h"

/* Limits of the work that a small file may cause on a large machine: links visited to find the
 * routes of collectives, and queues held (equal tasks count once). */
static const double MAX_VISITS = 1e9;
static const int64_t MAX_HOLDS = 10 * 1000 * 1000;

/* A group of devices with one kind of communication; its cost model is made once. */
struct group {
    struct comm_group what;
    const struct comm_model *model; /* NULL: a send, which uses its route */
};

/* The holds of a group's task of one size; equal tasks share them. */
struct held {
    ticks duration;
    int n;
    const struct hold *hold;
    const double *bytes; /* NULL: none */
};

struct placer {
    struct flat_reader *reader;
    struct table groups,
        sizes; /* [kind, devices...] to group; (group, bytes, seconds) to held */
    struct group *group;
    struct held *held;
    int n_groups, group_capacity, n_held, held_capacity;
    double visits;
    int64_t n_holds;
    ticks total;
};

double hp_collected_bytes(enum comm_kind kind, int n_devices, double sent_bytes)
{
    double others = n_devices - 1;
    switch (kind) {
    case COMM_ALL_REDUCE:
        return sent_bytes / (2 * others);
    case COMM_BROADCAST:
    case COMM_ALL_GATHER:
    case COMM_REDUCE:
    case COMM_REDUCE_SCATTER:
        return sent_bytes / others;
    case COMM_ALL_TO_ALL:
    case COMM_EXCHANGE:
        return sent_bytes / (n_devices * others);
    default:
        return sent_bytes;
    }
}

/* Make room for a task that holds n queues, or fail. */
static enum hypar_status take_holds(struct placer *p, const struct json *at, int n,
                                    struct hypar_error *err)
{
    p->n_holds += n;
    if (p->n_holds > MAX_HOLDS)
        return hp_json_fail(at, err,
                            "the tasks up to here hold %lld links, expected at most %lld",
                            (long long)p->n_holds, (long long)MAX_HOLDS);
    return HYPAR_OK;
}

/* A task on a device or a named link: it holds the queue all the time. */
static enum hypar_status hold_one(struct placer *p, const struct json *at, int i, int queue,
                                  struct hypar_error *err)
{
    struct flat_reader *r = p->reader;
    struct file_task *task = &r->task[i];
    struct sim_task *timed = &r->timed[i];
    TRY(take_holds(p, at, 1, err));
    struct hold *hold = NEW(&r->file->arena, struct hold, 1);
    timed->duration = hp_ticks(task->seconds);
    *hold = (struct hold){ queue, 0, timed->duration };
    timed->n_holds = 1;
    timed->hold = hold;
    if (task->bytes > 0) {
        double *bytes = NEW(&r->file->arena, double, 1);
        *bytes = task->bytes;
        task->hold_bytes = bytes;
    }
    return HYPAR_OK;
}

/* Without a machine, a list of devices is a link of its own: "0->1", "0,1,2". */
static int list_link(struct flat_reader *r, const struct file_task *task)
{
    enum { NUMBER_BYTES = 12 };
    struct arena arena = { 0 }; /* the scratch holds the table of names, which may grow */
    size_t size = (size_t)task->n_devices * NUMBER_BYTES + 1, n = 0;
    char *text = NEW(&arena, char, size);
    const char *between = task->kind == COMM_SEND ? "->" : ",";
    for (int i = 0; i < task->n_devices; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%d", i ? between : "", task->devices[i]);
    int link = hp_flat_link(r, text);
    hp_arena_free(&arena);
    return link;
}

/* Can the cost model of this group be made in reasonable time? */
static enum hypar_status take_visits(struct placer *p, const struct json *at,
                                     const struct comm_group *what, struct hypar_error *err)
{
    enum { STEPS = 20 }; /* a device sends to few others, unless to all: log2(2^20) */
    double n = what->n_devices;
    double messages = n * (what->kind == COMM_ALL_TO_ALL ? n - 1 : STEPS);
    p->visits += messages * hypar_machine_longest_route(p->reader->machine);
    if (p->visits > MAX_VISITS)
        return hp_json_fail(at, err,
                            "the collectives up to here take up to %.3g links of the machine, "
                            "expected at most %.3g",
                            p->visits, MAX_VISITS);
    return HYPAR_OK;
}

static enum hypar_status find_group(struct placer *p, const struct json *at,
                                    const struct file_task *task, int *out,
                                    struct hypar_error *err)
{
    struct flat_reader *r = p->reader;
    size_t n = (size_t)task->n_devices;
    int *key = NEW(&r->scratch, int, n + 1);
    struct comm_group what = { task->kind == COMM_EXCHANGE ? COMM_ALL_TO_ALL : task->kind,
                               task->n_devices, task->devices, 0 };
    key[0] = (int)what.kind;
    memcpy(key + 1, task->devices, n * sizeof *key);
    *out = hp_table_put(&p->groups, &r->scratch, key, (n + 1) * sizeof *key, p->n_groups);
    if (*out < p->n_groups)
        return HYPAR_OK;
    p->group = GROW(&r->scratch, struct group, p->group, p->n_groups, &p->group_capacity);
    struct group *group = &p->group[p->n_groups++];
    *group = (struct group){ what, NULL };
    if (what.kind == COMM_SEND)
        return HYPAR_OK;
    TRY(take_visits(p, at, &what, err));
    group->model = hp_comm_model(&r->scratch, r->machine, &what);
    return HYPAR_OK;
}

/* The time of a task on links and of its holds, in seconds. */
struct span {
    double total_s;
    int n;
    int *link; /* directed */
    double *offset_s, *busy_s, *bytes;
};

static enum hypar_status new_span(struct placer *p, const struct json *at, int n,
                                  struct span *span, struct hypar_error *err)
{
    struct arena *scratch = &p->reader->scratch;
    TRY(take_holds(p, at, n, err));
    *span = (struct span){ 0,
                           n,
                           NEW(scratch, int, n),
                           NEW(scratch, double, n),
                           NEW(scratch, double, n),
                           NEW(scratch, double, n) };
    return HYPAR_OK;
}

/* A message holds each link of its route for bytes/bandwidth, each one latency after the link
 * before (cut-through). */
static enum hypar_status span_of_route(struct placer *p, const struct json *at,
                                       const int *device, double bytes, struct span *span,
                                       struct hypar_error *err)
{
    const struct hypar_machine *machine = p->reader->machine;
    int n = hypar_machine_route(machine, device[0], device[1], NULL, 0);
    double latency_s = 0, longest_s = 0;
    TRY(new_span(p, at, n, span, err));
    hypar_machine_route(machine, device[0], device[1], span->link, n);
    for (int i = 0; i < n; i++) {
        struct hypar_link link = hypar_machine_link(machine, span->link[i] / 2);
        span->offset_s[i] = latency_s;
        span->busy_s[i] = bytes / link.bytes_per_s;
        span->bytes[i] = bytes;
        latency_s += link.latency_s;
        longest_s = span->busy_s[i] > longest_s ? span->busy_s[i] : longest_s;
    }
    struct comm_overhead overhead = hp_comm_overhead(
        machine, &(struct comm_group){ .kind = COMM_SEND, .n_devices = 2, .device = device });
    span->total_s = latency_s + longest_s + overhead.fixed_s + overhead.s_per_byte * bytes;
    return HYPAR_OK;
}

static enum hypar_status span_of_way(struct placer *p, const struct json *at,
                                     const struct comm_way *way, double bytes,
                                     struct span *span, struct hypar_error *err)
{
    const struct hypar_machine *machine = p->reader->machine;
    TRY(new_span(p, at, way->n_links, span, err));
    for (int i = 0; i < way->n_links; i++) {
        struct hypar_link link = hypar_machine_link(machine, way->link[i].link / 2);
        span->link[i] = way->link[i].link;
        span->busy_s[i] = bytes * way->link[i].s_per_byte;
        span->bytes[i] = span->busy_s[i] * link.bytes_per_s;
    }
    span->total_s = way->fixed_s + bytes * way->s_per_byte;
    return HYPAR_OK;
}

/* Round to ticks. A task ends no earlier than its holds. */
static void keep_span(struct placer *p, const struct span *span, bool bytes, struct held *out)
{
    struct flat_file *file = p->reader->file;
    struct hold *hold = NEW(&file->arena, struct hold, span->n);
    *out = (struct held){ hp_ticks(span->total_s), span->n, hold, NULL };
    for (int i = 0; i < span->n; i++) {
        hold[i] = (struct hold){ file->n_devices + span->link[i], hp_ticks(span->offset_s[i]),
                                 hp_ticks(span->busy_s[i]) };
        ticks end = hold[i].offset + hold[i].busy;
        out->duration = end > out->duration ? end : out->duration;
    }
    if (!bytes || span->n == 0)
        return;
    double *crossing = NEW(&file->arena, double, span->n);
    memcpy(crossing, span->bytes, (size_t)span->n * sizeof *crossing);
    out->bytes = crossing;
}

/* If "seconds" are given, they are used as they are: the links are held throughout. */
static enum hypar_status make_held(struct placer *p, const struct json *at,
                                   const struct group *group, const struct file_task *task,
                                   struct held *out, struct hypar_error *err)
{
    struct arena_mark mark = hp_arena_mark(&p->reader->scratch);
    double sent = task->bytes > 0 ? task->bytes : 0;
    double bytes = hp_collected_bytes(group->what.kind, group->what.n_devices, sent);
    struct span span;
    if (group->model)
        TRY(span_of_way(p, at, hp_comm_best_way(group->model, bytes), bytes, &span, err));
    else
        TRY(span_of_route(p, at, group->what.device, bytes, &span, err));
    if (task->seconds >= 0) {
        span.total_s = task->seconds;
        for (int i = 0; i < span.n; i++) {
            span.offset_s[i] = 0;
            span.busy_s[i] = task->seconds;
        }
    }
    if (!(span.total_s <= hp_seconds(HP_MAX_TICKS)))
        return hp_json_fail(at, err, "the bytes take %.3g s, expected at most %.3g",
                            span.total_s, hp_seconds(HP_MAX_TICKS));
    keep_span(p, &span, sent > 0, out);
    hp_arena_release(&p->reader->scratch, mark);
    return HYPAR_OK;
}

static enum hypar_status hold_links(struct placer *p, const struct json *at, int i,
                                    struct hypar_error *err)
{
    struct flat_reader *r = p->reader;
    struct file_task *task = &r->task[i];
    int group;
    TRY(find_group(p, at, task, &group, err));
    double *key = NEW(&r->scratch, double, 3);
    key[0] = group;
    key[1] = task->bytes;
    key[2] = task->seconds;
    int found = hp_table_put(&p->sizes, &r->scratch, key, 3 * sizeof *key, p->n_held);
    if (found == p->n_held) {
        p->held = GROW(&r->scratch, struct held, p->held, p->n_held, &p->held_capacity);
        p->n_held++;
        TRY(make_held(p, at, &p->group[group], task, &p->held[found], err));
    }
    const struct held *held = &p->held[found];
    r->timed[i].duration = held->duration;
    r->timed[i].n_holds = held->n;
    r->timed[i].hold = held->hold;
    r->timed[i].held = task->kind == COMM_SEND ? HELD_ON_ROUTE : HELD_EACH;
    task->hold_bytes = held->bytes;
    return HYPAR_OK;
}

static enum hypar_status place_task(struct placer *p, int i, struct hypar_error *err)
{
    struct flat_reader *r = p->reader;
    const struct file_task *task = &r->task[i];
    struct json at = hp_json_element(&r->tasks, i);
    int first_name = r->file->n_devices + r->file->n_machine_links;
    if (task->device >= 0)
        TRY(hold_one(p, &at, i, task->device, err));
    else if (task->link >= 0)
        TRY(hold_one(p, &at, i, first_name + task->link, err));
    else if (!r->machine)
        TRY(hold_one(p, &at, i, first_name + list_link(r, task), err));
    else
        TRY(hold_links(p, &at, i, err));
    if (task->device < 0 && r->timed[i].held == HELD_TOGETHER)
        r->timed[i].held = HELD_EACH; /* a named link */
    if (r->timed[i].duration)         /* a task that takes no time need not give way */
        r->timed[i].traffic = (unsigned char)task->traffic;
    p->total += r->timed[i].duration;
    if (p->total > HP_MAX_TICKS)
        return hp_json_fail(&at, err,
                            "the tasks up to here take %.7g s one after another, expected at "
                            "most %.7g",
                            hp_seconds(p->total), hp_seconds(HP_MAX_TICKS));
    return HYPAR_OK;
}

enum hypar_status hp_flat_place(struct flat_reader *r, struct hypar_error *err)
{
    struct placer p = { .reader = r };
    for (int i = 0; i < r->n_tasks; i++)
        TRY(place_task(&p, i, err));
    return HYPAR_OK;
}
