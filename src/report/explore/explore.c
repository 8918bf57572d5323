/* An exploration as text, as JSON, and every point of it as CSV. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "graph/graph.h"
#include "report/explore/axes.h"
#include "report/columns.h"
#include "report/csv.h"
#include "report/simulate/energy.h"
#include "report/put.h"

/* Longer ones are left to JSON and CSV; of several machines there are many rows, so that none
 * may need a second line. */
enum { WIDEST_LEVELS = 64, WIDEST_OF_SEVERAL = 24 };

/* The paper has no energy of links, so that topologies are alike to it. */
#define ONE_LINK                                                                    \
    "Energy in closed form: a byte sent counts one link on every topology. --cost " \
    "simulated counts all of that, and each link that a byte crosses."

static const struct {
    const char *word, *text;
} costs[] = {
    [HYPAR_COST_ARRAY] = { "array",
                           "Times by the paper's model (HyPar's array): exchange after "
                           "computation, bytes one after another; latency and the memory's "
                           "bandwidth do not count. " ONE_LINK },
    [HYPAR_COST_LEVELS] = { "levels",
                            "Times by the paper's model (the machine's levels): "
                            "exchange after computation, levels one after another; the "
                            "memory's bandwidth counts only on devices whose kernels were "
                            "measured. " ONE_LINK },
    [HYPAR_COST_SIMULATED] = { "simulated",
                               "Times and energy of simulated steps, as 'hypar plan' and "
                               "'hypar simulate' tell them." },
};

static struct axes axes_of(const struct hypar_exploration *e)
{
    struct axes axes = { 0 };
    axes.axis = hypar_exploration_axes(e, &axes.n);
    for (int i = 0; i < axes.n; i++)
        axes.shape |= axes.axis[i].shapes;
    for (int s = 0; s < hypar_exploration_site_count(e); s++)
        hp_axes_add_machine(&axes, hypar_exploration_site(e, s).shape);
    return axes;
}

static struct axes_place place_of(const struct hypar_explore_site *site)
{
    return (struct axes_place){ site->shape, site->value };
}

/* Text -------------------------------------------------------------------------------- */

/* "H1 x H4". */
static const char *groups_text(struct arena *arena, const struct hypar_exploration *e, int site)
{
    const char *text = "";
    for (int g = 0; g < hypar_exploration_site(e, site).n_groups; g++)
        text = hp_arena_printf(arena, "%s%s%s", text, g ? " x " : "",
                               hypar_exploration_group(e, site, g).name);
    return text;
}

static bool any_does_not_fit(const struct hypar_exploration *e)
{
    for (int s = 0; s < hypar_exploration_site_count(e); s++)
        for (int c = 0; c < hypar_exploration_site(e, s).n_choices; c++)
            if (!hypar_exploration_choice(e, s, c)->cost.fits)
                return true;
    return false;
}

/* What the table shows beyond the figures. */
struct shape {
    struct axes axes; /* none of one machine */
    bool better, levels, fits;
    double batch;     /* > 0: several machines that somebody named are compared by samples/s */
    bool same_levels; /* of several machines: told once, below */
    enum hypar_objective objective;
    double best; /* by it, of all rows: those that have it are marked; NAN: none is */
};

/* Does each choice have the same levels on all of several machines? */
static bool same_levels(const struct hypar_exploration *e)
{
    int n_sites = hypar_exploration_site_count(e);
    int n_choices = hypar_exploration_site(e, 0).n_choices;
    for (int s = 0; s < n_sites; s++) {
        if (hypar_exploration_site(e, s).n_choices != n_choices)
            return false;
        for (int c = 0; c < n_choices; c++) {
            const struct hypar_explore_choice *first = hypar_exploration_choice(e, 0, c),
                                              *own = hypar_exploration_choice(e, s, c);
            if (own->why || first->why || strcmp(own->name, first->name) != 0 ||
                strcmp(own->levels, first->levels) != 0)
                return false;
        }
    }
    return n_sites > 1;
}

/* The best by the objective of the choices with a name that fit, of all machines; INFINITY:
 * none fits. */
