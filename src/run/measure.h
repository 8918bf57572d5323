/* run/measure.h - measuring the calls of a training run, for a profile. Internal to run/. */
#ifndef RUN_MEASURE_H
#define RUN_MEASURE_H

#include "run/trainer.h"

/* The measurements of one process. */
struct measuring;
struct measuring *hp_measuring_new(const struct hypar_graph *graph);
void hp_measuring_free(struct measuring *measuring); /* NULL is allowed */

/* executor_settings.timed; `who` is the trainer. */
void hp_measure_work(void *who, const struct timed_work *work);

/* Gather the measurements of all ranks in rank 0's profile; all ranks call this. */
enum hypar_status hp_measuring_end(struct trainer *t, struct hypar_profile *profile,
                                   struct hypar_error *err);

/* For n > 0 values, which get sorted: the mean of those between the quartiles, which is robust
 * against noise, and the quartiles. */
double hp_middle_mean(double *value, int64_t n, double *low, double *high);

#endif /* RUN_MEASURE_H */
