/* Reports planners and plans side by side. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "cost/calibration.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "report/explain/explain.h"
#include "report/put.h"
#include "report/svg/svg.h"

/* A figure that is known or NAN; is no ranked row better? */
struct figure {
    double value;
    bool best;
};

/* A row, with its marks and notes for text. Numbers that are not known are NAN. */
struct compared_row {
    const char *planner, *plan; /* planner: the name, also of a plan; plan: NULL for a
                                 * planner */
    struct figure step_s, over_dp, sent, peak, energy, search_s;
    struct hypar_energy joules;
    double gap, samples_per_s, mfu, link_bytes, processor_s, evaluated;
    double fits, delayed, batches; /* for CSV */
    const char *why_not, *note;
    bool fit;
};

/* Columns of one form or of some rows. */
enum { PLANNERS = 1, PLANS = 2, SEARCHES = 4, NOTES = 8, PAGE = 16 };

enum { REFUSAL_INDENT = 4 }; /* of a refusal's second line */

#define ROW(member) AT(struct compared_row, member)
/* A figure, marked if it is the best. */
#define FIGURE(f) ROW(f.value), .star = offsetof(struct compared_row, f.best)

/* Text, CSV, JSON and the page have the columns in this order. */
static const struct column row_columns[] = {
    { "planner", "planner", AS_WORD, ROW(planner), NOT_JSON, .when = PLANNERS },
    { "plan", NULL, AS_TEXT, ROW(planner), .when = PLANS },
    { NULL, "plan", AS_TEXT, ROW(plan), NOT_JSON, .when = PLANS },
    { NULL, "plan", AS_WORD, ROW(planner), NOT_JSON, .when = PLANS },
    { "step", "step_s", AS_SECONDS, FIGURE(step_s) },
    { "over dp", "speedup_over_dp", AS_TIMES, FIGURE(over_dp) },
    { "sent", "comm_bytes", AS_BYTES, FIGURE(sent) },
    { "memory", "peak_memory_bytes", AS_BYTES, FIGURE(peak) },
    { "energy", "energy_j", AS_JOULES, FIGURE(energy) },
    { NULL, "energy", AS_RECORD, ROW(joules), INSIDE | NOT_CSV, .of = hp_energy_columns },
    { "search", "search_s", AS_SECONDS, FIGURE(search_s), .flags = NOT_JSON, .when = SEARCHES },
    { NULL, "fits", AS_NUMBER, ROW(fits), NOT_JSON },
    { NULL, "fits", AS_BOOL, ROW(fit), NOT_CSV },
    { NULL, "why_not", AS_TEXT, ROW(why_not), NOT_JSON },
    { NULL, "delayed_updates", AS_NUMBER, ROW(delayed), NOT_JSON },
    { NULL, "processor_s", AS_SECONDS, ROW(processor_s), NOT_JSON },
    { NULL, "evaluated", AS_NUMBER, ROW(evaluated), NOT_JSON },
    { NULL, "samples_per_s", AS_METRIC, ROW(samples_per_s) },
    { "of peak", "mfu", AS_PERCENT, ROW(mfu), .when = PAGE },
    { NULL, "link_bytes", AS_BYTES, ROW(link_bytes) },
    { NULL, "gap", AS_NUMBER, ROW(gap) },
    { NULL, "batch_per_replica", AS_NUMBER, ROW(batches), NOT_JSON },
    { "", NULL, AS_TEXT, ROW(note), WRAPS, .when = NOTES },
    { 0 },
};

/* The name of a row. */
static const char *name(const struct hypar_compared *row)
{
    return row->plan ? row->plan : row->planner;
}

/* Is the row's bound known? A plan's bound holds only if its step is simulated with the same
 * options as the first row. */
static bool is_bounded(const struct hypar_comparison *c, const struct hypar_compared *row)
{
    return !row->why && row->bound.step_s > 0 &&
           (!row->plan || hp_simulation_same(&row->step.how, &c->row[0].step.how));
}

