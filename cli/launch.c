/* The ranks of a run, started by mpirun as this very command.
 *
 *     launcher ── mpirun ── rank 0, 1, ...
 *        └── standard error of all ──┘
 *
 * Signals are passed on to ranks as SIGUSR1. Standard error comes back through a pipe. Text
 * behind NOTICE in a line of the pipe is for the launcher only. */
#define _GNU_SOURCE /* prctl, strsignal */

#include "cli/launch.h"

#include "cli/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOTICE = 1, NO_MPIRUN = 127 };

static const char stopped_notice[] = "stopped";

/* The command line of a rank: "hypar =rank =PLAN =FLAGS =train =..." for "hypar train ...".
 * Every word begins with a mark, so that mpirun takes none of the words for its own: a word ":"
 * would begin another program, and mpirun searches all words for options such as "--mca".
 * Environment variables are not used, because they belong to the user. */
enum { MARK = '=' };
static const char rank_word[] = "=rank";

static struct {
    const char *plan; /* NULL: this process was not started by a launching process */
    bool terminal, bind;
} told;

void launch_read_words(int *argc, char ***argv)
{
    enum { OWN = 3 }; /* rank_word, plan, flags */
    char **word = *argv;
    if (*argc <= OWN || strcmp(word[1], rank_word) != 0 || !hypar_ranks_launched())
        return;
    for (int i = 1; i < *argc; i++)
        word[i] += word[i][0] == MARK;
    told.plan = word[2];
    told.terminal = strchr(word[3], 't');
    told.bind = strchr(word[3], 'b');
    word[OWN] = word[0];
    *argv += OWN;
    *argc -= OWN;
}

const char *launch_plan(void)
{
    return told.plan;
}

bool launch_hands_on(void)
{
    return launch_plan() && strcmp(launch_plan(), "-") == 0;
}

bool launch_on_terminal(void)
{
    return told.plan ? told.terminal : !hypar_ranks_launched() && isatty(STDOUT_FILENO);
}

void launch_ready(void)
{
    if (launch_plan())
        fprintf(stderr, "%c%ld\n", NOTICE, (long)getpid());
}

enum hypar_status launch_end(enum hypar_status status, bool first)
{
    if (status != HYPAR_STOPPED || !launch_plan())
        return status;
    if (first)
        fprintf(stderr, "%c%s\n", NOTICE, stopped_notice);
    return HYPAR_OK;
}

/* Cores -------------------------------------------------------------------------------- */

/* A number that mpirun passes to a rank in a variable; -1: the variable is not set. */
static int own_number(const char *name)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : -1;
}

/* The binding policy in mpirun's variable; NULL: the variable is not set. */
static const char *policy_of_mpirun(void)
{
    return getenv("OMPI_MCA_hwloc_base_binding_policy");
}

/* A user who set mpirun's variable for binding means these ranks, too. */
static bool wants_bound(const struct args *args)
{
    if (args->bind)
        return strcmp(args->bind, "cores") == 0;
    return !policy_of_mpirun();
}

/* Cores that the ranks of this host share, counted before this rank is bound; 0: not counted.
 */
static int shared_cores;

/* A process that mpirun has bound cannot see the cores of the other ranks. */
static bool is_bound_by_mpirun(const struct args *args)
{
    const char *policy = policy_of_mpirun();
    return !told.plan || (!args->bind && policy && strcmp(policy, "none") != 0);
}

void launch_bind(const struct args *args)
{
    int rank = own_number("OMPI_COMM_WORLD_LOCAL_RANK"), threads = opt_threads(args);
    int ranks = own_number("OMPI_COMM_WORLD_LOCAL_SIZE");
    shared_cores = is_bound_by_mpirun(args) ? 0 : hypar_local_cores();
    if (told.bind && rank >= 0 && ranks * threads <= shared_cores)
        hypar_local_bind(rank * threads, threads);
}

void launch_note_cores(const struct args *args)
{
    int ranks = own_number("OMPI_COMM_WORLD_LOCAL_SIZE"), threads = opt_threads(args),
        cores = shared_cores ? shared_cores : hypar_local_all_cores();
    if (ranks * threads > cores)
        opt_note(args, "%d ranks of %d thread%s on %d core%s: they took turns", ranks, threads,
                 threads == 1 ? "" : "s", cores, cores == 1 ? "" : "s");
}

/* Signals ------------------------------------------------------------------------------ */

