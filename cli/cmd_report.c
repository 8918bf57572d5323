#include "cli/compare.h"

#include <unistd.h>

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0, "use MACHINE instead of the plan's", 0 },
    { "model", OPT_MODEL, "MODEL", 0, "use MODEL instead of the plan's", 0 },
    OPT_FOLLOW_LINKS_ROW,
    { "operators", OPT_OPERATORS, "N", 0, "show the N costliest operators (10)", 0 },
    { "planner", OPT_PLANNER, "LIST", 0,
      "add the plans of these planners for the same model and machine: dp,hypar (none)", 0 },
    { "measured", OPT_MEASURED_TRACE, "TRACE", 0,
      "add measured times: a trace of 'hypar train', or of PyTorch's profiler", 0 },
    OPT_SIMULATION_ROWS,
    { "forward", OPT_FORWARD, NULL, 0, "forward phases alone, as for inference", 0 },
    { 0 },
};

/* The content of the page, and the options of its simulation. */
struct telling {
    const struct args *args;
    struct hypar_plan *plan;
    struct hypar_sim_options how;
    struct hypar_page page;
};

static enum hypar_status write_page(void *who, const struct hypar_comparison *comparison,
                                    struct hypar_error *err)
{
    struct telling *t = who;
    struct hypar_output out;
    TRY(hypar_output_open(&out, opt_output(t->args), err));
    t->page.comparison = comparison;
    enum hypar_status status = hypar_report_page(out.file, &t->page, opt_format(t->args), err);
    if (status == HYPAR_INVALID)
        status = opt_in_file(t->args->measured, status, err);
    return opt_close(&out, status, err);
}

/* The step, what bounds it and what would help. */
static enum hypar_status explain(struct telling *t, struct hypar_error *err)
{
    struct hypar_explanation *explanation;
    struct hypar_explain_options what = { .simulation = &t->how,
                                          .ops = (int)t->args->operators,
                                          .stop = opt_stop_on_signals() };
    enum hypar_status status = hypar_explain(&explanation, t->plan, &what, err);
    opt_end_on_signals();
    if (status != HYPAR_OK)
        return opt_in_file(t->args->operand[0], status, err);
    struct hypar_sim_summary summary =
        hypar_sim_summary(hypar_explanation_info(explanation).sim);
    opt_note_profile(t->args, &summary.measured);
    opt_note_unmeasured(t->args, hypar_plan_machine(t->plan), &t->how);
    opt_note_interrupted(t->args, "what was not yet simulated is left out");
    t->page.explanation = explanation;
    status = t->args->planner ? compare_beside(t->args, t->plan, &t->how, write_page, t, err)
                              : write_page(t, NULL, err);
    if (status == HYPAR_OK)
        status = opt_in_file(t->args->operand[0],
                             opt_check_fits(hypar_explanation_info(explanation).sim, err), err);
    hypar_explanation_free(explanation);
    return status;
}

/* As the ranks ran it, where that was measured: task by task, in windows of as many
 * minibatches. */
static enum hypar_status report(struct telling *t, struct hypar_error *err)
{
    struct hypar_measured_step *step = NULL;
    struct hypar_profile *given = (struct hypar_profile *)t->how.profile, *own = given;
    if (t->args->measured)
        TRY(hypar_measured_step_read(&step, t->args->measured, t->plan, err));
    t->how = hypar_as_planned(t->plan, &t->how);
    opt_local_profile(t->args, hypar_plan_machine(t->plan), &t->how, &own);
    if (step) {
        t->how.expand_collectives = false;
        t->how.lower.minibatches = hypar_measured_step_minibatches(step);
    }
    t->page.measured = step;
    enum hypar_status status = explain(t, err);
    hypar_measured_step_free(step);
    if (own != given)
        hypar_profile_free(own);
    return status;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct telling t = { .args = args };
    struct hypar_profile *profile = NULL;
    if (opt_is_of_format(args->operand[0], "hypar-program/"))
        return opt_usage(err, "report: '%s' is a program, expected a plan", args->operand[0]);
    if (!args->output && isatty(STDOUT_FILENO))
        return opt_usage(err, "report: missing -o FILE: standard output is a terminal");
    enum hypar_status status = opt_simulation(args, &t.how, &profile, err);
    if (status == HYPAR_OK)
        status = opt_read_plan(args, args->operand[0], args->model, &t.plan, err);
    if (status == HYPAR_OK)
        status = report(&t, err);
    hypar_plan_free(t.plan);
    hypar_profile_free(profile);
    return status;
}

const struct command cmd_report = {
    .name = "report",
    .operands = "PLAN",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "a plan and its step as one page for a browser",
    .doc = "Simulate one training step of PLAN and write one page of HTML without outside "
           "references: the critical path of the step and the changes that would help, the "
           "layers and their division, by level of the machine and by device, the timeline of "
           "every device and link with the critical path, memory over time, and traffic.",
    .options = options,
    .run = run,
};
