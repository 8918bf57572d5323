/* The energy of a step by what spends it. */
#include "report/simulate/energy.h"

#include <stddef.h>

static const struct {
    const char *name;
    size_t offset;
} parts[] = {
    { "arithmetic_j", offsetof(struct hypar_energy, arithmetic_j) },
    { "sram_j", offsetof(struct hypar_energy, sram_j) },
    { "dram_j", offsetof(struct hypar_energy, dram_j) },
    { "link_j", offsetof(struct hypar_energy, link_j) },
    { "idle_j", offsetof(struct hypar_energy, idle_j) },
};

enum { N_PARTS = sizeof parts / sizeof parts[0] };

static double part_of(const struct hypar_energy *energy, int i)
{
    return *(const double *)((const char *)energy + parts[i].offset);
}

void hp_put_energy(struct json_writer *w, const struct hypar_energy *energy)
{
    if (!energy) {
        hp_json_put_null(w, "energy");
        return;
    }
    hp_json_begin_object(w, "energy", true);
    for (int i = 0; i < N_PARTS; i++)
        hp_json_put_number(w, parts[i].name, part_of(energy, i));
    hp_json_put_number(w, "total_j", hypar_energy_total_j(energy));
    hp_json_end_object(w);
}

void hp_csv_energy_heading(struct csv_writer *csv)
{
    for (int i = 0; i < N_PARTS; i++)
        hp_csv_plain(csv, parts[i].name);
}

void hp_csv_energy(struct csv_writer *csv, const struct hypar_energy *energy)
{
    for (int i = 0; i < N_PARTS; i++)
        hp_csv_known(csv, energy, energy ? part_of(energy, i) : 0);
}
