#include "cli/opt.h"

static const struct argp_option options[] = {
    { "bucket", OPT_BUCKET, "BYTES", 0, "sum gradients in buckets of about this size, as 25MB",
      0 },
    { "local-bn", OPT_LOCAL_BN, NULL, 0, "batch norm over each part's own samples", 0 },
    { "minibatches", OPT_MINIBATCHES, "N", 0,
      "pipedream: write out N minibatches (enough to fill the pipeline and reach the steady "
      "state)",
      0 },
    { "forward", OPT_FORWARD, NULL, 0, "forward phases alone, as for inference", 0 },
    { "model", OPT_MODEL, "MODEL", 0, "use MODEL instead of the plan's", 0 },
    OPT_FOLLOW_LINKS_ROW,
    { "on", OPT_ON, "MACHINE", 0, "use MACHINE instead of the plan's", 0 },
    { 0 },
};

static enum hypar_status write_program(const struct hypar_program *program, const char *path,
                                       struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    enum hypar_status status = hypar_program_write(program, out.file, err);
    return opt_close(&out, status, err);
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_sim_options how = { .lower = { .bucket_bytes = args->bucket_bytes,
                                                .local_bn = args->local_bn,
                                                .minibatches = args->minibatches,
                                                .forward = args->forward } };
    struct hypar_plan *plan;
    struct hypar_program *program = NULL;
    enum hypar_status status = opt_read_plan(args, args->operand[0], args->model, &plan, err);
    if (status == HYPAR_OK) {
        opt_note_idle(args, plan);
        how = hypar_as_planned(plan, &how);
        status = hypar_lower(&program, plan, &how.lower, err);
        status = opt_in_file(args->operand[0], status, err);
    }
    if (status == HYPAR_OK && args->output)
        status = opt_in_file(args->operand[0], write_program(program, args->output, err), err);
    if (status == HYPAR_OK && opt_wants_summary(args))
        hypar_report_program(stdout, program, opt_format(args));
    hypar_program_free(program);
    hypar_plan_free(plan);
    return status;
}

const struct command cmd_lower = {
    .name = "lower",
    .operands = "PLAN",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "make a plan explicit: every task and every byte",
    .doc = "Lower PLAN to a program: every computation, transfer, collective and update of one "
           "training step. Shows the number of tasks of each kind and exactly how many bytes "
           "are sent. -o writes the program.",
    .options = options,
    .run = run,
};
