/* figures.h - a paper's figures beside ours. A benchmark of a paper adds each point that it
 * prints; --csv FOLDER and --svg FOLDER write every figure as a table and as a picture, and
 * bench/summary.awk sums the tables up at the end of `make bench`. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

enum { FIGURE_POINTS = 512, FIGURE_TEXT = 64 };

struct figures {
    const char *paper, *csv, *svg; /* folders; NULL: not asked for */
    char name[FIGURE_TEXT], what[FIGURE_TEXT], unit[FIGURE_TEXT]; /* of the figure at hand */
    int n;
    struct figure_point {
        char row[FIGURE_TEXT], series[FIGURE_TEXT];
        double printed, ours;
    } point[FIGURE_POINTS];
};

#define FIGURES_USAGE "[--csv FOLDER] [--svg FOLDER]"

/* Takes its two options out of the program's. */
void figures_begin(struct figures *f, const char *paper, int *argc, char **argv);

/* From here on points belong to figure `name`, which shows `what`; the one before is written.
 */
void figure(struct figures *f, const char *name, const char *what, const char *unit);

/* A bar or a point of it: what the paper prints, and ours. Only what both have is compared. */
void figure_point(struct figures *f, const char *row, const char *series, double printed,
                  double ours);

void figures_end(struct figures *f);

#endif /* BENCH_FIGURES_H */
