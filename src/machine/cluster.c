/* Clusters: every device has a link to its node's switch, every node has network cards to one
 * switch between the nodes. Switches are non-blocking. Joined clusters share the switch between
 * nodes, so a machine can have different nodes. `local` is one such node.
 *
 * With rails, a card is at its device, and the cards of number i of all nodes are on switch i:
 * who sends to another number passes the message to the device of that number in its own node
 * first. With leaf switches, each serves some nodes (of one rail), and has one link to the
 * switch above, as wide as the cards below it together, divided by the oversubscription.
 *
 * Nodes: devices, one switch for each node, the switches between the nodes (if there are
 * several: one, or one for each rail), the leaf switches. Links: one for each device, then one
 * for each network card, then one for each leaf switch. */
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

/* The switches between nodes: rails, and the leaf switches of each; 0: none. */
struct fabric {
    int rails, leaf_nodes, leaves;
    int first_uplink; /* link */
};

static struct fabric fabric_of(const struct hypar_machine *machine)
{
    const struct part *first = machine->parts, *last = first + machine->n_parts - 1;
    struct fabric fabric = { .rails = 1 };
    int nodes = node_count(machine);
    fabric.first_uplink = last->first_card + nodes_of(last) * cards_per_node(last);
    if (nodes < 2)
        return fabric;
    if (first->value[OPTION_RAILS] > 0)
        fabric.rails = devices_per_node(first);
    if (first->value[OPTION_LEAF] > 0 && first->value[OPTION_LEAF] < nodes) {
        fabric.leaf_nodes = (int)first->value[OPTION_LEAF];
        fabric.leaves = (nodes + fabric.leaf_nodes - 1) / fabric.leaf_nodes;
    }
    return fabric;
}

static bool has_rails(const struct hypar_machine *machine)
{
    return machine->parts[0].value[OPTION_RAILS] > 0;
}

