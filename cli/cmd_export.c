#include "cli/opt.h"

static const struct argp_option options[] = {
    { "to", OPT_TO, "FRAMEWORK", 0,
      "framework to write for: torch, megatron or deepspeed (torch)", 0 },
    { "nearest", OPT_NEAREST, "FILE", 0,
      "if the framework cannot run the plan, write the nearest plan that it can run to FILE",
      0 },
    { "model", OPT_MODEL, "MODEL", 0, "use MODEL instead of the plan's", 0 },
    OPT_FOLLOW_LINKS_ROW,
    { "on", OPT_ON, "MACHINE", 0, "use MACHINE instead of the plan's", 0 },
    { 0 },
};

/* Describe the nearest plan that the target can run, and write it to the file of --nearest.
 * With --nearest the refusal becomes a note; without it, returns HYPAR_INFEASIBLE. */
static enum hypar_status tell_nearest(const struct args *args,
                                      const struct hypar_target *target,
                                      const struct hypar_plan *plan, struct hypar_error *err)
{
    struct hypar_plan *nearest;
    int differing;
    enum hypar_status status = HYPAR_INFEASIBLE;
    if (hypar_emit_nearest(&nearest, &differing, plan, target->name, NULL) != HYPAR_OK)
        return status;
    const struct hypar_layout *l = hypar_plan_layout(nearest);
    char how[128] = "with refused axes left unsplit";
    if (hypar_plan_stage_count(nearest) > 1)
        snprintf(how, sizeof how, "refused axes left unsplit, stages cut where they may be, %s",
                 hypar_schedule_text(hypar_plan_schedule(nearest).kind));
    if (l)
        snprintf(how, sizeof how, "data %d, tensor %d, pipeline %d, schedule %s", l->data,
                 l->tensor, l->pipeline, hypar_schedule_text(l->schedule));
    opt_note(args, "the nearest plan that %s can run: %s; %d of %d operators differ%s",
             target->title, how, differing, hypar_graph_info(hypar_plan_graph(plan)).n_ops,
             args->nearest ? "" : " (--nearest FILE writes it)");
    if (args->nearest) {
        opt_note(args, "not exported: %s", err->text);
        status = opt_write_plan(nearest, args->nearest, err);
    }
    hypar_plan_free(nearest);
    return status;
}

static enum hypar_status print_summary(const struct args *args,
                                       const struct hypar_target *target,
                                       const struct hypar_plan *plan, struct hypar_error *err)
{
    enum hypar_status status = HYPAR_OK;
    if (args->json)
        printf("{\"target\": \"%s\", \"ranks\": %d}", target->name, hypar_emit_ranks(plan));
    else
        status = hypar_emit_command(plan, target->name, args->output, stdout, err);
    putchar('\n');
    return status;
}

static enum hypar_status export_plan(const struct args *args, const struct hypar_target *target,
                                     const struct hypar_plan *plan, struct hypar_error *err)
{
    struct hypar_output out;
    enum hypar_status status = hypar_emit_check(plan, target->name, err);
    if (status == HYPAR_INFEASIBLE)
        return tell_nearest(args, target, plan, err);
    if (status == HYPAR_OK)
        status = hypar_output_open(&out, opt_output(args), err);
    if (status != HYPAR_OK)
        return status;
    status = opt_close(&out, hypar_emit(plan, target->name, out.file, err), err);
    if (status == HYPAR_OK) {
        opt_note_statistics(args, plan);
        opt_note_target(args, plan, target->name);
        if (hypar_plan_layout(plan))
            opt_note_recompute(args, plan, hypar_plan_layout(plan)->recompute);
    }
    if (status == HYPAR_OK && args->output && opt_wants_summary(args))
        status = print_summary(args, target, plan, err);
    return status;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_target target;
    struct hypar_plan *plan = NULL;
    enum hypar_status status =
        hypar_target_find(&target, args->target ? args->target : "torch", err);
    if (status == HYPAR_OK && args->json && !(args->output && opt_wants_summary(args)))
        return opt_usage(err, "--json is of the summary beside -o FILE");
    if (status == HYPAR_OK)
        status = opt_read_plan(args, args->operand[0], args->model, &plan, err);
    if (status == HYPAR_OK)
        opt_note_idle(args, plan);
    if (status == HYPAR_OK)
        status = opt_in_file(args->operand[0], export_plan(args, &target, plan, err), err);
    hypar_plan_free(plan);
    return status;
}

const struct command cmd_export = {
    .name = "export",
    .operands = "PLAN",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "write a plan for PyTorch, Megatron-LM or DeepSpeed to run",
    .doc = "Write PLAN in the form of another framework: a program for PyTorch, the flags of "
           "Megatron-LM's training script, the configuration of DeepSpeed. A plan that the "
           "framework cannot run is refused, with the operator and the axis, and with the "
           "nearest plan that the framework can run; --nearest writes that plan instead.",
    .options = options,
    .run = run,
};
