/* Reports a sweep over batches and machines as text, as JSON and as CSV. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "report/explore/axes.h"
#include "report/put.h"
#include "report/svg/svg.h"

double hp_for_a_device(const struct hypar_sweep_point *p)
{
    return p->samples_per_s / p->devices;
}

bool hp_sweep_in_all(const struct hypar_sweep *s)
{
    return hypar_sweep_info(s).options->n_others > 0;
}

double hp_of_a_sample(const struct hypar_sweep_point *p, enum hypar_objective objective)
{
    return (objective == HYPAR_ENERGY ? p->energy_j : p->comm_bytes) / (double)p->batch;
}

int hp_sweep_machine_count(const struct hypar_sweep *s)
{
    int n = 1;
    for (int i = 1; i < hypar_sweep_info(s).n_points; i++)
        n += hypar_sweep_point(s, i)->machine != hypar_sweep_point(s, i - 1)->machine;
    return n;
}

struct axes hp_sweep_axes_of(const struct hypar_sweep *s)
{
    struct axes axes = { 0 };
    struct hypar_sweep_info info = hypar_sweep_info(s);
    axes.axis = info.axis;
    axes.n = info.n_axes;
    for (int i = 0; i < axes.n; i++)
        axes.shape |= axes.axis[i].words;
    for (int i = 0; i < hypar_sweep_info(s).n_points; i++)
        hp_axes_add_machine(&axes, hypar_sweep_point(s, i)->shape);
    return axes;
}

struct axes_place hp_sweep_place(const struct hypar_sweep_point *p)
{
    return (struct axes_place){ p->shape, p->value };
}

const char *hp_sweep_machines(struct arena *arena, const struct hypar_sweep *s)
{
    int n = hp_sweep_machine_count(s);
    return hp_machines_text(
        arena, n > 1 ? hypar_sweep_info(s).machine : hypar_sweep_point(s, 0)->word, n);
}

const char *hp_sweep_planners(struct arena *arena, const struct hypar_sweep *s)
{
    const char *list = hypar_sweep_info(s).options->planners, *text = "", *between = "";
    while (list) {
        int length = (int)strcspn(list, ",");
        bool last = !list[length];
        text = hp_arena_printf(arena, "%s%s%.*s", text, *text && last ? " and " : between,
                               length, list);
        between = ", ";
        list = last ? NULL : list + length + 1;
    }
    return *text ? text : "auto";
}

/* Name the planners whose search ignores the objective; NULL: none. */
static const char *objective_note(struct arena *arena, const struct hypar_sweep *s)
{
    static const char *const what[] = { "time", "what is sent", "energy" };
    struct hypar_search_options how = { .objective =
                                            hypar_sweep_info(s).options->search.objective,
                                        .objective_given = true };
    const char *list = hypar_sweep_info(s).options->planners, *text = "";
    if (how.objective == HYPAR_TIME)
        return NULL;
    while (list) {
        const char *name = hp_arena_strndup(arena, list, strcspn(list, ","));
        if (hypar_check_options(&how, &name, 1, NULL) != HYPAR_OK)
            text = hp_joined(arena, text, ", ", name);
        list += strlen(name);
        list = *list ? list + 1 : NULL;
    }
    return *text ? hp_arena_printf(arena,
                                   "Plans are compared by %s, which the search of %s does not "
                                   "look at.",
                                   what[how.objective], text)
                 : NULL;
}

/* Text -------------------------------------------------------------------------------- */

/* The planner of a row: "dp"; "auto: hybrid" if there are several planners and this one took
 * the plan of another. */
static const char *planner_text(struct arena *arena, const struct hypar_sweep *s,
                                const struct hypar_sweep_point *p)
{
    const char *asked = hypar_sweep_info(s).options->planners;
    bool several = asked && strchr(asked, ',');
    if (!p->planner || strcmp(p->planner, p->asked) == 0)
        return p->asked;
    return several ? hp_arena_printf(arena, "%s: %s", p->asked, p->planner) : p->planner;
}

