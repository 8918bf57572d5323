/* search/levels/partition.h - choosing a type for every node at every level. Internal.
 *
 * HyPar's Algorithm 1 divides between two sides by dynamic programming over the layers,
 * Algorithm 2 goes down the levels, each with what the one above left. Both work here on any
 * graph, for any number of sides, and with restrictions; all other partitions (dp, mp, one
 * weird trick) are the same with the choice taken away. */
#ifndef SEARCH_LEVELS_PARTITION_H
#define SEARCH_LEVELS_PARTITION_H

#include <hypar/search.h>

#include "base/error.h"
#include "base/stop.h"
#include "search/levels/layered.h"

enum { MAX_LEVELS = 32 };

struct partition_problem {
    const struct layered *layered;
    int n_levels;
    int ways[MAX_LEVELS];           /* from the top: H1 first */
    double least_share[MAX_LEVELS]; /* of the smaller of two unequal sides; 0: equal sides */
    const unsigned
        *allowed;        /* [level * n_nodes + node]: own types; NULL: all that a node has */
    double weight_price; /* added for each weight element a device is left with; usually 0 */
    bool joint;          /* all levels at once instead of one after the other */
    const volatile sig_atomic_t *stop; /* joint: the best so far will do; NULL: nobody can */
};

struct partition {
    int n_levels, n_nodes;
    enum layer_type *type;             /* own types, [level * n_nodes + node] */
    double level_elements[MAX_LEVELS]; /* exchanged between two sides of one group */
    int level_exchanges[MAX_LEVELS];   /* how many of them: layers and tensors that move */
    double total_elements;             /* over all groups of all levels */
    double lower_bound;                /* of the total over all choices; 0: not known */
    bool exact;        /* each level (joint: the whole) is the minimum of the model */
    int64_t evaluated; /* states weighed */
};

/* Fill `out`; its arrays come from `arena`. HYPAR_INVALID if nothing is allowed somewhere. */
enum hypar_status hp_partition(struct arena *arena, const struct partition_problem *problem,
                               struct partition *out, struct hypar_error *err);

/* Inter-layer exchange at a level as a multiple of the tensor's elements; unequal sides
 * exchange what the smaller one receives (AccPar). */
double hp_level_inter(const struct partition_problem *problem, int level,
                      enum layer_type producer, enum layer_type consumer);

/* What `partition` exchanges, from its types alone: fills level_elements and total_elements. */
void hp_partition_evaluate(const struct partition_problem *problem,
                           struct partition *partition);

/* The terms of the choice of each weighted layer at each level, [level * n_layers + layer]. */
struct hypar_layer_terms *hp_partition_terms(struct arena *arena,
                                             const struct partition_problem *problem,
                                             const struct partition *partition);

/* Elements that one device holds of all layers' inputs, weights and outputs, added up: what
 * each of the three phases of a step reads or writes once. */
double hp_partition_footprint(const struct partition_problem *problem,
                              const struct partition *partition);

/* Weight elements that one device holds. */
double hp_partition_weight(const struct partition_problem *problem,
                           const struct partition *partition);

/* Improve `partition`, which is complete, by choosing several levels at once (joint.c). */
enum hypar_status hp_partition_joint(struct arena *arena,
                                     const struct partition_problem *problem,
                                     struct partition *partition, struct hypar_error *err);

/* The states of each variable at `level`: types in the variable's terms, lowest first. */
struct var_types {
    int n;
    enum layer_type type[TYPE_COUNT];
};
enum hypar_status hp_var_types(const struct partition_problem *problem, int level,
                               struct var_types *of_var, struct hypar_error *err);

#endif /* SEARCH_LEVELS_PARTITION_H */
