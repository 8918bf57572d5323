#define _XOPEN_SOURCE 700 /* realpath */

#include "cli/opt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0, "machine to plan for: a word such as torus:4x4, or a file",
      0 },
    { "planner", OPT_PLANNER, "NAME", 0,
      "search algorithm ('hypar planners' lists them; ./mine.so is loaded; auto,./mine.so: "
      "auto also tries it; auto)",
      0 },
    { "planner-option", OPT_PLANNER_OPTION, "NAME=VALUE", 0,
      "option of a loaded planner; may be repeated", 0 },
    OPT_FOR_ROW,
    { "batch", OPT_BATCH, "N", 0,
      "samples in one training step; max: as many as fit (as the model says)", 0 },
    OPT_MODEL_ROWS,
    { "joint", OPT_JOINT, NULL, 0, "hypar, accpar: choose all levels at once, not from the top",
      0 },
    { "memory", OPT_MEMORY, "BYTES", 0, "limit per device, such as 16GB (the device's own)",
      0 },
    { "objective", OPT_OBJECTIVE, "WHAT", 0,
      "time, comm or energy: the figure that auto minimises (time)", 0 },
    OPT_NUMBERS_ROWS,
    OPT_DROPOUT_MASKS_ROW,
    OPT_CLIP_ROW,
    OPT_RECOMPUTE_ROW,
    OPT_SHARD_ROW,
    OPT_SHARD_OVER_ROW,
    OPT_FREEZE_ROW,
    { "recurrence", OPT_RECURRENCE, "WHICH", 0,
      "pipedream: formulas of the published code or of the paper (code)", 0 },
    { "straight", OPT_STRAIGHT, NULL, 0, "pipedream: every stage on one device", 0 },
    { "use-fewer", OPT_USE_FEWER, NULL, 0, "pipedream: some devices may stay idle", 0 },
    { "free-transfers", OPT_FREE_TRANSFERS, NULL, 0,
      "pipedream: transfers between stages cost nothing", 0 },
    { "vertical-sync", OPT_VERTICAL_SYNC, NULL, 0,
      "pipedream: one version of the weights for each minibatch", 0 },
    { "stages", OPT_STAGES, "N", 0, "pipelines: number of stages (the fastest number)", 0 },
    { "micro-batches", OPT_MICRO_BATCHES, "N", 0,
      "number of micro-batches (pipelines: the fastest number, else 1)", 0 },
    { "data", OPT_DATA_DEGREE, "N", 0, "3d: number of replicas (the fastest number)", 0 },
    { "tensor", OPT_TENSOR, "N", 0, "3d: number of parts of each layer (the fastest number)",
      0 },
    { "pipeline", OPT_PIPELINE, "N", 0,
      "3d: number of groups of devices for stages (the fastest number)", 0 },
    { "chunks", OPT_CHUNKS, "N", 0, "3d: number of stages on each group (1)", 0 },
    { "schedule", OPT_SCHEDULE, "NAME", 0,
      "3d, hybrid: schedule of the micro-batches (the fastest)", 0 },
    { "sequence-parallel", OPT_SEQUENCE_PARALLEL, NULL, 0,
      "3d, hybrid: split operators between layers by sequence instead of copying them", 0 },
    { "max-tensor", OPT_MAX_TENSOR, "N", 0, "3d, hybrid: most parts of each layer (any)", 0 },
    { "max-pipeline", OPT_MAX_PIPELINE, "N", 0,
      "pipelines: most groups of devices for stages (any)", 0 },
    { "start", OPT_START, "PLAN", 0,
      "flexflow: improve this plan, for the plan's own model and machine", 0 },
    { "fix", OPT_FIX, "OP:SPLIT", 0,
      "flexflow, exhaustive, hybrid: keep the split of an operator, as conv1:n=2,k=2; may be "
      "repeated",
      0 },
    { "budget", OPT_BUDGET, "TIME", 0,
      "flexflow, auto, own planners that take it: limit of the search, as 30s or 2m", 0 },
    { "proposals", OPT_PROPOSALS, "N", 0,
      "flexflow, auto, own planners that take it: number of proposals (default: until none "
      "improves the plan)",
      0 },
    { "seed", OPT_SEED, "N", 0, "seed of planners that draw random numbers (0)", 0 },
    { "axes", OPT_AXES, "LETTERS", 0,
      "optcnn: axes that may be split, of n, k, h, w, t and c (nkhw)", 0 },
    { "sync", OPT_SYNC, "HOW", 0,
      "optcnn: sum gradients by all-reduce, or by server as in its paper (all-reduce)", 0 },
    { "svg", OPT_SVG, "FILE", 0, "write a picture of the plan to FILE", 0 },
    { "csv", OPT_CSV, "FILE", 0, "write a table of its operators to FILE", 0 },
    OPT_SIMULATION_ROWS,
    { 0 },
};

