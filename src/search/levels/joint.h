/* search/levels/joint.h - chooses the types of all levels at once. Internal to the joint
 * search.
 *
 * A layer's state is a column: the layer's type at each level. The exchange within a layer
 * depends only on its own column, and the exchange between two layers on their two columns. So
 * the solver finds the minimum, which the level-by-level (greedy) partition can miss. */
#ifndef SEARCH_LEVELS_JOINT_H
#define SEARCH_LEVELS_JOINT_H

#include "search/levels/partition.h"

/* One column of a variable: the variable's type at each level. */
struct column {
    unsigned char type[MAX_LEVELS];
    double cost; /* exchange within the layer, and on edges of the variable with itself */
    bool gone;   /* removed: a column that is still present is never worse */
};

struct var_columns {
    struct column *column;     /* all columns, numbered with the top level as the highest
                                * digit */
    int radix[MAX_LEVELS];     /* number of types at each level */
    int place[MAX_LEVELS];     /* difference in column number between two neighbouring types of
                                * this level */
    int n, *alive;             /* the columns not removed */
    unsigned seen[MAX_LEVELS]; /* types of each level that these columns have */
};

static inline const struct column *hp_column(const struct var_columns *var, int i)
{
    return &var->column[var->alive[i]];
}

struct joint {
    const struct partition_problem *p;
    const struct layered *l;
    struct arena *arena;
    int first, count; /* the levels to choose; other levels keep their types */
    double groups[MAX_LEVELS];
    double share[MAX_LEVELS][TYPE_COUNT][TYPE_COUNT]; /* hp_level_inter() */
    struct var_columns *var;
    int *edge_start, *edge_of; /* edges of each variable, without edges to itself: CSR */
    int *node_start, *node_of; /* nodes of each variable: CSR */
};

/* Fill the lists of nodes and edges of each variable. Call this first. */
void hp_index_variables(struct joint *j);

/* List every column that the window allows, with its own cost (columns.c). */
enum hypar_status hp_list_columns(struct joint *j, const struct partition *now,
                                  struct hypar_error *err);

/* The weight of a node's inputs at each level: the number of groups times the share of the
 * inputs that one group still holds. */
void hp_input_weights(const struct joint *j, const struct layer_node *node,
                      const unsigned char *type, double *weight);

/* Remove columns that cannot be part of a minimum (prune.c). */
void hp_prune_columns(struct joint *j);

#endif /* SEARCH_LEVELS_JOINT_H */
