/* search/nearby.h - plans for machines that are like the one at hand. Internal.
 *
 * A planner takes the best plan of its cost model, which is not the simulator's: a step has
 * exchanges that overlap with computing, or wait for each other. What it would choose with
 * fewer nodes, or with links twice or half as fast, or four times, may be faster here than
 * what it chooses for this machine. Such plans are made, carried here, and simulated. So
 * auto's plan does not become slower where nodes are added, or links become faster. */
#ifndef SEARCH_NEARBY_H
#define SEARCH_NEARBY_H

#include "search/evaluate/verdict.h"

/* The same problem on another machine. */
struct nearby {
    struct hypar_machine *machine;
    struct problem problem;
    double links;
};

/* On the first `rows` of the machine's rows (machine.h), with links `links` times as fast;
 * false: there is no such machine. */
bool hp_nearby_begin(struct nearby *out, const struct problem *problem, int rows, double links);
void hp_nearby_end(struct nearby *nearby);

/* A plan that was found nearby becomes one on the problem's own machine, simulated there, which
 * is its prediction too; it may not fit. */
struct verdict hp_carry_found(const struct problem *problem, const struct nearby *nearby,
                              struct hypar_found *found);

/* What is known before: plans, and the step that is to be beaten. */
struct nearby_start {
    struct hypar_found *const *found;
    int n;
    double best_s;
};

/* The fastest plan of this kind that fits; NULL: none is faster. By the planners that `self`
 * may try, given these options (options.h). *rows: on so many rows. */
struct hypar_found *hp_plan_nearby(const struct planner *self, const struct problem *problem,
                                   unsigned given, const struct nearby_start *start,
                                   struct verdict *verdict, int *rows);

/* A random search begins with what is known. */
struct random_start {
    const struct hypar_plan *like; /* another planner's, as large as those to be tried; or NULL:
                                      as large as one that divides everything */
    const struct hypar_plan *known; /* the best so far, that fits; or NULL */
    double step_s;                  /* of it */
    int rows;                       /* of the machine, that it is on; 0: not known */
};

/* The best of what a random search (flexflow) finds on the machine and on parts of it, whether
 * or not it is faster than what is known; HYPAR_UNSUPPORTED where it takes long, unless a
 * budget is given (at_random.c). With HYPAR_OK *err says what was left out; "": nothing. */
enum hypar_status hp_search_at_random(const struct planner *random,
                                      const struct problem *problem,
                                      const struct random_start *start,
                                      struct hypar_found **out, struct verdict *verdict,
                                      struct hypar_error *err);

#endif /* SEARCH_NEARBY_H */
