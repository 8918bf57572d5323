/* Draws an exploration: a map of two groups of choices, a curve of all choices from the best
 * on, or lines and bars over machines. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "graph/graph.h"
#include "report/explore/axes.h"
#include "report/put.h"
#include "report/svg/svg.h"

enum { MOST_VALUES = 64, MOST_CURVE = 800 };

static const char *title_of(struct arena *arena, const struct hypar_exploration *e)
{
    const struct hypar_graph *graph = hypar_exploration_info(e).graph;
    struct hypar_explore_options how = *hypar_exploration_info(e).options;
    return hp_arena_printf(arena, "%s, batch %lld%s", graph->name, (long long)graph->batch,
                           hp_settings_text(arena, how.precision,
                                            how.fp32_gradients ? HYPAR_FP32 : how.precision,
                                            how.optimizer));
}

/* The value that is drawn: how many times better than data parallel, by the objective. */
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
    return texts[hypar_exploration_info(e).options->objective];
}

/* The figure of the objective in charts over machines and in curves: samples per second, bytes
 * of a step, joules per sample. */
static double figure_of(const struct hypar_exploration *e, enum hypar_objective objective,
                        const struct hypar_explored *cost)
{
    double batch = (double)hypar_exploration_info(e).graph->batch;
    return objective == HYPAR_TIME   ? batch / cost->step_s
           : objective == HYPAR_COMM ? cost->comm_bytes
                                     : cost->energy_j / batch;
}

/* The label and the unit of this figure. */
static void label_figure(struct svg_plot *plot, enum hypar_objective objective)
{
    static const char *const labels[] = { "samples/s", "bytes exchanged in a step",
                                          "joules of a sample" };
    plot->y_label = labels[objective];
    plot->y_unit = hp_objective_unit(objective);
}

/* A map ------------------------------------------------------------------------------- */

struct map {
    FILE *to;
    const struct hypar_exploration *e;
    struct hypar_explore_site site;
    struct hypar_explore_group across, down;
    double left, top, cell, low, high;
    double digits; /* how far the turned digits of columns reach down */
    char *text[2]; /* space for the digits of a value */
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
    struct arena arena = { 0 };
    char colour[8];
    for (int64_t i = 0; i < m->site.n_points; i++) {
        struct arena_mark mark = hp_arena_mark(&arena);
        double v = height_of(m->e, &m->site, hypar_exploration_point(m->e, 0, i));
        double part = m->high > m->low ? (v - m->low) / (m->high - m->low) : 1;
        hypar_exploration_value(m->e, 0, 0, i / m->down.n_values, m->text[0]);
        hypar_exploration_value(m->e, 0, 1, i % m->down.n_values, m->text[1]);
        hp_svg_box(m->to, map_x(m, i), map_y(m, i), m->cell - 0.6, m->cell - 0.6,
                   hp_svg_ramp(colour, part),
                   hp_arena_printf(&arena, "%s %s, %s %s: %.3f", m->across.name, m->text[0],
                                   m->down.name, m->text[1], v));
        hp_arena_release(&arena, mark);
    }
    hp_arena_free(&arena);
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
    hp_svg_text(m->to, m->left + m->cell * (double)m->across.n_values / 2,
                bottom + 34 + m->digits, SVG_MIDDLE, 13, m->across.name);
    hp_svg_turned_text(m->to, 20, m->top + m->cell * (double)m->down.n_values / 2, -90,
                       SVG_MIDDLE, 13, m->down.name);
}

static void map_scale(const struct map *m, double x)
{
    enum { STEPS = 40, HEIGHT = 160 };
    char colour[8], text[32];
    for (int i = 0; i < STEPS; i++)
        hp_svg_box(m->to, x, m->top + HEIGHT * (1 - (i + 1.0) / STEPS), 14,
                   HEIGHT * 1.0 / STEPS + 0.5, hp_svg_ramp(colour, (i + 0.5) / STEPS), NULL);
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

/* Draw the ring of choice `c` on a cell, with a white edge that separates it from the cell's
 * colour. */
static void map_mark(const struct map *m, int64_t point, int c)
{
    double x = map_x(m, point) + m->cell / 2, y = map_y(m, point) + m->cell / 2,
           radius = m->cell * (0.62 - 0.14 * (c % 4));
    hp_svg_ring(m->to, x, y, radius, "#fff", 3.4);
    hp_svg_ring(m->to, x, y, radius, hp_svg_colour(c + 1), 2);
}

/* Draw rings around the named choices, each a little smaller than the last. */
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
        hp_svg_ring(m->to, x + 7, y - 4, 5, hp_svg_colour(c + 1), 2);
        hp_svg_text(m->to, x + 20, y, SVG_START, 12, text);
        y += 20;
        hp_arena_free(&arena);
    }
}

