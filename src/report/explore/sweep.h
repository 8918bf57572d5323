/* report/explore/sweep.h - functions shared by the table and the chart of a sweep. Internal. */
#ifndef REPORT_SWEEP_H
#define REPORT_SWEEP_H

#include <hypar/explore.h>

#include "base/arena.h"
#include "report/explore/axes.h"

/* Samples per second per device. */
double hp_for_a_device(const struct hypar_sweep_point *point);

/* Are points compared by the samples per second of all devices, not per device? This holds for
 * machines named by the user. */
bool hp_sweep_in_all(const struct hypar_sweep *sweep);

/* The value of the objective (energy or comm) per sample. */
double hp_of_a_sample(const struct hypar_sweep_point *point, enum hypar_objective objective);

int hp_sweep_machine_count(const struct hypar_sweep *sweep);

/* The properties in which machines differ; the number of devices is reported separately. */
struct axes hp_sweep_axes_of(const struct hypar_sweep *sweep);
struct axes_place hp_sweep_place(const struct hypar_sweep_point *point);

/* "3 machines like cluster:1x8"; "dp and 3d". */
const char *hp_sweep_machines(struct arena *arena, const struct hypar_sweep *sweep);
const char *hp_sweep_planners(struct arena *arena, const struct hypar_sweep *sweep);

#endif /* REPORT_SWEEP_H */
