/* search/explain/changes.h - simulates a plan in which one thing is changed. Internal. */
#ifndef SEARCH_EXPLAIN_CHANGES_H
#define SEARCH_EXPLAIN_CHANGES_H

#include <hypar/explain.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/plan.h"
#include "search/limits.h"

/* Limit of the task instances that are simulated for the alternatives of all operators
 * together: about 10 s. */
static const double HP_MOST_INSTANCES = 5.0 * HP_WHOLE_TASKS;

struct target; /* a framework that runs plans (emit/target.h) */

/* The changes simulated so far. */
struct changes {
    struct arena *arena;
    const struct hypar_plan *plan; /* the unchanged plan */
    struct hypar_sim_options how;
    const struct target *target; /* the framework that the plan was made for and that runs it;
                                  * NULL: any */
    bool waits_for_hosts; /* the critical path waits for launches: hosts are changed, too */
    bool keep;            /* keep the plans of the rows */
    const volatile sig_atomic_t *stop;
    int n, capacity;
    struct hypar_what_if *row;
};

/* Copy the plan to change it. The copy is on `machine`, which it then owns; NULL: the plan's
 * machine. The copy has no layout, because a change makes the layout untrue. */
struct hypar_plan *hp_changed_plan(const struct hypar_plan *plan,
                                   struct hypar_machine *machine);

/* Check and simulate the changed plan, then release it or keep it for the row. Returns the row;
 * it is valid until another row is added. */
struct hypar_what_if *hp_add_change(struct changes *c, const char *what,
                                    struct hypar_plan *changed);

/* Add a row for a change that is impossible. */
void hp_refuse_change(struct changes *c, const char *what, const char *why);

void hp_free_changes(struct changes *c); /* frees the plans of the rows */

/* The options of a search for a plan with the settings of `plan` (explain.c). */
struct hypar_search_options hp_options_again(const struct hypar_plan *plan,
                                             const struct hypar_sim_options *how);

/* Find changes that would help (what_if.c), sorted. */
void hp_find_what_ifs(struct changes *c, const struct hypar_sim_summary *now);

/* Sort by step; impossible changes go last. */
void hp_sort_changes(struct hypar_what_if *row, int n);

#endif /* SEARCH_EXPLAIN_CHANGES_H */
