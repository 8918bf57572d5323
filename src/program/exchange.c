#include "program/exchange.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CELLS = 1 << 24, MAX_COVERED = 1 << 28, MAX_WAITS = 1 << 14 };

/* One part's interest in the tensor. */
struct stake {
    struct box box;
    int holder; /* writer or reader number */
    int part, device;
    int class; /* writers: parts that write the same have the same class */
    bool writes;
    int first[MAX_DIMS], count[MAX_DIMS]; /* the intervals it covers */
};

/* The tensor cut along all borders: intervals of each dimension, cells row-major. */
struct grid {
    int n_dims;
    int n[MAX_DIMS];
    int64_t *border[MAX_DIMS]; /* n + 1 each */
    int n_cells;
};

struct finder {
    struct arena *arena; /* for what stays */
    struct arena *scratch;
    struct stake *stake;
    int n_stakes;
    int n_classes; /* of all writers: each has as many as parts */
    struct grid grid;
    int *start, *of_cell; /* stakes of each cell: CSR, writers first */
    struct pattern *pattern;
    /* of the cell at hand */
    int *devices, n_devices;
    int *chosen; /* by class */
    /* room for the lists of the cells to come, taken from the arena in large pieces */
    int *ints, n_ints;
    struct contribution *contributions;
    int n_contributions;
};

bool hp_first_along(const struct part_layout *layout, int part, axis_set axes)
{
    int coordinate[MAX_AXES];
    hp_part_coordinates(layout->nest, layout->split, part % layout->n_each, coordinate);
    for (int a = 0; a < layout->nest->n_axes; a++) {
        if (!(axes >> a & 1))
            continue;
        for (int i = 0; i < coordinate[a]; i++) {
            /* an earlier part along this axis that is not empty comes first */
            int degree = layout->split->degree[a] ? layout->split->degree[a] : 1, stride = 1;
            for (int b = a + 1; b < layout->nest->n_axes; b++)
                stride *= layout->split->degree[b] ? layout->split->degree[b] : 1;
            int other = part - (coordinate[a] - i) * stride;
            if (degree > 1 && !layout->empty[other])
                return false;
        }
    }
    return true;
}

/* The part with its coordinates along `copies` left out: copies have the same. */
static int class_of(const struct part_layout *layout, int part, axis_set copies)
{
    int coordinate[MAX_AXES], class = part / layout->n_each; /* replicas are no copies */
    if (!copies)
        return part;
    hp_part_coordinates(layout->nest, layout->split, part % layout->n_each, coordinate);
    for (int a = 0; a < layout->nest->n_axes; a++) {
        int degree = layout->split->degree[a] ? layout->split->degree[a] : 1;
        class = class * degree + (copies >> a & 1 ? 0 : coordinate[a]);
    }
    return class;
}

static void add_stakes(struct finder *f, const struct stakeholder *who, int holder, bool writes)
{
    const struct part_layout *l = who->layout;
    for (int part = 0; part < l->n_parts; part++) {
        if (l->empty[part] || (who->partial && !hp_first_along(l, part, who->partial)))
            continue;
        struct box box = hp_region(l->nest, who->operand, l->range + part * l->nest->n_axes);
        if (hp_box_empty(&box))
            continue; /* a part of a concat's input */
        f->stake[f->n_stakes++] =
            (struct stake){ .box = box,
                            .holder = holder,
                            .part = part,
                            .device = l->device[part],
                            .class = writes ? f->n_classes + class_of(l, part, who->copies) : 0,
                            .writes = writes };
    }
    f->n_classes += writes ? l->n_parts : 0;
}

/* Cutting ----------------------------------------------------------------------------- */