static void count(const struct hypar_machine *machine, int64_t *switches, int64_t *links,
                  int64_t *longest)
{
    struct fabric fabric = fabric_of(machine);
    int nodes = node_count(machine);
    int64_t leaves = (int64_t)fabric.leaves * fabric.rails;
    *switches = nodes > 1 ? nodes + fabric.rails + leaves : nodes;
    *links = nodes > 1 ? fabric.first_uplink + leaves : machine->n_devices;
    *longest = nodes > 1 ? 4 + 2 * (leaves > 0) : machine->n_devices > 1 ? 2 : 0;
    if (nodes > 1 && has_rails(machine) && devices_per_node(machine->parts) == 1)
        *longest -= 2;
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

/* The switch above the cards of a node, or of one rail of it: its number among all nodes. */
static int switch_above(const struct hypar_machine *machine, const struct fabric *fabric,
                        int node, int rail)
{
    int core = machine->n_devices + node_count(machine);
    return fabric->leaves
               ? core + fabric->rails + node / fabric->leaf_nodes * fabric->rails + rail
               : core + rail;
}

static struct hypar_link card_link(const struct hypar_machine *machine, int index)
{
    const struct part *part = part_of_card(machine, index);
    struct fabric fabric = fabric_of(machine);
    int cards = cards_per_node(part), in_part = (index - part->first_card) / cards;
    int node = part->first_node + in_part, card = (index - part->first_card) % cards;
    bool rails = has_rails(machine);
    return (struct hypar_link){
        .from = rails ? part->first_device + in_part * cards + card : machine->n_devices + node,
        .to = switch_above(machine, &fabric, node, rails ? card : 0),
        .bytes_per_s = hp_part_card_bytes_per_s(part),
        .latency_s = part->value[OPTION_INTER_LATENCY],
        .energy_j_per_bit = part->value[OPTION_ENERGY],
    };
}

/* From a leaf switch to the one above: for all cards of its nodes, or of one rail of them. */
static struct hypar_link uplink(const struct hypar_machine *machine,
                                const struct fabric *fabric, int number)
{
    const struct part *part = machine->parts;
    int core = machine->n_devices + node_count(machine), cards = cards_per_node(part);
    double below = (double)fabric->leaf_nodes * cards / fabric->rails;
    return (struct hypar_link){
        .from = core + fabric->rails + number,
        .to = core + number % fabric->rails,
        .bytes_per_s =
            below * hp_part_card_bytes_per_s(part) / part->value[OPTION_OVERSUBSCRIPTION],
        .latency_s = part->value[OPTION_INTER_LATENCY],
        .energy_j_per_bit = part->value[OPTION_ENERGY],
    };
}

static struct hypar_link get_link(const struct hypar_machine *machine, int index)
{
    if (index >= machine->n_devices) {
        struct fabric fabric = fabric_of(machine);
        return index >= fabric.first_uplink
                   ? uplink(machine, &fabric, index - fabric.first_uplink)
                   : card_link(machine, index);
    }
    struct seat seat = seat_of(machine, index);
    return (struct hypar_link){
        .from = index,
        .to = machine->n_devices + seat.node,
        .bytes_per_s = hp_part_link_bytes_per_s(seat.part),
        .latency_s = seat.part->value[OPTION_LATENCY],
        .energy_j_per_bit = seat.part->value[OPTION_ENERGY],
    };
}

/* From card to card. */
static void route_between(const struct hypar_machine *machine, const struct seat *a,
                          const struct seat *b, int rail, struct path *path)
{
    hp_path_add(path, a->card_link, false);
    struct fabric fabric = fabric_of(machine);
    if (fabric.leaves && a->node / fabric.leaf_nodes != b->node / fabric.leaf_nodes) {
        int first = fabric.first_uplink + rail;
        hp_path_add(path, first + a->node / fabric.leaf_nodes * fabric.rails, false);
        hp_path_add(path, first + b->node / fabric.leaf_nodes * fabric.rails, true);
    }
    hp_path_add(path, b->card_link, true);
}

/* To the device of the same number in the other node; through the own node first. */
static void route_on_rails(const struct hypar_machine *machine, int from, int to,
                           struct path *path)
{
    const struct part *part = hp_part_of(machine, from), *other = hp_part_of(machine, to);
    int per_node = devices_per_node(part), rail = (to - other->first_device) % per_node;
    int via = from - (from - part->first_device) % per_node + rail;
    struct seat a = seat_of(machine, via), b = seat_of(machine, to);
    if (via != from) {
        hp_path_add(path, from, false);
        hp_path_add(path, via, true);
    }
    route_between(machine, &a, &b, rail, path);
}

static int route(const struct hypar_machine *machine, int from, int to, int *links, int max)
{
    struct path path = { links, max, 0 };
    if (from == to)
        return 0;
    struct seat a = seat_of(machine, from), b = seat_of(machine, to);
    if (a.node != b.node && has_rails(machine)) {
        route_on_rails(machine, from, to, &path);
        return path.count;
    }
    hp_path_add(&path, from, false);
    if (a.node != b.node)
        route_between(machine, &a, &b, 0, &path);
    hp_path_add(&path, to, true);
    return path.count;
}

/* Bandwidth from devices first..first+size-1 together to the rest of their parent group: of
 * their links into the node, and, if the parent spans nodes, of their share of the cards and of
 * the links above leaf switches. */
static double group_bytes_per_s(const struct hypar_machine *machine, int first, int size,
                                bool within_node, bool within_leaf)
{
    double intra = 0, inter = 0;
    double over = within_leaf ? 1 : machine->parts[0].value[OPTION_OVERSUBSCRIPTION];
    const struct part *part = hp_part_of(machine, first);
    for (int device = first; device < first + size; part++) {
        int end = part->first_device + part->n_devices;
        int here = (first + size < end ? first + size : end) - device;
        double cards = (double)cards_per_node(part) / devices_per_node(part);
        intra += here * hp_part_link_bytes_per_s(part);
        inter += within_node ? 0 : here * cards * hp_part_card_bytes_per_s(part);
        device += here;
    }
    if (within_node)
        return intra;
    return has_rails(machine) ? inter / over : fmin(intra, inter / over);
}

/* The group that can send least. Groups of one level differ only where clusters are joined. */
static double level_bytes_per_s(const struct hypar_machine *machine, int parent, int size)
{
    double least = INFINITY;
    struct fabric fabric = fabric_of(machine);
    int end = machine->n_parts > 1 ? machine->n_devices : 1;
    for (int first = 0; first < end; first += parent) {
        int node = seat_of(machine, first).node,
            last = seat_of(machine, first + parent - 1).node;
        bool within_leaf =
            fabric.leaves == 0 || node / fabric.leaf_nodes == last / fabric.leaf_nodes;
        for (int g = 0; g < parent && first + g < end; g += size)
            least = fmin(
                least, group_bytes_per_s(machine, first + g, size, last == node, within_leaf));
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
