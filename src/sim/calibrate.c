/* Calibration: the efficiency of devices at which a simulated step takes as long as a measured
 * one. */
#include "base/error.h"
#include "cost/calibration.h"
#include "plan/plan.h"
#include "sim/sim.h"
#include "sim/tasks.h"

static enum hypar_status step_at(const struct hypar_plan *plan, struct hypar_sim_options how,
                                 double efficiency, double *step_s, struct hypar_error *err)
{
    struct hypar_profile *profile = hypar_profile_new();
    int n = hypar_machine_device_count(plan->machine);
    for (int d = 0; d < n; d++)
        if (d == 0 || hypar_machine_device(plan->machine, d) !=
                          hypar_machine_device(plan->machine, d - 1))
            hypar_profile_set_efficiency(profile, hypar_machine_device(plan->machine, d)->name,
                                         efficiency);
    how.profile = profile;
    how.timeline = false;
    enum hypar_status status = hp_simulated_seconds(plan, &how, step_s, err);
    hypar_profile_free(profile);
    if (status == HYPAR_UNSUPPORTED &&
        efficiency < 1) { /* the time overflows: slower than any measurement */
        *step_s = hp_seconds(HP_MAX_TICKS);
        return HYPAR_OK;
    }
    return status;
}

/* Why a step may be shorter than any efficiency makes it. */
static const char *why_shorter(const struct hypar_plan *plan)
{
    return hp_convolution_share(plan->graph, plan->machine, plan->precision) > 0
               ? " (libraries compute convolutions with fewer multiplications than are counted "
                 "here)"
               : "";
}

enum hypar_status hypar_calibrate(double *efficiency, const struct hypar_plan *plan,
                                  const struct hypar_sim_options *options, double measured_s,
                                  struct hypar_error *err)
{
    enum { HALVINGS = 50 };
    struct hypar_sim_options how = options ? *options : hypar_as_planned(plan, NULL);
    double low = 1e-4, high = 1, fastest, slowest, step_s;
    if (how.profile)
        return hp_fail(err, HYPAR_USAGE, "a measured step cannot calibrate beside a profile");
    TRY(step_at(plan, how, high, &fastest, err));
    TRY(step_at(plan, how, low, &slowest, err));
    if (measured_s < fastest || measured_s > slowest) {
        char text[3][32];
        return hp_fail(
            err, HYPAR_INFEASIBLE,
            "no efficiency makes a step of %s: it takes %s at 100 %%, %s at 0.01 %%%s",
            hypar_format_quantity(text[0], measured_s, HYPAR_UNIT_SECONDS),
            hypar_format_quantity(text[1], fastest, HYPAR_UNIT_SECONDS),
            hypar_format_quantity(text[2], slowest, HYPAR_UNIT_SECONDS),
            measured_s < fastest ? why_shorter(plan) : "");
    }
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        TRY(step_at(plan, how, middle, &step_s, err));
        if (step_s > measured_s)
            low = middle;
        else
            high = middle;
    }
    *efficiency = high;
    return HYPAR_OK;
}
