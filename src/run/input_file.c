/* Reading parts of a file by pread(). */
#include "run/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum hypar_status unreadable(const char *path, const char *what, const char *why,
                                    struct hypar_error *err)
{
    return hp_in(err, hp_fail(err, HYPAR_UNREADABLE, "%s%s", what, why), "%s", path);
}

/* Check the kind of file before opening it: opening a pipe would wait for its writer. */
enum hypar_status hp_input_open(struct input_file *file, const char *path,
                                struct hypar_error *err)
{
    struct stat about;
    *file = (struct input_file){ .path = path, .fd = -1 };
    if (stat(path, &about) != 0)
        return unreadable(path, "cannot open: ", strerror(errno), err);
    if (!S_ISREG(about.st_mode))
        return unreadable(path, "not a regular file", "", err);
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0)
        return unreadable(path, "cannot open: ", strerror(errno), err);
    file->bytes = (int64_t)about.st_size;
    return HYPAR_OK;
}

void hp_input_close(struct input_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

enum hypar_status hp_input_read(const struct input_file *file, int64_t from, int64_t n,
                                void *out, struct hypar_error *err)
{
    while (n > 0) {
        ssize_t got = pread(file->fd, out, (size_t)n, (off_t)from);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return unreadable(file->path, "cannot read: ", strerror(errno), err);
        if (got == 0)
            return unreadable(file->path, "has become shorter since it was opened", "", err);
        out = (char *)out + got;
        from += got;
        n -= got;
    }
    return HYPAR_OK;
}
