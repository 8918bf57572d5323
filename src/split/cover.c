/* Sets of elements, kept as few boxes, and their size: each element counts once. */
#include "split/cover.h"

#include "base/sort.h"

enum { LOOK_BACK = 4 };

/* Enlarge `a` by `b` if the union of both is a box. They have the same number of dimensions. */
static bool join(struct box *a, const struct box *b)
{
    int differ = -1;
    if (hp_box_contains(a, b))
        return true;
    for (int d = 0; d < a->n_dims; d++)
        if (a->dim[d].lo != b->dim[d].lo || a->dim[d].hi != b->dim[d].hi) {
            if (differ >= 0)
                return false;
            differ = d;
        }
    struct range *r = &a->dim[differ];
    struct range s = b->dim[differ];
    if (s.lo > r->hi || s.hi < r->lo)
        return false;
    r->lo = s.lo < r->lo ? s.lo : r->lo;
    r->hi = s.hi > r->hi ? s.hi : r->hi;
    return true;
}

void hp_cover_add(struct cover *cover, struct arena *arena, const struct box *box)
{
    if (hp_box_empty(box))
        return;
    if (cover->n == 0 || (cover->n == 1 && hp_box_contains(box, &cover->only))) {
        cover->only = *box;
        cover->n = 1;
        return;
    }
    if (cover->n == 1) {
        if (join(&cover->only, box))
            return;
        cover->box = GROW(arena, struct box, cover->box, 0, &cover->capacity);
        cover->box[0] = cover->only;
    }
    for (int i = cover->n - 1; i >= 0 && i >= cover->n - LOOK_BACK; i--)
        if (hp_box_contains(&cover->box[i], box))
            return;
    cover->box = GROW(arena, struct box, cover->box, cover->n, &cover->capacity);
    cover->box[cover->n++] = *box;
    /* a complete row of parts joins the rows before it */
    while (cover->n > 1 && join(&cover->box[cover->n - 2], &cover->box[cover->n - 1]))
        cover->n--;
    if (cover->n == 1)
        cover->only = cover->box[0];
}

/* Counting --------------------------------------------------------------------------------
 *
 * Sweep along one dimension. Between two neighbouring borders the set of active boxes does not
 * change; the elements that these boxes cover in the other dimensions are counted by
 * recursion. */

struct edge {
    int64_t lo;
    const struct box *box;
};

static int by_lo(const void *a, const void *b)
{
    int64_t x = ((const struct edge *)a)->lo, y = ((const struct edge *)b)->lo;
    return (x > y) - (x < y);
}

static int64_t elements_from(const struct box *box, int dim)
{
    int64_t n = 1;
    for (int d = dim; d < box->n_dims; d++)
        n *= box->dim[d].hi - box->dim[d].lo;
    return n;
}

/* Drop the active boxes that end at or before `at`. Returns where the first of the others
 * ends. */
static int64_t drop_ended(const struct box **active, int *n, int dim, int64_t at)
{
    int kept = 0;
    int64_t next = INT64_MAX;
    for (int i = 0; i < *n; i++)
        if (active[i]->dim[dim].hi > at) {
            next = active[i]->dim[dim].hi < next ? active[i]->dim[dim].hi : next;
            active[kept++] = active[i];
        }
    *n = kept;
    return next;
}

/* The elements that the boxes cover in dimensions `dim` and further. The recursion is at most
 * MAX_DIMS deep. */
static int64_t count(const struct box *const *box, int n, int dim, struct arena *scratch)
{
    if (n <= 1 || dim == box[0]->n_dims)
        return n ? elements_from(box[0], dim) : 0;
    struct arena_mark mark = hp_arena_mark(scratch);
    struct edge *edge = NEW(scratch, struct edge, n);
    const struct box **active = NEW(scratch, const struct box *, n);
    for (int i = 0; i < n; i++)
        edge[i] = (struct edge){ box[i]->dim[dim].lo, box[i] };
    hp_sort(edge, n, sizeof *edge, by_lo);
    int64_t sum = 0, at = edge[0].lo;
    for (int used = 0, n_active = 0; used < n || n_active;) {
        int64_t next = drop_ended(active, &n_active, dim, at);
        if (!n_active && used < n && edge[used].lo > at)
            at = edge[used].lo; /* a gap */
        for (; used < n && edge[used].lo == at; used++) {
            int64_t end = edge[used].box->dim[dim].hi;
            next = end < next ? end : next;
            active[n_active++] = edge[used].box;
        }
        if (!n_active)
            continue;
        next = used < n && edge[used].lo < next ? edge[used].lo : next;
        sum += (next - at) * count(active, n_active, dim + 1, scratch);
        at = next;
    }
    hp_arena_release(scratch, mark);
    return sum;
}

int64_t hp_cover_elements(const struct cover *cover, struct arena *scratch)
{
    if (cover->n <= 1)
        return cover->n ? hp_box_elements(&cover->only) : 0;
    struct arena_mark mark = hp_arena_mark(scratch);
    const struct box **box = NEW(scratch, const struct box *, cover->n);
    for (int i = 0; i < cover->n; i++)
        box[i] = &cover->box[i];
    int64_t n = count(box, cover->n, 0, scratch);
    hp_arena_release(scratch, mark);
    return n;
}
