/* Fitting the figures of a device, and of how steps were run, to measurements: choosing the
 * constants that the rows determine, removing outliers, cross-validation. */
#include "fit/search.h"

#include "base/files/file.h"
#include "fit/benchmark_output.h"
#include "plan/framework.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>

enum { FOLDS = 5, LEAST_HELD_OUT = 10, LEAST_STEPS = 4 };
static const double most_error = 0.5;       /* of the logarithm of a determined figure */
static const double beyond_the_clock = 1e9; /* seconds */

/* Predictions --------------------------------------------------------------------------- */

static void set_variables(struct search *s, const double *x)
{
    double value[FIGURE_COUNT];
    memcpy(value, s->fit->value, sizeof value);
    for (int k = 0; k < s->n; k++)
        value[s->fit->row[s->constant[k]].figure] = exp(x[k]);
    hp_predictor_set(&s->predictor, value);
}

/* The residual that is added for a figure which is e (2.718) times its value before the fit. It
 * keeps figures near their earlier values: there are few steps, and without it a figure on
 * which few steps depend could explain any error of these steps. With 7 %, doubling a figure
 * costs as much as a row that is 5 % off. A larger value keeps figures nearer to what they
 * were, right or wrong. */
static const double strange = 0.07;

static double doubt(const struct search *s, int k, const double *x)
{
    double before = s->fit->constant[s->constant[k]].before;
    return before > 0 ? strange * (x[k] - log(before)) : 0;
}

double hp_fit_residual(struct search *s, int row, const double *x)
{
    double seconds;
    if (row >= s->fit->measured.n_rows)
        return doubt(s, row - s->fit->measured.n_rows, x);
    set_variables(s, x);
    if (hp_predict_row(&s->predictor, row, &seconds, NULL) != HYPAR_OK || !(seconds > 0))
        seconds = beyond_the_clock;
    return log(seconds / s->fit->measured.row[row].seconds);
}

bool hp_fit_depends(struct search *s, int row, int k)
{
    int n_rows = s->fit->measured.n_rows;
    if (row >= n_rows)
        return row - n_rows == k;
    return hp_row_depends(&s->predictor, row, s->fit->row[s->constant[k]].figure);
}

static double residual(void *who, int row, const double *x)
{
    return hp_fit_residual(who, row, x);
}

static bool depends(void *who, int row, int k)
{
    return hp_fit_depends(who, row, k);
}

static void begin_predictor(struct hypar_fit *fit, struct predictor *out)
{
    hp_predictor_begin(out, &fit->measured, &fit->machine->parts[0]);
    out->framework = fit->has_framework ? &fit->framework : NULL;
}

/* Predict all rows with the fitted figures. */
static enum hypar_status predict_all(struct hypar_fit *fit, double *seconds,
                                     struct hypar_error *err)
{
    struct predictor predictor;
    enum hypar_status status = HYPAR_OK;
    begin_predictor(fit, &predictor);
    hp_predictor_set(&predictor, fit->value);
    for (int i = 0; i < fit->measured.n_rows && status == HYPAR_OK; i++) {
        const struct measured_row *row = &fit->measured.row[i];
        status = hp_predict_row(&predictor, i, &seconds[i], err);
        hp_in(err, status, "%s:%d", row->file, row->line);
    }
    hp_predictor_end(&predictor);
    return status;
}

/* Leave out rows that take no time: they have nothing to fit. */
static enum hypar_status leave_out(struct hypar_fit *fit, struct hypar_error *err)
{
    int n = fit->measured.n_rows;
    bool *keep = NEW(&fit->arena, bool, n);
    for (int i = 0; i < n; i++)
        keep[i] = fit->before_s[i] > 0;
    const struct measured_row first = fit->measured.row[0];
    hp_measured_keep(&fit->measured, keep);
    fit->left_out = n - fit->measured.n_rows;
    if (fit->left_out == n)
        return hp_fail(err, HYPAR_INVALID, "%s:%d: '%.80s' takes no time, expected some work",
                       first.file, first.line, first.text);
    for (int i = 0, kept = 0; i < n; i++)
        if (keep[i])
            fit->before_s[kept++] = fit->before_s[i];
    return HYPAR_OK;
}

/* Searching ----------------------------------------------------------------------------- */