/* Whole path of the folder of a plan at `path`, to which the plan's model file is relative;
 * false: `path` has no folder. */
static bool whole_folder(const char *path, char whole[PATH_MAX])
{
    char folder[HYPAR_PLACE_BYTES];
    return hypar_file_folder(path, folder) &&
           hypar_or_out_of_memory(realpath(*folder ? folder : ".", whole));
}

/* The path of the file at `given` relative to the plan's folder; false: there is no such path.
 */
static bool from_folder(const char *given, const char *plan, char *text, size_t size)
{
    char model[PATH_MAX], folder[PATH_MAX];
    if (access(given, R_OK) != 0 || !hypar_or_out_of_memory(realpath(given, model)) ||
        !whole_folder(plan, folder))
        return false;
    size_t same = 0; /* what both begin with, up to a slash */
    for (size_t i = 0; model[i] && (model[i] == folder[i] || (!folder[i] && model[i] == '/'));
         i++) {
        if (model[i] == '/')
            same = i;
        if (!folder[i])
            break;
    }
    size_t n = 0;
    for (const char *p = folder + same; *p; p++) /* one step up for each folder below that */
        if (*p == '/' && p[1])
            n += (size_t)snprintf(text + n, size - n, "../");
    snprintf(text + n, size - n, "%s%s", n ? "" : "./", model + same + 1);
    return true;
}

/* ":batch-dim=x=1,dim=seq=128": the options with which a plan's ONNX file is read again. */
static void add_list(char *text, size_t size, const char *what, const char *list)
{
    while (*list) {
        size_t n = strlen(text), length = strcspn(list, ",");
        bool first = hypar_model_path_length(text) == n;
        snprintf(text + n, size - n, "%c%s=%.*s", first ? ':' : ',', what, (int)length, list);
        list += length + (list[length] == ',');
    }
}

/* A plan file names its model file relative to its own folder, with the options of reading. A
 * plan on standard output names the model as the command line does. */
static const char *model_text(const struct args *args, const char *given, char *text,
                              size_t size)
{
    char path[PATH_MAX];
    size_t length = hypar_model_path_length(given);
    if (!hypar_model_is_path(given))
        return given;
    snprintf(path, sizeof path, "%.*s", length < PATH_MAX ? (int)length : PATH_MAX - 1, given);
    if (!from_folder(path, opt_output(args), text, size))
        snprintf(text, size, "%s", path);
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%s", given + length);
    add_list(text, size, "batch-dim", args->batch_dims);
    add_list(text, size, "dim", args->dims);
    return text;
}

/* The model of a plan at `path`, relative to the current folder. */
static const char *model_of(const struct hypar_plan *plan, const char *path, char *text,
                            size_t size)
{
    const char *model = hypar_plan_model(plan);
    char folder[PATH_MAX];
    if (!hypar_model_is_path(model) || model[0] == '/' || !whole_folder(path, folder))
        return model;
    snprintf(text, size, "%s/%s", folder, model);
    return text;
}

