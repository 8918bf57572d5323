#define _DEFAULT_SOURCE /* realpath, mkstemps */

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/launch.h"

static const struct argp_option options[] = {
    { "ranks", OPT_RANKS, "N", 0, "processes, one for each device (as the plan says; 1)", 0 },
    { "steps", OPT_STEPS, "N", 0, "training steps (10)", 0 },
    { "planner", OPT_PLANNER, "NAME", 0,
      "of a model: search algorithm ('hypar planners' lists them; auto)", 0 },
    { "on", OPT_ON, "MACHINE", 0, "of a model: machine to plan for (local:RANKS)", 0 },
    { "batch", OPT_BATCH, "N", 0, "of a model: samples in one step (as the model says)", 0 },
    { "precision", OPT_PRECISION, "NAME", 0, "of a model: fp32 or fp64 (fp32)", 0 },
    { "optimizer", OPT_OPTIMIZER, "NAME", 0, "of a model: sgd, momentum, adam or adamw (sgd)",
      0 },
    { "seed", OPT_SEED, "N", 0, "of a model: of first values, data and planners (0)", 0 },
    { "stages", OPT_STAGES, "N", 0, "of a model: stages of gpipe and 1f1b", 0 },
    { "micro-batches", OPT_MICRO_BATCHES, "N", 0, "of a model: of gpipe and 1f1b", 0 },
    OPT_FOLLOW_LINKS_ROW,
    { "data", OPT_DATA, "WHAT", 0,
      "x.npy,y.npy, IDX files, cifar10:FILE, tokens:FILE (synthetic)", 0 },
    { "learning-rate", OPT_LEARNING_RATE, "RATE", 0, "0.01; 0.001 of adam and adamw", 0 },
    { "rate", OPT_RATE, "HOW", 0, "how it goes on: constant or cosine (constant)", 0 },
    { "warm-up", OPT_WARM_UP, "N", 0, "steps in which it rises (0)", 0 },
    { "weight-decay", OPT_WEIGHT_DECAY, "X", 0, "0; 0.01 of adamw", 0 },
    { "checkpoint", OPT_CHECKPOINT, "FILE", 0,
      "write parameters and state there at the end, and when stopped", 0 },
    { "every", OPT_EVERY, "N", 0, "... and every N steps", 0 },
    { "resume", OPT_RESUME, "FILE", 0, "go on from this checkpoint, under any plan", 0 },
    { "kernels", OPT_KERNELS, "NAME", 0, "fast or reference (fast)", 0 },
    { "threads", OPT_THREADS, "N", 0, "of each rank (1)", 0 },
    { "in-process", OPT_IN_PROCESS, NULL, 0, "all ranks in this process, one after another",
      0 },
    { "check", OPT_CHECK, NULL, 0,
      "whatever is read must have been computed or received (slow)", 0 },
    { 0 },
};

enum { STEPS = 10 };

static volatile int stop;

