/* Reports predicted and measured times as tables and as JSON. */
#include <math.h>
#include <string.h>

#include "base/files/json.h"
#include "report/columns.h"
#include "report/put.h"
#include "report/simulate/trace.h"
#include "report/train/measured_step.h"
#include "report/train/torch_step.h"

enum { FEW_OPS = 3, FEW_EXCHANGES = 2, MOST_DIFFERENCES = 10 };

/* Tables ------------------------------------------------------------------------------- */

static void seconds_cell(struct columns *table, struct arena *arena, double seconds)
{
    hp_quantity_cell(table, arena, seconds, HYPAR_UNIT_SECONDS);
}

void hp_ratio_cell(struct columns *table, struct arena *arena, double predicted,
                   double measured)
{
    double ratio = predicted > 0 ? measured / predicted : 0;
    if (predicted > 0)
        hp_cell(table, arena, ratio < 1000 ? "%.3g" : "%.0f", ratio);
    else
        hp_cell(table, arena, "-");
}

static void both_cells(struct columns *table, struct arena *arena, const struct truth_row *row)
{
    seconds_cell(table, arena, row->predicted_s);
    seconds_cell(table, arena, row->measured_s);
}

/* Predicted, measured, ratio; no ratio for times shorter than ranks can measure. */
static void pair_cells(struct columns *table, struct arena *arena, const struct truth_row *row)
{
    static const double measurable_s = 1e-6;
    both_cells(table, arena, row);
    hp_ratio_cell(table, arena, row->predicted_s < measurable_s ? 0 : row->predicted_s,
                  row->measured_s);
}

static void headings(struct columns *table, struct arena *arena, const char *first,
                     const char *last)
{
    hp_cell(table, arena, "%s", first);
    hp_cell(table, arena, "predicted");
    hp_cell(table, arena, "measured");
    hp_cell(table, arena, "%s", last);
}

/* Print the phases. Exchanges with a very small predicted time have no ratio: their measured
 * time is the time that ranks were not served. */
void hp_phase_rows(struct columns *table, struct arena *arena, const struct truth *truth)
{
    static const double least_share = 0.01; /* share of a step */
    for (int p = 0; p < TRUTH_PHASES; p++) {
        const struct truth_row *row = &truth->phase[p];
        if (row->predicted_s <= 0 && row->measured_s <= 0)
            continue;
        hp_cell(table, arena, "  %s", row->name);
        bool little = row->predicted_s < least_share * truth->step.predicted_s;
        if (p < TRUTH_COMM || !(truth->in_turn || little)) {
            pair_cells(table, arena, row);
            continue;
        }
        seconds_cell(table, arena, row->predicted_s);
        if (truth->in_turn)
            hp_cell(table, arena, "-");
        else
            seconds_cell(table, arena, row->measured_s);
        hp_cell(table, arena, "-");
    }
}

void hp_print_phases(FILE *to, const struct truth *truth)
{
    struct arena arena = { 0 };
    struct columns table = { .align = "lrrr" };
    headings(&table, &arena, "mean of ranks", "ratio");
    hp_cell(&table, &arena, "step");
    pair_cells(&table, &arena, &truth->step);
    hp_phase_rows(&table, &arena, truth);
    hp_columns_print(&table, to);
    hp_arena_free(&arena);
}

/* For an exchange print the bytes sent, for an operator the ratio. An exchange lasts until a
 * rank takes its data, and the rank may be computing, so its time does not measure the
 * prediction. */
static void row_cells(struct columns *table, struct arena *arena, const struct truth_row *row,
                      bool exchange)
{
    if (!exchange) {
        pair_cells(table, arena, row);
        return;
    }
    both_cells(table, arena, row);
    hp_quantity_cell(table, arena, row->bytes, HYPAR_UNIT_BYTES);
}

/* Print the largest `few` rows (0: all), operators by ratio, the worst first, and the others as
 * one row. */
