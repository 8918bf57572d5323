/* search/fix.h - operators whose split an option fixes. Internal. */
#ifndef SEARCH_FIX_H
#define SEARCH_FIX_H

#include "plan/plan.h"

struct fix {
    const char *word; /* the text of the option */
    int op, n_parts;
    struct split split;
};

struct fixes {
    int n;
    struct fix *fix;
    bool *fixed; /* by op; NULL if there are none */
};

/* Read words such as "conv1:n=2,k=2"; everything but the words is copied to `arena`.
 * HYPAR_USAGE for a malformed word, HYPAR_INFEASIBLE for a word that does not suit the graph or
 * has more parts than the machine has devices. */
enum hypar_status hp_read_fixes(struct fixes *out, const struct hypar_graph *graph,
                                int n_devices, const char *const *words, int n,
                                struct arena *arena, struct hypar_error *err);

/* Split the fixed operators of the plan, over the first devices: of the stage, or of each
 * replica that takes whole minibatches. HYPAR_INFEASIBLE if there are too few devices. */
enum hypar_status hp_apply_fixes(struct hypar_plan *plan, const struct fixes *fixes,
                                 struct hypar_error *err);

#endif /* SEARCH_FIX_H */
