/* Finds the framework of measured steps: members without a number, such as the exchanges that
 * devices wait for, and times that the host may add. Each alternative is tried by one
 * simulation of each step; the derivatives of the residuals predict the change of the fitted
 * figures. */
#include "fit/search.h"

#include <math.h>
#include <string.h>

#include "plan/framework.h"

/* Members that one table may change. Ten steps do not tell more; doubled, the search may take
 * twice as long. */
enum { MAX_CHOICES = 8 };

/* An alternative counts if it at least halves the squares of the residuals. Ten steps tell two
 * or three dozen alternatives from each other, and noise alone gives about one of these a third
 * less. Doubled, nearly every alternative would count. */
static const double much_less = 0.5;

/* A row that an alternative changes by less says nothing about it: clocks are no better.
 * Doubled, alternatives that change all rows a little are not seen. */
static const double least_change = 0.01;

/* Residuals of the rows, and doubts of the variables, at the present figures and framework; the
 * space in which the figures move them: orthonormal axes, made of the derivatives. */
struct present {
    int n_rows, n, n_axes; /* n: residuals and doubts */
    double *residual, *axis[MAX_VARIABLES];
};

static double *all_residuals(struct search *s, struct arena *arena)
{
    int n = s->fit->measured.n_rows + s->n;
    double *r = NEW(arena, double, n);
    for (int i = 0; i < n; i++)
        r[i] = hp_fit_residual(s, i, s->x);
    return r;
}

