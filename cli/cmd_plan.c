#define _XOPEN_SOURCE 700 /* realpath */

#include "cli/opt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0, "machine to plan for: a word such as torus:4x4, or a file",
      0 },
    { "planner", OPT_PLANNER, "NAME", 0, "search algorithm ('hypar planners' lists them; auto)",
      0 },
    { "batch", OPT_BATCH, "N", 0, "samples in one training step (what the model says)", 0 },
    { "joint", OPT_JOINT, NULL, 0, "hypar, accpar: choose all levels at once, not from the top",
      0 },
    { "memory", OPT_MEMORY, "BYTES", 0, "limit per device, such as 16GB (the device's own)",
      0 },
    { "objective", OPT_OBJECTIVE, "WHAT", 0, "time, comm or energy: what auto looks at (time)",
      0 },
    { "precision", OPT_PRECISION, "NAME", 0, "fp32, bf16 or fp64 (fp32)", 0 },
    { "optimizer", OPT_OPTIMIZER, "NAME", 0, "sgd, momentum or adam (sgd)", 0 },
    { "recurrence", OPT_RECURRENCE, "WHICH", 0,
      "pipedream: code or paper, whose formulas (code)", 0 },
    { "straight", OPT_STRAIGHT, NULL, 0, "pipedream: every stage on one device", 0 },
    { "use-fewer", OPT_USE_FEWER, NULL, 0, "pipedream: devices may be left over", 0 },
    { "free-transfers", OPT_FREE_TRANSFERS, NULL, 0,
      "pipedream: what goes from stage to stage costs nothing", 0 },
    { "vertical-sync", OPT_VERTICAL_SYNC, NULL, 0,
      "pipedream: one version of the weights for a minibatch", 0 },
    { "stages", OPT_STAGES, "N", 0, "gpipe, 1f1b: so many stages (the fastest number)", 0 },
    { "micro-batches", OPT_MICRO_BATCHES, "N", 0,
      "gpipe, 1f1b: so many micro-batches (few that are nearly the fastest)", 0 },
    { "start", OPT_START, "PLAN", 0, "flexflow: improve this plan; MODEL and --on as it says",
      0 },
    { "fix", OPT_FIX, "OP:SPLIT", 0,
      "flexflow, exhaustive: keep an operator so, as conv1:n=2,k=2; may be repeated", 0 },
    { "budget", OPT_BUDGET, "SECONDS", 0, "flexflow: search no longer than that", 0 },
    { "proposals", OPT_PROPOSALS, "N", 0, "flexflow: so many (until it finds no more)", 0 },
    { "seed", OPT_SEED, "N", 0, "of planners that draw random numbers (0)", 0 },
    OPT_SIMULATION_ROWS,
    { 0 },
};

/* Whole path of the folder that `path` lies in. */
static bool folder_of(const char *path, char folder[PATH_MAX])
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    char *slash = strrchr(copy, '/');
    if (slash)
        slash[slash == copy] = '\0';
    return realpath(slash ? copy : ".", folder) != NULL;
}

static bool is_path(const char *model)
{
    const char *end = strrchr(model, '.');
    return strchr(model, '/') ||
           (end && (strcmp(end, ".json") == 0 || strcmp(end, ".txt") == 0));
}

/* A plan names its model file relative to itself: `model` as seen from the folder of the plan.
 */
static const char *model_text(const char *model, const char *output, char text[2 * PATH_MAX])
{
    char path[PATH_MAX], folder[PATH_MAX];
    if (!is_path(model) || !output || strcmp(output, "-") == 0 || access(model, R_OK) != 0 ||
        !realpath(model, path) || !folder_of(output, folder))
        return model;
    size_t same = 0; /* what both begin with, up to a slash */
    for (size_t i = 0; path[i] && (path[i] == folder[i] || (!folder[i] && path[i] == '/'));
         i++) {
        if (path[i] == '/')
            same = i;
        if (!folder[i])
            break;
    }
    int n = 0;
    for (const char *p = folder + same; *p; p++) /* one step up for each folder below that */
        if (*p == '/' && p[1])
            n += snprintf(text + n, (size_t)(2 * PATH_MAX - n), "../");
    snprintf(text + n, (size_t)(2 * PATH_MAX - n), "%s%s", n ? "" : "./", path + same + 1);
    return text;
}

/* What a plan at `path` names as its model, as seen from here. */
static const char *model_of(const struct hypar_plan *plan, const char *path,
                            char text[2 * PATH_MAX])
{
    const char *model = hypar_plan_model(plan), *slash = strrchr(path, '/');
    if (!is_path(model) || model[0] == '/' || !slash)
        return model;
    snprintf(text, 2 * PATH_MAX, "%.*s/%s", (int)(slash - path), path, model);
    return text;
}

static enum hypar_status write_plan(const struct hypar_plan *plan, const char *path,
                                    struct hypar_error *err)
{
    struct hypar_output out;
    enum hypar_status status = opt_open(&out, path, err);
    if (status != HYPAR_OK)
        return status;
    hypar_plan_write(plan, out.file);
    return opt_close(&out, HYPAR_OK, err);
}

