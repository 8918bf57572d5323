/* program/exchange/exchange.h - the exchange rule: the messages between writers and readers of
 * a tensor. Internal.
 *
 * The borders of all writers' and readers' regions cut a tensor into cells. Each cell is summed
 * once, spread evenly over the devices that are both contributor and reader (else over the
 * readers), then copied to the other readers. Parts on one device are added locally first. If
 * readers are in several stages of a pipeline, those of the earliest stage sum: a stage must
 * not wait for a later one.
 *
 * Devices that hold the same elements of a parameter may divide these among them: a cell with g
 * holders, in groups of s, becomes s pieces, even in elements or in rows; the i-th member of
 * each group owns piece i.
 * The gradient is summed by the rule above, with the owners of each piece as its readers; the
 * parameter comes from a group's owners to its other members. */
#ifndef PROGRAM_EXCHANGE_EXCHANGE_H
#define PROGRAM_EXCHANGE_EXCHANGE_H

#include "base/table.h"
#include "program/program.h"

/* The parts of one operator in one micro-batch. Operators that are divided alike share one. */
struct op_parts {
    int id; /* 0, 1, ... in the cache */
    const struct nest *nest;
    const struct split *split;
    int n_parts, n_each; /* of all replicas included, and of one replica */
    const int *device;
    const struct range
        *range; /* [part * n_axes + axis]; along an undivided axis the same for all parts */
    const bool *empty; /* by part */
    int n_live;        /* the number of parts that are not empty ... */
    const int *rank;   /* ... and each part's number among them, -1 */
};

/* A side of an exchange: the parts of one operator that write the tensor, or read it. */
struct exchange_side {
    const struct op_parts *parts;
    int operand;
    axis_set copies; /* writers: axes along which parts write copies */
    axis_set
        partial; /* readers: only parts that are first along these axes read (0: all parts) */
    int stage;   /* readers: stage of the pipeline, counted from the first stage that reads */
};

/* The kinds of exchange of a parameter that its holders divide. */
enum division {
    DIVIDE_NOT,
    DIVIDE_SUM,    /* its gradient goes to the owners of each piece; readers are the holders */
    DIVIDE_OWNED,  /* its gradient is with the owners already: nothing moves */
    DIVIDE_GATHER, /* its pieces go to the readers; the holders take the place of writers */
};

/* All writers and readers of a tensor. */
struct exchange_sides {
    const struct exchange_side *writer, *reader;
    int n_writers, n_readers;
    enum division division;
    int over;  /* holders that divide a cell (s); 0: all */
    bool rows; /* they divide its rows, and messages are padded */
    /* Messages have more than what is written and read: so many elements of a whole parameter,
     * for the elements of its slice. 0: they do not. */
    int64_t whole, slice;
};

/* Patterns found before, by who accesses which of their cells: patterns with the same key
 * differ in sizes alone. Zero-initialised is empty. */
struct shapes {
    struct arena
        *arena; /* of the patterns; NULL: the one that the next pattern is taken from */
    struct table keys;
    const struct pattern **pattern;
    int n, capacity;
};

/* Find the pattern. The result is taken from `arena`, everything else from `scratch` and given
 * back. The result may share lists with patterns in `shapes`, and is taken from their arena if
 * it is the first of its shape; NULL: it shares nothing. HYPAR_UNSUPPORTED if there are too
 * many cells, HYPAR_INFEASIBLE if the holders of a cell cannot form groups of equal size. */
enum hypar_status hp_find_pattern(struct arena *arena, struct arena *scratch,
                                  struct shapes *shapes, const struct exchange_sides *sides,
                                  struct pattern **out, struct hypar_error *err);

/* Is `part` the first non-empty part along `axes`, among those with its other coordinates? */
bool hp_first_along(const struct op_parts *parts, int part, axis_set axes);

/* Sort ascending. The list is often sorted already, or short. */
void hp_sort_devices(int *device, int n);

/* Put the moving cells (at least one) into comms (comms.c). Fills pattern->comm, cell->comm and
 * cell->sent. `keeps`, by device (of `n_devices`): it reads some of the tensor that does not
 * move. */
void hp_name_comms(struct arena *arena, struct arena *scratch, struct pattern *pattern,
                   const bool *keeps, int n_devices);

#endif /* PROGRAM_EXCHANGE_EXCHANGE_H */
