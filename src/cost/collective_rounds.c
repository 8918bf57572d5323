/* The algorithms of collectives (Thakur, Rabenseifner, Gropp, "Optimization of Collective
 * Communication Operations in MPICH", 2005).
 *
 * Only spreading is written out: in an all-gather, a broadcast or a scatter each piece travels
 * a tree from its owner to all who need it. Run backwards, with sums in place of copies, the
 * same messages are a reduce-scatter, a reduction or a gather; and an all-reduce is one of
 * these followed by one of those. */
#include "cost/collective_rounds.h"

#include "machine/machine.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

static void begin_round(struct comm_rounds *r, int repeat)
{
    r->round = GROW(r->arena, struct comm_round, r->round, r->n_rounds, &r->round_capacity);
    r->round[r->n_rounds++] = (struct comm_round){ .first = r->n_hops, .repeat = repeat };
}

static void add_hop(struct comm_rounds *r, struct comm_hop hop)
{
    r->hop = GROW(r->arena, struct comm_hop, r->hop, r->n_hops, &r->hop_capacity);
    r->hop[r->n_hops++] = hop;
    r->round[r->n_rounds - 1].n++;
}

/* A round of sums among all pieces, both ways or one way. */
static void begin_sums(struct comm_rounds *r)
{
    begin_round(r, 1);
    r->round[r->n_rounds - 1].sums = true;
}

static void add_whole(struct comm_rounds *r, int from, int to)
{
    int n = r->pieces_per_whole;
    add_hop(r, (struct comm_hop){ .from = from, .to = to, .period = n, .n_pieces = n });
}

/* Run the rounds from `first` on backwards: the last repetition of the last round becomes the
 * first of the first, messages turn round, and copies become sums. */
static void turn_round(struct comm_rounds *r, int first)
{
    for (int low = first, high = r->n_rounds - 1; low < high; low++, high--) {
        struct comm_round round = r->round[low];
        r->round[low] = r->round[high];
        r->round[high] = round;
    }
    for (int k = first; k < r->n_rounds; k++) {
        struct comm_round *round = &r->round[k];
        round->sums = !round->sums;
        for (int h = round->first; h < round->first + round->n; h++) {
            struct comm_hop *hop = &r->hop[h];
            int64_t last = hop->offset + (int64_t)(round->repeat - 1) * hop->shift;
            int from = hop->from;
            hop->from = hop->to;
            hop->to = from;
            hop->offset = (int)((last % hop->period + hop->period) % hop->period);
            hop->shift = -hop->shift;
        }
    }
}

/* 0..n-1, beginning at `first` and going round. */
static int *count_from(struct arena *arena, int first, int n)
{
    int *number = NEW(arena, int, n);
    for (int i = 0; i < n; i++)
        number[i] = (first + i) % n;
    return number;
}

static int power_of_two_below(int n) /* the largest that is not above n */
{
    int power = 1;
    while (power <= n / 2)
        power *= 2;
    return power;
}

/* --- rings --- */

typedef bool order_finder(struct arena *scratch, const struct hypar_machine *machine,
                          const int *device, int n, int *order);

/* Put members (indices in device[]) into an order that the machine knows, if it does. */
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

/* Put members into the order in which a ring passes from one to the next: from neighbour to
 * neighbour where the machine knows how, else they stay as they are. */
static void order_ring(struct comm_rounds *r, const struct comm_group *group, int *member,
                       int n)
{
    put_in_order(r, group, r->machine->topology->cycle, member, n);
}

/* Rings that run at the same time, through `n` members each. */
struct rings {
    int n_rings, n;
    int *member;      /* [ring][place in it] */
    int apart, width; /* pieces: from a ring's first to the next one's; of each member */
    bool open;        /* they lie on open lines, in this order: there is no short way back */
};

/* Of an open line the messages of each round are others: so many are written out. */
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

/* All of the group in the order of a ring. */
static int *whole_ring(struct comm_rounds *r, const struct comm_group *group)
{
    int *member = count_from(r->arena, 0, group->n_devices);
    order_ring(r, group, member, group->n_devices);
    return member;
}

/* By member: its place in that order. */
static int *places(struct arena *arena, const int *member, int n)
{
    int *place = NEW(arena, int, n);
    for (int i = 0; i < n; i++)
        place[member[i]] = i;
    return place;
}

