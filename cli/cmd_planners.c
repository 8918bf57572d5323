#include "cli/opt.h"

static const struct argp_option options[] = {
    { "planner", OPT_PLANNER, "FILE", 0, "list the planner of a shared library, too: ./mine.so",
      0 },
    { 0 },
};

static enum hypar_status report(FILE *to, const char *name, enum hypar_format format,
                                struct hypar_error *err)
{
    (void)name, (void)err; /* all planners are listed */
    hypar_report_planners(to, format);
    return HYPAR_OK;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    return opt_catalogue(args, report, err);
}

const struct command cmd_planners = {
    .name = "planners",
    .summary = "list the planners",
    .doc = "List the planners that 'hypar plan' can use, with the paper that each "
           "follows.",
    .options = options,
    .run = run,
};
