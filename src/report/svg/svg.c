/* Draws in SVG: shapes, text, and plots. */
#include "report/svg/svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/text.h"
#include "base/number.h"

static const char *const anchors[] = { "start", "middle", "end" };

void hp_svg_escape(FILE *to, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fputs(*text == '<' ? "&lt;" : *text == '>' ? "&gt;" : "&amp;", to);
        else
            fputc(*text, to);
}

/* The part of `text` for a line of `most` characters: broken after a blank or a comma. */
static size_t line_length(const char *text, size_t most)
{
    size_t n = strlen(text), at = most;
    if (n <= most)
        return n;
    while (at > most / 2 && text[at - 1] != ' ')
        at--;
    for (size_t i = most; at <= most / 2 && i > most / 2; i--)
        if (text[i - 1] == ',')
            return i;
    return at > most / 2 ? at : most;
}

/* The subtitle has at most two lines; the pointer shows the rest. */
static void put_subtitle(FILE *to, int width, const char *text)
{
    enum {
        CHARACTER = 13,
        SIZE = 12
    }; /* width of two characters in pixels, for wide letters
        * too */
    size_t most = (size_t)(width - 40) * 2 / CHARACTER;
    const char *rest = text;
    for (int line = 0; line < 2 && (*rest || line == 0); line++) {
        size_t n = line_length(rest, most);
        bool cut = line == 1 && rest[n];
        fprintf(to, "<text x=\"20\" y=\"%d\" font-size=\"%d\" fill=\"#666\">", 50 + 15 * line,
                SIZE);
        if (cut) {
            fputs("<title>", to);
            hp_svg_escape(to, text);
            fputs("</title>", to);
        }
        for (size_t i = 0; i < n; i++)
            hp_svg_escape(to, (const char[]){ rest[i], '\0' });
        fprintf(to, "%s</text>\n", cut ? "..." : "");
        rest += n;
    }
}

void hp_svg_begin(FILE *to, int width, int height, const char *title, const char *subtitle)
{
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" "
            "fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"20\" y=\"30\" font-size=\"17\" font-weight=\"600\">",
            width, height, width, height);
    hp_svg_escape(to, title);
    fputs("</text>\n", to);
    put_subtitle(to, width, subtitle);
}

void hp_svg_end(FILE *to)
{
    fputs("</svg>\n", to);
}

static void put_number(FILE *to, double value)
{
    char text[NUMBER_TEXT_BYTES];
    fputs(hp_number_text(text, round(100 * value) / 100), to);
}

void hp_svg_attribute(FILE *to, const char *name, double value)
{
    fprintf(to, " %s=\"", name);
    put_number(to, value);
    fputc('"', to);
}

void hp_svg_begin_rect(FILE *to, double x, double y, double width, double height)
{
    fputs("<rect", to);
    hp_svg_attribute(to, "x", x);
    hp_svg_attribute(to, "y", y);
    hp_svg_attribute(to, "width", width);
    hp_svg_attribute(to, "height", height);
}

/* End a shape that has its position: "fill" and a title (NULL: none). */
static void end_shape(FILE *to, const char *shape, const char *fill, const char *title)
{
    fprintf(to, " fill=\"%s\"", fill);
    if (!title) {
        fputs("/>\n", to);
        return;
    }
    fputs("><title>", to);
    hp_svg_escape(to, title);
    fprintf(to, "</title></%s>\n", shape);
}

void hp_svg_box(FILE *to, double x, double y, double width, double height, const char *fill,
                const char *title)
{
    hp_svg_begin_rect(to, x, y, width, height);
    end_shape(to, "rect", fill, title);
}

void hp_svg_begin_circle(FILE *to, double x, double y, double radius)
{
    fputs("<circle", to);
    hp_svg_attribute(to, "cx", x);
    hp_svg_attribute(to, "cy", y);
    hp_svg_attribute(to, "r", radius);
}

void hp_svg_ring(FILE *to, double x, double y, double radius, const char *colour, double width)
{
    hp_svg_begin_circle(to, x, y, radius);
    hp_svg_attribute(to, "stroke-width", width);
    fprintf(to, " fill=\"none\" stroke=\"%s\"/>\n", colour);
}

void hp_svg_text(FILE *to, double x, double y, enum svg_anchor anchor, int size,
                 const char *text)
{
    fputs("<text", to);
    hp_svg_attribute(to, "x", x);
    hp_svg_attribute(to, "y", y);
    fprintf(to, " font-size=\"%d\" text-anchor=\"%s\">", size, anchors[anchor]);
    hp_svg_escape(to, text);
    fputs("</text>\n", to);
}