/* The layout of a plan: "3d 8x4x2/16" with 16 micro-batches; "optcnn, by layer". */
static const char *layout_text(struct arena *arena, const struct hypar_sweep *s,
                               const struct hypar_sweep_point *p)
{
    const char *planner = planner_text(arena, s, p);
    const char *text = hp_arena_printf(arena, "%s, by layer", planner);
    if (p->data)
        text = hp_arena_printf(arena, "%s %dx%dx%d", planner, p->data, p->tensor, p->pipeline);
    else if (p->pipeline > 1)
        text = hp_arena_printf(arena, "%s, %s, by layer", planner,
                               hp_count(arena, p->pipeline, "stage"));
    if (p->micro_batches > 1)
        text = hp_arena_printf(arena, "%s/%s", text, hp_thousands(arena, p->micro_batches));
    return text;
}

/* The words for a plan that saves memory: ", recompute 12, shard optimizer"; else "". */
static const char *saving_text(struct arena *arena, const struct hypar_sweep_point *p)
{
    bool shards = p->shard != HYPAR_SHARD_NONE;
    const char *again =
        p->recomputed ? hp_arena_printf(arena, ", recompute %d", p->recomputed) : "";
    return hp_arena_printf(arena, "%s%s%s", again, shards ? ", shard " : "",
                           shards ? hypar_shard_text(p->shard) : "");
}

static const char *plan_text(struct arena *arena, const struct hypar_sweep *s,
                             const struct hypar_sweep_point *p)
{
    return hp_arena_printf(arena, "%s%s", layout_text(arena, s, p), saving_text(arena, p));
}

/* The text for a point without a plan. */
static const char *lack_text(struct arena *arena, const struct hypar_sweep_point *p,
                             const char *plan)
{
    size_t length = strlen(p->asked);
    bool named = strncmp(p->why.text, p->asked, length) == 0; /* "dp splits ..." */
    if (p->verdict == HYPAR_SWEPT_NO_PLAN)
        return hp_arena_printf(arena, "no plan: %s%s%s", named ? "" : p->asked,
                               named ? "" : ": ", p->why.text);
    return hp_arena_printf(arena, "no plan fits (%s)", plan);
}

/* Rows -------------------------------------------------------------------------------- */

static const char *const verdicts[] = {
    [HYPAR_SWEPT_FITS] = "fits",
    [HYPAR_SWEPT_TOO_LARGE] = "too large",
    [HYPAR_SWEPT_NO_PLAN] = "no plan",
    [HYPAR_SWEPT_NOT_TRIED] = "not tried",
};

struct point_row {
    struct hypar_sweep_point p;
    int64_t devices;
    const char *verdict;
    const struct point_row *plan; /* this row if it has a plan; in text, if its plan fits */
    const char *about, *about_sent, *sharded, *plan_text;
    double each;
    const struct hypar_energy *energy;
    bool best_rate, best_each, best_sent, best_energy;
};

/* The columns of text. */
enum { DEVICES = 1, BATCH = 2, PLAN = 4 };

#define POINT(member) AT(struct point_row, member)

static const struct column plan_columns[] = {
    { NULL, "plan_of", AS_WORD, POINT(p.planner) },
    { NULL, "data", AS_INT, POINT(p.data), IF_POSITIVE },
    { NULL, "tensor", AS_INT, POINT(p.tensor), IF_POSITIVE },
    { NULL, "pipeline", AS_INT, POINT(p.pipeline) },
    { NULL, "micro_batches", AS_COUNT, POINT(p.micro_batches) },
    { NULL, "recomputed", AS_INT, POINT(p.recomputed) },
    { NULL, "sharded", AS_WORD, POINT(sharded) },
    { NULL, "simulated", AS_BOOL, POINT(p.simulated) },
    { "step", "step_s", AS_SECONDS, POINT(p.step_s),
      .prefix = offsetof(struct point_row, about) },
    { "rate", "samples_per_s", AS_METRIC, POINT(p.samples_per_s),
      .star = offsetof(struct point_row, best_rate) },
    { "each", "samples_per_s_per_device", AS_METRIC, POINT(each), .when = DEVICES,
      .star = offsetof(struct point_row, best_each) },
    { "MFU", "mfu", AS_PERCENT, POINT(p.mfu) },
    { "sent", "comm_bytes", AS_BYTES, POINT(p.comm_bytes),
      .prefix = offsetof(struct point_row, about_sent),
      .star = offsetof(struct point_row, best_sent) },
    { "energy", "energy_j", AS_JOULES, POINT(p.energy_j),
      .prefix = offsetof(struct point_row, about_sent),
      .star = offsetof(struct point_row, best_energy) },
    { NULL, "energy", AS_RECORD, POINT(energy), .of = hp_energy_columns },
    { NULL, "memory_bytes", AS_BYTES, POINT(p.memory_bytes), IF_POSITIVE },
    { NULL, "limit_bytes", AS_BYTES, POINT(p.limit_bytes), IF_POSITIVE },
    { NULL, "best", AS_BOOL, POINT(p.best) },
    { NULL, "interrupted", AS_BOOL, POINT(p.interrupted), NOT_JSON },
    { 0 },
};

