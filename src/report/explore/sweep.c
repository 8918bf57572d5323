/* A sweep over batches and machines as text, as JSON and as CSV. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "graph/graph.h"
#include "report/columns.h"
#include "report/csv.h"
#include "report/simulate/energy.h"
#include "report/put.h"
#include "report/explore/sweep.h"

double hp_for_a_device(const struct hypar_sweep_point *p)
{
    return p->samples_per_s / p->devices;
}

bool hp_sweep_in_all(const struct hypar_sweep *s)
{
    return hypar_sweep_options(s).n_others > 0;
}

double hp_of_a_sample(const struct hypar_sweep_point *p, enum hypar_objective objective)
{
    return (objective == HYPAR_ENERGY ? p->energy_j : p->comm_bytes) / (double)p->batch;
}

int hp_sweep_machine_count(const struct hypar_sweep *s)
{
    int n = 1;
    for (int i = 1; i < hypar_sweep_count(s); i++)
        n += hypar_sweep_point(s, i)->machine != hypar_sweep_point(s, i - 1)->machine;
    return n;
}

struct axes hp_sweep_axes_of(const struct hypar_sweep *s)
{
    struct axes axes = { 0 };
    axes.axis = hypar_sweep_axes(s, &axes.n);
    for (int i = 0; i < axes.n; i++)
        axes.shape |= axes.axis[i].words;
    for (int i = 0; i < hypar_sweep_count(s); i++)
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
    return hp_machines_text(arena,
                            n > 1 ? hypar_sweep_machine(s) : hypar_sweep_point(s, 0)->word, n);
}

const char *hp_sweep_planners(struct arena *arena, const struct hypar_sweep *s)
{
    const char *list = hypar_sweep_options(s).planners, *text = "", *between = "";
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

/* Names the planners whose search does not look at the objective; NULL: there are none. */
static const char *objective_note(struct arena *arena, const struct hypar_sweep *s)
{
    static const char *const what[] = { "time", "what is sent", "energy" };
    struct hypar_search_options how = { .objective = hypar_sweep_options(s).search.objective,
                                        .objective_given = true };
    const char *list = hypar_sweep_options(s).planners, *text = "";
    if (how.objective == HYPAR_TIME)
        return NULL;
    while (list) {
        const char *name = hp_arena_strndup(arena, list, strcspn(list, ","));
        if (hypar_check_options(&how, &name, 1, NULL) != HYPAR_OK)
            text = hp_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", name);
        list += strlen(name);
        list = *list ? list + 1 : NULL;
    }
    return *text ? hp_arena_printf(arena,
                                   "Plans are compared by %s, which the search of %s does not "
                                   "look at.",
                                   what[how.objective], text)
                 : NULL;
}

/* What a point's energy is made of; NULL: not known. */
static const struct hypar_energy *energy_parts(const struct hypar_sweep_point *p)
{
    return p->planner && p->counted && isfinite(p->energy_j) ? &p->energy : NULL;
}

/* Text -------------------------------------------------------------------------------- */

/* The planner of a row: "dp"; "auto: hybrid" where several were asked and one of them took the
 * plan of another. */
static const char *planner_text(struct arena *arena, const struct hypar_sweep *s,
                                const struct hypar_sweep_point *p)
{
    const char *asked = hypar_sweep_options(s).planners;
    bool several = asked && strchr(asked, ',');
    if (!p->planner || strcmp(p->planner, p->asked) == 0)
        return p->asked;
    return several ? hp_arena_printf(arena, "%s: %s", p->asked, p->planner) : p->planner;
}

/* "3d 8x4x2/16": of 16 micro-batches; "optcnn, by layer". */
static const char *layout_text(struct arena *arena, const struct hypar_sweep *s,
                               const struct hypar_sweep_point *p)
{
    char count[64];
    const char *planner = planner_text(arena, s, p);
    const char *text = hp_arena_printf(arena, "%s, by layer", planner);
    if (p->data)
        text = hp_arena_printf(arena, "%s %dx%dx%d", planner, p->data, p->tensor, p->pipeline);
    else if (p->pipeline > 1)
        text = hp_arena_printf(arena, "%s, %s, by layer", planner,
                               hp_count(count, p->pipeline, "stage", "stages"));
    if (p->micro_batches > 1)
        text = hp_arena_printf(arena, "%s/%s", text, hp_thousands(count, p->micro_batches));
    return text;
}

