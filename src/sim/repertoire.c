#include "sim/repertoire.h"

struct repertoire *hp_repertoire_new(const struct hypar_plan *like,
                                     const struct sim_settings *settings)
{
    struct arena arena = { 0 };
    struct repertoire *r = NEW(&arena, struct repertoire, 1);
    r->stock.arena = arena;
    hp_acts_begin(&r->acts, like, settings);
    return r;
}

void hp_repertoire_free(struct repertoire *r)
{
    if (!r)
        return;
    hp_loads_end(&r->loads);
    hp_acts_end(&r->acts);
    struct arena arena = r->stock.arena; /* it lives in it */
    hp_arena_free(&arena);
}

size_t hp_repertoire_bytes(const struct repertoire *r)
{
    return hp_arena_bytes(&r->stock.arena) + hp_arena_bytes(&r->acts.arena) +
           hp_arena_bytes(&r->loads.arena);
}
