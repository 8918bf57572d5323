/* sim/step_totals.h - what a step sends and what energy it takes: sums over all tasks, which do
 * not depend on when they are done. Internal. */
#ifndef SIM_STEP_TOTALS_H
#define SIM_STEP_TOTALS_H

#include "sim/timing.h"

struct step_totals {
    double comm_bytes, link_bytes; /* as in struct hypar_sim_summary */
    struct hypar_energy energy;    /* but for idle power, which depends on the step */
};

/* Adds what each directed link carries to link[].bytes, unless `link` is NULL. */
struct step_totals hp_step_totals(struct timing *timing, struct hypar_sim_link *link);

#endif /* SIM_STEP_TOTALS_H */
