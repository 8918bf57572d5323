/* Algorithms for clusters, as libraries for accelerators have them: rings that leave each node
 * by another card, double binary trees between the nodes, switches that sum. */
#include "cost/collective_rounds.h"

#include "machine/machine.h"

#include <assert.h>

static struct device_blocks find_nodes(struct comm_rounds *r, const struct comm_group *group)
{
    struct device_blocks blocks;
    bool fits = hp_find_blocks(r->arena, hp_device_ranks(r->machine), group, r->block, &blocks);
    assert(fits);
    (void)fits;
    return blocks;
}

/* --- rings, one for each device of a node --- */

/* All rings go through the nodes in one order, each through the devices of a node from its own
 * device on. So each device sends to the next node in one of the rings, over its own card,
 * while the others go through the node (as NCCL's rings do). */
void hp_gather_node_rings(struct comm_rounds *r, const struct comm_group *group)
{
    struct device_blocks nodes = find_nodes(r, group);
    int n = group->n_devices, m = nodes.per_block;
    int *member = NEW(r->arena, int, n), *own = NEW(r->arena, int, m *n);
    r->parts = m;
    r->pieces_per_whole = m * n;
    hp_begin_round(r, n - 1);
    for (int ring = 0; ring < m; ring++) {
        for (int i = 0; i < n; i++) {
            member[i] = nodes.member[i - i % m + (i + ring) % m];
            own[ring * n + member[i]] = i;
        }
        hp_add_ring(r, member, n, ring * n, 1);
    }
    r->own = own;
}

/* --- double binary trees between nodes --- */

/* The parent of a node in the first tree, -1 of the root: leaves are the odd numbers (Sanders,
 * Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009).
 */
static int first_parent(int node, int n)
{
    int bit = node & -node, parent = (node ^ bit) | bit << 1;
    if (node == 0)
        return -1;
    return parent < n ? parent : node ^ bit;
}

/* The second tree is the first one with the numbers reversed (n even), or moved by one: who is
 * a leaf there passes pieces on here. */
static int parent_in(int tree, int node, int n)
{
    if (tree == 0)
        return first_parent(node, n);
    int other = first_parent(n % 2 ? (node + n - 1) % n : n - 1 - node, n);
    return other < 0 ? -1 : n % 2 ? (other + 1) % n : n - 1 - other;
}

static int depth_in(int tree, int node, int n)
{
    int depth = 0;
    while ((node = parent_in(tree, node, n)) >= 0)
        depth++;
    return depth;
}

/* The messages that arrive at this depth. Each tree has half of the pieces of each number of a
 * node. Returns whether there are any. */
static bool add_depth(struct comm_rounds *r, const struct device_blocks *nodes, int depth)
{
    int n = nodes->n_blocks, m = nodes->per_block;
    bool any = false;
    for (int tree = 0; tree < 2; tree++)
        for (int node = 0; node < n; node++) {
            if (depth_in(tree, node, n) != depth)
                continue;
            if (!any)
                hp_begin_round(r, 1);
            any = true;
            int parent = parent_in(tree, node, n);
            for (int j = 0; j < m; j++)
                hp_add_hop(r, (struct comm_hop){ .from = nodes->member[parent * m + j],
                                                 .to = nodes->member[node * m + j],
                                                 .period = 2 * m,
                                                 .offset = 2 * j + tree,
                                                 .n_pieces = 1 });
        }
    return any;
}

void hp_broadcast_trees(struct comm_rounds *r, const struct comm_group *group)
{
    struct device_blocks nodes = find_nodes(r, group);
    int m = nodes.per_block, depth = 1;
    r->pieces_per_whole = 2 * m;
    while (add_depth(r, &nodes, depth))
        depth++;
    if (m > 1)
        hp_add_rings(r, &(struct rings){ nodes.n_blocks, m, nodes.member, 0, 2, false });
}

/* --- switches that sum and copy --- */

/* Every member sends its piece once; switches copy it to the others. Reversed, every member
 * sends its contributions to the others, and switches sum them: one message arrives. */
static void add_copies(struct comm_rounds *r, const struct rings *rings)
{
    int n = rings->n;
    hp_begin_round(r, 1);
    for (int k = 0; k < rings->n_rings; k++)
        for (int i = 0; i < n; i++)
            for (int apart = 1; apart < n; apart++)
                hp_add_hop(r, (struct comm_hop){ .from = rings->member[k * n + i],
                                                 .to = rings->member[k * n + (i + apart) % n],
                                                 .base = k * rings->apart,
                                                 .period = n * rings->width,
                                                 .offset = i * rings->width,
                                                 .n_pieces = rings->width,
                                                 .up_of = n - 1 });
}

bool hp_has_switches(const struct hypar_machine *machine, const struct comm_group *group,
                     int block)
{
    int n = group->n_devices;
    bool inside = true;
    for (int i = 1; i < n; i++)
        inside &= hp_machine_node(machine, group->device[i]) ==
                  hp_machine_node(machine, group->device[0]);
    return inside ? hp_machine_has(machine, OPTION_NVLS)
                  : hp_machine_has(machine, OPTION_SHARP) &&
                        hp_has_blocks(machine, group, block, 1);
}

void hp_gather_by_switches(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    if (!hp_has_blocks(r->machine, group, r->block, 2)) {
        struct rings all = { 1, n, hp_count_from(r->arena, 0, n), 0, 1, false };
        r->own = hp_places(r->arena, all.member, n);
        add_copies(r, &all);
        return;
    }
    struct rings inside, across;
    hp_find_block_rings(r, group, &inside, &across);
    add_copies(r, &across);
    if (hp_machine_has(r->machine, OPTION_NVLS))
        add_copies(r, &inside);
    else
        hp_add_rings(r, &inside);
}
