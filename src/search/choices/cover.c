/* Saves enough memory in the least extra time, by branch and bound. */
#include "search/choices/cover.h"

#include <math.h>

#include "base/sort.h"
#include "search/limits.h"

/* Limit of the nodes of a search: some milliseconds. */
enum { MOST_NODES = 16 * HP_MANY };

void hp_cover_new(struct cover *c, struct arena *arena, int max_items)
{
    *c = (struct cover){ .item = NEW(arena, struct cover_item, max_items),
                         .trying = NEW(arena, bool, max_items),
                         .left_out = NEW(arena, int, max_items) };
}

static int by_saved(const void *a, const void *b)
{
    const struct cover_item *x = a, *y = b;
    return (x->saved < y->saved) - (x->saved > y->saved);
}

/* By time per byte, then by descending memory; items with equal savings by time. */
static int by_ratio(const void *a, const void *b)
{
    const struct cover_item *x = a, *y = b;
    double p = x->extra_s * y->saved, q = y->extra_s * x->saved;
    if (x->saved == y->saved)
        return (x->extra_s > y->extra_s) - (x->extra_s < y->extra_s);
    return p != q ? (p > q) - (p < q) : by_saved(a, b);
}

static void sort_items(struct cover *c)
{
    int n_alike = 0;
    hp_sort(c->item, c->n, sizeof *c->item, by_saved);
    for (int i = 0; i < c->n; i++) {
        n_alike += i > 0 && c->item[i].saved != c->item[i - 1].saved;
        c->item[i].alike = n_alike;
        c->left_out[n_alike] = 0;
    }
    hp_sort(c->item, c->n, sizeof *c->item, by_ratio);
}

/* A lower bound for the time to save `need` with items from i on: as if items could be taken in
 * part. */
static double bound_s(const struct cover *c, int i, double need)
{
    double s = 0;
    for (; i < c->n && need > 0; i++) {
        const struct cover_item *item = &c->item[i];
        if (c->left_out[item->alike])
            continue;
        if (item->saved >= need)
            return s + item->extra_s * (need / item->saved);
        s += item->extra_s;
        need -= item->saved;
    }
    return need > 0 ? INFINITY : s;
}

static void keep(struct cover *c, double so_far_s)
{
    c->best_s = so_far_s;
    c->found = true;
    for (int i = 0; i < c->n; i++)
        c->item[i].taken = c->trying[i];
}

static void branch(struct cover *c, int i, double need, double so_far_s)
{
    if (need <= 0) {
        if (so_far_s < c->best_s)
            keep(c, so_far_s);
        return;
    }
    if ((c->any && c->found) || c->n_nodes > MOST_NODES)
        return;
    c->n_nodes++;
    while (i < c->n && c->left_out[c->item[i].alike])
        i++;
    if (i == c->n || so_far_s + bound_s(c, i, need) * (1 - 1e-12) >= c->best_s)
        return;
    struct cover_item *item = &c->item[i];
    c->trying[i] = true;
    branch(c, i + 1, need - item->saved, so_far_s + item->extra_s);
    c->trying[i] = false;
    c->left_out[item->alike]++;
    branch(c, i + 1, need, so_far_s);
    c->left_out[item->alike]--;
}

/* A first solution: take items in order until they save enough. */
static void take_in_order(struct cover *c, double need, double so_far_s)
{
    for (int i = 0; i < c->n; i++) {
        c->trying[i] = need > 0;
        so_far_s += c->trying[i] ? c->item[i].extra_s : 0;
        need -= c->trying[i] ? c->item[i].saved : 0;
    }
    if (need <= 0 && so_far_s < c->best_s)
        keep(c, so_far_s);
    for (int i = 0; i < c->n; i++)
        c->trying[i] = false;
}

double hp_cover_need(struct cover *c, double need, double from_s, double most_s)
{
    sort_items(c);
    c->found = false;
    c->n_nodes = 0;
    c->best_s = nextafter(most_s, INFINITY);
    if (from_s + bound_s(c, 0, need) * (1 - 1e-12) >= c->best_s)
        return INFINITY;
    take_in_order(c, need, from_s);
    if (!(c->any && c->found) && c->n <= HP_MANY)
        branch(c, 0, need, from_s);
    c->given_up += c->n_nodes > MOST_NODES || (c->n > HP_MANY && !(c->any && c->found));
    return c->found ? c->best_s : INFINITY;
}