void hp_svg_turned_text(FILE *to, double x, double y, int degrees, enum svg_anchor anchor,
                        int size, const char *text)
{
    fputs("<g transform=\"translate(", to);
    put_number(to, x);
    fputc(' ', to);
    put_number(to, y);
    fprintf(to, ") rotate(%d)\">", degrees);
    hp_svg_text(to, 0, 0, anchor, size, text);
    fputs("</g>\n", to);
}

void hp_svg_line(FILE *to, double x1, double y1, double x2, double y2, const char *colour,
                 double width)
{
    fputs("<line", to);
    hp_svg_attribute(to, "x1", x1);
    hp_svg_attribute(to, "y1", y1);
    hp_svg_attribute(to, "x2", x2);
    hp_svg_attribute(to, "y2", y2);
    hp_svg_attribute(to, "stroke-width", width);
    fprintf(to, " stroke=\"%s\"/>\n", colour);
}

/* Stops of a ramp with evenly rising lightness, so that it is readable in grey. */
const char *hp_svg_ramp(char *buffer, double value)
{
    static const int stop[][3] = {
        { 34, 30, 80 }, { 58, 82, 139 }, { 33, 145, 140 }, { 94, 201, 98 }, { 253, 231, 37 }
    };
    value = value < 0 ? 0 : value > 1 ? 1 : value;
    int i = value >= 1 ? 3 : (int)(value * 4);
    double part = value * 4 - i;
    int rgb[3];
    for (int k = 0; k < 3; k++)
        rgb[k] = (int)lround(stop[i][k] + part * (stop[i + 1][k] - stop[i][k]));
    snprintf(buffer, 8, "#%02x%02x%02x", (unsigned)rgb[0] & 255, (unsigned)rgb[1] & 255,
             (unsigned)rgb[2] & 255);
    return buffer;
}

/* Okabe and Ito's palette without its yellow, which is hard to see on white. */
enum { N_COLOURS = 7 };

const char *hp_svg_colour(int i)
{
    static const char *const colours[N_COLOURS] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                    "#56b4e9", "#e69f00", "#222222" };
    return colours[i % N_COLOURS];
}

/* Plots ------------------------------------------------------------------------------- */

enum { WIDTH = 860, TOP = 82, LEFT = 96, RIGHT = 620, BOTTOM = 430, LEGEND = 640, ROW = 19 };

/* Width of a character of 12 pixels, for wide letters too; distance between two texts. */
enum { CHARACTER = 7, BETWEEN = 8 };

/* One axis: its range in the units of the plot, and from..to in pixels. */
struct axis {
    double low, high, from, to;
    int log;
    enum hypar_unit unit;
};

static double place(const struct axis *axis, double value)
{
    double part = axis->log ? log(value / axis->low) / log(axis->high / axis->low)
                            : (value - axis->low) / (axis->high - axis->low);
    return axis->from + part * (axis->to - axis->from);
}

static struct axis span(const struct svg_plot *plot, int vertical, int log_base)
{
    struct axis axis = { INFINITY,
                         -INFINITY,
                         vertical ? BOTTOM : LEFT,
                         vertical ? TOP : RIGHT,
                         log_base,
                         vertical ? plot->y_unit : plot->x_unit };
    if (!vertical && plot->n_categories) {
        axis.low = -0.5;
        axis.high = plot->n_categories - 0.5;
        return axis;
    }
    for (int s = 0; s < plot->n_series; s++)
        for (int i = 0; i < plot->series[s].n; i++) {
            double v = vertical ? plot->series[s].y[i] : plot->series[s].x[i];
            axis.low = fmin(axis.low, v);
            axis.high = fmax(axis.high, v);
        }
    if (!(axis.low <= axis.high))
        axis.low = axis.high = 1;
    if (!log_base)
        axis.low = fmin(axis.low, 0);
    else if (vertical && plot->n_categories)
        /* a power, at most half of the shortest bar, which is then visible */
        axis.low = pow(log_base, floor(log(axis.low / 2) / log(log_base)));
    if (vertical)
        axis.high *= 1.05;
    else if (plot->shaded && log_base) { /* space for a ring */
        double margin = pow(axis.high / axis.low, 0.025);
        axis.low /= margin;
        axis.high *= margin;
    }
    if (axis.high <= axis.low)
        axis.high = axis.low + (axis.low > 0 ? axis.low : 1);
    return axis;
}

