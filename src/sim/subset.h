/* sim/subset.h - a subset of a program's tasks from which the step time follows. Internal.
 *
 * Devices with equal tasks and times, and comms of equal length, form a class: mostly the
 * replicas of a stage, and the devices that divide a layer. One device of each class is KEPT,
 * with its own tasks and all its comms, which have the same cost as with all devices. The other
 * devices are assumed to act at the same times as the kept device of their class. To make this
 * true, further devices are kept:
 *
 * - a contributor to a kept comm, if no kept device of its class contributes;
 * - the devices of comms that share links with kept comms, because these take turns. */
#ifndef SIM_SUBSET_H
#define SIM_SUBSET_H

#include "sim/full/timeline.h"

struct subset {
    struct timeline_part part; /* the kept tasks, renumbered in the same order */
    const bool *device;        /* by device: it is kept */
    int n_devices;             /* kept devices ... */
    int used_devices;          /* ... and devices that do anything */
    /* Upper bounds, of a micro-batch and of the end of a step: how long comms that are left out
     * hold a link that a kept comm needs. */
    double body_s, tail_s;
};

/* Find the subset. `body`: include the tasks of this body and of the tail; -1: of all bodies.
 * Not for separate messages or delayed updates. Taken from `arena`. */
struct subset hp_find_subset(struct timing *timing, const struct hypar_program *program,
                             int body, struct arena *arena);

#endif /* SIM_SUBSET_H */
