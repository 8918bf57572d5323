/* machine/computer.h - the cores and the memory of this computer. Internal. */
#ifndef MACHINE_COMPUTER_H
#define MACHINE_COMPUTER_H

#include <stdbool.h>

enum { COMPUTER_MAX_CPUS = 8192 };

struct computer {
    int cores;           /* at least 1 */
    double memory_bytes; /* that the process may use, of all NUMA nodes */
    bool here;           /* false: a variable of hwloc describes another computer */
    short core_of_cpu[COMPUTER_MAX_CPUS]; /* by the number that the system gives a processor;
                                             -1: not known, or not there */
};

/* Asked once and kept. A process that is to call MPI asks before, as the first to ask forks.
 * Lack of memory is told by hypar_out_of_memory(). */
const struct computer *hp_computer(void);

/* memory_limit.c: the least limit of memory of the control groups that `groups`
 * (/proc/self/cgroup) names, under `mount` (/sys/fs/cgroup), and of those that they are in; 0:
 * there is none. */
double hp_memory_limit(const char *groups, const char *mount);

#endif /* MACHINE_COMPUTER_H */
