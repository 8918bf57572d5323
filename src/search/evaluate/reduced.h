/* search/evaluate/reduced.h - the simulated step of a large plan, from a small part of it.
 * Internal.
 *
 * One device of each kind (sim/subset.h) and the first micro-batches are simulated. Each
 * further micro-batch takes as long as the last of these. */
#ifndef SEARCH_EVALUATE_REDUCED_H
#define SEARCH_EVALUATE_REDUCED_H

#include "search/evaluate/size.h"
#include "sim/step_totals.h"

struct reduced_step {
    double step_s;
    double error_s; /* the step may be off by about this; 0: only copies were left out */
    struct step_totals totals;   /* of all devices and micro-batches, exact */
    struct fullest memory;       /* the exact need of the fullest device (room.h) ... */
    struct hypar_memory fullest; /* ... and all that the device holds */
    int64_t instances;           /* of tasks that were simulated ... */
    int64_t all_instances;       /* ... and of all tasks of the plan */
    int devices, all_devices;    /* likewise, devices that do something */
    int64_t micro_batches;       /* that were simulated, in the longest simulation */
    double crossed; /* links on the routes of all messages whose routes were compared */
};

/* Plans of schedule pipedream, and collectives message by message, are simulated as a whole.
 * Fails as hypar_simulate() does; HYPAR_INFEASIBLE soon after `stop` is set. `stop` may be
 * NULL. */
enum hypar_status hp_simulate_reduced(const struct problem *problem,
                                      const struct hypar_plan *plan,
                                      const volatile sig_atomic_t *stop,
                                      struct reduced_step *out, struct hypar_error *err);

#endif /* SEARCH_EVALUATE_REDUCED_H */
