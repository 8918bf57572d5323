/* Reports an exploration as text, as JSON, and with all points as CSV. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "report/explore/axes.h"
#include "report/put.h"
#include "report/svg/svg.h"

/* Limits of the text of levels: longer texts are only in JSON and CSV. With several machines
 * there are many rows, so none may need a second line. */
enum { WIDEST_LEVELS = 64, WIDEST_OF_SEVERAL = 24 };

/* The paper has no energy of links, so all topologies have the same energy. */
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

struct axes hp_exploration_axes(const struct hypar_exploration *e)
{
    struct axes axes = { 0 };
    struct hypar_exploration_info info = hypar_exploration_info(e);
    axes.axis = info.axis;
    axes.n = info.n_axes;
    for (int i = 0; i < axes.n; i++)
        axes.shape |= axes.axis[i].shapes;
    for (int s = 0; s < hypar_exploration_info(e).n_sites; s++)
        hp_axes_add_machine(&axes, hypar_exploration_site(e, s).shape);
    return axes;
}

/* Rows -------------------------------------------------------------------------------- */

struct choice_row {
    const struct hypar_explore_site *site;
    const char *machine, *cost, *choice, *levels, *why;
    const struct hypar_explore_value *value;
    const char *shape;
    int devices;
    struct hypar_explored of;
    double gain;    /* speed relative to data parallel */
    double speedup; /* speed relative to one device */
    double samples_per_s;
    const struct hypar_energy *energy; /* its terms; NULL: in closed form */
    int64_t better;
    const char *better_text, *memory_text, *levels_text;
    bool best, best_step, best_sent, best_energy;
};

/* Which columns text has. */
enum {
    RATE = 1,
    SPEEDUP = 2,
    BETTER = 4,
    FITS = 8,
    LEVELS = 16,
    SIMULATED = 32,
    IN_CLOSED_FORM = 64
};

#define CHOICE(member) AT(struct choice_row, member)

static const struct column choice_columns[] = {
    { "choice", "choice", AS_WORD, CHOICE(choice) },
    { NULL, "why", AS_TEXT, CHOICE(why), LEFT_OUT },
    { "step", "step_s", AS_SECONDS, CHOICE(of.step_s), .when = SIMULATED,
      .star = offsetof(struct choice_row, best_step) },
    { "paper step", NULL, AS_SECONDS, CHOICE(of.step_s), .when = IN_CLOSED_FORM,
      .star = offsetof(struct choice_row, best_step) },
    { NULL, "compute_s", AS_SECONDS, CHOICE(of.compute_s) },
    { NULL, "comm_s", AS_SECONDS, CHOICE(of.comm_s) },
    { "gain", "gain", AS_NUMBER, CHOICE(gain) },
    { "speedup", "speedup", AS_NUMBER, CHOICE(speedup), .when = SPEEDUP },
    { "rate", "samples_per_s", AS_METRIC, CHOICE(samples_per_s), .when = RATE },
    { "exchange", "comm_bytes", AS_BYTES, CHOICE(of.comm_bytes),
      .star = offsetof(struct choice_row, best_sent) },
    { "energy", "energy_j", AS_JOULES, CHOICE(of.energy_j),
      .star = offsetof(struct choice_row, best_energy) },
    { NULL, "energy", AS_RECORD, CHOICE(energy), .of = hp_energy_columns },
    { NULL, "state_bytes", AS_BYTES, CHOICE(of.state_bytes) },
    { NULL, "fits", AS_BOOL, CHOICE(of.fits) },
    { NULL, "best", AS_BOOL, CHOICE(best) },
    { "better", NULL, AS_TEXT, CHOICE(better_text), TO_THE_RIGHT, .when = BETTER },
    { NULL, "better", AS_LONG, CHOICE(better), IF_KNOWN | LEFT_OUT },
    { "memory", NULL, AS_TEXT, CHOICE(memory_text), .when = FITS },
    { "levels", NULL, AS_TEXT, CHOICE(levels_text), WRAPS, .when = LEVELS },
    { NULL, "levels", AS_WORD, CHOICE(levels) },
    { NULL, "machine", AS_TEXT, CHOICE(machine), NOT_JSON },
    { NULL, "devices", AS_INT, CHOICE(devices), NOT_JSON },
    { NULL, "cost", AS_WORD, CHOICE(cost), NOT_JSON },
    { 0 },
};