void hp_fit_run(struct search *s, const bool *skip, bool near)
{
    int n_doubts = s->fit->has_framework ? s->n : 0;
    struct least_squares problem = { .n_rows = s->fit->measured.n_rows + n_doubts,
                                     .n_variables = s->n,
                                     .low = s->low,
                                     .high = s->high,
                                     .skip = skip,
                                     .near = near,
                                     .residual = residual,
                                     .depends = depends,
                                     .who = s };
    hp_least_squares(&problem, s->x, &s->spread);
}

static bool any_row_depends(struct search *s, int figure)
{
    for (int i = 0; i < s->fit->measured.n_rows; i++)
        if (hp_row_depends(&s->predictor, i, figure))
            return true;
    return false;
}

void hp_fit_add(struct search *s, int constant, double value)
{
    const struct constant_row *row = &s->fit->row[constant];
    int k = s->n++;
    s->constant[k] = constant;
    s->low[k] = log(row->least);
    s->high[k] = log(row->most);
    s->x[k] = fmin(fmax(log(value), s->low[k]), s->high[k]);
}

/* Use all constants on which some row may depend. Times that no framework has yet come later,
 * if steps ask for them (hp_fit_choose()). */
static void choose_variables(struct search *s)
{
    struct hypar_fit *fit = s->fit;
    for (int c = 0; c < fit->n_constants; c++) {
        const struct constant_row *row = &fit->row[c];
        double before = fit->constant[c].before;
        fit->constant[c].asked = any_row_depends(s, row->figure);
        if (fit->constant[c].asked && (before > 0 || row->figure < OPTION_COUNT))
            hp_fit_add(s, c, before > 0 ? before : row->start);
    }
}

static void remove_variable(struct search *s, int k)
{
    for (; k + 1 < s->n; k++) {
        s->constant[k] = s->constant[k + 1];
        s->x[k] = s->x[k + 1];
        s->low[k] = s->low[k + 1];
        s->high[k] = s->high[k + 1];
    }
    s->n--;
}

/* The sum over all rows by which the residual (a logarithm) moves from its `usual` value if
 * variable `k` changes by a tenth. A variable that is 0 changes by more. */
static double influence(struct search *s, int k, const double *usual)
{
    static const double change = 0.1;
    double with[MAX_VARIABLES], sum = 0;
    memcpy(with, s->x, sizeof with);
    if (s->fit->constant[s->constant[k]].before > 0)
        with[k] += s->x[k] > s->low[k] + change ? -change : change;
    else /* small values may change no row: a launch hides behind kernels */
        with[k] = (s->x[k] + s->high[k]) / 2;
    for (int i = 0; i < s->fit->measured.n_rows; i++)
        sum += depends(s, i, k) ? fabs(residual(s, i, with) - usual[i]) : 0;
    return sum;
}

/* Steps are few, take long to predict and depend on nearly all figures. So for tables of steps
 * alone, fit one figure for every two rows: the figures that change the rows most. */
static void choose_few(struct search *s)
{
    enum { ROWS_FOR_ONE = 2 };
    int n_rows = s->fit->measured.n_rows, most = n_rows / ROWS_FOR_ONE;
    double moved[MAX_VARIABLES];
    for (int i = 0; i < n_rows; i++)
        if (s->fit->measured.row[i].kind != MEASURED_STEP)
            return;
    double *usual = NEW(&s->fit->arena, double, n_rows);
    for (int i = 0; i < n_rows; i++)
        usual[i] = residual(s, i, s->x);
    for (int k = 0; k < s->n; k++)
        moved[k] = influence(s, k, usual);
    while (s->n > (most > 1 ? most : 1)) {
        int least = 0;
        for (int k = 1; k < s->n; k++)
            least = moved[k] <= moved[least] ? k : least;
        remove_variable(s, least);
        memmove(moved + least, moved + least + 1, (size_t)(s->n - least) * sizeof *moved);
    }
}

/* Has the search brought the constant of variable `k` to its lower limit, where it counts as 0?
 * Only a constant that may be 0 counts, and only if rows depended on its earlier value. Returns
 * the number of these rows; 0: the constant is not 0. */
static int rows_of_none(struct search *s, int k)
{
    int c = s->constant[k], n = 0;
    double with[MAX_VARIABLES], before = s->fit->constant[c].before;
    if (s->x[k] > s->low[k] + 1e-6 || s->fit->row[c].low > 0 || !(before > 0))
        return 0;
    memcpy(with, s->x, sizeof with);
    with[k] = log(before);
    for (int i = 0; i < s->fit->measured.n_rows; i++)
        n += depends(s, i, k) && fabs(residual(s, i, with) - residual(s, i, s->x)) > 0.01;
    return n >= LEAST_ROWS ? n : 0;
}

