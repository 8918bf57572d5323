/* search/evaluate/reduced.h - the simulated step of a large plan, from a small part of it.
 * Internal.
 *
 * Of all devices one of each kind is simulated (sim/subset.h), and a few micro-batches. From
 * then on each further micro-batch takes as long as the last ones did. */
#ifndef SEARCH_EVALUATE_REDUCED_H
#define SEARCH_EVALUATE_REDUCED_H

#include "search/evaluate/size.h"
#include "sim/step_totals.h"

struct reduced_step {
    double step_s;
    double error_s; /* it may be off by about this; 0: nothing was left out but copies */
    struct step_totals totals;   /* of all devices and micro-batches, exact */
    struct fullest memory;       /* the exact need of the fullest device (fit.h) ... */
    struct hypar_memory fullest; /* ... and all that it holds */
    int64_t instances;           /* of tasks: that were simulated ... */
    int64_t all_instances;       /* ... and that the whole has */
    int devices, all_devices;    /* likewise; that do something */
    int64_t micro_batches;       /* likewise, in the longest of its simulations */
    double crossed;              /* links, by messages each of whose ways was looked at */
};

/* Plans of schedule pipedream, and collectives message by message, are simulated as a whole.
 * Fails as hypar_simulate() does; HYPAR_INFEASIBLE soon after `stop` is set, NULL: nobody can.
 */
enum hypar_status hp_simulate_reduced(const struct problem *problem,
                                      const struct hypar_plan *plan,
                                      const volatile sig_atomic_t *stop,
                                      struct reduced_step *out, struct hypar_error *err);

#endif /* SEARCH_EVALUATE_REDUCED_H */
