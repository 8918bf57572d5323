/* search/levels/joint.h - choosing all levels at once: columns of types. Internal to the joint
 * search.
 *
 * A layer's state is a whole column: its type at each level. A layer's own exchange depends on
 * its own column alone, that between two layers on their two columns, so the one solver finds
 * the minimum that the level-by-level (greedy) partition can miss. A join costs nothing of its
 * own and halves its inputs either way, so its levels do not depend on each other: it has no
 * columns, only the types that each level still allows. */
#ifndef SEARCH_LEVELS_JOINT_H
#define SEARCH_LEVELS_JOINT_H

#include "search/levels/partition.h"

/* One column of one variable: the types in the variable's terms, as one digit per level. */
struct column {
    unsigned char type[MAX_LEVELS];
    double cost; /* intra-layer, and edges of the variable with itself */
    bool gone;   /* another one, which is left, is never worse */
};

struct var_columns {
    bool join;                 /* no columns: what `seen` says, level by level */
    struct column *column;     /* all of them, the topmost level counting most */
    int radix[MAX_LEVELS];     /* types to choose from at each level */
    int place[MAX_LEVELS];     /* what the next type there adds to the number of a column */
    int n, *alive;             /* the columns that are left */
    unsigned seen[MAX_LEVELS]; /* types that occur at each level among them */
};

static inline const struct column *hp_column(const struct var_columns *var, int i)
{
    return &var->column[var->alive[i]];
}

struct joint {
    const struct partition_problem *p;
    const struct layered *l;
    struct arena *arena;
    int first, count; /* the levels that are chosen; others keep what they have */
    double groups[MAX_LEVELS];
    double share[MAX_LEVELS][TYPE_COUNT][TYPE_COUNT]; /* hp_level_inter() */
    struct var_columns *var;
    int *edge_start, *edge_of; /* edges at each variable: CSR; self edges left out */
    int *node_start, *node_of; /* nodes of each variable */
};

/* Who has which nodes and edges. Comes first. */
void hp_index_variables(struct joint *j);

/* Every column that the window allows, each with its own cost (columns.c). */
enum hypar_status hp_list_columns(struct joint *j, const struct partition *now,
                                  struct hypar_error *err);

/* What a node's inputs weigh at each level of its column: groups times what is left of them. */
void hp_input_weights(const struct joint *j, const struct layer_node *node,
                      const unsigned char *type, double *weight);

/* Remove columns that cannot be part of a minimum (prune.c). */
void hp_prune_columns(struct joint *j);

#endif /* SEARCH_LEVELS_JOINT_H */
