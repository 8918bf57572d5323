/* split/cover.h - a set of elements as boxes that may overlap. Internal.
 *
 * Made for what a device holds of a tensor: mostly one box, or the parts of one operator, which
 * come in order and grow together into one box again. Zero-initialised is empty. */
#ifndef SPLIT_COVER_H
#define SPLIT_COVER_H

#include "base/arena.h"
#include "split/split.h"

struct cover {
    int n, capacity;
    struct box only; /* n == 1: the box; else box[] */
    struct box *box;
};

/* Add a box; one that is there already, or borders on the latest, takes no room. */
void hp_cover_add(struct cover *cover, struct arena *arena, const struct box *box);

/* Elements that lie in some box, each counted once. Scratch is given back. */
int64_t hp_cover_elements(const struct cover *cover, struct arena *scratch);

#endif /* SPLIT_COVER_H */
