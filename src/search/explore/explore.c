/* Exploration: evaluates the choices on each site (machine), and ranks the named choices among
 * them. */
#include "search/explore/explore.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "machine/machine.h"
#include "search/evaluate/room.h"

/* Planners ---------------------------------------------------------------------------- */

static enum hypar_status read_planners(struct hypar_exploration *e, struct hypar_error *err)
{
    const char *text = e->options.planners ? e->options.planners : "hypar,dp";
    char **name;
    TRY(hp_explore_list(&e->arena, "planners", text, &name, &e->n_planners, err));
    e->planner = NEW(&e->arena, const struct planner *, e->n_planners);
    for (int i = 0; i < e->n_planners; i++) {
        e->planner[i] = hp_find_planner(name[i]);
        if (!e->planner[i] || !e->planner[i]->rules)
            return hp_fail(err, HYPAR_USAGE,
                           "planners: '%.20s' does not divide level by level, expected "
                           "hypar, accpar, dp, mp or owt",
                           name[i]);
    }
    return HYPAR_OK;
}

/* Apply a fix such as "H2=0010": the level allows only these types. */
static enum hypar_status apply_fix(struct hypar_exploration *e, const struct site *site,
                                   unsigned *allowed, struct hypar_error *err)
{
    const struct layered *l = e->layered;
    enum layer_type *types = NEW(&e->arena, enum layer_type, l->n_nodes);
    char **item;
    int n, level;
    TRY(hp_explore_list(&e->arena, "fix", e->options.fix, &item, &n, err));
    for (int i = 0; i < n; i++) {
        char *equals = strchr(item[i], '=');
        if (!equals)
            return hp_fail(err, HYPAR_USAGE,
                           "fix: '%.40s', expected a level and its digits such as H2=0010",
                           item[i]);
        *equals = '\0';
        TRY(hp_explore_level(site, "fix", item[i], &level, err));
        TRY(hp_explore_digits(e, "fix", equals + 1, types, err));
        for (int k = 0; k < l->n_layers; k++)
            allowed[(size_t)level * (size_t)l->n_nodes + (size_t)l->layer[k]] =
                1u << types[l->layer[k]];
    }
    return HYPAR_OK;
}

/* The partition that a planner chooses on a site; a fix applies only to planners that have a
 * choice. */
static enum hypar_status plan(struct hypar_exploration *e, struct site *site,
                              const struct level_rules *rules, bool joint,
                              struct partition *out, struct hypar_error *err)
{
    const struct layered *l = e->layered;
    struct partition_problem p = hp_set_up_partition(&site->problem, &e->arena, rules);
    size_t n = (size_t)p.n_levels * (size_t)l->n_nodes;
    unsigned *allowed = NEW(&e->arena, unsigned, n + 1);
    memcpy(allowed, p.allowed, n * sizeof *allowed);
    if (rules->chooses)
        TRY(apply_fix(e, site, allowed, err));
    p.allowed = allowed;
    p.joint = joint;
    return hp_partition(&e->arena, &p, out, err);
}

/* Named choices ----------------------------------------------------------------------- */

static char *levels_text(struct hypar_exploration *e, const struct site *site,
                         const enum layer_type *types)
{
    char *text = NEW(&e->arena, char, hypar_exploration_text_size(e, (int)(site - e->site)));
    return hp_explore_levels_text(e, site, types, text);
}

/* Add a planner for which hypar_search() finds no plan on this site. */
static void add_refusal(struct hypar_exploration *e, struct site *site, int *capacity,
                        const char *name, const char *why)
{
    site->choice = GROW(&e->arena, struct hypar_explore_choice, site->choice,
                        site->text.n_choices, capacity);
    site->choice[site->text.n_choices++] =
        (struct hypar_explore_choice){ .name = name,
                                       .levels = "",
                                       .cost = { .step_s = NAN,
                                                 .compute_s = NAN,
                                                 .comm_s = NAN,
                                                 .comm_bytes = NAN,
                                                 .energy_j = NAN,
                                                 .state_bytes = NAN,
                                                 .fits = true },
                                       .why = hp_arena_strdup(&e->arena, why) };
}

