/* The total time that is covered by at least one interval, added up while a step is
 * simulated. */
#include "sim/tally.h"

#include <math.h>

#include "sim/sim.h"

/* Close intervals that ended before `now`. */
static void close_before(struct covered *c, ticks now)
{
    int closed = 0;
    while (closed < c->n && c->open[closed].to <= now) {
        c->sum += c->open[closed].to - c->open[closed].from;
        closed++;
    }
    for (int i = closed; i < c->n; i++)
        c->open[i - closed] = c->open[i];
    c->n -= closed;
}

void hp_cover(struct covered *c, struct arena *arena, ticks now, ticks from, ticks to)
{
    close_before(c, now);
    if (from >= to)
        return;
    int at = c->n, last;
    while (at > 0 && c->open[at - 1].to >= from) /* most intervals come last */
        at--;
    for (last = at; last < c->n && c->open[last].from <= to; last++) {
        from = c->open[last].from < from ? c->open[last].from : from;
        to = c->open[last].to > to ? c->open[last].to : to;
    }
    if (last == at) { /* it touches no other: make room */
        c->open = GROW(arena, struct interval, c->open, c->n, &c->capacity);
        for (int i = c->n++; i > at; i--)
            c->open[i] = c->open[i - 1];
    } else { /* it replaces all that it touches */
        for (int i = last; i < c->n; i++)
            c->open[i - (last - at - 1)] = c->open[i];
        c->n -= last - at - 1;
    }
    c->open[at] = (struct interval){ from, to };
}

ticks hp_covered(const struct covered *c)
{
    ticks sum = c->sum;
    for (int i = 0; i < c->n; i++)
        sum += c->open[i].to - c->open[i].from;
    return sum;
}

void hp_tally_begin(struct tally *tally, struct arena *arena, int n_queues, int n_devices)
{
    tally->busy = NEW(arena, ticks, n_queues);
    tally->comm = NEW(arena, struct covered, n_devices);
    tally->either = NEW(arena, struct covered, n_devices);
}

void hp_tally_end(const struct tally *tally, ticks length, double steps, struct hypar_sim *sim)
{
    const struct hypar_sim_summary *s = &sim->summary;
    for (int d = 0; d < s->n_devices; d++) {
        struct hypar_sim_device *device = &sim->device[d];
        double idle_s = hp_seconds(length - hp_covered(&tally->either[d])) / steps;
        device->busy_s = hp_seconds(tally->busy[d]) / steps;
        device->comm_s = hp_seconds(hp_covered(&tally->comm[d])) / steps;
        /* without the time for filling and draining the window; with the time in which a device
         * waits for a slower host that launches its kernels */
        device->waiting_s = fmax(0, idle_s - (hp_seconds(length) / steps - s->step_s));
    }
    for (int l = 0; l < s->n_links; l++)
        sim->link[l].busy_s = hp_seconds(tally->busy[s->n_devices + l]) / steps;
}
