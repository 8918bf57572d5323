/* The least-squares solver, on problems with known answers. */
#include "fit/least_squares.h"

#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 200 };

/* log of max(a, b size) + c, beside what was "measured": the kinks of a roofline. */
struct roofline {
    double size[ROWS], measured[ROWS];
};

static double seconds(const double *x, double size)
{
    return fmax(exp(x[0]), exp(x[1]) * size) + exp(x[2]);
}

static double residual(void *who, int row, const double *x)
{
    const struct roofline *p = who;
    return log(seconds(x, p->size[row]) / p->measured[row]);
}

static double uniform(struct random *random)
{
    return (double)hp_random_below(random, 1 << 30) / (1 << 30);
}

static void make(struct roofline *p, const double *truth, double noise, int every)
{
    struct random random = { 7 };
    for (int i = 0; i < ROWS; i++) {
        p->size[i] = exp(10 * uniform(&random));
        p->measured[i] = seconds(truth, p->size[i]) * exp(noise * (2 * uniform(&random) - 1));
        if (every && i % every == 0)
            p->measured[i] *= 20; /* what no constant explains */
    }
}

static const double low[] = { -20, -20, -20 }, high[] = { 5, 5, 5 };

static void constants_are_found_again(void **state)
{
    (void)state;
    static const struct {
        double noise;
        int every;
        double tolerance;
    } cases[] = { { 0, 0, 1e-6 }, { 0.1, 0, 0.05 }, { 0.1, 10, 0.08 } };
    const double truth[] = { log(50), log(0.3), log(4) };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct roofline p;
        struct least_squares_spread spread;
        double x[] = { 0, 0, 0 };
        make(&p, truth, cases[i].noise, cases[i].every);
        hp_least_squares(&(struct least_squares){ .n_rows = ROWS,
                                                  .n_variables = 3,
                                                  .low = low,
                                                  .high = high,
                                                  .residual = residual,
                                                  .who = &p },
                         x, &spread);
        print_message("noise %g: %g %g %g\n", cases[i].noise, exp(x[0]), exp(x[1]), exp(x[2]));
        assert_true(fabs(x[1] - truth[1]) <= cases[i].tolerance);
        /* small ones show only the sum of the two others */
        assert_true(fabs(log((exp(x[0]) + exp(x[2])) / 54)) <= cases[i].tolerance);
        assert_true(spread.error[1] <= 0.05 && spread.rows[1] > ROWS / 4);
    }
}

static void bounds_are_kept(void **state)
{
    (void)state;
    struct roofline p;
    struct least_squares_spread spread;
    const double truth[] = { log(50), log(0.3), log(4) };
    const double above[] = { log(60), -20, -20 };
    double x[] = { log(70), 0, 0 };
    make(&p, truth, 0, 0);
    hp_least_squares(&(struct least_squares){ .n_rows = ROWS,
                                              .n_variables = 3,
                                              .low = above,
                                              .high = high,
                                              .residual = residual,
                                              .who = &p },
                     x, &spread);
    assert_true(x[0] >= above[0] && x[0] < above[0] + 1e-3);
}

static double constant(void *who, int row, const double *x)
{
    (void)who;
    return x[0] - row;
}

static bool first_alone(void *who, int row, int variable)
{
    (void)who;
    (void)row;
    return variable == 0;
}

/* A variable that no row depends on stays, and is told. */
static void what_rows_do_not_decide_is_told(void **state)
{
    (void)state;
    struct least_squares_spread spread;
    double x[] = { 3, 1 };
    hp_least_squares(&(struct least_squares){ .n_rows = 5,
                                              .n_variables = 2,
                                              .low = low,
                                              .high = high,
                                              .residual = constant,
                                              .depends = first_alone },
                     x, &spread);
    assert_true(fabs(x[0] - 2) < 1e-3 && x[1] == 1);
    assert_true(isinf(spread.error[1]) && spread.rows[1] == 0 && spread.rows[0] == 5);
    const bool skip[] = { true, false, false, false, true };
    x[0] = 0;
    hp_least_squares(&(struct least_squares){ .n_rows = 5,
                                              .n_variables = 1,
                                              .low = low,
                                              .high = high,
                                              .skip = skip,
                                              .residual = constant },
                     x, &spread);
    assert_true(fabs(x[0] - 2) < 1e-3 && spread.rows[0] == 3);
}

static void quantiles(void **state)
{
    (void)state;
    const double sorted[] = { 1, 2, 3, 4 };
    assert_true(hp_quantile(sorted, 4, 0.95) == 4);
    assert_true(hp_quantile(sorted, 4, 0.5) == 2);
    assert_true(hp_quantile(sorted, 4, 0) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_found_again),
        cmocka_unit_test(bounds_are_kept),
        cmocka_unit_test(what_rows_do_not_decide_is_told),
        cmocka_unit_test(quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
