/* search/predict.h - what a partition costs, in closed form. Internal. */
#ifndef SEARCH_PREDICT_H
#define SEARCH_PREDICT_H

#include "search/planner.h"

/* What a step is, however it is divided. */
struct step_work {
    double operations, macs;        /* of all passes of all operators */
    double peak_op_per_s, op_per_s; /* of all devices: at best, and as dense kernels reach */
};
struct step_work hp_step_work(const struct problem *problem);

/* All of a prediction that follows from the partition alone: not state_bytes. */
void hp_predict_partition(const struct problem *problem, const struct step_work *work,
                          const struct partition_problem *p, const struct partition *partition,
                          struct hypar_prediction *out);

/* Fill found->prediction and found->fullest; found->plan is there already. */
void hp_predict(const struct problem *problem, const struct partition_problem *p,
                const struct partition *partition, struct hypar_found *found);

/* Bytes kept for one parameter: weight, gradient, master copy, optimizer state. */
double hp_state_bytes_per_param(enum hypar_precision precision, enum hypar_optimizer optimizer);

#endif /* SEARCH_PREDICT_H */
