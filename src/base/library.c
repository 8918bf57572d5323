/* Loading shared libraries. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

/* The linker's words name the library. */
static enum hypar_status cannot_load(struct hypar_error *err)
{
    const char *why = dlerror();
    return hp_fail(err, HYPAR_RUNTIME, "%s", why ? why : "cannot load a library");
}

enum hypar_status hp_library_load(void **out, const char *name, enum library_scope scope,
                                  const struct library_symbol *symbol, int n_symbols,
                                  struct hypar_error *err)
{
    struct stat file;
    *out = NULL;
    if (stat(name, &file) == 0 && !S_ISREG(file.st_mode)) /* a pipe would be waited for */
        return hp_fail(err, HYPAR_UNSUPPORTED, "%s: not a regular file", name);
    *out = dlopen(name, RTLD_NOW | (scope == LIBRARY_SEEN ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!*out)
        return cannot_load(err);
    for (int i = 0; i < n_symbols; i++) {
        void *found = dlsym(*out, symbol[i].name);
        if (!found) {
            enum hypar_status status = cannot_load(err);
            dlclose(*out);
            *out = NULL;
            return status;
        }
        memcpy(symbol[i].pointer, &found, sizeof found);
    }
    return HYPAR_OK;
}

void hp_library_unload(void *library)
{
    dlclose(library);
}
