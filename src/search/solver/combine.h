/* search/solver/combine.h - eliminating one variable from a group of factors. Internal to
 * tables.c. Variables are named by their position in the order of elimination. */
#ifndef SEARCH_SOLVER_COMBINE_H
#define SEARCH_SOLVER_COMBINE_H

#include "base/arena.h"
#include "base/stop.h"
#include <stdbool.h>

/* A cost over several variables, the first of which is eliminated first. */
struct elimination_factor {
    const double *table;
    const int *scope; /* ascending; scope[0] is the bucket */
    const size_t *stride;
    int n, next; /* next of the bucket, -1: none */
};

/* Factors that have variable `var` first, most variables first, and what they have besides. */
struct elimination_group {
    struct arena *arena;
    const int *size; /* states of each variable */
    int var;
    const double *unary; /* of `var`; NULL: none */
    const struct elimination_factor *factors;
    const int *members; /* of the group, as indices of factors */
    int n_members;
    const int *scope; /* ascending, without `var`; at least one */
    int n_scope;
    const volatile sig_atomic_t *stop; /* then what is left of the table does not matter */
};

/* The strides of a table over `scope`, last variable contiguous, and its entries. */
size_t *hp_elimination_strides(struct arena *arena, const int *size, const int *scope, int n,
                               size_t *n_entries);

/* Fill `out`, the dense table over the group's scope: at each setting of it the minimum over
 * the states of `var` of the unary cost and all members' (OptCNN Eq. 2 and 3). */
void hp_elimination_combine(const struct elimination_group *group, double *out);

#endif /* SEARCH_SOLVER_COMBINE_H */
