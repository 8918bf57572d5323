/* program/exchange/settle.h - settling the cells of a tensor: which copies count, who sums, who
 * receives, who keeps. Internal to program/. */
#ifndef PROGRAM_EXCHANGE_SETTLE_H
#define PROGRAM_EXCHANGE_SETTLE_H

#include "program/exchange/cut.h"

struct mark; /* marks of a device while one cell is settled */

/* The accesses of one cell. The copies of one partial result form a class, and a list. */
struct accesses_view {
    const int *of; /* the cell's accesses, writing ones first */
    int n, n_writers;
    int n_devices;
    int *device; /* the devices of the cell, ascending */
    int n_classes;
    int *chosen; /* by class: the member that counts, a position in of[] */
    int *first;  /* by class: its first member */
    int *last;   /* by class: its last member */
    int *next;   /* by writing access: the next member of its class, -1 */
};

/* A pattern under construction. */
struct finder {
    struct arena *arena; /* for results */
    struct arena *scratch;
    struct cut cut;
    struct pattern *pattern;
    struct mark *mark;         /* by device; clear between cells */
    bool *keeps;               /* by device: it reads some of the tensor that does not move */
    int *by_class;             /* by class; -1 between cells */
    struct accesses_view view; /* of the current cell */
    bool moves;                /* some cell moves */
    int *holder;               /* of the current cell, in cut.holder */
    /* room for the lists of further cells, taken from the arena in pieces */
    int *ints, n_ints;
    struct contribution *contributions;
    int n_contributions;
    int writing_left, reading_left; /* accesses of the current cell and of further ones */
    const struct exchange_side *reader;
};

/* Settle all cells of the cut: fills the pattern's cells, `keeps` and `moves`. HYPAR_INFEASIBLE
 * if the holders of a cell cannot form groups of equal size. */
enum hypar_status hp_settle_cells(struct finder *finder, struct hypar_error *err);

#endif /* PROGRAM_EXCHANGE_SETTLE_H */
