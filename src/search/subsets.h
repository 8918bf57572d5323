/* search/subsets.h - which devices of an unlike machine a plan may leave out. Internal.
 *
 * A slow node, a slow card or a whole class of devices may cost a plan more than it adds: what
 * all devices do together takes as long as the slowest. Devices are left out by units (nodes of
 * a cluster, single devices of listed links); units are of one class if their figures and their
 * links are equal. A machine of one class has no subsets here: for fewer of equal devices see
 * nearby.h. */
#ifndef SEARCH_SUBSETS_H
#define SEARCH_SUBSETS_H

#include "search/planner.h"

struct subset {
    int number;          /* in the order in which they were made */
    int n, *device;      /* that are kept, ascending */
    const char *without; /* "node 14", "nodes 0 to 13", "node 3 and 15 others" */
    double least_s;      /* no plan on it takes less (bound.h) */
};

struct subsets {
    int n, capacity;
    struct subset *subset;
};

/* All unions of classes but the whole, each also with the slowest units left out so that the
 * devices divide the batch, or are a power of two. Where there are many classes: without each
 * of them, and without all that are slower, or behind slower links. The least bound comes
 * first. */
struct subsets hp_subsets(struct arena *arena, const struct problem *problem);

/* Those without one class. */
struct subsets hp_subsets_without_one(struct arena *arena, const struct problem *problem);

/* Why a plan that takes step_s leaves units idle, where the best plan that uses all takes all_s
 * (INFINITY: none fits): "node 14 would slow the step by 19 %". NULL: it uses all, or the
 * machine has one class. */
const char *hp_idle_reason(struct arena *arena, const struct problem *problem,
                           const struct hypar_plan *plan, double step_s, double all_s);

/* Does a plan leave no unit of an unlike machine idle? */
bool hp_uses_all_units(const struct problem *problem, const struct hypar_plan *plan);

#endif /* SEARCH_SUBSETS_H */