/* The meaning of the n digits of a value on an axis: "; digits: conv1 conv2 fc1 (0 dp, 1 mp)",
 * of levels; "; digits: H1 .. H4 (0 dp, 1 mp)" of layers. */
static char *digits_text(struct arena *arena, const struct hypar_exploration *e, size_t n)
{
    enum { MOST = 8 };
    const struct hypar_exploration_info info = hypar_exploration_info(e);
    const char *first = "", *last = "";
    char *all = hp_arena_strdup(arena, "");
    size_t layers = 0;
    for (int op = 0; op < info.graph->n_ops; op++) {
        if (!hp_op_weighted(info.graph, op))
            continue;
        last = info.graph->ops[op].name;
        first = layers++ ? first : last;
        if (layers <= MOST)
            all = hp_joined(arena, all, " ", last);
    }
    if (!info.options->levels)
        all = hp_arena_printf(arena, "H1 .. H%d", (int)n);
    else if (layers != n)
        return hp_arena_strdup(arena, "");
    else if (layers > MOST)
        all = hp_arena_printf(arena, "%s .. %s", first, last);
    return hp_arena_printf(arena, "; digits: %s (0 dp, 1 mp)", all);
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
    hypar_exploration_value(e, 0, 0, 0, m.text[0]);
    m.digits = fmax(28, 6 * (double)strlen(m.text[0]));
    for (int64_t i = 0; i < m.site.n_points; i++) {
        double v = height_of(e, &m.site, hypar_exploration_point(e, 0, i));
        m.low = fmin(m.low, v);
        m.high = fmax(m.high, v);
    }
    double right = m.left + m.cell * (double)m.across.n_values + 30;
    double bottom = m.top + fmax(m.cell * (double)m.down.n_values, 200 + 20 * m.site.n_choices);
    hp_svg_begin(to, (int)right + 210, (int)(bottom + m.digits) + 56, title_of(&arena, e),
                 hp_arena_printf(&arena, "%lld choices on %s: %s%s", (long long)m.site.n_points,
                                 m.site.word, height_text(e),
                                 digits_text(&arena, e, strlen(m.text[0]))));
    map_cells(&m);
    map_axes(&m);
    map_scale(&m, right);
    map_marks(&m, right);
    hp_svg_end(to);
    hp_arena_free(&arena);
}

/* A curve ----------------------------------------------------------------------------- */

/* The value to draw: of time, the speed relative to data parallelism; else the figure itself.
 */
static double curve_height(const struct hypar_exploration *e,
                           const struct hypar_explore_site *site, double merit)
{
    enum hypar_objective objective = hypar_exploration_info(e).options->objective;
    return objective == HYPAR_TIME   ? site->dp.step_s / merit
           : objective == HYPAR_COMM ? merit
                                     : merit / (double)hypar_exploration_info(e).graph->batch;
}

/* All choices, the best first. */
static struct svg_series every_choice(struct arena *arena, const struct hypar_exploration *e,
                                      const struct hypar_explore_site *site)
{
    int n = site->n_points < MOST_CURVE ? (int)site->n_points : MOST_CURVE;
    double *merit = NEW(arena, double, site->n_points);
    for (int64_t i = 0; i < site->n_points; i++)
        merit[i] = hypar_exploration_merit(e, hypar_exploration_point(e, 0, i));
    hp_sort_doubles(merit, site->n_points);
    struct svg_series series = {
        .name = "every choice", .n = n, .x = NEW(arena, double, n), .y = NEW(arena, double, n)
    };
    for (int i = 0; i < n; i++) {
        int64_t at = n > 1 ? (site->n_points - 1) * i / (n - 1) : 0;
        series.x[i] = (double)at;
        series.y[i] = curve_height(e, site, merit[at]);
    }
    return series;
}

static void draw_curve(FILE *to, const struct hypar_exploration *e)
{
    struct arena arena = { 0 };
    struct hypar_explore_site site = hypar_exploration_site(e, 0);
    enum hypar_objective objective = hypar_exploration_info(e).options->objective;
    struct svg_plot plot = { .title = title_of(&arena, e),
                             .subtitle = hp_arena_printf(&arena, "%lld choices on %s",
                                                         (long long)site.n_points, site.word),
                             .x_label = "choices that are better",
                             .n_series = 1 };
    label_figure(&plot, objective);
    if (objective == HYPAR_TIME)
        plot.y_label = height_text(e);
    plot.series = NEW(&arena, struct svg_series, site.n_choices + 1);
    plot.series[0] = every_choice(&arena, e, &site);
    for (int c = 0; c < site.n_choices; c++) {
        const struct hypar_explore_choice *choice = hypar_exploration_choice(e, 0, c);
        double y = curve_height(e, &site, hypar_exploration_merit(e, &choice->cost));
        char text[32];
        snprintf(text, sizeof text, "%.3f", y);
        if (objective != HYPAR_TIME)
            hp_figure_text(&arena, y, plot.y_unit);
        hp_svg_add(hp_svg_series(&arena, &plot,
                                 hp_arena_printf(&arena, "%s: %s", choice->name, text),
                                 site.n_choices),
                   fmin((double)choice->better, (double)site.n_points - 1), y);
    }
    hp_svg_plot(to, &plot);
    hp_arena_free(&arena);
}

