/* Is a graph the same when it has been written as hypar-graph/1 and read again? */
#ifndef TESTS_WRITTEN_GRAPH_H
#define TESTS_WRITTEN_GRAPH_H

#include "graph/graph.h"

/* The graph's file, to be freed; *size is how many bytes it has. */
char *written_graph(const struct hypar_graph *graph, size_t *size);

/* The same bytes and the same hash, and again; if not, *err says what is not. */
bool survives_writing(const struct hypar_graph *graph, struct hypar_error *err);

#endif /* TESTS_WRITTEN_GRAPH_H */
