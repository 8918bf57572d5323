/* model/json_graph.h - functions that the reader and the writer of hypar-graph/1 share.
 * Internal. */
#ifndef MODEL_JSON_GRAPH_H
#define MODEL_JSON_GRAPH_H

#include "base/files/json.h"
#include "graph/graph.h"

enum hypar_status hp_read_shape(const struct json *at, struct hypar_shape *out,
                                struct hypar_error *err);
void hp_write_shape(struct json_writer *w, const struct hypar_shape *shape);

/* The members of a file that tell of the PyTorch model that the graph was made from. Samples of
 * arguments follow the graph's batch; `file_batch` is the batch of the file. */
enum hypar_status hp_read_torch(struct hypar_graph *graph, const struct json *root,
                                int64_t file_batch, struct hypar_error *err);
void hp_write_torch(struct json_writer *w, const struct hypar_graph *graph);

#endif /* MODEL_JSON_GRAPH_H */
