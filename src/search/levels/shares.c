/* Unequal shares (AccPar): where devices differ in speed, each side of a level gets work in
 * proportion to what it can do, so that all are done at the same time. */
#include "cost/work.h"
#include "search/levels/levels.h"

static double speed_of(const struct problem *problem, int device)
{
    const struct hypar_device *d = hypar_machine_device(problem->machine, device);
    return hp_peak_op_per_s(d, problem->options->precision) * d->efficiency;
}

/* The speed of all devices whose digit at level h is `side`, for every level and side. An axis
 * has one list of sizes, so a side's share is the mean over all groups of its level. */
const double *const *hp_shares(const struct problem *problem, struct arena *arena)
{
    if (hypar_machine_is_uniform(problem->machine))
        return NULL;
    int n = hypar_machine_device_count(problem->machine), below = n;
    double **share = NEW(arena, double *, problem->n_levels);
    for (int h = 0; h < problem->n_levels; h++) {
        int ways = problem->level[h].ways;
        share[h] = NEW(arena, double, ways);
        below /= ways;
        for (int d = 0; d < n; d++)
            share[h][d / below % ways] += speed_of(problem, d);
    }
    return (const double *const *)share;
}
