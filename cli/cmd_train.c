#define _GNU_SOURCE

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/hosts.h"
#include "cli/launch.h"
#include "cli/plan_text.h"
#include "cli/train_plan.h"

static const struct argp_option options[] = {
    { "ranks", OPT_RANKS, "N", 0, "processes, one for each device (as the plan says; 1)", 0 },
    { "steps", OPT_STEPS, "N", 0, "training steps (10)", 0 },
    { "planner", OPT_PLANNER, "NAME", 0,
      "of a model: search algorithm ('hypar planners' lists them; auto)", 0 },
    { "on", OPT_ON, "MACHINE", 0,
      "of a model: machine to plan for (local:RANKS; cards that are known)", 0 },
    OPT_ATTENTION_ROW,
    { "batch", OPT_BATCH, "N", 0, "of a model: samples in one step (as the model says)", 0 },
    { "precision", OPT_PRECISION, "NAME", 0,
      "of a model: bf16, fp32 or fp64; with --device cuda also tf32 (fp32)", 0 },
    { "optimizer", OPT_OPTIMIZER, "NAME", 0, "of a model: sgd, momentum, adam or adamw (sgd)",
      0 },
    OPT_AS_ROW,
    OPT_DROPOUT_MASKS_ROW,
    OPT_CLIP_ROW,
    OPT_RECOMPUTE_ROW,
    OPT_SHARD_ROW,
    OPT_SHARD_OVER_ROW,
    OPT_FREEZE_ROW,
    { "seed", OPT_SEED, "N", 0, "of a model: seed of initial values, data and planners (0)",
      0 },
    { "stages", OPT_STAGES, "N", 0, "of a model: stages of a pipeline", 0 },
    { "micro-batches", OPT_MICRO_BATCHES, "N", 0, "of a model: micro-batches of a batch", 0 },
    OPT_FOLLOW_LINKS_ROW,
    { "data", OPT_DATA_FILES, "WHAT", 0,
      "x.npy,y.npy, IDX files, cifar10:FILE, tokens:FILE (synthetic)", 0 },
    { "init", OPT_INIT, "HOW", 0, "initial values: file (an ONNX file's) or random (file)", 0 },
    { "partial-weights", OPT_PARTIAL_WEIGHTS, NULL, 0,
      "draw values that are missing in a file of values or a checkpoint at random", 0 },
    { "test-data", OPT_TEST_DATA, "WHAT", 0, "held-out samples: test on them at the end", 0 },
    { "test-every", OPT_TEST_EVERY, "N", 0, "test also every N steps", 0 },
    { "learning-rate", OPT_LEARNING_RATE, "RATE", 0,
      "learning rate (0.01; adam and adamw 0.001)", 0 },
    { "rate", OPT_RATE, "HOW", 0,
      "course of the learning rate after the warm-up: constant or cosine (constant)", 0 },
    { "warm-up", OPT_WARM_UP, "N", 0, "steps in which the learning rate rises (0)", 0 },
    { "weight-decay", OPT_WEIGHT_DECAY, "X", 0, "weight decay (0; adamw 0.01)", 0 },
    { "checkpoint", OPT_CHECKPOINT, "FILE", 0,
      "write parameters and state to FILE at the end, and when stopped", 0 },
    { "every", OPT_EVERY, "N", 0, "write --checkpoint also every N steps", 0 },
    { "resume", OPT_RESUME, "FILE", 0, "continue from this checkpoint, under any plan", 0 },
    { "trace", OPT_TRACE, "FILE", 0,
      "write the tasks of each rank in the last steps to FILE, for Perfetto", 0 },
    { "detail", OPT_DETAIL, NULL, 0, "show every operator and exchange at the end", 0 },
    { "device", OPT_RUN_DEVICE, "NAME", 0,
      "cpu, or cuda: the cards of this machine, in turn (cpu)", 0 },
    { "kernels", OPT_KERNELS, "NAME", 0, "--device cpu: fast or reference (fast)", 0 },
    { "threads", OPT_THREADS, "N", 0, "threads of each rank (1)", 0 },
    { "profile", OPT_PROFILE, "FILE", 0,
      "measured times for the prediction (a file of 'hypar profile')", 0 },
    { "hostfile", OPT_HOSTFILE, "FILE", 0, "start ranks on the hosts that FILE lists", 0 },
    { "bind", OPT_BIND, "TO", 0,
      "bind ranks that are started here to cores of their own, or none (cores)", 0 },
    { "wait-note", OPT_WAIT_NOTE, "TIME", 0,
      "name the rank that others wait for after TIME without a message from it (30s)", 0 },
    { "in-process", OPT_IN_PROCESS, NULL, 0, "all ranks in this process, one after another",
      0 },
    { "check", OPT_CHECK, NULL, 0,
      "check that every value is computed or received before it is read (slow)", 0 },
    { 0 },
};