/* The variable that the rows determine least, if they do not determine it; -1: they determine
 * all. */
static int find_undecided(const struct search *s)
{
    int worst = -1;
    for (int k = 0; k < s->n; k++) {
        if (s->spread.rows[k] >= LEAST_ROWS && s->spread.error[k] <= most_error)
            continue;
        if (worst < 0 || s->spread.rows[k] < s->spread.rows[worst] ||
            (s->spread.rows[k] == s->spread.rows[worst] &&
             s->spread.error[k] > s->spread.error[worst]))
            worst = k;
    }
    return worst;
}

/* Leave variable `k` out: its constant keeps its value, or is 0. */
static void leave_variable(struct search *s, int k)
{
    struct hypar_fit_constant *constant = &s->fit->constant[s->constant[k]];
    int rows = rows_of_none(s, k);
    constant->rows = s->spread.rows[k];
    if (rows) {
        constant->fitted = true;
        constant->rows = rows;
        constant->after = s->fit->value[s->fit->row[s->constant[k]].figure] = 0;
    }
    remove_variable(s, k);
}

/* Search, and leave out one by one the variables that the rows do not determine. */
static void search_decided(struct search *s, const bool *skip, bool near)
{
    for (bool again = near;; again = true) {
        hp_fit_run(s, skip, again);
        int k = find_undecided(s);
        if (k < 0)
            return;
        leave_variable(s, k);
    }
}

/* Mark rows that are too far off to be errors of measurement. Returns whether the marks
 * changed. */
static bool mark_outliers(struct search *s)
{
    struct hypar_fit *fit = s->fit;
    double limit = fmax(log(2), 3 * s->spread.scale);
    bool changed = false;
    for (int i = 0; i < fit->measured.n_rows; i++) {
        bool outlier = fabs(residual(s, i, s->x)) > limit;
        changed |= outlier != fit->outlier[i];
        fit->outlier[i] = outlier;
    }
    return changed;
}

static void keep_found(struct search *s)
{
    struct hypar_fit *fit = s->fit;
    for (int k = 0; k < s->n; k++) {
        struct hypar_fit_constant *constant = &fit->constant[s->constant[k]];
        constant->fitted = true;
        constant->after = fit->value[fit->row[s->constant[k]].figure] = exp(s->x[k]);
        constant->error = s->spread.error[k];
        constant->rows = s->spread.rows[k];
    }
}

/* The number of folds of the cross-validation. Steps are few: if there are enough, each is
 * predicted from all others. */
static int count_folds(const struct hypar_fit *fit)
{
    int n = fit->measured.n_rows, steps = 0;
    for (int i = 0; i < n; i++)
        steps += fit->measured.row[i].kind == MEASURED_STEP;
    if (n >= LEAST_HELD_OUT)
        return FOLDS;
    return steps >= LEAST_STEPS ? n : 0;
}

/* Predict every fifth row from a fit to the others. */
static void cross_validate(struct search *s)
{
    struct hypar_fit *fit = s->fit;
    int n = fit->measured.n_rows;
    bool *skip = NEW(&fit->arena, bool, n + MAX_VARIABLES);
    double found[MAX_VARIABLES];
    int folds = count_folds(fit);
    fit->has_held_out = folds > 0;
    memcpy(found, s->x, sizeof found);
    for (int fold = 0; fold < folds; fold++) {
        for (int i = 0; i < n; i++)
            skip[i] = i % folds == fold || fit->outlier[i];
        memcpy(s->x, found, sizeof found);
        hp_fit_run(s, skip, true);
        for (int i = fold; i < n; i += folds)
            fit->held_out_s[i] = exp(residual(s, i, s->x)) * fit->measured.row[i].seconds;
    }
    memcpy(s->x, found, sizeof found);
}

