/* base/library.h - shared libraries that are loaded when they are first needed. Internal.
 *
 * What a command does not use costs it nothing, and may be missing. */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <hypar/base.h>

/* A function or an object of a library, and the pointer that is set to it. */
struct library_symbol {
    const char *name;
    void *pointer;
};

/* Whether its symbols are seen by libraries that are loaded later. */
enum library_scope {
    LIBRARY_SEEN, /* as those with plugins of their own want it, MPI's */
    LIBRARY_APART,
};

/* Load a library by the name that the dynamic linker knows, or by its path. *out is for
 * hp_library_unload(). HYPAR_RUNTIME: it is not there, or lacks a symbol; HYPAR_UNREADABLE: the
 * file is cut off. Then *out is NULL. */
enum hypar_status hp_library_load(void **out, const char *name, enum library_scope scope,
                                  const struct library_symbol *symbol, int n_symbols,
                                  struct hypar_error *err);
void hp_library_unload(void *library);

#endif /* BASE_LIBRARY_H */