enum { STEPS = 10, TRACE_STEPS = 3, WAIT_NOTE_S = 30 };

/* The run ------------------------------------------------------------------------------ */

struct showing {
    const struct args *args;
    const struct hypar_plan *plan;
    bool over;               /* one line, written over */
    double since_s, seconds; /* since it was written, and of all steps */
    int64_t n;
};

/* "step 37 of 100, loss 2.3012, 1,284 samples/s, 5.1 s left", ten times a second at most. */
static void show_over(struct showing *s, const struct hypar_train_step *step)
{
    char left[32];
    double batch = (double)hypar_graph_info(hypar_plan_graph(s->plan)).batch;
    s->since_s += step->seconds;
    s->seconds += step->seconds;
    double mean_s = s->seconds / (double)++s->n;
    if (s->since_s < 0.1 && step->step > 1)
        return;
    s->since_s = 0;
    printf("\rstep %lld of %lld, loss %.6g, %.4g samples/s, %s left\033[K",
           (long long)step->step, (long long)step->steps, step->loss, batch / mean_s,
           hypar_format_quantity(left, mean_s * (double)(step->steps - step->step),
                                 HYPAR_UNIT_SECONDS));
}

static void show_step(void *who, const struct hypar_train_step *step)
{
    struct showing *s = who;
    if (s->over)
        show_over(s, step);
    else
        hypar_report_train_step(stdout, step, hypar_graph_info(hypar_plan_graph(s->plan)).batch,
                                opt_format(s->args));
    fflush(stdout);
}

static void show_test(void *who, const struct hypar_train_test *test)
{
    const struct showing *s = who;
    if (s->over)
        fputs("\r\033[K", stdout);
    hypar_report_train_test(stdout, test, opt_format(s->args));
    fflush(stdout);
}

static void show_note(void *who, const char *text)
{
    const struct showing *s = who;
    opt_note(s->args, "%s", text);
}

static enum hypar_status write_summary(const struct args *args, const struct hypar_plan *plan,
                                       const struct hypar_train_result *result,
                                       const struct hypar_sim *sim, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, args->output, err));
    hypar_report_train(out.file, result, plan, sim, args->detail, HYPAR_JSON);
    return opt_close(&out, HYPAR_OK, err);
}

/* The content of a trace. */
struct traced {
    const struct hypar_train_result *result;
    const struct hypar_plan *plan;
    const struct hypar_sim *sim;
};

static struct hypar_trace_shown put_trace(FILE *to, const void *what,
                                          const struct hypar_trace_options *how)
{
    const struct traced *t = what;
    return hypar_report_train_trace(to, t->result, t->plan, t->sim, how);
}

/* Note a prediction for another machine, or one for this machine without measured times. Ranks
 * that take turns in one process get no note of the second kind. */
static void note_calibration(const struct args *args, const struct hypar_plan *plan,
                             const struct hypar_sim *sim)
{
    const struct hypar_machine *machine = hypar_plan_machine(plan);
    if (!sim)
        return;
    const char *word = hypar_machine_word(machine);
    const char *card = train_on_card(args) ? train_card_device() : NULL;
    if (card && strcmp(hypar_machine_device(machine, 0)->name, card) == 0)
        return;
    if (strcmp(hypar_machine_device(machine, 0)->name, "local") != 0) {
        opt_note(args, "the prediction is for %s, what is measured is of this machine",
                 word ? word : "the machine of the plan");
        return;
    }
    struct hypar_sim_measured m = hypar_sim_summary(sim).measured;
    if (train_on_card(args))
        opt_note(args,
                 "the prediction is for the processor of this machine, what is measured is "
                 "of its card");
    else if (m.measured + m.interpolated == 0 && !args->in_process)
        opt_note(args,
                 "the prediction is not calibrated and may be off by 10 x or more: 'hypar "
                 "profile MODEL --on local:%d' measures what this machine takes",
                 hypar_machine_device_count(machine));
}

