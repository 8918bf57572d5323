/* cost/transfer.h - t_X: moving a tensor between two layouts (OptCNN, section 4). Internal.
 *
 * Three papers count an exchange, and share no more than the word: HyPar elements by the types
 * of two layers (cost/partition.h), PipeDream bytes over the bandwidth of a level
 * (cost/pipeline.h), OptCNN here what crosses each link.
 *
 * What a program moves (program/exchange.c) is not this: that is of parts anywhere, cell by
 * cell with who sends, while here two placements on the first devices are weighed by sums
 * alone, for every pair of configurations, and no cell is made. Both have regions from
 * src/split. */
#ifndef COST_TRANSFER_H
#define COST_TRANSFER_H

#include "cost/topology_view.h"

/* One end of an edge: an operand of an operator. */
struct transfer_end {
    const struct nest *nest;
    int operand;
};

/* One edge of the graph, whatever the configurations of its ends. The reader's operand may
 * reach beyond the writer's tensor (a concat that reads the one before it as a whole): only
 * what lies in the tensor counts. */
struct transfer;

/* All placements that it will be asked about must have been made before (hp_place()). */
struct transfer *hp_transfer(struct arena *arena, struct topology_view *topology,
                             struct transfer_end from, struct transfer_end to);

/* Seconds to bring each part of the reader what it reads, in elements of `element_bytes`: the
 * link that is held longest, and the latency of the longest route if anything moves. What lies
 * on a device already does not move; copies of what is written share the sending. */
double hp_transfer_s(struct transfer *transfer, const struct placement *from,
                     const struct placement *to, double element_bytes);

/* The same for all pairs: out[i * n_to + j]. */
void hp_transfer_table(struct transfer *transfer, const struct placement *from, int n_from,
                       const struct placement *to, int n_to, double element_bytes, double *out);

/* Elements that leave their device. */
double hp_transfer_elements(struct transfer *transfer, const struct placement *from,
                            const struct placement *to);

/* The same by looking at every pair of parts: for machines that are no trees, for placements
 * whose groups are no ranges, and for tests. */
double hp_transfer_routed_s(struct transfer *transfer, const struct placement *from,
                            const struct placement *to, double element_bytes);
double hp_transfer_routed_elements(struct transfer *transfer, const struct placement *from,
                                   const struct placement *to);

#endif /* COST_TRANSFER_H */
