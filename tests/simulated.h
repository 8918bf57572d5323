/* simulated.h - a step in one call, for tests of the simulator. */
#ifndef TESTS_SIMULATED_H
#define TESTS_SIMULATED_H

#include <hypar/sim.h>

/* To be released with hypar_sim_free(). The test fails if it cannot be simulated. */
struct hypar_sim *simulate(const struct hypar_plan *plan,
                           const struct hypar_sim_options *options);
struct hypar_sim_summary summary_of(const struct hypar_plan *plan,
                                    const struct hypar_sim_options *options);

/* The test fails if they differ by more than a part `tolerance` of what is expected. */
void expect_near(const char *what, double found, double expected, double tolerance);

#endif /* TESTS_SIMULATED_H */