static void add_choice(struct hypar_exploration *e, struct site *site, int *capacity,
                       const char *name, const enum layer_type *types,
                       struct hypar_explored cost)
{
    site->choice = GROW(&e->arena, struct hypar_explore_choice, site->choice,
                        site->text.n_choices, capacity);
    site->choice[site->text.n_choices++] = (struct hypar_explore_choice){
        .name = name, .levels = levels_text(e, site, types), .cost = cost
    };
}

static enum hypar_status add_planners(struct hypar_exploration *e, struct site *site,
                                      int *capacity, struct hypar_error *err)
{
    for (int i = 0; i < e->n_planners; i++) {
        const struct level_rules *rules = e->planner[i]->rules;
        struct hypar_error why;
        if (hp_check_batch(e->planner[i], &site->problem, &why) != HYPAR_OK) {
            add_refusal(e, site, capacity, e->planner[i]->info.name, why.text);
            continue;
        }
        if (e->planner[i] == &hp_planner_dp) {
            add_choice(e, site, capacity, "dp", site->dp.type, site->text.dp);
            continue;
        }
        for (int joint = 0; joint <= (e->options.joint && rules->chooses); joint++) {
            struct partition found;
            struct hypar_explored cost;
            TRY(hp_check_stop(e->options.stop, err));
            TRY(plan(e, site, rules, joint, &found, err));
            TRY(hp_explore_cost(e, site, rules, &found, &cost, err));
            const char *name = e->planner[i]->info.name;
            name = joint ? hp_arena_printf(&e->arena, "%s joint", name) : name;
            add_choice(e, site, capacity, name, found.type, cost);
        }
    }
    return HYPAR_OK;
}

/* Read the types of all levels, such as "0011/0010/0000/0011". */
static enum hypar_status read_mark(struct hypar_exploration *e, const struct site *site,
                                   char *text, enum layer_type *types, struct hypar_error *err)
{
    int n_levels = site->problem.n_levels, h = 0;
    for (char *next = text; next; h++) {
        char *digits = next;
        next = strchr(digits, '/');
        if (next)
            *next++ = '\0';
        if (h < n_levels)
            TRY(hp_explore_digits(e, "mark", digits,
                                  types + (size_t)h * (size_t)e->layered->n_nodes, err));
    }
    if (h != n_levels)
        return hp_fail(err, HYPAR_INVALID,
                       "mark: %d levels, expected %d with '/' between them for %s", h, n_levels,
                       site->text.word);
    return HYPAR_OK;
}

static enum hypar_status add_marks(struct hypar_exploration *e, struct site *site,
                                   int *capacity, struct hypar_error *err)
{
    size_t size = (size_t)site->problem.n_levels * (size_t)e->layered->n_nodes;
    char **item;
    int n;
    TRY(hp_explore_list(&e->arena, "mark", e->options.mark, &item, &n, err));
    for (int i = 0; i < n; i++) {
        enum layer_type *types = NEW(&e->arena, enum layer_type, size + 1);
        struct hypar_explored cost;
        TRY(read_mark(e, site, item[i], types, err));
        TRY(hp_in(err, hp_explore_evaluate(e, site, types, &cost, err), "mark"));
        const char *name = n > 1 ? hp_arena_printf(&e->arena, "marked %d", i + 1) : "marked";
        add_choice(e, site, capacity, name, types, cost);
    }
    return HYPAR_OK;
}

/* Ranks ------------------------------------------------------------------------------- */

/* Is `a` strictly better, by more than rounding? */
static bool better(double a, double b)
{
    return a < b * (1 - 1e-12);
}

static void add_best(struct hypar_exploration *e, struct site *site, int *capacity)
{
    enum layer_type *types =
        NEW(&e->arena, enum layer_type,
            (size_t)site->problem.n_levels * (size_t)e->layered->n_nodes + 1);
    for (int fits = 1; fits >= 0 && site->best < 0; fits--) /* if none fits, of all */
        for (int64_t i = 0; i < site->text.n_points; i++)
            if ((!fits || site->point[i].fits) &&
                (site->best < 0 ||
                 better(hypar_exploration_merit(e, &site->point[i]),
                        hypar_exploration_merit(e, &site->point[site->best]))))
                site->best = i;
    hp_explore_types(e, site, site->best, types);
    add_choice(e, site, capacity, "best", types, site->point[site->best]);
}