static enum hypar_status write_plan(const struct hypar_found *found, const char *path,
                                    enum hypar_format format, struct hypar_error *err)
{
    const struct hypar_simulated *simulated = hypar_found_simulated(found);
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    hypar_report_plan(out.file, hypar_found_plan(found), simulated ? &simulated->step : NULL,
                      format);
    return opt_close(&out, HYPAR_OK, err);
}

/* What was found, beside the simple planners. */
static void report(const struct args *args, const struct hypar_graph *graph,
                   const struct hypar_machine *machine, const struct hypar_search_options *how,
                   const struct hypar_found *found)
{
    enum { MOST = 8 };
    const struct hypar_planner_info *info;
    struct hypar_found *others[MOST] = { NULL };
    struct hypar_search_options plain = *how;
    bool beside =
        !args->json && hypar_found_partition(found) && !hypar_found_info(found).interrupted;
    int n_others = 0;
    plain.stop = NULL;
    plain.unlimited = true;            /* to be looked at, whether it fits or not */
    if (!hypar_found_simulated(found)) /* as that takes long, or cannot be done */
        plain.simulation = NULL;
    for (int i = 0; beside && n_others < MOST && (info = hypar_planner(i)); i++) {
        struct hypar_search_options own = plain;
        own.planner = info->name;
        hypar_keep_options(&own, info->name);
        if (!info->simple || strcmp(info->name, hypar_found_info(found).planner) == 0)
            continue;
        if (hypar_search(&others[n_others], graph, machine, &own, NULL) == HYPAR_OK)
            n_others++;
    }
    hypar_report_found(stdout, found, (const struct hypar_found *const *)others, n_others,
                       opt_format(args));
    for (int i = 0; i < n_others; i++)
        hypar_found_free(others[i]);
}

/* A plan that does not fit is written and reported like any other, as a baseline often is one:
 * the answer is no. */
static enum hypar_status judge(const struct args *args, const struct hypar_found *found,
                               struct hypar_error *err)
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    const struct hypar_plan *plan = hypar_found_plan(found);
    bool named = args->planner && !hypar_planner_find(args->planner)->tries_others;
    bool interrupted = hypar_found_info(found).interrupted;
    struct hypar_error why;
    struct hypar_partial_step part = hypar_found_info(found).part;
    if (!s && !(part.step_s > 0))
        return HYPAR_OK;
    enum hypar_status status =
        hypar_check_fullest(plan, s ? &s->fullest : &part.fullest,
                            s ? s->step.fullest_device : part.fullest_device, &why);
    if (status == HYPAR_OK)
        return HYPAR_OK;
    snprintf(err->text, sizeof err->text, "%s: %.200s",
             interrupted ? "the plan so far does not fit"
             : named     ? "the plan does not fit"
                         : "no plan fits; in the plan shown",
             why.text);
    err->cause = why.cause;
    return status;
}

/* Note if --profile was not used. Of the closed forms only optcnn's uses measured times. */
static void note_profile(const struct args *args, const struct hypar_found *found)
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    if (s)
        opt_note_profile(args, &s->step.measured);
    else if (args->profile && !hypar_found_layerwise(found))
        opt_note(args, "%s: not used, as the plan was not simulated", args->profile);
}

/* auto refuses in one line. Point to --planner NAME, which prints the reason of each planner.
 */
static void point_at_reasons(const struct hypar_refusals *refusals, struct hypar_error *err)
{
    size_t n = strlen(err->text);
    if (refusals->n > 1)
        snprintf(err->text + n, sizeof err->text - n, "; --planner NAME tells why of each");
}

