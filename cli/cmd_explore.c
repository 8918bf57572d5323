#include "cli/opt.h"

#include <string.h>

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0, "machine to explore: a word such as htree:16, or a file", 0 },
    { "levels", OPT_LEVELS, "LIST", 0, "every choice of all layers at these levels: H1,H4", 0 },
    { "layers", OPT_LAYERS, "LIST", 0, "every choice of these layers at all levels: conv1,fc1",
      0 },
    { "fix", OPT_FIX, "LIST", 0, "levels that stay as given, a digit for a layer: H2=0010", 0 },
    { "mark", OPT_MARK, "LIST", 0, "whole choices to be ranked too: 0011/0010/0000/0011", 0 },
    { "devices", OPT_DEVICES, "LIST", 0, "numbers of devices: 16,48 or, doubling, 1..64", 0 },
    { "topology", OPT_TOPOLOGY, "LIST", 0, "topologies: htree,torus", 0 },
    { "bandwidth", OPT_BANDWIDTH, "LIST", 0, "bandwidths of a link: 0.1GB/s,1.6Gb/s", 0 },
    { "planner", OPT_PLANNER, "LIST", 0,
      "planners to compare; the first fills in what is not explored (hypar,dp)", 0 },
    { "joint", OPT_JOINT, NULL, 0, "hypar, accpar: with all levels chosen at once, too", 0 },
    { "batch", OPT_BATCH, "N", 0, "samples in one training step (as the model says)", 0 },
    { "batch-dim", OPT_BATCH_DIM, "NAME=DIM", 0,
      "ONNX: the dimension of input NAME with the samples (0)", 0 },
    OPT_ATTENTION_ROW,
    { "dim", OPT_DIM, "NAME=N", 0, "ONNX: size of the symbolic dimension NAME", 0 },
    OPT_FOLLOW_LINKS_ROW,
    { "cost", OPT_COST, "WHAT", 0,
      "array or levels: where time comes from (array for HyPar's accelerators)", 0 },
    { "objective", OPT_OBJECTIVE, "WHAT", 0, "time, comm or energy: what is best (time)", 0 },
    OPT_NUMBERS_ROWS,
    { "csv", OPT_CSV, "FILE", 0, "write every choice to FILE", 0 },
    { "svg", OPT_SVG, "FILE", 0, "write a picture to FILE", 0 },
    { 0 },
};

static enum hypar_status read_cost(const struct args *args, enum hypar_explore_cost *cost,
                                   struct hypar_error *err)
{
    if (!args->cost)
        *cost = HYPAR_COST_AUTO;
    else if (strcmp(args->cost, "array") == 0)
        *cost = HYPAR_COST_ARRAY;
    else if (strcmp(args->cost, "levels") == 0)
        *cost = HYPAR_COST_LEVELS;
    else
        return opt_usage(err, "--cost: '%s' is not array or levels", args->cost);
    return HYPAR_OK;
}

static enum hypar_status read_options(const struct args *args,
                                      struct hypar_explore_options *how,
                                      struct hypar_error *err)
{
    struct hypar_search_options choices = { 0 };
    if (args->fix.n > 1)
        return opt_usage(err, "--fix: given twice, expected one list such as H2=0010,H3=0000");
    enum hypar_status status = opt_choices(args, &choices, err);
    *how = (struct hypar_explore_options){ .levels = args->levels,
                                           .layers = args->layers,
                                           .fix = args->fix.text[0],
                                           .mark = args->mark,
                                           .devices = args->devices,
                                           .topologies = args->topology,
                                           .bandwidths = args->bandwidth,
                                           .planners = args->planner,
                                           .joint = args->joint,
                                           .objective = choices.objective,
                                           .precision = choices.precision,
                                           .fp32_gradients = choices.fp32_gradients,
                                           .framework_bytes = choices.framework_bytes,
                                           .optimizer = choices.optimizer };
    if (status == HYPAR_OK)
        status = read_cost(args, &how->cost, err);
    if (status != HYPAR_OK)
        return status;
    if (!args->machine)
        return opt_usage(err, "explore: missing --on MACHINE; see 'hypar explore --help'");
    if (!args->levels && !args->layers && !args->devices && !args->topology && !args->bandwidth)
        return opt_usage(err, "explore: nothing to vary, expected --levels, --layers, "
                              "--devices, --topology or --bandwidth");
    return HYPAR_OK;
}

typedef void (*write_fn)(FILE *to, const struct hypar_exploration *exploration);

static enum hypar_status write_file(const struct hypar_exploration *found, const char *path,
                                    write_fn write, struct hypar_error *err)
{
    struct hypar_output out;
    if (!path)
        return HYPAR_OK;
    enum hypar_status status = hypar_output_open(&out, path, err);
    if (status != HYPAR_OK)
        return status;
    write(out.file, found);
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status report(const struct hypar_exploration *found, const struct args *args,
                                struct hypar_error *err)
{
    struct hypar_output out;
    enum hypar_status status = write_file(found, args->csv, hypar_report_explored_csv, err);
    if (status == HYPAR_OK)
        status = write_file(found, args->svg, hypar_report_explored_svg, err);
    if (status == HYPAR_OK)
        status = hypar_output_open(&out, opt_output(args), err);
    if (status != HYPAR_OK)
        return status;
    hypar_report_exploration(out.file, found, opt_format(args));
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_explore_options how;
    struct hypar_graph *graph = NULL;
    struct hypar_machine *machine = NULL;
    struct hypar_exploration *found = NULL;
    enum hypar_status status = read_options(args, &how, err);
    if (status == HYPAR_OK)
        status = opt_import(args, &graph, err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&machine, args->machine, err);
    if (status == HYPAR_OK) {
        opt_note_precision(args, machine, how.precision);
        how.stop = opt_stop_on_signals();
    }
    if (status == HYPAR_OK)
        status = hypar_explore(&found, graph, machine, &how, err);
    opt_end_on_signals();
    if (status == HYPAR_OK && hypar_exploration_interrupted(found))
        opt_note_interrupted(args, "only the machines that were done by then are told");
    if (status == HYPAR_OK)
        status = report(found, args, err);
    hypar_exploration_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return status;
}

const struct command cmd_explore = {
    .name = "explore",
    .operands = "MODEL --on MACHINE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "sweep parallelisms, array sizes, topologies, bandwidths",
    .doc = "Evaluate every choice of some levels or layers of MODEL on MACHINE, and tell the "
           "best and where the planners' own choices rank; or the planners on the machine in "
           "other sizes, topologies and bandwidths. A choice is a digit for each weighted "
           "layer at each level: 0 dp (type I), 1 mp (type II), 2 type III.",
    .options = options,
    .run = run,
};
