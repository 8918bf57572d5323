/* sim/sim_cache.h - what is worked out once and serves every plan. Internal.
 *
 * Layouts and patterns (the cache), how long they take (costs) and what they load devices with
 * depend on the graph, the machine and the options, not on the plan: timelines of many plans,
 * and of one plan that changes, share them. A sim_cache is used by one thread at a time. */
#ifndef SIM_SIM_CACHE_H
#define SIM_SIM_CACHE_H

#include "sim/delta/load.h"

struct sim_cache {
    struct lowering_cache cache;
    struct task_costs costs;
    struct loads loads; /* begun with the first lowering */
};

/* For plans that have graph, machine, precision and optimizer of `like`. */
struct sim_cache *hp_sim_cache_new(const struct hypar_plan *like,
                                   const struct hypar_sim_options *options);
void hp_sim_cache_free(struct sim_cache *sim_cache); /* NULL is allowed */

/* Bytes that it holds: it remembers all that it was asked for. */
size_t hp_sim_cache_bytes(const struct sim_cache *sim_cache);

#endif /* SIM_SIM_CACHE_H */