static double best_of(const struct hypar_exploration *e)
{
    double best = INFINITY;
    for (int s = 0; s < hypar_exploration_site_count(e); s++)
        for (int c = 0; c < hypar_exploration_site(e, s).n_choices; c++) {
            const struct hypar_explore_choice *choice = hypar_exploration_choice(e, s, c);
            if (!choice->why && choice->cost.fits)
                best = fmin(best, hypar_exploration_merit(e, &choice->cost));
        }
    return best;
}

static bool is_best(const struct hypar_exploration *e, const struct hypar_explored *cost,
                    double best)
{
    return cost->fits && hypar_exploration_merit(e, cost) <= best;
}

/* What rows are marked by. Where choices are enumerated rows tell how many are better; one row
 * is not compared with others. */
static double marked_best(const struct hypar_exploration *e)
{
    double best = best_of(e);
    int n = 0;
    for (int s = 0; s < hypar_exploration_site_count(e); s++)
        n += hypar_exploration_site(e, s).n_choices;
    bool compared = n > 1 && !hypar_exploration_site(e, 0).n_points && isfinite(best);
    return compared ? best : NAN;
}

static struct shape shape_of(const struct hypar_exploration *e)
{
    int n_sites = hypar_exploration_site_count(e);
    struct shape shape = { .levels = true,
                           .fits = any_does_not_fit(e),
                           .objective = hypar_exploration_options(e).objective,
                           .best = marked_best(e) };
    if (hypar_exploration_options(e).n_others)
        shape.batch = (double)hypar_exploration_graph(e)->batch;
    size_t widest = n_sites > 1 ? WIDEST_OF_SEVERAL : WIDEST_LEVELS;
    if (n_sites > 1)
        shape.axes = axes_of(e);
    for (int s = 0; s < n_sites; s++) {
        shape.better |= hypar_exploration_site(e, s).n_points > 0;
        shape.levels &= hypar_exploration_text_size(e, s) <= widest;
    }
    shape.same_levels =
        !shape.levels && same_levels(e) && hypar_exploration_text_size(e, 0) <= WIDEST_LEVELS;
    return shape;
}

static void heading(struct columns *table, struct arena *arena, const struct shape *shape)
{
    const char *const figures[] = { "step", "gain", shape->batch > 0 ? "rate" : "speedup",
                                    "exchange", "energy" };
    hp_axes_heading(&shape->axes, table, arena);
    hp_cell(table, arena, "choice");
    for (int i = 0; i < 5; i++)
        hp_cell(table, arena, "%s", figures[i]);
    if (shape->better)
        hp_cell(table, arena, "better");
    if (shape->fits)
        hp_cell(table, arena, "memory");
    if (shape->levels)
        hp_cell(table, arena, "levels");
}

/* How many times as fast as data parallel; NAN: the batch is too small for that. */
static double gain_of(const struct hypar_explore_site *site, const struct hypar_explored *cost)
{
    return site->has_dp ? site->dp.step_s / cost->step_s : NAN;
}

/* In place of the figures that a planner without a plan does not have. */
static void empty_cells(struct columns *table, struct arena *arena, const struct shape *shape)
{
    for (int i = 0; i < 5 + shape->better + shape->fits + shape->levels; i++)
        hp_cell(table, arena, "-");
}

/* A figure that the objective looks at is marked in the best row. */
static void merit_cell(struct columns *table, struct arena *arena, const struct shape *shape,
                       const struct hypar_explore_choice *c, enum hypar_objective objective)
{
    static const enum hypar_unit units[] = { HYPAR_UNIT_SECONDS, HYPAR_UNIT_BYTES,
                                             HYPAR_UNIT_JOULES };
    const double values[] = { c->cost.step_s, c->cost.comm_bytes, c->cost.energy_j };
    hp_quantity_cell(table, arena, values[objective], units[objective]);
    if (values[objective] <= shape->best && c->cost.fits && shape->objective == objective)
        hp_cell_mark(table, arena);
}