/* Say what would make the plan fit, if memory is the reason. */
static void add_remedy(const struct hypar_graph *graph, const struct hypar_machine *machine,
                       const struct hypar_search_options *how, struct hypar_error *err)
{
    size_t n = strlen(err->text);
    char remedy[200];
    if (err->cause != HYPAR_CAUSE_MEMORY)
        return;
    hypar_memory_remedy(remedy, sizeof remedy, graph, machine, how);
    if (*remedy)
        snprintf(err->text + n, sizeof err->text - n, "; %s", remedy);
}

/* --batch max: a model that is read with one batch after another. */
struct largest {
    struct args args; /* with the batch */
    bool patience;
};

static enum hypar_status read_with(void *who, int64_t batch, struct hypar_graph **out,
                                   struct hypar_error *err)
{
    struct largest *l = who;
    l->args.batch = batch;
    enum hypar_status status = opt_import(&l->args, out, err);
    l->args.quiet = true; /* notes are told once */
    return status;
}

static void show_tried(void *who, int64_t batch, bool fits)
{
    const struct largest *l = who;
    if (l->patience)
        fprintf(stderr, "\rhypar: a batch of %lld %s; searching ...\033[K", (long long)batch,
                fits ? "fits" : "does not fit");
}

/* Find the largest batch that fits; *graph becomes the model with this batch. */
static enum hypar_status search_largest(const struct args *args, struct hypar_graph **graph,
                                        const struct hypar_machine *machine,
                                        const struct hypar_search_options *how,
                                        struct hypar_found **found, struct hypar_error *err)
{
    struct largest largest = { *args, how->progress != NULL };
    struct hypar_batches batches = { read_with, show_tried, &largest };
    return hypar_search_largest(found, graph, machine, how, &batches, err);
}

/* Note that the search, or the simulation of its plan, was interrupted. */
static void note_interrupted(const struct args *args, const struct hypar_found *found)
{
    struct hypar_search_info info = hypar_found_info(found);
    if (opt_out_of_time())
        opt_note(args, "out of time: the plan is the best so far; --budget gives more");
    else if (info.interrupted)
        opt_note_interrupted(args, "the plan is the best so far");
    else if (!hypar_found_simulated(found) && !(info.part.step_s > 0))
        opt_note_interrupted(args, "the plan is whole, but its step is not simulated");
}

/* A planner that runs others starts no further planner after its budget. A running planner is
 * stopped a little later, because some planners keep to the budget by themselves. */
static const double LATER = 1.1;

static bool tries_others(const char *planner)
{
    const struct hypar_planner_info *info = hypar_planner_find(planner ? planner : "auto");
    return info && info->tries_others;
}

/* A planner's refusal begins with the planner's name; auto's begins with the model and the
 * machine, as no single planner refused. */
static enum hypar_status in_problem(const struct args *args, enum hypar_status status,
                                    struct hypar_error *err)
{
    char where[2 * PATH_MAX];
    if (status != HYPAR_INFEASIBLE || !tries_others(args->planner) || args->start)
        return status;
    snprintf(where, sizeof where, "%s on %s",
             opt_is_standard(args->operand[0]) ? "standard input" : args->operand[0],
             opt_is_standard(args->machine) ? "standard input" : args->machine);
    return opt_in_file(where, status, err);
}

