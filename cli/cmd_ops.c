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
    .doc = "List the operators of graphs, and for each the axes that a plan may split. With "
           "NAME, describe this operator: axes, operands, passes and attributes.",
    .run = run,
};
