/* report/simulate/link_class.h - classes of equal links. Internal.
 *
 * A machine has many links of few classes. Links of one class join the same kinds of nodes in
 * the same direction, at the same bandwidth. A chart shows a class as one row. */
#ifndef REPORT_LINK_CLASS_H
#define REPORT_LINK_CLASS_H

#include <hypar/sim.h>

#include "base/arena.h"

struct link_class {
    const char *name; /* "network cards out", "device -> switch" */
    double bytes_per_s;
    int n_links; /* directed links of this class that carry data */
};

enum { MOST_LINK_CLASSES = 32 };

/* Classes of the links that carry data: network cards first, then in the order of links. */
struct link_classes {
    int n;
    struct link_class class[MOST_LINK_CLASSES];
    int *of_link; /* by directed link; -1: it carries no data */
};

struct link_classes hp_link_classes(struct arena *arena, const struct hypar_sim *sim);

#endif /* REPORT_LINK_CLASS_H */
