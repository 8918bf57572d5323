/* machine/tour.h - short closed tours: the travelling salesman's problem. Internal. */
#ifndef MACHINE_TOUR_H
#define MACHINE_TOUR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOUR_MAX_LENGTH = 1 << 26 }; /* between two places: sums of some stay an int */

/* Places 0..n-1, n > 3, and the lengths between them: [n * n], symmetric, above 0. */
struct tour_problem {
    int n;
    const int *length;
    /* Is this one, as short as any found before, good enough to end the search? */
    bool (*judge)(void *who, const int *tour);
    void *who;
};

/* Show `judge` shorter and shorter tours until it has enough, or for some `steps`. The same
 * problem is always searched in the same way. */
void hp_tour_search(const struct tour_problem *problem, int64_t steps);

#endif /* MACHINE_TOUR_H */
