/* program/exchange/cut.h - a tensor cut into cells by the borders of all its accesses.
 * Internal.
 *
 * The region of a part is a product of ranges, so an access covers an interval between borders
 * in each dimension. Most dimensions are divided by nobody and have one interval; only the
 * others are walked. */
#ifndef PROGRAM_EXCHANGE_CUT_H
#define PROGRAM_EXCHANGE_CUT_H

#include "program/exchange/exchange.h"

/* The access of one part to the tensor. */
struct access {
    int holder; /* writer or reader number */
    int part, device;
    int class;           /* writers: parts that write copies have the same class */
    int cell;            /* the first cell that it covers */
    int count[MAX_DIMS]; /* intervals that it covers, by walked dimension */
};

struct cut {
    int n_accesses, n_writing; /* writing accesses come first */
    struct access *access;
    int n_classes; /* of all writers: at most one for each part */
    bool copied;   /* some classes may have several members */
    int last_device;
    /* Intervals of each dimension; cells are numbered row-major. */
    int n_dims;
    int n[MAX_DIMS];
    int64_t *border[MAX_DIMS]; /* n + 1 each, ascending, dimension after dimension */
    int n_cells;
    int n_walked;         /* dimensions with more than one interval ... */
    int walked[MAX_DIMS]; /* ... their numbers ... */
    int stride[MAX_DIMS]; /* ... and the distance between cells of neighbouring intervals */
    int64_t unwalked_elements; /* product of the other dimensions */
    int writing_cells,
        covered_cells;      /* covered by writing accesses, and by all accesses, added up */
    int *start, *of_cell;   /* accesses of each cell, ascending: CSR */
    enum division division; /* how cells are divided into pieces ... */
    int *
        piece_start; /* ... which are the pattern's cells: CSR; NULL: one piece for each cell */
    int over;        /* holders of a cell that divide it; 0: all */
    int *holder_start, *holder; /* the devices that hold each divided cell: CSR */
};

/* Find all accesses and cells, but not the accesses of each cell; everything lies in scratch.
 * Without accesses there are no cells. HYPAR_UNSUPPORTED if there are too many cells. */
enum hypar_status hp_cut(struct cut *cut, struct arena *scratch,
                         const struct exchange_side *writers, int n_writers,
                         const struct exchange_side *readers, int n_readers,
                         struct hypar_error *err);

/* Find the accesses of each cell: fills start and of_cell. */
void hp_distribute(struct cut *cut, struct arena *scratch);

/* Where the pieces of a cell begin among a pattern's cells. */
static inline int hp_piece_start(const struct cut *cut, int cell)
{
    return cut->piece_start ? cut->piece_start[cell] : cell;
}

/* The size of the groups into which the holders of a cell are divided. */
static inline int hp_group_size(const struct cut *cut, int n_holders)
{
    return cut->over && n_holders > 1 ? cut->over : n_holders;
}

/* The cells of an access: runs [lo, hi) of consecutive cells. */
struct run {
    int lo, hi;
    int at[MAX_DIMS];
};

static inline struct run hp_first_run(const struct cut *cut, const struct access *access)
{
    int length = cut->n_walked ? access->count[cut->n_walked - 1] : 1;
    return (struct run){ access->cell, access->cell + length, { 0 } };
}

/* Go to the next run; false: there is none. */
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

/* Find what each reading access waits for: fills the pattern's waits. The pattern has its cells
 * and comms already. HYPAR_UNSUPPORTED if a part waits for too many. */
enum hypar_status hp_find_waits(struct arena *arena, struct arena *scratch,
                                const struct cut *cut, struct pattern *pattern,
                                struct hypar_error *err);

/* Find what each comm waits for: every contribution to its cells, once. Fills the feeds. */
void hp_find_feeds(struct arena *arena, struct arena *scratch,
                   const struct exchange_side *writers, struct pattern *pattern);

/* Does part i of each reader wait for part i of the writer, and for nothing else? */
bool hp_is_aligned(const struct pattern *pattern, const struct exchange_side *writers,
                   const struct exchange_side *readers);

#endif /* PROGRAM_EXCHANGE_CUT_H */
