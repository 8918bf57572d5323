/* The one exchange rule: from the writers and readers of a tensor to a pattern. Cutting
 * (cut.c), settling cells (settle.c), naming comms (comms.c) and waits (waits.c) are its steps;
 * patterns of one shape differ in sizes alone and are found once. */
#include "program/exchange/exchange.h"

#include <string.h>

#include "program/exchange/settle.h"

/* Sizes -------------------------------------------------------------------------------- */

/* Keep the borders. Cells store no boxes of their own, which would take most of a pattern's
 * memory. */
static void keep_borders(struct finder *f)
{
    const struct cut *cut = &f->cut;
    int total = 0;
    for (int d = 0; d < cut->n_dims; d++)
        total += cut->n[d] + 1;
    int64_t *border = NEW(f->arena, int64_t, total);
    f->pattern->border = border;
    f->pattern->n_dims = cut->n_dims;
    for (int d = 0; d < cut->n_dims; d++) {
        f->pattern->n_intervals[d] = cut->n[d];
        for (int i = 0; i <= cut->n[d]; i++)
            *border++ = cut->border[d][i];
    }
}

/* at[]: a cell's position along each walked dimension. */
static int64_t elements_at(const struct cut *cut, const int at[MAX_DIMS])
{
    int64_t elements = cut->unwalked_elements;
    for (int w = 0; w < cut->n_walked; w++) {
        const int64_t *border = cut->border[cut->walked[w]] + at[w];
        elements *= border[1] - border[0];
    }
    return elements;
}

static void move_on(const struct cut *cut, int at[MAX_DIMS])
{
    int w = cut->n_walked - 1;
    while (w >= 0 && ++at[w] == cut->n[cut->walked[w]])
        at[w--] = 0;
}

/* The rows of a cell: its extent in the tensor's first dimension. */
static int64_t rows_at(const struct cut *cut, const int at[MAX_DIMS])
{
    if (!cut->n_dims)
        return 1;
    bool walked = cut->n_walked && cut->walked[0] == 0;
    const int64_t *border = cut->border[0] + (walked ? at[0] : 0);
    return border[1] - border[0];
}

/* A piece of a box with so many elements in so many rows. Each piece has the quotient of rows,
 * rounded up; the last ones have fewer, or none (torch.chunk()). */
static void count_rows(struct cell *cell, int64_t elements, int64_t rows)
{
    int64_t row = elements / rows, each = (rows + cell->pieces - 1) / cell->pieces;
    int64_t lo = each * cell->piece, hi = lo + each;
    lo = lo < rows ? lo : rows;
    hi = hi < rows ? hi : rows;
    cell->lo = lo * row;
    cell->elements = (hi - lo) * row;
    cell->padded = each * row;
}

static void count_even(struct cell *cell, int64_t elements)
{
    struct range r = hp_even_part(elements, cell->pieces, cell->piece);
    cell->lo = r.lo;
    cell->padded = cell->elements = r.hi - r.lo;
}

static void count_elements(struct finder *f, const struct exchange_sides *sides)
{
    struct pattern *p = f->pattern;
    int at[MAX_DIMS] = { 0 }, box = 0;
    for (int c = 0; c < p->n_cells; c++) {
        struct cell *cell = &p->cell[c];
        for (; box < cell->box; box++)
            move_on(&f->cut, at);
        if (sides->rows && cell->pieces > 1)
            count_rows(cell, elements_at(&f->cut, at), rows_at(&f->cut, at));
        else
            count_even(cell, elements_at(&f->cut, at));
        if (sides->whole)
            cell->padded = cell->padded * sides->whole / sides->slice;
    }
    for (int c = 0; c < p->n_comms; c++) {
        p->comm[c].sent_elements = p->comm[c].padding = 0;
        for (int i = 0; i < p->comm[c].n_cells; i++) {
            const struct cell *cell = &p->cell[p->comm[c].cell[i]];
            p->comm[c].sent_elements += (double)cell->padded * cell->sent;
            p->comm[c].padding += (double)(cell->padded - cell->elements) * cell->sent;
        }
    }
}

/* Shapes ------------------------------------------------------------------------------- */

/* The key of a shape: who accesses which cells, without sizes. */
static const int *key_of(const struct finder *f, size_t *bytes)
{
    const struct cut *cut = &f->cut;
    int n_walked = cut->n_walked, n = 6 + n_walked + cut->n_accesses * (5 + n_walked);
    int *key = NEW(f->scratch, int, n), *at = key;
    *at++ = f->pattern->n_writers;
    *at++ = f->pattern->n_readers;
    *at++ = cut->n_writing;
    *at++ = n_walked;
    *at++ = (int)cut->division;
    *at++ = cut->over;
    for (int w = 0; w < n_walked; w++)
        *at++ = cut->n[cut->walked[w]];
    for (const struct access *s = cut->access; s < cut->access + cut->n_accesses; s++) {
        *at++ = s->holder;
        *at++ = s->part;
        *at++ = s->device;
        *at++ = s < cut->access + cut->n_writing ? s->class : f->reader[s->holder].stage;
        *at++ = s->cell;
        for (int w = 0; w < n_walked; w++)
            *at++ = s->count[w];
    }
    *bytes = (size_t)n * sizeof *key;
    return key;
}

