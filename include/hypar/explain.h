/* hypar/explain.h - why a step takes as long as it does, and what would help.
 *
 * Data flow: model -> graph -> search -> plan -> program -> SIM | run -> report
 *
 * Every number comes from a simulation: of the plan, whose critical path is
 * hypar_sim_segment()'s, or of a plan or a machine with one change. */
#ifndef HYPAR_EXPLAIN_H
#define HYPAR_EXPLAIN_H

#include <hypar/search.h>
#include <hypar/sim.h>
#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One change. */
struct hypar_what_if {
    const char *what;    /* "links between nodes twice as fast", "1f1b -> gpipe" */
    const char *why_not; /* why it is not possible; NULL: it is */
    double step_s;       /* if it is possible, or does not fit; else 0 */
    double peak_memory_bytes, limit_bytes; /* of the fullest device */
    bool fits;
    const struct hypar_plan *plan; /* the simulated plan, on its machine; NULL: none */
};

/* Equal operators, each with the operators fused to it: their cost, and the step's time if one
 * of them were split otherwise over its devices. */
struct hypar_explained_op {
    int op;    /* the costliest of them */
    int alike; /* the number of operators of the same kind, shape and split */
    double
        path_s; /* of the critical path, of all of them: computing, and moving their outputs */
    const char *refused_by; /* the framework of --for that refuses some of its splits; NULL: it
                               refuses none */
    int n_alternatives;
    const struct hypar_what_if
        *alternative; /* the fastest first; hypar_explained_alternative() makes their plans */
};

struct hypar_explain_options {
    const struct hypar_sim_options *simulation; /* may be NULL: as the plan says */
    int ops; /* how many of the costliest operators; 0: 10; -1: none */
    const volatile sig_atomic_t
        *stop; /* if not 0: remaining simulations are left out; or NULL */
};

struct hypar_explanation; /* opaque */

/* Explain a plan. The plan, the profile and the simulation options must outlive the result. */
HYPAR_API enum hypar_status hypar_explain(struct hypar_explanation **out,
                                          const struct hypar_plan *plan,
                                          const struct hypar_explain_options *options,
                                          struct hypar_error *err);
HYPAR_API void hypar_explanation_free(struct hypar_explanation *explanation); /* NULL allowed */

/* An explanation as a whole; the explanation owns everything. */
struct hypar_explanation_info {
    const struct hypar_sim *sim; /* the plan's own step, with its timeline */
    struct hypar_bound bound;    /* a lower bound of the step of any plan */
    const char *ops_left_out; /* why alternatives of some or all operators are missing; "": none
                                 are */
    /* The terms by which HyPar chose the types of the layers (hypar_partition_view.terms).
     * NULL: the plan is not as a search by the planner hypar alone found it. */
    const struct hypar_partition_view *partition;
};
HYPAR_API struct hypar_explanation_info
hypar_explanation_info(const struct hypar_explanation *e);

/* Change `i`, NULL past the last: the fastest first, impossible ones last. */
HYPAR_API const struct hypar_what_if *hypar_explained_what_if(const struct hypar_explanation *e,
                                                              int i);

/* The costliest operators: number i, NULL past the last; the costliest first. */
HYPAR_API const struct hypar_explained_op *hypar_explained_op(const struct hypar_explanation *e,
                                                              int i);

/* The plan with alternative `alternative` of hypar_explained_op(e, op), to be released with
 * hypar_plan_free(); NULL: there is none. */
HYPAR_API struct hypar_plan *hypar_explained_alternative(const struct hypar_explanation *e,
                                                         int op, int alternative);

/* How two plans of one model and machine differ. Each difference comes with the step of the
 * first plan with this change alone, where that is possible. */
struct hypar_differences; /* opaque */
HYPAR_API enum hypar_status hypar_plan_differences(struct hypar_differences **out,
                                                   const struct hypar_plan *a,
                                                   const struct hypar_plan *b,
                                                   const struct hypar_sim_options *simulation,
                                                   struct hypar_error *err);
HYPAR_API void hypar_differences_free(struct hypar_differences *differences); /* NULL allowed */
HYPAR_API const struct hypar_what_if *hypar_difference(const struct hypar_differences *d,
                                                       int i);
HYPAR_API double
hypar_differences_step_s(const struct hypar_differences *d); /* of the first plan */

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_EXPLAIN_H */
