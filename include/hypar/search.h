/* hypar/search.h - finding a plan.
 *
 * In the way of the data: model -> graph -> SEARCH -> plan -> program -> sim | run -> report
 *
 * A planner is a row of one table; `auto` tries the others and keeps the best. */
#ifndef HYPAR_SEARCH_H
#define HYPAR_SEARCH_H

#include <hypar/plan.h>
#include <hypar/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a plan is judged by. */
enum hypar_objective { HYPAR_TIME, HYPAR_COMM, HYPAR_ENERGY };

/* How optcnn's cost model counts: with collectives, as steps are simulated and run (gradients
 * by all-reduce, a node gets what its devices read once), or as its paper's runtime did it
 * (parameter servers, every device for itself). */
enum hypar_sync { HYPAR_SYNC_ALL_REDUCE, HYPAR_SYNC_SERVER };

struct hypar_search_options {
    const char *planner; /* NULL: "auto" */
    const char
        *model; /* what hypar_import() took, to be written into the plan; NULL: its name */
    const char *machine; /* what hypar_machine_read() took; NULL: written out as an object */
    bool joint;          /* hypar, accpar: all levels at once instead of from the top */
    double memory_bytes; /* limit per device; 0: the device's own */
    enum hypar_objective objective; /* auto: what the best is best at */
    enum hypar_precision precision;
    enum hypar_optimizer optimizer;
    int64_t seed;
    enum hypar_sync sync;                /* optcnn */
    const char *axes;                    /* optcnn: what may be divided, of "nkhwtc"; NULL:
                                            "nkhw" */
    const struct hypar_profile *profile; /* optcnn: measured times; may be NULL */
};

struct hypar_found; /* opaque; a plan, and what is known about it */

/* Search. Graph and machine must outlive the result. HYPAR_INFEASIBLE if no plan satisfies the
 * limits, HYPAR_USAGE for an unknown planner; then *out is NULL. */
HYPAR_API enum hypar_status hypar_search(struct hypar_found **out,
                                         const struct hypar_graph *graph,
                                         const struct hypar_machine *machine,
                                         const struct hypar_search_options *options,
                                         struct hypar_error *err);
HYPAR_API void hypar_found_free(struct hypar_found *found); /* the plan too; NULL is allowed */

/* Owned by `found`. */
HYPAR_API const struct hypar_plan *hypar_found_plan(const struct hypar_found *found);

/* One training step as the closed-form model sees it: every device computes its share at its
 * device's speed, the levels of the machine exchange one after the other, nothing overlaps. */
struct hypar_prediction {
    double step_s, compute_s, comm_s;
    double samples_per_s;
    double mfu; /* model-FLOP utilisation: 3 forward passes of multiply-adds over the peak */
    double comm_bytes; /* the paper's count: both directions, every group of every level */
    double energy_j;
    double state_bytes; /* parameters, gradients and optimizer state of the fullest device */
};
HYPAR_API struct hypar_prediction hypar_found_prediction(const struct hypar_found *found);

/* What was searched. */
struct hypar_search_info {
    const char *planner; /* that made the plan: for auto, the one that won */
    double seconds;
    int64_t evaluated; /* states weighed */
    bool chooses;      /* it weighed choices; dp, mp and owt have none to speak of */
    bool exact;        /* no other choice of types has less exchange; only --joint can know */
    double lower_bound_elements; /* of the exchange over all choices; 0: not known */
    double lower_bound_s; /* of the planner's own cost over all it may choose; 0: not known */
    const char *refused;  /* auto: planners that had no plan, and why; "" or NULL: none */
};
HYPAR_API struct hypar_search_info hypar_found_info(const struct hypar_found *found);

/* HyPar's view of the plan: a type for every weighted layer at every level (0 = dp, type I;
 * 1 = mp, type II; 2 = type III), and the elements exchanged between two sides of a group. */
struct hypar_partition_view {
    int n_levels, n_layers;
    const int *ways;          /* of each level, H1 first */
    const char *const *level; /* n_layers digits each */
    const int *layer_op;      /* the operator of each layer */
    const double *level_elements;
    double total_elements, total_bytes; /* 8 bytes an element: 4 each way */
};

/* NULL if the planner has no such view. Owned by `found`. */
HYPAR_API const struct hypar_partition_view *
hypar_found_partition(const struct hypar_found *found);

/* OptCNN's view of the plan: the terms of its cost (Eq. 1), and how the least was found. */
struct hypar_layerwise_view {
    double compute_s, transfer_s, sync_s; /* t_C, t_X and t_S, all layers and edges */
    double transfer_bytes, sync_bytes;    /* of a step, that leave their device */
    int n_vars, n_edges;                  /* layers that choose; tensors between them */
    int64_t n_states;                     /* configurations of all of them */
    int n_tables; /* t_X tables that were filled: alike edges share one */
    int node_eliminations, edge_eliminations; /* Eq. 2, Eq. 3 */
    int general_eliminations;                 /* of layers with three neighbours and more */
    int width;                                /* most neighbours of a layer when eliminated */
    const char *method;                       /* of the solver, in a few words */
    bool thinned;     /* there were too many configurations to weigh them all */
    const char *axes; /* the dimensions that might be divided */
    enum hypar_sync sync;
};

/* NULL if the planner has no such view. Owned by `found`. */
HYPAR_API const struct hypar_layerwise_view *
hypar_found_layerwise(const struct hypar_found *found);

/* Row `i` of the table of planners, or NULL past the last. */
struct hypar_planner_info {
    const char *name, *summary, *source;
};
HYPAR_API const struct hypar_planner_info *hypar_planner(int i);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_SEARCH_H */
