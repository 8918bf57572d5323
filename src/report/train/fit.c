/* Reports a fitted device as text and as JSON. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "report/table.h"

enum { MAX_LISTED = 100 }; /* limit of listed rows with a large error, in text */

static double times_off(const struct hypar_fit_row *row)
{
    return row->after_s > row->measured_s ? row->after_s / row->measured_s
                                          : row->measured_s / row->after_s;
}

/* Columns ------------------------------------------------------------------------------- */

struct constant_row {
    struct hypar_fit_constant of;
    double error; /* NAN: not fitted */
    const char *before, *after;
};

static const struct column constant_columns[] = {
    { "constant", "name", AS_TEXT, AT(struct constant_row, of.name) },
    { "before", NULL, AS_TEXT, AT(struct constant_row, before), TO_THE_RIGHT },
    { "after", NULL, AS_TEXT, AT(struct constant_row, after), TO_THE_RIGHT },
    { NULL, "before", AS_NUMBER, AT(struct constant_row, of.before) },
    { NULL, "after", AS_NUMBER, AT(struct constant_row, of.after) },
    { NULL, "fitted", AS_BOOL, AT(struct constant_row, of.fitted) },
    { "+-", "standard_error", AS_PERCENT, AT(struct constant_row, error) },
    { "rows", "rows", AS_INT, AT(struct constant_row, of.rows) },
    { 0 },
};

static const struct column error_columns[] = {
    { NULL, "median", AS_PERCENT, AT(struct hypar_fit_errors, median) },
    { NULL, "mean", AS_PERCENT, AT(struct hypar_fit_errors, mean) },
    { NULL, "percentile_95", AS_PERCENT, AT(struct hypar_fit_errors, most) },
    { NULL, "worst_times", AS_NUMBER, AT(struct hypar_fit_errors, worst) },
    { NULL, "beyond_2_times", AS_INT, AT(struct hypar_fit_errors, beyond) },
    { 0 },
};

/* Errors of a group of rows; text has those of held-out rows in a separate row. */
struct error_row {
    struct hypar_fit_group of;
    const struct hypar_fit_errors *held_out; /* NULL: none */
};

#define ERRORS(member) AT(struct error_row, of.member)

static const struct column group_columns[] = {
    { "error of", "kind", AS_TEXT, ERRORS(kind) },
    { "rows", "rows", AS_INT, ERRORS(rows), IF_KNOWN | BLANK },
    { "before", NULL, AS_PERCENT, ERRORS(before.median), BLANK },
    { "worst", NULL, AS_FACTOR, ERRORS(before.worst), BLANK },
    { "after", NULL, AS_PERCENT, ERRORS(after.median) },
    { "mean", NULL, AS_PERCENT, ERRORS(after.mean) },
    { "95 %", NULL, AS_PERCENT, ERRORS(after.most) },
    { "worst", NULL, AS_FACTOR, ERRORS(after.worst) },
    { NULL, "before", AS_RECORD, ERRORS(before), INSIDE, .of = error_columns },
    { NULL, "after", AS_RECORD, ERRORS(after), INSIDE, .of = error_columns },
    { NULL, "held_out", AS_RECORD, AT(struct error_row, held_out), LEFT_OUT,
      .of = error_columns },
    { 0 },
};

struct measured_row {
    struct hypar_fit_row of;
    const char *place;
    double times;
};

static const struct column row_columns[] = {
    { "more than 2 times off", NULL, AS_TEXT, AT(struct measured_row, place) },
    { NULL, "file", AS_TEXT, AT(struct measured_row, of.file) },
    { NULL, "line", AS_INT, AT(struct measured_row, of.line) },
    { "row", "row", AS_TEXT, AT(struct measured_row, of.text), WRAPS },
    { "measured", "measured_s", AS_SECONDS, AT(struct measured_row, of.measured_s) },
    { NULL, "before_s", AS_SECONDS, AT(struct measured_row, of.before_s) },
    { "predicted", "after_s", AS_SECONDS, AT(struct measured_row, of.after_s) },
    { NULL, "held_out_s", AS_SECONDS, AT(struct measured_row, of.held_out_s), IF_POSITIVE },
    { NULL, "outlier", AS_BOOL, AT(struct measured_row, of.outlier) },
    { NULL, "moves", AS_TEXT, AT(struct measured_row, of.moves), LEFT_OUT },
    { "times", NULL, AS_NUMBER, AT(struct measured_row, times) },
    { 0 },
};

