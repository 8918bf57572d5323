/* Doubts about a fitted device: rows that cannot distinguish its figures, and figures that no
 * such device has. */
#include "fit/fit.h"

#include <math.h>
#include <string.h>

static void doubt(struct hypar_fit *fit, const char *text)
{
    fit->doubt =
        GROW(&fit->arena, const char *, fit->doubt, fit->n_doubts, &fit->doubt_capacity);
    fit->doubt[fit->n_doubts++] = text;
}

static bool is_fitted(const struct hypar_fit *fit, int figure)
{
    for (int c = 0; c < fit->n_constants; c++)
        if (fit->row[c].figure == figure)
            return fit->constant[c].fitted;
    return false;
}

/* Slow links inside nodes and slow links between nodes both explain a slow collective over
 * several nodes. */
static void doubt_nodes(struct hypar_fit *fit)
{
    int inside = 0, across = 0;
    for (int i = 0; i < fit->measured.n_rows; i++) {
        const struct measured_row *row = &fit->measured.row[i];
        if (row->kind != MEASURED_COLLECTIVE)
            continue;
        const struct hypar_machine *machine = fit->measured.place[row->place].machine;
        *(hp_machine_node(machine, row->devices - 1) > 0 ? &across : &inside) += 1;
    }
    if (across && !inside &&
        (is_fitted(fit, OPTION_INTRA_EFFICIENCY) || is_fitted(fit, OPTION_LATENCY)))
        doubt(fit, "all collectives are of several nodes, which do not tell links inside a "
                   "node from those between them: give a table of one node, too");
}

/* The effect of a change of a fitted figure by a tenth on the logarithms of the rows' times. */
struct influences {
    int n; /* fitted figures */
    int constant[MAX_VARIABLES];
    double *by_row[MAX_VARIABLES];
};

static void find_influences(struct hypar_fit *fit, struct arena *arena, struct influences *out)
{
    static const double change = 1.1;
    struct predictor predictor;
    int n_rows = fit->measured.n_rows;
    *out = (struct influences){ 0 };
    hp_predictor_begin(&predictor, &fit->measured, &fit->machine->parts[0]);
    predictor.framework = fit->has_framework ? &fit->framework : NULL;
    for (int c = 0; c < fit->n_constants && out->n < MAX_VARIABLES; c++) {
        double value[FIGURE_COUNT], seconds;
        int figure = fit->row[c].figure;
        if (!fit->constant[c].fitted || !(fit->value[figure] > 0))
            continue;
        memcpy(value, fit->value, sizeof value);
        /* down, where up may be beyond the most that a share can be */
        value[figure] /= change;
        hp_predictor_set(&predictor, value);
        double *by_row = out->by_row[out->n] = NEW(arena, double, n_rows);
        for (int i = 0; i < n_rows; i++)
            if (!fit->outlier[i] && hp_row_depends(&predictor, i, figure) &&
                hp_predict_row(&predictor, i, &seconds, NULL) == HYPAR_OK && seconds > 0)
                by_row[i] = log(seconds / fit->after_s[i]);
        out->constant[out->n++] = c;
    }
    hp_predictor_end(&predictor);
}

/* For each row the figure that changes its prediction most. */
static void find_moved(struct hypar_fit *fit, const struct influences *influences)
{
    static const double least = 1e-3;
    for (int i = 0; i < fit->measured.n_rows; i++) {
        double most = least;
        for (int k = 0; k < influences->n; k++)
            if (fabs(influences->by_row[k][i]) > most) {
                most = fabs(influences->by_row[k][i]);
                fit->moves[i] = fit->constant[influences->constant[k]].name;
            }
    }
}

/* Two figures that change all rows in one proportion: each may stand for the other. */
static void doubt_pairs(struct hypar_fit *fit, const struct influences *influences)
{
    static const double alike = 0.99;
    for (int k = 0; k < influences->n; k++)
        for (int l = 0; l < k; l++) {
            double kk = 0, ll = 0, kl = 0;
            for (int i = 0; i < fit->measured.n_rows; i++) {
                double x = influences->by_row[k][i], y = influences->by_row[l][i];
                kk += x * x;
                ll += y * y;
                kl += x * y;
            }
            if (kl * kl > alike * alike * kk * ll && kk > 0 && ll > 0)
                doubt(fit,
                      hp_arena_printf(&fit->arena,
                                      "these rows hardly tell %s from %s: they feel both in "
                                      "one proportion, so that one may stand for the other",
                                      fit->constant[influences->constant[l]].name,
                                      fit->constant[influences->constant[k]].name));
        }
}

#define UNITS "are bytes and units what they are taken for?"

/* Shares at a bound, where rows are as fast as possible. */
static void doubt_shares(struct hypar_fit *fit)
{
    for (int c = 0; c < fit->n_constants; c++) {
        const struct hypar_fit_constant *constant = &fit->constant[c];
        double most = 0.999 * fit->row[c].high;
        bool share = constant->unit == HYPAR_UNIT_COUNT && fit->row[c].high <= 1;
        if (share && constant->fitted && constant->before < most && constant->after >= most)
            doubt(fit, hp_arena_printf(&fit->arena,
                                       "%s is 1, the most that it can be: rows are faster than "
                                       "the peaks and bandwidths of '%s' allow; " UNITS,
                                       constant->name, fit->device));
    }
}

/* Figures far from those of the initial device. */
static void doubt_far(struct hypar_fit *fit)
{
    static const double usual_times = 100;
    const char *far = NULL;
    char text[32];
    for (int c = 0; c < fit->n_constants; c++) {
        const struct hypar_fit_constant *constant = &fit->constant[c];
        double times = constant->after / constant->before;
        if (!constant->fitted || !(constant->after > 0) || !(constant->before > 0) ||
            (times < usual_times && times > 1 / usual_times))
            continue;
        far = hp_arena_printf(&fit->arena, "%s%s%s is %s, %.3g times what it was",
                              far ? far : "", far ? ", " : "", constant->name,
                              hypar_format_quantity(text, constant->after, constant->unit),
                              times);
    }
    if (far)
        doubt(fit, hp_arena_printf(&fit->arena, "%s: " UNITS, far));
}

static void doubt_errors(struct hypar_fit *fit)
{
    struct hypar_fit_group all;
    hypar_fit_group(fit, 0, &all);
    if (all.after.median > 0.5)
        doubt(fit, hp_arena_printf(&fit->arena,
                                   "half of the rows are off by %.3g %% or more, whatever "
                                   "figures '%s' has: " UNITS,
                                   100 * all.after.median, fit->device));
}

void hp_fit_find_doubts(struct hypar_fit *fit)
{
    struct arena scratch = { 0 };
    struct influences influences;
    find_influences(fit, &scratch, &influences);
    find_moved(fit, &influences);
    doubt_pairs(fit, &influences);
    if (fit->alike)
        doubt(fit,
              hp_arena_printf(&fit->arena, "these rows do not tell how they were run from %s",
                              fit->alike));
    hp_arena_free(&scratch);
    doubt_nodes(fit);
    doubt_shares(fit);
    doubt_far(fit);
    doubt_errors(fit);
}

const char *hypar_fit_doubt(const struct hypar_fit *fit, int i)
{
    return i >= 0 && i < fit->n_doubts ? fit->doubt[i] : NULL;
}
