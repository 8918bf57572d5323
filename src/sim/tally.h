/* sim/tally.h - adding up times while a step is simulated. Internal to sim/.
 *
 * Tasks are served in the order in which they become ready, so no later task starts before the
 * current ready time. So only intervals that reach beyond the current time have to be
 * remembered. */
#ifndef SIM_TALLY_H
#define SIM_TALLY_H

#include "sim/tasks.h"

#include "base/arena.h"

struct interval {
    ticks from, to;
};

/* The time covered by intervals; they are added with rising `now`. */
struct covered {
    ticks sum;
    struct interval *open; /* disjoint, ascending */
    int n, capacity;
};

void hp_cover(struct covered *c, struct arena *arena, ticks now, ticks from, ticks to);
ticks hp_covered(const struct covered *c);

/* Sums made during the simulation: how long devices compute and communicate, and links carry
 * data. */
struct tally {
    ticks *busy;                   /* by queue */
    struct covered *comm, *either; /* by device: communicating; communicating or computing */
};

void hp_tally_begin(struct tally *tally, struct arena *arena, int n_queues, int n_devices);

/* Fill the times of all devices and links, for one step: `length` is the time of `steps`
 * steps. sim->summary.step_s is known. */
struct hypar_sim;
void hp_tally_end(const struct tally *tally, ticks length, double steps, struct hypar_sim *sim);

#endif /* SIM_TALLY_H */
