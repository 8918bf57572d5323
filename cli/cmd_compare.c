#include "cli/opt.h"

#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0, "machine to plan for: a word such as torus:4x4, or a file",
      0 },
    { "planner", OPT_PLANNER, "LIST", 0, "planners to compare: dp,hypar (all but auto)", 0 },
    { "batch", OPT_BATCH, "N", 0, "samples in one training step (as the model says)", 0 },
    { "batch-dim", OPT_BATCH_DIM, "NAME=DIM", 0,
      "ONNX: the dimension of input NAME with the samples (0)", 0 },
    { "dim", OPT_DIM, "NAME=N", 0, "ONNX: size of the symbolic dimension NAME", 0 },
    { "joint", OPT_JOINT, NULL, 0, "hypar, accpar: choose all levels at once, not from the top",
      0 },
    { "memory", OPT_MEMORY, "BYTES", 0, "limit per device, such as 16GB (the device's own)",
      0 },
    { "precision", OPT_PRECISION, "NAME", 0, "fp32, bf16 or fp64 (fp32)", 0 },
    { "optimizer", OPT_OPTIMIZER, "NAME", 0, "sgd, momentum or adam (sgd)", 0 },
    { "seed", OPT_SEED, "N", 0, "of planners that draw random numbers (0)", 0 },
    { "budget", OPT_BUDGET, "SECONDS", 0, "flexflow: search no longer than that", 0 },
    { "proposals", OPT_PROPOSALS, "N", 0, "flexflow: so many (until it finds no more)", 0 },
    OPT_SIMULATION_ROWS,
    { "csv", OPT_CSV, "FILE", 0, "write the table to FILE", 0 },
    { 0 },
};

enum { MAX_PLANNERS = 32, NAME_BYTES = 64 };

/* The rows, and what their texts are kept in. */
struct table {
    int n;
    struct hypar_compared row[MAX_PLANNERS];
    char name[MAX_PLANNERS][NAME_BYTES];
    struct hypar_error why[MAX_PLANNERS];
};

static enum hypar_status add_planner(struct table *table, const char *name, size_t length,
                                     struct hypar_error *err)
{
    if (table->n == MAX_PLANNERS)
        return opt_usage(err, "--planner: more than %d planners", MAX_PLANNERS);
    if (length >= NAME_BYTES)
        length = NAME_BYTES - 1; /* no planner has such a name */
    memcpy(table->name[table->n], name, length);
    table->row[table->n].planner = table->name[table->n];
    table->n++;
    return HYPAR_OK;
}

/* Those of a list, or all that there are; not the yardstick, which only small problems have. */
static enum hypar_status list_planners(struct table *table, const char *list,
                                       struct hypar_error *err)
{
    const struct hypar_planner_info *info;
    enum hypar_status status = HYPAR_OK;
    for (int i = 0; !list && status == HYPAR_OK && (info = hypar_planner(i)); i++)
        if (strcmp(info->name, "auto") != 0 && strcmp(info->name, "exhaustive") != 0)
            status = add_planner(table, info->name, strlen(info->name), err);
    while (list && status == HYPAR_OK) {
        size_t n = strcspn(list, ",");
        status = add_planner(table, list, n, err);
        list = list[n] ? list + n + 1 : NULL;
    }
    return status;
}

