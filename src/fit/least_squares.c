/* Levenberg-Marquardt steps under Huber's loss, with coordinate search where steps fail. */
#include "fit/least_squares.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

static const double huber = 1.345;      /* 95 % efficient for normal errors */
static const double least_scale = 1e-3; /* smaller residuals count as 0 */
static const double derivative_h = 1e-3;

/* The cost of a fit is that of its residuals: none is computed twice at one point. */
struct state {
    const struct least_squares *problem;
    double *r, *next;   /* by row: at the present point, at the one that is tried */
    double *jacobian;   /* by row and variable, at jacobian_x */
    double *magnitudes; /* scratch of n_rows */
    double scale, jacobian_x[MAX_VARIABLES];
    bool has_jacobian;
};

static bool counts(const struct least_squares *p, int row)
{
    return !p->skip || !p->skip[row];
}

static bool depends(const struct least_squares *p, int row, int k)
{
    return !p->depends || p->depends(p->who, row, k);
}

/* Order statistics ---------------------------------------------------------------------- */

double hp_quantile(const double *v, int n, double share)
{
    int i = (int)ceil(share * n) - 1;
    return n == 0 ? 0 : v[i < 0 ? 0 : i >= n ? n - 1 : i];
}

/* Residuals ----------------------------------------------------------------------------- */

static void find_residuals(const struct state *s, const double *x, double *r)
{
    for (int i = 0; i < s->problem->n_rows; i++)
        r[i] = counts(s->problem, i) ? s->problem->residual(s->problem->who, i, x) : 0;
}

static double usual_residual(const struct state *s)
{
    int n = 0;
    for (int i = 0; i < s->problem->n_rows; i++)
        if (counts(s->problem, i))
            s->magnitudes[n++] = fabs(s->r[i]);
    double scale = 1.4826 * hp_median(s->magnitudes, n);
    return scale > least_scale ? scale : least_scale;
}

static double row_loss(double r, double scale)
{
    double limit = huber * scale, size = fabs(r);
    return size <= limit ? size * size / 2 : limit * (size - limit / 2);
}

static double row_weight(double r, double scale)
{
    double limit = huber * scale, size = fabs(r);
    return size <= limit ? 1 : limit / size;
}

static double loss_of(const struct state *s, const double *r)
{
    double sum = 0;
    for (int i = 0; i < s->problem->n_rows; i++)
        if (counts(s->problem, i))
            sum += row_loss(r[i], s->scale);
    return sum;
}

/* The loss at x[], which differs from the present point in variable `k` alone (-1: in any). */
static double try_point(const struct state *s, const double *x, int k)
{
    const struct least_squares *p = s->problem;
    for (int i = 0; i < p->n_rows; i++)
        if (counts(p, i))
            s->next[i] = k < 0 || depends(p, i, k) ? p->residual(p->who, i, x) : s->r[i];
    return loss_of(s, s->next);
}

/* The point that was tried is the present one. */
static void accept_point(struct state *s)
{
    double *before = s->r;
    s->r = s->next;
    s->next = before;
}

/* Add `factor` times the residuals at x[], which differs in variable `k`, to its column. */
static void add_to_column(const struct state *s, const double *x, int k, double factor)
{
    const struct least_squares *p = s->problem;
    for (int i = 0; i < p->n_rows; i++)
        if (counts(p, i) && depends(p, i, k))
            s->jacobian[i * p->n_variables + k] += factor * p->residual(p->who, i, x);
}

static void find_jacobian(struct state *s, const double *x)
{
    const struct least_squares *p = s->problem;
    int n = p->n_variables;
    if (s->has_jacobian && memcmp(s->jacobian_x, x, (size_t)n * sizeof *x) == 0)
        return;
    s->has_jacobian = true;
    memcpy(s->jacobian_x, x, (size_t)n * sizeof *x);
    memset(s->jacobian, 0, (size_t)p->n_rows * (size_t)n * sizeof *s->jacobian);
    for (int k = 0; k < n; k++) {
        double at[MAX_VARIABLES];
        double up = fmin(x[k] + derivative_h, p->high[k]);
        double down = fmax(x[k] - derivative_h, p->low[k]);
        memcpy(at, x, (size_t)n * sizeof *x);
        if (!(up > down))
            continue;
        at[k] = up;
        add_to_column(s, at, k, 1 / (up - down));
        at[k] = down;
        add_to_column(s, at, k, -1 / (up - down));
    }
}

/* Steps --------------------------------------------------------------------------------- */

/* The normal equations: a = J' W J, g = J' W r. */
struct normal {
    int n;
    double a[MAX_VARIABLES][MAX_VARIABLES], g[MAX_VARIABLES];
};

static void make_normal(const struct state *s, struct normal *m)
{
    int n = s->problem->n_variables;
    *m = (struct normal){ .n = n };
    for (int i = 0; i < s->problem->n_rows; i++) {
        const double *row = &s->jacobian[i * n];
        double w = counts(s->problem, i) ? row_weight(s->r[i], s->scale) : 0;
        for (int j = 0; j < n && w > 0; j++) {
            m->g[j] += w * row[j] * s->r[i];
            for (int k = 0; k < n; k++)
                m->a[j][k] += w * row[j] * row[k];
        }
    }
}

/* Leave out variables on which nothing depends, and those at a bound that they would cross. */
static void fix_variables(const struct least_squares *p, const double *x, struct normal *m)
{
    for (int k = 0; k < m->n; k++) {
        bool stuck = (x[k] <= p->low[k] && m->g[k] > 0) || (x[k] >= p->high[k] && m->g[k] < 0);
        if (m->a[k][k] > 0 && !stuck)
            continue;
        for (int j = 0; j < m->n; j++)
            m->a[j][k] = m->a[k][j] = 0;
        m->a[k][k] = 1;
        m->g[k] = 0;
    }
}

