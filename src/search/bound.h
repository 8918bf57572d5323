/* search/bound.h - a step that no plan can be faster than. Internal.
 *
 * Whatever the stages, splits, micro-batches, schedule, recomputation, sharding and devices,
 * all devices together
 *
 *   - do each product once: in a kernel of its own, for as long as its arithmetic takes at the
 *     rate of the whole (smaller matrices are slower), or as its operands take to be read and
 *     written once;
 *   - read or write once, in each half, what other passes touch;
 *   - update each parameter once;
 *
 * and the time is shortest if they share that evenly. Besides, any part of any micro-batch goes
 * through a kernel of every product on the way to the loss and back, which takes some time
 * however small it is. No exchange is sure: plans differ in what moves, and may hide it. */
#ifndef SEARCH_BOUND_H
#define SEARCH_BOUND_H

#include "search/planner.h"

/* In seconds; all 0 where nothing is known: with a profile, and of models that cannot be
 * lowered. Plans of schedule pipedream do not wait for a micro-batch's way: .way_s is not for
 * them. */
struct hypar_bound hp_step_bound(const struct problem *problem);

#endif /* SEARCH_BOUND_H */
