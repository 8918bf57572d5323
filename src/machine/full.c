/* Topology `full`: one link for every pair of devices. Links are numbered (0,1), (0,2), ...
 * (1,2), ... */
#include "machine/topology.h"

#include <math.h>

static int64_t first_link_of(int64_t device, int64_t n)
{
    return device * (2 * n - device - 1) / 2;
}

static void count(const struct hypar_machine *machine, int64_t *switches, int64_t *links,
                  int64_t *longest)
{
    int64_t n = machine->n_devices;
    *switches = 0;
    *links = n * (n - 1) / 2;
    *longest = n > 1;
}

static struct hypar_link get_link(const struct hypar_machine *machine, int index)
{
    const struct part *part = machine->parts;
    int n = machine->n_devices;
    double m = 2.0 * n - 1;
    int from =
        (int)((m - sqrt(m * m - 8.0 * index)) / 2);    /* the inverse of first_link_of() ... */
    while (from > 0 && first_link_of(from, n) > index) /* ... to within rounding */
        from--;
    while (first_link_of(from + 1, n) <= index)
        from++;
    return (struct hypar_link){
        .from = from,
        .to = from + 1 + (int)(index - first_link_of(from, n)),
        .bytes_per_s = hp_part_link_bytes_per_s(part),
        .latency_s = part->value[OPTION_LATENCY],
        .energy_j_per_bit = part->value[OPTION_ENERGY],
    };
}

static int route(const struct hypar_machine *machine, int from, int to, int *links, int max)
{
    struct path path = { links, max, 0 };
    int low = from < to ? from : to, high = from < to ? to : from;
    if (low != high)
        hp_path_add(&path, (int)first_link_of(low, machine->n_devices) + high - low - 1,
                    from > to);
    return path.count;
}

static int levels(const struct hypar_machine *machine, struct hypar_level *out)
{
    int factors[HYPAR_MAX_LEVELS];
    int n = hp_prime_factors(machine->n_devices, factors);
    double group = machine->n_devices;
    for (int i = 0; i < n; i++) {
        double others = group;
        group /= factors[i];
        others -= group;
        out[i] = (struct hypar_level){
            .ways = factors[i],
            .bytes_per_s = group * others * hp_part_link_bytes_per_s(machine->parts),
        };
    }
    return n;
}

const struct topology hp_full = {
    { "full", "full:8", "one link for every pair of devices" },
    .min_dims = 1,
    .max_dims = 1,
    .default_device = "v100",
    .scope = SCOPE_SIMPLE,
    .shape = NETWORK_PAIRS,
    .count = count,
    .link = get_link,
    .route = route,
    .levels = levels,
};
