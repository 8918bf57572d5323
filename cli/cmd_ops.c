#include "cli/opt.h"

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    return opt_catalogue(args, hypar_report_ops, err);
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
