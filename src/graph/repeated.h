/* graph/repeated.h - the layers that a network repeats (blocks of a transformer). Internal. */
#ifndef GRAPH_REPEATED_H
#define GRAPH_REPEATED_H

#include "graph/graph.h"

/* Layer i is operators first + i * n_ops .. first + (i + 1) * n_ops - 1. */
struct repeated_layers {
    int first, n_ops;
    int count; /* 0: nothing is repeated */
};

/* The longest run of operators that is the same sequence again and again: same kinds,
 * attributes and shapes. Where it could begin at several operators, it begins where the fewest
 * elements pass from layer to layer. */
struct repeated_layers hp_repeated_layers(const struct hypar_graph *graph);

/* Where stages may begin at some operators alone: by how many operators, the fewest, layers
 * have to be moved so that all but the first begin at such; false: there is no such number.
 * `borders` NULL: any will do. */
bool hp_layers_at_borders(const struct repeated_layers *layers, const bool *borders,
                          int *moved);

/* By place i = 0..n_ops: elements of activations that operators before i write and operators
 * from i on read. */
int64_t *hp_crossing_elements(struct arena *arena, const struct hypar_graph *graph);

#endif /* GRAPH_REPEATED_H */
