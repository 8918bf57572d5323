/* machine/computer.h - the cores and the memory of this computer. Internal. */
#ifndef MACHINE_COMPUTER_H
#define MACHINE_COMPUTER_H

#include <stdbool.h>

enum { COMPUTER_MAX_CPUS = 8192 };

struct computer {
    int cores;           /* at least 1 */
    double memory_bytes; /* that the process may use, on all NUMA nodes */
    bool here;           /* false: a variable of hwloc describes another computer */
    short core_of_cpu[COMPUTER_MAX_CPUS]; /* by the system's number of a processor; -1: unknown
                                             or absent */
};

/* Found once and kept. A process that is going to call MPI must ask first, because the first
 * call forks. A lack of memory ends in hypar_out_of_memory(). */
const struct computer *hp_computer(void);

/* memory_limit.c: the least memory limit of the control groups that `groups`
 * (/proc/self/cgroup) names, under `mount` (/sys/fs/cgroup), and of their parents; 0: there is
 * none. */
double hp_memory_limit(const char *groups, const char *mount);

#endif /* MACHINE_COMPUTER_H */
