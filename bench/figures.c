/* Writing figures: tables for programs, and pictures. A picture has groups of bars where the
 * paper has, else a line for each point, the paper's and ours on a logarithmic axis. */
#include "bench/figures.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/svg/svg.h"

void figures_begin(struct figures *f, const char *paper, int *argc, char **argv)
{
    int kept = 1;
    *f = (struct figures){ .paper = paper };
    for (int i = 1; i < *argc; i++) {
        const char **value = strcmp(argv[i], "--csv") == 0      ? &f->csv
                             : strcmp(argv[i], "--svg") == 0    ? &f->svg
                             : strcmp(argv[i], "--figure") == 0 ? &f->only
                                                                : NULL;
        if (!value) {
            argv[kept++] = argv[i];
        } else if (i + 1 < *argc) {
            *value = argv[++i];
            if (value != &f->only)
                mkdir(*value, 0777); /* it may be there; opening files tells */
        } else {
            fprintf(stderr, "%s: %s takes a %s\n", argv[0], argv[i],
                    value == &f->only ? "name" : "folder");
            exit(2);
        }
    }
    *argc = kept;
    argv[kept] = NULL;
}

bool figure_wanted(struct figures *f, const char *name)
{
    if (f->n_known < FIGURE_NAMES)
        snprintf(f->known[f->n_known++], FIGURE_TEXT, "%s", name);
    return !f->only || strncmp(name, f->only, strlen(f->only)) == 0;
}

/* "FOLDER/hypar-figure-6-a.csv" of HyPar's "Figure 6 (a)". */
static FILE *open_named(const struct figures *f, const char *figure, const char *folder,
                        const char *ending)
{
    char path[1024], name[2 * FIGURE_TEXT];
    size_t n = 0;
    snprintf(name, sizeof name, "%s-%s", f->paper, figure);
    for (const char *c = name; *c; c++)
        if (isalnum((unsigned char)*c))
            name[n++] = (char)tolower((unsigned char)*c);
        else if (n && name[n - 1] != '-')
            name[n++] = '-';
    name[n && name[n - 1] == '-' ? n - 1 : n] = '\0';
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    FILE *to = fopen(path, "w");
    if (!to) {
        perror(path);
        exit(4);
    }
    if (f->only)
        printf("%s\n", path);
    return to;
}

static FILE *open_figure(const struct figures *f, const char *folder, const char *ending)
{
    return open_named(f, f->name, folder, ending);
}

FILE *figure_picture(const struct figures *f, const char *name)
{
    return f->svg ? open_named(f, name, f->svg, "svg") : NULL;
}

void figure_close(FILE *to)
{
    if (ferror(to) || fclose(to) != 0) {
        perror("figure");
        exit(4);
    }
}

static void write_csv(const struct figures *f)
{
    FILE *to = open_figure(f, f->csv, "csv");
    fputs("paper,figure,what,unit,row,series,printed,ours,ratio\n", to);
    for (int i = 0; i < f->n; i++) {
        const struct figure_point *p = &f->point[i];
        fprintf(to, "\"%s\",\"%s\",\"%s\",\"%s\",\"%s\",\"%s\",%.6g,%.6g,%.6g\n", f->paper,
                f->name, f->what, f->unit, p->row, p->series, p->printed, p->ours,
                p->ours / p->printed);
    }
    figure_close(to);
}

/* Pictures ------------------------------------------------------------------------------ */

enum { WIDTH = 940, LEFT = 330, RIGHT = 770, PRINTED = 850, OURS = 920, TOP = 92, LINE = 17 };

struct scale {
    double low, high;
};

static struct scale scale_of(const struct figures *f)
{
    struct scale s = { INFINITY, 0 };
    for (int i = 0; i < f->n; i++) {
        s.low = fmin(s.low, fmin(f->point[i].printed, f->point[i].ours));
        s.high = fmax(s.high, fmax(f->point[i].printed, f->point[i].ours));
    }
    s.low /= 1.1;
    s.high *= 1.1;
    return s;
}

static double place(const struct scale *s, double value)
{
    return LEFT + (RIGHT - LEFT) * log(value / s->low) / log(s->high / s->low);
}

static void draw_tick(FILE *to, const struct scale *s, double value, bool labelled, int bottom)
{
    char text[32];
    double x = place(s, value);
    if (value < s->low || value > s->high)
        return;
    hp_svg_line(to, x, TOP - 10, x, bottom, labelled ? "#d4d4d4" : "#f0f0f0", 1);
    snprintf(text, sizeof text, "%.4g", value);
    if (labelled)
        hp_svg_text(to, x, bottom + 18, SVG_MIDDLE, 12, text);
}