static int find_border(const int64_t *border, int n, int64_t value)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (border[mid] < value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Put a border among those there, ascending, unless it is one of them. */
static int add_border(int64_t *border, int n, int64_t value)
{
    int at = n && border[n - 1] < value ? n : find_border(border, n, value);
    if (at < n && border[at] == value)
        return n;
    memmove(border + at + 1, border + at, (size_t)(n - at) * sizeof *border);
    border[at] = value;
    return n + 1;
}

static enum hypar_status cut(struct finder *f, struct hypar_error *err)
{
    struct grid *g = &f->grid;
    double cells = 1;
    g->n_dims = f->stake[0].box.n_dims;
    for (int d = 0; d < g->n_dims; d++) {
        int64_t *border = NEW(f->scratch, int64_t, 2 * f->n_stakes);
        int n = 0;
        for (int i = 0; i < f->n_stakes; i++) {
            struct range r = f->stake[i].box.dim[d];
            if (i && r.lo == f->stake[i - 1].box.dim[d].lo &&
                r.hi == f->stake[i - 1].box.dim[d].hi)
                continue; /* most parts share most borders */
            n = add_border(border, n, r.lo);
            n = add_border(border, n, r.hi);
        }
        g->border[d] = border;
        g->n[d] = n - 1;
        cells *= g->n[d];
    }
    if (cells > MAX_CELLS)
        return hp_fail(err, HYPAR_UNSUPPORTED, "a tensor in %g pieces, expected at most %d",
                       cells, MAX_CELLS);
    g->n_cells = (int)cells;
    double covered = 0; /* cells, by all stakes together */
    for (int i = 0; i < f->n_stakes; i++) {
        struct stake *s = &f->stake[i];
        double mine = 1;
        for (int d = 0; d < g->n_dims; d++) {
            s->first[d] = find_border(g->border[d], g->n[d], s->box.dim[d].lo);
            s->count[d] = find_border(g->border[d], g->n[d], s->box.dim[d].hi) - s->first[d];
            mine *= s->count[d];
        }
        covered += mine;
    }
    if (covered > MAX_COVERED)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "a tensor's parts in %g pieces, expected at most %d", covered,
                       MAX_COVERED);
    return HYPAR_OK;
}

/* Walk the cells that a stake covers: start with cell -1; -1 at the end. */
static int next_cell(const struct grid *g, const struct stake *s, int at[MAX_DIMS], int cell)
{
    int d = g->n_dims - 1;
    if (cell < 0) {
        memset(at, 0, (size_t)MAX_DIMS * sizeof *at);
    } else {
        while (d >= 0 && ++at[d] == s->count[d])
            at[d--] = 0;
        if (d < 0)
            return -1;
    }
    cell = 0;
    for (d = 0; d < g->n_dims; d++)
        cell = cell * g->n[d] + s->first[d] + at[d];
    return cell;
}

/* Stakes of each cell; they were added writers first, and stay so. */
static void distribute(struct finder *f)
{
    int at[MAX_DIMS];
    f->start = NEW(f->scratch, int, f->grid.n_cells + 2);
    for (int i = 0; i < f->n_stakes; i++)
        for (int c = -1; (c = next_cell(&f->grid, &f->stake[i], at, c)) >= 0;)
            f->start[c + 2]++;
    for (int c = 0; c < f->grid.n_cells; c++)
        f->start[c + 2] += f->start[c + 1];
    f->of_cell = NEW(f->scratch, int, f->start[f->grid.n_cells + 1]);
    for (int i = 0; i < f->n_stakes; i++)
        for (int c = -1; (c = next_cell(&f->grid, &f->stake[i], at, c)) >= 0;)
            f->of_cell[f->start[c + 1]++] = i;
}

static struct box cell_box(const struct grid *g, int cell)
{
    struct box box = { .n_dims = g->n_dims };
    for (int d = g->n_dims - 1; d >= 0; d--) {
        int i = cell % g->n[d];
        box.dim[d] = (struct range){ g->border[d][i], g->border[d][i + 1] };
        cell /= g->n[d];
    }
    return box;
}

/* Settling one cell ------------------------------------------------------------------- */

/* What the stakes of one cell say. Sets of devices are flags in an array by device; a class and
 * its members (copies of one partial result) are a list. */
struct stakes_view {
    const struct stake *stake;
    const int *of; /* the cell's stakes */
    int n, n_writers;
    int n_classes;
    int *first;          /* of each class in the cell: its first member, a writing stake */
    int *last;           /* ... and its last */
    int *next;           /* of each writing stake: the next of its class, -1 */
    int *number;         /* by stake's class: its number in the cell, -1 */
    unsigned char *flag; /* by device */
    int *count;          /* by device: classes that it has */
    int *counted;        /* by device: the latest class that was counted, plus one */
};

enum { READS = 1, CHOSEN = 2, HAS_ALL = 4, SEEN = 8 };

static const struct stake *stake_at(const struct stakes_view *v, int i)
{
    return &v->stake[v->of[i]];
}

static void find_classes(struct stakes_view *v)
{
    v->n_classes = 0;
    for (int i = 0; i < v->n_writers; i++) {
        int *number = &v->number[stake_at(v, i)->class];
        v->next[i] = -1;
        if (*number < 0) {
            *number = v->n_classes;
            v->first[v->n_classes] = v->last[v->n_classes] = i;
            v->n_classes++;
        } else {
            v->next[v->last[*number]] = i;
            v->last[*number] = i;
        }
    }
    for (int i = 0; i < v->n_writers; i++)
        v->number[stake_at(v, i)->class] = -1; /* for the next cell */
}