/* Constants ----------------------------------------------------------------------------- */

/* Write the constants; text has only the fitted ones. Returns the number of fitted
 * constants. */
static int constant_rows(struct table_writer *table, struct arena *arena,
                         const struct hypar_fit *fit)
{
    struct constant_row row = { 0 };
    int n = 0;
    hp_table_begin(table, "constants");
    for (int i = 0; hypar_fit_constant(fit, i, &row.of); i++) {
        const struct hypar_fit_constant *c = &row.of;
        n += c->fitted;
        if (!table->json && !c->fitted)
            continue;
        row.error = c->fitted && (table->json || c->after > 0) ? c->error : NAN;
        row.before = hp_figure_text(arena, c->before, c->unit);
        row.after = hp_figure_text(arena, c->after, c->unit);
        hp_table_row(table, &row);
    }
    hp_table_end(table);
    return n;
}

static const struct column choice_columns[] = {
    { "run as", "name", AS_TEXT, AT(struct hypar_fit_choice, name) },
    { "before", "before", AS_TEXT, AT(struct hypar_fit_choice, before) },
    { "after", "after", AS_TEXT, AT(struct hypar_fit_choice, after) },
    { "rows", "rows", AS_INT, AT(struct hypar_fit_choice, rows) },
    { 0 },
};

static void choice_rows(struct table_writer *table, const struct hypar_fit_info *info)
{
    hp_table_begin(table, "choices");
    for (int i = 0; i < info->n_choices; i++)
        hp_table_row(table, &info->choice[i]);
    hp_table_end(table);
}

/* Print the names of the constants that keep their values. */
static void print_undecided(FILE *to, struct arena *arena, const struct hypar_fit *fit)
{
    struct hypar_fit_constant constant;
    const char *text = NULL;
    for (int i = 0; hypar_fit_constant(fit, i, &constant); i++)
        if (constant.asked && !constant.fitted)
            text = text ? hp_arena_printf(arena, "%s, %s", text, constant.name)
                        : hp_arena_printf(arena, "as before, for want of rows that decide: %s",
                                          constant.name);
    if (text)
        hp_wrap(to, text, 0);
}

static void error_rows(struct table_writer *table, const struct hypar_fit *fit)
{
    struct error_row row = { 0 };
    table->column = group_columns;
    hp_table_begin(table, "errors");
    for (int i = 0; hypar_fit_group(fit, i, &row.of); i++) {
        row.held_out = row.of.has_held_out ? &row.of.held_out : NULL;
        hp_table_row(table, &row);
        if (row.held_out && !table->json)
            hp_table_row(table,
                         &(struct error_row){ .of = { .kind = "  held out",
                                                      .rows = -1,
                                                      .before = { .median = NAN, .worst = NAN },
                                                      .after = *row.held_out } });
    }
    hp_table_end(table);
}

static int worst_first(const void *a, const void *b)
{
    double x = times_off(a), y = times_off(b);
    return (x < y) - (x > y);
}

/* Find the rows whose error is above a factor of 2, the worst first; returns their number. */
static int find_far(struct arena *arena, const struct hypar_fit *fit,
                    struct hypar_fit_row **out)
{
    struct hypar_fit_row row;
    int n = 0, all = 0;
    while (hypar_fit_row(fit, all, &row))
        all++;
    *out = NEW(arena, struct hypar_fit_row, all + 1);
    for (int i = 0; hypar_fit_row(fit, i, &row); i++)
        if (times_off(&row) > 2)
            (*out)[n++] = row;
    hp_sort(*out, n, sizeof **out, worst_first);
    return n;
}

static void print_far(FILE *to, struct arena *arena, const struct hypar_fit *fit)
{
    struct table_writer table = { .column = row_columns, .to = to, .most = MAX_LISTED };
    struct hypar_fit_row *row;
    int n = find_far(arena, fit, &row);
    if (n == 0)
        fputs("no row is more than 2 times off\n", to);
    hp_table_begin(&table, NULL);
    for (int i = 0; i < n; i++)
        hp_table_row(&table, &(struct measured_row){
                                 row[i],
                                 hp_arena_printf(arena, "%s:%d", hp_shown(arena, row[i].file),
                                                 row[i].line),
                                 times_off(&row[i]) });
    hp_table_end(&table);
    if (n > MAX_LISTED)
        fprintf(to, "and %d more (--json has all)\n", n - MAX_LISTED);
}