static double along(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Subtract from r its projection on the axes. */
static void project(const struct present *p, double *r)
{
    for (int k = 0; k < p->n_axes; k++) {
        double part = along(r, p->axis[k], p->n);
        for (int i = 0; i < p->n; i++)
            r[i] -= part * p->axis[k][i];
    }
}

/* Add an axis in this direction, unless it is a sum of those before. */
static void add_axis(struct present *p, double *axis)
{
    static const double least_length = 1e-3;
    project(p, axis);
    double length = sqrt(along(axis, axis, p->n));
    if (length < least_length)
        return;
    for (int i = 0; i < p->n; i++)
        axis[i] /= length;
    p->axis[p->n_axes++] = axis;
}

static const double change = 0.05; /* of a logarithm, for derivatives */

static double *derivatives(struct search *s, struct arena *arena, const struct present *p,
                           int k)
{
    double with[MAX_VARIABLES], *out = NEW(arena, double, p->n);
    double by = s->x[k] + change < s->high[k] ? change : -change;
    memcpy(with, s->x, sizeof with);
    with[k] += by;
    for (int i = 0; i < p->n; i++)
        if (hp_fit_depends(s, i, k))
            out[i] = (hp_fit_residual(s, i, with) - p->residual[i]) / by;
    return out;
}

static void find_present(struct search *s, struct arena *arena, struct present *out)
{
    int n_rows = s->fit->measured.n_rows;
    *out = (struct present){ .n_rows = n_rows, .n = n_rows + s->n };
    out->residual = all_residuals(s, arena);
    for (int k = 0; k < s->n; k++)
        add_axis(out, derivatives(s, arena, out, k));
}

/* The squares that remain of the residuals r once the figures have followed, and for each row
 * the square of what clocks cannot tell: no alternative halves that part. */
static double remaining_squares(const struct present *p, double *r)
{
    project(p, r);
    return p->n_rows * least_change * least_change + along(r, r, p->n);
}

/* The same of the present framework. */
static double present_squares(const struct present *p, struct arena *arena)
{
    double *r = NEW(arena, double, p->n);
    memcpy(r, p->residual, (size_t)p->n * sizeof *r);
    return remaining_squares(p, r);
}

/* An alternative to the present framework. */
struct alternative {
    const char *name; /* NULL: none */
    struct hypar_framework framework;
    int rows;       /* that it changes */
    double squares; /* that remain once the figures follow */
};

/* The constant that is this time of the framework; -1: it is no time. */
static int time_of(const struct hypar_fit *fit, const char *name)
{
    for (int c = 0; c < fit->n_constants; c++)
        if (fit->row[c].figure >= OPTION_COUNT && strcmp(fit->row[c].name, name) == 0)
            return c;
    return -1;
}

static bool is_variable(const struct search *s, int constant)
{
    for (int k = 0; k < s->n; k++)
        if (s->constant[k] == constant)
            return true;
    return false;
}

/* A time of the framework that is to be a variable follows, too. */
static void add_time_axis(struct search *s, struct arena *arena, struct present *p, int c,
                          const double *residual)
{
    double *time =
        hp_framework_time(&s->fit->framework, s->fit->row[c].figure - OPTION_COUNT, NULL);
    *time *= exp(change);
    double *axis = all_residuals(s, arena);
    *time *= exp(-change);
    for (int i = 0; i < p->n; i++)
        axis[i] = (axis[i] - residual[i]) / change;
    add_axis(p, axis);
}

static struct alternative try_alternative(struct search *s, const struct present *p, int i)
{
    struct arena arena = { 0 };
    struct hypar_framework *framework = &s->fit->framework, before = *framework;
    struct alternative out = { .name = hp_framework_alternative(framework, i) };
    int c = out.name ? time_of(s->fit, out.name) : -1;
    if (out.name && !is_variable(s, c)) {
        struct present with = *p;
        double *r = all_residuals(s, &arena);
        for (int row = 0; row < p->n_rows; row++)
            out.rows += fabs(r[row] - p->residual[row]) > least_change;
        if (c >= 0)
            add_time_axis(s, &arena, &with, c, r);
        out.squares = remaining_squares(&with, r);
        out.framework = *framework;
    }
    *framework = before;
    hp_arena_free(&arena);
    return out;
}

/* The present framework and all alternatives to it. */
struct round {
    struct arena arena;
    struct present present;
    double squares; /* of the present framework */
    struct alternative *alternative;
    int n, capacity;
};

static void begin_round(struct search *s, struct round *r)
{
    struct alternative next;
    *r = (struct round){ .n = 0 };
    find_present(s, &r->arena, &r->present);
    r->squares = present_squares(&r->present, &r->arena);
    while ((next = try_alternative(s, &r->present, r->n)).name) {
        r->alternative =
            GROW(&r->arena, struct alternative, r->alternative, r->n, &r->capacity);
        r->alternative[r->n++] = next;
    }
}

static const struct alternative *best_alternative(const struct round *r)
{
    const struct alternative *best = NULL;
    for (int i = 0; i < r->n; i++)
        if (r->alternative[i].rows >= LEAST_ROWS &&
            (!best || r->alternative[i].squares < best->squares))
            best = &r->alternative[i];
    return best;
}

/* Change the framework; a time becomes a variable. */
static void take(struct search *s, const struct alternative *chosen)
{
    struct hypar_fit *fit = s->fit;
    int c = time_of(fit, chosen->name);
    struct hypar_framework with = chosen->framework;
    if (c < 0)
        fit->framework = with;
    else
        hp_fit_add(s, c, *hp_framework_time(&with, fit->row[c].figure - OPTION_COUNT, NULL));
    hp_fit_run(s, NULL, true);
}

static void note_choice(struct hypar_fit *fit, const struct hypar_framework *before,
                        const struct alternative *chosen)
{
    fit->choice = GROW(&fit->arena, struct hypar_fit_choice, fit->choice, fit->n_choices,
                       &fit->choice_capacity);
    fit->choice[fit->n_choices++] = (struct hypar_fit_choice){
        .name = chosen->name,
        .before = hp_framework_value(&fit->arena, before, chosen->name),
        .after = hp_framework_value(&fit->arena, &chosen->framework, chosen->name),
        .rows = chosen->rows,
    };
}

/* Take the best alternative, if it is much better. */
static bool choose_one(struct search *s, const struct round *r)
{
    const struct alternative *best = best_alternative(r);
    if (!best || best->squares >= much_less * r->squares)
        return false;
    struct hypar_framework before = s->fit->framework;
    take(s, best);
    if (time_of(s->fit, best->name) < 0)
        note_choice(s->fit, &before, best);
    return true;
}

/* Note the alternatives that would explain the rows about as well. */
static void note_alike(struct search *s, const struct round *r)
{
    struct hypar_fit *fit = s->fit;
    for (int i = 0; i < r->n; i++) {
        const struct alternative *a = &r->alternative[i];
        if (a->rows == 0 || time_of(fit, a->name) >= 0 || a->squares * much_less >= r->squares)
            continue;
        fit->alike = hp_arena_printf(&fit->arena, "%s%s%s=%s", fit->alike ? fit->alike : "",
                                     fit->alike ? ", " : "", a->name,
                                     hp_framework_value(&fit->arena, &a->framework, a->name));
    }
}

/* Choose first with the initial figures, because figures fitted under a wrong framework may be
 * far off. Then choose with fitted figures, because derivatives are meaningful only near the
 * optimum. */
void hp_fit_choose(struct search *s)
{
    struct round r;
    begin_round(s, &r);
    bool more = choose_one(s, &r);
    if (!more)
        hp_fit_run(s, NULL, true);
    for (int i = more, again = true; again; i++) {
        hp_arena_free(&r.arena);
        begin_round(s, &r);
        again = i < MAX_CHOICES && choose_one(s, &r);
    }
    note_alike(s, &r);
    hp_arena_free(&r.arena);
}
