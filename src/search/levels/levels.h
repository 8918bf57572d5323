/* search/levels/levels.h - planners that divide level by level: dp, mp, owt, hypar, accpar.
 * Internal.
 *
 * They are one search with different choices allowed; what each allows is its row's rules. */
#ifndef SEARCH_LEVELS_LEVELS_H
#define SEARCH_LEVELS_LEVELS_H

#include "search/planner.h"

/* Layers that a planner divides by samples alone, so that every device needs a sample. */
enum by_sample { NO_LAYER, CONVOLUTIONS, EVERY_LAYER };

struct level_rules {
    /* Types that a weighted node may have: the first set of which it has any, else whatever it
     * has. Joins are free to follow. */
    unsigned convolution[2], other[2];
    bool chooses; /* there is something to weigh */
    enum by_sample by_sample;
    bool features; /* counted as mp, but laid out by output features */
};

/* The digit that shows a type: 0 dp, 1 mp, 2 III. */
static inline char hp_type_digit(enum layer_type type)
{
    return type == TYPE_CHANNEL ? '1' : (char)('0' + (int)type);
}

/* What a planner with these rules solves (hypar.c). */
struct partition_problem hp_set_up_partition(const struct problem *problem, struct arena *arena,
                                             const struct level_rules *rules);

/* The part of every side of every level, [level][side], where devices differ in speed
 * (hypar.c); NULL: all equal. */
const double *const *hp_shares(const struct problem *problem, struct arena *arena);

/* Who divides by samples alone needs a sample for every device (hypar.c); HYPAR_INFEASIBLE. */
enum hypar_status hp_check_batch(const struct planner *planner, const struct problem *problem,
                                 struct hypar_error *err);

/* The types by which a plan is laid out, where these are not the types that are counted
 * (hypar.c). */
struct partition hp_laid_out(const struct level_rules *rules, const struct layered *l,
                             struct arena *arena, const struct partition *counted);

/* The ordinary plan that a partition means (build_plan.c): the device's digit of a level is the
 * next digit of the coordinate of the axis that the level divides. */
struct hypar_plan *hp_build_plan(const struct problem *problem,
                                 const struct partition *partition);

#endif /* SEARCH_LEVELS_LEVELS_H */
