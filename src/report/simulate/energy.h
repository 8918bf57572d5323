/* report/simulate/energy.h - the energy of a step, by its consumers. Internal. */
#ifndef REPORT_ENERGY_H
#define REPORT_ENERGY_H

#include <hypar/sim.h>

#include "report/table.h"

/* Columns of a struct hypar_energy, and the keys of its fields in CSV. */
extern const struct column hp_energy_columns[];
#define ENERGY_KEYS "arithmetic_j sram_j dram_j link_j idle_j"

#endif /* REPORT_ENERGY_H */
