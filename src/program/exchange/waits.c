/* Who waits for whom in a pattern: readers wait for comms and for writers on their own device,
 * comms wait for writers. */
#include <string.h>

#include "base/csr.h"
#include "program/exchange/cut.h"

/* Limits: of one part; and of all parts that read a tensor, which 4,096 copies on one device
 * reach. */
enum { MAX_WAITS = 1 << 14, MAX_ALL_WAITS = 1 << 24 };

/* Each reading access waits for a comm or a writer once: the last access that asked is
 * recorded. */
struct waits {
    const struct cut *cut;
    const struct pattern *pattern;
    struct arena *scratch;
    struct wait *list;
    int n, capacity;
    int *by_comm, *by_access; /* the last reading access that waits for it */
    /* The writing accesses on each device, ascending: CSR. */
    int *device_start, *on_device;
};

static void add_wait(struct waits *w, int *latest, int who, struct wait wait)
{
    if (*latest == who)
        return;
    *latest = who;
    w->list = GROW(w->scratch, struct wait, w->list, w->n, &w->capacity);
    w->list[w->n++] = wait;
}

static void find_writers(struct waits *w)
{
    const struct cut *cut = w->cut;
    int *start = NEW(w->scratch, int, cut->last_device + 3);
    w->on_device = NEW(w->scratch, int, cut->n_writing);
    for (int i = 0; i < cut->n_writing; i++)
        hp_csr_count(start, cut->access[i].device);
    hp_csr_sum(start, cut->last_device + 1);
    for (int i = 0; i < cut->n_writing; i++)
        w->on_device[hp_csr_place(start, cut->access[i].device)] = i;
    w->device_start = start;
}

static bool covers(const struct cut *cut, const struct access *s, int cell)
{
    for (int w = 0; w < cut->n_walked; w++) {
        int n = cut->n[cut->walked[w]], stride = cut->stride[w];
        int first = s->cell / stride % n, at = cell / stride % n;
        if (at < first || at >= first + s->count[w])
            return false;
    }
    return true;
}

static void wait_for_writer(struct waits *w, int who, int writer)
{
    const struct access *s = &w->cut->access[who], *from = &w->cut->access[writer];
    add_wait(w, &w->by_access[writer], who,
             (struct wait){ s->holder, s->part, -1, from->holder, from->part });
}

/* Find the writers of the cell on the reader's device, using the shorter of two lists. `add`:
 * the reader waits for them. Is there one? */
static bool look_for_writers(struct waits *w, int who, int cell, bool add)
{
    const struct cut *cut = w->cut;
    int device = cut->access[who].device, lo = w->device_start[device];
    int hi = w->device_start[device + 1];
    const int *list = w->on_device;
    bool own = hi - lo <= cut->start[cell + 1] - cut->start[cell], any = false;
    if (!own) {
        lo = cut->start[cell];
        hi = cut->start[cell + 1];
        list = cut->of_cell;
    }
    for (int i = lo; i < hi && (add || !any); i++) {
        const struct access *from = &cut->access[list[i]];
        if (list[i] >= cut->n_writing)
            break; /* writing accesses come first */
        if (own ? !covers(cut, from, cell) : from->device != device)
            continue;
        any = true;
        if (add)
            wait_for_writer(w, who, list[i]);
    }
    return any;
}

/* A reader of a divided cell waits for the pieces that it owns and for those that it
 * receives. */
static bool is_waited_for(const struct waits *w, const struct cell *c, int device)
{
    return w->cut->division == DIVIDE_NOT || hp_is_in(c->receiver, c->n_receivers, device) ||
           (w->cut->division != DIVIDE_GATHER && hp_is_in(c->kept, c->n_kept, device));
}

/* A reader of a piece that moves receives it, unless it has the piece already because it
 * contributes. */
static void add_waits_of_piece(struct waits *w, int who, int cell, const struct cell *c)
{
    const struct access *s = &w->cut->access[who];
    if (w->cut->division == DIVIDE_GATHER && c->comm >= 0 && w->by_comm[c->comm] == who)
        return; /* already waits for another piece of this comm */
    if (!is_waited_for(w, c, s->device))
        return;
    if (c->comm >= 0 && (!look_for_writers(w, who, cell, false) ||
                         hp_is_in(c->receiver, c->n_receivers, s->device)))
        add_wait(w, &w->by_comm[c->comm], who,
                 (struct wait){ s->holder, s->part, c->comm, -1, -1 });
    else
        look_for_writers(w, who, cell, true);
}

/* The pieces of a cell for which a device may wait: its own of a sum, those of its group of a
 * gather, all of an undivided cell. */
