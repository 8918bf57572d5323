/* search/threed/estimate.h - the step and the memory of a layout in closed form. Internal to
 * planner 3d. */
#ifndef SEARCH_THREED_ESTIMATE_H
#define SEARCH_THREED_ESTIMATE_H

#include "search/planner.h"

/* A quantity under a tensor degree: the sum that the degree divides, and the sum that each part
 * has as a whole. */
struct tensor_share {
    double divided, whole;
};

struct tensor_shares {
    bool fits;                   /* false: too few heads */
    struct tensor_share seconds; /* of a step on one device, in one micro-batch */
    struct tensor_share params,
        kept;      /* elements; `kept`: of activations, for backward passes */
    double summed; /* elements that the parts sum, forward and backward */
};

struct layout_model {
    const struct problem *problem;
    struct arena *arena;
    const double *op_s; /* by operator: of a step on one device, in one micro-batch */
    double each_s;      /* of all operators, what each further micro-batch takes besides */
    double update_s;    /* of a parameter */
    const bool *again;  /* by operator: it is computed again, and what it writes is not kept */
    double element_bytes;
    double macs_again;            /* of what is computed again */
    double touched_bytes;         /* of activations, forward and backward, and of parameters */
    double border;                /* elements that pass from stage to stage */
    int n_degrees;                /* tensor degrees that were looked at */
    int *degree;                  /* negative: with sequence parallelism */
    struct tensor_shares *shares; /* of each of them */
};

struct layout_estimate {
    struct hypar_layout layout;
    double step_s, compute_s, comm_s;
    double memory_bytes; /* of a device: state, and activations of micro-batches in flight */
    double comm_bytes;
};

/* `recompute` says what is computed again; the problem's own settings are ignored. */
struct layout_model hp_layout_model(struct arena *arena, const struct problem *problem,
                                    enum hypar_recompute recompute);

/* Is as much computed again as under an earlier word, model[0] .. model[i - 1]? */
bool hp_repeats_recompute(const struct layout_model *model, int i);

/* Fill all but the layout of *w. False: it has too few heads. */
bool hp_estimate_layout(struct layout_model *model, struct layout_estimate *w);

#endif /* SEARCH_THREED_ESTIMATE_H */
