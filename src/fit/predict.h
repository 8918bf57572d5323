/* fit/predict.h - predicting a row of measurements with given figures. Internal. */
#ifndef FIT_PREDICT_H
#define FIT_PREDICT_H

#include "fit/measured.h"
#include "machine/machine.h"

/* The figures that a fit may change, by number: options of the device, then times of the
 * framework (hp_framework_time()). */
enum { MAX_TIMES = 8, FIGURE_COUNT = OPTION_COUNT + MAX_TIMES };

/* Values of figures; NAN: those of the row's machine, or of its plan. Many rows are predicted
 * with the same figures, so results that depend only on the figures are kept. */
struct predictor {
    const struct measured *measured;
    struct part part; /* of the device, with all figures */
    double value[FIGURE_COUNT];
    const struct hypar_framework *framework; /* of all steps; NULL: as each plan says */
    struct hypar_device device;
    struct arena arena, models;     /* models: of collectives, for these figures */
    struct hypar_machine **machine; /* by place; NULL: not made yet */
    int n_groups;                   /* groups of devices that run a collective */
    struct predicted_group *group;
    int *group_of; /* by row */
};

/* `part` has the initial figures; it and `measured` must outlive the predictor. */
void hp_predictor_begin(struct predictor *predictor, const struct measured *measured,
                        const struct part *part);
void hp_predictor_end(struct predictor *predictor);

/* Set the figures that are not NAN. */
void hp_predictor_set(struct predictor *predictor, const double value[FIGURE_COUNT]);

/* Seconds of a row; fails for steps that cannot be simulated. */
enum hypar_status hp_predict_row(struct predictor *predictor, int row, double *seconds,
                                 struct hypar_error *err);

/* May the row's time depend on this figure? */
bool hp_row_depends(const struct predictor *predictor, int row, int figure);

#endif /* FIT_PREDICT_H */
