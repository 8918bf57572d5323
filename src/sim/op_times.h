/* sim/op_times.h - how long one device computes each operator in a simulated step. Internal. */
#ifndef SIM_OP_TIMES_H
#define SIM_OP_TIMES_H

#include "sim/sim.h"

/* Seconds in a step (pipedream: in a minibatch). The tasks take as long as all operators
 * together, except where several operators share a kernel. */
struct op_times {
    double forward_s, backward_s; /* backward: with gradients and recomputation */
    int parts;                    /* on that device */
};

/* `out` has one entry for each operator of the simulated plan. */
void hp_op_times(const struct hypar_sim *sim, int device, struct op_times *out);

#endif /* SIM_OP_TIMES_H */
