#include "cli/opt.h"

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    return opt_catalogue(args, hypar_report_models, err);
}

const struct command cmd_models = {
    .name = "models",
    .operands = "[MODEL]",
    .max_operands = 1,
    .operand_word = opt_model_word,
    .names_alone = true,
    .summary = "list the models of the zoo, or describe one",
    .doc = "List the models that are built in: parameters, operations, layers. With MODEL, a "
           "name of that list, show its options, their defaults and their bounds.",
    .run = run,
};
