/* Planners and plans side by side. */
#include <hypar/report.h>

#include <string.h>

#include "base/json.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "report/columns.h"
#include "report/csv.h"
#include "report/explain/compare.h"
#include "report/explain/explain.h"
#include "report/put.h"
#include "report/simulate/energy.h"

/* The columns: where a figure comes from, and how it is told. */
enum figure { STEP, SPEEDUP, SENT, PEAK, ENERGY, SEARCH, N_FIGURES };

static const struct {
    const char *heading, *key;
    int unit; /* enum hypar_unit; -1: a ratio, and the largest is the best */
} figures[N_FIGURES] = {
    [STEP] = { "step", "step_s", HYPAR_UNIT_SECONDS },
    [SPEEDUP] = { "over dp", "speedup_over_dp", -1 },
    [SENT] = { "sent", "comm_bytes", HYPAR_UNIT_BYTES },
    [PEAK] = { "memory", "peak_memory_bytes", HYPAR_UNIT_BYTES },
    [ENERGY] = { "energy", "energy_j", HYPAR_UNIT_JOULES },
    [SEARCH] = { "search", "search_s", HYPAR_UNIT_SECONDS },
};

/* What a row is called. */
static const char *name(const struct hypar_compared *row)
{
    return row->plan ? row->plan : row->planner;
}

/* Of plans that were there already there is no search to tell of. */
static int n_figures(const struct hypar_comparison *c)
{
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].plan)
            return N_FIGURES;
    return SEARCH;
}

static bool has_figure(const struct hypar_comparison *c, const struct hypar_compared *row,
                       enum figure figure)
{
    return !row->why && (figure != SPEEDUP || c->dp_step_s > 0) &&
           (figure != SEARCH || !row->plan);
}

static double value(const struct hypar_comparison *c, const struct hypar_compared *row,
                    enum figure figure)
{
    switch (figure) {
    case STEP:
        return row->step.step_s;
    case SPEEDUP:
        return row->step.step_s > 0 ? c->dp_step_s / row->step.step_s : 0;
    case SENT:
        return row->step.comm_bytes;
    case PEAK:
        return row->step.peak_memory_bytes;
    case ENERGY:
        return hypar_energy_total_j(&row->step.energy);
    case SEARCH:
        return row->search_s;
    case N_FIGURES:
        break;
    }
    return 0;
}

/* Text -------------------------------------------------------------------------------- */

/* Plans that do not train as the others do: the note of their row; what the fastest is not
 * among; why. */
static const struct {
    const char *note, *others, *why;
} trainings[HYPAR_UPDATES_COUNT] = {
    [HYPAR_UPDATES_BATCH] = { "", NULL, NULL },
    [HYPAR_UPDATES_BATCHES] = { "a batch for each replica", " that divides one batch",
                                "Where each replica takes a whole batch, one update is made of "
                                "the gradients of all their batches. The others divide one "
                                "batch over all devices: not the same training, so steps of "
                                "the two are not alike." },
    [HYPAR_UPDATES_DELAYED] = { "updates are delayed", " whose updates are not delayed",
                                "Where updates are delayed, a replica takes whole minibatches, "
                                "of a batch each, and the next begin before the last has "
                                "updated the weights. The others divide one batch over all "
                                "devices and wait for its update: not the same training, so "
                                "steps of the two are not alike." },
};

const char *hp_not_ranked(const struct hypar_compared *row)
{
    return row->fits ? trainings[row->updates].note : "does not fit";
}

/* Is there a plan that fits, and that trains as the others do? */
static bool is_ranked(const struct hypar_compared *row)
{
    return !row->why && !*hp_not_ranked(row);
}

/* Is no plan that is ranked better in this? */
static bool is_best(const struct hypar_comparison *c, const struct hypar_compared *row,
                    enum figure figure)
{
    double sign = figures[figure].unit < 0 ? -1 : 1, own = sign * value(c, row, figure);
    if (!is_ranked(row) || !has_figure(c, row, figure))
        return false;
    for (int i = 0; i < c->n; i++)
        if (is_ranked(&c->row[i]) && has_figure(c, &c->row[i], figure) &&
            sign * value(c, &c->row[i], figure) < own)
            return false;
    return true;
}

