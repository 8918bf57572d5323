/* cost/collective_rounds.h - the algorithms of collectives, as rounds of messages. Internal.
 *
 * The table of algorithms (struct comm_algorithm) is in collective_algorithms.c. The functions
 * that write rounds are beside the table, in collective_rings.c, collective_blocks.c and
 * collective_nodes.c. CONTRIBUTING.md lists what a new algorithm touches.
 *
 * Each algorithm has one description: the messages of each round and the pieces of data that
 * they carry. Its cost, its messages and the proof of its result are all derived from this
 * description. Rounds that repeat with the same senders and receivers are written once: a ring
 * over 1,024 devices is one round of 1,024 messages. */
#ifndef COST_COLLECTIVE_ROUNDS_H
#define COST_COLLECTIVE_ROUNDS_H

#include "cost/collective.h"

#include <stdbool.h>

/* In repetition k of its round this message carries the pieces
 *     base + (offset + k*shift + j) mod period,  j = 0..n_pieces-1. */
struct comm_hop {
    int from, to; /* indices in the group's device[] */
    int base, period, offset, shift, n_pieces;
    int up_of, down_of; /* as of struct message: where switches sum or copy */
};

/* Messages that may be under way at the same time. */
struct comm_round {
    int first, n; /* hops */
    int repeat;
    bool sums; /* the receiver adds the pieces to its own; else it had none of them */
};

struct comm_rounds {
    struct arena *arena;
    const struct hypar_machine *machine;
    int block; /* of algorithms in blocks: devices that work together first */
    /* The `bytes` of a collective are this many chunks of so many pieces. The rounds are those
     * of one chunk; chunks do not wait for each other. */
    int chunks, pieces_per_whole;
    int n_rounds, round_capacity;
    struct comm_round *round;
    int n_hops, hop_capacity;
    struct comm_hop *hop;
    /* In an all-gather, device i begins with the pieces own[i]*w .. own[i]*w+w-1, w =
     * pieces_per_whole/n_devices; in a reduce-scatter it ends with them. NULL for other
     * kinds. With several `parts` of pieces_per_whole/parts pieces each, it has such pieces of
     * each part p: from own[p*n_devices + i]*w on, w = pieces_per_whole/parts/n_devices. */
    const int *own;
    int parts;
};

/* A row: one algorithm for one kind of collective. If several rows take equally long, the first
 * of them is used. */
struct comm_algorithm {
    enum comm_kind kind;
    const char *name;
    int min_devices;
    enum {
        ANY_SIZE,
        POWER_OF_TWO,
        NO_POWER_OF_TWO,
        IN_BLOCKS,
        IN_ANY_BLOCKS, /* ... which need not be equal */
        ON_NODES,      /* in blocks of a node each, as many devices of each node */
        BY_SWITCHES,   /* the same, or within a node; where switches sum */
    } needs;
    void (*write)(struct comm_rounds *rounds, const struct comm_group *group);
    int per_node; /* ON_NODES: least devices of a node in the group */
    int chunks; /* pieces go through the rounds in so many chunks, one behind the other; 0: 1 */
    bool asked_for;   /* it is used only if a user asks for it by name */
    bool keeps_order; /* the number of a member matters: on machines whose topology ranks
                         devices, members of other algorithms are sorted by rank */
    bool nccl;        /* NCCL has it, or one that takes as long */
    bool to_many; /* in a round, a device may send to, or receive from, more than two others */
    bool on_tori; /* it is one ring on machines that are no torus given by a word */
};

/* Row `i`, or NULL past the last. */
const struct comm_algorithm *hp_comm_algorithm(int i);

/* The row of a kind that is called `word`, with dashes for the blanks of its name, or NULL. */
const struct comm_algorithm *hp_find_comm_algorithm(enum comm_kind kind, const char *word);

/* May `group` use this row? For IN_BLOCKS: do blocks of `block` devices divide it evenly? */
bool hp_comm_algorithm_fits(const struct hypar_machine *machine,
                            const struct comm_algorithm *algorithm,
                            const struct comm_group *group, int block);

