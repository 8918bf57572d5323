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

/* The number of a key; keys are numbered in the order in which they come. A new key is copied,
 * and its number is the number of keys before. */
int hp_table_number(struct table *table, struct arena *arena, const void *key, size_t length);

/* Results that are computed once for each key. Zero-initialised is empty. */
struct memo {
    struct table keys;
    int capacity;
    void **result; /* by number of the key */
};

/* The slot with the result of a key; NULL in the slot: not computed yet. The next call may move
 * the slot, but not the result. */
void **hp_memo(struct memo *memo, struct arena *arena, const void *key, size_t length);

#endif /* BASE_TABLE_H */