/* --- all-gather --- */

/* member[i] passes the `width` pieces from base + i*width on to member[i+1], then what it
 * received last, ...; all within the round that was begun, which repeats n-1 times. */
static void add_ring(struct comm_rounds *r, const int *member, int n, int base, int width)
{
    for (int i = 0; i < n; i++)
        add_hop(r, (struct comm_hop){ .from = member[i],
                                      .to = member[(i + 1) % n],
                                      .base = base,
                                      .period = n * width,
                                      .offset = i * width,
                                      .shift = -width,
                                      .n_pieces = width });
}

/* On a line pieces travel from their owner to both ends, one place a round: each link carries
 * no more than in a ring, whose way back crosses all of them, and no message waits for that. */
static void add_line(struct comm_rounds *r, const int *member, int n, int base, int width,
                     int round)
{
    struct comm_hop hop = { .base = base, .period = n * width, .n_pieces = width };
    for (int i = 0; i < n; i++) {
        hop.from = member[i];
        if (i + 1 < n && i >= round) {
            hop.to = member[i + 1];
            hop.offset = (i - round) * width;
            add_hop(r, hop);
        }
        if (i > 0 && i + round < n) {
            hop.to = member[i - 1];
            hop.offset = (i + round) * width;
            add_hop(r, hop);
        }
    }
}

static void add_rings(struct comm_rounds *r, const struct rings *rings)
{
    int n = rings->n, n_written = rings->open ? n - 1 : 1;
    for (int round = 0; round < n_written; round++) {
        begin_round(r, (n - 1) / n_written);
        for (int k = 0; k < rings->n_rings; k++) {
            const int *member = rings->member + k * n;
            if (rings->open)
                add_line(r, member, n, k * rings->apart, rings->width, round);
            else
                add_ring(r, member, n, k * rings->apart, rings->width);
        }
    }
}

static void gather_ring(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    struct rings whole = { 1, n, count_from(r->arena, 0, n), 0, 1, false };
    order_rings(r, group, &whole);
    r->own = places(r->arena, whole.member, n);
    add_rings(r, &whole);
}

/* Half of each piece goes round the other way, over the links' other direction. Within the
 * round that was begun, which repeats n-1 times. */
static void add_two_way(struct comm_rounds *r, const int *member, int n, int base)
{
    for (int i = 0; i < n; i++) {
        struct comm_hop hop = { member[i], member[(i + 1) % n], base, 2 * n, 2 * i, -2, 1 };
        add_hop(r, hop);
        hop.to = member[(i + n - 1) % n];
        hop.offset++;
        hop.shift = 2;
        add_hop(r, hop);
    }
}

static void gather_two_way(struct comm_rounds *r, const struct comm_group *group)
{
    int n = group->n_devices;
    const int *member = whole_ring(r, group);
    r->pieces_per_whole = 2 * n;
    r->own = places(r->arena, member, n);
    begin_round(r, n - 1);
    add_two_way(r, member, n, 0);
}

/* Partners first half the group apart, at last next to each other: the data grows from round to
 * round, and neighbours are better connected. So the partner differs in the highest bit first;
 * pieces are numbered by the index with its bits reversed, in which that is the lowest bit. */
static void add_doubling(struct comm_rounds *r, const int *member, int n)
{
    for (int have = 1, apart = n / 2; have < n; have *= 2, apart /= 2) {
        begin_round(r, 1);
        for (int i = 0; i < n; i++)
            add_hop(r, (struct comm_hop){ .from = member[i],
                                          .to = member[i ^ apart],
                                          .period = n,
                                          .offset = r->own[i] / have * have,
                                          .n_pieces = have });
    }
}

static const int *reversed_bits(struct arena *arena, int n)
{
    int *number = NEW(arena, int, n);
    for (int i = 1, high = n / 2; i < n; i++)
        number[i] = number[i / 2] / 2 + (i % 2 ? high : 0);
    return number;
}

static void gather_doubling(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    r->own = reversed_bits(r->arena, n);
    add_doubling(r, count_from(r->arena, 0, n), n);
}

