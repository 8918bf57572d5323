/* figures.h - a paper's figures beside ours. A benchmark of a paper adds each point that it
 * prints; --csv FOLDER and --svg FOLDER write every figure as a table and as a picture, and
 * bench/summary.awk sums the tables up at the end of `make bench`. --figure NAME makes the
 * figures alone whose names begin so. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stdbool.h>
#include <stdio.h>

enum { FIGURE_POINTS = 512, FIGURE_TEXT = 64, FIGURE_NOTE = 256, FIGURE_NAMES = 32 };
enum { FIGURE_MAPS = 16, FIGURE_COLUMNS = 24, FIGURE_CELLS = 256 };

/* What a planner chooses for each layer at each level: "0011/0010", a digit for each column,
 * levels from the top. Both maps have the same form. */
struct figure_map {
    char row[FIGURE_TEXT], printed[FIGURE_CELLS], ours[FIGURE_CELLS];
    int n_columns;
    char column[FIGURE_COLUMNS][FIGURE_TEXT];
};

struct figures {
    const char *paper, *csv, *svg; /* folders; NULL: not asked for */
    const char *only;              /* how names begin that are asked for; NULL: all are */
    char known[FIGURE_NAMES][FIGURE_TEXT]; /* names that were asked about */
    int n_known, n_written;
    bool bars; /* the paper draws the figure at hand as bars */
    char name[FIGURE_TEXT], what[FIGURE_TEXT], unit[FIGURE_TEXT]; /* of the figure at hand */
    char note[FIGURE_NOTE];
    int n;
    struct figure_point {
        char row[FIGURE_TEXT], series[FIGURE_TEXT];
        double printed, ours;
    } point[FIGURE_POINTS];
    int n_maps; /* with maps the picture shows these, and the table the points */
    struct figure_map map[FIGURE_MAPS];
};

#define FIGURES_USAGE "[--csv FOLDER] [--svg FOLDER] [--figure NAME]"

/* Takes its three options out of the program's. */
void figures_begin(struct figures *f, const char *paper, int *argc, char **argv);

/* Is this figure asked for? A benchmark computes no other. Asks about each that it has. */
bool figure_wanted(struct figures *f, const char *name);

/* From here on points belong to figure `name`, which shows `what`; the one before is written.
 */
void figure(struct figures *f, const char *name, const char *what, const char *unit);

/* The paper draws the figure at hand as groups of bars: so do we. */
void figure_bars(struct figures *f);

/* What a reader of the figure at hand has to know, below its title. */
void figure_note(struct figures *f, const char *note);

/* A bar or a point of it: what the paper prints, and ours. Only what both have is compared. */
void figure_point(struct figures *f, const char *row, const char *series, double printed,
                  double ours);

/* A map of the figure at hand, which is to be filled; NULL: there are too many. */
struct figure_map *figure_map(struct figures *f);

/* A file for another picture, of figure `name`, to be closed by figure_close(); NULL: pictures
 * are not asked for. */
FILE *figure_picture(const struct figures *f, const char *name);
void figure_close(FILE *to);

/* Writes the picture of maps. */
void figure_write_maps(FILE *to, const struct figures *f, const char *title);

/* Writes the last one. No figure of the name that is asked for: exit code 2, and a line with
 * the names that there are. */
void figures_end(struct figures *f);

#endif /* BENCH_FIGURES_H */
