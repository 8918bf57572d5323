/* hypar/fit.h - constants of a device and of a framework, fitted to measurements.
 *
 * Tables of measurements (docs/formats-measured.md) contain seconds of operators, steps and
 * collectives. Each row is predicted as the simulator does. The figures of the device that the
 * rows determine are changed until the predictions are nearest: robust least squares of the
 * logarithms of predicted over measured times. Tables of steps alone change how the steps were
 * run, too. */
#ifndef HYPAR_FIT_H
#define HYPAR_FIT_H

#include <hypar/framework.h>
#include <hypar/plan.h>
#include <hypar/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hypar_fit; /* opaque */

struct hypar_fit_options {
    const char *device; /* from the table of devices, or a device file: the initial figures */
    enum hypar_precision precision; /* of operators, if a table has no such column */
    /* The machine on which outputs of benchmarks were made, a word; NULL: as they tell. */
    const char *machine;
    /* Called with the path of each file that a table names before it is read, if given; any
     * status but HYPAR_OK ends reading with this status and the reason in *err. */
    enum hypar_status (*reads)(void *who, const char *path, struct hypar_error *err);
    void *who; /* passed to it */
};

/* Fit a device to the tables at `path` ("-": standard input). On success *out is to be released
 * with hypar_fit_free(). On failure *out is NULL: HYPAR_UNREADABLE, HYPAR_SYNTAX or
 * HYPAR_INVALID, with file and line, if a row cannot be read or predicted. */
HYPAR_API enum hypar_status hypar_fit(struct hypar_fit **out, const char *const *path,
                                      int n_paths, const struct hypar_fit_options *options,
                                      struct hypar_error *err);
HYPAR_API void hypar_fit_free(struct hypar_fit *fit); /* NULL is allowed */

/* A member of the framework, by its JSON name, whose value the rows change. */
struct hypar_fit_choice {
    const char *name, *before, *after;
    int rows; /* that the change moves by 1 % or more */
};

/* A fit as a whole; the fit owns the texts and arrays. */
struct hypar_fit_info {
    const char *device; /* the initial device */
    const char *source; /* where the new figures come from, in one line */
    int left_out; /* rows that were left out because their operators take no time: views */
    /* How the steps were run, as the rows tell it, named as in their plans; NULL: not all rows
     * are steps, or their plans tell of several ways. */
    const struct hypar_framework *framework;
    int n_choices;
    const struct hypar_fit_choice *choice; /* in the order in which they were found */
};
HYPAR_API struct hypar_fit_info hypar_fit_info(const struct hypar_fit *fit);

/* Reasons to doubt the fitted figures, one line each; NULL past the last. */
HYPAR_API const char *hypar_fit_doubt(const struct hypar_fit *fit, int i);

/* Write the fitted device, called `name`, as hypar-device/1 JSON, which machines can use. */
HYPAR_API void hypar_fit_write(const struct hypar_fit *fit, const char *name, FILE *to);

/* A figure of the device or of the framework, by its JSON name. */
struct hypar_fit_constant {
    const char *name;
    enum hypar_unit unit;
    double before, after; /* the same unless fitted */
    bool asked;           /* some row may depend on it ... */
    bool fitted;          /* ... and the rows determine it */
    double error;         /* standard error, relative */
    int rows; /* rows that depend on it: a change of it changes them by a tenth of this */
};

/* Constant `i`, false past the last. */
HYPAR_API bool hypar_fit_constant(const struct hypar_fit *fit, int i,
                                  struct hypar_fit_constant *out);

/* A row of a table. */
struct hypar_fit_row {
    const char *file;
    int line;
    const char *text; /* "linear n=8192 c=768 k=2304 y" */
    const char *kind; /* "linear", "update", "step", "all-reduce" */
    double measured_s, before_s, after_s;
    double held_out_s; /* predicted by constants fitted without it; 0: not done */
    bool outlier;      /* too far off to be used */
    const char
        *moves; /* the fitted figure that changes this row's prediction most; NULL: none */
};

/* Row `i`, in the order of the tables; false past the last. */
HYPAR_API bool hypar_fit_row(const struct hypar_fit *fit, int i, struct hypar_fit_row *out);

/* The errors of predictions, relative to the measured times. */
struct hypar_fit_errors {
    double median, mean, most; /* most: the largest within 95 % of the rows */
    double worst;              /* factor by which the worst is too long or too short */
    int beyond;                /* rows off by more than a factor of 2 */
};

/* Rows of one kind. */
struct hypar_fit_group {
    const char *kind; /* "all" */
    int rows;
    struct hypar_fit_errors before, after;
    bool has_held_out; /* each row by constants fitted without it and every fifth other row */
    struct hypar_fit_errors held_out;
};

/* Group `i`: all, then each kind in order of appearance, then, if there are several, each
 * precision; false past the last. */
HYPAR_API bool hypar_fit_group(const struct hypar_fit *fit, int i, struct hypar_fit_group *out);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_FIT_H */
