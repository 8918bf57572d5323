/* report/svg/svg.h - the few shapes that the pictures are made of. Internal.
 *
 * Coordinates are pixels from the upper left corner. A picture is one file without outside
 * references, readable on a white and on a dark page: it brings its own background. */
#ifndef REPORT_SVG_SVG_H
#define REPORT_SVG_SVG_H

#include <hypar/report.h>
#include <stdio.h>

#include "base/arena.h"

/* Begin a picture with a title and one or two lines below it; end it. */
void hp_svg_begin(FILE *to, int width, int height, const char *title, const char *subtitle);
void hp_svg_end(FILE *to);

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

void hp_svg_text(FILE *to, double x, double y, enum svg_anchor anchor, int size,
                 const char *text);
void hp_svg_line(FILE *to, double x1, double y1, double x2, double y2, const char *colour,
                 double width);

/* ` name="12.5"`: a coordinate or a length, to a hundredth, the same in every locale. All
 * numbers with a fraction are written by this, or by the shapes, which are. */
void hp_svg_attribute(FILE *to, const char *name, double value);

/* "<rect" and "<circle" with where they are and how large; the caller goes on with how they
 * look, and ends them. */
void hp_svg_begin_rect(FILE *to, double x, double y, double width, double height);
void hp_svg_begin_circle(FILE *to, double x, double y, double radius);

/* Text around x, y, turned by so many degrees. */
void hp_svg_turned_text(FILE *to, double x, double y, int degrees, enum svg_anchor anchor,
                        int size, const char *text);

/* Text with what XML needs escaped. */
void hp_svg_escape(FILE *to, const char *text);

/* 0..1 -> a colour of one ramp, dark to bright, into buffer[8]. */
const char *hp_svg_ramp(char *buffer, double value);

/* Colour `i` of a few that are told apart, also by those who see fewer. */
const char *hp_svg_colour(int i);

/* A line to draw: points in the units of the axes. */
struct svg_series {
    const char *name;
    int n;
    double *x, *y;
    int hue;   /* one more than the number of its colour; 0: as its place among the lines */
    bool pale; /* bars: a paler tone of that colour */
};

struct svg_plot {
    const char *title, *subtitle, *x_label, *y_label;
    int log_x, log_y; /* the base of a logarithmic axis; 0: linear */
    bool x_chosen;    /* the marks of the x axis stand at the points, as somebody chose them */
    enum hypar_unit x_unit, y_unit;
    int n_categories; /* bars over so many words, and x is their number; 0: lines */
    const char *const *category;
    int shaded;            /* lines are in an order, and their colours shades of one ramp */
    double mark_x, mark_y; /* a point with a ring around it; mark_x 0: none */
    int n_series;
    struct svg_series *series;
};

/* The line of that name, which is added where there is none; the plot has room for it, and it
 * has for `most` points. */
struct svg_series *hp_svg_series(struct arena *arena, struct svg_plot *plot, const char *name,
                                 int most);

/* A point of a line, in its place by x. */
void hp_svg_add(struct svg_series *series, double x, double y);

/* Along values of x that somebody chose: logarithmic to this base if they are positive and span
 * much. */
void hp_svg_swept_x(struct svg_plot *plot, int base);

/* Lines over common axes, or bars over words, with a legend. */
void hp_svg_plot(FILE *to, const struct svg_plot *plot);

/* The pictures of results, which the functions of hypar/report.h write as HYPAR_SVG. */
void hp_plan_svg(FILE *to, const struct hypar_plan *plan,
                 const struct hypar_sim_summary *step /* may be NULL */);
void hp_timeline_svg(FILE *to, const struct hypar_sim *sim);
void hp_comparison_svg(FILE *to, const struct hypar_comparison *comparison);
void hp_exploration_svg(FILE *to, const struct hypar_exploration *exploration);
void hp_sweep_svg(FILE *to, const struct hypar_sweep *sweep);

#endif /* REPORT_SVG_SVG_H */
