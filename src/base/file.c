/* Reading a file as a whole; it is opened once, so a pipe will do. */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum hypar_status hp_file_read(struct arena *arena, const char *path, size_t most,
                               const char **text, size_t *length, struct hypar_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : hypar_or_out_of_memory(fopen(path, "rb"));
    if (!file)
        return hp_fail(err, HYPAR_UNREADABLE, "%s: cannot open: %s", path, strerror(errno));
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
    bool failed = ferror(file);
    int why = errno;
    if (!standard)
        fclose(file);
    *text = bytes;
    *length = have;
    return failed ? hp_fail(err, HYPAR_UNREADABLE, "%s: cannot read: %s",
                            standard ? "standard input" : path, strerror(why))
                  : HYPAR_OK;
}
