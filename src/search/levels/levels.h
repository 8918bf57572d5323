/* search/levels/levels.h - planners that divide level by level: dp, mp, owt, hypar, accpar.
 * Internal.
 *
 * All are the same search. A planner's row has the rules that say which types it allows. */
#ifndef SEARCH_LEVELS_LEVELS_H
#define SEARCH_LEVELS_LEVELS_H

#include "search/planner.h"

/* Layers that a planner divides only by samples: every device then needs a sample. */
enum by_sample { NO_LAYER, CONVOLUTIONS, EVERY_LAYER };

struct level_rules {
    /* Types that a weighted node may have: the first set that contains a type of the node, or
     * all types of the node if neither set does. Joins may take any type. */
    unsigned convolution[2], other[2];
    bool chooses; /* the planner has a choice to make */
    enum by_sample by_sample;
    bool features; /* the exchange is counted as for mp, but the plan splits output features */
};

/* The digit that represents a type in outputs: 0 dp, 1 mp, 2 III. */
static inline char hp_type_digit(enum layer_type type)
{
    return type == TYPE_CHANNEL ? '1' : (char)('0' + (int)type);
}

/* The partition problem of a planner with these rules (hypar.c). */
struct partition_problem hp_set_up_partition(const struct problem *problem, struct arena *arena,
                                             const struct level_rules *rules);

/* The share of every side of every level, [level][side], if devices differ in speed and the
 * target framework takes unequal shares (hypar.c); NULL: equal shares. */
const double *const *hp_shares(const struct problem *problem, struct arena *arena);

/* A planner that divides only by samples needs a sample for every device: else HYPAR_INFEASIBLE
 * (hypar.c). */
enum hypar_status hp_check_batch(const struct planner *planner, const struct problem *problem,
                                 struct hypar_error *err);

/* The types that the plan uses, if they differ from the types whose exchange is counted
 * (hypar.c). */
struct partition hp_laid_out(const struct level_rules *rules, const struct layered *l,
                             struct arena *arena, const struct partition *counted);

/* The plan of a partition (build_plan.c). A device's number has a digit for each level; the
 * digits of the levels that divide an axis form the device's coordinate on this axis. */
struct hypar_plan *hp_build_plan(const struct problem *problem,
                                 const struct partition *partition);

#endif /* SEARCH_LEVELS_LEVELS_H */
