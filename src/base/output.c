#define _XOPEN_SOURCE 700 /* realpath */

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

unsigned hypar_version(void)
{
    return HYPAR_VERSION_MAJOR << 16 | HYPAR_VERSION_MINOR << 8 | HYPAR_VERSION_PATCH;
}

static enum hypar_status cannot_write(const char *path, int why, struct hypar_error *err)
{
    enum hypar_status status = hp_fail(err, HYPAR_RUNTIME, "cannot write: %s", strerror(why));
    return hp_in(err, status, "%s", path);
}

/* Put what the link at `place` says in its stead; false if it is none. */
static bool follow_link(char place[HYPAR_PLACE_BYTES], int *why)
{
    char link[HYPAR_PLACE_BYTES], *slash = strrchr(place, '/');
    ssize_t length = readlink(place, link, sizeof link);
    if (length < 0)
        return false;
    size_t folder = link[0] != '/' && slash ? (size_t)(slash + 1 - place) : 0;
    if (folder + (size_t)length >= HYPAR_PLACE_BYTES) {
        *why = ENAMETOOLONG;
        return false;
    }
    memcpy(place + folder, link, (size_t)length);
    place[folder + (size_t)length] = '\0';
    return true;
}

/* Links are kept and what they lead to is replaced, or made where it is not there. */
enum hypar_status hypar_output_place(const char *path, char place[HYPAR_PLACE_BYTES],
                                     struct hypar_error *err)
{
    enum { MAX_LINKS = 40 };
    int why = 0, n = 0;
    if (strlen(path) >= HYPAR_PLACE_BYTES)
        return cannot_write(path, ENAMETOOLONG, err);
    if (realpath(path, place))
        return HYPAR_OK;
    strcpy(place, path);
    struct stat there;
    if (stat(path, &there) == 0) /* a pipe: what /dev/stdout leads to then has no path */
        return HYPAR_OK;
    /* new, or in a folder that is not there */
    while (n < MAX_LINKS && follow_link(place, &why))
        n++;
    if (n == MAX_LINKS)
        why = ELOOP;
    return why ? cannot_write(path, why, err) : HYPAR_OK;
}

/* Open a file of a new name beside the place. The name is short, however long that of the place
 * is, and has the process in it, so that what a kill left behind is not in the way. */
static enum hypar_status open_beside(struct hypar_output *out, struct hypar_error *err)
{
    enum { MAX_TRIES = 1000 };
    const char *slash = strrchr(out->path, '/');
    int folder = slash ? (int)(slash + 1 - out->path) : 0;
    for (int i = 0; i < MAX_TRIES; i++) {
        snprintf(out->temporary, sizeof out->temporary, "%.*shypar-%ld-%d.part", folder,
                 out->path, (long)getpid(), i);
        out->file = fopen(out->temporary, "wx");
        if (out->file)
            return HYPAR_OK;
        if (errno != EEXIST)
            break;
    }
    out->temporary[0] = '\0';
    return cannot_write(out->path, errno, err);
}

/* A file that standard output goes to already must not be replaced: what else is printed would
 * be lost with it. */
static bool is_standard_output(const struct stat *there)
{
    struct stat out;
    return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == there->st_dev &&
           out.st_ino == there->st_ino;
}

enum hypar_status hypar_output_open(struct hypar_output *out, const char *path,
                                    struct hypar_error *err)
{
    out->file = NULL;
    out->path[0] = out->temporary[0] = '\0';
    if (strcmp(path, "-") == 0) {
        out->file = stdout;
        strcpy(out->path, "standard output");
        return HYPAR_OK;
    }
    if (!*path)
        return hp_fail(err, HYPAR_RUNTIME, "cannot write: the file has an empty name");
    TRY(hypar_output_place(path, out->path, err));

    struct stat there;
    bool exists = stat(out->path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode))
        return cannot_write(path, EISDIR, err);
    if (!exists)
        return open_beside(out, err);
    if (is_standard_output(&there)) { /* /dev/stdout, or a file that it leads to */
        out->file = stdout;
        return HYPAR_OK;
    }
    if (S_ISREG(there.st_mode)) { /* what replaces it is as private as it is */
        TRY(open_beside(out, err));
        (void)!fchmod(fileno(out->file), there.st_mode & 0777);
        return HYPAR_OK;
    }

    /* A device or a pipe (/dev/null, /dev/stdout) is written into, never replaced. */
    out->file = fopen(out->path, "w");
    return out->file ? HYPAR_OK : cannot_write(path, errno, err);
}

enum hypar_status hypar_output_close(struct hypar_output *out, bool keep,
                                     struct hypar_error *err)
{
    FILE *file = out->file;
    if (!file)
        return HYPAR_OK;
    out->file = NULL;

    errno = 0;
    bool failed = fflush(file) != 0 || ferror(file);
    int why = errno;
    if (file != stdout && fclose(file) != 0 && !failed) {
        failed = true;
        why = errno;
    }
    if (keep && !failed && out->temporary[0] && rename(out->temporary, out->path) != 0) {
        failed = true;
        why = errno;
    }
    if (out->temporary[0] && (!keep || failed))
        remove(out->temporary);
    return keep && failed ? cannot_write(out->path, why ? why : EIO, err) : HYPAR_OK;
}
