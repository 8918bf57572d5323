/* search/choices/cover.h - saving enough memory in the least time. Internal.
 *
 * Of items that save memory and take time, those are to be taken that save enough in the least
 * time: a knapsack seen from outside. It is solved by branch and bound, in order of time per
 * byte; items that save the same are taken in order of time, so that alike layers do not
 * multiply the search. */
#ifndef SEARCH_CHOICES_COVER_H
#define SEARCH_CHOICES_COVER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct cover_item {
    double extra_s, saved; /* at least 0; above 0 */
    int tag;               /* the caller's */
    int alike;             /* a number for all that save as much; set here */
    bool taken;            /* in the best that was found */
};

/* One is used for many. */
struct cover {
    int n;
    struct cover_item *item;
    bool any; /* the first that is not above most_s will do */
    /* Inside: */
    bool *trying;
    int *left_out; /* by number `alike`: one of them was left out, so the later ones are, too */
    double best_s;
    int n_nodes;
    bool found;
    int64_t given_up; /* searches that were too long: there may be a better one */
};

void hp_cover_new(struct cover *cover, struct arena *arena, int max_items);

/* Take items that save `need` > 0 in all, beginning at from_s; the least time that this comes
 * to, if it is not above most_s; else INFINITY. Changes the order of the items. */
double hp_cover_need(struct cover *cover, double need, double from_s, double most_s);

#endif /* SEARCH_CHOICES_COVER_H */
