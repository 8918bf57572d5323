/* The time of a comm that its messages do not take: launches and local copies. */
#include "cost/collective.h"

#include "machine/machine.h"

/* How often `bytes` pass through the memory of the busiest device: an all-reduce is read and
 * written, other kinds have the whole on one side of a device at most. */
static double copies_of(const struct comm_group *group)
{
    switch (group->kind) {
    case COMM_ALL_REDUCE:
        return 2;
    case COMM_ALL_TO_ALL:
        return group->n_devices - 1;
    default:
        return 1;
    }
}

double hp_copy_s_per_byte(const struct hypar_device *device)
{
    return device->kernels.copy_bytes_per_s > 0 ? 1 / device->kernels.copy_bytes_per_s : 0;
}

static void take_larger(double *most, double value)
{
    *most = value > *most ? value : *most;
}

struct comm_overhead hp_comm_overhead(const struct hypar_machine *machine,
                                      const struct comm_group *group)
{
    struct comm_overhead out = { 0, 0 };
    for (int i = 0; i < group->n_devices && group->n_devices > 1; i++) {
        const struct hypar_device *device = hypar_machine_device(machine, group->device[i]);
        take_larger(&out.fixed_s, device->kernels.comm_latency_s);
        take_larger(&out.s_per_byte, copies_of(group) * hp_copy_s_per_byte(device));
    }
    return out;
}

static bool is_known(const struct hypar_machine *machine)
{
    for (int r = 0; r < machine->n_runs; r++) {
        const struct hypar_device *device = &machine->runs[r].device;
        if (device->kernels.comm_latency_s > 0 || device->kernels.copy_bytes_per_s > 0)
            return true;
    }
    return false;
}

struct comm_overhead hp_messages_overhead(struct arena *scratch,
                                          const struct hypar_machine *machine,
                                          const struct message *message, int n)
{
    struct comm_overhead out = { 0, 0 };
    if (!is_known(machine))
        return out;
    struct arena_mark mark = hp_arena_mark(scratch);
    double *moved = NEW(scratch, double, 2 * hypar_machine_device_count(machine));
    for (int i = 0; i < n; i++)
        for (int to = 0; to < 2; to++) {
            int d = to ? message[i].to : message[i].from;
            const struct hypar_device *device = hypar_machine_device(machine, d);
            moved[2 * d + to] += message[i].bytes;
            take_larger(&out.fixed_s, device->kernels.comm_latency_s);
            take_larger(&out.s_per_byte, moved[2 * d + to] * hp_copy_s_per_byte(device));
        }
    hp_arena_release(scratch, mark);
    return out;
}
