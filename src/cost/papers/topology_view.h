/* cost/papers/topology_view.h - a machine, and operators placed on it, in OptCNN's cost model.
 * Internal.
 *
 * An operator's parts lie on devices 0 .. n_parts-1: device = sum of coordinate * stride over
 * its axes. All messages between two placed operators start at once: every link is held for the
 * bytes that cross it, and the link that is held longest determines the time (paper, assumption
 * 2: s bytes over a connection of bandwidth b take s / b). The latency of a route, which the
 * paper leaves out, is added once.
 *
 * In a tree of equal links (cluster, htree) a link cuts off `size` consecutive devices. Data
 * that these receive from other devices crosses the link; data between two of them does not.
 * Such sums are products over the dimensions of a tensor, so two placements are compared
 * without visiting pairs of devices. Where every pair has a link, the most that one device
 * sends to another decides, and is a product too. On other machines all routes are visited. */
#ifndef COST_PAPERS_TOPOLOGY_VIEW_H
#define COST_PAPERS_TOPOLOGY_VIEW_H

#include <hypar/machine.h>

#include "base/arena.h"
#include "base/table.h"
#include "split/split.h"

enum topology_kind {
    TOPOLOGY_TREE,   /* cluster of equal nodes, htree */
    TOPOLOGY_PAIRS,  /* a link for every pair, all alike */
    TOPOLOGY_ROUTED, /* anything else: the routes of all pairs are kept */
    TOPOLOGY_KIND_COUNT,
};

/* How an axis is placed: device d has coordinate d / stride % degree. */
struct axis_placement {
    int degree, stride;
};

struct placement {
    struct axis_placement axis[MAX_AXES];
    int axis_id[MAX_AXES]; /* the number of axis[a] in the topology view; 0: not divided */
    int n_parts;
    bool scattered; /* on some cut, the parts of a group are no range of coordinates */
};

/* Coordinates lo .. lo + n - 1 of an axis lie on the devices of one group. */
struct digits {
    int lo, n;
};

/* Numbers that are computed side by side. */
enum { TOPOLOGY_LANES = 4 };

/* Links that cut off groups of `size` devices: 0 .. size-1, size .. 2*size-1, ... */
struct cut {
    int size, n_groups;
    int first; /* index of its first group among those of all cuts */
    double s_per_byte;
};

enum { TOPOLOGY_MAX_CUTS = 4 }; /* cuts that can decide: devices, nodes */

/* The coordinates of an axis in each group of all cuts. */
struct axis_groups {
    struct digits *group;
    double *count;    /* how many */
    unsigned inexact; /* bit c: on cut c some group has no range (three parts, pairs) */
};

struct topology_view {
    const struct hypar_machine *machine;
    struct arena *arena;
    int n_devices;
    enum topology_kind kind;
    bool once; /* of a tree: data that several devices of a group read enters the group once, as
                  in collectives; else once for each device, as in the paper. Of pairs: a device
                  copies data with several readers once */
    int n_cuts; /* size 1 first, ascending; of pairs only size 1, with their bandwidth */
    struct cut cut[TOPOLOGY_MAX_CUTS];
    int n_groups;            /* of all cuts */
    double *latency_s;       /* [n]: of a message on the longest route among devices 0 .. n-1 */
    double *copy_s_per_byte; /* [device]: for each byte that it sends or receives, besides the
                                links */
    /* TOPOLOGY_ROUTED: directed links of the route from i to j, from route_start[i * n + j] on
     */
    int *route_start, *route;
    int n_links;
    double *link_s_per_byte;
    /* runs of equal devices: a new one starts at run[i] */
    int n_runs, *run;

    struct table known; /* struct axis_placement -> its number, axis_id */
    int n_axis_ids, axis_capacity, on_capacity;
    struct axis_placement *axis;
    struct axis_groups *on; /* [axis_id] */
};

/* Make the view of a machine; taken from `arena`. HYPAR_UNSUPPORTED if the machine is too
 * large. */
enum hypar_status hp_topology_view(struct topology_view *out, struct arena *arena,
                                   const struct hypar_machine *machine,
                                   struct hypar_error *err);

/* Complete a placement whose `axis` is filled in (degree 0 counts as 1): numbers its axes. */
void hp_place(struct topology_view *topology, const struct nest *nest,
              struct placement *placement);

/* Place parts on the first devices, in order (row-major, the last axis fastest). */
struct placement hp_place_row_major(struct topology_view *topology, const struct nest *nest,
                                    const int degree[MAX_AXES]);

/* The split, and the device of each part in the order of a plan; the array is the caller's. */
struct split hp_placement_split(const struct nest *nest, const struct placement *placement);
void hp_placement_devices(const struct nest *nest, const struct placement *placement,
                          int *device);

/* The number of groups of a cut that have a part of a placement. */
static inline int hp_cut_groups(const struct cut *cut, const struct placement *placement)
{
    return (placement->n_parts + cut->size - 1) / cut->size;
}

/* Loads of links, for messages visited one by one: hp_load_count() numbers, in seconds for each
 * byte of an element. Of a tree: links into the groups, then out of them; of pairs: all pairs.
 * Then the copying of what each device receives, and sends. */
int hp_load_count(const struct topology_view *topology);

/* `elements` go from device i to device j != i. `receiving`: only links into j's groups count
 * (of a tree). */
void hp_load_add(const struct topology_view *topology, double *load, int i, int j,
                 double elements, bool receiving);
double hp_load_most(const struct topology_view *topology, const double *load);

#endif /* COST_PAPERS_TOPOLOGY_VIEW_H */