static void search_all(struct hypar_fit *fit)
{
    enum { MAX_ROUNDS = 3 };
    struct search s = { .fit = fit };
    begin_predictor(fit, &s.predictor);
    choose_variables(&s);
    choose_few(&s);
    if (fit->has_framework)
        hp_fit_choose(&s);
    search_decided(&s, NULL, fit->has_framework);
    for (int i = 0; i < MAX_ROUNDS && mark_outliers(&s); i++)
        search_decided(&s, fit->outlier, i > 0);
    keep_found(&s);
    cross_validate(&s);
    hp_predictor_end(&s.predictor);
}

/* All steps ----------------------------------------------------------------------------- */

/* The value of a figure before the fit; NAN: there is none. */
static double value_before(struct hypar_fit *fit, int figure)
{
    const struct part *part = &fit->machine->parts[0];
    const char *key;
    if (figure >= OPTION_COUNT)
        return fit->has_framework
                   ? *hp_framework_time(&fit->framework, figure - OPTION_COUNT, &key)
                   : NAN;
    if (!isnan(part->value[figure]))
        return part->value[figure];
    return hp_option_default(part, (enum option)figure); /* belongs to other topologies */
}

static void list_constants(struct hypar_fit *fit)
{
    struct constant_row row;
    fit->constant = NEW(&fit->arena, struct hypar_fit_constant, FIGURE_COUNT);
    fit->row = NEW(&fit->arena, struct constant_row, FIGURE_COUNT);
    for (int i = 0; hp_constant(i, &row); i++) {
        double value = value_before(fit, row.figure);
        if (isnan(value))
            continue;
        fit->row[fit->n_constants] = row;
        fit->constant[fit->n_constants++] = (struct hypar_fit_constant){
            .name = row.name, .unit = row.unit, .before = value, .after = value
        };
    }
    for (int f = 0; f < FIGURE_COUNT; f++)
        fit->value[f] = NAN;
}

/* Steps that all ran as one framework also determine that framework. */
static void find_framework(struct hypar_fit *fit)
{
    const struct measured *m = &fit->measured;
    for (int i = 0; i < m->n_rows; i++)
        if (m->row[i].kind != MEASURED_STEP || m->row[i].framework != m->row[0].framework ||
            !hp_framework_same(&m->row[i].plan->simulation.framework,
                               &m->row[0].plan->simulation.framework))
            return;
    fit->has_framework = true;
    fit->framework = hp_keep_framework(&fit->arena, &m->row[0].plan->simulation.framework);
    fit->framework.kernels = m->row[0].framework;
}

/* The framework with what was found. */
static void complete_framework(struct hypar_fit *fit)
{
    const char *key;
    double *time;
    for (int i = 0; (time = hp_framework_time(&fit->framework, i, &key)); i++)
        if (!isnan(fit->value[OPTION_COUNT + i]))
            *time = fit->value[OPTION_COUNT + i];
    fit->framework.name = hp_framework_name(&fit->framework);
    fit->framework.source = fit->source;
    fit->framework.calibration = (struct hypar_calibration){ .rows = 0 };
}

/* A machine with the device; its size does not matter, because links are figures of the device
 * too. */
static enum hypar_status read_device(struct hypar_fit *fit, const char *name,
                                     struct hypar_error *err)
{
    const char *word = hp_arena_printf(&fit->arena, "cluster:1x%d,device=%s", 1 << 10, name);
    TRY(hp_machine_read_word(&fit->machine, word, err));
    fit->device = fit->machine->parts[0].type.device.name;
    return HYPAR_OK;
}

static enum hypar_status read_tables(struct hypar_fit *fit, const char *const *path,
                                     int n_paths, const struct hypar_fit_options *options,
                                     struct hypar_error *err)
{
    for (int i = 0; i < n_paths; i++) {
        char folder[HYPAR_PLACE_BYTES];
        const char *text;
        size_t length;
        struct csv csv;
        hypar_file_folder(path[i], folder);
        TRY(hp_file_read(&fit->measured.arena, path[i], CSV_MAX_BYTES, &text, &length, err));
        TRY(hp_measurements_read(&csv, &fit->measured.arena, text, length,
                                 strcmp(path[i], "-") == 0 ? "standard input" : path[i],
                                 options->machine, err));
        TRY(hp_measured_add(&fit->measured, &csv,
                            &(struct measured_reading){ .device = fit->device,
                                                        .word = options->device,
                                                        .folder = folder,
                                                        .options = options },
                            err));
    }
    if (fit->measured.n_rows == 0)
        return hp_fail(err, HYPAR_INVALID, "%s: no rows, expected measurements",
                       strcmp(path[0], "-") == 0 ? "standard input" : path[0]);
    return HYPAR_OK;
}