static struct compared_row row_of(const struct hypar_comparison *c,
                                  const struct hypar_compared *from)
{
    const struct hypar_sim_summary *s = &from->step;
    bool known = !from->why, searched = known && !from->plan;
    double over_dp = s->step_s > 0 ? c->dp_step_s / s->step_s : 0;
    return (struct compared_row){
        .planner = name(from),
        .plan = from->plan,
        .step_s.value = known ? s->step_s : NAN,
        .over_dp.value = known && c->dp_step_s > 0 ? over_dp : NAN,
        .sent.value = known ? s->comm_bytes : NAN,
        .peak.value = known ? s->peak_memory_bytes : NAN,
        .energy.value = known ? hypar_energy_total_j(&s->energy) : NAN,
        .joules = s->energy,
        .search_s.value = searched ? from->search_s : NAN,
        .samples_per_s = known ? s->samples_per_s : NAN,
        .mfu = known ? s->mfu : NAN,
        .link_bytes = known ? s->link_bytes : NAN,
        .gap = is_bounded(c, from) ? s->step_s / from->bound.step_s - 1 : NAN,
        .processor_s = searched ? from->processor_s : NAN,
        .evaluated = searched && from->evaluated >= 0 ? (double)from->evaluated : NAN,
        .fits = known ? from->fits : NAN,
        .delayed = known ? from->updates == HYPAR_UPDATES_DELAYED : NAN,
        .batches = known ? from->updates == HYPAR_UPDATES_BATCHES : NAN,
        .why_not = from->why,
        .fit = from->fits,
    };
}

/* Text -------------------------------------------------------------------------------- */

/* Plans that train differently from the others: the note of their row; the restriction on the
 * fastest plan; the reason. */
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

/* Does the row have a plan that fits and trains as the others do? */
static bool is_ranked(const struct hypar_compared *row)
{
    return !row->why && !*hp_not_ranked(row);
}

static double value_in(const struct compared_row *row, const struct column *column)
{
    return *(const double *)(const void *)((const char *)row + column->offset);
}

/* Mark the best figure of a column among the ranked rows. The smallest is the best, of ratios
 * (over dp) the largest. */
static void mark_best(const struct hypar_comparison *c, struct compared_row *row,
                      const struct column *column)
{
    double sign = column->form == AS_TIMES ? -1 : 1, best = INFINITY;
    for (int i = 0; i < c->n; i++)
        if (is_ranked(&c->row[i]))
            best = fmin(best, sign * value_in(&row[i], column));
    for (int i = 0; i < c->n; i++)
        *(bool *)(void *)((char *)&row[i] + column->star) =
            is_ranked(&c->row[i]) && sign * value_in(&row[i], column) == best;
}

/* Why a row differs from the others: it has no plan, its plan does not fit or trains
 * differently, or its simulation differs from the first row's; "": it does not. */
static const char *note(const struct hypar_comparison *c, const struct hypar_compared *row,
                        struct arena *arena)
{
    if (row->why)
        return row->interrupted ? "interrupted" : row->plan ? "not simulated" : "no plan";
    if (!is_ranked(row))
        return hp_not_ranked(row);
    if (c->row[0].why || hp_simulation_same(&row->step.how, &c->row[0].step.how))
        return "";
    const char *how = hp_simulation_text(arena, &row->step.how);
    return *how ? how : "simulated by default";
}

/* The fastest ranked plan; -1: none. */
static int fastest(const struct hypar_comparison *c)
{
    int best = -1;
    for (int i = 0; i < c->n; i++)
        if (is_ranked(&c->row[i]) &&
            (best < 0 || c->row[i].step.step_s < c->row[best].step.step_s))
            best = i;
    return best;
}

/* Is there a plan that fits with this kind of training? */
static bool has_training(const struct hypar_comparison *c, int updates)
{
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].why && c->row[i].fits &&
            c->row[i].updates == (enum hypar_updates)updates)
            return true;
    return false;
}

/* The restriction on the fastest plan if some are left out: " that fits and that divides one
 * batch"; "". */
static const char *ranked_text(struct arena *arena, const struct hypar_comparison *c)
{
    const char *text = "";
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].why && !c->row[i].fits)
            text = " that fits";
    for (int u = HYPAR_UPDATES_BATCH + 1; u < HYPAR_UPDATES_COUNT; u++)
        if (has_training(c, u))
            text = hp_joined(arena, text, " and", trainings[u].others);
    return text;
}

/* A refusal is a sentence, too long for a cell of the table. */
static void refusals_text(FILE *to, struct arena *arena, const struct hypar_comparison *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->row[i].why && !c->row[i].interrupted)
            hp_wrap(to,
                    hp_arena_printf(arena, "%s: %s", hp_shown(arena, name(&c->row[i])),
                                    hp_shown(arena, c->row[i].why)),
                    REFUSAL_INDENT);
}