static const struct column point_columns[] = {
    { NULL, "machine", AS_TEXT, POINT(p.word) },
    { "devices", "devices", AS_COUNT, POINT(devices), .when = DEVICES },
    { "batch", "batch", AS_COUNT, POINT(p.batch), .when = BATCH },
    { NULL, "verdict", AS_WORD, POINT(verdict) },
    { NULL, "planner", AS_WORD, POINT(p.asked) },
    { NULL, "why", AS_TEXT, POINT(p.why.text), INSIDE | IF_POSITIVE | LEFT_OUT },
    { NULL, "best", AS_BOOL, POINT(p.best), NOT_JSON },
    { "", NULL, AS_RECORD, POINT(plan), .of = plan_columns },
    { "memory", NULL, AS_BYTES, POINT(p.memory_bytes), IF_POSITIVE },
    { "plan", NULL, AS_TEXT, POINT(plan_text), WRAPS, .when = PLAN },
    { NULL, "interrupted", AS_BOOL, POINT(p.interrupted), IF_POSITIVE | LEFT_OUT },
    { 0 },
};

/* The form of the text. */
struct shape {
    struct axes axes;
    unsigned shows;         /* columns */
    bool planner;           /* several planners */
    bool in_all;            /* rows are compared by the rate of all devices */
    const char *unit;       /* of rates */
    const char *one_plan;   /* the plan of all rows, written below them; NULL: plans differ */
    const char *one_saving; /* how all plans save memory; NULL: plans differ */
    enum hypar_objective objective;
};

static const char *one_plan(struct arena *arena, const struct hypar_sweep *s)
{
    const char *plan = NULL;
    for (int i = 0; i < hypar_sweep_info(s).n_points; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        if (p->verdict == HYPAR_SWEPT_NOT_TRIED)
            continue;
        if (p->verdict != HYPAR_SWEPT_FITS ||
            (plan && strcmp(plan, plan_text(arena, s, p)) != 0))
            return NULL;
        plan = plan_text(arena, s, p);
    }
    return plan;
}

static const char *one_saving(struct arena *arena, const struct hypar_sweep *s)
{
    const char *saving = NULL;
    for (int i = 0; i < hypar_sweep_info(s).n_points; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        if (p->planner && saving && strcmp(saving, saving_text(arena, p)) != 0)
            return NULL;
        if (p->planner)
            saving = saving_text(arena, p);
    }
    return saving;
}

static struct shape shape_of(struct arena *arena, const struct hypar_sweep *s)
{
    struct shape shape = { .axes = hp_sweep_axes_of(s),
                           .unit = hp_rate_unit(hypar_sweep_info(s).graph),
                           .one_plan = one_plan(arena, s),
                           .one_saving = one_saving(arena, s),
                           .in_all = hp_sweep_in_all(s),
                           .objective = hypar_sweep_info(s).options->search.objective };
    const struct hypar_sweep_point *first = hypar_sweep_point(s, 0);
    for (int i = 1; i < hypar_sweep_info(s).n_points; i++) {
        shape.shows |= hypar_sweep_point(s, i)->devices != first->devices ? DEVICES : 0;
        shape.shows |= hypar_sweep_point(s, i)->batch != first->batch ? BATCH : 0;
        shape.planner |= strcmp(hypar_sweep_point(s, i)->asked, first->asked) != 0;
    }
    if (!shape.shows && !shape.axes.n) /* a single point also shows its devices and batch */
        shape.shows = DEVICES | BATCH;
    shape.shows |= shape.one_plan ? 0 : PLAN;
    return shape;
}