static void print_rows(FILE *to, struct truth_rows *rows, int few, bool exchange)
{
    struct arena arena = { 0 };
    struct columns table = { .align = "lrrr" };
    struct truth_row rest = { .name = NULL };
    if (!rows->n)
        return;
    few = few && few < rows->n - 1 ? few : rows->n;
    hp_truth_by_ratio(rows, exchange ? 0 : few);
    headings(&table, &arena, exchange ? "exchange" : "operator", exchange ? "sent" : "ratio");
    for (int i = 0; i < rows->n; i++) {
        const struct truth_row *row = &rows->row[i];
        if (i >= few) {
            rest.predicted_s += row->predicted_s;
            rest.measured_s += row->measured_s;
            rest.bytes += row->bytes;
            continue;
        }
        hp_cell(&table, &arena, "%s", hp_shown(&arena, row->name));
        row_cells(&table, &arena, row, exchange);
    }
    if (few < rows->n) {
        hp_cell(&table, &arena, "the other %d", rows->n - few);
        row_cells(&table, &arena, &rest, exchange);
    }
    fputc('\n', to);
    hp_columns_print(&table, to);
    hp_arena_free(&arena);
}

void hp_print_truth_rows(FILE *to, struct truth *truth, bool detail)
{
    print_rows(to, &truth->op, detail ? 0 : FEW_OPS, false);
    if (!truth->in_turn)
        print_rows(to, &truth->exchange, detail ? 0 : FEW_EXCHANGES, true);
}

/* Print where the difference of a step comes from. */
static void print_differences(FILE *to, struct truth *truth, bool detail)
{
    struct arena arena = { 0 };
    struct columns table = { .align = "lrrrr" };
    int most = detail || truth->place.n < MOST_DIFFERENCES ? truth->place.n : MOST_DIFFERENCES;
    double all_s = truth->step.measured_s - truth->step.predicted_s;
    hp_truth_by_difference(&truth->place);
    hp_cell(&table, &arena, "largest differences");
    hp_cell(&table, &arena, "predicted");
    hp_cell(&table, &arena, "measured");
    hp_cell(&table, &arena, "longer by");
    hp_cell(&table, &arena, "of the step's");
    for (int i = 0; i < most; i++) {
        const struct truth_row *row = &truth->place.row[i];
        double more_s = row->measured_s - row->predicted_s;
        hp_cell(&table, &arena, "%s", hp_shown(&arena, row->name));
        seconds_cell(&table, &arena, row->predicted_s);
        seconds_cell(&table, &arena, row->measured_s);
        hp_cell(&table, &arena, "%s%s", more_s < 0 ? "-" : "",
                hp_time_text(&arena, fabs(more_s)));
        if (!truth->in_turn && all_s != 0)
            hp_cell(&table, &arena, "%.0f %%", 100 * more_s / all_s);
        else
            hp_cell(&table, &arena, "-");
    }
    hp_columns_print(&table, to);
    if (most < truth->place.n)
        fprintf(to, "and %d more\n", truth->place.n - most);
    hp_arena_free(&arena);
}

/* JSON --------------------------------------------------------------------------------- */

static void put_row(struct json_writer *w, const struct truth_row *row, bool measured,
                    bool bytes)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "name", row->name);
    if (bytes)
        hp_json_put_number(w, "bytes", row->bytes);
    hp_json_put_number(w, "predicted_s", row->predicted_s);
    hp_json_put_known(w, "measured_s", measured, row->measured_s);
    hp_json_end_object(w);
}

static void put_rows(struct json_writer *w, const char *key, const struct truth_rows *rows,
                     bool bytes)
{
    hp_json_begin_array(w, key, w->flat[w->depth]);
    for (int i = 0; i < rows->n; i++)
        put_row(w, &rows->row[i], true, bytes);
    hp_json_end_array(w);
}