static void row(struct columns *table, struct arena *arena, const struct shape *shape,
                const struct hypar_explore_site *site, const struct hypar_explore_choice *c)
{
    char buffer[32];
    struct axes_place place = place_of(site);
    hp_axes_cells(&shape->axes, &place, table, arena);
    hp_cell(table, arena, "%s", c->name);
    if (c->why) {
        empty_cells(table, arena, shape);
        return;
    }
    merit_cell(table, arena, shape, c, HYPAR_TIME);
    if (site->has_dp)
        hp_cell(table, arena, "%.3g", gain_of(site, &c->cost));
    else
        hp_cell(table, arena, "-");
    if (shape->batch > 0)
        hp_cell(table, arena, "%s", hp_metric(buffer, shape->batch / c->cost.step_s));
    else
        hp_cell(table, arena, "%.3g", site->one_device_s / c->cost.step_s);
    merit_cell(table, arena, shape, c, HYPAR_COMM);
    merit_cell(table, arena, shape, c, HYPAR_ENERGY);
    if (shape->better)
        hp_cell(table, arena, "%s",
                site->n_points ? hp_thousands(buffer, (long long)c->better) : "");
    if (shape->fits)
        hp_cell(table, arena, "%s%s", c->cost.fits ? "fits" : "needs ",
                c->cost.fits
                    ? ""
                    : hypar_format_quantity(buffer, c->cost.need_bytes, HYPAR_UNIT_BYTES));
    if (shape->levels)
        hp_cell(table, arena, "%s", c->levels);
}

/* How the first planner does where choices were enumerated. */
static void verdict(FILE *to, struct arena *arena, const struct hypar_exploration *e, int site,
                    const struct shape *shape)
{
    struct hypar_explore_site s = hypar_exploration_site(e, site);
    struct axes_place place = place_of(&s);
    const char *where = shape->axes.n ? hp_axes_text(&shape->axes, &place, arena) : s.word;
    const struct hypar_explore_choice *best = hypar_exploration_choice(e, site, 0),
                                      *planner = hypar_exploration_choice(e, site, 1);
    char n[32], of[64];
    double ratio =
        hypar_exploration_merit(e, &planner->cost) / hypar_exploration_merit(e, &best->cost);
    hp_count(of, s.n_points, "choice", "choices");
    hp_wrap(to,
            planner->better
                ? hp_arena_printf(
                      arena, "On %s %s of %s %s better than that of %s, the best by %.2g %%.",
                      where, hp_thousands(n, planner->better), of,
                      planner->better == 1 ? "is" : "are", planner->name, 100 * (ratio - 1))
                : hp_arena_printf(arena, "On %s none of %s is better than that of %s.", where,
                                  of, planner->name),
            0);
}

static bool same_cost(const struct hypar_explored *a, const struct hypar_explored *b)
{
    return a->step_s == b->step_s && a->comm_bytes == b->comm_bytes &&
           a->energy_j == b->energy_j && a->state_bytes == b->state_bytes && a->fits == b->fits;
}

static bool same_choices(const void *who, int i, int j)
{
    const struct hypar_exploration *e = who;
    int n_sites = hypar_exploration_site_count(e); /* fewer where it was stopped */
    if (i >= n_sites || j >= n_sites)
        return true;
    for (int c = 0; c < hypar_exploration_site(e, i).n_choices; c++) {
        const struct hypar_explore_choice *a = hypar_exploration_choice(e, i, c),
                                          *b = hypar_exploration_choice(e, j, c);
        if (!a->why != !b->why || (!a->why && !same_cost(&a->cost, &b->cost)))
            return false;
    }
    return true;
}

/* The levels that the table has no column for. */
static void tell_levels(FILE *to, struct arena *arena, const struct hypar_exploration *e,
                        const struct shape *shape)
{
    int n = shape->same_levels ? hypar_exploration_site(e, 0).n_choices : 0;
    const char *text = "Levels, on all machines alike:";
    for (int c = 0; c < n; c++) {
        const struct hypar_explore_choice *choice = hypar_exploration_choice(e, 0, c);
        text = hp_arena_printf(arena, "%s%s %s %s", text, c ? "," : "", choice->name,
                               choice->levels);
    }
    if (n)
        hp_wrap(to, hp_arena_printf(arena, "%s.", text), 0);
    else if (!shape->levels)
        fputs("Levels of the choices: --json, --csv.\n", to);
}

