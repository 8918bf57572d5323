/* t_X. In a tree, the readers of a group of devices receive over the group's link all elements
 * that they need, except those that the group's own writers provide:
 *
 *   in(G) = sum over readers in G of |needed|  -  sum over readers and writers in G of |shared|
 *
 * The parts in G are a range of coordinates on each axis, and regions are boxes. So both sums
 * are products over the dimensions of the tensor; each factor is computed once for a placement
 * of the writer's axis and one of the reader's. The other direction, out(G), is alike. */
#include "cost/papers/transfer_internal.h"

/* The axis that may divide dimension `d` of an end: the outermost of a product. */
static int dividing_axis(const struct transfer_end *end, int d)
{
    const struct dim_map *map = &end->nest->operand[end->operand].dim[d];
    for (int f = 0; f < map->n_axes; f++)
        if (end->nest->axis[map->axis[f]].splittable &&
            end->nest->axis[map->axis[f]].extent > 1)
            return map->axis[f];
    return -1;
}

static void begin_dimension(struct transfer *t, int d)
{
    struct dimension *dim = &t->dim[d];
    size_t n = (size_t)t->n_axis_ids;
    dim->size = t->end[0].nest->operand[t->end[0].operand].size[d];
    for (int e = 0; e < 2; e++) {
        dim->axis[e] = dividing_axis(&t->end[e], d);
        dim->part[e] = NEW(t->arena, struct borders, n);
        for (int before = 0; before < d; before++)
            t->diagonal |= dim->axis[e] >= 0 && t->dim[before].axis[e] == dim->axis[e];
        if (dim->axis[e] >= 0)
            t->loose[e] &= ~((axis_set)1 << dim->axis[e]);
    }
    if (t->topology->kind == TOPOLOGY_ROUTED)
        return;
    dim->needed = NEW(t->arena, double *, n);
    for (int i = 0; i < PROVIDED_COUNT; i++)
        dim->provided[i] = NEW(t->arena, double *, n *n);
}

struct transfer *hp_transfer(struct arena *arena, struct topology_view *topology,
                             struct transfer_end from, struct transfer_end to)
{
    struct transfer *t = NEW(arena, struct transfer, 1);
    *t = (struct transfer){ .topology = topology,
                            .arena = arena,
                            .end = { from, to },
                            .n_dims = from.nest->operand[from.operand].n_dims,
                            .n_axis_ids = topology->n_axis_ids,
                            .loose = { ~(axis_set)0, ~(axis_set)0 } };
    for (int d = 0; d < t->n_dims; d++)
        begin_dimension(t, d);
    t->needs = NEW(arena, double, topology->n_groups + TOPOLOGY_LANES);
    t->keeps = NEW(arena, double, topology->n_groups + TOPOLOGY_LANES);
    t->sends = NEW(arena, double, topology->n_groups + TOPOLOGY_LANES);
    return t;
}

/* Factors -------------------------------------------------------------------------------- */

/* The parts of one end along dimension `d`, whose axis is divided evenly, within the tensor. */
const struct borders *hp_borders(struct transfer *t, int e, int d, int id)
{
    struct borders *b = &t->dim[d].part[e][id];
    if (b->n)
        return b;
    const struct nest *nest = t->end[e].nest;
    struct range range[MAX_AXES];
    int axis = t->dim[d].axis[e];
    b->n = t->topology->axis[id].degree;
    b->part = NEW(t->arena, struct range, b->n);
    hp_whole_ranges(nest, range);
    for (int i = 0; i < b->n; i++) {
        if (axis >= 0)
            range[axis] = hp_even_part(nest->axis[axis].extent, b->n, i);
        b->part[i] = hp_region(nest, t->end[e].operand, range).dim[d];
        if (b->part[i].hi > t->dim[d].size)
            b->part[i].hi = t->dim[d].size;
    }
    return b;
}

/* The total length that parts i of the writer and j of the reader share. Borders ascend. */
static double shared(const struct borders *from, struct digits i, const struct borders *to,
                     struct digits j)
{
    double sum = 0;
    for (int a = i.lo; a < i.lo + i.n; a++)
        for (int b = j.lo; b < j.lo + j.n && to->part[b].lo < from->part[a].hi; b++)
            sum += hp_overlap(from->part[a], to->part[b]);
    return sum;
}

