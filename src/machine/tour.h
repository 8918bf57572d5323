/* machine/tour.h - short closed tours: a heuristic for the travelling salesman problem.
 * Internal. */
#ifndef MACHINE_TOUR_H
#define MACHINE_TOUR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TOUR_MAX_LENGTH = 1 << 26
}; /* between two places: sums of some lengths stay within an int */

/* Places 0..n-1, n > 3, and the lengths between them: [n * n], symmetric, positive. */
struct tour_problem {
    int n;
    const int *length;
    /* Called with a tour no longer than any before: is it good enough to end the search? */
    bool (*judge)(void *who, const int *tour);
    void *who;
};

/* Pass shorter and shorter tours to `judge` until it returns true, or for `steps` steps. The
 * search is deterministic. */
void hp_tour_search(const struct tour_problem *problem, int64_t steps);

#endif /* MACHINE_TOUR_H */
