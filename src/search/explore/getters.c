/* Getters of an exploration. */
#include "search/explore/explore.h"

struct hypar_exploration_info hypar_exploration_info(const struct hypar_exploration *e)
{
    return (struct hypar_exploration_info){ .graph = e->graph,
                                            .options = &e->options,
                                            .n_sites = e->n_sites,
                                            .n_axes = e->machines.n_axes,
                                            .axis = e->machines.axis,
                                            .machine = e->machines.name,
                                            .interrupted = e->interrupted };
}

static bool is_site(const struct hypar_exploration *e, int site)
{
    return site >= 0 && site < e->n_sites;
}

struct hypar_explore_site hypar_exploration_site(const struct hypar_exploration *e, int site)
{
    return is_site(e, site) ? e->site[site].text : (struct hypar_explore_site){ 0 };
}

const struct hypar_explore_choice *hypar_exploration_choice(const struct hypar_exploration *e,
                                                            int site, int i)
{
    return i >= 0 && i < hypar_exploration_site(e, site).n_choices ? &e->site[site].choice[i]
                                                                   : NULL;
}

const struct hypar_explored *hypar_exploration_point(const struct hypar_exploration *e,
                                                     int site, int64_t i)
{
    return i >= 0 && i < hypar_exploration_site(e, site).n_points ? &e->site[site].point[i]
                                                                  : NULL;
}

size_t hypar_exploration_text_size(const struct hypar_exploration *e, int site)
{
    if (!is_site(e, site))
        return 1;
    size_t n_levels = (size_t)e->site[site].problem.n_levels;
    return n_levels * ((size_t)e->layered->n_layers + 1) + 1;
}

char *hp_explore_levels_text(const struct hypar_exploration *e, const struct site *site,
                             const enum layer_type *types, char *text)
{
    const struct layered *l = e->layered;
    size_t at = 0;
    for (int h = 0; h < site->problem.n_levels; h++) {
        if (h)
            text[at++] = '/';
        for (int i = 0; i < l->n_layers; i++)
            text[at++] =
                hp_type_digit(types[(size_t)h * (size_t)l->n_nodes + (size_t)l->layer[i]]);
    }
    text[at] = '\0';
    return text;
}

char *hypar_exploration_levels(const struct hypar_exploration *e, int site, int64_t i,
                               char *text)
{
    text[0] = '\0';
    if (!hypar_exploration_point(e, site, i))
        return text;
    const struct site *s = &e->site[site];
    struct arena scratch = { 0 };
    size_t n = (size_t)s->problem.n_levels * (size_t)e->layered->n_nodes;
    enum layer_type *types = NEW(&scratch, enum layer_type, n + 1);
    hp_explore_types(e, s, i, types);
    hp_explore_levels_text(e, s, types, text);
    hp_arena_free(&scratch);
    return text;
}

struct hypar_explore_group hypar_exploration_group(const struct hypar_exploration *e, int site,
                                                   int group)
{
    if (group < 0 || group >= hypar_exploration_site(e, site).n_groups)
        return (struct hypar_explore_group){ 0 };
    const struct group *g = &e->site[site].group[group];
    return (struct hypar_explore_group){ g->name, g->n_values };
}

char *hypar_exploration_value(const struct hypar_exploration *e, int site, int group,
                              int64_t value, char *text)
{
    text[0] = '\0';
    if (value < 0 || value >= hypar_exploration_group(e, site, group).n_values)
        return text;
    const struct site *s = &e->site[site];
    const struct group *g = &s->group[group];
    for (int c = g->n_cells - 1; c >= 0; c--) {
        const struct cell *cell = &s->cell[g->first + c];
        enum layer_type type = cell->types.type[value % cell->types.n];
        text[c] = hp_type_digit(hp_own_type(&e->layered->node[cell->node[0]], type));
        value /= cell->types.n;
    }
    text[g->n_cells] = '\0';
    return text;
}

double hypar_exploration_merit(const struct hypar_exploration *e,
                               const struct hypar_explored *cost)
{
    switch (e->options.objective) {
    case HYPAR_COMM:
        return cost->comm_bytes;
    case HYPAR_ENERGY:
        return cost->energy_j;
    default:
        return cost->step_s;
    }
}