/* Report the measured step and the simulated step of the same plan. */
static enum hypar_status report_step(const struct args *args, const struct hypar_plan *plan,
                                     const struct hypar_train_result *result,
                                     struct hypar_error *err)
{
    struct hypar_sim *sim = NULL;
    struct hypar_error why;
    enum hypar_status status = HYPAR_OK;
    struct hypar_profile *profile = NULL;
    struct hypar_sim_options how = { .timeline = true,
                                     .lower = { .minibatches = result->minibatches } };
    how = hypar_as_planned(plan, &how);
    how.expand_collectives = false; /* ranks have one task for each comm */
    TRY(train_profile(args, hypar_plan_machine(plan), &how, &profile, err));
    if (hypar_simulate(&sim, plan, &how, &why) != HYPAR_OK)
        opt_note(args, "not simulated: %s", why.text);
    if (!result->stopped)
        note_calibration(args, plan, sim);
    launch_note_cores(args);
    opt_note_one_stage(args, plan);
    opt_note_statistics(args, plan);
    if (result->stopped)
        opt_note(args, "interrupted: stopped after step %lld of %lld%s%s",
                 (long long)result->steps, (long long)(args->steps ? args->steps : STEPS),
                 args->checkpoint ? "; to go on: --resume " : "",
                 args->checkpoint ? args->checkpoint : "");
    struct traced traced = { result, plan, sim };
    if (args->trace)
        status =
            opt_write_trace(args, &(struct trace){ put_trace, &traced, result->ranks }, err);
    if (status == HYPAR_OK && args->output)
        status = write_summary(args, plan, result, sim, err);
    if (status == HYPAR_OK && opt_wants_summary(args)) {
        if (!args->json && !args->quiet && !launch_on_terminal())
            putchar('\n'); /* between the steps and their summary */
        hypar_report_train(stdout, result, plan, sim, args->detail, opt_format(args));
    }
    hypar_sim_free(sim);
    hypar_profile_free(profile);
    return status;
}

/* Check that no file of samples ("x.npy,y.npy") is also an output. */
static enum hypar_status check_data(const struct args *args, const char *data,
                                    struct hypar_error *err)
{
    char name[PATH_MAX];
    for (const char *at = data; at && *at;) {
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < PATH_MAX ? n : PATH_MAX - 1), at);
        TRY(opt_reads((void *)args, name, err));
        at += n + (at[n] == ',');
    }
    return HYPAR_OK;
}

/* Parts of a checkpoint are written in any order, which a pipe cannot take. */
static enum hypar_status check_checkpoint(const char *path, struct hypar_error *err)
{
    struct stat about;
    if (stat(path, &about) != 0 || !(S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode)))
        return HYPAR_OK;
    snprintf(err->text, sizeof err->text, "%.400s: is a pipe, expected a file for a checkpoint",
             path);
    return HYPAR_RUNTIME;
}

/* Train as one rank of several, or as a single process with all devices. */
static enum hypar_status train(const struct args *args, const struct hypar_plan *plan,
                               struct hypar_ranks *ranks, const volatile sig_atomic_t *stop,
                               struct hypar_error *err)
{
    struct showing showing = { .args = args,
                               .plan = plan,
                               .over = !args->json && launch_on_terminal() };
    struct hypar_train_result result = { .trace = NULL };
    bool first = hypar_ranks_rank(ranks) == 0;
    struct hypar_train_options how = { .steps = args->steps ? args->steps : STEPS,
                                       .kernels = args->kernels,
                                       .device = args->run_device,
                                       .threads = (int)args->threads,
                                       .check = args->check,
                                       .learning_rate = args->learning_rate,
                                       .weight_decay = args->weight_decay,
                                       .init_random =
                                           args->init && strcmp(args->init, "random") == 0,
                                       .rate = args->rate,
                                       .warm_up = args->warm_up,
                                       .data = args->data,
                                       .test_data = args->test_data,
                                       .test_every = args->test_every,
                                       .checkpoint = args->checkpoint,
                                       .checkpoint_every = args->every,
                                       .resume = args->resume,
                                       .trace_steps = args->trace ? TRACE_STEPS : 0,
                                       .report = args->quiet && !args->json ? NULL : show_step,
                                       .report_test =
                                           args->quiet && !args->json ? NULL : show_test,
                                       .who = &showing,
                                       .stop = stop,
                                       .partial_weights = args->partial_weights,
                                       .note = show_note };
    enum hypar_status status = first ? opt_try_outputs(args, err) : HYPAR_OK;
    if (status == HYPAR_OK && first && args->checkpoint)
        status = check_checkpoint(args->checkpoint, err);
    if (args->test_every && !args->test_data)
        status = opt_usage(err, "train: --test-every goes with --test-data");
    if (args->every && !args->checkpoint)
        status = opt_usage(err, "train: --every goes with --checkpoint");
    if (status == HYPAR_OK)
        status = check_data(args, args->data, err);
    if (status == HYPAR_OK)
        status = check_data(args, args->test_data, err);
    status = hypar_ranks_agree(ranks, status, err);
    if (status == HYPAR_OK)
        status = hypar_train(plan, ranks, &how, &result, err);
    if (status == HYPAR_UNSUPPORTED && *err->text && train_names_plan(args))
        status = opt_in_file(args->operand[0], status, err);
    if (first && showing.over) {
        fputs("\r\033[K", stdout);
        fflush(stdout);
    }
    if (status == HYPAR_OK && first)
        status = report_step(args, plan, &result, err);
    hypar_trace_free(result.trace);
    return status == HYPAR_OK && result.stopped ? HYPAR_STOPPED : status;
}

