/* sim/path_sum.h - adds up a critical path by the causes of its time. Internal. */
#ifndef SIM_PATH_SUM_H
#define SIM_PATH_SUM_H

#include <hypar/sim.h>

#include "base/arena.h"

enum path_kind {
    PATH_COMPUTE, /* operators of one kind */
    PATH_AGAIN,   /* recomputation */
    PATH_UPDATE,
    PATH_EXCHANGE, /* one exchange, or the exchanges of one tensor of repeated layers */
    PATH_BESIDE,   /* an exchange while the busiest device computes; it is in the row of the
                    * exchange */
    PATH_BUBBLE,   /* other stages compute or update while the busiest device is
                    * idle */
    PATH_LAUNCH,
    PATH_KINDS,
};

struct path_row {
    enum path_kind kind;
    const char *name;
    double seconds;
    double queued_s; /* part of `seconds` in which the next task was ready but waited in the
                      * queue */
};

struct path_sum {
    double whole_s; /* the step, or for pipedream the window: the sum of all rows */
    int busiest;    /* the device whose bubble and overlapped exchanges are reported */
    double kind_s[PATH_KINDS];
    int n, capacity;
    struct path_row *row; /* the longest first */
};

struct path_sum hp_add_up_path(const struct hypar_sim *sim, struct arena *arena);

/* "computing", "exchange" */
const char *hp_path_kind_text(enum path_kind kind);

/* The kind in a sentence: "exchanges that nothing hides". */
const char *hp_path_kind_words(enum path_kind kind);

#endif /* SIM_PATH_SUM_H */
