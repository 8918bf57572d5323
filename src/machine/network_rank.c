/* An order of all devices of a machine of listed links that keeps close devices together. Where
 * a word describes the machine, the order of numbers does this. */
#include "machine/network.h"

#include <math.h>
#include <string.h>

static double route_s_per_byte(const struct hypar_machine *machine, int from, int to)
{
    const struct network *network = machine->network;
    const int *next = network->next + (size_t)to * (size_t)network->n_nodes;
    double sum = 0;
    for (int at = from; at != to; at = hp_network_head(network, next[at]))
        sum += 1 / network->links[next[at] / 2].bytes_per_s;
    return sum;
}

/* Choose where a ring begins, so that the groups of all levels meet at its longest steps: a
 * group is then everything behind a switch. */
static int find_start(struct arena *scratch, const struct hypar_machine *machine,
                      const int *ring)
{
    int n = machine->n_devices, factors[HYPAR_MAX_LEVELS], start = 0;
    int n_levels = hp_prime_factors(n, factors), group = n;
    double *step = NEW(scratch, double, n), *met = NEW(scratch, double, n);
    double *sum = NEW(scratch, double, n);
    for (int i = 0; i < n; i++)
        step[i] = route_s_per_byte(machine, ring[(i + n - 1) % n], ring[i]);
    for (int l = 0; l < n_levels; l++) {
        group /= factors[l];
        memset(sum, 0, (size_t)group * sizeof *sum);
        for (int i = 0; i < n; i++)
            sum[i % group] += step[i];
        for (int i = 0; i < n; i++)
            met[i] += sum[i % group];
    }
    for (int i = 1; i < n; i++)
        if (met[i] > met[start] * (1 + 1e-9))
            start = i;
    return start;
}

/* The time of a byte on all levels, one after the other, as in halving and doubling; and the
 * total time for which links are held. */
struct cost {
    double s_per_byte, all_s;
};

static struct cost cost_of(const struct hypar_machine *machine, const int *device_at)
{
    int factors[HYPAR_MAX_LEVELS], n = machine->n_devices, parent = n;
    int n_levels = hp_prime_factors(n, factors);
    struct cost cost = { 0 };
    for (int l = 0; l < n_levels; l++) {
        int group = parent / factors[l];
        cost.s_per_byte += 1 / hp_network_routed_bytes_per_s(machine, parent, group, device_at);
        for (int r = 0; r < n; r++) {
            int to = hp_counterpart(r, parent, group);
            cost.all_s += route_s_per_byte(machine, device_at[r], device_at[to]);
        }
        parent = group;
    }
    return cost;
}

static bool is_less(struct cost a, struct cost b)
{
    if (fabs(a.s_per_byte - b.s_per_byte) > 1e-9 * b.s_per_byte)
        return a.s_per_byte < b.s_per_byte;
    return a.all_s < b.all_s * (1 - 1e-9);
}

/* Use the ring through all devices if its groups are better than those of the device
 * numbers. */
static void find_rank(const struct hypar_machine *machine, int *rank)
{
    struct arena scratch = { 0 };
    int n = machine->n_devices;
    int *device_at = NEW(&scratch, int, n), *ring = NEW(&scratch, int, n);
    for (int d = 0; d < n; d++)
        rank[d] = device_at[d] = d;
    if (hp_network_cycle(&scratch, machine, device_at, n, ring)) {
        int start = find_start(&scratch, machine, ring);
        struct cost by_number = cost_of(machine, device_at);
        for (int i = 0; i < n; i++)
            device_at[i] = ring[(start + i) % n];
        if (is_less(cost_of(machine, device_at), by_number))
            for (int i = 0; i < n; i++)
                rank[device_at[i]] = i;
    }
    hp_arena_free(&scratch);
}

const int *hp_network_rank(const struct hypar_machine *machine)
{
    struct network *network = machine->network;
    int *known = atomic_load(&network->rank);
    if (known)
        return known;
    int *rank = hp_array_new((size_t)machine->n_devices * sizeof *rank);
    find_rank(machine, rank);
    if (atomic_compare_exchange_strong(&network->rank, &known, rank))
        return rank;
    hp_array_free(rank); /* another thread was faster */
    return known;
}
