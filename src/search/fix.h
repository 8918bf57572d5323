/* search/fix.h - operators that stay as they are told. Internal. */
#ifndef SEARCH_FIX_H
#define SEARCH_FIX_H

#include "plan/plan.h"

struct fix {
    const char *word; /* as it was told */
    int op, n_parts;
    struct split split;
};

struct fixes {
    int n;
    struct fix *fix;
    bool *fixed; /* by op; NULL if there are none */
};

/* Read words such as "conv1:n=2,k=2"; all is kept in `arena` but the words. HYPAR_USAGE for a
 * word that is none, HYPAR_INFEASIBLE for one that does not fit the graph or has more parts
 * than the machine has devices. */
enum hypar_status hp_read_fixes(struct fixes *out, const struct hypar_graph *graph,
                                int n_devices, const char *const *words, int n,
                                struct arena *arena, struct hypar_error *err);

/* Split those operators of the plan so, over the first devices: of the stage, of each replica
 * that takes whole minibatches. HYPAR_INFEASIBLE if these are too few. */
enum hypar_status hp_apply_fixes(struct hypar_plan *plan, const struct fixes *fixes,
                                 struct hypar_error *err);

#endif /* SEARCH_FIX_H */