/* 1, 2, 5 times a power of ten: the least that divides the scale into at most ten. */
static double round_step(const struct scale *s)
{
    double least = (s->high - s->low) / 10, power = pow(10, floor(log10(least)));
    return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}

/* Within a power of ten in equal steps; else all of 1 to 9, of which 2 and 5 have their number
 * where there is room for it. */
static void draw_scale(FILE *to, const struct scale *s, int bottom)
{
    enum { ROOM = 115 };
    double step = round_step(s), decade = (RIGHT - LEFT) / log10(s->high / s->low);
    if (s->high < 10 * s->low) {
        for (double i = ceil(s->low / step); i * step <= s->high; i++)
            draw_tick(to, s, i * step, true, bottom);
        return;
    }
    for (double power = pow(10, floor(log10(s->low))); power <= s->high; power *= 10)
        for (int part = 1; part < 10; part++)
            draw_tick(to, s, part * power,
                      part == 1 || ((part == 2 || part == 5) && decade >= ROOM), bottom);
}

static void draw_values(FILE *to, double y, const char *printed, const char *ours)
{
    hp_svg_text(to, PRINTED, y + 4, SVG_END, 12, printed);
    hp_svg_text(to, OURS, y + 4, SVG_END, 12, ours);
}

static void draw_point(FILE *to, const struct scale *s, const struct figure_point *p, double y,
                       const char *colour)
{
    double printed = place(s, p->printed), ours = place(s, p->ours);
    hp_svg_line(to, printed, y, ours, y, colour, 1.5);
    hp_svg_begin_circle(to, printed, y, 5);
    fprintf(to, " fill=\"#fff\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", colour);
    hp_svg_begin_circle(to, ours, y, 3);
    fprintf(to, " fill=\"%s\"><title>", colour);
    hp_svg_escape(to, p->row);
    fputs(", ", to);
    hp_svg_escape(to, p->series);
    fprintf(to, ": paper %.4g, ours %.4g</title></circle>\n", p->printed, p->ours);
}

/* The colour of a series: its number among those that the figure has. */
static int series_number(const struct figures *f, int point)
{
    int number = 0;
    for (int i = 0; i < f->n; i++) {
        bool first = true;
        for (int k = 0; k < i; k++)
            first &= strcmp(f->point[k].series, f->point[i].series) != 0;
        if (strcmp(f->point[i].series, f->point[point].series) == 0)
            return number;
        number += first;
    }
    return number;
}

/* Bars ---------------------------------------------------------------------------------- */

/* The number of a row's word among the categories, to which it is added. */
static int category_of(struct svg_plot *plot, const char **category, const char *row)
{
    for (int i = 0; i < plot->n_categories; i++)
        if (strcmp(category[i], row) == 0)
            return i;
    category[plot->n_categories] = row;
    return plot->n_categories++;
}

/* Does the paper print one number for all series of a row? */
static bool printed_once(const struct figures *f)
{
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(f->point[k].row, f->point[i].row) == 0 &&
                f->point[k].printed != f->point[i].printed)
                return false;
    return true;
}

/* "mp, ours"; of figures without series, and of what the paper prints for all, one word. Bars
 * of one series have one colour, the paper's a paler tone of it. */
static struct svg_series *bars_of(struct arena *arena, struct svg_plot *plot,
                                  const char *series, bool printed, int hue)
{
    struct svg_series *bars =
        hp_svg_series(arena, plot,
                      hp_arena_printf(arena, "%s%s%s", series, *series ? ", " : "",
                                      printed ? "paper" : "ours"),
                      FIGURE_POINTS);
    bars->hue = hue;
    bars->pale = printed;
    return bars;
}

/* What stands below the title: how to read the picture, then the note. */
static const char *subtitle_of(struct arena *arena, const struct figures *f,
                               const char *reading)
{
    return hp_arena_printf(arena, "%s%s%s", reading, *f->note ? "; " : "", f->note);
}

