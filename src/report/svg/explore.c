/* A picture of an exploration: a map of two groups of choices, a curve of all choices from the
 * best on, or lines over machines. */
#include <hypar/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "graph/graph.h"
#include "report/svg/svg.h"

enum { MOST_VALUES = 64, MOST_CURVE = 800 };

static const char *title_of(struct arena *arena, const struct hypar_exploration *e)
{
    const struct hypar_graph *graph = hypar_exploration_graph(e);
    return hp_arena_printf(arena, "%s, batch %lld", graph->name, (long long)graph->batch);
}

/* What is drawn: for time how many times faster than data parallel, else a part of the best. */
static double height_of(const struct hypar_exploration *e,
                        const struct hypar_explore_site *site,
                        const struct hypar_explored *cost)
{
    return hypar_exploration_merit(e, &site->dp) / hypar_exploration_merit(e, cost);
}

static const char *height_text(const struct hypar_exploration *e)
{
    static const char *const texts[] = { "performance over data parallel",
                                         "exchange of data parallel over exchange",
                                         "energy of data parallel over energy" };
    return texts[hypar_exploration_options(e).objective];
}

/* A map ------------------------------------------------------------------------------- */

struct map {
    FILE *to;
    const struct hypar_exploration *e;
    struct hypar_explore_site site;
    struct hypar_explore_group across, down;
    double left, top, cell, low, high;
    char *text[2]; /* room for the digits of a value */
};

static double map_x(const struct map *m, int64_t point)
{
    return m->left + m->cell * (double)(point / m->down.n_values);
}

static double map_y(const struct map *m, int64_t point)
{
    return m->top + m->cell * (double)(point % m->down.n_values);
}

static void map_cells(const struct map *m)
{
    char colour[8];
    for (int64_t i = 0; i < m->site.n_points; i++) {
        double v = height_of(m->e, &m->site, hypar_exploration_point(m->e, 0, i));
        double part = m->high > m->low ? (v - m->low) / (m->high - m->low) : 1;
        hp_svg_begin_rect(m->to, map_x(m, i), map_y(m, i), m->cell - 0.6, m->cell - 0.6);
        fprintf(m->to, " fill=\"%s\"><title>", hp_svg_ramp(colour, part));
        hypar_exploration_value(m->e, 0, 0, i / m->down.n_values, m->text[0]);
        hypar_exploration_value(m->e, 0, 1, i % m->down.n_values, m->text[1]);
        hp_svg_escape(m->to, m->across.name);
        fprintf(m->to, " %s, ", m->text[0]);
        hp_svg_escape(m->to, m->down.name);
        fprintf(m->to, " %s: %.3f</title></rect>\n", m->text[1], v);
    }
}

static void map_axes(const struct map *m)
{
    char *text = m->text[0];
    double bottom = m->top + m->cell * (double)m->down.n_values;
    int size = m->cell >= 15 ? 11 : m->cell >= 11 ? 9 : 7;
    for (int64_t i = 0; i < m->across.n_values; i++)
        hp_svg_turned_text(m->to, m->left + m->cell * ((double)i + 0.65), bottom + 10, -60,
                           SVG_END, size, hypar_exploration_value(m->e, 0, 0, i, text));
    for (int64_t i = 0; i < m->down.n_values; i++)
        hp_svg_text(m->to, m->left - 6, m->top + m->cell * ((double)i + 0.5) + size / 3.0,
                    SVG_END, size, hypar_exploration_value(m->e, 0, 1, i, text));
    hp_svg_text(m->to, m->left + m->cell * (double)m->across.n_values / 2, bottom + 62,
                SVG_MIDDLE, 13, m->across.name);
    hp_svg_turned_text(m->to, 20, m->top + m->cell * (double)m->down.n_values / 2, -90,
                       SVG_MIDDLE, 13, m->down.name);
}

