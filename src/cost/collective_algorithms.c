/* The algorithms of collectives (Thakur, Rabenseifner, Gropp, "Optimization of Collective
 * Communication Operations in MPICH", 2005).
 *
 * Of most algorithms only the spreading of data is written out: in an all-gather, a broadcast
 * or a scatter each piece travels along a tree from its owner to all who need it. Reversed,
 * with sums in place of copies, the same messages are a reduce-scatter, a reduction or a
 * gather. An all-reduce is a reduction or reduce-scatter followed by a broadcast or all-gather.
 * Recursive doubling, the all-reduces that are asked for by name and the all-to-alls are
 * written out whole. */
#include "cost/collective_rounds.h"

#include <assert.h>
#include <limits.h>

#include "base/number.h"

/* --- all-gather by partners; by rings, see collective_rings.c --- */

/* Partners are first half the group apart, at last adjacent: the data grows from round to
 * round, and neighbours are better connected. So the partner differs in the highest bit first;
 * pieces are numbered by the index with reversed bits, where this is the lowest bit. */
static void add_doubling(struct comm_rounds *r, const int *member, int n)
{
    for (int have = 1, apart = n / 2; have < n; have *= 2, apart /= 2) {
        hp_begin_round(r, 1);
        for (int i = 0; i < n; i++)
            hp_add_hop(r, (struct comm_hop){ .from = member[i],
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
    add_doubling(r, hp_count_from(r->arena, 0, n), n);
}

/* Bruck's algorithm: as many rounds as doubling, for any number of devices. Device i has the
 * pieces i..i+have-1 (cyclically) and passes them to device i-have, which lacks them. */
static void gather_bruck(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    r->own = hp_count_from(r->arena, 0, n);
    for (int have = 1; have < n; have *= 2) {
        hp_begin_round(r, 1);
        for (int i = 0; i < n; i++)
            hp_add_hop(r, (struct comm_hop){ .from = i,
                                             .to = (i + n - have) % n,
                                             .period = n,
                                             .offset = i,
                                             .n_pieces = have < n - have ? have : n - have });
    }
}

/* --- broadcast, send --- */

/* Down a binomial tree whose subtrees are neighbours: few long messages first. With `scatter` a
 * message carries only the pieces of its subtree's devices. The root is member[0]. */
static void add_tree(struct comm_rounds *r, const int *member, int n, bool scatter)
{
    int apart = 1;
    while (apart < n)
        apart *= 2;
    for (apart /= 2; apart >= 1; apart /= 2) {
        hp_begin_round(r, 1);
        for (int i = 0; i + apart < n; i += 2 * apart) {
            int left = n - i - apart, from = member[i], to = member[i + apart];
            if (scatter)
                hp_add_hop(r, (struct comm_hop){ .from = from,
                                                 .to = to,
                                                 .period = n,
                                                 .offset = i + apart,
                                                 .n_pieces = left < apart ? left : apart });
            else
                hp_add_whole(r, from, to);
        }
    }
}

static void broadcast_tree(struct comm_rounds *r, const struct comm_group *group)
{
    r->pieces_per_whole = 1;
    add_tree(r, hp_count_from(r->arena, group->root, group->n_devices), group->n_devices,
             false);
}

/* The ring, beginning at the root. */
static const int *ring_from_root(struct comm_rounds *r, const struct comm_group *group)
{
    int n = group->n_devices, *rooted = NEW(r->arena, int, n);
    const int *member = hp_ring_order(r, group), *place = hp_places(r->arena, member, n);
    for (int i = 0; i < n; i++)
        rooted[i] = member[(place[group->root] + i) % n];
    return rooted;
}

static void broadcast_scatter(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    const int *member = ring_from_root(r, group);
    add_tree(r, member, n, true);
    hp_begin_round(r, n - 1);
    hp_add_ring(r, member, n, 0, 1);
}

static void send(struct comm_rounds *r, const struct comm_group *group)
{
    assert(group->n_devices <= 2);
    r->pieces_per_whole = 1;
    hp_begin_round(r, 1);
    if (group->n_devices == 2)
        hp_add_whole(r, group->root, 1 - group->root);
}

/* --- the same backwards --- */

#define BACKWARDS(name, forward)                                            \
    static void name(struct comm_rounds *r, const struct comm_group *group) \
    {                                                                       \
        forward(r, group);                                                  \
        hp_reverse_rounds(r, 0);                                            \
    }
BACKWARDS(scatter_ring, hp_gather_ring)
BACKWARDS(scatter_two_way, hp_gather_two_way)
BACKWARDS(scatter_halving, gather_doubling)
BACKWARDS(scatter_bruck, gather_bruck)
BACKWARDS(scatter_hierarchical, hp_gather_hierarchical)
BACKWARDS(scatter_node_rings, hp_gather_node_rings)
BACKWARDS(scatter_by_switches, hp_gather_by_switches)
BACKWARDS(reduce_trees, hp_broadcast_trees)
BACKWARDS(reduce_tree, broadcast_tree)

/* The sums are complete before they are gathered, so the tree copies. (In the broadcast a
 * device may receive a piece twice; reversed, it would be added twice.) */
static void reduce_gather(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    const int *member = ring_from_root(r, group);
    hp_begin_round(r, n - 1);
    hp_add_ring(r, member, n, 0, 1);
    hp_reverse_rounds(r, 0);
    add_tree(r, member, n, true);
    hp_reverse_rounds(r, 1);
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
BOTH(all_reduce_ring, scatter_ring, hp_gather_ring)
BOTH(all_reduce_two_way, scatter_two_way, hp_gather_two_way)
BOTH(all_reduce_hierarchical, scatter_hierarchical, hp_gather_hierarchical)
BOTH(all_reduce_node_rings, scatter_node_rings, hp_gather_node_rings)
BOTH(all_reduce_trees, reduce_trees, hp_broadcast_trees)
BOTH(all_reduce_by_switches, scatter_by_switches, hp_gather_by_switches)

/* The root of an all-reduce is device[0]; `root` is unused. */
static void all_reduce_tree(struct comm_rounds *r, const struct comm_group *group)
{
    struct comm_group rooted = *group;
    rooted.root = 0;
    reduce_tree(r, &rooted);
    broadcast_tree(r, &rooted);
}

static int power_of_two_below(int n) /* the largest that is not above n */
{
    int power = 1;
    while (power <= n / 2)
        power *= 2;
    return power;
}

/* If n is no power of two, the first pairs of neighbours are folded: one of a pair gives its
 * data to the other, which takes part for both and returns the result in the end. */
struct fold {
    int n_core, n_pairs;
    int *core; /* the devices that take part */
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
    hp_begin_round(r, 1);
    for (int i = 0; i < fold->n_pairs; i++)
        hp_add_whole(r, 2 * i, 2 * i + 1);
}

static void add_fold(struct comm_rounds *r, const struct fold *fold)
{
    int first = r->n_rounds;
    add_unfold(r, fold);
    hp_reverse_rounds(r, first);
}

/* Begin a round of sums over all pieces, both ways or one way. */
static void begin_sums(struct comm_rounds *r)
{
    hp_begin_round(r, 1);
    r->round[r->n_rounds - 1].sums = true;
}

static void all_reduce_doubling(struct comm_rounds *r, const struct comm_group *group)
{
    struct fold fold = make_fold(r->arena, group->n_devices);
    r->pieces_per_whole = 1;
    add_fold(r, &fold);
    for (int apart = 1; apart < fold.n_core; apart *= 2) {
        begin_sums(r);
        for (int i = 0; i < fold.n_core; i++)
            hp_add_whole(r, fold.core[i], fold.core[i ^ apart]);
    }
    add_unfold(r, &fold);
}

/* Rabenseifner's algorithm: reduce-scatter by halving, all-gather by doubling. */
static void all_reduce_halving(struct comm_rounds *r, const struct comm_group *group)
{
    struct fold fold = make_fold(r->arena, group->n_devices);
    r->pieces_per_whole = fold.n_core;
    r->own = reversed_bits(r->arena, fold.n_core);
    add_fold(r, &fold);
    int first = r->n_rounds;
    add_doubling(r, fold.core, fold.n_core);
    hp_reverse_rounds(r, first);
    add_doubling(r, fold.core, fold.n_core);
    add_unfold(r, &fold);
    r->own = NULL;
}

/* --- all-reduce by all at once --- */

/* Every device sends its piece to every other: optimal with a link for each pair. */
static void gather_direct(struct comm_rounds *r, const struct comm_group *group)
{
    int n = r->pieces_per_whole = group->n_devices;
    r->own = hp_count_from(r->arena, 0, n);
    hp_begin_round(r, 1);
    for (int apart = 1; apart < n; apart++)
        for (int i = 0; i < n; i++)
            hp_add_hop(r, (struct comm_hop){ .from = i,
                                             .to = (i + apart) % n,
                                             .period = n,
                                             .offset = i,
                                             .n_pieces = 1 });
}

BACKWARDS(scatter_direct, gather_direct)
BOTH(all_reduce_direct, scatter_direct, gather_direct)

/* --- all-reduce by several rings --- */

BACKWARDS(scatter_multi_ring, hp_gather_multi_ring)
BOTH(all_reduce_multi_ring, scatter_multi_ring, hp_gather_multi_ring)

/* --- all-reduce by a server --- */

/* The server is device[0]; the collector of a block passes what it receives to the rest of its
 * block. */
static void broadcast_server(struct comm_rounds *r, const struct comm_group *group)
{
    const int *collector = hp_block_collectors(r, group);
    r->pieces_per_whole = 1;
    hp_begin_round(r, 1);
    for (int i = 1; i < group->n_devices; i++)
        if (collector[i] == i)
            hp_add_whole(r, 0, i);
    hp_begin_round(r, 1);
    for (int i = 1; i < group->n_devices; i++)
        if (collector[i] != i)
            hp_add_whole(r, collector[i], i);
}

/* All contributions go to one device, which adds them up and sends the sum to all, as in
 * frameworks with parameter servers. In blocks, the devices of a node are added up first. */
BACKWARDS(reduce_server, broadcast_server)
BOTH(all_reduce_server, reduce_server, broadcast_server)

/* --- all-to-all --- */

/* Every device sends to the one `apart` positions further. */
static void add_shift(struct comm_rounds *r, int n, int apart)
{
    assert(n <= INT_MAX / n);
    for (int i = 0; i < n; i++) {
        int to = (i + apart) % n;
        hp_add_hop(
            r, (struct comm_hop){
                   .from = i, .to = to, .period = n * n, .offset = i * n + to, .n_pieces = 1 });
    }
}

static void exchange_at_once(struct comm_rounds *r, const struct comm_group *group)
{
    r->pieces_per_whole = 1;
    hp_begin_round(r, 1);
    for (int apart = 1; apart < group->n_devices; apart++)
        add_shift(r, group->n_devices, apart);
}

static void exchange_pairwise(struct comm_rounds *r, const struct comm_group *group)
{
    r->pieces_per_whole = 1;
    for (int apart = 1; apart < group->n_devices; apart++) {
        hp_begin_round(r, 1);
        add_shift(r, group->n_devices, apart);
    }
}

/* --- the table --- */

/* Libraries cut large data into some dozens of chunks, so that links inside nodes and between
 * them work at the same time (Luo et al., "HAN: a hierarchical autotuned collective
 * communication framework", 2020; NCCL). The first chunk fills the pipeline: 1/CHUNKS of what
 * the rounds would take one after the other. */
enum { CHUNKS = 32 };

/* clang-format off */
static const struct comm_algorithm algorithms[] = {
    { COMM_SEND,           "direct",                   1, ANY_SIZE,        .write = send, .keeps_order = true, .nccl = true },
    { COMM_BROADCAST,      "tree",                     1, ANY_SIZE,        .write = broadcast_tree, .nccl = true },
    { COMM_BROADCAST,      "scatter, all-gather",      3, ANY_SIZE,        .write = broadcast_scatter, .nccl = true },
    { COMM_ALL_GATHER,     "ring",                     1, ANY_SIZE,        .write = hp_gather_ring, .nccl = true },
    { COMM_ALL_GATHER,     "two-way ring",             3, ANY_SIZE,        .write = hp_gather_two_way },
    { COMM_ALL_GATHER,     "recursive doubling",       4, POWER_OF_TWO,    .write = gather_doubling },
    { COMM_ALL_GATHER,     "bruck",                    3, NO_POWER_OF_TWO, .write = gather_bruck },
    { COMM_ALL_GATHER,     "hierarchical",             4, IN_BLOCKS,       .write = hp_gather_hierarchical },
    { COMM_ALL_GATHER,     "node rings",               4, ON_NODES,        .write = hp_gather_node_rings, .per_node = 2, .nccl = true },
    { COMM_ALL_GATHER,     "pipelined hierarchical",   4, ON_NODES,        .write = hp_gather_hierarchical, .per_node = 2, .chunks = CHUNKS },
    { COMM_REDUCE,         "tree",                     1, ANY_SIZE,        .write = reduce_tree, .nccl = true },
    { COMM_REDUCE,         "reduce-scatter, gather",   3, ANY_SIZE,        .write = reduce_gather, .nccl = true },
    { COMM_REDUCE_SCATTER, "ring",                     1, ANY_SIZE,        .write = scatter_ring, .nccl = true },
    { COMM_REDUCE_SCATTER, "two-way ring",             3, ANY_SIZE,        .write = scatter_two_way },
    { COMM_REDUCE_SCATTER, "recursive halving",        4, POWER_OF_TWO,    .write = scatter_halving },
    { COMM_REDUCE_SCATTER, "bruck",                    3, NO_POWER_OF_TWO, .write = scatter_bruck },
    { COMM_REDUCE_SCATTER, "hierarchical",             4, IN_BLOCKS,       .write = scatter_hierarchical },
    { COMM_REDUCE_SCATTER, "node rings",               4, ON_NODES,        .write = scatter_node_rings, .per_node = 2, .nccl = true },
    { COMM_REDUCE_SCATTER, "pipelined hierarchical",   4, ON_NODES,        .write = scatter_hierarchical, .per_node = 2, .chunks = CHUNKS },
    { COMM_ALL_REDUCE,     "ring",                     1, ANY_SIZE,        .write = all_reduce_ring, .nccl = true },
    { COMM_ALL_REDUCE,     "two-way ring",             3, ANY_SIZE,        .write = all_reduce_two_way },
    { COMM_ALL_REDUCE,     "recursive doubling",       2, ANY_SIZE,        .write = all_reduce_doubling },
    { COMM_ALL_REDUCE,     "halving and doubling",     4, ANY_SIZE,        .write = all_reduce_halving },
    { COMM_ALL_REDUCE,     "tree",                     3, ANY_SIZE,        .write = all_reduce_tree },
    { COMM_ALL_REDUCE,     "hierarchical",             4, IN_BLOCKS,       .write = all_reduce_hierarchical },
    { COMM_ALL_REDUCE,     "node rings",               4, ON_NODES,        .write = all_reduce_node_rings, .per_node = 2, .nccl = true },
    { COMM_ALL_REDUCE,     "pipelined hierarchical",   4, ON_NODES,        .write = all_reduce_hierarchical, .per_node = 2, .chunks = CHUNKS },
    { COMM_ALL_REDUCE,     "pipelined trees",          3, ON_NODES,        .write = all_reduce_trees, .per_node = 1, .chunks = CHUNKS, .nccl = true },
    { COMM_ALL_REDUCE,     "by switches",              3, BY_SWITCHES,     .write = all_reduce_by_switches, .chunks = CHUNKS, .to_many = true, .nccl = true },
    { COMM_ALL_REDUCE,     "direct",                   2, ANY_SIZE,        .write = all_reduce_direct, .asked_for = true, .keeps_order = true, .to_many = true },
    { COMM_ALL_REDUCE,     "multi-ring",               2, ANY_SIZE,        .write = all_reduce_multi_ring, .asked_for = true, .keeps_order = true, .to_many = true, .on_tori = true },
    { COMM_ALL_REDUCE,     "server",                   2, ANY_SIZE,        .write = all_reduce_server, .asked_for = true, .keeps_order = true, .to_many = true },
    { COMM_ALL_REDUCE,     "hierarchical server",      2, IN_ANY_BLOCKS,   .write = all_reduce_server, .asked_for = true, .keeps_order = true, .to_many = true },
    { COMM_ALL_TO_ALL,     "all at once",              1, ANY_SIZE,        .write = exchange_at_once, .keeps_order = true, .to_many = true, .nccl = true },
    { COMM_ALL_TO_ALL,     "pairwise",                 3, ANY_SIZE,        .write = exchange_pairwise, .keeps_order = true },
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

const struct comm_algorithm *hp_find_comm_algorithm(enum comm_kind kind, const char *word)
{
    const struct comm_algorithm *row;
    for (int i = 0; (row = hp_comm_algorithm(i)); i++)
        if (row->kind == kind && is_called(row->name, word))
            return row;
    return NULL;
}

bool hp_comm_algorithm_fits(const struct hypar_machine *machine,
                            const struct comm_algorithm *algorithm,
                            const struct comm_group *group, int block)
{
    bool power = hp_is_power_of_two(group->n_devices);
    if (algorithm->kind != group->kind || group->n_devices < algorithm->min_devices)
        return false;
    return (algorithm->needs != POWER_OF_TWO || power) &&
           (algorithm->needs != NO_POWER_OF_TWO || !power) &&
           (algorithm->needs != IN_BLOCKS || hp_has_blocks(machine, group, block, 2)) &&
           (algorithm->needs != ON_NODES ||
            hp_has_blocks(machine, group, block, algorithm->per_node)) &&
           (algorithm->needs != BY_SWITCHES || hp_has_switches(machine, group, block));
}