void hp_put_truth(struct json_writer *w, const struct truth *truth)
{
    hp_json_begin_array(w, "phases", w->flat[w->depth]);
    for (int p = 0; p < TRUTH_PHASES; p++)
        put_row(w, &truth->phase[p], p < TRUTH_COMM || !truth->in_turn, false);
    hp_json_end_array(w);
    put_rows(w, "operators", &truth->op, false);
    if (!truth->in_turn)
        put_rows(w, "exchanges", &truth->exchange, true);
}

static void put_task(struct json_writer *w, const struct measured_task *task,
                     const struct hypar_sim_event *e)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_int(w, "task", task->id);
    hp_json_put_string(w, "name", task->name);
    hp_json_put_string(w, "kind", hp_event_kind_text(task->kind));
    hp_json_put_int(w, "rank", task->rank);
    if (task->with >= 0)
        hp_json_put_int(w, "with", task->with);
    hp_json_put_number(w, "predicted_start_s", e->start_s);
    hp_json_put_number(w, "predicted_end_s", e->end_s);
    hp_json_put_number(w, "measured_start_s", task->start_s);
    hp_json_put_number(w, "measured_end_s", task->end_s);
    hp_json_end_object(w);
}

static void write_json(FILE *to, struct truth *truth, const struct hypar_measured_step *step,
                       const struct hypar_sim *sim)
{
    struct json_writer w = { .file = to };
    struct hypar_sim_event e;
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_int(&w, "ranks", truth->n_ranks);
    hp_json_put_int(&w, "steps", truth->n_steps);
    hp_json_put_bool(&w, "in_process", truth->in_turn);
    hp_json_put_number(&w, "predicted_s", truth->step.predicted_s);
    hp_json_put_number(&w, "measured_s", truth->step.measured_s);
    hp_put_truth(&w, truth);
    hp_truth_by_difference(&truth->place);
    put_rows(&w, "differences", &truth->place, false);
    hp_json_begin_array(&w, "tasks", false);
    for (int64_t i = 0; i < step->n_tasks; i++)
        if (hypar_sim_event(sim, step->task[i].id, &e))
            put_task(&w, &step->task[i], &e);
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}

/* A trace and its plan -------------------------------------------------------------------- */

static void headline(FILE *to, const struct truth *truth, const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    char ranks[64], steps[64];
    double s = truth->step.measured_s, error = s > 0 ? truth->step.predicted_s / s - 1 : 0;
    hp_put_line(to, "%s, batch %lld, on %s: a step takes %s, predicted %s (%+.1f %%)",
                hp_model_words(&arena, plan), (long long)plan->graph->batch,
                hp_count(ranks, truth->n_ranks, "rank", "ranks"),
                hp_time_text(&arena, truth->step.measured_s),
                hp_time_text(&arena, truth->step.predicted_s), 100 * error);
    fprintf(to, "means of ranks and of %s\n\n",
            hp_count(steps, truth->n_steps, "step", "steps"));
    if (truth->in_turn)
        fputs("ranks took turns in one process: what they waited is not told\n\n", to);
    hp_arena_free(&arena);
}

enum hypar_status hypar_report_measured(FILE *to, const struct hypar_measured_step *step,
                                        const struct hypar_sim *sim, bool detail,
                                        enum hypar_format format, struct hypar_error *err)
{
    struct truth truth;
    if (step->torch)
        return hp_report_torch(to, step, sim, detail, format, err);
    enum hypar_status status = hp_truth_make(&truth, step, sim, err);
    if (status == HYPAR_OK && format == HYPAR_JSON) {
        write_json(to, &truth, step, sim);
    } else if (status == HYPAR_OK) {
        headline(to, &truth, hypar_sim_plan(sim));
        print_differences(to, &truth, detail);
        fputc('\n', to);
        hp_print_phases(to, &truth);
        hp_print_truth_rows(to, &truth, detail);
    }
    hp_truth_free(&truth);
    return status;
}