static void figure_cell(struct columns *table, struct arena *arena,
                        const struct hypar_comparison *c, const struct hypar_compared *row,
                        enum figure figure)
{
    double v = value(c, row, figure);
    if (!has_figure(c, row, figure))
        hp_cell(table, arena, "-");
    else if (figures[figure].unit < 0)
        hp_cell(table, arena, "%.2f x", v);
    else
        hp_quantity_cell(table, arena, v, (enum hypar_unit)figures[figure].unit);
    if (is_best(c, row, figure))
        hp_cell_mark(table, arena);
}

/* What keeps a row from being like the others: no plan, one that does not fit or is another
 * training, or is simulated otherwise than the first row's; "". */
static const char *note(const struct hypar_comparison *c, const struct hypar_compared *row,
                        struct arena *arena)
{
    if (!is_ranked(row))
        return row->why ? row->why : hp_not_ranked(row);
    if (c->row[0].why || hp_simulation_same(&row->step.how, &c->row[0].step.how))
        return "";
    return hp_simulation_is_default(&row->step.how) ? "simulated by default"
                                                    : hp_simulation_text(arena, &row->step.how);
}

static bool has_notes(const struct hypar_comparison *c, struct arena *arena)
{
    for (int i = 0; i < c->n; i++)
        if (*note(c, &c->row[i], arena))
            return true;
    return false;
}

/* The fastest plan that is ranked; -1: none. */
static int fastest(const struct hypar_comparison *c)
{
    int best = -1;
    for (int i = 0; i < c->n; i++)
        if (is_ranked(&c->row[i]) &&
            (best < 0 || c->row[i].step.step_s < c->row[best].step.step_s))
            best = i;
    return best;
}

/* Is there a plan that fits, of this training? */
static bool has_training(const struct hypar_comparison *c, int updates)
{
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].why && c->row[i].fits &&
            c->row[i].updates == (enum hypar_updates)updates)
            return true;
    return false;
}

/* What the fastest is chosen from, where some are left out: " that fits and that divides one
 * batch"; "". */
static const char *ranked_text(struct arena *arena, const struct hypar_comparison *c)
{
    const char *text = "";
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].why && !c->row[i].fits)
            text = " that fits";
    for (int u = HYPAR_UPDATES_BATCH + 1; u < HYPAR_UPDATES_COUNT; u++)
        if (has_training(c, u))
            text = hp_arena_printf(arena, "%s%s%s", text, *text ? " and" : "",
                                   trainings[u].others);
    return text;
}

/* What the others are over, where the row of dp does not say it. */
static void dp_note(FILE *to, struct arena *arena, const struct hypar_comparison *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->row[i].why && !c->row[i].plan && strcmp(c->row[i].planner, "dp") == 0 &&
            c->dp_step_s > 0)
            hp_put_line(to, "Over dp: its step would take %s.",
                        hp_time_text(arena, c->dp_step_s));
}

static void verdict(FILE *to, struct arena *arena, const struct hypar_comparison *c)
{
    int best = fastest(c);
    char rate[32];
    if (best < 0) {
        bool any = hypar_graph_lowerable(c->graph, NULL) == HYPAR_OK, fits = false;
        for (int i = 0; i < c->n; i++)
            fits |= !c->row[i].why && c->row[i].fits;
        fputs(fits ? "" : any ? "\nNo plan fits.\n" : "\nNo plan could be simulated.\n", to);
        return;
    }
    const struct hypar_sim_summary *s = &c->row[best].step;
    fputc('\n', to);
    hp_put_line(to, "The fastest%s is %s: %s a step, %s samples/s, %.1f %% of peak.",
                ranked_text(arena, c), hp_shown(arena, name(&c->row[best])),
                hp_time_text(arena, s->step_s), hp_metric(rate, s->samples_per_s),
                100 * s->mfu);
    for (int u = HYPAR_UPDATES_BATCH + 1; u < HYPAR_UPDATES_COUNT; u++)
        if (has_training(c, u))
            hp_wrap(to, trainings[u].why, 0);
    if (s->measured.asked)
        hp_put_line(to, "Profile: of its plan %s.", hp_measured_text(arena, &s->measured));
    if (s->opaque)
        hp_put_line(to, "Opaque: in its plan %s.", hp_opaque_text(arena, s));
}

