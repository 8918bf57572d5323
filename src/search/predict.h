/* search/predict.h - what a partition costs, in closed form. Internal. */
#ifndef SEARCH_PREDICT_H
#define SEARCH_PREDICT_H

#include "cost/work.h"
#include "search/planner.h"

/* By device: operations per second that it does of a step, samples being divided evenly into so
 * many parts. Where kernels of a device of the machine are known, all devices are timed by
 * cost/kernel.h, as in the simulator; else they reach their efficiency, and operations alone
 * take time, as in the papers. */
const double *hp_device_speeds(struct arena *arena, const struct problem *problem, int parts);

/* What a step is, however it is divided. */
struct step_work {
    double operations, macs;        /* of all passes of all operators */
    double peak_op_per_s, op_per_s; /* of all devices: at best, and by hp_device_speeds() */
    double one_device_s;            /* undivided, on a device of their mean speed */
    struct hypar_device device;     /* energies: means over the machine */
    double link_j_per_bit;
};
struct step_work hp_step_work(const struct problem *problem);

/* All of found->prediction that follows from its step_s and compute_s and from found->plan:
 * what is left of the step, speed and state. */
void hp_predict_step(const struct problem *problem, struct hypar_found *found);

/* All of a prediction that follows from the partition alone: not state_bytes; computation is
 * taken to be divided evenly. */
void hp_predict_partition(const struct problem *problem, const struct step_work *work,
                          const struct partition_problem *p, const struct partition *partition,
                          struct hypar_prediction *out);

/* Fill found->prediction; found->plan is there already. Its busiest device computes longest. */
void hp_predict(const struct problem *problem, const struct partition_problem *p,
                const struct partition *partition, struct hypar_found *found);

#endif /* SEARCH_PREDICT_H */