static void tell_without_effect(FILE *to, struct arena *arena,
                                const struct hypar_exploration *e, const struct shape *shape)
{
    bool simulated = hypar_exploration_options(e).cost == HYPAR_COST_SIMULATED;
    const char *names = hp_axes_without_effect(&shape->axes, same_choices, e, arena);
    if (*names)
        hp_wrap(to,
                hp_arena_printf(arena, "No effect on any row: %s%s.", names,
                                simulated ? ""
                                          : ", which the paper's model does not count; see "
                                            "--cost simulated"),
                0);
}

/* Why planners have no plan. */
static void tell_refusals(FILE *to, struct arena *arena, const struct hypar_exploration *e)
{
    for (int s = 0; s < hypar_exploration_site_count(e); s++)
        for (int c = 0; c < hypar_exploration_site(e, s).n_choices; c++) {
            const struct hypar_explore_choice *choice = hypar_exploration_choice(e, s, c);
            if (choice->why)
                hp_wrap(to,
                        hp_arena_printf(arena, "No plan on %s: %s.",
                                        hypar_exploration_site(e, s).word, choice->why),
                        0);
        }
}

static void explain(FILE *to, struct arena *arena, const struct hypar_exploration *e,
                    const struct shape *shape)
{
    static const char *const least[] = { "time of a step", "exchange", "energy" };
    const char *topologies =
        hp_axes_topology_note(&shape->axes, hypar_exploration_options(e).simulation);
    const struct hypar_graph *graph = hypar_exploration_graph(e);
    enum hypar_explore_cost cost = hypar_exploration_options(e).cost;
    int most = 0;
    fputc('\n', to);
    for (int s = 0; s < hypar_exploration_site_count(e); s++) {
        struct hypar_explore_site site = hypar_exploration_site(e, s);
        int n = hypar_machine_device_count(site.machine);
        most = n > most ? n : most;
        if (site.n_points)
            verdict(to, arena, e, s, shape);
    }
    hp_wrap(
        to,
        hp_arena_printf(arena, "Gain over data parallel, %s%s%s%s.",
                        shape->batch > 0 ? "rate in samples/s" : "speedup over one device",
                        shape->better ? "; better: how many choices are strictly better" : "",
                        isnan(shape->best) ? "" : "; *: the least ",
                        isnan(shape->best) ? "" : least[shape->objective]),
        0);
    hp_wrap(to, costs[cost].text, 0);
    if (topologies && cost == HYPAR_COST_SIMULATED)
        hp_wrap(to, topologies, 0);
    tell_levels(to, arena, e, shape);
    tell_without_effect(to, arena, e, shape);
    tell_refusals(to, arena, e);
    if (graph->batch < most && cost != HYPAR_COST_SIMULATED)
        hp_wrap(to,
                hp_arena_printf(arena,
                                "Sizes are real numbers: %d parts of a batch of %lld count as "
                                "less than a sample each.",
                                most, (long long)graph->batch),
                0);
}

/* "vgg-e, batch 256, bf16: 16 choices of H1 on htree:16". */
static void title(FILE *to, struct arena *arena, const struct hypar_exploration *e)
{
    const struct hypar_graph *graph = hypar_exploration_graph(e);
    struct hypar_explore_options how = hypar_exploration_options(e);
    struct hypar_explore_site first = hypar_exploration_site(e, 0);
    int n = hypar_exploration_site_count(e);
    const char *on =
        n > 1 ? hp_machines_text(arena, hypar_exploration_machine(e), n) : first.word;
    char count[64];
    if (first.n_points)
        on = hp_arena_printf(arena, "%s of %s on %s%s",
                             hp_count(count, first.n_points, "choice", "choices"),
                             groups_text(arena, e, 0), n > 1 ? "each of " : "", on);
    hp_put_line(to, "%s, batch %lld%s: %s", graph->name, (long long)graph->batch,
                hp_settings_text(arena, how.precision,
                                 how.fp32_gradients ? HYPAR_FP32 : how.precision,
                                 how.optimizer),
                on);
    fputc('\n', to);
}

