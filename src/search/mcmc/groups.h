/* search/mcmc/groups.h - operators of a graph that are best changed together. Internal.
 *
 * A follower has no multiply-adds of its own and reads the output of another operator, its
 * producer: it has the same split and devices as its producer. (The nodes of hp_layered()
 * differ: layers are defined by weights, not by multiply-adds, and a join of several nodes is a
 * node of its own.) Operators that share a parameter are a family. A branch is a run of
 * operators, each of which feeds only the next one and reads only from the one before. */
#ifndef SEARCH_MCMC_GROUPS_H
#define SEARCH_MCMC_GROUPS_H

#include "graph/graph.h"

struct groups {
    const struct hypar_graph *graph;
    int *producer; /* by op: the operator that it follows; -1: it is a leader */
    int *via;      /* by op: the tensor that it reads from its producer */
    int *leader;   /* by op: the leader at the end of its chain of producers; a leader's is
                    * itself */
    int n_leaders;
    int *leaders;      /* ascending */
    int *member_start; /* by op: the operators that it leads, itself first, in order: CSR */
    int *member;
    int *family; /* by leader: its family, -1: none */
    int n_families;
    int *family_start; /* leaders of each family: CSR */
    int *family_member;
    int *next, *before; /* by op: next and previous operator on its branch, -1: none */
};

/* Operators with fixed[op] (NULL: none) are leaders: no other operator determines their
 * split. */
struct groups *hp_groups(struct arena *arena, const struct hypar_graph *graph,
                         const bool *fixed);

#endif /* SEARCH_MCMC_GROUPS_H */
