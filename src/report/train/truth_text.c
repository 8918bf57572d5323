/* Reports predicted and measured times as tables and as JSON. */
#include <string.h>

#include "plan/plan.h"
#include "report/put.h"
#include "report/train/truth.h"

enum { FEW_OPS = 3, FEW_EXCHANGES = 2, MOST_DIFFERENCES = 10 };

#define LINE(member) AT(struct truth_line, member)

/* The bits of `when` are the tables of text. */
const struct column hp_truth_columns[] = {
    { "", NULL, AS_TEXT, LINE(label), .when = TRUTH_OF_RUN },
    { "mean of ranks", NULL, AS_TEXT, LINE(label), .when = TRUTH_OF_PHASES },
    { "operator", NULL, AS_TEXT, LINE(label), .when = TRUTH_OF_OPERATORS },
    { "exchange", NULL, AS_TEXT, LINE(label), .when = TRUTH_OF_EXCHANGES },
    { "largest differences", NULL, AS_TEXT, LINE(label), .when = TRUTH_OF_DIFFERENCES },
    { NULL, "name", AS_TEXT, LINE(name) },
    { NULL, "bytes", AS_BYTES, LINE(bytes), LEFT_OUT },
    { "predicted", "predicted_s", AS_SECONDS, LINE(predicted_s), .when = TRUTH_OF_TIMES },
    { "measured", "measured_s", AS_SECONDS, LINE(measured_s), .when = TRUTH_OF_TIMES },
    { "predicted", NULL, AS_TEXT, LINE(predicted), TO_THE_RIGHT, .when = TRUTH_OF_RUN },
    { "measured", NULL, AS_TEXT, LINE(measured), TO_THE_RIGHT, .when = TRUTH_OF_RUN },
    { "ratio", NULL, AS_NUMBER, LINE(ratio),
      .when = TRUTH_OF_RUN | TRUTH_OF_PHASES | TRUTH_OF_OPERATORS },
    { "sent", NULL, AS_BYTES, LINE(bytes), .when = TRUTH_OF_EXCHANGES },
    { "longer by", NULL, AS_SECONDS, LINE(longer_s), .when = TRUTH_OF_DIFFERENCES },
    { "of the step's", NULL, AS_WHOLE_PERCENT, LINE(share), .when = TRUTH_OF_DIFFERENCES },
    { 0 },
};

struct truth_line hp_truth_line(const char *label, const struct truth_row *row)
{
    static const double measurable_s = 1e-6; /* ranks measure no shorter times */
    bool measurable = row->predicted_s >= measurable_s;
    return (struct truth_line){ .label = label,
                                .name = row->name,
                                .predicted_s = row->predicted_s,
                                .measured_s = row->measured_s,
                                .bytes = NAN,
                                .ratio =
                                    measurable ? row->measured_s / row->predicted_s : NAN };
}

/* Write the phases; text has those that take time. A phase that exchanges little has no ratio:
 * its measured time is the time that ranks were not served. */
void hp_phase_rows(struct table_writer *table, struct arena *arena, const struct truth *truth)
{
    static const double least_share = 0.01; /* share of a step */
    for (int p = 0; p < TRUTH_PHASES; p++) {
        const struct truth_row *row = &truth->phase[p];
        struct truth_line line = hp_truth_line(hp_arena_printf(arena, "  %s", row->name), row);
        bool alone = p >= TRUTH_COMM;
        if (!table->json && row->predicted_s <= 0 && row->measured_s <= 0)
            continue;
        if (alone && row->predicted_s < least_share * truth->step.predicted_s)
            line.ratio = NAN;
        if (alone && truth->in_turn)
            line.measured_s = line.ratio = NAN;
        if (table->shows & TRUTH_OF_RUN)
            hp_truth_texts(&line, arena);
        hp_table_row(table, &line);
    }
}

void hp_truth_texts(struct truth_line *line, struct arena *arena)
{
    line->predicted = hp_time_text(arena, line->predicted_s);
    line->measured = isnan(line->measured_s) ? NULL : hp_time_text(arena, line->measured_s);
}

static void print_phases(FILE *to, struct arena *arena, const struct truth *truth)
{
    struct table_writer table = { .column = hp_truth_columns,
                                  .to = to,
                                  .shows = TRUTH_OF_PHASES };
    struct truth_line step = hp_truth_line("step", &truth->step);
    hp_table_begin(&table, NULL);
    hp_table_row(&table, &step);
    hp_phase_rows(&table, arena, truth);
    hp_table_end(&table);
}

/* Write operators or exchanges; text has the largest `few` rows (0: all), operators by ratio,
 * the worst first, and the others as one row. An exchange has no ratio: it lasts until a rank
 * takes its data, and the rank may be computing. */
static void put_rows(struct table_writer *table, struct truth_rows *rows, const char *key,
                     int few)
{
    struct arena arena = { 0 };
    struct truth_row rest = { .name = NULL };
    bool bytes = table->shows & TRUTH_OF_EXCHANGES;
    few = few && few < rows->n - 1 ? few : rows->n;
    if (!table->json && !rows->n)
        return;
    if (!table->json) {
        hp_truth_by_ratio(rows, bytes ? 0 : few);
        fputc('\n', table->to);
    }
    hp_table_begin(table, key);
    for (int i = 0; i < rows->n; i++) {
        const struct truth_row *row = &rows->row[i];
        struct truth_line line = hp_truth_line(hp_shown(&arena, row->name), row);
        line.bytes = bytes ? row->bytes : NAN;
        if (i < few) {
            hp_table_row(table, &line);
            continue;
        }
        rest.predicted_s += row->predicted_s;
        rest.measured_s += row->measured_s;
        rest.bytes += row->bytes;
    }
    if (few < rows->n) {
        struct truth_line line =
            hp_truth_line(hp_arena_printf(&arena, "the other %d", rows->n - few), &rest);
        line.bytes = rest.bytes;
        hp_table_row(table, &line);
    }
    hp_table_end(table);
    hp_arena_free(&arena);
}

