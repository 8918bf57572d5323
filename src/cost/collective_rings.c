/* Rings: all-gathers in which each member passes pieces to the next one. Also two-way rings,
 * lines, rings in blocks, and several rings at once. */
#include "cost/collective_rounds.h"

#include "machine/machine.h"

#include <assert.h>

typedef bool order_finder(struct arena *scratch, const struct hypar_machine *machine,
                          const int *device, int n, int *order);

/* Put members (indices in device[]) into an order that `find` knows; false: there is none. */
static bool put_in_order(struct comm_rounds *r, const struct comm_group *group,
                         order_finder *find, int *member, int n)
{
    if (!find)
        return false;
    struct arena_mark mark = hp_arena_mark(r->arena);
    int *device = NEW(r->arena, int, n), *order = NEW(r->arena, int, n);
    for (int i = 0; i < n; i++)
        device[i] = group->device[member[i]];
    bool found = find(r->arena, r->machine, device, n, order);
    for (int i = 0; found && i < n; i++)
        order[i] = member[order[i]];
    for (int i = 0; found && i < n; i++)
        member[i] = order[i];
    hp_arena_release(r->arena, mark);
    return found;
}

/* Put members into the order of a ring: from neighbour to neighbour if the machine knows one,
 * else unchanged. */
static void order_ring(struct comm_rounds *r, const struct comm_group *group, int *member,
                       int n)
{
    put_in_order(r, group, r->machine->topology->cycle, member, n);
}

/* On an open line the messages differ from round to round; this many are written out. */
static const int64_t MAX_ON_LINES = 1 << 21;

static void order_rings(struct comm_rounds *r, const struct comm_group *group,
                        struct rings *rings)
{
    int n = rings->n;
    rings->open = n > 2 && (int64_t)rings->n_rings * n * (n - 1) <= MAX_ON_LINES;
    for (int k = 0; k < rings->n_rings; k++) {
        order_ring(r, group, rings->member + k * n, n);
        rings->open = rings->open && put_in_order(r, group, r->machine->topology->line,
                                                  rings->member + k * n, n);
    }
}

int *hp_ring_order(struct comm_rounds *r, const struct comm_group *group)
{
    int *member = hp_count_from(r->arena, 0, group->n_devices);
    order_ring(r, group, member, group->n_devices);
    return member;
}

void hp_add_ring(struct comm_rounds *r, const int *member, int n, int base, int width)
{
    for (int i = 0; i < n; i++)
        hp_add_hop(r, (struct comm_hop){ .from = member[i],
                                         .to = member[(i + 1) % n],
                                         .base = base,
                                         .period = n * width,
                                         .offset = i * width,
                                         .shift = -width,
                                         .n_pieces = width });
}

/* On a line pieces travel from their owner to both ends, one position in each round. A link
 * carries no more than in a ring, whose way back crosses all links, and no message waits for
 * the way back. */
static void add_line(struct comm_rounds *r, const int *member, int n, int base, int width,
                     int round)
{
    struct comm_hop hop = { .base = base, .period = n * width, .n_pieces = width };
    for (int i = 0; i < n; i++) {
        hop.from = member[i];
        if (i + 1 < n && i >= round) {
            hop.to = member[i + 1];
            hop.offset = (i - round) * width;
            hp_add_hop(r, hop);
        }
        if (i > 0 && i + round < n) {
            hop.to = member[i - 1];
            hop.offset = (i + round) * width;
            hp_add_hop(r, hop);
        }
    }
}

void hp_add_rings(struct comm_rounds *r, const struct rings *rings)
{
    int n = rings->n, n_written = rings->open ? n - 1 : 1;
    for (int round = 0; round < n_written; round++) {
        hp_begin_round(r, (n - 1) / n_written);
        for (int k = 0; k < rings->n_rings; k++) {
            const int *member = rings->member + k * n;
            if (rings->open)
                add_line(r, member, n, k * rings->apart, rings->width, round);
            else
                hp_add_ring(r, member, n, k * rings->apart, rings->width);
        }
    }
}

void hp_gather_ring(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    struct rings whole = { 1, n, hp_count_from(r->arena, 0, n), 0, 1, false };
    order_rings(r, group, &whole);
    r->own = hp_places(r->arena, whole.member, n);
    hp_add_rings(r, &whole);
}

/* Half of each piece goes the other way round, over the links' other direction. Within the last
 * round, which repeats n-1 times. */
static void add_two_way(struct comm_rounds *r, const int *member, int n, int base)
{
    for (int i = 0; i < n; i++) {
        struct comm_hop hop = { .from = member[i],
                                .to = member[(i + 1) % n],
                                .base = base,
                                .period = 2 * n,
                                .offset = 2 * i,
                                .shift = -2,
                                .n_pieces = 1 };
        hp_add_hop(r, hop);
        hop.to = member[(i + n - 1) % n];
        hop.offset++;
        hop.shift = 2;
        hp_add_hop(r, hop);
    }
}

void hp_gather_two_way(struct comm_rounds *r, const struct comm_group *group)
{
    int n = group->n_devices;
    const int *member = hp_ring_order(r, group);
    r->pieces_per_whole = 2 * n;
    r->own = hp_places(r->arena, member, n);
    hp_begin_round(r, n - 1);
    add_two_way(r, member, n, 0);
}

/* --- in blocks of devices that are close to each other --- */

void hp_find_block_rings(struct comm_rounds *r, const struct comm_group *group,
                         struct rings *inside, struct rings *across)
{
    struct device_blocks blocks;
    bool fits = hp_find_blocks(r->arena, hp_device_ranks(r->machine), group, r->block, &blocks);
    assert(fits);
    (void)fits;
    int n = blocks.n_blocks, per_block = blocks.per_block;
    *inside = (struct rings){ n, per_block, blocks.member, 0, n, false };
    order_rings(r, group, inside);
    *across = (struct rings){ per_block, n, NEW(r->arena, int, group->n_devices), n, 1, false };
    for (int j = 0; j < per_block; j++)
        for (int b = 0; b < n; b++)
            across->member[j * n + b] = inside->member[b * per_block + j];
    order_rings(r, group, across);
    r->own = hp_places(r->arena, across->member, group->n_devices);
    r->pieces_per_whole = group->n_devices;
}

void hp_gather_hierarchical(struct comm_rounds *r, const struct comm_group *group)
{
    struct rings inside, across;
    hp_find_block_rings(r, group, &inside, &across);
    hp_add_rings(r, &across);
    hp_add_rings(r, &inside);
}

/* --- several rings at a time --- */

/* Rings without a common link, both ways, carry equal shares of the pieces: on a torus as many
 * as it has dimensions, elsewhere one. */
void hp_gather_multi_ring(struct comm_rounds *r, const struct comm_group *group)
{
    const struct topology *topology = r->machine->topology;
    int n = group->n_devices, n_rings = 0;
    if (n < 3) { /* both ways are equally long */
        hp_gather_ring(r, group);
        return;
    }
    int *order = NEW(r->arena, int, MACHINE_MAX_DIMS *n);
    if (topology->cycles)
        n_rings = topology->cycles(r->arena, r->machine, group->device, n, order);
    if (n_rings == 0) {
        order = hp_ring_order(r, group);
        n_rings = 1;
    }
    r->pieces_per_whole = n_rings * 2 * n;
    hp_begin_round(r, n - 1);
    for (int i = 0; i < n_rings; i++)
        add_two_way(r, order + i * n, n, i * 2 * n);
}