static void exploration_text(FILE *to, const struct hypar_exploration *e)
{
    struct arena arena = { 0 };
    struct shape shape = shape_of(e);
    const char *align = hp_arena_printf(
        &arena, "%slrrrrr%s%s%s", hp_axes_align(&shape.axes, &arena), shape.better ? "r" : "",
        shape.fits ? "l" : "", shape.levels ? "w" : "");
    struct columns table = { .align = align };
    int n_sites = hypar_exploration_site_count(e);
    title(to, &arena, e);
    heading(&table, &arena, &shape);
    for (int s = 0; s < n_sites; s++) {
        struct hypar_explore_site site = hypar_exploration_site(e, s);
        for (int c = 0; c < site.n_choices; c++)
            row(&table, &arena, &shape, &site, hypar_exploration_choice(e, s, c));
    }
    hp_columns_print(&table, to);
    explain(to, &arena, e, &shape);
    hp_arena_free(&arena);
}

/* What it is made of; NULL: not known, it is in closed form. */
static const struct hypar_energy *energy_parts(const struct hypar_explored *cost)
{
    return hypar_energy_total_j(&cost->energy) > 0 ? &cost->energy : NULL;
}

/* JSON -------------------------------------------------------------------------------- */

static void put_choice(struct json_writer *w, const struct hypar_explore_site *site,
                       const struct hypar_explore_choice *c, double batch, bool best)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "choice", c->name);
    if (c->why)
        hp_json_put_string(w, "why", c->why);
    hp_json_put_number(w, "step_s", c->cost.step_s);
    hp_json_put_number(w, "compute_s", c->cost.compute_s);
    hp_json_put_number(w, "comm_s", c->cost.comm_s);
    hp_json_put_number(w, "gain", gain_of(site, &c->cost));
    hp_json_put_number(w, "speedup", site->one_device_s / c->cost.step_s);
    hp_json_put_number(w, "samples_per_s", batch / c->cost.step_s);
    hp_json_put_number(w, "comm_bytes", c->cost.comm_bytes);
    hp_json_put_number(w, "energy_j", c->cost.energy_j);
    hp_put_energy(w, energy_parts(&c->cost));
    hp_json_put_number(w, "state_bytes", c->cost.state_bytes);
    hp_json_put_bool(w, "fits", c->cost.fits);
    hp_json_put_bool(w, "best", best);
    if (site->n_points)
        hp_json_put_int(w, "better", c->better);
    hp_json_put_string(w, "levels", c->levels);
    hp_json_end_object(w);
}

static void put_site(struct json_writer *w, const struct hypar_exploration *e, int s,
                     double best)
{
    struct hypar_explore_site site = hypar_exploration_site(e, s);
    struct axes axes = axes_of(e);
    struct axes_place place = place_of(&site);
    hp_json_begin_object(w, NULL, false);
    hp_json_put_string(w, "machine", site.word);
    hp_axes_put(&axes, &place, w);
    hp_json_put_int(w, "devices", hypar_machine_device_count(site.machine));
    hp_json_put_number(w, "bandwidth_bytes_per_s", site.bandwidth_bytes_per_s);
    hp_json_put_number(w, "one_device_s", site.one_device_s);
    hp_json_put_known(w, "dp_s", site.has_dp, site.dp.step_s);
    hp_json_put_int(w, "points", site.n_points);
    hp_json_begin_array(w, "choices", false);
    for (int c = 0; c < site.n_choices; c++)
        put_choice(w, &site, hypar_exploration_choice(e, s, c),
                   (double)hypar_exploration_graph(e)->batch,
                   is_best(e, &hypar_exploration_choice(e, s, c)->cost, best));
    hp_json_end_array(w);
    hp_json_end_object(w);
}

