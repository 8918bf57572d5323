#include "cli/opt.h"

static enum hypar_status write_framework(const struct hypar_framework *framework,
                                         const char *path, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    hypar_framework_write(framework, out.file);
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status show(const struct args *args, struct hypar_error *err)
{
    struct hypar_framework *framework;
    enum hypar_status status = hypar_framework_read(&framework, args->operand[0], err);
    if (status == HYPAR_OK && args->output)
        status = write_framework(framework, args->output, err);
    if (status == HYPAR_OK && opt_wants_summary(args))
        hypar_report_frameworks(stdout, framework, opt_format(args));
    hypar_framework_free(framework);
    return status;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    if (args->n_operands == 1)
        return show(args, err);

    struct hypar_output out;
    TRY(hypar_output_open(&out, opt_output(args), err));
    hypar_report_frameworks(out.file, NULL, opt_format(args));
    return opt_close(&out, HYPAR_OK, err);
}

const struct command cmd_frameworks = {
    .name = "frameworks",
    .operands = "[FRAMEWORK]",
    .max_operands = 1,
    .operand_word = opt_framework_word,
    .summary = "list frameworks, the ways a job is run, or describe one",
    .doc = "List the frameworks that a job may be run as: rows of the table and files of this "
           "site. "
           "With FRAMEWORK, a word such as megatron or fsdp,kernels=compiled, or a JSON file, "
           "list its members; then -o writes it as a JSON file, to be edited and read back.",
    .run = run,
};
