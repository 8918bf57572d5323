/* cost/collective_write.h - building blocks for the algorithms of collectives: rounds, rings,
 * blocks. Internal to cost/collective_*.c. */
#ifndef COST_COLLECTIVE_WRITE_H
#define COST_COLLECTIVE_WRITE_H

#include "cost/collective_rounds.h"

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

struct blocks {
    int n_blocks, per_block;
    int *member; /* [block][number in block]: index in device[] */
};

/* The order in which devices form blocks; NULL: by number. */
const int *hp_device_ranks(const struct hypar_machine *machine);

/* False unless the group forms several blocks of equal size. Devices need not be in order. */
bool hp_find_blocks(struct arena *arena, const int *rank, const struct comm_group *group,
                    int block, struct blocks *out);
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

#endif /* COST_COLLECTIVE_WRITE_H */
