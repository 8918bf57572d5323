/* search/fix.h - operators that stay as they are told. Internal. */
#ifndef SEARCH_FIX_H
#define SEARCH_FIX_H

#include "sim/config.h"

struct fixes {
    int n;
    struct op_config *config;
    bool *fixed; /* by op; NULL if there are none */
};

/* Read words such as "conv1:n=2,k=2"; all is kept in `arena`. HYPAR_USAGE for a word that is
 * none, HYPAR_INFEASIBLE for one that does not fit the graph or has more parts than the machine
 * has devices. */
enum hypar_status hp_read_fixes(struct fixes *out, const struct hypar_graph *graph,
                                int n_devices, const char *const *words, int n,
                                struct arena *arena, struct hypar_error *err);

/* Split and place those operators of the plan so. */
void hp_apply_fixes(struct hypar_plan *plan, const struct fixes *fixes);

#endif /* SEARCH_FIX_H */
