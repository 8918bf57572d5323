/* sim/sim_cache.h - results that serve every plan of a graph. Internal.
 *
 * Parts and patterns (the lowering's cache), their times (costs) and the load that they put on
 * devices depend on the graph, the machine and the options, not on the plan. Timelines of many
 * plans, and of one changing plan, share them. One thread at a time may use a sim_cache. */
#ifndef SIM_SIM_CACHE_H
#define SIM_SIM_CACHE_H

#include "sim/delta/load.h"

struct sim_cache {
    struct lowering_cache cache;
    struct task_costs costs;
    struct loads loads; /* set up by the first lowering */
};

/* For plans with the graph, machine, precision and optimizer of `like`. */
struct sim_cache *hp_sim_cache_new(const struct hypar_plan *like,
                                   const struct hypar_sim_options *options);
void hp_sim_cache_free(struct sim_cache *sim_cache); /* NULL is allowed */

/* The bytes of the cache; it only grows. */
size_t hp_sim_cache_bytes(const struct sim_cache *sim_cache);

#endif /* SIM_SIM_CACHE_H */
