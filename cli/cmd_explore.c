#include "cli/opt.h"

#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0,
      "machine to explore: a word such as htree:16, or a file; repeated: further machines", 0 },
    { "levels", OPT_LEVELS, "LIST", 0, "every choice of all layers at these levels: H1,H4", 0 },
    { "layers", OPT_LAYERS, "LIST", 0, "every choice of these layers at all levels: conv1,fc1",
      0 },
    { "fix", OPT_FIX, "LIST", 0, "levels that stay as given, a digit for a layer: H2=0010", 0 },
    { "mark", OPT_MARK, "LIST", 0, "whole choices to be ranked too: 0011/0010/0000/0011", 0 },
    { "devices", OPT_DEVICES, "LIST", 0, "numbers of devices: 16,48 or, doubling, 1..64", 0 },
    { "topology", OPT_TOPOLOGY, "LIST", 0, "topologies: htree,torus", 0 },
    { "bandwidth", OPT_BANDWIDTH, "LIST", 0,
      "bandwidths of a link: 0.1GB/s,1.6Gb/s or, doubling, 1GB/s..64GB/s", 0 },
    { "sweep", OPT_SWEEP, "WORD=LIST", 0,
      "any figure of the machine's word: memory-bandwidth=1TB/s,3TB/s or, doubling, "
      "memory-bandwidth=1TB/s..8TB/s; links=0.5,2: speed factors of all links; "
      "nvlink.latency=1us,2us or nvlink.latency=0.5x,2x: a class of listed links; can be "
      "repeated",
      0 },
    { "planner", OPT_PLANNER, "LIST", 0,
      "planners to compare, a row for each (hypar,dp; with several batches auto); the first "
      "planner sets the choices that are not explored",
      0 },
    { "joint", OPT_JOINT, NULL, 0, "hypar, accpar: add plans with all levels chosen at once",
      0 },
    { "batch", OPT_BATCH, "LIST", 0,
      "samples in one training step (as the model says); several, 96,128 or, doubling, "
      "64..4096: a plan for each",
      0 },
    OPT_MODEL_ROWS,
    { "cost", OPT_COST, "WHAT", 0,
      "model of the step's time: array (HyPar's accelerators), levels, paper (array for "
      "HyPar's "
      "accelerators, else levels) or simulated (default: paper for HyPar's accelerators and "
      "with --levels or --layers, else simulated)",
      0 },
    { "objective", OPT_OBJECTIVE, "WHAT", 0,
      "time, comm or energy: the figure to minimise (time)", 0 },
    OPT_NUMBERS_ROWS,
    { "memory", OPT_MEMORY, "BYTES", 0, "plans: limit per device (the device's own)", 0 },
    { "micro-batches", OPT_MICRO_BATCHES, "N", 0,
      "plans: number of micro-batches (as in hypar plan)", 0 },
    OPT_DROPOUT_MASKS_ROW,
    OPT_RECOMPUTE_ROW,
    OPT_SHARD_ROW,
    OPT_ALL_REDUCE_ROW,
    OPT_AS_ROW,
    OPT_FOR_ROW,
    { "budget", OPT_BUDGET, "TIME", 0, "plans: time limit of all searches together (5m)", 0 },
    { "csv", OPT_CSV, "FILE", 0, "write every choice or plan to FILE", 0 },
    { "svg", OPT_SVG, "FILE", 0, "write a picture to FILE", 0 },
    { 0 },
};

/* The words of --cost are in the order of enum hypar_explore_cost, whose first is none given.
 */
static enum hypar_status read_cost(const struct args *args, enum hypar_explore_cost *cost,
                                   struct hypar_error *err)
{
    int word = args->cost ? opt_find_word(OPT_COST, args->cost) : -1;
    if (args->cost && word < 0)
        return opt_unknown_word(OPT_COST, args->cost, err);
    *cost = (enum hypar_explore_cost)(HYPAR_COST_AUTO + 1 + word);
    return HYPAR_OK;
}