static volatile sig_atomic_t child;   /* mpirun; 0: none */
static volatile sig_atomic_t ready;   /* the ranks can take a signal */
static volatile sig_atomic_t stopped; /* signals that came: none, one, or more */
static volatile sig_atomic_t last_signal;

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The file that names the parent of rank 0, if rank 0 is on this host; empty: rank 0 is not
 * ready. */
static char rank_0_stat[64];
static volatile sig_atomic_t rank_0_process;

/* Is rank 0 a child of mpirun, so on this host? Only functions that a signal handler may call.
 */
static bool rank_0_is_here(void)
{
    char text[512];
    int file = open(rank_0_stat, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[n > 0 ? n : 0] = '\0';
    const char *after = strrchr(text, ')'); /* "508 (hypar) R 486 ...": the parent is 486 */
    if (!after || strlen(after) < 4)
        return false;
    long parent = 0;
    for (after += 4; *after >= '0' && *after <= '9'; after++)
        parent = 10 * parent + (*after - '0');
    return parent == child;
}

/* mpirun passes SIGUSR1 on to all ranks, except under OMPI_MCA_plm=isolated. One informed rank
 * is enough: the ranks agree after each step. */
static void ask_to_stop(void)
{
    if (rank_0_process > 0 && rank_0_is_here())
        kill((pid_t)rank_0_process, SIGUSR1);
    kill((pid_t)child, SIGUSR1);
}

/* Two at once are one: `timeout` sends its signal to the command, and to its group. */
static void pass_on(int number)
{
    enum { AT_ONCE_MS = 50 };
    static volatile long first_ms;
    if (stopped && now_ms() <= first_ms + AT_ONCE_MS)
        return;
    if (!stopped)
        first_ms = now_ms();
    stopped = stopped ? 2 : 1;
    last_signal = number;
    if (child > 0 && stopped == 2)
        kill((pid_t)child, SIGTERM);
    else if (child > 0 && ready)
        ask_to_stop();
}

static const int stopping[] = { SIGINT, SIGTERM, SIGUSR1 };

static void watch_signals(void)
{
    struct sigaction was, action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
    for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++)
        if (sigaction(stopping[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(stopping[i], &action, NULL);
}

/* Pass on a signal that arrived before the ranks were ready. */
static void become_ready(long rank_0)
{
    snprintf(rank_0_stat, sizeof rank_0_stat, "/proc/%ld/stat", rank_0);
    rank_0_process = (sig_atomic_t)rank_0;
    sigset_t watched, before;
    sigemptyset(&watched);
    for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++)
        sigaddset(&watched, stopping[i]);
    sigprocmask(SIG_BLOCK, &watched, &before);
    ready = 1;
    if (stopped == 1)
        ask_to_stop();
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* mpirun ------------------------------------------------------------------------------- */

/* `before`, then `text`; never freed: the process becomes mpirun. */
static char *joined(const char *before, const char *text)
{
    size_t bytes = strlen(before) + strlen(text) + 1;
    char *all = hypar_or_out_of_memory(malloc(bytes));
    snprintf(all, bytes, "%s%s", before, text);
    return all;
}

static char *marked(const char *word)
{
    static const char mark[] = { MARK, '\0' };
    return joined(mark, word);
}

/* The words of a rank, which follow mpirun's own words. */
static void put_rank_words(char **w, const struct args *args, const char *plan)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    *w++ = joined("", self);
    *w++ = joined("", rank_word);
    *w++ = marked(plan);
    *w++ = joined(marked(launch_on_terminal() ? "t" : ""), wants_bound(args) ? "b" : "");
    *w++ = marked(args->command);
    for (int i = 1; i < args->argc; i++)
        *w++ = marked(args->argv[i]);
}

/* The arguments of mpirun; the words of a rank come last. */
static char **mpirun_words(const struct args *args, int ranks, const char *plan)
{
    enum { MOST_OWN = 24 };
    static char count[16];
    bool enough = ranks * opt_threads(args) <= hypar_local_cores();
    char **word = hypar_or_out_of_memory(calloc((size_t)args->argc + MOST_OWN, sizeof *word)),
         **w = word;
    snprintf(count, sizeof count, "%d", ranks);
    *w++ = "mpirun";
    *w++ = "-n";
    *w++ = count;
    *w++ = "--oversubscribe";
    if (args->bind || wants_bound(args)) { /* they bind themselves */
        *w++ = "--bind-to";
        *w++ = "none";
    }
    if (geteuid() == 0)
        *w++ = "--allow-run-as-root";
    if (args->hostfile) {
        *w++ = "--hostfile";
        *w++ = joined(args->hostfile[0] == '/' ? "" : "./", args->hostfile);
    } else if (!enough) {
        *w++ = "--mca";
        *w++ = "mpi_yield_when_idle";
        *w++ = "1";
    }
    put_rank_words(w, args, plan);
    return word;
}

/* Let the sender copy a chunk of a message (1 MiB) at once, and the receiver when it next
 * polls, so that neither waits for the other. By default Open MPI sends large messages in
 * pieces of 32 KiB, for which both sides must poll repeatedly while they compute. Only if there
 * is room for its shared memory. */
static void send_at_once(int ranks)
{
    static const double segment_bytes = 128 << 20;
    struct statvfs about;
    if (statvfs("/dev/shm", &about) != 0 ||
        (double)about.f_bavail * (double)about.f_frsize < 2 * ranks * segment_bytes)
        return;
    setenv("OMPI_MCA_btl_vader_eager_limit", "1100000", 0);
    setenv("OMPI_MCA_btl_vader_max_send_size", "1200000", 0);
    setenv("OMPI_MCA_btl_vader_segment_size", "134217728", 0);
}

/* Only the launching process gets Ctrl-C. It may also have read standard input, so rank 0 gets
 * `input` instead. Ranks write to a pseudo-terminal of mpirun, whether or not standard output
 * is a terminal. */
static void become_mpirun(const struct args *args, int ranks, const char *plan, int input,
                          int errors, pid_t launcher)
{
    char **word = mpirun_words(args, ranks, plan ? plan : "-");
    if (plan)
        input = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != launcher) /* killed before that */
        _exit(NO_MPIRUN);
    if (!launch_on_terminal())
        setenv("NO_COLOR", "1", 1);
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0); /* containers forbid it */
    send_at_once(ranks);
    /* Without this, mpirun waits a second or more for the other ranks if one fails. */
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 0);
    dup2(input, STDIN_FILENO);
    dup2(errors, STDERR_FILENO);
    close(errors);
    execvp(word[0], word);
    _exit(NO_MPIRUN);
}

