#include "cli/compare.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0,
      "machine to plan for: a word such as torus:4x4, or a file; with plans: instead of their "
      "own",
      0 },
    { "model", OPT_MODEL, "MODEL", 0, "use MODEL instead of the plans'", 0 },
    { "planner", OPT_PLANNER, "LIST", 0,
      "planners to compare: dp,hypar (all but auto; with plans: none)", 0 },
    { "planner-option", OPT_PLANNER_OPTION, "NAME=VALUE", 0,
      "option of a loaded planner; may be repeated", 0 },
    OPT_FOR_ROW,
    { "batch", OPT_BATCH, "N", 0, "samples in one training step (as the model says)", 0 },
    OPT_MODEL_ROWS,
    { "joint", OPT_JOINT, NULL, 0, "hypar, accpar: choose all levels at once, not from the top",
      0 },
    { "memory", OPT_MEMORY, "BYTES", 0, "limit per device, such as 16GB (the device's own)",
      0 },
    OPT_NUMBERS_ROWS,
    OPT_RECOMPUTE_ROW,
    OPT_DROPOUT_MASKS_ROW,
    OPT_SHARD_ROW,
    OPT_SHARD_OVER_ROW,
    { "seed", OPT_SEED, "N", 0, "seed of planners that draw random numbers (0)", 0 },
    { "budget", OPT_BUDGET, "TIME", 0,
      "flexflow, auto, own planners that take it: limit of the search, as 30s or 2m", 0 },
    { "proposals", OPT_PROPOSALS, "N", 0,
      "flexflow, auto, own planners that take it: number of proposals (default: until none "
      "improves the plan)",
      0 },
    OPT_SIMULATION_ROWS,
    { "csv", OPT_CSV, "FILE", 0, "write the table to FILE", 0 },
    { "svg", OPT_SVG, "FILE", 0, "write a picture of the steps to FILE", 0 },
    { "measured", OPT_MEASURED_TRACE, "TRACE", 0,
      "compare one plan's simulated step with the trace of 'hypar train --trace' or of "
      "PyTorch's profiler",
      0 },
    { "detail", OPT_DETAIL, NULL, 0, "--measured: show every task, operator and exchange", 0 },
    { "trace", OPT_TRACE, "FILE", 0, "--measured: write both timelines to FILE, for Perfetto",
      0 },
    { 0 },
};

enum { MAX_ROWS = 64, NAME_BYTES = 64 };

/* Planners for one model and machine, and plans for the same. */
struct comparing {
    const struct args *args;
    const struct hypar_graph *graph;
    const struct hypar_machine *machine;
    struct hypar_search_options how;
    struct hypar_bound bound;              /* of all plans with these options */
    const struct hypar_sim_options *given; /* simulation options of the command line */
    struct hypar_plan *plan[MAX_OPERANDS];
    int n_plans;
    int n; /* rows: first the plans, then the planners; and the memory of their texts */
    struct hypar_compared row[MAX_ROWS];
    char name[MAX_ROWS][NAME_BYTES];
    struct hypar_error why[MAX_ROWS];
};

static enum hypar_status add_planner(struct comparing *c, const char *name, size_t length,
                                     struct hypar_error *err)
{
    if (c->n == MAX_ROWS)
        return opt_usage(err, "--planner: more than %d planners and plans", MAX_ROWS);
    if (length >= NAME_BYTES)
        length = NAME_BYTES - 1; /* no planner has so long a name */
    memcpy(c->name[c->n], name, length);
    c->row[c->n].planner = c->name[c->n];
    c->n++;
    return HYPAR_OK;
}

/* Add a row for each planner of the list, or without a list for all planners except those for
 * small problems (exhaustive). */
static enum hypar_status list_planners(struct comparing *c, const char *list,
                                       struct hypar_error *err)
{
    const struct hypar_planner_info *info;
    enum hypar_status status = HYPAR_OK;
    bool all = !list && !c->n_plans;
    for (int i = 0; all && status == HYPAR_OK && (info = hypar_planner(i)); i++)
        if (!info->tries_others && !info->small_only)
            status = add_planner(c, info->name, strlen(info->name), err);
    while (list && status == HYPAR_OK) {
        size_t n = strcspn(list, ",");
        status = add_planner(c, list, n, err);
        list = list[n] ? list + n + 1 : NULL;
    }
    return status;
}