double hp_svg_tick_step(double range)
{
    double power = pow(10, floor(log10(range / 5))), part = range / 5 / power;
    return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

static char *tick_text(struct arena *arena, const struct axis *axis, double value)
{
    if (axis->unit != HYPAR_UNIT_COUNT)
        return hp_figure_text(arena, value, axis->unit);
    return value >= 1e4 ? hp_metric(arena, value) : hp_arena_printf(arena, "%.4g", value);
}

static void tick(FILE *to, const struct axis *axis, int vertical, double value)
{
    struct arena arena = { 0 };
    double at = place(axis, value);
    const char *text = tick_text(&arena, axis, value);
    if (vertical) {
        hp_svg_line(to, LEFT, at, RIGHT, at, "#e4e4e4", 1);
        hp_svg_text(to, LEFT - 8, at + 4, SVG_END, 12, text);
    } else {
        hp_svg_line(to, at, TOP, at, BOTTOM, "#f0f0f0", 1);
        hp_svg_text(to, at, BOTTOM + 18, SVG_MIDDLE, 12, text);
    }
    hp_arena_free(&arena);
}

static void draw_ticks(FILE *to, const struct axis *axis, int vertical)
{
    if (!axis->log) {
        double step = hp_svg_tick_step(axis->high - axis->low);
        for (double k = ceil(axis->low / step); k * step <= axis->high * (1 + 1e-9); k++)
            tick(to, axis, vertical, k * step);
        return;
    }
    double powers = log(axis->high / axis->low) / log(axis->log);
    double every = powers > 13 ? ceil(powers / 13) : 1;
    for (double k = floor(log(axis->low) / log(axis->log)); pow(axis->log, k) <= axis->high;
         k += every)
        for (int part = 1; part < axis->log; part = part == 1 ? 2 : part == 2 ? 5 : 10) {
            double value = part * pow(axis->log, k);
            bool shown = part == 1 || powers < 3; /* 1, 2, 5 if there is room */
            if (shown && value >= axis->low * (1 - 1e-9) && value <= axis->high * (1 + 1e-9))
                tick(to, axis, vertical, value);
        }
}

/* The next larger x of a point; INFINITY: none. */
static double next_x(const struct svg_plot *plot, double x)
{
    double next = INFINITY;
    for (int s = 0; s < plot->n_series; s++)
        for (int i = 0; i < plot->series[s].n; i++)
            if (plot->series[s].x[i] > x)
                next = fmin(next, plot->series[s].x[i]);
    return next;
}

/* Draw a mark at every x of a point whose text fits beside the one before; the other points
 * have a short line. */
static void draw_chosen_ticks(FILE *to, const struct svg_plot *plot, const struct axis *axis)
{
    struct arena arena = { 0 };
    double end = -INFINITY;
    double first = axis->log ? next_x(plot, -INFINITY) : axis->low; /* 0 */
    for (double x = first; isfinite(x); x = next_x(plot, x)) {
        double half = CHARACTER * (double)strlen(tick_text(&arena, axis, x)) / 2,
               at = place(axis, x);
        if (at - half < end + BETWEEN) {
            hp_svg_line(to, at, BOTTOM, at, BOTTOM + 4, "#888", 1);
            continue;
        }
        tick(to, axis, 0, x);
        end = at + half;
    }
    hp_arena_free(&arena);
}

/* The colour of a line. The brightest colour of a ramp is not used: it is hard to see on
 * white. */
static const char *line_colour(const struct svg_plot *plot, int s, char buffer[8])
{
    int hue = plot->series[s].hue;
    if (!plot->shaded)
        return hp_svg_colour(hue ? hue - 1 : s);
    return hp_svg_ramp(buffer, plot->n_series > 1 ? 0.82 * s / (plot->n_series - 1) : 0.4);
}

/* Dashes distinguish lines of one colour ... */
static const char *line_dashes(const struct svg_plot *plot, int s)
{
    static const char *const dashes[] = { "none", "6 3", "2 3" };
    return dashes[plot->shaded ? 0 : s / N_COLOURS % 3];
}

/* ... and opacity distinguishes bars of one colour. */
static double strength(const struct svg_plot *plot, int s)
{
    if (plot->series[s].hue)
        return plot->series[s].pale ? 0.4 : 1;
    return plot->shaded ? 1 : 1 / (1 + 0.8 * (s / N_COLOURS % 3));
}

/* A colour "#rrggbb" mixed with white, opaque, so that no line shines through a bar. */
static const char *paler(struct arena *arena, const char *colour, double part)
{
    unsigned long rgb = strtoul(colour + 1, NULL, 16), mixed = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        double value = (double)(rgb >> shift & 255);
        mixed = mixed << 8 | (unsigned long)lround(255 + part * (value - 255));
    }
    return hp_arena_printf(arena, "#%06lx", mixed);
}

