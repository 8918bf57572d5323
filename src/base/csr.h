/* base/csr.h - lists by key in one array (CSR). Internal.
 *
 * The items of key k are item[start[k]] .. item[start[k + 1] - 1], in the order in which they
 * were placed. A counting sort makes the lists, by two passes over the same pairs of key and
 * item:
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

/* Both passes over items 0 .. n - 1, where item i has the key key[i * stride]. */
struct csr {
    int *start, *item;
};

static inline struct csr hp_csr_by(struct arena *arena, int n_keys, const int *key, int stride,
                                   int n)
{
    struct csr lists = { hp_csr(arena, n_keys), NEW(arena, int, n) };
    for (int i = 0; i < n; i++)
        hp_csr_count(lists.start, key[i * stride]);
    hp_csr_sum(lists.start, n_keys);
    for (int i = 0; i < n; i++)
        lists.item[hp_csr_place(lists.start, key[i * stride])] = i;
    return lists;
}

#endif /* BASE_CSR_H */