/* Text -------------------------------------------------------------------------------- */

/* "H1 x H4". */
static const char *groups_text(struct arena *arena, const struct hypar_exploration *e, int site)
{
    const char *text = "";
    for (int g = 0; g < hypar_exploration_site(e, site).n_groups; g++)
        text = hp_joined(arena, text, " x ", hypar_exploration_group(e, site, g).name);
    return text;
}

/* The form of the text. */
struct shape {
    struct axes axes; /* none for one machine */
    unsigned shows;   /* columns; RATE: several machines named by the user are compared */
    bool same_levels; /* with several machines: levels are written once, below */
    enum hypar_objective objective;
    double best; /* best value of the objective over all rows: rows that have it are marked;
                  * NAN: none is */
};

/* Does each choice have the same levels on all of several machines? */
static bool same_levels(const struct hypar_exploration *e)
{
    int n_sites = hypar_exploration_info(e).n_sites;
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

/* The best value of the objective over all named choices that fit, on all machines; INFINITY:
 * none fits. */
static double best_of(const struct hypar_exploration *e)
{
    double best = INFINITY;
    for (int s = 0; s < hypar_exploration_info(e).n_sites; s++)
        for (int c = 0; c < hypar_exploration_site(e, s).n_choices; c++) {
            const struct hypar_explore_choice *choice = hypar_exploration_choice(e, s, c);
            if (!choice->why && choice->cost.fits)
                best = fmin(best, hypar_exploration_merit(e, &choice->cost));
        }
    return best;
}

static struct shape shape_of(const struct hypar_exploration *e)
{
    struct hypar_exploration_info info = hypar_exploration_info(e);
    int n_choices = 0;
    bool levels = true, simulated = info.options->cost == HYPAR_COST_SIMULATED;
    struct shape shape = { .shows = (info.options->n_others ? RATE : SPEEDUP) |
                                    (simulated ? SIMULATED : IN_CLOSED_FORM),
                           .objective = info.options->objective,
                           .best = best_of(e) };
    if (info.n_sites > 1)
        shape.axes = hp_exploration_axes(e);
    for (int s = 0; s < info.n_sites; s++) {
        struct hypar_explore_site site = hypar_exploration_site(e, s);
        n_choices += site.n_choices;
        shape.shows |= site.n_points > 0 ? BETTER : 0;
        levels &= hypar_exploration_text_size(e, s) <=
                  (size_t)(info.n_sites > 1 ? WIDEST_OF_SEVERAL : WIDEST_LEVELS);
        for (int c = 0; c < site.n_choices; c++)
            shape.shows |= hypar_exploration_choice(e, s, c)->cost.fits ? 0 : FITS;
    }
    shape.shows |= levels ? LEVELS : 0;
    shape.same_levels =
        !levels && same_levels(e) && hypar_exploration_text_size(e, 0) <= WIDEST_LEVELS;
    /* if choices are enumerated, rows show how many choices are better instead of a mark; a
     * single row is not marked */
    if (n_choices <= 1 || hypar_exploration_site(e, 0).n_points || !isfinite(shape.best))
        shape.best = NAN;
    return shape;
}

/* Add the texts of a row; the figures are there. */
static void add_texts(struct choice_row *row, struct arena *arena, const struct shape *shape,
                      const struct hypar_explore_choice *c)
{
    bool best = c->cost.fits && !c->why;
    row->best_step = best && shape->objective == HYPAR_TIME && row->of.step_s <= shape->best;
    row->best_sent =
        best && shape->objective == HYPAR_COMM && row->of.comm_bytes <= shape->best;
    row->best_energy =
        best && shape->objective == HYPAR_ENERGY && row->of.energy_j <= shape->best;
    if (c->why)
        return;
    row->better_text =
        row->site->n_points ? hp_arena_strdup(arena, hp_thousands(arena, c->better)) : "";
    row->memory_text = c->cost.fits ? "fits"
                                    : hp_arena_printf(arena, "needs %s",
                                                      hp_bytes_text(arena, c->cost.need_bytes));
    row->levels_text = c->levels;
}

static struct choice_row row_of(const struct hypar_exploration *e,
                                const struct hypar_explore_site *site,
                                const struct hypar_explored *cost, double best)
{
    return (struct choice_row){
        .site = site,
        .machine = site->word,
        .cost = costs[hypar_exploration_info(e).options->cost].word,
        .value = site->value,
        .shape = site->shape,
        .devices = hypar_machine_device_count(site->machine),
        .of = *cost,
        .gain = site->has_dp ? site->dp.step_s / cost->step_s : NAN, /* too small a batch */
        .speedup = site->one_device_s / cost->step_s,
        .samples_per_s = (double)hypar_exploration_info(e).graph->batch / cost->step_s,
        .energy = hypar_energy_total_j(&cost->energy) > 0 ? &cost->energy : NULL,
        .better = -1,
        .best = cost->fits && hypar_exploration_merit(e, cost) <= best,
    };
}

/* Add the named choices of a machine. `shape`: for text, else NULL. */
static void site_rows(struct table_writer *table, struct arena *arena,
                      const struct hypar_exploration *e, int s, const struct shape *shape)
{
    struct hypar_explore_site site = hypar_exploration_site(e, s);
    double best = best_of(e);
    for (int i = 0; i < site.n_choices; i++) {
        const struct hypar_explore_choice *c = hypar_exploration_choice(e, s, i);
        struct choice_row row = row_of(e, &site, &c->cost, best);
        row.choice = c->name;
        row.levels = c->levels;
        row.why = c->why;
        row.better = site.n_points ? c->better : -1;
        if (shape)
            add_texts(&row, arena, shape, c);
        hp_table_row(table, &row);
    }
}

/* Compare the first planner with the enumerated choices. */
static void verdict(FILE *to, struct arena *arena, const struct hypar_exploration *e, int site,
                    const struct shape *shape)
{
    struct hypar_explore_site s = hypar_exploration_site(e, site);
    struct axes_place place = { s.shape, s.value };
    const char *where = shape->axes.n ? hp_axes_text(&shape->axes, &place, arena) : s.word;
    const struct hypar_explore_choice *best = hypar_exploration_choice(e, site, 0),
                                      *planner = hypar_exploration_choice(e, site, 1);
    double ratio =
        hypar_exploration_merit(e, &planner->cost) / hypar_exploration_merit(e, &best->cost);
    const char *of = hp_count(arena, s.n_points, "choice");
    if (planner->better)
        hp_put_line(to, "On %s %s of %s %s better than that of %s, the best by %.2g %%.", where,
                    hp_thousands(arena, planner->better), of,
                    planner->better == 1 ? "is" : "are", planner->name, 100 * (ratio - 1));
    else
        hp_put_line(to, "On %s none of %s is better than that of %s.", where, of,
                    planner->name);
}

static bool same_cost(const struct hypar_explored *a, const struct hypar_explored *b)
{
    return a->step_s == b->step_s && a->comm_bytes == b->comm_bytes &&
           a->energy_j == b->energy_j && a->state_bytes == b->state_bytes && a->fits == b->fits;
}

static bool same_choices(const void *who, int i, int j)
{
    const struct hypar_exploration *e = who;
    int n_sites = hypar_exploration_info(e).n_sites; /* fewer if the exploration was stopped */
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

/* Print the levels that have no column in the table. */
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
        hp_put_line(to, "%s.", text);
    else if (!(shape->shows & LEVELS))
        fputs("Levels of the choices: --json, --csv.\n", to);
}

static void tell_without_effect(FILE *to, struct arena *arena,
                                const struct hypar_exploration *e, const struct shape *shape)
{
    bool simulated = hypar_exploration_info(e).options->cost == HYPAR_COST_SIMULATED;
    const char *names = hp_axes_without_effect(&shape->axes, same_choices, e, arena);
    if (*names)
        hp_put_line(to, "No effect on any row: %s%s.", names,
                    simulated ? ""
                              : ", which the paper's model does not count; see --cost "
                                "simulated");
}

/* Tell that planners keep what --fix fixes, so that their rows may not be the plans that they
 * find alone. */
static void tell_fixed(FILE *to, const struct hypar_exploration *e)
{
    const char *fix = hypar_exploration_info(e).options->fix;
    if (fix && *fix)
        hp_put_line(to, "Planners that choose do so with these levels fixed: %s.", fix);
}

/* The rows of framework and devices that simulated steps are made with, on the first machine.
 */
static void tell_rows(FILE *to, struct arena *arena, const struct hypar_exploration *e)
{
    static const struct hypar_framework usual;
    const struct hypar_sim_options *how = hypar_exploration_info(e).options->simulation;
    hp_put_line(to, "%s.",
                hp_run_as_text(arena, hypar_exploration_site(e, 0).machine,
                               how ? &how->framework : &usual));
}

/* Print why planners have no plan. */
static void tell_refusals(FILE *to, const struct hypar_exploration *e)
{
    for (int s = 0; s < hypar_exploration_info(e).n_sites; s++)
        for (int c = 0; c < hypar_exploration_site(e, s).n_choices; c++) {
            const struct hypar_explore_choice *choice = hypar_exploration_choice(e, s, c);
            if (choice->why)
                hp_put_line(to, "No plan on %s: %s.", hypar_exploration_site(e, s).word,
                            choice->why);
        }
}

static void explain(FILE *to, struct arena *arena, const struct hypar_exploration *e,
                    const struct shape *shape)
{
    static const char *const least[] = { "time of a step", "exchange", "energy" };
    const char *topologies =
        hp_axes_topology_note(&shape->axes, hypar_exploration_info(e).options->simulation);
    const struct hypar_graph *graph = hypar_exploration_info(e).graph;
    enum hypar_explore_cost cost = hypar_exploration_info(e).options->cost;
    int most = 0;
    fputc('\n', to);
    for (int s = 0; s < hypar_exploration_info(e).n_sites; s++) {
        struct hypar_explore_site site = hypar_exploration_site(e, s);
        int n = hypar_machine_device_count(site.machine);
        most = n > most ? n : most;
        if (site.n_points)
            verdict(to, arena, e, s, shape);
    }
    tell_fixed(to, e);
    hp_put_line(to, "Gain over data parallel, %s%s%s%s.",
                shape->shows & RATE ? "rate in samples/s" : "speedup over one device",
                shape->shows & BETTER ? "; better: how many choices are strictly better" : "",
                isnan(shape->best) ? "" : "; *: the least ",
                isnan(shape->best) ? "" : least[shape->objective]);
    hp_wrap(to, costs[cost].text, 0);
    if (cost == HYPAR_COST_SIMULATED)
        tell_rows(to, arena, e);
    if (topologies && cost == HYPAR_COST_SIMULATED)
        hp_wrap(to, topologies, 0);
    tell_levels(to, arena, e, shape);
    tell_without_effect(to, arena, e, shape);
    tell_refusals(to, e);
    if (graph->batch < most && cost != HYPAR_COST_SIMULATED)
        hp_put_line(to,
                    "Sizes are real numbers: %d parts of a batch of %lld count as less than a "
                    "sample each.",
                    most, (long long)graph->batch);
}

/* "vgg-e, batch 256, bf16: 16 choices of H1 on htree:16". */
static void title(FILE *to, struct arena *arena, const struct hypar_exploration *e)
{
    const struct hypar_graph *graph = hypar_exploration_info(e).graph;
    struct hypar_explore_options how = *hypar_exploration_info(e).options;
    struct hypar_explore_site first = hypar_exploration_site(e, 0);
    int n = hypar_exploration_info(e).n_sites;
    const char *on =
        n > 1 ? hp_machines_text(arena, hypar_exploration_info(e).machine, n) : first.word;
    if (first.n_points)
        on = hp_arena_printf(arena, "%s of %s on %s%s",
                             hp_count(arena, first.n_points, "choice"),
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
    struct table_writer table = { .column =
                                      hp_axes_columns(&shape.axes, &arena, choice_columns, 0,
                                                      offsetof(struct choice_row, shape),
                                                      offsetof(struct choice_row, value)),
                                  .to = to,
                                  .shows = shape.shows };
    title(to, &arena, e);
    hp_table_begin(&table, NULL);
    for (int s = 0; s < hypar_exploration_info(e).n_sites; s++)
        site_rows(&table, &arena, e, s, &shape);
    hp_table_end(&table);
    explain(to, &arena, e, &shape);
    hp_arena_free(&arena);
}

/* JSON -------------------------------------------------------------------------------- */

static void put_site(struct json_writer *w, struct arena *arena,
                     const struct hypar_exploration *e, int s)
{
    struct hypar_explore_site site = hypar_exploration_site(e, s);
    struct axes axes = hp_exploration_axes(e);
    struct table_writer table = { .column = choice_columns, .json = w };
    hp_json_begin_object(w, NULL, false);
    PUT(w, TEXT("machine", site.word),
        FIELDS(hp_axes_columns(&axes, arena, &(struct column){ 0 }, 0,
                               offsetof(struct hypar_explore_site, shape),
                               offsetof(struct hypar_explore_site, value)),
               &site),
        INT("devices", hypar_machine_device_count(site.machine)),
        NUMBER("bandwidth_bytes_per_s", site.bandwidth_bytes_per_s),
        NUMBER("one_device_s", site.one_device_s),
        NUMBER("dp_s", site.has_dp ? site.dp.step_s : NAN), INT("points", site.n_points));
    hp_table_begin(&table, "choices");
    site_rows(&table, arena, e, s, NULL);
    hp_table_end(&table);
    hp_json_end_object(w);
}

static void exploration_json(FILE *to, const struct hypar_exploration *e)
{
    static const char *const objectives[] = { "time", "comm", "energy" };
    struct arena arena = { 0 };
    const struct hypar_graph *graph = hypar_exploration_info(e).graph;
    struct hypar_explore_options options = *hypar_exploration_info(e).options;
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    PUT(&w, TEXT("model", graph->name), INT("batch", graph->batch),
        TEXT("cost", costs[options.cost].word),
        TEXT("objective", objectives[options.objective]),
        ONLY_IF(hypar_exploration_info(e).interrupted, FLAG("interrupted", true)));
    hp_json_begin_array(&w, "machines", false);
    for (int s = 0; s < hypar_exploration_info(e).n_sites; s++)
        put_site(&w, &arena, e, s);
    hp_json_end_array(&w);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

/* CSV also has the enumerated choices. */
static void exploration_csv(FILE *to, const struct hypar_exploration *e)
{
    static const char keys[] = "machine devices choice levels step_s compute_s comm_s gain "
                               "speedup comm_bytes energy_j state_bytes samples_per_s fits "
                               "cost " ENERGY_KEYS " best";
    struct arena arena = { 0 };
    struct axes axes = hp_exploration_axes(e);
    double best = best_of(e);
    struct table_writer table = {
        .to = to,
        .csv = hp_axes_keys(&axes, &arena, keys),
        .column = hp_axes_columns(&axes, &arena, choice_columns, 0,
                                  offsetof(struct choice_row, shape),
                                  offsetof(struct choice_row, value)),
    };
    hp_table_begin(&table, NULL);
    for (int s = 0; s < hypar_exploration_info(e).n_sites; s++) {
        struct hypar_explore_site site = hypar_exploration_site(e, s);
        char *levels = NEW(&arena, char, hypar_exploration_text_size(e, s));
        site_rows(&table, &arena, e, s, NULL);
        for (int64_t i = 0; i < site.n_points; i++) {
            char name[24];
            struct choice_row row = row_of(e, &site, hypar_exploration_point(e, s, i), best);
            snprintf(name, sizeof name, "%lld", (long long)i);
            row.choice = name;
            row.levels = hypar_exploration_levels(e, s, i, levels);
            hp_table_row(&table, &row);
        }
    }
    hp_table_end(&table);
    hp_arena_free(&arena);
}

void hypar_report_exploration(FILE *to, const struct hypar_exploration *e,
                              enum hypar_format format)
{
    if (format == HYPAR_JSON)
        exploration_json(to, e);
    else if (format == HYPAR_CSV)
        exploration_csv(to, e);
    else if (format == HYPAR_SVG)
        hp_exploration_svg(to, e);
    else
        exploration_text(to, e);
}