/* Bruck's: as many rounds as doubling needs, for any number of devices. Device i has the pieces
 * i..i+have-1 (going round) and passes them on to i-have, who lacks them. */
static void gather_bruck(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    r->own = count_from(r->arena, 0, n);
    for (int have = 1; have < n; have *= 2) {
        begin_round(r, 1);
        for (int i = 0; i < n; i++)
            add_hop(r, (struct comm_hop){ .from = i,
                                          .to = (i + n - have) % n,
                                          .period = n,
                                          .offset = i,
                                          .n_pieces = have < n - have ? have : n - have });
    }
}

/* --- all-gather by blocks of devices that are close to each other --- */

struct blocks {
    int n_blocks, per_block;
    int *member; /* [block][number in block]: index in device[] */
};

/* Which of the keys is `wanted`? It is added if there is none. Devices mostly rise: then it is
 * the last, or larger than all. */
static int find_block(int *key, int *n_keys, int *largest, int wanted)
{
    for (int k = *n_keys - 1; k >= 0 && wanted <= *largest; k--)
        if (key[k] == wanted)
            return k;
    *largest = wanted > *largest ? wanted : *largest;
    key[*n_keys] = wanted;
    return (*n_keys)++;
}

/* Blocks are made of devices that follow each other, by number or as the machine orders them.
 */
static int block_of(const int *rank, int device, int block)
{
    return (rank ? rank[device] : device) / block;
}

static const int *ranks(const struct hypar_machine *machine)
{
    return machine->topology->rank ? machine->topology->rank(machine) : NULL;
}

/* False unless there are several blocks with equally many devices, several. Devices need not be
 * in order. */
static bool divide(struct arena *arena, const int *rank, const struct comm_group *group,
                   int block, struct blocks *out)
{
    int n = group->n_devices, most = 0, largest = -1;
    if (block < 2)
        return false;
    *out = (struct blocks){ .member = NEW(arena, int, n) };
    int *key = NEW(arena, int, n), *used = NEW(arena, int, n), *of = NEW(arena, int, n);
    for (int i = 0; i < n; i++) {
        of[i] =
            find_block(key, &out->n_blocks, &largest, block_of(rank, group->device[i], block));
        used[of[i]]++;
        most = used[of[i]] > most ? used[of[i]] : most;
    }
    if (out->n_blocks < 2 || most < 2 || (int64_t)most * out->n_blocks != n)
        return false;
    out->per_block = most;
    for (int i = 0; i < n; i++)
        out->member[of[i] * most + most - used[of[i]]--] = i;
    return true;
}

/* Rings inside the blocks, and across them through the devices with equal numbers. Number j of
 * a block has, before its block gathers, the pieces j*n_blocks.. */
static void find_rings(struct comm_rounds *r, const struct comm_group *group,
                       struct rings *inside, struct rings *across)
{
    struct blocks blocks;
    bool fits = divide(r->arena, ranks(r->machine), group, r->block, &blocks);
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
    r->own = places(r->arena, across->member, group->n_devices);
    r->pieces_per_whole = group->n_devices;
}

static void gather_hierarchical(struct comm_rounds *r, const struct comm_group *group)
{
    struct rings inside, across;
    find_rings(r, group, &inside, &across);
    add_rings(r, &across);
    add_rings(r, &inside);
}

/* --- broadcast, send --- */

/* Down a binomial tree whose subtrees are neighbours: far away first, by few. With `scatter`
 * only what the subtree needs, the pieces of its devices. The root is member[0]. */
static void add_tree(struct comm_rounds *r, const int *member, int n, bool scatter)
{
    int apart = 1;
    while (apart < n)
        apart *= 2;
    for (apart /= 2; apart >= 1; apart /= 2) {
        begin_round(r, 1);
        for (int i = 0; i + apart < n; i += 2 * apart) {
            int left = n - i - apart, from = member[i], to = member[i + apart];
            if (scatter)
                add_hop(r, (struct comm_hop){ .from = from,
                                              .to = to,
                                              .period = n,
                                              .offset = i + apart,
                                              .n_pieces = left < apart ? left : apart });
            else
                add_whole(r, from, to);
        }
    }
}

