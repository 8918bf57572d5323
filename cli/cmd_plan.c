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
    { "seed", OPT_SEED, "N", 0, "of planners that draw random numbers (0)", 0 },
    { "axes", OPT_AXES, "LETTERS", 0,
      "optcnn: what may be divided, of n, k, h, w, t and c (nkhw)", 0 },
    { "sync", OPT_SYNC, "HOW", 0,
      "optcnn: gradients by all-reduce, or server: as its paper has it (all-reduce)", 0 },
    { "profile", OPT_PROFILE, "FILE", 0, "optcnn: measured times, where FILE has them", 0 },
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

/* A plan names its model file relative to itself: `model` as seen from the folder of the plan.
 */
static const char *model_text(const struct args *args, char text[2 * PATH_MAX])
{
    char model[PATH_MAX], folder[PATH_MAX];
    const char *end = strrchr(args->operand[0], '.');
    bool is_path = strchr(args->operand[0], '/') || (end && strcmp(end, ".json") == 0);
    if (!is_path || !args->output || strcmp(args->output, "-") == 0 ||
        access(args->operand[0], R_OK) != 0 || !realpath(args->operand[0], model) ||
        !folder_of(args->output, folder))
        return args->operand[0];
    size_t same = 0; /* what both begin with, up to a slash */
    for (size_t i = 0; model[i] && (model[i] == folder[i] || (!folder[i] && model[i] == '/'));
         i++) {
        if (model[i] == '/')
            same = i;
        if (!folder[i])
            break;
    }
    int n = 0;
    for (const char *p = folder + same; *p; p++) /* one step up for each folder below that */
        if (*p == '/' && p[1])
            n += snprintf(text + n, (size_t)(2 * PATH_MAX - n), "../");
    snprintf(text + n, (size_t)(2 * PATH_MAX - n), "%s%s", n ? "" : "./", model + same + 1);
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

/* Search, and beside what was found show the simple planners. */
static enum hypar_status search(const struct args *args, const struct hypar_graph *graph,
                                const struct hypar_machine *machine,
                                struct hypar_search_options *how, struct hypar_error *err)
{
    static const char *const simple[] = { "dp", "mp", "owt" };
    struct hypar_found *found, *others[3] = { NULL };
    int n_others = 0;
    bool patience = how->joint && !args->quiet && isatty(STDERR_FILENO);
    if (patience) /* seconds for large networks on many devices */
        fputs("hypar: weighing all levels at once ...\r", stderr);
    enum hypar_status status = hypar_search(&found, graph, machine, how, err);
    if (patience)
        fputs("\033[K", stderr);
    if (status != HYPAR_OK)
        return status;
    if (args->output)
        status = write_plan(hypar_found_plan(found), args->output, err);
    if (status == HYPAR_OK && opt_wants_summary(args)) {
        struct hypar_search_options plain = *how;
        for (int i = 0; i < 3 && !args->json; i++) {
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

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    char text[2 * PATH_MAX];
    struct hypar_import_options import = { .batch = args->batch };
    struct hypar_search_options how = { .planner = args->planner,
                                        .joint = args->joint,
                                        .memory_bytes = args->memory_bytes,
                                        .seed = args->seed };
    struct hypar_graph *graph = NULL;
    struct hypar_machine *machine = NULL;
    struct hypar_profile *profile = NULL;

    if (!args->machine)
        return opt_usage(err, "plan: missing --on MACHINE; see 'hypar plan --help'");
    if (args->output && strcmp(args->operand[0], "-") == 0)
        return opt_usage(err,
                         "plan: a plan cannot name a model read from standard input, expected "
                         "a file");
    enum hypar_status status = opt_choices(args, &how, err);
    if (status != HYPAR_OK)
        return status;
    how.model = model_text(args, text);
    status = hypar_import(&graph, args->operand[0], &import, err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&machine, args->machine, err);
    if (status == HYPAR_OK && args->profile)
        status = hypar_profile_read(&profile, args->profile, err);
    if (status == HYPAR_OK) {
        how.profile = profile;
        how.machine = hypar_machine_word(machine); /* a file's machine is written out whole */
        status = search(args, graph, machine, &how, err);
    }
    hypar_profile_free(profile);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return status;
}

const struct command cmd_plan = {
    .name = "plan",
    .operands = "MODEL --on MACHINE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "find how to split a model over a machine",
    .doc = "Find how to split every operator of MODEL over the devices of MACHINE. Shows each "
           "weighted layer's choice at each level of the machine, and what is exchanged there, "
           "beside data parallel, model parallel and one weird trick; of optcnn, how each "
           "layer is "
           "divided and what its cost is made of. -o writes the plan.",
    .options = options,
    .run = run,
};
