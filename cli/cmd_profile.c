/* hypar profile: plans are run for a few steps, and what each call took is kept. */
#define _GNU_SOURCE

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/launch.h"
#include "cli/plan_text.h"
#include "cli/profile_trace.h"

static const struct argp_option options[] = {
    { "on", OPT_ON, "MACHINE", 0, "this machine with N ranks: local:N (one for each core)", 0 },
    { "planner", OPT_PLANNER, "NAMES", 0,
      "measure the kernels of these plans, as dp,gpipe (all that are usual)", 0 },
    { "links", OPT_LINKS, NULL, 0, "measure messages anew", 0 },
    { "batch", OPT_BATCH, "N", 0, "samples in one step (as the model says)", 0 },
    { "micro-batches", OPT_MICRO_BATCHES, "N", 0, "pipelines: number of micro-batches", 0 },
    { "precision", OPT_PRECISION, "NAME", 0, "fp32 or fp64 (fp32)", 0 },
    { "optimizer", OPT_OPTIMIZER, "NAME", 0, "sgd, momentum, adam or adamw (sgd)", 0 },
    OPT_ATTENTION_ROW,
    OPT_CLIP_ROW,
    { "steps", OPT_STEPS, "N", 0, "steps of each plan (as many as a second takes, at least 6)",
      0 },
    { "kernels", OPT_KERNELS, "NAME", 0, "fast or reference (fast)", 0 },
    { "threads", OPT_THREADS, "N", 0, "threads of each rank (1)", 0 },
    { "bind", OPT_BIND, "TO", 0, "bind ranks to cores of their own, or none (cores)", 0 },
    { "measured", OPT_MEASURED_TRACE, "TRACE", 0,
      "run nothing: take times from a trace of PyTorch's profiler", 0 },
    OPT_FOLLOW_LINKS_ROW,
    { 0 },
};

static const char usual[] = "dp,mp,owt,hypar,accpar,optcnn,gpipe,1f1b,pipedream";
static const char device_name[] = "local";

/* The state of rank 0, and the part of it that other ranks need. */
struct profiling {
    const struct args *args;
    struct hypar_ranks *ranks;
    const volatile sig_atomic_t *stop;
    struct hypar_profile *profile;
    char path[PATH_MAX];
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    bool links;       /* messages are to be measured, whatever else is */
    int links_rounds; /* in which they have been */
    int done, all;    /* planners */
    const char *planner;
    double seconds; /* of the steps of the plan at hand */
    int64_t steps;
    volatile sig_atomic_t enough;
    bool over; /* interrupted: all ranks know it */
};

/* The file ------------------------------------------------------------------------------- */

static enum hypar_status fail(struct hypar_error *err, const char *path)
{
    snprintf(err->text, sizeof err->text, "%.200s: %s", path, strerror(errno));
    return HYPAR_RUNTIME;
}

/* Folders above a file of the cache. */
static enum hypar_status make_folders(const char *path, struct hypar_error *err)
{
    char folder[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (mkdir(folder, 0755) != 0 && errno != EEXIST)
            return fail(err, folder);
    }
    return HYPAR_OK;
}

/* Goes on with a file that is there, if it was measured on this machine. */
static enum hypar_status open_profile(struct profiling *p, struct hypar_error *err)
{
    int n = hypar_ranks_count(p->ranks);
    struct hypar_profile_machine here = { hypar_local_processor(),
                                          hypar_kernels_text(p->args->kernels),
                                          hypar_local_all_cores(), n, opt_threads(p->args) };
    if (p->args->output)
        snprintf(p->path, sizeof p->path, "%s", p->args->output);
    else if (!opt_profile_path(n, here.threads, p->path, sizeof p->path))
        return opt_usage(err, "profile: HOME is not set, expected -o FILE");
    if (!p->args->output)
        TRY(make_folders(p->path, err));
    TRY(hypar_output_try(p->path, err));
    if (access(p->path, R_OK) == 0)
        TRY(hypar_profile_read(&p->profile, p->path, err));
    char how[OPT_HOW_BYTES];
    if (p->profile && !opt_profile_is_of(p->args, p->profile, n, how)) {
        snprintf(err->text, sizeof err->text, "%.120s: %s; remove it, or -o another", p->path,
                 how);
        return HYPAR_INVALID;
    }
    if (!p->profile)
        p->profile = hypar_profile_new();
    hypar_profile_set_machine(p->profile, &here);
    return HYPAR_OK;
}