/* The reason without the planner's name, because the row begins with the name. */
static const char *reason(const char *text, const char *planner)
{
    size_t n = strlen(planner);
    return strncmp(text, planner, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2
                                                                             : text;
}

static enum hypar_status simulate(struct hypar_compared *row, const struct hypar_plan *plan,
                                  const struct hypar_sim_options *how, double limit_bytes,
                                  struct hypar_error *why)
{
    struct hypar_simulated simulated;
    struct hypar_sim *sim;
    TRY(hypar_simulate(&sim, plan, how, why));
    hypar_sum_up(sim, limit_bytes, &simulated);
    row->step = simulated.step;
    hypar_sim_free(sim);
    return HYPAR_OK;
}

/* Search and simulate. If the search did not simulate its plan because the plan is large,
 * simulate it here: a comparison needs simulated steps. */
static enum hypar_status evaluate_planner(struct hypar_compared *row, const struct comparing *c,
                                          const struct hypar_search_options *how,
                                          struct hypar_error *why)
{
    struct hypar_found *found;
    TRY(hypar_search(&found, c->graph, c->machine, how, why));
    const struct hypar_plan *plan = hypar_found_plan(found);
    const struct hypar_simulated *simulated = hypar_found_simulated(found);
    struct hypar_search_info info = hypar_found_info(found);
    row->search_s = info.seconds;
    row->processor_s = info.processor_s;
    row->evaluated = info.evaluated;
    row->lower_bound_s = info.lower_bound_s;
    row->bound = info.bound;
    row->interrupted = info.interrupted;
    row->updates = hypar_plan_updates(plan);
    row->plan_hash = hypar_plan_hash(plan);
    enum hypar_status status = HYPAR_OK;
    if (simulated)
        row->step = simulated->step;
    else
        status = simulate(row, plan, how->simulation, how->memory_bytes, why);
    /* the row outlasts the plan, and so must the texts of its framework */
    const struct hypar_sim_options *given = how->simulation;
    if (given && given->framework.name && row->step.how.framework.name &&
        strcmp(given->framework.name, row->step.how.framework.name) == 0)
        row->step.how.framework = given->framework;
    hypar_found_free(found);
    return status;
}

/* Simulate with the plan's own settings, except those that the command line gives. The plan's
 * memory limit applies unless the command line gives one. */
static enum hypar_status evaluate_plan(struct hypar_compared *row, const struct comparing *c,
                                       const struct hypar_plan *plan, struct hypar_error *why)
{
    struct hypar_sim_options how = hypar_as_planned(plan, c->given);
    row->updates = hypar_plan_updates(plan);
    row->plan_hash = hypar_plan_hash(plan);
    return simulate(row, plan, &how, c->args->memory_bytes, why);
}

/* HYPAR_USAGE for an unknown planner; the row records any other failure. */
static enum hypar_status evaluate(struct comparing *c, int i)
{
    struct hypar_compared *row = &c->row[i];
    struct hypar_search_options how = c->how;
    how.planner = row->planner;
    if (!row->plan)
        hypar_keep_options(&how, row->planner);
    if (*c->how.stop) {
        row->why = "interrupted";
        row->interrupted = true;
        return HYPAR_INFEASIBLE;
    }
    enum hypar_status status = row->plan ? evaluate_plan(row, c, c->plan[i], &c->why[i])
                                         : evaluate_planner(row, c, &how, &c->why[i]);
    row->fits = status == HYPAR_OK && row->step.fits;
    if (status != HYPAR_OK)
        row->why = row->plan ? c->why[i].text : reason(c->why[i].text, row->planner);
    return status;
}

/* The row that speed-ups are relative to. Its plan need not fit into memory. */
static struct hypar_compared find_baseline(const struct comparing *c)
{
    int planner = 0;
    while (!hypar_planner(planner)->baseline)
        planner++;
    const char *name = hypar_planner(planner)->name;
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].plan && strcmp(c->row[i].planner, name) == 0 && !c->row[i].why)
            return c->row[i];
    struct hypar_search_options plain = c->how;
    struct hypar_compared row = { .planner = name };
    struct hypar_error why;
    hypar_keep_options(&plain, name);
    plain.planner = name;
    plain.unlimited = true;
    plain.progress = NULL;
    return evaluate_planner(&row, c, &plain, &why) == HYPAR_OK ? row
                                                               : (struct hypar_compared){ 0 };
}

