/* base/files/library.h - shared libraries that are loaded on first use. Internal.
 *
 * A command that does not use a library pays nothing for it, and works where the library is
 * missing. */
#ifndef BASE_FILES_LIBRARY_H
#define BASE_FILES_LIBRARY_H

#include <hypar/base.h>

/* The name of a symbol in a library, and the pointer that is set to its address. */
struct library_symbol {
    const char *name;
    void *pointer;
};

/* Whether libraries that are loaded later see the symbols. */
enum library_scope {
    LIBRARY_SEEN, /* MPI needs this: it loads plugins of its own */
    LIBRARY_APART,
};

/* Load a library by the name that the dynamic linker knows, or by its path. *out is for
 * hp_library_unload(). HYPAR_RUNTIME: the library is missing, or lacks a symbol;
 * HYPAR_UNREADABLE: the file is truncated. *out is NULL on failure. */
enum hypar_status hp_library_load(void **out, const char *name, enum library_scope scope,
                                  const struct library_symbol *symbol, int n_symbols,
                                  struct hypar_error *err);
void hp_library_unload(void *library);

#endif /* BASE_FILES_LIBRARY_H */