static enum hypar_status read_options(const struct args *args,
                                      struct hypar_explore_options *how,
                                      struct hypar_error *err)
{
    struct hypar_search_options choices = { 0 };
    if (args->fix.n > 1)
        return opt_usage(err, "--fix: given twice, expected one list such as H2=0010,H3=0000");
    TRY(opt_choices(args, &choices, err));
    *how = (struct hypar_explore_options){ .levels = args->levels,
                                           .layers = args->layers,
                                           .fix = args->fix.text[0],
                                           .mark = args->mark,
                                           .devices = args->devices,
                                           .topologies = args->topology,
                                           .bandwidths = args->bandwidth,
                                           .sweeps = args->sweep.text,
                                           .n_sweeps = args->sweep.n,
                                           .machine = args->machine,
                                           .planners = args->planner,
                                           .joint = args->joint,
                                           .objective = choices.objective,
                                           .precision = choices.precision,
                                           .fp32_gradients = choices.fp32_gradients,
                                           .framework_bytes = choices.framework_bytes,
                                           .memory_certainty = choices.memory_certainty,
                                           .optimizer = choices.optimizer };
    TRY(read_cost(args, &how->cost, err));
    if (!args->machine)
        return opt_usage(err, "explore: missing --on MACHINE; see 'hypar explore --help'");
    return HYPAR_OK;
}

/* Call this after the machines were read, because their errors come first. */
static enum hypar_status check_varies(const struct args *args, struct hypar_error *err)
{
    if (args->batches || args->levels || args->layers || args->devices || args->topology ||
        args->bandwidth || args->sweep.n || args->other_machines.n)
        return HYPAR_OK;
    return opt_usage(err, "explore: nothing to vary, expected --planner, --levels, --layers, "
                          "--devices, --topology, --bandwidth, --sweep or a second --on");
}

/* The result to report: choices for one batch, or plans for several batches; the other is NULL.
 */
struct told {
    const struct hypar_exploration *choices;
    const struct hypar_sweep *plans;
};