static void spread_tree(struct comm_rounds *r, const struct comm_group *group)
{
    r->pieces_per_whole = 1;
    add_tree(r, count_from(r->arena, group->root, group->n_devices), group->n_devices, false);
}

/* The ring as it is met from the root on. */
static const int *ring_from_root(struct comm_rounds *r, const struct comm_group *group)
{
    int n = group->n_devices, *rooted = NEW(r->arena, int, n);
    const int *member = whole_ring(r, group), *place = places(r->arena, member, n);
    for (int i = 0; i < n; i++)
        rooted[i] = member[(place[group->root] + i) % n];
    return rooted;
}

static void spread_scatter(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    const int *member = ring_from_root(r, group);
    add_tree(r, member, n, true);
    begin_round(r, n - 1);
    add_ring(r, member, n, 0, 1);
}

static void send(struct comm_rounds *r, const struct comm_group *group)
{
    assert(group->n_devices <= 2);
    r->pieces_per_whole = 1;
    begin_round(r, 1);
    if (group->n_devices == 2)
        add_whole(r, group->root, 1 - group->root);
}

/* --- the same backwards --- */

#define BACKWARDS(name, forward)                                            \
    static void name(struct comm_rounds *r, const struct comm_group *group) \
    {                                                                       \
        forward(r, group);                                                  \
        turn_round(r, 0);                                                   \
    }
BACKWARDS(scatter_ring, gather_ring)
BACKWARDS(scatter_two_way, gather_two_way)
BACKWARDS(scatter_halving, gather_doubling)
BACKWARDS(scatter_bruck, gather_bruck)
BACKWARDS(scatter_hierarchical, gather_hierarchical)
BACKWARDS(reduce_tree, spread_tree)

/* The sums are complete before they are gathered: the tree copies. (A device may have been sent
 * a piece twice in the broadcast, so that one backwards would add twice.) */
static void reduce_gather(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    const int *member = ring_from_root(r, group);
    begin_round(r, n - 1);
    add_ring(r, member, n, 0, 1);
    turn_round(r, 0);
    add_tree(r, member, n, true);
    turn_round(r, 1);
    for (int k = 1; k < r->n_rounds; k++)
        r->round[k].sums = false;
}

/* --- all-reduce --- */

#define BOTH(name, backwards, forward)                                      \
    static void name(struct comm_rounds *r, const struct comm_group *group) \
    {                                                                       \
        backwards(r, group);                                                \
        forward(r, group);                                                  \
    }
BOTH(all_reduce_ring, scatter_ring, gather_ring)
BOTH(all_reduce_two_way, scatter_two_way, gather_two_way)
BOTH(all_reduce_hierarchical, scatter_hierarchical, gather_hierarchical)

/* The root of an all-reduce is device[0]: root is unused and may be anything. */
static void all_reduce_tree(struct comm_rounds *r, const struct comm_group *group)
{
    struct comm_group rooted = *group;
    rooted.root = 0;
    reduce_tree(r, &rooted);
    spread_tree(r, &rooted);
}

/* Where n is no power of two, the first few pairs of neighbours are folded: one of a pair gives
 * its data to the other, which takes part for both, and is given the result in the end. */
struct fold {
    int n_core, n_pairs;
    int *core; /* who takes part */
};

static struct fold make_fold(struct arena *arena, int n)
{
    struct fold fold = { .n_core = power_of_two_below(n) };
    fold.n_pairs = n - fold.n_core;
    fold.core = NEW(arena, int, fold.n_core);
    for (int i = 0; i < fold.n_core; i++)
        fold.core[i] = i < fold.n_pairs ? 2 * i : i + fold.n_pairs;
    return fold;
}

static void add_unfold(struct comm_rounds *r, const struct fold *fold)
{
    begin_round(r, 1);
    for (int i = 0; i < fold->n_pairs; i++)
        add_whole(r, 2 * i, 2 * i + 1);
}

static void add_fold(struct comm_rounds *r, const struct fold *fold)
{
    int first = r->n_rounds;
    add_unfold(r, fold);
    turn_round(r, first);
}

