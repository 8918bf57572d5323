/* Adds up the time of a critical path by its causes. */
#include "sim/path_sum.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "base/table.h"
#include "base/word.h"
#include "graph/graph.h"

static const struct {
    const char *text, *words;
} kinds[] = {
    [PATH_COMPUTE] = { "computing", "computing" },
    [PATH_AGAIN] = { "recomputation", "recomputation" },
    [PATH_UPDATE] = { "update", "updating parameters" },
    [PATH_EXCHANGE] = { "exchange", "exchanges that nothing hides" },
    [PATH_BESIDE] = { "exchange beside computing", "exchanges beside computing" },
    [PATH_BUBBLE] = { "bubble", "the pipeline's bubble" },
    [PATH_LAUNCH] = { "launches", "launching kernels" },
};

const char *hp_path_kind_text(enum path_kind kind)
{
    return kinds[kind].text;
}

const char *hp_path_kind_words(enum path_kind kind)
{
    return kinds[kind].words;
}

/* The name of an exchange that is the same for all repeated layers: "all-reduce gradient of
 * h.*.attn.w". */
static char *without_layers(struct arena *arena, const char *name)
{
    const char *space = strrchr(name, ' '), *last = space ? space + 1 : name;
    return hp_arena_printf(arena, "%.*s%s", (int)(last - name), name,
                           hp_without_numbers(arena, last));
}

/* The busiest device ----------------------------------------------------------------------- */

/* The times at which the busiest device computes. In a full pipeline, the critical path goes
 * from stage to stage and all stages compute. The path is in the bubble only while the busiest
 * device is idle. The same holds for exchanges: if an exchange on the path were faster while
 * the busiest device computes, the step would not become shorter by all of the exchange's time.
 */
struct busy {
    struct span {
        double start_s, end_s;
    } * span; /* in order */
    int n, capacity;
    bool *near; /* by device: it is in a stage of the busiest device */
};

struct adding {
    const struct hypar_sim *sim;
    const struct hypar_graph *graph;
    struct arena *arena;
    struct path_sum *sum;
    struct busy busy;    /* of the busiest device */
    struct table rows;   /* by row name */
    const char **member; /* by row: its only member; NULL: it has several */
    int member_capacity;
};

static int busiest_device(const struct hypar_sim *sim)
{
    int busiest = 0, n = hypar_machine_device_count(hypar_plan_machine(hypar_sim_plan(sim)));
    for (int d = 1; d < n; d++)
        if (hypar_sim_device(sim, d).busy_s > hypar_sim_device(sim, busiest).busy_s)
            busiest = d;
    return busiest;
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->start_s < y->start_s ? -1 : x->start_s > y->start_s;
}

/* The devices that are in a stage of `device`; without stages, all. */
static bool *near_devices(const struct hypar_plan *plan, struct arena *arena, int device)
{
    int n_devices = hypar_machine_device_count(hypar_plan_machine(plan));
    int n_stages = hypar_plan_stage_count(plan);
    bool *near = NEW(arena, bool, n_devices);
    for (int d = 0; d < n_devices; d++)
        near[d] = n_stages == 0;
    for (int s = 0; s < n_stages; s++) {
        struct hypar_stage stage = hypar_plan_stage(plan, s);
        bool here = false;
        for (int i = 0; i < stage.n_devices; i++)
            here |= stage.device[i] == device;
        for (int i = 0; here && i < stage.n_devices; i++)
            near[stage.device[i]] = true;
    }
    return near;
}

static struct busy busy_of(const struct hypar_sim *sim, struct arena *arena, int device)
{
    struct busy busy = { 0 };
    struct hypar_sim_event e;
    busy.near = near_devices(hypar_sim_plan(sim), arena, device);
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++)
        if (e.device == device && e.kind != HYPAR_EVENT_COMM) {
            busy.span = GROW(arena, struct span, busy.span, busy.n, &busy.capacity);
            busy.span[busy.n++] = (struct span){ e.start_s, e.end_s };
        }
    if (busy.n)
        hp_sort(busy.span, busy.n, sizeof *busy.span, by_start);
    return busy;
}

/* The time that the device computes within an interval. */
static double busy_in(const struct busy *busy, double start_s, double end_s)
{
    int low = 0, high = busy->n;
    double sum_s = 0;
    while (low < high) { /* the first span that ends later */
        int middle = low + (high - low) / 2;
        if (busy->span[middle].end_s <= start_s)
            low = middle + 1;
        else
            high = middle;
    }
    for (int i = low; i < busy->n && busy->span[i].start_s < end_s; i++) {
        double from_s = fmax(start_s, busy->span[i].start_s);
        sum_s += fmin(end_s, busy->span[i].end_s) - from_s;
    }
    return fmin(sum_s, end_s - start_s);
}

