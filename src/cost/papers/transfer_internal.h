/* cost/papers/transfer_internal.h - data that the two forms of t_X share: products (transfer.c)
 * and routes (transfer_routed.c). Internal to them. */
#ifndef COST_PAPERS_TRANSFER_INTERNAL_H
#define COST_PAPERS_TRANSFER_INTERNAL_H

#include "cost/papers/transfer.h"

/* The borders of the parts of one end along one dimension. */
struct borders {
    int n;
    struct range *part;
};

/* The elements that writers of a group of devices provide. */
enum provided {
    KEPT,          /* for the group's own readers */
    SENT,          /* for all readers */
    LONGEST,       /* to one device's reader: the longest piece of any writer */
    LONGEST_OTHER, /* ... of any other writer */
    PROVIDED_COUNT,
};

/* One dimension of the tensor; the tables hold a number for each group of each cut. */
struct dimension {
    int64_t size;
    int axis[2];             /* that divides it: the writer's, the reader's; -1: none */
    struct borders *part[2]; /* [end][axis_id] */
    double **needed; /* [axis_id of the reader]: elements that the group's readers need */
    double **provided[PROVIDED_COUNT]; /* [axis_id of the writer * n_axis_ids + axis_id of the
                                          reader] */
};

struct transfer {
    struct topology_view *topology;
    struct arena *arena;
    struct transfer_end end[2];
    int n_dims, n_axis_ids;
    bool diagonal;     /* an axis indexes two dimensions: the products do not apply */
    axis_set loose[2]; /* axes of each end that index no dimension */
    struct dimension dim[MAX_DIMS];
    double *needs, *keeps, *sends; /* scratch: by group */
    double *link_load;             /* scratch, when first needed: by link */
    int *copy;                     /* the same, by copy */
};

/* The parts of one end (0: the writer) along dimension `d`, whose axis is divided evenly,
 * within the tensor. */
const struct borders *hp_borders(struct transfer *t, int end, int d, int id);

/* The number of parts along axes of an end that do not index the tensor. */
int hp_loose_parts(const struct transfer *t, int end, const struct placement *placement);

static inline int hp_axis_id(const struct placement *p, int axis)
{
    return axis < 0 ? 0 : p->axis_id[axis];
}

/* The length of the intersection of two ranges. */
static inline double hp_overlap(struct range a, struct range b)
{
    int64_t lo = a.lo > b.lo ? a.lo : b.lo, hi = a.hi < b.hi ? a.hi : b.hi;
    return hi > lo ? (double)(hi - lo) : 0;
}

#endif /* COST_PAPERS_TRANSFER_INTERNAL_H */
