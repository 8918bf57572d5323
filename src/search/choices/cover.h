/* search/choices/cover.h - saves enough memory in the least extra time. Internal.
 *
 * Each item saves memory and costs time. The cover is the set of items that saves enough memory
 * in the least time: a minimum knapsack problem. Branch and bound solves it in order of time
 * per byte. Items that save the same memory are taken in order of time, so that equal layers do
 * not multiply the search. */
#ifndef SEARCH_CHOICES_COVER_H
#define SEARCH_CHOICES_COVER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct cover_item {
    double extra_s, saved; /* extra_s: at least 0; saved: above 0 */
    int tag;               /* the caller's number for the item */
    int alike;             /* a number for all items that save the same; set here */
    bool taken;            /* in the best cover found */
};

/* Scratch for many searches, one after another. */
struct cover {
    int n;
    struct cover_item *item;
    bool any; /* accept the first cover with a time of at most most_s */
    /* Internal: */
    bool *trying;
    int *left_out; /* by `alike`: an item was left out, so later items of this number are left
                    * out too */
    double best_s;
    int n_nodes;
    bool found;
    int64_t given_up; /* searches that ended early: a better cover may exist */
};

void hp_cover_new(struct cover *cover, struct arena *arena, int max_items);

/* Find items that save at least `need` > 0, with a time that starts at from_s. Returns the
 * least time if it is at most most_s, else INFINITY. Changes the order of the items. */
double hp_cover_need(struct cover *cover, double need, double from_s, double most_s);

#endif /* SEARCH_CHOICES_COVER_H */
