/* A picture of a sweep: what one device does a second, over the number of devices, a line for
 * each batch; or over batches, where there is one number of devices. */
#include <hypar/report.h>

#include <string.h>

#include "base/arena.h"
#include "graph/graph.h"
#include "report/columns.h"
#include "report/svg/svg.h"
#include "report/sweep.h"

/* The points lie by kind of machine, then by size, then by batch. */
struct shape {
    int n_topologies, n_bandwidths, n_sizes, n_batches; /* lists that are not given count 1 */
};

static int list_length(const char *list)
{
    int n = 1;
    for (; list && *list; list++)
        n += *list == ',';
    return n;
}

static struct shape shape_of(const struct hypar_sweep *s)
{
    struct hypar_sweep_options how = hypar_sweep_options(s);
    struct shape shape = { .n_topologies = list_length(how.topologies),
                           .n_bandwidths = list_length(how.bandwidths) };
    int n = hypar_sweep_count(s);
    while (shape.n_batches < n &&
           hypar_sweep_point(s, shape.n_batches)->machine == hypar_sweep_point(s, 0)->machine)
        shape.n_batches++;
    shape.n_sizes = n / shape.n_batches / shape.n_topologies / shape.n_bandwidths;
    return shape;
}

/* Item `i` of "a,b,c". */
static const char *item_text(struct arena *arena, const char *list, int i)
{
    for (; i > 0; i--)
        list = strchr(list, ',') + 1;
    return hp_arena_strndup(arena, list, strcspn(list, ","));
}

/* "batch 64, torus, 25GB/s": all that tells a line from the others. */
static const char *line_name(struct arena *arena, const struct hypar_sweep *s,
                             const struct shape *shape, int kind, int batch)
{
    struct hypar_sweep_options how = hypar_sweep_options(s);
    char count[32];
    const char *name =
        batch < 0 ? "all batches"
                  : hp_arena_printf(arena, "batch %s",
                                    hp_thousands(count, hypar_sweep_point(s, batch)->batch));
    if (shape->n_topologies > 1)
        name = hp_arena_printf(arena, "%s, %s", name,
                               item_text(arena, how.topologies, kind / shape->n_bandwidths));
    if (shape->n_bandwidths > 1)
        name = hp_arena_printf(arena, "%s, %s", name,
                               item_text(arena, how.bandwidths, kind % shape->n_bandwidths));
    return name;
}

static void add_point(struct svg_plot *plot, struct svg_series *line,
                      const struct hypar_sweep_point *p, bool over_devices)
{
    if (p->verdict != HYPAR_SWEPT_FITS)
        return;
    line->x[line->n] = over_devices ? (double)p->devices : (double)p->batch;
    line->y[line->n] = hp_for_a_device(p);
    if (p->best) {
        plot->mark_x = line->x[line->n];
        plot->mark_y = line->y[line->n];
    }
    line->n++;
}

/* Lines without a point, of batches that fit nowhere, are left out. */
static void collect(struct arena *arena, const struct hypar_sweep *s, const struct shape *shape,
                    struct svg_plot *plot)
{
    bool over_devices = shape->n_sizes > 1;
    int n_kinds = shape->n_topologies * shape->n_bandwidths;
    int n_lines = over_devices ? shape->n_batches : 1;
    int n_each = over_devices ? shape->n_sizes : shape->n_batches;
    plot->series = NEW(arena, struct svg_series, n_kinds * n_lines);
    for (int kind = 0; kind < n_kinds; kind++)
        for (int l = 0; l < n_lines; l++) {
            struct svg_series *line = &plot->series[plot->n_series];
            *line =
                (struct svg_series){ line_name(arena, s, shape, kind, over_devices ? l : -1), 0,
                                     NEW(arena, double, n_each), NEW(arena, double, n_each) };
            for (int i = 0; i < n_each; i++) {
                int size = over_devices ? i : 0, batch = over_devices ? l : i;
                int at = (kind * shape->n_sizes + size) * shape->n_batches + batch;
                add_point(plot, line, hypar_sweep_point(s, at), over_devices);
            }
            plot->n_series += line->n > 0;
        }
}

/* The best point in words, as the picture has little room. */
static const char *best_text(struct arena *arena, const struct hypar_sweep *s)
{
    char batch[32], devices[64], rate[32];
    for (int i = 0; i < hypar_sweep_count(s); i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        if (p->best)
            return hp_arena_printf(arena, "best: batch %s on %s, %s each (%s)",
                                   hp_thousands(batch, p->batch),
                                   hp_count(devices, p->devices, "device", "devices"),
                                   hp_metric(rate, hp_for_a_device(p)), p->planner);
    }
    return "no plan fits";
}

void hypar_report_sweep_svg(FILE *to, const struct hypar_sweep *s)
{
    struct arena arena = { 0 };
    struct shape shape = shape_of(s);
    struct svg_plot plot = {
        .title =
            hp_arena_printf(&arena, "%s: samples/s of each device", hypar_sweep_graph(s)->name),
        .subtitle =
            hp_arena_printf(&arena, "plans of %s on %s; %s", hp_sweep_planners(&arena, s),
                            hp_sweep_machines(&arena, s), best_text(&arena, s)),
        .x_label = shape.n_sizes > 1 ? "devices" : "batch, samples",
        .y_label = "samples/s of each device",
        .log_x = 2,
        .shaded = true,
    };
    collect(&arena, s, &shape, &plot);
    hp_svg_plot(to, &plot);
    hp_arena_free(&arena);
}
