/* base/csr.h - lists by key in one array (CSR). Internal.
 *
 * The items of key k are item[start[k]] .. item[start[k + 1] - 1], in the order in which they
 * were put. A counting sort makes the lists, by two passes over the same pairs of key and item:
 *
 *     struct csr lists = { .arena = arena, .n_keys = n_keys };
 *     while (hp_csr_pass(&lists))
 *         for (each pair)  hp_csr_put(&lists, key, item);
 *
 * The same by hand, for items that are not numbers:
 *
 *     int *start = hp_csr(arena, n_keys);
 *     for (each pair)  hp_csr_count(start, key);
 *     hp_csr_sum(start, n_keys);
 *     for (each pair)  item[hp_csr_place(start, key)] = item;
 *
 * Between the passes start[k + 1] is the position of the next item of key k; the second pass
 * moves it to the start of key k + 1. */
#ifndef BASE_CSR_H
#define BASE_CSR_H

#include <stdbool.h>

#include "base/arena.h"

static inline int *hp_csr(struct arena *arena, int n_keys)
{
    return NEW(arena, int, n_keys + 2);
}

static inline void hp_csr_count(int *start, int key)
{
    start[key + 2]++;
}

/* Returns the number of items. */
static inline int hp_csr_sum(int *start, int n_keys)
{
    for (int k = 0; k < n_keys; k++)
        start[k + 2] += start[k + 1];
    return start[n_keys + 1];
}

static inline int hp_csr_place(int *start, int key)
{
    return start[key + 1]++;
}

struct csr {
    int *start, *item; /* item is NULL in the first pass */
    struct arena *arena;
    int n_keys;
};

/* True before each of the two passes. */
static inline bool hp_csr_pass(struct csr *lists)
{
    if (lists->item)
        return false;
    if (lists->start)
        lists->item = NEW(lists->arena, int, hp_csr_sum(lists->start, lists->n_keys) + 1);
    else
        lists->start = hp_csr(lists->arena, lists->n_keys);
    return true;
}

static inline void hp_csr_put(struct csr *lists, int key, int item)
{
    if (lists->item)
        lists->item[hp_csr_place(lists->start, key)] = item;
    else
        hp_csr_count(lists->start, key);
}

/* The lists of items 0 .. n - 1, where item i has the key key[i * stride]. */
static inline struct csr hp_csr_by(struct arena *arena, int n_keys, const int *key, int stride,
                                   int n)
{
    struct csr lists = { .arena = arena, .n_keys = n_keys };
    while (hp_csr_pass(&lists))
        for (int i = 0; i < n; i++)
            hp_csr_put(&lists, key[i * stride], i);
    return lists;
}

#endif /* BASE_CSR_H */