static void rank(const struct hypar_exploration *e, struct site *site)
{
    for (int c = 0; c < site->text.n_choices; c++) {
        double merit = hypar_exploration_merit(e, &site->choice[c].cost);
        for (int64_t i = 0; i < site->text.n_points; i++)
            site->choice[c].better +=
                better(hypar_exploration_merit(e, &site->point[i]), merit);
    }
}

/* Sites ------------------------------------------------------------------------------- */

static double slowest_link(const struct hypar_machine *machine)
{
    double least = INFINITY;
    for (int i = 0; i < hypar_machine_link_count(machine); i++)
        least = fmin(least, hypar_machine_link(machine, i).bytes_per_s);
    return isfinite(least) ? least : 0;
}

static enum hypar_status prepare(struct hypar_exploration *e, struct site *site,
                                 struct hypar_error *err)
{
    const struct hypar_machine *machine = site->text.machine;
    site->search =
        (struct hypar_search_options){ .precision = e->options.precision,
                                       .fp32_gradients = e->options.fp32_gradients,
                                       .framework_bytes = e->options.framework_bytes,
                                       .memory_certainty = e->options.memory_certainty,
                                       .optimizer = e->options.optimizer,
                                       .simulation = e->options.simulation,
                                       .stop = e->options.stop };
    site->problem = hp_problem(&e->arena, e->graph, machine, &site->search);
    site->problem.layered = e->layered;
    site->text.n_levels = site->problem.n_levels;
    site->text.bandwidth_bytes_per_s = slowest_link(machine);
    site->memory_bytes = hp_least_room(&site->problem);
    site->work = hp_step_work(&site->problem);
    hp_array_hops(machine, site->hops);
    site->plain = hp_set_up_partition(&site->problem, &e->arena, hp_planner_accpar.rules);
    site->text.has_dp = hp_check_batch(&hp_planner_dp, &site->problem, NULL) == HYPAR_OK;
    TRY(plan(e, site, hp_planner_dp.rules, false, &site->dp, err));
    return plan(e, site, e->planner[0]->rules, false, &site->base, err);
}

/* Compute the costs that gains and speedups refer to. */
static enum hypar_status add_references(struct hypar_exploration *e, struct site *site,
                                        struct hypar_error *err)
{
    struct hypar_explore_site *text = &site->text;
    TRY(hp_explore_cost(e, site, hp_planner_dp.rules, &site->dp, &text->dp, err));
    if (e->options.cost == HYPAR_COST_SIMULATED)
        return hp_explore_one_device(e, site, &text->one_device_s, err);
    text->one_device_s = e->options.cost == HYPAR_COST_ARRAY
                             ? text->dp.compute_s * hypar_machine_device_count(text->machine)
                             : site->work.one_device_s;
    return HYPAR_OK;
}

static enum hypar_status explore_site(struct hypar_exploration *e, struct site *site,
                                      struct hypar_error *err)
{
    int capacity = 0;
    TRY(hp_check_stop(e->options.stop, err));
    TRY(add_references(e, site, err));
    if (site->text.n_points) {
        TRY(hp_explore_points(e, site, err));
        add_best(e, site, &capacity);
    }
    TRY(add_planners(e, site, &capacity, err));
    TRY(hp_check_stop(e->options.stop, err));
    TRY(add_marks(e, site, &capacity, err));
    rank(e, site);
    return HYPAR_OK;
}

static bool has_array_devices(const struct hypar_machine *machine)
{
    const struct hypar_device_type *type;
    const char *name = hypar_machine_device(machine, 0)->name;
    return hp_device_type_get(&type, name, NULL) == HYPAR_OK && type->hypar_array;
}

/* HyPar's own accelerators are timed by HyPar's model. On other machines, the few choices of
 * planners are simulated, because the paper's model may rank them in another order.
 * Enumerations have up to a million choices and are not simulated. */
enum hypar_explore_cost hypar_explore_cost(const struct hypar_explore_options *options,
                                           const struct hypar_machine *machine)
{
    bool own = has_array_devices(machine);
    for (int i = 0; i < options->n_others; i++)
        own = own && has_array_devices(options->others[i]);
    bool enumerated = options->levels || options->layers;
    if (options->cost == HYPAR_COST_AUTO && !own && !enumerated)
        return HYPAR_COST_SIMULATED;
    if (options->cost == HYPAR_COST_AUTO || options->cost == HYPAR_COST_PAPER)
        return own ? HYPAR_COST_ARRAY : HYPAR_COST_LEVELS;
    return options->cost;
}