/* The pipe from the ranks ------------------------------------------------------------- */

struct heard {
    char last[4096];   /* what a rank said last */
    bool explained;    /* a rank said why it failed */
    char before[4096]; /* what was said before rank 0 was ready, as by ssh */
    char mpirun[4096]; /* what mpirun has to say itself */
    bool inside;       /* between two of its rules */
    int died;          /* a rank that it says a signal ended; -1: it does not */
    bool unstarted;    /* it says that it could not start them all */
    /* where it was, or would have been; empty: not told */
    char host[HOST_BYTES];
    long rank_0;  /* its process; 0: not known */
    bool hung;    /* mpirun did not end after its ranks */
    bool stopped; /* training ended before its last step, as a signal asked for */
};

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* Is this the line that mpirun prints around its own messages? */
static bool is_rule(const char *line)
{
    size_t n = strspn(line, "-");
    return n > 20 && (line[n] == '\n' || line[n] == '\0');
}

/* Rank 0 is ready, or was stopped; another rank may have begun the line. Is anything left of
 * the line? */
static bool hear_notice(struct heard *h, char *line)
{
    char *notice = strchr(line, NOTICE);
    if (!notice)
        return *line;
    if (begins(notice + 1, stopped_notice)) {
        h->stopped = true;
    } else {
        h->rank_0 = strtol(notice + 1, NULL, 10);
        become_ready(h->rank_0);
    }
    *notice = '\0';
    return *line;
}

/* A line by mpirun itself, outside its rules: "[host:1] ...", "mpirun: Forwarding signal ...".
 */
static bool is_of_mpirun(const char *line)
{
    return *line == '[' || begins(line, "mpirun: ");
}

/* mpirun reports a rank that died ("process rank 1 with PID 0 on node a exited on signal 9"), a
 * rank that it could not start ("Node: a"), or the daemons that start ranks on other hosts. */
static void hear_of_rank(struct heard *h, const char *line)
{
    const char *process = strstr(line, "process rank ");
    bool died =
        process && strstr(line, " exited on signal ") &&
        sscanf(process, "process rank %d with PID %*d on node %255s", &h->died, h->host) == 2;
    h->unstarted |=
        !died && (sscanf(line, "Node: %255s", h->host) == 1 || strstr(line, "daemon"));
}

