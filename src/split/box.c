/* Boxes of elements: their size, their intersection, and runs of elements as boxes. */
#include "split/split.h"

bool hp_box_empty(const struct box *box)
{
    for (int d = 0; d < box->n_dims; d++)
        if (hp_range_empty(box->dim[d]))
            return true;
    return false;
}

int64_t hp_box_elements(const struct box *box)
{
    if (hp_box_empty(box))
        return 0;
    int64_t elements = 1;
    for (int d = 0; d < box->n_dims; d++)
        elements *= box->dim[d].hi - box->dim[d].lo;
    return elements;
}

static struct range intersect(struct range a, struct range b)
{
    return (struct range){ a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
}

struct box hp_box_intersect(const struct box *a, const struct box *b)
{
    struct box both = { .n_dims = a->n_dims };
    for (int d = 0; d < a->n_dims; d++)
        both.dim[d] = intersect(a->dim[d], b->dim[d]);
    return both;
}

/* Empty boxes are equal: none of them has an element that the other lacks. */
bool hp_box_equal(const struct box *a, const struct box *b)
{
    return hp_box_contains(a, b) && hp_box_contains(b, a);
}

bool hp_box_contains(const struct box *outer, const struct box *inner)
{
    if (hp_box_empty(inner))
        return true;
    for (int d = 0; d < inner->n_dims; d++)
        if (inner->dim[d].lo < outer->dim[d].lo || inner->dim[d].hi > outer->dim[d].hi)
            return false;
    return true;
}

/* Each round takes the largest box that begins at element `lo`: it spans whole rows of
 * dimension d + 1 and further, and as many of them as end before both `hi` and the end of
 * dimension d. */
int hp_flat_boxes(const struct box *box, int64_t lo, int64_t hi, struct box out[MAX_FLAT_BOXES])
{
    int64_t inner[MAX_DIMS + 1], extent[MAX_DIMS];
    int n = 0;
    inner[box->n_dims] = 1;
    for (int d = box->n_dims - 1; d >= 0; d--) {
        extent[d] = box->dim[d].hi - box->dim[d].lo;
        inner[d] = inner[d + 1] * extent[d];
    }
    if (box->n_dims == 0 && lo < hi)
        out[n++] = *box;
    while (box->n_dims > 0 && lo < hi) {
        int d = 0;
        while (lo % inner[d + 1] != 0 || lo + inner[d + 1] > hi)
            d++;
        int64_t at = lo / inner[d + 1] % extent[d], most = (hi - lo) / inner[d + 1];
        int64_t taken = extent[d] - at < most ? extent[d] - at : most;
        struct box *part = &out[n++];
        *part = *box;
        for (int i = 0; i < d; i++) {
            int64_t index = box->dim[i].lo + lo / inner[i + 1] % extent[i];
            part->dim[i] = (struct range){ index, index + 1 };
        }
        part->dim[d] = (struct range){ box->dim[d].lo + at, box->dim[d].lo + at + taken };
        lo += taken * inner[d + 1];
    }
    return n;
}