static void map_scale(const struct map *m, double x)
{
    enum { STEPS = 40, HEIGHT = 160 };
    char colour[8], text[32];
    for (int i = 0; i < STEPS; i++) {
        hp_svg_begin_rect(m->to, x, m->top + HEIGHT * (1 - (i + 1.0) / STEPS), 14,
                          HEIGHT * 1.0 / STEPS + 0.5);
        fprintf(m->to, " fill=\"%s\"/>\n", hp_svg_ramp(colour, (i + 0.5) / STEPS));
    }
    for (int i = 0; i <= 4; i++) {
        snprintf(text, sizeof text, "%.3g", m->low + (m->high - m->low) * i / 4);
        hp_svg_text(m->to, x + 20, m->top + HEIGHT * (1 - i / 4.0) + 4, SVG_START, 11, text);
    }
}

/* The point that has these levels, or -1. */
static int64_t find_point(const struct map *m, const char *levels)
{
    struct arena arena = { 0 };
    char *text = NEW(&arena, char, hypar_exploration_text_size(m->e, 0));
    int64_t i = 0;
    while (i < m->site.n_points &&
           strcmp(hypar_exploration_levels(m->e, 0, i, text), levels) != 0)
        i++;
    hp_arena_free(&arena);
    return i < m->site.n_points ? i : -1;
}

static void put_ring(FILE *to, double x, double y, double radius, const char *colour,
                     double width)
{
    hp_svg_begin_circle(to, x, y, radius);
    hp_svg_attribute(to, "stroke-width", width);
    fprintf(to, " fill=\"none\" stroke=\"%s\"/>\n", colour);
}

/* The ring of choice `c` on a cell, with a white edge that tells it from the cell's colour. */
static void map_mark(const struct map *m, int64_t point, int c)
{
    double x = map_x(m, point) + m->cell / 2, y = map_y(m, point) + m->cell / 2,
           radius = m->cell * (0.62 - 0.14 * (c % 4));
    put_ring(m->to, x, y, radius, "#fff", 3.4);
    put_ring(m->to, x, y, radius, hp_svg_colour(c + 1), 2);
}

/* Rings around the choices with a name, each a little smaller than the last. */
static void map_marks(const struct map *m, double x)
{
    double y = m->top + 200;
    for (int c = 0; c < m->site.n_choices; c++) {
        const struct hypar_explore_choice *choice = hypar_exploration_choice(m->e, 0, c);
        int64_t at = find_point(m, choice->levels);
        struct arena arena = { 0 };
        const char *text = hp_arena_printf(&arena, "%s: %.3f%s", choice->name,
                                           height_of(m->e, &m->site, &choice->cost),
                                           at < 0 ? " (outside)" : "");
        if (at >= 0)
            map_mark(m, at, c);
        put_ring(m->to, x + 7, y - 4, 5, hp_svg_colour(c + 1), 2);
        hp_svg_text(m->to, x + 20, y, SVG_START, 12, text);
        y += 20;
        hp_arena_free(&arena);
    }
}

static void draw_map(FILE *to, const struct hypar_exploration *e)
{
    struct arena arena = { 0 };
    struct map m = { .to = to,
                     .e = e,
                     .site = hypar_exploration_site(e, 0),
                     .across = hypar_exploration_group(e, 0, 0),
                     .down = hypar_exploration_group(e, 0, 1),
                     .top = 76,
                     .low = INFINITY,
                     .high = 0 };
    for (int i = 0; i < 2; i++)
        m.text[i] = NEW(&arena, char, hypar_exploration_text_size(e, 0));
    int64_t most = m.across.n_values > m.down.n_values ? m.across.n_values : m.down.n_values;
    hypar_exploration_value(e, 0, 1, 0, m.text[0]);
    m.left = 48 + 7 * (double)strlen(m.text[0]);
    m.cell = fmin(30, 560.0 / (double)most);
    for (int64_t i = 0; i < m.site.n_points; i++) {
        double v = height_of(e, &m.site, hypar_exploration_point(e, 0, i));
        m.low = fmin(m.low, v);
        m.high = fmax(m.high, v);
    }
    double right = m.left + m.cell * (double)m.across.n_values + 30;
    double bottom = m.top + fmax(m.cell * (double)m.down.n_values, 200 + 20 * m.site.n_choices);
    hp_svg_begin(to, (int)right + 210, (int)bottom + 84, title_of(&arena, e),
                 hp_arena_printf(&arena, "%lld choices on %s: %s", (long long)m.site.n_points,
                                 m.site.word, height_text(e)));
    map_cells(&m);
    map_axes(&m);
    map_scale(&m, right);
    map_marks(&m, right);
    hp_svg_end(to);
    hp_arena_free(&arena);
}

