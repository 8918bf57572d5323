/* search/micro_batch.h - how far a batch is cut into micro-batches where nobody asks. Internal.
 *
 * Samples that depend on each other stay together. Batch norm takes the statistics of a
 * micro-batch, which of very few samples tell little of the others. */
#ifndef SEARCH_MICRO_BATCH_H
#define SEARCH_MICRO_BATCH_H

#include "search/planner.h"

struct batch_limit {
    int64_t batch;
    int mixing;    /* an operator that mixes samples: there is one micro-batch; -1: none */
    int64_t least; /* samples that statistics are taken over */
    bool local;    /* ... by each replica, of its own */
};

struct batch_limit hp_batch_limit(const struct problem *problem);

/* The most micro-batches of a batch whose samples are split over so many replicas. */
int64_t hp_most_micro_batches(const struct batch_limit *limit, int64_t replicas);

#endif /* SEARCH_MICRO_BATCH_H */
