#include "cli/opt.h"

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_output out;
    enum hypar_status status = hypar_output_open(&out, opt_output(args), err);
    if (status != HYPAR_OK)
        return status;
    hypar_report_ops(out.file, opt_format(args));
    return hypar_output_close(&out, true, err);
}

const struct command cmd_ops = {
    .name = "ops",
    .summary = "list the operators and the axes a plan may split",
    .doc = "List the operators that a graph may hold, and of each the axes a plan may split.",
    .run = run,
};
