/* report/svg/svg.h - shapes and plots for pictures. Internal.
 *
 * Coordinates are pixels from the upper left corner. A picture is one file without outside
 * references. It has its own background, so it is readable on a white and on a dark page. */
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

/* Write ` name="12.5"`: a coordinate or a length, to a hundredth, the same in every locale. All
 * fractional numbers are written by this function, also by the shapes. */
void hp_svg_attribute(FILE *to, const char *name, double value);

/* Write "<rect" and "<circle" with position and size; the caller adds the style and ends
 * them. */
void hp_svg_begin_rect(FILE *to, double x, double y, double width, double height);
void hp_svg_begin_circle(FILE *to, double x, double y, double radius);

/* A filled box; a viewer shows `title` under the pointer (NULL: nothing). A circle without
 * filling. */
void hp_svg_box(FILE *to, double x, double y, double width, double height, const char *fill,
                const char *title);
void hp_svg_ring(FILE *to, double x, double y, double radius, const char *colour, double width);

/* Text around x, y, turned by `degrees`. */
void hp_svg_turned_text(FILE *to, double x, double y, int degrees, enum svg_anchor anchor,
                        int size, const char *text);

/* Write text with XML's special characters escaped. */
void hp_svg_escape(FILE *to, const char *text);

/* A colour of a ramp from dark (0) to bright (1), written to buffer[8]. */
const char *hp_svg_ramp(char *buffer, double value);

/* Colour `i` of a few that are easy to distinguish, also with colour blindness. */
const char *hp_svg_colour(int i);

/* The distance of the marks of a linear axis: 1, 2 or 5 times a power of ten; 0 of none. */
double hp_svg_tick_step(double range);

/* A line to draw: points in the units of the axes. */
struct svg_series {
    const char *name;
    int n;
    double *x, *y;
    int hue;   /* the number of its colour, plus one; 0: by its position among the lines */
    bool pale; /* bars: a paler tone of this colour */
};

struct svg_plot {
    const char *title, *subtitle, *x_label, *y_label;
    int log_x, log_y; /* the base of a logarithmic axis; 0: linear */
    bool x_chosen;    /* the marks of the x axis are at the points */
    enum hypar_unit x_unit, y_unit;
    int n_categories; /* number of bars' names, x is their index; 0: lines */
    const char *const *category;
    int shaded;            /* lines are ordered: their colours are shades of one ramp */
    double mark_x, mark_y; /* a point with a ring around it; mark_x 0: none */
    int n_series;
    struct svg_series *series;
};

/* The line with this name; it is added if there is none. The plot must have room for it; the
 * line has room for `most` points. */
struct svg_series *hp_svg_series(struct arena *arena, struct svg_plot *plot, const char *name,
                                 int most);

/* Add a point to a line, in the order of x. */
void hp_svg_add(struct svg_series *series, double x, double y);

/* Choose the scale for the given values of x: logarithmic to this base if they are positive and
 * span a wide range. */
void hp_svg_swept_x(struct svg_plot *plot, int base);

/* Draw lines over common axes, or bars over names, with a legend. */
void hp_svg_plot(FILE *to, const struct svg_plot *plot);

/* The pictures of results, which the functions of hypar/report.h write as HYPAR_SVG. */
void hp_plan_svg(FILE *to, const struct hypar_plan *plan,
                 const struct hypar_sim_summary *step /* may be NULL */);
void hp_timeline_svg(FILE *to, const struct hypar_sim *sim);
void hp_comparison_svg(FILE *to, const struct hypar_comparison *comparison);
void hp_exploration_svg(FILE *to, const struct hypar_exploration *exploration);
void hp_sweep_svg(FILE *to, const struct hypar_sweep *sweep);

#endif /* REPORT_SVG_SVG_H */
