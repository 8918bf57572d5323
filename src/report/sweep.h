/* report/sweep.h - what the table and the picture of a sweep share. Internal. */
#ifndef REPORT_SWEEP_H
#define REPORT_SWEEP_H

#include <hypar/explore.h>

#include "base/arena.h"

/* Samples a second of one device. */
double hp_for_a_device(const struct hypar_sweep_point *point);

/* Are there machines that differ by more than the number of their devices? */
bool hp_sweep_has_kinds(const struct hypar_sweep *sweep);

/* "cluster:1x8 to cluster:16x8"; "dp or 3d". */
const char *hp_sweep_machines(struct arena *arena, const struct hypar_sweep *sweep);
const char *hp_sweep_planners(struct arena *arena, const struct hypar_sweep *sweep);

#endif /* REPORT_SWEEP_H */
