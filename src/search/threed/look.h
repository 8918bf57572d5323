/* search/threed/look.h - layouts looked at closely: built and simulated. Internal to planner
 * 3d. */
#ifndef SEARCH_THREED_LOOK_H
#define SEARCH_THREED_LOOK_H

#include "search/evaluate/reduced.h"
#include "search/threed/weigh.h"

/* One that was looked at. */
struct looked {
    struct weighed weighed;
    double step_s;            /* simulated; INFINITY: there is no such plan */
    bool state_fits;          /* weights, gradients and optimizer state, before anything else */
    struct fullest memory;    /* ... or of these alone, if they do not fit */
    struct reduced_step part; /* what was simulated; zeros: nothing */
};

struct looking {
    const struct problem *problem;
    struct arena *arena;
    struct hypar_plan *plan; /* of the best so far; NULL: none was built */
    struct looked best;
    int n, capacity;
    struct looked *looked;
    double tasks;             /* about so many were simulated */
    bool unseen;              /* some plan is too large to be simulated */
    struct hypar_error first; /* why the first could not be built */
};

/* A new plan of this layout. */
enum hypar_status hp_threed_plan(const struct problem *problem,
                                 const struct hypar_layout *layout, struct hypar_plan **out,
                                 struct hypar_error *err);

/* Build and simulate a plan. False: it is known already, or there is none. */
bool hp_look(struct looking *looking, const struct weighed *weighed, struct looked *out);

/* One that fits is better than one whose state alone fits, and that better than others; then
 * the faster, or of those that do not fit the one that needs less. */
bool hp_looks_better(const struct looked *a, const struct looked *b);

/* Was enough simulated? */
bool hp_looked_enough(const struct looking *looking);

#endif /* SEARCH_THREED_LOOK_H */
