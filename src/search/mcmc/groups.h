/* search/mcmc/groups.h - which operators of a graph are best changed together. Internal.
 *
 * A follower has no multiply-adds of its own and takes what another operator writes: it is laid
 * out as that one (its producer) is. (A node of hp_layered() is another set: by weights, not by
 * multiply-adds, and a join of several nodes is one of its own.) Operators that share a
 * parameter are a family. A branch is a run of operators that feed nobody but the next one, and
 * are fed by nobody but the one before. */
#ifndef SEARCH_MCMC_GROUPS_H
#define SEARCH_MCMC_GROUPS_H

#include "graph/graph.h"

struct groups {
    const struct hypar_graph *graph;
    int *producer; /* by op: whom it follows, -1: it leads */
    int *via;      /* by op: the tensor through which it follows */
    int *leader;   /* by op: at the end of that chain; of one that leads, itself */
    int n_leaders;
    int *leaders;      /* ascending */
    int *member_start; /* by op: those that it leads, itself first, in order: CSR */
    int *member;
    int *family; /* by op that leads: its family, -1: alone */
    int n_families;
    int *family_start; /* leaders of each family: CSR */
    int *family_member;
    int *next, *before; /* by op: on its branch, -1 */
};

/* Operators with fixed[op] (NULL: none) lead: nobody else decides how they are laid out. */
struct groups *hp_groups(struct arena *arena, const struct hypar_graph *graph,
                         const bool *fixed);

#endif /* SEARCH_MCMC_GROUPS_H */
