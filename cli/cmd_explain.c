#include "cli/opt.h"

#include <string.h>

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0, "use MACHINE instead of the plan's", 0 },
    { "model", OPT_MODEL, "MODEL", 0, "use MODEL instead of the plan's", 0 },
    OPT_FOLLOW_LINKS_ROW,
    { "operators", OPT_OPERATORS, "N", 0, "show the N costliest operators (10)", 0 },
    OPT_SIMULATION_ROWS,
    { "forward", OPT_FORWARD, NULL, 0, "forward phases alone, as for inference", 0 },
    { 0 },
};

static enum hypar_status report(const struct args *args, const struct hypar_explanation *e,
                                struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, opt_output(args), err));
    hypar_report_explanation(out.file, e, opt_format(args));
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status explain(const struct args *args, const struct hypar_plan *plan,
                                 struct hypar_sim_options *how, struct hypar_error *err)
{
    struct hypar_explanation *explanation;
    struct hypar_profile *given = (struct hypar_profile *)how->profile, *own = given;
    *how = hypar_as_planned(plan, how);
    opt_local_profile(args, hypar_plan_machine(plan), how, &own);
    struct hypar_explain_options what = { .simulation = how,
                                          .ops = (int)args->operators,
                                          .stop = opt_stop_on_signals() };
    enum hypar_status status = hypar_explain(&explanation, plan, &what, err);
    opt_end_on_signals();
    if (status == HYPAR_OK) {
        struct hypar_sim_summary summary =
            hypar_sim_summary(hypar_explanation_info(explanation).sim);
        opt_note_profile(args, &summary.measured);
        opt_note_unmeasured(args, hypar_plan_machine(plan), how);
        opt_note_interrupted(args, "what was not yet simulated is left out");
        status = report(args, explanation, err);
        if (status == HYPAR_OK)
            status = opt_check_fits(hypar_explanation_info(explanation).sim, err);
        hypar_explanation_free(explanation);
    }
    if (own != given)
        hypar_profile_free(own);
    return status;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_sim_options how;
    struct hypar_profile *profile = NULL;
    struct hypar_plan *plan = NULL;
    if (opt_is_of_format(args->operand[0], "hypar-program/"))
        return opt_usage(err, "explain: '%s' is a program, expected a plan", args->operand[0]);
    enum hypar_status status = opt_simulation(args, &how, &profile, err);
    if (status == HYPAR_OK)
        status = opt_read_plan(args, args->operand[0], args->model, &plan, err);
    if (status == HYPAR_OK) {
        opt_note_idle(args, plan);
        opt_note_sharding(args, plan);
    }
    if (status == HYPAR_OK)
        status = opt_in_file(args->operand[0], explain(args, plan, &how, err), err);
    hypar_plan_free(plan);
    hypar_profile_free(profile);
    return status;
}

const struct command cmd_explain = {
    .name = "explain",
    .operands = "PLAN",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "why a step takes as long as it does, and what would help",
    .doc = "Simulate one training step of PLAN and explain its time: the critical path through "
           "computations, exchanges and their queues, added up; the planner that found the "
           "plan, and the steps of other planners' plans; for a plan of hypar, the bytes by "
           "which each layer became dp or mp; the costliest operators under other splits; and "
           "the step with faster links, devices, hosts, more memory, other micro-batches, "
           "schedules and without recomputation. Every number is a simulation.",
    .options = options,
    .run = run,
};