static void all_reduce_doubling(struct comm_rounds *r, const struct comm_group *group)
{
    struct fold fold = make_fold(r->arena, group->n_devices);
    r->pieces_per_whole = 1;
    add_fold(r, &fold);
    for (int apart = 1; apart < fold.n_core; apart *= 2) {
        begin_sums(r);
        for (int i = 0; i < fold.n_core; i++)
            add_whole(r, fold.core[i], fold.core[i ^ apart]);
    }
    add_unfold(r, &fold);
}

/* Rabenseifner's: reduce-scatter by halving, all-gather by doubling. */
static void all_reduce_halving(struct comm_rounds *r, const struct comm_group *group)
{
    struct fold fold = make_fold(r->arena, group->n_devices);
    r->pieces_per_whole = fold.n_core;
    r->own = reversed_bits(r->arena, fold.n_core);
    add_fold(r, &fold);
    int first = r->n_rounds;
    add_doubling(r, fold.core, fold.n_core);
    turn_round(r, first);
    add_doubling(r, fold.core, fold.n_core);
    add_unfold(r, &fold);
    r->own = NULL;
}

/* --- all-reduce by all at once --- */

/* Everybody sends its piece to everybody else: on links of their own, one for each pair, the
 * least that can be. */
static void gather_direct(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    r->own = count_from(r->arena, 0, n);
    begin_round(r, 1);
    for (int apart = 1; apart < n; apart++)
        for (int i = 0; i < n; i++)
            add_hop(r, (struct comm_hop){ .from = i,
                                          .to = (i + apart) % n,
                                          .period = n,
                                          .offset = i,
                                          .n_pieces = 1 });
}

BACKWARDS(scatter_direct, gather_direct)
BOTH(all_reduce_direct, scatter_direct, gather_direct)

/* --- all-reduce by several rings --- */

/* Rings that have no link in common, both ways, have equal shares of the pieces: on a torus as
 * many as it has dimensions, elsewhere one. */
static void gather_rings(struct comm_rounds *r, const struct comm_group *group)
{
    const struct topology *topology = r->machine->topology;
    int n = group->n_devices, n_rings = 0;
    if (n < 3) { /* one way is as long as the other */
        gather_ring(r, group);
        return;
    }
    int *order = NEW(r->arena, int, MACHINE_MAX_DIMS *n);
    if (topology->cycles)
        n_rings = topology->cycles(r->arena, r->machine, group->device, n, order);
    if (n_rings == 0) {
        order = whole_ring(r, group);
        n_rings = 1;
    }
    r->pieces_per_whole = n_rings * 2 * n;
    begin_round(r, n - 1);
    for (int i = 0; i < n_rings; i++)
        add_two_way(r, order + i * n, n, i * 2 * n);
}

BACKWARDS(scatter_rings, gather_rings)
BOTH(all_reduce_rings, scatter_rings, gather_rings)

/* --- all-reduce by a server --- */

/* For each device the one that collects for it: the first of its block, itself without blocks.
 */
static const int *collectors(struct comm_rounds *r, const struct comm_group *group)
{
    struct arena *arena = r->arena;
    const int *rank = ranks(r->machine);
    int n = group->n_devices, n_blocks = 0, largest = -1;
    int *key = NEW(arena, int, n), *first = NEW(arena, int, n), *of = NEW(arena, int, n);
    for (int i = 0; i < n; i++) {
        int before = n_blocks;
        int b = r->block > 0 ? find_block(key, &n_blocks, &largest,
                                          block_of(rank, group->device[i], r->block))
                             : i;
        if (n_blocks > before || r->block <= 0)
            first[b] = i;
        of[i] = first[b];
    }
    return of;
}

/* The server is device[0]; others pass on what it sends to the rest of their block. */
static void spread_server(struct comm_rounds *r, const struct comm_group *group)
{
    const int *collector = collectors(r, group);
    r->pieces_per_whole = 1;
    begin_round(r, 1);
    for (int i = 1; i < group->n_devices; i++)
        if (collector[i] == i)
            add_whole(r, 0, i);
    begin_round(r, 1);
    for (int i = 1; i < group->n_devices; i++)
        if (collector[i] != i)
            add_whole(r, collector[i], i);
}

/* All contributions go to one device, which adds them up and sends the sum to everybody, as
 * frameworks with parameter servers do. In blocks, the devices of a node are added up before.
 */
BACKWARDS(collect_server, spread_server)
BOTH(all_reduce_server, collect_server, spread_server)

