/* machine/network.h - machines of explicit nodes and links. Internal. */
#ifndef MACHINE_NETWORK_H
#define MACHINE_NETWORK_H

#include "machine/machine.h"

#include <stdatomic.h>

enum {
    NETWORK_MAX_LINKS = 1 << 20,
    NETWORK_MAX_CLASSES = 64,
    NETWORK_RING_SLOTS = 1 << 10,
};

/* A link as a file lists it. */
struct listed_link {
    struct hypar_link link; /* with the bandwidth that the link is said to have */
    double efficiency;      /* share of that bandwidth that messages reach */
    int class;              /* -1: none */
};

/* Options that set a figure of such a link; and where it is, NULL: the option sets none. */
enum { N_LINK_FIGURES = 4 };
extern const enum option hp_link_figures[N_LINK_FIGURES];
double *hp_link_figure(struct listed_link *link, enum option option);

/* The order of a ring through some devices, once found; freed with the machine. */
struct kept_ring {
    struct kept_ring *other; /* of the same slot */
    int n;
    int device[]; /* rising; then the order, as indices of these */
};

struct network {
    int n_nodes, n_listed, n_classes;
    struct listed_link *listed;
    const char *class[NETWORK_MAX_CLASSES]; /* names of classes of listed links */
    struct hypar_link *links; /* made of the listed ones: parallel ones of devices are one */
    int *first_out; /* node v's links out are out[first_out[v]..first_out[v+1]-1], rising */
    int *out;       /* directed links */
    int *next;      /* [destination device][node]: directed link towards it; NULL: too large */
    /* Rings that were asked for, a hash table; searches in several threads share a machine. */
    _Atomic(struct kept_ring *) ring[NETWORK_RING_SLOTS];
    atomic_int n_kept;         /* devices of all these */
    _Atomic(int *) rank;       /* by device, once asked for: see hp_network_rank() */
    _Atomic(float *) distance; /* between devices, once asked for: see network_ring.c */
};

/* The node at the end of a directed link. */
static inline int hp_network_head(const struct network *network, int directed)
{
    const struct hypar_link *link = &network->links[directed / 2];
    return directed % 2 ? link->from : link->to;
}

extern const struct topology hp_explicit;

/* A machine whose links, all valid, the caller still writes into *links; their efficiency is 1
 * and they have no class. Names are copied. */
struct hypar_machine *hp_network_new(const struct device_run *runs, int n_runs, int n_devices,
                                     int n_switches, int n_links, struct listed_link **links);

/* The class of that name; -1: there is none. */
int hp_network_class(const struct network *network, const char *name);
/* ... which is a new one, if need be; -1: there are too many. */
int hp_network_add_class(struct hypar_machine *machine, const char *name);

/* Make parallel links between devices one, let links carry their share, find the routes; fails
 * where a device cannot be reached. */
enum hypar_status hp_network_finish(struct hypar_machine *machine, struct hypar_error *err);

/* Release what is not in the machine's arena. */
void hp_network_free(struct network *network);

/* network_ring.c: the `cycle` of such a machine. In the order that is found no link is busier,
 * for what is sent round one way or both, than in the order of numbers. Searched once for each
 * set of devices. */
bool hp_network_cycle(struct arena *scratch, const struct hypar_machine *machine,
                      const int *device, int n, int *order);

/* The same place in the next of the groups that make up a parent. */
static inline int hp_counterpart(int place, int parent, int group)
{
    int first = place / parent * parent;
    return first + (place - first + group) % parent;
}

/* network.c: what routes carry between the groups of a level, if device_at[] are the devices in
 * their order (NULL: by number): every device sends as much to its counterpart in the next
 * group, and the busiest link sets the pace. */
double hp_network_routed_bytes_per_s(const struct hypar_machine *machine, int parent, int group,
                                     const int *device_at);

/* network_rank.c: the `rank` of such a machine. */
const int *hp_network_rank(const struct hypar_machine *machine);

#endif /* MACHINE_NETWORK_H */
