/* fit/measured.h - rows of measurements in the form in which they are predicted. Internal. */
#ifndef FIT_MEASURED_H
#define FIT_MEASURED_H

#include <hypar/fit.h>

#include "base/arena.h"
#include "base/files/csv.h"
#include "fit/one_op.h"
#include "split/comm.h"

enum measured_kind { MEASURED_OP, MEASURED_UPDATE, MEASURED_STEP, MEASURED_COLLECTIVE };

struct measured_row {
    enum measured_kind kind;
    const char *file, *text, *group;
    int line;
    double seconds;
    enum hypar_precision precision;
    enum hypar_kernel_mode framework;
    struct one_op op; /* MEASURED_OP */
    double elements;  /* MEASURED_UPDATE */
    enum hypar_optimizer optimizer;
    struct hypar_plan *plan; /* MEASURED_STEP */
    int place;               /* MEASURED_COLLECTIVE: of struct measured */
    enum comm_kind comm;
    int devices;
    double bytes;
};

/* A machine on which collectives were measured. */
struct measured_place {
    const char *word;
    struct hypar_machine *machine;
};

struct measured {
    struct arena arena;
    int n_rows, capacity;
    struct measured_row *row;
    int n_places, place_capacity;
    struct measured_place *place;
};

/* Add the rows of a table. `device` is the name of the measured device, `word` its name in
 * machine words. */
struct measured_reading {
    const char *device, *word;
    const char *folder; /* paths in the table are relative to it; ends in '/' */
    const struct hypar_fit_options *options;
};
enum hypar_status hp_measured_add(struct measured *measured, const struct csv *csv,
                                  const struct measured_reading *how, struct hypar_error *err);

/* Remove the rows for which `keep` is false. */
void hp_measured_keep(struct measured *measured, const bool *keep);

/* Release the rows' objects and the arena. */
void hp_measured_free(struct measured *measured);

#endif /* FIT_MEASURED_H */
