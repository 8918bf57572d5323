#include "cli/opt.h"

#include <string.h>

static const struct argp_option options[] = {
    { "device", OPT_DEVICE, "NAME", 0,
      "begin with the figures of NAME, of 'hypar machines' or a device file", 0 },
    { "precision", OPT_PRECISION, "NAME", 0,
      "precision of operators in tables without that column: fp32, tf32, bf16, fp16 or fp64 "
      "(fp32)",
      0 },
    { "on", OPT_ON, "MACHINE", 0,
      "the machine on which nccl-tests and OSU ran, without device= (default: from their "
      "outputs)",
      0 },
    { "write-as", OPT_WRITE_AS, "FILE", 0,
      "measured steps: write the framework of these steps to FILE", 0 },
    { 0 },
};

/* A device or a framework is called as its file, or as the one that it began with. */
static void name_by_file(const char *before, const char *path, char *name, size_t size)
{
    static const char ending[] = ".json";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base), m = sizeof ending - 1;
    bool json = n > m && strcmp(base + n - m, ending) == 0;
    snprintf(name, size, "%.*s", json ? (int)(n - m) : 60, json ? base : before);
    hypar_clean_text(name);
}

static enum hypar_status write_device(const struct hypar_fit *fit, const char *path,
                                      struct hypar_error *err)
{
    struct hypar_output out;
    char name[256];
    TRY(hypar_output_open(&out, path, err));
    name_by_file(hypar_fit_info(fit).device, path, name, sizeof name);
    hypar_fit_write(fit, name, out.file);
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status write_framework(const struct hypar_fit *fit, const char *path,
                                         struct hypar_error *err)
{
    struct hypar_output out;
    char name[256];
    if (!hypar_fit_info(fit).framework)
        return opt_usage(err, "--write-as: not all rows are steps of plans that were run in "
                              "one way");
    struct hypar_framework framework = *hypar_fit_info(fit).framework;
    TRY(hypar_output_open(&out, path, err));
    name_by_file(framework.name, path, name, sizeof name);
    framework.name = name;
    hypar_framework_write(&framework, out.file);
    return opt_close(&out, HYPAR_OK, err);
}

/* A file is named again in a word, whose parts commas and equals signs separate. */
static enum hypar_status check_file(const char *option, const char *path,
                                    struct hypar_error *err)
{
    if (!path || opt_is_standard(path) || !strpbrk(path, ",="))
        return HYPAR_OK;
    return opt_usage(err, "%s: '%s', expected a name without ',' and '=', as words name it",
                     option, path);
}

static enum hypar_status check_outputs(const struct args *args, struct hypar_error *err)
{
    if (opt_is_standard(args->output) && opt_is_standard(args->write_as))
        return opt_usage(err, "fit: -o - and --write-as -, expected one document on standard "
                              "output");
    TRY(check_file("--write-as", args->write_as, err));
    return check_file("-o", args->output, err);
}

static bool decides_any(const struct hypar_fit *fit)
{
    struct hypar_fit_constant constant;
    for (int i = 0; hypar_fit_constant(fit, i, &constant); i++)
        if (constant.fitted)
            return true;
    return hypar_fit_info(fit).n_choices > 0;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_fit_options how = { .device = args->device,
                                     .machine = args->machine,
                                     .reads = opt_reads,
                                     .who = (void *)args };
    struct hypar_fit *fit;
    if (!args->device)
        return opt_usage(err,
                         "fit: --device is missing, expected a name as in 'hypar machines'");
    int precision =
        args->precision ? hypar_name_find(HYPAR_NAME_PRECISION, args->precision) : HYPAR_FP32;
    how.precision = (enum hypar_precision)precision;
    if (precision < 0)
        return opt_usage(err, "--precision: '%s', expected fp32, tf32, bf16, fp16 or fp64",
                         args->precision);
    TRY(check_outputs(args, err));
    TRY(hypar_fit(&fit, args->operand, args->n_operands, &how, err));
    bool decided = decides_any(fit);
    for (int i = 0; hypar_fit_doubt(fit, i); i++)
        opt_note(args, "%s", hypar_fit_doubt(fit, i));
    enum hypar_status status = HYPAR_OK;
    if (args->write_as && decided)
        status = write_framework(fit, args->write_as, err);
    if (status == HYPAR_OK && args->output && decided)
        status = write_device(fit, args->output, err);
    if (status == HYPAR_OK && opt_wants_summary(args) && !opt_is_standard(args->write_as))
        hypar_report_fit(stdout, fit, opt_format(args));
    if (!decided) {
        snprintf(err->text, sizeof err->text, "fit: these rows decide no figure of '%.100s'",
                 hypar_fit_info(fit).device);
        status = HYPAR_INFEASIBLE;
    }
    hypar_fit_free(fit);
    return status;
}

const struct command cmd_fit = {
    .name = "fit",
    .operands = "MEASURED.csv...",
    .min_operands = 1,
    .max_operands = MAX_OPERANDS,
    .summary = "fit a device's figures to measurements",
    .doc =
        "Read tables of measured operators, steps or collectives, and find the figures of the "
        "device with the smallest errors of predictions; print these errors. -o writes the "
        "device as a JSON file, which machines can name: cluster:2x8,device=mine.json. Tables "
        "of steps alone also determine the framework of the steps: --write-as writes it.",
    .options = options,
    .run = run,
};
