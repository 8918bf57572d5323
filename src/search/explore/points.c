/* Enumerates the explored choices, and computes the cost of each. */
#include <string.h>

#include "base/stop.h"
#include "cost/papers/array.h"
#include "machine/machine.h"
#include "search/estimate/needs.h"
#include "search/explore/explore.h"

/* The bandwidth of HyPar's array, 1.6 Gb/s: cost/papers/array.h was fitted for it. */
#define ARRAY_LINK_BYTES_PER_S 0.2e9

/* Costs ------------------------------------------------------------------------------- */

/* Parameter elements that one device holds. */
static double held_params(const struct layered *l, const struct partition_problem *p,
                          const struct partition *partition)
{
    double sum = 0;
    for (int n = 0; n < l->n_nodes; n++) {
        double weight = l->node[n].sizes.weight;
        for (int h = 0; h < partition->n_levels; h++)
            if (partition->type[(size_t)h * (size_t)l->n_nodes + (size_t)n] != TYPE_I)
                weight /= p->ways[h];
        sum += weight;
    }
    return sum;
}

/* HyPar's evaluation; other devices and links than the paper's scale it in proportion. */
static void array_time(const struct hypar_exploration *e, const struct site *site,
                       const struct partition *partition, double bytes_per_element,
                       struct hypar_explored *out)
{
    int n = hypar_machine_device_count(site->text.machine);
    double rate = site->work.op_per_s / n, bytes_times_hops = 0, groups = 1;
    for (int h = 0; h < partition->n_levels; h++) {
        bytes_times_hops +=
            bytes_per_element * groups * partition->level_elements[h] * site->hops[h];
        groups *= site->plain.ways[h];
    }
    if (site->text.bandwidth_bytes_per_s > 0)
        bytes_times_hops *= ARRAY_LINK_BYTES_PER_S / site->text.bandwidth_bytes_per_s;
    out->compute_s = hp_array_step_s(e->array_macs * HP_ARRAY_OP_PER_S / rate, n, 0);
    out->comm_s = hp_array_step_s(0, n, bytes_times_hops);
    out->step_s = out->compute_s + out->comm_s;
}

/* The cost by the paper's model, in closed form. */
static void paper_cost(const struct hypar_exploration *e, const struct site *site,
                       const struct partition *partition, struct hypar_explored *out)
{
    struct hypar_prediction p = { 0 };
    hp_predict_partition(&site->problem, &site->work, &site->plain, partition, &p);
    *out = (struct hypar_explored){ p.step_s,     p.compute_s, p.comm_s,
                                    p.comm_bytes, p.energy_j,  .state_bytes = 0 };
    if (e->options.cost == HYPAR_COST_ARRAY)
        array_time(e, site, partition,
                   partition->total_elements > 0 ? p.comm_bytes / partition->total_elements : 0,
                   out);
    out->energy_j += hp_idle_w(site->text.machine) * (out->step_s - p.step_s);
}

/* The cost of the partition's plan, simulated. */
static enum hypar_status simulated_cost(struct hypar_exploration *e, const struct site *site,
                                        const struct level_rules *rules,
                                        const struct partition *partition,
                                        struct hypar_explored *out, struct hypar_error *err)
{
    struct arena_mark mark = hp_arena_mark(&e->arena);
    struct partition layout = hp_laid_out(rules, site->plain.layered, &e->arena, partition);
    struct hypar_plan *plan = hp_build_plan(&site->problem, &layout);
    struct hypar_sim *sim;
    enum hypar_status status = hypar_simulate(&sim, plan, e->options.simulation, err);
    if (status == HYPAR_OK) {
        struct hypar_simulated s;
        hypar_sum_up(sim, 0, &s);
        *out = (struct hypar_explored){ s.step.step_s,
                                        s.compute_s,
                                        s.comm_s,
                                        s.step.comm_bytes,
                                        hypar_energy_total_j(&s.step.energy),
                                        s.step.energy,
                                        .need_bytes = s.fullest.peak,
                                        .fits = s.step.fits };
        hypar_sim_free(sim);
    }
    hypar_plan_free(plan);
    hp_arena_release(&e->arena, mark);
    return status;
}

enum hypar_status hp_explore_one_device(const struct hypar_exploration *e,
                                        const struct site *site, double *step_s,
                                        struct hypar_error *err)
{
    struct hypar_plan *plan =
        hp_plan_new(e->graph, site->text.machine, &site->problem.settings);
    struct hypar_sim *sim;
    enum hypar_status status = hypar_simulate(&sim, plan, e->options.simulation, err);
    if (status == HYPAR_OK) {
        *step_s = hypar_sim_summary(sim).step_s;
        hypar_sim_free(sim);
    }
    hypar_plan_free(plan);
    return status;
}

