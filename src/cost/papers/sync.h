/* cost/papers/sync.h - summing gradients over replicas, by parameter servers or all-reduce.
 * Internal. */
#ifndef COST_PAPERS_SYNC_H
#define COST_PAPERS_SYNC_H

#include "cost/papers/optcnn.h"

/* Parts of a placement that differ only along the axes `replicas` each hold `bytes` of partial
 * sums. Returns the seconds until all of them have the sum; all such groups work at once. */
double hp_sync_s(struct optcnn_model *model, const struct nest *nest,
                 const struct placement *placement, axis_set replicas, double bytes);

#endif /* COST_PAPERS_SYNC_H */