static const char *source_text(struct hypar_fit *fit, const char *const *path, int n_paths)
{
    struct hypar_fit_group all;
    const char *text = "measured: ";
    hypar_fit_group(fit, 0, &all);
    for (int i = 0; i < n_paths; i++) {
        const char *slash = strrchr(path[i], '/'), *name = slash ? slash + 1 : path[i];
        text = hp_arena_printf(&fit->arena, "%s%s%s", text, i ? ", " : "",
                               strcmp(name, "-") == 0 ? "standard input" : name);
    }
    return hp_arena_printf(&fit->arena, "%s, %d row%s, median error %.3g %%; begun from %s",
                           text, all.rows, all.rows == 1 ? "" : "s", 100 * all.after.median,
                           fit->device);
}

static enum hypar_status make(struct hypar_fit *fit, const char *const *path, int n_paths,
                              const struct hypar_fit_options *options, struct hypar_error *err)
{
    TRY(read_device(fit, options->device, err));
    TRY(read_tables(fit, path, n_paths, options, err));
    int n = fit->measured.n_rows;
    fit->before_s = NEW(&fit->arena, double, n);
    fit->after_s = NEW(&fit->arena, double, n);
    fit->held_out_s = NEW(&fit->arena, double, n);
    fit->outlier = NEW(&fit->arena, bool, n + MAX_VARIABLES); /* no doubt is one */
    find_framework(fit);
    list_constants(fit);
    TRY(predict_all(fit, fit->before_s, err));
    TRY(leave_out(fit, err));
    hp_fit_make_groups(fit);
    search_all(fit);
    TRY(predict_all(fit, fit->after_s, err));
    fit->moves = NEW(&fit->arena, const char *, fit->measured.n_rows);
    fit->source = source_text(fit, path, n_paths);
    complete_framework(fit);
    hp_fit_find_doubts(fit);
    return HYPAR_OK;
}

enum hypar_status hypar_fit(struct hypar_fit **out, const char *const *path, int n_paths,
                            const struct hypar_fit_options *options, struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct hypar_fit *fit = NEW(&arena, struct hypar_fit, 1);
    fit->arena = arena;
    *out = NULL;
    enum hypar_status status = make(fit, path, n_paths, options, err);
    if (status == HYPAR_OK)
        *out = fit;
    else
        hypar_fit_free(fit);
    return status;
}

void hypar_fit_free(struct hypar_fit *fit)
{
    if (!fit)
        return;
    hp_measured_free(&fit->measured);
    hypar_machine_free(fit->machine);
    hp_arena_free(&fit->arena);
}

struct hypar_fit_info hypar_fit_info(const struct hypar_fit *fit)
{
    return (struct hypar_fit_info){ .device = fit->device,
                                    .source = fit->source,
                                    .left_out = fit->left_out,
                                    .framework = fit->has_framework ? &fit->framework : NULL,
                                    .n_choices = fit->n_choices,
                                    .choice = fit->choice };
}

void hypar_fit_write(const struct hypar_fit *fit, const char *name, FILE *to)
{
    struct part part = fit->machine->parts[0];
    for (int o = 0; o < OPTION_COUNT; o++)
        if (!isnan(fit->value[o]))
            part.value[o] = fit->value[o];
    hp_part_write_device_file(&part, name, fit->source, to);
}

bool hypar_fit_constant(const struct hypar_fit *fit, int i, struct hypar_fit_constant *out)
{
    if (i < 0 || i >= fit->n_constants)
        return false;
    *out = fit->constant[i];
    return true;
}

bool hypar_fit_row(const struct hypar_fit *fit, int i, struct hypar_fit_row *out)
{
    if (i < 0 || i >= fit->measured.n_rows)
        return false;
    const struct measured_row *row = &fit->measured.row[i];
    *out = (struct hypar_fit_row){ .file = row->file,
                                   .line = row->line,
                                   .text = row->text,
                                   .kind = row->group,
                                   .measured_s = row->seconds,
                                   .before_s = fit->before_s[i],
                                   .after_s = fit->after_s[i],
                                   .held_out_s = fit->has_held_out ? fit->held_out_s[i] : 0,
                                   .outlier = fit->outlier[i],
                                   .moves = fit->moves[i] };
    return true;
}
