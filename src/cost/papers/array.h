/* cost/papers/array.h - time and energy of a step on HyPar's accelerator array, in closed form.
 * Internal. */
#ifndef COST_PAPERS_ARRAY_H
#define COST_PAPERS_ARRAY_H

#include <hypar/machine.h>
#include <hypar/plan.h>

/* HyPar's evaluation of its 16-accelerator array (HPCA 2019, section 6) as a formula. The
 * paper's simulator is not published; with these two constants, found by fitting, the formula
 * gives all 20 bars of its Figure 6 within 1 % when fed with the paper's own bytes. */
#define HP_ARRAY_OP_PER_S    84e9   /* of one accelerator: 168 PEs, 0.25 GHz, 2 operations */
#define HP_ARRAY_BYTES_PER_S 0.25e9 /* fitted: all bytes of the array, one after another */

/* Seconds of one step: three phases with two operations for every multiply-add (a convolution's
 * counted on its input map), then the exchange: each byte counts once for every hop (one on the
 * H-tree; more where partners are not neighbours). */
double hp_array_step_s(double macs, int n_devices, double bytes_times_hops);

/* The work of all devices in a step. */
struct array_work {
    double macs;       /* multiply-adds of the three phases */
    double dram_words; /* read or written once each, 32 bits */
    double sent_words; /* each is read at the sender, sent, and written at the receiver */
};

/* Joules. A multiply-add is one add, one multiply and three SRAM words (assumed), each as wide
 * as an element of this precision. A sent word counts for one link, whatever the distance. */
double hp_array_energy_j(const struct array_work *work, const struct hypar_device *device,
                         double link_j_per_bit, enum hypar_precision precision);

#endif /* COST_PAPERS_ARRAY_H */
