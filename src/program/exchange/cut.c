/* Cutting a tensor into cells by the borders of all its accesses. Only the borders of
 * dimensions that some operator divides are found; cells follow from them by multiplication. */
#include "program/exchange/cut.h"
#include "base/csr.h"

#include <string.h>

#include "base/sort.h"

/* Each covered cell is stored: 4,096 parts may read what 4,096 other parts wrote. */
enum { MAX_CELLS = 1 << 24, MAX_COVERED = 1 << 25 };

/* Beyond this many, unordered borders are sorted instead of inserted. */
enum { FEW_BORDERS = 1 << 10 };

/* The accesses of one exchange_side, and its region if that is the same for all of them. */
struct holder {
    const struct exchange_side *who;
    int number; /* among writers, or readers */
    int first, n_accesses;
    int n_dims;
    unsigned varies; /* bit d: its parts differ along dimension d */
    struct range same[MAX_DIMS];
};

struct cutter {
    struct cut *cut;
    struct arena *scratch;
    int n_holders;
    struct holder *holder;
    unsigned varies;               /* dimensions along which some holder varies */
    struct range *range[MAX_DIMS]; /* by access, if its holder varies */
};

bool hp_first_along(const struct op_parts *parts, int part, axis_set axes)
{
    int coordinate[MAX_AXES], stride = 1;
    hp_part_coordinates(parts->nest, parts->split, part % parts->n_each, coordinate);
    for (int a = parts->nest->n_axes - 1; a >= 0; a--) {
        /* an earlier part along this axis that is not empty is the first */
        for (int i = 1; axes >> a & 1 && i <= coordinate[a]; i++)
            if (!parts->empty[part - i * stride])
                return false;
        stride *= parts->split->degree[a] ? parts->split->degree[a] : 1;
    }
    return true;
}

/* The number of a part without its coordinates along `copies`: copies have the same class. */
static int class_of(const struct op_parts *parts, int part, axis_set copies)
{
    int coordinate[MAX_AXES], class = part / parts->n_each; /* replicas are no copies */
    if (!copies)
        return part;
    hp_part_coordinates(parts->nest, parts->split, part % parts->n_each, coordinate);
    for (int a = 0; a < parts->nest->n_axes; a++) {
        int degree = parts->split->degree[a] ? parts->split->degree[a] : 1;
        class = class * degree + (copies >> a & 1 ? 0 : coordinate[a]);
    }
    return class;
}

/* Accesses ---------------------------------------------------------------------------- */

/* All parts have the same range of an axis that is not divided. */
static unsigned varying_dims(const struct op_parts *parts, int operand)
{
    const struct operand *o = &parts->nest->operand[operand];
    const int *degree = parts->split->degree;
    unsigned varies = 0;
    for (int d = 0; d < o->n_dims; d++)
        for (int f = 0; f < o->dim[d].n_axes; f++)
            if (degree[o->dim[d].axis[f]] > 1)
                varies |= 1U << d;
    return varies;
}

/* Drop accesses with an empty region: parts that read nothing of one input of a concat. */
static void drop_empty(struct cutter *k, struct holder *h)
{
    struct cut *cut = k->cut;
    int n = h->first;
    for (int s = h->first; s < cut->n_accesses; s++) {
        bool empty = false;
        for (int d = 0; d < h->n_dims; d++)
            empty |= hp_range_empty(h->varies >> d & 1 ? k->range[d][s] : h->same[d]);
        if (empty)
            continue;
        cut->access[n] = cut->access[s];
        for (int d = 0; h->varies >> d; d++)
            if (h->varies >> d & 1)
                k->range[d][n] = k->range[d][s];
        n++;
    }
    cut->n_accesses = n;
}

/* Find the regions of a holder's accesses; is one of them empty? */
static bool find_regions(struct cutter *k, struct holder *h)
{
    const struct op_parts *l = h->who->parts;
    const struct access *access = k->cut->access;
    int n_axes = l->nest->n_axes, o = h->who->operand;
    bool empty = false;
    for (int d = 0; d < h->n_dims; d++) {
        bool varies = h->varies >> d & 1;
        struct range *range = varies ? k->range[d] + h->first : &h->same[d];
        int last = varies ? k->cut->n_accesses : h->first + 1;
        for (int s = h->first; s < last; s++, range++) {
            *range = hp_region_dim(l->nest, o, d, l->range + access[s].part * n_axes);
            empty |= hp_range_empty(*range);
        }
    }
    return empty;
}

static void add_accesses(struct cutter *k, struct holder *h, bool writes)
{
    const struct op_parts *l = h->who->parts;
    struct cut *cut = k->cut;
    struct access *s = cut->access + cut->n_accesses; /* its cells are found later */
    h->first = cut->n_accesses;
    for (int part = 0; part < l->n_parts; part++) {
        if (l->empty[part] || (h->who->partial && !hp_first_along(l, part, h->who->partial)))
            continue;
        s->holder = h->number;
        s->part = part;
        s->device = l->device[part];
        s->class = writes ? cut->n_classes + class_of(l, part, h->who->copies) : 0;
        cut->last_device = s->device > cut->last_device ? s->device : cut->last_device;
        s++;
    }
    cut->n_accesses = (int)(s - cut->access);
    if (cut->n_accesses > h->first && find_regions(k, h))
        drop_empty(k, h);
    h->n_accesses = cut->n_accesses - h->first;
    if (writes) {
        cut->n_classes += l->n_parts;
        cut->copied |= h->who->copies != 0;
    }
}

