/* The errors of predictions, by kind of row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "fit/fit.h"

static void add_to_group(struct hypar_fit *fit, const char *kind, int row)
{
    int g = 0;
    while (g < fit->n_groups && strcmp(fit->group[g].kind, kind) != 0)
        g++;
    if (g == fit->n_groups)
        fit->group[fit->n_groups++] =
            (struct fit_group){ .kind = kind,
                                .row = NEW(&fit->arena, int, fit->measured.n_rows) };
    fit->group[g].row[fit->group[g].n++] = row;
}

void hp_fit_make_groups(struct hypar_fit *fit)
{
    const struct measured *m = &fit->measured;
    bool several = false;
    fit->group = NEW(&fit->arena, struct fit_group,
                     1 + OP_KIND_COUNT + COMM_KIND_COUNT + HYPAR_PRECISION_COUNT + 2);
    for (int i = 0; i < m->n_rows; i++)
        add_to_group(fit, "all", i);
    for (int i = 0; i < m->n_rows; i++) {
        add_to_group(fit, m->row[i].group, i);
        several |= m->row[i].precision != m->row[0].precision;
    }
    for (int i = 0; several && i < m->n_rows; i++)
        if (m->row[i].kind != MEASURED_COLLECTIVE)
            add_to_group(fit, hypar_precision_text(m->row[i].precision), i);
}

/* The errors of a group's rows with these predictions. */
static struct hypar_fit_errors errors_of(const struct hypar_fit *fit,
                                         const struct fit_group *group, const double *predicted)
{
    struct hypar_fit_errors out = { 0 };
    struct arena arena = { 0 };
    double *error = NEW(&arena, double, group->n);
    for (int i = 0; i < group->n; i++) {
        double ratio = predicted[group->row[i]] / fit->measured.row[group->row[i]].seconds;
        double times = ratio > 1 ? ratio : 1 / ratio;
        error[i] = fabs(ratio - 1);
        out.mean += error[i] / group->n;
        out.worst = times > out.worst ? times : out.worst;
        out.beyond += times > 2;
    }
    out.median = hp_median(error, group->n); /* sorted from here on */
    out.most = hp_quantile(error, group->n, 0.95);
    hp_arena_free(&arena);
    return out;
}

bool hypar_fit_group(const struct hypar_fit *fit, int i, struct hypar_fit_group *out)
{
    if (i < 0 || i >= fit->n_groups)
        return false;
    const struct fit_group *group = &fit->group[i];
    *out = (struct hypar_fit_group){ .kind = group->kind,
                                     .rows = group->n,
                                     .before = errors_of(fit, group, fit->before_s),
                                     .after = errors_of(fit, group, fit->after_s),
                                     .has_held_out = fit->has_held_out };
    if (fit->has_held_out)
        out->held_out = errors_of(fit, group, fit->held_out_s);
    return true;
}