enum hypar_status hp_explore_cost(struct hypar_exploration *e, const struct site *site,
                                  const struct level_rules *rules,
                                  const struct partition *partition, struct hypar_explored *out,
                                  struct hypar_error *err)
{
    bool simulated = e->options.cost == HYPAR_COST_SIMULATED;
    if (simulated)
        TRY(simulated_cost(e, site, rules, partition, out, err));
    else
        paper_cost(e, site, partition, out);
    out->state_bytes = held_params(e->layered, &site->plain, partition) *
                       hp_param_state_bytes(&site->problem, false);
    if (!simulated) {
        out->need_bytes = out->state_bytes;
        out->fits = out->need_bytes <= site->memory_bytes;
    }
    return HYPAR_OK;
}

enum hypar_status hp_explore_evaluate(struct hypar_exploration *e, const struct site *site,
                                      enum layer_type *types, struct hypar_explored *out,
                                      struct hypar_error *err)
{
    static const struct level_rules as_chosen;
    const struct layered *l = e->layered;
    struct partition partition = { .n_levels = site->problem.n_levels,
                                   .n_nodes = l->n_nodes,
                                   .type = types };
    if (l->n_layers == l->n_nodes) { /* no join: no type is left to choose */
        hp_partition_evaluate(&site->plain, &partition);
        return hp_explore_cost(e, site, &as_chosen, &partition, out, err);
    }
    struct arena_mark mark = hp_arena_mark(&e->arena);
    size_t n = (size_t)partition.n_levels * (size_t)l->n_nodes;
    unsigned *allowed = NEW(&e->arena, unsigned, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct layer_node *node = &l->node[i % (size_t)l->n_nodes];
        allowed[i] = node->weighted ? 1u << types[i] : node->types;
    }
    struct partition_problem p = site->plain;
    p.allowed = allowed;
    enum hypar_status status = hp_partition(&e->arena, &p, &partition, err);
    if (status == HYPAR_OK) {
        memcpy(types, partition.type, n * sizeof *types);
        status = hp_explore_cost(e, site, &as_chosen, &partition, out, err);
    }
    hp_arena_release(&e->arena, mark);
    return status;
}

/* Cells ------------------------------------------------------------------------------- */

/* Marks the cells already taken, [level * n_vars + var], and has the types allowed in each
 * cell. */
struct gathering {
    struct hypar_exploration *e;
    struct site *site;
    struct partition_problem choices;
    struct var_types *types;
    bool *taken;
    int n_groups, group_capacity, cell_capacity;
    double n_points;
};

static void add_cell(struct gathering *g, int level, int var)
{
    struct site *site = g->site;
    const struct layered *l = g->e->layered;
    size_t at = (size_t)level * (size_t)l->n_vars + (size_t)var;
    if (g->taken[at])
        return;
    g->taken[at] = true;
    struct cell cell = { .level = level, .var = var, .types = g->types[at] };
    cell.node = NEW(&g->e->arena, int, l->n_nodes);
    for (int n = 0; n < l->n_nodes; n++)
        if (l->node[n].var == var)
            cell.node[cell.n_nodes++] = n;
    site->cell = GROW(&g->e->arena, struct cell, site->cell, site->n_cells, &g->cell_capacity);
    site->cell[site->n_cells++] = cell;
}

static void begin_group(struct gathering *g, const char *name)
{
    g->site->group =
        GROW(&g->e->arena, struct group, g->site->group, g->n_groups, &g->group_capacity);
    g->site->group[g->n_groups++] =
        (struct group){ .name = name, .first = g->site->n_cells, .n_values = 1 };
}

static enum hypar_status end_group(struct gathering *g, const char *what,
                                   struct hypar_error *err)
{
    struct group *group = &g->site->group[g->n_groups - 1];
    group->n_cells = g->site->n_cells - group->first;
    if (!group->n_cells)
        return hp_fail(err, HYPAR_INVALID, "%s: nothing is left to choose at '%.40s'", what,
                       group->name);
    for (int c = group->first; c < g->site->n_cells; c++)
        g->n_points *= g->site->cell[c].types.n;
    if (g->n_points > HYPAR_MAX_EXPLORED)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "%.3g choices on %s, expected at most %d: name fewer levels or layers",
                       g->n_points, g->site->text.word, HYPAR_MAX_EXPLORED);
    for (int c = group->first; c < g->site->n_cells; c++)
        group->n_values *= g->site->cell[c].types.n;
    return HYPAR_OK;
}

