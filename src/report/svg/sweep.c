/* Draws a sweep: samples per second, bytes or energy, with a line for each planner and batch.
 * The x axis is the figure in which machines differ, else the batch; with neither, the chart
 * has bars. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/files/text.h"
#include "graph/graph.h"
#include "report/explore/axes.h"
#include "report/svg/svg.h"

/* The axes of the chart. */
struct along {
    struct axes axes;
    int x;                          /* axis of machines; -1: none */
    bool several;                   /* several batches */
    bool planners;                  /* several planners */
    bool over_batches;              /* no such axis, but several batches */
    bool in_all;                    /* the rate of all devices, not per device */
    enum hypar_objective objective; /* drawn: the sweep's objective, or energy if machines
                                     * differ in an energy */
};

static struct along along(const struct hypar_sweep *s)
{
    struct along a = { .axes = hp_sweep_axes_of(s),
                       .in_all = hp_sweep_in_all(s),
                       .objective = hypar_sweep_info(s).options->search.objective };
    const struct hypar_sweep_point *first = hypar_sweep_point(s, 0);
    for (int i = 1; i < hypar_sweep_info(s).n_points; i++) {
        a.several |= hypar_sweep_point(s, i)->batch != first->batch;
        a.planners |= strcmp(hypar_sweep_point(s, i)->asked, first->asked) != 0;
    }
    a.x = hp_axes_x(&a.axes);
    if (a.objective == HYPAR_TIME && hp_axes_of_energy(&a.axes))
        a.objective = HYPAR_ENERGY;
    a.over_batches = a.x < 0 && a.several;
    return a;
}

/* The name of a line, which distinguishes it from the others: "dp, batch 64, torus, latency
 * 2us". */
static const char *line_name(struct arena *arena, const struct along *a,
                             const struct hypar_sweep_point *p)
{
    struct axes_place place = hp_sweep_place(p);
    const char *name = a->planners ? p->asked : NULL;
    if (a->x < 0 && !a->over_batches)
        return p->asked;
    if (a->several && !a->over_batches)
        name = hp_arena_printf(arena, "%s%sbatch %s", name ? name : "", name ? ", " : "",
                               hp_thousands(arena, p->batch));
    name = hp_axes_line(&a->axes, a->x, &place, name, arena);
    return *name ? name : p->asked;
}

static double height_of(const struct along *a, const struct hypar_sweep_point *p)
{
    return a->objective != HYPAR_TIME ? hp_of_a_sample(p, a->objective)
           : a->in_all                ? p->samples_per_s
                                      : hp_for_a_device(p);
}

/* Collect lines along the axis; without an axis, a bar for each machine. Batches that fit
 * nowhere are left out. */
static void collect(struct arena *arena, const struct hypar_sweep *s, const struct along *a,
                    struct svg_plot *plot)
{
    int n = hypar_sweep_info(s).n_points, n_machines = hp_sweep_machine_count(s);
    const char **category = NEW(arena, const char *, n_machines);
    bool bars = a->x < 0 && !a->over_batches;
    plot->series = NEW(arena, struct svg_series, n);
    plot->category = category;
    plot->n_categories = bars ? n_machines : 0;
    for (int i = 0; i < n; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        int machine = i / (n / n_machines);
        double x = bars ? machine : a->over_batches ? (double)p->batch : p->value[a->x].number;
        category[machine] = a->axes.n ? p->shape : p->word;
        if (p->verdict != HYPAR_SWEPT_FITS || !isfinite(height_of(a, p)))
            continue;
        hp_svg_add(hp_svg_series(arena, plot, line_name(arena, a, p), n), x, height_of(a, p));
        if (p->best && a->objective == hypar_sweep_info(s).options->search.objective) {
            plot->mark_x = x;
            plot->mark_y = height_of(a, p);
        }
    }
}

/* "3.2k samples/s each"; "1.5 J a sample". */
static const char *height_text(struct arena *arena, const struct along *a,
                               const struct hypar_sweep_point *p)
{
    return a->objective == HYPAR_TIME
               ? hp_arena_printf(arena, "%s samples/s%s", hp_metric(arena, height_of(a, p)),
                                 a->in_all ? "" : " each")
               : hp_arena_printf(
                     arena, "%s a sample",
                     hp_figure_text(arena, height_of(a, p), hp_objective_unit(a->objective)));
}

/* The best point in words, since the chart has little room. */
static const char *best_text(struct arena *arena, const struct hypar_sweep *s,
                             const struct along *a)
{
    struct along by = *a; /* the sweep's objective may differ from the one drawn */
    by.objective = hypar_sweep_info(s).options->search.objective;
    for (int i = 0; i < hypar_sweep_info(s).n_points; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        struct axes_place place = hp_sweep_place(p);
        const char *where = hp_axes_text(&a->axes, &place, arena);
        if (p->best)
            return hp_arena_printf(arena, "best: batch %s on %s%s%s, %s (%s)",
                                   hp_thousands(arena, p->batch),
                                   hp_count(arena, p->devices, "device"), *where ? ", " : "",
                                   where, height_text(arena, &by, p), p->planner);
    }
    return "no plan fits";
}

void hp_sweep_svg(FILE *to, const struct hypar_sweep *s)
{
    struct arena arena = { 0 };
    struct along a = along(s);
    const char *heights[] = { a.in_all ? "samples/s" : "samples/s of each device",
                              "bytes sent for a sample", "joules of a sample" };
    struct svg_plot plot = {
        .title = hp_arena_printf(&arena, "%s: %s", hypar_sweep_info(s).graph->name,
                                 heights[a.objective]),
        .subtitle = hp_arena_printf(&arena, "%s; plans of %s on %s", best_text(&arena, s, &a),
                                    hp_sweep_planners(&arena, s), hp_sweep_machines(&arena, s)),
        .x_label = a.over_batches ? "batch, samples"
                   : a.x < 0      ? ""
                                  : a.axes.axis[a.x].name,
        .y_label = heights[a.objective],
        .y_unit = hp_objective_unit(a.objective),
        .shaded = a.several && !a.over_batches && !a.planners,
    };
    if (a.x >= 0)
        plot.x_unit = a.axes.axis[a.x].unit;
    collect(&arena, s, &a, &plot);
    if (!plot.n_categories)
        hp_svg_swept_x(&plot, a.over_batches || a.axes.axis[a.x].shapes ? 2 : 10);
    hp_svg_plot(to, &plot);
    hp_arena_free(&arena);
}
