#include "cli/opt.h"

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_output out;
    enum hypar_status status = opt_open(&out, opt_output(args), err);
    if (status != HYPAR_OK)
        return status;
    if (args->n_operands)
        status = hypar_report_op(out.file, args->operand[0], opt_format(args), err);
    else
        hypar_report_ops(out.file, opt_format(args));
    return opt_close(&out, status, err);
}

const struct command cmd_ops = {
    .name = "ops",
    .operands = "[NAME]",
    .max_operands = 1,
    .summary = "list the operators and the axes a plan may split",
    .doc =
        "List the operators that a graph may hold, and of each the axes a plan may split. With "
        "NAME, tell all of that one: axes, operands, passes and attributes.",
    .run = run,
};