/* The Cholesky factor of a + damping * its diagonal, in the lower triangle; false: there is
 * none. */
static bool factor(const struct normal *m, double damping, double l[][MAX_VARIABLES])
{
    for (int j = 0; j < m->n; j++)
        for (int i = j; i < m->n; i++) {
            double sum = m->a[i][j] * (i == j ? 1 + damping : 1);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j && !(sum > 1e-14 * m->a[i][i]))
                return false;
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    return true;
}

static void solve(int n, double l[][MAX_VARIABLES], double *v)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            v[i] -= l[i][k] * v[k];
        v[i] /= l[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            v[i] -= l[k][i] * v[k];
        v[i] /= l[i][i];
    }
}

/* The share of the loss that a step has to gain. */
static const double least_gain = 1e-9;

/* One step that reduces the loss; false: no damping finds one. Shorter steps are not tried once
 * the slope promises no gain. */
static bool step(struct state *s, double *x, double *damping, double *loss)
{
    const struct least_squares *p = s->problem;
    struct normal m;
    double l[MAX_VARIABLES][MAX_VARIABLES], next[MAX_VARIABLES];
    find_jacobian(s, x);
    make_normal(s, &m);
    fix_variables(p, x, &m);
    for (; *damping < 1e9; *damping *= 8) {
        double move[MAX_VARIABLES], gain = 0;
        memcpy(move, m.g, sizeof move);
        if (!factor(&m, *damping, l))
            continue;
        solve(m.n, l, move);
        for (int k = 0; k < m.n;
             k++) { /* at most a factor of e at once: derivatives are local */
            next[k] = fmin(fmax(x[k] - fmin(fmax(move[k], -1), 1), p->low[k]), p->high[k]);
            gain += m.g[k] * (x[k] - next[k]);
        }
        if (gain < least_gain * *loss)
            return false;
        double less = try_point(s, next, -1);
        if (less < *loss) {
            accept_point(s);
            memcpy(x, next, (size_t)m.n * sizeof *x);
            *loss = less;
            *damping = fmax(*damping / 8, 1e-9);
            return true;
        }
    }
    return false;
}

static void descend(struct state *s, double *x)
{
    enum { MAX_STEPS = 60 };
    double damping = 1e-3;
    for (int i = 0; i < MAX_STEPS; i++) {
        s->scale = usual_residual(s);
        double loss = loss_of(s, s->r), before = loss;
        if (!step(s, x, &damping, &loss) || before - loss < least_gain * before)
            break;
    }
    s->scale = usual_residual(s);
}

/* Change one variable at a time, by shorter and shorter distances; true if the loss was
 * reduced. */
static bool search_coordinates(struct state *s, double *x)
{
    static const double ways[] = { 2, 1, 0.6, 0.3, 0.1, 0.03, 0.01 };
    const struct least_squares *p = s->problem;
    double loss = loss_of(s, s->r), begin = loss;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
        for (int k = 0; k < p->n_variables; k++)
            for (int sign = -1; sign <= 1; sign += 2) {
                double was = x[k];
                x[k] = fmin(fmax(was + sign * ways[w], p->low[k]), p->high[k]);
                double less = x[k] == was ? loss : try_point(s, x, k);
                if (less < loss * (1 - 1e-9)) {
                    loss = less;
                    accept_point(s);
                } else {
                    x[k] = was;
                }
            }
    return loss < begin * (1 - 1e-6);
}

/* Spread -------------------------------------------------------------------------------- */

static void find_spread(struct state *s, const double *x, struct least_squares_spread *spread)
{
    const struct least_squares *p = s->problem;
    struct normal m;
    double l[MAX_VARIABLES][MAX_VARIABLES], sum = 0;
    int n = p->n_variables, rows = 0;
    find_jacobian(s, x);
    make_normal(s, &m);
    *spread = (struct least_squares_spread){ .scale = s->scale };
    for (int i = 0; i < p->n_rows; i++) {
        if (!counts(p, i))
            continue;
        rows++;
        sum += row_weight(s->r[i], s->scale) * s->r[i] * s->r[i];
        for (int k = 0; k < n; k++)
            spread->rows[k] += fabs(s->jacobian[i * n + k]) >= 0.1;
    }
    double variance = sum / (rows > n ? rows - n : 1);
    bool felt[MAX_VARIABLES];
    for (int k = 0; k < n; k++)
        felt[k] = m.a[k][k] > 0;
    memset(m.g, 0, sizeof m.g);
    fix_variables(p, x, &m);
    bool regular = factor(&m, 1e-12, l);
    for (int k = 0; k < n; k++) {
        double column[MAX_VARIABLES] = { 0 };
        column[k] = 1;
        if (regular)
            solve(n, l, column);
        spread->error[k] = regular && felt[k] ? sqrt(variance * column[k]) : INFINITY;
    }
}

void hp_least_squares(const struct least_squares *problem, double *x,
                      struct least_squares_spread *spread)
{
    enum { MAX_ROUNDS = 8 };
    struct arena arena = { 0 };
    struct state s = {
        .problem = problem,
        .r = NEW(&arena, double, problem->n_rows + 1),
        .next = NEW(&arena, double, problem->n_rows + 1),
        .magnitudes = NEW(&arena, double, problem->n_rows + 1),
        .jacobian = NEW(&arena, double, problem->n_rows * problem->n_variables + 1),
    };
    find_residuals(&s, x, s.r);
    descend(&s, x);
    for (int i = 0; !problem->near && i < MAX_ROUNDS && search_coordinates(&s, x); i++)
        descend(&s, x);
    s.scale = usual_residual(&s);
    find_spread(&s, x, spread);
    hp_arena_free(&arena);
}
