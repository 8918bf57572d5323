/* Calibrations: how far predictions were off by device and framework, what that says of a
 * network that was not among the rows, and whether it is true of those that are left out. */
#include <math.h>
#include <string.h>

#include "bench/truth/truth.h"

/* Nine of ten values of Student's distribution are below, by degrees of freedom from 1 on. */
static double nine_of_ten(int freedom)
{
    static const double t[] = { 3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397 };
    enum { N = sizeof t / sizeof t[0] };
    return freedom < 1 ? t[0] : freedom <= N ? t[freedom - 1] : EIGHT_OF_TEN * 1.06;
}

static double residual(const struct truth_row *r)
{
    return log(r->step_s / r->predicted.step_s);
}

static bool same_network(const struct truth_row *a, const struct truth_row *b)
{
    return strcmp(a->word, b->word) == 0 && a->layers == b->layers && a->hidden == b->hidden;
}

static bool same_word(const struct truth_row *a, const struct truth_row *b)
{
    return same_network(a, b) && a->seq == b->seq && a->table == b->table;
}

typedef bool is_same(const struct truth_row *a, const struct truth_row *b);

/* Of the rows but those of network `without` (NULL: none): groups of same ones. */
struct spread {
    int rows, groups;
    double mean;            /* of the groups' means */
    double between, within; /* variances */
};

/* A row that has much of what is known less well says less of the rest. */
static double weight(const struct truth_row *r)
{
    static const double usual = 0.08;
    return usual * usual / (usual * usual + hp_less_known(&r->predicted.parts));
}

struct sums {
    double rows, weight, mean, square; /* of weighted residuals around their mean */
};

/* Of all rows that are the same as row `i`. */
static struct sums sums_of(const struct truth_row *const *row, int n, int i, is_same *same)
{
    struct sums s = { 0 };
    for (int k = 0; k < n; k++)
        if (same(row[i], row[k])) {
            s.rows++;
            s.weight += weight(row[k]);
            s.mean += weight(row[k]) * residual(row[k]);
        }
    s.mean /= s.weight;
    for (int k = 0; k < n; k++)
        if (same(row[i], row[k]))
            s.square += weight(row[k]) * pow(residual(row[k]) - s.mean, 2);
    return s;
}

static bool is_first(const struct truth_row *const *row, int i, is_same *same)
{
    for (int k = 0; k < i; k++)
        if (same(row[i], row[k]))
            return false;
    return true;
}

static struct spread spread_of(const struct truth_row *const *row, int n, is_same *same,
                               const struct truth_row *without)
{
    struct spread s = { 0 };
    double means = 0, squares = 0, inside = 0;
    for (int i = 0; i < n; i++) {
        if ((without && same_network(row[i], without)) || !is_first(row, i, same))
            continue;
        struct sums of = sums_of(row, n, i, same);
        s.groups++;
        s.rows += (int)of.rows;
        means += of.mean;
        squares += of.mean * of.mean;
        inside += of.square;
    }
    if (!s.groups)
        return s;
    s.mean = means / s.groups;
    s.between =
        s.groups > 1 ? fmax(0, (squares - s.groups * s.mean * s.mean) / (s.groups - 1)) : 0;
    s.within = s.rows > s.groups ? inside / (s.rows - s.groups) : 0;
    return s;
}

struct hypar_calibration truth_calibration(const struct truth_row *const *row, int n,
                                           const struct truth_row *without,
                                           double between_usual)
{
    struct spread s = spread_of(row, n, same_network, without);
    struct spread w = spread_of(row, n, same_word, without);
    double wider = nine_of_ten(s.groups - 1) / EIGHT_OF_TEN;
    double between = s.groups > 1 ? s.between * wider * wider : between_usual;
    return (struct hypar_calibration){
        .rows = s.rows,
        .bias = s.mean,
        .spread = s.groups ? sqrt(between * (1 + 1. / s.groups) + s.within) : 0,
        .pair = sqrt(2 * w.within)
    };
}

double truth_between(const struct truth_row *const *row, int n, int *networks)
{
    struct spread s = spread_of(row, n, same_network, NULL);
    *networks = s.groups;
    return s.between;
}

bool truth_is_inside(const struct hypar_calibration *c, const struct truth_row *r)
{
    struct hypar_interval i = hp_interval(c, r->predicted.step_s, &r->predicted.parts);
    return c->rows && r->step_s >= i.low_s && r->step_s <= i.high_s;
}
