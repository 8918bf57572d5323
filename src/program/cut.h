/* program/cut.h - a tensor cut into cells by the borders of all its accesses. Internal.
 *
 * The region of a part is a product of ranges, so an access covers an interval of the borders
 * of each dimension. Most dimensions are divided by nobody: they have one interval, and only
 * those that have more are walked. */
#ifndef PROGRAM_CUT_H
#define PROGRAM_CUT_H

#include "program/exchange.h"

/* One part's interest in the tensor. */
struct access {
    int holder; /* writer or reader number */
    int part, device;
    int class;           /* writers: parts that write the same have the same class */
    int cell;            /* the first that it covers */
    int count[MAX_DIMS]; /* of the intervals that it covers, by walked dimension */
};

struct cut {
    int n_accesses, n_writing; /* those that write come first */
    struct access *access;
    int n_classes; /* of all writers: each has as many as parts */
    bool copied;   /* some classes may have several members */
    int last_device;
    /* Intervals of each dimension; cells are numbered row-major. */
    int n_dims;
    int n[MAX_DIMS];
    int64_t *border[MAX_DIMS]; /* n + 1 each, ascending; one dimension's after the other's */
    int n_cells;
    int n_walked;                     /* dimensions of more than one interval ... */
    int walked[MAX_DIMS];             /* ... which they are ... */
    int stride[MAX_DIMS];             /* ... and how far apart their intervals' cells are */
    int64_t unwalked_elements;        /* of the other dimensions together */
    int writing_cells, covered_cells; /* by those that write, and by all, all added up */
    int *start, *of_cell;             /* accesses of each cell, ascending: CSR */
    enum division division;           /* of cells into pieces ... */
    int *piece_start;           /* ... which are a pattern's cells: CSR; NULL: one of each */
    int over;                   /* holders of a cell that divide it; 0: all */
    int *holder_start, *holder; /* of each divided cell the devices that have it: CSR */
};

/* Find all accesses and cells, but not yet who accesses each; all of it is scratch. No
 * accesses: no cells. HYPAR_UNSUPPORTED if there are absurdly many cells. */
enum hypar_status hp_cut(struct cut *cut, struct arena *scratch,
                         const struct exchange_side *writers, int n_writers,
                         const struct exchange_side *readers, int n_readers,
                         struct hypar_error *err);

/* Find the accesses of each cell: start, of_cell. */
void hp_distribute(struct cut *cut, struct arena *scratch);

/* Where the pieces of a cell begin among a pattern's cells. */
static inline int hp_piece_start(const struct cut *cut, int cell)
{
    return cut->piece_start ? cut->piece_start[cell] : cell;
}

/* Of a cell that is divided among so many holders. */
static inline int hp_group_size(const struct cut *cut, int n_holders)
{
    return cut->over && n_holders > 1 ? cut->over : n_holders;
}

/* The cells of an access: runs [lo, hi) of consecutive ones. */
struct run {
    int lo, hi;
    int at[MAX_DIMS];
};

static inline struct run hp_first_run(const struct cut *cut, const struct access *access)
{
    int length = cut->n_walked ? access->count[cut->n_walked - 1] : 1;
    return (struct run){ access->cell, access->cell + length, { 0 } };
}

/* On to the next one; false: there is none. */
static inline bool hp_next_run(const struct cut *cut, const struct access *access,
                               struct run *run)
{
    int length = run->hi - run->lo;
    for (int w = cut->n_walked - 2; w >= 0; w--) {
        run->lo += cut->stride[w];
        run->hi = run->lo + length;
        if (++run->at[w] < access->count[w])
            return true;
        run->lo -= cut->stride[w] * access->count[w];
        run->at[w] = 0;
    }
    return false;
}

/* Who waits (waits.c) ------------------------------------------------------------------ */

/* What each reading access waits for: fills the pattern's waits; it has its cells and comms.
 * HYPAR_UNSUPPORTED if a part waits for absurdly many. */
enum hypar_status hp_find_waits(struct arena *arena, struct arena *scratch,
                                const struct cut *cut, struct pattern *pattern,
                                struct hypar_error *err);

/* What each comm waits for: every contribution to its cells, once. Fills the feeds. */
void hp_find_feeds(struct arena *arena, struct arena *scratch,
                   const struct exchange_side *writers, struct pattern *pattern);

/* Does each reading part wait for its like, and for nothing else? */
bool hp_is_aligned(const struct pattern *pattern, const struct exchange_side *writers,
                   const struct exchange_side *readers);

#endif /* PROGRAM_CUT_H */
