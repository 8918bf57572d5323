/* sim/step_totals.h - bytes and energy of a step: sums over all tasks, independent of their
 * times. Internal. */
#ifndef SIM_STEP_TOTALS_H
#define SIM_STEP_TOTALS_H

#include "sim/timing.h"

struct step_totals {
    double comm_bytes, link_bytes; /* as in struct hypar_sim_summary */
    struct hypar_energy
        energy; /* without idle power, which depends on the length of the step */
};

/* Sum up. Adds the bytes on each directed link to link[].bytes, unless `link` is NULL. */
struct step_totals hp_step_totals(struct timing *timing, struct hypar_sim_link *link);

/* Add the idle energy of devices during the step. If all devices have a power limit, their
 * joules are cut to it: exchanges that overlap kernels at the limit, and measured times, would
 * exceed it. */
void hp_finish_energy(struct hypar_energy *energy, const struct hypar_machine *machine,
                      double step_s);

#endif /* SIM_STEP_TOTALS_H */