/* Does the bound hold for this plan? It is a bound of steps that divide one batch, with the
 * precision and the optimizer of the first plan. */
static bool is_bounded(const struct comparing *c, int i)
{
    const struct hypar_plan *plan = c->plan[i];
    return c->row[i].updates == HYPAR_UPDATES_BATCH &&
           hypar_plan_settings(plan).precision == c->how.precision &&
           hypar_plan_settings(plan).optimizer == c->how.optimizer;
}

/* The lower bound of all plans: that of the baseline, or if the baseline has none, that of the
 * first planner's search with a bound. */
static void find_bounds(struct comparing *c, const struct hypar_bound *baseline)
{
    c->bound = *baseline;
    for (int i = c->n_plans; i < c->n && !(c->bound.step_s > 0); i++)
        c->bound = c->row[i].bound;
    for (int i = 0; i < c->n_plans; i++)
        if (is_bounded(c, i))
            c->row[i].bound = c->bound;
}

/* Note that the profile has no time for any plan. */
static void note_profile(const struct comparing *c)
{
    const struct hypar_sim_measured *none = NULL;
    for (int i = 0; i < c->n; i++) {
        const struct hypar_sim_measured *m = &c->row[i].step.measured;
        if (c->row[i].why)
            continue;
        if (m->measured || m->calibrated)
            return;
        none = m;
    }
    if (none)
        opt_note_profile(c->args, none);
}

/* Note which rows of the table exist after an interruption. An interrupted search returns its
 * best plan so far, if it has one. */
static void note_interrupted(const struct comparing *c)
{
    char text[NAME_BYTES + 128];
    const char *last = NULL;
    int reached = 0;
    for (int i = 0; i < c->n; i++) {
        reached += !(c->row[i].interrupted && c->row[i].why);
        if (c->row[i].interrupted && !c->row[i].why)
            last = c->row[i].planner;
    }
    snprintf(text, sizeof text, "%d of %d rows were reached%s%s%s", reached, c->n,
             last ? "; the plan of " : "", last ? last : "", last ? " is its best so far" : "");
    opt_note_interrupted(c->args, text);
}

static enum hypar_status write_file(const struct hypar_comparison *comparison, const char *path,
                                    enum hypar_format format, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    hypar_report_comparison(out.file, comparison, format);
    return opt_close(&out, HYPAR_OK, err);
}

static enum hypar_status report(void *who, const struct hypar_comparison *comparison,
                                struct hypar_error *err)
{
    const struct args *args = who;
    enum hypar_status status = HYPAR_OK;
    if (args->csv)
        status = write_file(comparison, args->csv, HYPAR_CSV, err);
    if (status == HYPAR_OK && args->svg)
        status = write_file(comparison, args->svg, HYPAR_SVG, err);
    bool alone = opt_is_standard(args->csv) || opt_is_standard(args->svg);
    if (status != HYPAR_OK || (alone && !args->output))
        return status;
    return write_file(comparison, opt_output(args), opt_format(args), err);
}

/* Evaluate row by row; a terminal shows the current row. *failed: the status of the first row
 * that failed for another reason than memory; *err then has the reason. */