/* Borders ----------------------------------------------------------------------------- */

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

/* Insert a border into the ascending list unless it is there. */
static int add_border(int64_t *border, int n, int64_t value)
{
    int at = n && border[n - 1] < value ? n : find_border(border, n, value);
    if (at < n && border[at] == value)
        return n;
    memmove(border + at + 1, border + at, (size_t)(n - at) * sizeof *border);
    border[at] = value;
    return n + 1;
}

static bool same_range(struct range a, struct range b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* Insert both ends of a range. *next guesses the position: parts follow one another in every
 * holder, and again for every part of an outer axis. -1: sort all borders instead. */
static int add_range(int64_t *border, int n, struct range r, int *next)
{
    if (!n)
        border[n++] = r.lo;
    int at = *next < n && border[*next] == r.lo ? *next : 0;
    if (border[at] == r.lo) {
        if (at + 1 == n)
            border[n++] = r.hi;
        if (border[at + 1] == r.hi) {
            *next = at + 1;
            return n;
        }
    }
    *next = 0;
    if (n > FEW_BORDERS)
        return -1;
    return add_border(border, add_border(border, n, r.lo), r.hi);
}

static int by_border(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* All ends of ranges along dimension d, ascending, each once. */
static int sort_borders(const struct cutter *k, int d, int64_t *border)
{
    int n = 0, kept = 1;
    for (int i = 0; i < k->n_holders; i++) {
        const struct holder *h = &k->holder[i];
        bool varies = h->varies >> d & 1;
        for (int s = 0; s < (varies ? h->n_accesses : 1); s++) {
            struct range r = varies ? k->range[d][h->first + s] : h->same[d];
            border[n++] = r.lo;
            border[n++] = r.hi;
        }
    }
    hp_sort(border, n, sizeof *border, by_border);
    for (int i = 1; i < n; i++)
        if (border[i] != border[kept - 1])
            border[kept++] = border[i];
    return kept;
}

/* An upper bound of the ends of ranges along dimension d; 0: all have the same range. */
static int count_ends(const struct cutter *k, int d)
{
    int n = 0;
    bool divided = k->varies >> d & 1;
    for (int i = 0; i < k->n_holders; i++) {
        const struct holder *h = &k->holder[i];
        n += h->varies >> d & 1 ? 2 * h->n_accesses : 2;
        divided = divided || !same_range(h->same[d], k->holder[0].same[d]);
    }
    return divided ? n : 0;
}

static int find_borders(const struct cutter *k, int d, int64_t *border)
{
    int n = 0, next = 0;
    for (int i = 0; i < k->n_holders && n >= 0; i++) {
        const struct holder *h = &k->holder[i];
        if (!(h->varies >> d & 1)) {
            n = add_range(border, n, h->same[d], &next);
            continue;
        }
        const struct range *range = k->range[d] + h->first;
        for (int s = 0; s < h->n_accesses && n >= 0; s++)
            if (!s ||
                !same_range(range[s], range[s - 1])) /* most accesses share most borders */
                n = add_range(border, n, range[s], &next);
    }
    return n < 0 ? sort_borders(k, d, border) : n;
}

static void find_all_borders(struct cutter *k)
{
    struct cut *cut = k->cut;
    int ends[MAX_DIMS], total = 0;
    for (int d = 0; d < cut->n_dims; d++)
        total += (ends[d] = count_ends(k, d)) ? ends[d] : 2;
    int64_t *border = NEW(k->scratch, int64_t, total);
    cut->unwalked_elements = 1;
    for (int d = 0; d < cut->n_dims; d++) {
        int n = 2;
        if (!ends[d]) {
            border[0] = k->holder[0].same[d].lo;
            border[1] = k->holder[0].same[d].hi;
        } else {
            n = find_borders(k, d, border);
        }
        if (n > 2)
            cut->walked[cut->n_walked++] = d;
        else
            cut->unwalked_elements *= border[1] - border[0];
        cut->border[d] = border;
        cut->n[d] = n - 1;
        border += n;
    }
}

/* Cells ------------------------------------------------------------------------------- */

/* The intervals of each access along walked dimension w. */
static void find_intervals(struct cutter *k, int w)
{
    struct cut *cut = k->cut;
    int d = cut->walked[w], n = cut->n[d], lo = 0, hi = 0;
    const int64_t *border = cut->border[d];
    for (int i = 0; i < k->n_holders; i++) {
        const struct holder *h = &k->holder[i];
        bool varies = h->varies >> d & 1;
        struct access *s = cut->access + h->first;
        for (int j = 0; j < h->n_accesses; j++, s++) {
            struct range r = varies ? k->range[d][h->first + j] : h->same[d];
            if (border[lo] != r.lo) /* often the same as before, or the next */
                lo = border[hi] == r.lo ? hi : find_border(border, n, r.lo);
            if (border[hi] != r.hi)
                hi = border[lo + 1] == r.hi ? lo + 1 : find_border(border, n, r.hi);
            s->cell += lo * cut->stride[w];
            s->count[w] = hi - lo;
        }
    }
}

/* The number of cells that accesses [lo, hi) cover, added up. */
static int64_t count_covered(const struct cut *cut, int lo, int hi)
{
    int64_t covered = 0;
    for (int i = lo; i < hi; i++) {
        int64_t mine = 1;
        for (int w = 0; w < cut->n_walked; w++)
            mine *= cut->access[i].count[w];
        covered += mine;
    }
    return covered;
}

/* The accesses of each cell. They were added writers first and stay in this order. */
void hp_distribute(struct cut *cut, struct arena *scratch)
{
    int *start = NEW(scratch, int, cut->n_cells + 2 + cut->covered_cells);
    int *of_cell = start + cut->n_cells + 2;
    for (int i = 0; i < cut->n_accesses; i++) {
        struct run run = hp_first_run(cut, &cut->access[i]);
        do
            for (int c = run.lo; c < run.hi; c++)
                hp_csr_count(start, c);
        while (hp_next_run(cut, &cut->access[i], &run));
    }
    hp_csr_sum(start, cut->n_cells);
    for (int i = 0; i < cut->n_accesses; i++) {
        struct run run = hp_first_run(cut, &cut->access[i]);
        do
            for (int c = run.lo; c < run.hi; c++)
                of_cell[hp_csr_place(start, c)] = i;
        while (hp_next_run(cut, &cut->access[i], &run));
    }
    cut->start = start;
    cut->of_cell = of_cell;
}

static enum hypar_status find_cells(struct cutter *k, struct hypar_error *err)
{
    struct cut *cut = k->cut;
    double cells = 1;
    for (int w = 0; w < cut->n_walked; w++)
        cells *= cut->n[cut->walked[w]];
    if (cells > MAX_CELLS)
        return hp_fail(err, HYPAR_UNSUPPORTED, "a tensor in %g pieces, expected at most %d",
                       cells, MAX_CELLS);
    cut->n_cells = 1;
    for (int w = cut->n_walked - 1; w >= 0; w--) {
        cut->stride[w] = cut->n_cells;
        cut->n_cells *= cut->n[cut->walked[w]];
        find_intervals(k, w);
    }
    int64_t writing = count_covered(cut, 0, cut->n_writing);
    int64_t covered = writing + count_covered(cut, cut->n_writing, cut->n_accesses);
    if (covered > MAX_COVERED)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "a tensor's parts in %g pieces, expected at most %d", (double)covered,
                       MAX_COVERED);
    cut->writing_cells = (int)writing;
    cut->covered_cells = (int)covered;
    return HYPAR_OK;
}

/* Make room for the accesses of all holders, and for their ranges where they vary. */
static void make_room(struct cutter *k)
{
    int most = 0, n_varying = 0;
    for (int i = 0; i < k->n_holders; i++) {
        struct holder *h = &k->holder[i];
        h->n_dims = h->who->parts->nest->operand[h->who->operand].n_dims;
        h->varies = varying_dims(h->who->parts, h->who->operand);
        k->varies |= h->varies;
        most += h->who->parts->n_parts;
    }
    for (int d = 0; k->varies >> d; d++)
        n_varying += k->varies >> d & 1 ? 1 : 0;
    k->cut->access = NEW(k->scratch, struct access, most);
    struct range *range = NEW(k->scratch, struct range, n_varying * most);
    for (int d = 0; k->varies >> d; d++)
        if (k->varies >> d & 1) {
            k->range[d] = range;
            range += most;
        }
}

enum hypar_status hp_cut(struct cut *cut, struct arena *scratch,
                         const struct exchange_side *writers, int n_writers,
                         const struct exchange_side *readers, int n_readers,
                         struct hypar_error *err)
{
    *cut = (struct cut){ 0 };
    struct cutter k = { .cut = cut, .scratch = scratch, .n_holders = n_writers + n_readers };
    k.holder = NEW(scratch, struct holder, k.n_holders);
    for (int i = 0; i < k.n_holders; i++) {
        bool writes = i < n_writers;
        k.holder[i].number = writes ? i : i - n_writers;
        k.holder[i].who = writes ? &writers[i] : &readers[i - n_writers];
    }
    make_room(&k);
    int n = 0; /* holders with an access */
    for (int i = 0; i < k.n_holders; i++) {
        add_accesses(&k, &k.holder[i], i < n_writers);
        if (i < n_writers)
            cut->n_writing = cut->n_accesses;
        if (k.holder[i].n_accesses && n++ != i)
            k.holder[n - 1] = k.holder[i];
    }
    k.n_holders = n;
    if (!n)
        return HYPAR_OK;
    cut->n_dims = k.holder[0].n_dims;
    find_all_borders(&k);
    return find_cells(&k, err);
}
