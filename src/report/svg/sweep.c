/* A picture of a sweep: what one device does a second, over what machines differ in, a line for
 * each batch; or over batches, where machines differ in nothing that is a number. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "graph/graph.h"
#include "report/columns.h"
#include "report/svg/svg.h"
#include "report/sweep.h"

/* What the points lie along. */
struct along {
    struct axes axes;
    int x;                          /* axis of machines; -1: none */
    bool several;                   /* batches */
    bool over_batches;              /* there is no such axis, and there are several */
    enum hypar_objective objective; /* what is drawn: the sweep's, or what an energy changes */
};

static struct along along(const struct hypar_sweep *s)
{
    struct along a = { .axes = hp_sweep_axes_of(s),
                       .objective = hypar_sweep_options(s).search.objective };
    for (int i = 1; i < hypar_sweep_count(s); i++)
        a.several |= hypar_sweep_point(s, i)->batch != hypar_sweep_point(s, 0)->batch;
    a.x = hp_axes_x(&a.axes);
    if (a.objective == HYPAR_TIME && hp_axes_of_energy(&a.axes))
        a.objective = HYPAR_ENERGY;
    a.over_batches = a.x < 0 && a.several;
    return a;
}

/* "batch 64, torus, latency 2us": all that tells a line from the others. */
static const char *line_name(struct arena *arena, const struct along *a,
                             const struct hypar_sweep_point *p)
{
    char count[32];
    struct axes_place place = hp_sweep_place(p);
    const char *batch = a->several && !a->over_batches
                            ? hp_arena_printf(arena, "batch %s", hp_thousands(count, p->batch))
                            : NULL;
    if (a->x < 0 && !a->over_batches)
        return p->planner;
    const char *name = hp_axes_line(&a->axes, a->x, &place, batch, arena);
    return *name ? name : a->several ? "all batches" : "best plan";
}

static double height_of(const struct along *a, const struct hypar_sweep_point *p)
{
    double batch = (double)p->batch;
    return a->objective == HYPAR_ENERGY ? p->energy_j / batch
           : a->objective == HYPAR_COMM ? p->comm_bytes / batch
                                        : hp_for_a_device(p);
}

/* Lines along what varies; without that, a bar for each machine. Those of batches that fit
 * nowhere are left out. */
static void collect(struct arena *arena, const struct hypar_sweep *s, const struct along *a,
                    struct svg_plot *plot)
{
    int n = hypar_sweep_count(s);
    const char **category = NEW(arena, const char *, n);
    bool bars = a->x < 0 && !a->over_batches;
    plot->series = NEW(arena, struct svg_series, n);
    plot->category = category;
    plot->n_categories = bars ? n : 0;
    for (int i = 0; i < n; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        double x = bars ? i : a->over_batches ? (double)p->batch : p->value[a->x].number;
        category[i] = a->axes.n ? p->shape : p->word;
        if (p->verdict != HYPAR_SWEPT_FITS || !isfinite(height_of(a, p)))
            continue;
        hp_svg_add(hp_svg_series(arena, plot, line_name(arena, a, p), n), x, height_of(a, p));
        if (p->best) {
            plot->mark_x = x;
            plot->mark_y = height_of(a, p);
        }
    }
}

/* The best point in words, as the picture has little room. */
static const char *best_text(struct arena *arena, const struct hypar_sweep *s)
{
    char batch[32], devices[64], rate[32];
    struct axes axes = hp_sweep_axes_of(s);
    for (int i = 0; i < hypar_sweep_count(s); i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        struct axes_place place = hp_sweep_place(p);
        const char *where = hp_axes_text(&axes, &place, arena);
        if (p->best)
            return hp_arena_printf(arena, "best: batch %s on %s%s%s, %s samples/s each (%s)",
                                   hp_thousands(batch, p->batch),
                                   hp_count(devices, p->devices, "device", "devices"),
                                   *where ? ", " : "", where,
                                   hp_metric(rate, hp_for_a_device(p)), p->planner);
    }
    return "no plan fits";
}

void hypar_report_sweep_svg(FILE *to, const struct hypar_sweep *s)
{
    static const char *const heights[] = { "samples/s of each device", "bytes sent a sample",
                                           "joules a sample" };
    struct arena arena = { 0 };
    struct along a = along(s);
    struct svg_plot plot = {
        .title =
            hp_arena_printf(&arena, "%s: %s", hypar_sweep_graph(s)->name, heights[a.objective]),
        .subtitle = hp_arena_printf(&arena, "%s; plans of %s on %s", best_text(&arena, s),
                                    hp_sweep_planners(&arena, s), hp_sweep_machines(&arena, s)),
        .x_label = a.over_batches ? "batch, samples"
                   : a.x < 0      ? ""
                                  : a.axes.axis[a.x].name,
        .y_label = heights[a.objective],
        .shaded = a.several && !a.over_batches,
    };
    if (a.x >= 0)
        plot.x_unit = a.axes.axis[a.x].unit;
    collect(&arena, s, &a, &plot);
    if (!plot.n_categories)
        hp_svg_swept_x(&plot, a.over_batches || a.axes.axis[a.x].shapes ? 2 : 10);
    hp_svg_plot(to, &plot);
    hp_arena_free(&arena);
}
