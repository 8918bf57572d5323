/* Boxes of elements: how many, what two share, what is left of one. */
#include "layout/layout.h"

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
