/* The time of a comm that its messages do not take: launches and local copies. */
#include "cost/collective.h"

#include <math.h>

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

/* Kernels beside collectives ------------------------------------------------------------- */

/* Channels of NCCL by bytes (NVIDIA/nccl, topoGetAlgoInfo() and ncclTopoTuneModel()). In its
 * protocol for short messages a channel has 512 threads, each of which has at least 8 bytes of
 * the whole (trees), or of each device's piece (rings). Pieces of more than about 28 KiB go by
 * the next protocol, whose threads have 8 bytes of the whole: over nodes the latencies of its
 * steps, 1.3 us longer for each device, are then less than what its bandwidth saves. */
static const double CHANNEL_BYTES = 4096, SHORT_PIECE_BYTES = 28672;
enum { CHANNELS = 24 }; /* over NVLink */

/* The share of all channels that a collective of so many bytes runs in. */
static double channels_of(const struct comm_group *group, double whole)
{
    bool trees = group->kind == COMM_ALL_REDUCE;
    double piece = trees ? whole : whole / group->n_devices;
    if (group->kind == COMM_ALL_TO_ALL || group->kind == COMM_EXCHANGE ||
        (!trees && piece > SHORT_PIECE_BYTES))
        return 1; /* pairs have their own channels */
    return fmin(fmax(1, floor(piece / CHANNEL_BYTES)), CHANNELS) / CHANNELS;
}

double hp_lost_beside_s(const struct hypar_device *device, const struct comm_group *group,
                        double whole, const struct comm_way *way, double bytes,
                        double own_link_s)
{
    double moving_s = own_link_s + way->overhead.s_per_byte * bytes;
    double under_way_s = way->fixed_s - way->overhead.fixed_s;
    return device->kernels.comm_share * channels_of(group, whole) * (moving_s + under_way_s);
}
