/* all_reduces.h - the sums of a data-parallel step, in closed form. */
#ifndef TESTS_ALL_REDUCES_H
#define TESTS_ALL_REDUCES_H

#include "plan/plan.h"

/* One all-reduce for each parameter and the loss, fp32, over all devices, one after the other,
 * by the algorithm `name` (NULL: the fastest). */
double all_reduces_s(const struct hypar_plan *plan, const char *name);

#endif /* TESTS_ALL_REDUCES_H */
