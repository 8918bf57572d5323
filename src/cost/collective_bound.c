/* Lower bounds of the time of a collective, for any algorithm. */
#include "cost/collective.h"

/* The least traffic of any algorithm, in multiples of `bytes`: out of or into one device, and
 * of all devices together. A sum over g devices takes g-1 messages for each of its pieces, a
 * copy to g devices g-1; this gives the totals (Patarasuk and Yuan, "Bandwidth optimal
 * all-reduce algorithms for clusters of workstations", 2009). */
struct least {
    double out, in, total;
};

static struct least least_of(const struct comm_group *group, int i)
{
    double g = group->n_devices, others = g - 1;
    bool root = i == group->root;
    switch (group->kind) {
    case COMM_SEND:
    case COMM_BROADCAST:
        return (struct least){ root, !root, others };
    case COMM_REDUCE:
        return (struct least){ !root, root, others };
    case COMM_ALL_GATHER:
        return (struct least){ 1 / g, others / g, others };
    case COMM_REDUCE_SCATTER:
        return (struct least){ others / g, 1 / g, others };
    case COMM_ALL_REDUCE:
        return (struct least){ 1, 1, 2 * others };
    case COMM_ALL_TO_ALL:
        return (struct least){ others, others, others * g };
    case COMM_EXCHANGE:
    case COMM_KIND_COUNT:
        break;
    }
    return (struct least){ 0 };
}

/* The links through which one device reaches the group (`out`), or the group reaches it. */
struct gate {
    double bytes_per_s;
    double latency_s; /* of the route to the nearest other device */
};

static struct gate gate_of(const struct hypar_machine *machine, const struct comm_group *group,
                           int i, bool out, int *route, int *seen)
{
    struct gate gate = { .latency_s = -1 };
    int longest = hypar_machine_longest_route(machine), n_seen = 0;
    for (int j = 0; j < group->n_devices; j++) {
        if (j == i)
            continue;
        int from = group->device[out ? i : j], to = group->device[out ? j : i];
        int n = hypar_machine_route(machine, from, to, route, longest), s = 0;
        double latency_s = 0;
        for (int l = 0; l < n; l++)
            latency_s += hypar_machine_link(machine, route[l] / 2).latency_s;
        if (gate.latency_s < 0 || latency_s < gate.latency_s)
            gate.latency_s = latency_s;
        seen[n_seen] = route[out ? 0 : n - 1];
        while (seen[s] != seen[n_seen])
            s++;
        if (s == n_seen)
            gate.bytes_per_s += hypar_machine_link(machine, seen[n_seen++] / 2).bytes_per_s;
    }
    return gate;
}

double hp_comm_lower_bound_s(const struct hypar_machine *machine,
                             const struct comm_group *group, double bytes)
{
    struct arena scratch = { 0 };
    int n = group->n_devices;
    double bound_s = 0, sum[2] = { 0 }, nearest_s = -1;
    int *route = NEW(&scratch, int, hypar_machine_longest_route(machine) + 1);
    int *seen = NEW(&scratch, int, n + 1);
    for (int i = 0; i < n && n > 1; i++) {
        struct least least = least_of(group, i);
        for (int out = 0; out < 2; out++) {
            struct gate gate = gate_of(machine, group, i, out, route, seen);
            double need = (out ? least.out : least.in) * bytes;
            double time_s = need > 0 ? gate.latency_s + need / gate.bytes_per_s : 0;
            bound_s = time_s > bound_s ? time_s : bound_s;
            sum[out] += gate.bytes_per_s;
            if (nearest_s < 0 || gate.latency_s < nearest_s)
                nearest_s = gate.latency_s;
        }
    }
    for (int out = 0; out < 2 && n > 1; out++) {
        double time_s = nearest_s + least_of(group, 0).total * bytes / sum[out];
        bound_s = time_s > bound_s ? time_s : bound_s;
    }
    hp_arena_free(&scratch);
    return bound_s;
}
