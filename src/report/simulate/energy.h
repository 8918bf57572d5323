/* report/simulate/energy.h - the energy of a step by what spends it, as JSON and CSV. Internal. */
#ifndef REPORT_ENERGY_H
#define REPORT_ENERGY_H

#include <hypar/sim.h>

#include "base/json.h"
#include "report/csv.h"

/* As the object "energy"; NULL: null, it is not known. */
void hp_put_energy(struct json_writer *w, const struct hypar_energy *energy);

/* A column for each part; NULL: empty ones. */
void hp_csv_energy_heading(struct csv_writer *csv);
void hp_csv_energy(struct csv_writer *csv, const struct hypar_energy *energy);

#endif /* REPORT_ENERGY_H */
