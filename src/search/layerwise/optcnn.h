/* search/layerwise/optcnn.h - OptCNN's search space over any graph, and the tables over it.
 * Internal.
 *
 * A variable is an operator with weights (all operators that share one), or one that joins
 * several (add, concat, attention); its states are the configurations of its leading operator:
 * a degree for each dimension, on the first devices. The other operators of a
 * node (hp_layered()) have no choice of their own: they lie as the tensor lies that they read.
 */
#ifndef SEARCH_LAYERWISE_OPTCNN_H
#define SEARCH_LAYERWISE_OPTCNN_H

#include "cost/papers/optcnn.h"
#include "search/planner.h"
#include "search/solver/eliminate.h"

/* A placement for each state of a variable; shared by operators that are alike. */
struct placement_list {
    int n;
    struct placement *at;
};

/* Which configurations are weighed. */
struct optcnn_choice {
    const char *dimensions;        /* of "nkhwtc" */
    const struct problem *problem; /* whose plan may not split all axes; NULL: it may */
    int thinning;                  /* 0: all; above, fewer and fewer (space.c) */
};

struct optcnn_space {
    struct arena *arena;
    const struct hypar_graph *graph;
    const struct layered *layered;
    struct topology_view *topology;
    struct optcnn_choice choice;
    int n_vars;
    int *lead;   /* [var]: the operator whose configurations are its states */
    int *var_of; /* [op] */
    int *list;   /* [op]: its placements, one for each state of its variable */
    int n_lists, list_capacity;
    struct placement_list *lists;
    struct table derived;              /* how a list was made -> its number */
    const volatile sig_atomic_t *stop; /* then tables are not filled to the end */
};

/* Configurations of `nest`: the degrees of the dimensions asked for, no more parts than an axis
 * has places, their product a divisor of the number of devices or a power of two. Writes at
 * most `max` of them; returns how many there are, counted up to `max` + 1. */
int hp_configurations(const struct topology_view *topology, const struct nest *nest,
                      const struct optcnn_choice *choice, int (*degree)[MAX_AXES], int max);

/* Make variables and states; the least thinning at which the tables can be filled and solved in
 * about `seconds` (an estimate from their sizes, so the same everywhere) is chosen. */
void hp_optcnn_space(struct optcnn_space *out, struct arena *arena,
                     const struct problem *problem, struct topology_view *topology,
                     const char *dimensions, double seconds);

/* How `reader` lies if it takes over how `writer` has written operand `wo`, which it reads as
 * operand `ro`: an axis that indexes a dimension is divided, and its parts placed, as the
 * writer's axis there. Degrees that find no axis go to its samples, else to another axis. */
struct placement hp_take_over(struct topology_view *topology, const struct nest *writer, int wo,
                              const struct placement *at, const struct nest *reader, int ro);

/* How `other` lies, which shares a parameter with `lead` (its operand `lo`; `oo` of `other`):
 * the parameter is divided alike, the other dimensions as far as both have them. */
struct placement hp_share_parameter(struct topology_view *topology, const struct nest *lead,
                                    int lo, const struct placement *at,
                                    const struct nest *other, int oo);

/* An edge of the graph between two operators, as t_X sees it. */
struct optcnn_edge {
    int from, to; /* operators */
    int from_operand, to_operand;
    int tensor;
};

/* The costs of all states, and what they are made of. */
struct optcnn_tables {
    int n_edges;
    struct optcnn_edge *edge; /* of the graph */
    int *n_states;            /* [var] */
    double **cost, **weight;  /* [var][state]: t_C + t_S + t_X inside; elements held */
    int n_pairs, pair_capacity;
    struct elimination_edge *pairs; /* between variables */
    int n_tables;                   /* that were filled */
    double entries;                 /* in all of them */
};

void hp_optcnn_tables(struct optcnn_tables *out, struct optcnn_model *model,
                      const struct optcnn_space *space);

/* Eq. 1, its terms, for one state of each variable; worked out without the tables. */
struct optcnn_cost {
    double compute_s, transfer_s, sync_s;
    double transfer_bytes, sync_bytes; /* that leave their device */
};
struct optcnn_cost hp_optcnn_cost(struct optcnn_model *model, const struct optcnn_space *space,
                                  const struct optcnn_tables *tables, const int *state);

#endif /* SEARCH_LAYERWISE_OPTCNN_H */
