/* A fitted device as text and as JSON. */
#include <hypar/report.h>

#include "base/json.h"
#include "base/sort.h"
#include "report/columns.h"

enum { MAX_LISTED = 100 }; /* rows that are far off, as text */

static double times_off(const struct hypar_fit_row *row)
{
    return row->after_s > row->measured_s ? row->after_s / row->measured_s
                                          : row->measured_s / row->after_s;
}

/* JSON ---------------------------------------------------------------------------------- */

static void put_errors(struct json_writer *w, const char *key,
                       const struct hypar_fit_errors *errors)
{
    hp_json_begin_object(w, key, true);
    hp_json_put_number(w, "median", errors->median);
    hp_json_put_number(w, "mean", errors->mean);
    hp_json_put_number(w, "percentile_95", errors->most);
    hp_json_put_number(w, "worst_times", errors->worst);
    hp_json_put_int(w, "beyond_2_times", errors->beyond);
    hp_json_end_object(w);
}

static void put_constants(struct json_writer *w, const struct hypar_fit *fit)
{
    struct hypar_fit_constant constant;
    hp_json_begin_array(w, "constants", false);
    for (int i = 0; hypar_fit_constant(fit, i, &constant); i++) {
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", constant.name);
        hp_json_put_number(w, "before", constant.before);
        hp_json_put_number(w, "after", constant.after);
        hp_json_put_bool(w, "fitted", constant.fitted);
        hp_json_put_known(w, "standard_error", constant.fitted, constant.error);
        hp_json_put_int(w, "rows", constant.rows);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_groups(struct json_writer *w, const struct hypar_fit *fit)
{
    struct hypar_fit_group group;
    hp_json_begin_array(w, "errors", false);
    for (int i = 0; hypar_fit_group(fit, i, &group); i++) {
        hp_json_begin_object(w, NULL, false);
        hp_json_put_string(w, "kind", group.kind);
        hp_json_put_int(w, "rows", group.rows);
        put_errors(w, "before", &group.before);
        put_errors(w, "after", &group.after);
        if (group.has_held_out)
            put_errors(w, "held_out", &group.held_out);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_rows(struct json_writer *w, const struct hypar_fit *fit)
{
    struct hypar_fit_row row;
    hp_json_begin_array(w, "rows", false);
    for (int i = 0; hypar_fit_row(fit, i, &row); i++) {
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "file", row.file);
        hp_json_put_int(w, "line", row.line);
        hp_json_put_string(w, "row", row.text);
        hp_json_put_number(w, "measured_s", row.measured_s);
        hp_json_put_number(w, "before_s", row.before_s);
        hp_json_put_number(w, "after_s", row.after_s);
        hp_json_put_known(w, "held_out_s", row.held_out_s > 0, row.held_out_s);
        hp_json_put_bool(w, "outlier", row.outlier);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void write_json(FILE *to, const struct hypar_fit *fit)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "device", hypar_fit_device(fit));
    hp_json_put_string(&w, "source", hypar_fit_source(fit));
    hp_json_put_int(&w, "rows_left_out", hypar_fit_left_out(fit));
    hp_json_begin_array(&w, "doubts", false);
    for (int i = 0; hypar_fit_doubt(fit, i); i++)
        hp_json_put_string(&w, NULL, hypar_fit_doubt(fit, i));
    hp_json_end_array(&w);
    put_constants(&w, fit);
    put_groups(&w, fit);
    put_rows(&w, fit);
    hp_json_end_object(&w);
}

/* Text ---------------------------------------------------------------------------------- */

static void print_constants(FILE *to, struct arena *arena, const struct hypar_fit *fit)
{
    static const char *const heading[] = { "constant", "before", "after", "+-", "rows" };
    enum { HEADINGS = sizeof heading / sizeof heading[0] };
    struct columns table = { .align = "lrrrr" };
    struct hypar_fit_constant constant;
    for (int i = 0; i < HEADINGS; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int i = 0; hypar_fit_constant(fit, i, &constant); i++) {
        if (!constant.fitted)
            continue;
        hp_cell(&table, arena, "%s", constant.name);
        hp_constant_cell(&table, arena, constant.before, constant.unit);
        hp_constant_cell(&table, arena, constant.after, constant.unit);
        if (constant.after > 0)
            hp_cell(&table, arena, "%.1f %%", 100 * constant.error);
        else
            hp_cell(&table, arena, "-"); /* none at all */
        hp_cell(&table, arena, "%d", constant.rows);
    }
    if (table.n_cells > HEADINGS)
        hp_columns_print(&table, to);
    else
        fputs("these rows decide no figure\n", to);
}

/* The names of what stays as it was. */
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

static void error_cells(struct columns *table, struct arena *arena,
                        const struct hypar_fit_errors *errors)
{
    hp_cell(table, arena, "%.1f %%", 100 * errors->median);
    hp_cell(table, arena, "%.1f %%", 100 * errors->mean);
    hp_cell(table, arena, "%.1f %%", 100 * errors->most);
    hp_cell(table, arena, "%.3gx", errors->worst);
}

static void print_errors(FILE *to, struct arena *arena, const struct hypar_fit *fit)
{
    static const char *const heading[] = { "error of", "rows", "before", "worst",
                                           "after",    "mean", "95 %",   "worst" };
    struct hypar_fit_group group;
    struct columns table = { .align = "lrrrrrrr" };
    for (size_t i = 0; i < sizeof heading / sizeof heading[0]; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int i = 0; hypar_fit_group(fit, i, &group); i++) {
        hp_cell(&table, arena, "%s", group.kind);
        hp_cell(&table, arena, "%d", group.rows);
        hp_cell(&table, arena, "%.1f %%", 100 * group.before.median);
        hp_cell(&table, arena, "%.3gx", group.before.worst);
        error_cells(&table, arena, &group.after);
        if (!group.has_held_out)
            continue;
        hp_cell(&table, arena, "  held out");
        for (int c = 1; c < 4; c++)
            hp_cell(&table, arena, "%s", "");
        error_cells(&table, arena, &group.held_out);
    }
    hp_columns_print(&table, to);
}

static int worst_first(const void *a, const void *b)
{
    double x = times_off(a), y = times_off(b);
    return (x < y) - (x > y);
}

/* The rows that are more than 2 times off, the worst first; returns their number. */
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
    static const char *const heading[] = { "more than 2 times off", "row", "measured",
                                           "predicted", "times" };
    struct columns table = { .align = "lwrrr" };
    struct hypar_fit_row *row;
    int n = find_far(arena, fit, &row);
    if (n == 0) {
        fputs("no row is more than 2 times off\n", to);
        return;
    }
    for (size_t i = 0; i < sizeof heading / sizeof heading[0]; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int i = 0; i < n && i < MAX_LISTED; i++) {
        hp_cell(&table, arena, "%s:%d", hp_shown(arena, row[i].file), row[i].line);
        hp_cell(&table, arena, "%s", row[i].text);
        hp_quantity_cell(&table, arena, row[i].measured_s, HYPAR_UNIT_SECONDS);
        hp_quantity_cell(&table, arena, row[i].after_s, HYPAR_UNIT_SECONDS);
        hp_cell(&table, arena, "%.3g", times_off(&row[i]));
    }
    hp_columns_print(&table, to);
    if (n > MAX_LISTED)
        fprintf(to, "and %d more (--json has all)\n", n - MAX_LISTED);
}

static int count_outliers(const struct hypar_fit *fit)
{
    struct hypar_fit_row row;
    int n = 0;
    for (int i = 0; hypar_fit_row(fit, i, &row); i++)
        n += row.outlier;
    return n;
}

void hypar_report_fit(FILE *to, const struct hypar_fit *fit, enum hypar_format format)
{
    struct arena arena = { 0 };
    char count[64];
    int outliers = count_outliers(fit);
    if (format == HYPAR_JSON) {
        write_json(to, fit);
        return;
    }
    hp_wrap(to, hp_shown(&arena, hypar_fit_source(fit)), 0);
    fputc('\n', to);
    print_constants(to, &arena, fit);
    print_undecided(to, &arena, fit);
    fputc('\n', to);
    print_errors(to, &arena, fit);
    fputc('\n', to);
    print_far(to, &arena, fit);
    if (outliers)
        fprintf(to, "%s too far off to be fitted\n",
                hp_count(count, outliers, "row was", "rows were"));
    if (hypar_fit_left_out(fit))
        fprintf(to, "%s nothing here: left out\n",
                hp_count(count, hypar_fit_left_out(fit), "row costs", "rows cost"));
    hp_arena_free(&arena);
}