/* The reason without the name of the planner, which stands in front of the row. */
static const char *reason(const char *text, const char *planner)
{
    size_t n = strlen(planner);
    return strncmp(text, planner, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2
                                                                             : text;
}

/* The step of what was found. A plan so large that the search left it alone is simulated here:
 * to compare is what was asked for. */
static enum hypar_status simulate(struct hypar_compared *row, const struct hypar_found *found,
                                  const struct hypar_search_options *how,
                                  struct hypar_error *why)
{
    const struct hypar_simulated *simulated = hypar_found_simulated(found);
    struct hypar_simulated here;
    struct hypar_sim *sim = NULL;
    enum hypar_status status = HYPAR_OK;
    if (!simulated) {
        status = hypar_simulate(&sim, hypar_found_plan(found), how->simulation, why);
        simulated = &here;
    }
    if (sim)
        hypar_sum_up(sim, how->memory_bytes, &here);
    if (status == HYPAR_OK) {
        row->step = simulated->step;
        row->fits = row->step.fits;
    }
    hypar_sim_free(sim);
    return status;
}

/* Search and simulate. HYPAR_USAGE for an unknown planner; any other failure is told in the
 * row. */
static enum hypar_status evaluate(struct hypar_compared *row, struct hypar_error *why,
                                  const struct hypar_graph *graph,
                                  const struct hypar_machine *machine,
                                  const struct hypar_search_options *how)
{
    struct hypar_found *found;
    enum hypar_status status = hypar_search(&found, graph, machine, how, why);
    if (status == HYPAR_OK) {
        struct hypar_search_info info = hypar_found_info(found);
        row->search_s = info.seconds;
        row->evaluated = info.evaluated;
        row->delayed =
            hypar_plan_schedule(hypar_found_plan(found)).kind == HYPAR_SCHEDULE_PIPEDREAM;
        status = simulate(row, found, how, why);
    }
    row->why = status == HYPAR_OK ? NULL : reason(why->text, row->planner);
    hypar_found_free(found);
    return status;
}

/* The step of data parallelism, which is looked at whether it fits or not. */
static double dp_step_s(const struct table *table, const struct hypar_graph *graph,
                        const struct hypar_machine *machine,
                        const struct hypar_search_options *how)
{
    for (int i = 0; i < table->n; i++)
        if (strcmp(table->name[i], "dp") == 0 && !table->row[i].why)
            return table->row[i].step.step_s;
    struct hypar_search_options plain = *how;
    struct hypar_compared dp = { .planner = "dp" };
    struct hypar_error why;
    plain.planner = "dp";
    plain.unlimited = true;
    return evaluate(&dp, &why, graph, machine, &plain) == HYPAR_OK ? dp.step.step_s : 0;
}

/* A profile that tells nothing about any plan. */
static void note_profile(const struct args *args, const struct table *table)
{
    const struct hypar_sim_measured *none = NULL;
    for (int i = 0; i < table->n; i++) {
        const struct hypar_sim_measured *m = &table->row[i].step.measured;
        if (table->row[i].why)
            continue;
        if (m->measured || m->calibrated)
            return;
        none = m;
    }
    if (none)
        opt_note_profile(args, none);
}

static enum hypar_status write_csv(const struct hypar_comparison *comparison, const char *path,
                                   struct hypar_error *err)
{
    struct hypar_output out;
    enum hypar_status status = opt_open(&out, path, err);
    if (status != HYPAR_OK)
        return status;
    hypar_report_comparison_csv(out.file, comparison);
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status report(const struct args *args,
                                const struct hypar_comparison *comparison,
                                struct hypar_error *err)
{
    struct hypar_output out;
    enum hypar_status status = HYPAR_OK;
    if (args->csv)
        status = write_csv(comparison, args->csv, err);
    if (status != HYPAR_OK || (args->csv && strcmp(args->csv, "-") == 0 && !args->output))
        return status;
    status = opt_open(&out, opt_output(args), err);
    if (status != HYPAR_OK)
        return status;
    hypar_report_comparison(out.file, comparison, opt_format(args));
    return opt_close(&out, HYPAR_OK, err);
}

/* Planner by planner; on a terminal one sees which. */
static enum hypar_status compare(const struct args *args, const struct hypar_graph *graph,
                                 const struct hypar_machine *machine,
                                 struct hypar_search_options *how, struct hypar_error *err)
{
    struct table table = { 0 };
    bool progress = !args->quiet && isatty(STDERR_FILENO);
    char where[NAME_BYTES + 64];
    int n_fit = 0;
    enum hypar_status failed =
        HYPAR_OK; /* of the first that failed for another reason than fit */
    enum hypar_status status = list_planners(&table, args->planner, err);
    for (int i = 0; i < table.n && status == HYPAR_OK; i++) {
        how->planner = table.name[i];
        snprintf(where, sizeof where, "planner %d of %d: %s: ", i + 1, table.n, how->planner);
        how->progress = progress ? opt_show_progress : NULL;
        how->who = where;
        if (progress)
            fprintf(stderr, "\rhypar: %s...\033[K", where);
        status = evaluate(&table.row[i], &table.why[i], graph, machine, how);
        if (status == HYPAR_USAGE || status == HYPAR_RUNTIME) {
            *err = table.why[i];
            break;
        }
        if (status != HYPAR_OK && status != HYPAR_INFEASIBLE && failed == HYPAR_OK) {
            failed = status;
            *err = table.why[i];
        }
        status = HYPAR_OK;
        n_fit += table.row[i].fits;
    }
    if (progress)
        fputs("\r\033[K", stderr);
    if (status != HYPAR_OK)
        return status;
    struct hypar_comparison comparison = { graph, machine,
                                           dp_step_s(&table, graph, machine, how), table.n,
                                           table.row };
    note_profile(args, &table);
    status = report(args, &comparison, err);
    if (status == HYPAR_OK && !n_fit && failed != HYPAR_OK)
        return failed;
    if (status == HYPAR_OK && !n_fit) {
        snprintf(err->text, sizeof err->text,
                 "no planner has a plan for %s that fits this machine",
                 hypar_graph_name(graph));
        status = HYPAR_INFEASIBLE;
    }
    return status;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct hypar_search_options how = { .joint = args->joint,
                                        .memory_bytes = args->memory_bytes,
                                        .seed = args->seed,
                                        .proposals = args->proposals,
                                        .budget_s = args->budget_s };
    struct hypar_sim_options simulation;
    struct hypar_profile *profile = NULL;
    struct hypar_graph *graph = NULL;
    struct hypar_machine *machine = NULL;

    if (!args->machine)
        return opt_usage(err, "compare: missing --on MACHINE; see 'hypar compare --help'");
    enum hypar_status status = opt_choices(args, &how, err);
    if (status == HYPAR_OK)
        status = opt_simulation(args, &simulation, &profile, err);
    how.simulation = &simulation;
    if (status == HYPAR_OK)
        status = opt_import(args, &graph, err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&machine, args->machine, err);
    if (status == HYPAR_OK)
        status = compare(args, graph, machine, &how, err);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    hypar_profile_free(profile);
    return status;
}

const struct command cmd_compare = {
    .name = "compare",
    .operands = "MODEL --on MACHINE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "every planner side by side, simulated",
    .doc =
        "Let every planner split MODEL over MACHINE, simulate one training step of each plan, "
        "and show them in one table: time, speed-up over data parallel, bytes sent, memory "
        "of the fullest device, energy, and how long the search took. The best of each "
        "column is marked.",
    .options = options,
    .run = run,
};
