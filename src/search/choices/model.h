/* search/choices/model.h - a graph of measured operators and a machine, as the stage search
 * reads them. Internal. */
#ifndef SEARCH_CHOICES_MODEL_H
#define SEARCH_CHOICES_MODEL_H

#include "graph/graph.h"

enum recompute_choice { KEEP, AGAIN, N_WAYS }; /* activations are kept, or recomputed */

/* Limits of the choices. */
struct choice_bounds {
    int max_degree; /* 0: any degree */
    bool none;      /* no operator is recomputed */
    bool full;      /* every operator that was measured with recomputation is recomputed */
};

/* A tensor that one operator writes and another reads. */
struct choice_edge {
    int from, to;
    double bytes;   /* of one sample */
    bool once;      /* sent once to each stage that reads the tensor, not to each reader */
    int input, use; /* index of the exchanged bytes in the choices of `to`, and of `from` */
};

struct choice_model {
    const struct hypar_graph *graph;
    double samples;                   /* of one batch */
    double bytes_per_s, memory_bytes; /* of one device */
    int n_degrees;
    const int *degree;             /* ascending */
    const struct op_choice **ways; /* use hp_way() */
    const struct choice_edge *edge;
    int *edge_start, *edge_list; /* edges into and out of each operator: CSR */
    double *work_s; /* of each operator: the least seconds per sample times devices */
};

/* The measured choice of operator `op` under degree number `t`; NULL: not measured. */
static inline const struct op_choice *hp_way(const struct choice_model *m, int op, int t,
                                             int way)
{
    return m->ways[((size_t)op * (size_t)m->n_degrees + (size_t)t) * N_WAYS + (size_t)way];
}

/* Make a model without the machine's figures. */
struct choice_model *hp_choice_model(struct arena *arena, const struct hypar_graph *graph,
                                     const struct choice_bounds *bounds);

#endif /* SEARCH_CHOICES_MODEL_H */