/* A curve ----------------------------------------------------------------------------- */

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static struct svg_series one_point(struct arena *arena, const char *name, double x, double y)
{
    struct svg_series series = { .name = name, .n = 1 };
    series.x = NEW(arena, double, 1);
    series.y = NEW(arena, double, 1);
    series.x[0] = x;
    series.y[0] = y;
    return series;
}

static void draw_curve(FILE *to, const struct hypar_exploration *e)
{
    struct arena arena = { 0 };
    struct hypar_explore_site site = hypar_exploration_site(e, 0);
    double *height = NEW(&arena, double, site.n_points);
    for (int64_t i = 0; i < site.n_points; i++)
        height[i] = height_of(e, &site, hypar_exploration_point(e, 0, i));
    qsort(height, (size_t)site.n_points, sizeof *height, descending);

    int n = site.n_points < MOST_CURVE ? (int)site.n_points : MOST_CURVE;
    struct svg_series *series = NEW(&arena, struct svg_series, site.n_choices + 1);
    series[0] = (struct svg_series){ "every choice", n, NEW(&arena, double, n),
                                     NEW(&arena, double, n) };
    for (int i = 0; i < n; i++) {
        int64_t at = n > 1 ? (site.n_points - 1) * i / (n - 1) : 0;
        series[0].x[i] = (double)at;
        series[0].y[i] = height[at];
    }
    for (int c = 0; c < site.n_choices; c++) {
        const struct hypar_explore_choice *choice = hypar_exploration_choice(e, 0, c);
        double y = height_of(e, &site, &choice->cost);
        series[c + 1] = one_point(&arena, hp_arena_printf(&arena, "%s: %.3f", choice->name, y),
                                  fmin((double)choice->better, (double)site.n_points - 1), y);
    }
    struct svg_plot plot = { .title = title_of(&arena, e),
                             .subtitle = hp_arena_printf(&arena, "%lld choices on %s",
                                                         (long long)site.n_points, site.word),
                             .x_label = "choices that are better",
                             .y_label = height_text(e),
                             .n_series = site.n_choices + 1,
                             .series = series };
    hp_svg_plot(to, &plot);
    hp_arena_free(&arena);
}

/* Lines over machines ----------------------------------------------------------------- */

/* What differs between the machines. */
struct variation {
    bool devices, bandwidth, topology;
};

static struct variation vary(const struct hypar_exploration *e)
{
    struct variation v = { 0 };
    struct hypar_explore_site first = hypar_exploration_site(e, 0);
    double bandwidth = 0;
    for (int s = 0; s < hypar_exploration_site_count(e); s++) {
        struct hypar_explore_site site = hypar_exploration_site(e, s);
        v.devices |= hypar_machine_device_count(site.machine) !=
                     hypar_machine_device_count(first.machine);
        if (!(bandwidth > 0))
            bandwidth = site.bandwidth_bytes_per_s;
        v.bandwidth |=
            site.bandwidth_bytes_per_s > 0 && site.bandwidth_bytes_per_s != bandwidth;
        v.topology |= strcmp(hypar_machine_topology(site.machine),
                             hypar_machine_topology(first.machine)) != 0;
    }
    return v;
}