/* Devices that have a copy of every class need nobody. */
static bool find_self_sufficient(struct stakes_view *v)
{
    bool any = false;
    for (int c = 0; c < v->n_classes; c++)
        for (int i = v->first[c]; i >= 0; i = v->next[i]) {
            int device = stake_at(v, i)->device;
            if (v->counted[device] == c + 1)
                continue; /* another copy of the same */
            v->counted[device] = c + 1;
            if (++v->count[device] == v->n_classes) {
                v->flag[device] |= HAS_ALL;
                any = true;
            }
        }
    return any;
}

/* A device that alone has some class contributes in any case. */
static void mark_forced(struct stakes_view *v)
{
    for (int c = 0; c < v->n_classes; c++) {
        int device = stake_at(v, v->first[c])->device, i = v->next[v->first[c]];
        while (i >= 0 && stake_at(v, i)->device == device)
            i = v->next[i];
        if (i < 0)
            v->flag[device] |= CHOSEN;
    }
}

/* Whose copy counts, for each class: a device that has all, one that contributes anyway, one
 * that reads, or the first. The chosen stake is written to chosen[]. */
static void choose_copies(struct stakes_view *v, bool any_sufficient, int *chosen)
{
    mark_forced(v);
    for (int c = 0; c < v->n_classes; c++) {
        int best = -1, best_rank = -1;
        for (int i = v->first[c]; i >= 0; i = v->next[i]) {
            unsigned char flag = v->flag[stake_at(v, i)->device];
            int rank = any_sufficient
                           ? (flag & HAS_ALL ? 4 + (flag & CHOSEN) + (flag & READS) : 0)
                           : (flag & CHOSEN) * 2 + (flag & READS);
            if (rank > best_rank) {
                best = i;
                best_rank = rank;
            }
        }
        v->flag[stake_at(v, best)->device] |= CHOSEN;
        chosen[c] = best;
    }
}

/* The devices whose flag has all of `with` and none of `without`, ascending. */
static int *collect(struct finder *f, const struct stakes_view *v, unsigned with,
                    unsigned without, int *n)
{
    enum { PIECE = 64 };
    if (f->n_ints < f->n_devices) {
        f->n_ints = f->n_devices > PIECE ? f->n_devices : PIECE;
        f->ints = NEW(f->arena, int, f->n_ints);
    }
    int *out = f->ints, k = 0;
    for (int i = 0; i < f->n_devices; i++) {
        unsigned flag = v->flag[f->devices[i]];
        if ((flag & with) == with && !(flag & without))
            out[k++] = f->devices[i];
    }
    f->ints += k;
    f->n_ints -= k;
    *n = k;
    return out;
}

static struct contribution *contributions(struct finder *f, int n)
{
    enum { PIECE = 32 };
    if (f->n_contributions < n) {
        f->n_contributions = n > PIECE ? n : PIECE;
        f->contributions = NEW(f->arena, struct contribution, f->n_contributions);
    }
    struct contribution *out = f->contributions;
    f->contributions += n;
    f->n_contributions -= n;
    return out;
}

