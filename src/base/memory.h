/* base/memory.h - the source of all memory, and the lack of memory on a thread that the library
 * started. Internal.
 *
 * The host's handler may leave by longjmp(). From another thread longjmp() leads nowhere, and
 * it must not leave threads behind that still work for the abandoned call. So a caller that
 * starts threads guards their work, waits for all threads, and then reports the lack of memory
 * on its own thread. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <hypar/tool.h>
#include <setjmp.h>

/* As malloc() and free(), but hp_take() never returns NULL: it calls hypar_out_of_memory(). For
 * arena.c alone. */
void *hp_take(size_t bytes);
void hp_give_back(void *memory); /* NULL is allowed */

/* Between hp_guard() and hp_unguard(), on the same thread, hypar_out_of_memory() jumps to
 * `place` after it has set `bytes`.
 *
 *     hp_guard(&guard);
 *     if (setjmp(guard.place) == 0)
 *         work();
 *     else
 *         ... guard.bytes could not be had
 *     hp_unguard(&guard); */
struct memory_guard {
    jmp_buf place;
    size_t bytes;
    struct memory_guard *outer;
};

void hp_guard(struct memory_guard *guard);
void hp_unguard(const struct memory_guard *guard);

#endif /* BASE_MEMORY_H */
