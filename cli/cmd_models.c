#include "cli/opt.h"

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_output out;
    enum hypar_status status = opt_open(&out, opt_output(args), err);
    if (status != HYPAR_OK)
        return status;
    if (args->n_operands)
        status = hypar_report_model(out.file, args->operand[0], opt_format(args), err);
    else
        hypar_report_models(out.file, opt_format(args));
    return opt_close(&out, status, err);
}

const struct command cmd_models = {
    .name = "models",
    .operands = "[MODEL]",
    .max_operands = 1,
    .summary = "list the models of the zoo, or describe one",
    .doc =
        "List the models that are built in: parameters, operations, layers. With MODEL, a name "
        "of that list, tell its options, their defaults and their bounds.",
    .run = run,
};
