/* report/simulate/bars.h - the times at which devices and links are occupied, for drawings.
 * Internal.
 *
 * Programs have millions of tasks. So only a limited number of devices and links have rows, and
 * neighbouring bars are merged, the shortest first, until there are no more than asked for. */
#ifndef REPORT_BARS_H
#define REPORT_BARS_H

#include <hypar/report.h>

#include "base/table.h"
#include "measured/step.h"

/* Limits of the rows of devices and of links. */
enum { SHOWN_DEVICES = 64, SHOWN_LINKS = 64 };

/* A machine has many links of few classes. Links of one class join the same kinds of nodes in
 * the same direction, at the same bandwidth. A chart shows a class as one row. */
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

/* A time at which a device or a link is occupied; in ticks. */
struct bar {
    int64_t start, end;
    int name;  /* of the task, or of the longest merged task */
    int micro; /* -1: none */
    int tasks; /* number of tasks: 1 unless merged */
    int64_t longest;
    int64_t *of_kind; /* ticks of the tasks of each kind; NULL: one task */
};

/* Bars in order, without overlap. */
struct bar_row {
    int device, link; /* one of the two is -1 */
    bool measured;    /* measured on the device's rank, not simulated */
    int n, capacity;
    struct bar *bar;
};

/* The name of a task without part and micro-batch. */
struct task_name {
    const char *text;
    enum hypar_event_kind kind;
    int stage; /* -1: none */
};

struct bars {
    struct arena arena;
    const struct hypar_sim *sim;
    const struct hypar_measured_step *measured; /* NULL: none */
    double tick_s;
    double end_s;                             /* of all rows */
    int n_rows, *row_of_device, *row_of_link; /* -1: not shown */
    struct bar_row *row;                      /* devices, then links by class, the busiest of a
                                               * class first */
    struct link_classes classes;
    int64_t window; /* bars within this window are merged, in ticks; 0: none are */
    struct table names;
    int n_names, name_capacity;
    struct task_name *name;
};

/* Make at most `most` bars of a simulation that has kept its timeline, and beside each device
 * the measured tasks of its rank, if there are any (NULL: none). */
void hp_make_bars(struct bars *bars, const struct hypar_sim *sim,
                  const struct hypar_measured_step *measured, int most);
void hp_free_bars(struct bars *bars);

/* The devices to show, ascending: all, or those of the critical path, the first of each stage,
 * then from 0 on. Returns their number. */
int hp_shown_devices(const struct hypar_sim *sim, int device[SHOWN_DEVICES]);

/* Times are whole ticks. A tick is a power of ten seconds; a step has about ten million. */
double hp_bar_tick_s(const struct hypar_sim *sim);
int64_t hp_bar_ticks(const struct bars *bars, double seconds);

/* The number of a task's name. */
int hp_bar_name(struct bars *bars, const struct hypar_sim_event *event);

/* The ticks of a bar at which tasks of this kind occupy its row. */
int64_t hp_bar_ticks_of(const struct bars *bars, const struct bar *bar,
                        enum hypar_event_kind kind);

/* The row of a segment of the critical path; -1: not shown. */
int hp_path_row(const struct bars *bars, const struct hypar_sim_segment *segment);

#endif /* REPORT_BARS_H */