static void draw_bars(FILE *to, const struct svg_plot *plot, int s, const struct axis *x,
                      const struct axis *y)
{
    const struct svg_series *series = &plot->series[s];
    struct arena arena = { 0 };
    char buffer[8];
    double width = 0.8 * (place(x, 1) - place(x, 0)) / plot->n_series;
    for (int i = 0; i < series->n; i++) {
        double left = place(x, series->x[i]) + width * (s - plot->n_series / 2.0),
               top = place(y, series->y[i]);
        hp_svg_begin_rect(to, left, top, width * 0.94, BOTTOM - top);
        end_shape(to, "rect", paler(&arena, line_colour(plot, s, buffer), strength(plot, s)),
                  hp_arena_printf(&arena, "%s on %s: %.4g", series->name,
                                  plot->category[(int)series->x[i]], series->y[i]));
    }
    hp_arena_free(&arena);
}

static void draw_series(FILE *to, const struct svg_plot *plot, int s, const struct axis *x,
                        const struct axis *y)
{
    const struct svg_series *series = &plot->series[s];
    struct arena arena = { 0 };
    char buffer[8];
    const char *colour = line_colour(plot, s, buffer);
    if (plot->n_categories) {
        draw_bars(to, plot, s, x, y);
        return;
    }
    if (series->n > 1) {
        fprintf(to,
                "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
                "stroke-dasharray=\"%s\" points=\"",
                colour, line_dashes(plot, s));
        for (int i = 0; i < series->n; i++) {
            fputs(i ? " " : "", to);
            put_number(to, place(x, series->x[i]));
            fputc(',', to);
            put_number(to, place(y, series->y[i]));
        }
        fputs("\"/>\n", to);
    }
    for (int i = 0; i < series->n && series->n <= 64; i++) {
        hp_svg_begin_circle(to, place(x, series->x[i]), place(y, series->y[i]),
                            series->n > 1 || plot->shaded ? 3.2 : fmax(3, 8.5 - 1.5 * s));
        end_shape(to, "circle", colour,
                  hp_arena_printf(&arena, "%s: %.4g at %.4g", series->name, series->y[i],
                                  series->x[i]));
    }
    hp_arena_free(&arena);
}

/* The width that the title and the longest line of the legend need. */
static int width_of(const struct svg_plot *plot)
{
    enum { TITLE_CHARACTER = 11 };
    int width = WIDTH, title = 40 + (int)strlen(plot->title) * TITLE_CHARACTER;
    for (int s = 0; s < plot->n_series; s++) {
        int end = LEGEND + 24 + (int)strlen(plot->series[s].name) * CHARACTER + 20;
        width = end > width ? end : width;
    }
    return title > width ? title : width;
}

static void draw_legend(FILE *to, const struct svg_plot *plot)
{
    int most = (BOTTOM - TOP) / ROW;
    char buffer[8];
    for (int s = 0; s < plot->n_series && s < most; s++) {
        double y = TOP + 8 + s * ROW;
        fprintf(to, "<path d=\"M%d %dh18\" stroke=\"%s\" stroke-dasharray=\"%s\"", LEGEND,
                (int)y - 4, line_colour(plot, s, buffer),
                plot->n_categories ? "none" : line_dashes(plot, s));
        hp_svg_attribute(to, "stroke-width", plot->n_categories ? 9 : 3);
        hp_svg_attribute(to, "stroke-opacity", plot->n_categories ? strength(plot, s) : 1);
        fputs("/>\n", to);
        hp_svg_text(to, LEGEND + 24, y, SVG_START, 12,
                    s == most - 1 && plot->n_series > most ? "..." : plot->series[s].name);
    }
}

struct svg_series *hp_svg_series(struct arena *arena, struct svg_plot *plot, const char *name,
                                 int most)
{
    for (int i = 0; i < plot->n_series; i++)
        if (strcmp(plot->series[i].name, name) == 0)
            return &plot->series[i];
    plot->series[plot->n_series] = (struct svg_series){ .name = name,
                                                        .x = NEW(arena, double, most),
                                                        .y = NEW(arena, double, most) };
    return &plot->series[plot->n_series++];
}

