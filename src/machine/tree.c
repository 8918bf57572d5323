/* HyPar's H-tree: devices are the leaves, every inner node is a switch, and bandwidth doubles
 * at each level towards the root (HyPar, HPCA 2019, section 5). A level divides by a prime
 * factor of the device count, the smallest at the root; a power of two gives the paper's binary
 * tree. */
#include "machine/topology.h"

#include <math.h>

/* Level 0 is the root, level `depth` the devices. */
struct tree {
    int depth;
    int ways[HYPAR_MAX_LEVELS];      /* children of a node of level l */
    int nodes[HYPAR_MAX_LEVELS + 1]; /* of level l */
    int first_node[HYPAR_MAX_LEVELS + 1];
    int first_link[HYPAR_MAX_LEVELS + 1]; /* of the links from level l to level l-1 */
};

static struct tree describe(const struct hypar_machine *machine)
{
    struct tree tree = { 0 };
    tree.depth = hp_prime_factors(machine->n_devices, tree.ways);
    int first_node = machine->n_devices, first_link = 0;
    tree.nodes[0] = 1;
    for (int l = 0; l <= tree.depth; l++) {
        tree.first_node[l] = l == tree.depth ? 0 : first_node;
        tree.first_link[l] = first_link;
        first_node += tree.nodes[l];
        if (l > 0)
            first_link += tree.nodes[l];
        if (l < tree.depth)
            tree.nodes[l + 1] = tree.nodes[l] * tree.ways[l];
    }
    return tree;
}

static void count(const struct hypar_machine *machine, int64_t *switches, int64_t *links,
                  int64_t *longest)
{
    struct tree tree = describe(machine);
    *switches = *links = 0;
    for (int l = 0; l <= tree.depth; l++) {
        *switches += l < tree.depth ? tree.nodes[l] : 0;
        *links += l > 0 ? tree.nodes[l] : 0;
    }
    *longest = 2 * tree.depth;
}

/* The bandwidth of a link from level l to the level above. */
static double bytes_per_s(const struct hypar_machine *machine, const struct tree *tree, int l)
{
    return ldexp(hp_part_link_bytes_per_s(machine->parts), tree->depth - l);
}

static struct hypar_link get_link(const struct hypar_machine *machine, int index)
{
    struct tree tree = describe(machine);
    int l = tree.depth;
    while (tree.first_link[l] > index)
        l--;
    int child = index - tree.first_link[l];
    return (struct hypar_link){
        .from = tree.first_node[l] + child,
        .to = tree.first_node[l - 1] + child / tree.ways[l - 1],
        .bytes_per_s = bytes_per_s(machine, &tree, l),
        .latency_s = machine->parts->value[OPTION_LATENCY],
        .energy_j_per_bit = machine->parts->value[OPTION_ENERGY],
    };
}

/* Up to the lowest common switch, then down. */
static int route(const struct hypar_machine *machine, int from, int to, int *links, int max)
{
    struct path path = { links, max, 0 };
    struct tree tree = describe(machine);
    int down[HYPAR_MAX_LEVELS], n_down = 0;
    for (int l = tree.depth; from != to; l--) {
        hp_path_add(&path, tree.first_link[l] + from, false);
        down[n_down++] = tree.first_link[l] + to;
        from /= tree.ways[l - 1];
        to /= tree.ways[l - 1];
    }
    while (n_down > 0)
        hp_path_add(&path, down[--n_down], true);
    return path.count;
}

static int levels(const struct hypar_machine *machine, struct hypar_level *out)
{
    struct tree tree = describe(machine);
    for (int l = 0; l < tree.depth; l++)
        out[l] = (struct hypar_level){
            .ways = tree.ways[l],
            .bytes_per_s = bytes_per_s(machine, &tree, l + 1),
        };
    return tree.depth;
}

const struct topology hp_htree = {
    { "htree", "htree:16",
      "tree whose links double in bandwidth at each level towards the root" },
    .min_dims = 1,
    .max_dims = 1,
    .default_device = "eyeriss-hmc",
    .scope = SCOPE_SIMPLE,
    .shape = NETWORK_TREE,
    .count = count,
    .link = get_link,
    .route = route,
    .levels = levels,
};
