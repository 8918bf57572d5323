/* Parts, patterns, costs and loads that many plans share. */
#include "sim/sim_cache.h"

struct sim_cache *hp_sim_cache_new(const struct hypar_plan *like,
                                   const struct hypar_sim_options *options)
{
    struct arena arena = { 0 };
    struct sim_cache *r = NEW(&arena, struct sim_cache, 1);
    r->cache.arena = arena;
    hp_task_costs_begin(&r->costs, like, options);
    return r;
}

void hp_sim_cache_free(struct sim_cache *r)
{
    if (!r)
        return;
    hp_loads_end(&r->loads);
    hp_task_costs_end(&r->costs);
    struct arena arena = r->cache.arena; /* it lives in it */
    hp_arena_free(&arena);
}

size_t hp_sim_cache_bytes(const struct sim_cache *r)
{
    return hp_arena_bytes(&r->cache.arena) + hp_arena_bytes(&r->costs.arena) +
           hp_arena_bytes(&r->loads.arena);
}
