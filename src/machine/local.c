/* This computer as a machine, and binding processes to its cores. */
#define _GNU_SOURCE /* sched_setaffinity */

#include "machine/machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "machine/computer.h"

enum { MASK_BITS = 8 * sizeof(unsigned long), MASK_WORDS = COMPUTER_MAX_CPUS / MASK_BITS };

/* A set of processors, a bit for each. */
struct cpus {
    unsigned long mask[MASK_WORDS];
};

static bool has(const struct cpus *cpus, int cpu)
{
    return cpus->mask[cpu / MASK_BITS] >> cpu % MASK_BITS & 1;
}

/* The processors that the process may use; all, if another computer is described. */
static bool own_cpus(const struct computer *c, struct cpus *mine)
{
    memset(mine, c->here ? 0 : 0xff, sizeof *mine);
    return !c->here || sched_getaffinity(0, sizeof *mine, (cpu_set_t *)mine) == 0;
}

/* Count the cores that the process may use, and add the processors of cores first .. first + n
 * - 1 to `taken`. 0: unknown. */
static int walk_cores(int first, int n, struct cpus *taken)
{
    const struct computer *c = hp_computer();
    struct cpus mine;
    int count = 0;
    memset(taken, 0, sizeof *taken);
    if (!own_cpus(c, &mine))
        return 0;
    for (int core = 0; core < c->cores; core++) {
        bool usable = false;
        for (int cpu = 0; cpu < COMPUTER_MAX_CPUS; cpu++) {
            if (c->core_of_cpu[cpu] != core || !has(&mine, cpu))
                continue;
            usable = true;
            if (count >= first && count < first + n)
                taken->mask[cpu / MASK_BITS] |= 1UL << cpu % MASK_BITS;
        }
        count += usable;
    }
    return count;
}

int hypar_local_cores(void)
{
    struct cpus taken;
    int cores = walk_cores(0, 0, &taken);
    return cores < 1 ? hp_computer()->cores : cores;
}

/* The text behind the colon in the first line of /proc/cpuinfo that begins with `word`. */
static bool find_in_cpuinfo(const char *word, char *text, size_t size)
{
    char line[256];
    bool found = false;
    FILE *file = hypar_or_out_of_memory(fopen("/proc/cpuinfo", "r"));
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');
        if (!value || strncmp(line, word, strlen(word)) != 0)
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(text, size, "%.*s", (int)strcspn(value, "\n"), value);
        found = *text;
    }
    if (file)
        fclose(file);
    return found;
}

const char *hypar_local_processor(void)
{
    static _Thread_local char text[160]; /* several threads may ask at once */
    char maker[40], part[40];
    if (*text || find_in_cpuinfo("model name", text, sizeof text))
        return text;
    if (find_in_cpuinfo("CPU implementer", maker, sizeof maker) &&
        find_in_cpuinfo("CPU part", part, sizeof part)) /* Arm gives no names there */
        snprintf(text, sizeof text, "Arm processor, implementer %s, part %s", maker, part);
    else
        snprintf(text, sizeof text, "unknown");
    return text;
}

int hypar_local_all_cores(void)
{
    return hp_computer()->cores;
}

bool hypar_local_bind(int first, int n)
{
    struct cpus taken;
    return n > 0 && first + n <= walk_cores(first, n, &taken) &&
           sched_setaffinity(0, sizeof taken, (const cpu_set_t *)&taken) == 0;
}

struct hypar_device_type hp_local_device(int n)
{
    struct hypar_device_type type = *hp_device_type_find("cpu-core");
    const struct computer *c = hp_computer();

    /* A device is an equal share of the cores, and may be less than one core. */
    double share = c->cores / (double)n;
    struct hypar_device *device = &type.device;
    device->name = "local";
    device->fp64_op_per_s *= share;
    device->fp32_op_per_s *= share;
    device->tf32_op_per_s *= share;
    device->fp16_op_per_s *= share;
    device->bf16_op_per_s *= share;
    device->memory_bytes_per_s *= share;
    if (c->memory_bytes >= n)
        device->memory_bytes = (int64_t)(c->memory_bytes / n);
    return type;
}