/* What differs, and what each difference does to the first plan's step. */
static void differences_text(FILE *to, struct arena *arena, const struct hypar_comparison *c)
{
    struct what_if_table table = { .heading = "difference",
                                   .now_s = hypar_differences_step_s(c->differences),
                                   .most = 16 };
    while (hypar_difference(c->differences, table.n))
        table.n++;
    table.row = NEW(arena, const struct hypar_what_if *, table.n + 1);
    for (int i = 0; i < table.n; i++)
        table.row[i] = hypar_difference(c->differences, i);
    hp_wrap(to,
            hp_arena_printf(arena,
                            table.n ? "\nThe step of %s, if this alone were as in %s:"
                                    : "\nThe plans %s and %s do not differ.",
                            hp_shown(arena, name(&c->row[0])),
                            hp_shown(arena, name(&c->row[1]))),
            0);
    hp_what_if_table(to, arena, &table);
}

static void comparison_text(FILE *to, const struct hypar_comparison *c)
{
    struct arena arena = { 0 };
    bool notes = has_notes(c, &arena);
    int figures_told = n_figures(c);
    struct columns table = { .align = hp_arena_printf(&arena, "l%.*s%s", figures_told, "rrrrrr",
                                                      notes ? "w" : "") };
    char devices[64];
    fprintf(to, "%s, batch %lld%s, on %s\n\n", hypar_graph_name(c->graph),
            (long long)hypar_graph_batch(c->graph),
            hp_settings_text(&arena, c->precision, c->gradient_precision, c->optimizer),
            hp_count(devices, hypar_machine_device_count(c->machine), "device", "devices"));
    hp_cell(&table, &arena, "%s", c->row[0].plan ? "plan" : "planner");
    for (int f = 0; f < figures_told; f++)
        hp_cell(&table, &arena, "%s", figures[f].heading);
    if (notes)
        hp_cell(&table, &arena, "%s", "");
    for (int i = 0; i < c->n; i++) {
        const struct hypar_compared *row = &c->row[i];
        hp_cell(&table, &arena, "%s", name(row));
        for (int f = 0; f < figures_told; f++)
            figure_cell(&table, &arena, c, row, (enum figure)f);
        if (notes)
            hp_cell(&table, &arena, "%s", note(c, row, &arena));
    }
    hp_columns_print(&table, to);
    hp_mark_note(&table, to, "the best of its column");
    dp_note(to, &arena, c);
    verdict(to, &arena, c);
    if (c->differences)
        differences_text(to, &arena, c);
    hp_arena_free(&arena);
}

/* JSON, CSV --------------------------------------------------------------------------- */

/* Is the bound of this row known? Of a plan it is of steps that are simulated as the first. */
static bool is_bounded(const struct hypar_comparison *c, const struct hypar_compared *row)
{
    return !row->why && row->bound.step_s > 0 &&
           (!row->plan || hp_simulation_same(&row->step.how, &c->row[0].step.how));
}

/* How much longer than the bound the step is, as a part of it. */
static double gap(const struct hypar_compared *row)
{
    return row->step.step_s / row->bound.step_s - 1;
}

static void put_predicted(struct json_writer *w, const struct hypar_comparison *c,
                          const struct hypar_compared *row)
{
    const struct hypar_sim_summary *s = &row->step;
    hp_json_begin_object(w, "predicted", true);
    hp_json_put_string(w, "model", "simulated");
    hp_json_put_number(w, "step_s", s->step_s);
    hp_json_put_known(w, "gap", is_bounded(c, row), gap(row));
    hp_json_put_known(w, "speedup_over_dp", c->dp_step_s > 0, value(c, row, SPEEDUP));
    hp_json_put_number(w, "samples_per_s", s->samples_per_s);
    hp_json_put_number(w, "mfu", s->mfu);
    hp_json_put_number(w, "comm_bytes", s->comm_bytes);
    hp_json_put_number(w, "link_bytes", s->link_bytes);
    hp_json_put_number(w, "energy_j", hypar_energy_total_j(&s->energy));
    hp_put_record(w, "energy", hp_energy_columns, &s->energy);
    hp_json_put_number(w, "peak_memory_bytes", s->peak_memory_bytes);
    hp_json_put_bool(w, "fits", row->fits);
    if (row->updates == HYPAR_UPDATES_DELAYED)
        hp_json_put_bool(w, "delayed_updates", true);
    if (row->updates == HYPAR_UPDATES_BATCHES)
        hp_json_put_bool(w, "batch_per_replica", true);
    hp_put_profile(w, s);
    hp_json_end_object(w);
}

static void put_search(struct json_writer *w, const struct hypar_compared *row)
{
    hp_json_begin_object(w, "search", true);
    hp_json_put_number(w, "seconds", row->search_s);
    hp_json_put_number(w, "processor_s", row->processor_s);
    hp_json_put_known(w, "evaluated", row->evaluated >= 0, (double)row->evaluated);
    hp_json_put_known(w, "lower_bound_s", row->lower_bound_s > 0, row->lower_bound_s);
    if (row->interrupted)
        hp_json_put_bool(w, "interrupted", true);
    hp_json_end_object(w);
}