/* Without a graph with the largest batch. */
static enum hypar_status search(const struct args *args, const struct hypar_graph *graph,
                                const struct hypar_machine *machine,
                                struct hypar_search_options *how, struct hypar_error *err)
{
    struct hypar_found *found;
    struct hypar_graph *largest = NULL;
    struct hypar_refusals refusals = { 0 };
    bool patience = !args->quiet && isatty(STDERR_FILENO);
    if (patience) /* seconds for large networks on many devices */
        fputs("hypar: searching and simulating ...\r", stderr);
    how->progress = patience ? opt_show_progress : NULL;
    how->who = (char[]){ "" };
    how->refusals = &refusals;
    how->stop = opt_stop_on_signals();
    if (how->budget_s > 0 && tries_others(how->planner))
        opt_stop_after(LATER * how->budget_s);
    enum hypar_status status = graph
                                   ? hypar_search(&found, graph, machine, how, err)
                                   : search_largest(args, &largest, machine, how, &found, err);
    opt_end_on_signals();
    if (patience)
        fputs("\r\033[K", stderr);
    if (status != HYPAR_OK) {
        if (graph)
            add_remedy(graph, machine, how, err);
        point_at_reasons(&refusals, err);
        return refusals.n ? in_problem(args, status, err) : status;
    }
    note_interrupted(args, found);
    if (hypar_found_simulated(found))
        opt_note_unmeasured(args, machine, how->simulation);
    if (args->output)
        status = opt_write_plan(hypar_found_plan(found), args->output, err);
    if (status == HYPAR_OK && args->svg)
        status = write_plan(found, args->svg, HYPAR_SVG, err);
    if (status == HYPAR_OK && args->csv)
        status = write_plan(found, args->csv, HYPAR_CSV, err);
    bool alone = opt_is_standard(args->csv) || opt_is_standard(args->svg);
    if (status == HYPAR_OK && opt_wants_summary(args) && !alone)
        report(args, graph ? graph : largest, machine, how, found);
    note_profile(args, found);
    opt_note_recompute(args, hypar_found_plan(found), how->recompute);
    if (args->json || !opt_wants_summary(args)) /* else the summary tells it */
        opt_note_idle(args, hypar_found_plan(found));
    opt_note_sharding(args, hypar_found_plan(found));
    opt_note_one_stage(args, hypar_found_plan(found));
    opt_note_statistics(args, hypar_found_plan(found));
    if (args->target)
        opt_note_target(args, hypar_found_plan(found), args->target);
    if (status == HYPAR_OK) {
        status = judge(args, found, err);
        if (status != HYPAR_OK && graph)
            add_remedy(graph, machine, how, err);
        status = in_problem(args, status, err);
    }
    hypar_found_free(found);
    hypar_graph_free(largest);
    return status;
}