/* --- all-to-all --- */

/* Everyone sends to the one `apart` places further on. */
static void add_shift(struct comm_rounds *r, int n, int apart)
{
    assert(n <= INT_MAX / n);
    for (int i = 0; i < n; i++) {
        int to = (i + apart) % n;
        add_hop(r, (struct comm_hop){ i, to, 0, n * n, i * n + to, 0, 1 });
    }
}

static void exchange_at_once(struct comm_rounds *r, const struct comm_group *group)
{
    r->pieces_per_whole = 1;
    begin_round(r, 1);
    for (int apart = 1; apart < group->n_devices; apart++)
        add_shift(r, group->n_devices, apart);
}

static void exchange_pairwise(struct comm_rounds *r, const struct comm_group *group)
{
    r->pieces_per_whole = 1;
    for (int apart = 1; apart < group->n_devices; apart++) {
        begin_round(r, 1);
        add_shift(r, group->n_devices, apart);
    }
}

/* --- the table --- */

/* clang-format off */
static const struct comm_algorithm algorithms[] = {
    { COMM_SEND,           "direct",                   1, ANY_SIZE,        send },
    { COMM_BROADCAST,      "tree",                     1, ANY_SIZE,        spread_tree },
    { COMM_BROADCAST,      "scatter, all-gather",      3, ANY_SIZE,        spread_scatter },
    { COMM_ALL_GATHER,     "ring",                     1, ANY_SIZE,        gather_ring },
    { COMM_ALL_GATHER,     "two-way ring",             3, ANY_SIZE,        gather_two_way },
    { COMM_ALL_GATHER,     "recursive doubling",       4, POWER_OF_TWO,    gather_doubling },
    { COMM_ALL_GATHER,     "bruck",                    3, NO_POWER_OF_TWO, gather_bruck },
    { COMM_ALL_GATHER,     "hierarchical",             4, IN_BLOCKS,       gather_hierarchical },
    { COMM_REDUCE,         "tree",                     1, ANY_SIZE,        reduce_tree },
    { COMM_REDUCE,         "reduce-scatter, gather",   3, ANY_SIZE,        reduce_gather },
    { COMM_REDUCE_SCATTER, "ring",                     1, ANY_SIZE,        scatter_ring },
    { COMM_REDUCE_SCATTER, "two-way ring",             3, ANY_SIZE,        scatter_two_way },
    { COMM_REDUCE_SCATTER, "recursive halving",        4, POWER_OF_TWO,    scatter_halving },
    { COMM_REDUCE_SCATTER, "bruck",                    3, NO_POWER_OF_TWO, scatter_bruck },
    { COMM_REDUCE_SCATTER, "hierarchical",             4, IN_BLOCKS,       scatter_hierarchical },
    { COMM_ALL_REDUCE,     "ring",                     1, ANY_SIZE,        all_reduce_ring },
    { COMM_ALL_REDUCE,     "two-way ring",             3, ANY_SIZE,        all_reduce_two_way },
    { COMM_ALL_REDUCE,     "recursive doubling",       2, ANY_SIZE,        all_reduce_doubling },
    { COMM_ALL_REDUCE,     "halving and doubling",     4, ANY_SIZE,        all_reduce_halving },
    { COMM_ALL_REDUCE,     "tree",                     3, ANY_SIZE,        all_reduce_tree },
    { COMM_ALL_REDUCE,     "hierarchical",             4, IN_BLOCKS,       all_reduce_hierarchical },
    { COMM_ALL_REDUCE,     "direct",                   2, ASKED_FOR,       all_reduce_direct },
    { COMM_ALL_REDUCE,     "multi-ring",               2, ASKED_FOR,       all_reduce_rings },
    { COMM_ALL_REDUCE,     "server",                   2, ASKED_FOR,       all_reduce_server },
    { COMM_ALL_REDUCE,     "hierarchical server",      2, ASKED_FOR_IN_BLOCKS, all_reduce_server },
    { COMM_ALL_TO_ALL,     "all at once",              1, ANY_SIZE,        exchange_at_once },
    { COMM_ALL_TO_ALL,     "pairwise",                 3, ANY_SIZE,        exchange_pairwise },
};
/* clang-format on */

