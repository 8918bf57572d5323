/* search/explain/explain.h - the contents of an explanation. Internal. */
#ifndef SEARCH_EXPLAIN_EXPLAIN_H
#define SEARCH_EXPLAIN_EXPLAIN_H

#include "search/explain/changes.h"
#include "search/mcmc/propose.h"
#include "search/planner.h"

/* A reported operator and its alternatives. */
struct costly {
    struct hypar_explained_op told;
    int *axis; /* by alternative: the divided axis; -1: none */
};

struct hypar_explanation {
    struct arena arena; /* owns all memory, including this struct */
    const struct hypar_plan *plan;
    struct hypar_sim *sim;
    struct hypar_bound bound;
    struct hypar_found *again; /* the repeated search of hypar; NULL: not reported */
    struct changes what_ifs;
    int n_ops;
    struct costly *op;
    const char *left_out;
};

/* Find the most expensive operators, at most `most`, and their alternatives
 * (alternatives.c). */
void hp_find_alternatives(struct hypar_explanation *e, int most);

#endif /* SEARCH_EXPLAIN_EXPLAIN_H */