static int by_int(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The devices that appear in the cell, ascending; flags and counts cleared for them. */
static void list_devices(struct finder *f, struct stakes_view *v)
{
    f->n_devices = 0;
    for (int i = 0; i < v->n; i++) {
        const struct stake *s = stake_at(v, i);
        if (!(v->flag[s->device] & SEEN)) {
            v->flag[s->device] |= SEEN;
            f->devices[f->n_devices++] = s->device;
        }
        if (!s->writes)
            v->flag[s->device] |= READS;
    }
    for (int i = 1; i < f->n_devices; i++)
        if (f->devices[i] < f->devices[i - 1]) {
            qsort(f->devices, (size_t)f->n_devices, sizeof *f->devices, by_int);
            break;
        }
}

static void settle(struct finder *f, struct stakes_view *v, struct cell *cell)
{
    list_devices(f, v);
    cell->comm = -1;
    if (v->n_writers) {
        find_classes(v);
        bool sufficient = find_self_sufficient(v);
        choose_copies(v, sufficient, f->chosen);
        struct contribution *c = contributions(f, v->n_classes);
        for (int i = 0; i < v->n_classes; i++) {
            const struct stake *s = stake_at(v, f->chosen[i]);
            c[i] = (struct contribution){ s->holder, s->part, s->device };
        }
        cell->contribution = c;
        cell->n_contributions = v->n_classes;
        cell->receiver = collect(f, v, READS, HAS_ALL, &cell->n_receivers);
        cell->kept = collect(f, v, READS | HAS_ALL, 0, &cell->n_kept);
        if (!sufficient) {
            cell->owner = collect(f, v, READS | CHOSEN, 0, &cell->n_owners);
            if (!cell->n_owners) {
                cell->owner = cell->receiver;
                cell->n_owners = cell->n_receivers;
            }
        }
    }
    for (int i = 0; i < f->n_devices; i++) {
        v->flag[f->devices[i]] = 0;
        v->count[f->devices[i]] = 0;
        v->counted[f->devices[i]] = 0;
    }
}

static void settle_all(struct finder *f)
{
    int most = 0, last_device = 0;
    for (int i = 0; i < f->n_stakes; i++)
        last_device = f->stake[i].device > last_device ? f->stake[i].device : last_device;
    for (int c = 0; c < f->grid.n_cells; c++)
        most = f->start[c + 1] - f->start[c] > most ? f->start[c + 1] - f->start[c] : most;
    struct stakes_view v = { .stake = f->stake };
    v.first = NEW(f->scratch, int, most);
    v.last = NEW(f->scratch, int, most);
    v.next = NEW(f->scratch, int, most);
    v.number = NEW(f->scratch, int, f->n_classes);
    memset(v.number, -1, (size_t)f->n_classes * sizeof *v.number);
    v.flag = NEW(f->scratch, unsigned char, last_device + 1);
    v.count = NEW(f->scratch, int, last_device + 1);
    v.counted = NEW(f->scratch, int, last_device + 1);
    f->devices = NEW(f->scratch, int, most);
    f->chosen = NEW(f->scratch, int, most);
    f->pattern->n_cells = f->grid.n_cells;
    f->pattern->cell = NEW(f->arena, struct cell, f->grid.n_cells);
    for (int c = 0; c < f->grid.n_cells; c++) {
        v.of = f->of_cell + f->start[c];
        v.n = f->start[c + 1] - f->start[c];
        for (v.n_writers = 0; v.n_writers < v.n && stake_at(&v, v.n_writers)->writes;)
            v.n_writers++;
        f->pattern->cell[c].box = cell_box(&f->grid, c);
        settle(f, &v, &f->pattern->cell[c]);
    }
}

/* Who waits --------------------------------------------------------------------------- */

static bool contains(const int *list, int n, int value)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (list[mid] < value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && list[lo] == value;
}

struct waits {
    struct wait *list;
    int n, capacity, own; /* own: where the current reader part's begin */
};

static void add_wait(struct finder *f, struct waits *w, struct wait wait)
{
    for (int i = w->n - 1; i >= w->own; i--) /* it is mostly one of the latest */
        if (w->list[i].comm == wait.comm && w->list[i].writer == wait.writer &&
            w->list[i].writer_part == wait.writer_part)
            return;
    w->list = GROW(f->scratch, struct wait, w->list, w->n, &w->capacity);
    w->list[w->n++] = wait;
}

static void add_waits_of_cell(struct finder *f, struct waits *w, const struct stake *s,
                              int cell)
{
    const struct cell *c = &f->pattern->cell[cell];
    if (c->comm >= 0 && contains(c->receiver, c->n_receivers, s->device)) {
        add_wait(f, w, (struct wait){ s->holder, s->part, c->comm, -1, -1 });
        return;
    }
    for (int i = f->start[cell]; i < f->start[cell + 1]; i++) {
        const struct stake *from = &f->stake[f->of_cell[i]];
        if (!from->writes)
            break; /* writers come first */
        if (from->device == s->device)
            add_wait(f, w, (struct wait){ s->holder, s->part, -1, from->holder, from->part });
    }
}

static enum hypar_status find_waits(struct finder *f, struct hypar_error *err)
{
    struct waits w = { 0 };
    int at[MAX_DIMS];
    for (int i = 0; i < f->n_stakes; i++) {
        if (f->stake[i].writes)
            continue;
        w.own = w.n;
        for (int c = -1; (c = next_cell(&f->grid, &f->stake[i], at, c)) >= 0;) {
            add_waits_of_cell(f, &w, &f->stake[i], c);
            if (w.n - w.own > MAX_WAITS)
                return hp_fail(
                    err, HYPAR_UNSUPPORTED,
                    "a part that waits for more than %d others, expected fewer parts",
                    MAX_WAITS);
        }
    }
    f->pattern->n_waits = w.n;
    f->pattern->wait = NEW(f->arena, struct wait, w.n);
    if (w.n)
        memcpy(f->pattern->wait, w.list, (size_t)w.n * sizeof *w.list);
    for (int i = 0; i < w.n; i++)
        f->pattern->reader_wait[w.list[i].reader + 1] = i + 1;
    for (int r = 0; r < f->pattern->n_readers; r++) /* a reader without any */
        if (f->pattern->reader_wait[r + 1] < f->pattern->reader_wait[r])
            f->pattern->reader_wait[r + 1] = f->pattern->reader_wait[r];
    return HYPAR_OK;
}

/* What each comm waits for: every contribution to its cells, once. */
static void find_feeds(struct finder *f, const struct stakeholder *writers, int n_writers)
{
    struct pattern *p = f->pattern;
    int *base = NEW(f->scratch, int, n_writers + 1), n = 0, capacity = 0;
    for (int w = 0; w < n_writers; w++)
        base[w + 1] = base[w] + writers[w].layout->n_parts;
    int *seen = NEW(f->scratch, int, base[n_writers]); /* by part: latest comm, plus one */
    struct feed *feed = NULL;
    p->comm_feed = NEW(f->arena, int, p->n_comms + 1);
    for (int c = 0; c < p->n_comms; p->comm_feed[++c] = n)
        for (int i = 0; i < p->comm[c].n_cells; i++) {
            const struct cell *cell = &p->cell[p->comm[c].cell[i]];
            for (int k = 0; k < cell->n_contributions; k++) {
                const struct contribution *from = &cell->contribution[k];
                if (seen[base[from->writer] + from->part] == c + 1)
                    continue;
                seen[base[from->writer] + from->part] = c + 1;
                feed = GROW(f->scratch, struct feed, feed, n, &capacity);
                feed[n++] = (struct feed){ c, from->writer, from->part };
            }
        }
    p->n_feeds = n;
    p->feed = NEW(f->arena, struct feed, n);
    if (n)
        memcpy(p->feed, feed, (size_t)n * sizeof *feed);
}

/* Does each reading part wait for its like, and for nothing else? */
static bool is_aligned(const struct pattern *p, const struct stakeholder *writers,
                       const struct stakeholder *readers)
{
    if (p->n_comms || p->n_writers != 1)
        return false;
    for (int r = 0; r < p->n_readers; r++)
        if (readers[r].layout->n_parts != writers[0].layout->n_parts ||
            readers[r].layout->n_live != writers[0].layout->n_live ||
            p->reader_wait[r + 1] - p->reader_wait[r] != readers[r].layout->n_live)
            return false;
    for (int i = 0; i < p->n_waits; i++)
        if (p->wait[i].writer_part != p->wait[i].part)
            return false;
    return true;
}

enum hypar_status hp_find_pattern(struct arena *arena, struct arena *scratch,
                                  const struct stakeholder *writers, int n_writers,
                                  const struct stakeholder *readers, int n_readers,
                                  struct pattern **out, struct hypar_error *err)
{
    struct arena_mark mark = hp_arena_mark(scratch);
    struct finder f = { .arena = arena, .scratch = scratch };
    f.pattern = NEW(arena, struct pattern, 1);
    f.pattern->n_writers = n_writers;
    f.pattern->n_readers = n_readers;
    f.pattern->reader_wait = NEW(arena, int, n_readers + 1);
    *out = f.pattern;

    int most = 0;
    for (int i = 0; i < n_writers; i++)
        most += writers[i].layout->n_parts;
    for (int i = 0; i < n_readers; i++)
        most += readers[i].layout->n_parts;
    f.stake = NEW(scratch, struct stake, most);
    for (int i = 0; i < n_writers; i++)
        add_stakes(&f, &writers[i], i, true);
    for (int i = 0; i < n_readers; i++)
        add_stakes(&f, &readers[i], i, false);
    enum hypar_status status = HYPAR_OK;
    if (f.n_stakes) {
        status = cut(&f, err);
        if (status == HYPAR_OK) {
            distribute(&f);
            settle_all(&f);
            hp_name_comms(arena, scratch, f.pattern);
            status = find_waits(&f, err);
        }
    }
    if (status == HYPAR_OK) {
        find_feeds(&f, writers, n_writers);
        f.pattern->aligned = is_aligned(f.pattern, writers, readers);
    }
    hp_arena_release(scratch, mark);
    return status;
}
