#include "cli/opt.h"

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_output out;
    enum hypar_status status = opt_open(&out, opt_output(args), err);
    if (status != HYPAR_OK)
        return status;
    hypar_report_planners(out.file, opt_format(args));
    return opt_close(&out, HYPAR_OK, err);
}

const struct command cmd_planners = {
    .name = "planners",
    .summary = "list the planners",
    .doc = "List the planners that 'hypar plan' can use, with the paper that each "
           "follows.",
    .run = run,
};