static enum hypar_status write_profile(const struct profiling *p, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, p->path, err));
    hypar_profile_write(p->profile, out.file);
    return opt_close(&out, HYPAR_OK, err);
}

/* Plans ---------------------------------------------------------------------------------- */

/* Simulate a plan's step with the profile. */
static bool simulate(const struct profiling *p, const struct hypar_plan *plan,
                     struct hypar_sim_summary *out)
{
    struct hypar_sim *sim = NULL;
    struct hypar_sim_options how = { .profile = p->profile };
    how = hypar_as_planned(plan, &how);
    bool known = hypar_simulate(&sim, plan, &how, NULL) == HYPAR_OK;
    if (known)
        *out = hypar_sim_summary(sim);
    hypar_sim_free(sim);
    return known;
}

/* The plan of a planner as a text; NULL: the planner has no plan, or all times of the plan are
 * known and need not be measured again. */
static char *next_text(struct profiling *p, const char *planner, bool again)
{
    char model[2 * PATH_MAX];
    struct hypar_error why = { 0 };
    struct hypar_found *found = NULL;
    struct hypar_sim_options simulation = { .profile = p->profile };
    struct hypar_search_options how = { .planner = planner,
                                        .micro_batches = p->args->micro_batches,
                                        .clip = p->args->clip,
                                        .profile = p->profile,
                                        .simulation = &simulation };
    char *text = NULL;
    struct hypar_sim_summary summary;
    enum hypar_status status = opt_choices(p->args, &how, &why);
    how.model = plan_model_word(p->args->operand[0], model, sizeof model);
    how.machine = hypar_machine_word(p->machine);
    if (status == HYPAR_OK)
        status = hypar_search(&found, p->graph, p->machine, &how, &why);
    if (status != HYPAR_OK && 2 * p->done < p->all) /* once */
        opt_note(p->args, "%s: %s", planner, why.text);
    else if (status != HYPAR_OK)
        text = NULL;
    else if (again || (simulate(p, hypar_found_plan(found), &summary) &&
                       summary.measured.measured < summary.measured.passes))
        text = plan_to_text(hypar_found_plan(found));
    hypar_found_free(found);
    return text;
}

/* Steps ---------------------------------------------------------------------------------- */

enum { MOST_STEPS = 40, LEAST_STEPS = 6 };

static void show(const struct profiling *p)
{
    enum { WIDTH = 20 };
    char bar[WIDTH + 1] = "";
    if (!launch_on_terminal() || p->args->quiet)
        return;
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i * p->all < p->done * WIDTH ? '#' : '.';
    printf("\r[%s] %s, step %lld\033[K", bar, p->planner, (long long)p->steps);
    fflush(stdout);
}

static void count_step(void *who, const struct hypar_train_step *step)
{
    struct profiling *p = who;
    p->seconds += step->seconds;
    p->steps++;
    show(p);
    p->enough = *p->stop || (!p->args->steps && p->steps >= LEAST_STEPS && p->seconds > 1);
}

static enum hypar_status read_text(const struct args *args, const char *text,
                                   struct hypar_plan **plan, struct hypar_error *err)
{
    char path[64];
    struct args as_it_is = *args;
    as_it_is.machine = NULL;
    int fd = plan_text_file(text, err);
    if (fd < 0)
        return HYPAR_RUNTIME;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum hypar_status status = opt_read_plan(&as_it_is, path, NULL, plan, err);
    close(fd);
    return status;
}

static void tell_plan(const struct profiling *p, const struct hypar_plan *plan,
                      const struct hypar_train_result *result)
{
    char measured[32], predicted[32];
    struct hypar_sim_summary summary;
    if (launch_on_terminal() && !p->args->quiet)
        fputs("\r\033[K", stdout);
    if (p->args->quiet || !simulate(p, plan, &summary))
        return;
    printf("%-10s %3lld steps  measured %8s  predicted %8s\n", p->planner,
           (long long)(result->steps - result->first_step),
           hypar_format_quantity(measured, result->step_s, HYPAR_UNIT_SECONDS),
           hypar_format_quantity(predicted, summary.step_s, HYPAR_UNIT_SECONDS));
    fflush(stdout);
}