static enum hypar_status gather_levels(struct gathering *g, struct hypar_error *err)
{
    const struct layered *l = g->e->layered;
    char **name;
    int n, level;
    TRY(hp_explore_list(&g->e->arena, "levels", g->e->options.levels, &name, &n, err));
    for (int i = 0; i < n; i++) {
        TRY(hp_explore_level(g->site, "levels", name[i], &level, err));
        begin_group(g, name[i]);
        for (int layer = 0; layer < l->n_layers; layer++)
            add_cell(g, level, l->node[l->layer[layer]].var);
        TRY(end_group(g, "levels", err));
    }
    return HYPAR_OK;
}

static enum hypar_status gather_layers(struct gathering *g, struct hypar_error *err)
{
    const struct layered *l = g->e->layered;
    char **name;
    int n, layer;
    TRY(hp_explore_list(&g->e->arena, "layers", g->e->options.layers, &name, &n, err));
    for (int i = 0; i < n; i++) {
        TRY(hp_explore_layer(g->e, name[i], &layer, err));
        begin_group(g, name[i]);
        for (int h = 0; h < g->site->problem.n_levels; h++)
            add_cell(g, h, l->node[l->layer[layer]].var);
        TRY(end_group(g, "layers", err));
    }
    return HYPAR_OK;
}

/* Fixed levels are not explored. */
static enum hypar_status leave_fixed(struct gathering *g, struct hypar_error *err)
{
    char **item;
    int n, level;
    TRY(hp_explore_list(&g->e->arena, "fix", g->e->options.fix, &item, &n, err));
    for (int i = 0; i < n; i++) {
        item[i][strcspn(item[i], "=")] = '\0';
        TRY(hp_explore_level(g->site, "fix", item[i], &level, err));
        for (int v = 0; v < g->e->layered->n_vars; v++)
            g->taken[(size_t)level * (size_t)g->e->layered->n_vars + (size_t)v] = true;
    }
    return HYPAR_OK;
}

enum hypar_status hp_explore_cells(struct hypar_exploration *e, struct site *site,
                                   struct hypar_error *err)
{
    const struct layered *l = e->layered;
    size_t n_levels = (size_t)site->problem.n_levels, n_vars = (size_t)l->n_vars;
    struct gathering g = { .e = e, .site = site, .n_points = 1 };
    if (!e->options.levels && !e->options.layers)
        return HYPAR_OK;
    g.taken = NEW(&e->arena, bool, n_levels *n_vars + 1);
    g.types = NEW(&e->arena, struct var_types, n_levels * n_vars + 1);
    const struct planner *first = e->planner[0];
    const struct level_rules *rules =
        first->rules->chooses ? first->rules : hp_planner_hypar.rules;
    g.choices = hp_set_up_partition(&site->problem, &e->arena, rules);
    for (size_t h = 0; h < n_levels; h++)
        TRY(hp_var_types(&g.choices, (int)h, g.types + h * n_vars, err));
    TRY(leave_fixed(&g, err));
    TRY(gather_levels(&g, err));
    TRY(gather_layers(&g, err));
    site->text.n_groups = g.n_groups;
    site->text.n_points = (int64_t)g.n_points;
    return HYPAR_OK;
}

/* Points ------------------------------------------------------------------------------ */

void hp_explore_types(const struct hypar_exploration *e, const struct site *site, int64_t i,
                      enum layer_type *types)
{
    const struct layered *l = e->layered;
    memcpy(types, site->base.type,
           (size_t)site->problem.n_levels * (size_t)l->n_nodes * sizeof *types);
    for (int c = site->n_cells - 1; c >= 0; c--) {
        const struct cell *cell = &site->cell[c];
        enum layer_type type = cell->types.type[i % cell->types.n];
        for (int k = 0; k < cell->n_nodes; k++)
            types[(size_t)cell->level * (size_t)l->n_nodes + (size_t)cell->node[k]] =
                hp_own_type(&l->node[cell->node[k]], type);
        i /= cell->types.n;
    }
}

enum hypar_status hp_explore_points(struct hypar_exploration *e, struct site *site,
                                    struct hypar_error *err)
{
    size_t n = (size_t)site->problem.n_levels * (size_t)e->layered->n_nodes;
    enum layer_type *types = NEW(&e->arena, enum layer_type, n + 1);
    site->point = NEW(&e->arena, struct hypar_explored, site->text.n_points);
    for (int64_t i = 0; i < site->text.n_points; i++) {
        hp_explore_types(e, site, i, types);
        TRY(hp_explore_evaluate(e, site, types, &site->point[i], err));
        TRY(hp_check_stop(e->options.stop, err));
    }
    return HYPAR_OK;
}
