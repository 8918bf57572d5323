/* search/levels/partition.h - chooses a type for every node at every level. Internal.
 *
 * HyPar's Algorithm 1 divides the work between two sides by dynamic programming over the
 * layers. Algorithm 2 applies it level by level, each level to the parts that the level above
 * made. Here both work on any graph, for any number of sides, and with restricted types. The
 * other partitions (dp, mp, one weird trick) use the same search with a single type allowed. */
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
    int ways[MAX_LEVELS];           /* from the top level: H1 first */
    double least_share[MAX_LEVELS]; /* share of the smaller of two unequal sides; 0: equal
                                     * sides */
    const unsigned *allowed; /* [level * n_nodes + node]: a set of the node's own types; NULL:
                              * all types of the node */
    double weight_price;     /* cost of each weight element that a device holds; usually 0 */
    bool joint;              /* choose all levels at once instead of one after another */
    const volatile sig_atomic_t *stop; /* ends the joint search with its best result so far;
                                        * NULL: never */
};

struct partition {
    int n_levels, n_nodes;
    enum layer_type *type;             /* own types, [level * n_nodes + node] */
    double level_elements[MAX_LEVELS]; /* elements exchanged between the sides of one group */
    int level_exchanges[MAX_LEVELS];   /* number of exchanges: layers and tensors that move
                                        * data */
    double total_elements;             /* over all groups of all levels */
    double lower_bound;                /* of the total over all partitions; 0: not known */
    bool exact;        /* each level (joint: the whole partition) is the minimum of the model */
    int64_t evaluated; /* states evaluated */
};

/* Fill `out`; its arrays come from `arena`. HYPAR_INVALID if a node has no allowed type at a
 * level. */
enum hypar_status hp_partition(struct arena *arena, const struct partition_problem *problem,
                               struct partition *out, struct hypar_error *err);

/* Inter-layer exchange at a level as a multiple of the tensor's elements. With unequal sides,
 * it is the amount that the smaller side receives (AccPar). */
double hp_level_inter(const struct partition_problem *problem, int level,
                      enum layer_type producer, enum layer_type consumer);

/* Compute the exchange of `partition` from its types: fills level_elements and
 * total_elements. */
void hp_partition_evaluate(const struct partition_problem *problem,
                           struct partition *partition);

/* The cost terms of each weighted layer's type at each level, [level * n_layers + layer]. */
struct hypar_layer_terms *hp_partition_terms(struct arena *arena,
                                             const struct partition_problem *problem,
                                             const struct partition *partition);

/* Elements that one device holds of all layers' inputs, weights and outputs, added up. Each of
 * the three phases of a step reads or writes them once. */
double hp_partition_footprint(const struct partition_problem *problem,
                              const struct partition *partition);

/* Weight elements that one device holds. */
double hp_partition_weight(const struct partition_problem *problem,
                           const struct partition *partition);

/* Improve a complete `partition` by choosing several levels at once (joint.c). */
enum hypar_status hp_partition_joint(struct arena *arena,
                                     const struct partition_problem *problem,
                                     struct partition *partition, struct hypar_error *err);

/* The states of each variable at `level`: types of the variable, lowest first. */
struct var_types {
    int n;
    enum layer_type type[TYPE_COUNT];
};
enum hypar_status hp_var_types(const struct partition_problem *problem, int level,
                               struct var_types *of_var, struct hypar_error *err);

#endif /* SEARCH_LEVELS_PARTITION_H */
