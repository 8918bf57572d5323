/* machine/network.h - machines given by explicit nodes and links. Internal. */
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
    struct hypar_link link; /* with the nominal bandwidth */
    double efficiency;      /* the share of this bandwidth that messages reach */
    int class;              /* -1: none */
};

/* The options that set a figure of a listed link; and the figure's address, NULL: the option
 * sets no figure of links. */
enum { N_LINK_FIGURES = 4 };
extern const enum option hp_link_figures[N_LINK_FIGURES];
double *hp_link_figure(struct listed_link *link, enum option option);

/* A ring through some devices, kept once found; freed with the machine. */
struct kept_ring {
    struct kept_ring *other; /* the next one of the same slot */
    int n;
    int device[]; /* ascending; then the order, as indices of these */
};

struct network {
    int n_nodes, n_listed, n_classes;
    struct listed_link *listed;
    const char *class[NETWORK_MAX_CLASSES]; /* names of classes of listed links */
    struct hypar_link
        *links;     /* made from the listed ones: parallel links between devices are merged */
    int *first_out; /* the outgoing links of node v are out[first_out[v]..first_out[v+1]-1],
                       ascending */
    int *out;       /* directed links */
    int *next;      /* [destination device][node]: directed link towards it; NULL: too large */
    /* Rings found so far, a hash table; searches in several threads share a machine. */
    _Atomic(struct kept_ring *) ring[NETWORK_RING_SLOTS];
    atomic_int n_kept;         /* devices in all these rings */
    _Atomic(int *) rank;       /* by device, when first needed: see hp_network_rank() */
    _Atomic(float *) distance; /* between devices, when first needed: see network_ring.c */
};

/* The node at the end of a directed link. */
static inline int hp_network_head(const struct network *network, int directed)
{
    const struct hypar_link *link = &network->links[directed / 2];
    return directed % 2 ? link->from : link->to;
}

extern const struct topology hp_explicit;

/* Make a machine; the caller writes its links, all valid, to *links. Their efficiency is 1 and
 * they have no class. Names are copied. */
struct hypar_machine *hp_network_new(const struct device_run *runs, int n_runs, int n_devices,
                                     int n_switches, int n_links, struct listed_link **links);

/* The class of this name; -1: there is none. */
int hp_network_class(const struct network *network, const char *name);
/* The same; adds the class if it is new. -1: there are too many. */
int hp_network_add_class(struct hypar_machine *machine, const char *name);

/* Merge parallel links between devices, apply efficiencies, find the routes; fails if a device
 * cannot be reached. */
enum hypar_status hp_network_finish(struct hypar_machine *machine, struct hypar_error *err);

/* Release the memory outside the machine's arena. */
void hp_network_free(struct network *network);

/* network_ring.c: the `cycle` of such a machine. In the order found, no link is busier than in
 * the order of numbers, for traffic one way or both ways. Searched once for each set of
 * devices. */
bool hp_network_cycle(struct arena *scratch, const struct hypar_machine *machine,
                      const int *device, int n, int *order);

/* The same position in the next of the groups of a parent. */
static inline int hp_counterpart(int place, int parent, int group)
{
    int first = place / parent * parent;
    return first + (place - first + group) % parent;
}

/* network.c: the bandwidth of routes between the groups of a level. device_at[] are the devices
 * in order (NULL: by number). Every device sends as much to its counterpart in the next group;
 * the busiest link sets the pace. */
double hp_network_routed_bytes_per_s(const struct hypar_machine *machine, int parent, int group,
                                     const int *device_at);

/* network_rank.c: the `rank` of such a machine. */
const int *hp_network_rank(const struct hypar_machine *machine);

#endif /* MACHINE_NETWORK_H */