/* All ranks run the plan that rank 0 has found. */
static enum hypar_status measure_plan(struct profiling *p, const char *text,
                                      struct hypar_error *err)
{
    struct hypar_plan *plan = NULL;
    struct hypar_train_result result = { .trace = NULL };
    bool first = hypar_ranks_rank(p->ranks) == 0;
    p->seconds = 0;
    p->steps = p->enough = 0;
    struct hypar_train_options how = { .steps = p->args->steps ? p->args->steps : MOST_STEPS,
                                       .kernels = p->args->kernels,
                                       .threads = (int)p->args->threads,
                                       .measure = p->profile,
                                       .learning_rate = 1e-6,
                                       .report = count_step,
                                       .who = p,
                                       .stop = first ? &p->enough : p->stop,
                                       /* times do not depend on values */
                                       .partial_weights = true };
    enum hypar_status status = read_text(p->args, text, &plan, err);
    status = hypar_ranks_agree(p->ranks, status, err);
    if (status == HYPAR_OK)
        status = hypar_train(plan, p->ranks, &how, &result, err);
    if (status == HYPAR_OK && first)
        tell_plan(p, plan, &result);
    hypar_trace_free(result.trace);
    hypar_plan_free(plan);
    return hypar_ranks_agree(p->ranks, status, err);
}

/* Take the next name of *list, and advance *list; false: the list is empty. */
static bool next_name(const char **list, char *name, size_t size)
{
    size_t n = strcspn(*list, ",");
    if (!n)
        return false;
    snprintf(name, size, "%.*s", (int)n, *list);
    *list += n + ((*list)[n] == ',');
    return true;
}

/* Messages to ranks in place of the next plan's text. */
static const char over[] = "over", none[] = "none";

/* Everything is measured in each round. The rounds are some time apart, because the computer's
 * other load changes. */
enum { ROUNDS = 2, MOST_NAMES = 64 };

/* Measure messages once in each round, if other times are measured too or messages are unknown.
 * A complete profile stays unchanged. */
static void measure_links(struct profiling *p, int round)
{
    if (p->links_rounds > round)
        return;
    hypar_measure_links(p->ranks, device_name, round == 0 && p->args->links, p->profile);
    p->links_rounds = round + 1;
}

/* The plan of a planner, if it is to be measured. */
static enum hypar_status measure_planner(struct profiling *p, int round, bool *measured,
                                         struct hypar_error *err)
{
    bool first = hypar_ranks_rank(p->ranks) == 0;
    char *text = first && !*p->stop ? next_text(p, p->planner, *measured) : NULL;
    const char *said = hypar_ranks_share(p->ranks, text                ? text
                                                   : first && *p->stop ? over
                                                                       : none);
    enum hypar_status status = HYPAR_OK;
    *measured = strcmp(said, none) != 0 && strcmp(said, over) != 0;
    if (strcmp(said, over) == 0)
        p->over = true;
    else if (*measured) {
        measure_links(p, round);
        status = measure_plan(p, said, err);
    }
    free(text);
    p->done++;
    return status;
}

/* Plans that are found with what was measured so far may differ from the first ones. */
static enum hypar_status measure_plans(struct profiling *p, struct hypar_error *err)
{
    const char *names = p->args->planner ? p->args->planner : usual, *list;
    char name[64];
    bool measured[MOST_NAMES] = { false };
    enum hypar_status status = HYPAR_OK;
    list = names;
    while (next_name(&list, name, sizeof name))
        p->all += ROUNDS;
    for (int round = 0; round < ROUNDS && status == HYPAR_OK && !p->over; round++) {
        if (p->links)
            measure_links(p, round);
        list = names;
        for (int i = 0; status == HYPAR_OK && !p->over && next_name(&list, name, sizeof name);
             i++) {
            p->planner = name;
            status = measure_planner(p, round, &measured[i % MOST_NAMES], err);
        }
    }
    return status;
}

/* All ------------------------------------------------------------------------------------ */

static enum hypar_status read_inputs(struct profiling *p, struct hypar_error *err)
{
    char word[32];
    snprintf(word, sizeof word, "local:%d", hypar_ranks_count(p->ranks));
    enum hypar_status status =
        hypar_machine_read(&p->machine, p->args->machine ? p->args->machine : word, err);
    if (status == HYPAR_OK && p->args->n_operands)
        status = opt_import(p->args, &p->graph, err);
    return status;
}

static void report(const struct profiling *p)
{
    if (p->args->quiet)
        return;
    struct hypar_profile_info info = hypar_profile_info(p->profile);
    printf("%s: %d calls known", p->path, info.n_passes);
    if (info.spread > 0)
        printf(", their times spread by %.0f %%", 100 * info.spread);
    printf("%s%s\n",
           hypar_profile_device(p->profile, device_name).links ? ", and messages" : "",
           *p->stop ? "; interrupted: run it again to go on" : "");
    fflush(stdout);
    opt_note_spread(p->args, p->path, p->profile);
}

