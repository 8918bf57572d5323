/* base/watch.h - telling memory checkers which bytes of an arena may be touched. Internal.
 *
 * The address sanitizer and valgrind know malloc's blocks. An arena is one block to them, so a
 * read past one of its pieces looks valid. Therefore the arena marks its blocks as closed,
 * opens each piece that it hands out, and leaves a gap behind the piece. Without a checker the
 * gap is 0, and all this costs one test. */
#ifndef BASE_WATCH_H
#define BASE_WATCH_H

#include <stddef.h>

enum {
    WATCH_GAP = 32,
    WATCH_ALIGN = 8, /* the sanitizer keeps one byte of state for each 8 */
};

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED_BY_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WATCHED_BY_ASAN
#endif

#if defined(WATCHED_BY_ASAN)

#include <sanitizer/asan_interface.h>

static inline size_t hp_watch_gap(void)
{
    return WATCH_GAP;
}

static inline void hp_watch_close(const void *start, size_t bytes)
{
    ASAN_POISON_MEMORY_REGION(start, bytes);
}

static inline void hp_watch_open(const void *start, size_t bytes)
{
    ASAN_UNPOISON_MEMORY_REGION(start, bytes);
}

#elif defined(HYPAR_WITH_VALGRIND)

#include <valgrind/memcheck.h>

static inline size_t hp_watch_gap(void)
{
    return RUNNING_ON_VALGRIND ? WATCH_GAP : 0;
}

static inline void hp_watch_close(const void *start, size_t bytes)
{
    VALGRIND_MAKE_MEM_NOACCESS(start, bytes);
}

static inline void hp_watch_open(const void *start, size_t bytes)
{
    VALGRIND_MAKE_MEM_UNDEFINED(start, bytes);
}

#else

static inline size_t hp_watch_gap(void)
{
    return 0;
}

static inline void hp_watch_close(const void *start, size_t bytes)
{
    (void)start, (void)bytes;
}

static inline void hp_watch_open(const void *start, size_t bytes)
{
    (void)start, (void)bytes;
}

#endif

#endif /* BASE_WATCH_H */