/* Write the rows; `shape` for text, NULL for other forms. */
static void write_rows(struct table_writer *table, struct arena *arena,
                       const struct hypar_sweep *s, const struct shape *shape)
{
    struct axes axes = hp_sweep_axes_of(s);
    table->column =
        hp_axes_columns(&axes, arena, point_columns, 1, offsetof(struct point_row, p.shape),
                        offsetof(struct point_row, p.value));
    hp_table_begin(table, "points");
    for (int i = 0; i < hypar_sweep_info(s).n_points; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        bool fits = p->verdict == HYPAR_SWEPT_FITS;
        struct point_row row = { .p = *p,
                                 .devices = p->devices,
                                 .verdict = verdicts[p->verdict],
                                 .about = p->simulated ? "" : "~",
                                 .about_sent = p->counted ? "" : "~",
                                 .sharded = hypar_shard_text(p->shard),
                                 .each = hp_for_a_device(p),
                                 .energy = p->planner && p->counted && isfinite(p->energy_j)
                                               ? &p->energy
                                               : NULL };
        row.plan = p->planner && (!shape || fits) ? &row : NULL;
        if (shape && p->verdict == HYPAR_SWEPT_NOT_TRIED)
            continue;
        if (shape) {
            const char *plan =
                shape->one_saving ? layout_text(arena, s, p) : plan_text(arena, s, p);
            bool time = p->best && shape->objective == HYPAR_TIME;
            row.plan_text = fits ? plan : lack_text(arena, p, plan);
            row.best_rate = time && (shape->in_all || !(shape->shows & DEVICES));
            row.best_each = time && !shape->in_all;
            row.best_sent = p->best && shape->objective == HYPAR_COMM;
            row.best_energy = p->best && shape->objective == HYPAR_ENERGY;
        }
        hp_table_row(table, &row);
    }
    hp_table_end(table);
}

/* A point in words: "batch 1,024 on 8 devices, by dp" */
static const char *place_text(struct arena *arena, const struct hypar_sweep_point *p,
                              const struct shape *shape)
{
    struct axes_place place = hp_sweep_place(p);
    const char *figures = hp_axes_text(&shape->axes, &place, arena);
    const char *on = shape->axes.shape ? "" : hp_count(arena, p->devices, "device");
    return hp_arena_printf(arena, "batch %s on %s%s%s%s%s", hp_thousands(arena, p->batch), on,
                           *on && *figures ? ", " : "", figures, shape->planner ? ", by " : "",
                           shape->planner ? p->asked : "");
}

/* Explain the highlighted row by the objective. */
static const char *best_text(struct arena *arena, const struct shape *shape,
                             const struct hypar_sweep_point *best,
                             const struct hypar_sweep_point *most)
{
    bool energy = shape->objective == HYPAR_ENERGY;
    if (shape->objective != HYPAR_TIME)
        return hp_arena_printf(arena, "Least %s a sample (*): %s of %s.",
                               energy ? "energy" : "sent",
                               hp_figure_text(arena, hp_of_a_sample(best, shape->objective),
                                              energy ? HYPAR_UNIT_JOULES : HYPAR_UNIT_BYTES),
                               place_text(arena, best, shape));
    if (!(shape->shows & DEVICES) || shape->in_all)
        return hp_arena_printf(arena, "Most %s (*): %s of %s.", shape->unit,
                               hp_metric(arena, most->samples_per_s),
                               place_text(arena, best, shape));
    return hp_arena_printf(
        arena, "Most %s for a device (*): %s of %s; in all: %s of %s.", shape->unit,
        hp_metric(arena, hp_for_a_device(best)), place_text(arena, best, shape),
        hp_metric(arena, most->samples_per_s), place_text(arena, most, shape));
}

static bool same_point(const struct hypar_sweep_point *a, const struct hypar_sweep_point *b)
{
    return a->verdict == b->verdict && a->step_s == b->step_s &&
           a->comm_bytes == b->comm_bytes && a->energy_j == b->energy_j &&
           a->memory_bytes == b->memory_bytes && a->limit_bytes == b->limit_bytes;
}