static const double *needed(struct transfer *t, int d, int id)
{
    const struct topology_view *f = t->topology;
    double **known = &t->dim[d].needed[id];
    if (*known)
        return *known;
    struct range all = { 0, t->dim[d].size };
    const struct borders whole = { 1, &all }, *to = hp_borders(t, 1, d, id);
    *known = NEW(t->arena, double, f->n_groups);
    for (int g = 0; g < f->n_groups; g++)
        (*known)[g] = shared(&whole, (struct digits){ 0, 1 }, to, f->on[id].group[g]);
    return *known;
}

/* The longest piece that part j of the reader shares with any part of the writer except
 * `except`. */
static double longest(const struct borders *from, const struct borders *to, int j, int except)
{
    double most = 0;
    for (int i = 0; i < from->n; i++) {
        double length = hp_overlap(from->part[i], to->part[j]);
        if (i != except && length > most)
            most = length;
    }
    return most;
}

/* Elements that all readers together share with the writer's parts before i, for i = 0 .. n. */
static double *sent_before(struct arena *arena, const struct borders *from,
                           const struct borders *to)
{
    double *sum = NEW(arena, double, from->n + 1);
    for (int i = 0, first = 0; i < from->n; i++) {
        while (first < to->n && to->part[first].hi <= from->part[i].lo)
            first++;
        sum[i + 1] = sum[i] + shared(from, (struct digits){ i, 1 }, to,
                                     (struct digits){ first, to->n - first });
    }
    return sum;
}

/* One number of `provided`: for a group of devices with parts i of the writer and j of the
 * reader. */
static double provision(enum provided what, const struct borders *from, struct digits i,
                        const struct borders *to, struct digits j, const double *sent)
{
    switch (what) {
    case KEPT:
        return shared(from, i, to, j);
    case SENT:
        return sent[i.lo + i.n] - sent[i.lo];
    case LONGEST:
        return longest(from, to, j.lo, -1);
    default:
        return longest(from, to, j.lo, i.lo);
    }
}

static const double *fill_provided(struct transfer *t, enum provided what, int d, int from_id,
                                   int to_id)
{
    const struct topology_view *f = t->topology;
    const struct borders *from = hp_borders(t, 0, d, from_id);
    const struct borders *to = hp_borders(t, 1, d, to_id);
    double *out = NEW(t->arena, double, f->n_groups);
    struct arena_mark mark = hp_arena_mark(t->arena);
    const double *sent = what == SENT ? sent_before(t->arena, from, to) : NULL;
    for (int c = 0; c < f->n_cuts; c++)
        for (int g = f->cut[c].first; g < f->cut[c].first + f->cut[c].n_groups; g++)
            out[g] =
                provision(what, from, f->on[from_id].group[g], to, f->on[to_id].group[g], sent);
    hp_arena_release(t->arena, mark);
    t->dim[d].provided[what][(size_t)from_id * (size_t)t->n_axis_ids + (size_t)to_id] = out;
    return out;
}

static inline const double *provided(struct transfer *t, enum provided what, int d, int from_id,
                                     int to_id)
{
    const double *known =
        t->dim[d].provided[what][(size_t)from_id * (size_t)t->n_axis_ids + (size_t)to_id];
    return known ? known : fill_provided(t, what, d, from_id, to_id);
}

/* Sums over groups ----------------------------------------------------------------------- */

/* A product over the dimensions, for each group. Most dimensions are divided by neither end and
 * have the same factor everywhere. Arrays are padded to whole lanes. */
struct product {
    double scale;
    int n;
    const double *factor[MAX_DIMS + MAX_AXES];
};

static void add_factor(struct product *p, const double *factor, bool same)
{
    if (same)
        p->scale *= factor[0];
    else
        p->factor[p->n++] = factor;
}

/* Multiply for groups first .. first + n - 1, rounded up to whole lanes. */
static void multiply(const struct product *p, int first, int n, double *restrict out)
{
    out += first;
    for (int g = 0; g < n; g += TOPOLOGY_LANES)
        for (int l = 0; l < TOPOLOGY_LANES; l++)
            out[g + l] = p->scale;
    for (int i = 0; i < p->n; i++) {
        const double *restrict factor = p->factor[i] + first;
        for (int g = 0; g < n; g += TOPOLOGY_LANES)
            for (int l = 0; l < TOPOLOGY_LANES; l++)
                out[g + l] *= factor[g + l];
    }
}