/* Write the rounds of an algorithm that fits; taken from `arena`. */
void hp_comm_rounds(struct arena *arena, const struct hypar_machine *machine,
                    const struct comm_algorithm *algorithm, const struct comm_group *group,
                    int block, struct comm_rounds *out);

/* Writing the rounds of an algorithm; used in cost/collective_*.c alone. */

/* --- rounds (collective_rounds.c) --- */

void hp_begin_round(struct comm_rounds *r, int repeat);

/* Add a message to the last round; and one that carries all pieces. */
void hp_add_hop(struct comm_rounds *r, struct comm_hop hop);
void hp_add_whole(struct comm_rounds *r, int from, int to);

/* Reverse the rounds from `first` on: the last repetition of the last round comes first,
 * messages change direction, and copies become sums. */
void hp_reverse_rounds(struct comm_rounds *r, int first);

/* The numbers 0..n-1, rotated to begin at `first`. */
int *hp_count_from(struct arena *arena, int first, int n);

/* By member: its position in this order. */
int *hp_places(struct arena *arena, const int *member, int n);

/* --- rings (collective_rings.c) --- */

/* All members of the group in the order of a ring. */
int *hp_ring_order(struct comm_rounds *r, const struct comm_group *group);

/* member[i] passes the `width` pieces from base + i*width on to member[i+1], then the pieces
 * that it received last, and so on; all within the last round, which repeats n-1 times. */
void hp_add_ring(struct comm_rounds *r, const int *member, int n, int base, int width);

/* Rings that run at the same time, through `n` members each. */
struct rings {
    int n_rings, n;
    int *member;      /* [ring][position in it] */
    int apart, width; /* pieces: between the first ones of consecutive rings; of each member */
    bool open;        /* members lie on open lines, in this order: there is no short way back */
};

/* Rounds of their own in which all of them gather. */
void hp_add_rings(struct comm_rounds *r, const struct rings *rings);

/* Rings inside the blocks, and across them through the devices with equal numbers. Before its
 * block gathers, number j of a block has the pieces j*n_blocks.. */
void hp_find_block_rings(struct comm_rounds *r, const struct comm_group *group,
                         struct rings *inside, struct rings *across);

void hp_gather_ring(struct comm_rounds *r, const struct comm_group *group);
void hp_gather_two_way(struct comm_rounds *r, const struct comm_group *group);
void hp_gather_hierarchical(struct comm_rounds *r, const struct comm_group *group);
void hp_gather_multi_ring(struct comm_rounds *r, const struct comm_group *group);

/* --- blocks (collective_blocks.c) --- */

struct device_blocks {
    int n_blocks, per_block;
    int *member; /* [block][number in block]: index in device[] */
};

/* The order in which devices form blocks; NULL: by number. */
const int *hp_device_ranks(const struct hypar_machine *machine);

/* False unless the group forms several blocks of equal size. Devices need not be in order. */
bool hp_find_blocks(struct arena *arena, const int *rank, const struct comm_group *group,
                    int block, struct device_blocks *out);
/* Does it form blocks of at least `least` devices each? */
bool hp_has_blocks(const struct hypar_machine *machine, const struct comm_group *group,
                   int block, int least);

/* By device: the device that collects for it: the first of its block; without blocks,
 * itself. */
const int *hp_block_collectors(struct comm_rounds *r, const struct comm_group *group);

/* --- nodes of a cluster (collective_nodes.c) --- */

void hp_gather_node_rings(struct comm_rounds *r, const struct comm_group *group);
void hp_broadcast_trees(struct comm_rounds *r, const struct comm_group *group);
void hp_gather_by_switches(struct comm_rounds *r, const struct comm_group *group);

/* Can switches sum for this group: those of its nodes, and those between them? */
bool hp_has_switches(const struct hypar_machine *machine, const struct comm_group *group,
                     int block);

#endif /* COST_COLLECTIVE_ROUNDS_H */