static struct run pieces_for(const struct cut *cut, int cell, int device)
{
    struct run all = { .lo = hp_piece_start(cut, cell), .hi = hp_piece_start(cut, cell + 1) };
    if (cut->division == DIVIDE_NOT)
        return all;
    const int *holder = cut->holder + cut->holder_start[cell];
    int n = cut->holder_start[cell + 1] - cut->holder_start[cell];
    if (!hp_is_in(holder, n, device))
        return (struct run){ 0 };
    int place = hp_place_in(holder, n, device), each = hp_group_size(cut, n);
    if (cut->division == DIVIDE_GATHER)
        return (struct run){ .lo = all.lo + place / each * each,
                             .hi = all.lo + place / each * each + each };
    int own = all.lo + place % (all.hi - all.lo);
    return (struct run){ .lo = own, .hi = own + 1 };
}

static void add_waits_of_cell(struct waits *w, int who, int cell)
{
    struct run pieces = pieces_for(w->cut, cell, w->cut->access[who].device);
    for (int c = pieces.lo; c < pieces.hi; c++)
        add_waits_of_piece(w, who, cell, &w->pattern->cell[c]);
}

static enum hypar_status add_waits(struct waits *w, int who, struct hypar_error *err)
{
    const struct access *s = &w->cut->access[who];
    struct run run = hp_first_run(w->cut, s);
    int own = w->n;
    do
        for (int c = run.lo; c < run.hi; c++) {
            add_waits_of_cell(w, who, c);
            if (w->n - own > MAX_WAITS)
                return hp_fail(
                    err, HYPAR_UNSUPPORTED,
                    "a part that waits for more than %d others, expected fewer parts",
                    MAX_WAITS);
        }
    while (hp_next_run(w->cut, s, &run));
    if (w->n > MAX_ALL_WAITS)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "parts on the same devices that wait for one another more than %d "
                       "times, expected fewer parts",
                       MAX_ALL_WAITS);
    return HYPAR_OK;
}

enum hypar_status hp_find_waits(struct arena *arena, struct arena *scratch,
                                const struct cut *cut, struct pattern *p,
                                struct hypar_error *err)
{
    int n_others = p->n_comms + cut->n_writing;
    struct waits w = { .cut = cut, .pattern = p, .scratch = scratch };
    w.by_comm = NEW(scratch, int, n_others);
    w.by_access = w.by_comm + p->n_comms;
    memset(w.by_comm, -1, (size_t)n_others * sizeof *w.by_comm);
    find_writers(&w);
    for (int who = cut->n_writing; who < cut->n_accesses; who++)
        TRY(add_waits(&w, who, err));
    p->n_waits = w.n;
    p->wait = NEW(arena, struct wait, w.n);
    if (w.n)
        memcpy(p->wait, w.list, (size_t)w.n * sizeof *w.list);
    for (int i = 0; i < w.n; i++)
        p->reader_wait[w.list[i].reader + 1] = i + 1;
    for (int r = 0; r < p->n_readers; r++) /* readers without waits */
        if (p->reader_wait[r + 1] < p->reader_wait[r])
            p->reader_wait[r + 1] = p->reader_wait[r];
    return HYPAR_OK;
}

void hp_find_feeds(struct arena *arena, struct arena *scratch,
                   const struct exchange_side *writers, struct pattern *p)
{
    int *base = NEW(scratch, int, p->n_writers + 1), n = 0, capacity = 0;
    struct feed *feed = NULL;
    for (int w = 0; w < p->n_writers; w++)
        base[w + 1] = base[w] + writers[w].parts->n_parts;
    int *latest = NEW(scratch, int, base[p->n_writers]); /* by part: its last comm, plus 1 */
    for (int c = 0; c < p->n_comms; p->comm_feed[++c] = n)
        for (int i = 0; i < p->comm[c].n_cells; i++) {
            const struct cell *cell = &p->cell[p->comm[c].cell[i]];
            for (int k = 0; k < cell->n_contributions; k++) {
                const struct contribution *from = &cell->contribution[k];
                int *last = &latest[base[from->writer] + from->part];
                if (*last == c + 1)
                    continue;
                *last = c + 1;
                feed = GROW(scratch, struct feed, feed, n, &capacity);
                feed[n++] = (struct feed){ c, from->writer, from->part };
            }
        }
    p->n_feeds = n;
    p->feed = NEW(arena, struct feed, n);
    if (n)
        memcpy(p->feed, feed, (size_t)n * sizeof *feed);
}

bool hp_is_aligned(const struct pattern *p, const struct exchange_side *writers,
                   const struct exchange_side *readers)
{
    if (p->n_comms || p->n_writers != 1)
        return false;
    for (int r = 0; r < p->n_readers; r++)
        if (readers[r].parts->n_parts != writers[0].parts->n_parts ||
            readers[r].parts->n_live != writers[0].parts->n_live ||
            p->reader_wait[r + 1] - p->reader_wait[r] != readers[r].parts->n_live)
            return false;
    for (int i = 0; i < p->n_waits; i++)
        if (p->wait[i].writer_part != p->wait[i].part)
            return false;
    return true;
}
