/* The model or the plan that a command reads. */
#include "cli/opt.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Any path, and standard input, may be ONNX unless it is hypar-graph. */
static bool may_be_onnx(const char *model)
{
    return strcmp(model, "-") == 0 ||
           (hypar_model_is_path(model) && !opt_is_of_format(model, "hypar-graph/"));
}

static void note_unused_reading(const struct args *args)
{
    static const char why[] = "the model is no ONNX file";
    if (may_be_onnx(args->operand[0]))
        return;
    opt_note_unused(args, *args->dims, "--dim", why);
    opt_note_unused(args, *args->batch_dims, "--batch-dim", why);
    opt_note_unused(args,
                    args->follow_links && !opt_is_of_format(args->operand[0], "hypar-graph/"),
                    "--follow-links", "the model is no file");
}

/* Is it the path of a file that holds a plan? Standard input is not peeked into. */
static bool is_plan(const char *word)
{
    return strcmp(word, "-") != 0 && opt_is_of_format(word, "hypar-plan/");
}

enum hypar_status opt_import(const struct args *args, struct hypar_graph **out,
                             struct hypar_error *err)
{
    const char *word = args->operand[0];
    *out = NULL;
    if (is_plan(word))
        return opt_usage(err,
                         "%s: '%s' is a plan, expected a model; hypar simulate, explain, train "
                         "and export read plans, and hypar plan --start %s searches on from "
                         "this one",
                         args->command, word, word);
    struct hypar_import_options how = { .framework = args->framework,
                                        .batch = args->batch,
                                        .batch_dims =
                                            *args->batch_dims ? args->batch_dims : NULL,
                                        .dims = *args->dims ? args->dims : NULL,
                                        .freeze = *args->freeze ? args->freeze : NULL,
                                        .follow_links = args->follow_links,
                                        .reads = opt_reads,
                                        .who = (void *)args };
    enum hypar_status status = hypar_import(out, args->operand[0], &how, err);
    if (status == HYPAR_OK)
        note_unused_reading(args);
    for (int i = 0; status == HYPAR_OK && i < hypar_graph_info(*out).n_notes; i++)
        opt_note(args, "%s: %s", args->operand[0], hypar_graph_info(*out).note[i]);
    return status;
}

enum { PEEK_BYTES = 4096 }; /* of which the format should be among the first */

bool opt_is_of_format(const char *path, const char *format)
{
    char text[PEEK_BYTES + 1];
    size_t n = 0;
    struct stat about;
    bool standard = strcmp(path, "-") == 0;
    if (!standard && (stat(path, &about) != 0 || !S_ISREG(about.st_mode)))
        return false;
    FILE *file = standard ? stdin : hypar_or_out_of_memory(fopen(path, "rb"));
    if (!file)
        return false;
    for (int c; n < PEEK_BYTES && (c = getc(file)) != EOF; n++)
        text[n] = (char)c;
    text[n] = '\0';
    for (size_t i = n; standard && i > 0; i--)
        if (ungetc((unsigned char)text[i - 1], file) == EOF)
            hypar_out_of_memory(0);
    if (!standard)
        fclose(file);
    const char *at = strstr(text, format);
    return at && at > text && at[-1] == '"';
}

/* A plan that --on gives fewer devices than it uses is refused for that, not for the first
 * device that is missing. */
static enum hypar_status check_machine(const struct args *args, const char *path,
                                       const struct hypar_plan_read_options *how,
                                       enum hypar_status status, struct hypar_error *err)
{
    struct hypar_plan_read_options own = *how;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    own.machine = NULL;
    own.reads = NULL;
    if (status == HYPAR_OK || !args->machine || strcmp(path, "-") == 0 ||
        hypar_plan_read(&plan, path, &own, NULL) != HYPAR_OK)
        return status;
    int used = hypar_machine_device_count(hypar_plan_machine(plan)), n = used;
    if (hypar_machine_read(&machine, args->machine, NULL) == HYPAR_OK) {
        n = hypar_machine_device_count(machine);
        hypar_machine_free(machine);
    }
    hypar_plan_free(plan);
    if (n >= used)
        return status;
    snprintf(err->text, sizeof err->text,
             "the plan is for %d devices, --on %.80s has %d; expected as many, or a plan for "
             "them: hypar plan MODEL --on %.80s",
             used, args->machine, n, args->machine);
    return opt_in_file(path, status, err);
}

/* A network of the zoo, or a file that holds one? */
static bool is_model(const char *word)
{
    struct hypar_error why;
    int model;
    size_t n = hypar_model_path_length(word);
    if (access(word, F_OK) == 0)
        return opt_is_of_format(word, "hypar-graph/") ||
               (n > 5 && strcmp(word + n - 5, ".onnx") == 0);
    return hypar_model_find(&model, word, &why) == HYPAR_OK;
}

enum hypar_status opt_read_plan(const struct args *args, const char *path, const char *model,
                                struct hypar_plan **out, struct hypar_error *err)
{
    *out = NULL;
    if (strcmp(path, "-") != 0 && is_model(path))
        return opt_usage(err,
                         "%s: '%s' is a model, expected a plan; make one first: "
                         "hypar plan %s --on MACHINE -o plan.json",
                         args->command, path, path);
    struct hypar_plan_read_options how = { .model = model,
                                           .machine = args->machine,
                                           .framework = args->as ? args->framework : NULL,
                                           .follow_links = args->follow_links,
                                           .reads = opt_reads,
                                           .who = (void *)args };
    struct hypar_error why;
    TRY(check_machine(args, path, &how, hypar_plan_read(out, path, &how, err), err));
    struct hypar_plan_settings settings = hypar_plan_settings(*out);
    const char *word = settings.simulation.all_reduce;
    if (!*word || hypar_check_all_reduce(word, &why) == HYPAR_OK)
        return HYPAR_OK;
    hypar_plan_free(*out);
    *out = NULL;
    snprintf(err->text, sizeof err->text, "simulation.all_reduce: %.400s", why.text);
    return opt_in_file(path, HYPAR_INVALID, err);
}
