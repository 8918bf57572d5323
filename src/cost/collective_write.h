/* cost/collective_write.h - what the algorithms of collectives are written with: rounds, rings,
 * blocks. Internal to cost/collective_*.c. */
#ifndef COST_COLLECTIVE_WRITE_H
#define COST_COLLECTIVE_WRITE_H

#include "cost/collective_rounds.h"

/* --- rounds (collective_rounds.c) --- */

void hp_begin_round(struct comm_rounds *r, int repeat);

/* A message of the round that was begun last; one that carries all pieces. */
void hp_add_hop(struct comm_rounds *r, struct comm_hop hop);
void hp_add_whole(struct comm_rounds *r, int from, int to);

/* Run the rounds from `first` on backwards: the last repetition of the last round becomes the
 * first of the first, messages turn round, and copies become sums. */
void hp_reverse_rounds(struct comm_rounds *r, int first);

/* 0..n-1, beginning at `first` and going round. */
int *hp_count_from(struct arena *arena, int first, int n);

/* By member: its place in this order. */
int *hp_places(struct arena *arena, const int *member, int n);

/* --- rings (collective_rings.c) --- */

/* All of the group in the order of a ring. */
int *hp_ring_order(struct comm_rounds *r, const struct comm_group *group);

/* member[i] passes the `width` pieces from base + i*width on to member[i+1], then what it
 * received last, ...; all within the round that was begun, which repeats n-1 times. */
void hp_add_ring(struct comm_rounds *r, const int *member, int n, int base, int width);

void hp_gather_ring(struct comm_rounds *r, const struct comm_group *group);
void hp_gather_two_way(struct comm_rounds *r, const struct comm_group *group);
void hp_gather_hierarchical(struct comm_rounds *r, const struct comm_group *group);
void hp_gather_multi_ring(struct comm_rounds *r, const struct comm_group *group);

/* --- blocks (collective_blocks.c) --- */

struct blocks {
    int n_blocks, per_block;
    int *member; /* [block][number in block]: index in device[] */
};

/* The order in which blocks are made of devices; NULL: by number. */
const int *hp_device_ranks(const struct hypar_machine *machine);

/* False unless there are several blocks with equally many devices, several. Devices need not be
 * in order. */
bool hp_find_blocks(struct arena *arena, const int *rank, const struct comm_group *group,
                    int block, struct blocks *out);
bool hp_has_blocks(const struct hypar_machine *machine, const struct comm_group *group,
                   int block);

/* For each device the one that collects for it: the first of its block, itself without blocks.
 */
const int *hp_block_collectors(struct comm_rounds *r, const struct comm_group *group);

#endif /* COST_COLLECTIVE_WRITE_H */
