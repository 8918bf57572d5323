#include "tests/scratch_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Has no name of its own any more; it is opened again by its number. */
static int unnamed(void)
{
    char path[] = "/tmp/hypar-scratch-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || unlink(path) != 0)
        abort();
    return fd;
}

const char *scratch_file(int which, const void *bytes, size_t n)
{
    static int fd[SCRATCH_FILES];
    static char path[SCRATCH_FILES][32];
    if (!*path[which]) {
        fd[which] = unnamed();
        snprintf(path[which], sizeof path[which], "/dev/fd/%d", fd[which]);
    }
    for (size_t done = 0; done < n;) {
        ssize_t more = pwrite(fd[which], (const char *)bytes + done, n - done, (off_t)done);
        if (more <= 0)
            abort();
        done += (size_t)more;
    }
    if (ftruncate(fd[which], (off_t)n) != 0) /* after writing: cut first, some disks wait */
        abort();
    return path[which];
}
