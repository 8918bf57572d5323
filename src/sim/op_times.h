/* sim/op_times.h - what a device computes in a simulated step, operator by operator. Internal.
 */
#ifndef SIM_OP_TIMES_H
#define SIM_OP_TIMES_H

#include "sim/sim.h"

/* Seconds of a step (pipedream: of a minibatch). Tasks add up to their sum, but where passes of
 * several operators are one kernel. */
struct op_times {
    double forward_s, backward_s; /* backward: with gradients, and what is computed again */
    int parts;                    /* on that device */
};

/* `out` has one for each operator of the plan that was simulated. */
void hp_op_times(const struct hypar_sim *sim, int device, struct op_times *out);

#endif /* SIM_OP_TIMES_H */
