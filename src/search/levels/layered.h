/* search/levels/layered.h - a graph in the terms of HyPar and AccPar: weighted layers, joins,
 * and the tensors between them. Internal.
 *
 * A node is a weighted layer, or a join of several nodes (add, concat, attention, ...). An
 * operator without weights that reads from one node only is part of this node and has no type
 * of its own. Nodes that share a parameter have one variable, because the parameter is divided
 * in one way. A concat whose first inputs are those of an earlier concat reads the earlier
 * concat instead (DenseNet); this keeps the number of edges small. */
#ifndef SEARCH_LEVELS_LAYERED_H
#define SEARCH_LEVELS_LAYERED_H

#include "base/arena.h"
#include "cost/papers/partition.h"
#include "graph/graph.h"

struct layer_node {
    int op;
    int var;
    bool weighted;
    bool swapped;   /* the node reads the shared parameter transposed: types II and III are
                     * exchanged */
    unsigned types; /* bit t: the node's own type may be t */
    struct layer_sizes
        sizes; /* elements before any division; a shared weight counts at its first user */
};

/* A tensor that one node writes and another reads. */
struct layer_edge {
    int from, to; /* nodes */
    double elements;
};

/* For each type of its node, the axis that divides an operator: samples for I, a summed axis
 * for II, output features for III and for channels; the axis of copies if the operator lacks
 * it. The other operators of a node follow the split of the node's output. */
typedef int axes_by_type[TYPE_COUNT];

struct layered {
    const struct hypar_graph *graph;
    int n_nodes, n_vars, n_edges;
    struct layer_node *node; /* in the order of the graph's operators */
    struct layer_edge *edge;
    int *node_of_op; /* the node whose split an operator's output follows; -1: the operator
                      * reads only model inputs */
    const axes_by_type *axis; /* by operator */
    /* By operator: the concat that provides its first `prefix_length` inputs as one tensor; -1:
     * none. */
    int *prefix, *prefix_length;
    int n_layers;
    int *layer; /* the weighted nodes, in order */
};

/* Make the layers of `graph`; all memory comes from `arena`. */
struct layered *hp_layered(struct arena *arena, const struct hypar_graph *graph);

/* The type of a node whose variable has type `type`: the same, or II and III exchanged. */
enum layer_type hp_own_type(const struct layer_node *node, enum layer_type type);

/* A set of a node's own types, as types of its variable. */
unsigned hp_var_type_set(const struct layer_node *node, unsigned types);

#endif /* SEARCH_LEVELS_LAYERED_H */