static enum hypar_status evaluate_all(struct comparing *c, enum hypar_status *failed,
                                      struct hypar_error *err)
{
    bool progress = !c->args->quiet && isatty(STDERR_FILENO);
    char where[NAME_BYTES + 64];
    enum hypar_status status = HYPAR_OK;
    *failed = HYPAR_OK;
    c->how.stop = opt_stop_on_signals();
    for (int i = 0; i < c->n; i++) {
        const char *name = c->row[i].plan ? c->row[i].plan : c->row[i].planner;
        snprintf(where, sizeof where, "%d of %d: %.*s: ", i + 1, c->n, NAME_BYTES, name);
        hypar_clean_text(where);
        c->how.progress = progress ? opt_show_progress : NULL;
        c->how.who = where;
        if (progress)
            fprintf(stderr, "\rhypar: %s...\033[K", where);
        status = evaluate(c, i);
        if (status == HYPAR_USAGE || status == HYPAR_RUNTIME) {
            *err = c->why[i];
            break;
        }
        if (status != HYPAR_OK && status != HYPAR_INFEASIBLE && *failed == HYPAR_OK) {
            *failed = status;
            *err = c->why[i];
        }
        status = HYPAR_OK;
    }
    if (progress)
        fputs("\r\033[K", stderr);
    return status;
}

/* Check that each option is taken by at least one planner of the table. */
static enum hypar_status check_options(const struct comparing *c, struct hypar_error *err)
{
    const char *planner[MAX_ROWS];
    struct hypar_search_options how = c->how;
    int n = 0;
    if (c->n_plans) /* it is for them, too */
        how.simulation = NULL;
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].plan)
            planner[n++] = c->row[i].planner;
    return hypar_check_options(&how, planner, n, err);
}

/* The differences of two plans, if the table has only these two and both were simulated. */
static struct hypar_differences *differences_of(const struct comparing *c)
{
    struct hypar_differences *differences = NULL;
    if (c->n == 2 && c->n_plans == 2 && !c->row[0].why && !c->row[1].why && !*c->how.stop)
        hypar_plan_differences(&differences, c->plan[0], c->plan[1], c->given, NULL);
    return differences;
}

/* Evaluate all rows and pass them to `tell`. *failed: as for evaluate_all(). */
static enum hypar_status
compare_rows(struct comparing *c,
             enum hypar_status (*tell)(void *who, const struct hypar_comparison *comparison,
                                       struct hypar_error *err),
             void *who, enum hypar_status *failed, struct hypar_error *err)
{
    enum hypar_status status = list_planners(c, c->args->planner, err);
    if (status == HYPAR_OK)
        status = check_options(c, err);
    if (status == HYPAR_OK)
        status = evaluate_all(c, failed, err);
    opt_end_on_signals();
    if (status != HYPAR_OK)
        return status;
    struct hypar_compared baseline = find_baseline(c);
    find_bounds(c, &baseline.bound);
    struct hypar_comparison comparison = {
        .model = c->n_plans ? hypar_plan_model(c->plan[0]) : c->args->operand[0],
        .graph = c->graph,
        .machine = c->machine,
        .precision = c->how.precision,
        .gradient_precision = c->how.fp32_gradients ? HYPAR_FP32 : c->how.precision,
        .optimizer = c->how.optimizer,
        .seed = c->how.seed,
        .bound = c->bound,
        .dp_step_s = baseline.step.step_s,
        .n = c->n,
        .row = c->row
    };
    note_profile(c);
    note_interrupted(c);
    struct hypar_error why;
    struct hypar_differences *differences = differences_of(c);
    comparison.differences = differences;
    status = tell(who, &comparison, &why);
    hypar_differences_free(differences);
    if (status != HYPAR_OK)
        *err = why;
    return status;
}

/* Fail if a row that the user named has no result. Without names the table has all planners,
 * and some of them may not apply. */
static enum hypar_status check_named(const struct comparing *c, struct hypar_error *err)
{
    int failed = 0, first = -1;
    bool named = c->args->planner || c->n_plans;
    for (int i = 0; i < c->n && named; i++) {
        if (!c->row[i].why || c->row[i].interrupted)
            continue;
        first = first < 0 ? i : first;
        failed++;
    }
    if (!failed)
        return HYPAR_OK;
    const struct hypar_compared *row = &c->row[first];
    snprintf(err->text, sizeof err->text, "%.160s %s: the table says why",
             row->plan ? row->plan : row->planner,
             row->plan ? "cannot be simulated" : "has no plan");
    size_t n = strlen(err->text);
    if (failed > 1)
        snprintf(err->text + n, sizeof err->text - n, "; %d more failed", failed - 1);
    return HYPAR_INFEASIBLE;
}