/* Remove the sites from `first` on after the caller asked to stop. */
static void leave_out(struct hypar_exploration *e, int first)
{
    hp_explore_machines_free(&e->machines, first);
    e->n_sites = first;
    e->interrupted = true;
}

static enum hypar_status make_sites(struct hypar_exploration *e,
                                    const struct hypar_machine *machine,
                                    struct hypar_error *err)
{
    const struct hypar_explore_options *o = &e->options;
    struct machine_lists lists = { o->machine,    o->devices,     o->topologies,
                                   o->bandwidths, o->sweeps,      o->n_sweeps,
                                   o->others,     o->other_names, o->n_others };
    TRY(hp_explore_machines(&e->arena, machine, &lists, &e->machines, err));
    e->n_sites = e->machines.n;
    e->site = NEW(&e->arena, struct site, e->n_sites);
    for (int i = 0; i < e->n_sites; i++)
        e->site[i] = (struct site){ .best = -1,
                                    .text = { .machine = e->machines.at[i].machine,
                                              .word = e->machines.at[i].word,
                                              .shape = e->machines.at[i].shape,
                                              .value = e->machines.at[i].value } };
    return HYPAR_OK;
}

/* HYPAR_INFEASIBLE if no planner has a plan on any machine. */
static enum hypar_status judge(const struct hypar_exploration *e, struct hypar_error *err)
{
    for (int i = 0; i < e->n_sites; i++)
        for (int c = 0; c < e->site[i].text.n_choices; c++)
            if (!e->site[i].choice[c].why)
                return HYPAR_OK;
    return hp_fail(err, HYPAR_INFEASIBLE, "%s", e->site[0].choice[0].why);
}

static enum hypar_status explore(struct hypar_exploration *e,
                                 const struct hypar_machine *machine, struct hypar_error *err)
{
    double total = 0;
    e->options.cost = hypar_explore_cost(&e->options, machine);
    e->layered = hp_layered(&e->arena, e->graph);
    e->array_macs = hp_array_macs(e->graph);
    if (!e->layered->n_layers)
        return hp_fail(err, HYPAR_INVALID, "%s has no weighted layer to divide",
                       e->graph->name);
    TRY(read_planners(e, err));
    TRY(make_sites(e, machine, err));
    for (int i = 0; i < e->n_sites; i++) {
        TRY(prepare(e, &e->site[i], err));
        TRY(hp_explore_cells(e, &e->site[i], err));
        total += (double)e->site[i].text.n_points;
    }
    if (total > HYPAR_MAX_EXPLORED)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "%.0f choices on %d machines, expected at most %d", total, e->n_sites,
                       HYPAR_MAX_EXPLORED);
    for (int i = 0; i < e->n_sites; i++) {
        enum hypar_status status = explore_site(e, &e->site[i], err);
        if (status != HYPAR_OK && (i == 0 || !hp_stopped(e->options.stop)))
            return status;
        if (status != HYPAR_OK)
            leave_out(e, i);
    }
    return judge(e, err);
}

const struct hypar_sim_options *hp_keep_simulation(struct arena *arena,
                                                   const struct hypar_sim_options *how)
{
    if (!how)
        return NULL;
    struct hypar_sim_options *kept = NEW(arena, struct hypar_sim_options, 1);
    *kept = *how;
    return kept;
}

enum hypar_status hypar_explore(struct hypar_exploration **out, const struct hypar_graph *graph,
                                const struct hypar_machine *machine,
                                const struct hypar_explore_options *options,
                                struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct hypar_exploration *e = NEW(&arena, struct hypar_exploration, 1);
    e->arena = arena;
    e->graph = graph;
    if (options)
        e->options = *options;
    e->options.simulation = hp_keep_simulation(&e->arena, e->options.simulation);
    enum hypar_status status = explore(e, machine, err);
    if (status != HYPAR_OK) {
        hypar_exploration_free(e);
        e = NULL;
    }
    *out = e;
    return status;
}

void hypar_exploration_free(struct hypar_exploration *e)
{
    if (!e)
        return;
    hp_explore_machines_free(&e->machines, 0);
    hp_arena_free(&e->arena);
}