/* A rank says why it fails. After a note, or a line about a wait, mpirun may fail by itself. */
static bool is_failure(const char *line)
{
    return begins(line, "hypar: ") && !begins(line, "hypar: note: ") &&
           !begins(line, "hypar: waiting for ");
}

/* Print equal lines of several ranks once. Keep mpirun's own lines: they are printed only if no
 * rank has given a reason. */
static void hear_line(struct heard *h, char *line)
{
    if (!hear_notice(h, line))
        return;
    if (is_rule(line)) {
        h->inside = !h->inside;
    } else if (h->inside || is_of_mpirun(line)) {
        hear_of_rank(h, line);
        size_t n = strlen(h->mpirun);
        snprintf(h->mpirun + n, sizeof h->mpirun - n, "%s", line);
    } else if (strcmp(line, h->last) != 0) {
        if (launch_on_terminal() && isatty(STDERR_FILENO))
            fputs("\r\033[K", stderr); /* clear a line of progress */
        fputs(line, stderr);
        snprintf(h->last, sizeof h->last, "%s", line);
        h->explained |= is_failure(line);
        size_t n = strlen(h->before);
        if (!h->rank_0)
            snprintf(h->before + n, sizeof h->before - n, "%s", line);
    }
}

/* Handle all whole lines, and a line that is too long; returns the number of bytes left in
 * `text`. */
static size_t hear_lines(struct heard *h, char *text, size_t n, size_t most)
{
    char *begin = text, *end;
    text[n] = '\0';
    while ((end = memchr(begin, '\n', n - (size_t)(begin - text)))) {
        char after = end[1];
        end[1] = '\0';
        hear_line(h, begin);
        end[1] = after;
        begin = end + 1;
    }
    n -= (size_t)(begin - text);
    memmove(text, begin, n + 1);
    if (n < most)
        return n;
    hear_line(h, text);
    return 0;
}

static bool is_zombie(long process)
{
    char path[64], about[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, about, sizeof about - 1);
    if (fd >= 0)
        close(fd);
    about[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(about, ')');
    return name_end && strncmp(name_end, ") Z", 3) == 0;
}

/* Does mpirun have children, and are all of them dead without its notice? */
static bool only_zombies(void)
{
    char path[64], list[4096], *at = list, *end;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)child, (long)child);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, list, sizeof list - 1);
    if (fd >= 0)
        close(fd);
    list[n > 0 ? n : 0] = '\0';
    bool all = true, any = false;
    for (long process; (process = strtol(at, &end, 10)) > 0 && all; at = end, any = true)
        all = is_zombie(process);
    return any && all;
}

/* Read the pipe until mpirun has ended. If a rank dies while it starts, mpirun may wait forever
 * for its own lock (PMIx 4.2); then it is killed after some seconds. */
