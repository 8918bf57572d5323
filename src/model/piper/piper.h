/* model/piper/piper.h - the profiles of Piper (Tarnawski et al., NeurIPS 2021). Internal.
 *
 * A profile is a graph of layers as JSON. Each layer has been measured for several degrees of
 * tensor parallelism, as it is and with its activations computed again:
 *
 *     {"maxDevices": 8, "maxMemoryPerDevice": 8e10, "bandwidth": 2.5e10, "mbsInBatch": 512,
 *      "nodes": [{"id": 0, "name": "layer", "TMPCs": {"1": [{"id": "vanilla",
 *          "timePerSample": 0.01, "parameterSize": 1e8, "memoryUsageA": 5e8,
 *          "memoryUsageB": 2e8, "syncTimeFw": {}, "syncTimeBw": {"1": 0}}]}}, ...],
 *      "edges": [{"sourceId": 0, "destId": 1, "communicationCost": 3e7}, ...]}
 *
 * Times are seconds of one micro-batch, sizes bytes; syncTimeFw is by the layer that an edge
 * comes from, syncTimeBw by the one that it leads to, both in bytes. Memory is A for each
 * micro-batch in flight, and B. */
#ifndef MODEL_PIPER_PIPER_H
#define MODEL_PIPER_PIPER_H

#include "base/files/json.h"
#include "graph/graph.h"

/* Is it such a profile, and none of hypar's own forms? */
bool hp_is_piper(const struct json *root);

/* Its graph: an opaque operator with choices for each node, named as the node, or with its id
 * behind the name where others are named so. A sample is a micro-batch: the batch is mbsInBatch
 * of them, or `batch` if that is not 0. The machine that the file names is left aside. */
enum hypar_status hp_piper_graph(struct hypar_graph **out, const struct json *root,
                                 int64_t batch, struct hypar_error *err);

#endif /* MODEL_PIPER_PIPER_H */