void hp_svg_add(struct svg_series *series, double x, double y)
{
    int i = series->n++;
    for (; i > 0 && series->x[i - 1] > x; i--) {
        series->x[i] = series->x[i - 1];
        series->y[i] = series->y[i - 1];
    }
    series->x[i] = x;
    series->y[i] = y;
}

void hp_svg_swept_x(struct svg_plot *plot, int base)
{
    double low = INFINITY, high = 0;
    for (int s = 0; s < plot->n_series; s++)
        for (int i = 0; i < plot->series[s].n; i++) {
            low = fmin(low, plot->series[s].x[i]);
            high = fmax(high, plot->series[s].x[i]);
        }
    plot->log_x = low > 0 && high >= 4 * low ? base : 0;
    plot->x_chosen = true;
}

/* Names of categories ----------------------------------------------------------------- */

/* Names that do not fit side by side are turned, and cut to this number of characters. */
enum { LONGEST_NAME = 26, TURNED = 60 };

static double longest_name(const struct svg_plot *plot)
{
    size_t longest = 0;
    for (int i = 0; i < plot->n_categories; i++) {
        size_t length = strlen(plot->category[i]);
        longest = length > longest ? length : longest;
    }
    return (double)longest;
}

static bool turns_names(const struct svg_plot *plot)
{
    double room = (double)(RIGHT - LEFT) / plot->n_categories;
    return CHARACTER * longest_name(plot) + BETWEEN > room;
}

/* The height that turned names add. */
static int names_height(const struct svg_plot *plot)
{
    if (!plot->n_categories || !turns_names(plot))
        return 0;
    return (int)(0.87 * CHARACTER * fmin(longest_name(plot), LONGEST_NAME));
}

/* The beginning and the end of a long name: a machine's word begins with its topology, a path
 * ends with its file. A bar's tooltip has the whole name. */
static const char *short_name(char text[LONGEST_NAME + 1], const char *name)
{
    enum { BEGIN = 10, END = LONGEST_NAME - BEGIN - 3 };
    size_t length = strlen(name);
    if (length <= LONGEST_NAME)
        return name;
    snprintf(text, LONGEST_NAME + 1, "%.*s...%s", BEGIN, name, name + length - END);
    return text;
}

static void draw_categories(FILE *to, const struct svg_plot *plot, const struct axis *x)
{
    bool turned = turns_names(plot);
    double room = (double)(RIGHT - LEFT) / plot->n_categories;
    int every = turned ? (int)ceil(2 * BETWEEN / room) : 1; /* as many names as fit */
    for (int i = 0; i < plot->n_categories; i += every) {
        char text[LONGEST_NAME + 1];
        if (turned)
            hp_svg_turned_text(to, place(x, i) + 4, BOTTOM + 16, -TURNED, SVG_END, 12,
                               short_name(text, plot->category[i]));
        else
            hp_svg_text(to, place(x, i), BOTTOM + 18, SVG_MIDDLE, 12, plot->category[i]);
    }
}

/* ------------------------------------------------------------------------------------- */

void hp_svg_plot(FILE *to, const struct svg_plot *plot)
{
    struct axis x = span(plot, 0, plot->log_x), y = span(plot, 1, plot->log_y);
    hp_svg_begin(to, width_of(plot), BOTTOM + 62 + names_height(plot), plot->title,
                 plot->subtitle);
    if (plot->n_categories)
        draw_categories(to, plot, &x);
    else if (plot->x_chosen)
        draw_chosen_ticks(to, plot, &x);
    else
        draw_ticks(to, &x, 0);
    draw_ticks(to, &y, 1);
    hp_svg_line(to, LEFT, BOTTOM, RIGHT, BOTTOM, "#888", 1);
    hp_svg_line(to, LEFT, TOP, LEFT, BOTTOM, "#888", 1);
    for (int s = 0; s < plot->n_series; s++)
        draw_series(to, plot, s, &x, &y);
    if (plot->mark_x > 0 && !plot->n_categories)
        hp_svg_ring(to, place(&x, plot->mark_x), place(&y, plot->mark_y), 8, "#d55e00", 2.5);
    draw_legend(to, plot);
    hp_svg_text(to, (LEFT + RIGHT) / 2.0, BOTTOM + 44, SVG_MIDDLE, 13, plot->x_label);
    hp_svg_turned_text(to, 22, (TOP + BOTTOM) / 2.0, -90, SVG_MIDDLE, 13, plot->y_label);
    hp_svg_end(to);
}