/* Do machines i and j have the same points, batch by batch? */
static bool same_points(const void *who, int i, int j)
{
    const struct hypar_sweep *s = who;
    const struct hypar_machine *first = hypar_sweep_point(s, 0)->machine;
    int n = 0;
    while (n < hypar_sweep_info(s).n_points && hypar_sweep_point(s, n)->machine == first)
        n++;
    for (int b = 0; b < n; b++)
        if (!same_point(hypar_sweep_point(s, i * n + b), hypar_sweep_point(s, j * n + b)))
            return false;
    return true;
}

static const char *room_text(struct arena *arena, double least, double most)
{
    return hp_arena_printf(arena, "Memory: of the fullest device, which has %s%s%s. ",
                           hp_bytes_text(arena, least), least < most ? " to " : "",
                           least < most ? hp_bytes_text(arena, most) : "");
}

/* A summary of all points. */
struct seen {
    const struct hypar_sweep_point *best, *most; /* most: the most samples/s; NULL: none fits */
    bool part, closed, large, micro, again, by_layer;
    double least_bytes, most_bytes; /* memory of devices; most 0: not known */
};

static struct seen look_at_points(const struct hypar_sweep *s)
{
    struct seen seen = { .least_bytes = INFINITY };
    for (int i = 0; i < hypar_sweep_info(s).n_points; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        bool fits = p->verdict == HYPAR_SWEPT_FITS;
        seen.part |= fits && !p->simulated;
        seen.closed |= fits && !p->counted;
        seen.micro |= p->micro_batches > 1;
        seen.by_layer |= p->planner && !p->data;
        seen.again |= p->recomputed > 0;
        seen.large |= p->verdict == HYPAR_SWEPT_TOO_LARGE;
        if (p->limit_bytes > 0) {
            seen.least_bytes = fmin(seen.least_bytes, p->limit_bytes);
            seen.most_bytes = fmax(seen.most_bytes, p->limit_bytes);
        }
        seen.best = p->best ? p : seen.best;
        if (fits && (!seen.most || p->samples_per_s > seen.most->samples_per_s))
            seen.most = p;
    }
    return seen;
}

/* Explain the columns and marks. */
static void explain_columns(FILE *to, struct arena *arena, const struct shape *shape,
                            const struct seen *seen)
{
    hp_put_line(
        to, "Rate: %s%s. %sPlans: data x tensor x pipeline%s%s%s.%s%s%s", shape->unit,
        shape->shows & DEVICES ? " of all devices; each: of one" : "",
        seen->most_bytes > 0 ? room_text(arena, seen->least_bytes, seen->most_bytes) : "",
        seen->micro ? " / micro-batches" : "",
        seen->by_layer ? ", by layer: layers with weights are not divided alike" : "",
        seen->again ? ", recompute: so many operators" : "",
        seen->part ? " ~: as simulating takes long, the step of a part of the devices, "
                     "extrapolated"
                   : "",
        seen->closed ? ", or in closed form; sent and energy with it, in closed form (-: there "
                       "is none)."
        : seen->part ? "; sent and energy are of all devices."
                     : "",
        seen->large ? " In brackets the plan that needs least." : "");
}

/* Print the notes below the table. */
static void explain(FILE *to, struct arena *arena, const struct hypar_sweep *s,
                    const struct shape *shape)
{
    struct seen seen = look_at_points(s);
    fputc('\n', to);
    if (seen.best)
        hp_wrap(to, best_text(arena, shape, seen.best, seen.most), 0);
    else if (seen.most)
        hp_put_line(to, "The best is not known: all plans are too large to be simulated, even "
                        "in part (--objective time).");
    else
        fputs("None fits.\n", to);
    if (shape->one_plan)
        hp_put_line(to, "All plans: %s.", shape->one_plan);
    else if (shape->one_saving && *shape->one_saving)
        hp_put_line(to, "All plans: %s.", shape->one_saving + strlen(", "));
    explain_columns(to, arena, shape, &seen);
    const char *objective = objective_note(arena, s);
    if (objective)
        hp_wrap(to, objective, 0);
    const char *topologies =
        hp_axes_topology_note(&shape->axes, hypar_sweep_info(s).options->search.simulation);
    if (topologies)
        hp_wrap(to, topologies, 0);
    const char *names = hp_axes_without_effect(&shape->axes, same_points, s, arena);
    if (*names)
        hp_put_line(to, "No effect on any row: %s.", names);
}