static enum hypar_status write_file(const struct told *t, const char *path,
                                    enum hypar_format format, struct hypar_error *err)
{
    struct hypar_output out;
    if (!path)
        return HYPAR_OK;
    TRY(hypar_output_open(&out, path, err));
    if (t->plans)
        hypar_report_sweep(out.file, t->plans, format);
    else
        hypar_report_exploration(out.file, t->choices, format);
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status report(const struct told *t, const struct args *args,
                                struct hypar_error *err)
{
    enum hypar_status status = write_file(t, args->csv, HYPAR_CSV, err);
    if (status == HYPAR_OK)
        status = write_file(t, args->svg, HYPAR_SVG, err);
    bool alone = opt_is_standard(args->csv) || opt_is_standard(args->svg);
    if (status == HYPAR_OK && (args->output || !alone))
        status = write_file(t, opt_output(args), opt_format(args), err);
    return status;
}

/* Machines -------------------------------------------------------------------------------- */

/* All machines of --on; the first is separate. */
struct machines {
    struct hypar_machine *first, *other[MAX_FIXES];
    int n_others;
};

static enum hypar_status read_machines(const struct args *args, struct machines *machines,
                                       struct hypar_error *err)
{
    const struct text_list *others = &args->other_machines;
    enum hypar_status status = hypar_machine_read(&machines->first, args->machine, err);
    while (status == HYPAR_OK && machines->n_others < others->n) {
        int i = machines->n_others;
        status = hypar_machine_read(&machines->other[i], others->text[i], err);
        machines->n_others += status == HYPAR_OK;
    }
    return status;
}

static void free_machines(struct machines *machines)
{
    hypar_machine_free(machines->first);
    for (int i = 0; i < machines->n_others; i++)
        hypar_machine_free(machines->other[i]);
}

/* Choices of one batch ------------------------------------------------------------------- */

static const char *option_of_simulation(const struct args *args)
{
    return args->as ? "as" : args->all_reduce ? "all-reduce" : NULL;
}

static enum hypar_status resolve_cost(const struct args *args,
                                      const struct hypar_machine *machine,
                                      struct hypar_explore_options *how,
                                      struct hypar_error *err)
{
    how->cost = hypar_explore_cost(how, machine);
    if (option_of_simulation(args) && how->cost != HYPAR_COST_SIMULATED)
        return opt_usage(err, "explore: --%s is of simulated steps, expected --cost simulated",
                         option_of_simulation(args));
    return HYPAR_OK;
}

static enum hypar_status explore(const struct args *args, struct hypar_error *err)
{
    struct hypar_explore_options how;
    struct hypar_sim_options simulation;
    struct hypar_profile *profile = NULL;
    struct hypar_graph *graph = NULL;
    struct machines machines = { 0 };
    struct hypar_exploration *found = NULL;
    enum hypar_status status = read_options(args, &how, err);
    if (status == HYPAR_OK)
        status = read_machines(args, &machines, err);
    if (status == HYPAR_OK)
        status = check_varies(args, err);
    how.others = (const struct hypar_machine *const *)machines.other;
    how.other_names = args->other_machines.text;
    how.n_others = machines.n_others;
    if (status == HYPAR_OK)
        status = resolve_cost(args, machines.first, &how, err);
    if (status == HYPAR_OK && how.cost == HYPAR_COST_SIMULATED) {
        status = opt_simulation(args, &simulation, &profile, err);
        how.simulation = &simulation;
    }
    if (status == HYPAR_OK)
        status = opt_import(args, &graph, err);
    if (status == HYPAR_OK) {
        opt_note_precision(args, machines.first, how.precision);
        how.stop = opt_stop_on_signals();
    }
    if (status == HYPAR_OK)
        status = hypar_explore(&found, graph, machines.first, &how, err);
    opt_end_on_signals();
    if (status == HYPAR_OK && hypar_exploration_info(found).interrupted)
        opt_note_interrupted(args, "only the machines that were done by then are told");
    if (status == HYPAR_OK)
        status = report(&(struct told){ .choices = found }, args, err);
    hypar_exploration_free(found);
    free_machines(&machines);
    hypar_graph_free(graph);
    hypar_profile_free(profile);
    return status;
}

/* Plans ----------------------------------------------------------------------------------- */

static double budget_s(const struct args *args)
{
    enum { DEFAULT_BUDGET_S = 300 };
    return args->budget_s > 0 ? args->budget_s : DEFAULT_BUDGET_S;
}

static enum hypar_status read_with(void *who, int64_t batch, struct hypar_graph **out,
                                   struct hypar_error *err)
{
    struct args *args = who;
    if (batch) /* else there is one, as was said */
        args->batch = batch;
    enum hypar_status status = opt_import(args, out, err);
    args->quiet = true; /* notes are told once */
    return status;
}

static void show_done(void *who, int done, int all)
{
    (void)who;
    fprintf(stderr, "\rhypar: %d of %d points searched and simulated ...\033[K", done, all);
}

static void note_unfinished(const struct args *args, const struct hypar_sweep *plans)
{
    struct hypar_sweep_info info = hypar_sweep_info(plans);
    if (info.n_done == info.n_points)
        return;
    if (opt_out_of_time())
        opt_note(args,
                 "out of time: %d of %d points were searched to the end; --budget gives more",
                 info.n_done, info.n_points);
    opt_note_interrupted(
        args, "points that were not done by then have the best plan so far, or none");
}

/* Name the budget in the error of a search that ended before its first plan. The library's
 * error does not know what stopped the search. */
static void say_out_of_time(const struct args *args, struct hypar_error *err)
{
    char budget[32];
    snprintf(err->text, sizeof err->text,
             "explore: --budget of %s%s was over before the first plan was found, expected a "
             "longer one, a faster planner or a smaller machine",
             hypar_format_quantity(budget, budget_s(args), HYPAR_UNIT_DURATION),
             args->budget_s > 0 ? "" : " (the default)");
}

/* The answer is no if no plan fits anywhere. */
static enum hypar_status judge(const struct hypar_sweep *plans, struct hypar_error *err)
{
    struct hypar_sweep_info info = hypar_sweep_info(plans);
    for (int i = 0; i < info.n_points; i++)
        if (hypar_sweep_point(plans, i)->verdict == HYPAR_SWEPT_FITS)
            return HYPAR_OK;
    snprintf(err->text, sizeof err->text,
             "explore: no plan fits, of any batch on any machine%s",
             info.n_done < info.n_points ? " that was tried" : "");
    return HYPAR_INFEASIBLE;
}

static enum hypar_status search_plans(const struct args *args,
                                      const struct hypar_machine *machine,
                                      struct hypar_sweep_options *how, struct hypar_error *err)
{
    struct args copy = *args; /* with the batch that is read */
    struct hypar_batches batches = { .graph = read_with, .who = &copy };
    struct hypar_sweep *plans;
    bool patience = !args->quiet && isatty(STDERR_FILENO);
    if (patience)
        fputs("hypar: searching and simulating ...\r", stderr);
    how->progress = patience ? show_done : NULL;
    how->search.stop = opt_stop_on_signals();
    opt_stop_after(budget_s(args));
    enum hypar_status status = hypar_sweep(&plans, &batches, machine, how, err);
    opt_end_on_signals();
    if (patience)
        fputs("\r\033[K", stderr);
    if (status == HYPAR_INFEASIBLE && opt_out_of_time())
        say_out_of_time(args, err);
    if (status != HYPAR_OK)
        return status;
    note_unfinished(args, plans);
    status = report(&(struct told){ .plans = plans }, args, err);
    if (status == HYPAR_OK)
        status = judge(plans, err);
    hypar_sweep_free(plans);
    return status;
}

/* Whose plans: of several batches those of auto, as there is nothing else to compare. */
static const char *planners_of(const struct args *args)
{
    return args->planner ? args->planner : args->batches ? "auto" : "hypar,dp";
}

static enum hypar_status sweep(const struct args *args, struct hypar_error *err)
{
    struct hypar_sweep_options how = { .batches = args->batches,
                                       .devices = args->devices,
                                       .topologies = args->topology,
                                       .bandwidths = args->bandwidth,
                                       .sweeps = args->sweep.text,
                                       .n_sweeps = args->sweep.n,
                                       .planners = planners_of(args) };
    struct hypar_sim_options simulation;
    struct hypar_profile *profile = NULL;
    struct machines machines = { 0 };
    how.search.machine = args->machine;
    how.search.memory_bytes = args->memory_bytes;
    how.search.micro_batches = args->micro_batches;
    how.search.target = args->target;
    if (!args->machine)
        return opt_usage(err, "explore: missing --on MACHINE; see 'hypar explore --help'");
    if (args->batches && strcmp(args->operand[0], "-") == 0)
        return opt_usage(err, "explore: several batches need a model that can be read several "
                              "times, expected a file or a word");
    enum hypar_status status = opt_choices(args, &how.search, err);
    if (status == HYPAR_OK)
        status = opt_simulation(args, &simulation, &profile, err);
    how.search.simulation = &simulation;
    how.search.profile = profile;
    if (status == HYPAR_OK)
        status = read_machines(args, &machines, err);
    if (status == HYPAR_OK && !args->planner)
        status = check_varies(args, err);
    how.others = (const struct hypar_machine *const *)machines.other;
    how.other_names = args->other_machines.text;
    how.n_others = machines.n_others;
    if (status == HYPAR_OK) {
        if (args->target)
            opt_take_defaults(args, machines.first, &how.search);
        opt_note_precision(args, machines.first, how.search.precision);
        status = search_plans(args, machines.first, &how, err);
    }
    free_machines(&machines);
    hypar_profile_free(profile);
    return status;
}

/* An option that is given and that is of the other kind of exploration; NULL: none. */
static const char *option_of_choices(const struct args *args)
{
    return args->levels   ? "levels"
           : args->layers ? "layers"
           : args->fix.n  ? "fix"
           : args->mark   ? "mark"
           : args->joint  ? "joint"
           : args->cost   ? "cost"
                          : NULL;
}

static const char *option_of_plans(const struct args *args)
{
    return args->memory_bytes > 0 ? "memory"
           : args->micro_batches  ? "micro-batches"
           : args->dropout_masks  ? "dropout-masks"
           : args->recompute      ? "recompute"
           : args->shard          ? "shard"
           : args->target         ? "for"
           : args->budget_s > 0   ? "budget"
                                  : NULL;
}

/* Options alone say whether choices or plans are explored, never the names of planners. */
static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    const char *of_choices = option_of_choices(args), *of_plans = option_of_plans(args);
    if (of_choices && args->batches)
        return opt_usage(err, "explore: --%s is of choices level by level, expected one batch",
                         of_choices);
    if (of_choices && of_plans)
        return opt_usage(err,
                         "explore: --%s is of whole plans and --%s of choices level by level, "
                         "expected one of them",
                         of_plans, of_choices);
    return of_choices ? explore(args, err) : sweep(args, err);
}

const struct command cmd_explore = {
    .name = "explore",
    .operands = "MODEL --on MACHINE",
    .min_operands = 1,
    .max_operands = 1,
    .operand_word = opt_model_word,
    .summary = "sweep batches, devices, parallelisms, topologies, bandwidths",
    .doc =
        "Search for the plan of each planner for MODEL, for every batch on every machine, "
        "simulate the plan, and name the fastest: MACHINE in other sizes, topologies and "
        "bandwidths, with other figures, or compared with other machines. Or, with --levels, "
        "--layers, --fix, --mark, --joint or --cost, evaluate choices level by level, and show "
        "the best choice and the ranks of the planners' own choices. A choice is a digit for "
        "each weighted layer at each level: 0 dp (type I), 1 mp (type II), 2 type III.",
    .options = options,
    .takes_batches = true,
    .takes_machines = true,
    .run = run,
};
