/* search/limits.h - the limits that several searches share: how many candidates, how large a
 * plan, how large an error. Internal.
 *
 * A limit that only one file needs is defined in that file. docs/decisions.md lists all limits,
 * with the effect of a change of each. */
#ifndef SEARCH_LIMITS_H
#define SEARCH_LIMITS_H

enum {
    /* Units, devices or divisors: up to so many, a search tries all. */
    HP_FEW = 8,
    /* Units, cuts or devices: of more than these, a search tries only regular choices. */
    HP_SOME = 64,
    /* States, items, layers, micro-batches: a search never enumerates more than these: it takes
       fewer of them, or a bound. */
    HP_MANY = 4096,
    /* Similar candidates that are simulated or refined. */
    HP_FEW_ALIKE = 3,
    /* Candidates of a planner that are simulated, if the simulation takes more than a moment.
     */
    HP_MOST_SIMULATED = 160,
    /* Stages that are estimated one by one: about a second. */
    HP_MOST_ESTIMATES = 1 << 18,
    /* Additions of a recurrence or of a table: about a second. */
    HP_MOST_ADDITIONS = 1 << 29,

    /* Parts of operators that are lowered, and tasks (of all micro-batches, about) that are
     * simulated, for one plan as a whole: a second or two. All other sizes are shares or
     * multiples of these. */
    HP_WHOLE_PARTS = 1 << 18,
    HP_WHOLE_TASKS = 1 << 23,
    HP_MOMENT_PARTS = HP_WHOLE_PARTS / 32,
    HP_MOMENT_TASKS = HP_WHOLE_TASKS / 64,
    HP_LONG = 12, /* so many whole plans take a minute */
};

/* Memory of the tables of a search, or of all its caches together. */
static const double HP_MOST_BYTES = 0x1p29;

/* Two steps, or two needs of memory, are about the same within this factor. */
static const double HP_ABOUT_EQUAL = 1.05;

/* An estimate that knows kernels and exchanges is off by no more than this factor. Where two
 * estimates are compared, both may be off: the square counts. */
static const double HP_OFF_LITTLE = 1.08;

/* Any other closed form is off by no more than this factor; likewise. */
static const double HP_OFF_MUCH = 1.5;

#endif /* SEARCH_LIMITS_H */