/* Of the second plan: what is otherwise than in the first, and that one's step with it. */
static void put_differences(struct json_writer *w, const struct hypar_differences *d)
{
    const struct hypar_what_if *what;
    hp_json_begin_array(w, "differences", false);
    for (int i = 0; (what = hypar_difference(d, i)); i++)
        hp_put_what_if(w, what, hypar_differences_step_s(d));
    hp_json_end_array(w);
}

void hp_put_comparison(struct json_writer *w, const char *key, const struct hypar_comparison *c)
{
    hp_json_begin_array(w, key, false);
    for (int i = 0; i < c->n; i++) {
        const struct hypar_compared *row = &c->row[i];
        hp_json_begin_object(w, NULL, false);
        hp_json_put_string(w, row->plan ? "plan" : "planner", name(row));
        if (row->why) {
            hp_json_put_null(w, "predicted");
            hp_json_put_string(w, "error", row->why);
        } else {
            put_predicted(w, c, row);
        }
        if (!row->plan)
            put_search(w, row);
        if (i == 1 && c->differences)
            put_differences(w, c->differences);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void comparison_json(FILE *to, const struct hypar_comparison *c)
{
    struct json_writer w = { .file = to };
    struct arena arena = { 0 };
    unsigned version = hypar_version();
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(
        &w, "version",
        hp_arena_printf(&arena, "%u.%u.%u", version >> 16, version >> 8 & 255, version & 255));
    hp_json_put_string(&w, "model", c->model ? c->model : hypar_graph_name(c->graph));
    hp_json_put_int(&w, "batch", hypar_graph_batch(c->graph));
    if (hypar_machine_word(c->machine))
        hp_json_put_string(&w, "machine", hypar_machine_word(c->machine));
    else
        hp_machine_write_json(&w, "machine", c->machine);
    hp_json_put_string(&w, "precision", hypar_precision_text(c->precision));
    hp_json_put_string(&w, "gradient_precision", hypar_precision_text(c->gradient_precision));
    hp_json_put_string(&w, "optimizer", hypar_optimizer_text(c->optimizer));
    hp_json_put_int(&w, "seed", c->seed);
    hp_put_bound(&w, &c->bound);
    hp_put_comparison(&w, "plans", c);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

void hypar_report_comparison(FILE *to, const struct hypar_comparison *comparison,
                             enum hypar_format format)
{
    if (format == HYPAR_JSON)
        comparison_json(to, comparison);
    else
        comparison_text(to, comparison);
}

void hypar_report_comparison_csv(FILE *to, const struct hypar_comparison *c)
{
    struct csv_writer csv = { .file = to };
    hp_csv_words(&csv, c->row[0].plan ? "plan" : "planner");
    for (int f = 0; f < N_FIGURES; f++)
        hp_csv_words(&csv, figures[f].key);
    hp_csv_words(&csv, "fits why_not delayed_updates processor_s evaluated samples_per_s mfu "
                       "link_bytes gap batch_per_replica");
    hp_csv_end(&csv);
    for (int i = 0; i < c->n; i++) {
        const struct hypar_compared *row = &c->row[i];
        (row->plan ? hp_csv_text : hp_csv_plain)(&csv, name(row));
        for (int f = 0; f < N_FIGURES; f++)
            hp_csv_known(&csv, has_figure(c, row, (enum figure)f),
                         value(c, row, (enum figure)f));
        bool known = !row->why;
        hp_csv_known(&csv, known, row->fits);
        (known ? hp_csv_plain : hp_csv_text)(&csv, known ? "" : row->why);
        hp_csv_known(&csv, known, row->updates == HYPAR_UPDATES_DELAYED);
        hp_csv_known(&csv, known && !row->plan, row->processor_s);
        hp_csv_known(&csv, known && !row->plan && row->evaluated >= 0, (double)row->evaluated);
        hp_csv_known(&csv, known, row->step.samples_per_s);
        hp_csv_known(&csv, known, row->step.mfu);
        hp_csv_known(&csv, known, row->step.link_bytes);
        hp_csv_known(&csv, is_bounded(c, row), gap(row));
        hp_csv_known(&csv, known, row->updates == HYPAR_UPDATES_BATCHES);
        hp_csv_end(&csv);
    }
}