static void write_bars(const struct figures *f)
{
    struct arena arena = { 0 };
    const char **category = NEW(&arena, const char *, f->n);
    bool once = printed_once(f);
    struct scale s = scale_of(f);
    bool logarithmic = s.high > 20 * s.low;
    enum { GREY = 7 }; /* what the paper prints for all series has a colour of its own */
    struct svg_plot plot = {
        .title = hp_arena_printf(&arena, "%s, %s: %s", f->paper, f->name, f->what),
        .subtitle = subtitle_of(&arena, f, "the paper's bars beside ours"),
        .y_label = hp_arena_printf(&arena, "%s%s%s%s", f->what, *f->unit ? ", " : "", f->unit,
                                   logarithmic ? ", logarithmic scale" : ""),
        .x_label = "",
        .log_y = logarithmic ? 10 : 0,
        .x_unit = HYPAR_UNIT_COUNT,
        .y_unit = HYPAR_UNIT_COUNT,
        .category = category,
        .series = NEW(&arena, struct svg_series, 2 * f->n),
    };
    for (int i = 0; i < f->n; i++) {
        const struct figure_point *p = &f->point[i];
        int at = category_of(&plot, category, p->row);
        int hue = 1 + series_number(f, i);
        struct svg_series *printed =
            bars_of(&arena, &plot, once ? "" : p->series, true, once ? GREY : hue);
        if (!printed->n || (int)printed->x[printed->n - 1] != at)
            hp_svg_add(printed, at, p->printed);
        hp_svg_add(bars_of(&arena, &plot, p->series, false, hue), at, p->ours);
    }
    FILE *to = open_figure(f, f->svg, "svg");
    hp_svg_plot(to, &plot);
    figure_close(to);
    hp_arena_free(&arena);
}

/* Points and lines ---------------------------------------------------------------------- */

static void write_points(const struct figures *f)
{
    FILE *to = open_figure(f, f->svg, "svg");
    struct scale s = scale_of(f);
    int bottom = TOP + LINE * f->n;
    struct arena arena = { 0 };
    const char *reading =
        hp_arena_printf(&arena, "rings: the paper's; dots: ours; a logarithmic scale%s%s",
                        *f->unit ? "; in " : "", f->unit);
    hp_svg_begin(to, WIDTH, bottom + 36,
                 hp_arena_printf(&arena, "%s, %s: %s", f->paper, f->name, f->what),
                 subtitle_of(&arena, f, reading));
    draw_scale(to, &s, bottom);
    draw_values(to, TOP - LINE - 5, "paper", "ours");
    for (int i = 0; i < f->n; i++) {
        const struct figure_point *p = &f->point[i];
        char label[2 * FIGURE_TEXT + 2], printed[32], ours[32];
        double y = TOP + LINE * i;
        snprintf(label, sizeof label, "%s%s%s", p->row, *p->series ? ", " : "", p->series);
        hp_svg_text(to, LEFT - 10, y + 4, SVG_END, 12, label);
        snprintf(printed, sizeof printed, "%.3g", p->printed);
        snprintf(ours, sizeof ours, "%.3g", p->ours);
        draw_values(to, y, printed, ours);
        draw_point(to, &s, p, y, hp_svg_colour(series_number(f, i)));
    }
    hp_svg_end(to);
    figure_close(to);
    hp_arena_free(&arena);
}

/* Maps ---------------------------------------------------------------------------------- */

static void write_maps(const struct figures *f)
{
    struct arena arena = { 0 };
    FILE *to = open_figure(f, f->svg, "svg");
    figure_write_maps(to, f,
                      hp_arena_printf(&arena, "%s, %s: dp or mp for each layer and level",
                                      f->paper, f->name));
    figure_close(to);
    hp_arena_free(&arena);
}

struct figure_map *figure_map(struct figures *f)
{
    return f->n_maps < FIGURE_MAPS ? &f->map[f->n_maps++] : NULL;
}

/* Points -------------------------------------------------------------------------------- */

static void write_figure(struct figures *f)
{
    if (f->n && f->csv)
        write_csv(f);
    if (f->n && f->svg)
        (f->n_maps ? write_maps : f->bars ? write_bars : write_points)(f);
    f->n_written += f->n > 0;
    f->n = f->n_maps = 0;
    f->bars = false;
}

void figure(struct figures *f, const char *name, const char *what, const char *unit)
{
    write_figure(f);
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(f->what, sizeof f->what, "%s", what);
    snprintf(f->unit, sizeof f->unit, "%s", unit);
    *f->note = '\0';
}

void figure_bars(struct figures *f)
{
    f->bars = true;
}

void figure_note(struct figures *f, const char *note)
{
    snprintf(f->note, sizeof f->note, "%s", note);
}

void figure_point(struct figures *f, const char *row, const char *series, double printed,
                  double ours)
{
    if (f->n == FIGURE_POINTS || !(printed > 0) || !(ours > 0) || !isfinite(ours))
        return;
    struct figure_point *p = &f->point[f->n++];
    snprintf(p->row, sizeof p->row, "%s", row);
    snprintf(p->series, sizeof p->series, "%s", series);
    p->printed = printed;
    p->ours = ours;
}

void figures_end(struct figures *f)
{
    write_figure(f);
    if (f->only && !f->n_written) {
        fprintf(stderr, "bench: no figure of %s is called '%s...', expected ", f->paper,
                f->only);
        for (int i = 0; i < f->n_known; i++)
            fprintf(stderr, "%s'%s'", i ? ", " : "", f->known[i]);
        fputc('\n', stderr);
        exit(2);
    }
}