/* ", recompute 12, shard optimizer": how memory is saved; "": it is not. */
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

/* What stands in the place of a plan. */
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

/* What the table shows. */
struct shape {
    struct axes axes;
    bool devices, batch, planner; /* several */
    bool in_all;                  /* rows are compared by the rate of all devices */
    const char *one_plan;         /* of all rows, which is told below them; NULL: they differ */
    const char *one_saving;       /* of all plans, else; NULL: they differ */
    enum hypar_objective objective;
};

static const char *one_plan(struct arena *arena, const struct hypar_sweep *s)
{
    const char *plan = NULL;
    for (int i = 0; i < hypar_sweep_count(s); i++) {
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
    for (int i = 0; i < hypar_sweep_count(s); i++) {
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
                           .one_plan = one_plan(arena, s),
                           .one_saving = one_saving(arena, s),
                           .in_all = hp_sweep_in_all(s),
                           .objective = hypar_sweep_options(s).search.objective };
    const struct hypar_sweep_point *first = hypar_sweep_point(s, 0);
    for (int i = 1; i < hypar_sweep_count(s); i++) {
        shape.devices |= hypar_sweep_point(s, i)->devices != first->devices;
        shape.batch |= hypar_sweep_point(s, i)->batch != first->batch;
        shape.planner |= strcmp(hypar_sweep_point(s, i)->asked, first->asked) != 0;
    }
    if (!shape.devices && !shape.batch &&
        !shape.axes.n) /* one point, which has its place too */
        shape.devices = shape.batch = true;
    return shape;
}

static const char *heading(struct columns *table, struct arena *arena,
                           const struct shape *shape)
{
    static const char *const names[] = { "MFU", "sent", "energy", "memory", "plan" };
    hp_axes_heading(&shape->axes, table, arena);
    if (shape->devices)
        hp_cell(table, arena, "devices");
    if (shape->batch)
        hp_cell(table, arena, "batch");
    hp_cell(table, arena, "step");
    hp_cell(table, arena, "rate");
    if (shape->devices)
        hp_cell(table, arena, "each");
    for (int i = 0; i < 5 - (shape->one_plan != NULL); i++)
        hp_cell(table, arena, "%s", names[i]);
    return hp_arena_printf(arena, "%s%s%srr%srrrr%s", hp_axes_align(&shape->axes, arena),
                           shape->devices ? "r" : "", shape->batch ? "r" : "",
                           shape->devices ? "r" : "", shape->one_plan ? "" : "w");
}

/* The best, where the column is the one that the objective looks at. */
static void mark(struct columns *table, struct arena *arena, const struct shape *shape,
                 const struct hypar_sweep_point *p, enum hypar_objective objective)
{
    if (p->best && shape->objective == objective)
        hp_cell_mark(table, arena);
}

/* What a step sends, or the energy that it takes. */
static void total_cell(struct columns *table, struct arena *arena,
                       const struct hypar_sweep_point *p, double value, enum hypar_unit unit)
{
    char text[32];
    if (isfinite(value))
        hp_cell(table, arena, "%s%s", p->counted ? "" : "~",
                hypar_format_quantity(text, value, unit));
    else
        hp_cell(table, arena, "-");
}

static void figures(struct columns *table, struct arena *arena, const struct shape *shape,
                    const struct hypar_sweep_point *p)
{
    char text[32];
    const char *about = p->simulated ? "" : "~";
    hp_cell(table, arena, "%s%s", about,
            hypar_format_quantity(text, p->step_s, HYPAR_UNIT_SECONDS));
    hp_cell(table, arena, "%s", hp_metric(text, p->samples_per_s));
    if (shape->in_all)
        mark(table, arena, shape, p, HYPAR_TIME);
    if (shape->devices)
        hp_cell(table, arena, "%s", hp_metric(text, hp_for_a_device(p)));
    if (!shape->in_all)
        mark(table, arena, shape, p, HYPAR_TIME);
    hp_cell(table, arena, "%.1f %%", 100 * p->mfu);
    total_cell(table, arena, p, p->comm_bytes, HYPAR_UNIT_BYTES);
    mark(table, arena, shape, p, HYPAR_COMM);
    total_cell(table, arena, p, p->energy_j, HYPAR_UNIT_JOULES);
    mark(table, arena, shape, p, HYPAR_ENERGY);
}

static void row(struct columns *table, struct arena *arena, const struct hypar_sweep *s,
                const struct shape *shape, const struct hypar_sweep_point *p)
{
    char text[32];
    bool fits = p->verdict == HYPAR_SWEPT_FITS;
    struct axes_place place = hp_sweep_place(p);
    hp_axes_cells(&shape->axes, &place, table, arena);
    if (shape->devices)
        hp_cell(table, arena, "%s", hp_thousands(text, p->devices));
    if (shape->batch)
        hp_cell(table, arena, "%s", hp_thousands(text, p->batch));
    if (fits)
        figures(table, arena, shape, p);
    for (int i = 0; i < 5 + shape->devices && !fits; i++)
        hp_cell(table, arena, "-");
    hp_cell(table, arena, "%s",
            p->memory_bytes > 0 ? hypar_format_quantity(text, p->memory_bytes, HYPAR_UNIT_BYTES)
                                : "-");
    if (shape->one_plan)
        return;
    const char *plan = shape->one_saving ? layout_text(arena, s, p) : plan_text(arena, s, p);
    hp_cell(table, arena, "%s", fits ? plan : lack_text(arena, p, plan));
}

/* "batch 1,024 on 8 devices, by dp" */
static const char *place_text(struct arena *arena, const struct hypar_sweep_point *p,
                              const struct shape *shape)
{
    char batch[32], devices[64];
    struct axes_place place = hp_sweep_place(p);
    const char *figures = hp_axes_text(&shape->axes, &place, arena);
    const char *on =
        shape->axes.shape ? "" : hp_count(devices, p->devices, "device", "devices");
    return hp_arena_printf(arena, "batch %s on %s%s%s%s%s", hp_thousands(batch, p->batch), on,
                           *on && *figures ? ", " : "", figures, shape->planner ? ", by " : "",
                           shape->planner ? p->asked : "");
}

/* What stands out by the objective. */
static const char *best_text(struct arena *arena, const struct shape *shape,
                             const struct hypar_sweep_point *best,
                             const struct hypar_sweep_point *most)
{
    char a[32], b[32];
    bool energy = shape->objective == HYPAR_ENERGY;
    if (shape->objective != HYPAR_TIME)
        return hp_arena_printf(
            arena, "Least %s a sample (*): %s of %s.", energy ? "energy" : "sent",
            hypar_format_quantity(a, hp_of_a_sample(best, shape->objective),
                                  energy ? HYPAR_UNIT_JOULES : HYPAR_UNIT_BYTES),
            place_text(arena, best, shape));
    if (!shape->devices || shape->in_all)
        return hp_arena_printf(arena, "Most samples/s (*): %s of %s.",
                               hp_metric(a, most->samples_per_s),
                               place_text(arena, best, shape));
    return hp_arena_printf(arena,
                           "Most samples/s for a device (*): %s of %s; in all: %s of %s.",
                           hp_metric(a, hp_for_a_device(best)), place_text(arena, best, shape),
                           hp_metric(b, most->samples_per_s), place_text(arena, most, shape));
}

static bool same_point(const struct hypar_sweep_point *a, const struct hypar_sweep_point *b)
{
    return a->verdict == b->verdict && a->step_s == b->step_s &&
           a->comm_bytes == b->comm_bytes && a->energy_j == b->energy_j &&
           a->memory_bytes == b->memory_bytes && a->limit_bytes == b->limit_bytes;
}

/* Points of machines i and j, batch by batch. */
static bool same_points(const void *who, int i, int j)
{
    const struct hypar_sweep *s = who;
    const struct hypar_machine *first = hypar_sweep_point(s, 0)->machine;
    int n = 0;
    while (n < hypar_sweep_count(s) && hypar_sweep_point(s, n)->machine == first)
        n++;
    for (int b = 0; b < n; b++)
        if (!same_point(hypar_sweep_point(s, i * n + b), hypar_sweep_point(s, j * n + b)))
            return false;
    return true;
}

static const char *room_text(struct arena *arena, double least, double most)
{
    char a[32], b[32];
    return hp_arena_printf(
        arena, "Memory: of the fullest device, which has %s%s%s. ",
        hypar_format_quantity(a, least, HYPAR_UNIT_BYTES), least < most ? " to " : "",
        least < most ? hypar_format_quantity(b, most, HYPAR_UNIT_BYTES) : "");
}

/* What stands out, and what the marks mean. */
static void explain(FILE *to, struct arena *arena, const struct hypar_sweep *s,
                    const struct shape *shape)
{
    const struct hypar_sweep_point *best = NULL, *most = NULL;
    bool part = false, closed = false, large = false, micro = false, again = false;
    bool by_layer = false;
    double least = INFINITY, room = 0; /* of all points */
    for (int i = 0; i < hypar_sweep_count(s); i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        bool fits = p->verdict == HYPAR_SWEPT_FITS;
        part |= fits && !p->simulated;
        closed |= fits && !p->counted;
        micro |= p->micro_batches > 1;
        by_layer |= p->planner && !p->data;
        again |= p->recomputed > 0;
        large |= p->verdict == HYPAR_SWEPT_TOO_LARGE;
        if (p->limit_bytes > 0) {
            least = fmin(least, p->limit_bytes);
            room = fmax(room, p->limit_bytes);
        }
        best = p->best ? p : best;
        if (fits && (!most || p->samples_per_s > most->samples_per_s))
            most = p;
    }
    fputc('\n', to);
    if (best)
        hp_wrap(to, best_text(arena, shape, best, most), 0);
    else if (most)
        hp_wrap(to,
                "The best is not known: all plans are too large to be simulated, even in part "
                "(--objective time).",
                0);
    else
        fputs("None fits.\n", to);
    if (shape->one_plan)
        hp_put_line(to, "All plans: %s.", shape->one_plan);
    else if (shape->one_saving && *shape->one_saving)
        hp_put_line(to, "All plans: %s.", shape->one_saving + strlen(", "));
    hp_put_line(to, "Rate: samples/s%s. %sPlans: data x tensor x pipeline%s%s%s.%s%s%s",
                shape->devices ? " of all devices; each: of one" : "",
                room > 0 ? room_text(arena, least, room) : "", micro ? " / micro-batches" : "",
                by_layer ? ", by layer: layers with weights are not divided alike" : "",
                again ? ", recompute: so many operators" : "",
                part ? " ~: as simulating takes long, the step of a part of the devices, "
                       "extrapolated"
                     : "",
                closed
                    ? ", or in closed form; sent and energy with it, in closed form (-: there "
                      "is none)."
                : part ? "; sent and energy are of all devices."
                       : "",
                large ? " In brackets the plan that needs least." : "");
    const char *objective = objective_note(arena, s);
    if (objective)
        hp_wrap(to, objective, 0);
    const char *topologies =
        hp_axes_topology_note(&shape->axes, hypar_sweep_options(s).search.simulation);
    if (topologies)
        hp_wrap(to, topologies, 0);
    const char *names = hp_axes_without_effect(&shape->axes, same_points, s, arena);
    if (*names)
        hp_wrap(to, hp_arena_printf(arena, "No effect on any row: %s.", names), 0);
}

static bool was_not_tried(const struct hypar_sweep_point *p)
{
    return p->verdict == HYPAR_SWEPT_NOT_TRIED;
}

static bool was_interrupted(const struct hypar_sweep_point *p)
{
    return p->interrupted;
}

/* "what: a; b; and 3 more." of the points of a kind, if there are any. */
static void tell_points(FILE *to, struct arena *arena, const struct hypar_sweep *s,
                        const struct shape *shape, const char *what,
                        bool (*is_so)(const struct hypar_sweep_point *))
{
    enum { NAMED = 4 };
    const char *text = "";
    int n = 0;
    for (int i = 0; i < hypar_sweep_count(s); i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        if (is_so(p) && n++ < NAMED)
            text = hp_arena_printf(arena, "%s%s%s", text, n > 1 ? "; " : "",
                                   place_text(arena, p, shape));
    }
    if (n > NAMED)
        text = hp_arena_printf(arena, "%s; and %d more", text, n - NAMED);
    if (n)
        hp_wrap(to, hp_arena_printf(arena, "%s: %s.", what, text), 0);
}

/* Those that the search was stopped at, and those that there was no time for, which have no
 * rows. Points are searched side by side, so that some of those between the first and the last
 * may be done. */
static void tell_unfinished(FILE *to, struct arena *arena, const struct hypar_sweep *s,
                            const struct shape *shape)
{
    tell_points(to, arena, s, shape, "Stopped at the best plan so far", was_interrupted);
    tell_points(to, arena, s, shape, "Not done in time", was_not_tried);
}

/* "vgg16, batch 256, bf16, on 3 machines like full:8: plans of dp and 3d". */
static void title(FILE *to, struct arena *arena, const struct hypar_sweep *s,
                  const struct shape *shape)
{
    struct hypar_search_options how = hypar_sweep_options(s).search;
    char batch[32];
    hp_put_line(to, "%s%s%s%s, on %s: plans of %s", hypar_sweep_graph(s)->name,
                shape->batch ? "" : ", batch ",
                shape->batch ? "" : hp_thousands(batch, hypar_sweep_point(s, 0)->batch),
                hp_settings_text(arena, how.precision,
                                 how.fp32_gradients ? HYPAR_FP32 : how.precision,
                                 how.optimizer),
                hp_sweep_machines(arena, s), hp_sweep_planners(arena, s));
    fputc('\n', to);
}

static void sweep_text(FILE *to, const struct hypar_sweep *s)
{
    struct arena arena = { 0 };
    struct shape shape = shape_of(&arena, s);
    struct columns table = { 0 };
    title(to, &arena, s, &shape);
    table.align = heading(&table, &arena, &shape);
    for (int i = 0; i < hypar_sweep_count(s); i++)
        if (hypar_sweep_point(s, i)->verdict != HYPAR_SWEPT_NOT_TRIED)
            row(&table, &arena, s, &shape, hypar_sweep_point(s, i));
    hp_columns_print(&table, to);
    explain(to, &arena, s, &shape);
    tell_unfinished(to, &arena, s, &shape);
    hp_arena_free(&arena);
}

/* JSON -------------------------------------------------------------------------------- */

static const char *const verdicts[] = {
    [HYPAR_SWEPT_FITS] = "fits",
    [HYPAR_SWEPT_TOO_LARGE] = "too large",
    [HYPAR_SWEPT_NO_PLAN] = "no plan",
    [HYPAR_SWEPT_NOT_TRIED] = "not tried",
};

static void put_point(struct json_writer *w, const struct axes *axes,
                      const struct hypar_sweep_point *p)
{
    struct axes_place place = hp_sweep_place(p);
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "machine", p->word);
    hp_axes_put(axes, &place, w);
    hp_json_put_int(w, "devices", p->devices);
    hp_json_put_int(w, "batch", p->batch);
    hp_json_put_string(w, "verdict", verdicts[p->verdict]);
    hp_json_put_string(w, "planner", p->asked);
    if (*p->why.text)
        hp_json_put_string(w, "why", p->why.text);
    if (p->planner) {
        hp_json_put_string(w, "plan_of", p->planner);
        hp_json_put_known(w, "data", p->data > 0, p->data);
        hp_json_put_known(w, "tensor", p->tensor > 0, p->tensor);
        hp_json_put_int(w, "pipeline", p->pipeline);
        hp_json_put_int(w, "micro_batches", p->micro_batches);
        hp_json_put_int(w, "recomputed", p->recomputed);
        hp_json_put_string(w, "sharded", hypar_shard_text(p->shard));
        hp_json_put_bool(w, "simulated", p->simulated);
        hp_json_put_number(w, "step_s", p->step_s);
        hp_json_put_number(w, "samples_per_s", p->samples_per_s);
        hp_json_put_number(w, "samples_per_s_per_device", hp_for_a_device(p));
        hp_json_put_number(w, "mfu", p->mfu);
        hp_json_put_known(w, "comm_bytes", isfinite(p->comm_bytes), p->comm_bytes);
        hp_json_put_known(w, "energy_j", isfinite(p->energy_j), p->energy_j);
        hp_put_energy(w, energy_parts(p));
        hp_json_put_known(w, "memory_bytes", p->memory_bytes > 0, p->memory_bytes);
        hp_json_put_known(w, "limit_bytes", p->limit_bytes > 0, p->limit_bytes);
        hp_json_put_bool(w, "best", p->best);
    }
    if (p->interrupted)
        hp_json_put_bool(w, "interrupted", true);
    hp_json_end_object(w);
}

