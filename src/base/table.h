/* base/table.h - a hash table from byte strings to small numbers. Internal.
 *
 * It uses open addressing. Keys are not copied and must outlive the table. Zero-initialised is
 * empty. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/arena.h"

#include <stdint.h>

struct table_slot {
    const void *key; /* NULL: free */
    size_t length;
    uint64_t hash;
    int value;
};

struct table {
    struct table_slot *slot;
    int capacity, used; /* capacity is a power of two, at most half used */
};

/* FNV-1a, continued from `hash`; start with HP_HASH_START. */
#define HP_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hp_hash(uint64_t hash, const void *bytes, size_t length);

/* The value stored for `key`, or -1. */
int hp_table_get(const struct table *table, const void *key, size_t length);

/* Store `value` unless the key has one already; returns the value that is stored now. */
int hp_table_put(struct table *table, struct arena *arena, const void *key, size_t length,
                 int value);

#endif /* BASE_TABLE_H */