/* One line on a terminal, written over and over. */
static void show_progress(void *who, const struct hypar_search_progress *p)
{
    char best[32];
    (void)who;
    fprintf(stderr,
            "\rhypar: best step %s; %lld proposals, %.0f a second, %.0f %% accepted\033[K",
            hypar_format_quantity(best, p->best_s, HYPAR_UNIT_SECONDS), (long long)p->proposals,
            p->seconds > 0 ? (double)p->proposals / p->seconds : 0,
            p->proposals ? 100 * (double)p->accepted / (double)p->proposals : 0);
}

/* Search, and beside what was found show the simple planners. */
static enum hypar_status search(const struct args *args, const struct hypar_graph *graph,
                                const struct hypar_machine *machine,
                                struct hypar_search_options *how, struct hypar_error *err)
{
    static const char *const simple[] = { "dp", "mp", "owt" };
    struct hypar_found *found, *others[3] = { NULL };
    int n_others = 0;
    bool terminal = !args->quiet && isatty(STDERR_FILENO);
    bool patience = how->joint && terminal;
    how->progress = terminal ? show_progress : NULL;
    if (patience) /* seconds for large networks on many devices */
        fputs("hypar: weighing all levels at once ...\r", stderr);
    enum hypar_status status = hypar_search(&found, graph, machine, how, err);
    if (terminal)
        fputs("\r\033[K", stderr);
    if (status != HYPAR_OK)
        return status;
    if (args->output)
        status = write_plan(hypar_found_plan(found), args->output, err);
    if (status == HYPAR_OK && opt_wants_summary(args)) {
        struct hypar_search_options plain = *how;
        plain.start = NULL;
        plain.n_fix = 0;
        bool beside = !args->json && hypar_found_partition(found);
        for (int i = 0; i < 3 && beside; i++) {
            plain.planner = simple[i];
            plain.memory_bytes = 1e300; /* to be looked at, whether it fits or not */
            if (strcmp(simple[i], hypar_found_info(found).planner) == 0)
                continue;
            if (hypar_search(&others[n_others], graph, machine, &plain, err) == HYPAR_OK)
                n_others++;
            else if (!args->quiet)
                fprintf(stderr, "hypar: note: nothing to compare with: %s\n", err->text);
        }
        hypar_report_found(stdout, found, (const struct hypar_found *const *)others, n_others,
                           opt_format(args));
    }
    for (int i = 0; i < n_others; i++)
        hypar_found_free(others[i]);
    hypar_found_free(found);
    return status;
}

/* The model and the machine that the command line names. */
static enum hypar_status plan_anew(const struct args *args, struct hypar_search_options *how,
                                   struct hypar_error *err)
{
    char text[2 * PATH_MAX];
    struct hypar_import_options import = { .batch = args->batch };
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
    how->model = model_text(args->operand[0], args->output, text);
    enum hypar_status status = hypar_import(&graph, args->operand[0], &import, err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&machine, args->machine, err);
    if (status == HYPAR_OK) {
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
    struct hypar_plan_read_options read = { .model = args->operand[0],
                                            .machine = args->machine };
    struct hypar_plan *plan;
    if (args->batch)
        return opt_usage(err, "plan: --batch beside --start, whose plan says how large it is");
    enum hypar_status status = hypar_plan_read(&plan, args->start, &read, err);
    if (status != HYPAR_OK)
        return status;
    const char *model = args->n_operands ? args->operand[0] : model_of(plan, args->start, seen);
    how->model = model_text(model, args->output, text);
    how->machine = hypar_machine_word(hypar_plan_machine(plan));
    how->start = plan;
    if (!args->precision)
        how->precision = hypar_plan_precision(plan);
    if (!args->optimizer)
        how->optimizer = hypar_plan_optimizer(plan);
    status = search(args, hypar_plan_graph(plan), hypar_plan_machine(plan), how, err);
    hypar_plan_free(plan);
    return status;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_search_options how = { .planner = args->planner,
                                        .joint = args->joint,
                                        .memory_bytes = args->memory_bytes,
                                        .straight = args->straight,
                                        .use_fewer = args->use_fewer,
                                        .free_transfers = args->free_transfers,
                                        .vertical_sync = args->vertical_sync,
                                        .stages = args->stages,
                                        .micro_batches = args->micro_batches,
                                        .fix = args->fix.text,
                                        .n_fix = args->fix.n,
                                        .proposals = args->proposals,
                                        .budget_s = args->budget_s,
                                        .seed = args->seed };
    struct hypar_sim_options simulation;
    struct hypar_profile *profile;
    enum hypar_status status = opt_choices(args, &how, err);
    if (status != HYPAR_OK)
        return status;
    status = opt_simulation(args, &simulation, &profile, err);
    how.simulation = &simulation;
    if (status == HYPAR_OK)
        status = args->start ? plan_from(args, &how, err) : plan_anew(args, &how, err);
    hypar_profile_free(profile);
    return status;
}

const struct command cmd_plan = {
    .name = "plan",
    .operands = "MODEL --on MACHINE",
    .max_operands = 1,
    .summary = "find how to split a model over a machine",
    .doc =
        "Find how to split every operator of MODEL over the devices of MACHINE. Shows each "
        "weighted layer's choice at each level of the machine, and what is exchanged there, "
        "beside data parallel, model parallel and one weird trick; of a pipeline, its stages; "
        "of a plan that was found by simulating, how every operator is split. -o writes the "
        "plan.",
    .options = options,
    .run = run,
};
