/* cost/papers/transfer.h - t_X: moving a tensor between two configurations (OptCNN, section 4).
 * Internal.
 *
 * Three papers count an exchange in different ways: HyPar counts elements by the types of two
 * layers (cost/papers/partition.h), PipeDream bytes over the bandwidth of a level
 * (cost/papers/pipeline.h), OptCNN the bytes that cross each link (here).
 *
 * A program's exchanges (program/exchange/exchange.c) are computed differently. A program has
 * parts on any devices, and lists senders cell by cell. Here two placements on the first
 * devices are compared by sums alone, for every pair of configurations, without cells. Both use
 * the regions of src/split. */
#ifndef COST_PAPERS_TRANSFER_H
#define COST_PAPERS_TRANSFER_H

#include "cost/papers/topology_view.h"

/* One end of an edge: an operand of an operator. */
struct transfer_end {
    const struct nest *nest;
    int operand;
};

/* One edge of the graph, for all configurations of its ends. The reader's operand may reach
 * beyond the writer's tensor (a concat that reads an earlier one as a whole): only the elements
 * of the tensor count. */
struct transfer;

/* All placements that will be compared must have been made before (hp_place()). */
struct transfer *hp_transfer(struct arena *arena, struct topology_view *topology,
                             struct transfer_end from, struct transfer_end to);

/* Seconds to bring each part of the reader its elements, of `element_bytes` each: the link that
 * is held longest, and the latency of the longest route if anything moves. Elements that are on
 * the device already do not move; copies of written elements share the sending. */
double hp_transfer_s(struct transfer *transfer, const struct placement *from,
                     const struct placement *to, double element_bytes);

/* The same for all pairs: out[i * n_to + j]. */
void hp_transfer_table(struct transfer *transfer, const struct placement *from, int n_from,
                       const struct placement *to, int n_to, double element_bytes, double *out);

/* Elements that move to another device. */
double hp_transfer_elements(struct transfer *transfer, const struct placement *from,
                            const struct placement *to);

/* The same by visiting every pair of parts: for machines that are no trees, for placements
 * whose groups are no ranges, and for tests. */
double hp_transfer_routed_s(struct transfer *transfer, const struct placement *from,
                            const struct placement *to, double element_bytes);
double hp_transfer_routed_elements(struct transfer *transfer, const struct placement *from,
                                   const struct placement *to);

#endif /* COST_PAPERS_TRANSFER_H */