static enum hypar_status profile(struct profiling *p, struct hypar_error *err)
{
    bool first = hypar_ranks_rank(p->ranks) == 0;
    enum hypar_status status = first ? open_profile(p, err) : HYPAR_OK;
    if (!first)
        p->profile = hypar_profile_new();
    if (status == HYPAR_OK && first)
        status = read_inputs(p, err);
    TRY(hypar_ranks_agree(p->ranks, status, err));
    bool links = p->args->links || !hypar_profile_device(p->profile, device_name).links;
    p->links = strcmp(hypar_ranks_share(p->ranks, links ? "links" : none), none) != 0;
    if (p->args->n_operands)
        status = measure_plans(p, err);
    for (int round = 0; round < ROUNDS && !p->args->n_operands; round++)
        measure_links(p, round);
    if (status == HYPAR_OK && first)
        status = write_profile(p, err);
    if (status == HYPAR_OK && first)
        report(p);
    return status;
}

static enum hypar_status run_here(const struct args *args, struct hypar_error *err)
{
    struct profiling p = { .args = args, .stop = opt_stop_on_signals() };
    struct sigaction action;
    if (sigaction(SIGTERM, NULL, &action) == 0)
        sigaction(SIGUSR1, &action, NULL); /* mpirun hands it on */
    launch_bind(args);
    TRY(hypar_ranks_join(&p.ranks, err));
    if (hypar_ranks_rank(p.ranks) == 0)
        launch_ready();
    enum hypar_status status = profile(&p, err);
    hypar_profile_free(p.profile);
    hypar_machine_free(p.machine);
    hypar_graph_free(p.graph);
    if (status != HYPAR_OK && err->text[0] && hypar_ranks_launched()) {
        fflush(stdout);
        fprintf(stderr, "hypar: %s\n", hypar_clean_text(err->text));
        err->text[0] = '\0';
    }
    hypar_ranks_leave(p.ranks, status);
    return status;
}

/* The number of ranks: the machine's devices, or without --on as many ranks as have cores. */
static enum hypar_status count_ranks(const struct args *args, int *ranks,
                                     struct hypar_error *err)
{
    struct hypar_machine *machine;
    *ranks = hypar_local_cores() / opt_threads(args);
    if (!args->machine)
        return HYPAR_OK;
    TRY(hypar_machine_read(&machine, args->machine, err));
    bool local = strcmp(hypar_machine_device(machine, 0)->name, device_name) == 0;
    *ranks = hypar_machine_device_count(machine);
    hypar_machine_free(machine);
    return local ? HYPAR_OK
                 : opt_usage(err, "profile: --on %.60s, expected local:N", args->machine);
}

static enum hypar_status check_planners(const struct args *args, struct hypar_error *err)
{
    char name[64];
    for (const char *list = args->planner; list;) {
        bool named = next_name(&list, name, sizeof name);
        if (!named || !hypar_planner_find(name))
            return opt_usage(err, "profile: unknown planner '%s'; see 'hypar planners'",
                             named ? name : "");
        list = *list || list[-1] == ',' ? list : NULL;
    }
    return HYPAR_OK;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    int ranks = 1;
    if (!args->n_operands && !args->links)
        return opt_usage(err, "profile: expected a model, or --links");
    if (args->output && strcmp(args->output, "-") == 0)
        return opt_usage(err, "profile: -o -, expected a file: it is read and added to");
    if (args->bind && opt_find_word(OPT_BIND, args->bind) < 0)
        return opt_unknown_word(OPT_BIND, args->bind, err);
    if (args->measured)
        return profile_trace(args, err);
    TRY(check_planners(args, err));
    TRY(count_ranks(args, &ranks, err));
    if (hypar_ranks_launched() || ranks <= 1)
        return run_here(args, err);
    return launch_ranks(args, ranks, "/dev/null", -1, err);
}

const struct command cmd_profile = {
    .name = "profile",
    .operands = "[MODEL]\n--measured TRACE MODEL|PLAN",
    .max_operands = 1,
    .operand_word = opt_model_word,
    .summary = "measure what this machine takes, for predictions on local:N",
    .doc = "Run plans of MODEL on all ranks for a few steps, and keep the time of each call of "
           "a kernel, each update of parameters and each message, by pass and extents. Steps "
           "on local:N are simulated with these times. New times are added to the existing "
           "profile; known times are not measured again. With --measured TRACE nothing is run: "
           "times are those of a trace of PyTorch's profiler, as hypar.torch writes it, on the "
           "device of --on.",
    .options = options,
    .run = run,
};
