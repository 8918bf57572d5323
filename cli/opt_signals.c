/* Signals: unfinished files are removed; a search that is told to stop returns its best result.
 */
#define _XOPEN_SOURCE 700 /* sigaltstack */

#include "cli/opt.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

/* The signals that do not end a process, or not for good; SIGXFSZ is an error of writing. */
static bool is_harmless(int number)
{
    static const int harmless[] = { SIGCHLD, SIGCONT, SIGSTOP,  SIGTSTP, SIGTTIN,
                                    SIGTTOU, SIGURG,  SIGWINCH, SIGXFSZ };
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (harmless[i] == number)
            return true;
    return false;
}

/* The signal's default action follows when this function returns: until then this signal and
 * others are blocked. */
static void remove_unfinished(int number)
{
    hypar_output_remove_unfinished();
    signal(number, SIG_DFL);
    raise(number);
}

/* SA_RESETHAND is not used: the system removes the handler before it blocks a second signal, so
 * a second signal in between (as `timeout` sends one) would end the process at once. Handlers
 * that are already set stay: nohup ignores signals, a sanitizer reports them. */
void opt_catch_signals(void)
{
    static char stack[1 << 16]; /* for a stack that has overflowed */
    struct sigaction was, now = { .sa_flags = SA_ONSTACK };
    now.sa_handler = remove_unfinished;
    sigfillset(&now.sa_mask);
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (!is_harmless(number) && sigaction(number, NULL, &was) == 0 &&
            was.sa_handler == SIG_DFL)
            sigaction(number, &now, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

/* Has a search been told to stop? */
static volatile sig_atomic_t stopped;

/* Two signals at once count as one: `timeout` sends its signal to the command and to its group.
 * SIGUSR1 never ends a rank at once: both mpirun and the launcher send it. */
enum { AT_ONCE_MS = 50 };

static void stop_search(int number)
{
    static atomic_int first_ms; /* several threads may get a signal at the same time */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int now_ms = (int)(t.tv_sec % 1000000 * 1000 + t.tv_nsec / 1000000);
    if (stopped && number != SIGUSR1 && (now_ms < first_ms || now_ms > first_ms + AT_ONCE_MS))
        remove_unfinished(number);
    if (!stopped)
        first_ms = now_ms;
    stopped = 1;
}

static const int stopping[] = { SIGINT, SIGTERM };

static void handle_stopping(void (*handler)(int))
{
    for (size_t i = 0; i < sizeof stopping / sizeof stopping[0]; i++) {
        struct sigaction was, now = { .sa_flags = SA_RESTART };
        now.sa_handler = handler;
        sigfillset(&now.sa_mask);
        if (sigaction(stopping[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(stopping[i], &now, NULL);
    }
}

const volatile sig_atomic_t *opt_stop_on_signals(void)
{
    handle_stopping(stop_search);
    return &stopped;
}

void opt_end_on_signals(void)
{
    handle_stopping(remove_unfinished);
}

static volatile sig_atomic_t out_of_time;

static void stop_in_time(int number)
{
    (void)number;
    out_of_time = 1;
    stopped = 1;
}

void opt_stop_after(double seconds)
{
    struct sigaction now = { .sa_flags = SA_RESTART };
    double whole = floor(seconds < 1e9 ? seconds : 1e9);
    struct itimerval timer = { .it_value = { (time_t)whole,
                                             (suseconds_t)(1e6 * (seconds - whole)) } };
    if (seconds > 1e9)
        timer.it_value.tv_usec = 0;
    now.sa_handler = stop_in_time;
    sigfillset(&now.sa_mask);
    sigaction(SIGALRM, &now, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

bool opt_out_of_time(void)
{
    return out_of_time;
}

void opt_note_interrupted(const struct args *args, const char *what)
{
    if (stopped && !out_of_time)
        opt_note(args, "interrupted: %s", what);
}
