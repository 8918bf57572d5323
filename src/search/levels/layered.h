/* search/levels/layered.h - a graph as HyPar and AccPar see it: weighted layers, joins, and the
 * tensors between them. Internal.
 *
 * A node is a weighted layer, or a join of several nodes (add, concat, attention, ...). An
 * operator without weights that reads from one node only is part of that node: it needs no
 * choice of its own. Nodes that share a parameter are one variable: the parameter is divided
 * once. A concat whose first inputs are an earlier concat's reads that one instead (DenseNet),
 * which keeps the graph thin. */
#ifndef SEARCH_LEVELS_LAYERED_H
#define SEARCH_LEVELS_LAYERED_H

#include "base/arena.h"
#include "cost/papers/partition.h"
#include "graph/graph.h"

struct layer_node {
    int op;
    int var;
    bool weighted;
    bool swapped;   /* it reads the shared parameter transposed: II and III change places */
    unsigned types; /* bit t: its own type may be t */
    struct layer_sizes
        sizes; /* elements, undivided; a shared weight counts at its first user */
};

/* A tensor that one node makes and another reads. */
struct layer_edge {
    int from, to; /* nodes */
    double elements;
};

/* The axis of an operator that divides it under each type of its node: samples for I, a summed
 * axis for II, output features for III and for channels; the copies where it has none. The
 * other operators of a node have what its output layout asks for. */
typedef int axes_by_type[TYPE_COUNT];

struct layered {
    const struct hypar_graph *graph;
    int n_nodes, n_vars, n_edges;
    struct layer_node *node; /* in the order of their operators */
    struct layer_edge *edge;
    int *node_of_op; /* whose layout an operator's output has; -1: it only reads model inputs */
    const axes_by_type *axis; /* by operator */
    /* By operator: the concat that its first `prefix_length` inputs are read from as one
     * tensor, -1: none. */
    int *prefix, *prefix_length;
    int n_layers;
    int *layer; /* the weighted nodes, in order */
};

/* Look at `graph`; everything is taken from `arena`. */
struct layered *hp_layered(struct arena *arena, const struct hypar_graph *graph);

/* The type of a node whose variable is in state `type`: the same, or II and III exchanged. */
enum layer_type hp_own_type(const struct layer_node *node, enum layer_type type);

/* A set of a node's own types, in its variable's terms. */
unsigned hp_var_type_set(const struct layer_node *node, unsigned types);

#endif /* SEARCH_LEVELS_LAYERED_H */
