/* search/nearby.h - plans for machines that are similar to the given one. Internal.
 *
 * A planner finds the best plan of its own cost model. The simulator's model differs: exchanges
 * overlap with computation, or wait for each other. The planner's choice for fewer nodes, or
 * for links two or four times as fast or as slow, may be faster here than its choice for this
 * machine. Such plans are made, moved to this machine and simulated. So auto's plan does not
 * become slower when nodes are added or links become faster. Where devices differ, plans are
 * also made for subsets of them (subsets.h). */
#ifndef SEARCH_NEARBY_H
#define SEARCH_NEARBY_H

#include "search/evaluate/judge.h"
#include "search/subsets.h"

/* The same problem on another machine. */
struct nearby {
    struct hypar_machine *machine;
    struct problem problem;
    double links;
    const struct subset *subset; /* its devices; NULL: the first ones */
};

/* Do plans take little time, so that many machines may be looked at? */
bool hp_may_look_nearby(const struct problem *problem);

/* Make the problem on the first `rows` of the machine's rows (machine.h), with links `links`
 * times as fast. Returns false if there is no such machine. */
bool hp_nearby_begin(struct nearby *out, const struct problem *problem, int rows, double links);
void hp_nearby_end(struct nearby *nearby);

/* Make the problem on a subset of the devices. A plan on them has to take less than `beat_s`.
 */
bool hp_nearby_subset(struct nearby *out, const struct problem *problem,
                      const struct subset *subset, double beat_s);

/* Move a plan from a similar machine to the problem's own machine and simulate it there; the
 * simulated step becomes its prediction. The plan may not fit. */
struct verdict hp_carry_found(const struct problem *problem, const struct nearby *nearby,
                              struct hypar_found *found);

/* Plans that are already known, and the step to beat; INFINITY: none fits. */
struct nearby_start {
    struct hypar_found *const *found;
    int n;
    double best_s;
    bool simulated; /* all plans, as a whole */
};

/* The fastest such plan that fits; NULL: none is faster. Uses the planners that `self` may try
 * with these options (options.h). *rows becomes the rows of the plan. */
struct hypar_found *hp_plan_nearby(const struct planner *self, const struct problem *problem,
                                   unsigned given, const struct nearby_start *start,
                                   struct verdict *verdict, int *rows);

/* Run planner `self` on subsets of unlike devices, if the problem is not `whole`. A plan that
 * takes less than whole_s, the step of its plan of all devices (INFINITY: there is none),
 * replaces that in *found. False: there is no such plan. */
bool hp_plan_on_subsets(const struct planner *self, const struct problem *problem,
                        double whole_s, struct hypar_found *found);

/* The start of a random search. */
struct random_start {
    const struct hypar_plan *like; /* a plan of another planner, as large as those to try; NULL:
                                    * assume a plan that divides everything */
    const struct hypar_plan *known; /* the best plan so far that fits; or NULL */
    double step_s;                  /* of `known` */
    int rows;                       /* rows of the machine that `known` is on; 0: not known */
};

/* Run a random search (flexflow) on the machine and on parts of it; *out is its best result,
 * even if it is not faster than the known plan. HYPAR_UNSUPPORTED if the search takes too long
 * and no budget is given (at_random.c). With HYPAR_OK, *err says which part of the search was
 * left out; "": none. */
enum hypar_status hp_search_at_random(const struct planner *random,
                                      const struct problem *problem,
                                      const struct random_start *start,
                                      struct hypar_found **out, struct verdict *verdict,
                                      struct hypar_error *err);

#endif /* SEARCH_NEARBY_H */
