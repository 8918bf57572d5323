/* report/explain/path.h - a critical path, added up by what the time goes to. Internal. */
#ifndef REPORT_PATH_H
#define REPORT_PATH_H

#include <hypar/sim.h>

#include "base/arena.h"

enum path_kind {
    PATH_COMPUTE, /* operators of one kind */
    PATH_AGAIN,   /* what is computed again */
    PATH_UPDATE,
    PATH_EXCHANGE, /* one exchange, or those of a tensor that repeated layers have */
    PATH_BESIDE,   /* ... while the busiest device computes; its row is that of the exchange */
    PATH_BUBBLE,   /* other stages compute while the busiest device does not */
    PATH_LAUNCH,
    PATH_KINDS,
};

struct path_row {
    enum path_kind kind;
    const char *name;
    double seconds;
    double queued_s; /* of that: the next task was ready, and stood in the queue behind it */
};

struct path_sum {
    double whole_s; /* the step, or of pipedream the window: the sum of all rows */
    int busiest;    /* device, whose bubble is told, and beside whose computing exchanges are */
    double kind_s[PATH_KINDS];
    int n, capacity;
    struct path_row *row; /* the longest first */
};

struct path_sum hp_add_up_path(const struct hypar_sim *sim, struct arena *arena);

/* "computing", "exchange" */
const char *hp_path_kind_text(enum path_kind kind);

/* In a sentence: "exchanges that nothing hides". */
const char *hp_path_kind_words(enum path_kind kind);

#endif /* REPORT_PATH_H */