/* Print the step that speed-ups are relative to, if dp has no plan that its row could show. */
static void dp_note(FILE *to, struct arena *arena, const struct hypar_comparison *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->row[i].why && !c->row[i].plan && strcmp(c->row[i].planner, "dp") == 0 &&
            c->dp_step_s > 0)
            hp_put_line(to, "Over dp: its step would take %s.",
                        hp_time_text(arena, c->dp_step_s));
}

/* Is this row another plan than the fastest, with a step that is not distinguishable from the
 * fastest? */
static bool is_like(const struct hypar_comparison *c, const struct hypar_compared *row,
                    int fastest)
{
    if (fastest < 0 || row == &c->row[fastest] || !is_ranked(row))
        return false;
    const struct hypar_sim_summary *best = &c->row[fastest].step;
    return hp_are_alike(&best->interval.from, row->step.step_s, best->step_s);
}

/* The plans that measured errors do not tell apart from the fastest. */
static void alike_text(FILE *to, struct arena *arena, const struct hypar_comparison *c,
                       int best)
{
    const char *names = "";
    for (int i = 0; i < c->n; i++)
        if (is_like(c, &c->row[i], best))
            names = hp_joined(arena, names, ", ", hp_shown(arena, name(&c->row[i])));
    if (*names)
        hp_wrap(to, hp_alike_text(arena, &c->row[best].step.interval.from, names), 0);
    hp_put_line(to, "%s", hp_run_as_text(arena, c->machine, &c->row[best].step.how.framework));
    hp_put_line(to, "%s", hp_interval_text(arena, &c->row[best].step.interval));
}

/* "One plan: hybrid, 3d.": rows that differ in name alone. */
static void same_text(FILE *to, struct arena *arena, const struct hypar_comparison *c)
{
    for (int i = 0; i < c->n; i++) {
        const char *names = hp_shown(arena, name(&c->row[i]));
        bool first = c->row[i].plan_hash != 0 && !c->row[i].why;
        int n = 1;
        for (int k = 0; k < c->n && first; k++) {
            bool same = k != i && !c->row[k].why && c->row[k].plan_hash == c->row[i].plan_hash;
            first = !(same && k < i);
            n += same;
            if (same)
                names = hp_joined(arena, names, ", ", hp_shown(arena, name(&c->row[k])));
        }
        if (first && n > 1)
            hp_put_line(to, "One plan: %s.", names);
    }
}

static void verdict(FILE *to, struct arena *arena, const struct hypar_comparison *c)
{
    int best = fastest(c);
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
                hp_time_text(arena, s->step_s), hp_metric(arena, s->samples_per_s),
                100 * s->mfu);
    same_text(to, arena, c);
    alike_text(to, arena, c, best);
    for (int u = HYPAR_UPDATES_BATCH + 1; u < HYPAR_UPDATES_COUNT; u++)
        if (has_training(c, u))
            hp_wrap(to, trainings[u].why, 0);
    if (s->measured.asked)
        hp_put_line(to, "Profile: of its plan %s.", hp_measured_text(arena, &s->measured));
    if (s->opaque)
        hp_put_line(to, "Opaque: in its plan %s.", hp_opaque_text(arena, s));
}

