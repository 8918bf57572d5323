/* This computer as a machine: cores and memory from hwloc, or from sysconf without it. */
#include "machine/machine.h"

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

static bool ask_hwloc(int *cores, double *memory_bytes)
{
    hwloc_topology_t topology;
    make_sure_of_memory();
    if (hwloc_topology_init(&topology) != 0)
        return false;
    bool ok = hwloc_topology_load(topology) == 0;
    if (ok) {
        *cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        *memory_bytes = (double)hwloc_get_root_obj(topology)->total_memory;
    }
    hwloc_topology_destroy(topology);
    return ok;
}
#else
static bool ask_hwloc(int *cores, double *memory_bytes)
{
    (void)cores;
    (void)memory_bytes;
    return false;
}
#endif

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
    device->bf16_op_per_s *= share;
    device->memory_bytes_per_s *= share;
    if (memory_bytes >= n)
        device->memory_bytes = (int64_t)(memory_bytes / n);
    return type;
}
