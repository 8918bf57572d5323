/* search/layerwise/optcnn.h - OptCNN's search space over any graph, and its cost tables.
 * Internal.
 *
 * A variable is an operator with weights (or all operators that share a weight), or an operator
 * that joins several (add, concat, attention). Its states are the configurations of its first
 * operator: a degree for each dimension, on the first devices. The other operators of a node
 * (hp_layered()) have no state of their own: their split follows the tensor that they read. */
#ifndef SEARCH_LAYERWISE_OPTCNN_H
#define SEARCH_LAYERWISE_OPTCNN_H

#include "cost/papers/optcnn.h"
#include "search/planner.h"
#include "search/solver/eliminate.h"

/* A placement for each state of a variable. Equal operators share a list. */
struct placement_list {
    int n;
    struct placement *at;
};

/* The configurations that the search considers. */
struct optcnn_choice {
    const char *dimensions;        /* a subset of the letters "nkhwtc" */
    const struct problem *problem; /* its target may forbid to split some axes; NULL: all axes
                                    * may be split */
    int thinning;                  /* 0: all configurations; higher: fewer (space.c) */
};

struct optcnn_space {
    struct arena *arena;
    const struct hypar_graph *graph;
    const struct layered *layered;
    struct topology_view *topology;
    struct optcnn_choice choice;
    int n_vars;
    int *lead;   /* [var]: the operator whose configurations are the variable's states */
    int *var_of; /* [op] */
    int *list;   /* [op]: the list of its placements, one for each state of its variable */
    int n_lists, list_capacity;
    struct placement_list *lists;
    struct table derived;              /* from a list's derivation to its number */
    const volatile sig_atomic_t *stop; /* once set, tables stay unfinished */
};

/* Configurations of `nest`: degrees of the requested dimensions, each at most the axis's
 * extent; their product divides the number of devices or is a power of two. Writes at most
 * `max` configurations; returns their number, counted up to `max` + 1. */
int hp_configurations(const struct topology_view *topology, const struct nest *nest,
                      const struct optcnn_choice *choice, int (*degree)[MAX_AXES], int max);

/* Make variables and states. Chooses the least thinning for which filling and solving the
 * tables takes about `seconds`. This is an estimate from the tables' sizes, so it is the same
 * on every machine. */
void hp_optcnn_space(struct optcnn_space *out, struct arena *arena,
                     const struct problem *problem, struct topology_view *topology,
                     const char *dimensions, double seconds);

/* The placement of `reader` when it follows operand `wo` of `writer`, which it reads as operand
 * `ro`. An axis of the reader that indexes a dimension has the degree and the devices of the
 * writer's axis there. A degree without such an axis goes to the reader's samples, else to
 * another axis. */
struct placement hp_take_over(struct topology_view *topology, const struct nest *writer, int wo,
                              const struct placement *at, const struct nest *reader, int ro);

/* The placement of `other`, which shares a parameter with `lead` (operand `lo` of `lead`, `oo`
 * of `other`). Both divide the parameter in the same way, and the other dimensions as far as
 * both have them. */
struct placement hp_share_parameter(struct topology_view *topology, const struct nest *lead,
                                    int lo, const struct placement *at,
                                    const struct nest *other, int oo);

/* An edge of the graph between two operators, with the cost t_X. */
struct optcnn_edge {
    int from, to; /* operators */
    int from_operand, to_operand;
    int tensor;
};

/* The costs of all states, and their terms. */
struct optcnn_tables {
    int n_edges;
    struct optcnn_edge *edge; /* edges of the graph */
    int *n_states;            /* [var] */
    double **cost, **weight;  /* [var][state]: t_C + t_S + t_X within the variable; parameter
                               * elements per device */
    int n_pairs, pair_capacity;
    struct elimination_edge *pairs; /* tables between variables */
    int n_tables;                   /* tables filled */
    double entries;                 /* entries of all tables */
};

void hp_optcnn_tables(struct optcnn_tables *out, struct optcnn_model *model,
                      const struct optcnn_space *space);

/* The terms of Eq. 1 for one state of each variable, computed without the tables. */
struct optcnn_cost {
    double compute_s, transfer_s, sync_s;
    double transfer_bytes, sync_bytes; /* bytes that leave their device */
};
struct optcnn_cost hp_optcnn_cost(struct optcnn_model *model, const struct optcnn_space *space,
                                  const struct optcnn_tables *tables, const int *state);

#endif /* SEARCH_LAYERWISE_OPTCNN_H */