static enum path_kind kind_of(const struct hypar_sim_segment *s,
                              const struct hypar_sim_event *e)
{
    if (s->kind != HYPAR_SEGMENT_COMPUTE)
        return s->kind == HYPAR_SEGMENT_UPDATE     ? PATH_UPDATE
               : s->kind == HYPAR_SEGMENT_EXCHANGE ? PATH_EXCHANGE
                                                   : PATH_LAUNCH;
    return e->again ? PATH_AGAIN : PATH_COMPUTE;
}

/* The row with this name; `member` is the entry to add, the name itself if there is no
 * other. */
static struct path_row *row_of(struct adding *a, enum path_kind kind, const char *name,
                               const char *member)
{
    struct path_sum *sum = a->sum;
    int i = hp_table_get(&a->rows, name, strlen(name));
    if (i >= 0) {
        if (a->member[i] && strcmp(a->member[i], member) != 0)
            a->member[i] = NULL;
        return &sum->row[i];
    }
    name = hp_arena_strdup(a->arena, name);
    a->member = GROW(a->arena, const char *, a->member, sum->n, &a->member_capacity);
    a->member[sum->n] = hp_arena_strdup(a->arena, member);
    sum->row = GROW(a->arena, struct path_row, sum->row, sum->n, &sum->capacity);
    sum->row[sum->n] = (struct path_row){ .kind = kind, .name = name };
    hp_table_put(&a->rows, a->arena, name, strlen(name), sum->n);
    return &sum->row[sum->n++];
}

static void add_to_row(struct adding *a, enum path_kind kind, const struct hypar_sim_segment *s,
                       const struct hypar_sim_event *e, double seconds)
{
    struct arena scratch = { 0 };
    const char *member = hp_path_kind_text(kind), *name = member;
    if (kind == PATH_EXCHANGE) {
        member = hp_arena_strndup(&scratch, e->name, (size_t)e->what_bytes);
        name = without_layers(&scratch, member);
    } else if (kind == PATH_COMPUTE) {
        name = member = hp_op_kind(a->graph, e->op);
    }
    struct path_row *row = row_of(a, kind, name, member);
    double whole_s = s->end_s - s->start_s;
    row->seconds += seconds;
    row->queued_s += seconds < whole_s ? s->queued_s * seconds / whole_s : s->queued_s;
    a->sum->kind_s[kind] += seconds;
    hp_arena_free(&scratch);
}

static void add_segment(struct adding *a, const struct hypar_sim_segment *s)
{
    struct hypar_sim_event e = { .name = "" };
    if (s->event >= 0)
        hypar_sim_event(a->sim, s->event, &e);
    double seconds = s->end_s - s->start_s, idle_s = 0;
    if (s->event >= 0 && e.device >= 0 && !a->busy.near[e.device])
        idle_s = seconds - busy_in(&a->busy, s->start_s, s->end_s);
    if (idle_s > 0)
        add_to_row(a, PATH_BUBBLE, s, &e, idle_s);
    if (idle_s < seconds)
        add_to_row(a, kind_of(s, &e), s, &e, seconds - idle_s);
    if (s->kind == HYPAR_SEGMENT_EXCHANGE) {
        double beside_s = busy_in(&a->busy, s->start_s, s->end_s);
        a->sum->kind_s[PATH_BESIDE] += beside_s;
        a->sum->kind_s[PATH_EXCHANGE] -= beside_s;
    }
    a->sum->whole_s = s->end_s;
}

static int by_time(const void *a, const void *b)
{
    const struct path_row *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds > y->seconds ? -1 : 1;
    return strcmp(x->name, y->name);
}

struct path_sum hp_add_up_path(const struct hypar_sim *sim, struct arena *arena)
{
    struct path_sum sum = { .busiest = busiest_device(sim) };
    struct adding a = {
        .sim = sim, .graph = hypar_plan_graph(hypar_sim_plan(sim)), .arena = arena, .sum = &sum
    };
    struct hypar_sim_segment s;
    a.busy = busy_of(sim, arena, sum.busiest);
    for (int64_t i = 0; hypar_sim_segment(sim, i, &s); i++)
        add_segment(&a, &s);
    for (int i = 0; i < sum.n; i++)
        if (a.member[i])
            sum.row[i].name = a.member[i];
    if (sum.n)
        hp_sort(sum.row, sum.n, sizeof *sum.row, by_time);
    return sum;
}