static const struct column step_columns[] = {
    { "step", NULL, AS_TEXT, AT(struct measured_row, place) },
    { "measured", NULL, AS_SECONDS, AT(struct measured_row, of.measured_s) },
    { "predicted", NULL, AS_SECONDS, AT(struct measured_row, of.after_s) },
    { "held out", NULL, AS_SECONDS, AT(struct measured_row, of.held_out_s), IF_POSITIVE },
    { "moves", NULL, AS_TEXT, AT(struct measured_row, of.moves), LEFT_OUT },
    { 0 },
};

/* Steps one by one, with the figure that each decides most. */
static void print_steps(FILE *to, struct arena *arena, const struct hypar_fit *fit)
{
    struct table_writer table = { .column = step_columns, .to = to, .most = MAX_LISTED };
    struct hypar_fit_row row;
    int n = 0;
    for (int i = 0; hypar_fit_row(fit, i, &row); i++) {
        if (strcmp(row.kind, "step") != 0)
            continue;
        if (n++ == 0)
            hp_table_begin(&table, NULL);
        hp_table_row(
            &table,
            &(struct measured_row){
                row, hp_arena_printf(arena, "%s:%d", hp_shown(arena, row.file), row.line), 0 });
    }
    if (n == 0)
        return;
    hp_table_end(&table);
    fputc('\n', to);
}

static void fit_json(FILE *to, struct arena *arena, const struct hypar_fit *fit)
{
    const struct hypar_fit_info info = hypar_fit_info(fit);
    struct json_writer w = { .file = to };
    struct table_writer constants = { .column = constant_columns, .json = &w };
    struct table_writer rows = { .column = row_columns, .json = &w };
    struct measured_row row = { 0 };
    hp_json_begin_object(&w, NULL, false);
    PUT(&w, TEXT("device", info.device), TEXT("source", info.source),
        ONLY_IF(info.framework, TEXT("framework", info.framework->name)),
        INT("rows_left_out", info.left_out));
    hp_json_begin_array(&w, "doubts", false);
    for (int i = 0; hypar_fit_doubt(fit, i); i++)
        hp_json_put_string(&w, NULL, hypar_fit_doubt(fit, i));
    hp_json_end_array(&w);
    constant_rows(&constants, arena, fit);
    choice_rows(&(struct table_writer){ .column = choice_columns, .json = &w }, &info);
    error_rows(&(struct table_writer){ .json = &w }, fit);
    hp_table_begin(&rows, "rows");
    for (int i = 0; hypar_fit_row(fit, i, &row.of); i++)
        hp_table_row(&rows, &row);
    hp_table_end(&rows);
    hp_json_end_object(&w);
}

void hypar_report_fit(FILE *to, const struct hypar_fit *fit, enum hypar_format format)
{
    struct arena arena = { 0 };
    struct hypar_fit_row row;
    const struct hypar_fit_info info = hypar_fit_info(fit);
    int outliers = 0;
    if (format == HYPAR_JSON) {
        fit_json(to, &arena, fit);
        hp_arena_free(&arena);
        return;
    }
    hp_wrap(to, hp_shown(&arena, info.source), 0);
    fputc('\n', to);
    if (!constant_rows(&(struct table_writer){ .column = constant_columns, .to = to }, &arena,
                       fit))
        fputs("these rows decide no figure\n", to);
    print_undecided(to, &arena, fit);
    fputc('\n', to);
    if (info.n_choices) {
        choice_rows(&(struct table_writer){ .column = choice_columns, .to = to }, &info);
        fputc('\n', to);
    }
    error_rows(&(struct table_writer){ .to = to }, fit);
    fputc('\n', to);
    print_steps(to, &arena, fit);
    print_far(to, &arena, fit);
    for (int i = 0; hypar_fit_row(fit, i, &row); i++)
        outliers += row.outlier;
    if (outliers)
        fprintf(to, "%s too far off to be fitted\n",
                hp_count(&arena, outliers, "row was|rows were"));
    if (info.left_out)
        fprintf(to, "%s nothing here: left out\n",
                hp_count(&arena, info.left_out, "row costs|rows cost"));
    hp_arena_free(&arena);
}
