/* Reading a whole file into memory. The file is opened once, so a pipe works too. */
#include "base/files/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum hypar_status hp_file_read_rest(struct arena *arena, FILE *file, const char *name,
                                    size_t most, const char **text, size_t *length,
                                    struct hypar_error *err)
{
    size_t have = 0, size = 1 << 16;
    char *bytes = NEW(arena, char, size);
    for (size_t n; have <= most && (n = fread(bytes + have, 1, size - have, file)) > 0;) {
        have += n;
        if (have == size) {
            char *larger = NEW(arena, char, 2 * size);
            memcpy(larger, bytes, have);
            bytes = larger;
            size *= 2;
        }
    }
    *text = bytes;
    *length = have;
    return ferror(file)
               ? hp_fail(err, HYPAR_UNREADABLE, "%s: cannot read: %s", name, strerror(errno))
               : HYPAR_OK;
}

enum hypar_status hp_file_read(struct arena *arena, const char *path, size_t most,
                               const char **text, size_t *length, struct hypar_error *err)
{
    if (strcmp(path, "-") == 0)
        return hp_file_read_rest(arena, stdin, "standard input", most, text, length, err);
    FILE *file = hypar_or_out_of_memory(fopen(path, "rb"));
    if (!file)
        return hp_fail(err, HYPAR_UNREADABLE, "%s: cannot open: %s", path, strerror(errno));
    enum hypar_status status = hp_file_read_rest(arena, file, path, most, text, length, err);
    fclose(file);
    return status;
}

enum hypar_status hp_file_refuse_python(const char *path, struct hypar_error *err)
{
    const char *slash = strrchr(path, '/'), *module = slash ? slash + 1 : path;
    size_t n = strlen(module);
    if (n <= 3 || strcmp(module + n - 3, ".py") != 0)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INVALID,
                   "%s: Python source, expected a graph or a plan; 'python -m hypar.torch "
                   "%.*s:FUNCTION -o FILE.json' writes the graph of a model",
                   path, (int)(n - 3), module);
}
