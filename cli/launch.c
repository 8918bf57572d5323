#define _GNU_SOURCE /* environ, prctl */

#include "cli/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char plan_variable[] = "HYPAR_TRAIN_PLAN";

const char *launch_plan(void)
{
    return getenv(plan_variable);
}

/* The arguments of mpirun, those of this command at the end. */
struct words {
    const char *word[64 + 2 * MAX_FIXES];
    int n;
};

static void add(struct words *w, const char *word)
{
    if (w->n < (int)(sizeof w->word / sizeof *w->word) - 1)
        w->word[w->n++] = word;
}

/* Ranks are bound to cores of their own where there are enough. */
static void set_words(struct words *w, const struct args *args, int ranks, char *count,
                      char *self)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bool enough = ranks * (args->threads ? args->threads : 1) <= cores;
    add(w, "mpirun");
    add(w, "--quiet");
    add(w, "-n");
    add(w, count);
    add(w, "--oversubscribe");
    add(w, "--bind-to");
    add(w, enough && !args->threads ? "core" : "none");
    if (geteuid() == 0)
        add(w, "--allow-run-as-root");
    if (!enough) {
        add(w, "--mca");
        add(w, "mpi_yield_when_idle");
        add(w, "1");
    }
    add(w, self);
    add(w, "train");
    for (int i = 1; i < args->argc; i++)
        add(w, args->argv[i]);
}

static volatile sig_atomic_t child;

/* mpirun hands SIGUSR1 on to the ranks. */
static void pass_on(int signal_number)
{
    (void)signal_number;
    if (child > 0)
        kill((pid_t)child, SIGUSR1);
}

static void watch_signals(void)
{
    struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void become_mpirun(const struct words *words, const char *plan, int errors)
{
    setpgid(0, 0); /* Ctrl-C is for the launching process alone */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setenv(plan_variable, plan, 1);
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0); /* containers forbid it */
    dup2(errors, STDERR_FILENO);
    close(errors);
    execvp("mpirun", (char *const *)words->word);
    fprintf(stderr, "hypar: mpirun cannot be started: %s (Debian: openmpi-bin)\n",
            strerror(errno));
    _exit(127);
}

/* A line that mpirun puts around what it says itself. */
static bool is_rule(const char *line)
{
    size_t n = strspn(line, "-");
    return n > 20 && (line[n] == '\n' || line[n] == '\0');
}

/* What the ranks say, without what mpirun has to say about how one of them ended. */
static void copy_errors(int from)
{
    char line[4096];
    bool inside = false;
    FILE *in = hypar_or_out_of_memory(fdopen(from, "r"));
    while (in && fgets(line, sizeof line, in)) {
        bool rule = is_rule(line);
        if (!rule && !inside)
            fputs(line, stderr);
        inside = rule ? !inside : inside;
    }
    if (in)
        fclose(in);
}

enum hypar_status launch_ranks(const struct args *args, int ranks, const char *plan,
                               int *exit_code, struct hypar_error *err)
{
    struct words words = { .n = 0 };
    char count[16], self[4096];
    int errors[2], status = 0;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    snprintf(count, sizeof count, "%d", ranks);
    self[n > 0 ? n : 0] = '\0';
    set_words(&words, args, ranks, count, self);
    fflush(stdout);
    if (pipe(errors) != 0 || (child = fork()) < 0) {
        snprintf(err->text, sizeof err->text, "no process can be started: %s", strerror(errno));
        return HYPAR_RUNTIME;
    }
    if (child == 0) {
        close(errors[0]);
        become_mpirun(&words, plan, errors[1]);
    }
    watch_signals();
    close(errors[1]);
    copy_errors(errors[0]);
    while (waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (*exit_code < 5)
        return HYPAR_OK;
    snprintf(err->text, sizeof err->text, "a rank died%s%s", *exit_code > 128 ? ": " : "",
             *exit_code > 128 ? strsignal(*exit_code - 128) : "");
    return HYPAR_RUNTIME;
}