static enum hypar_status compare(struct comparing *c, struct hypar_error *err)
{
    enum hypar_status failed;
    TRY(compare_rows(c, report, (void *)c->args, &failed, err));
    for (int i = 0; i < c->n; i++)
        if (c->row[i].fits)
            return check_named(c, err);
    if (failed == HYPAR_OK)
        snprintf(err->text, sizeof err->text,
                 c->n_plans == c->n ? "none of these plans for %s fits"
                                    : "no planner has a plan for %s that fits this machine",
                 hypar_graph_info(c->graph).name);
    return failed == HYPAR_OK ? HYPAR_INFEASIBLE : failed;
}

static enum hypar_status compare_planners(struct comparing *c, struct hypar_error *err)
{
    const struct args *args = c->args;
    struct hypar_graph *graph = NULL;
    struct hypar_machine *machine = NULL;
    if (args->n_operands > 1)
        return opt_usage(err, "compare: '%s' is no plan, expected plans, or one model alone",
                         args->operand[0]);
    if (!args->machine)
        return opt_usage(err, "compare: missing --on MACHINE; see 'hypar compare --help'");
    enum hypar_status status = opt_import(args, &graph, err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&machine, args->machine, err);
    c->graph = graph;
    c->machine = machine;
    if (status == HYPAR_OK) {
        if (args->target)
            opt_take_defaults(args, machine, &c->how);
        opt_note_precision(args, machine, c->how.precision);
        status = compare(c, err);
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return status;
}

static bool same_machine(const struct hypar_machine *a, const struct hypar_machine *b)
{
    const struct hypar_machine *machine[2] = { a, b };
    char *text[2];
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        FILE *file = hypar_or_out_of_memory(open_memstream(&text[i], &n[i]));
        hypar_machine_write(machine[i], file);
        bool lacking = ferror(file);
        if (fclose(file) != 0 || lacking || !text[i])
            hypar_out_of_memory(n[i]);
    }
    bool same = n[0] == n[1] && memcmp(text[0], text[1], n[0]) == 0;
    free(text[0]);
    free(text[1]);
    return same;
}

/* Add a row for a plan of the same model and machine as the first. */
static enum hypar_status add_plan(struct comparing *c, const char *path,
                                  struct hypar_error *err)
{
    struct hypar_plan **plan = &c->plan[c->n];
    TRY(opt_read_plan(c->args, path, c->args->model, plan, err));
    c->n_plans++;
    c->row[c->n++].plan = path;
    const struct hypar_graph *graph = hypar_plan_graph(*plan);
    if (c->n == 1) {
        c->graph = graph;
        c->machine = hypar_plan_machine(*plan);
        return HYPAR_OK;
    }
    bool same_model = hypar_graph_info(graph).hash == hypar_graph_info(c->graph).hash;
    if (same_model && same_machine(hypar_plan_machine(*plan), c->machine))
        return HYPAR_OK;
    snprintf(err->text, sizeof err->text, "a plan for another %s than '%.200s'%s",
             same_model ? "machine" : "model or batch", c->row[0].plan,
             same_model ? "; --on MACHINE compares all on one" : "");
    return opt_in_file(path, HYPAR_INVALID, err);
}

/* Refuse options that plans already determine. */
enum hypar_status compare_check_for_plans(const struct args *args, struct hypar_error *err)
{
    const char *for_models = args->batch                 ? "batch"
                             : *args->batch_dims         ? "batch-dim"
                             : *args->dims               ? "dim"
                             : args->precision           ? "precision"
                             : args->optimizer           ? "optimizer"
                             : args->recompute           ? "recompute"
                             : args->shard               ? "shard"
                             : args->dropout_masks       ? "dropout-masks"
                             : args->gradient_precision  ? "gradient-precision"
                             : args->framework_bytes > 0 ? "framework-memory"
                             : args->target              ? "for"
                                                         : NULL;
    if (for_models)
        return opt_usage(err, "compare: --%s needs a model; '%s' is a plan, which says it",
                         for_models, args->operand[0]);
    return HYPAR_OK;
}