static void add_shape(struct finder *f, struct shapes *shapes, const int *key, size_t bytes)
{
    int *kept = NEW(f->arena, int, bytes / sizeof *kept);
    memcpy(kept, key, bytes);
    hp_table_put(&shapes->keys, f->arena, kept, bytes, shapes->n);
    shapes->pattern =
        GROW(f->arena, const struct pattern *, shapes->pattern, shapes->n, &shapes->capacity);
    shapes->pattern[shapes->n++] = f->pattern;
}

/* Copy everything but sizes from a pattern of the same shape; cells and comms hold sizes, so
 * they are new. */
static void take_shape(struct finder *f, const struct pattern *from)
{
    struct pattern *p = f->pattern;
    *p = *from;
    p->id = 0; /* other objects refer to the id */
    p->copied = false;
    p->cell = NEW(f->arena, struct cell, p->n_cells);
    memcpy(p->cell, from->cell, (size_t)p->n_cells * sizeof *p->cell);
    if (!p->n_comms)
        return;
    p->comm = NEW(f->arena, struct comm, p->n_comms);
    memcpy(p->comm, from->comm, (size_t)p->n_comms * sizeof *p->comm);
}

static enum hypar_status find_shape(struct finder *f, const struct exchange_side *writers,
                                    struct hypar_error *err)
{
    struct pattern *p = f->pattern;
    p->reader_wait = NEW(f->arena, int, p->n_readers + 2);
    p->comm_feed = p->reader_wait + p->n_readers + 1; /* there are no comms */
    if (!f->cut.n_accesses)
        return HYPAR_OK;
    hp_distribute(&f->cut, f->scratch);
    TRY(hp_settle_cells(f, err));
    if (f->moves)
        hp_name_comms(f->arena, f->scratch, p, f->keeps, f->cut.last_device + 1);
    TRY(hp_find_waits(f->arena, f->scratch, &f->cut, p, err));
    if (p->n_comms)
        hp_find_feeds(f->arena, f->scratch, writers, p);
    return HYPAR_OK;
}

static enum hypar_status find_or_take_shape(struct finder *f, struct shapes *shapes,
                                            const struct exchange_side *writers,
                                            struct hypar_error *err)
{
    size_t bytes;
    if (!shapes || !f->cut.n_accesses)
        return find_shape(f, writers, err);
    const int *key = key_of(f, &bytes);
    int known = hp_table_get(&shapes->keys, key, bytes);
    if (known >= 0) {
        take_shape(f, shapes->pattern[known]);
        return HYPAR_OK;
    }
    if (f->arena != shapes->arena) {
        f->arena = shapes->arena;
        struct pattern *kept = NEW(f->arena, struct pattern, 1);
        *kept = *f->pattern;
        f->pattern = kept;
    }
    TRY(find_shape(f, writers, err));
    add_shape(f, shapes, key, bytes);
    return HYPAR_OK;
}

static enum hypar_status find(struct finder *f, struct shapes *shapes,
                              const struct exchange_sides *s, struct hypar_error *err)
{
    TRY(hp_cut(&f->cut, f->scratch, s->writer, s->n_writers, s->reader, s->n_readers, err));
    f->cut.division = s->division;
    f->cut.over = s->over;
    TRY(find_or_take_shape(f, shapes, s->writer, err));
    if (f->cut.n_accesses) {
        keep_borders(f);
        count_elements(f, s);
    }
    f->pattern->aligned =
        s->division == DIVIDE_NOT && hp_is_aligned(f->pattern, s->writer, s->reader);
    return HYPAR_OK;
}

enum hypar_status hp_find_pattern(struct arena *arena, struct arena *scratch,
                                  struct shapes *shapes, const struct exchange_sides *sides,
                                  struct pattern **out, struct hypar_error *err)
{
    struct arena_mark mark = hp_arena_mark(scratch);
    struct finder f = { .arena = arena, .scratch = scratch, .reader = sides->reader };
    f.pattern = NEW(arena, struct pattern, 1);
    f.pattern->n_writers = sides->n_writers;
    f.pattern->n_readers = sides->n_readers;
    if (shapes && !shapes->arena)
        shapes->arena = arena;
    enum hypar_status status = find(&f, shapes, sides, err);
    *out = f.pattern;
    hp_arena_release(scratch, mark);
    return status;
}