/* The differences, and the first plan's step with each of them. */
static void differences_text(FILE *to, struct arena *arena, const struct hypar_comparison *c)
{
    struct what_if_table table = { .shows = WHAT_DIFFERS,
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
    struct table_writer table = { .column = row_columns,
                                  .to = to,
                                  .shows = c->row[0].plan ? PLANS : PLANNERS };
    struct compared_row *row = NEW(&arena, struct compared_row, c->n);
    fprintf(to, "%s, batch %lld%s, on %s\n\n", c->graph->name, (long long)c->graph->batch,
            hp_settings_text(&arena, c->precision, c->gradient_precision, c->optimizer),
            hp_count(&arena, hypar_machine_device_count(c->machine), "device"));
    for (int i = 0; i < c->n; i++) {
        row[i] = row_of(c, &c->row[i]);
        row[i].note = note(c, &c->row[i], &arena);
        table.shows |= (c->row[i].plan ? 0 : SEARCHES) | (*row[i].note ? NOTES : 0);
    }
    hp_table_begin(&table, NULL);
    for (const struct column *column = row_columns; column->form; column++)
        if (column->star)
            mark_best(c, row, column);
    for (int i = 0; i < c->n; i++)
        hp_table_row(&table, &row[i]);
    hp_table_end(&table);
    const char *ranked = ranked_text(&arena, c);
    hp_mark_note(table.starred, to,
                 *ranked ? hp_arena_printf(&arena, "the best of its column by a plan%s", ranked)
                         : "the best of its column");
    refusals_text(to, &arena, c);
    dp_note(to, &arena, c);
    verdict(to, &arena, c);
    if (c->differences)
        differences_text(to, &arena, c);
    hp_arena_free(&arena);
}

/* JSON, CSV --------------------------------------------------------------------------- */

static void put_predicted(struct json_writer *w, const struct hypar_comparison *c,
                          const struct hypar_compared *from)
{
    struct compared_row row = row_of(c, from);
    hp_json_begin_object(w, "predicted", true);
    PUT(w, TEXT("model", "simulated"), FIELDS(row_columns, &row),
        FIELDS(hp_interval_columns, &from->step.interval),
        FLAG("like_the_fastest", is_like(c, from, fastest(c))),
        ONLY_IF(from->updates == HYPAR_UPDATES_DELAYED, FLAG("delayed_updates", true)),
        ONLY_IF(from->updates == HYPAR_UPDATES_BATCHES, FLAG("batch_per_replica", true)));
    hp_put_profile(w, &from->step);
    hp_json_end_object(w);
}

void hp_put_comparison_columns(struct json_writer *w, const char *key)
{
    hp_put_columns(w, key, row_columns, PAGE);
}

void hp_put_comparison(struct json_writer *w, const char *key, const struct hypar_comparison *c)
{
    hp_json_begin_array(w, key, false);
    for (int i = 0; i < c->n; i++) {
        const struct hypar_compared *row = &c->row[i];
        hp_json_begin_object(w, NULL, false);
        hp_json_put_string(w, row->plan ? "plan" : "planner", name(row));
        if (row->why) {
            PUT(w, NUMBER("predicted", NAN), TEXT("error", row->why));
        } else {
            put_predicted(w, c, row);
        }
        if (!row->plan)
            PUT_OBJECT(w, "search", true, NUMBER("seconds", row->search_s),
                       NUMBER("processor_s", row->processor_s),
                       NUMBER("evaluated", row->evaluated >= 0 ? (double)row->evaluated : NAN),
                       POSITIVE("lower_bound_s", row->lower_bound_s),
                       ONLY_IF(row->interrupted, FLAG("interrupted", true)));
        if (i == 1 && c->differences) { /* the first plan's step with each of them */
            const struct hypar_what_if *what;
            hp_json_begin_array(w, "differences", false);
            for (int k = 0; (what = hypar_difference(c->differences, k)); k++)
                hp_put_what_if(w, what, hypar_differences_step_s(c->differences));
            hp_json_end_array(w);
        }
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
    PUT(&w,
        TEXT("version", hp_arena_printf(&arena, "%u.%u.%u", version >> 16, version >> 8 & 255,
                                        version & 255)),
        TEXT("model", c->model ? c->model : c->graph->name), INT("batch", c->graph->batch));
    if (hypar_machine_word(c->machine))
        hp_json_put_string(&w, "machine", hypar_machine_word(c->machine));
    else
        hp_machine_write_json(&w, "machine", c->machine);
    PUT(&w, TEXT("precision", hypar_precision_text(c->precision)),
        TEXT("gradient_precision", hypar_precision_text(c->gradient_precision)),
        TEXT("optimizer", hypar_optimizer_text(c->optimizer)), INT("seed", c->seed));
    hp_put_bound(&w, &c->bound);
    hp_put_comparison(&w, "plans", c);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

static void comparison_csv(FILE *to, const struct hypar_comparison *c)
{
    struct table_writer table = { .column = row_columns,
                                  .to = to,
                                  .csv = ALL_KEYS,
                                  .shows =
                                      SEARCHES | PAGE | (c->row[0].plan ? PLANS : PLANNERS) };
    hp_table_begin(&table, NULL);
    for (int i = 0; i < c->n; i++) {
        struct compared_row row = row_of(c, &c->row[i]);
        hp_table_row(&table, &row);
    }
    hp_table_end(&table);
}

void hypar_report_comparison(FILE *to, const struct hypar_comparison *comparison,
                             enum hypar_format format)
{
    if (format == HYPAR_JSON)
        comparison_json(to, comparison);
    else if (format == HYPAR_CSV)
        comparison_csv(to, comparison);
    else if (format == HYPAR_SVG)
        hp_comparison_svg(to, comparison);
    else
        comparison_text(to, comparison);
}
