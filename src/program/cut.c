#include "program/cut.h"

#include <string.h>

enum { MAX_CELLS = 1 << 24, MAX_COVERED = 1 << 28 };

/* The stakes of one stakeholder, and its regions where they are the same for all of them. */
struct holder {
    int first, n_stakes;
    unsigned varies; /* bit d: its parts differ along dimension d */
    struct range same[MAX_DIMS];
};

struct cutter {
    struct cut *cut;
    struct arena *scratch;
    int most; /* stakes at most */
    int n_holders;
    struct holder *holder;
    struct range *range[MAX_DIMS]; /* by stake, where its holder varies */
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

/* Stakes ------------------------------------------------------------------------------ */

/* Parts have the same range of an axis that is not divided. */
static unsigned varying_dims(const struct part_layout *layout, int operand)
{
    const struct operand *o = &layout->nest->operand[operand];
    unsigned varies = 0;
    for (int d = 0; d < o->n_dims; d++)
        for (int f = 0; f < o->dim[d].n_axes; f++)
            if (layout->split->degree[o->dim[d].axis[f]] > 1)
                varies |= 1U << d;
    return varies;
}

/* The dimensions among `dims` of one part's region. False: it is empty. */
static bool find_region(const struct part_layout *layout, int operand, int part, unsigned dims,
                        struct range region[MAX_DIMS])
{
    const struct range *loops = layout->range + part * layout->nest->n_axes;
    for (int d = 0; dims >> d; d++) {
        if (!(dims >> d & 1))
            continue;
        region[d] = hp_region_dim(layout->nest, operand, d, loops);
        if (hp_range_empty(region[d]))
            return false; /* a part of a concat's input */
    }
    return true;
}

static void add_stake(struct cutter *k, const struct holder *h, struct stake stake,
                      const struct range region[MAX_DIMS])
{
    struct cut *cut = k->cut;
    for (int d = 0; h->varies >> d; d++) {
        if (!(h->varies >> d & 1))
            continue;
        if (!k->range[d])
            k->range[d] = NEW(k->scratch, struct range, k->most);
        k->range[d][cut->n_stakes] = region[d];
    }
    struct stake *s = &cut->stake[cut->n_stakes++]; /* its intervals are found later */
    s->holder = stake.holder;
    s->part = stake.part;
    s->device = stake.device;
    s->class = stake.class;
    cut->last_device = s->device > cut->last_device ? s->device : cut->last_device;
}

static void add_stakes(struct cutter *k, const struct stakeholder *who, int number, bool writes)
{
    const struct part_layout *l = who->layout;
    struct cut *cut = k->cut;
    struct holder *h = &k->holder[k->n_holders];
    struct range region[MAX_DIMS];
    unsigned all = (1U << l->nest->operand[who->operand].n_dims) - 1;
    *h = (struct holder){ .first = cut->n_stakes, .varies = varying_dims(l, who->operand) };
    bool known = false; /* the dimensions that do not vary */
    for (int part = 0; part < l->n_parts; part++) {
        if (l->empty[part] || (who->partial && !hp_first_along(l, part, who->partial)))
            continue;
        if (!known && !find_region(l, who->operand, part, all & ~h->varies, h->same))
            break;
        known = true;
        if (!find_region(l, who->operand, part, h->varies, region))
            continue;
        int class = writes ? cut->n_classes + class_of(l, part, who->copies) : 0;
        add_stake(k, h, (struct stake){ number, part, l->device[part], class, { 0 }, { 0 } },
                  region);
    }
    h->n_stakes = cut->n_stakes - h->first;
    k->n_holders += h->n_stakes > 0;
    cut->n_dims = h->n_stakes ? l->nest->operand[who->operand].n_dims : cut->n_dims;
    cut->copied |= writes && who->copies;
    cut->n_classes += writes ? l->n_parts : 0;
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

static int add_range(int64_t *border, int n, struct range r)
{
    return add_border(border, add_border(border, n, r.lo), r.hi);
}

static bool same_range(struct range a, struct range b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* Ends of ranges at most, along dimension d; 2: it is the same range for all. */
static int count_ends(const struct cutter *k, int d)
{
    int n = 0;
    bool divided = false;
    for (int i = 0; i < k->n_holders; i++) {
        const struct holder *h = &k->holder[i];
        bool varies = h->varies >> d & 1;
        n += 2 * (varies ? h->n_stakes : 1);
        divided |= varies || !same_range(h->same[d], k->holder[0].same[d]);
    }
    return divided ? n : 2;
}

static void find_borders(struct cutter *k, int d)
{
    int most = count_ends(k, d), n = 0;
    int64_t *border = NEW(k->scratch, int64_t, most);
    for (int i = 0; i < (most == 2 ? 1 : k->n_holders); i++) {
        const struct holder *h = &k->holder[i];
        if (!(h->varies >> d & 1)) {
            n = add_range(border, n, h->same[d]);
            continue;
        }
        const struct range *range = k->range[d] + h->first;
        for (int s = 0; s < h->n_stakes; s++)
            if (!s || !same_range(range[s], range[s - 1])) /* most share most borders */
                n = add_range(border, n, range[s]);
    }
    k->cut->border[d] = border;
    k->cut->n[d] = n - 1;
}

/* The intervals of each stake along walked dimension w. */
static void find_intervals(struct cutter *k, int w)
{
    struct cut *cut = k->cut;
    int d = cut->walked[w], n = cut->n[d], lo = 0, hi = 0;
    const int64_t *border = cut->border[d];
    for (int i = 0; i < k->n_holders; i++) {
        const struct holder *h = &k->holder[i];
        bool varies = h->varies >> d & 1;
        for (int s = h->first; s < h->first + h->n_stakes; s++) {
            struct range r = varies ? k->range[d][s] : h->same[d];
            if (border[lo] != r.lo) /* often as the one before, or next to it */
                lo = border[hi] == r.lo ? hi : find_border(border, n, r.lo);
            if (border[hi] != r.hi)
                hi = border[lo + 1] == r.hi ? lo + 1 : find_border(border, n, r.hi);
            cut->stake[s].first[w] = lo;
            cut->stake[s].count[w] = hi - lo;
        }
    }
}

static enum hypar_status find_cells(struct cutter *k, struct hypar_error *err)
{
    struct cut *cut = k->cut;
    double cells = 1;
    cut->unwalked_elements = 1;
    for (int d = 0; d < cut->n_dims; d++) {
        find_borders(k, d);
        cells *= cut->n[d];
        if (cut->n[d] > 1)
            cut->walked[cut->n_walked++] = d;
        else
            cut->unwalked_elements *= cut->border[d][1] - cut->border[d][0];
    }
    if (cells > MAX_CELLS)
        return hp_fail(err, HYPAR_UNSUPPORTED, "a tensor in %g pieces, expected at most %d",
                       cells, MAX_CELLS);
    cut->n_cells = 1;
    for (int w = cut->n_walked - 1; w >= 0; w--) {
        cut->stride[w] = cut->n_cells;
        cut->n_cells *= cut->n[cut->walked[w]];
        find_intervals(k, w);
    }
    double covered = 0; /* cells, by all stakes together */
    for (int i = 0; i < cut->n_stakes; i++) {
        double mine = 1;
        for (int w = 0; w < cut->n_walked; w++)
            mine *= cut->stake[i].count[w];
        covered += mine;
        if (i + 1 == cut->n_writing)
            cut->writing_cells = covered < MAX_COVERED ? (int)covered : MAX_COVERED;
    }
    if (covered > MAX_COVERED)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "a tensor's parts in %g pieces, expected at most %d", covered,
                       MAX_COVERED);
    return HYPAR_OK;
}

/* Stakes of each cell; they were added writers first, and stay so. */
static void distribute(struct cut *cut, struct arena *scratch)
{
    int *start = NEW(scratch, int, cut->n_cells + 2);
    for (int i = 0; i < cut->n_stakes; i++) {
        struct run run = hp_first_run(cut, &cut->stake[i]);
        do
            for (int c = run.lo; c < run.hi; c++)
                start[c + 2]++;
        while (hp_next_run(cut, &cut->stake[i], &run));
    }
    for (int c = 0; c < cut->n_cells; c++)
        start[c + 2] += start[c + 1];
    int *of_cell = NEW(scratch, int, start[cut->n_cells + 1]);
    for (int i = 0; i < cut->n_stakes; i++) {
        struct run run = hp_first_run(cut, &cut->stake[i]);
        do
            for (int c = run.lo; c < run.hi; c++)
                of_cell[start[c + 1]++] = i;
        while (hp_next_run(cut, &cut->stake[i], &run));
    }
    cut->start = start;
    cut->of_cell = of_cell;
}

enum hypar_status hp_cut(struct cut *cut, struct arena *scratch,
                         const struct stakeholder *writers, int n_writers,
                         const struct stakeholder *readers, int n_readers,
                         struct hypar_error *err)
{
    *cut = (struct cut){ 0 };
    struct cutter k = { .cut = cut, .scratch = scratch };
    for (int i = 0; i < n_writers; i++)
        k.most += writers[i].layout->n_parts;
    for (int i = 0; i < n_readers; i++)
        k.most += readers[i].layout->n_parts;
    cut->stake = NEW(scratch, struct stake, k.most);
    cut->base = NEW(scratch, int, n_writers);
    k.holder = NEW(scratch, struct holder, n_writers + n_readers);
    for (int i = 0; i < n_writers; i++) {
        cut->base[i] = cut->n_classes;
        add_stakes(&k, &writers[i], i, true);
    }
    cut->n_writing = cut->n_stakes;
    for (int i = 0; i < n_readers; i++)
        add_stakes(&k, &readers[i], i, false);
    if (!cut->n_stakes)
        return HYPAR_OK;
    TRY(find_cells(&k, err));
    distribute(cut, scratch);
    return HYPAR_OK;
}