static enum hypar_status compare_plans(struct comparing *c, struct hypar_error *err)
{
    const struct args *args = c->args;
    enum hypar_status status = compare_check_for_plans(args, err);
    opt_note_unused(args, args->seed && !args->planner, "--seed",
                    "plans are compared without a search");
    for (int i = 0; i < args->n_operands && status == HYPAR_OK; i++)
        status = add_plan(c, args->operand[i], err);
    if (status == HYPAR_OK) { /* what planners find is as the first plan is */
        struct hypar_sim_options how = hypar_as_planned(c->plan[0], c->given);
        c->how.simulation = &how;
        status = opt_choices_of(args, c->plan[0], &c->how, err);
        if (status == HYPAR_OK)
            status = compare(c, err);
    }
    for (int i = 0; i < c->n_plans; i++)
        hypar_plan_free(c->plan[i]);
    return status;
}

enum hypar_status
compare_beside(const struct args *args, struct hypar_plan *plan,
               const struct hypar_sim_options *how,
               enum hypar_status (*tell)(void *who, const struct hypar_comparison *comparison,
                                         struct hypar_error *err),
               void *who, struct hypar_error *err)
{
    struct comparing c = { .args = args,
                           .how = { .simulation = how, .profile = how->profile },
                           .given = how,
                           .graph = hypar_plan_graph(plan),
                           .machine = hypar_plan_machine(plan),
                           .plan = { plan },
                           .n_plans = 1,
                           .row = { { .plan = args->operand[0] } },
                           .n = 1 };
    enum hypar_status failed, status = opt_choices_of(args, plan, &c.how, err);
    return status == HYPAR_OK ? compare_rows(&c, tell, who, &failed, err) : status;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    struct comparing c = { .args = args,
                           .how = { .target = args->target,
                                    .joint = args->joint,
                                    .memory_bytes = args->memory_bytes,
                                    .seed = args->seed,
                                    .planner_option = args->planner_options.text,
                                    .n_planner_options = args->planner_options.n,
                                    .proposals = args->proposals,
                                    .budget_s = args->budget_s } };
    struct hypar_sim_options simulation;
    struct hypar_profile *profile = NULL;
    enum hypar_status status = opt_choices(args, &c.how, err);
    if (status == HYPAR_OK)
        status = opt_simulation(args, &simulation, &profile, err);
    c.given = c.how.simulation = &simulation;
    c.how.profile = profile;
    if (status == HYPAR_OK && !args->measured && (args->detail || args->trace))
        status = opt_usage(err, "compare: --%s goes with --measured",
                           args->detail ? "detail" : "trace");
    else if (status == HYPAR_OK && args->measured)
        status = compare_measured(args, &simulation, err);
    else if (status == HYPAR_OK)
        status = opt_is_of_format(args->operand[0], "hypar-plan/") ? compare_plans(&c, err)
                                                                   : compare_planners(&c, err);
    hypar_profile_free(profile);
    return status;
}

const struct command cmd_compare = {
    .name = "compare",
    .operands = "MODEL --on MACHINE\nPLAN...\n--measured TRACE PLAN",
    .min_operands = 1,
    .max_operands = MAX_OPERANDS,
    .operand_word = opt_model_word,
    .summary = "planners, or plans, side by side, simulated",
    .doc = "Let every planner split MODEL over MACHINE, simulate one training step of each "
           "plan, and show the plans in one table: time, speed-up over data parallel, bytes "
           "sent, memory of the fullest device, energy, and time of the search. The best of "
           "each column is marked. With plans of one model and machine, simulate these plans "
           "without a search; --planner adds the plans of planners. For two plans, also list "
           "their differences, and the step of the first plan with each difference alone. With "
           "--measured, compare one plan's simulated step with its measured step, task by "
           "task, the largest differences first.",
    .options = options,
    .run = run,
};