static void wish_to_stop(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

static void watch_signals(void)
{
    struct sigaction action = { .sa_handler = wish_to_stop, .sa_flags = SA_RESTART };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
}

/* The plan ----------------------------------------------------------------------------- */

/* A plan file elsewhere names its model by its whole path. */
static const char *whole_model(const char *given, char *text, size_t size)
{
    char path[PATH_MAX], whole[PATH_MAX];
    size_t length = hypar_model_path_length(given);
    if (!hypar_model_is_path(given) || length >= sizeof path)
        return given;
    snprintf(path, sizeof path, "%.*s", (int)length, given);
    if (!hypar_or_out_of_memory(realpath(path, whole)))
        return given;
    snprintf(text, size, "%s%s", whole, given + length);
    return text;
}

struct planned {
    struct hypar_plan *read; /* from a file, or */
    struct hypar_found *found;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    const struct hypar_plan *plan;
};

static void release(struct planned *p)
{
    hypar_plan_free(p->read);
    hypar_found_free(p->found);
    hypar_machine_free(p->machine);
    hypar_graph_free(p->graph);
}

static enum hypar_status search(const struct args *args, int ranks, struct planned *p,
                                struct hypar_error *err)
{
    char word[32], model[2 * PATH_MAX];
    struct hypar_search_options how = { .planner = args->planner,
                                        .stages = args->stages,
                                        .micro_batches = args->micro_batches,
                                        .seed = args->seed };
    snprintf(word, sizeof word, "local:%d", ranks);
    enum hypar_status status = opt_choices(args, &how, err);
    if (status == HYPAR_OK)
        status = opt_import(args, &p->graph, err);
    if (status == HYPAR_OK)
        status = hypar_machine_read(&p->machine, args->machine ? args->machine : word, err);
    if (status != HYPAR_OK)
        return status;
    how.model = whole_model(args->operand[0], model, sizeof model);
    how.machine = hypar_machine_word(p->machine);
    status = hypar_search(&p->found, p->graph, p->machine, &how, err);
    if (status == HYPAR_OK)
        p->plan = hypar_found_plan(p->found);
    return status;
}

/* The plan that the first operand is, or one for the model that it is. */
static enum hypar_status find_plan(const struct args *args, int ranks, struct planned *p,
                                   struct hypar_error *err)
{
    const char *given = launch_plan() ? launch_plan() : args->operand[0];
    struct args as_it_is = *args;
    *p = (struct planned){ NULL };
    if (!launch_plan() && !opt_is_of_format(given, "hypar-plan/"))
        return search(args, ranks, p, err);
    if (!launch_plan() && (args->planner || args->machine || args->batch || args->optimizer))
        return opt_usage(err, "train: %s is for a model, and %s is a plan",
                         args->planner   ? "--planner"
                         : args->machine ? "--on"
                         : args->batch   ? "--batch"
                                         : "--optimizer",
                         given);
    as_it_is.machine = NULL;
    enum hypar_status status = opt_read_plan(&as_it_is, given, NULL, &p->read, err);
    p->plan = p->read;
    return status;
}

/* The run ------------------------------------------------------------------------------ */

struct showing {
    const struct args *args;
    const struct hypar_plan *plan;
};

static void show_step(void *who, const struct hypar_train_step *step)
{
    const struct showing *s = who;
    hypar_report_train_step(stdout, step, hypar_graph_batch(hypar_plan_graph(s->plan)),
                            opt_format(s->args));
    fflush(stdout);
}

/* What the simulator says of the same plan. */
static void tell(const struct args *args, const struct hypar_plan *plan,
                 const struct hypar_train_result *result)
{
    struct hypar_sim *sim = NULL;
    struct hypar_error why;
    if (hypar_simulate(&sim, plan, NULL, &why) != HYPAR_OK)
        opt_note(args, "not simulated: %s", why.text);
    hypar_report_train(stdout, result, plan, sim, opt_format(args));
    hypar_sim_free(sim);
}

/* As one rank of several, or alone with all devices. */
static enum hypar_status train(const struct args *args, const struct hypar_plan *plan,
                               struct hypar_ranks *ranks, struct hypar_error *err)
{
    struct showing showing = { args, plan };
    struct hypar_train_result result;
    struct hypar_train_options how = { .steps = args->steps ? args->steps : STEPS,
                                       .kernels = args->kernels,
                                       .threads = (int)args->threads,
                                       .check = args->check,
                                       .learning_rate = args->learning_rate,
                                       .weight_decay = args->weight_decay,
                                       .rate = args->rate,
                                       .warm_up = args->warm_up,
                                       .data = args->data,
                                       .checkpoint = args->checkpoint,
                                       .checkpoint_every = args->every,
                                       .resume = args->resume,
                                       .report = show_step,
                                       .who = &showing,
                                       .stop = &stop };
    watch_signals();
    enum hypar_status status = hypar_train(plan, ranks, &how, &result, err);
    if (status == HYPAR_OK && hypar_ranks_rank(ranks) == 0)
        tell(args, plan, &result);
    return status;
}

static enum hypar_status write_plan(const struct hypar_plan *plan, char *path,
                                    struct hypar_error *err)
{
    int file = mkstemps(path, 5);
    FILE *to = file < 0 ? NULL : hypar_or_out_of_memory(fdopen(file, "w"));
    if (!to) {
        snprintf(err->text, sizeof err->text, "%.400s: cannot be written", path);
        return HYPAR_RUNTIME;
    }
    hypar_plan_write(plan, to);
    bool failed = ferror(to) != 0;
    failed |= fclose(to) != 0;
    if (!failed)
        return HYPAR_OK;
    unlink(path);
    snprintf(err->text, sizeof err->text, "%.400s: cannot be written", path);
    return HYPAR_RUNTIME;
}

/* Start the ranks, which read the plan that was found here. */
static enum hypar_status launch(const struct args *args, const struct hypar_plan *plan,
                                struct hypar_error *err)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];
    int code = 0, n = hypar_machine_device_count(hypar_plan_machine(plan));
    snprintf(path, sizeof path, "%s/hypar-XXXXXX.json", folder && *folder ? folder : "/tmp");
    enum hypar_status status = write_plan(plan, path, err);
    if (status != HYPAR_OK)
        return status;
    status = launch_ranks(args, n, path, &code, err);
    unlink(path);
    if (status == HYPAR_OK && code != 0)
        exit(code); /* the rank has said why */
    return status;
}

