/* cost/collective.h - the time to move bytes between devices. Internal.
 *
 * A message holds each link of its route for bytes/bandwidth, link i+1 beginning one latency
 * after link i (cut-through). A collective is a set of such messages in rounds, by one of
 * several algorithms (collective_rounds.h). As one task it takes, summed over the rounds,
 *
 *     the longest latency of a route  +  the longest time that any one link is held
 *
 * plus the overhead of its devices: a fixed time for every comm (the launch of a library's
 * kernel, where it was measured), and reading and writing their own copies. Some algorithms cut
 * the data into C chunks. The first chunk takes the time above. The busiest link sets the pace
 * of the other C-1: while a chunk is between nodes, others are inside.
 *
 * Times are linear in the bytes. So they are computed once for a group of devices (a
 * `comm_model`) and then evaluated for any size. */
#ifndef COST_COLLECTIVE_H
#define COST_COLLECTIVE_H

#include <hypar/machine.h>

#include "base/arena.h"
#include "split/comm.h"

/* A directed link (2*link + direction) and how long it is held for each byte. */
struct link_share {
    int link;
    double s_per_byte; /* for each of the whole collective's `bytes` */
};

/* The time of a comm besides its messages; no link is held for it. */
struct comm_overhead {
    double fixed_s, s_per_byte;
};

/* One algorithm for one kind of collective over one group of devices: it takes fixed_s + bytes
 * * s_per_byte, and holds each of its links for bytes * share.s_per_byte. */
struct comm_way {
    const char *algorithm; /* "ring", "tree", ...: the rows of collective_algorithms.c */
    int block; /* hierarchical: this many consecutive devices of the machine work together
                  first; else 0 */
    int64_t n_messages;
    double fixed_s, s_per_byte; /* including the overhead */
    struct comm_overhead overhead;
    int n_links;
    const struct link_share *link; /* ascending by link; each once */
};

struct comm_model {
    int n_ways;
    const struct comm_way *way;
};

/* A collective: its kind and its devices. `bytes` means, for COMM_ALL_REDUCE, COMM_REDUCE,
 * COMM_REDUCE_SCATTER, COMM_ALL_GATHER and COMM_BROADCAST, the size of the whole (summed or
 * gathered) data, whose pieces are equal; for COMM_SEND and COMM_ALL_TO_ALL the size of one
 * message (between each pair). COMM_EXCHANGE has no model: see hp_messages_way(). */
struct comm_group {
    enum comm_kind kind;
    int n_devices;
    const int *device; /* distinct */
    int root;          /* index in device[]: the source of a send or broadcast, the reader of a
                          reduction; else unused */
};

/* Compute the ways in which a group may run the collective. Taken from `arena`. */
const struct comm_model *hp_comm_model(struct arena *arena, const struct hypar_machine *machine,
                                       const struct comm_group *group);

/* The same for the algorithm of this name alone (a row's), if the group can use it; else, or if
 * the name is NULL, as hp_comm_model(). */
const struct comm_model *hp_comm_model_named(struct arena *arena,
                                             const struct hypar_machine *machine,
                                             const struct comm_group *group, const char *name);

/* The way that is fastest for `bytes`; the first among equals. */
const struct comm_way *hp_comm_best_way(const struct comm_model *model, double bytes);

/* Messages that all start at once, as one task: every link is held for the bytes that cross it,
 * and is never idle while a message has reached it. Fills *way for bytes = 1 (s_per_byte are
 * then seconds). */
void hp_messages_way(struct arena *arena, const struct hypar_machine *machine,
                     const struct message *message, int n, struct comm_way *way);

/* How long a device reads, or writes, its own copy of the data, for each byte. */
double hp_copy_s_per_byte(const struct hypar_device *device);

/* The overhead of a comm of a group; and of messages that are sent at once (for bytes = 1, as
 * hp_messages_way()). Zero on a machine without such figures. */
struct comm_overhead hp_comm_overhead(const struct hypar_machine *machine,
                                      const struct comm_group *group);
struct comm_overhead hp_messages_overhead(struct arena *scratch,
                                          const struct hypar_machine *machine,
                                          const struct message *message, int n);

/* What kernels beside a collective lose on one of its devices: a share (comm_share) of the time
 * in which the device's links and memory move the bytes and messages are under way; the launch
 * takes nothing. Short collectives run in fewer of the library's channels, and each channel
 * occupies a part of the device. `whole`: the bytes of the collective; `way` and `bytes` as for
 * its time; `own_link_s`: the longest time that one of the device's own links is held. */
double hp_lost_beside_s(const struct hypar_device *device, const struct comm_group *group,
                        double whole, const struct comm_way *way, double bytes,
                        double own_link_s);

/* An order for messages of similar size that start at once, in which few wait for others if
 * links serve first come, first served: writes a permutation of 0..n-1. */
void hp_spread_messages(const struct hypar_machine *machine, const struct message *message,
                        int n, int *order);

/* The messages of `way` (one of the group's model) for `bytes`, which must be fewer than
 * INT_MAX / 2: fills `n` and `list`, for --expand-collectives. A device sends its messages of a
 * round when its messages of earlier rounds, sent and received, have arrived, as in an MPI
 * library. It has the result when all messages to it have arrived. */
void hp_comm_messages(struct arena *arena, const struct hypar_machine *machine,
                      const struct comm_group *group, const struct comm_way *way, double bytes,
                      struct comm_messages *out);

/* A lower bound for any algorithm (closed forms; for tests and reports): the bytes that must
 * enter or leave some device, over the bandwidth of its links towards the group. Visits the
 * routes of all pairs. */
double hp_comm_lower_bound_s(const struct hypar_machine *machine,
                             const struct comm_group *group, double bytes);

#endif /* COST_COLLECTIVE_H */