/* The model and the machine that the command line names. */
static enum hypar_status plan_anew(const struct args *args, struct hypar_search_options *how,
                                   struct hypar_error *err)
{
    char text[2 * PATH_MAX];
    struct hypar_graph *graph = NULL;
    struct hypar_machine *machine = NULL;
    if (!args->n_operands)
        return opt_usage(err, "plan: missing operand MODEL --on MACHINE; see 'hypar plan "
                              "--help'");
    if (!args->machine)
        return opt_usage(err, "plan: missing --on MACHINE; see 'hypar plan --help'");
    if (args->output && strcmp(args->operand[0], "-") == 0)
        return opt_usage(err,
                         "plan: a plan cannot name a model read from standard input, expected "
                         "a file");
    how->model = model_text(args, args->operand[0], text, sizeof text);
    if (args->largest_batch && strcmp(args->operand[0], "-") == 0)
        return opt_usage(err,
                         "plan: --batch max reads the model several times, expected a file "
                         "or a word");
    enum hypar_status status = args->largest_batch ? HYPAR_OK : opt_import(args, &graph, err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&machine, args->machine, err);
    if (status == HYPAR_OK) {
        if (args->target)
            opt_take_defaults(args, machine, how);
        opt_note_precision(args, machine, how->precision);
        how->machine = hypar_machine_word(machine); /* a file's machine is written out whole */
        status = search(args, graph, machine, how, err);
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return status;
}

/* A plan that is there already, with its model and its machine. */
static enum hypar_status plan_from(const struct args *args, struct hypar_search_options *how,
                                   struct hypar_error *err)
{
    char seen[2 * PATH_MAX], text[2 * PATH_MAX];
    struct hypar_plan *plan;
    if (args->batch || args->largest_batch)
        return opt_usage(err, "plan: --batch beside --start, whose plan says how large it is");
    if (*args->freeze)
        return opt_usage(err, "plan: --freeze beside --start, whose plan says what is frozen");
    TRY(opt_read_plan(args, args->start, args->operand[0], &plan, err));
    const char *model =
        args->n_operands ? args->operand[0] : model_of(plan, args->start, seen, sizeof seen);
    how->model = model_text(args, model, text, sizeof text);
    how->machine = hypar_machine_word(hypar_plan_machine(plan));
    how->start = plan;
    struct hypar_sim_options simulation = hypar_as_planned(plan, how->simulation);
    how->simulation = &simulation;
    if (args->clip <= 0)
        how->clip = hypar_plan_settings(plan).clip;
    enum hypar_status status = opt_choices_of(args, plan, how, err);
    if (status == HYPAR_OK)
        status = search(args, hypar_plan_graph(plan), hypar_plan_machine(plan), how, err);
    hypar_plan_free(plan);
    return opt_in_file(args->start, status, err);
}

/* Keep the first name of a list such as auto,./mine.so: auto tries loaded planners, too. */
static enum hypar_status keep_one_planner(struct args *args, struct hypar_error *err)
{
    const char *list = args->planner;
    size_t n = list ? strcspn(list, ",") : 0;
    if (!list || !list[n])
        return HYPAR_OK;
    snprintf(args->planners, sizeof args->planners, "%.*s", (int)n, list);
    args->planner = args->planners;
    const struct hypar_planner_info *info = hypar_planner_find(args->planner);
    if (args->beside && info && info->tries_others)
        return HYPAR_OK;
    return opt_usage(err,
                     "--planner: several, expected one, or auto with files of planners to try, "
                     "as auto,./mine.so; 'hypar compare' lays several side by side");
}

static enum hypar_status plan_with(const struct args *args, struct hypar_error *err)
{
    struct hypar_search_options how = { .planner = args->planner,
                                        .target = args->target,
                                        .joint = args->joint,
                                        .memory_bytes = args->memory_bytes,
                                        .straight = args->straight,
                                        .use_fewer = args->use_fewer,
                                        .free_transfers = args->free_transfers,
                                        .vertical_sync = args->vertical_sync,
                                        .stages = args->stages,
                                        .micro_batches = args->micro_batches,
                                        .max_tensor = (int)args->max_tensor,
                                        .max_pipeline = (int)args->max_pipeline,
                                        .fix = args->fix.text,
                                        .n_fix = args->fix.n,
                                        .planner_option = args->planner_options.text,
                                        .n_planner_options = args->planner_options.n,
                                        .proposals = args->proposals,
                                        .budget_s = args->budget_s,
                                        .clip = args->clip,
                                        .seed = args->seed };
    struct hypar_sim_options simulation;
    struct hypar_profile *profile;
    TRY(opt_choices(args, &how, err));
    enum hypar_status status = opt_simulation(args, &simulation, &profile, err);
    how.simulation = &simulation;
    how.profile = profile;
    if (status == HYPAR_OK)
        status = args->start ? plan_from(args, &how, err) : plan_anew(args, &how, err);
    hypar_profile_free(profile);
    return status;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct args one = *args;
    TRY(keep_one_planner(&one, err));
    return plan_with(&one, err);
}

const struct command cmd_plan = {
    .name = "plan",
    .operands = "MODEL --on MACHINE",
    .max_operands = 1,
    .operand_word = opt_model_word,
    .summary = "find how to split a model over a machine",
    .doc = "Find how to split every operator of MODEL over the devices of MACHINE. Shows each "
           "weighted layer's choice at each level of the machine, and the bytes exchanged "
           "there, compared with data parallel, model parallel and one weird trick; for a "
           "pipeline, its stages; for optcnn, the division of each layer and the terms of its "
           "cost; for a plan found by simulation, the split of every operator; and the "
           "simulated training step. -o writes the plan.",
    .options = options,
    .output_is_plan = true,
    .takes_largest = true,
    .run = run,
};