/* Not a note: with -q a run that waits for ever would be silent. */
static void tell_wait(void *who, int rank, const char *host, double waited_s)
{
    char text[32];
    (void)who;
    fprintf(stderr, "hypar: waiting for rank %d on %s: no message for %s\n", rank, host,
            hypar_format_quantity(text, waited_s, HYPAR_UNIT_SECONDS));
}

/* A launcher ends all ranks when the first exits with a code that is not 0: before that, the
 * files of rank 0 are in their places and its output is written. */
static enum hypar_status stop_together(struct hypar_ranks *ranks, struct hypar_error *err)
{
    enum hypar_status status = opt_place_files(HYPAR_STOPPED, err);
    fflush(stdout); /* main() tells of an error */
    return hypar_ranks_agree(ranks, status, err);
}

/* The first SIGINT or SIGTERM, and SIGUSR1, which mpirun hands on, end a run after its step. */
static const volatile sig_atomic_t *stop_on_signals(void)
{
    struct sigaction action;
    const volatile sig_atomic_t *stop = opt_stop_on_signals();
    if (sigaction(SIGTERM, NULL, &action) == 0)
        sigaction(SIGUSR1, &action, NULL);
    return stop;
}

/* Was this process started by srun? A script of sbatch knows the number of tasks, too, and may
 * start ranks of its own. */
static bool in_step_of_slurm(void)
{
    return getenv("SLURM_STEP_ID") || getenv("SLURM_STEPID");
}

/* Start the ranks, which read the plan that was found here. */
static enum hypar_status launch(const struct args *args, const struct train_plan *p,
                                struct hypar_error *err)
{
    int n = hypar_machine_device_count(hypar_plan_machine(p->plan));
    bool standard = strcmp(args->operand[0], "-") == 0;
    char why[160];
    if (in_step_of_slurm() && hypar_ranks_apart(why, sizeof why)) {
        snprintf(err->text, sizeof err->text,
                 "there is 1 rank, and the plan has %d devices: %s", n, why);
        return HYPAR_INFEASIBLE;
    }
    if (standard && !p->read)
        return opt_usage(err, "train: a plan cannot name a model read from standard input, "
                              "expected a file, or --in-process");
    if (p->read && !standard)
        return launch_ranks(args, n, args->operand[0], -1, err);
    char *text = plan_to_text(p->plan);
    int fd = plan_text_file(text, err);
    free(text);
    if (fd < 0)
        return HYPAR_RUNTIME;
    enum hypar_status status = launch_ranks(args, n, NULL, fd, err);
    close(fd);
    return status;
}

static enum hypar_status run_here(const struct args *args, const struct hypar_plan *plan,
                                  const volatile sig_atomic_t *stop, struct hypar_error *err)
{
    struct hypar_ranks *ranks;
    TRY(hypar_ranks_join(&ranks, err));
    enum hypar_status status = train(args, plan, ranks, stop, err);
    hypar_ranks_leave(ranks, status);
    return status;
}

/* Check the host file here, because mpirun's message about a file without hosts is hard to
 * understand. */
