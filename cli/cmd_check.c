#include "cli/opt.h"

static const struct argp_option options[] = {
    { "detail", OPT_DETAIL, NULL, 0, "show the plan: its stages, and how operators are split",
      0 },
    { "memory", OPT_MEMORY, "BYTES", 0,
      "limit per device, such as 16GB (the plan's, else the device's own)", 0 },
    { "model", OPT_MODEL, "MODEL", 0, "check against MODEL instead of the plan's", 0 },
    OPT_AS_ROW,
    OPT_FOLLOW_LINKS_ROW,
    { "on", OPT_ON, "MACHINE", 0, "check against MACHINE instead of the plan's", 0 },
    { "svg", OPT_SVG, "FILE", 0, "write a picture of the plan to FILE", 0 },
    { 0 },
};

static enum hypar_status answer(const struct args *args, const struct hypar_plan *plan,
                                const struct hypar_memory *fullest,
                                const struct hypar_error *why, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, opt_output(args), err));
    struct hypar_hidden_moves hidden = { 0 };
    if (plan && fullest && hypar_plan_hidden_moves(plan, &hidden, NULL) != HYPAR_OK)
        hidden.count = 0; /* too large to be lowered again */
    hypar_report_check(out.file, plan, fullest, hidden.count ? hidden.text : NULL, why,
                       opt_format(args));
    if (plan && args->detail && !args->json) {
        fputc('\n', out.file);
        hypar_report_plan(out.file, plan, NULL, HYPAR_TEXT);
    }
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status write_picture(const struct hypar_plan *plan, const char *path,
                                       struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    hypar_report_plan(out.file, plan, NULL, HYPAR_SVG);
    return opt_close(&out, HYPAR_OK, err);
}

/* Check the memory of a whole step, from the lowered plan. A plan that cannot be lowered fails
 * with the error of `hypar lower`. For a model without training steps (*known: false) check
 * only the state that lasts from step to step. */
static enum hypar_status check_memory(const struct args *args, const struct hypar_plan *plan,
                                      struct hypar_memory *fullest, bool *known,
                                      struct hypar_error *err)
{
    const char *path = args->operand[0];
    enum hypar_status status = hypar_plan_fits(plan, args->memory_bytes, fullest, err);
    *known = status == HYPAR_OK;
    if (*known || hypar_graph_lowerable(hypar_plan_graph(plan), NULL) == HYPAR_OK)
        return opt_in_file(path, status, err);
    opt_in_file(path, status, err);
    opt_note(args, "memory for activations is not known: %s", err->text);
    return opt_in_file(path, hypar_plan_check_memory(plan, args->memory_bytes, err), err);
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_memory fullest;
    struct hypar_plan *plan;
    bool known;
    enum hypar_status status = opt_read_plan(args, args->operand[0], args->model, &plan, err);
    if (status == HYPAR_OK) {
        opt_note_idle(args, plan);
        opt_note_sharding(args, plan);
    }
    if (status == HYPAR_OK)
        status = check_memory(args, plan, &fullest, &known, err);
    if (status == HYPAR_OK && args->svg)
        status = write_picture(plan, args->svg, err);
    if (status == HYPAR_OK) {
        status = answer(args, plan, known ? &fullest : NULL, NULL, err);
    } else if (status == HYPAR_INFEASIBLE && args->json) { /* "no" is an answer too */
        struct hypar_error why = *err;
        enum hypar_status written = answer(args, NULL, NULL, &why, err);
        if (written == HYPAR_OK)
            *err = why;
        else
            status = written;
    }
    hypar_plan_free(plan);
    return status;
}

const struct command cmd_check = {
    .name = "check",
    .operands = "PLAN",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "does a plan fit its graph and its machine",
    .doc = "Read PLAN with the model and the machine that it names, and check that they fit "
           "together, and that all of a training step fits into memory. If not, the message "
           "names the operator or the device, and the reason.",
    .options = options,
    .run = run,
};
