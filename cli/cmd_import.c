#include "cli/opt.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static const struct argp_option options[] = {
    { "batch", OPT_BATCH, "N", 0, "samples in one training step (as the model says)", 0 },
    OPT_MODEL_ROWS,
    { 0 },
};

static enum hypar_status write_graph(const struct hypar_graph *graph, const char *path,
                                     struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    enum hypar_status status = HYPAR_OK;
    const char *end = strrchr(path, '.');
    if (end && strcmp(end, ".txt") == 0)
        status = hypar_graph_write_profile(graph, out.file, err);
    else if (end && strcmp(end, ".dot") == 0)
        hypar_report_graph(out.file, graph, HYPAR_DOT);
    else
        hypar_graph_write(graph, out.file);
    return opt_close(&out, status, err);
}

static int length_of_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash + 1 - path) : 0;
}

/* Note if the graph is written to another folder than its file of weights, which the graph
 * names relative to itself. */
static void note_values(const struct args *args, const struct hypar_graph *graph)
{
    const char *values = hypar_graph_info(graph).values, *to = args->output;
    char beside[PATH_MAX];
    struct stat there, here;
    if (!values || strcmp(to, "-") == 0)
        return;
    snprintf(beside, sizeof beside, "%.*s%s", length_of_folder(to), to,
             values + length_of_folder(values));
    bool same = stat(values, &there) == 0 && stat(beside, &here) == 0 &&
                there.st_dev == here.st_dev && there.st_ino == here.st_ino;
    if (!same && stat(values, &there) == 0)
        opt_note(args, "%s: its weights are expected in %s, and are in %s", to, beside, values);
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_graph *graph;
    enum hypar_status status = opt_import(args, &graph, err);
    if (status == HYPAR_OK && args->output)
        status = write_graph(graph, args->output, err);
    if (status == HYPAR_OK && args->output)
        note_values(args, graph);
    if (status == HYPAR_OK && opt_wants_summary(args))
        hypar_report_graph(stdout, graph, opt_format(args));
    hypar_graph_free(graph);
    return status;
}

const struct command cmd_import = {
    .name = "import",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .operand_word = opt_model_word,
    .summary = "convert, check and print a model's graph",
    .doc = "Read MODEL, a name of the zoo ('hypar models' lists it) or a file, check it and "
           "print its graph. -o writes the graph as a JSON file; if FILE ends in .txt, its "
           "measured times as a PipeDream profile; in .dot, a picture for Graphviz.",
    .options = options,
    .run = run,
};
