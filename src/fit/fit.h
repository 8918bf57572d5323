/* fit/fit.h - the inside of a fitted device. Internal.
 *
 * A constant is an option of machine words or a time of the framework (constants.c); its
 * logarithm is a variable of the least-squares problem. */
#ifndef FIT_FIT_H
#define FIT_FIT_H

#include "fit/least_squares.h"
#include "fit/predict.h"

struct constant_row {
    int figure;
    const char *name;
    enum hypar_unit unit;
    double start;       /* for a device without a value */
    double low, high;   /* its bounds */
    double least, most; /* bounds of the search; at `least` it counts as 0 */
};

/* Constant `i`, in the order of figures; false past the last. */
bool hp_constant(int i, struct constant_row *out);

struct fit_group {
    const char *kind;
    int n, *row;
};

struct hypar_fit {
    struct arena arena;
    struct measured measured;
    struct hypar_machine *machine; /* one that has the device */
    const char *device, *source;
    int n_constants;
    struct hypar_fit_constant *constant;
    struct constant_row *row;   /* of each */
    double value[FIGURE_COUNT]; /* fitted; NAN: unchanged */
    bool has_framework;         /* all rows are steps, run as one framework: */
    struct hypar_framework framework;
    int n_choices, choice_capacity;
    struct hypar_fit_choice *choice;
    const char *alike; /* alternatives that explain the rows as well; NULL: none */
    double *before_s, *after_s, *held_out_s;
    bool *outlier;
    const char **moves; /* by row: the fitted figure that changes this row's prediction most;
                           NULL: none */
    bool has_held_out;
    int left_out;
    int n_groups;
    struct fit_group *group;
    int n_doubts, doubt_capacity;
    const char **doubt;
};

/* errors.c: the groups of rows, and the errors of each. */
void hp_fit_make_groups(struct hypar_fit *fit);

/* doubts.c: why the fitted figures may not be the device's. */
void hp_fit_find_doubts(struct hypar_fit *fit);

#endif /* FIT_FIT_H */
