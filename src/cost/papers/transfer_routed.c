/* t_X pair by pair: every part of the reader with every part of the writer that it overlaps. */
#include "cost/papers/transfer_internal.h"

#include <string.h>

/* A dimension that the writer or the reader divides, and the part of it that is read. */
struct reach {
    int axis[2];                   /* the writer's, the reader's; -1: none */
    const struct borders *part[2]; /* the same */
    struct range read;
    int first, last; /* parts of the writer that this touches */
};

struct walk {
    struct transfer *t;
    const struct placement *from;
    int n_divided;
    double undivided; /* elements: the other dimensions together */
    int copies;       /* devices that have each piece of the writer */
    int *copy;        /* offsets from the first device to the others */
    double *load;     /* by link: seconds for each byte of an element */
    double elements;  /* that move to another device */
    struct reach reach[MAX_DIMS];
};

/* The number of links between two devices. */
static int crossings(const struct topology_view *f, int i, int j)
{
    int n = 0;
    if (f->kind == TOPOLOGY_ROUTED)
        return f->route_start[i * f->n_devices + j + 1] - f->route_start[i * f->n_devices + j];
    for (int c = 0; c < f->n_cuts; c++)
        n += i / f->cut[c].size != j / f->cut[c].size;
    return n;
}

/* Deliver `elements` of the piece on device `i`, and on the devices of its copies, to device
 * `j`: from the nearest copy. */
static void deliver(struct walk *w, int i, int j, double elements)
{
    int best = i + w->copy[0], least = best == j ? 0 : crossings(w->t->topology, best, j);
    for (int c = 1; c < w->copies && least > 0; c++) {
        int source = i + w->copy[c];
        int n = source == j ? 0 : crossings(w->t->topology, source, j);
        if (n < least) {
            least = n;
            best = source;
        }
    }
    if (best == j)
        return;
    w->elements += elements;
    /* copies share the sending: receiving decides */
    hp_load_add(w->t->topology, w->load, best, j, elements, w->copies > 1);
}

/* Visit every piece of the writer that the reader's part on device `j` overlaps, dimension by
 * dimension. An axis that indexes two dimensions has one coordinate. */
static void visit(struct walk *w, int d, int i, int j, double elements, int *coordinate)
{
    if (d == w->n_divided) {
        deliver(w, i, j, elements);
        return;
    }
    const struct reach *reach = &w->reach[d];
    int axis = reach->axis[0];
    for (int p = reach->first; p <= reach->last; p++) {
        double length = hp_overlap(reach->part[0]->part[p], reach->read);
        int before = axis >= 0 ? coordinate[axis] : -1;
        if (length <= 0 || (before >= 0 && before != p))
            continue;
        if (axis >= 0)
            coordinate[axis] = p;
        int device = i + (axis >= 0 && before < 0 ? p * w->from->axis[axis].stride : 0);
        visit(w, d + 1, device, j, elements * length, coordinate);
        if (axis >= 0)
            coordinate[axis] = before;
    }
}

/* The offsets from a device to each copy of its piece. */
static void list_copies(struct walk *w)
{
    const struct nest *nest = w->t->end[0].nest;
    w->copies = hp_loose_parts(w->t, 0, w->from);
    w->copy = w->t->copy;
    w->copy[0] = 0;
    int n = 1;
    for (int a = 0; a < nest->n_axes; a++) {
        int degree = w->from->axis[a].degree;
        if (!(w->t->loose[0] >> a & 1) || degree <= 1)
            continue;
        for (int i = n * degree - 1; i >= 0; i--)
            w->copy[i] = w->copy[i / degree] + i % degree * w->from->axis[a].stride;
        n *= degree;
    }
}

/* Find the divided dimensions. */
static void list_divided(struct walk *w, const struct placement *to)
{
    w->undivided = 1;
    w->n_divided = 0;
    for (int d = 0; d < w->t->n_dims; d++) {
        const int *axis = w->t->dim[d].axis;
        int from_id = hp_axis_id(w->from, axis[0]), to_id = hp_axis_id(to, axis[1]);
        const struct borders *from = hp_borders(w->t, 0, d, from_id);
        const struct borders *read = hp_borders(w->t, 1, d, to_id);
        if (from_id || to_id)
            w->reach[w->n_divided++] =
                (struct reach){ .axis = { axis[0], axis[1] }, .part = { from, read } };
        else
            w->undivided *= hp_overlap(from->part[0], read->part[0]);
    }
}

/* The reader's range in a divided dimension, and the parts of the writer that it touches;
 * borders ascend. */
static void read_part(struct reach *r, const int *place)
{
    const struct borders *from = r->part[0];
    r->read = r->part[1]->part[r->axis[1] >= 0 ? place[r->axis[1]] : 0];
    r->first = 0;
    r->last = from->n - 1;
    while (r->first < r->last && from->part[r->first].hi <= r->read.lo)
        r->first++;
    while (r->last > r->first && from->part[r->last].lo >= r->read.hi)
        r->last--;
}

static void visit_reader(struct walk *w, const int *place, int device)
{
    int coordinate[MAX_AXES];
    for (int a = 0; a < MAX_AXES; a++)
        coordinate[a] = -1;
    for (int d = 0; d < w->n_divided; d++)
        read_part(&w->reach[d], place);
    visit(w, 0, 0, device, w->undivided, coordinate);
}

/* Parts in the order of their devices' digits: the first axis of the nest is outermost. */
static void walk_pairs(struct walk *w, const struct placement *to)
{
    const struct nest *nest = w->t->end[1].nest;
    int place[MAX_AXES] = { 0 }, device = 0;
    size_t n_loads = (size_t)hp_load_count(w->t->topology) + 1;
    if (!w->t->link_load) {
        w->t->link_load = NEW(w->t->arena, double, n_loads);
        w->t->copy = NEW(w->t->arena, int, w->t->topology->n_devices);
    }
    w->load = w->t->link_load;
    memset(w->load, 0, n_loads * sizeof *w->load);
    list_copies(w);
    list_divided(w, to);
    if (w->undivided <= 0)
        return;
    for (int part = 0; part < to->n_parts; part++) {
        visit_reader(w, place, device);
        for (int a = nest->n_axes - 1; a >= 0; a--) { /* the next part */
            device += to->axis[a].stride;
            if (++place[a] < to->axis[a].degree)
                break;
            device -= to->axis[a].degree * to->axis[a].stride;
            place[a] = 0;
        }
    }
}

double hp_transfer_routed_s(struct transfer *t, const struct placement *from,
                            const struct placement *to, double element_bytes)
{
    const struct topology_view *f = t->topology;
    struct walk w = { .t = t, .from = from };
    walk_pairs(&w, to);
    double most = hp_load_most(f, w.load);
    int n = from->n_parts > to->n_parts ? from->n_parts : to->n_parts;
    return most > 0 ? most * element_bytes + f->latency_s[n] : 0;
}

double hp_transfer_routed_elements(struct transfer *t, const struct placement *from,
                                   const struct placement *to)
{
    struct walk w = { .t = t, .from = from };
    walk_pairs(&w, to);
    return w.elements;
}
