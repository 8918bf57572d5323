/* hypar compare --measured: compares a plan's simulated step with the measured step. */
#include "cli/compare.h"

#include <unistd.h>

static enum hypar_status report_measured(const struct args *args,
                                         const struct hypar_measured_step *step,
                                         const struct hypar_sim *sim, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, opt_output(args), err));
    enum hypar_status status =
        hypar_report_measured(out.file, step, sim, args->detail, opt_format(args), err);
    if (status == HYPAR_INVALID)
        status = opt_in_file(args->measured, status, err);
    return opt_close(&out, status, err);
}

/* The content of a trace. */
struct traced {
    const struct hypar_measured_step *step;
    const struct hypar_sim *sim;
};

static struct hypar_trace_shown put_trace(FILE *to, const void *what,
                                          const struct hypar_trace_options *how)
{
    const struct traced *t = what;
    return hypar_report_measured_trace(to, t->step, t->sim, how);
}

/* Write both timelines, and report their differences. An output file that cannot be written
 * fails first. */
static enum hypar_status tell_measured(const struct args *args,
                                       const struct hypar_measured_step *step,
                                       const struct hypar_sim *sim, struct hypar_error *err)
{
    enum hypar_status status = HYPAR_OK;
    struct traced traced = { step, sim };
    struct trace trace = { put_trace, &traced, hypar_sim_summary(sim).n_devices };
    if (args->trace)
        status = opt_write_trace(args, &trace, err);
    return status == HYPAR_OK ? report_measured(args, step, sim, err) : status;
}

/* As the ranks ran it: task by task, in windows of as many minibatches. */
static enum hypar_status simulate_measured(const struct args *args,
                                           const struct hypar_plan *plan,
                                           const struct hypar_sim_options *given,
                                           struct hypar_error *err)
{
    struct hypar_measured_step *step;
    struct hypar_sim *sim = NULL;
    TRY(hypar_measured_step_read(&step, args->measured, plan, err));
    struct hypar_sim_options how = hypar_as_planned(plan, given);
    struct hypar_profile *own = NULL;
    if (!given->profile)
        opt_local_profile(args, hypar_plan_machine(plan), &how, &own);
    how.timeline = true;
    how.expand_collectives = false;
    how.lower.minibatches = hypar_measured_step_minibatches(step);
    enum hypar_status status =
        opt_in_file(args->operand[0], hypar_simulate(&sim, plan, &how, err), err);
    if (status == HYPAR_OK)
        status = tell_measured(args, step, sim, err);
    hypar_sim_free(sim);
    hypar_profile_free(own);
    hypar_measured_step_free(step);
    return status;
}

enum hypar_status compare_measured(const struct args *args,
                                   const struct hypar_sim_options *given,
                                   struct hypar_error *err)
{
    struct hypar_plan *plan;
    bool missing = hypar_model_is_path(args->operand[0]) && access(args->operand[0], F_OK) != 0;
    if (args->n_operands > 1 ||
        (!missing && !opt_is_of_format(args->operand[0], "hypar-plan/")))
        return opt_usage(err, "compare: --measured goes with one plan");
    if (args->planner || args->csv || args->svg)
        return opt_usage(err, "compare: --measured does not go with --%s",
                         args->csv   ? "csv"
                         : args->svg ? "svg"
                                     : "planner");
    TRY(compare_check_for_plans(args, err));
    TRY(opt_read_plan(args, args->operand[0], args->model, &plan, err));
    enum hypar_status status = simulate_measured(args, plan, given, err);
    hypar_plan_free(plan);
    return status;
}