static enum hypar_status run_alone(const struct args *args, struct hypar_error *err)
{
    struct planned planned;
    struct hypar_ranks *ranks = NULL;
    enum hypar_status status =
        find_plan(args, args->ranks ? (int)args->ranks : 1, &planned, err);
    if (status == HYPAR_OK) {
        int n = hypar_machine_device_count(hypar_plan_machine(planned.plan));
        if (args->ranks && args->ranks != n) {
            snprintf(err->text, sizeof err->text,
                     "--ranks %d, but the plan has %d devices: one for each", (int)args->ranks,
                     n);
            status = HYPAR_INFEASIBLE;
        } else if (n > 1 && !args->in_process) {
            status = launch(args, planned.plan, err);
        } else {
            status = hypar_ranks_join(&ranks, err);
            if (status == HYPAR_OK)
                status = train(args, planned.plan, ranks, err);
            hypar_ranks_leave(ranks, status);
        }
    }
    release(&planned);
    return status;
}

static enum hypar_status run_as_rank(const struct args *args, struct hypar_error *err)
{
    struct planned planned = { NULL };
    struct hypar_ranks *ranks;
    enum hypar_status status = hypar_ranks_join(&ranks, err);
    if (status != HYPAR_OK)
        return status;
    status = find_plan(args, hypar_ranks_count(ranks), &planned, err);
    if (status == HYPAR_OK)
        status = train(args, planned.plan, ranks, err);
    release(&planned);
    if (status != HYPAR_OK) { /* before the launcher ends everybody */
        fprintf(stderr, "hypar: %s\n", err->text);
        fflush(NULL);
    }
    hypar_ranks_leave(ranks, status);
    return status;
}

/* OpenBLAS takes some processors for older ones; it is told better before it is loaded. */
static void set_core(const struct args *args)
{
    const char *core = hypar_blas_core();
    if (!core || getenv("OPENBLAS_CORETYPE"))
        return;
    char **argv =
        hypar_or_out_of_memory(calloc((size_t)args->argc + 2, sizeof *argv)); /* the last NULL */
    argv[0] = "hypar";
    argv[1] = "train";
    for (int i = 1; i < args->argc; i++)
        argv[i + 1] = args->argv[i];
    setenv("OPENBLAS_CORETYPE", core, 1);
    execv("/proc/self/exe", argv); /* if it fails it goes on, slower */
    free(argv);
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    set_core(args);
    return hypar_ranks_launched() ? run_as_rank(args, err) : run_alone(args, err);
}

const struct command cmd_train = {
    .name = "train",
    .operands = "MODEL\nPLAN",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "run a plan for real",
    .doc = "Train a network by a plan, or by one that is found for this machine: every device "
           "is a process, started here by mpirun or by an MPI launcher around this command.",
    .options = options,
    .run = run,
};
