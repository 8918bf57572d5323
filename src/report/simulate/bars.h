/* report/simulate/bars.h - what devices and links are held by over time, for those who draw it.
 * Internal.
 *
 * Programs have millions of tasks: there are rows for a limited number of devices and links,
 * and neighbouring bars are merged, the shortest first, until there are no more than asked for.
 */
#ifndef REPORT_BARS_H
#define REPORT_BARS_H

#include <hypar/report.h>

#include "base/table.h"
#include "report/simulate/link_class.h"
#include "report/train/measured_step.h"

/* No more devices, nor links, have rows of their own. */
enum { SHOWN_DEVICES = 64, SHOWN_LINKS = 64 };

/* What a device or a link is held by; in ticks. */
struct bar {
    int64_t start, end;
    int name;  /* of the task, or of the longest of those that are merged */
    int micro; /* -1: none */
    int tasks; /* that it is, 1 unless they are merged */
    int64_t longest;
};

/* In order, none overlapping another. */
struct bar_row {
    int device, link; /* -1: the other */
    bool measured;    /* what the device's rank did, not what was simulated of it */
    int n, capacity;
    struct bar *bar;
};

/* Of a task, without its part and its micro-batch. */
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
    double end_s;                             /* of all that is shown */
    int n_rows, *row_of_device, *row_of_link; /* -1: it is not shown */
    struct bar_row *row;                      /* devices, then links by class, the busiest of
                                                 a class first */
    struct link_classes classes;
    int64_t window; /* bars within it are merged, in ticks; 0: none */
    struct table names;
    int n_names, name_capacity;
    struct task_name *name;
};

/* Those of a simulation that has kept its timeline, at most `most` of them, and beside each
 * device what its rank did, if that was measured (NULL: it was not). */
void hp_make_bars(struct bars *bars, const struct hypar_sim *sim,
                  const struct hypar_measured_step *measured, int most);
void hp_free_bars(struct bars *bars);

/* Those of all devices that are shown, ascending: all, or those of the critical path, the first
 * of each stage, and then from 0 on. Returns how many. */
int hp_shown_devices(const struct hypar_sim *sim, int device[SHOWN_DEVICES]);

/* Times are told in whole ticks: a power of ten seconds, of which a step has about ten million.
 */
double hp_bar_tick_s(const struct hypar_sim *sim);
int64_t hp_bar_ticks(const struct bars *bars, double seconds);

/* The number of a task's name. */
int hp_bar_name(struct bars *bars, const struct hypar_sim_event *event);

/* The row that a segment of the critical path is on; -1: none that is shown. */
int hp_path_row(const struct bars *bars, const struct hypar_sim_segment *segment);

#endif /* REPORT_BARS_H */