/* Machines ---------------------------------------------------------------------------- */

/* Is the speed relative to one device comparable? It is not if the user named several machines,
 * or if they differ in more than links and sizes: their single devices differ in speed. */
static bool is_over_one_device(const struct hypar_exploration *e, const struct axes *axes)
{
    for (int i = 0; i < axes->n; i++)
        if (!axes->axis[i].shapes && strcmp(axes->axis[i].name, "bandwidth") != 0)
            return false;
    return !hypar_exploration_info(e).options->n_others;
}

/* The objective drawn over machines: the exploration's, or energy if machines differ in an
 * energy. */
static enum hypar_objective drawn(const struct hypar_exploration *e, const struct axes *axes)
{
    enum hypar_objective objective = hypar_exploration_info(e).options->objective;
    return objective == HYPAR_TIME && hp_axes_of_energy(axes) ? HYPAR_ENERGY : objective;
}

static double height_over(const struct hypar_exploration *e, const struct axes *axes,
                          const struct hypar_explore_site *site,
                          const struct hypar_explored *cost)
{
    enum hypar_objective objective = drawn(e, axes);
    return objective == HYPAR_TIME && is_over_one_device(e, axes)
               ? site->one_device_s / cost->step_s
               : figure_of(e, objective, cost);
}

/* Lines along axis `x`; without an axis, bars for each machine. */
static void collect(struct arena *arena, const struct hypar_exploration *e,
                    const struct axes *axes, int x, struct svg_plot *plot)
{
    int n_sites = hypar_exploration_info(e).n_sites, n = 0;
    const char **category = NEW(arena, const char *, n_sites);
    for (int s = 0; s < n_sites; s++)
        n += hypar_exploration_site(e, s).n_choices;
    plot->series = NEW(arena, struct svg_series, n);
    plot->category = category;
    plot->n_categories = x < 0 ? n_sites : 0;
    for (int s = 0; s < n_sites; s++) {
        struct hypar_explore_site site = hypar_exploration_site(e, s);
        struct axes_place place = { site.shape, site.value };
        category[s] = n_sites > 1 ? site.shape : site.word;
        for (int c = 0; c < site.n_choices; c++) {
            const struct hypar_explore_choice *choice = hypar_exploration_choice(e, s, c);
            if (choice->why)
                continue;
            const char *name =
                x < 0 ? choice->name : hp_axes_line(axes, x, &place, choice->name, arena);
            hp_svg_add(hp_svg_series(arena, plot, name, n_sites),
                       x < 0 ? s : site.value[x].number,
                       height_over(e, axes, &site, &choice->cost));
        }
    }
}

static void draw_machines(FILE *to, const struct hypar_exploration *e)
{
    struct arena arena = { 0 };
    struct axes axes = hp_exploration_axes(e);
    int x = hp_axes_x(&axes), n = hypar_exploration_info(e).n_sites;
    struct svg_plot plot = { .title = title_of(&arena, e),
                             .subtitle =
                                 hp_machines_text(&arena,
                                                  n > 1 ? hypar_exploration_info(e).machine
                                                        : hypar_exploration_site(e, 0).word,
                                                  n),
                             .x_label = x < 0 ? "" : axes.axis[x].name };
    if (x >= 0)
        plot.x_unit = axes.axis[x].unit;
    label_figure(&plot, drawn(e, &axes));
    if (drawn(e, &axes) == HYPAR_TIME && is_over_one_device(e, &axes))
        plot.y_label = "performance over one device";
    collect(&arena, e, &axes, x, &plot);
    if (x >= 0)
        hp_svg_swept_x(&plot, axes.axis[x].shapes ? 2 : 10);
    hp_svg_plot(to, &plot);
    hp_arena_free(&arena);
}

void hp_exploration_svg(FILE *to, const struct hypar_exploration *e)
{
    struct hypar_explore_site first = hypar_exploration_site(e, 0);
    if (hypar_exploration_info(e).n_sites > 1)
        draw_machines(to, e);
    else if (first.n_groups == 2 && hypar_exploration_group(e, 0, 0).n_values <= MOST_VALUES &&
             hypar_exploration_group(e, 0, 1).n_values <= MOST_VALUES)
        draw_map(to, e);
    else if (first.n_points)
        draw_curve(to, e);
    else
        draw_machines(to, e);
}
