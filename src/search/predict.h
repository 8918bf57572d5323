/* search/predict.h - the cost of a partition in closed form. Internal. */
#ifndef SEARCH_PREDICT_H
#define SEARCH_PREDICT_H

#include "cost/work.h"
#include "search/planner.h"

/* By device: its operations per second in a step whose samples are divided evenly into `parts`
 * parts. If kernels of any device of the machine are known, all devices are timed by
 * cost/kernel.h, as in the simulator. Else devices reach their efficiency, and only operations
 * take time, as in the papers. */
const double *hp_device_speeds(struct arena *arena, const struct problem *problem, int parts);

/* The work of a step, however it is divided. */
struct step_work {
    double operations, macs;        /* of all passes of all operators */
    double peak_op_per_s, op_per_s; /* of all devices: peak, and by hp_device_speeds() */
    double one_device_s;            /* time of the whole step on one device of mean speed */
    struct hypar_device device;     /* energies: means over the machine */
    double link_j_per_bit;
};
struct step_work hp_step_work(const struct problem *problem);

/* All of found->prediction that follows from its step_s and compute_s and from found->plan:
 * what is left of the step, speed and state. */
void hp_predict_step(const struct problem *problem, struct hypar_found *found);

/* The same, and the energy, which follows from found->prediction.comm_bytes and from
 * `macs_again`, multiply-adds of recomputation, and `dram_words`, which all devices read and
 * write. */
void hp_predict_closed(const struct problem *problem, double macs_again, double dram_words,
                       struct hypar_found *found);

/* All of a prediction that follows from the partition alone: not state_bytes; computation is
 * taken to be divided evenly. */
void hp_predict_partition(const struct problem *problem, const struct step_work *work,
                          const struct partition_problem *p, const struct partition *partition,
                          struct hypar_prediction *out);

/* Fill found->prediction from the partition and found->plan; the busiest device determines the
 * computation time. */
void hp_predict(const struct problem *problem, const struct partition_problem *p,
                const struct partition *partition, struct hypar_found *found);

#endif /* SEARCH_PREDICT_H */
