/* Clusters: every device has a link to its node's switch, every node has network cards to one
 * switch between the nodes. Switches are non-blocking. Joined clusters share the switch between
 * nodes, so a machine can have different nodes. `local` is one such node.
 *
 * Nodes: devices, one switch for each node, the switch between the nodes (if there are
 * several). Links: one for each device, then one for each network card. */
#include "machine/topology.h"

#include <math.h>

/* The place of a device. */
struct seat {
    const struct part *part;
    int node;      /* counted over all parts */
    int card_link; /* the link for its traffic to other nodes */
};

static int nodes_of(const struct part *part)
{
    return part->n_dims == 2 ? part->dim[0] : 1;
}

static int devices_per_node(const struct part *part)
{
    return part->dim[part->n_dims - 1];
}

static int cards_per_node(const struct part *part)
{
    return part->n_dims == 2 ? (int)part->value[OPTION_NICS] : 0;
}

static int node_count(const struct hypar_machine *machine)
{
    const struct part *last = &machine->parts[machine->n_parts - 1];
    return last->first_node + nodes_of(last);
}

static void count(const struct hypar_machine *machine, int64_t *switches, int64_t *links,
                  int64_t *longest)
{
    const struct part *last = &machine->parts[machine->n_parts - 1];
    int nodes = node_count(machine);
    *switches = nodes + (nodes > 1);
    *links = nodes > 1 ? last->first_card + nodes_of(last) * cards_per_node(last)
                       : machine->n_devices;
    *longest = nodes > 1 ? 4 : machine->n_devices > 1 ? 2 : 0;
}

/* A node's devices share its cards in order, as evenly as possible. */
static struct seat seat_of(const struct hypar_machine *machine, int device)
{
    const struct part *part = hp_part_of(machine, device);
    device -= part->first_device;
    int in_part = device / devices_per_node(part), in_node = device % devices_per_node(part);
    int cards = cards_per_node(part);
    int card = (int)((int64_t)in_node * cards / devices_per_node(part));
    return (struct seat){ part, part->first_node + in_part,
                          part->first_card + in_part * cards + card };
}

static const struct part *part_of_card(const struct hypar_machine *machine, int link)
{
    int low = 0, high = machine->n_parts; /* parts[low].first_card <= link */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (machine->parts[middle].first_card <= link)
            low = middle;
        else
            high = middle;
    }
    return &machine->parts[low];
}

static struct hypar_link card_link(const struct hypar_machine *machine, int index)
{
    const struct part *part = part_of_card(machine, index);
    return (struct hypar_link){
        .from = machine->n_devices + part->first_node +
                (index - part->first_card) / cards_per_node(part),
        .to = machine->n_devices + machine->n_switches - 1,
        .bytes_per_s = hp_part_card_bytes_per_s(part),
        .latency_s = part->value[OPTION_INTER_LATENCY],
        .energy_j_per_bit = part->value[OPTION_ENERGY],
    };
}

static struct hypar_link get_link(const struct hypar_machine *machine, int index)
{
    if (index >= machine->n_devices)
        return card_link(machine, index);
    struct seat seat = seat_of(machine, index);
    return (struct hypar_link){
        .from = index,
        .to = machine->n_devices + seat.node,
        .bytes_per_s = hp_part_link_bytes_per_s(seat.part),
        .latency_s = seat.part->value[OPTION_LATENCY],
        .energy_j_per_bit = seat.part->value[OPTION_ENERGY],
    };
}

static int route(const struct hypar_machine *machine, int from, int to, int *links, int max)
{
    struct path path = { links, max, 0 };
    if (from == to)
        return 0;
    struct seat a = seat_of(machine, from), b = seat_of(machine, to);
    hp_path_add(&path, from, false);
    if (a.node != b.node) {
        hp_path_add(&path, a.card_link, false);
        hp_path_add(&path, b.card_link, true);
    }
    hp_path_add(&path, to, true);
    return path.count;
}

/* What devices first..first+size-1 can send together to the rest of their parent group: through
 * their links into the node, and, if the parent spans nodes, through their share of the
 * cards. */
static double group_bytes_per_s(const struct hypar_machine *machine, int first, int size,
                                bool within_node)
{
    double intra = 0, inter = 0;
    const struct part *part = hp_part_of(machine, first);
    for (int device = first; device < first + size; part++) {
        int end = part->first_device + part->n_devices;
        int here = (first + size < end ? first + size : end) - device;
        double cards = (double)cards_per_node(part) / devices_per_node(part);
        intra += here * hp_part_link_bytes_per_s(part);
        inter += within_node ? 0 : here * cards * hp_part_card_bytes_per_s(part);
        device += here;
    }
    return within_node ? intra : fmin(intra, inter);
}

/* The group that can send least. Groups of one level differ only where clusters are joined. */
static double level_bytes_per_s(const struct hypar_machine *machine, int parent, int size)
{
    double least = INFINITY;
    int end = machine->n_parts > 1 ? machine->n_devices : 1;
    for (int first = 0; first < end; first += parent) {
        int node = seat_of(machine, first).node;
        bool within_node = seat_of(machine, first + parent - 1).node == node;
        for (int g = 0; g < parent && first + g < end; g += size)
            least = fmin(least, group_bytes_per_s(machine, first + g, size, within_node));
    }
    return least;
}

/* Divide nodes first, then the devices of a node; if nodes differ in size, devices. */
static int level_ways(const struct hypar_machine *machine, int *ways)
{
    int per_node = devices_per_node(machine->parts);
    for (int p = 1; p < machine->n_parts; p++)
        if (devices_per_node(&machine->parts[p]) != per_node)
            return hp_prime_factors(machine->n_devices, ways);
    int n = hp_prime_factors(node_count(machine), ways);
    return n + hp_prime_factors(per_node, ways + n);
}

static int levels(const struct hypar_machine *machine, struct hypar_level *out)
{
    int ways[2 * HYPAR_MAX_LEVELS];
    int n = level_ways(machine, ways), parent = machine->n_devices;
    for (int l = 0; l < n; l++) {
        int size = parent / ways[l];
        out[l] = (struct hypar_level){
            .ways = ways[l],
            .bytes_per_s = level_bytes_per_s(machine, parent, size),
        };
        parent = size;
    }
    return n;
}

/* clang-format off */
#define NODES .shape = NETWORK_NODES, .count = count, .link = get_link, .route = route, .levels = levels

const struct topology hp_cluster = {
    { "cluster", "cluster:4x8", "4 nodes of 8 devices behind non-blocking switches" },
    .min_dims = 2, .max_dims = 2, .default_device = "v100", .scope = SCOPE_CLUSTER, .joins = true, NODES
};
const struct topology hp_local = {
    { "local", "local:2", "this computer, divided into equal devices" },
    .min_dims = 1, .max_dims = 1, .default_device = NULL, .scope = SCOPE_SIMPLE, NODES
};
/* clang-format on */
