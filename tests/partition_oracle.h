/* HyPar's and AccPar's model a second time, written from the papers' tables alone, and searches
 * that try everything: what the planners are held against. */
#ifndef TESTS_PARTITION_ORACLE_H
#define TESTS_PARTITION_ORACLE_H

#include "search/levels/partition.h"

/* Elements exchanged between the sides of one group of each level, [n_levels], and over all
 * groups; types as in struct partition. */
double oracle_cost(const struct partition_problem *p, const enum layer_type *types,
                   double *level_elements);

/* How many assignments of all variables there are at levels first .. last - 1. */
double oracle_choices(const struct partition_problem *p, int first, int last);

/* The least total over every assignment at levels first .. last - 1, those above as in `types`,
 * those below left out of the sum. */
double oracle_least(const struct partition_problem *p, const enum layer_type *types, int first,
                    int last);

#endif /* TESTS_PARTITION_ORACLE_H */
