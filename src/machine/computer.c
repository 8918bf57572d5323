/* The cores and the memory of this computer: from hwloc, or from sysconf() without it. */
#define _GNU_SOURCE /* pipe2 */

#include "machine/computer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

static void forget_cpus(struct computer *c)
{
    for (int i = 0; i < COMPUTER_MAX_CPUS; i++)
        c->core_of_cpu[i] = -1;
}

#ifdef HYPAR_WITH_HWLOC
#include <hwloc.h>

static void note_cores(struct computer *c, hwloc_topology_t topology)
{
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core))) {
        int cpu = -1;
        while ((cpu = hwloc_bitmap_next(core->cpuset, cpu)) >= 0 && cpu < COMPUTER_MAX_CPUS)
            c->core_of_cpu[cpu] = (short)c->cores;
        c->cores++;
    }
}

/* Missing figures stay 0. The NUMA nodes of a virtual machine may report less memory than it
 * has, because it returns memory to its host: if the process may use all nodes, the system's
 * total counts. */
static void ask_hwloc(struct computer *c)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) != 0)
        return;
    note_cores(c, topology);
    c->here = hwloc_topology_is_thissystem(topology);
    c->memory_bytes = (double)hwloc_get_root_obj(topology)->total_memory;
    double all_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (c->here && all_bytes > c->memory_bytes &&
        hwloc_bitmap_isequal(hwloc_topology_get_allowed_nodeset(topology),
                             hwloc_topology_get_complete_nodeset(topology)))
        c->memory_bytes = all_bytes;
}

/* hwloc crashes or aborts with a message when memory is short. So a child process asks it,
 * silently. A lock that another thread held at the fork may block the child: it ends after a
 * while. */
static _Noreturn void ask_in_child(int to)
{
    enum { MOST_SECONDS = 20 };
    static struct computer c;
    sigset_t alarms;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(MOST_SECONDS);
    forget_cpus(&c);
    ask_hwloc(&c);
    for (size_t n = 0; n < sizeof c;) {
        ssize_t written = write(to, (const char *)&c + n, sizeof c - n);
        if (written < 0 && errno != EINTR)
            _exit(1);
        n += written > 0 ? (size_t)written : 0;
    }
    _exit(0);
}

/* Signals are blocked during the fork, and in the child for good: a handler in the child would
 * remove this process's files. -1: no child can be made. */
static pid_t start_child(int pipe_end[2])
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child == 0)
        ask_in_child(pipe_end[1]);
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return child;
}

static bool read_whole(int fd, struct computer *c)
{
    size_t n = 0;
    while (n < sizeof *c) {
        ssize_t got = read(fd, (char *)c + n, sizeof *c - n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        n += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* False: there is not enough memory. If no pipe or process can be made, sysconf() is asked. */
static bool ask(struct computer *c)
{
    int end[2], ended = 0;
    if (pipe2(end, O_CLOEXEC) != 0)
        return errno != ENOMEM;
    pid_t child = start_child(end);
    bool lacking = child < 0 && errno == ENOMEM;
    close(end[1]);
    bool told = child > 0 && read_whole(end[0], c);
    close(end[0]);
    while (child > 0 && waitpid(child, &ended, 0) < 0 && errno == EINTR)
        ;
    bool late = WIFSIGNALED(ended) && WTERMSIG(ended) == SIGALRM;
    if (told || child < 0 || late)
        return !lacking;
    return false;
}
#else
static bool ask(struct computer *c)
{
    (void)c;
    return true;
}
#endif

static void complete(struct computer *c)
{
    if (c->cores < 1) {
        forget_cpus(c);
        c->here = true;
        c->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    }
    if (c->cores < 1)
        c->cores = 1;
    if (c->memory_bytes < 1)
        c->memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double limit = c->here ? hp_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup") : 0;
    if (limit > 0 && limit < c->memory_bytes)
        c->memory_bytes = limit;
}

/* Two threads may ask at once; they find the same. */
const struct computer *hp_computer(void)
{
    static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;
    static struct computer kept;
    struct computer c = { 0 };
    pthread_mutex_lock(&keeping);
    bool known = kept.cores > 0;
    pthread_mutex_unlock(&keeping);
    if (known)
        return &kept;
    if (!ask(&c))
        hypar_out_of_memory(0);
    complete(&c);
    pthread_mutex_lock(&keeping);
    if (kept.cores < 1)
        kept = c;
    pthread_mutex_unlock(&keeping);
    return &kept;
}
