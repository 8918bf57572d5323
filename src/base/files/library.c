/* Loading shared libraries at run time. */
#include "base/files/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

/* The linker's message names the library. */
static enum hypar_status cannot_load(struct hypar_error *err)
{
    const char *why = dlerror();
    if (why && strstr(why, strerror(ENOMEM)))
        hypar_out_of_memory(0);
    return hp_fail(err, HYPAR_RUNTIME, "%s", why ? why : "cannot load a library");
}

/* Do all segments of the file lie within its `size` bytes? The linker maps segments without
 * checking, and touching one behind the end of a truncated file is a bus error. The linker
 * itself reports a file of another kind. */
static bool is_whole(FILE *file, uint64_t size)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) segment;
    if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phentsize != sizeof segment)
        return true;
    if (head.e_phoff > size || fseek(file, (long)head.e_phoff, SEEK_SET) != 0)
        return false;
    for (int i = 0; i < head.e_phnum; i++) {
        if (fread(&segment, sizeof segment, 1, file) != 1)
            return false;
        if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
            return false;
    }
    return true;
}

static bool is_cut_off(const char *path, uint64_t size)
{
    FILE *file = hypar_or_out_of_memory(fopen(path, "rb"));
    if (!file)
        return false;
    bool whole = is_whole(file, size);
    fclose(file);
    return !whole;
}

enum hypar_status hp_library_load(void **out, const char *name, enum library_scope scope,
                                  const struct library_symbol *symbol, int n_symbols,
                                  struct hypar_error *err)
{
    struct stat file;
    *out = NULL;
    bool there = strchr(name, '/') && stat(name, &file) == 0;
    if (there && !S_ISREG(file.st_mode)) /* opening a pipe would wait for a writer */
        return hp_fail(err, HYPAR_UNSUPPORTED, "%s: not a regular file", name);
    if (there && is_cut_off(name, (uint64_t)file.st_size))
        return hp_fail(err, HYPAR_UNREADABLE,
                       "%s: cut off after %lld bytes, expected a whole shared library", name,
                       (long long)file.st_size);
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
