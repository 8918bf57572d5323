/* split/cover.h - a set of elements as boxes that may overlap. Internal.
 *
 * It records which elements of a tensor a device holds. Mostly this is one box, or the parts of
 * one operator, which are added in order and merge into one box again. Zero-initialised is
 * empty. */
#ifndef SPLIT_COVER_H
#define SPLIT_COVER_H

#include "base/arena.h"
#include "split/split.h"

struct cover {
    int n, capacity;
    struct box only; /* n == 1: the box; else box[] */
    struct box *box;
};

/* Add a box. A box that is covered already or borders on the latest one takes no memory. */
void hp_cover_add(struct cover *cover, struct arena *arena, const struct box *box);

/* The number of elements in the set, each counted once. Scratch is given back. */
int64_t hp_cover_elements(const struct cover *cover, struct arena *scratch);

#endif /* SPLIT_COVER_H */