static enum hypar_status check_hosts(const struct args *args, struct hypar_error *err)
{
    struct stat about;
    if (args->in_process)
        return opt_usage(err, "train: --hostfile does not go with --in-process");
    if (stat(args->hostfile, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0)
        return hosts_check(args->hostfile, err);
    const char *why = access(args->hostfile, R_OK) != 0 ? "cannot be read"
                      : S_ISREG(about.st_mode)          ? "is empty"
                                                        : "is not a regular file";
    snprintf(err->text, sizeof err->text, "%.200s: %s, expected a file that lists hosts",
             args->hostfile, why);
    return HYPAR_INVALID;
}

static enum hypar_status run_alone(const struct args *args, const volatile sig_atomic_t *stop,
                                   struct hypar_error *err)
{
    struct train_plan p = { NULL };
    enum hypar_status status = launch_check(args, (int)args->ranks, err);
    if (status == HYPAR_OK)
        status = train_plan(args, args->ranks ? (int)args->ranks : 1, &p, err);
    int n = status == HYPAR_OK ? hypar_machine_device_count(hypar_plan_machine(p.plan)) : 0;
    if (status == HYPAR_OK && args->hostfile)
        status = check_hosts(args, err);
    if (status == HYPAR_OK && *stop) {
        opt_note_interrupted(args, "stopped before the first step");
        status = HYPAR_STOPPED;
    }
    if (status == HYPAR_OK && args->ranks && args->ranks != n) {
        snprintf(err->text, sizeof err->text,
                 "--ranks %d, but the plan has %d devices: one for each", (int)args->ranks, n);
        status = HYPAR_INFEASIBLE;
    } else if (status == HYPAR_OK && (n > 1 || args->hostfile) && !args->in_process) {
        status = launch(args, &p, err);
    } else if (status == HYPAR_OK) {
        status = run_here(args, p.plan, stop, err);
    }
    train_plan_free(&p);
    return status;
}

static enum hypar_status run_as_rank(const struct args *args, const volatile sig_atomic_t *stop,
                                     struct hypar_error *err)
{
    struct train_plan planned = { NULL };
    struct hypar_ranks *ranks;
    launch_bind(args); /* before anybody starts threads */
    TRY(hypar_ranks_join(&ranks, err));
    if (hypar_ranks_rank(ranks) == 0)
        launch_ready();
    if (!launch_on_terminal()) /* but a pseudo-terminal of the launcher's */
        setenv("NO_COLOR", "1", 1);
    enum hypar_status status = train_plan_together(args, ranks, &planned, err);
    if (status == HYPAR_OK) {
        hypar_ranks_watch(ranks, args->wait_note_s > 0 ? args->wait_note_s : WAIT_NOTE_S,
                          tell_wait, NULL);
        status = train(args, planned.plan, ranks, stop, err);
    }
    if (status == HYPAR_STOPPED)
        status = stop_together(ranks, err);
    train_plan_free(&planned);
    if (status != HYPAR_OK && err->text[0]) { /* before the launcher ends everybody */
        fflush(stdout);
        fprintf(stderr, "hypar: %s\n", hypar_clean_text(err->text));
        err->text[0] = '\0';
    }
    enum hypar_status end = launch_end(status, hypar_ranks_rank(ranks) == 0);
    hypar_ranks_leave(ranks, status);
    return end;
}

static enum hypar_status run(const struct args *args, struct hypar_error *err)
{
    const volatile sig_atomic_t *stop = stop_on_signals();
    if (args->checkpoint && strcmp(args->checkpoint, "-") == 0)
        return opt_usage(err, "train: --checkpoint -: expected a file, not standard output");
    if (args->init && opt_find_word(OPT_INIT, args->init) < 0)
        return opt_unknown_word(OPT_INIT, args->init, err);
    if (args->bind && opt_find_word(OPT_BIND, args->bind) < 0)
        return opt_unknown_word(OPT_BIND, args->bind, err);
    if (args->kernels && opt_find_word(OPT_KERNELS, args->kernels) < 0)
        return opt_unknown_word(OPT_KERNELS, args->kernels, err);
    if (args->run_device && opt_find_word(OPT_RUN_DEVICE, args->run_device) < 0)
        return opt_unknown_word(OPT_RUN_DEVICE, args->run_device, err);
    if (args->kernels && train_on_card(args))
        return opt_usage(err, "train: --kernels is for --device cpu");
    if (args->rate && opt_find_word(OPT_RATE, args->rate) < 0)
        return opt_unknown_word(OPT_RATE, args->rate, err);
    if (args->profile &&
        strcmp(args->profile, "-") != 0) { /* told before anything is trained */
        struct hypar_profile *profile;
        enum hypar_status readable = hypar_profile_read(&profile, args->profile, err);
        hypar_profile_free(profile);
        if (readable != HYPAR_OK)
            return readable;
    }
    return hypar_ranks_launched() ? run_as_rank(args, stop, err) : run_alone(args, stop, err);
}

const struct command cmd_train = {
    .name = "train",
    .operands = "MODEL\nPLAN",
    .min_operands = 1,
    .max_operands = 1,
    .operand_word = opt_model_word,
    .summary = "run a plan for real",
    .doc =
        "Train a network by a plan, or by a plan that is found for this machine: every device "
        "is a process, started here by mpirun or by an MPI launcher around this command.",
    .options = options,
    .run = run,
};
