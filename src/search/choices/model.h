/* search/choices/model.h - a graph of measured operators and a machine, as they are to stages.
 * Internal. */
#ifndef SEARCH_CHOICES_MODEL_H
#define SEARCH_CHOICES_MODEL_H

#include "graph/graph.h"

enum way { KEEP, AGAIN, N_WAYS }; /* activations are kept, or computed again */

/* What may be chosen. */
struct choice_bounds {
    int max_degree; /* 0: any */
    bool none;      /* nothing is computed again */
    bool full;      /* all is that was measured so */
};

/* What an operator reads of another. */
struct choice_edge {
    int from, to;
    double bytes;   /* of a sample */
    bool once;      /* sent once to each stage that reads it, not to each reader */
    int input, use; /* by which the choices of `to` and of `from` list what they exchange */
};

struct choice_model {
    const struct hypar_graph *graph;
    double samples;                   /* of a batch */
    double bytes_per_s, memory_bytes; /* of a device */
    int n_degrees;
    const int *degree;             /* ascending */
    const struct op_choice **ways; /* see hp_way() */
    const struct choice_edge *edge;
    int *edge_start, *edge_list; /* edges into and out of each operator */
    double *work_s; /* of each operator: least seconds for a sample, times devices */
};

/* How operator `op` was measured under degree number `t`; NULL: not so. */
static inline const struct op_choice *hp_way(const struct choice_model *m, int op, int t,
                                             int way)
{
    return m->ways[((size_t)op * (size_t)m->n_degrees + (size_t)t) * N_WAYS + (size_t)way];
}

/* All but what is of the machine. */
struct choice_model *hp_choice_model(struct arena *arena, const struct hypar_graph *graph,
                                     const struct choice_bounds *bounds);

#endif /* SEARCH_CHOICES_MODEL_H */