static void exploration_json(FILE *to, const struct hypar_exploration *e)
{
    static const char *const objectives[] = { "time", "comm", "energy" };
    const struct hypar_graph *graph = hypar_exploration_graph(e);
    struct hypar_explore_options options = hypar_exploration_options(e);
    double best = best_of(e);
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "model", graph->name);
    hp_json_put_int(&w, "batch", graph->batch);
    hp_json_put_string(&w, "cost", costs[options.cost].word);
    hp_json_put_string(&w, "objective", objectives[options.objective]);
    if (hypar_exploration_interrupted(e))
        hp_json_put_bool(&w, "interrupted", true);
    hp_json_begin_array(&w, "machines", false);
    for (int s = 0; s < hypar_exploration_site_count(e); s++)
        put_site(&w, e, s, best);
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}

void hypar_report_exploration(FILE *to, const struct hypar_exploration *e,
                              enum hypar_format format)
{
    if (format == HYPAR_JSON)
        exploration_json(to, e);
    else
        exploration_text(to, e);
}

/* CSV --------------------------------------------------------------------------------- */

/* What all rows share. */
struct explored_csv {
    const struct hypar_exploration *of;
    double best;
    struct csv_writer csv;
    struct axes axes;
    const char *cost; /* by what model their figures are */
};

static void csv_line(struct explored_csv *table, const struct hypar_explore_site *site,
                     const char *choice, const struct hypar_explored *cost, const char *levels)
{
    struct csv_writer *csv = &table->csv;
    hp_csv_text(csv, site->word);
    hp_csv_number(csv, hypar_machine_device_count(site->machine));
    hp_csv_plain(csv, choice);
    hp_csv_plain(csv, levels);
    double figures[] = { cost->step_s,
                         cost->compute_s,
                         cost->comm_s,
                         gain_of(site, cost),
                         site->one_device_s / cost->step_s,
                         cost->comm_bytes,
                         cost->energy_j,
                         cost->state_bytes,
                         (double)hypar_exploration_graph(table->of)->batch / cost->step_s };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        hp_csv_known(csv, !isnan(figures[i]), figures[i]);
    hp_csv_number(csv, cost->fits);
    hp_csv_plain(csv, table->cost);
    hp_csv_energy(csv, energy_parts(cost));
    hp_csv_number(csv, is_best(table->of, cost, table->best));
    hp_axes_csv(&table->axes, &(struct axes_place){ site->shape, site->value }, csv);
    hp_csv_end(csv);
}

void hypar_report_explored_csv(FILE *to, const struct hypar_exploration *e)
{
    struct explored_csv table = { .of = e,
                                  .best = best_of(e),
                                  .csv = { .file = to },
                                  .axes = axes_of(e),
                                  .cost = costs[hypar_exploration_options(e).cost].word };
    hp_csv_words(&table.csv, "machine devices choice levels step_s compute_s comm_s gain "
                             "speedup comm_bytes energy_j state_bytes samples_per_s fits cost");
    hp_csv_energy_heading(&table.csv);
    hp_csv_plain(&table.csv, "best");
    hp_axes_csv_heading(&table.axes, &table.csv);
    hp_csv_end(&table.csv);
    for (int s = 0; s < hypar_exploration_site_count(e); s++) {
        struct arena arena = { 0 };
        struct hypar_explore_site site = hypar_exploration_site(e, s);
        char *levels = NEW(&arena, char, hypar_exploration_text_size(e, s));
        for (int c = 0; c < site.n_choices; c++) {
            const struct hypar_explore_choice *choice = hypar_exploration_choice(e, s, c);
            csv_line(&table, &site, choice->name, &choice->cost, choice->levels);
        }
        for (int64_t i = 0; i < site.n_points; i++) {
            char name[24];
            snprintf(name, sizeof name, "%lld", (long long)i);
            csv_line(&table, &site, name, hypar_exploration_point(e, s, i),
                     hypar_exploration_levels(e, s, i, levels));
        }
        hp_arena_free(&arena);
    }
}
