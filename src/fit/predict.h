/* fit/predict.h - what the simulator says of a row of measurements. Internal. */
#ifndef FIT_PREDICT_H
#define FIT_PREDICT_H

#include "fit/measured.h"
#include "machine/machine.h"

/* Figures of the device by option; NAN: as the machine of a row says. Predictions are asked for
 * many rows with the same figures: what follows from these alone is kept. */
struct predictor {
    const struct measured *measured;
    struct part part; /* of the device, with all figures */
    double value[OPTION_COUNT];
    struct hypar_device device;
    struct arena arena, models;     /* models: of collectives, with these figures */
    struct hypar_machine **machine; /* by place; NULL: not made yet */
    int n_groups;                   /* of devices that do a collective */
    struct predicted_group *group;
    int *group_of; /* by row */
};

/* `part` has the figures to begin with; it and `measured` must outlive the predictor. */
void hp_predictor_begin(struct predictor *predictor, const struct measured *measured,
                        const struct part *part);
void hp_predictor_end(struct predictor *predictor);

/* From now on the device has these figures where they are not NAN. */
void hp_predictor_set(struct predictor *predictor, const double value[OPTION_COUNT]);

/* Seconds of a row; fails for steps that cannot be simulated. */
enum hypar_status hp_predict_row(struct predictor *predictor, int row, double *seconds,
                                 struct hypar_error *err);

/* May the row's time depend on this option? */
bool hp_row_depends(const struct predictor *predictor, int row, enum option option);

#endif /* FIT_PREDICT_H */