/* "hypar, torus, 1.6 GB/s": all that tells a line from the others. */
static const char *series_name(struct arena *arena, const struct variation *v,
                               const struct hypar_explore_site *site, const char *choice)
{
    char bandwidth[32];
    const char *name = choice;
    if (v->topology)
        name = hp_arena_printf(arena, "%s, %s", name, hypar_machine_topology(site->machine));
    if (v->devices && v->bandwidth && site->bandwidth_bytes_per_s > 0)
        name = hp_arena_printf(arena, "%s, %s", name,
                               hypar_format_quantity(bandwidth, site->bandwidth_bytes_per_s,
                                                     HYPAR_UNIT_BANDWIDTH));
    return name;
}

static struct svg_series *series_named(struct arena *arena, struct svg_plot *plot,
                                       const char *name, int n_sites)
{
    for (int i = 0; i < plot->n_series; i++)
        if (strcmp(plot->series[i].name, name) == 0)
            return &plot->series[i];
    plot->series[plot->n_series] = (struct svg_series){ name, 0, NEW(arena, double, n_sites),
                                                        NEW(arena, double, n_sites) };
    return &plot->series[plot->n_series++];
}

static void collect(struct arena *arena, const struct hypar_exploration *e,
                    const struct variation *v, struct svg_plot *plot)
{
    int n_sites = hypar_exploration_site_count(e), n = 0;
    bool time = hypar_exploration_options(e).objective == HYPAR_TIME;
    for (int s = 0; s < n_sites; s++)
        n += hypar_exploration_site(e, s).n_choices;
    plot->series = NEW(arena, struct svg_series, n);
    for (int s = 0; s < n_sites; s++) {
        struct hypar_explore_site site = hypar_exploration_site(e, s);
        for (int c = 0; c < site.n_choices; c++) {
            const struct hypar_explore_choice *choice = hypar_exploration_choice(e, s, c);
            struct svg_series *series =
                series_named(arena, plot, series_name(arena, v, &site, choice->name), n_sites);
            series->x[series->n] = v->devices || !v->bandwidth
                                       ? hypar_machine_device_count(site.machine)
                                       : site.bandwidth_bytes_per_s / 1e9;
            series->y[series->n++] = time ? site.one_device_s / choice->cost.step_s
                                          : hypar_exploration_merit(e, &choice->cost);
        }
    }
}

static void draw_lines(FILE *to, const struct hypar_exploration *e)
{
    static const char *const labels[] = { "performance over one device",
                                          "bytes exchanged in a step", "joules of a step" };
    struct arena arena = { 0 };
    struct variation v = vary(e);
    bool devices = v.devices || !v.bandwidth;
    int n = hypar_exploration_site_count(e);
    struct svg_plot plot = {
        .title = title_of(&arena, e),
        .subtitle = hp_arena_printf(&arena, "%d machines, %s to %s", n,
                                    hypar_exploration_site(e, 0).word,
                                    hypar_exploration_site(e, n - 1).word),
        .x_label = devices ? "devices" : "bandwidth of a link, GB/s",
        .y_label = labels[hypar_exploration_options(e).objective],
        .log_x = devices ? 2 : 10,
    };
    collect(&arena, e, &v, &plot);
    hp_svg_plot(to, &plot);
    hp_arena_free(&arena);
}

void hypar_report_explored_svg(FILE *to, const struct hypar_exploration *e)
{
    struct hypar_explore_site first = hypar_exploration_site(e, 0);
    if (hypar_exploration_site_count(e) > 1)
        draw_lines(to, e);
    else if (first.n_groups == 2 && hypar_exploration_group(e, 0, 0).n_values <= MOST_VALUES &&
             hypar_exploration_group(e, 0, 1).n_values <= MOST_VALUES)
        draw_map(to, e);
    else if (first.n_points)
        draw_curve(to, e);
    else
        draw_lines(to, e);
}
