/* search/explain/explain.h - the inside of an explanation. Internal. */
#ifndef SEARCH_EXPLAIN_EXPLAIN_H
#define SEARCH_EXPLAIN_EXPLAIN_H

#include "search/explain/changes.h"
#include "search/mcmc/propose.h"
#include "search/planner.h"

/* An operator that is told of, and how it may be split. */
struct costly {
    struct hypar_explained_op told;
    int *axis; /* by alternative: the axis that is divided; -1: none */
};

struct hypar_explanation {
    struct arena arena; /* holds everything, the struct itself included */
    const struct hypar_plan *plan;
    struct hypar_sim *sim;
    struct hypar_bound bound;
    struct hypar_found *again; /* hypar's choice made once more; NULL: it is not told of */
    struct changes what_ifs;
    int n_ops;
    struct costly *op;
    const char *left_out;
};

/* The costliest operators, at most `most`, and their alternatives (alternatives.c). */
void hp_find_alternatives(struct hypar_explanation *e, int most);

#endif /* SEARCH_EXPLAIN_EXPLAIN_H */
