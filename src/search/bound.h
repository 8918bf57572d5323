/* search/bound.h - a lower bound for the step of any plan. Internal.
 *
 * For any stages, splits, micro-batches, schedule, recomputation, sharding and devices, all
 * devices together
 *
 *   - compute each product once, in a kernel of its own: for at least the time of its
 * arithmetic at the rate of the whole product (smaller matrices are slower), and at least the
 * time to read and write its operands once;
 *   - read or write once, in each half, the tensors that other passes touch;
 *   - update each parameter once.
 *
 * The time is shortest if the devices share this work evenly. In addition, any part of any
 * micro-batch passes through a kernel of every product on its way to the loss and back; each
 * kernel takes a minimum time. Exchanges are not part of the bound: plans differ in their
 * exchanges, and may overlap them. */
#ifndef SEARCH_BOUND_H
#define SEARCH_BOUND_H

#include "search/planner.h"

/* In seconds; all 0 if nothing is known: with a profile, and for models that cannot be lowered.
 * .way_s does not hold for plans of schedule pipedream, which do not wait until a micro-batch
 * has passed all stages. */
struct hypar_bound hp_step_bound(const struct problem *problem);

#endif /* SEARCH_BOUND_H */
