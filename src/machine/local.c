/* This computer as a machine: cores and memory from hwloc, or from sysconf without it; and
 * processes bound to its cores. */
#include "machine/machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef HYPAR_WITH_HWLOC
#include <hwloc.h>

/* hwloc crashes where memory is short: there must be more than it takes. */
static void make_sure_of_memory(void)
{
    enum { ENOUGH_BYTES = 8 << 20 };
    struct arena arena = { 0 };
    NEW(&arena, char, ENOUGH_BYTES);
    hp_arena_free(&arena);
}

/* False: hwloc knows nothing of this computer. */
static bool open_topology(hwloc_topology_t *out)
{
    make_sure_of_memory();
    if (hwloc_topology_init(out) != 0)
        return false;
    if (hwloc_topology_load(*out) == 0)
        return true;
    hwloc_topology_destroy(*out);
    return false;
}

static bool ask_hwloc(int *cores, double *memory_bytes)
{
    hwloc_topology_t topology;
    if (!open_topology(&topology))
        return false;
    *cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    *memory_bytes = (double)hwloc_get_root_obj(topology)->total_memory;
    hwloc_topology_destroy(topology);
    return true;
}

/* The cores that the process may run on are counted, and what it may use of cores first ..
 * first + n - 1 of them is put into `taken`. */
static int walk_cores(hwloc_topology_t topology, int first, int n, hwloc_bitmap_t taken)
{
    hwloc_bitmap_t mine = hwloc_bitmap_alloc(), of_core = hwloc_bitmap_alloc();
    hwloc_obj_t core = NULL;
    int count = 0;
    if (mine && of_core && hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_PROCESS) == 0)
        core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, NULL);
    for (; core; core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) {
        hwloc_bitmap_and(of_core, core->cpuset, mine);
        if (hwloc_bitmap_iszero(of_core))
            continue;
        if (count >= first && count < first + n)
            hwloc_bitmap_or(taken, taken, of_core);
        count++;
    }
    hwloc_bitmap_free(of_core);
    hwloc_bitmap_free(mine);
    return count;
}

/* Bound, where n > 0; returns how many cores there are to bind to, 0: not known. */
static int bind_to(int first, int n, bool *bound)
{
    hwloc_topology_t topology;
    *bound = false;
    if (!open_topology(&topology))
        return 0;
    hwloc_bitmap_t taken = hypar_or_out_of_memory(hwloc_bitmap_alloc());
    int count = walk_cores(topology, first, n, taken);
    if (n > 0 && first + n <= count)
        *bound = hwloc_set_cpubind(topology, taken, HWLOC_CPUBIND_PROCESS) == 0;
    hwloc_bitmap_free(taken);
    hwloc_topology_destroy(topology);
    return count;
}
#else
static bool ask_hwloc(int *cores, double *memory_bytes)
{
    (void)cores;
    (void)memory_bytes;
    return false;
}

static int bind_to(int first, int n, bool *bound)
{
    (void)first;
    (void)n;
    *bound = false;
    return 0;
}
#endif

int hypar_local_cores(void)
{
    bool bound;
    int cores = bind_to(0, 0, &bound);
    if (cores < 1)
        cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores;
}

/* What follows the colon of the first line of /proc/cpuinfo that begins with `word`. */
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
    static _Thread_local char text[160]; /* threads may ask at once */
    char maker[40], part[40];
    if (*text || find_in_cpuinfo("model name", text, sizeof text))
        return text;
    if (find_in_cpuinfo("CPU implementer", maker, sizeof maker) &&
        find_in_cpuinfo("CPU part", part, sizeof part)) /* Arm has no names there */
        snprintf(text, sizeof text, "Arm processor, implementer %s, part %s", maker, part);
    else
        snprintf(text, sizeof text, "unknown");
    return text;
}

int hypar_local_all_cores(void)
{
    int cores = 0;
    double memory_bytes;
    if (!ask_hwloc(&cores, &memory_bytes) || cores < 1)
        cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores;
}

bool hypar_local_bind(int first, int n)
{
    bool bound;
    bind_to(first, n, &bound);
    return bound;
}

struct hypar_device_type hp_local_device(int n)
{
    struct hypar_device_type type = *hp_device_type_find("cpu-core");
    int cores = 0;
    double memory_bytes = 0;
    ask_hwloc(&cores, &memory_bytes);
    if (cores < 1)
        cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (memory_bytes < 1)
        memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    /* A device is an equal share of the cores, of which it has at least a part of one. */
    double share = (cores < 1 ? 1 : cores) / (double)n;
    struct hypar_device *device = &type.device;
    device->name = "local";
    device->fp64_op_per_s *= share;
    device->fp32_op_per_s *= share;
    device->tf32_op_per_s *= share;
    device->fp16_op_per_s *= share;
    device->bf16_op_per_s *= share;
    device->memory_bytes_per_s *= share;
    if (memory_bytes >= n)
        device->memory_bytes = (int64_t)(memory_bytes / n);
    return type;
}
