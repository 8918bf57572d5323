/* The columns of a step's energy, by its consumers. */
#include "report/simulate/energy.h"

static double total_j(const void *energy)
{
    return hypar_energy_total_j(energy);
}

const struct column hp_energy_columns[] = {
    { NULL, "arithmetic_j", AS_JOULES, AT(struct hypar_energy, arithmetic_j) },
    { NULL, "sram_j", AS_JOULES, AT(struct hypar_energy, sram_j) },
    { NULL, "dram_j", AS_JOULES, AT(struct hypar_energy, dram_j) },
    { NULL, "link_j", AS_JOULES, AT(struct hypar_energy, link_j) },
    { NULL, "idle_j", AS_JOULES, AT(struct hypar_energy, idle_j) },
    { NULL, "total_j", AS_JOULES, .get = total_j },
    { 0 },
};
