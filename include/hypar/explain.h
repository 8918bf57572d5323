/* hypar/explain.h - why a step takes as long as it does, and what would help.
 *
 * In the way of the data: model -> graph -> search -> plan -> program -> SIM | run -> report
 *
 * Every number is a simulation: of the plan, whose critical path is hypar_sim_segment()'s, or
 * of a plan or a machine in which one thing is otherwise. */
#ifndef HYPAR_EXPLAIN_H
#define HYPAR_EXPLAIN_H

#include <hypar/search.h>
#include <hypar/sim.h>
#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thing that is otherwise. */
struct hypar_what_if {
    const char *what;    /* "links between nodes twice as fast", "1f1b -> gpipe" */
    const char *why_not; /* why it cannot be had; NULL: it can */
    double step_s;       /* where there is no why_not, or where it does not fit; else 0 */
    double peak_memory_bytes, limit_bytes; /* of the fullest device */
    bool fits;
    const struct hypar_plan *plan; /* that was simulated, on its machine; NULL: it was not */
};

/* Operators that are alike, each with those that only follow it: what they cost, and what the
 * whole step would take if one of them were split otherwise over the devices that it has. */
struct hypar_explained_op {
    int op;    /* the costliest of them */
    int alike; /* how many there are of the same kind, shape and split */
    double
        path_s; /* of the critical path, all of them: computing, and moving what they write */
    int n_alternatives;
    const struct hypar_what_if *alternative; /* the fastest first; their plans are
                                                hypar_explained_alternative()'s */
};

struct hypar_explain_options {
    const struct hypar_sim_options *simulation; /* may be NULL: as the plan says */
    int ops;                           /* so many of the costliest operators; 0: 10; -1: none */
    const volatile sig_atomic_t *stop; /* not 0: what is not yet simulated is left out; or NULL
                                        */
};

struct hypar_explanation; /* opaque */

/* The plan, the profile and the simulation options must outlive the result. */
HYPAR_API enum hypar_status hypar_explain(struct hypar_explanation **out,
                                          const struct hypar_plan *plan,
                                          const struct hypar_explain_options *options,
                                          struct hypar_error *err);
HYPAR_API void hypar_explanation_free(struct hypar_explanation *explanation); /* NULL allowed */

/* The plan's own step, with its timeline. Owned by the explanation, as is all else. */
HYPAR_API const struct hypar_sim *hypar_explained_sim(const struct hypar_explanation *e);

/* What would be otherwise: i, NULL past the last; the fastest first, then what cannot be had.
 */
HYPAR_API const struct hypar_what_if *hypar_explained_what_if(const struct hypar_explanation *e,
                                                              int i);

/* The costliest operators: i, NULL past the last; the costliest first. */
HYPAR_API const struct hypar_explained_op *hypar_explained_op(const struct hypar_explanation *e,
                                                              int i);
/* Why alternatives of some of them, or of all, are not there, though the operators are. "":
 * none were left out. */
HYPAR_API const char *hypar_explained_ops_left_out(const struct hypar_explanation *e);

/* The plan with alternative `alternative` of hypar_explained_op(e, op), to be released with
 * hypar_plan_free(); NULL: there is none. */
HYPAR_API struct hypar_plan *hypar_explained_alternative(const struct hypar_explanation *e,
                                                         int op, int alternative);

/* A step that no plan is faster than. */
HYPAR_API struct hypar_bound hypar_explained_bound(const struct hypar_explanation *e);

/* How two plans of one model and machine differ: each difference with the step of the first
 * plan in which that alone is as in the second, where it can be so alone. */
struct hypar_differences; /* opaque */
HYPAR_API enum hypar_status hypar_plan_differences(struct hypar_differences **out,
                                                   const struct hypar_plan *a,
                                                   const struct hypar_plan *b,
                                                   const struct hypar_sim_options *simulation,
                                                   struct hypar_error *err);
HYPAR_API void hypar_differences_free(struct hypar_differences *differences); /* NULL allowed */
HYPAR_API const struct hypar_what_if *hypar_difference(const struct hypar_differences *d,
                                                       int i);
HYPAR_API double hypar_differences_step_s(const struct hypar_differences *d); /* of the first */

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_EXPLAIN_H */
