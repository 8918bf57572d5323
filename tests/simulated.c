#include "tests/simulated.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct hypar_sim *simulate(const struct hypar_plan *plan,
                           const struct hypar_sim_options *options)
{
    struct hypar_sim *sim;
    struct hypar_error err;
    if (hypar_simulate(&sim, plan, options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return sim;
}

struct hypar_sim_summary summary_of(const struct hypar_plan *plan,
                                    const struct hypar_sim_options *options)
{
    struct hypar_sim *sim = simulate(plan, options);
    struct hypar_sim_summary summary = hypar_sim_summary(sim);
    hypar_sim_free(sim);
    return summary;
}

void expect_near(const char *what, double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance * fabs(expected)))
        fail_msg("%s: %.17g, expected %.17g", what, found, expected);
}
