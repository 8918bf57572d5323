/* program/exchange.h - who sends what to whom: the one exchange rule. Internal.
 *
 * "Cut a tensor into cells by the borders of all its writers' and readers' regions. A cell is
 * summed once, spread evenly over devices that are both contributor and reader (else over
 * readers), then copied to the other readers. Parts on one device are added locally first."
 * Of readers in several stages of a pipeline it is those of the earliest: a stage must not wait
 * for a later one.
 *
 * What several devices have of a parameter they may divide among them: a cell with g holders,
 * in groups of s, is s even pieces; piece i is owned by the i-th of each group. Its gradient is
 * summed by the rule, the owners of each piece being all who read it; the parameter comes from
 * a group's owners to its other members. */
#ifndef PROGRAM_EXCHANGE_H
#define PROGRAM_EXCHANGE_H

#include "base/table.h"
#include "program/program.h"

/* The parts of one operator in one micro-batch; operators that are divided alike share one. */
struct op_parts {
    int id; /* of this parts: 0, 1, ... */
    const struct nest *nest;
    const struct split *split;
    int n_parts, n_each; /* of all replicas that it is of, and of one */
    const int *device;
    const struct range *range; /* [part * n_axes + axis]; one for all along undivided axes */
    const bool *empty;         /* of each part */
    int n_live;                /* parts that are not empty ... */
    const int *rank;           /* ... and of each part, its number among them */
};

/* A side of an exchange: parts of one operator that write, or read, the tensor. */
struct exchange_side {
    const struct op_parts *parts;
    int operand;
    axis_set copies;  /* writers: axes along which its parts write the same */
    axis_set partial; /* readers: only parts that are first along these axes (0: all parts) */
    int stage;        /* readers: of a pipeline, from the first that reads it on */
};

/* What is done to a parameter that its holders divide among them. */
enum division {
    DIVIDE_NOT,
    DIVIDE_SUM,    /* its gradient comes to the owners of each piece; readers are its holders */
    DIVIDE_OWNED,  /* its gradient has come to them already: nothing moves */
    DIVIDE_GATHER, /* its pieces come to who reads it; the place of writers have its holders */
};

/* All who access a tensor. */
struct exchange_sides {
    const struct exchange_side *writer, *reader;
    int n_writers, n_readers;
    enum division division;
    int over; /* holders that divide a cell: s; 0: all */
};

/* Patterns that were found, by who accesses which of their cells: those that have the
 * same differ in sizes alone. Zero-initialised is none. */
struct shapes {
    struct table keys;
    const struct pattern **pattern;
    int n, capacity;
};

/* Work out the pattern; what stays is taken from `arena`, what does not from `scratch` and
 * given back. It may share lists with those in `shapes`, all of the same arena; NULL: it shares
 * nothing. HYPAR_UNSUPPORTED if there are absurdly many cells, HYPAR_INFEASIBLE if the holders
 * of one cannot be divided into groups. */
enum hypar_status hp_find_pattern(struct arena *arena, struct arena *scratch,
                                  struct shapes *shapes, const struct exchange_sides *sides,
                                  struct pattern **out, struct hypar_error *err);

/* Is `part` the first non-empty one along `axes`, its other coordinates being what they are? */
bool hp_first_along(const struct op_parts *parts, int part, axis_set axes);

/* Ascending; they often are, or are few. */
void hp_sort_devices(int *device, int n);

/* Naming: put the cells that move into comms (comms.c); there are some. Fills pattern->comm and
 * cell->comm and sent. `keeps`, by device (of `n_devices`): it reads some of the tensor that
 * does not move. */
void hp_name_comms(struct arena *arena, struct arena *scratch, struct pattern *pattern,
                   const bool *keeps, int n_devices);

#endif /* PROGRAM_EXCHANGE_H */