const struct comm_algorithm *hp_comm_algorithm(int i)
{
    int n = (int)(sizeof algorithms / sizeof *algorithms);
    return i >= 0 && i < n ? &algorithms[i] : NULL;
}

static bool is_called(const char *name, const char *word)
{
    while (*name && (*name == *word || (*name == ' ' && *word == '-'))) {
        name++;
        word++;
    }
    return *name == *word;
}

const char *hp_comm_algorithm_name(enum comm_kind kind, const char *word)
{
    const struct comm_algorithm *row;
    for (int i = 0; (row = hp_comm_algorithm(i)); i++)
        if (row->kind == kind && is_called(row->name, word))
            return row->name;
    return NULL;
}

static bool divides(const struct hypar_machine *machine, const struct comm_group *group,
                    int block)
{
    const int *rank = ranks(machine);
    int i = 0, first = block_of(rank, group->device[0], block);
    while (i < group->n_devices && block_of(rank, group->device[i], block) == first)
        i++;
    if (i == group->n_devices) /* all in one block, as often on a large machine */
        return false;
    struct arena scratch = { 0 };
    struct blocks blocks;
    bool result = divide(&scratch, rank, group, block, &blocks);
    hp_arena_free(&scratch);
    return result;
}

bool hp_comm_algorithm_fits(const struct hypar_machine *machine,
                            const struct comm_algorithm *algorithm,
                            const struct comm_group *group, int block)
{
    bool power = (group->n_devices & (group->n_devices - 1)) == 0;
    if (algorithm->kind != group->kind || group->n_devices < algorithm->min_devices)
        return false;
    return (algorithm->needs != POWER_OF_TWO || power) &&
           (algorithm->needs != NO_POWER_OF_TWO || !power) &&
           (algorithm->needs != IN_BLOCKS || divides(machine, group, block));
}

struct place {
    int rank, member;
};

static int by_rank(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The members as the machine orders them. */
static int *ranked(struct arena *arena, const int *rank, const struct comm_group *group)
{
    struct place *place = NEW(arena, struct place, group->n_devices);
    int *member = NEW(arena, int, group->n_devices);
    for (int i = 0; i < group->n_devices; i++)
        place[i] = (struct place){ rank[group->device[i]], i };
    qsort(place, (size_t)group->n_devices, sizeof *place, by_rank);
    for (int i = 0; i < group->n_devices; i++)
        member[i] = place[i].member;
    return member;
}

/* Trees, and partners that are so many apart, are those of the members in this order. */
static void write_ranked(struct comm_rounds *r, const struct comm_algorithm *algorithm,
                         const struct comm_group *group)
{
    int n = group->n_devices, *device = NEW(r->arena, int, n), *own = NEW(r->arena, int, n);
    const int *member = ranked(r->arena, ranks(r->machine), group);
    const int *place = places(r->arena, member, n);
    for (int i = 0; i < n; i++)
        device[i] = group->device[member[i]];
    bool rooted = group->root >= 0 && group->root < n;
    struct comm_group in_order = { group->kind, n, device, rooted ? place[group->root] : 0 };
    algorithm->write(r, &in_order);
    for (int h = 0; h < r->n_hops; h++) {
        r->hop[h].from = member[r->hop[h].from];
        r->hop[h].to = member[r->hop[h].to];
    }
    for (int i = 0; r->own && i < n; i++)
        own[member[i]] = r->own[i];
    r->own = r->own ? own : NULL;
}

void hp_comm_rounds(struct arena *arena, const struct hypar_machine *machine,
                    const struct comm_algorithm *algorithm, const struct comm_group *group,
                    int block, struct comm_rounds *out)
{
    *out = (struct comm_rounds){ .arena = arena, .machine = machine, .block = block };
    /* Pieces of an all-to-all are numbered by members; a server is the first member. */
    bool free_to_order = algorithm->kind != COMM_SEND && algorithm->kind != COMM_ALL_TO_ALL &&
                         algorithm->needs != ASKED_FOR &&
                         algorithm->needs != ASKED_FOR_IN_BLOCKS;
    if (machine->topology->rank && free_to_order)
        write_ranked(out, algorithm, group);
    else
        algorithm->write(out, group);
}
