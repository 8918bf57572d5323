/* search/explain/changes.h - a plan in which one thing is otherwise, simulated. Internal. */
#ifndef SEARCH_EXPLAIN_CHANGES_H
#define SEARCH_EXPLAIN_CHANGES_H

#include <hypar/explain.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/plan.h"

/* Task instances that are simulated for all operators that are split otherwise, together: some
 * 10 s. */
static const double HP_MOST_INSTANCES = 4e7;

struct target; /* a framework that runs plans (emit/target.h) */

/* What was simulated so far. */
struct changes {
    struct arena *arena;
    const struct hypar_plan *plan; /* as it is */
    struct hypar_sim_options how;
    const struct target *target; /* that the plan was made for, and runs it; NULL: any */
    bool keep;                   /* the plans of the rows */
    const volatile sig_atomic_t *stop;
    int n, capacity;
    struct hypar_what_if *row;
};

/* A copy to be changed: of the plan, on `machine` unless that is NULL, which becomes the
 * copy's. What it says of a layout is dropped, as it will not be so any more. */
struct hypar_plan *hp_changed_plan(const struct hypar_plan *plan,
                                   struct hypar_machine *machine);

/* Check and simulate what was changed, which is released then, or kept for the row. Returns the
 * row, which is the last one until the next is added. */
struct hypar_what_if *hp_add_change(struct changes *c, const char *what,
                                    struct hypar_plan *changed);

/* It cannot be had. */
void hp_refuse_change(struct changes *c, const char *what, const char *why);

void hp_free_changes(struct changes *c); /* the plans of its rows */

/* What would help (what_if.c): filled in, sorted. */
void hp_find_what_ifs(struct changes *c, const struct hypar_sim_summary *now);

/* By steps, what cannot be had last. */
void hp_sort_changes(struct hypar_what_if *row, int n);

#endif /* SEARCH_EXPLAIN_CHANGES_H */
