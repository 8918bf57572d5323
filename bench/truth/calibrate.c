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
    return a->layers == b->layers && a->hidden == b->hidden;
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

static struct spread spread_of(const struct truth_row *const *row, int n, is_same *same,
                               const struct truth_row *without)
{
    struct spread s = { 0 };
    double means = 0, squares = 0, inside = 0;
    for (int i = 0; i < n; i++) {
        double mean = 0, sum = 0;
        int size = 0, first = i;
        if (without && same_network(row[i], without))
            continue;
        for (int k = 0; k < n; k++)
            if (same(row[i], row[k])) {
                first = k < first ? k : first;
                mean += residual(row[k]);
                size++;
            }
        if (first < i)
            continue;
        mean /= size;
        for (int k = i; k < n; k++)
            if (same(row[i], row[k]))
                sum += pow(residual(row[k]) - mean, 2);
        s.groups++;
        s.rows += size;
        means += mean;
        squares += mean * mean;
        inside += sum;
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
    return c->rows && fabs(residual(r) - c->bias) <= EIGHT_OF_TEN * c->spread;
}
