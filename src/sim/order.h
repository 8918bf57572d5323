/* sim/order.h - the order in which devices and links serve the tasks of a step. Internal.
 *
 * The order is that of blocks (program/blocks.h) and depends on the training graph alone: not
 * on times, not on figures of the machine, not on how operators are split. It grows along all
 * edges. So every queue serves in one order on all machines, and no task can end later because
 * something has become faster (docs/simulator.md).
 *
 * Passes come by LEVEL: the work of the longest chain of passes before them, so that branches
 * and layers on devices of their own advance side by side; passes of one level in the order of
 * numbers. An exchange comes right after its last writer: first those that a pass waits for,
 * then the sums of the tail. Updates come last. */
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

#include "program/blocks.h"

/* The position of each block. Taken from `arena`. */
int *hp_block_order(const struct blocks *blocks, struct arena *arena);

#endif /* SIM_ORDER_H */
