/* search/micro_batch.h - the limit for dividing a batch into micro-batches if no option sets
 * their number. Internal.
 *
 * Samples that depend on each other stay together. Batch norm uses the statistics of a
 * micro-batch; those of very few samples do not represent the batch. Planner 3d makes smaller
 * ones if nothing else fits. */
#ifndef SEARCH_MICRO_BATCH_H
#define SEARCH_MICRO_BATCH_H

#include "search/planner.h"

struct batch_limit {
    int64_t batch;
    int mixing;    /* an operator that mixes samples, so there is one micro-batch; -1: none */
    int64_t least; /* least samples for statistics */
    bool local;    /* each replica has its own statistics */
};

struct batch_limit hp_batch_limit(const struct problem *problem);

/* The largest number of micro-batches if the samples are divided over this many replicas. */
int64_t hp_most_micro_batches(const struct batch_limit *limit, int64_t replicas);

/* The fewest micro-batches whose step is within 5 % of the best, as larger kernels are faster
 * than estimates say. step_s: ascending numbers of micro-batches; INFINITY: does not fit.
 * Returns the index; -1: none fits. */
int hp_fewest_micro_batches(const double *step_s, int n);

#endif /* SEARCH_MICRO_BATCH_H */