/* The number of parts along axes of an end that do not index the tensor. */
int hp_loose_parts(const struct transfer *t, int e, const struct placement *p)
{
    int n = 1;
    for (int a = 0; a < t->end[e].nest->n_axes; a++)
        if (t->loose[e] >> a & 1)
            n *= p->axis[a].degree;
    return n;
}

/* Parts that differ only along an axis that does not index the tensor read the same elements,
 * each for itself: multiply by the group's coordinates. Collectives bring them to the group
 * once. */
static void add_copies(const struct transfer *t, const struct placement *to, struct product *p)
{
    for (int a = 0; !t->topology->once && a < t->end[1].nest->n_axes; a++)
        if (t->loose[1] >> a & 1 && to->axis_id[a] != 0)
            add_factor(p, t->topology->on[to->axis_id[a]].count, false);
}

/* The elements that the readers of each group need. */
static void add_needs(struct transfer *t, const struct placement *to)
{
    struct product needs = { .scale = 1 };
    for (int d = 0; d < t->n_dims; d++) {
        int wt = hp_axis_id(to, t->dim[d].axis[1]);
        add_factor(&needs, needed(t, d, wt), wt == 0);
    }
    add_copies(t, to, &needs);
    multiply(&needs, 0, t->topology->n_groups, t->needs);
}

/* Add the elements that readers find in the group; if `sending`, also those that the group's
 * writers provide to all readers. */
static void add_provisions(struct transfer *t, const struct placement *from,
                           const struct placement *to, bool sending)
{
    struct product keeps = { .scale = 1 }, sends = { .scale = 1 };
    for (int d = 0; d < t->n_dims; d++) {
        int wf = hp_axis_id(from, t->dim[d].axis[0]), wt = hp_axis_id(to, t->dim[d].axis[1]);
        add_factor(&keeps, provided(t, KEPT, d, wf, wt), wf == 0 && wt == 0);
        if (sending)
            add_factor(&sends, provided(t, SENT, d, wf, wt), wf == 0);
    }
    add_copies(t, to, &keeps);
    if (!t->topology->once)
        sends.scale *= hp_loose_parts(t, 1, to);
    for (int c = 0; c < t->topology->n_cuts; c++) {
        const struct cut *cut = &t->topology->cut[c];
        int n_from = hp_cut_groups(cut, from), n_to = hp_cut_groups(cut, to);
        multiply(&keeps, cut->first, n_from < n_to ? n_from : n_to, t->keeps);
        if (sending)
            multiply(&sends, cut->first, n_from, t->sends);
    }
}

/* The maximum of load - kept; only the first n_kept groups keep anything. */
static double most_left(const double *load, const double *kept, int n, int n_kept)
{
    double most[TOPOLOGY_LANES] = { 0 };
    int g = 0, whole = n < n_kept ? n : n_kept;
    for (; g + TOPOLOGY_LANES <= whole; g += TOPOLOGY_LANES)
        for (int l = 0; l < TOPOLOGY_LANES; l++) {
            double left = load[g + l] - kept[g + l];
            most[l] = left > most[l] ? left : most[l];
        }
    for (; g < n; g++) {
        double left = g < n_kept ? load[g] - kept[g] : load[g];
        most[0] = left > most[0] ? left : most[0];
    }
    for (int l = 1; l < TOPOLOGY_LANES; l++)
        most[0] = most[l] > most[0] ? most[l] : most[0];
    return most[0];
}

/* The heaviest load of any cut, into a group or out of one, in seconds for each byte of an
 * element. Copies of written elements share the sending, so then receiving decides. The needs
 * are computed before. *moved: the most that one device sends or receives; the first cut is
 * single devices. */
static double heaviest_cut(struct transfer *t, const struct placement *from,
                           const struct placement *to, double *moved)
{
    bool sending = hp_loose_parts(t, 0, from) == 1;
    double most = 0;
    add_provisions(t, from, to, sending);
    for (int c = 0; c < t->topology->n_cuts; c++) {
        const struct cut *cut = &t->topology->cut[c];
        int n_from = hp_cut_groups(cut, from), n_to = hp_cut_groups(cut, to);
        const double *kept = t->keeps + cut->first;
        double in = most_left(t->needs + cut->first, kept, n_to, n_from);
        double out = sending ? most_left(t->sends + cut->first, kept, n_from, n_to) : 0;
        double crossing = in > out ? in : out, s = crossing * cut->s_per_byte;
        most = s > most ? s : most;
        *moved = c == 0 ? crossing : *moved;
    }
    return most;
}

