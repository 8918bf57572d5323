/* Arenas: large blocks from which pieces are cut, released all at once or down to a mark. */
#include "base/arena.h"

#include "base/memory.h"
#include "base/watch.h"

#include <hypar/tool.h>

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Blocks double in size up to a limit: small objects stay small, large ones take few blocks. */
enum { FIRST_BLOCK_BYTES = 64 * 1024, LARGEST_BLOCK_BYTES = 4 * 1024 * 1024 };

struct arena_block {
    struct arena_block *below;
    size_t used, size;
    size_t gap; /* bytes behind each piece; 0: no sanitizer watches */
    alignas(max_align_t) unsigned char bytes[];
};

static struct arena_block *push_block(struct arena *arena, size_t need)
{
    size_t size = arena->top ? 2 * arena->top->size : FIRST_BLOCK_BYTES;
    size = size > LARGEST_BLOCK_BYTES ? LARGEST_BLOCK_BYTES : size;
    size_t gap = hp_watch_gap();
    size = size < need + gap ? need + gap : size;
    struct arena_block *block = hp_take(sizeof *block + size);
    *block = (struct arena_block){ .below = arena->top, .size = size, .gap = gap };
    if (gap)
        hp_watch_close(block->bytes, size);
    arena->top = block;
    return block;
}

/* Where the next piece would begin in the block. */
static size_t place_in(const struct arena_block *block, size_t align)
{
    align = block->gap && align < WATCH_ALIGN ? WATCH_ALIGN : align;
    return (block->used + align - 1) & ~(align - 1);
}

/* Memory that is not zeroed. Under a sanitizer a gap follows each piece, which nobody may
 * touch, so that an overrun is found as it is behind a block of malloc(). */
static void *take(struct arena *arena, size_t count, size_t size, size_t align)
{
    if (count > SIZE_MAX / 2 / size)
        hypar_out_of_memory(SIZE_MAX);
    size_t bytes = count * size;

    struct arena_block *block = arena->top;
    size_t start = block ? place_in(block, align) : 0;
    if (!block || start > block->size || bytes + block->gap > block->size - start) {
        block = push_block(arena, bytes);
        start = 0;
    }
    block->used = start + bytes + block->gap;
    if (block->gap)
        hp_watch_open(block->bytes + start, bytes);
    return block->bytes + start;
}

void *hp_arena_alloc(struct arena *arena, size_t count, size_t size, size_t align)
{
    return memset(take(arena, count, size, align), 0, count * size);
}

void *hp_arena_grow(struct arena *arena, const void *array, size_t used, int *capacity,
                    size_t size, size_t align)
{
    if (*capacity == INT_MAX)
        hypar_out_of_memory(SIZE_MAX);
    int larger = *capacity > INT_MAX / 2 ? INT_MAX : *capacity ? *capacity * 2 : 16;
    char *copy = take(arena, (size_t)larger, size, align);
    if (used) {
        memcpy(copy, array, used * size);
        if (arena->top
                ->gap) /* a stale pointer reads old values, and the sanitizer reports it */
            hp_watch_close(array, used * size);
    }
    memset(copy + used * size, 0, ((size_t)larger - used) * size);
    *capacity = larger;
    return copy;
}

void *hp_arena_reach(struct arena *arena, const void *array, int i, int *capacity, size_t size,
                     size_t align)
{
    int larger = i < INT_MAX / 2 - 32 ? 2 * i + 64 : INT_MAX;
    char *copy = hp_arena_alloc(arena, (size_t)larger, size, align);
    if (*capacity)
        memcpy(copy, array, (size_t)*capacity * size);
    *capacity = larger;
    return copy;
}

char *hp_arena_strndup(struct arena *arena, const char *s, size_t n)
{
    char *copy = NEW(arena, char, n + 1);
    memcpy(copy, s, n);
    return copy;
}

char *hp_arena_strdup(struct arena *arena, const char *s)
{
    return hp_arena_strndup(arena, s, strlen(s));
}

char *hp_arena_vprintf(struct arena *arena, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *text = NEW(arena, char, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

char *hp_arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = hp_arena_vprintf(arena, fmt, ap);
    va_end(ap);
    return text;
}

struct arena_mark hp_arena_mark(const struct arena *arena)
{
    return (struct arena_mark){ arena->top, arena->top ? arena->top->used : 0 };
}

void hp_arena_release(struct arena *arena, struct arena_mark mark)
{
    while (arena->top != mark.top) {
        struct arena_block *below = arena->top->below;
        hp_give_back(arena->top);
        arena->top = below;
    }
    struct arena_block *top = arena->top;
    if (!top)
        return;
    top->used = mark.used;
    if (top->gap)
        hp_watch_close(top->bytes + mark.used, top->size - mark.used);
}

void hp_arena_free(struct arena *arena)
{
    struct arena all = *arena;
    arena->top = NULL; /* now: the arena may lie in its own memory */
    hp_arena_release(&all, (struct arena_mark){ 0 });
}

size_t hp_arena_bytes(const struct arena *arena)
{
    size_t bytes = 0;
    for (const struct arena_block *b = arena->top; b; b = b->below)
        bytes += b->size;
    return bytes;
}

/* The address of the whole allocation is stored in front of the array. */
void *hp_array_new(size_t bytes)
{
    enum { ALIGN = 64 };
    if (bytes > SIZE_MAX / 2)
        hypar_out_of_memory(bytes);
    char *taken = hp_take(bytes + ALIGN + sizeof(void *));
    char *array = taken + sizeof(void *);
    array += ALIGN - (uintptr_t)array % ALIGN;
    memcpy(array - sizeof taken, &taken, sizeof taken);
    return array;
}

void hp_array_free(void *array)
{
    char *taken;
    if (!array)
        return;
    memcpy(&taken, (char *)array - sizeof taken, sizeof taken);
    hp_give_back(taken);
}
