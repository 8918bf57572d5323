/* sim/subset.h - as many of a program's tasks as tell how long all of them take. Internal.
 *
 * Devices that do the same, in the same time, with comms that take as long, are of one class;
 * replicas of a stage mostly are, and the devices that divide a layer. One of each class is
 * KEPT, with its own tasks and all comms that it takes part in, which cost what they cost with
 * everybody. The others are taken to do at the same time what the kept one of their class does.
 * So that this is so, devices are kept besides:
 *
 *  - whoever contributes to a comm that is kept, if nobody of its class who is kept does;
 *  - who takes part in comms on links that comms that are kept need, too: they take turns. */
#ifndef SIM_SUBSET_H
#define SIM_SUBSET_H

#include "sim/timeline.h"

struct subset {
    struct timeline_part part; /* the tasks that are kept, numbered anew in the same order */
    int n_devices;             /* that are kept ... */
    int used_devices;          /* ... of those that do something */
    /* By micro-batch, and at the end of a step: how long comms that were left out hold a link
     * that one which was kept needs, at most. */
    double body_s, tail_s;
};

/* `body`: its tasks alone and the tail's; -1: those of all bodies. Messages that are tasks of
 * their own, and delayed updates, are not for it. Taken from `arena`. */
struct subset hp_find_subset(struct timing *timing, const struct hypar_program *program,
                             int body, struct arena *arena);

#endif /* SIM_SUBSET_H */