/* List points, if there are any: "Not done in time: a; b; and 3 more." Either the points whose
 * search was stopped, or those that were not tried, which have no rows. Points are searched in
 * parallel, so points between the first and the last missing one may be done. */
static void tell_points(FILE *to, struct arena *arena, const struct hypar_sweep *s,
                        const struct shape *shape, bool stopped)
{
    enum { NAMED = 4 };
    const char *text = "";
    int n = 0;
    for (int i = 0; i < hypar_sweep_info(s).n_points; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        if ((stopped ? p->interrupted : p->verdict == HYPAR_SWEPT_NOT_TRIED) && n++ < NAMED)
            text = hp_joined(arena, text, "; ", place_text(arena, p, shape));
    }
    if (n > NAMED)
        text = hp_arena_printf(arena, "%s; and %d more", text, n - NAMED);
    if (n)
        hp_put_line(to, "%s: %s.",
                    stopped ? "Stopped at the best plan so far" : "Not done in time", text);
}

/* "vgg16, batch 256, bf16, on 3 machines like full:8: plans of dp and 3d". */
static void title(FILE *to, struct arena *arena, const struct hypar_sweep *s,
                  const struct shape *shape)
{
    struct hypar_search_options how = hypar_sweep_info(s).options->search;
    hp_put_line(to, "%s%s%s%s, on %s%s%s: plans of %s", hypar_sweep_info(s).graph->name,
                shape->shows & BATCH ? "" : ", batch ",
                shape->shows & BATCH ? "" : hp_thousands(arena, hypar_sweep_point(s, 0)->batch),
                hp_settings_text(arena, how.precision,
                                 how.fp32_gradients ? HYPAR_FP32 : how.precision,
                                 how.optimizer),
                hp_sweep_machines(arena, s), how.target ? ", for " : "",
                how.target ? how.target : "", hp_sweep_planners(arena, s));
    fputc('\n', to);
}

static void sweep_text(FILE *to, const struct hypar_sweep *s)
{
    struct arena arena = { 0 };
    struct shape shape = shape_of(&arena, s);
    title(to, &arena, s, &shape);
    write_rows(&(struct table_writer){ .to = to, .shows = shape.shows }, &arena, s, &shape);
    explain(to, &arena, s, &shape);
    tell_points(to, &arena, s, &shape, true);
    tell_points(to, &arena, s, &shape, false);
    hp_arena_free(&arena);
}

/* JSON, CSV --------------------------------------------------------------------------- */

static void sweep_json(FILE *to, const struct hypar_sweep *s)
{
    struct arena arena = { 0 };
    struct json_writer w = { .file = to };
    struct hypar_sweep_options how = *hypar_sweep_info(s).options;
    hp_json_begin_object(&w, NULL, false);
    PUT(&w, TEXT("model", hypar_sweep_info(s).graph->name),
        TEXT("planners", how.planners ? how.planners : "auto"),
        ONLY_IF(hypar_sweep_info(s).n_done < hypar_sweep_info(s).n_points,
                FLAG("interrupted", true)));
    write_rows(&(struct table_writer){ .json = &w }, &arena, s, NULL);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

static void sweep_csv(FILE *to, const struct hypar_sweep *s)
{
    static const char keys[] =
        "machine devices batch verdict planner data tensor pipeline micro_batches simulated "
        "step_s samples_per_s samples_per_s_per_device mfu memory_bytes limit_bytes best why "
        "comm_bytes energy_j " ENERGY_KEYS " recomputed sharded interrupted plan_of";
    struct arena arena = { 0 };
    struct axes axes = hp_sweep_axes_of(s);
    write_rows(&(struct table_writer){ .to = to, .csv = hp_axes_keys(&axes, &arena, keys) },
               &arena, s, NULL);
    hp_arena_free(&arena);
}

void hypar_report_sweep(FILE *to, const struct hypar_sweep *s, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        sweep_json(to, s);
    else if (format == HYPAR_CSV)
        sweep_csv(to, s);
    else if (format == HYPAR_SVG)
        hp_sweep_svg(to, s);
    else
        sweep_text(to, s);
}
