/* A hash table from byte strings to numbers, with open addressing. */
#include "base/table.h"

#include <string.h>

uint64_t hp_hash(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* A hash for this table alone: it reads eight bytes at a time. */
static uint64_t hash_key(const void *key, size_t length)
{
    const unsigned char *p = key;
    uint64_t hash = HP_HASH_START ^ length, word = 0;
    for (; length >= sizeof word; length -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, p, length);
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static struct table_slot *find(const struct table *table, const void *key, size_t length,
                               uint64_t hash)
{
    size_t mask = (size_t)table->capacity - 1;
    for (size_t i = (size_t)(hash ^ hash >> 32) & mask;; i = (i + 1) & mask) {
        struct table_slot *slot = &table->slot[i];
        if (!slot->key || (slot->hash == hash && slot->length == length &&
                           memcmp(slot->key, key, length) == 0))
            return slot;
    }
}

int hp_table_get(const struct table *table, const void *key, size_t length)
{
    if (!table->capacity)
        return -1;
    const struct table_slot *slot = find(table, key, length, hash_key(key, length));
    return slot->key ? slot->value : -1;
}

static void enlarge(struct table *table, struct arena *arena)
{
    struct table larger = { .capacity = table->capacity ? table->capacity * 2 : 64,
                            .used = table->used };
    larger.slot = NEW(arena, struct table_slot, larger.capacity);
    for (int i = 0; i < table->capacity; i++) {
        const struct table_slot *old = &table->slot[i];
        if (old->key)
            *find(&larger, old->key, old->length, old->hash) = *old;
    }
    *table = larger;
}

int hp_table_put(struct table *table, struct arena *arena, const void *key, size_t length,
                 int value)
{
    if (table->used * 2 >= table->capacity)
        enlarge(table, arena);
    uint64_t hash = hash_key(key, length);
    struct table_slot *slot = find(table, key, length, hash);
    if (!slot->key) {
        *slot = (struct table_slot){ key, length, hash, value };
        table->used++;
    }
    return slot->value;
}

int hp_table_number(struct table *table, struct arena *arena, const void *key, size_t length)
{
    int known = hp_table_get(table, key, length);
    if (known >= 0)
        return known;
    void *kept = memcpy(NEW(arena, char, length + 1), key, length);
    return hp_table_put(table, arena, kept, length, table->used);
}

void **hp_memo(struct memo *memo, struct arena *arena, const void *key, size_t length)
{
    int n = memo->keys.used, number = hp_table_number(&memo->keys, arena, key, length);
    if (number == n) {
        memo->result = GROW(arena, void *, memo->result, n, &memo->capacity);
        memo->result[n] = NULL;
    }
    return &memo->result[number];
}