void hp_print_truth_rows(FILE *to, struct truth *truth, bool detail)
{
    struct table_writer ops = { .column = hp_truth_columns,
                                .to = to,
                                .shows = TRUTH_OF_OPERATORS };
    struct table_writer exchanges = ops;
    exchanges.shows = TRUTH_OF_EXCHANGES;
    put_rows(&ops, &truth->op, NULL, detail ? 0 : FEW_OPS);
    if (!truth->in_turn)
        put_rows(&exchanges, &truth->exchange, NULL, detail ? 0 : FEW_EXCHANGES);
}

/* Write where the difference of a step comes from, the largest differences first. */
static void put_differences(struct table_writer *table, struct truth *truth)
{
    struct arena arena = { 0 };
    double all_s = truth->step.measured_s - truth->step.predicted_s;
    int left_out = 0;
    hp_truth_by_difference(&truth->place);
    hp_table_begin(table, "differences");
    for (int i = 0; i < truth->place.n; i++) {
        const struct truth_row *row = &truth->place.row[i];
        struct truth_line line = hp_truth_line(hp_shown(&arena, row->name), row);
        line.longer_s = row->measured_s - row->predicted_s;
        line.share = !truth->in_turn && all_s != 0 ? line.longer_s / all_s : NAN;
        left_out += !hp_table_row(table, &line);
    }
    hp_table_end(table);
    if (left_out)
        fprintf(table->to, "and %d more\n", left_out);
    hp_arena_free(&arena);
}

/* JSON --------------------------------------------------------------------------------- */

void hp_put_truth(struct json_writer *w, struct truth *truth)
{
    struct arena arena = { 0 };
    struct table_writer table = { .column = hp_truth_columns, .json = w };
    struct table_writer exchanges = { .column = hp_truth_columns,
                                      .json = w,
                                      .shows = TRUTH_OF_EXCHANGES };
    hp_table_begin(&table, "phases");
    hp_phase_rows(&table, &arena, truth);
    hp_table_end(&table);
    put_rows(&table, &truth->op, "operators", 0);
    if (!truth->in_turn)
        put_rows(&exchanges, &truth->exchange, "exchanges", 0);
    hp_arena_free(&arena);
}

void hp_put_measured(struct json_writer *w, struct truth *truth)
{
    PUT(w, INT("ranks", truth->n_ranks), INT("steps", truth->n_steps),
        FLAG("in_process", truth->in_turn), NUMBER("predicted_s", truth->step.predicted_s),
        NUMBER("measured_s", truth->step.measured_s));
    hp_put_truth(w, truth);
}

static void write_json(FILE *to, struct truth *truth, const struct hypar_measured_step *step,
                       const struct hypar_sim *sim)
{
    struct json_writer w = { .file = to };
    struct hypar_sim_event e;
    hp_json_begin_object(&w, NULL, false);
    hp_put_measured(&w, truth);
    put_differences(&(struct table_writer){ .column = hp_truth_columns, .json = &w }, truth);
    hp_json_begin_array(&w, "tasks", false);
    for (int64_t i = 0; i < step->n_tasks; i++) {
        const struct measured_task *task = &step->task[i];
        if (hypar_sim_event(sim, task->id, &e))
            PUT_OBJECT(&w, NULL, true, INT("task", task->id), TEXT("name", task->name),
                       TEXT("kind", hp_event_kind_text(task->kind)), INT("rank", task->rank),
                       ONLY_IF(task->with >= 0, INT("with", task->with)),
                       NUMBER("predicted_start_s", e.start_s),
                       NUMBER("predicted_end_s", e.end_s),
                       NUMBER("measured_start_s", task->start_s),
                       NUMBER("measured_end_s", task->end_s));
    }
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}

/* A trace and its plan -------------------------------------------------------------------- */

static void headline(FILE *to, const struct truth *truth, const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    double s = truth->step.measured_s, error = s > 0 ? truth->step.predicted_s / s - 1 : 0;
    hp_put_line(to, "%s, batch %lld, on %s: a step takes %s, predicted %s (%+.1f %%)",
                hp_model_words(&arena, plan), (long long)plan->graph->batch,
                hp_count(&arena, truth->n_ranks, "rank"),
                hp_time_text(&arena, truth->step.measured_s),
                hp_time_text(&arena, truth->step.predicted_s), 100 * error);
    fprintf(to, "means of ranks and of %s\n\n", hp_count(&arena, truth->n_steps, "step"));
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
        struct arena arena = { 0 };
        headline(to, &truth, hypar_sim_plan(sim));
        put_differences(&(struct table_writer){ .column = hp_truth_columns,
                                                .to = to,
                                                .shows = TRUTH_OF_DIFFERENCES,
                                                .most = detail ? 0 : MOST_DIFFERENCES },
                        &truth);
        fputc('\n', to);
        print_phases(to, &arena, &truth);
        hp_print_truth_rows(to, &truth, detail);
        hp_arena_free(&arena);
    }
    hp_truth_free(&truth);
    return status;
}