static void sweep_json(FILE *to, const struct hypar_sweep *s)
{
    struct json_writer w = { .file = to };
    struct hypar_sweep_options how = hypar_sweep_options(s);
    struct axes axes = hp_sweep_axes_of(s);
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "model", hypar_sweep_graph(s)->name);
    hp_json_put_string(&w, "planners", how.planners ? how.planners : "auto");
    if (hypar_sweep_done(s) < hypar_sweep_count(s))
        hp_json_put_bool(&w, "interrupted", true);
    hp_json_begin_array(&w, "points", false);
    for (int i = 0; i < hypar_sweep_count(s); i++)
        put_point(&w, &axes, hypar_sweep_point(s, i));
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}

void hypar_report_sweep(FILE *to, const struct hypar_sweep *s, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        sweep_json(to, s);
    else
        sweep_text(to, s);
}

/* CSV --------------------------------------------------------------------------------- */

void hypar_report_sweep_csv(FILE *to, const struct hypar_sweep *s)
{
    struct csv_writer csv = { .file = to };
    struct axes axes = hp_sweep_axes_of(s);
    hp_csv_words(&csv, "machine devices batch verdict planner data tensor pipeline "
                       "micro_batches simulated step_s samples_per_s samples_per_s_per_device "
                       "mfu memory_bytes limit_bytes best why comm_bytes energy_j");
    hp_csv_energy_heading(&csv);
    hp_csv_words(&csv, "recomputed sharded interrupted plan_of");
    hp_axes_csv_heading(&axes, &csv);
    hp_csv_end(&csv);
    for (int i = 0; i < hypar_sweep_count(s); i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        struct axes_place place = hp_sweep_place(p);
        bool known = p->planner != NULL;
        hp_csv_text(&csv, p->word);
        hp_csv_number(&csv, p->devices);
        hp_csv_number(&csv, (double)p->batch);
        hp_csv_plain(&csv, verdicts[p->verdict]);
        hp_csv_plain(&csv, p->asked);
        hp_csv_known(&csv, p->data > 0, p->data);
        hp_csv_known(&csv, p->tensor > 0, p->tensor);
        hp_csv_known(&csv, known, p->pipeline);
        hp_csv_known(&csv, known, (double)p->micro_batches);
        hp_csv_known(&csv, known, p->simulated);
        hp_csv_known(&csv, known, p->step_s);
        hp_csv_known(&csv, known, p->samples_per_s);
        hp_csv_known(&csv, known, hp_for_a_device(p));
        hp_csv_known(&csv, known, p->mfu);
        hp_csv_known(&csv, p->memory_bytes > 0, p->memory_bytes);
        hp_csv_known(&csv, p->limit_bytes > 0, p->limit_bytes);
        hp_csv_number(&csv, p->best);
        hp_csv_text(&csv, p->why.text);
        hp_csv_known(&csv, known && isfinite(p->comm_bytes), p->comm_bytes);
        hp_csv_known(&csv, known && isfinite(p->energy_j), p->energy_j);
        hp_csv_energy(&csv, energy_parts(p));
        hp_csv_known(&csv, known, p->recomputed);
        hp_csv_plain(&csv, known ? hypar_shard_text(p->shard) : "");
        hp_csv_known(&csv, known, p->interrupted);
        hp_csv_plain(&csv, known ? p->planner : "");
        hp_axes_csv(&axes, &place, &csv);
        hp_csv_end(&csv);
    }
}
