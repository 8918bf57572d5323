/* base/arena.h - memory that is released all at once. Internal.
 *
 * Each long-lived object (graph, machine, plan, program, timeline) owns one arena and lives in
 * it, so its free function is one call. An algorithm takes scratch from the arena that it is
 * given, between hp_arena_mark() and hp_arena_release(). Memory comes zeroed. Running out of
 * memory ends in hypar_out_of_memory(), never in NULL: sizes that come from a file are checked
 * before memory is taken. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *top;
};

struct arena_mark {
    struct arena_block *top;
    size_t used;
};

/* `count` elements of type T, zeroed. */
#define NEW(arena, T, count) \
    ((T *)hp_arena_alloc((arena), (size_t)(count), sizeof(T), alignof(T)))

/* Make room in `array` (a T *, `used` elements of `*capacity`) for one more element; doubles.
 */
#define GROW(arena, T, array, used, capacity)                                                \
    ((used) < *(capacity) ? (array)                                                          \
                          : (T *)hp_arena_grow((arena), (array), (size_t)(used), (capacity), \
                                               sizeof(T), alignof(T)))

/* Enlarge `array` (a T *, `*capacity` elements) until it has an element `i`; new elements are
 * zero. */
#define REACH(arena, T, array, i, capacity) \
    ((i) < *(capacity)                      \
         ? (array)                          \
         : (T *)hp_arena_reach((arena), (array), (i), (capacity), sizeof(T), alignof(T)))

void *hp_arena_alloc(struct arena *arena, size_t count, size_t size, size_t align);
void *hp_arena_grow(struct arena *arena, const void *array, size_t used, int *capacity,
                    size_t size, size_t align);
void *hp_arena_reach(struct arena *arena, const void *array, int i, int *capacity, size_t size,
                     size_t align);
char *hp_arena_strdup(struct arena *arena, const char *s);
char *hp_arena_strndup(struct arena *arena, const char *s, size_t n);
char *hp_arena_printf(struct arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *hp_arena_vprintf(struct arena *arena, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
struct arena_mark hp_arena_mark(const struct arena *arena);
void hp_arena_release(struct arena *arena, struct arena_mark mark);
void hp_arena_free(struct arena *arena);
size_t hp_arena_bytes(const struct arena *arena); /* taken from the system */

/* An array outside any arena: not zeroed, aligned for kernels (64 bytes), released by
 * itself. */
void *hp_array_new(size_t bytes);
void hp_array_free(void *array); /* NULL is allowed */

#endif /* BASE_ARENA_H */
