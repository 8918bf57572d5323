/* search/predict.h - what a partition costs, in closed form. Internal. */
#ifndef SEARCH_PREDICT_H
#define SEARCH_PREDICT_H

#include "search/planner.h"

/* Fill found->prediction; found->plan is there already. */
void hp_predict(const struct problem *problem, const struct partition_problem *p,
                const struct partition *partition, struct hypar_found *found);

/* Bytes kept for one parameter: weight, gradient, master copy, optimizer state. */
double hp_state_bytes_per_param(enum hypar_precision precision, enum hypar_optimizer optimizer);

/* The device with the most parameters, and the bytes of their state. */
int hp_fullest_device(const struct hypar_plan *plan, double *state_bytes);

#endif /* SEARCH_PREDICT_H */
