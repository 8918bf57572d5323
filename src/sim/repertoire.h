/* sim/repertoire.h - what is worked out once and serves every plan. Internal.
 *
 * Layouts and patterns (the stock), how they are played (acts) and what they load devices with
 * depend on the graph, the machine and the settings, not on the plan: timelines of many plans,
 * and of one plan that changes, share them. A repertoire is used by one thread at a time. */
#ifndef SIM_REPERTOIRE_H
#define SIM_REPERTOIRE_H

#include "sim/load.h"

struct repertoire {
    struct stock stock;
    struct acts acts;
    struct loads loads; /* begun with the first sketch */
};

/* For plans that have graph, machine, precision and optimizer of `like`. */
struct repertoire *hp_repertoire_new(const struct hypar_plan *like,
                                     const struct sim_settings *settings);
void hp_repertoire_free(struct repertoire *repertoire); /* NULL is allowed */

/* Bytes that it holds: it remembers all that it was asked for. */
size_t hp_repertoire_bytes(const struct repertoire *repertoire);

#endif /* SIM_REPERTOIRE_H */