/* The largest piece that one device gets from another. A piece that is not the device's own
 * differs from it along some dimension, and is largest if it differs there alone. */
static double largest_piece_s(struct transfer *t, const struct placement *from,
                              const struct placement *to)
{
    double most = 0;
    int n_to = to->n_parts, n_both = from->n_parts < n_to ? from->n_parts : n_to;
    for (int other = -1; other < t->n_dims; other++) {
        struct product p = { .scale = 1 };
        if (other >= 0 && hp_axis_id(from, t->dim[other].axis[0]) == 0)
            continue; /* all pieces are equal there */
        for (int d = 0; d < t->n_dims; d++) {
            int wf = hp_axis_id(from, t->dim[d].axis[0]);
            int wt = hp_axis_id(to, t->dim[d].axis[1]);
            add_factor(&p, provided(t, d == other ? LONGEST_OTHER : LONGEST, d, wf, wt),
                       wf == 0 && wt == 0);
        }
        /* devices without a part of the writer have no piece of their own */
        int first = other < 0 ? n_both : 0, end = other < 0 ? n_to : n_both;
        multiply(&p, 0, end, t->sends);
        for (int g = first; g < end; g++)
            most = t->sends[g] > most ? t->sends[g] : most;
    }
    return most * t->topology->cut[0].s_per_byte;
}

static bool by_products(const struct transfer *t, const struct placement *from,
                        const struct placement *to)
{
    return t->topology->kind != TOPOLOGY_ROUTED && !t->diagonal && !from->scattered &&
           !to->scattered;
}

/* Do the needs of groups of devices decide? In a tree they decide the time on links; for pairs,
 * whose devices are equal, the copying. A machine of one device has no groups. */
static bool uses_needs(const struct topology_view *f)
{
    if (f->n_groups == 0)
        return false;
    return f->kind == TOPOLOGY_TREE || (f->kind == TOPOLOGY_PAIRS && f->copy_s_per_byte[0] > 0);
}

/* As hp_transfer_s(), after the readers' needs are computed. */
static double transfer_s(struct transfer *t, const struct placement *from,
                         const struct placement *to, double element_bytes)
{
    const struct topology_view *f = t->topology;
    if (!by_products(t, from, to))
        return hp_transfer_routed_s(t, from, to, element_bytes);
    if (f->n_devices == 1)
        return 0;
    double moved = 0, s_per_byte = 0;
    if (uses_needs(f))
        s_per_byte = heaviest_cut(t, from, to, &moved);
    if (f->kind == TOPOLOGY_PAIRS)
        s_per_byte = largest_piece_s(t, from, to);
    s_per_byte += moved * f->copy_s_per_byte[0];
    int n = from->n_parts > to->n_parts ? from->n_parts : to->n_parts;
    return s_per_byte > 0 ? s_per_byte * element_bytes + f->latency_s[n] : 0;
}

double hp_transfer_s(struct transfer *t, const struct placement *from,
                     const struct placement *to, double element_bytes)
{
    if (uses_needs(t->topology))
        add_needs(t, to);
    return transfer_s(t, from, to, element_bytes);
}

void hp_transfer_table(struct transfer *t, const struct placement *from, int n_from,
                       const struct placement *to, int n_to, double element_bytes, double *out)
{
    for (int j = 0; j < n_to; j++) {
        if (uses_needs(t->topology))
            add_needs(t, &to[j]);
        for (int i = 0; i < n_from; i++)
            out[(size_t)i * (size_t)n_to + (size_t)j] =
                transfer_s(t, &from[i], &to[j], element_bytes);
    }
}

double hp_transfer_elements(struct transfer *t, const struct placement *from,
                            const struct placement *to)
{
    if (!t->topology->n_cuts || !by_products(t, from, to))
        return hp_transfer_routed_elements(t, from, to);
    double sum = 0;
    add_needs(t, to);
    add_provisions(t, from, to, false);
    for (int g = 0; g < to->n_parts; g++) /* of the first cut: single devices */
        sum += t->needs[g] - (g < from->n_parts ? t->keeps[g] : 0);
    return sum;
}
