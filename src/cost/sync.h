/* cost/sync.h - summing over replicas, by parameter servers or all-reduce. Internal. */
#ifndef COST_SYNC_H
#define COST_SYNC_H

#include "cost/optcnn.h"

/* Parts of a placement that differ only along the axes `replicas` each hold `bytes` of partial
 * sums: seconds until all of them have the whole sum, all such groups at once. */
double hp_sync_s(struct optcnn_model *model, const struct nest *nest,
                 const struct placement *placement, axis_set replicas, double bytes);

#endif /* COST_SYNC_H */