static void hear(struct heard *h, int from)
{
    enum { LOOK_MS = 500, LOOKS = 8 };
    char text[4096];
    size_t n = 0;
    struct pollfd pipe_end = { .fd = from, .events = POLLIN };
    for (int dead = 0;;) {
        int some = poll(&pipe_end, 1, LOOK_MS);
        if (some == 0) {
            dead = only_zombies() ? dead + 1 : 0;
            h->hung |= dead == LOOKS;
            if (dead == LOOKS)
                kill((pid_t)child, SIGKILL);
            continue;
        }
        ssize_t got = some < 0 ? -1 : read(from, text + n, sizeof text - 2 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n = hear_lines(h, text, n + (size_t)got, sizeof text - 2);
    }
    if (n > 0)
        hear_line(h, text);
    close(from);
}

/* A rank 0 that was killed leaves the checkpoint that it was writing. */
static void remove_parts(const struct args *args, long rank_0)
{
    enum { MOST_PARTS = 4 };
    char place[HYPAR_PLACE_BYTES], part[HYPAR_PLACE_BYTES + 64];
    if (!args->checkpoint || !rank_0 ||
        hypar_output_place(args->checkpoint, place, NULL) != HYPAR_OK)
        return;
    const char *slash = strrchr(place, '/');
    int folder = slash ? (int)(slash + 1 - place) : 0;
    for (int i = 0; i < MOST_PARTS; i++) {
        snprintf(part, sizeof part, "%.*shypar-%ld-%d.part", folder, place, rank_0, i);
        unlink(part);
    }
}

/* How it ended ----------------------------------------------------------------------------- */

static enum hypar_status fail(struct hypar_error *err, const char *what, const char *why)
{
    snprintf(err->text, sizeof err->text, "%s%s%s", what, *why ? ": " : "", why);
    return HYPAR_RUNTIME;
}

static enum hypar_status fail_of_rank(const struct heard *h, int number,
                                      struct hypar_error *err)
{
    char what[HOST_BYTES + 64] = "a rank died";
    if (h->died >= 0)
        snprintf(what, sizeof what, "rank %d on %s died", h->died, h->host);
    return fail(err, what, strsignal(number));
}

static enum hypar_status fail_to_start(const struct args *args, struct heard *h,
                                       struct hypar_error *err)
{
    char what[HOST_BYTES + 64];
    if (!h->host[0] && args->hostfile)
        hosts_told_of(args->hostfile, h->before, h->host);
    snprintf(what, sizeof what, "ranks could not be started on %s",
             h->host[0] ? h->host : "this machine");
    return fail(err, what,
                args->hostfile ? "expected that ssh enters without a password, and that "
                                 "Open MPI and hypar are there under the same paths"
                               : "");
}

/* mpirun exits with 128 + n if signal n ended a rank, but also with statuses of its own, such
 * as 243 if ssh is missing. */
static bool died_by_signal(const struct heard *h, int number)
{
    return number <= SIGSYS && (h->died >= 0 || h->rank_0);
}

static enum hypar_status judge(const struct args *args, struct heard *h, int status,
                               struct hypar_error *err)
{
    static const enum hypar_status by_code[] = { HYPAR_OK, HYPAR_INFEASIBLE, HYPAR_USAGE,
                                                 HYPAR_INVALID, HYPAR_RUNTIME };
    enum { N_CODES = sizeof by_code / sizeof *by_code, SIGNALS = 128 };
    char why[32];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALS + WTERMSIG(status);
    err->text[0] = '\0';
    if (code == NO_MPIRUN)
        return fail(err,
                    "mpirun cannot be started (Debian: openmpi-bin); --in-process does "
                    "without it",
                    "");
    if (h->hung)
        return fail(err, "a rank died, and mpirun did not end", "");
    if (code > SIGNALS && !WIFEXITED(status))
        return fail(err, "mpirun died", strsignal(code - SIGNALS));
    if (code != 0 && !h->rank_0 && h->unstarted)
        return fail_to_start(args, h, err);
    if (code > SIGNALS && died_by_signal(h, code - SIGNALS))
        return fail_of_rank(h, code - SIGNALS, err);
    if (code == 0 && h->stopped)
        return HYPAR_STOPPED;
    if (code == 0 || (code < N_CODES && h->explained))
        return by_code[code];
    fputs(h->mpirun, stderr);
    snprintf(why, sizeof why, "exit status %d", code);
    return fail(err, "mpirun failed", why);
}

/* Thousands of processes exhaust a machine before the first of them trains. */
enum { MAX_RANKS_OF_A_CORE = 64 };

enum hypar_status launch_check(const struct args *args, int ranks, struct hypar_error *err)
{
    int most = MAX_RANKS_OF_A_CORE * hypar_local_cores();
    if (args->hostfile || args->in_process || ranks <= most)
        return HYPAR_OK;
    return opt_usage(err, "%d ranks, expected at most %d here: %d for each core", ranks, most,
                     MAX_RANKS_OF_A_CORE);
}

bool launch_finds_mpirun(void)
{
    char file[PATH_MAX];
    for (const char *path = getenv("PATH"); path && *path;) {
        int n = (int)strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/mpirun", n, path);
        if (access(file, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

enum hypar_status launch_ranks(const struct args *args, int ranks, const char *plan, int input,
                               struct hypar_error *err)
{
    enum hypar_status may = launch_check(args, ranks, err);
    if (may != HYPAR_OK)
        return may;
    struct heard heard = { .died = -1 };
    int errors[2], status = 0;
    pid_t launcher = getpid();
    if (args->hostfile)
        hosts_note_slots(args, ranks);
    fflush(stdout);
    watch_signals();
    if (pipe(errors) != 0 || (child = fork()) < 0)
        return fail(err, "no process can be started", strerror(errno));
    if (child == 0) {
        close(errors[0]);
        become_mpirun(args, ranks, plan, input, errors[1], launcher);
    }
    close(errors[1]);
    hear(&heard, errors[0]);
    while (waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    if (status != 0)
        remove_parts(args, heard.rank_0);
    if (stopped == 2) {
        opt_end_on_signals();
        raise(last_signal == SIGUSR1 ? SIGTERM : last_signal);
    }
    return judge(args, &heard, status, err);
}
