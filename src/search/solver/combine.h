/* search/solver/combine.h - eliminates one variable from a group of factors: adds the factors
 * and takes the minimum over the variable's states. Internal to tables.c. A variable is named
 * by its position in the order of elimination. */
#ifndef SEARCH_SOLVER_COMBINE_H
#define SEARCH_SOLVER_COMBINE_H

#include "base/arena.h"
#include "base/stop.h"
#include <stdbool.h>

/* A table of costs over several variables. The first of them is eliminated first. */
struct elimination_factor {
    const double *table;
    const int *scope; /* ascending; scope[0] is the variable whose bucket has the factor */
    const size_t *stride;
    int n, next; /* next: the next factor of the same bucket, -1: none */
};

/* Factors whose first variable is `var`, in descending order of their number of variables, and
 * all their other variables. */
struct elimination_group {
    struct arena *arena;
    const int *size; /* states of each variable */
    int var;
    const double *unary; /* costs of the states of `var`; NULL: none */
    const struct elimination_factor *factors;
    const int *members; /* the factors of the group, as indices of `factors` */
    int n_members;
    const int *scope; /* all variables of the members but `var`, ascending; at least one */
    int n_scope;
    const volatile sig_atomic_t *stop; /* once set, the rest of the table may stay unfilled */
};

/* The strides of a table over `scope`, whose last variable is contiguous, and the number of its
 * entries. */
size_t *hp_elimination_strides(struct arena *arena, const int *size, const int *scope, int n,
                               size_t *n_entries);

/* Fill `out`, the dense table over the group's scope. An entry is the minimum, over the states
 * of `var`, of the unary cost plus the costs of all members (OptCNN Eq. 2 and 3). */
void hp_elimination_combine(const struct elimination_group *group, double *out);

#endif /* SEARCH_SOLVER_COMBINE_H */
